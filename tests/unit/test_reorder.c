/* Orders of rows and columns: that they are orders, that the matrix in them is the same matrix, that each
 * does what it is for, and what is refused. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static const spmvx_reordering methods[] = { SPMVX_RCM, SPMVX_DEGREE, SPMVX_CLUSTER };
enum { METHODS = sizeof methods / sizeof *methods };

static int64_t begin_of(const spmvx_arrays *a, int64_t r)
{
    return a->ptr_type == SPMVX_I64 ? ((const int64_t *)a->ptr)[r] : ((const int32_t *)a->ptr)[r];
}

static spmvx_status reorder(spmvx_context *ctx, const spmvx_matrix *A, spmvx_reordering method, int32_t *rows,
                            int32_t *cols, spmvx_matrix **out)
{
    spmvx_reorder_options o = SPMVX_REORDER_OPTIONS_INIT;
    o.method = method;
    return spmvx_matrix_reorder(ctx, A, &o, rows, cols, out);
}

static void check_order(const int32_t *order, int64_t n)
{
    char *seen = calloc((size_t)n + 1, 1);
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(order[i], 0, n - 1);
        assert_false(seen[order[i]]++);
    }
    free(seen);
}

/* Entries of B's row i are those of A's row rows[i], by rising new column, repeats in their order. */
static void check_matrix(spmvx_context *host, const spmvx_matrix *B, const triples *t, const int32_t *rows,
                         const int32_t *cols)
{
    spmvx_arrays b = SPMVX_ARRAYS_INIT;
    spmvx_matrix *csr = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_CSR;
    assert_ok(host, spmvx_matrix_convert(host, B, &o, &csr));
    assert_ok(host, spmvx_matrix_arrays(csr, &b));
    assert_int_equal(b.nnz, t->nnz);
    int32_t *place = malloc(((size_t)t->ncols + 1) * sizeof *place),
            *at = malloc(((size_t)t->nrows + 1) * sizeof *at);
    for (int64_t j = 0; j < t->ncols; j++) place[cols[j]] = (int32_t)j;
    for (int64_t i = 0; i < t->nrows; i++) at[rows[i]] = (int32_t)i;
    char *used = calloc((size_t)t->nnz + 1, 1);
    const int32_t *col = b.col;
    for (int64_t k = 0; k < t->nnz; k++) {
        const int64_t i = at[t->row[k]];
        int64_t p = begin_of(&b, i);
        while (p < begin_of(&b, i + 1) && (used[p] || col[p] != place[t->col[k]])) p++;
        assert_true(p < begin_of(&b, i + 1));
        assert_true(value_at(b.val, b.val_type, p) == value_at(t->val, SPMVX_F64, k));
        used[p] = 1;
    }
    for (int64_t i = 0; i < t->nrows; i++)
        for (int64_t p = begin_of(&b, i) + 1; p < begin_of(&b, i + 1); p++) assert_true(col[p - 1] <= col[p]);
    free(used);
    free(place);
    free(at);
    spmvx_matrix_destroy(csr);
}

static void test_cases(void **state)
{
    (void)state;
    static const spmvx_format formats[] = { SPMVX_CSR, SPMVX_COO, SPMVX_SELL, SPMVX_PACKED };
    spmvx_context *ctx = test_context(NULL, 2);
    for (int c = 0;; c++) {
        triples t = case_make(c);
        if (t.nnz < 0) break;
        int32_t *rows = malloc(((size_t)t.nrows + 1) * 4), *cols = malloc(((size_t)t.ncols + 1) * 4),
                *again = malloc(((size_t)t.nrows + 1) * 4);
        spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64), *B = NULL, *from = NULL;
        for (int m = 0; m < METHODS; m++) {
            spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
            o.format = formats[(c + m) % 4];
            assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &from));
            assert_ok(ctx, reorder(ctx, from, methods[m], rows, cols, &B));
            check_order(rows, t.nrows);
            check_order(cols, t.ncols);
            if (t.nrows == t.ncols) assert_memory_equal(rows, cols, (size_t)t.nrows * 4);
            check_matrix(ctx, B, &t, rows, cols);
            assert_ok(ctx, reorder(ctx, A, methods[m], again, NULL, NULL));
            assert_memory_equal(rows, again, (size_t)t.nrows * 4);
            spmvx_matrix_destroy(B);
            spmvx_matrix_destroy(from);
        }
        spmvx_matrix_destroy(A);
        triples_free(&t);
        free(rows);
        free(cols);
        free(again);
    }
    spmvx_context_destroy(ctx);
}

/* ---- what each is for ---- */

static triples empty_triples(int64_t nrows, int64_t ncols, int64_t room)
{
    triples t = { "made", nrows, ncols, 0, NULL, NULL, NULL };
    t.row = malloc((size_t)room * 4);
    t.col = malloc((size_t)room * 4);
    t.val = malloc((size_t)room * 8);
    return t;
}

static void add(triples *t, int64_t r, int64_t c)
{
    t->row[t->nnz] = (int32_t)r;
    t->col[t->nnz] = (int32_t)c;
    t->val[t->nnz] = 1.0 + (double)(t->nnz % 7);
    t->nnz++;
}

static void shuffle(int32_t *name, int64_t n, uint64_t *seed)
{
    for (int64_t i = 0; i < n; i++) name[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t k = (int64_t)(case_random(seed) % (uint64_t)(i + 1));
        const int32_t swap = name[i];
        name[i] = name[k];
        name[k] = swap;
    }
}

static int64_t bandwidth(const triples *t, const int32_t *rows, const int32_t *cols)
{
    int64_t widest = 0, *at = malloc((size_t)t->nrows * 8), *place = malloc((size_t)t->ncols * 8);
    for (int64_t i = 0; i < t->nrows; i++) at[rows[i]] = i;
    for (int64_t j = 0; j < t->ncols; j++) place[cols[j]] = j;
    for (int64_t k = 0; k < t->nnz; k++) {
        const int64_t d = llabs(at[t->row[k]] - place[t->col[k]]);
        if (d > widest) widest = d;
    }
    free(at);
    free(place);
    return widest;
}

/* Grids with scattered numbers, some of them apart from the others; a path is one of width 1. */
static void test_rcm(void **state)
{
    (void)state;
    enum { X = 12, Y = 40, GRIDS = 3, N = X * Y * GRIDS };
    static int32_t name[N], rows[N], cols[N];
    uint64_t seed = 3;
    spmvx_context *ctx = test_context(NULL, 1);
    for (int path = 0; path < 2; path++) {
        const int64_t width = path ? 1 : X;
        triples t = empty_triples(N, N, 5 * N);
        shuffle(name, N, &seed);
        for (int64_t i = 0; i < N; i++) {
            add(&t, name[i], name[i]);
            if (i + width < N && (i + width) / (X * Y) == i / (X * Y)) {
                add(&t, name[i], name[i + width]); /* below or above the diagonal: one of both is enough */
                if (i % 3) add(&t, name[i + width], name[i]);
            }
            if (!path && i % X) add(&t, name[i], name[i - 1]);
        }
        spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64);
        assert_ok(ctx, reorder(ctx, A, SPMVX_RCM, rows, cols, NULL));
        assert_true(bandwidth(&t, rows, cols) <= (path ? 1 : X + 1));
        spmvx_matrix_destroy(A);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

/* Breadth first a star is a point, its middle, and all others, each of which reaches back to the middle;
 * reversed, the middle alone reaches back. */
static void test_reversed(void **state)
{
    (void)state;
    enum { N = 30, MIDDLE = 11 };
    static int32_t rows[N], cols[N];
    spmvx_context *ctx = test_context(NULL, 1);
    triples t = empty_triples(N, N, N);
    for (int64_t i = 0; i < N; i++)
        if (i != MIDDLE) add(&t, i, MIDDLE);
    spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64);
    assert_ok(ctx, reorder(ctx, A, SPMVX_RCM, rows, cols, NULL));
    assert_int_equal(rows[N - 2], MIDDLE);
    spmvx_matrix_destroy(A);
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

static void test_degree(void **state)
{
    (void)state;
    enum { ROWS = 300, COLS = 200 };
    static int32_t rows[ROWS], cols[ROWS];
    spmvx_context *ctx = test_context(NULL, 1);
    for (int square = 0; square < 2; square++) {
        const int64_t ncols = square ? ROWS : COLS;
        static int64_t degree[2 * ROWS];
        static char there[ROWS][ROWS];
        uint64_t seed = 5;
        triples t = empty_triples(ROWS, ncols, 4000);
        memset(degree, 0, sizeof degree);
        memset(there, 0, sizeof there);
        while (t.nnz < 4000) {
            const int64_t r = (int64_t)(case_random(&seed) % ROWS * (case_random(&seed) % ROWS)) / ROWS,
                          c = (int64_t)(case_random(&seed) % (uint64_t)ncols);
            add(&t, r, c);
            if (there[r][c] || (square && (r == c || there[c][r]))) {
                there[r][c] = 1;
                continue;
            }
            there[r][c] = 1;
            degree[r]++;
            degree[square ? c : ROWS + c]++;
        }
        spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F32);
        assert_ok(ctx, reorder(ctx, A, SPMVX_DEGREE, rows, cols, NULL));
        for (int64_t i = 1; i < ROWS; i++) {
            const int64_t before = degree[rows[i - 1]], own = degree[rows[i]];
            assert_true(before > own || (before == own && rows[i - 1] < rows[i]));
        }
        for (int64_t j = 1; j < ncols && !square; j++)
            assert_true(degree[ROWS + cols[j - 1]] >= degree[ROWS + cols[j]]);
        spmvx_matrix_destroy(A);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

/* Cliques with scattered numbers, each with one edge to the next: members of one stand side by side. And
 * groups of rows that read the same columns, which stand side by side, too. */
static void test_cluster(void **state)
{
    (void)state;
    enum { SIZE = 9, GROUPS = 50, N = SIZE * GROUPS };
    static int32_t name[N], other[N], rows[N], cols[N];
    uint64_t seed = 8;
    spmvx_context *ctx = test_context(NULL, 1);
    for (int square = 0; square < 2; square++) {
        const int64_t wide = square ? SIZE : 5, ncols = wide * GROUPS;
        triples t = empty_triples(N, ncols, N * SIZE + GROUPS);
        shuffle(name, N, &seed);
        shuffle(other, ncols, &seed);
        for (int64_t g = 0; g < GROUPS; g++) {
            for (int64_t i = 0; i < SIZE; i++)
                for (int64_t k = 0; k < wide; k++)
                    add(&t, name[g * SIZE + i], (square ? name : other)[g * wide + k]);
            if (g) add(&t, name[g * SIZE], (square ? name : other)[g * wide - 1]);
        }
        spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64);
        assert_ok(ctx, reorder(ctx, A, SPMVX_CLUSTER, rows, cols, NULL));
        /* who has the edge between two groups may join either */
        static int64_t group[N];
        int64_t together = 0, columns_together = 0;
        for (int64_t i = 0; i < N; i++) group[name[i]] = i / SIZE;
        for (int64_t i = 1; i < N; i++) together += group[rows[i - 1]] == group[rows[i]];
        assert_true(together >= (N - GROUPS) * (square ? 95 : 80) / 100);
        /* one edge is too little for two cliques to join: each is a tree, and trees stand by number */
        int64_t falls = 0, start = rows[0];
        for (int64_t i = 1; i < N && square; i++) {
            if (group[rows[i - 1]] == group[rows[i]]) continue;
            falls += rows[i] < start;
            start = rows[i];
        }
        assert_true(falls <= GROUPS / 5);
        for (int64_t j = 0; j < ncols && !square; j++) group[other[j]] = j / wide;
        for (int64_t j = 1; j < ncols && !square; j++)
            columns_together += group[cols[j - 1]] == group[cols[j]];
        assert_true(square || columns_together >= (ncols - GROUPS) * 8 / 10);
        spmvx_matrix_destroy(A);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

/* A ladder row by row, each point of which joins the next: time in proportion to the square of their number
 * would be noticed. */
static void test_long(void **state)
{
    (void)state;
    enum { HALF = 200000, N = 2 * HALF };
    spmvx_context *ctx = test_context(NULL, 1);
    triples t = empty_triples(N, N, 2 * N);
    int32_t *rows = malloc(N * sizeof *rows);
    for (int64_t i = 0; i < N; i++) {
        if (i + 1 < N && i + 1 != HALF) add(&t, i, i + 1);
        if (i < HALF) add(&t, i, i + HALF);
    }
    spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64);
    for (int m = 0; m < METHODS; m++) {
        assert_ok(ctx, reorder(ctx, A, methods[m], rows, NULL, NULL));
        check_order(rows, N);
    }
    free(rows);
    spmvx_matrix_destroy(A);
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

/* ---- values, arguments, memory ---- */

static void test_updates(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    triples t = case_make(6);
    spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64), *B = NULL, *m = NULL;
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_SELL;
    o.flags = SPMVX_UPDATABLE;
    assert_ok(ctx, reorder(ctx, A, SPMVX_CLUSTER, NULL, NULL, &B));
    spmvx_matrix_destroy(A);
    assert_ok(ctx, spmvx_matrix_arrays(B, &v));
    assert_int_equal(v.format, SPMVX_CSR);
    assert_ok(ctx, spmvx_matrix_convert(ctx, B, &o, &m));
    double *twice = malloc((size_t)v.nnz * 8), *x = malloc((size_t)v.ncols * 8),
           *y = malloc((size_t)v.nrows * 8), *z = malloc((size_t)v.nrows * 8);
    for (int64_t k = 0; k < v.nnz; k++) twice[k] = 2.0 * ((const double *)v.val)[k];
    for (int64_t i = 0; i < v.ncols; i++) x[i] = (double)(i % 5);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 2.0, m, x, 0.0, y));
    assert_ok(ctx, spmvx_matrix_update_values(ctx, m, twice));
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, m, x, 0.0, z));
    assert_memory_equal(y, z, (size_t)v.nrows * 8);
    free(twice);
    free(x);
    free(y);
    free(z);
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(B);
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

static void test_refused(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    triples t = case_make(6);
    spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64), *out = NULL;
    spmvx_reorder_options o = SPMVX_REORDER_OPTIONS_INIT;
    int32_t *rows = malloc((size_t)t.nrows * 4);
    memset(rows, 7, (size_t)t.nrows * 4);
    assert_fails(SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_reorder(ctx, NULL, &o, rows, NULL, &out));
    assert_fails(SPMVX_ERR_ARGUMENT, "nothing is asked for",
                 spmvx_matrix_reorder(ctx, A, &o, NULL, NULL, NULL));
    o.method = (spmvx_reordering)4;
    assert_fails(SPMVX_ERR_ARGUMENT, "options.method is 4",
                 spmvx_matrix_reorder(ctx, A, &o, rows, NULL, &out));
    o.method = (spmvx_reordering)0;
    assert_fails(SPMVX_ERR_ARGUMENT, "options.method is 0",
                 spmvx_matrix_reorder(ctx, A, &o, rows, NULL, &out));
    o.method = SPMVX_RCM;
    o.flags = SPMVX_UPDATABLE;
    assert_fails(SPMVX_ERR_ARGUMENT, "options.flags", spmvx_matrix_reorder(ctx, A, &o, rows, NULL, &out));
    o.flags = 0;
    o.max_bytes = 1000;
    assert_fails(SPMVX_ERR_LIMIT, "options.max_bytes is 1000",
                 spmvx_matrix_reorder(ctx, A, &o, rows, NULL, &out));
    assert_null(out);
    for (int64_t i = 0; i < t.nrows; i++) assert_int_equal(rows[i], 0x07070707);
    o.max_bytes = 1 << 26;
    assert_ok(ctx, spmvx_matrix_reorder(ctx, A, &o, rows, NULL, &out));
    check_order(rows, t.nrows);
    spmvx_matrix_destroy(out);
    assert_ok(ctx, spmvx_matrix_reorder(ctx, A, NULL, rows, NULL, NULL)); /* RCM */
    free(rows);
    spmvx_matrix_destroy(A);
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

/* Each allocation fails in turn: nothing leaks, nothing is written. */
static void test_memory(void **state)
{
    (void)state;
    triples t = case_make(6);
    for (int m = 0; m < METHODS; m++) {
        counter count = { 0 };
        spmvx_context *ctx = test_context(&count, 1);
        spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64);
        int32_t *rows = malloc((size_t)t.nrows * 4);
        spmvx_status s = SPMVX_ERR_MEMORY;
        for (long i = 1; s != SPMVX_OK; i++) {
            spmvx_matrix *out = NULL;
            const long live = count.live;
            memset(rows, 7, (size_t)t.nrows * 4);
            count.fail_at = count.allocations + i;
            s = reorder(ctx, A, methods[m], rows, NULL, &out);
            count.fail_at = 0;
            if (s != SPMVX_OK) {
                assert_int_equal(s, SPMVX_ERR_MEMORY);
                assert_null(out);
                assert_int_equal(count.live, live);
                assert_int_equal(rows[0], 0x07070707);
            } else assert_true(i > 10);
            spmvx_matrix_destroy(out);
        }
        free(rows);
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
        assert_int_equal(count.live, 0);
    }
    triples_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases),    cmocka_unit_test(test_rcm),
                                        cmocka_unit_test(test_reversed), cmocka_unit_test(test_degree),
                                        cmocka_unit_test(test_cluster),  cmocka_unit_test(test_long),
                                        cmocka_unit_test(test_updates),  cmocka_unit_test(test_refused),
                                        cmocka_unit_test(test_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
