/* y = alpha*A*x + beta*y for CSR on a GPU: 16 lanes a row (or 32, or 64), whose accesses begin at multiples
 * of as many entries. The source has two ways to that. `pad=1`: the entries of a row before the first such
 * multiple are read apart, by the lanes that would have them, and from there on all lanes read whole
 * sectors, wherever the row begins (of arrays that are aligned themselves). `pad=16`: rows are filled up to
 * a multiple of 16 places, in a copy of the matrix that is made once and follows updates of the values.
 * grid=fixed has as many blocks as the device holds, which go on to other rows; grid=proportional a group of
 * lanes a row.
 * Differs from the source: that one has half a warp because its devices served memory by half warps, keeps
 * partial sums in shared memory, where shuffles add them now, and reads x through the texture cache, which
 * is L1 today; what rows are filled up with is told by its column, -1, and not multiplied, so that a NaN in
 * x stays in its rows.
 * Source: Baskaran & Bordawekar, IBM Research Report RC24704, 2009, section 4. */
#include "build/build.cuh"
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr const char *NAME = "csr-aligned";
constexpr int FILLING = -1;
enum { THREADS_PARAM, LANES_PARAM, PAD_PARAM, GRID_PARAM };
enum { PROPORTIONAL, FIXED };

/* Groups of LANES threads take row after row, a grid apart: sum(row, lane) is what a lane has of a row, or 0
 * where there is no such row. */
template <int LANES, class V, class F>
__device__ __forceinline__ void each_row(unsigned nrows, const spx_vectors<V> &vectors, F sum)
{
    const unsigned at_once = blockDim.x / LANES, group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * at_once; first < nrows;
         first += static_cast<int64_t>(gridDim.x) * at_once) {
        const unsigned row = static_cast<unsigned>(first) + group;
        const V total = spx_sum_group<LANES>(row < nrows ? sum(row, lane) : V(0));
        if (lane == 0 && row < nrows) vectors.put(row, total);
    }
}

template <class V, class P, int LANES> __global__ void csr_aligned(spx_csr<V, P> A, spx_vectors<V> vectors)
{
    using position = spx_position<P>;
    const auto product = [&](position k) {
        return spx_load_cached(A.val + k) * spx_load_cached(vectors.x + spx_load_cached(A.col + k));
    };
    each_row<LANES>(static_cast<unsigned>(A.nrows), vectors, [&](unsigned row, unsigned lane) {
        const position begin = static_cast<position>(A.ptr[row]), end = static_cast<position>(A.ptr[row + 1]);
        V sum = 0;
        position k = begin / LANES * LANES + lane;
        if (k >= begin && k < end) sum = product(k);
        for (k += LANES; k < end; k += LANES) sum += product(k);
        return sum;
    });
}

/* A copy of CSR whose rows begin at multiples of `pad` places: row r at pad * first[r]. */
template <class V> struct padded_rows {
    int nrows, pad;
    const int64_t *first;
    int *col;
    V *val;

    template <class F> void each_pointer(F f) const
    {
        f(first), f(col), f(val);
    }
};

template <class V, int LANES> __global__ void csr_padded(padded_rows<V> A, spx_vectors<V> vectors)
{
    each_row<LANES>(static_cast<unsigned>(A.nrows), vectors, [&](unsigned row, unsigned lane) {
        const int64_t begin = A.pad * A.first[row], end = A.pad * A.first[row + 1];
        V sum = 0;
        for (int64_t k = begin + lane; k < end; k += LANES) {
            const int col = spx_load_cached(A.col + k);
            if (col != FILLING) sum += spx_load_cached(A.val + k) * spx_load_cached(vectors.x + col);
        }
        return sum;
    });
}

/* ---- the copy ---- */

constexpr int FILL_LANES = 16;

template <class P> __global__ void size_rows(int nrows, const P *ptr, int pad, int64_t *size)
{
    const int64_t r = spx_element();
    if (r < nrows)
        size[r] = (static_cast<int64_t>(ptr[r + 1]) - static_cast<int64_t>(ptr[r]) + pad - 1) / pad;
}

template <class V, class P> __global__ void fill_rows(spx_csr<V, P> from, padded_rows<V> to)
{
    constexpr int LANES = FILL_LANES;
    const int64_t row = spx_element() / LANES, lane = spx_element() % LANES;
    if (row >= from.nrows) return;
    const int64_t first = static_cast<int64_t>(from.ptr[row]),
                  length = static_cast<int64_t>(from.ptr[row + 1]) - first, begin = to.pad * to.first[row],
                  places = to.pad * to.first[row + 1] - begin;
    for (int64_t k = lane; k < places; k += LANES) {
        to.col[begin + k] = k < length ? from.col[first + k] : FILLING;
        to.val[begin + k] = k < length ? from.val[first + k] : V(0);
    }
}

/* ---- the host's side ---- */

/* The partition's bounds are the rows' first places and, behind them, the columns; its order the values. */
template <class V> padded_rows<V> padded_of(const spx_sparse *a, const spx_partition *p)
{
    int64_t *const first = static_cast<int64_t *>(p->bounds->data);
    return { static_cast<int>(a->nrows), static_cast<int>(p->param[PAD_PARAM]), first,
             reinterpret_cast<int *>(first + a->nrows + 1), static_cast<V *>(p->order->data) };
}

template <class V, class P>
spmvx_status fill(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p)
{
    return spx_cuda_launch(ctx, NAME, fill_rows<V, P>,
                           spx_max(spx_ceil_div(FILL_LANES * a->nrows, SPX_BUILD_THREADS), 1),
                           static_cast<unsigned>(SPX_BUILD_THREADS), 0, spx_csr_of<V, P>(a),
                           padded_of<V>(a, p));
}

template <class V, class P>
spmvx_status pad_rows(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int pad = static_cast<int>(p->param[PAD_PARAM]);
    spx_temporary first;
    int64_t units = 0;
    SPX_TRY(first.make(ctx, a->nrows + 1, sizeof(int64_t), "padded rows"));
    SPX_TRY(spx_launch_over(ctx, NAME, a->nrows, size_rows<P>, static_cast<int>(a->nrows),
                            spx_slot_of<P>(a, SPX_PTR), pad, first.as<int64_t>()));
    SPX_TRY(spx_sum_up(ctx, NAME, a->nrows, first.as<int64_t>(), &units));
    const size_t pointers = spx_bytes(a->nrows + 1, sizeof(int64_t)),
                 columns = spx_bytes(pad * units, sizeof(int));
    SPX_TRY(ctx->backend->array_new(ctx, spx_plus(pointers, columns), "padded rows", &p->bounds));
    SPX_TRY(ctx->backend->array_new(ctx, spx_bytes(pad * units, sizeof(V)), "padded rows", &p->order));
    SPX_TRY(ctx->backend->copy(ctx, p->bounds->data, first.as<const int64_t>(), pointers));
    SPX_TRY(spx_cuda_load(ctx, NAME, fill_rows<V, P>, 0));
    SPX_TRY((fill<V, P>(ctx, a, p)));
    return ctx->backend->synchronize(ctx);
}

/* Calls f with numbers of the types of values and pointers, and with the lanes of a row. */
template <class F> spmvx_status with_instances(const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_type(a, [&](auto v, auto pointer) {
        return spx_pick<16, 32, 64>(p->param[LANES_PARAM], [&](auto lanes) { return f(v, pointer, lanes); });
    });
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t threads = p->param[THREADS_PARAM], lanes = p->param[LANES_PARAM],
                  all = spx_ceil_div(a->nrows, spx_max(threads / lanes, 1));
    if (threads < lanes)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "options.kernel has threads=%lld and lanes=%lld; %s takes blocks of whole rows",
                        static_cast<long long>(threads), static_cast<long long>(lanes), NAME);
    p->chunks = p->param[GRID_PARAM] == FIXED ? spx_min(all, spx_cuda_blocks_held(ctx, threads)) : all;
    return with_instances(a, p, [=](auto v, auto pointer, auto lanes_a_row) {
        using V = decltype(v);
        using P = decltype(pointer);
        constexpr int LANES = lanes_a_row.value;
        if (p->param[PAD_PARAM] == 1) return spx_cuda_load(ctx, NAME, csr_aligned<V, P, LANES>, 0);
        SPX_TRY(spx_cuda_load(ctx, NAME, csr_padded<V, LANES>, 0));
        return pad_rows<V, P>(ctx, a, p);
    });
}

spmvx_status refresh(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p)
{
    if (p->param[PAD_PARAM] == 1) return SPMVX_OK;
    return spx_by_type(a,
                       [=](auto v, auto pointer) { return fill<decltype(v), decltype(pointer)>(ctx, a, p); });
}

spmvx_status run(const spx_mul *m)
{
    const unsigned threads = static_cast<unsigned>(m->part->param[THREADS_PARAM]);
    return with_instances(m->A, m->part, [=](auto v, auto p, auto lanes) {
        using V = decltype(v);
        using P = decltype(p);
        constexpr int LANES = lanes.value;
        const spx_vectors<V> vectors = spx_vectors_of<V>(m);
        if (m->part->param[PAD_PARAM] == 1)
            return spx_cuda_launch(m->ctx, NAME, csr_aligned<V, P, LANES>, m->part->chunks, threads, 0,
                                   spx_csr_of<V, P>(m->A), vectors);
        return spx_cuda_launch(m->ctx, NAME, csr_padded<V, LANES>, m->part->chunks, threads, 0,
                               padded_of<V>(m->A, m->part), vectors);
    });
}

double cost(const spx_features *f, const spx_look *)
{
    constexpr int LANES = 16;
    constexpr double SHOWN = 0.3, STEP = 400.0; /* ns of 16 entries, where 16 lanes are left alone */
    const double used = f->mean < 2 * LANES ? f->mean / (2 * LANES) : 1.0; /* lanes that have an entry */
    return spx_cuda_cost(f, spx_csr_bytes(f), 0.1 + 0.6 * used,
                         STEP * (1.0 + static_cast<double>(f->longest) / LANES), { .shown = SHOWN });
}

const char *const grids[] = { "proportional", "fixed", nullptr };

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 128, .kind = SPX_POWER_OF_TWO },
    { .key = "lanes", .low = 16, .high = 64, .preset = 16, .kind = SPX_POWER_OF_TWO },
    { .key = "pad", .low = 1, .high = 256, .preset = 1, .kind = SPX_POWER_OF_TWO },
    { .key = "grid", .preset = PROPORTIONAL, .kind = SPX_WORD, .words = grids },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_aligned = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "lanes of a row that begin at multiples of as many entries",
    .source = "Baskaran & Bordawekar 2009",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .refresh = refresh,
    .run = run,
};
