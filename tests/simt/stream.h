/* Streams: queued work in order. */
#ifndef SIMT_STREAM_H
#define SIMT_STREAM_H
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "engine.h"
#include "simt.h"

namespace simt {

/* Begins a piece of work; NULL: it is done, too. */
using Work = std::function<std::unique_ptr<Running>()>;
template <class F> Work at_once(F f)
{
    return [f] {
        f();
        return nullptr;
    };
}
/* Pieces of work one after another. */
Work in_order(std::vector<Work>);
struct Stream;

/* After so many pieces of work of the stream. */
struct Point {
    std::shared_ptr<Stream> stream;
    std::uint64_t position = 0;
};

/* What has been recorded, in the order of the calls; one capture can go over several streams. */
struct Capture {
    const Stream *origin;
    cudaStreamCaptureMode mode;
    std::thread::id thread;
    bool invalid, ended;
    std::vector<Work> nodes;
};

struct Stream {
    struct Item {
        Work work;
        std::vector<Point> after;
    };
    int device;
    bool blocking; /* keeps order with the device's default stream */
    bool is_default;
    std::deque<Item> queue;
    std::unique_ptr<Running> running; /* of the item at the queue's head */
    std::uint64_t queued = 0, done = 0;
    std::shared_ptr<Capture> capture;
};

/* NULL: no stream has this handle. 0 is the current device's default stream. */
std::shared_ptr<Stream> find_stream(cudaStream_t);
std::vector<std::shared_ptr<Stream>> all_streams();
cudaStream_t handle_of(const Stream &);
bool is_capturing(const Stream &);
/* Queues, captures or runs the work. */
cudaError_t enqueue(const std::shared_ptr<Stream> &, Work);
/* Runs what is queued up to there, and first what that has to wait for. Where streams overlap, other work
 * goes on, too. */
void drain(const Point &);
void drain_device(int device);
/* Does the capture forbid the calling thread calls that CUDA names potentially unsafe? */
bool forbids_unsafe_calls(const Capture &);
/* For such calls: the error, after which the captures that forbid them are spoilt. */
cudaError_t refuse_while_capturing();
/* The same for a call that no capture on the device allows, in whatever mode. */
cudaError_t refuse_while_device_captures(int device);
void count_streams(simt_live &);
void count_graphs(simt_live &);

}
#endif
