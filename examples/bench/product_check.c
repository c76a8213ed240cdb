/* Is C = A*B right? Its rows are, and C x is A (B x). */
#include <math.h>
#include <stdlib.h>

#include "product.h"

/* ---- the reference: A (B x) and |A||B||x|, added up in long double ---- */

static void times_vector(const spmvx_arrays *a, int threads, const long double *x, const double *weight,
                         long double *y, double *out)
{
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(guided)
#endif
    for (int64_t r = 0; r < a->nrows; r++) {
        const int64_t to = index_at(a->ptr, a->ptr_type, r + 1);
        long double sum = 0, all = 0;
        for (int64_t k = index_at(a->ptr, a->ptr_type, r); k < to; k++) {
            const int32_t c = ((const int32_t *)a->col)[k];
            const long double v = (long double)vector_get(a->val, a->val_type, k);
            sum += v * x[c];
            all += fabsl(v) * weight[c];
        }
        y[r] = sum;
        out[r] = (double)all;
    }
    (void)threads;
}

static void count_products(product_bench *b)
{
    const spmvx_arrays *A = &b->a.csr, *B = &b->b->csr;
    const int32_t *col = A->col;
    for (int64_t r = 0; r < A->nrows; r++) {
        const int64_t to = index_at(A->ptr, A->ptr_type, r + 1);
        int64_t n = 0;
        for (int64_t k = index_at(A->ptr, A->ptr_type, r); k < to; k++)
            n += index_at(B->ptr, B->ptr_type, col[k] + INT64_C(1)) - index_at(B->ptr, B->ptr_type, col[k]);
        b->products += n;
        b->most = n > b->most ? n : b->most;
    }
}

void product_reference(product_bench *b)
{
    const spmvx_arrays *A = &b->a.csr, *B = &b->b->csr;
    const size_t n = (size_t)B->ncols, inner = (size_t)B->nrows, m = (size_t)A->nrows;
    long double *x = checked_alloc(n * sizeof *x), *bx = checked_alloc(inner * sizeof *bx);
    double *wx = checked_alloc(n * sizeof *wx), *wbx = checked_alloc(inner * sizeof *wbx);
    b->x = checked_alloc(n * sizeof *b->x);
    b->reference = checked_alloc(m * sizeof *b->reference);
    b->weight = checked_alloc(m * sizeof *b->weight);
    for (size_t k = 0; k < n; k++) {
        x[k] = b->x[k] = sample((int64_t)k);
        wx[k] = fabs(b->x[k]);
    }
    count_products(b);
    times_vector(B, b->set->threads, x, wx, bx, wbx);
    times_vector(A, b->set->threads, bx, wbx, b->reference, b->weight);
    free(x);
    free(bx);
    free(wx);
    free(wbx);
}

/* Two sums, the terms of an entry and the entries of a row, each of which has no more terms than the row has
 * products. */
double product_bound(const product_bench *b)
{
    const double u = b->type == SPMVX_F64 ? 0x1p-53 : 0x1p-24, n = 2.0 * (double)b->most + 4.0;
    return 2.0 * n * u / (1.0 - n * u);
}

/* The largest error of a row of C x; infinite where C is no matrix of the right shape. */
static double error_of_product(const product_bench *b, const spmvx_arrays *C, bool rising)
{
    const int32_t *col = C->col;
    double worst = 0;
    if (C->nrows != b->a.csr.nrows || C->ncols != b->b->csr.ncols ||
        index_at(C->ptr, C->ptr_type, C->nrows) != C->nnz)
        return INFINITY;
#ifdef _OPENMP
#pragma omp parallel for num_threads(b->set->threads) reduction(max : worst) schedule(guided)
#endif
    for (int64_t r = 0; r < C->nrows; r++) {
        const int64_t from = index_at(C->ptr, C->ptr_type, r), to = index_at(C->ptr, C->ptr_type, r + 1);
        long double sum = 0;
        bool good = 0 <= from && from <= to && to <= C->nnz;
        for (int64_t k = from; good && k < to; k++) {
            good = col[k] >= 0 && col[k] < C->ncols && (!rising || k == from || col[k - 1] < col[k]);
            if (good) sum += (long double)vector_get(C->val, C->val_type, k) * b->x[col[k]];
        }
        const long double d = fabsl(sum - b->reference[r]);
        const double e = !good              ? INFINITY
                         : d == 0           ? 0
                         : b->weight[r] > 0 ? (double)(d / b->weight[r])
                                            : INFINITY;
        if (!(e <= worst) && isfinite(b->weight[r])) worst = isnan(e) ? INFINITY : e;
    }
    return worst;
}

/* ---- C on the host ---- */

typedef struct host_copy {
    void *ptr, *col, *val; /* of a device's */
} host_copy;

static bool fetch(const product_bench *b, const void *there, size_t bytes, void **here)
{
    *here = checked_alloc(bytes);
    return !bytes || spmvx_buffer_download(b->ctx, *here, there, bytes) == SPMVX_OK;
}

/* Replaces a device's arrays by copies. */
static bool bring(const product_bench *b, spmvx_arrays *C, host_copy *own)
{
    if (!b->set->on_device) return true;
    const bool ok =
        fetch(b, C->ptr, (size_t)(C->nrows + 1) * (C->ptr_type == SPMVX_I64 ? 8 : 4), &own->ptr) &&
        fetch(b, C->col, (size_t)C->nnz * 4, &own->col) &&
        fetch(b, C->val, (size_t)C->nnz * type_bytes(b->type), &own->val);
    C->ptr = own->ptr;
    C->col = own->col;
    C->val = own->val;
    return ok;
}

static bool result_arrays(const product_contender *c, spmvx_type type, spmvx_arrays *out)
{
    *out = (spmvx_arrays)SPMVX_ARRAYS_INIT;
    if (c->way != BY_PEER) return spmvx_matrix_arrays(c->C, out) == SPMVX_OK;
    peer_matrix m = { 0 };
    peer_error e = { "" };
    if (c->product->result(c->handle, &m, &e) != PEER_OK) return false;
    out->nrows = m.nrows;
    out->ncols = m.ncols;
    out->nnz = m.nnz;
    out->ptr = m.ptr;
    out->ptr_type = m.ptr_bits == 64 ? SPMVX_I64 : SPMVX_I32;
    out->col = m.col;
    out->val = m.val;
    out->val_type = type;
    return true;
}

bool product_look(const product_bench *b, product_contender *c)
{
    spmvx_arrays C;
    host_copy own = { 0 };
    const bool ok = result_arrays(c, b->type, &C) && bring(b, &C, &own);
    if (ok) {
        c->nnz = C.nnz;
        c->error = error_of_product(b, &C, c->way != BY_PEER);
    }
    free(own.ptr);
    free(own.col);
    free(own.val);
    return ok;
}
