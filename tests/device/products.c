#include "products.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TERMS = 2500 }; /* of an entry */

spmvx_context *host;

int open_host(void **state)
{
    (void)state;
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    o.place = SPMVX_HOST;
    return spmvx_context_create(&o, &host) == SPMVX_OK ? 0 : 1;
}

int close_host(void **state)
{
    (void)state;
    spmvx_context_destroy(host);
    return 0;
}

triples turned(triples t)
{
    return (triples){ t.name, t.ncols, t.nrows, t.nnz, t.col, t.row, t.val };
}

void make_whole(triples *t)
{
    uint64_t seed = 5;
    for (int64_t i = 0; i < t->nnz; i++) t->val[i] = (double)(case_random(&seed) % 9) - 4;
}

void make_rounded(triples *t)
{
    for (int64_t i = 0; i < t->nnz; i++) t->val[i] = sin((double)(i + 1));
}

triples rows_of(const char *name, const int *length, int rows, int64_t ncols, bool wild)
{
    triples t = { name, rows, ncols, 0, NULL, NULL, NULL };
    uint64_t seed = 17;
    size_t most = 1;
    for (int r = 0; r < rows; r++) most += (size_t)length[r];
    t.row = malloc(most * sizeof *t.row);
    t.col = malloc(most * sizeof *t.col);
    t.val = malloc(most * sizeof *t.val);
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < length[r]; k++) {
            const int64_t from = ncols * k / length[r], to = ncols * (k + 1) / length[r];
            int64_t col = from + (int64_t)(case_random(&seed) % (uint64_t)(to > from ? to - from : 1));
            if (wild && r % 3 == 1) col = ncols - 1 - col;
            if (wild && r % 3 == 2 && k % 4 == 3) col = t.col[t.nnz - 1];
            t.row[t.nnz] = r;
            t.col[t.nnz] = (int32_t)col;
            t.val[t.nnz++] = case_value(&seed);
        }
    return t;
}

triples even_rows(const char *name, int rows, int length, int64_t ncols, bool wild)
{
    int *lengths = malloc((size_t)rows * sizeof *lengths);
    for (int r = 0; r < rows; r++) lengths[r] = length;
    const triples t = rows_of(name, lengths, rows, ncols, wild);
    free(lengths);
    return t;
}

spmvx_matrix *to_host(const spmvx_matrix *m)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *out = NULL;
    assert_ok(NULL, spmvx_matrix_get_info(m, &i));
    assert_int_equal(i.place, SPMVX_CUDA);
    o.format = i.format;
    assert_ok(host, spmvx_matrix_convert(host, m, &o, &out));
    return out;
}

void check_same(const char *what, const spmvx_matrix *there, const spmvx_matrix *want,
                const spmvx_matrix *weight)
{
    spmvx_matrix *m = to_host(there);
    spmvx_arrays a = SPMVX_ARRAYS_INIT, b = SPMVX_ARRAYS_INIT, c = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(m, &a));
    assert_ok(NULL, spmvx_matrix_arrays(want, &b));
    if (weight) assert_ok(NULL, spmvx_matrix_arrays(weight, &c));
    const double u = a.val_type == SPMVX_F64 ? DBL_EPSILON : FLT_EPSILON;
    if (a.nnz != b.nnz) fail_msg("%s: %lld entries, not %lld", what, (long long)a.nnz, (long long)b.nnz);
    assert_int_equal(a.format, b.format);
    assert_int_equal(a.val_type, b.val_type);
    if (a.format == SPMVX_CSR) assert_memory_equal(a.ptr, b.ptr, (size_t)(a.nrows + 1) * 4);
    if (a.format == SPMVX_COO && a.nnz) assert_memory_equal(a.row, b.row, (size_t)a.nnz * 4);
    for (int64_t i = 0; i < a.nnz; i++) {
        const int32_t *x = a.col, *y = b.col;
        const double v = value_at(a.val, a.val_type, i), w = value_at(b.val, a.val_type, i);
        if (x[i] != y[i]) fail_msg("%s: column %d, not %d", what, x[i], y[i]);
        const double bound = weight ? MOST_TERMS * u * value_at(c.val, a.val_type, i) : 0;
        if (!(fabs(v - w) <= bound) || (!weight && signbit(v) != signbit(w)))
            fail_msg("%s: entry %lld is %g, not %g", what, (long long)i, v, w);
    }
    spmvx_matrix_destroy(m);
}

spmvx_matrix *product(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B, const char *kernel,
                      spmvx_format format)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmvx_matrix *C = NULL;
    o.kernel = kernel;
    o.format = format;
    assert_ok(ctx, spmspm_mul(ctx, A, B, &o, &C));
    return C;
}

pair pair_new(spmvx_context *ctx, const triples *l, const triples *r, spmvx_type type)
{
    csr_arrays b = case_csr(r, type);
    pair p = { case_coo(ctx, l, type), NULL };
    assert_ok(ctx, spmvx_matrix_create(ctx, &b.arrays, 0, &p.B));
    csr_free(&b);
    return p;
}

void pair_free(pair *p)
{
    spmvx_matrix_destroy(p->A);
    spmvx_matrix_destroy(p->B);
}

/* With the absolute values of t; free(val). */
static triples with_positive(const triples *t)
{
    triples p = *t;
    p.val = malloc(((size_t)t->nnz + 1) * sizeof *p.val);
    for (int64_t i = 0; i < t->nnz; i++) p.val[i] = fabs(t->val[i]);
    return p;
}

void check_pair(spmvx_context *ctx, const char *const *kernels, const triples *l, const triples *r,
                spmvx_type type, bool near)
{
    pair here = pair_new(host, l, r, type), there = pair_new(ctx, l, r, type);
    spmvx_matrix *want = product(host, here.A, here.B, NULL, SPMVX_AUTO), *weight = NULL;
    if (near) {
        triples left = with_positive(l), right = with_positive(r);
        pair positive = pair_new(host, &left, &right, type);
        weight = product(host, positive.A, positive.B, NULL, SPMVX_AUTO);
        pair_free(&positive);
        free(left.val);
        free(right.val);
    }
    for (int k = 0; kernels[k]; k++) {
        char what[200];
        if (!strcmp(kernels[k], "thin") && r->ncols > 1024) continue;
        const char *kernel = strcmp(kernels[k], "AUTO") ? kernels[k] : NULL;
        spmvx_matrix *C = product(ctx, there.A, there.B, kernel, SPMVX_AUTO);
        snprintf(what, sizeof what, "%s: %s times %s, type %d", kernels[k], l->name, r->name, type);
        check_same(what, C, want, weight);
        spmvx_matrix_destroy(C);
    }
    spmvx_matrix_destroy(want);
    spmvx_matrix_destroy(weight);
    pair_free(&here);
    pair_free(&there);
}

void check_once(spmvx_context *ctx, const char *const *kernels, triples l, triples r, spmvx_type type)
{
    make_whole(&l);
    make_whole(&r);
    check_pair(ctx, kernels, &l, &r, type, false);
    triples_free(&l);
    triples_free(&r);
}
