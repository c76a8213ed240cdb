/* Multiplications behind each other, each of which reads what the one before has written: kernels begin while
 * the launch before them still runs, and must not see what it has not written yet. What comes without waiting
 * is held against what comes where each is waited for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chosen.h"
#include "device.h"

enum { KERNELS = 64 };
static chosen_kernel kernels[KERNELS];
static int count;

/* x' = A*x/16 + x'/2, in turns: by A, then by B, so many times; in a graph, or waiting for each or not. With
 * new values for A before each of its turns, where there are any. */
typedef struct chain {
    spmvx_context *ctx;
    spmvx_matrix *A;
    const spmvx_matrix *B;
    int64_t n;
    int turns;
    bool waits;
    void *values[2];
} chain;

static void multiply(const chain *c, void *const x[2])
{
    for (int i = 0; i < c->turns; i++) {
        const spmvx_matrix *m = i % 2 ? c->B : c->A;
        if (c->values[0] && i % 2 == 0)
            assert_ok(c->ctx, spmvx_matrix_update_values(c->ctx, c->A, c->values[i / 2 % 2]));
        assert_ok(c->ctx, spmvx_mul(c->ctx, SPMVX_N, 0.0625, m, x[i % 2], 0.5, x[1 - i % 2]));
        if (c->waits) assert_ok(c->ctx, spmvx_context_synchronize(c->ctx));
    }
}

/* The chain's end, from the same beginning; through a graph on the stream, or not (NULL). */
static void run_chain(const chain *c, cudaStream_t stream, double *end)
{
    const size_t bytes = (size_t)c->n * sizeof(double);
    double *first = malloc(bytes);
    for (int64_t i = 0; i < c->n; i++) first[i] = (double)(i * 37 % 101) / 101.0;
    void *x[2] = { test_up(c->ctx, first, bytes), test_up(c->ctx, first, bytes) };
    if (stream) {
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        multiply(c, x);
        assert_cuda(cudaStreamEndCapture(stream, &graph));
        assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
        assert_cuda(cudaGraphLaunch(ready, stream));
        assert_cuda(cudaStreamSynchronize(stream));
        assert_cuda(cudaGraphExecDestroy(ready));
        assert_cuda(cudaGraphDestroy(graph));
    } else {
        multiply(c, x);
    }
    assert_ok(c->ctx, spmvx_buffer_download(c->ctx, end, x[c->turns % 2], bytes));
    for (int i = 0; i < 2; i++) spmvx_buffer_free(c->ctx, x[i]);
    free(first);
}

static void compare(const chain *c, const chosen_kernel *k, const double *want, const double *got)
{
    const size_t bytes = (size_t)c->n * sizeof(double);
    if (k->same_bits && memcmp(want, got, bytes)) fail_msg("%s: other bits without waiting", k->name);
    for (int64_t i = 0; i < c->n; i++)
        if (!(fabs(want[i] - got[i]) <= 1e-9 * (1.0 + fabs(want[i]))))
            fail_msg("%s: element %d is %g, and %g when waited for", k->name, (int)i, got[i], want[i]);
}

static void check_chain(chain c, const chosen_kernel *k, cudaStream_t stream)
{
    double *want = malloc((size_t)c.n * sizeof *want), *got = malloc((size_t)c.n * sizeof *got);
    c.waits = true;
    run_chain(&c, NULL, want);
    c.waits = false;
    for (int again = 0; again < 2; again++) {
        run_chain(&c, NULL, got);
        compare(&c, k, want, got);
        run_chain(&c, stream, got);
        compare(&c, k, want, got);
    }
    free(want);
    free(got);
}

/* Each kernel before and behind csr-vector; with values that stay, and with new ones. */
static void test_chains(void **state)
{
    (void)state;
    enum { MOST = 1500 };
    static int lengths[MOST];
    const int n = test_is_emulated() ? 300 : MOST; /* problem_of_rows has 800 columns */
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    spmvx_context *ctx = device_context(0, stream, 0);
    for (int r = 0; r < n; r++) lengths[r] = r % 100 == 7 ? 900 : 1 + r % 13;
    problem p = problem_of_rows(n, lengths);
    if (n < p.t.ncols)
        for (int64_t i = 0; i < p.t.nnz; i++) ((int32_t *)(uintptr_t)p.csr.arrays.col)[i] %= n;
    p.csr.arrays.ncols = n;
    const size_t bytes = (size_t)p.t.nnz * sizeof(double);
    double *other = malloc(bytes);
    for (int64_t i = 0; i < p.t.nnz; i++) other[i] = -0.5 * ((const double *)p.csr.arrays.val)[i];
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    spmvx_matrix *B = convert_by(ctx, m, "csr-vector", 0, 0, 0);
    void *values[2] = { test_up(ctx, p.csr.arrays.val, bytes), test_up(ctx, other, bytes) };
    for (int k = 0; k < count; k++)
        for (int updated = 0; updated < 2; updated++) {
            const uint32_t flags = updated ? SPMVX_UPDATABLE : 0;
            chain c = { .ctx = ctx, .B = B, .n = n, .turns = test_is_emulated() ? 5 : 41 };
            c.A = convert_by(ctx, m, kernels[k].name, 0, flags, 0);
            if (updated) memcpy(c.values, values, sizeof values);
            check_chain(c, &kernels[k], stream);
            spmvx_matrix_destroy(c.A);
        }
    for (int i = 0; i < 2; i++) spmvx_buffer_free(ctx, values[i]);
    spmvx_matrix_destroy(B);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    assert_cuda(cudaStreamDestroy(stream));
    free(other);
    problem_free(&p);
}

static int run(const char *only)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_chains) };
    count = choose_kernels(only, kernels, KERNELS);
    return count ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

int main(int argc, char **argv)
{
    return run_for_kernels(argc, argv, run);
}
