/* Warp operations: who has to come, what is wrong with who comes, and each lane's result when all have
 * come. */
#include "engine.h"

#include <algorithm>

namespace simt {
namespace {

const char *name_of(Warp op)
{
    static const char *const names[] = { "__syncwarp",        "__shfl",
                                         "__ballot_sync",     "__any_sync",
                                         "__all_sync",        "__match_any_sync",
                                         "__match_all_sync",  "__reduce_add_sync",
                                         "__reduce_min_sync", "__reduce_min_sync",
                                         "__reduce_max_sync", "__reduce_max_sync",
                                         "__reduce_and_sync", "__reduce_or_sync",
                                         "__reduce_xor_sync" };
    return names[static_cast<int>(op)];
}

bool waits(const Thread &t)
{
    return t.state == Thread::State::in_warp_operation;
}

std::string describe(const Thread &t)
{
    return to_string("%s with mask 0x%08x at ", name_of(t.operation), t.mask) + to_string(t.site);
}

struct Lanes {
    Thread *first;
    unsigned count, mask; /* of the operation, without lanes that the block does not have */
    template <class Do> void each(Do act) const
    {
        for (unsigned i = 0; i < count; i++) {
            if (mask >> i & 1) act(i, first[i]);
        }
    }
};

Lanes lanes_of(Thread &t)
{
    unsigned count = 0;
    Thread *first = warp_of(t, &count);
    return { first, count, t.mask & (count == warp_size ? ~0u : (1u << count) - 1) };
}

std::uint64_t combine(Warp op, std::uint64_t a, std::uint64_t b)
{
    const auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b);
    const bool less = static_cast<std::int32_t>(x) < static_cast<std::int32_t>(y);
    switch (op) {
    case Warp::add: return x + y;
    case Warp::min_signed: return less ? x : y;
    case Warp::max_signed: return less ? y : x;
    case Warp::min_unsigned: return x < y ? x : y;
    case Warp::max_unsigned: return x < y ? y : x;
    case Warp::bit_and: return x & y;
    case Warp::bit_or: return x | y;
    default: return x ^ y;
    }
}

void shuffle_all(const Lanes &lanes)
{
    lanes.each([&](unsigned i, Thread &t) {
        const auto source = static_cast<unsigned>(t.source);
        if (source >= lanes.count || !(lanes.mask >> source & 1)) {
            fault(&t,
                  to_string("lane %u reads lane %u, which %s, in ", i, source,
                            source >= lanes.count ? "the block does not have" : "the mask does not name") +
                      describe(t));
        }
        t.result = lanes.first[source].operand;
    });
}

void match_all(const Lanes &lanes)
{
    lanes.each([&](unsigned, Thread &t) {
        t.result = 0;
        lanes.each(
            [&](unsigned k, Thread &other) { t.result |= std::uint64_t{ other.operand == t.operand } << k; });
        if (t.operation == Warp::match_all && t.result != lanes.mask) t.result = 0;
    });
}

/* Operations whose result is the same in all lanes. */
std::uint64_t common_result(Warp op, const Lanes &lanes)
{
    std::uint64_t votes = 0, sum = 0;
    bool first = true;
    lanes.each([&](unsigned i, Thread &t) {
        votes |= std::uint64_t{ t.operand != 0 } << i;
        sum = first ? t.operand : combine(op, sum, t.operand);
        first = false;
    });
    switch (op) {
    case Warp::sync: return 0;
    case Warp::ballot: return votes;
    case Warp::any: return votes != 0;
    case Warp::all: return votes == lanes.mask;
    default: return sum;
    }
}

void complete(Warp op, const Lanes &lanes)
{
    if (op == Warp::shuffle) {
        shuffle_all(lanes);
    } else if (op == Warp::match_any || op == Warp::match_all) {
        match_all(lanes);
    } else {
        const std::uint64_t result = common_result(op, lanes);
        lanes.each([&](unsigned, Thread &t) { t.result = result; });
    }
    lanes.each([](unsigned, Thread &t) { make_ready(t); });
}

WarpState &state_of(const Thread &t)
{
    return t.block->warps[t.number / warp_size];
}

/* One of the lanes that this one names has exited, or waits for this one in another operation. */
void find_fault(const Thread &self, const Lanes &lanes)
{
    const unsigned number = self.number % warp_size;
    lanes.each([&](unsigned i, Thread &t) {
        if (&t == &self) return;
        if (t.state == Thread::State::exited)
            fault(to_string("lane %u has exited, but is named in ", i) + describe(self));
        const bool same = t.operation == self.operation && t.mask == self.mask;
        if (waits(t) && !same && (t.mask >> number & 1)) {
            fault(to_string("lanes %u and %u wait for each other in different operations: ", number, i) +
                  describe(self) + ", and " + describe(t));
        }
    });
}

}

std::uint64_t warp_operation(Warp op, unsigned mask, std::uint64_t value, int source, Site site)
{
    Thread &self = *current;
    const unsigned self_bit = 1u << lane();
    self.site = site;
    self.operation = op;
    self.mask = mask;
    self.operand = value;
    self.source = source;
    if (!(mask & self_bit))
        fault(to_string("lane %d is not in the mask of its own ", lane()) + describe(self));
    const Lanes lanes = lanes_of(self);
    WarpState &warp = state_of(self);
    Gathering *mine = nullptr;
    bool wrong = (warp.exited & lanes.mask) != 0;
    for (Gathering &g : warp.gatherings) {
        if (g.operation == op && g.mask == mask) mine = &g;
        else wrong = wrong || ((g.come & lanes.mask) && (g.mask & self_bit));
    }
    if (wrong) find_fault(self, lanes);
    if (!mine) mine = &warp.gatherings.emplace_back(Gathering{ op, mask, 0 });
    mine->come |= self_bit;
    self.state = Thread::State::in_warp_operation;
    if (mine->come == lanes.mask) {
        *mine = warp.gatherings.back();
        warp.gatherings.pop_back();
        complete(op, lanes);
    }
    wait_for_turn();
    return self.result;
}

void check_width(int width, Site site)
{
    if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
        fault(to_string("a shuffle of width %d, which is no power of two up to 32, at ", width) +
              to_string(site));
    }
}

void note_exit(Thread &exiting)
{
    WarpState &warp = state_of(exiting);
    const unsigned bit = 1u << exiting.number % warp_size;
    warp.exited |= bit;
    if (std::none_of(warp.gatherings.begin(), warp.gatherings.end(),
                     [bit](const Gathering &g) { return g.mask & bit; }))
        return;
    unsigned count = 0;
    Thread *first = warp_of(exiting, &count);
    for (unsigned i = 0; i < count; i++) {
        if (!waits(first[i]) || !(first[i].mask >> (exiting.number % warp_size) & 1)) continue;
        fault(to_string("lane %u exits while lane %u waits for it in ", exiting.number % warp_size, i) +
              describe(first[i]));
    }
}

}
