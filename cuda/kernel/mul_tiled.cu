/* y = alpha*A*x + beta*y for TILED on a GPU: a block, one to a multiprocessor, takes neighbouring slices, as
 * many places as any other block; it brings a tile's part of x to shared memory, and its warps draw the
 * tile's slices, or parts of them where slices are few, one after the other from a counter. A lane loads
 * eight entries at a time, their columns with one instruction or two, and gathers from shared memory; its sum
 * is stored. A second launch, which begins while the first one ends, adds up each row's sums in an order that
 * the row's list tells. Where no row has two segments, so that a block has all parts of its rows, their sums
 * stay in shared memory if there is room, and the block adds them up itself, in the same order.
 * Where the format holds the hot columns, all blocks bring these to shared memory, or two of a cluster the
 * hottest each and of the others half, take slices in turns, and gather the other columns through the caches.
 * Which warp has a part, and where blocks are cut, does not matter for the sums, so that the bits are the
 * same in every run.
 * Differs from the report: a tile is shared by a block of 1024 threads and all rows that reach it, there by
 * the rows of a warp. Rows keep their place, where the report would reorder them: the format cuts them where
 * tiles end, sorts a tile's pieces by length, and stores columns in 16 bits or 12. The report passes over
 * the hot columns (III-C), since they take long to find; here they are counted once, when the format is
 * made.
 * Source: docs/design.md, section 6; Oniarti report, III-C and VI-A ('future work'). */
#include "early.cuh"
#include "held.cuh"
#include "rows.cuh"
#include "tiled_slices.cuh"

namespace {

constexpr const char *NAME = "tiled";
constexpr int THREADS = 1024, SEARCHING = 128, GROUP = SPX_TILED_GROUP;
constexpr size_t OWN_BYTES = 64; /* of shared memory, beside what depends on the matrix */
/* MOST_PARAM is no parameter: the most slices of a block where blocks keep their sums, or 0. */
enum { LANES_PARAM, PARTS_PARAM, CLUSTER_PARAM, MOST_PARAM };

/* Where a block begins. */
struct start {
    int slice, tile;
};

/* Equal places for every block; a slice counts as two groups more. */
template <class V, class P>
__global__ void find_starts(spx_tiling<V, P, uint16_t> A, int blocks, start *starts)
{
    constexpr int WAYS = 4, OVERHEAD = 2 * GROUP * SPX_TILED_LANES;
    const int block = static_cast<int>(blockIdx.x) * SEARCHING + static_cast<int>(threadIdx.x);
    if (block > blocks) return;
    const auto weight = [&](int64_t s) { return static_cast<int64_t>(A.ptr[s]) + s * OVERHEAD; };
    const int64_t before = static_cast<int64_t>(static_cast<double>(weight(A.slices)) * block / blocks);
    const int slice =
        block == blocks ? A.slices : static_cast<int>(spx_first_not<WAYS>(0, A.slices, [&](int64_t s) {
            return weight(s) < before;
        }));
    const int64_t tile = spx_first_not<WAYS>(0, A.tiles, [&](int64_t t) { return A.tile[t + 1] <= slice; });
    starts[block] = { slice, static_cast<int>(tile) };
}

/* The most slices of a block, or INT32_MAX where a row has several segments; and how many rows have none. */
struct kept {
    int most, nones;
};

/* Where no row has several segments, `none` has room for the rows that have none. */
__global__ void look_at_rows(const start *starts, int blocks, const int64_t *list_ptr, int64_t nrows,
                             int room, int *none, kept *found)
{
    constexpr unsigned ALL = 0xffffffffu;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * SEARCHING + threadIdx.x;
    const unsigned lane = threadIdx.x % 32;
    const int64_t segments = i < nrows ? list_ptr[i + 1] - list_ptr[i] : 1;
    if (i < blocks) atomicMax(&found->most, starts[i + 1].slice - starts[i].slice);
    if (__any_sync(ALL, segments > 1) && lane == 0) atomicMax(&found->most, INT32_MAX);
    const unsigned empty = __ballot_sync(ALL, segments == 0);
    int place = 0;
    if (empty && lane == 0) place = atomicAdd(&found->nones, __popc(empty));
    place = __shfl_sync(ALL, place, 0) + __popc(empty & ((1u << lane) - 1));
    if (segments == 0 && place < room) none[place] = static_cast<int>(i);
}

/* One thread starts to copy n elements, but for the last few if these fill no unit, and all get how many that
 * are; 0 where none can be copied. Where tiles are of whole units all but the last one are copied as a whole
 * or not at all, so that nothing is copied to where threads have written. */
template <class V>
__device__ __forceinline__ int start_copy(V *to, const V *from, int n, int width, spx_arrival *arrival)
{
    constexpr int UNIT = SPX_COPY_UNIT / static_cast<int>(sizeof(V));
    if (!SPX_BULK_COPIES || n < UNIT || width % UNIT) return 0;
    if (reinterpret_cast<uintptr_t>(from) % SPX_COPY_UNIT) return 0;
    const unsigned bytes = static_cast<unsigned>(n / UNIT) * SPX_COPY_UNIT;
    if (threadIdx.x == 0) {
        spx_arrival_expect(arrival, bytes);
        spx_copy_bulk(to, from, bytes, arrival);
    }
    return n / UNIT * UNIT;
}

/* Where `partial` is NULL, the block stores its rows' places of y, and those of some of the `nones` rows that
 * have no segment. */
template <class V, class P, class C, int VALUES, bool STAYS>
__global__ void __launch_bounds__(THREADS, 1)
    tiled(spx_tiling<V, P, C> A, spx_early_vectors<V> vectors, const start *starts, V *partial, int parts,
          unsigned staying, const int *none, int nones)
{
    constexpr int LANES = SPX_TILED_LANES;
    __shared__ int next;
    __shared__ spx_arrival arrival;
    V *const held = spx_dynamic_shared<V>(); /* a tile's part of x */
    const int thread = static_cast<int>(threadIdx.x);
    const start begin = starts[blockIdx.x];
    const int last = starts[blockIdx.x + 1].slice, own = partial ? 0 : (last - begin.slice) * LANES,
              before = begin.slice * parts;
    const auto row_at = [&](int i) {
        return i < own ? spx_load_cached(A.row + static_cast<int64_t>(begin.slice) * LANES + i) : -1;
    };
    V *const sums = held + (A.ncols < A.width ? A.ncols : A.width); /* that the block keeps */
    int slice = begin.slice, row = row_at(thread);
    unsigned phase = 0;
    if (thread == 0) spx_arrival_new(&arrival);
    vectors.wait();
    for (int tile = begin.tile; slice < last; tile++) {
        const int tile_end = A.tile[tile + 1], end = tile_end < last ? tile_end : last;
        if (slice >= end) continue;
        const int64_t first = static_cast<int64_t>(tile) * A.width;
        const int columns = static_cast<int>(A.ncols - first < A.width ? A.ncols - first : A.width);
        __syncthreads(); /* the tile before is done with */
        /* where all blocks bring the same, loads of all threads are faster */
        const int copied = A.tiles > 1 ? start_copy(held, vectors.x + first, columns, A.width, &arrival) : 0;
        for (int i = copied + thread; i < columns; i += THREADS)
            held[i] = spx_load_if<SPX_PAST, SPX_LATE>(true, vectors.x + first + i, V(0));
        if (thread == 0) next = slice * parts;
        __syncthreads();
        bool arrived = !copied;
        const auto come = [&] {
            if (!arrived) spx_arrival_wait(&arrival, phase);
            arrived = true;
        };
        spx_draw(&next, end * parts, [&](int mine) {
            spx_by_part<STAYS, SPX_PAST>(
                spx_part_stays(static_cast<unsigned>(mine), staying), [&](auto policy) {
                    const V sum = spx_sum_lane<VALUES, policy.value>(A, mine / parts, mine % parts, parts,
                                                                     come, [&](int c) { return held[c]; });
                    if (partial) partial[static_cast<int64_t>(mine) * LANES + thread % 32] = sum;
                    else sums[(mine - before) * LANES + thread % 32] = sum;
                });
        });
        come(); /* whoever drew nothing, too: no block ends before its copies do */
        phase ^= copied > 0;
        slice = end;
    }
    if (partial) return;
    __syncthreads();
    for (int i = thread; i < own; row = row_at(i += THREADS)) {
        V sum = 0;
        for (int p = 0; p < parts; p++) sum += sums[(i / LANES * parts + p) * LANES + i % LANES];
        if (row >= 0) vectors.put(row, sum);
    }
    for (int i = static_cast<int>(blockIdx.x) * THREADS + thread; i < nones;
         i += static_cast<int>(gridDim.x) * THREADS)
        vectors.put(none[i], V(0));
}

template <class V, class P, int VALUES, int BLOCKS, bool STAYS>
__global__ void __launch_bounds__(THREADS, 1)
    tiled_hot(spx_tiling<V, P, int32_t> A, spx_early_vectors<V> vectors, V *partial, int parts, int own,
              unsigned staying)
{
    vectors.wait();
    __shared__ int next;
    const spx_held_x<V, BLOCKS> near(spx_dynamic_shared<V>(), A.hot, own); /* x at the hot columns */
    const int thread = static_cast<int>(threadIdx.x), blocks = static_cast<int>(gridDim.x),
              block = static_cast<int>(blockIdx.x), items = A.slices * parts;
    const auto load = [&](bool in, int c) {
        return spx_load_if<SPX_KEPT, SPX_LATE>(in, vectors.x + c, V(0));
    };
    near.template bring<THREADS>([&](bool in, unsigned i) { return load(in, in ? A.held[i] : 0); });
    if (thread == 0) next = 0;
    near.come();
    /* longer slices come first, so that in turns all blocks get the same mixture */
    spx_draw(&next, (items - block + blocks - 1) / blocks, [&](int drawn) {
        const int mine = drawn * blocks + block;
        const auto x_at = [&](int32_t c) {
            const unsigned place = static_cast<unsigned>(SPX_TILED_HOT(c));
            if constexpr (BLOCKS == 1) return c < 0 ? near.get(true, place, V(0)) : load(true, c);
            else return near.get(c < 0, place, load(c >= 0, c));
        };
        spx_by_part<STAYS, SPX_PAST>(spx_part_stays(static_cast<unsigned>(mine), staying), [&](auto policy) {
            partial[static_cast<int64_t>(mine) * SPX_TILED_LANES + thread % 32] =
                spx_sum_lane<VALUES, policy.value>(
                    A, mine / parts, mine % parts, parts, [] {}, x_at);
        });
    });
    near.meet();
}

/* ---- the host's side ---- */

/* Hot columns that both blocks of a cluster hold: those with most entries, which come first. */
int64_t own_of(const spx_sparse *a)
{
    return a->layout.hot / 3;
}

/* Of a part of x, and of the sums that a block keeps. */
size_t shared_bytes(const spx_sparse *a, const spx_partition *p)
{
    const int64_t columns = a->layout.hot
                                ? spx_held_by_block(a->layout.hot, own_of(a), p->param[CLUSTER_PARAM])
                                : spx_min(a->layout.tile_width, a->ncols);
    return static_cast<size_t>(columns + p->param[MOST_PARAM] * p->param[PARTS_PARAM] * SPX_TILED_LANES) *
           spx_type_bytes(a->val_type);
}

/* Calls f with how many blocks hold hot columns together. */
template <class F> spmvx_status with_holders(const spx_partition *p, F f)
{
    return spx_pick<1, SPX_HOLDERS>(p->param[CLUSTER_PARAM], f);
}

/* Calls f with numbers of the types of values and pointers, how values are stored, and whether all stays in
 * L2. */
template <class F>
spmvx_status with_types(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_by_code<sizeof value>(a->layout.values, [&](auto code) {
            return spx_by_residence(
                ctx, a, [&](auto stays) { return f(value, pointer, code, stays); }, p->work_bytes);
        });
    });
}
/* Calls f with the kernel that adds up sums by so many lanes a row. */
template <class F>
spmvx_status with_adding(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_value(a, [&](auto value) {
        return spx_pick<1, 2, 4, 8, 16, 32>(p->param[LANES_PARAM], [&](auto lanes) {
            return spx_by_residence(
                ctx, a,
                [&](auto stays) { return f(spx_add_tiled_rows<decltype(value), lanes.value, stays.value>); },
                p->work_bytes);
        });
    });
}

/* Calls f with a column of a tile. */
template <class F> spmvx_status with_columns(const spx_sparse *a, F f)
{
    return a->layout.columns == SPX_COLUMNS_DELTA ? f(spx_tiled_delta()) : f(uint16_t());
}

/* Rows without a segment, where none has several. */
int64_t nones_of(const spx_sparse *a)
{
    return a->nrows - static_cast<int64_t>(a->slot[SPX_LIST]->bytes / sizeof(int));
}

start *starts_of(const spx_partition *p)
{
    return static_cast<start *>(p->bounds->data);
}

/* Where blocks begin. */
template <class V, class P> spmvx_status find(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const size_t all = static_cast<size_t>(p->chunks + 1) * sizeof(start) + sizeof(kept);
    SPX_TRY(ctx->backend->array_new(ctx, all, "a partition", &p->bounds));
    SPX_TRY(spx_cuda_load(ctx, NAME, find_starts<V, P>, 0));
    return spx_cuda_launch(ctx, NAME, find_starts<V, P>, spx_ceil_div(p->chunks + 1, SEARCHING), SEARCHING, 0,
                           spx_tiling_of<V, P, uint16_t>(a), static_cast<int>(p->chunks), starts_of(p));
}

/* Do blocks keep their sums? Where these fit; `order` then has the rows without a segment. */
spmvx_status look_whether_kept(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t nones = nones_of(a), looked_at = spx_max(p->chunks, a->nrows);
    if (nones < 0 || !spx_tiled_slices(a)) return ctx->backend->synchronize(ctx);
    const size_t list = static_cast<size_t>(nones) * sizeof(int);
    kept found = {}, *const at = reinterpret_cast<kept *>(starts_of(p) + p->chunks + 1);
    if (list) SPX_TRY(ctx->backend->array_new(ctx, list, "rows without a segment", &p->order));
    int *const none = list ? static_cast<int *>(p->order->data) : nullptr;
    SPX_TRY(spx_cuda_load(ctx, NAME, look_at_rows, 0));
    SPX_TRY(spx_cuda_clear(ctx, at, sizeof found, NAME));
    SPX_TRY(spx_cuda_launch(ctx, NAME, look_at_rows, spx_ceil_div(looked_at, SEARCHING), SEARCHING, 0,
                            starts_of(p), static_cast<int>(p->chunks),
                            static_cast<const int64_t *>(spx_data(a, SPX_LIST_PTR)), a->nrows,
                            static_cast<int>(nones), none, at));
    SPX_TRY(ctx->backend->download(ctx, &found, at, sizeof found));
    p->param[MOST_PARAM] = found.most;
    if (found.most < INT32_MAX && shared_bytes(a, p) + OWN_BYTES <= spx_cuda_of(ctx)->block_bytes)
        return SPMVX_OK;
    p->param[MOST_PARAM] = 0;
    spx_array_drop(p->order);
    p->order = nullptr;
    return SPMVX_OK;
}

/* Parts of a slice, as asked for, or so many that each warp has some, while a part has some groups. */
int64_t parts_for(const spx_sparse *a, const spx_partition *p)
{
    constexpr int64_t WANTED = 6 * THREADS / 32, LEAST = 4, MOST = 4;
    const int64_t slices = spx_max(spx_tiled_slices(a), 1),
                  groups = a->stored / (slices * SPX_TILED_LANES * GROUP);
    if (p->param[PARTS_PARAM]) return p->param[PARTS_PARAM];
    return spx_max(1, spx_min(spx_min(groups / LEAST, MOST), spx_ceil_div(WANTED * p->chunks, slices)));
}

/* A block alone, where it holds what few hot columns there are, or a tile. */
void choose_cluster(const spmvx_context *ctx, const spx_sparse *a, int64_t *cluster)
{
    constexpr int64_t FEW = 128 << 10; /* bytes */
    if (!a->layout.hot) *cluster = 1;
    if (*cluster) return;
    const bool few = a->layout.hot * static_cast<int64_t>(spx_type_bytes(a->val_type)) < FEW;
    *cluster = spx_cuda_of(ctx)->since_90 && !few ? SPX_HOLDERS : 1;
}

/* Lanes that add up a row's pieces: with room for twice as many as it has in the mean. Rows of more are added
 * up one after the other by the warp that has them, so where some have several and rows are few, so many that
 * all threads of the device have something. */
int64_t lanes_for(const spmvx_context *ctx, const spx_sparse *a)
{
    constexpr int64_t FEW = spx_tiled_pieces<1, false, float>::COUNT, MOST = 32;
    const int64_t rows = spx_max(a->nrows, 1), pieces = spx_tiled_slices(a) * SPX_TILED_LANES,
                  threads = 2048 * static_cast<int64_t>(spx_cuda_of(ctx)->multiprocessors);
    const int64_t tiles = a->layout.hot ? 1 : spx_ceil_div(a->ncols, spx_max(a->layout.tile_width, 1));
    const bool several = pieces > rows + rows / 8 + tiles * SPX_TILED_LANES; /* slices may be filled up */
    int64_t lanes = 1;
    while (lanes < MOST && (lanes * FEW < 2 * (pieces / rows) || (several && 2 * lanes * rows <= threads)))
        lanes *= 2;
    return lanes;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t slices = spx_tiled_slices(a);
    p->param[MOST_PARAM] = 0; /* whatever an earlier one found */
    SPX_TRY(spx_cuda_check_cluster(ctx, p->param[CLUSTER_PARAM]));
    if (!p->param[LANES_PARAM]) p->param[LANES_PARAM] = lanes_for(ctx, a);
    choose_cluster(ctx, a, &p->param[CLUSTER_PARAM]);
    const int64_t cluster = p->param[CLUSTER_PARAM];
    p->chunks = spx_max(spx_min(spx_cuda_of(ctx)->multiprocessors, slices) / cluster, 1) * cluster;
    p->param[PARTS_PARAM] = parts_for(a, p);
    if (slices * p->param[PARTS_PARAM] > INT32_MAX - (1 << 20)) /* warps draw beyond the last one */
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%lld slices in %lld parts; %s takes 2^31 on CUDA",
                        static_cast<long long>(slices), static_cast<long long>(p->param[PARTS_PARAM]), NAME);
    if (!a->layout.hot) {
        SPX_TRY(spx_by_type(a, [=](auto value, auto pointer) {
            return find<decltype(value), decltype(pointer)>(ctx, a, p);
        }));
        SPX_TRY(look_whether_kept(ctx, a, p));
    }
    if (!p->param[MOST_PARAM]) {
        p->work_bytes = static_cast<size_t>(slices * p->param[PARTS_PARAM]) * SPX_TILED_LANES *
                        spx_type_bytes(a->val_type);
        SPX_TRY(with_adding(ctx, a, p, [ctx](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); }));
    }
    return with_types(ctx, a, p, [=](auto value, auto pointer, auto code, auto stays) {
        using V = decltype(value);
        using P = decltype(pointer);
        constexpr bool STAYS = stays.value;
        if (a->layout.hot)
            return with_holders(p, [=](auto blocks) {
                return spx_cuda_load(ctx, NAME, tiled_hot<V, P, code.value, blocks.value, STAYS>,
                                     shared_bytes(a, p));
            });
        return with_columns(a, [=](auto column) {
            return spx_cuda_load(ctx, NAME, tiled<V, P, decltype(column), code.value, STAYS>,
                                 shared_bytes(a, p));
        });
    });
}

template <int VALUES, bool STAYS, class V, class P>
spmvx_status multiply(const spx_mul *m, V *partial, int parts)
{
    const spx_sparse *const a = m->A;
    const spx_partition *const p = m->part;
    const spx_early_vectors<V> vectors = spx_early_vectors_of<V>(m);
    const unsigned staying = spx_cuda_staying(m->ctx, a, p->work_bytes);
    if (a->layout.hot)
        return with_holders(p, [=](auto blocks) {
            constexpr spx_launch_kind kind = { .early = true,
                                               .cluster = static_cast<unsigned>(blocks.value) };
            return spx_cuda_launch_as(kind, m->ctx, NAME, tiled_hot<V, P, VALUES, blocks.value, STAYS>,
                                      p->chunks, THREADS, shared_bytes(a, p), spx_tiling_of<V, P, int32_t>(a),
                                      vectors, partial, parts, static_cast<int>(own_of(a)), staying);
        });
    return with_columns(a, [=](auto column) {
        using C = decltype(column);
        return spx_cuda_launch_mul(m, NAME, tiled<V, P, C, VALUES, STAYS>, p->chunks, THREADS,
                                   shared_bytes(a, p), spx_tiling_of<V, P, C>(a), vectors, starts_of(p),
                                   partial, parts, staying,
                                   p->order ? static_cast<const int *>(p->order->data) : nullptr,
                                   p->order ? static_cast<int>(nones_of(a)) : 0);
    });
}

template <class V>
spmvx_status add(const spx_mul *m,
                 void (*kernel)(int, const int64_t *, const int *, const V *, int, spx_vectors<V>), int parts)
{
    const spx_sparse *const a = m->A;
    return spx_cuda_launch_early(m->ctx, NAME, kernel,
                                 spx_ceil_div(a->nrows * m->part->param[LANES_PARAM], SPX_TILED_ADDING),
                                 SPX_TILED_ADDING, 0, static_cast<int>(a->nrows),
                                 static_cast<const int64_t *>(spx_data(a, SPX_LIST_PTR)),
                                 static_cast<const int *>(spx_data(a, SPX_LIST)),
                                 static_cast<const V *>(m->work), parts, spx_vectors_of<V>(m));
}

spmvx_status run(const spx_mul *m)
{
    const spx_sparse *const a = m->A;
    const int parts = static_cast<int>(m->part->param[PARTS_PARAM]);
    SPX_TRY(with_types(m->ctx, a, m->part, [=](auto value, auto pointer, auto code, auto stays) {
        using V = decltype(value);
        V *const partial = m->part->param[MOST_PARAM] ? nullptr : static_cast<V *>(m->work);
        return multiply<code.value, stays.value, V, decltype(pointer)>(m, partial, parts);
    }));
    if (m->part->param[MOST_PARAM]) return SPMVX_OK;
    return with_adding(m->ctx, a, m->part, [=](auto kernel) { return add(m, kernel, parts); });
}

double cost(const spx_features *f, const spx_look *look)
{
    return spx_cuda_tiled_cost(f, &look->layout, spx_look_value_bytes(f, look), look->hot_share);
}

const spx_param params[] = {
    { .key = "lanes", .low = 1, .high = 32, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "parts", .low = 1, .high = 64, .preset = 0 },
    { .key = "cluster", .low = 1, .high = SPX_HOLDERS, .preset = 0 },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_tiled = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_TILED,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "tiles of x in shared memory, columns in 16 or 12 bits, values in fewest, a lane a segment",
    .source = "docs/design.md, section 6",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
