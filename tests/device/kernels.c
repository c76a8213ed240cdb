/* Of the kernels of a device what the walk's small matrices do not reach: the choice among them, their
 * parameters, long rows and rows that are cut between blocks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

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
        assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
        assert_ok(ctx, spmvx_matrix_get_info(A, &i));
        assert_true(strlen(i.reason) > 10);
        problem_run(ctx, &p, A);
        /* the context is back on the caller's stream */
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        problem_replay(ctx, &p, stream, dx, dy);
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

static const char *const merge_kernels[] = { "csr-merge-path", "csr-merge-path:run=1", "csr-merge-path:run=2",
                                             "csr-merge-path:run=5", "csr-merge-path:run=1024" };
enum { MERGE_KERNELS = sizeof merge_kernels / sizeof *merge_kernels };

/* Rows cut within a run and between runs. */
static void check_merge(spmvx_context *ctx, problem p)
{
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    for (int k = 0; k < MERGE_KERNELS; k++) {
        spmvx_matrix *A = convert_by(ctx, m, merge_kernels[k], 0, 0, 0);
        problem_run(ctx, &p, A);
        problem_run(ctx, &p, A); /* with what the first left in the workspace */
        spmvx_matrix_destroy(A);
    }
    spmvx_matrix_destroy(m);
    problem_free(&p);
}

/* Chosen is one of these kernels, as the device has it. */
static void check_choice(spmvx_context *ctx, int rows, const int *lengths, const char *kernel,
                         const char *other, const char *third)
{
    problem p = problem_of_rows(rows, lengths);
    spmvx_matrix *m = NULL, *A = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_CSR; /* SELL gains more or less by the size of the device */
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
    assert_ok(ctx, spmvx_matrix_get_info(A, &i));
    if (strncmp(i.kernel, kernel, strlen(kernel)) != 0 && strncmp(i.kernel, other, strlen(other)) != 0 &&
        strncmp(i.kernel, third, strlen(third)) != 0)
        fail_msg("%s, wanted %s: %s", i.kernel, kernel, i.reason);
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
    check_choice(ctx, ROWS, lengths, "csr-vector:", "csr-vector:", "csr-vector:");
    lengths[ROWS / 2] = 20000;
    check_choice(ctx, ROWS, lengths, "csr-adaptive", "csr-merge-path", "csr-vector-split");
    for (int r = 0; r < ROWS; r++) lengths[r] = 6 + r % 32;
    check_choice(ctx, ROWS / 3, lengths, "csr-vector:", "csr-vector:", "csr-vector:");
    spmvx_context_destroy(ctx);
}

/* The microseconds that the model tells, of rows whose columns are `step` from those of the row before. */
static double predicted(spmvx_context *ctx, int step)
{
    enum { ROWS = 16384, EACH = 32, NNZ = ROWS * EACH };
    int32_t *ptr = malloc((ROWS + 1) * sizeof *ptr), *col = malloc(NNZ * sizeof *col);
    double *val = calloc(NNZ, sizeof *val);
    for (int r = 0; r <= ROWS; r++) ptr[r] = r * EACH;
    for (int k = 0; k < NNZ; k++) col[k] = k / EACH * step % ROWS + k % EACH * ROWS;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.nrows = ROWS;
    a.ncols = a.nnz = NNZ;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    spmvx_matrix *m = NULL, *A = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &m));
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, NULL, &A));
    assert_ok(ctx, spmvx_matrix_get_info(A, &i));
    const char *at = strstr(i.reason, " us a multiplication");
    if (!at) fail_msg("%s", i.reason);
    while (at > i.reason && at[-1] != ' ') at--;
    const double us = strtod(at, NULL);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    free(ptr);
    free(col);
    free(val);
    return us;
}

/* The model knows whether neighbouring rows share sectors of x. (To TILED it is all the same.) */
static void test_sectors(void **state)
{
    (void)state;
    setenv("SPMVX_DISABLE", "tiled", 1);
    spmvx_context *ctx = device_context(0, NULL, 0);
    const double shared = predicted(ctx, 1), apart = predicted(ctx, 257);
    if (!(apart > 1.2 * shared))
        fail_msg("%g us where rows share sectors, %g where they do not", shared, apart);
    unsetenv("SPMVX_DISABLE");
    spmvx_context_destroy(ctx);
}

static void test_long_rows(void **state)
{
    (void)state;
    static const int longest[] = { 0,    1,    32,   33,   100,  128,  129,   300,   900,
                                   1024, 1025, 1152, 1153, 2500, 9000, 12000, 50000, 200000 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++) check_merge(ctx, problem_of(longest[i]));
    static const struct {
        int rows, from, to;
    } all[] = { { 400, 20, 300 }, { 60, 900, 1300 }, { 9, 3000, 9000 }, { 1, 99999, 100000 } };
    int lengths[400];
    uint64_t seed = 3;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (int r = 0; r < all[i].rows; r++)
            lengths[r] = all[i].from + (int)(case_random(&seed) % (uint64_t)(all[i].to - all[i].from));
        check_merge(ctx, problem_of_rows(all[i].rows, lengths));
    }
    /* a tile begins 128 entries behind the second, too */
    for (int n = 970; n < 1010; n++) check_merge(ctx, problem_of_rows(2, (const int[]){ n, 5000 }));
    int many[2000];
    for (int n = 795; n < 806; n++) { /* and 32 entries behind the long one, where most are short */
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
            if (values[v] == 0.0 ? y[LONG] != 0.0 : !isnan(y[LONG]))
                fail_msg("%s: x of %g gave %g", merge_kernels[k], values[v], y[LONG]);
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
    static const struct {
        const char *asked, *shown; /* NULL: as asked */
    } good[] = {
        { "csr-vector:lanes=2", NULL },
        { "csr-vector:lanes=4,threads=64", "csr-vector:lanes=4,threads=" },
        { "csr-vector:lanes=8,threads=1024", NULL },
        { "csr-vector:lanes=16", NULL },
        { "csr-vector:lanes=32", NULL },
        { "csr-vector:lanes=64", NULL },
        { "csr-vector:lanes=64,threads=64", "csr-vector:lanes=64,threads=" },
        { "sell:split=1,threads=32", NULL },
        { "sell:split=2", NULL },
        { "sell:split=4,threads=512", NULL },
        { "sell:split=32", NULL },
        { "sell:split=8,threads=64", "sell:split=8,threads=" },
        { "csr5:flags=u8", "csr5:omega=32,sigma=16,threads=128,flags=u8" },
        { "csr5:sigma=31,flags=u8,threads=32", "csr5:omega=32,sigma=31,threads=32,flags=u8" },
        { "csr5:sigma=8,flags=u8", "csr5:omega=32,sigma=8,threads=128,flags=u8" },
        { "csr5:r=3,s=12", "csr5:omega=32,sigma=12," }, /* the mean is 12 */
        { "csr5:r=14", "csr5:omega=32,sigma=14," },
        { "csr5:s=8", "csr5:omega=32,sigma=8," },
        { "csr5:r=4,s=8,t=9,u=5", "csr5:omega=32,sigma=5," },
        { "csr-rowblock:threads=64,width=16,least=1", NULL },
        { "csr-rowblock:threads=1024,width=256,least=1", NULL },
        { "csr-rowblock:threads=32,width=64,least=100000", NULL },
        { "csr-aligned:threads=128,lanes=16,pad=16,grid=proportional", NULL },
        { "csr-aligned:threads=32,lanes=32,pad=2,grid=fixed", NULL },
        { "csr-aligned:threads=64,lanes=64,pad=1,grid=fixed", NULL },
        { "csr-aligned:threads=1024,lanes=64,pad=256,grid=proportional", NULL },
        { "csr-vector:lanes=16,threads=32", NULL },
        { "coo-warp:threads=64,grid=proportional", NULL },
        { "csr-warp-buffer:threads=64,buffer=global,grid=proportional", NULL },
        { "csr-warp-buffer:threads=32,buffer=shared,grid=proportional", NULL },
        { "coo-balanced:run=64,threads=1024", NULL },
        { "csr-adaptive:items=2,cluster=4", NULL },
        { "csr-vector-split:lanes=2,steps=2,threads=32,cut=4,piece=32", NULL },
        { "csr-vector-split:lanes=2,steps=4,threads=1024,cut=10,piece=1000", NULL },
        { "csr-vector-split:lanes=4,cut=1048576,piece=1048576",
          "csr-vector-split:lanes=4,steps=4,threads=256,cut=1048576,piece=1048576" },
        { "csr-vector-split:lanes=8,piece=33",
          "csr-vector-split:lanes=8,steps=4,threads=256,cut=64,piece=33" },
        { "csr-vector-split:steps=2", "csr-vector-split:lanes=2,steps=2,threads=256,cut=16,piece=1024" },
        { "csr-shared-x:lanes=2,held=1", NULL },
        { "csr-shared-x:lanes=4,held=333,cluster=1", NULL },
        { "csr-shared-x:lanes=2,held=333,cluster=2", NULL },
        { "csr-shared-x:lanes=16,held=65536,cluster=2", "csr-shared-x:lanes=16,held=" },
        { "csr-shared-x:lanes=8,held=65536", "csr-shared-x:lanes=8,held=" },
        { "csr-shared-x:lanes=16,held=799", NULL },
        { "csr-shared-x:lanes=32", "csr-shared-x:lanes=32,held=" },
        { "csr-propagation:bands=31,step=32", NULL },
        { "csr-propagation:step=2048", "csr-propagation:bands=1,step=" },
        { "csr-adaptive:items=8,cluster=1", NULL },
        { "csr-merge-path3:threads=32,items=1", NULL },
        { "csr-merge-path3:threads=64,items=1000", NULL },
        { "packed:piece=64,values=raw,split=1,slices=1,unit=8,threads=32", NULL },
        { "packed:piece=64,values=raw,split=1,slices=4,unit=4,threads=64", NULL },
        { "packed:piece=64,values=raw,split=2,unit=4",
          "packed:piece=64,values=raw,split=2,slices=1,unit=4,threads=128" },
        { "packed:piece=64,values=raw,split=1,slices=16,unit=8,threads=256", NULL },
        { "packed:piece=64,values=raw,split=8,slices=2",
          "packed:piece=64,values=raw,split=8,slices=1,unit=8,threads=256" },
        { "packed:piece=8", "packed:piece=8,values=f32,split=" },
        { "tiled:width=64,columns=u16,values=raw,lanes=4,parts=3", NULL },
        { "tiled:width=64,lanes=2", "tiled:width=64,columns=u16,values=f32,lanes=2,parts=" },
        { "tiled:width=64,columns=delta,values=f32,lanes=8,parts=1", NULL },
        { "tiled:width=64,columns=u16,values=raw,lanes=1,parts=1,cluster=2",
          "tiled:width=64,columns=u16,values=raw,lanes=1,parts=1,cluster=1" },
        { "tiled:hot=37,values=raw,lanes=16,parts=2,cluster=2", NULL },
        { "tiled:hot=1,values=raw,lanes=1,parts=1,cluster=2", NULL },
        { "tiled:hot=500,values=f32,lanes=4,parts=2,cluster=2", NULL },
        { "tiled:hot=37,values=raw,lanes=16,parts=2,cluster=1", NULL },
        { "tiled:hot=1,values=raw,lanes=1,parts=1", NULL },
        { "tiled:hot=37", "tiled:hot=37,values=f32,lanes=" },
        { "tiled:hot=100,values=f32,lanes=32,parts=5", NULL },
    };
    static const char *const bad[] = {
        "csr-adaptive:items=3",
        "csr-vector-split:lanes=16",
        "csr-vector-split:lanes=4,steps=2",
        "csr-vector-split:steps=3",
        "csr-vector-split:threads=48",
        "csr-vector-split:cut=3",
        "csr-vector-split:piece=31",
        "csr-propagation:bands=32",
        "csr-propagation:step=31",
        "csr-propagation:run=2",
        "csr-shared-x:lanes=64",
        "csr-shared-x:held=65537",
        "csr-shared-x:cluster=3",
        "csr-adaptive:cluster=16",
        "csr-vector:lanes=3",
        "csr-vector:lanes=128",
        "csr-vector:threads=100",
        "csr-vector:rows=2",
        "sell:split=5",
        "packed:split=16",
        "packed:unit=16",
        "packed:piece=505",
        "packed:values=u32",
        "sell:threads=96",
        "csr-merge-path:chunk=1",
        "csr5:flags=u16",
        "csr5:r=33",
        "csr-rowblock:width=24",
        "csr-rowblock:width=8",
        "csr5:t=0",
        "csr-aligned:pad=12",
        "csr-aligned:lanes=8",
        "csr-aligned:grid=other",
        "csr-aligned:threads=32,lanes=64",
        "pkt:partition=none",
        "tiled:columns=u8",
        "tiled:cluster=4",
    };
    problem p = problem_of(6000);
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL, *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        const char *shown = good[i].shown ? good[i].shown : good[i].asked;
        A = convert_by(ctx, m, good[i].asked, 0, 0, 0);
        assert_ok(ctx, spmvx_matrix_get_info(A, &info));
        if (strncmp(info.kernel, shown, strlen(shown))) fail_msg("%s became %s", good[i].asked, info.kernel);
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

/* PACKED of which some steps have whole columns, others 16-bit offsets, in no order, and of which a row is
 * cut: the same bits however values are stored, and the right ones however many warps share a slice. */
static void test_mixed_columns(void **state)
{
    (void)state;
    enum { NROWS = 70, NCOLS = 200000, MOST = 1300 };
    triples t = { .name = "mixed columns", .nrows = NROWS, .ncols = NCOLS };
    t.row = malloc(NROWS * MOST * sizeof *t.row);
    t.col = malloc(NROWS * MOST * sizeof *t.col);
    t.val = malloc(NROWS * MOST * sizeof *t.val);
    double *x = malloc(NCOLS * sizeof *x), want[NROWS] = { 0 };
    uint64_t seed = 5;
    for (int i = 0; i < NCOLS; i++) x[i] = case_value(&seed);
    for (int r = 0; r < NROWS; r++)
        for (int k = 0; k < (r == 9 ? MOST : 30 + r); k++) {
            const bool far = k % 3 == 1 && case_random(&seed) % 2;
            t.row[t.nnz] = r;
            t.col[t.nnz] = far ? (int32_t)(case_random(&seed) % NCOLS) : 5 * k + r;
            t.val[t.nnz] = (double)(case_random(&seed) % 11) - 5;
            want[r] += t.val[t.nnz] * x[t.col[t.nnz]];
            t.nnz++;
        }
    spmvx_context *ctx = device_context(0, NULL, 0);
    csr_arrays csr = case_csr(&t, SPMVX_F64);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &csr.arrays, 0, &m));
    for (int split = 1; split <= 8; split *= 2) {
        static const char *const codes[] = { "raw", "u16", "u8", "f32", "i16" };
        double first[NROWS];
        for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
            double y[NROWS];
            char kernel[64];
            snprintf(kernel, sizeof kernel, "packed:split=%d,values=%s", split, codes[c]);
            spmvx_matrix *A = convert_by(ctx, m, kernel, 0, 0, 0);
            assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.0, A, x, 0.0, c ? y : first, NROWS, NCOLS, 8));
            for (int r = 0; r < NROWS; r++) {
                if (!(fabs(first[r] - want[r]) < 1e-9))
                    fail_msg("%s: row %d is %g, not %g", kernel, r, first[r], want[r]);
                if (c && memcmp(&y[r], &first[r], 8)) fail_msg("%s: other bits in row %d", kernel, r);
            }
            spmvx_matrix_destroy(A);
        }
    }
    spmvx_matrix_destroy(m);
    csr_free(&csr);
    spmvx_context_destroy(ctx);
    free(x);
    triples_free(&t);
}

/* PACKED of rows that share columns, in runs: with 2 by 10 and 3 by 8 its stream has as many bytes as one of
 * diagonals would; slices that are asked for at once are right all the same. */
static void test_shared_columns(void **state)
{
    (void)state;
    enum { ROWS = 512 };
    static const int alike[] = { 2, 3, 3, 5 }, runs[] = { 10, 8, 9, 30 };
    static const char *const kernels[] = { "packed:slices=1", "packed:slices=2", "packed:slices=4",
                                           "packed:split=4,values=raw" };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int lengths[ROWS];
        for (int r = 0; r < ROWS; r++) lengths[r] = runs[i];
        problem p = problem_of_rows(ROWS, lengths);
        int32_t *col = (int32_t *)(uintptr_t)p.csr.arrays.col;
        memset(p.want, 0, ROWS * sizeof *p.want);
        for (int64_t k = 0; k < p.t.nnz; k++) {
            const uint64_t of = (uint64_t)(p.t.row[k] / alike[i]);
            col[k] = (int32_t)(of * 2654435761u % (uint64_t)(p.t.ncols - runs[i]) + (uint64_t)(k % runs[i]));
            p.want[p.t.row[k]] += p.t.val[k] * p.x[col[k]];
        }
        spmvx_context *ctx = device_context(0, NULL, 0);
        spmvx_matrix *m = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            spmvx_matrix *A = convert_by(ctx, m, kernels[k], 0, 0, 0);
            problem_run(ctx, &p, A);
            spmvx_matrix_destroy(A);
        }
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
        problem_free(&p);
    }
}

/* PACKED of several rows that are cut into more pieces than a warp adds, side by side, and of many with one
 * entry more than a piece, which have more pieces than their entries alone would tell. */
static void test_many_pieces(void **state)
{
    (void)state;
    enum { ROWS = 1200 };
    int lengths[ROWS];
    for (int r = 0; r < ROWS; r++) lengths[r] = r < 40 && r % 8 == 3 ? 5000 + r : r % 8 == 4 ? 100 : 9;
    problem p = problem_of_rows(ROWS, lengths);
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    spmvx_matrix *A = convert_by(ctx, m, "packed:piece=8", 0, 0, 0);
    problem_run(ctx, &p, A);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* Packets of a square matrix, which METIS deals where it is built, follow updates, op T's, too. */
static void test_packets(void **state)
{
    (void)state;
    static const char *const kernels[] = { "pkt:packet=64", "pkt:packet=64,partition=order",
                                           "pkt:packet=8192" };
    enum { ROWS = 800 };
    int lengths[ROWS];
    uint64_t seed = 13;
    for (int r = 0; r < ROWS; r++) lengths[r] = r == 55 ? 700 : (int)(case_random(&seed) % 9);
    problem p = problem_of_rows(ROWS, lengths);
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    double *twice = malloc((size_t)p.t.nnz * sizeof *twice), before[ROWS], after[ROWS];
    for (int64_t k = 0; k < p.t.nnz; k++) twice[k] = 2 * ((const double *)p.csr.val)[k];
    void *there = test_up(ctx, twice, (size_t)p.t.nnz * 8), *dx = test_up(ctx, p.x, ROWS * 8),
         *dz = test_up(ctx, p.x, ROWS * 8);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        spmvx_matrix *A = convert_by(ctx, m, kernels[i], SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE, 0);
        problem_run(ctx, &p, A);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 1.0, A, dx, 0.0, dz));
        assert_ok(ctx, spmvx_buffer_download(ctx, before, dz, sizeof before));
        assert_ok(ctx, spmvx_matrix_update_values(ctx, A, there));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 1.0, A, dx, 0.0, dz));
        assert_ok(ctx, spmvx_buffer_download(ctx, after, dz, sizeof after));
        for (int64_t r = 0; r < ROWS; r++) {
            assert_true(fabs(after[r] - 2 * before[r]) < 1e-8);
            p.want[r] *= 2;
        }
        problem_run(ctx, &p, A);
        for (int64_t r = 0; r < ROWS; r++) p.want[r] /= 2;
        spmvx_matrix_destroy(A);
    }
    spmvx_buffer_free(ctx, there);
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dz);
    free(twice);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* Rows that are padded are a copy of the matrix: it is counted, and follows updates, in graphs, too, and of
 * the kept transpose; made of what is borrowed it is no longer the lender's. */
static void test_padded_rows(void **state)
{
    (void)state;
    problem p = problem_new();
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    spmvx_context *ctx = device_context(0, stream, 0);
    spmvx_matrix *m = NULL, *A = NULL, *plain = NULL;
    spmvx_matrix_info of_plain = SPMVX_MATRIX_INFO_INIT, info = SPMVX_MATRIX_INFO_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    plain = convert_by(ctx, m, "csr-aligned", SPMVX_OPS_N | SPMVX_OPS_T, 0, 0);
    A = convert_by(ctx, m, "csr-aligned:pad=16", SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE, 0);
    assert_ok(ctx, spmvx_matrix_get_info(plain, &of_plain));
    assert_ok(ctx, spmvx_matrix_get_info(A, &info));
    assert_true(info.bytes_held >= of_plain.bytes_held + (size_t)p.t.nnz * 12);
    double *twice = malloc((size_t)p.t.nnz * sizeof *twice);
    for (int64_t k = 0; k < p.t.nnz; k++) twice[k] = 2 * ((const double *)p.csr.val)[k];
    void *there = test_up(ctx, twice, (size_t)p.t.nnz * 8), *dx = test_up(ctx, p.x, (size_t)p.t.ncols * 8),
         *dy = test_up(ctx, p.y, (size_t)p.t.nrows * 8);
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    assert_ok(ctx, spmvx_matrix_update_values(ctx, A, there));
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
    for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] *= 2;
    problem_replay(ctx, &p, stream, dx, dy);
    problem_run(ctx, &p, A);
    double *before = calloc((size_t)p.t.ncols, sizeof *before), *after = calloc((size_t)p.t.ncols, 8);
    void *dz = test_up(ctx, before, (size_t)p.t.ncols * 8);
    for (int which = 0; which < 2; which++) {
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 1.0, which ? A : plain, dy, 0.0, dz));
        assert_ok(ctx, spmvx_buffer_download(ctx, which ? after : before, dz, (size_t)p.t.ncols * 8));
    }
    for (int64_t i = 0; i < p.t.ncols; i++) assert_true(fabs(after[i] - 2 * before[i]) < 1e-8);
    spmvx_matrix_destroy(A);
    free(before);
    free(after);

    spmvx_arrays lent = SPMVX_ARRAYS_INIT;
    spmvx_matrix *borrowed = NULL;
    assert_ok(ctx, spmvx_matrix_arrays(plain, &lent));
    assert_ok(ctx, spmvx_matrix_create(ctx, &lent, SPMVX_BORROW, &borrowed));
    assert_ok(ctx, spmvx_matrix_get_info(borrowed, &info));
    assert_true(info.flags & SPMVX_IS_BORROWED);
    o.kernel = "csr-aligned:pad=16";
    assert_ok(ctx, spmvx_matrix_convert(ctx, borrowed, &o, &A));
    assert_ok(ctx, spmvx_matrix_get_info(A, &info));
    assert_false(info.flags & SPMVX_IS_BORROWED);
    spmvx_matrix_destroy(borrowed);
    spmvx_matrix_destroy(plain); /* with the arrays */
    for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] /= 2;
    problem_run(ctx, &p, A);
    spmvx_matrix_destroy(A);
    spmvx_buffer_free(ctx, dz);
    spmvx_buffer_free(ctx, there);
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    free(twice);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    assert_cuda(cudaStreamDestroy(stream));
    problem_free(&p);
}

int device_kernels_run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timed_choice),  cmocka_unit_test(test_choice_by_the_model),
        cmocka_unit_test(test_sectors),       cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_long_rows),     cmocka_unit_test(test_cut_row_without_sum),
        cmocka_unit_test(test_padded_rows),   cmocka_unit_test(test_packets),
        cmocka_unit_test(test_mixed_columns), cmocka_unit_test(test_shared_columns),
        cmocka_unit_test(test_many_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
