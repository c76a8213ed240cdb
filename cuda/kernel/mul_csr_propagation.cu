/* y = alpha*A*x + beta*y for CSR whose x fits in no cache and whose rows reach all over it: propagation
 * blocking. The columns are cut into bands, each of whose parts of x stays in L2, and the rows into the tiles
 * of csr-merge-path. A first launch goes band by band, and tile by tile within a band, and copies x at each
 * column that a tile has there, once, to a workspace: a long list, read and written from one end to the
 * other. The second launch multiplies the tiles: a block brings what was copied for its tile, a piece for
 * each band, to shared memory, where each entry finds its x by a number of 16 bits. So memory is read and
 * written in whole lines where one sector an entry was read, and x is read once. Values stay where they are
 * in CSR.
 * The lists are made when a matrix is prepared: a block sorts a tile's columns, and numbers the different
 * ones.
 * Differs from the source: it is x that is propagated, and not products, which would each have to be added
 * to y: so that a tile's repeated columns are copied once, and nothing depends on the order of writes.
 * Source: Beamer, Asanovic & Patterson, Reducing PageRank communication via propagation blocking, IPDPS
 * 2017. */
#include <cmath>

#include "build/build.cuh"
#include "merge_tiles.cuh"
#include "sort.cuh"

namespace {

constexpr const char *NAME = "csr-propagation", *const MAKING = "the lists of csr-propagation";
enum { BANDS_PARAM, STEP_PARAM }; /* by their places in params */
/* Blocks of a multiprocessor, as registers allow. */
template <class V> constexpr int RESIDENT = sizeof(V) == 8 ? SPX_MERGE_RESIDENT : 8;
constexpr int MOST_BANDS = 31;         /* a lane each, and one for their end */
constexpr int COPYING = 256, EACH = 4; /* threads of a block that copies, and elements of each */

/* Where a tile's columns of a band are: from which place of the list on, and the first one's number in the
 * tile. */
struct cell {
    uint64_t word;

    __device__ __forceinline__ static cell of(int64_t place, int number)
    {
        return { static_cast<uint64_t>(place) << 16 | static_cast<uint64_t>(number) };
    }
    __device__ __forceinline__ int64_t place() const
    {
        return static_cast<int64_t>(word >> 16);
    }
    __device__ __forceinline__ int number() const
    {
        return static_cast<int>(word & 0xffffu);
    }
    __device__ __forceinline__ cell of_lane(int lane) const
    {
        return { __shfl_sync(SPX_ALL_LANES, word, lane) };
    }
};

/* A tile has `bands` cells, and one more whose number is that of all its columns. An entry's number is that
 * of its column. */
template <class V> struct propagated {
    int bands;
    const cell *cells;
    const uint16_t *numbers;
    const V *x; /* by the list */

    template <class F> void each_pointer(F f) const
    {
        f(cells), f(numbers), f(x);
    }
};

/* ---- multiplying ---- */

/* A lane takes every 32nd element of its warp's, so that neighbouring columns are one sector's. */
template <class V>
__global__ void __launch_bounds__(COPYING)
    propagate(int64_t count, const int *list, spx_early_vectors<V> vectors, V *to)
{
    const int64_t warp = (static_cast<int64_t>(blockIdx.x) * COPYING + threadIdx.x) / 32,
                  first = warp * 32 * EACH + spx_lane();
    const int left = static_cast<int>(count - first < 32 * EACH ? count - first : 32 * EACH);
    int column[EACH];
    V x[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++)
        column[i] = spx_load_if<SPX_PAST>(i * 32 < left, list + first + i * 32, -1);
    vectors.wait();
#pragma unroll
    for (int i = 0; i < EACH; i++) x[i] = spx_load_at(vectors.x, column[i], V(0));
#pragma unroll
    for (int i = 0; i < EACH; i++)
        if (i * 32 < left) to[first + i * 32] = x[i];
}

/* What a thread has of a tile: values, the numbers of their columns, both 0 where there is none, and of its
 * warp's cells one. */
template <class V, class P, bool ONE> struct entries {
    propagated<V> from;
    spx_value_of<V, ONE> one;
    unsigned number[SPX_MERGE_ITEMS<V>] = {};
    V val[SPX_MERGE_ITEMS<V>] = {};
    cell own = {};

    __device__ __forceinline__ entries(const spx_csr<V, P> &A, const propagated<V> &p) : from(p), one(A.val)
    {}
    __device__ __forceinline__ void load_cell(int tile)
    {
        const cell *const cells = from.cells + static_cast<int64_t>(tile) * (from.bands + 1);
        own.word = spx_load_if<SPX_PAST>(spx_lane() <= from.bands, &cells[spx_lane()].word, uint64_t(0));
    }
    /* Starts to bring a tile's x, each warp a band after the other. */
    __device__ __forceinline__ void start_copies(V *held) const
    {
#pragma unroll 1
        for (int b = static_cast<int>(threadIdx.x) / 32; b < from.bands; b += SPX_MERGE_WARPS) {
            const cell of_band = own.of_lane(b);
            const int begin = of_band.number(), end = own.of_lane(b + 1).number();
            const V *const x = from.x + of_band.place() - begin;
#pragma unroll 1
            for (int i = begin + spx_lane(); i < end; i += 32) spx_copy_element(held + i, x + i);
        }
    }

    __device__ __forceinline__ void load(const spx_csr<V, P> &A, int tile, int64_t base,
                                         const spx_merge_tile &t)
    {
        const uint16_t *const numbers = from.numbers + base + threadIdx.x;
        const V *const vals = A.val + base + threadIdx.x;
        load_cell(tile);
        spx_each_of_tile<V>(t, [&](int i, int, bool in) {
            number[i] = spx_load_held<SPX_PAST>(in, numbers + i * SPX_MERGE_THREADS);
            val[i] = one.template load<SPX_PAST, SPX_LATE>(in, vals + i * SPX_MERGE_THREADS);
        });
    }
    __device__ __forceinline__ void multiply(const spx_early_vectors<V> &, V *held,
                                             V (&product)[SPX_MERGE_ITEMS<V>]) const
    {
        start_copies(held);
        spx_wait_for_copies();
        __syncthreads();
#pragma unroll
        for (int i = 0; i < SPX_MERGE_ITEMS<V>; i++) product[i] = val[i] * held[number[i]];
        __syncthreads(); /* what is held has been read */
    }
};

template <class V, class P, bool ONE>
__global__ void __launch_bounds__(SPX_MERGE_THREADS, RESIDENT<V>)
    multiply_propagated(spx_csr<V, P> A, spx_tiling g, propagated<V> x, spx_early_vectors<V> vectors,
                        spx_carries<V> carries)
{
    spx_multiply_tiles<false>(A, g, vectors, carries, entries<V, P, ONE>(A, x));
}

/* ---- the lists ---- */

constexpr int SORTING = 256, KEYS = 8;
static_assert(SORTING * KEYS >= SPX_MERGE_CAPACITY<float> && SORTING * KEYS >= SPX_MERGE_CAPACITY<double>,
              "a block sorts a tile");

/* The first entry of a tile, by the pattern alone. */
template <class P> struct pattern {
    spx_csr<float, P> A;
    spx_tiling g;

    template <class F> void each_pointer(F f) const
    {
        A.each_pointer(f), g.each_pointer(f);
    }
    __device__ __forceinline__ int64_t first(int tile) const
    {
        return spx_entry_of(A, g, tile, g.starts[tile]);
    }
};

/* Writes the different columns of a tile in order, to where its entries begin, and their numbers for its
 * entries; and counts them band by band: count[band * tiles + tile]. */
template <class P>
__global__ void __launch_bounds__(SORTING)
    number_columns(pattern<P> p, int bands, int width, int *columns, uint16_t *numbers, int64_t *count)
{
    constexpr uint64_t NONE = ~uint64_t(0);
    __shared__ uint64_t shared[SPX_SORTED_PLACES<SORTING, KEYS>];
    __shared__ uint64_t last[SORTING];
    __shared__ int first_of[MOST_BANDS + 1];
    const int tile = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
    const int64_t first = p.first(tile);
    const int entries = static_cast<int>(p.first(tile + 1) - first);
    uint64_t key[KEYS];
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const int i = thread + k * SORTING;
        key[k] =
            i < entries ? static_cast<uint64_t>(p.A.col[first + i]) << 16 | static_cast<uint64_t>(i) : NONE;
    }
    spx_sort_block<SORTING>(key, shared);
    last[thread] = key[KEYS - 1];
    __syncthreads();
    const auto column = [](uint64_t k) { return static_cast<int>(k >> 16); };
    int before = thread ? column(last[thread - 1]) : -1, different = 0;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        different += key[k] != NONE && column(key[k]) != (k ? column(key[k ? k - 1 : 0]) : before);
    }
    const spx_scanned<int> s = spx_scan_block<SORTING>(different);
    if (thread <= bands) first_of[thread] = s.total;
    __syncthreads();
    int number = s.before;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        if (key[k] == NONE) break;
        const int own = column(key[k]);
        if (own != before) {
            columns[first + number] = own;
            for (int b = before < 0 ? 0 : before / width + 1; b <= own / width; b++) first_of[b] = number;
            number++;
        }
        numbers[first + static_cast<int64_t>(key[k] & 0xffffu)] = static_cast<uint16_t>(number - 1);
        before = own;
    }
    __syncthreads();
    if (thread < bands)
        count[static_cast<int64_t>(thread) * p.g.tiles + tile] = first_of[thread + 1] - first_of[thread];
}

/* A warp a tile: its cells, and its columns' places in the list. place: the sums before each count. */
template <class P>
__global__ void deal_columns(pattern<P> p, int bands, const int *columns, const int64_t *place, cell *cells,
                             int *list)
{
    const int64_t tile = spx_element() / 32;
    if (tile >= p.g.tiles) return;
    const int lane = spx_lane();
    const int *const own = columns + p.first(static_cast<int>(tile));
    const int64_t at = static_cast<int64_t>(lane) * p.g.tiles + tile, from = lane < bands ? place[at] : 0;
    const int count = lane < bands ? static_cast<int>(place[at + 1] - from) : 0,
              number = spx_scan_lanes_before(count);
    const cell c = cell::of(from, number);
    if (lane <= bands) cells[tile * (bands + 1) + lane] = c;
    for (int b = 0; b < bands; b++) {
        const cell of_band = c.of_lane(b);
        const int end = c.of_lane(b + 1).number();
        for (int i = of_band.number() + lane; i < end; i += 32)
            list[of_band.place() + i - of_band.number()] = own[i];
    }
}

/* ---- the host's side ---- */

/* Bands whose parts of x take a third of what L2 keeps of x: 13 MB on an H200. */
int64_t bands_for(const spmvx_context *ctx, const spx_sparse *a)
{
    const double x_bytes = static_cast<double>(a->ncols) * static_cast<double>(spx_type_bytes(a->val_type)),
                 bands = std::ceil(3.0 * x_bytes / ctx->machine.second_cache);
    return static_cast<int64_t>(std::fmax(1.0, std::fmin(bands, MOST_BANDS)));
}

/* What a partition's bounds hold behind the starts: the numbers of the entries' columns behind the cells. */
size_t cells_bytes(const spx_tiling &g, int64_t bands)
{
    return spx_bytes(static_cast<int64_t>(g.tiles) * (bands + 1), sizeof(cell));
}

struct lists {
    cell *cells;
    uint16_t *numbers;
};
lists lists_of(const spx_tiling &g, const spx_partition *p)
{
    char *const memory = static_cast<char *>(p->bounds->data) + spx_merge_starts_bytes(g);
    return { reinterpret_cast<cell *>(memory),
             reinterpret_cast<uint16_t *>(memory + cells_bytes(g, p->param[BANDS_PARAM])) };
}

int64_t listed(const spx_partition *p)
{
    return p->order ? static_cast<int64_t>(p->order->bytes / sizeof(int)) : 0;
}

/* What comes before the copies of x in the workspace. */
size_t carries_bytes(const spx_partition *p, size_t value_bytes)
{
    return p->work_bytes - static_cast<size_t>(listed(p)) * value_bytes;
}

template <class P> spmvx_status make_lists(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const spx_tiling g = spx_merge_tiling(ctx, a, p, p->param[STEP_PARAM], 1);
    const int bands = static_cast<int>(p->param[BANDS_PARAM]),
              width = static_cast<int>(spx_max(spx_ceil_div(a->ncols, bands), 1));
    const int64_t counts = static_cast<int64_t>(g.tiles) * bands;
    const pattern<P> of = { { static_cast<int>(a->nrows), a->nnz,
                              static_cast<const P *>(spx_data(a, SPX_PTR)),
                              static_cast<const int *>(spx_data(a, SPX_COL)), nullptr },
                            g };
    const lists out = lists_of(g, p);
    spx_temporary columns, count;
    int64_t all = 0;
    SPX_TRY(columns.make(ctx, a->nnz, sizeof(int), MAKING));
    SPX_TRY(count.make(ctx, counts + 1, sizeof(int64_t), MAKING));
    SPX_TRY(spx_cuda_load(ctx, MAKING, number_columns<P>, 0));
    SPX_TRY(spx_cuda_launch(ctx, MAKING, number_columns<P>, g.tiles, SORTING, 0, of, bands, width,
                            columns.as<int>(), out.numbers, count.as<int64_t>()));
    SPX_TRY(spx_sum_up(ctx, MAKING, counts, count.as<int64_t>(), &all));
    SPX_TRY(ctx->backend->array_new(ctx, spx_bytes(all, sizeof(int)), "a list of columns", &p->order));
    SPX_TRY(spx_launch_over(ctx, MAKING, static_cast<int64_t>(g.tiles) * 32, deal_columns<P>, of, bands,
                            columns.as<const int>(), count.as<const int64_t>(), out.cells,
                            static_cast<int *>(p->order->data)));
    p->work_bytes =
        static_cast<size_t>(spx_ceil_div(static_cast<int64_t>(p->work_bytes), SPX_COPY_UNIT) * SPX_COPY_UNIT +
                            all * static_cast<int64_t>(spx_type_bytes(a->val_type)));
    return SPMVX_OK;
}

template <class F> spmvx_status with_instance(const spx_sparse *a, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_by_one_value(a, [&](auto one) {
            return f(multiply_propagated<decltype(value), decltype(pointer), one.value>);
        });
    });
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *const bands = &p->param[BANDS_PARAM];
    if (!*bands) *bands = bands_for(ctx, a);
    const size_t numbers = spx_bytes(a->nnz, sizeof(uint16_t));
    const spx_tiling g = spx_merge_tiling(ctx, a, p->param[STEP_PARAM]);
    int64_t run = 1;
    SPX_TRY(spx_merge_prepare(ctx, NAME, a, spx_plus(cells_bytes(g, *bands), numbers), &p->param[STEP_PARAM],
                              &run, p));
    SPX_TRY(a->nnz ? spx_by_pointer(a->ptr_type,
                                    [&](auto pointer) { return make_lists<decltype(pointer)>(ctx, a, p); })
                   : spx_cuda_clear(ctx, lists_of(g, p).cells, cells_bytes(g, *bands), MAKING));
    SPX_TRY(spx_by_value(a, [ctx](auto value) {
        return spx_cuda_load(ctx, NAME, propagate<decltype(value)>, 0);
    }));
    return with_instance(a, [ctx](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

template <class V, class P>
spmvx_status launch(const spx_mul *m, void (*kernel)(spx_csr<V, P>, spx_tiling, propagated<V>,
                                                     spx_early_vectors<V>, spx_carries<V>))
{
    const spx_partition *const p = m->part;
    const spx_tiling g = spx_merge_tiling(m->ctx, m->A, p, p->param[STEP_PARAM], 1);
    const lists made = lists_of(g, p);
    const int64_t count = listed(p);
    const size_t before = carries_bytes(p, sizeof(V));
    V *const copied = reinterpret_cast<V *>(static_cast<char *>(m->work) + before);
    const spx_carries<V> carries = spx_merge_carries<V>(m, before ? m->work : nullptr);
    const propagated<V> x = { static_cast<int>(p->param[BANDS_PARAM]), made.cells, made.numbers, copied };
    if (count)
        SPX_TRY(spx_cuda_launch_mul(m, NAME, propagate<V>, spx_ceil_div(count, COPYING * EACH), COPYING, 0,
                                    count, static_cast<const int *>(p->order->data),
                                    spx_early_vectors_of<V>(m), copied));
    SPX_TRY(spx_cuda_launch_mul(m, NAME, kernel, p->chunks, SPX_MERGE_THREADS, spx_merge_shared_bytes<V>(),
                                spx_csr_of<V, P>(m->A), g, x, spx_early_vectors_of<V>(m), carries));
    return spx_merge_settle(m, NAME, g, carries);
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->A, [m](auto kernel) { return launch(m, kernel); });
}

/* The list, the cells and the numbers, in place of columns. */
int64_t more_bytes(const spx_sparse *a, const spx_partition *p)
{
    const size_t made = p->bounds->bytes + (p->order ? p->order->bytes : 0);
    return static_cast<int64_t>(made - spx_bytes(a->nnz, sizeof(int)));
}

/* Of each entry that does not find its column in its tile already, x is gathered from L2, its number in the
 * list is read, and x is written, and read again. Few sectors an entry are full ones, whose columns are many.
 * The second launch waits for the first, and its tiles some times for memory. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double EFFICIENCY = 0.75, OVERLAP = 0.1, START = 6000.0; /* START: ns */
    const spx_machine *const m = f->machine;
    const double entries = static_cast<double>(f->nnz), value = static_cast<double>(f->value_bytes),
                 in_sector = 32.0 / value, sectors = f->sectors_per_entry,
                 copied = entries * in_sector * sectors / (1.0 + (in_sector - 1.0) * sectors),
                 numbers = 2.0 * entries, columns = 4.0 * entries; /* of which the first take the place */
    const double first = copied * (4.0 + value) + static_cast<double>(f->ncols) * value,
                 second = spx_csr_bytes_of(f, look, columns) + numbers + copied * value +
                          static_cast<double>(f->nrows) * value,
                 rate = EFFICIENCY * (first + second < m->last_cache ? m->cache_rate : m->memory_rate),
                 from_l2 =
                     std::fmin(1.0, MOST_BANDS * m->second_cache / (static_cast<double>(f->ncols) * value)),
                 gather = sectors * entries *
                          (from_l2 * m->compute_scale / m->gather_second +
                           (1.0 - from_l2) * m->far_scale / m->gather_memory),
                 copy = std::fmax(first / rate, gather) + OVERLAP * std::fmin(first / rate, gather);
    return m->launch_ns + START + copy + second / rate;
}

const spx_param params[] = {
    { .key = "bands", .low = 1, .high = MOST_BANDS, .preset = 0 },
    SPX_MERGE_STEP_KEY,
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_propagation = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "x copied band by band to where tiles of the merge path want it, then these",
    .source = "Beamer, Asanovic & Patterson 2017; Merrill & Garland 2016",
    .params = params,
    .one_value = true,
    .prepare_launches = 40,
    .prepare_entry = 0.05,
    .cost = cost,
    .prepare = prepare,
    .more_bytes = more_bytes,
    .run = run,
};
