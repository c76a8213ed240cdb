/* Fingerprints of index arrays: the sum of a mixture of each position with what stands there, so that parts
 * may be summed in any order, and 32-bit indices have the same fingerprint as 64-bit ones. The mixture is a
 * variant of the finaliser of MurmurHash3 (A. Appleby, in the public domain). */
#include "core/fingerprint.h"

#include "core/context.h"

enum { CHUNK = 1 << 16 };

typedef struct job {
    const void *index;
    spmvx_type type;
    int64_t count;
    uint64_t sum;
} job;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

static void sum_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    job *j = arg;
    uint64_t sum = 0;
    for (int64_t i = begin * CHUNK; i < spx_min(end * CHUNK, j->count); i++)
        sum += mix((uint64_t)spx_index_at(j->index, j->type, i) +
                   (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15));
    __atomic_fetch_add(&j->sum, sum, __ATOMIC_RELAXED);
}

static uint64_t fingerprint_on_host(const spmvx_context *ctx, const spx_array *a, spmvx_type type,
                                    int64_t count)
{
    job j = { a->data, type, count, 0 };
    spx_parallel(spx_threads_for(ctx->threads, count), spx_ceil_div(count, CHUNK), sum_body, &j);
    return j.sum ? j.sum : 1;
}

/* Threads that ask at the same time store the same. 0 stands for one that nobody took. */
static spmvx_status fingerprint(const spmvx_context *ctx, spx_array *a, spmvx_type type, int64_t count,
                                uint64_t *out)
{
    *out = a ? __atomic_load_n(&a->fingerprint, __ATOMIC_RELAXED) : 0;
    if (!a || *out) return SPMVX_OK;
    if (ctx->backend->fingerprint) SPX_TRY(ctx->backend->fingerprint(ctx, type, count, a->data, out));
    else *out = fingerprint_on_host(ctx, a, type, count);
    __atomic_store_n(&a->fingerprint, *out, __ATOMIC_RELAXED);
    return SPMVX_OK;
}

spmvx_status spx_pattern_of(const spmvx_context *ctx, const spx_sparse *csr, spx_pattern *out)
{
    *out = (spx_pattern){ .nrows = csr->nrows, .ncols = csr->ncols, .nnz = csr->nnz };
    SPX_TRY(fingerprint(ctx, csr->slot[SPX_PTR], csr->ptr_type, csr->nrows + 1, &out->ptr));
    return fingerprint(ctx, csr->slot[SPX_COL], SPMVX_I32, csr->nnz, &out->col);
}

bool spx_pattern_same(const spx_pattern *a, const spx_pattern *b)
{
    return a->nrows == b->nrows && a->ncols == b->ncols && a->nnz == b->nnz && a->ptr == b->ptr &&
           a->col == b->col;
}
