/* Which diagonals DIA has, found by several threads, each in rows of its own: all of them, whoever has found
 * them, and however many there are. */
#include <stdlib.h>

#include "cases.h"

enum { ROWS = 300, ENTRIES = 10000 }; /* entries that are worth several threads */

/* `count` diagonals with even offsets, the d-th in some rows next to each other that depend on d, and, if
 * `first`, in the first row, too. */
static csr_arrays with(int32_t count, bool first)
{
    const int32_t each = ENTRIES / count + 1;
    const size_t most = (size_t)count * (size_t)(each + 1);
    triples t = { .nrows = ROWS,
                  .ncols = 2 * count + ROWS,
                  .row = malloc(most * sizeof *t.row),
                  .col = malloc(most * sizeof *t.col),
                  .val = malloc(most * sizeof *t.val) };
    uint64_t seed = 3;
    assert_true(t.row && t.col && t.val);
    for (int32_t d = 0; d < count; d++)
        for (int32_t k = first ? -1 : 0; k < each; k++) {
            const int32_t row = k < 0 ? 0 : (int32_t)(((int64_t)d * ROWS / count + k) % ROWS);
            if (first && k >= 0 && !row) continue;
            t.row[t.nnz] = row;
            t.col[t.nnz] = row + 2 * d;
            t.val[t.nnz++] = case_value(&seed);
        }
    csr_arrays c = case_csr(&t, SPMVX_F64);
    triples_free(&t);
    return c;
}

static void check(int32_t count, bool first, int32_t threads)
{
    spmvx_context *ctx = test_context(NULL, threads);
    csr_arrays c = with(count, first);
    assert_true(c.arrays.nnz >= ENTRIES);
    spmvx_matrix *A = NULL, *dia = NULL, *back = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_arrays b = SPMVX_ARRAYS_INIT;
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
    o.format = SPMVX_DIA;
    o.max_bytes = (size_t)1 << 30;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &dia));
    assert_ok(ctx, spmvx_matrix_get_info(dia, &i));
    assert_int_equal(i.stored, (int64_t)count * ROWS);
    assert_int_equal(i.nnz, c.arrays.nnz);
    o.format = SPMVX_CSR;
    assert_ok(ctx, spmvx_matrix_convert(ctx, dia, &o, &back));
    assert_ok(ctx, spmvx_matrix_arrays(back, &b));
    assert_memory_equal(b.col, c.arrays.col, (size_t)c.arrays.nnz * sizeof(int32_t));
    assert_memory_equal(b.val, c.arrays.val, (size_t)c.arrays.nnz * sizeof(double));
    spmvx_matrix_destroy(back);
    spmvx_matrix_destroy(dia);
    spmvx_matrix_destroy(A);
    csr_free(&c);
    spmvx_context_destroy(ctx);
}

static void test_all_are_found(void **state)
{
    (void)state;
    /* up to 256 are found in a thread's own rows; each of four threads has less of 600, and more of 3000 */
    static const int32_t counts[] = { 40, 255, 256, 257, 600, 3000, 6000 };
    for (int32_t threads = 1; threads <= 4; threads++)
        for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
            for (int first = 0; first < 2; first++) check(counts[n], first, threads);
}

/* Each request for memory is refused in turn: nothing is left behind, and the last attempt passes. */
static void test_memory_that_fails(void **state)
{
    (void)state;
    static const int32_t counts[] = { 40, 3000 };
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        counter count = { 0 };
        spmvx_context *ctx = test_context(&count, 4);
        csr_arrays c = with(counts[n], false);
        spmvx_matrix *A = NULL, *dia = NULL;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.format = SPMVX_DIA;
        o.max_bytes = (size_t)1 << 30;
        assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
        const long before = count.live;
        spmvx_status s = SPMVX_ERR_MEMORY;
        for (long ahead = 1; s != SPMVX_OK; ahead++) {
            count.fail_at = count.allocations + ahead;
            s = spmvx_matrix_convert(ctx, A, &o, &dia);
            assert_true(s == SPMVX_OK || s == SPMVX_ERR_MEMORY);
            if (s == SPMVX_OK)
                assert_true(ahead > 6); /* the sets of four threads, theirs, and the one of all */
            else assert_true(count.live == before && !dia);
        }
        count.fail_at = 0;
        spmvx_matrix_destroy(dia);
        spmvx_matrix_destroy(A);
        csr_free(&c);
        spmvx_context_destroy(ctx);
        assert_true(count.live == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_are_found),
                                        cmocka_unit_test(test_memory_that_fails) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
