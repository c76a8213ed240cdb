/* Formats: every one built from the cases and turned back into exactly the arrays that it came from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

/* first, second: slice and sigma of SELL, rows and columns of BSR's blocks, omega and sigma of CSR5, width
 * or hot columns of TILED, or, below 0, how columns are stored beside a width */
typedef struct shape {
    spmvx_format format;
    int64_t first, second;
} shape;

static const shape shapes[] = {
    { SPMVX_COO, 0, 0 },           { SPMVX_CSR, 0, 0 },      { SPMVX_SELL, 0, 0 },
    { SPMVX_SELL, 4, 1 },          { SPMVX_SELL, 5, 7 },     { SPMVX_SELL, 8, 64 },
    { SPMVX_SELL, 16, 1 },         { SPMVX_SELL, 32, 100 },  { SPMVX_SELL, 63, INT64_MAX },
    { SPMVX_SELL, 64, INT64_MAX }, { SPMVX_SELL, 96, 1 },    { SPMVX_SELL, 1000, 300 },
    { SPMVX_CSC, 0, 0 },           { SPMVX_ELL, 0, 0 },      { SPMVX_HYB, 0, 0 },
    { SPMVX_DIA, 0, 0 },           { SPMVX_BSR, 0, 0 },      { SPMVX_BSR, 1, 1 },
    { SPMVX_BSR, 2, 3 },           { SPMVX_BSR, 16, 16 },    { SPMVX_BSR, 7, 10 },
    { SPMVX_CSR5, 0, 0 },          { SPMVX_CSR5, 3, 5 },     { SPMVX_CSR5, 64, 32 },
    { SPMVX_TILED, 0, 0 },         { SPMVX_TILED, 64, 0 },   { SPMVX_TILED, 0, 1 },
    { SPMVX_TILED, 0, 20 },        { SPMVX_TILED, 0, 9999 }, { SPMVX_PACKED, 0, 0 },
    { SPMVX_PACKED, 0, 1 },        { SPMVX_PACKED, 0, 64 },  { SPMVX_PACKED, 0, 100000 },
    { SPMVX_PKT, 0, 0 },           { SPMVX_PKT, 32, 0 },     { SPMVX_PKT, 100, 0 },
    { SPMVX_TILED, 64, -1 },       { SPMVX_TILED, 64, -2 },  { SPMVX_TILED, 65535, -2 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static bool adds_up(spmvx_format f)
{
    return f == SPMVX_DIA || f == SPMVX_BSR;
}

/* NULL where it would take too much memory: ELL and DIA of a matrix that is not for them. */
static spmvx_matrix *convert(spmvx_context *ctx, const spmvx_matrix *m, shape s)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *out = NULL;
    o.format = s.format;
    if (s.format == SPMVX_SELL) o.slice = s.first, o.sigma = s.second;
    else if (s.format == SPMVX_PACKED) o.sigma = s.second;
    else if (s.format == SPMVX_BSR) o.block_rows = s.first, o.block_cols = s.second;
    char kernel[64];
    if (s.first && s.format == SPMVX_CSR5)
        snprintf(kernel, sizeof kernel, "csr5:omega=%d,sigma=%d", (int)s.first, (int)s.second),
            o.kernel = kernel;
    if (s.first && s.format == SPMVX_TILED)
        snprintf(kernel, sizeof kernel, "tiled:width=%d", (int)s.first), o.kernel = kernel;
    if (s.second > 0 && s.format == SPMVX_TILED)
        snprintf(kernel, sizeof kernel, "tiled:hot=%d", (int)s.second), o.kernel = kernel;
    if (s.second < 0 && s.format == SPMVX_TILED)
        snprintf(kernel, sizeof kernel, "tiled:width=%d,columns=%s", (int)s.first,
                 s.second == -1 ? "u16" : "delta"),
            o.kernel = kernel;
    if (s.first && s.format == SPMVX_PKT)
        snprintf(kernel, sizeof kernel, "pkt:packet=%d", (int)s.first), o.kernel = kernel;
    o.max_bytes = 32 << 20;
    const spmvx_status status = spmvx_matrix_convert(ctx, m, &o, &out);
    if (status != SPMVX_ERR_LIMIT) assert_ok(ctx, status);
    return out;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* What DIA and BSR keep: rows in rising order of columns, repeats added up in the order they came. */
static csr_arrays added_up(const csr_arrays *c)
{
    const int64_t n = c->arrays.nnz, rows = c->arrays.nrows;
    const spmvx_type type = c->arrays.val_type;
    csr_arrays s = { calloc((size_t)rows + 2, sizeof *s.ptr), malloc((size_t)(n + 1) * sizeof *s.col),
                     malloc((size_t)(n + 1) * 8), c->arrays };
    int64_t *const place = malloc((size_t)(c->arrays.ncols + 1) * sizeof *place), to = 0;
    bool *const met = calloc((size_t)n + 1, sizeof *met);
    assert_true(s.ptr && s.col && s.val && place && met);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t from = c->ptr[r], length = c->ptr[r + 1] - from;
        const int64_t first = to;
        memcpy(s.col + first, c->col + from, (size_t)length * sizeof *s.col);
        qsort(s.col + first, (size_t)length, sizeof *s.col, by_number);
        for (int64_t k = first; k < first + length; k++)
            if (k == first || s.col[k] != s.col[to - 1]) place[s.col[k]] = to, s.col[to++] = s.col[k];
        for (int64_t k = from; k < from + length; k++) {
            const int64_t at = place[c->col[k]];
            if (type == SPMVX_F64)
                ((double *)s.val)[at] = met[at] ? ((double *)s.val)[at] + ((const double *)c->val)[k]
                                                : ((const double *)c->val)[k];
            else
                ((float *)s.val)[at] =
                    met[at] ? ((float *)s.val)[at] + ((const float *)c->val)[k] : ((const float *)c->val)[k];
            met[at] = true;
        }
        s.ptr[r + 1] = to;
    }
    free(place);
    free(met);
    s.arrays.nnz = to;
    s.arrays.ptr = s.ptr;
    s.arrays.col = s.col;
    s.arrays.val = s.val;
    return s;
}

static int64_t pointer(const spmvx_arrays *a, int64_t i)
{
    return a->ptr_type == SPMVX_I64 ? ((const int64_t *)a->ptr)[i] : ((const int32_t *)a->ptr)[i];
}

static void check_csr(spmvx_context *ctx, const spmvx_matrix *m, const csr_arrays *want)
{
    spmvx_matrix *csr = convert(ctx, m, (shape){ SPMVX_CSR, 0, 0 });
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    assert_ok(ctx, spmvx_matrix_arrays(csr, &a));
    assert_int_equal(a.format, SPMVX_CSR);
    assert_int_equal(a.nrows, want->arrays.nrows);
    assert_int_equal(a.ncols, want->arrays.ncols);
    assert_int_equal(a.nnz, want->arrays.nnz);
    for (int64_t r = 0; r <= a.nrows; r++) assert_int_equal(pointer(&a, r), want->ptr[r]);
    if (a.nnz) {
        assert_memory_equal(a.col, want->col, (size_t)a.nnz * sizeof(int32_t));
        assert_memory_equal(a.val, want->val, (size_t)a.nnz * value_bytes(a.val_type));
    }
    spmvx_matrix_destroy(csr);
}

static void check_info(spmvx_context *ctx, const spmvx_matrix *m, const triples *t, shape s)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_get_info(m, &i));
    assert_int_equal(i.format, s.format);
    assert_int_equal(i.nrows, t->nrows);
    assert_int_equal(i.ncols, t->ncols);
    if (!adds_up(s.format)) assert_int_equal(i.nnz, t->nnz);
    assert_true(i.stored >= i.nnz);
    if (s.format != SPMVX_PACKED && s.format != SPMVX_TILED) /* which have values in fewer bytes */
        assert_true(i.bytes_streamed >= (size_t)i.stored * value_bytes(i.val_type));
    assert_true(i.flags & SPMVX_IS_DETERMINISTIC);
    assert_true(*i.kernel && *i.reason);
}

static void round_trips(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3)
        for (int c = 0;; c++) {
            triples t = case_make(c);
            if (t.nnz < 0) break;
            spmvx_context *ctx = test_context(NULL, threads);
            for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
                csr_arrays want = case_csr(&t, type), sums = added_up(&want);
                spmvx_matrix *coo = case_coo(ctx, &t, type);
                for (int i = 0; i < SHAPES; i++) {
                    const shape next = shapes[(i + 3) % SHAPES];
                    spmvx_matrix *m = convert(ctx, coo, shapes[i]);
                    if (!m) continue;
                    check_info(ctx, m, &t, shapes[i]);
                    check_csr(ctx, m, adds_up(shapes[i].format) ? &sums : &want);
                    spmvx_matrix *again = convert(ctx, m, next); /* from this format to another */
                    if (again)
                        check_csr(ctx, again,
                                  adds_up(shapes[i].format) || adds_up(next.format) ? &sums : &want);
                    spmvx_matrix_destroy(again);
                    spmvx_matrix_destroy(m);
                }
                csr_free(&sums);
                spmvx_matrix_destroy(coo);
                csr_free(&want);
            }
            spmvx_context_destroy(ctx);
            triples_free(&t);
        }
}

/* A view given back as arrays makes the same matrix, copied or borrowed, with I32 and with I64 indices. */
static void views_are_input(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    for (int c = 0; c < 16; c++) {
        triples t = case_make(c);
        /* CSC arrays do not tell the order in a row */
        csr_arrays unsorted = case_csr(&t, SPMVX_F64), want = added_up(&unsorted);
        spmvx_matrix *coo = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &want.arrays, 0, &coo));
        csr_free(&unsorted);
        for (int i = 0; i < SHAPES; i++) {
            spmvx_matrix *m = convert(ctx, coo, shapes[i]), *copy = NULL, *lent = NULL, *wide = NULL;
            spmvx_arrays v = SPMVX_ARRAYS_INIT;
            if (!m || shapes[i].format == SPMVX_HYB || shapes[i].format == SPMVX_CSR5 ||
                shapes[i].format == SPMVX_TILED || shapes[i].format == SPMVX_PACKED ||
                shapes[i].format == SPMVX_PKT ||
                (adds_up(shapes[i].format) && spmvx_matrix_arrays(m, &v) == SPMVX_ERR_UNSUPPORTED)) {
                spmvx_matrix_destroy(m); /* too large, without a view, or with empty slots */
                continue;
            }
            assert_ok(ctx, spmvx_matrix_arrays(m, &v));
            assert_ok(ctx, spmvx_matrix_create(ctx, &v, 0, &copy));
            assert_ok(ctx, spmvx_matrix_create(ctx, &v, SPMVX_BORROW, &lent));
            spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
            assert_ok(ctx, spmvx_matrix_get_info(m, &info));
            int64_t *col = malloc((size_t)(info.stored + 1) * sizeof *col),
                    *row = malloc((size_t)(t.nrows + t.nnz + 1) * sizeof *row);
            const int64_t cols = v.format == SPMVX_DIA   ? v.width
                                 : v.format == SPMVX_BSR ? info.stored / v.block_rows / v.block_cols
                                                         : info.stored;
            for (int64_t k = 0; v.col && k < cols; k++) col[k] = ((const int32_t *)v.col)[k];
            if (v.row)
                for (int64_t k = 0; k < (v.format == SPMVX_SELL ? v.nrows : v.nnz); k++)
                    row[k] = ((const int32_t *)v.row)[k];
            v.idx_type = SPMVX_I64;
            v.col = v.col ? col : NULL;
            v.row = v.row ? row : NULL;
            assert_ok(ctx, spmvx_matrix_create(ctx, &v, 0, &wide));
            spmvx_matrix_info borrowed = SPMVX_MATRIX_INFO_INIT;
            assert_ok(ctx, spmvx_matrix_get_info(lent, &borrowed));
            assert_true(borrowed.flags & SPMVX_IS_BORROWED);
            check_csr(ctx, copy, &want);
            check_csr(ctx, lent, &want);
            check_csr(ctx, wide, &want);
            free(col);
            free(row);
            spmvx_matrix_destroy(lent);
            spmvx_matrix_destroy(m);
            spmvx_matrix_destroy(copy);
            spmvx_matrix_destroy(wide);
        }
        spmvx_matrix_destroy(coo);
        csr_free(&want);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

/* SELL as its definition has it: widths of slices, falling lengths within windows, padding marked. */
static void sell_layout(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    triples t = case_make(8);
    csr_arrays csr = case_csr(&t, SPMVX_F64);
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64);
    for (int i = 3; shapes[i].format == SPMVX_SELL; i++) {
        spmvx_matrix *m = convert(ctx, coo, shapes[i]);
        spmvx_arrays v = SPMVX_ARRAYS_INIT;
        assert_ok(ctx, spmvx_matrix_arrays(m, &v));
        assert_int_equal(v.slice, shapes[i].first);
        int64_t before = INT64_MAX;
        for (int64_t s = 0; s * v.slice < v.nrows; s++) {
            const int64_t width = (pointer(&v, s + 1) - pointer(&v, s)) / v.slice;
            int64_t longest = 0;
            for (int64_t p = s * v.slice; p < (s + 1) * v.slice; p++) {
                const int64_t r = p >= v.nrows ? -1 : v.row ? ((const int32_t *)v.row)[p] : p;
                const int64_t n = r < 0 ? 0 : csr.ptr[r + 1] - csr.ptr[r];
                longest = n > longest ? n : longest;
                if (p % shapes[i].second && r >= 0) assert_true(n <= before);
                before = n;
                for (int64_t k = 0; k < width; k++) {
                    const int32_t col =
                        ((const int32_t *)v.col)[pointer(&v, s) + k * v.slice + p - s * v.slice];
                    if (k < n) assert_int_equal(col, csr.col[csr.ptr[r] + k]);
                    else assert_int_equal(col, -1);
                }
            }
            assert_int_equal(width, longest);
        }
        spmvx_matrix_destroy(m);
    }
    spmvx_matrix_destroy(coo);
    csr_free(&csr);
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

/* SELL given by the caller: padding anywhere, with values that must not matter. */
static void sell_given(void **state)
{
    (void)state;
    static const int32_t ptr[] = { 0, 12, 20 }, row[] = { 4, 0, 3, 1, 2, 5 };
    static const int32_t col[] = { 1, -1, 0, 2, -1, 3, 3, -1, 0, -1, 1, -1, 2, 0, -1, -1, 1, -1, -1, -1 };
    double val[20], x[] = { 1, 10, 100, 1000 }, y[6];
    for (int i = 0; i < 20; i++) val[i] = col[i] < 0 ? (double)__builtin_nan("") : i + 1;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_SELL;
    a.nrows = 6;
    a.ncols = 4;
    a.nnz = 10;
    a.slice = 4;
    a.ptr = ptr;
    a.row = row;
    a.col = col;
    a.val = val;
    for (int k = 0; k < 3; k++) {
        static const char *const kernels[] = { "sell@c", "sell", "csr-scalar" };
        spmvx_context *ctx = test_context(NULL, 2);
        spmvx_matrix *m = NULL, *forced = NULL;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.kernel = kernels[k];
        assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &m));
        assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &forced));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, forced, x, 0.0, y));
        const double want[] = { 6 * 1000,       4 * 100, 13 * 100 + 17 * 10, 3 * 1 + 7 * 1000 + 11 * 10,
                                1 * 10 + 9 * 1, 14 * 1 };
        for (int r = 0; r < 6; r++) assert_true(y[r] == want[r]);
        spmvx_matrix_destroy(forced);
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
    }
}

static void beyond_max_bytes(void **state)
{
    (void)state;
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, 1);
    triples t = case_make(10);
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *out = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_SELL;
    o.slice = 64;
    o.max_bytes = 2000000;
    const long live = c.live;
    assert_fails(SPMVX_ERR_LIMIT, "times", spmvx_matrix_convert(ctx, coo, &o, &out));
    assert_fails(SPMVX_ERR_LIMIT, "2000000", spmvx_matrix_convert(ctx, coo, &o, &out));
    assert_null(out);
    assert_int_equal(c.live, live);
    o.format = SPMVX_AUTO; /* takes something that fits */
    o.slice = 0;
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &out));
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_get_info(out, &i));
    assert_true(i.bytes_held <= 2000000);
    spmvx_matrix_destroy(out);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
    triples_free(&t);
}

/* CSR's size follows from its shape, so nothing of it is made before it is refused. */
static void refused_before_built(void **state)
{
    (void)state;
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, 1);
    int32_t row = 9999999, col = 0;
    double val = 1;
    const triples t = { "tall", 10000000, 1, 1, &row, &col, &val };
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *out = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_CSR;
    o.max_bytes = 1 << 20;
    const long before = c.allocations;
    assert_fails(SPMVX_ERR_LIMIT, "max_bytes is 1048576", spmvx_matrix_convert(ctx, coo, &o, &out));
    assert_int_equal(c.allocations, before + 2); /* the records of the result and of the budget */
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
}

/* 2^25 tiles; a row that goes to and fro between the first and the 2^24th. */
static void as_many_tiles_as_can_be(void **state)
{
    (void)state;
    enum { N = 7, FAR = 64 << 24 };
    static const int32_t ptr[] = { 0, N }, col[N] = { FAR + 1, 5, FAR + 2, 6, 7, 8, FAR + 3 };
    static const double val[N] = { 1, 2, 3, 4, 5, 6, 7 };
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *csr = NULL, *tiled = NULL, *back = NULL;
    spmvx_arrays a = SPMVX_ARRAYS_INIT, v = SPMVX_ARRAYS_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    a.nrows = 1;
    a.ncols = INT32_MAX;
    a.nnz = N;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &csr));
    o.kernel = "tiled:width=64";
    o.max_bytes = SIZE_MAX;
    assert_ok(ctx, spmvx_matrix_convert(ctx, csr, &o, &tiled));
    o.kernel = NULL;
    o.format = SPMVX_CSR;
    assert_ok(ctx, spmvx_matrix_convert(ctx, tiled, &o, &back));
    assert_ok(ctx, spmvx_matrix_arrays(back, &v));
    assert_memory_equal(v.col, col, sizeof col);
    assert_memory_equal(v.val, val, sizeof val);
    spmvx_matrix_destroy(back);
    spmvx_matrix_destroy(tiled);
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(views_are_input),
        cmocka_unit_test(sell_layout),
        cmocka_unit_test(sell_given),
        cmocka_unit_test(beyond_max_bytes),
        cmocka_unit_test(refused_before_built),
        cmocka_unit_test(as_many_tiles_as_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
