/* Capture of streams into graphs. A graph is the list of what was captured, in the order of the calls,
 * which is an order that all dependencies allow. */
#include <map>
#include <set>
#include <utility>

#include "machine.h"
#include "stream.h"

struct CUgraph_st {
    std::vector<simt::Work> nodes;
};

struct CUgraphExec_st {
    std::vector<simt::Work> nodes;
};

namespace simt {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
std::set<cudaGraph_t> &graphs = *new std::set<cudaGraph_t>;
std::set<cudaGraphExec_t> &executables = *new std::set<cudaGraphExec_t>;

}

/* "Stream capture interaction mode": what a thread may do beside captures depends on its mode, on theirs,
 * and on whether it began them. */
bool forbids_unsafe_calls(const Capture &c)
{
    if (thread_mode == cudaStreamCaptureModeRelaxed || c.mode == cudaStreamCaptureModeRelaxed) return false;
    if (c.thread == std::this_thread::get_id()) return true;
    return thread_mode == cudaStreamCaptureModeGlobal && c.mode == cudaStreamCaptureModeGlobal;
}

void count_graphs(simt_live &live)
{
    live.graphs += graphs.size() + executables.size();
}

}

using namespace simt;

/* Neither counted nor made to fail: it touches no device, and a caller could not restore his mode. */
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode)
{
    if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
        return cudaErrorInvalidValue;
    std::swap(thread_mode, *mode);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode)
{
    const Call call;
    if (call.refused()) return call.refused();
    const auto s = find_stream(handle);
    if (!s) return call.done(cudaErrorInvalidResourceHandle);
    if (s->is_default) return call.done(cudaErrorStreamCaptureUnsupported);
    if (s->capture) return call.done(cudaErrorInvalidValue);
    s->capture =
        std::make_shared<Capture>(Capture{ s.get(), mode, std::this_thread::get_id(), false, false, {} });
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *out)
{
    const Call call;
    const auto s = find_stream(handle);
    if (!s || !out) return call.done(cudaErrorInvalidResourceHandle);
    *out = nullptr;
    const std::shared_ptr<Capture> capture = s->capture;
    if (!capture || capture->origin != s.get()) return call.done(cudaErrorStreamCaptureUnmatched);
    if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
        return call.done(cudaErrorStreamCaptureWrongThread);
    capture->ended = true;
    for (const auto &other : all_streams()) {
        if (other->capture == capture) other->capture = nullptr;
    }
    if (call.refused()) return call.refused();
    if (capture->invalid) return call.done(cudaErrorStreamCaptureInvalidated);
    *out = new CUgraph_st{ capture->nodes };
    graphs.insert(*out);
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus *status)
{
    const Call call;
    if (call.refused()) return call.refused();
    const auto s = find_stream(handle);
    if (!s) return call.done(cudaErrorInvalidResourceHandle);
    *status = cudaStreamCaptureStatusNone;
    if (s->capture)
        *status = s->capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

/* Only how many there are: nodes have no handles here. */
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (nodes || !count || graphs.count(graph) == 0) return call.done(cudaErrorInvalidValue);
    *count = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (const cudaError_t e = refuse_while_capturing()) return call.done(e);
    if (!out || graphs.count(graph) == 0) return call.done(cudaErrorInvalidValue);
    *out = new CUgraphExec_st{ graph->nodes };
    executables.insert(*out);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle)
{
    const Call call;
    if (call.refused()) return call.refused();
    const auto s = find_stream(handle);
    if (!s || executables.count(executable) == 0) return call.done(cudaErrorInvalidResourceHandle);
    return call.done(enqueue(s, in_order(executable->nodes)));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    const Call call;
    if (graphs.erase(graph) == 0) return call.done(cudaErrorInvalidValue);
    delete graph;
    return call.refused();
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    const Call call;
    if (executables.erase(executable) == 0) return call.done(cudaErrorInvalidValue);
    delete executable;
    return call.refused();
}
