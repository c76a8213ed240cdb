/* Clusters of blocks: their barrier, in two halves, and the shared memory of the others. */
#include <algorithm>

#include "engine.h"

namespace simt {
namespace {

/* Can one of its threads go on, or its barrier be completed? */
bool can_go_on(const Block &b)
{
    return !b.ready.empty() || (b.waiting > 0 && b.waiting == b.alive);
}

/* When all who are alive have come, those who wait go on. */
void complete_cluster_barrier(Cluster &c)
{
    if (c.missing > 0) return;
    c.complete++;
    c.missing = c.alive;
    for (Block *const b : c.blocks) {
        if (!b) continue;
        for (Thread &t : b->threads)
            if (t.state == Thread::State::at_cluster_barrier) make_ready(t);
    }
}

}

void leave_cluster(const Thread &t)
{
    Cluster &c = *t.block->cluster;
    c.alive--;
    if (t.arrivals > c.complete) return;
    c.missing--;
    complete_cluster_barrier(c);
}

bool waits_for_cluster(const Block &b)
{
    const auto waits = [](const Thread &t) { return t.state == Thread::State::at_cluster_barrier; };
    const auto goes_on = [](const Block *other) { return other && can_go_on(*other); };
    return std::any_of(b.threads.begin(), b.threads.end(), waits) &&
           std::any_of(b.cluster->blocks.begin(), b.cluster->blocks.end(), goes_on);
}

void cluster_arrive()
{
    Thread &t = *current;
    Cluster &c = *t.block->cluster;
    if (t.arrivals > t.waits) fault("comes to the cluster's barrier again, and has not waited for it");
    t.arrivals = c.complete + 1;
    c.missing--;
    complete_cluster_barrier(c);
    interleave(true);
}

void cluster_wait(Site site)
{
    Thread &t = *current;
    if (t.arrivals == t.waits) fault("waits for the cluster's barrier, and has not come to it");
    t.waits = t.arrivals;
    if (t.arrivals <= t.block->cluster->complete) return;
    t.state = Thread::State::at_cluster_barrier;
    t.site = site;
    wait_for_turn();
}

unsigned cluster_rank()
{
    return current->block->rank;
}

void *in_cluster(void *p, unsigned rank)
{
    const Block &b = *current->block;
    const Cluster &c = *b.cluster;
    const auto offset = static_cast<std::size_t>(static_cast<char *>(p) - b.dynamic_shared);
    if (rank >= c.blocks.size()) fault(to_string("block %u of a cluster of %zu", rank, c.blocks.size()));
    if (offset >= c.dynamic_shared) fault("not in the block's dynamic shared memory");
    if (c.complete == 0)
        fault(to_string("shared memory of block %u of the cluster, before a barrier has "
                        "told that it has begun",
                        rank));
    if (!c.blocks[rank]) fault(to_string("shared memory of block %u of the cluster, which has ended", rank));
    return c.blocks[rank]->dynamic_shared + offset;
}

}
