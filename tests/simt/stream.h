/* Streams: queued work in order. */
#ifndef SIMT_STREAM_H
#define SIMT_STREAM_H
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "simt.h"

namespace simt {

using Work = std::function<void()>;
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
    bool blocking;    /* keeps order with the device's default stream */
    bool is_default;
    std::deque<Item> queue;
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
/* Runs what is queued up to there, and first what that has to wait for. */
void drain(const Point &);
void drain_device(int device);
/* For calls that a capture elsewhere forbids: the error, and the capture is spoilt. */
cudaError_t refuse_while_capturing();
void count_streams(simt_live &);
void count_graphs(simt_live &);

}
#endif
