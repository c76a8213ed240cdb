/* On the emulator: releases that the runtime refuses, as during a capture that bears none. What could not
 * be freed is kept and freed later, whatever the order in which its owners end. */
#include <stdlib.h>

#include "device.h"
#include "simt.h"

enum { BUFFERS = 150 }; /* more than the list of what is kept holds at first */

typedef struct scene {
    spmvx_context *ctx;
    spmvx_matrix *m, *sell;
    void *buffer;
} scene;

/* Few rows: it is made for each of many calls. */
static problem little(void)
{
    return problem_of_rows(8, (const int[]){ 3, 0, 5, 1, 40, 2, 3, 3 });
}

static scene scene_new(const problem *p)
{
    scene s = { .ctx = device_context(0, NULL, 0) };
    assert_ok(s.ctx, spmvx_matrix_create(s.ctx, &p->csr.arrays, 0, &s.m));
    s.sell = convert_by(s.ctx, s.m, "sell", SPMVX_OPS_N | SPMVX_OPS_T, 0, 0);
    assert_ok(s.ctx, spmvx_context_trim(s.ctx));
    assert_ok(s.ctx, spmvx_buffer_alloc(s.ctx, 1000, &s.buffer));
    return s;
}

static void assert_nothing_left(const char *when, simt_live before)
{
    const simt_live now = simt_live_now();
    if (now.allocations != before.allocations || now.bytes != before.bytes)
        fail_msg("%s: %zu bytes in %zu allocations, %zu in %zu before", when, now.bytes, now.allocations,
                 before.bytes, before.allocations);
    if (now.pools != before.pools || now.streams != before.streams)
        fail_msg("%s: %zu pools and %zu streams are left", when, now.pools, now.streams);
}

/* The n-th call, or each from it on, is refused while matrices and a buffer end. Later calls are not. */
static void test_later_calls_free(void **state)
{
    (void)state;
    problem p = little();
    for (int each = 0; each < 2; each++) {
        int kept = 0;
        for (long n = 1, done = 0; !done; n++) {
            const simt_live before = simt_live_now();
            scene s = scene_new(&p);
            const size_t held = simt_live_now().allocations;
            simt_fail_call(n, cudaErrorStreamCaptureUnsupported, each);
            spmvx_matrix_destroy(s.m);
            spmvx_matrix_destroy(s.sell);
            spmvx_buffer_free(s.ctx, s.buffer);
            done = simt_calls() < n;
            simt_fail_call(0, cudaSuccess, 0);
            assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
            kept += each && n == 1 && simt_live_now().allocations == held;
            void *buffer = NULL;
            assert_ok(s.ctx, spmvx_buffer_alloc(s.ctx, 8, &buffer));
            /* that block; and the context's: its reserve, and pinned memory */
            assert_int_equal(simt_live_now().allocations, before.allocations + 3);
            spmvx_buffer_free(s.ctx, buffer);
            spmvx_context_destroy(s.ctx);
            assert_nothing_left("after the context", before);
        }
        assert_int_equal(kept, each);
    }
    problem_free(&p);
}

/* Nothing is asked of the context any more: its end frees, or that of the last matrix. */
static void test_owners_end(void **state)
{
    (void)state;
    problem p = little();
    for (int context_first = 0; context_first < 2; context_first++) {
        const simt_live before = simt_live_now();
        scene s = scene_new(&p);
        simt_fail_call(1, cudaErrorStreamCaptureUnsupported, 1);
        spmvx_buffer_free(s.ctx, s.buffer);
        spmvx_matrix_destroy(s.m);
        simt_fail_call(0, cudaSuccess, 0);
        if (context_first) spmvx_context_destroy(s.ctx);
        spmvx_matrix_destroy(s.sell);
        if (!context_first) spmvx_context_destroy(s.ctx);
        assert_nothing_left("after the owners", before);
    }
    problem_free(&p);
}

/* The last owner ends while its first calls are refused: it waits for the device all the same. */
static void test_last_owner_refused(void **state)
{
    (void)state;
    problem p = little();
    for (long n = 1, done = 0; !done; n++) {
        const simt_live before = simt_live_now();
        scene s = scene_new(&p);
        simt_fail_call(1, cudaErrorStreamCaptureUnsupported, 1);
        spmvx_buffer_free(s.ctx, s.buffer);
        spmvx_matrix_destroy(s.m);
        simt_fail_call(0, cudaSuccess, 0);
        spmvx_context_destroy(s.ctx);
        simt_fail_call(n, cudaErrorStreamCaptureUnsupported, 0);
        spmvx_matrix_destroy(s.sell);
        done = simt_calls() < n;
        simt_fail_call(0, cudaSuccess, 0);
        /* the context's reserve, if its own release was the call that was refused */
        const simt_live after = simt_live_now();
        if (after.allocations > before.allocations + 1)
            fail_msg("call %ld: %zu allocations, %zu before", n, after.allocations, before.allocations);
    }
    problem_free(&p);
}

/* Many blocks, and no memory on the host for a longer list. */
static void test_long_list(void **state)
{
    (void)state;
    for (long fail_at = 0; fail_at < 2; fail_at++) {
        const simt_live before = simt_live_now();
        counter c = { 0 };
        spmvx_context *ctx = test_context(&c, 1);
        void *buffers[BUFFERS];
        for (int i = 0; i < BUFFERS; i++) assert_ok(ctx, spmvx_buffer_alloc(ctx, 100, &buffers[i]));
        c.fail_at = fail_at ? c.allocations + 1 : 0;
        simt_fail_call(1, cudaErrorStreamCaptureUnsupported, fail_at ? 0 : 1);
        for (int i = 0; i < BUFFERS; i++) {
            if (fail_at) simt_fail_call(1, cudaErrorStreamCaptureUnsupported, 0);
            spmvx_buffer_free(ctx, buffers[i]);
        }
        simt_fail_call(0, cudaSuccess, 0);
        if (!fail_at) assert_true(simt_live_now().allocations >= before.allocations + BUFFERS);
        spmvx_context_destroy(ctx);
        assert_nothing_left("after many", before);
        assert_int_equal(c.live, 0);
    }
}

/* Without memory on the device the wait has its reserve. */
static void test_full_device(void **state)
{
    (void)state;
    const simt_live before = simt_live_now();
    spmvx_context *ctx = device_context(0, NULL, 0);
    void *buffers[2], *rest = NULL;
    for (int i = 0; i < 2; i++) assert_ok(ctx, spmvx_buffer_alloc(ctx, 1000, &buffers[i]));
    size_t free_bytes = 0, total = 0;
    assert_cuda(cudaMemGetInfo(&free_bytes, &total));
    assert_cuda(cudaMalloc(&rest, free_bytes));
    for (int i = 0; i < 2; i++) {
        const size_t held = simt_live_now().bytes;
        spmvx_buffer_free(ctx, buffers[i]);
        assert_int_equal(simt_live_now().bytes, held - 1000);
    }
    assert_cuda(cudaFree(rest));
    spmvx_context_destroy(ctx);
    assert_nothing_left("after a full device", before);
}

static void make_and_destroy(spmvx_context *ctx, int64_t nnz, const int32_t *col, const double *val)
{
    const int32_t ptr[] = { 0, (int32_t)nnz };
    const spmvx_arrays row = { .size = sizeof row,
                               .format = SPMVX_CSR,
                               .nrows = 1,
                               .ncols = nnz,
                               .nnz = nnz,
                               .ptr_type = SPMVX_I32,
                               .idx_type = SPMVX_I32,
                               .val_type = SPMVX_F64,
                               .ptr = ptr,
                               .col = col,
                               .val = val };
    spmvx_matrix *m;
    assert_ok(ctx, spmvx_matrix_create(ctx, &row, 0, &m));
    spmvx_matrix_destroy(m);
}

/* Memory that is given back and mapped again is kept from then on, up to a 16th of the device's, until the
 * context is trimmed. */
static void test_kept_memory(void **state)
{
    (void)state;
    /* 112 MiB of values, 56 of columns; 4 MiB for small pieces */
    enum { ENTRIES = 14 << 20, LEAST = 68 << 20, MOST = 132 << 20 };
    simt_machine(2, 2, (size_t)2 << 30);
    int32_t *col = malloc(ENTRIES * sizeof *col);
    double *val = calloc(ENTRIES, sizeof *val);
    assert_true(col && val);
    for (int32_t i = 0; i < ENTRIES; i++) col[i] = i;
    spmvx_context *ctx = device_context(0, NULL, 0);
    const size_t before = simt_live_now().held;
    make_and_destroy(ctx, ENTRIES, col, val);
    assert_in_range(simt_live_now().held - before, 1, LEAST);
    for (int i = 0; i < 2; i++) {
        make_and_destroy(ctx, ENTRIES, col, val);
        assert_in_range(simt_live_now().held - before, LEAST + 1, MOST);
    }
    assert_ok(ctx, spmvx_context_trim(ctx));
    assert_true(simt_live_now().held <= before);
    make_and_destroy(ctx, ENTRIES, col, val);
    assert_in_range(simt_live_now().held, 1, LEAST);
    spmvx_context_destroy(ctx);
    simt_machine(2, 2, (size_t)1 << 30);
    free(col);
    free(val);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later_calls_free),   cmocka_unit_test(test_owners_end),
        cmocka_unit_test(test_last_owner_refused), cmocka_unit_test(test_long_list),
        cmocka_unit_test(test_full_device),        cmocka_unit_test(test_kept_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
