/* Streams and events. Work that is queued carries what it has to wait for, so that in the deferred mode
 * only what is waited for runs, and what another stream should have waited for has not. */
#include "stream.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

#include "machine.h"
#include "memory.h"

struct CUevent_st {
    int device;
    bool timed, recorded;
    simt::Point point;
    std::shared_ptr<simt::Capture> capture; /* recorded in a capture, not in the stream */
    std::shared_ptr<double> milliseconds;   /* set when the stream comes to it */
};

namespace simt {
namespace {

std::map<cudaStream_t, std::shared_ptr<Stream>> &streams =
    *new std::map<cudaStream_t, std::shared_ptr<Stream>>;
std::map<int, std::shared_ptr<Stream>> &default_streams = *new std::map<int, std::shared_ptr<Stream>>;
std::map<cudaEvent_t, std::unique_ptr<CUevent_st>> &events =
    *new std::map<cudaEvent_t, std::unique_ptr<CUevent_st>>;

std::shared_ptr<Stream> make_stream(int device, bool blocking, bool is_default)
{
    auto s = std::make_shared<Stream>();
    s->device = device;
    s->blocking = blocking;
    s->is_default = is_default;
    return s;
}

std::shared_ptr<Stream> default_stream(int device)
{
    auto &s = default_streams[device];
    if (!s) s = make_stream(device, false, true);
    return s;
}

Point end_of(const std::shared_ptr<Stream> &s)
{
    return { s, s->queued };
}

/* Legacy default stream: it and the blocking streams of its device wait for each other. */
std::vector<Point> implicit_order(const Stream &s)
{
    std::vector<Point> after;
    if (s.blocking) after.push_back(end_of(default_stream(s.device)));
    for (const auto &[handle, other] : streams) {
        if (s.is_default && other->blocking && other->device == s.device) after.push_back(end_of(other));
    }
    return after;
}

cudaError_t spoil(Capture &c, cudaError_t e)
{
    c.invalid = true;
    return e;
}

cudaError_t enqueue_after(const std::shared_ptr<Stream> &s, Work work, std::vector<Point> after)
{
    if (s->capture) {
        if (s->capture->invalid) return cudaErrorStreamCaptureInvalidated;
        s->capture->nodes.push_back(std::move(work));
        return cudaSuccess;
    }
    for (const auto &[handle, other] : streams) {
        if (s->is_default && other->capture && other->blocking && other->device == s->device) {
            return spoil(*other->capture, cudaErrorStreamCaptureImplicit);
        }
    }
    for (Point &p : implicit_order(*s)) after.push_back(std::move(p));
    s->queue.push_back({ std::move(work), std::move(after) });
    s->queued++;
    if (!machine().defer && !machine().overlap) drain(end_of(s));
    return cudaSuccess;
}

cudaError_t make_event(cudaEvent_t *out, unsigned flags)
{
    auto e = std::make_unique<CUevent_st>();
    e->device = current_device();
    e->timed = (flags & cudaEventDisableTiming) == 0;
    e->recorded = false;
    *out = e.get();
    events[*out] = std::move(e);
    return cudaSuccess;
}

CUevent_st *find_event(cudaEvent_t handle)
{
    const auto found = events.find(handle);
    return found == events.end() ? nullptr : found->second.get();
}

/* By waiting for an event of a capture, a stream becomes part of it. */
cudaError_t join_capture(Stream &s, const CUevent_st &e)
{
    if (e.capture->ended) return cudaErrorCapturedEvent;
    if (s.capture && s.capture != e.capture) return spoil(*s.capture, cudaErrorStreamCaptureMerge);
    s.capture = e.capture;
    return cudaSuccess;
}

double now()
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

bool reached(const Point &p)
{
    return !p.stream || p.stream->done >= p.position;
}

/* Polling makes work go on, one piece a call. */
cudaError_t poll(const Point &p)
{
    if (reached(p)) return cudaSuccess;
    drain({ p.stream, p.stream->done + 1 });
    return cudaErrorNotReady;
}

/* The work at the head of the queue goes on; true: it is done, or there is none. */
bool go_on(Stream &s, unsigned long turns)
{
    if (s.queue.empty()) return true;
    if (!s.running) s.running = s.queue.front().work();
    if (s.running && !s.running->go_on(turns)) return false;
    s.running = nullptr;
    s.queue.pop_front();
    s.done++;
    return true;
}

/* Only what is waited for, one piece after another. */
void drain_alone(const Point &p)
{
    Stream &s = *p.stream;
    while (!reached(p) && !s.queue.empty()) {
        const std::vector<Point> after = s.queue.front().after;
        for (const Point &before : after) drain_alone(before);
        go_on(s, std::numeric_limits<unsigned long>::max());
    }
}

/* Until that point is reached, one of the streams goes on for a while, whose work waits for nothing. What
 * the others have begun stays where it is. */
void drain_together(const Point &p)
{
    static constexpr unsigned long whiles[] = { 1, 1, 3, 20 };
    Random random(next_seed());
    std::vector<std::unique_ptr<DeviceMemoryOpen>> opened; /* once, not in each turn */
    for (int device = 0; device < machine().devices; device++)
        opened.push_back(std::make_unique<DeviceMemoryOpen>(device));
    while (!reached(p)) {
        std::vector<Stream *> able;
        const auto consider = [&](const std::shared_ptr<Stream> &s) {
            const bool waits = s->queue.empty() || !std::all_of(s->queue.front().after.begin(),
                                                                s->queue.front().after.end(), reached);
            if (!waits) able.push_back(s.get());
        };
        for (const auto &[device, s] : default_streams) consider(s);
        for (const auto &[handle, s] : streams) consider(s);
        if (std::find(able.begin(), able.end(), p.stream.get()) == able.end()) consider(p.stream);
        if (able.empty()) return;
        go_on(*able[random.below(able.size())], whiles[random.below(4)]);
    }
}

}

Work in_order(std::vector<Work> parts)
{
    class InOrder : public Running {
    public:
        explicit InOrder(const std::vector<Work> &parts) : parts_(parts) {}
        bool go_on(unsigned long turns) override
        {
            while (part_ || next_ < parts_.size()) {
                if (!part_) part_ = parts_[next_++]();
                if (!part_) continue;
                if (!part_->go_on(turns)) return false;
                part_ = nullptr;
                if (next_ < parts_.size()) return false; /* others may come in between */
            }
            return true;
        }

    private:
        const std::vector<Work> parts_;
        std::size_t next_ = 0;
        std::unique_ptr<Running> part_;
    };
    return [parts = std::move(parts)] { return std::make_unique<InOrder>(parts); };
}

std::shared_ptr<Stream> find_stream(cudaStream_t handle)
{
    if (!handle || handle == cudaStreamLegacy) return default_stream(current_device());
    const auto found = streams.find(handle);
    return found == streams.end() ? nullptr : found->second;
}

bool is_capturing(const Stream &s)
{
    return s.capture != nullptr;
}
cudaError_t enqueue(const std::shared_ptr<Stream> &s, Work work)
{
    return enqueue_after(s, std::move(work), {});
}

void drain(const Point &p)
{
    if (machine().overlap) drain_together(p);
    else drain_alone(p);
}

void drain_device(int device)
{
    drain(end_of(default_stream(device)));
    for (const auto &s : all_streams()) {
        if (s->device == device) drain(end_of(s));
    }
}

std::vector<std::shared_ptr<Stream>> all_streams()
{
    std::vector<std::shared_ptr<Stream>> all;
    for (const auto &[handle, s] : streams) all.push_back(s);
    return all;
}

cudaError_t refuse_while_capturing()
{
    cudaError_t e = cudaSuccess;
    for (const auto &[handle, s] : streams) {
        if (s->capture && forbids_unsafe_calls(*s->capture))
            e = spoil(*s->capture, cudaErrorStreamCaptureUnsupported);
    }
    return e;
}

cudaError_t refuse_while_device_captures(int device)
{
    cudaError_t e = cudaSuccess;
    for (const auto &[handle, s] : streams) {
        if (s->capture && s->device == device) e = spoil(*s->capture, cudaErrorStreamCaptureUnsupported);
    }
    return e;
}

void count_streams(simt_live &live)
{
    live.streams += streams.size();
    live.events += events.size();
}

}

using namespace simt;

cudaError_t cudaDeviceSynchronize(void)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (const cudaError_t e = refuse_while_device_captures(current_device())) return call.done(e);
    drain_device(current_device());
    return call.done(broken(current_device()));
}

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    return cudaStreamCreateWithFlags(out, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (!out || flags > cudaStreamNonBlocking) return call.done(cudaErrorInvalidValue);
    const auto s = make_stream(current_device(), flags != cudaStreamNonBlocking, false);
    *out = reinterpret_cast<cudaStream_t>(s.get());
    streams[*out] = s;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    const Call call;
    const auto found = streams.find(handle);
    if (found == streams.end()) {
        fault(to_string("cudaStreamDestroy of %p, which is no stream, or is destroyed already",
                        static_cast<void *>(handle)));
        return call.done(cudaErrorInvalidResourceHandle);
    }
    if (found->second->capture) spoil(*found->second->capture, cudaErrorStreamCaptureInvalidated);
    drain(end_of(found->second));
    streams.erase(found);
    return call.refused();
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    const Call call;
    if (call.refused()) return call.refused();
    const auto s = find_stream(handle);
    if (!s) return call.done(cudaErrorInvalidResourceHandle);
    if (s->capture) return call.done(spoil(*s->capture, cudaErrorStreamCaptureUnsupported));
    if (const cudaError_t e = refuse_while_capturing()) return call.done(e);
    drain(end_of(s));
    return call.done(broken(s->device));
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    const Call call;
    if (call.refused()) return call.refused();
    const auto s = find_stream(handle);
    if (!s) return call.done(cudaErrorInvalidResourceHandle);
    if (s->capture) return call.done(spoil(*s->capture, cudaErrorStreamCaptureUnsupported));
    if (const cudaError_t e = refuse_while_capturing()) return call.done(e);
    return poll(end_of(s));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned)
{
    const Call call;
    if (call.refused()) return call.refused();
    const auto s = find_stream(handle);
    const CUevent_st *e = find_event(event);
    if (!s || !e) return call.done(cudaErrorInvalidResourceHandle);
    if (!e->recorded) return cudaSuccess;
    if (e->capture) return call.done(join_capture(*s, *e));
    if (s->capture) return call.done(spoil(*s->capture, cudaErrorStreamCaptureIsolation));
    return call.done(enqueue_after(s, at_once([] {}), { e->point }));
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    return cudaEventCreateWithFlags(out, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    const Call call;
    if (call.refused()) return call.refused();
    return call.done(out ? make_event(out, flags) : cudaErrorInvalidValue);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    const Call call;
    if (!find_event(event)) {
        fault(to_string("cudaEventDestroy of %p, which is no event, or is destroyed already",
                        static_cast<void *>(event)));
        return call.done(cudaErrorInvalidResourceHandle);
    }
    events.erase(event);
    return call.refused();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle)
{
    const Call call;
    if (call.refused()) return call.refused();
    const auto s = find_stream(handle);
    CUevent_st *e = find_event(event);
    if (!s || !e || e->device != s->device) return call.done(cudaErrorInvalidResourceHandle);
    e->recorded = true;
    e->capture = s->capture;
    if (s->capture) return cudaSuccess;
    e->milliseconds = std::make_shared<double>(0.0);
    const cudaError_t error = enqueue(s, at_once([time = e->milliseconds] { *time = now(); }));
    e->point = end_of(s);
    return call.done(error);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    const Call call;
    if (call.refused()) return call.refused();
    const CUevent_st *e = find_event(event);
    if (!e) return call.done(cudaErrorInvalidResourceHandle);
    if (e->capture) return call.done(cudaErrorCapturedEvent);
    if (const cudaError_t refused = refuse_while_capturing()) return call.done(refused);
    return poll(e->point);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    const Call call;
    if (call.refused()) return call.refused();
    const CUevent_st *e = find_event(event);
    if (!e) return call.done(cudaErrorInvalidResourceHandle);
    if (e->capture) return call.done(cudaErrorCapturedEvent);
    if (const cudaError_t refused = refuse_while_capturing()) return call.done(refused);
    if (e->point.stream) drain(e->point);
    return call.done(broken(e->device));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    const Call call;
    if (call.refused()) return call.refused();
    const CUevent_st *a = find_event(start), *b = find_event(end);
    if (!milliseconds) return call.done(cudaErrorInvalidValue);
    if (!a || !b || !a->timed || !b->timed || !a->recorded || !b->recorded || a->capture || b->capture) {
        return call.done(cudaErrorInvalidResourceHandle);
    }
    if (!reached(a->point) || !reached(b->point)) return cudaErrorNotReady;
    *milliseconds = static_cast<float>(*b->milliseconds - *a->milliseconds);
    return cudaSuccess;
}
