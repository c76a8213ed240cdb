/* Any bytes as a matrix file: refused with a message, or a matrix that holds together, converts and
 * multiplies. */
#include "harness.h"

#include "as_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spmvx/spmvx.h"

#define REQUIRE(what) ((what) ? (void)0 : give_up(__LINE__, #what))

static const size_t MAX_BYTES = 64u << 20;
static const int64_t MOST_ROWS_AND_COLUMNS = 1000000;

static _Noreturn void give_up(int line, const char *what)
{
    fprintf(stderr, "harness.c:%d: %s does not hold; the last error is '%s'\n", line, what,
            spmvx_last_error(NULL));
    abort();
}

/* ---- an allocator that knows what is live ---- */

static _Atomic size_t live;

static void *count_alloc(void *user, size_t bytes)
{
    (void)user;
    char *p = bytes <= SIZE_MAX - 127 ? aligned_alloc(64, (bytes + 127) / 64 * 64) : NULL;
    if (!p) return NULL;
    memcpy(p, &bytes, sizeof bytes);
    live += bytes;
    return p + 64;
}

static void count_release(void *user, void *ptr)
{
    (void)user;
    size_t bytes;
    memcpy(&bytes, (char *)ptr - 64, sizeof bytes);
    live -= bytes;
    free((char *)ptr - 64);
}

/* ---- what must hold ---- */

static int64_t ptr_at(const spmvx_arrays *v, int64_t i)
{
    return v->ptr_type == SPMVX_I64 ? ((const int64_t *)v->ptr)[i] : ((const int32_t *)v->ptr)[i];
}

static size_t value_bytes(const spmvx_arrays *v)
{
    return v->val_type == SPMVX_F64 ? 8 : 4;
}

static void check_view(const spmvx_arrays *v)
{
    REQUIRE(v->format == SPMVX_CSR || v->format == SPMVX_COO);
    REQUIRE(v->nrows >= 0 && v->nrows <= INT32_MAX && v->ncols >= 0 && v->ncols <= INT32_MAX && v->nnz >= 0);
    REQUIRE(v->idx_type == SPMVX_I32 && v->place == SPMVX_HOST);
    if (v->format == SPMVX_CSR) {
        REQUIRE(ptr_at(v, 0) == 0 && ptr_at(v, v->nrows) == v->nnz);
        for (int64_t r = 0; r < v->nrows; r++) REQUIRE(ptr_at(v, r) <= ptr_at(v, r + 1));
    } else
        for (int64_t k = 0; k < v->nnz; k++)
            REQUIRE(((const int32_t *)v->row)[k] >= 0 && ((const int32_t *)v->row)[k] < v->nrows);
    for (int64_t k = 0; k < v->nnz; k++)
        REQUIRE(((const int32_t *)v->col)[k] >= 0 && ((const int32_t *)v->col)[k] < v->ncols);
}

static spmvx_arrays view_of(const spmvx_matrix *A)
{
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    REQUIRE(spmvx_matrix_arrays(A, &v) == SPMVX_OK);
    return v;
}

static spmvx_matrix *converted(spmvx_context *ctx, const spmvx_matrix *A, spmvx_format format)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *B = NULL;
    o.format = format;
    const spmvx_status s = spmvx_matrix_convert(ctx, A, &o, &B);
    REQUIRE(s == SPMVX_OK || (s == SPMVX_ERR_LIMIT && format == SPMVX_SELL && !B));
    return B;
}

static void check_same(const spmvx_matrix *A, const spmvx_matrix *B)
{
    const spmvx_arrays a = view_of(A), b = view_of(B);
    const size_t nnz = (size_t)a.nnz;
    REQUIRE(a.nrows == b.nrows && a.ncols == b.ncols && a.nnz == b.nnz && a.format == b.format &&
            a.ptr_type == b.ptr_type);
    REQUIRE(memcmp(a.ptr, b.ptr, (size_t)(a.nrows + 1) * (a.ptr_type == SPMVX_I64 ? 8 : 4)) == 0);
    REQUIRE(!nnz || (memcmp(a.col, b.col, nnz * 4) == 0 && memcmp(a.val, b.val, nnz * value_bytes(&a)) == 0));
}

static double value_at(const void *p, spmvx_type type, int64_t i)
{
    return type == SPMVX_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

/* y = A*x with x of ones, against the sum of each row; csr has A's entries. */
static void check_mul(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_arrays *csr)
{
    const size_t each = value_bytes(csr);
    void *x = malloc((size_t)csr->ncols * each + 1), *y = calloc((size_t)csr->nrows + 1, each);
    REQUIRE(x && y);
    for (int64_t i = 0; i < csr->ncols; i++)
        if (each == 8) ((double *)x)[i] = 1.0;
        else ((float *)x)[i] = 1.0f;
    REQUIRE(spmvx_mul(ctx, SPMVX_N, 1.0, A, x, 0.0, y) == SPMVX_OK);
    const double epsilon = each == 8 ? 0x1p-52 : 0x1p-23, most = each == 8 ? 0x1p1000 : 0x1p120;
    for (int64_t r = 0; r < csr->nrows; r++) {
        double sum = 0, absolute = 0;
        for (int64_t k = ptr_at(csr, r); k < ptr_at(csr, r + 1); k++) {
            sum += value_at(csr->val, csr->val_type, k);
            absolute += fabs(value_at(csr->val, csr->val_type, k));
        }
        const double got = value_at(y, csr->val_type, r),
                     terms = (double)(ptr_at(csr, r + 1) - ptr_at(csr, r) + 1);
        if (absolute < most) REQUIRE(fabs(got - sum) <= 4 * terms * epsilon * absolute);
        else if (isnan(sum)) REQUIRE(isnan(got));
    }
    free(x);
    free(y);
}

static void check_matrix(spmvx_context *ctx, const spmvx_matrix *A)
{
    const spmvx_arrays v = view_of(A);
    check_view(&v);
    if (v.nrows + v.ncols >= MOST_ROWS_AND_COLUMNS) return;
    spmvx_matrix *csr = converted(ctx, A, SPMVX_CSR), *sell = converted(ctx, A, SPMVX_SELL);
    spmvx_matrix *back = sell ? converted(ctx, sell, SPMVX_CSR) : NULL;
    const spmvx_arrays c = view_of(csr);
    check_view(&c);
    REQUIRE(c.nnz == v.nnz && c.nrows == v.nrows && c.ncols == v.ncols);
    if (back) check_same(csr, back);
    check_mul(ctx, A, &c);
    check_mul(ctx, csr, &c);
    if (sell) check_mul(ctx, sell, &c);
    spmvx_matrix_destroy(back);
    spmvx_matrix_destroy(sell);
    spmvx_matrix_destroy(csr);
}

void fuzz_read(const char *ending, const uint8_t *data, size_t size)
{
    const char *path = as_file(ending, data, size);
    spmvx_context_options c = SPMVX_CONTEXT_OPTIONS_INIT;
    c.threads = 2;
    c.alloc = count_alloc;
    c.release = count_release;
    spmvx_context *ctx = NULL;
    REQUIRE(spmvx_context_create(&c, &ctx) == SPMVX_OK);
    const size_t before = live;
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.max_bytes = MAX_BYTES;
    o.val_type = size % 2 ? SPMVX_F32 : SPMVX_F64;
    spmvx_matrix *A = NULL;
    const spmvx_status s = spmvx_matrix_read(ctx, path, &o, &A);
    if (s == SPMVX_OK) {
        REQUIRE(A);
        check_matrix(ctx, A);
        spmvx_matrix_destroy(A);
    } else {
        REQUIRE(!A && live == before);
        REQUIRE(s == SPMVX_ERR_FILE || s == SPMVX_ERR_UNSUPPORTED || s == SPMVX_ERR_RANGE ||
                s == SPMVX_ERR_LIMIT || s == SPMVX_ERR_MEMORY);
        REQUIRE(*spmvx_last_error(ctx));
    }
    spmvx_context_destroy(ctx);
    REQUIRE(live == 0);
}
