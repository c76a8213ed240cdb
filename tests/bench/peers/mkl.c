/* oneMKL's inspector-executor sparse BLAS (Developer Reference for C, "Inspector-Executor Sparse BLAS
 * Routines"), LP64, on the GNU threading layer, so that it shares libgomp with everything else:
 * mkl_sparse_?_create_csr over the caller's arrays, then with or without a hint of the calls to come and
 * mkl_sparse_optimize; mkl_sparse_spmm for sparse products. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <mkl_service.h>
#include <mkl_spblas.h>

#include "util.h"

_Static_assert(sizeof(MKL_INT) == 4, "the LP64 interface");

typedef struct operand {
    sparse_matrix_t A;
    int32_t *own;
    peer_matrix m;
} operand;

typedef struct product {
    operand A, B;
    sparse_matrix_t C;
} product;

static const struct matrix_descr general = { .type = SPARSE_MATRIX_TYPE_GENERAL };
static const bool hint = true;

static int check(sparse_status_t s, const char *call, peer_error *e)
{
    if (s == SPARSE_STATUS_SUCCESS) return PEER_OK;
    return peer_fail(e, s == SPARSE_STATUS_NOT_SUPPORTED ? PEER_UNSUPPORTED : PEER_FAILED, "%s answered %d",
                     call, (int)s);
}

static void operand_free(operand *o)
{
    if (o->A) mkl_sparse_destroy(o->A);
    free(o->own);
}

/* MKL's handle over the arrays, which it does not write though its prototypes lack the const. */
static int operand_make(operand *o, const peer_matrix *A, peer_error *e)
{
    const int result = peer_narrow(A, &o->m, &o->own, e);
    if (result) return result;
    MKL_INT *ptr = (MKL_INT *)(uintptr_t)o->m.ptr, *col = (MKL_INT *)(uintptr_t)A->col;
    void *val = (void *)(uintptr_t)A->val;
    const MKL_INT m = (MKL_INT)A->nrows, n = (MKL_INT)A->ncols;
    const sparse_status_t s =
        A->val_bits == 64
            ? mkl_sparse_d_create_csr(&o->A, SPARSE_INDEX_BASE_ZERO, m, n, ptr, ptr + 1, col, val)
            : mkl_sparse_s_create_csr(&o->A, SPARSE_INDEX_BASE_ZERO, m, n, ptr, ptr + 1, col, val);
    return check(s, "create_csr", e);
}

static int optimize(const operand *o, peer_error *e)
{
    const MKL_INT calls = o->m.expected_muls < INT32_MAX ? (MKL_INT)o->m.expected_muls : INT32_MAX;
    const int result =
        check(mkl_sparse_set_mv_hint(o->A, SPARSE_OPERATION_NON_TRANSPOSE, general, calls), "set_mv_hint", e);
    return result ? result : check(mkl_sparse_optimize(o->A), "optimize", e);
}

static int open_matrix(const peer_method *method, const peer_matrix *A, void **handle, peer_error *e)
{
    operand *h = calloc(1, sizeof *h);
    if (!h) return peer_fail(e, PEER_FAILED, "out of memory");
    const int before = mkl_set_num_threads_local(A->threads);
    int result = operand_make(h, A, e);
    if (!result && method->variant == &hint) result = optimize(h, e);
    mkl_set_num_threads_local(before);
    if (!result) {
        *handle = h;
        return PEER_OK;
    }
    operand_free(h);
    free(h);
    return result;
}

static int mul(void *handle, double alpha, const void *x, double beta, void *y, peer_error *e)
{
    const operand *h = handle;
    const int before = mkl_set_num_threads_local(h->m.threads);
    const sparse_status_t s =
        h->m.val_bits == 64
            ? mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, alpha, h->A, general, x, beta, y)
            : mkl_sparse_s_mv(SPARSE_OPERATION_NON_TRANSPOSE, (float)alpha, h->A, general, x, (float)beta, y);
    mkl_set_num_threads_local(before);
    return check(s, "mv", e);
}

static void close_matrix(void *handle)
{
    operand_free(handle);
    free(handle);
}

static void close_product(void *handle)
{
    product *h = handle;
    if (h->C) mkl_sparse_destroy(h->C);
    operand_free(&h->A);
    operand_free(&h->B);
    free(h);
}

static int open_product(const peer_product *method, const peer_matrix *A, const peer_matrix *B, void **handle,
                        peer_error *e)
{
    (void)method;
    product *h = calloc(1, sizeof *h);
    if (!h) return peer_fail(e, PEER_FAILED, "out of memory");
    int result = operand_make(&h->A, A, e);
    if (!result) result = operand_make(&h->B, B, e);
    if (!result) {
        *handle = h;
        return PEER_OK;
    }
    close_product(h);
    return result;
}

static int mul_product(void *handle, peer_error *e)
{
    product *h = handle;
    if (h->C) mkl_sparse_destroy(h->C);
    h->C = NULL;
    const int before = mkl_set_num_threads_local(h->A.m.threads);
    const sparse_status_t s = mkl_sparse_spmm(SPARSE_OPERATION_NON_TRANSPOSE, h->A.A, h->B.A, &h->C);
    mkl_set_num_threads_local(before);
    return check(s, "spmm", e);
}

static int result_of_product(void *handle, peer_matrix *C, peer_error *e)
{
    const product *h = handle;
    const int bits = h->A.m.val_bits;
    sparse_index_base_t base;
    MKL_INT m, n, *begin, *end, *col;
    double *f64 = NULL;
    float *f32 = NULL;
    const sparse_status_t s = bits == 64
                                  ? mkl_sparse_d_export_csr(h->C, &base, &m, &n, &begin, &end, &col, &f64)
                                  : mkl_sparse_s_export_csr(h->C, &base, &m, &n, &begin, &end, &col, &f32);
    const int result = check(s, "export_csr", e);
    if (result) return result;
    if (base != SPARSE_INDEX_BASE_ZERO || end != begin + 1)
        return peer_fail(e, PEER_FAILED, "MKL's C is not plain CSR from 0");
    *C = (peer_matrix){ .nrows = m,
                        .ncols = n,
                        .nnz = begin[m],
                        .ptr = begin,
                        .ptr_bits = 32,
                        .col = col,
                        .val = bits == 64 ? (const void *)f64 : (const void *)f32,
                        .val_bits = bits };
    return PEER_OK;
}

static char version[64];

static int start(peer_error *e)
{
    (void)e;
    MKLVersion v;
    mkl_get_version(&v);
    /* as it is named: 2026.2 */
    snprintf(version, sizeof version, "%d.%d", v.MajorVersion, v.UpdateVersion);
    mkl_set_dynamic(0); /* MKL's own: as many threads as asked, not fewer */
    return PEER_OK;
}

static const peer_method methods[] = {
    { .name = "mkl",
      .summary = "mkl_sparse_?_mv, optimized for the calls to come",
      .variant = &hint,
      .open = open_matrix,
      .mul = mul,
      .close = close_matrix },
    { .name = "mkl-nohint",
      .summary = "mkl_sparse_?_mv, no hint and no optimize",
      .open = open_matrix,
      .mul = mul,
      .close = close_matrix },
};
static const peer_product products[] = {
    { .name = "mkl",
      .summary = "mkl_sparse_spmm",
      .open = open_product,
      .mul = mul_product,
      .result = result_of_product,
      .close = close_product },
};
static const peer_library library = {
    .interface_version = PEER_INTERFACE,
    .name = "oneMKL",
    .version = version,
    .count = 2,
    .methods = methods,
    .product_count = 1,
    .products = products,
    .start = start,
};

const peer_library *spmvx_peer(void)
{
    return &library;
}
