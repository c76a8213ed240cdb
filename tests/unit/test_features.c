/* The host's statistics pass: sectors of x that windows of 32 rows touch, over their entries; and what row
 * pointers tell, by groups of rows and threads. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>

#include "dispatch/features.h"
#include "dispatch/matrix.h"

/* Of CSR with `each` entries a row, `stride` columns apart, a row `shift` columns behind the one before. */
static double sectors(int64_t rows, int64_t each, int64_t stride, int64_t shift, spmvx_type type)
{
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    int64_t *ptr = malloc((size_t)(rows + 1) * sizeof *ptr);
    int32_t *col = malloc((size_t)(rows * each + 1) * sizeof *col);
    double *val = calloc((size_t)(rows * each + 1), sizeof *val);
    assert_true(ptr && col && val);
    for (int64_t r = 0; r <= rows; r++) ptr[r] = r * each;
    for (int64_t k = 0; k < rows * each; k++) col[k] = (int32_t)(k / each * shift + k % each * stride);
    a.format = SPMVX_CSR;
    a.nrows = rows;
    a.ncols = rows * shift + each * stride + 1;
    a.nnz = rows * each;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    a.ptr_type = SPMVX_I64;
    a.val_type = type;
    spmvx_matrix *A = NULL;
    spx_features f;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &A));
    assert_ok(ctx, spx_features_of(ctx, &A->op[SPMVX_N].A, 1, NULL, &f));
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    free(ptr);
    free(col);
    free(val);
    return f.sectors_per_entry;
}

static void test_sectors(void **state)
{
    (void)state;
    /* 32 rows of 8 neighbours share 2 sectors of 4 doubles, or 1 of 8 floats */
    assert_true(sectors(32, 8, 1, 0, SPMVX_F64) == 2.0 / 256);
    assert_true(sectors(32, 8, 1, 0, SPMVX_F32) == 1.0 / 256);
    /* every entry has a sector of its own */
    assert_true(sectors(32, 8, 4, 32, SPMVX_F64) == 1.0);
    /* windows do not overlap: 33 rows are two of them, 10,000 rows 33, the last of 16 rows */
    assert_true(sectors(33, 4, 1, 0, SPMVX_F64) == 2.0 / (33 * 4));
    assert_true(sectors(10000, 4, 1, 0, SPMVX_F64) == 33.0 / (32 * 128 + 64));
    /* a window ends at 1024 entries: 16 rows of 64, which share 16 sectors */
    assert_true(sectors(32, 64, 1, 0, SPMVX_F64) == 16.0 / 1024);
    /* of a long row the first 1024 entries */
    assert_true(sectors(1, 5000, 1, 0, SPMVX_F64) == 256.0 / 1024);
    assert_true(sectors(0, 0, 1, 0, SPMVX_F64) == 0.0);
    assert_true(sectors(5, 0, 1, 0, SPMVX_F64) == 0.0);
}

/* Rows of 0 to 5 entries, and a few about as long as the limits of long rows. */
static void check_rows(int64_t rows, int threads, uint64_t seed)
{
    enum { MOST = (SPX_SHORT_ROW << (SPX_LONG_LIMITS - 1)) + 3 };
    const int64_t ncols = 100000;
    int64_t *ptr = calloc((size_t)rows + 1, sizeof *ptr), longest = 0, empty = 0, spanned = 0,
            long_rows[SPX_LONG_LIMITS] = { 0 };
    int32_t *col = malloc((size_t)(rows * MOST + 1) * sizeof *col);
    double *val = calloc((size_t)(rows * MOST + 1), sizeof *val), squares = 0, span = 0;
    assert_true(ptr && col && val);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t n =
            (int64_t)(case_random(&seed) % 6) +
            (case_random(&seed) % 40 ? 0 : (SPX_SHORT_ROW << case_random(&seed) % SPX_LONG_LIMITS) - 3);
        int32_t at = (int32_t)(case_random(&seed) % 1000);
        ptr[r + 1] = ptr[r] + n;
        for (int64_t k = ptr[r]; k < ptr[r + 1]; k++) col[k] = at += 1 + (int32_t)(case_random(&seed) % 900);
        longest = n > longest ? n : longest;
        empty += n == 0;
        for (int i = 0; i < SPX_LONG_LIMITS; i++) long_rows[i] += n > SPX_SHORT_ROW << i;
        squares += (double)(n * n);
        if (!n || (rows >= SPX_SPAN_ROWS && r / 32 % SPX_SPAN_APART)) continue;
        span += (double)(col[ptr[r + 1] - 1] - col[ptr[r]]);
        spanned++;
    }
    const double mean = (double)ptr[rows] / (double)rows,
                 deviation = sqrt(squares / (double)rows - mean * mean);
    spmvx_context *ctx = test_context(NULL, threads);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *A = NULL;
    spx_features f;
    a.nrows = rows, a.ncols = ncols, a.nnz = ptr[rows];
    a.ptr = ptr, a.col = col, a.val = val;
    a.ptr_type = SPMVX_I64;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &A));
    assert_ok(ctx, spx_features_of(ctx, &A->op[SPMVX_N].A, 1, NULL, &f));
    if (f.longest != longest || f.empty != empty || memcmp(f.long_rows, long_rows, sizeof long_rows) ||
        fabs(f.deviation - deviation) > 1e-9 || fabs(f.span * (double)spanned - span) > 1e-3)
        fail_msg(
            "%lld rows, %d threads: longest %lld, not %lld; empty %lld, %lld; long %lld %lld %lld, %lld %lld "
            "%lld; deviation %g, %g; span %g, %g",
            (long long)rows, threads, (long long)f.longest, (long long)longest, (long long)f.empty,
            (long long)empty, (long long)f.long_rows[0], (long long)f.long_rows[1], (long long)f.long_rows[2],
            (long long)long_rows[0], (long long)long_rows[1], (long long)long_rows[2], f.deviation, deviation,
            f.span * (double)spanned, span);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    free(ptr);
    free(col);
    free(val);
}

static void test_rows(void **state)
{
    (void)state;
    static const int64_t rows[] = { 1, 31, 32, 33, 63, 64, 65, 1000, SPX_SPAN_ROWS - 1, 70001, 500003 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int threads = 1; threads < 4; threads++) check_rows(rows[i], threads, i + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sectors), cmocka_unit_test(test_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
