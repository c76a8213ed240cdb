/* The scheduler. Blocks of a launch are admitted as others end, a cluster at a time, as many as fit on the
 * device. Of the
 * resident blocks one goes on for a while, one of its ready threads at a time, to its next barrier, warp
 * operation, atomic or fence. All choices follow from the seed: which block, for how long, which thread;
 * and for each launch how the choices are weighted, since some mistakes show when everybody goes at the
 * same pace and some when one runs ahead. Launches that overlap take turns, each as if it had the device for
 * itself. */
#include "engine.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>

#include "symbols.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace simt {

Thread *current;

namespace {

/* Thrown through device code to end it after a fault. */
struct Abandon {};

/* Turns that did nothing but wait, in a row, until the launch counts as one that never ends. */
constexpr unsigned long longest_wait = 1ul << 22;

/* Static shared memory that is copied as fast as a thread goes a step; most launches go by that, all but one
 * in so many. */
constexpr std::size_t bytes_a_step = 512;
constexpr unsigned hasty = 8;

class Launch : public Running {
public:
    Launch(Grid &&, std::uint64_t seed, std::function<void()> failed);
    Launch(const Launch &) = delete;
    ~Launch() override;
    bool go_on(unsigned long turns) override;
    void abandon()
    {
        abandoned_ = true;
    }
    bool abandoned() const
    {
        return abandoned_;
    }
    const Grid &grid() const
    {
        return grid_;
    }
    Random &random()
    {
        return random_;
    }
    StaticShared &shared()
    {
        return shared_;
    }
    std::uint32_t salt() const
    {
        return salt_;
    }
    /* Who goes next in the block that goes on; the turn begins here. NULL: the scheduler is to see. */
    Thread *next_in_block();
    unsigned long idle = 0;

private:
    bool done() const
    {
        return abandoned_ || (admitted_ == blocks_ && resident_.empty());
    }
    void admit_cluster();
    void admit(unsigned rank, const std::shared_ptr<Cluster> &);
    void enter(Block &);
    void leave();
    void go_on_with(Block &);
    Thread &begin_turn(Block &, std::size_t chosen);
    void step(Block &, std::size_t chosen);
    void retire(std::size_t chosen);
    void unwind(Block &);
    void unwind_all();

    const Grid grid_;
    const std::function<void()> failed_;
    Random random_;
    const std::uint32_t salt_;
    StaticShared shared_;
    std::uint64_t blocks_, admitted_ = 0, stride_ = 1, offset_ = 0;
    bool stays_longer_;         /* where copying what blocks share takes long */
    unsigned same_pace_, stay_; /* one in so many choices is of any thread, of another block */
    std::uint64_t stay_here_;   /* the latter, for the block that goes on */
    bool leaves_;               /* it was of another block */
    std::vector<std::unique_ptr<Block>> resident_, spare_;
    Block *in_place_ = nullptr;
    bool abandoned_ = false;
};

Launch *launch;
long long turns;

std::uint64_t volume(dim3 d)
{
    return std::uint64_t{ d.x } * d.y * d.z;
}

uint3 position(std::uint64_t i, dim3 d)
{
    return { static_cast<unsigned>(i % d.x), static_cast<unsigned>(i / d.x % d.y),
             static_cast<unsigned>(i / d.x / d.y) };
}

/* A fibre's work: one thread, from beginning to end. */
void run_thread(void *argument)
{
    Thread &t = *static_cast<Thread *>(argument);
    try {
        launch->grid().body();
        t.state = Thread::State::exited;
        note_exit(t);
    } catch (const Abandon &) {
        t.state = Thread::State::exited;
    }
}

Launch::Launch(Grid &&grid, std::uint64_t seed, std::function<void()> failed)
    : grid_(std::move(grid)), failed_(std::move(failed)), random_(seed),
      salt_(static_cast<std::uint32_t>(random_.next() >> 32)), shared_(salt_), blocks_(volume(grid_.blocks))
{
    static constexpr unsigned paces[] = { 1, 1, 2, 16 }, stays[] = { 2, 8, 32, 128 };
    same_pace_ = paces[random_.below(4)];
    stay_ = stays[random_.below(4)];
    stays_longer_ = !random_.one_in(hasty);
    if (random_.one_in(2)) {
        const std::uint64_t clusters = blocks_ / grid_.cluster,
                            some = std::min<std::uint64_t>(clusters, 1 << 20);
        stride_ = random_.below(some) + 1;
        while (std::gcd(stride_, clusters) != 1) stride_++;
        offset_ = random_.below(some);
    }
}

Launch::~Launch()
{
    unwind_all();
    for (const auto &b : spare_) free(b->dynamic_shared);
}

void Launch::admit_cluster()
{
    const auto cluster = std::make_shared<Cluster>();
    cluster->complete = 0;
    cluster->dynamic_shared = grid_.dynamic_shared;
    cluster->alive = cluster->missing = volume(grid_.threads) * grid_.cluster;
    for (unsigned rank = 0; rank < grid_.cluster; rank++) admit(rank, cluster);
}

void Launch::admit(unsigned rank, const std::shared_ptr<Cluster> &cluster)
{
    if (spare_.empty()) {
        spare_.push_back(std::make_unique<Block>());
        Block &made = *spare_.back();
        made.threads.resize(volume(grid_.threads));
        made.warps.resize((made.threads.size() + warp_size - 1) / warp_size);
        void *p = nullptr;
        if (posix_memalign(&p, 1024, grid_.dynamic_shared) != 0) abort();
        made.dynamic_shared = static_cast<char *>(p);
    }
    Block &b = *spare_.back();
    const std::uint64_t which = admitted_++ / grid_.cluster * stride_ + offset_;
    b.index = position(which % (blocks_ / grid_.cluster) * grid_.cluster + rank, grid_.blocks);
    b.cluster = cluster;
    b.rank = rank;
    cluster->blocks.push_back(&b);
    b.copies.clear();
    b.alive = static_cast<int>(b.threads.size());
    b.waiting = b.predicates = 0;
    for (WarpState &w : b.warps) {
        w.exited = 0;
        w.gatherings.clear();
    }
    for (unsigned i = 0; i < b.threads.size(); i++) {
        b.threads[i] = {};
        b.threads[i].block = &b;
        b.threads[i].index = position(i, grid_.threads);
        b.threads[i].number = i;
        b.ready.push_back(&b.threads[i]);
    }
    b.static_shared.clear();
    fill_poison(b.dynamic_shared, grid_.dynamic_shared, salt_);
    resident_.push_back(std::move(spare_.back()));
    spare_.pop_back();
}

void Launch::enter(Block &b)
{
    if (in_place_ == &b) return;
    if (in_place_) shared_.save(in_place_->static_shared);
    shared_.load(b.static_shared);
    in_place_ = &b;
}

/* Puts the host's values back, since other launches may go on next. */
void Launch::leave()
{
    if (in_place_) shared_.save(in_place_->static_shared);
    shared_.load_host();
    in_place_ = nullptr;
}

Thread &Launch::begin_turn(Block &b, std::size_t chosen)
{
    Thread &t = *b.ready[chosen];
    b.ready[chosen] = b.ready.back();
    b.ready.pop_back();
    if (!b.ready.empty() && b.ready.back()->fibre) expect(*b.ready.back()->fibre);
    if (!t.fibre) t.fibre = take_fibre(run_thread, &t);
    threadIdx = t.index;
    blockIdx = b.index;
    current = &t;
    turns++;
    return t;
}

Thread *Launch::next_in_block()
{
    Block &b = *in_place_;
    leaves_ = random_.one_in(stay_here_);
    if (leaves_ || abandoned_ || b.ready.empty() || idle > longest_wait) return nullptr;
    const bool any = random_.one_in(same_pace_);
    return &begin_turn(b, any ? random_.below(b.ready.size()) : b.ready.size() - 1);
}

/* One thread's turn, and those of others that take over from it. */
void Launch::step(Block &b, std::size_t chosen)
{
    resume(*begin_turn(b, chosen).fibre);
    Thread &t = *std::exchange(current, nullptr);
    if (t.state != Thread::State::exited) return;
    leaves_ = random_.one_in(stay_here_);
    give_fibre(t.fibre);
    t.fibre = nullptr;
    b.alive--;
    if (!abandoned_) leave_cluster(t);
    if (!abandoned_ && !b.alive && !b.copies.empty())
        fault(&t, "the block ends before copies to its shared memory have come");
    idle = 0;
}

bool same_place(Site a, Site b)
{
    return a.line == b.line && a.file == b.file;
}
bool same_wait(const Thread &a, const Thread &b)
{
    return a.state == b.state && a.mask == b.mask && same_place(a.site, b.site);
}

/* Says who waits for what in a block that cannot go on. */
std::string stuck(const Block &b)
{
    std::string text = "deadlock: no thread of the block can go on";
    std::vector<const Thread *> kinds;
    for (const Thread &t : b.threads) {
        bool known = t.state == Thread::State::exited;
        for (const Thread *k : kinds) known = known || same_wait(*k, t);
        if (!known) kinds.push_back(&t);
    }
    for (const Thread *k : kinds) {
        const bool barrier = k->state == Thread::State::at_barrier;
        const bool of_cluster = k->state == Thread::State::at_cluster_barrier;
        text += "; thread " + to_string(k->index) +
                (barrier      ? " waits at the barrier at "
                 : of_cluster ? " waits at the cluster's barrier at "
                              : " waits in a warp operation at ") +
                to_string(k->site);
        if (!barrier && !of_cluster) text += to_string(" with mask 0x%08x", k->mask);
    }
    return text;
}

bool complete_barrier(Block &);

void Launch::go_on_with(Block &b)
{
    enter(b);
    stay_here_ = stays_longer_ ? std::max<std::uint64_t>(stay_, shared_.bytes() / bytes_a_step) : stay_;
    do {
        if (b.ready.empty() && !complete_barrier(b)) {
            if (b.alive > 0 && !waits_for_cluster(b)) fault(&b.threads[0], stuck(b));
            return;
        }
        if (idle > longest_wait) {
            fault(b.ready.back(), "no progress: every thread that can run only waits for another, by atomics "
                                  "that change nothing and fences");
            return;
        }
        const bool any = random_.one_in(same_pace_);
        step(b, any ? random_.below(b.ready.size()) : b.ready.size() - 1);
    } while (!abandoned_ && !leaves_);
}

void Launch::retire(std::size_t chosen)
{
    Block &b = *resident_[chosen];
    if (in_place_ == &b) in_place_ = nullptr; /* nobody needs its values again */
    b.cluster->blocks[b.rank] = nullptr;
    std::swap(resident_[chosen], resident_.back());
    spare_.push_back(std::move(resident_.back()));
    resident_.pop_back();
}

/* Ends the threads that have begun, by an exception in each; the others never begin. */
void Launch::unwind(Block &b)
{
    b.ready.clear();
    for (Thread &t : b.threads) {
        if (!t.fibre) continue;
        b.ready.push_back(&t);
        step(b, 0);
    }
    b.ready.clear();
}

/* Ends what is left of it, after a fault or when nobody waits for it any more. */
void Launch::unwind_all()
{
    if (resident_.empty()) return;
    abandoned_ = true;
    Launch *const before = std::exchange(launch, this);
    for (; !resident_.empty(); retire(resident_.size() - 1)) {
        enter(*resident_.back());
        unwind(*resident_.back());
    }
    leave();
    launch = before;
}

bool Launch::go_on(unsigned long turns_at_most)
{
    launch = this;
    blockDim = grid_.threads;
    gridDim = grid_.blocks;
    for (; !done() && turns_at_most > 0; turns_at_most--) {
        while (admitted_ < blocks_ && resident_.size() + grid_.cluster <= grid_.resident) admit_cluster();
        const std::size_t chosen = random_.below(resident_.size());
        go_on_with(*resident_[chosen]);
        if (resident_[chosen]->alive == 0) retire(chosen);
    }
    if (abandoned_) {
        unwind_all();
        failed_();
    }
    leave();
    launch = nullptr;
    return done();
}

/* When all who are alive have come, they go on. */
bool complete_barrier(Block &b)
{
    if (b.waiting == 0 || b.waiting < b.alive) return false;
    for (Thread &t : b.threads) {
        if (t.state != Thread::State::at_barrier) continue;
        const Barrier kind = static_cast<Barrier>(t.barrier_result);
        if (kind == Barrier::any) t.barrier_result = b.predicates > 0;
        else if (kind == Barrier::all) t.barrier_result = b.predicates == b.waiting;
        else t.barrier_result = b.predicates;
        make_ready(t);
    }
    b.waiting = b.predicates = 0;
    launch->idle = 0;
    return true;
}

}

void make_ready(Thread &t)
{
    t.state = Thread::State::ready;
    t.block->ready.push_back(&t);
}

void wait_for_turn()
{
    Thread &t = *current, *const next = launch->next_in_block();
    if (!next) suspend(*t.fibre);
    else if (next != &t) hand_over(*t.fibre, *next->fibre);
    if (launch->abandoned()) throw Abandon{};
}

Thread *warp_of(Thread &t, unsigned *lanes)
{
    const unsigned first = t.number / warp_size * warp_size;
    *lanes = std::min(warp_size, static_cast<unsigned>(t.block->threads.size()) - first);
    return &t.block->threads[first];
}

int block_barrier(Barrier kind, int predicate, Site site)
{
    Thread &t = *current;
    Block &b = *t.block;
    if (b.waiting == 0) {
        b.first_waiting = &t;
    } else if (!same_place(b.first_waiting->site, site)) {
        fault("divergent barrier: comes to the barrier at " + to_string(site) + " while thread " +
              to_string(b.first_waiting->index) + " waits at the one at " + to_string(b.first_waiting->site));
    }
    t.state = Thread::State::at_barrier;
    t.site = site;
    t.barrier_result = static_cast<int>(kind);
    b.waiting++;
    b.predicates += predicate != 0;
    wait_for_turn();
    return t.barrier_result;
}

void require(bool holds, const char *what)
{
    if (!holds) fault(what);
}

void interleave(bool progress)
{
    launch->idle = progress ? 0 : launch->idle + 1;
    if (launch->random().one_in(2)) return;
    make_ready(*current);
    wait_for_turn();
}

void copy_bulk(const void *arrival, void *to, const void *from, std::size_t bytes)
{
    fill_poison(to, bytes, launch->salt());
    current->block->copies.push_back({ arrival, to, from, bytes });
}

void copies_come(const void *arrival)
{
    std::vector<BulkCopy> left;
    for (const BulkCopy &c : current->block->copies)
        if (c.arrival == arrival) memcpy(c.to, c.from, c.bytes);
        else left.push_back(c);
    current->block->copies.swap(left);
}

long long steps()
{
    return turns;
}
void *dynamic_shared()
{
    return current->block->dynamic_shared;
}
void use_shared(const void *mark)
{
    launch->shared().use(mark);
}
int lane()
{
    return static_cast<int>(current->number % warp_size);
}

std::string where(const Thread *t)
{
    if (!t || !launch) return "";
    return " in kernel " + readable_name(launch->grid().kernel) + ", block " + to_string(t->block->index) +
           ", thread " + to_string(t->index);
}

std::unique_ptr<Running> begin_grid(Grid grid, std::uint64_t seed, std::function<void()> failed)
{
    return std::make_unique<Launch>(std::move(grid), seed, std::move(failed));
}

/* Called by fault() when faults are kept. */
void abandon_launch()
{
    if (launch) launch->abandon();
    if (current) throw Abandon{};
}

}
