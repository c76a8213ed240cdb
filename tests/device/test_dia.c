/* DIA by threads of one to four rows: diagonals in turns that are full or not, rows that end within those of
 * a block, with all places taken and with gaps; the bits are the same for any number of rows. And by parts of
 * a block that share the diagonals, some of which may have none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { SEED = 11 };

/* Diagonals at offsets that lie further and further apart, on both sides; of every `gap`-th row nothing. */
static problem stencil(int rows, int cols, int width, int gap)
{
    const size_t most = (size_t)rows * (size_t)width;
    triples t = { .name = "stencil", .nrows = rows, .ncols = cols };
    uint64_t seed = SEED;
    t.row = malloc(most * sizeof *t.row);
    t.col = malloc(most * sizeof *t.col);
    t.val = malloc(most * sizeof *t.val);
    for (int32_t r = 0; r < rows; r++)
        for (int d = 0; d < width; d++) {
            const int far = (d + 1) / 2, offset = (d % 2 ? -1 : 1) * far * far, col = r + offset;
            if (col < 0 || col >= cols || (gap && (r + d) % gap == 0)) continue;
            t.row[t.nnz] = r;
            t.col[t.nnz] = col;
            t.val[t.nnz++] = case_value(&seed);
        }
    return problem_of_triples(t, SEED + 1);
}

/* A*x by this kernel, to p->y. */
static void multiply(spmvx_context *ctx, problem *p, const spmvx_matrix *m, const char *kernel)
{
    const size_t ny = (size_t)p->t.nrows * sizeof *p->y;
    spmvx_matrix *A = convert_by(ctx, m, kernel, 0, 0, 0);
    void *dx = test_up(ctx, p->x, (size_t)p->t.ncols * sizeof *p->x), *dy = test_up(ctx, p->y, ny);
    problem_check_scaled(ctx, p, A, kernel);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
    assert_ok(ctx, spmvx_buffer_download(ctx, p->y, dy, ny));
    problem_check(p, p->y);
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    spmvx_matrix_destroy(A);
}

static void check_all(spmvx_context *ctx, problem p)
{
    const size_t ny = (size_t)p.t.nrows * sizeof *p.y;
    double *first = malloc(ny);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    multiply(ctx, &p, m, "dia:parts=1");
    memcpy(first, p.y, ny);
    for (int rows = 1; rows <= 4; rows++) {
        char kernel[64];
        snprintf(kernel, sizeof kernel, "dia:threads=%d,rows=%d", 32 << rows % 3, rows);
        multiply(ctx, &p, m, kernel);
        assert_memory_equal(p.y, first, ny);
    }
    for (int parts = 2; parts <= 8; parts *= 2) {
        char kernel[64];
        snprintf(kernel, sizeof kernel, "dia:threads=%d,parts=%d", 64 * parts, parts);
        multiply(ctx, &p, m, kernel);
    }
    free(first);
    spmvx_matrix_destroy(m);
    problem_free(&p);
}

static void test_widths(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int width = 1; width <= 17; width++) {
        check_all(ctx, stencil(500, 500, width, 0));
        check_all(ctx, stencil(333, 340, width, 3));
    }
    check_all(ctx, stencil(1000, 1000, 41, 3));
    spmvx_context_destroy(ctx);
}

static void test_shapes(void **state)
{
    (void)state;
    static const int rows[] = { 1, 31, 33, 64, 65, 127, 129, 255, 257, 511, 513 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_all(ctx, stencil(rows[i], 300, 7, 0));
        check_all(ctx, stencil(rows[i], 40, 5, 7));
    }
    spmvx_context_destroy(ctx);
}

/* Few rows are a thread's each, or several threads' where diagonals are many; of many rows the number of
 * diagonals decides. Parts have whole warps, and rows that are told rule them out. */
static void test_presets(void **state)
{
    (void)state;
    int multiprocessors = 0;
    assert_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    const int many = 3000 * multiprocessors, some = 1700 * multiprocessors;
    spmvx_context *ctx = device_context(0, NULL, 0);
    problem_check_name(ctx, stencil(200, 200, 5, 0), "dia", "dia:threads=128,rows=1,parts=1");
    problem_check_name(ctx, stencil(200, 200, 8, 0), "dia", "dia:threads=128,rows=1,parts=1");
    problem_check_name(ctx, stencil(200, 200, 9, 0), "dia", "dia:threads=128,rows=1,parts=2");
    problem_check_name(ctx, stencil(200, 200, 40, 0), "dia", "dia:threads=128,rows=1,parts=4");
    problem_check_name(ctx, stencil(200, 5000, 120, 0), "dia", "dia:threads=128,rows=1,parts=4");
    problem_check_name(ctx, stencil(200, 5000, 120, 0), "dia:threads=512", "dia:threads=512,rows=1,parts=8");
    if (test_is_emulated())
        problem_check_name(ctx, stencil(900, 900, 40, 0), "dia", "dia:threads=128,rows=1,parts=2");
    problem_check_name(ctx, stencil(200, 200, 40, 0), "dia:threads=64", "dia:threads=64,rows=1,parts=2");
    problem_check_name(ctx, stencil(200, 200, 40, 0), "dia:threads=32,parts=8",
                       "dia:threads=32,rows=1,parts=1");
    problem_check_name(ctx, stencil(200, 200, 40, 0), "dia:rows=2", "dia:threads=128,rows=2,parts=1");
    problem_check_name(ctx, stencil(many, many, 40, 0), "dia:parts=2", "dia:threads=128,rows=1,parts=2");
    problem_check_name(ctx, stencil(many, many, 3, 0), "dia", "dia:threads=128,rows=4,parts=1");
    problem_check_name(ctx, stencil(many, many, 5, 0), "dia", "dia:threads=128,rows=3,parts=1");
    problem_check_name(ctx, stencil(many, many, 7, 0), "dia", "dia:threads=128,rows=2,parts=1");
    problem_check_name(ctx, stencil(many, many, 8, 0), "dia", "dia:threads=128,rows=2,parts=1");
    problem_check_name(ctx, stencil(3 * many, 3 * many, 8, 0), "dia", "dia:threads=128,rows=4,parts=1");
    problem_check_name(ctx, stencil(some, some, 7, 0), "dia", "dia:threads=128,rows=1,parts=1");
    problem_check_name(ctx, stencil(some, some, 8, 0), "dia", "dia:threads=128,rows=2,parts=1");
    spmvx_context_destroy(ctx);
}

/* NaN and infinity in one row reach that row alone. */
static void test_special_values(void **state)
{
    (void)state;
    static const char *const kernels[] = { "dia:rows=1", "dia:rows=2",  "dia:rows=3",
                                           "dia:rows=4", "dia:parts=2", "dia:parts=4" };
    spmvx_context *ctx = device_context(0, NULL, 0);
    problem_run_special(ctx, stencil(300, 310, 6, 4), 130, sizeof kernels / sizeof *kernels, kernels);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
