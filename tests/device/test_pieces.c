/* Rows in pieces, and slices that share columns, where kernels take them in parts: TILED of several tiles
 * with x and widths at any multiple of a value, rows of more pieces than a group of lanes takes, and beta;
 * rows that are not cut, whose sums need no workspace; PACKED of runs of any length, near and far apart,
 * lanes of different lengths beside each other, and a table whose first value is infinite. Columns that no
 * row has hold NaN. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

/* y = A*x + y, with x and y so many values behind where an allocation begins. */
static void run(spmvx_context *ctx, const problem *p, const char *kernel, size_t off)
{
    const size_t nx = (size_t)p->t.ncols + off, ny = (size_t)p->t.nrows + off;
    double *x = malloc(nx * sizeof *x), *y = malloc(ny * sizeof *y);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p->csr.arrays, 0, &m));
    spmvx_matrix *A = convert_by(ctx, m, kernel, 0, 0, 0);
    for (size_t i = 0; i < off; i++) x[i] = NAN;
    memcpy(x + off, p->x, (size_t)p->t.ncols * sizeof *x);
    for (size_t r = 0; r < ny; r++) y[r] = (double)(r % 7);
    void *dx = test_up(ctx, x, nx * sizeof *x), *dy = test_up(ctx, y, ny * sizeof *y);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, (double *)dx + off, 1.0, (double *)dy + off));
    assert_ok(ctx, spmvx_buffer_download(ctx, y, dy, ny * sizeof *y));
    for (size_t r = off; r < ny; r++) {
        const double want = p->want[r - off] + (double)(r % 7);
        if (isfinite(want) ? !(fabs(y[r] - want) < 1e-9) : isfinite(y[r]))
            fail_msg("%s, %zu off: row %zu is %g, not %g", kernel, off, r - off, y[r], want);
    }
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    free(x);
    free(y);
}

static void test_tiles(void **state)
{
    static const char *const kernels[] = { "tiled:width=64,lanes=1,parts=1",
                                           "tiled:width=64,lanes=2,parts=3",
                                           "tiled:width=65,lanes=4,parts=2",
                                           "tiled:width=200,lanes=2",
                                           "tiled:width=200,columns=u16,parts=2",
                                           "tiled:width=200,columns=delta,parts=2",
                                           "tiled:width=800" };
    enum { ROWS = 90 };
    int lengths[ROWS];
    for (int r = 0; r < ROWS; r++) lengths[r] = r % 5 == 2 ? 400 + r : r % 3;
    problem p = problem_of_rows(ROWS, lengths);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (size_t off = 0; off < 3; off++) run(*state, &p, kernels[k], off);
    problem_free(&p);
}

typedef struct shape {
    int run, runs, alike; /* columns side by side, so many times in a row, and rows with the same */
    int64_t ncols;
} shape;

/* Rows of a shape, every other group of them a run or two shorter. Values are -1, but for one, which is
 * infinite, in row 1; or any. */
static problem problem_of_shape(const shape *s, bool table)
{
    enum { ROWS = 64 };
    const size_t most = (size_t)ROWS * (size_t)s->run * (size_t)s->runs;
    problem p = { .t = { .name = "shape", .nrows = ROWS, .ncols = s->ncols } };
    uint64_t seed = 9;
    p.t.row = malloc(most * sizeof *p.t.row);
    p.t.col = malloc(most * sizeof *p.t.col);
    p.t.val = malloc(most * sizeof *p.t.val);
    p.x = malloc((size_t)s->ncols * sizeof *p.x);
    p.y = calloc(ROWS, sizeof *p.y);
    p.want = calloc(ROWS, sizeof *p.want);
    for (int64_t c = 0; c < s->ncols; c++) p.x[c] = NAN;
    const bool far = s->ncols > UINT16_MAX;
    /* a run begins within each of these; or a group's columns do */
    const int64_t apart = s->ncols / (far ? ROWS / s->alike + 1 : s->runs);
    for (int32_t r = 0; r < ROWS; r++) {
        const int64_t group = r / s->alike, runs = s->runs - (s->runs > 2 ? group % 3 : 0);
        for (int64_t i = 0; i < runs; i++) {
            const int64_t first =
                far ? group * apart + i * (s->run + 3) : i * apart + group * 7919 % (apart - s->run + 1);
            for (int u = 0; u < s->run; u++) {
                const int64_t c = first + u;
                if (isnan(p.x[c])) p.x[c] = case_value(&seed);
                p.t.row[p.t.nnz] = r;
                p.t.col[p.t.nnz] = (int32_t)c;
                p.t.val[p.t.nnz++] = !table ? case_value(&seed) : r == 1 && !i && !u ? INFINITY : -1.0;
            }
        }
    }
    p.csr = case_csr(&p.t, SPMVX_F64);
    for (int64_t k = 0; k < p.t.nnz; k++) p.want[p.t.row[k]] += p.t.val[k] * p.x[p.t.col[k]];
    return p;
}

static void test_shapes(void **state)
{
    static const char *const kernels[] = { "packed:split=1", "packed:split=4,unit=4",
                                           "packed:split=2,unit=8" };
    static const shape shapes[] = { { 1, 40, 8, 900 },    { 2, 30, 4, 900 },   { 3, 27, 3, 900 },
                                    { 9, 9, 3, 900 },     { 7, 12, 4, 900 },   { 10, 10, 4, 900 },
                                    { 50, 9, 2, 1800 },   { 500, 1, 8, 900 },  { 1, 40, 8, 400000 },
                                    { 3, 27, 3, 400000 }, { 8, 9, 4, 400000 }, { 25, 5, 2, 400000 } };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int table = 0; table < 2; table++) {
            problem p = problem_of_shape(&shapes[s], table);
            for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) run(*state, &p, kernels[k], 0);
            problem_free(&p);
        }
}

static problem rows_alike(int rows, int length)
{
    int *lengths = malloc((size_t)rows * sizeof *lengths);
    for (int r = 0; r < rows; r++) lengths[r] = length;
    problem p = problem_of_rows(rows, lengths);
    free(lengths);
    return p;
}

/* Lanes that add up a row's pieces: as many as there are for few rows of several pieces, some of which may
 * have more than others; of many rows as the mean has it, and one of those in one piece. */
static void test_lanes(void **state)
{
    const int many = test_is_emulated() ? 3000 : 200000; /* for an emulated device of two multiprocessors */
    problem_check_name(*state, rows_alike(40, 600), "tiled:width=64,columns=u16,values=raw",
                       "tiled:width=64,columns=u16,values=raw,lanes=32,parts=1,cluster=1");
    problem_check_name(*state, rows_alike(many, 3), "tiled:width=64,columns=u16,values=raw",
                       "tiled:width=64,columns=u16,values=raw,lanes=1,parts=1,cluster=1");
    problem_check_name(*state, rows_alike(40, 20), "tiled:width=800,columns=u16,values=raw",
                       "tiled:width=800,columns=u16,values=raw,lanes=1,parts=1,cluster=1");
}

static size_t bytes_held(const spmvx_context *ctx)
{
    spmvx_context_info info = SPMVX_CONTEXT_INFO_INIT;
    assert_ok(ctx, spmvx_context_get_info(ctx, &info));
    return info.bytes_held;
}

/* Multiplies, and uses workspace, or none. Frees the problem. */
static void check_workspace(spmvx_context *ctx, problem p, const char *kernel, bool some)
{
    assert_ok(ctx, spmvx_context_trim(ctx));
    const size_t before = bytes_held(ctx);
    run(ctx, &p, kernel, 0);
    if ((bytes_held(ctx) > before) != some)
        fail_msg("%s on %d rows uses %s", kernel, (int)p.t.nrows, some ? "no workspace" : "workspace");
    problem_free(&p);
}

static problem rows_with(int rows, int length, int other)
{
    int *lengths = malloc((size_t)rows * sizeof *lengths);
    for (int r = 0; r < rows; r++) lengths[r] = r == rows / 2 || r == rows - 1 ? other : length;
    problem p = problem_of_rows(rows, lengths);
    free(lengths);
    return p;
}

/* Of several tiles each row reaches one. */
static problem rows_in_tiles(int rows, int length, int width)
{
    triples t = { .name = "in tiles", .nrows = rows, .ncols = 3 * width + 5 };
    const size_t nnz = (size_t)rows * (size_t)length;
    uint64_t seed = 11;
    t.row = malloc(nnz * sizeof *t.row);
    t.col = malloc(nnz * sizeof *t.col);
    t.val = malloc(nnz * sizeof *t.val);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < length; i++) {
            t.row[t.nnz] = r;
            t.col[t.nnz] = r % 4 * width + (int32_t)(case_random(&seed) % (r % 4 == 3 ? 5 : (unsigned)width));
            t.val[t.nnz++] = case_value(&seed);
        }
    return problem_of_triples(t, seed);
}

/* The sums of rows of one segment stay in a block, also where others have none, if there is room for them; of
 * rows of several they do not. */
static void test_kept(void **state)
{
    const int many = test_is_emulated() ? 3000 : 200000;
    check_workspace(*state, rows_alike(300, 20), "tiled:width=800", false);
    check_workspace(*state, rows_alike(300, 20), "tiled:width=800,parts=3,columns=u16", false);
    check_workspace(*state, rows_alike(300, 20), "tiled:width=400", true);
    check_workspace(*state, rows_alike(many, 3), "tiled:width=800,parts=1", false);
    check_workspace(*state, rows_alike(many, 3), "tiled:width=800,parts=64", true);
    check_workspace(*state, rows_with(300, 20, 0), "tiled:width=800,parts=2", false);
    check_workspace(*state, rows_with(40, 0, 5), "tiled:width=800", false);
    check_workspace(*state, rows_with(300, 20, 255), "tiled:width=800", false);
    check_workspace(*state, rows_with(300, 20, 256), "tiled:width=800", true);
    check_workspace(*state, rows_in_tiles(90, 7, 64), "tiled:width=64", false);
    check_workspace(*state, rows_in_tiles(90, 7, 65), "tiled:width=65,columns=delta,parts=2", false);
    check_workspace(*state, rows_in_tiles(90, 7, 64), "tiled:width=65", true);
}

static int open_device(void **state)
{
    *state = device_context(0, NULL, 0);
    return 0;
}

static int close_device(void **state)
{
    spmvx_context_destroy(*state);
    return 0;
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tiles, open_device, close_device),
        cmocka_unit_test_setup_teardown(test_shapes, open_device, close_device),
        cmocka_unit_test_setup_teardown(test_lanes, open_device, close_device),
        cmocka_unit_test_setup_teardown(test_kept, open_device, close_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
