/* Several columns of a matrix with one row of a million entries: a kernel that gives a row a few lanes of one
 * warp would have that row's time for its own, so that all columns are multiplied one by one. Only the choice
 * is looked at. */
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "dispatch/matrix.h" /* the kernel for several columns */

enum { LONG = 1000000, NVEC = 8 };

/* `rows` rows of `others` entries each, but for the one in the middle of `longest`; every value is 1. */
static csr_arrays matrix_of(int64_t rows, int64_t others, int64_t longest)
{
    csr_arrays m = { 0 };
    const int64_t nnz = (rows - 1) * others + longest;
    m.ptr = calloc((size_t)rows + 1, sizeof *m.ptr);
    m.col = malloc((size_t)nnz * sizeof *m.col);
    float *val = malloc((size_t)nnz * sizeof *val);
    for (int64_t r = 0; r < rows; r++) m.ptr[r + 1] = m.ptr[r] + (r == rows / 2 ? longest : others);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = m.ptr[r]; k < m.ptr[r + 1]; k++) m.col[k] = (int32_t)((k - m.ptr[r] + r) % LONG);
    for (int64_t k = 0; k < nnz; k++) val[k] = 1;
    m.val = val;
    m.arrays = (spmvx_arrays)SPMVX_ARRAYS_INIT;
    m.arrays.format = SPMVX_CSR;
    m.arrays.ptr_type = SPMVX_I64;
    m.arrays.idx_type = SPMVX_I32;
    m.arrays.val_type = SPMVX_F32;
    m.arrays.nrows = rows;
    m.arrays.ncols = LONG;
    m.arrays.nnz = nnz;
    m.arrays.ptr = m.ptr;
    m.arrays.col = m.col;
    m.arrays.val = m.val;
    return m;
}

/* Is it a kernel that balances rows of any length? Which of them is the better one goes by the device. */
static bool balances(const char *kernel)
{
    return !strncmp(kernel, "csr-merge-path", 14) || !strncmp(kernel, "csr-adaptive", 12) ||
           !strncmp(kernel, "csr-vector-split", 16) || !strncmp(kernel, "csr-propagation", 15);
}

/* What a conversion for NVEC columns says, and which kernel takes them all (NULL: one by one). `one` is the
 * kernel for one column; NULL: one that balances. */
static const char *multi_kernel(spmvx_context *ctx, const spmvx_matrix *m, const char *kernel,
                                spmvx_format format, const char *one)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *A = NULL;
    o.kernel = kernel;
    o.format = format;
    o.nvec = NVEC;
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
    assert_ok(ctx, spmvx_matrix_get_info(A, &info));
    if (one ? strncmp(info.kernel, one, strlen(one)) != 0 : !balances(info.kernel))
        fail_msg("%s, not %s: %s", info.kernel, one ? one : "one that balances", info.reason);
    assert_non_null(strstr(info.reason, kernel ? "asked for by name" : "a multiplication by all columns"));
    const spx_kernel *multi = A->op[SPMVX_N].multi.kernel;
    spmvx_matrix_destroy(A);
    return multi ? multi->name : NULL;
}

typedef struct matrix {
    int64_t rows, others; /* of these the rest has as many entries each */
} matrix;
/* By their mean length the rows would have 4 or 32 lanes. */
static const matrix matrices[] = { { 100001, 1 }, { 1001, 3 } };
enum { MATRICES = sizeof matrices / sizeof *matrices };

static void choose(spmvx_context *ctx, const char *kernel, const char *one)
{
    for (int i = 0; i < MATRICES; i++) {
        csr_arrays csr = matrix_of(matrices[i].rows, matrices[i].others, LONG);
        spmvx_matrix *m = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &csr.arrays, SPMVX_TRUST, &m));
        const char *multi = multi_kernel(ctx, m, kernel, SPMVX_AUTO, one);
        if (multi)
            fail_msg("%d rows: %s for all columns at once, where %s is asked for", (int)matrices[i].rows,
                     multi, kernel ? kernel : "nothing");
        spmvx_matrix_destroy(m);
        csr_free(&csr);
    }
}

/* TILED and PACKED cut long rows, so that they balance them, too: both are left out. */
static void test_auto(void **state)
{
    setenv("SPMVX_DISABLE", "tiled,packed", 1);
    choose(*state, NULL, NULL);
    unsetenv("SPMVX_DISABLE");
}

/* The kernel that balances rows of any length is asked for. */
static void test_merge_path(void **state)
{
    choose(*state, "csr-merge-path", "csr-merge-path");
}

/* A kernel that gives a row a few lanes is asked for by name: then all columns at once is still the better
 * way, and nothing else is taken. */
static void test_vector(void **state)
{
    spmvx_context *ctx = *state;
    csr_arrays csr = matrix_of(1001, 3, LONG);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &csr.arrays, SPMVX_TRUST, &m));
    const char *multi = multi_kernel(ctx, m, "csr-vector", SPMVX_AUTO, "csr-vector");
    assert_true(multi && !strcmp(multi, "csr-vector"));
    spmvx_matrix_destroy(m);
    csr_free(&csr);
}

/* Short rows: all columns at once, whatever is asked for. */
static void test_short_rows(void **state)
{
    spmvx_context *ctx = *state;
    csr_arrays csr = matrix_of(10001, 8, 8);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &csr.arrays, SPMVX_TRUST, &m));
    assert_string_equal(multi_kernel(ctx, m, NULL, SPMVX_CSR, "csr-"), "csr-vector");
    assert_string_equal(multi_kernel(ctx, m, "csr-merge-path", SPMVX_AUTO, "csr-merge-path"), "csr-vector");
    assert_string_equal(multi_kernel(ctx, m, "csr-vector", SPMVX_AUTO, "csr-vector"), "csr-vector");
    spmvx_matrix_destroy(m);
    csr_free(&csr);
}

static int setup(void **state)
{
    *state = device_context(0, NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    spmvx_context_destroy(*state);
    return 0;
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = { TEST(test_auto), TEST(test_merge_path), TEST(test_vector),
                                        TEST(test_short_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
