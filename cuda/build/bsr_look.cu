/* What BSR would hold, and the size of blocks that is not asked for: found by counting blocks in the sample
 * of the host (lib/format/bsr.c). */
#include "build.cuh"

extern "C" {
#include "core/bsr.h"
#include "format/blocks.h"
}

namespace {

constexpr const char *WHAT = "BSR";

/* Every step-th window of rows. */
struct sample {
    int64_t rows, step; /* of the sample; windows from one to the next */

    __device__ int64_t row(int64_t i) const
    {
        return i / SPX_SAMPLE_WINDOW * step * SPX_SAMPLE_WINDOW + i % SPX_SAMPLE_WINDOW;
    }
};

/* The blocks and the entries of a sample. An entry stands for its block if neither its row before it nor a
 * row of the block row before its own has that block. */
constexpr int SAMPLE_LANES = 64; /* of a row */
template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    count_sampled(sample s, const P *ptr, const int *col, int br, int bc, unsigned long long *count)
{
    constexpr int64_t MOST = SPX_MOST_SAMPLED;
    const auto row_of = [=](int64_t i, int *length) {
        const int64_t r = s.row(i), from = static_cast<int64_t>(ptr[r]),
                      n = static_cast<int64_t>(ptr[r + 1]) - from;
        *length = static_cast<int>(n < MOST ? n : MOST);
        return col + from;
    };
    const int64_t i = spx_element() / SAMPLE_LANES;
    const int lane = static_cast<int>(threadIdx.x) % SAMPLE_LANES;
    int length = 0, blocks = 0;
    if (i < s.rows) {
        const int *const own = row_of(i, &length);
        for (int k = lane; k < length; k += SAMPLE_LANES) {
            const int begin = own[k] / bc * bc;
            int before = 0; /* entries of the block that come before */
            for (int64_t above = i - i % SPX_SAMPLE_WINDOW % br; above <= i && !before; above++) {
                int n;
                const int *const row = row_of(above, &n);
                n = above < i ? n : k;
                for (int j = 0; j < n; j++)
                    before += static_cast<unsigned>(row[j] - begin) < static_cast<unsigned>(bc);
            }
            blocks += !before;
        }
    }
    if (blocks) atomicAdd(count, static_cast<unsigned long long>(blocks));
    if (length && lane == 0) atomicAdd(count + 1, static_cast<unsigned long long>(length));
}

struct sampled {
    const spmvx_context *ctx;
    const spx_sparse *csr;
    sample of;
    unsigned long long *counts; /* two */
};

spmvx_status count_sample(const void *which, int64_t br, int64_t bc, int64_t *blocks, int64_t *entries)
{
    const sampled *const s = static_cast<const sampled *>(which);
    int64_t counts[2] = {};
    if (s->of.rows) {
        SPX_TRY(spx_cuda_clear(s->ctx, s->counts, sizeof counts, WHAT));
        SPX_TRY(spx_by_pointer(s->csr->ptr_type, [&](auto p) {
            using P = decltype(p);
            return spx_launch_over(s->ctx, WHAT, SAMPLE_LANES * s->of.rows, count_sampled<P>, s->of,
                                   spx_slot_of<P>(s->csr, SPX_PTR), spx_slot_of<int>(s->csr, SPX_COL),
                                   static_cast<int>(br), static_cast<int>(bc), s->counts);
        }));
        SPX_TRY(s->ctx->backend->download(s->ctx, counts, s->counts, sizeof counts));
    }
    *blocks = counts[0];
    *entries = counts[1];
    return SPMVX_OK;
}

}

spmvx_status spx_cuda_look_at_bsr(const spmvx_context *ctx, const spx_sparse *csr, const spx_layout *asked,
                                  spx_look *out)
{
    const int64_t step = spx_sample_step(csr->nnz),
                  windows = spx_ceil_div(spx_ceil_div(csr->nrows, SPX_SAMPLE_WINDOW), step),
                  full = spx_max(windows - 1, 0) * SPX_SAMPLE_WINDOW,
                  last = spx_min(SPX_SAMPLE_WINDOW, csr->nrows - full * step);
    spx_temporary counts;
    SPX_TRY(counts.make(ctx, 2, sizeof(int64_t), "a sample of the rows"));
    const sampled s = { ctx, csr, { full + last, step }, counts.as<unsigned long long>() };
    return spx_bsr_look(count_sample, &s, csr->nnz, spx_type_bytes(csr->val_type), asked, out);
}
