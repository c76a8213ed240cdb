/* BSR of square blocks without gaps: sides of one to eight, with many threads and few, and block rows of as
 * many blocks as a warp takes at a time, fewer and more; blocks row by row and column by column, whose arrays
 * and x begin at any address, with the same bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { BLOCKS = 70, SIDES = 8, SEED = 3 };

static const int sides[] = { 2, 3, 4, 5, 6, 7, 8 };

/* Blocks of a block row: where blocks are small, two or three would be too few slots for a warp. */
static int length_of(int block_row)
{
    return block_row % 9 == 4 ? 32 : block_row % 9 == 7 ? 33 + block_row / 9 : 4 + block_row % 9;
}

/* A number of a block row's blocks, by their order. */
static int column_of(int block_row, int k)
{
    const int length = length_of(block_row), first = block_row % (BLOCKS - length + 1);
    return first + k;
}

static double value_of(int row, int col)
{
    uint64_t seed = SEED + (uint64_t)row * 1000 + (uint64_t)col;
    return (double)(float)case_value(&seed);
}

static void want_of(int side, const double *x, double *want)
{
    for (int r = 0; r < BLOCKS * side; r++) {
        want[r] = 0;
        for (int k = 0; k < length_of(r / side); k++)
            for (int c = column_of(r / side, k) * side, j = 0; j < side; j++)
                want[r] += value_of(r, c + j) * x[c + j];
    }
}

static void check_close(const char *what, int rows, const void *y, bool wide, const double *want)
{
    for (int i = 0; i < rows; i++) {
        const double came = wide ? ((const double *)y)[i] : (double)((const float *)y)[i];
        if (!(fabs(came - want[i]) < (wide ? 1e-12 : 1e-4)))
            fail_msg("%s: row %d is %g, not %g", what, i, came, want[i]);
    }
}

/* From entries, and by so many threads a block. */
static void test_threads(void **state)
{
    (void)state;
    static const int threads[] = { 32, 128, 512 };
    static double x[BLOCKS * SIDES], y[BLOCKS * SIDES], want[BLOCKS * SIDES];
    static float x32[BLOCKS * SIDES], y32[BLOCKS * SIDES];
    spmvx_context *ctx = device_context(0, NULL, 0);
    uint64_t seed = SEED;
    for (int i = 0; i < BLOCKS * SIDES; i++) x[i] = x32[i] = (float)case_value(&seed);
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
        const int n = sides[s], rows = BLOCKS * n;
        const size_t most = (size_t)rows * (size_t)rows;
        triples t = { .name = "full blocks", .nrows = rows, .ncols = rows };
        t.row = malloc(most * sizeof *t.row);
        t.col = malloc(most * sizeof *t.col);
        t.val = malloc(most * sizeof *t.val);
        for (int r = 0; r < rows; r++)
            for (int k = 0; k < length_of(r / n); k++)
                for (int j = 0; j < n; j++) {
                    t.row[t.nnz] = r;
                    t.col[t.nnz] = column_of(r / n, k) * n + j;
                    t.val[t.nnz] = value_of(r, t.col[t.nnz]);
                    t.nnz++;
                }
        want_of(n, x, want);
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
    }
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

typedef struct blocks {
    int side;
    spmvx_type type, ptr_type;
    spmvx_order order;
} blocks;

/* A*x, of arrays of the caller and an x that begin so many values behind a multiple of 256 bytes. */
static void multiply_at(spmvx_context *ctx, blocks b, size_t val_at, size_t x_at, const double *x, void *y)
{
    const size_t n = (size_t)b.side, rows = BLOCKS * n, size = b.type == SPMVX_F64 ? 8 : 4;
    int64_t ptr[BLOCKS + 1] = { 0 };
    int32_t ptr32[BLOCKS + 1], *col = malloc(BLOCKS * BLOCKS * sizeof *col);
    double *val = malloc(rows * rows * sizeof *val);
    for (int r = 0; r < BLOCKS; r++) {
        ptr[r + 1] = ptr[r] + length_of(r);
        for (int k = 0; k < length_of(r); k++) {
            col[ptr[r] + k] = column_of(r, k);
            for (int i = 0; i < b.side; i++)
                for (int j = 0; j < b.side; j++) {
                    const int slot = b.order == SPMVX_ROW_MAJOR ? i * b.side + j : j * b.side + i;
                    val[(ptr[r] + k) * b.side * b.side + slot] =
                        value_of(r * b.side + i, column_of(r, k) * b.side + j);
                }
        }
    }
    for (int r = 0; r <= BLOCKS; r++) ptr32[r] = (int32_t)ptr[r];
    const size_t values = (size_t)ptr[BLOCKS] * n * n;
    float *val32 = malloc(values * sizeof *val32), x32[BLOCKS * SIDES];
    for (size_t k = 0; k < values; k++) val32[k] = (float)val[k];
    for (size_t i = 0; i < rows; i++) x32[i] = (float)x[i];
    placed dptr =
               b.ptr_type == SPMVX_I64 ? place(ctx, ptr, sizeof ptr, 0) : place(ctx, ptr32, sizeof ptr32, 0),
           dcol = place(ctx, col, (size_t)ptr[BLOCKS] * sizeof *col, 0),
           dval = place(ctx, size == 8 ? (void *)val : val32, values * size, val_at * size),
           dx = place(ctx, size == 8 ? (const void *)x : x32, rows * size, x_at * size),
           dy = place(ctx, x, rows * size, 0);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_BSR;
    a.ptr_type = b.ptr_type;
    a.val_type = b.type;
    a.block_order = b.order;
    a.nrows = a.ncols = (int64_t)rows;
    a.nnz = (int64_t)values;
    a.block_rows = a.block_cols = b.side;
    a.ptr = dptr.data;
    a.col = dcol.data;
    a.val = dval.data;
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &m));
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, m, dx.data, 0.0, dy.data));
    assert_ok(ctx, spmvx_buffer_download(ctx, y, dy.data, rows * size));
    spmvx_matrix_destroy(m);
    spmvx_buffer_free(ctx, dptr.memory);
    spmvx_buffer_free(ctx, dcol.memory);
    spmvx_buffer_free(ctx, dval.memory);
    spmvx_buffer_free(ctx, dx.memory);
    spmvx_buffer_free(ctx, dy.memory);
    free(col);
    free(val);
    free(val32);
}

static void test_addresses(void **state)
{
    (void)state;
    static double x[BLOCKS * SIDES], want[BLOCKS * SIDES], first[BLOCKS * SIDES], y[BLOCKS * SIDES];
    spmvx_context *ctx = device_context(0, NULL, 0);
    uint64_t seed = SEED;
    for (int i = 0; i < BLOCKS * SIDES; i++) x[i] = (float)case_value(&seed);
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int how = 0; how < 4; how++) {
            blocks b = { .side = sides[s],
                         .type = how % 2 ? SPMVX_F64 : SPMVX_F32,
                         .ptr_type = how / 2 ? SPMVX_I64 : SPMVX_I32,
                         .order = SPMVX_ROW_MAJOR };
            const bool wide = b.type == SPMVX_F64;
            const int rows = BLOCKS * b.side;
            char what[64];
            want_of(b.side, x, want);
            multiply_at(ctx, b, 0, 0, x, first);
            snprintf(what, sizeof what, "blocks of %d, row by row", b.side);
            check_close(what, rows, first, wide, want);
            for (size_t at = 1; at < 4; at++) { /* of the values, of x, of both */
                multiply_at(ctx, b, at & 1, at >> 1, x, y);
                if (memcmp(y, first, (size_t)rows * (wide ? 8 : 4)) != 0)
                    fail_msg("%s: other bits at other addresses", what);
            }
            b.order = SPMVX_COLUMN_MAJOR;
            multiply_at(ctx, b, 0, 0, x, y);
            check_close("column by column", rows, y, wide, want);
        }
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads), cmocka_unit_test(test_addresses) };
    if (!device_count()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
