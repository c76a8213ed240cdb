/* What is particular to a device: where memory lives, borrowing, streams, graphs, several devices, errors of the runtime, and that
 * nothing of the caller's is disturbed. The kernels' results are the registry walk's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

static void test_contexts(void **state)
{
    (void)state;
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context *ctx = NULL;
    o.place = SPMVX_ANY;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    assert_ok(ctx, spmvx_context_get_info(ctx, &i));
    assert_int_equal(i.place, SPMVX_CUDA);
    assert_true(i.name[0] && i.threads > 0);
    spmvx_context_destroy(ctx);
    o.place = SPMVX_CUDA;
    o.device = device_count();
    assert_fails(SPMVX_ERR_DEVICE, "the machine has", spmvx_context_create(&o, &ctx));
    setenv("SPMVX_DISABLE", "avx2,cuda", 1);
    o.device = 0;
    assert_fails(SPMVX_ERR_DEVICE, "SPMVX_DISABLE", spmvx_context_create(&o, &ctx));
    o.place = SPMVX_ANY;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    assert_ok(ctx, spmvx_context_get_info(ctx, &i));
    assert_int_equal(i.place, SPMVX_HOST);
    spmvx_context_destroy(ctx);
    unsetenv("SPMVX_DISABLE");
}

static void test_buffers(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    char text[100] = "there and back", back[100] = "";
    void *p = ctx;
    assert_ok(ctx, spmvx_buffer_alloc(ctx, 0, &p));
    assert_null(p);
    assert_ok(ctx, spmvx_buffer_alloc(ctx, sizeof text, &p));
    assert_int_equal((uintptr_t)p % 64, 0);
    assert_ok(ctx, spmvx_buffer_upload(ctx, p, text, sizeof text));
    assert_ok(ctx, spmvx_buffer_download(ctx, back, p, sizeof back));
    assert_string_equal(back, text);
    void *none = NULL;
    assert_fails(SPMVX_ERR_MEMORY, "bytes", spmvx_buffer_alloc(ctx, (size_t)1 << 50, &none));
    assert_null(none);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    assert_ok(ctx, spmvx_buffer_download(ctx, back, p, sizeof back));   /* it works on */
    spmvx_buffer_free(ctx, p);
    spmvx_buffer_free(ctx, NULL);
    spmvx_context_destroy(ctx);
}

/* The same matrix from arrays in each kind of memory. */
static void test_given_from_anywhere(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, SPMVX_CONTEXT_CHECK);
    spmvx_matrix *m = NULL;
    const size_t nnz = (size_t)p.t.nnz, rows = (size_t)p.t.nrows;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    problem_run(ctx, &p, m);
    spmvx_matrix_destroy(m);
    lent_arrays l = lent_new(&p);
    for (uint32_t flags = 0; flags < 4; flags++) {
        spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
        assert_ok(ctx, spmvx_matrix_create(ctx, &l.arrays, flags, &m));
        assert_ok(ctx, spmvx_matrix_get_info(m, &i));
        assert_int_equal(i.place, SPMVX_CUDA);
        assert_int_equal(!!(i.flags & SPMVX_IS_BORROWED), !!(flags & SPMVX_BORROW));
        problem_run(ctx, &p, m);
        spmvx_matrix_destroy(m);
    }
    spmvx_arrays mixed = l.arrays;
    mixed.val = p.csr.val;
    assert_ok(ctx, spmvx_matrix_create(ctx, &mixed, 0, &m));
    problem_run(ctx, &p, m);
    spmvx_matrix_destroy(m);
    assert_fails(SPMVX_ERR_PLACE, "arrays.val", spmvx_matrix_create(ctx, &mixed, SPMVX_BORROW, &m));
    void *managed = NULL, *pinned = NULL;
    assert_cuda(cudaMallocManaged(&managed, nnz * 4, cudaMemAttachGlobal));
    assert_cuda(cudaHostAlloc(&pinned, nnz * 8, cudaHostAllocDefault));
    memcpy(managed, p.csr.col, nnz * 4);
    memcpy(pinned, p.csr.val, nnz * 8);
    mixed = l.arrays;
    mixed.col = managed;
    mixed.val = pinned;
    assert_ok(ctx, spmvx_matrix_create(ctx, &mixed, SPMVX_BORROW, &m));
    problem_run(ctx, &p, m);
    spmvx_matrix_destroy(m);
    l.arrays.nnz--;
    assert_fails(SPMVX_ERR_SHAPE, "arrays.ptr[", spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW | SPMVX_TRUST, &m));
    assert_fails(SPMVX_ERR_SHAPE, "arrays.ptr[", spmvx_matrix_create(ctx, &l.arrays, 0, &m));
    l.arrays.nnz++;
    l.arrays.nrows = (int64_t)rows;
    int32_t wild = 1 << 30;
    assert_cuda(cudaMemcpy(l.col, &wild, 4, cudaMemcpyHostToDevice));
    assert_fails(SPMVX_ERR_RANGE, "arrays.col[0]", spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW, &m));
    cudaFree(managed);
    cudaFreeHost(pinned);
    lent_free(&l);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* Results follow lent values; what was converted by copying does not. */
static void test_borrowed_values(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    lent_arrays l = lent_new(&p);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW | SPMVX_TRUST, &m));
    spmvx_matrix *vector = convert_by(ctx, m, "csr-vector", 0, 0, 0), *sell = convert_by(ctx, m, "sell", 0, 0, 0);
    problem_run(ctx, &p, vector);
    problem_run(ctx, &p, sell);
    double *twice = malloc((size_t)p.t.nnz * sizeof *twice);
    for (int64_t k = 0; k < p.t.nnz; k++) twice[k] = 2 * ((double *)p.csr.val)[k];
    assert_cuda(cudaMemcpy(l.val, twice, (size_t)p.t.nnz * sizeof *twice, cudaMemcpyHostToDevice));
    problem_run(ctx, &p, sell);
    for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] *= 2;
    problem_run(ctx, &p, vector);
    problem_run(ctx, &p, m);
    free(twice);
    spmvx_matrix_destroy(vector);
    spmvx_matrix_destroy(sell);
    spmvx_matrix_destroy(m);
    lent_free(&l);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* From every format on the host to every kernel on the device, and from there back to the same CSR. */
static void test_formats_there_and_back(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    spmvx_matrix *csr = NULL;
    assert_ok(host, spmvx_matrix_create(host, &p.csr.arrays, 0, &csr));
    for (spmvx_format f = SPMVX_COO; f <= SPMVX_PACKED; f++) {
        if (f == SPMVX_DIA || f == SPMVX_BSR) continue;   /* which sort, and add repeats up */
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        spmvx_matrix *m = NULL;
        o.format = f;
        o.max_bytes = SIZE_MAX;
        assert_ok(host, spmvx_matrix_convert(host, csr, &o, &m));
        for (int k = 0; k < DEVICE_KERNELS; k++) {
            spmvx_matrix *A = convert_by(ctx, m, device_kernels[k], 0, 0, 0), *back = NULL;
            spmvx_arrays v = SPMVX_ARRAYS_INIT;
            problem_run(ctx, &p, A);
            o.format = SPMVX_CSR;
            assert_ok(host, spmvx_matrix_convert(host, A, &o, &back));
            assert_ok(host, spmvx_matrix_arrays(back, &v));
            assert_int_equal(v.place, SPMVX_HOST);
            assert_memory_equal(v.col, p.csr.col, (size_t)p.t.nnz * 4);
            assert_memory_equal(v.val, p.csr.val, (size_t)p.t.nnz * 8);
            spmvx_matrix_destroy(back);
            spmvx_matrix_destroy(A);
        }
        o.format = f;
        spmvx_matrix_destroy(m);
    }
    spmvx_matrix *any = convert_by(ctx, csr, NULL, 0, 0, 0), *t = NULL, *tt = NULL;
    problem_run(ctx, &p, any);
    assert_ok(ctx, spmvx_matrix_transpose(ctx, any, &t));
    assert_ok(ctx, spmvx_matrix_transpose(ctx, t, &tt));
    problem_run(ctx, &p, tt);
    spmvx_matrix_destroy(any);
    spmvx_matrix_destroy(t);
    spmvx_matrix_destroy(tt);
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* COO and slices of 8 rows have no kernel here: they are sources. */
static void test_sources_only(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    spmvx_matrix *coo = case_coo(ctx, &p.t, SPMVX_F64), *narrow = NULL, *given = NULL, *refused = NULL;
    void *dx = test_up(ctx, p.x, (size_t)p.t.ncols * 8), *dy = test_up(ctx, p.y, (size_t)p.t.nrows * 8);
    assert_fails(SPMVX_ERR_UNSUPPORTED, "convert it", spmvx_mul(ctx, SPMVX_N, 1.0, coo, dx, 0.0, dy));
    spmvx_matrix *A = convert_by(ctx, coo, NULL, 0, 0, 0);
    problem_run(ctx, &p, A);
    spmvx_matrix_destroy(A);
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_SELL;
    o.slice = 8;
    assert_ok(host, spmvx_matrix_convert(host, coo, &o, &narrow));
    assert_fails(SPMVX_ERR_UNSUPPORTED, "slices of 8 rows", spmvx_matrix_convert(ctx, coo, &o, &refused));
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    assert_ok(host, spmvx_matrix_arrays(narrow, &v));
    assert_ok(ctx, spmvx_matrix_create(ctx, &v, 0, &given));
    assert_fails(SPMVX_ERR_UNSUPPORTED, "convert it", spmvx_mul(ctx, SPMVX_N, 1.0, given, dx, 0.0, dy));
    A = convert_by(ctx, given, "sell", 0, 0, 0);   /* rebuilt, since the slice was not asked for */
    problem_run(ctx, &p, A);
    spmvx_matrix *product = NULL;
    assert_fails(SPMVX_ERR_SHAPE, "rows", spmspm_mul(ctx, A, A, NULL, &product));
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(given);
    spmvx_matrix_destroy(narrow);
    spmvx_matrix_destroy(coo);
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* A multiplication neither allocates nor synchronises, so that a graph takes it, and replays with what x holds then. */
static void test_graph(void **state)
{
    (void)state;
    problem p = problem_new();
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    spmvx_context *ctx = device_context(0, stream, 0);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    const size_t nx = (size_t)p.t.ncols * 8, ny = (size_t)p.t.nrows * 8;
    void *dx = test_up(ctx, p.x, nx), *dy = test_up(ctx, p.y, ny);
    for (int k = 0; k < DEVICE_KERNELS; k++) {
        spmvx_matrix *A = convert_by(ctx, m, device_kernels[k], SPMVX_OPS_N | SPMVX_OPS_T, 0, 0);
        assert_ok(ctx, spmvx_mul_prepare(ctx, A, SPMVX_T, 1));
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 0.5, A, dy, 0.0, dx));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 0.0, A, dx, 1.0, dy));
        assert_cuda(cudaStreamEndCapture(stream, &graph));
        assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
        for (int again = 0; again < 3; again++) {
            memset(p.y, 0xff, ny);
            assert_ok(ctx, spmvx_buffer_upload(ctx, dx, p.x, nx));
            assert_ok(ctx, spmvx_buffer_upload(ctx, dy, p.y, ny));
            assert_cuda(cudaGraphLaunch(ready, stream));
            assert_ok(ctx, spmvx_buffer_download(ctx, p.y, dy, ny));
            problem_check(&p, p.y);
        }
        assert_cuda(cudaGraphExecDestroy(ready));
        assert_cuda(cudaGraphDestroy(graph));
        spmvx_matrix_destroy(A);
    }
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    assert_cuda(cudaStreamDestroy(stream));
    problem_free(&p);
}

static void test_several_columns(void **state)
{
    (void)state;
    problem p = problem_new();
    enum { MOST = 19, LDX = 807, LDY = 711 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    double *X = calloc(MOST * LDX, sizeof *X), *Y = malloc(MOST * LDY * sizeof *Y), *back = malloc(MOST * LDY * sizeof *back);
    for (int j = 0; j < MOST; j++)
        for (int64_t i = 0; i < p.t.ncols; i++) X[j * LDX + i] = p.x[i] * (j + 1);
    for (int i = 0; i < MOST * LDY; i++) Y[i] = 7;
    void *dx = test_up(ctx, X, MOST * LDX * sizeof *X), *dy = test_up(ctx, Y, MOST * LDY * sizeof *Y);
    for (int k = 0; k < DEVICE_KERNELS; k++) {
        spmvx_matrix *A = convert_by(ctx, m, device_kernels[k], 0, 0, MOST);
        for (int nvec = 0; nvec <= MOST; nvec += nvec < 9 ? 1 : 5) {
            assert_ok(ctx, spmvx_buffer_upload(ctx, dy, Y, MOST * LDY * sizeof *Y));
            assert_ok(ctx, spmvx_mul_multi(ctx, SPMVX_N, 2.0, A, nvec, dx, LDX, -1.0, dy, LDY));
            assert_ok(ctx, spmvx_buffer_download(ctx, back, dy, MOST * LDY * sizeof *back));
            for (int j = 0; j < MOST; j++)
                for (int i = 0; i < LDY; i++) {
                    const double want = j < nvec && i < p.t.nrows ? 2 * (j + 1) * p.want[i] - 7 : 7;
                    if (!(fabs(back[j * LDY + i] - want) < 1e-8)) fail_msg("%s: row %d of column %d of %d is %g, not %g", device_kernels[k], i, j, nvec, back[j * LDY + i], want);
                }
        }
        spmvx_matrix_destroy(A);
    }
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    free(X);
    free(Y);
    free(back);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

static void test_new_values(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *coo = case_coo(ctx, &p.t, SPMVX_F64);
    double *thrice = malloc((size_t)p.t.nnz * sizeof *thrice);
    for (int64_t k = 0; k < p.t.nnz; k++) thrice[k] = 3 * p.t.val[k];
    void *there = test_up(ctx, thrice, (size_t)p.t.nnz * 8), *was = test_up(ctx, p.t.val, (size_t)p.t.nnz * 8);
    void *dx = test_up(ctx, p.x, (size_t)p.t.ncols * 8), *dy = test_up(ctx, p.y, (size_t)p.t.nrows * 8), *dz = test_up(ctx, p.x, (size_t)p.t.ncols * 8);
    for (int k = 0; k < DEVICE_KERNELS; k++) {
        double before[800], after[800];
        spmvx_matrix *A = convert_by(ctx, coo, device_kernels[k], SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE, 0), *copy = NULL;
        problem_run(ctx, &p, A);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 1.0, A, dy, 0.0, dz));
        assert_ok(ctx, spmvx_buffer_download(ctx, before, dz, (size_t)p.t.ncols * 8));
        assert_ok(ctx, spmvx_matrix_update_values(ctx, A, there));
        for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] *= 3;
        problem_run(ctx, &p, A);
        copy = convert_by(ctx, A, "sell", 0, SPMVX_UPDATABLE, 0);   /* whose order comes from A's map */
        problem_run(ctx, &p, copy);
        for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] /= 3;
        assert_ok(ctx, spmvx_matrix_update_values(ctx, copy, was));
        problem_run(ctx, &p, copy);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 1.0, A, dy, 0.0, dz));
        assert_ok(ctx, spmvx_buffer_download(ctx, after, dz, (size_t)p.t.ncols * 8));
        for (int64_t i = 0; i < p.t.ncols; i++) assert_true(fabs(after[i] - 3 * before[i]) < 1e-8);
        spmvx_matrix_destroy(copy);
        spmvx_matrix_destroy(A);
    }
    spmvx_buffer_free(ctx, there);
    spmvx_buffer_free(ctx, was);
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    spmvx_buffer_free(ctx, dz);
    free(thrice);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* x and y in managed and in pinned memory; and with the context's check, memory that the device does not reach. */
static void test_vectors_anywhere(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, SPMVX_CONTEXT_CHECK);
    spmvx_matrix *m = NULL;
    double *x = NULL, *y = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    assert_cuda(cudaMallocManaged((void **)&x, (size_t)p.t.ncols * 8, cudaMemAttachGlobal));
    assert_cuda(cudaHostAlloc((void **)&y, (size_t)p.t.nrows * 8, cudaHostAllocDefault));
    memcpy(x, p.x, (size_t)p.t.ncols * 8);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, m, x, 0.0, y));
    assert_ok(ctx, spmvx_context_synchronize(ctx));
    problem_check(&p, y);
    memset(p.y, 0x11, (size_t)p.t.nrows * 8);
    assert_fails(SPMVX_ERR_PLACE, "y is", spmvx_mul(ctx, SPMVX_N, 1.0, m, x, 0.0, p.y));
    assert_fails(SPMVX_ERR_PLACE, "x is", spmvx_mul(ctx, SPMVX_N, 1.0, m, p.x, 0.0, y));
    for (size_t i = 0; i < (size_t)p.t.nrows * 8; i++) assert_int_equal(((unsigned char *)p.y)[i], 0x11);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    cudaFree(x);
    cudaFreeHost(y);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* An error that the caller's own code left pending stays his: neither cleared nor reported. */
static void test_pending_error(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    assert_cuda(cudaGetLastError());
    assert_int_equal(cudaSetDevice(device_count() + 7), cudaErrorInvalidDevice);
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    spmvx_matrix *A = convert_by(ctx, m, "sell", 0, 0, 0);
    problem_run(ctx, &p, A);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

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
    spmvx_matrix *vector = convert_by(first, m, "csr-vector", 0, 0, 0), *merge = convert_by(first, m, "csr-merge-path", 0, 0, 0);
    spmvx_matrix_destroy(m);
    void *dx = test_up(first, p.x, (size_t)p.t.ncols * 8), *dy = test_up(first, p.y, (size_t)p.t.nrows * 8);
    assert_ok(first, spmvx_mul(first, SPMVX_N, 1.0, merge, dx, 0.0, dy));   /* may still run when its context ends */
    spmvx_context_destroy(first);
    spmvx_buffer_free(second, dx);
    spmvx_buffer_free(second, dy);
    assert_cuda(cudaStreamDestroy(stream));
    problem_run(second, &p, vector);
    problem_run(second, &p, merge);   /* with workspace that this context did not prepare */
    assert_ok(second, spmvx_context_trim(second));
    problem_run(second, &p, merge);
    spmvx_matrix_destroy(vector);
    spmvx_matrix_destroy(merge);
    spmvx_context_destroy(second);
    problem_free(&p);
}

static void test_two_devices(void **state)
{
    (void)state;
    if (device_count() < 2) skip();
    problem p = problem_new();
    int now = -1;
    assert_cuda(cudaSetDevice(1));
    spmvx_context *zero = device_context(0, NULL, SPMVX_CONTEXT_CHECK), *one = device_context(1, NULL, SPMVX_CONTEXT_CHECK);
    spmvx_matrix *m = NULL, *lent = NULL;
    assert_ok(zero, spmvx_matrix_create(zero, &p.csr.arrays, 0, &m));
    problem_run(zero, &p, m);
    assert_fails(SPMVX_ERR_PLACE, "device 0", spmvx_mul(one, SPMVX_N, 1.0, m, p.x, 0.0, p.y));
    spmvx_matrix *other = convert_by(one, m, "sell", 0, 0, 0);
    problem_run(one, &p, other);
    lent_arrays l = lent_new(&p);   /* on device 1 */
    assert_fails(SPMVX_ERR_PLACE, "device 1", spmvx_matrix_create(zero, &l.arrays, SPMVX_BORROW, &lent));
    void *dx = test_up(zero, p.x, (size_t)p.t.ncols * 8), *dy = test_up(one, p.y, (size_t)p.t.nrows * 8);
    assert_fails(SPMVX_ERR_PLACE, "x is", spmvx_mul(one, SPMVX_N, 1.0, other, dx, 0.0, dy));
    spmvx_buffer_free(zero, dx);
    spmvx_buffer_free(one, dy);
    lent_free(&l);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(zero);
    problem_run(one, &p, other);
    spmvx_matrix_destroy(other);
    spmvx_context_destroy(one);
    assert_cuda(cudaGetDevice(&now));
    assert_int_equal(now, 1);
    assert_cuda(cudaSetDevice(0));
    problem_free(&p);
}

/* Effort 1 times on the device; what it learned is for the device alone. */
static void test_timed_choice(void **state)
{
    (void)state;
    problem p = problem_new();
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    spmvx_context *ctx = device_context(0, stream, 0);
    spmvx_matrix *m = NULL, *A = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    const size_t nx = (size_t)p.t.ncols * 8, ny = (size_t)p.t.nrows * 8;
    void *dx = test_up(ctx, p.x, nx), *dy = test_up(ctx, p.y, ny);
    for (o.effort = 0; o.effort < 3; o.effort++) {
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
        assert_ok(ctx, spmvx_matrix_get_info(A, &i));
        assert_true(strlen(i.reason) > 10);
        problem_run(ctx, &p, A);
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));   /* the context is back on the caller's stream */
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        assert_cuda(cudaStreamEndCapture(stream, &graph));
        assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
        memset(p.y, 0xff, ny);
        assert_ok(ctx, spmvx_buffer_upload(ctx, dy, p.y, ny));
        assert_cuda(cudaGraphLaunch(ready, stream));
        assert_ok(ctx, spmvx_buffer_download(ctx, p.y, dy, ny));
        problem_check(&p, p.y);
        assert_cuda(cudaGraphExecDestroy(ready));
        assert_cuda(cudaGraphDestroy(graph));
        spmvx_matrix_destroy(A);
    }
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    char wisdom[4096];
    size_t length = sizeof wisdom;
    assert_ok(ctx, spmvx_wisdom_export(ctx, wisdom, &length));
    assert_non_null(strstr(wisdom, "cuda f64"));
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    assert_cuda(cudaStreamDestroy(stream));
    problem_free(&p);
}

static const char *const merge_kernels[] = { "csr-merge-path", "csr-merge-path:run=1", "csr-merge-path:run=2", "csr-merge-path:run=5", "csr-merge-path:run=1024" };
enum { MERGE_KERNELS = sizeof merge_kernels / sizeof *merge_kernels };

/* Rows cut within a run and between runs. */
static void check_merge(spmvx_context *ctx, problem p)
{
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    for (int k = 0; k < MERGE_KERNELS; k++) {
        spmvx_matrix *A = convert_by(ctx, m, merge_kernels[k], 0, 0, 0);
        problem_run(ctx, &p, A);
        problem_run(ctx, &p, A);   /* the tickets and sums are zero again */
        spmvx_matrix_destroy(A);
    }
    spmvx_matrix_destroy(m);
    problem_free(&p);
}

static void check_choice(spmvx_context *ctx, int rows, const int *lengths, const char *kernel)
{
    problem p = problem_of_rows(rows, lengths);
    spmvx_matrix *m = NULL, *A = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.expected_muls = 1e9;   /* whatever the set-up costs */
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
    assert_ok(ctx, spmvx_matrix_get_info(A, &i));
    if (strncmp(i.kernel, kernel, strlen(kernel))) fail_msg("%s, wanted %s: %s", i.kernel, kernel, i.reason);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    problem_free(&p);
}

/* Without timing: where no row is long, what has the least latency; where one is, what cuts it. */
static void test_choice_by_the_model(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    static int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = 5;
    check_choice(ctx, ROWS, lengths, "csr-vector");
    lengths[ROWS / 2] = 20000;
    check_choice(ctx, ROWS, lengths, "csr-merge-path");
    for (int r = 0; r < ROWS; r++) lengths[r] = 6 + r % 32;
    check_choice(ctx, ROWS / 3, lengths, "csr-vector");
    spmvx_context_destroy(ctx);
}

static void test_long_rows(void **state)
{
    (void)state;
    static const int longest[] = { 0, 1, 32, 33, 100, 128, 129, 300, 900, 1024, 1025, 1152, 1153, 2500, 9000, 12000, 50000, 200000 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++) check_merge(ctx, problem_of(longest[i]));
    static const struct { int rows, from, to; } all[] = { { 400, 20, 300 }, { 60, 900, 1300 }, { 9, 3000, 9000 }, { 1, 99999, 100000 } };
    int lengths[400];
    uint64_t seed = 3;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (int r = 0; r < all[i].rows; r++) lengths[r] = all[i].from + (int)(case_random(&seed) % (uint64_t)(all[i].to - all[i].from));
        check_merge(ctx, problem_of_rows(all[i].rows, lengths));
    }
    for (int n = 970; n < 1010; n++) check_merge(ctx, problem_of_rows(2, (const int[]){ n, 5000 }));   /* a tile begins 128 entries behind the second, too */
    int many[2000];
    for (int n = 795; n < 806; n++) {   /* and 32 entries behind the long one, where most are short */
        for (int r = 0; r < 2000; r++) many[r] = r == n ? 5000 : 2;
        check_merge(ctx, problem_of_rows(2000, many));
    }
    spmvx_context_destroy(ctx);
}

/* A part of a row that is cut has the sum 0, or none. */
static void test_cut_row_without_sum(void **state)
{
    (void)state;
    enum { LONG = 333 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    problem p = problem_of(50000);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    double *y = calloc((size_t)p.t.nrows, sizeof *y), *x = calloc((size_t)p.t.ncols, sizeof *x);
    for (int k = 0; k < MERGE_KERNELS; k++) {
        static const double values[] = { 0.0, INFINITY, NAN, -0.0 };
        spmvx_matrix *A = convert_by(ctx, m, merge_kernels[k], 0, 0, 0);
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            for (int64_t i = 0; i < p.t.ncols; i++) x[i] = values[v];
            void *dx = test_up(ctx, x, (size_t)p.t.ncols * 8), *dy = test_up(ctx, y, (size_t)p.t.nrows * 8);
            assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
            assert_ok(ctx, spmvx_buffer_download(ctx, y, dy, (size_t)p.t.nrows * 8));
            if (values[v] == 0.0 ? y[LONG] != 0.0 : !isnan(y[LONG])) fail_msg("%s: x of %g gave %g", merge_kernels[k], values[v], y[LONG]);
            spmvx_buffer_free(ctx, dx);
            spmvx_buffer_free(ctx, dy);
        }
        problem_run(ctx, &p, A);
        spmvx_matrix_destroy(A);
    }
    free(x);
    free(y);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

static void test_parameters(void **state)
{
    (void)state;
    static const char *const good[] = { "csr-vector:lanes=2", "csr-vector:lanes=4,threads=64", "csr-vector:lanes=8,threads=1024", "csr-vector:lanes=16", "csr-vector:lanes=32",
                                        "csr-vector:lanes=64", "csr-vector:lanes=64,threads=64", "sell:split=1,threads=32", "sell:split=2", "sell:split=4,threads=512",
                                        "sell:split=32", "sell:split=8,threads=64" };
    static const char *const bad[] = { "csr-vector:lanes=3", "csr-vector:lanes=128", "csr-vector:threads=100", "csr-vector:rows=2", "sell:split=5", "sell:threads=96", "csr-merge-path:chunk=1" };
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL, *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        A = convert_by(ctx, m, good[i], 0, 0, 0);
        assert_ok(ctx, spmvx_matrix_get_info(A, &info));
        if (strncmp(info.kernel, good[i], strlen(good[i])) && !strstr(good[i], "threads=64")) fail_msg("%s became %s", good[i], info.kernel);
        problem_run(ctx, &p, A);
        spmvx_matrix_destroy(A);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.kernel = bad[i];
        assert_fails(SPMVX_ERR_ARGUMENT, "options.kernel has", spmvx_matrix_convert(ctx, m, &o, &A));
    }
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts), cmocka_unit_test(test_buffers), cmocka_unit_test(test_given_from_anywhere), cmocka_unit_test(test_borrowed_values),
        cmocka_unit_test(test_formats_there_and_back), cmocka_unit_test(test_sources_only), cmocka_unit_test(test_graph), cmocka_unit_test(test_several_columns),
        cmocka_unit_test(test_new_values), cmocka_unit_test(test_vectors_anywhere), cmocka_unit_test(test_pending_error), cmocka_unit_test(test_ends_in_any_order),
        cmocka_unit_test(test_two_devices), cmocka_unit_test(test_timed_choice), cmocka_unit_test(test_choice_by_the_model), cmocka_unit_test(test_parameters), cmocka_unit_test(test_long_rows), cmocka_unit_test(test_cut_row_without_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
