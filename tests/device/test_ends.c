/* What ends while others go on: contexts, matrices, buffers and streams, in any order, and that their memory
 * comes back. */
#include <stdlib.h>

#include "device.h"

/* Sources, contexts and streams end in any order. */
static void test_ends_in_any_order(void **state)
{
    (void)state;
    problem p = problem_new();
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    spmvx_context *first = device_context(0, stream, 0), *second = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    assert_ok(first, spmvx_matrix_create(first, &p.csr.arrays, 0, &m));
    spmvx_matrix *vector = convert_by(first, m, "csr-vector", 0, 0, 0),
                 *merge = convert_by(first, m, "csr-merge-path", 0, 0, 0);
    spmvx_matrix_destroy(m);
    void *dx = test_up(first, p.x, (size_t)p.t.ncols * 8), *dy = test_up(first, p.y, (size_t)p.t.nrows * 8);
    /* may still run when its context ends */
    assert_ok(first, spmvx_mul(first, SPMVX_N, 1.0, merge, dx, 0.0, dy));
    spmvx_context_destroy(first);
    spmvx_buffer_free(second, dx);
    spmvx_buffer_free(second, dy);
    assert_cuda(cudaStreamDestroy(stream));
    problem_run(second, &p, vector);
    problem_run(second, &p, merge); /* with workspace that this context did not prepare */
    assert_ok(second, spmvx_context_trim(second));
    problem_run(second, &p, merge);
    spmvx_matrix_destroy(vector);
    spmvx_matrix_destroy(merge);
    spmvx_context_destroy(second);
    problem_free(&p);
}

/* Nothing of the context that a buffer is from is left when another frees it. */
static void test_buffer_outlives_its_context(void **state)
{
    (void)state;
    spmvx_context *first = device_context(0, NULL, 0), *second = device_context(0, NULL, 0);
    void *small = NULL, *large = NULL;
    assert_ok(first, spmvx_buffer_alloc(first, 1000, &small));
    assert_ok(first, spmvx_buffer_alloc(first, 10 << 20, &large));
    spmvx_context_destroy(first);
    spmvx_buffer_free(second, small);
    spmvx_buffer_free(second, large);
    spmvx_context_destroy(second);
}

/* A matrix of some size and its context end, in either order. */
static void end_both(bool context_first)
{
    enum { ROWS = 1 << 21 };
    static int64_t ptr[ROWS + 1];
    static int32_t col[ROWS];
    static double val[ROWS];
    for (int32_t i = 0; i < ROWS; i++) ptr[i] = col[i] = i;
    ptr[ROWS] = ROWS;
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *m = NULL, *A;
    a.format = SPMVX_CSR;
    a.nrows = a.ncols = a.nnz = ROWS;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    a.ptr_type = SPMVX_I64;
    a.idx_type = SPMVX_I32;
    a.val_type = SPMVX_F64;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &m));
    A = convert_by(ctx, m, "sell", 0, 0, 0);
    if (context_first) spmvx_context_destroy(ctx);
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(A);
    if (!context_first) spmvx_context_destroy(ctx);
}

/* Nothing of theirs stays on the device: what is free before and after differs by less than one matrix. */
static void test_memory_comes_back(void **state)
{
    (void)state;
    enum { LESS = 16 << 20 };
    size_t before, after, total;
    if (test_is_emulated()) skip(); /* there the failing calls count what is left */
    end_both(true);                 /* the kernels are on the device from here on */
    assert_cuda(cudaMemGetInfo(&before, &total));
    for (int i = 0; i < 4; i++) {
        end_both(i % 2);
        assert_cuda(cudaMemGetInfo(&after, &total));
        if (after + LESS < before) fail_msg("%zu bytes were free, and then %zu", before, after);
    }
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_in_any_order),
        cmocka_unit_test(test_buffer_outlives_its_context),
        cmocka_unit_test(test_memory_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
