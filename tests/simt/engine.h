/* The emulated multiprocessors: a launch's blocks, warps and threads, and who goes next. */
#ifndef SIMT_ENGINE_H
#define SIMT_ENGINE_H
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fibre.h"
#include "shared.h"
#include "simt/kernel.h"
#include "simt/warp.h"

namespace simt {

constexpr unsigned warp_size = 32;

/* Marsaglia's xorshift with a multiplication (Vigna 2016). */
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u | 1)
    {
        next();
    }
    std::uint64_t next()
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545f4914f6cdd1du;
    }
    /* 0 ... n-1 */
    std::uint64_t below(std::uint64_t n)
    {
        return (next() >> 32) * n >> 32;
    }
    bool one_in(std::uint64_t n)
    {
        return below(n) == 0;
    }

private:
    std::uint64_t state_;
};

struct Block;

struct Thread {
    enum class State { ready, at_barrier, at_cluster_barrier, in_warp_operation, exited };
    Block *block;
    Fibre *fibre; /* from its first step to its last */
    uint3 index;
    unsigned number;
    State state;
    Site site; /* where it waits */
    int barrier_result;
    Warp operation;
    unsigned mask;
    std::uint64_t operand, result;
    int source;
    /* Of the cluster's barriers, the number behind the one that it came to last, and that it waited for. */
    unsigned arrivals, waits;
};

/* A copy to shared memory that has begun, until somebody waits for it. */
struct BulkCopy {
    const void *arrival;
    void *to;
    const void *from;
    std::size_t bytes;
};

/* The lanes of a warp that wait in one operation, of one mask. */
struct Gathering {
    Warp operation;
    unsigned mask, come;
};

struct WarpState {
    unsigned exited;
    std::vector<Gathering> gatherings;
};

/* Blocks that are on the device together. Its barrier is complete when all threads that have not exited have
 * come to it. */
struct Cluster {
    std::vector<Block *> blocks; /* NULL: has ended */
    unsigned complete;           /* barriers so far */
    std::size_t alive, missing;  /* threads that have not exited; those that the barrier waits for */
    std::size_t dynamic_shared;  /* bytes of each block */
};

struct Block {
    uint3 index;
    std::shared_ptr<Cluster> cluster;
    unsigned rank; /* in the cluster */
    std::vector<Thread> threads;
    std::vector<WarpState> warps;
    std::vector<Thread *> ready;
    /* threads that have not exited; at the barrier; there with a predicate that holds */
    int alive, waiting, predicates;
    Thread *first_waiting;
    StaticShared::Copy static_shared; /* while another block's is in place */
    char *dynamic_shared;
    std::vector<BulkCopy> copies;
};

struct Grid {
    const void *kernel;
    dim3 blocks, threads;
    std::size_t dynamic_shared;
    Body body;
    unsigned resident; /* blocks that are on the device at once */
    unsigned cluster;  /* blocks that are there together: whole clusters are a grid, and one fits */
};

/* The running thread; NULL outside of device code. */
extern Thread *current;

/* Work of a stream that has begun. Ending one that is not done abandons it. */
class Running {
public:
    virtual ~Running() = default;
    /* Goes on for so many choices of the scheduler at most. True: it is done. */
    virtual bool go_on(unsigned long turns) = 0;
};

/* A launch that has begun, and calls failed() if a fault ends it. Several may take turns. */
std::unique_ptr<Running> begin_grid(Grid, std::uint64_t seed, std::function<void()> failed);

/* From the running thread: gives way until it is made ready again. */
void wait_for_turn();
void make_ready(Thread &);
/* The thread's warp: where its lanes begin, and how many there are. */
Thread *warp_of(Thread &, unsigned *lanes);
/* To be called when a thread exits: are there lanes that wait for it? */
void note_exit(Thread &);
/* To be called then, too: the cluster's barrier waits for it no more. */
void leave_cluster(const Thread &);
/* Does a thread of the block wait for other blocks, of which one can go on? */
bool waits_for_cluster(const Block &);

/* Reports a fault of this thread (NULL: of no thread, or of the host's code), which ends the launch.
 * Returns only outside of device code, and only when faults are kept. */
void fault(const Thread *, const std::string &what);
inline void fault(const std::string &what)
{
    fault(current, what);
}
/* ' in kernel K, block (x,y,z), thread (x,y,z)', or nothing. */
std::string where(const Thread *);
std::string to_string(const char *format, ...) __attribute__((format(printf, 1, 2)));
std::string to_string(Site);
std::string to_string(uint3);

}
#endif
