/* HYB from a CSR on the device, equal to what the host makes of it (lib/format/ell.c): the width by counting
 * the rows that reach some, and then some in between; the ELL part as one slice of all rows; the rest by a
 * thread an entry, which finds its row among the sums of what the rows before leave over. */
#include "rows.cuh"
#include "slices.cuh"

namespace {

constexpr const char *WHAT = "HYB";
constexpr int WAYS = 4;

template <class P> __device__ int64_t length_of(const P *ptr, int64_t r)
{
    return static_cast<int64_t>(ptr[r + 1]) - static_cast<int64_t>(ptr[r]);
}

constexpr int ASKED = 16; /* widths at a time */

/* count[i] += the rows of `least` + i * step entries and more, up to the next i; integers, so that the order
 * of the additions is free. */
template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    count_rows(int nrows, const P *ptr, int64_t least, int64_t step, unsigned long long *count)
{
    __shared__ unsigned here[ASKED];
    if (threadIdx.x < ASKED) here[threadIdx.x] = 0;
    __syncthreads();
    const int64_t r = spx_element(), beyond = r < nrows ? length_of(ptr, r) - least : -1;
    if (beyond >= 0) atomicAdd(here + (beyond / step < ASKED ? beyond / step : ASKED - 1), 1u);
    __syncthreads();
    if (threadIdx.x < ASKED && here[threadIdx.x])
        atomicAdd(count + threadIdx.x, static_cast<unsigned long long>(here[threadIdx.x]));
}

template <class P> __global__ void measure_tails(int nrows, const P *ptr, int64_t width, int64_t *tail)
{
    const int64_t r = spx_element();
    if (r < nrows) tail[r] = length_of(ptr, r) > width ? length_of(ptr, r) - width : 0;
}

template <class P, class E>
__global__ void fill_tails(int nrows, const P *ptr, const int *col, const E *val, int64_t width,
                           int64_t count, const int64_t *tails, int *row_out, int *col_out, E *val_out)
{
    const int64_t k = spx_element();
    if (k >= count) return;
    const int64_t r = spx_first_not<WAYS>(0, nrows, [=](int64_t i) { return tails[i + 1] <= k; }),
                  from = static_cast<int64_t>(ptr[r]) + width + k - tails[r];
    row_out[k] = static_cast<int>(r);
    col_out[k] = col[from];
    val_out[k] = val[from];
}

/* The largest width that a third of the rows reach. */
spmvx_status choose_width(const spmvx_context *ctx, const spx_sparse *csr, int64_t *width)
{
    spx_temporary counts;
    int64_t low = 0, high; /* a third of the rows reach low, and none is longer than high */
    SPX_TRY(spx_cuda_longest_row(ctx, WHAT, csr, &high));
    SPX_TRY(counts.make(ctx, ASKED, sizeof(int64_t), WHAT));
    while (low < high) {
        const int64_t step = spx_ceil_div(high - low, ASKED);
        int64_t rows[ASKED];
        SPX_TRY(spx_cuda_clear(ctx, counts.as<void>(), sizeof rows, WHAT));
        SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
            using P = decltype(p);
            return spx_launch_over(ctx, WHAT, csr->nrows, count_rows<P>, static_cast<int>(csr->nrows),
                                   spx_slot_of<P>(csr, SPX_PTR), low + 1, step,
                                   counts.as<unsigned long long>());
        }));
        SPX_TRY(ctx->backend->download(ctx, rows, counts.as<void>(), sizeof rows));
        int last = ASKED - 1; /* the last width that enough rows reach; -1: none */
        for (int64_t reach = 0; last >= 0; last--) {
            reach += rows[last];
            if (3 * reach >= csr->nrows) break;
        }
        high = spx_min(high, low + (last + 1) * step);
        if (last >= 0) low += 1 + last * step;
    }
    *width = low;
    return SPMVX_OK;
}

spmvx_status fill(const spmvx_context *ctx, const spx_sparse *csr, spx_draft &a, int64_t tail,
                  const int64_t *tails)
{
    const int64_t in_ell = a->stored - tail, bounds[] = { 0, in_ell };
    spx_temporary starts;
    SPX_TRY(starts.make(ctx, 2, sizeof(int64_t), WHAT));
    SPX_TRY(ctx->backend->upload(ctx, starts.as<void>(), bounds, sizeof bounds));
    SPX_TRY(
        spx_fill_from_csr(ctx, WHAT, csr, a.get(), nullptr, a->nrows, a->width, starts.as<const int64_t>()));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_by_width(csr->val_type, [&](auto value) {
            using E = decltype(value);
            return spx_launch_over(ctx, WHAT, tail, fill_tails<P, E>, static_cast<int>(csr->nrows),
                                   spx_slot_of<P>(csr, SPX_PTR), spx_slot_of<int>(csr, SPX_COL),
                                   spx_slot_of<E>(csr, SPX_VAL), a->width, tail, tails, a.as<int>(SPX_ROW),
                                   a.as<int>(SPX_COL) + in_ell, a.as<E>(SPX_VAL) + in_ell);
        });
    }));
    return ctx->backend->synchronize(ctx);
}

}

spmvx_status spx_cuda_build_hyb(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                spx_sparse *out)
{
    const size_t each = spx_type_bytes(csr->val_type);
    spx_sparse shape = {};
    spx_temporary tails;
    int64_t tail = 0;
    shape.format = SPMVX_HYB;
    shape.val_type = csr->val_type;
    shape.ptr_type = SPMVX_I32;
    shape.nrows = csr->nrows;
    shape.ncols = csr->ncols;
    shape.nnz = csr->nnz;
    spx_draft a(shape);
    SPX_TRY(choose_width(ctx, csr, &a->width));
    SPX_TRY(tails.make(ctx, csr->nrows + 1, sizeof(int64_t), "tails of the rows"));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, csr->nrows, measure_tails<P>, static_cast<int>(csr->nrows),
                               spx_slot_of<P>(csr, SPX_PTR), a->width, tails.as<int64_t>());
    }));
    SPX_TRY(spx_sum_up(ctx, WHAT, csr->nrows, tails.as<int64_t>(), &tail));
    if (__builtin_mul_overflow(a->width, a->nrows, &a->stored)) a->stored = INT64_MAX / 64;
    a->stored += tail;
    SPX_TRY(
        spx_build_check(ctx, WHAT, spx_plus(spx_bytes(a->stored, 4 + each), spx_bytes(tail, 4)), csr, how));
    SPX_TRY(a.make(ctx, SPX_COL, a->stored, sizeof(int), "col"));
    SPX_TRY(a.make(ctx, SPX_VAL, a->stored, each, "val"));
    SPX_TRY(a.make(ctx, SPX_ROW, tail, sizeof(int), "row"));
    SPX_TRY(fill(ctx, csr, a, tail, tails.as<const int64_t>()));
    *out = a.give();
    return SPMVX_OK;
}
