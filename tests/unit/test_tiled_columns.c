/* Columns of TILED in 16 bits and by how far each is above the one before: the way back is exact, sums have
 * the same bits, whatever the columns are, and a place takes what is good for it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

enum { RISE = 2048, NCOLS = 60000, LONGEST = 900 };

/* The next column of a row of this kind behind `col`, its k-th; or -1: the row ends. */
static int64_t next_column(int kind, int64_t col, int64_t k, uint64_t *seed)
{
    const int64_t some = (int64_t)(case_random(seed) % 3);
    switch (kind) {
    case 0: return k < 29 ? col + RISE - 1 : -1;               /* as far as it goes */
    case 1: return k < 29 ? col + RISE : -1;                   /* too far */
    case 2: return k < 28 ? col + RISE - some : -1;            /* either */
    case 3: return k < 700 ? (k % 2 ? col - 5 : col + 9) : -1; /* down and up: groups of two */
    case 4: return k < 300 ? col - 1 : -1;                     /* down: a piece of as many groups as can be */
    case 5: return k < 20 ? col : -1;                          /* one column again and again */
    case 6: return k < LONGEST ? col + 1 + some : -1;          /* in pieces */
    case 7: return k < 1 ? NCOLS - 1 : -1;                     /* the last one */
    case 8: return k < 600 ? col + (k % 50 ? some : RISE) : -1;  /* pieces of other numbers of groups */
    case 9: return k < 8 ? col + RISE - 1 - (k % 2) * 1024 : -1; /* all bits, in turns */
    default: return -1;                                          /* empty */
    }
}

static csr_arrays rows_of(const int *kinds, int count, int32_t rows, spmvx_type type)
{
    const size_t most = (size_t)rows * LONGEST;
    triples t = { .nrows = rows,
                  .ncols = NCOLS,
                  .row = malloc(most * sizeof *t.row),
                  .col = malloc(most * sizeof *t.col),
                  .val = malloc(most * sizeof *t.val) };
    uint64_t seed = 5;
    for (int32_t r = 0; r < rows; r++) {
        const int kind = kinds[r % count];
        int64_t col = kind == 3 || kind == 4 ? 1000 + r : r % 7;
        for (int64_t k = 0; (col = next_column(kind, col, k, &seed)) >= 0; k++) {
            t.row[t.nnz] = r;
            t.col[t.nnz] = (int32_t)col;
            t.val[t.nnz++] = case_value(&seed);
        }
    }
    csr_arrays c = case_csr(&t, type);
    triples_free(&t);
    return c;
}

static spmvx_status convert(spmvx_context *ctx, const spmvx_matrix *A, const char *kernel, spmvx_matrix **out)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_TILED;
    o.kernel = kernel;
    return spmvx_matrix_convert(ctx, A, &o, out);
}

static bool has_delta(const spmvx_matrix *m)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(NULL, spmvx_matrix_get_info(m, &i));
    const bool delta = strstr(i.kernel, "columns=delta") != NULL;
    assert_true(delta || strstr(i.kernel, "columns=u16"));
    return delta;
}

/* x is NaN where no row has a column, which padding must not meet. */
static void multiply(spmvx_context *ctx, const spmvx_matrix *m, const csr_arrays *c, void *y)
{
    const spmvx_type type = c->arrays.val_type;
    void *x = malloc(NCOLS * 8);
    uint64_t seed = 7;
    for (int64_t i = 0; i < NCOLS; i++) value_put(x, type, i, NAN);
    for (int64_t k = 0; k < c->arrays.nnz; k++) value_put(x, type, c->col[k], case_value(&seed));
    assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.5, m, x, 0.0, y, c->arrays.nrows, NCOLS, value_bytes(type)));
    free(x);
}

static void check_widths(spmvx_context *ctx, const csr_arrays *c)
{
    const char *const shapes[] = { "width=64", "width=5000",
                                   test_place() == SPMVX_HOST ? "width=65535" : "width=28672" };
    const bool device = test_place() != SPMVX_HOST;
    const size_t bytes = (size_t)c->arrays.nrows * 8;
    void *y = calloc(1, bytes), *z = calloc(1, bytes);
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &c->arrays, 0, &A));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        spmvx_matrix *of[2] = { NULL };
        char name[96];
        for (int delta = 0; delta < 2; delta++) {
            snprintf(name, sizeof name, "tiled:%s,columns=%s%s", shapes[i], delta ? "delta" : "u16",
                     device ? ",lanes=2,parts=1" : "");
            assert_ok(ctx, convert(ctx, A, name, &of[delta]));
            assert_int_equal(has_delta(of[delta]), delta);
            case_way_back(of[delta], c);
        }
        multiply(ctx, of[0], c, y);
        multiply(ctx, of[1], c, z);
        assert_memory_equal(y, z, (size_t)c->arrays.nrows * value_bytes(c->arrays.val_type));
        if (device) { /* a piece by parts has other sums */
            spmvx_matrix *m = NULL;
            snprintf(name, sizeof name, "tiled:%s,columns=delta,parts=3", shapes[i]);
            assert_ok(ctx, convert(ctx, A, name, &m));
            multiply(ctx, m, c, z);
            for (int64_t r = 0; r < c->arrays.nrows; r++)
                if (!(fabs(value_at(y, c->arrays.val_type, r) - value_at(z, c->arrays.val_type, r)) < 1e-3))
                    fail_msg("%s: row %lld", name, (long long)r);
            spmvx_matrix_destroy(m);
        }
        spmvx_matrix_destroy(of[0]);
        spmvx_matrix_destroy(of[1]);
    }
    spmvx_matrix_destroy(A);
    free(y);
    free(z);
}

static void test_kinds(void **state)
{
    (void)state;
    static const int kinds[][11] = {
        { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, { 3, 4, 6 }, { 0 }, { 1 }, { 10 }
    };
    static const int counts[] = { 11, 3, 1, 1, 1 };
    spmvx_context *ctx = test_context(NULL, 2);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
            csr_arrays c = rows_of(kinds[i], counts[i], i ? 40 : 90, type);
            check_widths(ctx, &c);
            csr_free(&c);
        }
    spmvx_context_destroy(ctx);
}

/* On a GPU long rows of columns near each other take fewer bytes by these, short ones of columns far apart do
 * not, and how values are stored has no part in it; the host reads 16 bits faster. */
static void test_choice(void **state)
{
    (void)state;
    static const char *const values[] = { "", "values=raw", "values=f32", "values=one" };
    spmvx_context *ctx = test_context(NULL, 1);
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            csr_arrays c = rows_of(&(int){ kind ? 1 : 6 }, 1, 40, SPMVX_F64);
            spmvx_matrix *A = NULL, *m = NULL;
            char name[64];
            for (int64_t k = 0; k < c.arrays.nnz; k++) value_put(c.val, SPMVX_F64, k, 2.0);
            assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
            snprintf(name, sizeof name, "tiled:width=28672%s%s", *values[i] ? "," : "", values[i]);
            assert_ok(ctx, convert(ctx, A, name, &m));
            assert_int_equal(has_delta(m), !kind && test_place() != SPMVX_HOST);
            spmvx_matrix_destroy(m);
            spmvx_matrix_destroy(A);
            csr_free(&c);
        }
    spmvx_context_destroy(ctx);
}

/* On a GPU tiles are made where it is asked how their columns are stored, though the hot ones of all columns
 * would be held otherwise. */
static void test_asked(void **state)
{
    (void)state;
    enum { ROWS = 1 << 17, EACH = 16, MANY = 3000000, HOT = 16000 };
    if (test_place() == SPMVX_HOST) skip();
    triples t = { .nrows = ROWS,
                  .ncols = MANY,
                  .nnz = ROWS * EACH,
                  .row = malloc(ROWS * EACH * sizeof *t.row),
                  .col = malloc(ROWS * EACH * sizeof *t.col),
                  .val = calloc(ROWS * EACH, sizeof *t.val) };
    uint64_t seed = 3;
    for (int32_t k = 0; k < ROWS * EACH; k++) {
        const uint64_t some = case_random(&seed);
        t.row[k] = k / EACH;
        t.col[k] = some % 16 ? (int32_t)(some / 16 % HOT * (MANY / HOT)) : (int32_t)(some / 16 % MANY);
    }
    csr_arrays c = case_csr(&t, SPMVX_F32);
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL, *any = NULL, *tiles = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
    assert_ok(ctx, convert(ctx, A, "tiled:values=raw", &any));
    assert_ok(ctx, spmvx_matrix_get_info(any, &i));
    assert_non_null(strstr(i.kernel, "hot="));
    assert_non_null(strstr(i.kernel, "cluster=2")); /* which hold more of them than a block alone */
    assert_ok(ctx, convert(ctx, A, "tiled:columns=delta,values=raw", &tiles));
    assert_true(has_delta(tiles));
    spmvx_matrix_destroy(tiles);
    spmvx_matrix_destroy(any);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    csr_free(&c);
    triples_free(&t);
}

static void test_refused(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    csr_arrays c = rows_of(&(int){ 6 }, 1, 3, SPMVX_F64);
    spmvx_matrix *A = NULL, *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
    assert_fails(SPMVX_ERR_ARGUMENT, "columns=delta or holds hot=3",
                 convert(ctx, A, "tiled:hot=3,columns=delta", &m));
    assert_null(m);
    spmvx_matrix_destroy(A);
    csr_free(&c);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    if (!test_place_answers()) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kinds), cmocka_unit_test(test_choice),
                                        cmocka_unit_test(test_asked), cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
