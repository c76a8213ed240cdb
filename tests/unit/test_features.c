/* The host's statistics pass: sectors of x that windows of 32 rows touch, over their entries. */
#include "support.h"

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
    assert_ok(ctx, spx_features_of(ctx, &A->op[SPMVX_N].A, 1, &f));
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sectors) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
