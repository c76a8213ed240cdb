/* What is particular to a device: where memory lives, borrowing, streams, several devices, errors of the
 * runtime, and that nothing of the caller's is disturbed. What concerns each kernel is in test_each_kernel.c
 * and in the walk, captures are in test_capture.c, ends in
 * test_ends.c. */
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
    assert_ok(ctx, spmvx_buffer_download(ctx, back, p, sizeof back)); /* it works on */
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
    borrowed_arrays l = borrowed_new(&p);
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
    assert_fails(SPMVX_ERR_SHAPE, "arrays.ptr[",
                 spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW | SPMVX_TRUST, &m));
    assert_fails(SPMVX_ERR_SHAPE, "arrays.ptr[", spmvx_matrix_create(ctx, &l.arrays, 0, &m));
    l.arrays.nnz++;
    l.arrays.nrows = (int64_t)rows;
    int32_t wild = 1 << 30;
    assert_cuda(cudaMemcpy(l.col, &wild, 4, cudaMemcpyHostToDevice));
    assert_fails(SPMVX_ERR_RANGE, "arrays.col[0]", spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW, &m));
    /* The first and the last row pointer are enough to tell base 1. */
    assert_int_equal(l.arrays.ptr_type, SPMVX_I32);
    const int32_t ends[] = { 1, (int32_t)nnz + 1 };
    assert_cuda(cudaMemcpy(l.ptr, &ends[0], 4, cudaMemcpyHostToDevice));
    assert_cuda(cudaMemcpy((int32_t *)l.ptr + rows, &ends[1], 4, cudaMemcpyHostToDevice));
    for (uint32_t flags = 0; flags < 4; flags++)
        assert_fails(SPMVX_ERR_SHAPE, "this looks like base 1",
                     spmvx_matrix_create(ctx, &l.arrays, flags, &m));
    cudaFree(managed);
    cudaFreeHost(pinned);
    borrowed_free(&l);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* Results follow lent values; what was converted by copying does not. */
static void test_borrowed_values(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    borrowed_arrays l = borrowed_new(&p);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW | SPMVX_TRUST, &m));
    spmvx_matrix *vector = convert_by(ctx, m, "csr-vector", 0, 0, 0),
                 *sell = convert_by(ctx, m, "sell", 0, 0, 0);
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
    borrowed_free(&l);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* Rows are sorted within no wider a window where the CSR lies on the device than where it lies on the host:
 * sorted all, they would part from their neighbours. */
static void test_sorted_as_on_the_host(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    int *lengths = malloc(ROWS * sizeof *lengths);
    for (int r = 0; r < ROWS; r++) lengths[r] = r * 7 % 5 + (r < ROWS / 2);
    problem p = problem_of_rows(ROWS, lengths);
    free(lengths);
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    borrowed_arrays l = borrowed_new(&p);
    spmvx_matrix *m = NULL, *csr = NULL, *expected = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW | SPMVX_TRUST, &m));
    spmvx_matrix *sell = convert_by(ctx, m, "sell", 0, 0, 0);
    assert_ok(host, spmvx_matrix_create(host, &p.csr.arrays, 0, &csr));
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_SELL;
    o.slice = 32;
    assert_ok(host, spmvx_matrix_convert(host, csr, &o, &expected));
    spmvx_arrays a = SPMVX_ARRAYS_INIT, b = SPMVX_ARRAYS_INIT;
    assert_ok(ctx, spmvx_matrix_arrays(sell, &a));
    assert_ok(host, spmvx_matrix_arrays(expected, &b));
    assert_true(a.row && b.row);
    int32_t *rows = malloc(ROWS * sizeof *rows);
    assert_ok(ctx, spmvx_buffer_download(ctx, rows, a.row, ROWS * sizeof *rows));
    assert_memory_equal(rows, b.row, ROWS * sizeof *rows);
    free(rows);
    problem_run(ctx, &p, sell);
    spmvx_matrix_destroy(sell);
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(csr);
    spmvx_matrix_destroy(expected);
    borrowed_free(&l);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* CSR's arrays here are those of the host's reading, bit for bit. */
static void assert_same_csr(spmvx_context *ctx, spmvx_matrix *here, spmvx_context *host, spmvx_matrix *there)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT, b = SPMVX_ARRAYS_INIT;
    assert_ok(ctx, spmvx_matrix_arrays(here, &a));
    assert_ok(host, spmvx_matrix_arrays(there, &b));
    assert_true(a.format == SPMVX_CSR && b.format == SPMVX_CSR && a.nrows == b.nrows && a.nnz == b.nnz &&
                a.ptr_type == b.ptr_type);
    const size_t rows = (size_t)(a.nrows + 1) * (a.ptr_type == SPMVX_I64 ? 8 : 4),
                 entries = (size_t)a.nnz * sizeof(double);
    void *own = malloc(rows > entries ? rows : entries);
    assert_non_null(own);
    assert_ok(ctx, spmvx_buffer_download(ctx, own, a.ptr, rows));
    assert_memory_equal(own, b.ptr, rows);
    assert_ok(ctx, spmvx_buffer_download(ctx, own, a.col, (size_t)a.nnz * sizeof(int32_t)));
    assert_memory_equal(own, b.col, (size_t)a.nnz * sizeof(int32_t));
    assert_ok(ctx, spmvx_buffer_download(ctx, own, a.val, entries));
    assert_memory_equal(own, b.val, entries);
    free(own);
}

/* A file's entries are sorted on the device, or on the host where max_bytes has no room for that: the result
 * is the same, or LIMIT. */
static void test_files(void **state)
{
    (void)state;
    static const char *const names[] = { "bcsstk14.mtx.gz", "orani678.mtx.gz", "lhr01.mtx.gz" };
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        spmvx_matrix *expected = NULL;
        test_data(names[i], path);
        assert_ok(host, spmvx_matrix_read(host, path, NULL, &expected));
        int refused = 0, taken = 0;
        for (size_t limit = 1 << 16; limit < (size_t)1 << 28; limit += limit / 4) {
            spmvx_matrix *m = NULL;
            spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
            o.max_bytes = limit;
            const spmvx_status s = spmvx_matrix_read(ctx, path, &o, &m);
            if (s == SPMVX_ERR_LIMIT) {
                assert_null(m);
                refused++;
                continue;
            }
            assert_ok(ctx, s);
            assert_same_csr(ctx, m, host, expected);
            spmvx_matrix_destroy(m);
            taken++;
        }
        assert_true(refused && taken);
        spmvx_matrix_destroy(expected);
    }
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
}

/* The transpose, of what lies here in several formats, is the host's bit for bit, and multiplies. */
static void test_transposed(void **state)
{
    (void)state;
    static const char *const kernels[] = { "csr-vector", "coo-balanced", "sell", "hyb" };
    problem p = problem_new();
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    spmvx_matrix *here = NULL, *there = NULL, *expected = NULL;
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    assert_ok(host, spmvx_matrix_create(host, &p.csr.arrays, 0, &there));
    assert_ok(host, spmvx_matrix_transpose(host, there, &expected));
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &here));
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        spmvx_matrix *A = convert_by(ctx, here, kernels[i], 0, 0, 0), *T = NULL, *again = NULL;
        assert_ok(ctx, spmvx_matrix_transpose(ctx, A, &T));
        assert_same_csr(ctx, T, host, expected);
        assert_ok(ctx, spmvx_matrix_transpose(ctx, T, &again));
        problem_run(ctx, &p, again);
        spmvx_matrix_destroy(again);
        spmvx_matrix_destroy(T);
        spmvx_matrix_destroy(A);
    }
    spmvx_matrix_destroy(here);
    spmvx_matrix_destroy(there);
    spmvx_matrix_destroy(expected);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* CSC has no kernel here that gives the same bits in every run, and slices of 8 rows have none at all: they
 * are sources. COO multiplies as it is. */
static void test_sources_only(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    spmvx_matrix *coo = case_coo(ctx, &p.t, SPMVX_F64), *narrow = NULL, *given = NULL, *refused = NULL;
    spmvx_matrix *on_host = NULL;
    void *dx = test_up(ctx, p.x, (size_t)p.t.ncols * 8), *dy = test_up(ctx, p.y, (size_t)p.t.nrows * 8);
    problem_run(ctx, &p, coo);
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    o.format = SPMVX_CSC;
    assert_ok(host, spmvx_matrix_convert(host, coo, &o, &on_host));
    assert_ok(host, spmvx_matrix_arrays(on_host, &v));
    assert_ok(ctx, spmvx_matrix_create(ctx, &v, 0, &given));
    assert_fails(SPMVX_ERR_UNSUPPORTED, "convert it", spmvx_mul(ctx, SPMVX_N, 1.0, given, dx, 0.0, dy));
    spmvx_matrix *A = convert_by(ctx, given, NULL, 0, 0, 0);
    problem_run(ctx, &p, A);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(given);
    spmvx_matrix_destroy(on_host);
    o.format = SPMVX_SELL;
    o.slice = 8;
    assert_ok(host, spmvx_matrix_convert(host, coo, &o, &narrow));
    assert_fails(SPMVX_ERR_UNSUPPORTED, "slice is 8; SELL takes multiples of 32 on CUDA",
                 spmvx_matrix_convert(ctx, coo, &o, &refused));
    assert_ok(host, spmvx_matrix_arrays(narrow, &v));
    assert_ok(ctx, spmvx_matrix_create(ctx, &v, 0, &given));
    assert_fails(SPMVX_ERR_UNSUPPORTED, "convert it", spmvx_mul(ctx, SPMVX_N, 1.0, given, dx, 0.0, dy));
    A = convert_by(ctx, given, "sell", 0, 0, 0); /* rebuilt, since the slice was not asked for */
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

/* x and y in managed and in pinned memory; and with the context's check, memory that the device does not
 * reach. */
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

/* Two matrices that one kernel multiplies, of which the second needs less of a block's shared memory. */
static void test_shared_memory_of_each(void **state)
{
    (void)state;
    enum { ROWS = 3, COLUMNS = 20000 };
    static const char *const kernels[] = { "tiled:width=16384", "tiled:width=8192" };
    static const int32_t ptr[] = { 0, 2, 3, 5 }, col[] = { 5, 19999, 7000, 16383, 16384 };
    static const double val[] = { 1, 2, 3, 4, 5 };
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL, *by[2];
    double *x = malloc(COLUMNS * sizeof *x), y[ROWS] = { 0 };
    assert_non_null(x);
    for (int i = 0; i < COLUMNS; i++) x[i] = i;
    a.format = SPMVX_CSR;
    a.nrows = ROWS;
    a.ncols = COLUMNS;
    a.nnz = 5;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    a.ptr_type = a.idx_type = SPMVX_I32;
    a.val_type = SPMVX_F64;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &m));
    for (int i = 0; i < 2; i++) by[i] = convert_by(ctx, m, kernels[i], 0, 0, 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.0, by[i], x, 0.0, y, ROWS, COLUMNS, sizeof *x));
        assert_true(y[0] == 5.0 + 2.0 * 19999 && y[1] == 3.0 * 7000 && y[2] == 4.0 * 16383 + 5.0 * 16384);
        spmvx_matrix_destroy(by[i]);
    }
    free(x);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
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

static void test_two_devices(void **state)
{
    (void)state;
    if (device_count() < 2) skip();
    problem p = problem_new();
    int now = -1;
    assert_cuda(cudaSetDevice(1));
    spmvx_context *zero = device_context(0, NULL, SPMVX_CONTEXT_CHECK),
                  *one = device_context(1, NULL, SPMVX_CONTEXT_CHECK);
    spmvx_matrix *m = NULL, *borrowed = NULL;
    assert_ok(zero, spmvx_matrix_create(zero, &p.csr.arrays, 0, &m));
    problem_run(zero, &p, m);
    assert_fails(SPMVX_ERR_PLACE, "device 0", spmvx_mul(one, SPMVX_N, 1.0, m, p.x, 0.0, p.y));
    spmvx_matrix *other = convert_by(one, m, "sell", 0, 0, 0);
    problem_run(one, &p, other);
    borrowed_arrays l = borrowed_new(&p); /* on device 1 */
    assert_fails(SPMVX_ERR_PLACE, "device 1", spmvx_matrix_create(zero, &l.arrays, SPMVX_BORROW, &borrowed));
    void *dx = test_up(zero, p.x, (size_t)p.t.ncols * 8), *dy = test_up(one, p.y, (size_t)p.t.nrows * 8);
    assert_fails(SPMVX_ERR_PLACE, "x is", spmvx_mul(one, SPMVX_N, 1.0, other, dx, 0.0, dy));
    spmvx_buffer_free(zero, dx);
    spmvx_buffer_free(one, dy);
    borrowed_free(&l);
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

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_given_from_anywhere),
        cmocka_unit_test(test_borrowed_values),
        cmocka_unit_test(test_sorted_as_on_the_host),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_sources_only),
        cmocka_unit_test(test_vectors_anywhere),
        cmocka_unit_test(test_shared_memory_of_each),
        cmocka_unit_test(test_pending_error),
        cmocka_unit_test(test_two_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) + device_kernels_run();
}
