/* The order of a transpose's entries, and what NaN and Inf among repeats do to op T. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct entry {
    int32_t row, col;
    int64_t place;
    double val;
} entry;

static int in_order(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Rows of the transpose hold their entries in the order of A's rows; those of one row and column in the order
 * in which they came. */
static void check_order(const spmvx_matrix *T, const triples *t, spmvx_type type, const char *what)
{
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    entry *e = calloc((size_t)t->nnz + 1, sizeof *e);
    assert_ok(NULL, spmvx_matrix_arrays(T, &v));
    assert_true(e && v.nnz == t->nnz && v.nrows == t->ncols && v.ncols == t->nrows);
    for (int64_t k = 0; k < t->nnz; k++) e[k] = (entry){ t->col[k], t->row[k], k, t->val[k] };
    qsort(e, (size_t)t->nnz, sizeof *e, in_order);
    const int32_t *ptr = v.ptr, *row = v.row, *col = v.col;
    int64_t at = 0;
    for (int64_t r = 0; r < v.nrows; r++) {
        if (v.format == SPMVX_CSR) assert_int_equal(ptr[r], at);
        /* of a COO the entries of row r in the order in which they stand */
        for (int64_t k = 0; k < (v.format == SPMVX_CSR ? ptr[r + 1] - ptr[r] : v.nnz); k++) {
            const int64_t i = v.format == SPMVX_CSR ? ptr[r] + k : k;
            if (v.format == SPMVX_COO && row[i] != r) continue;
            const double want = type == SPMVX_F64 ? e[at].val : (double)(float)e[at].val,
                         got = value_at(v.val, type, i);
            if (at >= t->nnz || e[at].row != r || e[at].col != col[i] || got != want)
                fail_msg("%s of %s: row %lld, entry %lld: column %d, value %g; not %d, %g", what, t->name,
                         (long long)r, (long long)k, (int)col[i], got, (int)e[at].col, want);
            at++;
        }
    }
    assert_int_equal(at, t->nnz);
    free(e);
}

/* Few entries in many columns, not sorted, with repeats: the transpose is COO. */
static triples many_columns(void)
{
    static int32_t row[] = { 3, 1, 3, 0, 2, 0, 3, 1, 1, 0 },
                   col[] = { 9, 90000, 9, 9, 9, 90000, 9, 9, 90000, 77 };
    static double val[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    return (triples){ "many columns", 4, 100000, 10, row, col, val };
}

/* The same in rows: A itself is better off as COO. */
static triples many_rows(void)
{
    const triples t = many_columns();
    return (triples){ "many rows", t.ncols, t.nrows, t.nnz, t.col, t.row, t.val };
}

static void transposes(void **state)
{
    (void)state;
    static const int cases[] = { 4, 5, 6, 7, 8, 15, 13 };
    static const spmvx_format formats[] = { SPMVX_COO,  SPMVX_CSR, SPMVX_CSC,   SPMVX_ELL,    SPMVX_SELL,
                                            SPMVX_CSR5, SPMVX_HYB, SPMVX_TILED, SPMVX_PACKED, SPMVX_PKT };
    for (size_t c = 0; c < COUNT(cases) + 2; c++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++)
            for (size_t f = 0; f < COUNT(formats); f++) {
                triples t = c < COUNT(cases)    ? case_make(cases[c])
                            : c == COUNT(cases) ? many_columns()
                                                : many_rows();
                spmvx_context *ctx = test_context(NULL, 2);
                spmvx_matrix *coo = case_coo(ctx, &t, type), *A = NULL, *T = NULL;
                spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
                o.format = formats[f];
                o.max_bytes = SIZE_MAX;
                assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &A));
                assert_ok(ctx, spmvx_matrix_transpose(ctx, A, &T));
                check_order(T, &t, type, "transpose");
                spmvx_matrix_destroy(T);
                spmvx_matrix_destroy(A);
                spmvx_matrix_destroy(coo);
                spmvx_context_destroy(ctx);
                if (c < COUNT(cases)) triples_free(&t);
            }
}

/* ---- repeats that must not be added up first ---- */

typedef struct pair {
    double a, b, x;
} pair;

/* Two entries of one place: a*x + b*x is NaN, Inf or finite, and (a + b)*x may be something else. */
static const pair pairs[] = { { INFINITY, -INFINITY, 1 }, { 1e308, 1e308, 0.25 },
                              { 1e308, 1e308, 0 },        { -1e308, -1e308, -0.25 },
                              { INFINITY, -1e308, 0.5 },  { -INFINITY, -1e308, 1 },
                              { INFINITY, 1, 0 },         { NAN, 1, 1 } };

enum { N = 48 };

/* Blocks of a band, of which one place stands twice: DIA and BSR would suit it. */
static triples band(const pair *p, int32_t *row, int32_t *col, double *val)
{
    triples t = { "band", N, N, 0, row, col, val };
    for (int r = 0; r < N; r++)
        for (int c = r / 2 * 2; c < r / 2 * 2 + 2; c++, t.nnz++) {
            row[t.nnz] = r;
            col[t.nnz] = c;
            val[t.nnz] = r == 10 && c == 11 ? p->a : 1 + c;
        }
    row[t.nnz] = 10;
    col[t.nnz] = 11;
    val[t.nnz++] = p->b;
    return t;
}

static const char *kind(double v)
{
    return isnan(v) ? "NaN" : isinf(v) ? v > 0 ? "Inf" : "-Inf" : "finite";
}

/* Products without the repeats added up: of each op, entry by entry in the order of the matrix. */
static void check_kind(spmvx_context *ctx, const spmvx_matrix *m, const triples *t, const double *x,
                       const char *what)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_get_info(m, &i));
    for (spmvx_op op = SPMVX_N; op <= SPMVX_T; op++) {
        double y[N], want[N] = { 0 };
        for (int64_t k = 0; k < t->nnz; k++) {
            const int32_t r = op == SPMVX_N ? t->row[k] : t->col[k],
                          c = op == SPMVX_N ? t->col[k] : t->row[k];
            want[r] += t->val[k] * x[c];
        }
        assert_ok(ctx, spmvx_mul(ctx, op, 1.0, m, x, 0.0, y));
        for (int r = 0; r < N; r++)
            if (strcmp(kind(y[r]), kind(want[r])) ||
                (isfinite(want[r]) &&
                 fabs(y[r] - want[r]) > 1e-12 * fabs(want[r]) + 1e296 * (fabs(want[r]) > 1e290)))
                fail_msg("%s by %s, op %c: row %d is %g, not %g (%s)", what, i.kernel, "NT"[op], r, y[r],
                         want[r], i.reason);
    }
}

static void repeats(void **state)
{
    (void)state;
    int32_t row[2 * N + 1], col[2 * N + 1];
    double val[2 * N + 1], x[N];
    for (size_t p = 0; p < COUNT(pairs); p++)
        for (int32_t effort = 0; effort < 3; effort++)
            for (int turn = 0; turn < 2; turn++) {
                triples t = band(&pairs[p], row, col, val);
                if (turn) t.row = col, t.col = row;
                for (int j = 0; j < N; j++) x[j] = j == 10 || j == 11 ? pairs[p].x : 1;
                spmvx_context *ctx = test_context(NULL, 2);
                spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64), *m = NULL, *again = NULL;
                spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
                o.effort = effort;
                o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
                assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &m));
                check_kind(ctx, m, &t, x, "AUTO");
                assert_ok(ctx,
                          spmvx_matrix_convert(ctx, m, &o, &again)); /* by what was learned, if anything */
                check_kind(ctx, again, &t, x, "AUTO again");
                spmvx_matrix_destroy(again);
                spmvx_matrix_destroy(m);
                spmvx_matrix_destroy(A);
                spmvx_context_destroy(ctx);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(transposes), cmocka_unit_test(repeats) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
