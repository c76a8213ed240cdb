/* Matrices that tests walk. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t case_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

double case_value(uint64_t *s)
{
    return (double)((int64_t)(case_random(s) % 2000001) - 1000000) / 1048576.0;
}

static triples make(const char *name, int64_t nrows, int64_t ncols, int64_t room)
{
    triples t = { name, nrows, ncols, 0, NULL, NULL, NULL };
    t.row = malloc((size_t)(room ? room : 1) * sizeof *t.row);
    t.col = malloc((size_t)(room ? room : 1) * sizeof *t.col);
    t.val = malloc((size_t)(room ? room : 1) * sizeof *t.val);
    assert_true(t.row && t.col && t.val);
    return t;
}

static void put(triples *t, int64_t row, int64_t col, double val)
{
    t->row[t->nnz] = (int32_t)row;
    t->col[t->nnz] = (int32_t)col;
    t->val[t->nnz++] = val;
}

void triples_free(triples *t)
{
    free(t->row);
    free(t->col);
    free(t->val);
    *t = (triples){ 0 };
}

/* Entries anywhere, so that repeats, empty rows and unsorted columns come by themselves. */
static triples scattered(const char *name, int64_t nrows, int64_t ncols, int64_t nnz, uint64_t seed)
{
    triples t = make(name, nrows, ncols, nnz);
    for (int64_t k = 0; k < nnz; k++)
        put(&t, (int64_t)(case_random(&seed) % (uint64_t)nrows),
            (int64_t)(case_random(&seed) % (uint64_t)ncols), case_value(&seed));
    return t;
}

static triples repeats(void)
{
    triples t = make("repeats and explicit zeros", 7, 5, 40);
    uint64_t seed = 99;
    for (int k = 0; k < 40; k++) put(&t, k % 3 * 2, 4 - k % 2, k % 5 ? case_value(&seed) : 0.0);
    return t;
}

/* Rows, columns or entries where many are wanted; the emulator of a GPU takes long over them. */
static int64_t many(int64_t n)
{
    return test_is_emulated() ? n / 5 : n;
}

/* Most rows short, one with nearly everything. */
static triples one_huge_row(void)
{
    triples t = make("one huge row", 300, 5000, 60000);
    uint64_t seed = 5;
    for (int64_t r = 0; r < 300; r += 3) put(&t, 299 - r, (r * 17) % 5000, case_value(&seed));
    for (int64_t k = 0; k < many(50000); k++) put(&t, 131, (k * 7) % 5000, case_value(&seed));
    return t;
}

/* Long stretches of empty rows between full ones. */
static triples clustered(void)
{
    const int64_t rows = many(40000);
    triples t = make("clusters of empty rows", rows, 900, 64 * 40);
    uint64_t seed = 21;
    for (int64_t i = 0; i < 64; i++)
        for (int64_t k = 0; k < 1 + i % 40; k++)
            put(&t, i * (rows / 64), (int64_t)(case_random(&seed) % 900), case_value(&seed));
    return t;
}

/* The 5-point Laplacian, rows in order. */
static triples laplace(int64_t n)
{
    triples t = make("laplace 2d", n * n, n * n, 5 * n * n);
    for (int64_t r = 0; r < n * n; r++) {
        if (r >= n) put(&t, r, r - n, -1);
        if (r % n) put(&t, r, r - 1, -1);
        put(&t, r, r, 4);
        if (r % n < n - 1) put(&t, r, r + 1, -1);
        if (r < n * (n - 1)) put(&t, r, r + n, -1);
    }
    return t;
}

/* Row lengths from 0 to 70, so that every tail of a vector comes. */
static triples staircase(void)
{
    triples t = make("every row length to 70", 213, 97, 213 * 71);
    uint64_t seed = 3;
    for (int64_t r = 212; r >= 0; r--)
        for (int64_t k = 0; k < r * 37 % 71; k++)
            put(&t, r, (int64_t)(case_random(&seed) % 97), case_value(&seed));
    return t;
}

/* Rows that share their columns with those before: three unknowns a node, coupled by nodes; in the second
 * half two at some. Columns of a node are `apart` times as many as its rows. */
static triples nodes(const char *name, int64_t count, int64_t apart)
{
    enum { UNKNOWNS = 3, MOST = 20 };
    triples t = make(name, count * UNKNOWNS, count * UNKNOWNS * apart, count * MOST * UNKNOWNS * UNKNOWNS);
    uint64_t seed = 17;
    for (int64_t n = 0, row = 0; n < count; n++) {
        const int64_t first = case_random(&seed) % 2 ? n % 7 : 0, neighbours = 2 + n * 5 % (MOST - 2);
        const int64_t unknowns = n > count / 2 && n % 4 == 0 ? 2 : UNKNOWNS;
        for (int64_t u = 0; u < unknowns; u++, row++)
            for (int64_t k = 0; k < neighbours; k++) {
                const int64_t other = (first + k * (n % 5 + 2)) % count * apart;
                for (int64_t v = 0; v < unknowns; v++) put(&t, row, other * UNKNOWNS + v, case_value(&seed));
            }
    }
    return t;
}

/* Rows without a hole, which may be cut alike. */
static triples full(int64_t nrows, int64_t ncols)
{
    triples t = make("full", nrows, ncols, nrows * ncols);
    uint64_t seed = 23;
    for (int64_t r = 0; r < nrows; r++)
        for (int64_t c = 0; c < ncols; c++) put(&t, r, c, case_value(&seed));
    return t;
}

triples case_make(int i)
{
    switch (i) {
    case 0: return make("0 x 0", 0, 0, 0);
    case 1: return make("0 x 9", 0, 9, 0);
    case 2: return make("9 x 0", 9, 0, 0);
    case 3: return make("no entries", 33, 17, 0);
    case 4: return scattered("1 x 1", 1, 1, 1, 1);
    case 5: return scattered("1 x n", 1, 3000, many(40000), 2);
    case 6: return scattered("n x 1", 3000, 1, 2500, 3);
    case 7: return repeats();
    case 8: return staircase();
    case 9: return clustered();
    case 10: return one_huge_row();
    case 11: return laplace(61);
    case 12: return scattered("scattered, wide", 150, many(20000), 30000, 8);
    case 13: return scattered("scattered, tall", many(20000), 150, 30000, 9);
    case 14: return scattered("scattered, square", 2000, 2000, 70000, 10);
    case 15: return scattered("63 x 65", 63, 65, 500, 12);
    case 16: return nodes("unknowns of nodes", 150, 1);
    case 17: return nodes("unknowns of nodes, far apart", 60, 600);
    case 18: return full(70, 120);
    default: return (triples){ .nnz = -1 };
    }
}

triples case_read(const char *file)
{
    char path[512];
    spmvx_context *ctx = NULL;
    spmvx_matrix *m = NULL;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_context_create(NULL, &ctx)); /* the host, wherever tests compute */
    const spmvx_status s = spmvx_matrix_read(ctx, test_data(file, path), NULL, &m);
    if (s == SPMVX_ERR_UNSUPPORTED) skip(); /* a build without zlib */
    assert_ok(ctx, s);
    assert_ok(ctx, spmvx_matrix_arrays(m, &a));
    triples t = make(file, a.nrows, a.ncols, a.nnz);
    const int32_t *ptr = a.ptr, *col = a.col;
    for (int64_t r = 0; r < a.nrows; r++)
        for (int64_t k = ptr[r]; k < ptr[r + 1]; k++) put(&t, r, col[k], ((const double *)a.val)[k]);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    return t;
}

/* ---- arrays ---- */

double value_at(const void *p, spmvx_type t, int64_t i)
{
    return t == SPMVX_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

void value_put(void *p, spmvx_type t, int64_t i, double v)
{
    if (t == SPMVX_F64) ((double *)p)[i] = v;
    else ((float *)p)[i] = (float)v;
}

size_t value_bytes(spmvx_type t)
{
    return t == SPMVX_F64 ? 8 : 4;
}

static void *values_of(const triples *t, spmvx_type type)
{
    void *val = malloc((size_t)(t->nnz + 1) * 8);
    assert_non_null(val);
    for (int64_t k = 0; k < t->nnz; k++) value_put(val, type, k, t->val[k]);
    return val;
}

spmvx_matrix *case_coo(spmvx_context *ctx, const triples *t, spmvx_type type)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *m = NULL;
    void *val = values_of(t, type);
    a.format = SPMVX_COO;
    a.val_type = type;
    a.nrows = t->nrows;
    a.ncols = t->ncols;
    a.nnz = t->nnz;
    a.row = t->row;
    a.col = t->col;
    a.val = val;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &m));
    free(val);
    return m;
}

csr_arrays case_csr(const triples *t, spmvx_type type)
{
    csr_arrays c = { .ptr = calloc((size_t)t->nrows + 2, sizeof *c.ptr),
                     .col = malloc((size_t)(t->nnz + 1) * sizeof *c.col),
                     .val = malloc((size_t)(t->nnz + 1) * 8) };
    assert_true(c.ptr && c.col && c.val);
    for (int64_t k = 0; k < t->nnz; k++) c.ptr[t->row[k] + 2]++;
    for (int64_t r = 2; r <= t->nrows; r++) c.ptr[r] += c.ptr[r - 1];
    for (int64_t k = 0; k < t->nnz; k++) {
        const int64_t to = c.ptr[t->row[k] + 1]++;
        c.col[to] = t->col[k];
        value_put(c.val, type, to, t->val[k]);
    }
    c.arrays = (spmvx_arrays)SPMVX_ARRAYS_INIT;
    c.arrays.ptr_type = SPMVX_I64;
    c.arrays.val_type = type;
    c.arrays.nrows = t->nrows;
    c.arrays.ncols = t->ncols;
    c.arrays.nnz = t->nnz;
    c.arrays.ptr = c.ptr;
    c.arrays.col = c.col;
    c.arrays.val = c.val;
    return c;
}

void csr_free(csr_arrays *c)
{
    free(c->ptr);
    free(c->col);
    free(c->val);
}

/* ---- products ---- */

static void check_op(spmvx_context *ctx, const spmvx_matrix *A, spmvx_type type, const triples *t,
                     spmvx_op op, const char *what)
{
    const int64_t rows = op == SPMVX_N ? t->nrows : t->ncols, cols = op == SPMVX_N ? t->ncols : t->nrows;
    void *x = malloc((size_t)(cols + 1) * 8), *y = malloc((size_t)(rows + 1) * 8);
    double *sum = calloc((size_t)rows + 1, sizeof *sum), *weight = calloc((size_t)rows + 1, sizeof *weight);
    double *terms = calloc((size_t)rows + 1, sizeof *terms);
    uint64_t seed = 17;
    assert_true(x && y && sum && weight && terms);
    for (int64_t j = 0; j < cols; j++) value_put(x, type, j, case_value(&seed));
    for (int64_t i = 0; i < rows; i++) value_put(y, type, i, NAN);
    for (int64_t k = 0; k < t->nnz; k++) {
        const int64_t i = op == SPMVX_N ? t->row[k] : t->col[k], j = op == SPMVX_N ? t->col[k] : t->row[k];
        const double term = (type == SPMVX_F64 ? t->val[k] : (float)t->val[k]) * value_at(x, type, j);
        sum[i] += term;
        weight[i] += fabs(term);
        terms[i]++;
    }
    assert_ok(ctx, spmvx_mul(ctx, op, 1.0, A, x, 0.0, y));
    for (int64_t i = 0; i < rows; i++) {
        const double got = value_at(y, type, i), unit = type == SPMVX_F64 ? 0x1p-53 : 0x1p-24,
                     bound = 2 * unit * (terms[i] + 2) * weight[i];
        if (isfinite(sum[i]) ? !(fabs(got - sum[i]) <= bound) : isfinite(got))
            fail_msg("%s: %s, op %c: row %lld of %lld is %.17g, not %.17g", what, t->name, "NT"[op],
                     (long long)i, (long long)rows, got, sum[i]);
    }
    free(x);
    free(y);
    free(sum);
    free(weight);
    free(terms);
}

void case_check(spmvx_context *ctx, const spmvx_matrix *A, const triples *t, const char *what)
{
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_get_info(A, &info));
    assert_true(info.nrows == t->nrows && info.ncols == t->ncols);
    check_op(ctx, A, info.val_type, t, SPMVX_N, what);
    if (info.ops & SPMVX_OPS_T) check_op(ctx, A, info.val_type, t, SPMVX_T, what);
}

void case_way_back(const spmvx_matrix *m, const csr_arrays *want)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_context *host = NULL;
    spmvx_matrix *back = NULL;
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    o.format = SPMVX_CSR;
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    assert_ok(host, spmvx_matrix_convert(host, m, &o, &back));
    assert_ok(host, spmvx_matrix_arrays(back, &v));
    assert_int_equal(v.nrows, want->arrays.nrows);
    assert_int_equal(v.nnz, want->arrays.nnz);
    for (int64_t r = 0; r <= v.nrows; r++)
        assert_int_equal(v.ptr_type == SPMVX_I64 ? ((const int64_t *)v.ptr)[r] : ((const int32_t *)v.ptr)[r],
                         want->ptr[r]);
    if (v.nnz) {
        assert_memory_equal(v.col, want->col, (size_t)v.nnz * sizeof *want->col);
        assert_memory_equal(v.val, want->val, (size_t)v.nnz * value_bytes(v.val_type));
    }
    spmvx_matrix_destroy(back);
    spmvx_context_destroy(host);
}
