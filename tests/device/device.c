/* Shared by the tests of a device. */
#include "device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void slow_memory(spmvx_context *ctx)
{
    static const char text[] = "spmvx-wisdom 1\ndevice memory=1 more=0 cache=40000 near=1000 mid=1000 "
                               "cached=1000 compute=1000 far=1000\n";
    assert_ok(ctx, spmvx_wisdom_import(ctx, text, sizeof text - 1));
}

spmvx_context *device_context(int32_t device, void *stream, uint32_t flags)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.place = SPMVX_CUDA;
    o.device = device;
    o.stream = stream;
    o.flags = flags;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    return ctx;
}

int device_count(void)
{
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0; /* an error where there is no driver */
}

problem problem_new(void)
{
    return problem_of(test_is_emulated() ? 1500 : 6000); /* the emulator takes long */
}

problem problem_of_triples(triples t, uint64_t seed)
{
    problem p = { .t = t };
    p.csr = case_csr(&p.t, SPMVX_F64);
    p.x = malloc((size_t)t.ncols * sizeof *p.x);
    p.y = calloc((size_t)t.nrows, sizeof *p.y);
    p.want = calloc((size_t)t.nrows, sizeof *p.want);
    for (int64_t i = 0; i < t.ncols; i++) p.x[i] = case_value(&seed);
    for (int64_t k = 0; k < p.t.nnz; k++) p.want[p.t.row[k]] += p.t.val[k] * p.x[p.t.col[k]];
    return p;
}

problem problem_of_rows(int rows, const int *lengths)
{
    enum { COLS = 800 };
    size_t nnz = 0;
    for (int r = 0; r < rows; r++) nnz += (size_t)lengths[r];
    triples t = { .name = "problem", .nrows = rows, .ncols = COLS };
    uint64_t seed = 5;
    t.row = malloc(nnz * sizeof *t.row);
    t.col = malloc(nnz * sizeof *t.col);
    t.val = malloc(nnz * sizeof *t.val);
    for (int32_t r = 0; r < rows; r++)
        for (int n = lengths[r]; n > 0; n--) {
            t.row[t.nnz] = r;
            t.col[t.nnz] = (int32_t)(case_random(&seed) % COLS);
            t.val[t.nnz++] = case_value(&seed);
        }
    return problem_of_triples(t, seed);
}

problem problem_of(int longest)
{
    enum { ROWS = 700, LONG = 333 };
    int lengths[ROWS];
    uint64_t seed = 7;
    for (int r = 0; r < ROWS; r++) lengths[r] = r == LONG ? longest : (int)(case_random(&seed) % 9);
    return problem_of_rows(ROWS, lengths);
}

void problem_free(problem *p)
{
    triples_free(&p->t);
    csr_free(&p->csr);
    free(p->x);
    free(p->y);
    free(p->want);
}

void problem_check(const problem *p, const double *y)
{
    for (int64_t r = 0; r < p->t.nrows; r++)
        if (!(fabs(y[r] - p->want[r]) < 1e-9)) fail_msg("row %d is %g, not %g", (int)r, y[r], p->want[r]);
}

void problem_run(spmvx_context *ctx, const problem *p, const spmvx_matrix *A)
{
    double *y = malloc((size_t)p->t.nrows * sizeof *y);
    for (int64_t r = 0; r < p->t.nrows; r++) y[r] = NAN;
    void *dx = test_up(ctx, p->x, (size_t)p->t.ncols * 8), *dy = test_up(ctx, y, (size_t)p->t.nrows * 8);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
    assert_ok(ctx, spmvx_buffer_download(ctx, y, dy, (size_t)p->t.nrows * 8));
    problem_check(p, y);
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    free(y);
}

void problem_check_scaled(spmvx_context *ctx, const problem *p, const spmvx_matrix *A, const char *kernel)
{
    const size_t ny = (size_t)p->t.nrows * sizeof(double);
    double *y = malloc(ny), *again = malloc(ny);
    void *dx = test_up(ctx, p->x, (size_t)p->t.ncols * sizeof(double));
    for (int64_t r = 0; r < p->t.nrows; r++) y[r] = (double)r;
    void *dy = test_up(ctx, y, ny), *dz = test_up(ctx, y, ny);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 2.5, A, dx, -3.0, dy));
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 2.5, A, dx, -3.0, dz));
    assert_ok(ctx, spmvx_buffer_download(ctx, y, dy, ny));
    assert_ok(ctx, spmvx_buffer_download(ctx, again, dz, ny));
    for (int64_t r = 0; r < p->t.nrows; r++)
        if (!(fabs(y[r] - (2.5 * p->want[r] - 3.0 * (double)r)) < 1e-8))
            fail_msg("%s: row %d is %g", kernel, (int)r, y[r]);
    assert_memory_equal(y, again, ny);
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    spmvx_buffer_free(ctx, dz);
    free(y);
    free(again);
}

void problem_check_kernel(spmvx_context *ctx, const problem *p, const spmvx_matrix *m, const char *kernel)
{
    spmvx_matrix *A = convert_by(ctx, m, kernel, 0, 0, 0);
    problem_check_scaled(ctx, p, A, kernel);
    spmvx_matrix_destroy(A);
}

void problem_check_name(spmvx_context *ctx, problem p, const char *asked, const char *name)
{
    spmvx_matrix *m = NULL;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    spmvx_matrix *A = convert_by(ctx, m, asked, 0, 0, 0);
    assert_ok(ctx, spmvx_matrix_get_info(A, &info));
    assert_string_equal(info.kernel, name);
    problem_check_scaled(ctx, &p, A, name);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    problem_free(&p);
}

problem problem_of_absent(void)
{
    enum { ROWS = 120, UNUSED = 413 };
    int lengths[ROWS];
    for (int r = 0; r < ROWS; r++) lengths[r] = r % 40 == 17 ? 2900 + r : r % 30 == 3 ? 190 : r % 7;
    problem p = problem_of_rows(ROWS, lengths);
    int32_t *col = (int32_t *)(uintptr_t)p.csr.arrays.col;
    memset(p.want, 0, ROWS * sizeof *p.want);
    p.x[0] = NAN;
    p.x[UNUSED] = INFINITY;
    for (int64_t k = 0; k < p.t.nnz; k++) {
        if (col[k] == 0 || col[k] == UNUSED) col[k] = 1;
        p.want[p.t.row[k]] += p.t.val[k] * p.x[col[k]];
    }
    return p;
}

void problem_run_special(spmvx_context *ctx, problem p, int64_t special, int count,
                         const char *const *kernels)
{
    const size_t ny = (size_t)p.t.nrows * sizeof *p.y;
    double *val = (double *)(uintptr_t)p.csr.arrays.val;
    for (int64_t k = p.csr.ptr[special]; k < p.csr.ptr[special + 1]; k++) val[k] = k % 2 ? NAN : INFINITY;
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    for (int i = 0; i < count; i++) {
        spmvx_matrix *A = convert_by(ctx, m, kernels[i], 0, 0, 0);
        void *dx = test_up(ctx, p.x, (size_t)p.t.ncols * sizeof *p.x), *dy = test_up(ctx, p.y, ny);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        assert_ok(ctx, spmvx_buffer_download(ctx, p.y, dy, ny));
        for (int64_t r = 0; r < p.t.nrows; r++)
            if (r == special ? !isnan(p.y[r]) : !(fabs(p.y[r] - p.want[r]) < 1e-9))
                fail_msg("%s: row %d is %g", kernels[i], (int)r, p.y[r]);
        spmvx_buffer_free(ctx, dx);
        spmvx_buffer_free(ctx, dy);
        spmvx_matrix_destroy(A);
    }
    spmvx_matrix_destroy(m);
    problem_free(&p);
}

void problem_replay(spmvx_context *ctx, const problem *p, void *stream, void *dx, void *dy)
{
    const size_t ny = (size_t)p->t.nrows * 8;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
    for (int again = 0; again < 3; again++) {
        memset(p->y, 0xff, ny);
        assert_ok(ctx, spmvx_buffer_upload(ctx, dx, p->x, (size_t)p->t.ncols * 8));
        assert_ok(ctx, spmvx_buffer_upload(ctx, dy, p->y, ny));
        assert_cuda(cudaGraphLaunch(ready, stream));
        assert_ok(ctx, spmvx_buffer_download(ctx, p->y, dy, ny));
        problem_check(p, p->y);
    }
    assert_cuda(cudaGraphExecDestroy(ready));
    assert_cuda(cudaGraphDestroy(graph));
}

borrowed_arrays borrowed_new(const problem *p)
{
    const size_t nnz = (size_t)p->t.nnz, rows = (size_t)p->t.nrows;
    borrowed_arrays l = { .arrays = p->csr.arrays };
    int32_t *ptr = malloc((rows + 1) * sizeof *ptr);
    for (size_t r = 0; r <= rows; r++) ptr[r] = (int32_t)p->csr.ptr[r];
    assert_cuda(cudaMalloc(&l.ptr, (rows + 1) * 4));
    assert_cuda(cudaMalloc(&l.col, nnz * 4));
    assert_cuda(cudaMalloc(&l.val, nnz * 8));
    assert_cuda(cudaMemcpy(l.ptr, ptr, (rows + 1) * 4, cudaMemcpyHostToDevice));
    assert_cuda(cudaMemcpy(l.col, p->csr.col, nnz * 4, cudaMemcpyHostToDevice));
    assert_cuda(cudaMemcpy(l.val, p->csr.val, nnz * 8, cudaMemcpyHostToDevice));
    free(ptr);
    l.arrays.ptr_type = SPMVX_I32;
    l.arrays.ptr = l.ptr;
    l.arrays.col = l.col;
    l.arrays.val = l.val;
    return l;
}

void borrowed_free(borrowed_arrays *l)
{
    cudaFree(l->ptr);
    cudaFree(l->col);
    cudaFree(l->val);
}

spmvx_matrix *convert_by(spmvx_context *ctx, const spmvx_matrix *m, const char *kernel, uint32_t ops,
                         uint32_t flags, int64_t nvec)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *A = NULL;
    o.kernel = kernel;
    o.ops = ops;
    o.flags = flags;
    o.nvec = nvec;
    o.max_bytes = MOST_BYTES;
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
    return A;
}
