/* BSR of square blocks without gaps: sides of two to eight, with many threads and few, block rows of as many
 * blocks as a warp takes at a time, fewer and more, and few block rows a warp and many; blocks row by row and
 * column by column, whose arrays and x begin at any address, with the same bits; scaled, captured before
 * anything else, and one multiplication after the other. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { BLOCKS = 70, BAND = 5, SIDES = 8, SEED = 3 };

static const int sides[] = { 2, 3, 4, 5, 6, 7, 8 };

/* Blocks of a block row, of so many. Where blocks are small, two or three would be too few slots for a
 * warp. */
static int length_of(int block_rows, int r)
{
    if (block_rows != BLOCKS) return BAND;
    return r % 9 == 4 ? 32 : r % 9 == 7 ? 33 + r / 9 : 4 + r % 9;
}

/* Where the first of a block row's blocks lies; the others follow side by side. */
static int first_of(int block_rows, int r)
{
    const int last = block_rows - length_of(block_rows, r);
    if (block_rows == BLOCKS) return r % (last + 1);
    return r < 2 ? 0 : r - 2 < last ? r - 2 : last;
}

static double value_of(int row, int col)
{
    return (row * 7 + col * 5) % 61 / 64.0 - 0.4;
}

/* x, and the product. */
static double *x_of(int rows)
{
    double *x = malloc((size_t)rows * sizeof *x);
    uint64_t seed = SEED;
    for (int i = 0; i < rows; i++) x[i] = (float)case_value(&seed);
    return x;
}

static double *want_of(int side, int block_rows, const double *x)
{
    const int rows = block_rows * side;
    double *want = calloc((size_t)rows, sizeof *want);
    for (int r = 0; r < rows; r++) {
        const int from = first_of(block_rows, r / side) * side,
                  to = from + length_of(block_rows, r / side) * side;
        for (int c = from; c < to; c++) want[r] += (double)(float)value_of(r, c) * x[c];
    }
    return want;
}

static void check_close(const char *what, int rows, const void *y, bool wide, const double *want)
{
    for (int i = 0; i < rows; i++) {
        const double came = wide ? ((const double *)y)[i] : (double)((const float *)y)[i];
        if (!(fabs(came - want[i]) < (wide ? 1e-11 : 1e-3)))
            fail_msg("%s: row %d is %g, not %g", what, i, came, want[i]);
    }
}

/* From entries, and by so many threads a block. */
static void test_threads(void **state)
{
    (void)state;
    static const int threads[] = { 32, 128, 512 };
    static double y[BLOCKS * SIDES];
    static float x32[BLOCKS * SIDES], y32[BLOCKS * SIDES];
    spmvx_context *ctx = device_context(0, NULL, 0);
    double *x = x_of(BLOCKS * SIDES);
    for (int i = 0; i < BLOCKS * SIDES; i++) x32[i] = (float)x[i];
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
        const int n = sides[s], rows = BLOCKS * n;
        const size_t most = (size_t)rows * (size_t)rows;
        double *want = want_of(n, BLOCKS, x);
        triples t = { .name = "full blocks", .nrows = rows, .ncols = rows };
        t.row = malloc(most * sizeof *t.row);
        t.col = malloc(most * sizeof *t.col);
        t.val = malloc(most * sizeof *t.val);
        for (int r = 0; r < rows; r++)
            for (int k = 0; k < length_of(BLOCKS, r / n) * n; k++) {
                t.row[t.nnz] = r;
                t.col[t.nnz] = first_of(BLOCKS, r / n) * n + k;
                t.val[t.nnz] = (double)(float)value_of(r, t.col[t.nnz]);
                t.nnz++;
            }
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
            const bool wide = type == SPMVX_F64;
            spmvx_matrix *m = case_coo(ctx, &t, type);
            for (size_t h = 0; h < sizeof threads / sizeof *threads; h++) {
                char kernel[64];
                snprintf(kernel, sizeof kernel, "bsr:block_rows=%d,block_cols=%d,threads=%d", n, n,
                         threads[h]);
                spmvx_matrix *A = convert_by(ctx, m, kernel, 0, 0, 0);
                assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.0, A, wide ? (void *)x : x32, 0.0,
                                         wide ? (void *)y : y32, rows, rows, wide ? 8 : 4));
                check_close(kernel, rows, wide ? (void *)y : y32, wide, want);
                spmvx_matrix_destroy(A);
            }
            spmvx_matrix_destroy(m);
        }
        triples_free(&t);
        free(want);
    }
    free(x);
    spmvx_context_destroy(ctx);
}

/* What was copied to `at` bytes behind the start of memory of its own. */
typedef struct placed {
    void *memory;
    char *data;
} placed;

static placed place(spmvx_context *ctx, const void *from, size_t bytes, size_t at)
{
    placed p;
    char *padded = calloc(1, bytes + at);
    memcpy(padded + at, from, bytes);
    p.memory = test_up(ctx, padded, bytes + at);
    p.data = (char *)p.memory + at;
    free(padded);
    return p;
}

/* A vector in the matrix's type. */
static placed place_vector(spmvx_context *ctx, const double *x, int n, bool wide, size_t at)
{
    float *x32 = malloc((size_t)n * sizeof *x32);
    for (int i = 0; i < n; i++) x32[i] = (float)x[i];
    const size_t size = wide ? 8 : 4;
    const placed p = place(ctx, wide ? (const void *)x : x32, (size_t)n * size, at * size);
    free(x32);
    return p;
}

/* A matrix in arrays of the caller, whose values, and x, begin so many values behind a multiple of 256
 * bytes. */
typedef struct blocks {
    int side, block_rows;
    bool wide, long_pointers, by_columns;
    size_t val_at, x_at;
} blocks;

typedef struct lent {
    spmvx_matrix *A;
    placed ptr, col, val;
} lent;

static lent lend(spmvx_context *ctx, blocks b)
{
    const int n = b.side, slots = n * n;
    int64_t *ptr = calloc((size_t)b.block_rows + 1, sizeof *ptr), k = 0;
    for (int r = 0; r < b.block_rows; r++) ptr[r + 1] = ptr[r] + length_of(b.block_rows, r);
    const size_t all = (size_t)ptr[b.block_rows], pointers = (size_t)b.block_rows + 1;
    int32_t *col = malloc(all * sizeof *col), *ptr32 = malloc(pointers * sizeof *ptr32);
    double *val = malloc(all * (size_t)slots * sizeof *val);
    for (size_t r = 0; r < pointers; r++) ptr32[r] = (int32_t)ptr[r];
    for (int r = 0; r < b.block_rows; r++)
        for (int j = 0; j < length_of(b.block_rows, r); j++, k++) {
            col[k] = first_of(b.block_rows, r) + j;
            for (int s = 0; s < slots; s++) {
                const int i = b.by_columns ? s % n : s / n, c = b.by_columns ? s / n : s % n;
                val[k * slots + s] = (double)(float)value_of(r * n + i, col[k] * n + c);
            }
        }
    lent l = { .ptr = b.long_pointers ? place(ctx, ptr, pointers * sizeof *ptr, 0)
                                      : place(ctx, ptr32, pointers * sizeof *ptr32, 0),
               .col = place(ctx, col, all * sizeof *col, 0),
               .val = place_vector(ctx, val, (int)k * slots, b.wide, b.val_at) };
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_BSR;
    a.ptr_type = b.long_pointers ? SPMVX_I64 : SPMVX_I32;
    a.val_type = b.wide ? SPMVX_F64 : SPMVX_F32;
    a.block_order = b.by_columns ? SPMVX_COLUMN_MAJOR : SPMVX_ROW_MAJOR;
    a.nrows = a.ncols = (int64_t)b.block_rows * n;
    a.nnz = k * slots;
    a.block_rows = a.block_cols = n;
    a.ptr = l.ptr.data;
    a.col = l.col.data;
    a.val = l.val.data;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &l.A));
    free(ptr);
    free(ptr32);
    free(col);
    free(val);
    return l;
}

static void give_back(spmvx_context *ctx, lent *l)
{
    spmvx_matrix_destroy(l->A);
    spmvx_buffer_free(ctx, l->ptr.memory);
    spmvx_buffer_free(ctx, l->col.memory);
    spmvx_buffer_free(ctx, l->val.memory);
}

static void multiply(spmvx_context *ctx, blocks b, const double *x, void *y)
{
    const int rows = b.block_rows * b.side;
    lent l = lend(ctx, b);
    placed dx = place_vector(ctx, x, rows, b.wide, b.x_at), dy = place_vector(ctx, x, rows, b.wide, 0);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, l.A, dx.data, 0.0, dy.data));
    assert_ok(ctx, spmvx_buffer_download(ctx, y, dy.data, (size_t)rows * (b.wide ? 8 : 4)));
    give_back(ctx, &l);
    spmvx_buffer_free(ctx, dx.memory);
    spmvx_buffer_free(ctx, dy.memory);
}

static void test_addresses(void **state)
{
    (void)state;
    static double first[BLOCKS * SIDES], y[BLOCKS * SIDES];
    spmvx_context *ctx = device_context(0, NULL, 0);
    double *x = x_of(BLOCKS * SIDES);
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int how = 0; how < 4; how++) {
            blocks b = { .side = sides[s], .block_rows = BLOCKS, .wide = how % 2, .long_pointers = how / 2 };
            const int rows = BLOCKS * b.side;
            double *want = want_of(b.side, BLOCKS, x);
            multiply(ctx, b, x, first);
            check_close("row by row", rows, first, b.wide, want);
            for (size_t at = 1; at < 8; at++) {
                b.val_at = at & 1;
                b.x_at = at >> 1 & 1;
                b.by_columns = at >> 2;
                multiply(ctx, b, x, y);
                if (memcmp(y, first, (size_t)rows * (b.wide ? 8 : 4)) != 0)
                    fail_msg("blocks of %d: other bits at addresses %zu", b.side, at);
            }
            free(want);
        }
    free(x);
    spmvx_context_destroy(ctx);
}

/* So many block rows that a warp has some; so many that there are not all warps at once; and, on a GPU, more
 * than L2 holds. */
static void test_many(void **state)
{
    (void)state;
    static const int even[] = { 2, 4, 6, 8 };
    int multiprocessors = 0;
    assert_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    const int counts[] = { 350 * multiprocessors, 1060 * multiprocessors };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t s = 0; s < sizeof even / sizeof *even; s++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            const blocks b = { .side = even[s], .block_rows = counts[c], .wide = true };
            const int rows = b.block_rows * b.side;
            double *x = x_of(rows), *want = want_of(b.side, b.block_rows, x),
                   *y = malloc((size_t)rows * sizeof *y);
            multiply(ctx, b, x, y);
            check_close("many block rows", rows, y, true, want);
            free(x);
            free(want);
            free(y);
        }
    spmvx_context_destroy(ctx);
}

/* The first that is done with a matrix: captured, launched twice, with x at any address. */
static void check_captured(blocks b, const double *x, const double *want)
{
    const int rows = b.block_rows * b.side;
    const size_t size = b.wide ? 8 : 4;
    void *y = malloc((size_t)rows * size);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    assert_cuda(cudaStreamCreate(&stream));
    spmvx_context *ctx = device_context(0, stream, 0);
    lent l = lend(ctx, b);
    placed dx = place_vector(ctx, x, rows, b.wide, b.x_at), dy = place_vector(ctx, x, rows, b.wide, 0);
    assert_ok(ctx, spmvx_context_synchronize(ctx));
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, l.A, dx.data, 0.0, dy.data));
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
    for (int again = 0; again < 2; again++) {
        memset(y, 0xff, (size_t)rows * size);
        assert_ok(ctx, spmvx_buffer_upload(ctx, dy.data, y, (size_t)rows * size));
        assert_cuda(cudaGraphLaunch(ready, stream));
        assert_ok(ctx, spmvx_buffer_download(ctx, y, dy.data, (size_t)rows * size));
        check_close("captured", rows, y, b.wide, want);
    }
    assert_cuda(cudaGraphExecDestroy(ready));
    assert_cuda(cudaGraphDestroy(graph));
    give_back(ctx, &l);
    spmvx_buffer_free(ctx, dx.memory);
    spmvx_buffer_free(ctx, dy.memory);
    spmvx_context_destroy(ctx);
    assert_cuda(cudaStreamDestroy(stream));
    free(y);
}

/* y = 2.5*A*x - 3*y; and each multiplication of what the one before it wrote, which it may not read too
 * early: with and without waiting for each. */
static void check_sequence(spmvx_context *ctx, blocks b, const double *x, const double *want)
{
    enum { TIMES = 12 };
    const int rows = b.block_rows * b.side;
    const size_t bytes = (size_t)rows * (b.wide ? 8 : 4);
    double *scaled = malloc((size_t)rows * sizeof *scaled), *y = malloc((size_t)rows * sizeof *y),
           *waited = malloc((size_t)rows * sizeof *waited);
    lent l = lend(ctx, b);
    placed v[2] = { place_vector(ctx, x, rows, b.wide, b.x_at), place_vector(ctx, x, rows, b.wide, 0) };
    for (int i = 0; i < rows; i++) scaled[i] = 2.5 * want[i] - 3.0 * x[i];
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 2.5, l.A, v[0].data, -3.0, v[1].data));
    assert_ok(ctx, spmvx_buffer_download(ctx, y, v[1].data, bytes));
    check_close("scaled", rows, y, b.wide, scaled);
    for (int wait = 0; wait < 2; wait++) {
        placed start = place_vector(ctx, x, rows, b.wide, 0);
        assert_cuda(cudaMemcpy(v[0].data, start.data, bytes, cudaMemcpyDeviceToDevice));
        for (int k = 0; k < TIMES; k++) {
            assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 0.01, l.A, v[k % 2].data, 0.0, v[(k + 1) % 2].data));
            if (wait) assert_ok(ctx, spmvx_context_synchronize(ctx));
        }
        assert_ok(ctx, spmvx_buffer_download(ctx, wait ? waited : y, v[TIMES % 2].data, bytes));
        spmvx_buffer_free(ctx, start.memory);
    }
    assert_memory_equal(y, waited, bytes);
    give_back(ctx, &l);
    spmvx_buffer_free(ctx, v[0].memory);
    spmvx_buffer_free(ctx, v[1].memory);
    free(scaled);
    free(y);
    free(waited);
}

static void test_sequences(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    double *x = x_of(BLOCKS * SIDES);
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int how = 0; how < 4; how++) {
            const blocks b = {
                .side = sides[s], .block_rows = BLOCKS, .wide = how % 2, .x_at = (size_t)how / 2
            };
            double *want = want_of(b.side, BLOCKS, x);
            check_captured(b, x, want);
            check_sequence(ctx, b, x, want);
            free(want);
        }
    free(x);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    /* first of all what is captured before its kernel was ever launched */
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sequences), cmocka_unit_test(test_threads),
                                        cmocka_unit_test(test_addresses), cmocka_unit_test(test_many) };
    if (!device_count()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
