/* y = alpha*A*x + beta*y for TILED on a GPU: a block, one to a multiprocessor, takes neighbouring slices, as
 * many places as any other block; it brings a tile's part of x to shared memory, and its warps draw the
 * tile's slices, or parts of them where slices are few, one after the other from a counter. A lane loads
 * eight entries at a time, their columns with one instruction, and gathers from shared memory; its sum is
 * stored. A second launch, which begins while the first one ends, adds up each row's sums in the order of the
 * row's list.
 * Which warp has a part, and where blocks are cut, does not matter for the sums, so that the bits are the
 * same in every run.
 * Source: docs/design.md, section 6; the tiling of the Marconi and Oniarti reports' 'future work'. */
#include <cmath>

#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"
#include "rows.cuh"

extern "C" {
#include "core/tiled.h"
}

namespace {

constexpr const char *NAME = "tiled";
constexpr int THREADS = 1024, SEARCHING = 128, ADDING = 256, GROUP = SPX_TILED_GROUP;
enum { LANES_PARAM, PARTS_PARAM };

template <class V, class P> struct tiling {
    int ncols, width, tiles, slices;
    const int *tile; /* a tile's first slice, and one more */
    const P *ptr;
    const uint16_t *col;
    const V *val;

    template <class F> void each_pointer(F f) const
    {
        f(tile), f(ptr), f(col), f(val);
    }
};

/* Where a block begins. */
struct start {
    int slice, tile;
};

/* Equal places for every block; a slice counts as two groups more. */
template <class V, class P> __global__ void find_starts(tiling<V, P> A, int blocks, start *starts)
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

/* What a lane has of a part of a slice. */
template <class V, class P>
__device__ __forceinline__ V sum_lane(const tiling<V, P> &A, int slice, int part, int parts, int lane,
                                      const V *x)
{
    constexpr int64_t GROUPS = SPX_TILED_LANES * GROUP; /* of all lanes */
    const int64_t first = static_cast<int64_t>(spx_load_cached(A.ptr + slice)),
                  groups = (static_cast<int64_t>(spx_load_cached(A.ptr + slice + 1)) - first) / GROUPS,
                  begin = first + groups * part / parts * GROUPS,
                  end = first + groups * (part + 1) / parts * GROUPS;
    V sum = 0;
    for (int64_t k = begin + lane * GROUP; k < end; k += GROUPS) {
        constexpr int AT_ONCE = 16 / sizeof(V);
        struct alignas(16) columns {
            uint16_t of[GROUP];
        };
        struct alignas(16) values {
            V of[AT_ONCE];
        };
        const columns c =
            spx_load_if<SPX_PAST>(true, reinterpret_cast<const columns *>(A.col + k), columns());
        values v[GROUP / AT_ONCE];
#pragma unroll
        for (int i = 0; i < GROUP / AT_ONCE; i++)
            v[i] = spx_load_if<SPX_PASSING>(true, reinterpret_cast<const values *>(A.val + k) + i, values());
        if (c.of[GROUP - 1] != SPX_TILED_PADDING) {
#pragma unroll
            for (int i = 0; i < GROUP; i++) sum += v[i / AT_ONCE].of[i % AT_ONCE] * x[c.of[i]];
        } else {
#pragma unroll
            for (int i = 0; i < GROUP; i++)
                if (c.of[i] != SPX_TILED_PADDING) sum += v[i / AT_ONCE].of[i % AT_ONCE] * x[c.of[i]];
        }
    }
    return sum;
}

template <class V, class P>
__global__ void __launch_bounds__(THREADS, 1)
    tiled(tiling<V, P> A, const V *x, const start *starts, V *partial, int parts)
{
    __shared__ int next;
    V *const part = spx_dynamic_shared<V>(); /* of x */
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    const start begin = starts[blockIdx.x];
    const int last = starts[blockIdx.x + 1].slice;
    int slice = begin.slice;
    for (int tile = begin.tile; slice < last; tile++) {
        const int tile_end = A.tile[tile + 1], end = tile_end < last ? tile_end : last;
        if (slice >= end) continue;
        const int64_t first = static_cast<int64_t>(tile) * A.width;
        const int columns = static_cast<int>(A.ncols - first < A.width ? A.ncols - first : A.width);
        __syncthreads(); /* the tile before is done with */
        for (int i = thread; i < columns; i += THREADS) part[i] = spx_load_stream(x + first + i);
        if (thread == 0) next = slice * parts;
        __syncthreads();
        for (;;) {
            int mine = 0;
            if (lane == 0) mine = atomicAdd(&next, 1);
            mine = __shfl_sync(0xffffffffu, mine, 0);
            if (mine >= end * parts) break;
            const V sum = sum_lane(A, mine / parts, mine % parts, parts, lane, part);
            partial[static_cast<int64_t>(mine) * SPX_TILED_LANES + lane] = sum;
        }
        slice = end;
    }
}

/* A row by LANES threads. */
template <class V, int LANES>
__global__ void __launch_bounds__(ADDING) add_rows(int nrows, const int64_t *list_ptr, const int *list,
                                                   const V *partial, int parts, spx_vectors<V> vectors)
{
    const int64_t thread = static_cast<int64_t>(blockIdx.x) * ADDING + threadIdx.x, row = thread / LANES;
    const int lane = static_cast<int>(thread % LANES);
    int64_t k = 0, end = 0;
    if (row < nrows) {
        k = list_ptr[row] + lane;
        end = list_ptr[row + 1];
    }
    spx_wait_for_previous();
    V sum = 0;
    for (; k < end; k += LANES) {
        const int at = list[k];
        const V *const sums = partial + static_cast<int64_t>(at / SPX_TILED_LANES) * SPX_TILED_LANES * parts +
                              at % SPX_TILED_LANES;
        for (int p = 0; p < parts; p++) sum += sums[p * SPX_TILED_LANES];
    }
    sum = spx_sum_lanes<LANES>(sum);
    if (lane == 0 && row < nrows) vectors.put(row, sum);
}

/* ---- the host's side ---- */

template <class V, class P> tiling<V, P> tiling_of(const spx_sparse *a)
{
    tiling<V, P> t;
    t.ncols = static_cast<int>(a->ncols);
    t.width = static_cast<int>(a->layout.tile_width);
    t.tiles = static_cast<int>(spx_ceil_div(a->ncols, a->layout.tile_width));
    t.slices = static_cast<int>(spx_tiled_slices(a));
    t.tile = static_cast<const int *>(spx_data(a, SPX_TILE));
    t.ptr = static_cast<const P *>(spx_data(a, SPX_PTR));
    t.col = static_cast<const uint16_t *>(spx_data(a, SPX_COL));
    t.val = static_cast<const V *>(spx_data(a, SPX_VAL));
    return t;
}

/* Of a part of x. */
size_t shared_bytes(const spx_sparse *a)
{
    return static_cast<size_t>(spx_min(a->layout.tile_width, a->ncols)) * spx_type_bytes(a->val_type);
}

/* Calls f with the instances for this matrix: of the search, of the tiles, and of the rows' sums. */
template <class F> spmvx_status with_instances(const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_pick<1, 4, 32>(p->param[LANES_PARAM], [&](auto lanes) {
            using V = decltype(value);
            using P = decltype(pointer);
            return f(find_starts<V, P>, tiled<V, P>, add_rows<V, lanes.value>);
        });
    });
}

template <class V, class P>
spmvx_status find(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p,
                  void (*search)(tiling<V, P>, int, start *))
{
    const spmvx_status s = spx_cuda_load(ctx, NAME, search, 0);
    if (s != SPMVX_OK) return s;
    return spx_cuda_launch(ctx, NAME, search, spx_ceil_div(p->chunks + 1, SEARCHING), SEARCHING, 0,
                           tiling_of<V, P>(a), static_cast<int>(p->chunks),
                           static_cast<start *>(p->bounds->data));
}

/* Parts of a slice, as asked for, or so many that each warp has some, while a part has some groups. */
int64_t parts_for(const spx_sparse *a, const spx_partition *p)
{
    constexpr int64_t WANTED = 6 * THREADS / 32, LEAST = 4, MOST = 8;
    const int64_t slices = spx_max(spx_tiled_slices(a), 1),
                  groups = a->stored / (slices * SPX_TILED_LANES * GROUP);
    if (p->param[PARTS_PARAM]) return p->param[PARTS_PARAM];
    return spx_max(1, spx_min(spx_min(groups / LEAST, MOST), spx_ceil_div(WANTED * p->chunks, slices)));
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t slices = spx_tiled_slices(a), pieces = slices * SPX_TILED_LANES / spx_max(a->nrows, 1);
    int64_t *lanes = &p->param[LANES_PARAM];
    if (!*lanes) *lanes = pieces < 4 ? 1 : pieces < 64 ? 4 : 32;
    else *lanes = *lanes < 4 ? 1 : *lanes < 32 ? 4 : 32;
    p->chunks = spx_max(spx_min(spx_cuda_of(ctx)->multiprocessors, slices), 1);
    p->param[PARTS_PARAM] = parts_for(a, p);
    if (slices * p->param[PARTS_PARAM] > INT32_MAX)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%lld slices in %lld parts; %s takes 2^31 on CUDA",
                        static_cast<long long>(slices), static_cast<long long>(p->param[PARTS_PARAM]), NAME);
    p->work_bytes =
        static_cast<size_t>(slices * p->param[PARTS_PARAM]) * SPX_TILED_LANES * spx_type_bytes(a->val_type);
    spmvx_status s = ctx->backend->array_new(ctx, static_cast<size_t>(p->chunks + 1) * sizeof(start),
                                             "a partition", &p->bounds);
    if (s != SPMVX_OK) return s;
    s = with_instances(a, p, [=](auto search, auto multiply, auto add) {
        spmvx_status loaded = find(ctx, a, p, search);
        if (loaded == SPMVX_OK) loaded = spx_cuda_load(ctx, NAME, multiply, shared_bytes(a));
        return loaded == SPMVX_OK ? spx_cuda_load(ctx, NAME, add, 0) : loaded;
    });
    return s == SPMVX_OK ? ctx->backend->synchronize(ctx) : s;
}

template <class V, class P>
spmvx_status launch(const spx_mul *m, void (*multiply)(tiling<V, P>, const V *, const start *, V *, int),
                    void (*add)(int, const int64_t *, const int *, const V *, int, spx_vectors<V>))
{
    const spx_sparse *a = m->A;
    V *const partial = static_cast<V *>(m->work);
    const int parts = static_cast<int>(m->part->param[PARTS_PARAM]);
    const spx_vectors<V> vectors = spx_vectors_of<V>(m);
    const spmvx_status s =
        spx_cuda_launch(m->ctx, NAME, multiply, m->part->chunks, THREADS, shared_bytes(a), tiling_of<V, P>(a),
                        vectors.x, static_cast<const start *>(m->part->bounds->data), partial, parts);
    if (s != SPMVX_OK) return s;
    return spx_cuda_launch_early(m->ctx, NAME, add,
                                 spx_ceil_div(a->nrows * m->part->param[LANES_PARAM], ADDING), ADDING, 0,
                                 static_cast<int>(a->nrows),
                                 static_cast<const int64_t *>(spx_data(a, SPX_LIST_PTR)),
                                 static_cast<const int *>(spx_data(a, SPX_LIST)), partial, parts, vectors);
}

spmvx_status run(const spx_mul *m)
{
    return with_instances(m->A, m->part,
                          [m](auto, auto multiply, auto add) { return launch(m, multiply, add); });
}

/* A row has a segment in each tile that its columns reach, which is filled up to groups of eight; each
 * segment's sum is written and read. x comes from memory once a block and tile. */
double cost(const spx_features *f, const spx_look *look)
{
    const double value = static_cast<double>(f->value_bytes), mean = std::fmax(f->mean, 1.0),
                 reach = 1.0 + f->span / static_cast<double>(spx_max(look->layout.tile_width, 1)),
                 segments = std::fmin(mean, reach), length = mean / segments,
                 filled = GROUP * std::ceil(length / GROUP),
                 places = static_cast<double>(f->nrows) * segments * filled,
                 bytes = places * (2.0 + value) +
                         static_cast<double>(f->nrows) * segments * (2.0 * value + 4.0) +
                         static_cast<double>(f->nrows + f->ncols) * value;
    const spx_machine *m = f->machine;
    /* the lanes of a long row that fills its columns read one bank of shared memory */
    const double efficiency =
        length >= static_cast<double>(SPX_TILED_PIECE) && mean > 0.5 * f->span ? 0.4 : 0.8;
    return 2.5 * m->launch_ns +
           bytes / (efficiency * (bytes < m->last_cache ? m->cache_rate : m->memory_rate));
}

const spx_param params[] = {
    { .key = "lanes", .low = 1, .high = 32, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "parts", .low = 1, .high = 64, .preset = 0 },
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
    .summary = "tiles of x in shared memory, 16-bit columns, a lane a segment",
    .source = "docs/design.md, section 6",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
