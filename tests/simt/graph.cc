/* Capture of streams into graphs. A graph is the list of what was captured, in the order of the calls, which is an order
 * that all dependencies allow. */
#include <map>
#include <set>

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

std::set<cudaGraph_t> &graphs = *new std::set<cudaGraph_t>;
std::set<cudaGraphExec_t> &executables = *new std::set<cudaGraphExec_t>;

}

void count_graphs(simt_live &live) { live.graphs += graphs.size() + executables.size(); }

}

using namespace simt;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode)
{
    const Call call;
    if (call.refused()) return call.refused();
    const auto s = find_stream(handle);
    if (!s) return call.done(cudaErrorInvalidResourceHandle);
    if (s->is_default) return call.done(cudaErrorStreamCaptureUnsupported);
    if (s->capture) return call.done(cudaErrorInvalidValue);
    s->capture = std::make_shared<Capture>(Capture{s.get(), mode, std::this_thread::get_id(), false, false, {}});
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
    capture->ended = true;
    for (const auto &other : all_streams()) {
        if (other->capture == capture) other->capture = nullptr;
    }
    if (call.refused()) return call.refused();
    if (capture->invalid) return call.done(cudaErrorStreamCaptureInvalidated);
    *out = new CUgraph_st{capture->nodes};
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
    if (s->capture) *status = s->capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (!out || graphs.count(graph) == 0) return call.done(cudaErrorInvalidValue);
    *out = new CUgraphExec_st{graph->nodes};
    executables.insert(*out);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle)
{
    const Call call;
    if (call.refused()) return call.refused();
    const auto s = find_stream(handle);
    if (!s || executables.count(executable) == 0) return call.done(cudaErrorInvalidResourceHandle);
    return call.done(enqueue(s, [nodes = executable->nodes] {
        for (const Work &node : nodes) node();
    }));
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
