/* The model of a multiplication's time on a GPU: bytes over bandwidth, and gathers of x by sectors of 32
 * bytes, whichever is longer, with a part of the other; from L2 where the matrix fits in it, or as far as
 * parts of it stay there; and a launch. Entries of neighbouring rows share sectors, and L1 has some of
 * those that a multiprocessor asks for again. The rates are the device's (spx_machine), which the backend
 * presets. */
#include <cmath>

#include "device.cuh"

extern "C" {
#include "core/tiled.h"
}

namespace {

constexpr double SECTOR = 32.0, /* bytes */
    SHOWN = 0.1;                /* of what is hidden behind something longer */

/* What is moved beside sectors of x. */
double moved_by(const spx_features *f, double bytes)
{
    return bytes + static_cast<double>(f->ncols + f->nrows) * static_cast<double>(f->value_bytes);
}

/* The same of a matrix that passes L2 by, of which x and y are not that stay there, as far as there is room:
 * they take no time beside it. */
double from_memory(const spx_features *f, double bytes)
{
    const double all = spx_cuda_of_l2(f, bytes), vectors = spx_cuda_of_l2(f, 0.0),
                 stay = std::fmin(spx_l2_room(all) / (SPX_L2_OF_VECTORS * vectors), 1.0);
    return moved_by(f, bytes - stay * moved_by(f, 0.0));
}

/* Sectors of x that entries ask for, and the time until they came. */
struct gathers {
    double sectors, from_l2, ns; /* from_l2: those that L1 does not hold */
};

/* L1 has a sector that the multiprocessor asked for before, as far as x fits in it, and the less the larger x
 * is. Four bytes of a lane are served at once, eight in two turns. */
gathers gathers_near(const spx_features *f, double x_bytes, double part_of_first)
{
    constexpr double OF_FLOATS_FIRST = 1.5, OF_FLOATS_SECOND = 1.07;
    const spx_machine *m = f->machine;
    const bool floats = f->value_bytes == 4;
    const double sectors = f->sectors_per_entry * static_cast<double>(f->nnz),
                 each = std::fmax(sectors / static_cast<double>(m->multiprocessors), 1.0),
                 of_x = x_bytes / SECTOR, different = of_x * (1.0 - std::exp(-each / of_x)),
                 held = std::fmin(part_of_first * m->first_cache / x_bytes, 1.0),
                 hits = sectors * (1.0 - different / each) * held * held * held;
    const double first = m->gather_first * (floats ? OF_FLOATS_FIRST : 1.0),
                 second = m->gather_second * (floats ? OF_FLOATS_SECOND : 1.0);
    return { sectors, sectors - hits, m->compute_scale * (hits / first + (sectors - hits) / second) };
}

/* Between two uses of an element lie those of a row's span, where rows follow each other as the columns do:
 * they reach few of these, and neighbours share sectors. A narrow band is in L2 in any order. */
gathers gathers_of(const spx_features *f, double part_of_first)
{
    constexpr double BANDED = 8.0, SHARED = 0.5;
    const spx_machine *m = f->machine;
    const double value = static_cast<double>(f->value_bytes),
                 x_bytes = std::fmax(static_cast<double>(f->ncols), 1.0) * value;
    const bool narrow = BANDED * f->span * value < m->second_cache,
               in_order = BANDED * f->span < static_cast<double>(f->ncols) && f->sectors_per_entry < SHARED;
    const double reach = narrow || in_order ? f->span * value : x_bytes;
    const double from_l2 = reach < m->second_cache ? 1.0 : m->second_cache / reach;
    gathers g = gathers_near(f, x_bytes, part_of_first);
    g.ns = from_l2 * g.ns + (1.0 - from_l2) * g.sectors * m->far_scale / m->gather_memory;
    return g;
}

}

double spx_cuda_cost(const spx_features *f, double bytes, double efficiency, double alone, spx_gathering how)
{
    const spx_machine *m = f->machine;
    const double moved = moved_by(f, bytes), gather = gathers_of(f, how.first).ns;
    const auto at_rate_of = [=](bool l2) {
        const double of_l2 = moved / m->cache_rate,
                     stream =
                         (l2 ? of_l2 : std::fmax(from_memory(f, bytes) / m->memory_rate, of_l2)) / efficiency;
        /* where gathering is not much longer than the stream, each hides as much of the other */
        const double longer = std::fmin(2.0 * (gather / stream - 1.0), 1.0),
                     of_stream = SHOWN + (how.shown - SHOWN) * longer;
        return stream > gather ? stream + SHOWN * gather : gather + of_stream * stream;
    };
    const double all = how.by_parts ? spx_cuda_cost_by_parts(f, bytes, at_rate_of)
                                    : at_rate_of(!how.passes && moved < m->last_cache);
    return m->launch_ns + std::fmax(all, alone);
}

double spx_cuda_part_in_long(const spx_features *f, int64_t long_rows)
{
    if (!f->nnz) return 0.0;
    const double entries = static_cast<double>(f->nnz),
                 of_entry = f->mean + f->deviation * f->deviation / f->mean,
                 others = static_cast<double>(f->nrows - f->empty - long_rows);
    return (1.0 - f->mean / of_entry) *
           std::fmin(std::sqrt(static_cast<double>(long_rows) * of_entry / entries), 1.0 - others / entries);
}

double spx_cuda_of_l2(const spx_features *f, double bytes)
{
    return SPX_L2_SERVES * moved_by(f, bytes) / f->machine->last_cache;
}

bool spx_cuda_served_by_l2(const spx_features *f, double bytes)
{
    return moved_by(f, bytes) < f->machine->last_cache;
}

double spx_cuda_part_of_l2(const spx_features *f, double bytes)
{
    const double all = spx_cuda_of_l2(f, bytes), vectors = spx_cuda_of_l2(f, 0.0),
                 passes = 1.0 - spx_l2_share(all - vectors, vectors, 0.0);
    return 1.0 - passes * passes;
}

double spx_cuda_cost_in_l2(const spx_features *f, double bytes, double efficiency, double alone)
{
    constexpr double BEGUN = 700.0; /* ns, of a launch, which are hidden behind the one before */
    const spx_machine *m = f->machine;
    const double moved = moved_by(f, bytes);
    const gathers g = gathers_of(f, 1.0);
    const double served = (moved + SECTOR * g.from_l2) / (SPX_L2_RATE * m->cache_rate * efficiency);
    const double all = std::fmax(served, g.ns) + SHOWN * std::fmin(served, g.ns);
    return m->launch_ns - BEGUN + std::fmax(std::fmax(all, alone), BEGUN);
}

double spx_cuda_resident(const spx_machine *m)
{
    return static_cast<double>(m->multiprocessors) * static_cast<double>(m->resident_threads);
}

namespace {

constexpr double GROUP = SPX_TILED_GROUP, LAUNCHES = 1.5;

/* Each sum of a segment, from where it was written a moment ago, in the order of rows. */
double cost_of_sums(const spx_features *f, double segments)
{
    const spx_machine *const m = f->machine;
    const double bytes = segments * static_cast<double>(f->value_bytes),
                 from_l2 = bytes < m->second_cache ? 1.0 : m->second_cache / bytes;
    return segments * (from_l2 / m->gather_second + (1.0 - from_l2) / m->gather_memory);
}

/* Bytes of a place's column and value, where entries of a tile are so far from each other. Groups of eight
 * that are told by that end where it is too far, so that they are more. */
double place_bytes(int64_t columns, double gap, double coded)
{
    constexpr double OTHERS = GROUP - 1.0, RISE = SPX_TILED_RISE, U16 = 2.0, DELTA = 12.0 / GROUP;
    const double more = 1.0 + 0.5 * OTHERS * std::exp(-RISE / gap);
    const bool delta = columns ? columns == SPX_COLUMNS_DELTA : spx_tiled_by_delta(1.0, more);
    return delta ? more * (DELTA + coded) : U16 + coded;
}

/* Parts of a row of so many places, where there are few rows. */
double parts_of(double filled)
{
    constexpr double LEAST = 4.0, MOST = 4.0; /* groups of a part; parts */
    return std::fmax(std::fmin(filled / GROUP / LEAST, MOST), 1.0);
}

/* Has each row one segment at most, so that blocks keep their sums, as far as all rows have one length? */
bool are_kept(const spx_features *f, const spx_layout *l, double filled)
{
    constexpr double ROOM = 227 << 10; /* of shared memory, of a block */
    const double sums = static_cast<double>(f->nrows) / f->machine->multiprocessors * parts_of(filled);
    return l->tile_width >= f->ncols && f->longest <= SPX_TILED_PIECE &&
           (sums + static_cast<double>(f->ncols)) * static_cast<double>(f->value_bytes) <= ROOM;
}

/* One launch: all blocks bring all of x, of which L2 serves one sector to several of them at a time; rows go
 * where they belong in y, one by one if their lengths differ, since slices are of rows of one length. */
double cost_of_kept(const spx_features *f, double places, double coded_bytes, double gather, double alone)
{
    constexpr double EFFICIENCY = 0.9, EFFICIENCY_IN_L2 = 0.78, OVERLAP = 0.1, BROUGHT = 0.4, SCATTERED = 1.7,
                     START = 2400.0, START_IN_L2 = 400.0; /* ns */
    const spx_machine *const m = f->machine;
    const double value = static_cast<double>(f->value_bytes), rows = static_cast<double>(f->nrows),
                 columns = static_cast<double>(f->ncols), bytes = places * coded_bytes,
                 brought = BROUGHT * columns * value * m->multiprocessors / m->cache_rate,
                 scattered = f->deviation > 0 ? SCATTERED * rows / m->gather_second : 0.0;
    return m->launch_ns + brought + scattered + spx_cuda_cost_by_parts(f, bytes, [=](bool in_l2) {
               const double all_bytes = moved_by(f, bytes),
                            stream = all_bytes /
                                     (in_l2 ? EFFICIENCY_IN_L2 * m->cache_rate : EFFICIENCY * m->memory_rate),
                            all = stream > gather ? stream + OVERLAP * gather : gather + OVERLAP * stream;
               return (in_l2 ? START_IN_L2 : START) + std::fmax(all, alone);
           });
}

/* A row has a segment in each tile that its columns reach, which is filled up to groups of eight; each
 * segment's sum is written and read. x comes from memory once a block and tile, before which nothing
 * begins, and is gathered from shared memory, which takes a multiprocessor GATHER ns a byte, since lanes
 * meet in its banks. Of the segments' sums several lie in a sector. The longest piece is one lane's, STEP ns
 * for each group, or some parts' where most pieces are long. */
double cost_of_tiles(const spx_features *f, const spx_layout *l, double coded)
{
    constexpr double EFFICIENCY = 0.9, GATHER = 0.02, OVERLAP = 0.1, SUMS = 0.3, STEP = 500.0, START = 4000.0,
                     START_IN_L2 = 2000.0; /* ns of the first tile */
    const double value = static_cast<double>(f->value_bytes), mean = std::fmax(f->mean, 1.0),
                 width = static_cast<double>(spx_max(l->tile_width, 1));
    const bool kept = are_kept(f, l, GROUP * std::ceil(mean / GROUP));
    const double reach = kept ? 1.0 : 1.0 + f->span / width, segments = std::fmin(mean, reach),
                 length = mean / segments, filled = GROUP * std::ceil(length / GROUP),
                 rows = static_cast<double>(f->nrows), places = rows * segments * filled,
                 gap = std::fmin(f->span, width) / length, coded_bytes = place_bytes(l->columns, gap, coded),
                 bytes = places * coded_bytes + rows * segments * (2.0 * value + 4.0) +
                         (rows + static_cast<double>(f->ncols)) * value;
    const spx_machine *m = f->machine;
    const double gather = GATHER * value * places / static_cast<double>(m->multiprocessors),
                 brought = width * value * static_cast<double>(m->multiprocessors) / m->cache_rate,
                 alone = STEP * std::fmin(static_cast<double>(f->longest), SPX_TILED_PIECE) / GROUP /
                         parts_of(filled),
                 sums = cost_of_sums(f, rows * segments);
    if (kept) return cost_of_kept(f, places, coded_bytes, gather, alone);
    return LAUNCHES * m->launch_ns + brought +
           spx_cuda_cost_by_parts(f, bytes - moved_by(f, 0.0), [=](bool in_l2) {
               const double stream = bytes / (EFFICIENCY * (in_l2 ? m->cache_rate : m->memory_rate)),
                            all = stream > gather ? stream + OVERLAP * gather : gather + OVERLAP * stream;
               return (in_l2 ? START_IN_L2 : START) + (in_l2 ? 1.0 : SUMS) * sums + std::fmax(all, alone);
           });
}

/* Rows are filled up to groups; each multiprocessor gathers what it holds, and what is not held is gathered,
 * a sector an entry. Each of the device's warps waits some times for memory on every slice that it takes, and
 * for each group of the longest piece, which shows where there is little else. */
double cost_of_hot(const spx_features *f, double hot, double coded, double share)
{
    constexpr double EFFICIENCY = 0.85, SLICE = 2000.0, STEP = 1500.0, HIDDEN = 0.3, /* SLICE, STEP: ns */
        LANES = SPX_TILED_LANES, OF_BLOCK = 2.0 / 3.0; /* which shares some with another one */
    const spx_machine *const m = f->machine;
    const double value = static_cast<double>(f->value_bytes), rows = static_cast<double>(f->nrows - f->empty),
                 places = static_cast<double>(f->nnz) + 0.5 * GROUP * rows, bytes = places * (4.0 + coded),
                 sums = static_cast<double>(f->nrows) * (2.0 * value + 12.0),
                 rate = EFFICIENCY * m->memory_rate;
    const double slices = rows / LANES / 32.0 / static_cast<double>(m->multiprocessors),
                 hold = (m->clusters ? OF_BLOCK : 1.0) * hot * static_cast<double>(m->multiprocessors) /
                        m->gather_first;
    spx_features cold = *f;
    cold.nnz = static_cast<int64_t>((1.0 - share) * static_cast<double>(f->nnz));
    const double all = LAUNCHES * m->launch_ns + hold + cost_of_sums(f, rows) + SLICE * slices +
                       (0.5 * bytes + sums) / rate + spx_cuda_cost(&cold, 0.5 * bytes, EFFICIENCY, 0.0),
                 alone = STEP * std::fmin(static_cast<double>(f->longest), SPX_TILED_PIECE) / GROUP;
    return all + std::fmax(alone - HIDDEN * all, 0.0);
}

}

double spx_cuda_tiled_cost(const spx_features *f, const spx_layout *l, double value_bytes, double hot_share)
{
    return l->hot ? cost_of_hot(f, static_cast<double>(l->hot), value_bytes, hot_share)
                  : cost_of_tiles(f, l, value_bytes);
}
