/* What each kernel of a device does beside the walk's products: conversions from every format and back,
 * graphs, several columns, new values, contexts at the same time, the state of the workspace, wisdom. The
 * kernels are the registry's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chosen.h"
#include "core/context.h" /* the blocks of a context */
#include "device.h"

enum { KERNELS = 64 };
static chosen_kernel kernels[KERNELS];
static int count;

/* Formats that sort a row's entries, and add repeats up, as of the tests' matrix; AUTO never takes them
 * for it. */
static bool adds_repeats(spmvx_format f)
{
    return f == SPMVX_DIA || f == SPMVX_BSR;
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
    for (spmvx_format f = SPMVX_COO; f <= SPMVX_PKT; f++) {
        if (adds_repeats(f)) continue;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        spmvx_matrix *m = NULL;
        o.format = f;
        o.max_bytes = SIZE_MAX;
        assert_ok(host, spmvx_matrix_convert(host, csr, &o, &m));
        for (int k = 0; k < count; k++) {
            spmvx_matrix *A = convert_by(ctx, m, kernels[k].name, 0, 0, 0), *back = NULL;
            spmvx_arrays v = SPMVX_ARRAYS_INIT;
            problem_run(ctx, &p, A);
            o.format = SPMVX_CSR;
            assert_ok(host, spmvx_matrix_convert(host, A, &o, &back));
            assert_ok(host, spmvx_matrix_arrays(back, &v));
            assert_int_equal(v.place, SPMVX_HOST);
            if (!adds_repeats(kernels[k].format)) {
                assert_memory_equal(v.col, p.csr.col, (size_t)p.t.nnz * 4);
                assert_memory_equal(v.val, p.csr.val, (size_t)p.t.nnz * 8);
            }
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

/* A multiplication neither allocates nor synchronises, so that a graph takes it, and replays with what x
 * holds then. */
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
    for (int k = 0; k < count; k++) {
        spmvx_matrix *A = convert_by(ctx, m, kernels[k].name, SPMVX_OPS_N | SPMVX_OPS_T, 0, 0);
        assert_ok(ctx, spmvx_mul_prepare(ctx, A, SPMVX_T, 1));
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 0.5, A, dy, 0.0, dx));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 0.0, A, dx, 1.0, dy));
        problem_replay(ctx, &p, stream, dx, dy);
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
    double *X = calloc(MOST * LDX, sizeof *X), *Y = malloc(MOST * LDY * sizeof *Y),
           *back = malloc(MOST * LDY * sizeof *back);
    for (int j = 0; j < MOST; j++)
        for (int64_t i = 0; i < p.t.ncols; i++) X[j * LDX + i] = p.x[i] * (j + 1);
    for (int i = 0; i < MOST * LDY; i++) Y[i] = 7;
    void *dx = test_up(ctx, X, MOST * LDX * sizeof *X), *dy = test_up(ctx, Y, MOST * LDY * sizeof *Y);
    for (int k = 0; k < count; k++) {
        spmvx_matrix *A = convert_by(ctx, m, kernels[k].name, 0, 0, MOST);
        for (int nvec = 0; nvec <= MOST; nvec += nvec < 9 ? 1 : 5) {
            assert_ok(ctx, spmvx_buffer_upload(ctx, dy, Y, MOST * LDY * sizeof *Y));
            assert_ok(ctx, spmvx_mul_multi(ctx, SPMVX_N, 2.0, A, nvec, dx, LDX, -1.0, dy, LDY));
            assert_ok(ctx, spmvx_buffer_download(ctx, back, dy, MOST * LDY * sizeof *back));
            for (int j = 0; j < MOST; j++)
                for (int i = 0; i < LDY; i++) {
                    const double want = j < nvec && i < p.t.nrows ? 2 * (j + 1) * p.want[i] - 7 : 7;
                    if (!(fabs(back[j * LDY + i] - want) < 1e-8))
                        fail_msg("%s: row %d of column %d of %d is %g, not %g", kernels[k].name, i, j, nvec,
                                 back[j * LDY + i], want);
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
    void *there = test_up(ctx, thrice, (size_t)p.t.nnz * 8),
         *was = test_up(ctx, p.t.val, (size_t)p.t.nnz * 8);
    void *dx = test_up(ctx, p.x, (size_t)p.t.ncols * 8), *dy = test_up(ctx, p.y, (size_t)p.t.nrows * 8),
         *dz = test_up(ctx, p.x, (size_t)p.t.ncols * 8);
    for (int k = 0; k < count; k++) {
        double before[800], after[800];
        spmvx_matrix *A =
                         convert_by(ctx, coo, kernels[k].name, SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE, 0),
                     *copy = NULL;
        problem_run(ctx, &p, A);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 1.0, A, dy, 0.0, dz));
        assert_ok(ctx, spmvx_buffer_download(ctx, before, dz, (size_t)p.t.ncols * 8));
        assert_ok(ctx, spmvx_matrix_update_values(ctx, A, there));
        for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] *= 3;
        problem_run(ctx, &p, A);
        if (!adds_repeats(kernels[k].format)) {
            copy = convert_by(ctx, A, "sell", 0, SPMVX_UPDATABLE, 0); /* whose order comes from A's map */
            problem_run(ctx, &p, copy);
        }
        for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] /= 3;
        if (copy) {
            assert_ok(ctx, spmvx_matrix_update_values(ctx, copy, was));
            problem_run(ctx, &p, copy);
        }
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

/* Two contexts multiply by the same matrix at the same time, each several times in a row. */
static void test_two_contexts(void **state)
{
    (void)state;
    enum { CONTEXTS = 2, TIMES = 4 };
    problem p = problem_new();
    const size_t nx = (size_t)p.t.ncols * 8, ny = (size_t)p.t.nrows * 8;
    cudaStream_t stream[CONTEXTS];
    spmvx_context *ctx[CONTEXTS];
    void *dx[CONTEXTS], *dy[CONTEXTS][TIMES];
    spmvx_matrix *m = NULL;
    for (int c = 0; c < CONTEXTS; c++) {
        assert_cuda(cudaStreamCreateWithFlags(&stream[c], cudaStreamNonBlocking));
        ctx[c] = device_context(0, stream[c], 0);
        dx[c] = test_up(ctx[c], p.x, nx);
        for (int i = 0; i < TIMES; i++) dy[c][i] = test_up(ctx[c], p.y, ny);
    }
    assert_ok(ctx[0], spmvx_matrix_create(ctx[0], &p.csr.arrays, 0, &m));
    for (int k = 0; k < count; k++) {
        spmvx_matrix *A = convert_by(ctx[0], m, kernels[k].name, 0, 0, 0);
        for (int c = 0; c < CONTEXTS; c++) assert_ok(ctx[c], spmvx_mul_prepare(ctx[c], A, SPMVX_N, 1));
        for (int i = 0; i < TIMES; i++)
            for (int c = 0; c < CONTEXTS; c++)
                assert_ok(ctx[c], spmvx_mul(ctx[c], SPMVX_N, 1.0, A, dx[c], 0.0, dy[c][i]));
        for (int c = 0; c < CONTEXTS; c++)
            for (int i = 0; i < TIMES; i++) {
                assert_ok(ctx[c], spmvx_buffer_download(ctx[c], p.y, dy[c][i], ny));
                problem_check(&p, p.y);
            }
        spmvx_matrix_destroy(A);
    }
    spmvx_matrix_destroy(m);
    for (int c = 0; c < CONTEXTS; c++) {
        spmvx_buffer_free(ctx[c], dx[c]);
        for (int i = 0; i < TIMES; i++) spmvx_buffer_free(ctx[c], dy[c][i]);
        spmvx_context_destroy(ctx[c]);
        assert_cuda(cudaStreamDestroy(stream[c]));
    }
    problem_free(&p);
}

/* Fills the context's workspace with NaN: nothing is promised of what it holds. */
static void poison_workspace(spmvx_context *ctx)
{
    for (const spx_block *b = ctx->blocks; b; b = b->next) {
        unsigned char *bytes = malloc(b->memory->bytes);
        memset(bytes, 0xff, b->memory->bytes);
        assert_ok(ctx, spmvx_buffer_upload(ctx, b->memory->data, bytes, b->memory->bytes));
        free(bytes);
    }
}

/* No multiplication reads of its workspace what it has not written, whatever its rows: few and long ones,
 * many, none. */
static void test_workspace(void **state)
{
    (void)state;
    static const int longest[] = { 0, 40, 3000, 60000 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t n = 0; n < sizeof longest / sizeof *longest; n++) {
        problem p = problem_of(longest[n]);
        spmvx_matrix *m = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
        for (int k = 0; k < count; k++) {
            if (!strcmp(kernels[k].name, "ell") && longest[n] > 10000) continue; /* all rows as long */
            spmvx_matrix *A = convert_by(ctx, m, kernels[k].name, 0, 0, 0);
            poison_workspace(ctx);
            problem_run(ctx, &p, A);
            poison_workspace(ctx);
            problem_run(ctx, &p, A);
            spmvx_matrix_destroy(A);
        }
        spmvx_matrix_destroy(m);
        problem_free(&p);
    }
    spmvx_context_destroy(ctx);
}

/* ---- wisdom ---- */

enum { TEXT = 4096, NAMES = 1024 };

/* Rules out the other kernels for one vector of the place. */
static void leave(const char *name)
{
    char list[NAMES] = "";
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.operation != SPMVX_MUL || k.place != test_place() || !strcmp(k.name, name)) continue;
        assert_true(strlen(list) + strlen(k.name) + 2 < sizeof list);
        strcat(strcat(list, k.name), ",");
    }
    setenv("SPMVX_DISABLE", list, 1);
}

static void export_to(spmvx_context *ctx, char text[TEXT])
{
    size_t length = TEXT;
    assert_ok(ctx, spmvx_wisdom_export(ctx, text, &length));
}

static uint32_t allowed; /* what has to be, for AUTO to take the kernel */

static void allow(int k)
{
    allowed = kernels[k].same_bits ? 0 : SPMVX_ALLOW_NONDETERMINISTIC;
}

/* A conversion by AUTO; *info is the result's, and valid as long. */
static spmvx_matrix *convert_auto(spmvx_context *ctx, const spmvx_matrix *m, int32_t effort, uint32_t ops,
                                  spmvx_matrix_info *info)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *A = NULL;
    o.effort = effort;
    o.ops = ops;
    o.flags = allowed;
    o.max_bytes = MOST_BYTES;
    *info = (spmvx_matrix_info)SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
    assert_ok(ctx, spmvx_matrix_get_info(A, info));
    return A;
}

/* The sums of the columns. */
static void check_transposed(spmvx_context *ctx, const problem *p, const spmvx_matrix *A)
{
    double want[800] = { 0 }, ones[700], sums[800];
    for (int64_t k = 0; k < p->t.nnz; k++) want[p->t.col[k]] += p->t.val[k];
    for (int64_t r = 0; r < p->t.nrows; r++) ones[r] = 1;
    assert_ok(ctx, mul_there(ctx, SPMVX_T, 1.0, A, ones, 0.0, sums, p->t.ncols, p->t.nrows, 8));
    for (int64_t i = 0; i < p->t.ncols; i++)
        if (!(fabs(sums[i] - want[i]) < 1e-9)) fail_msg("column %d: %g, not %g", (int)i, sums[i], want[i]);
}

/* In a context that knows nothing else the text decides the next conversion, which gives the kernel `want`
 * (NULL: one of the name) and the right results. What that context exports goes to `out`. */
static void use_wisdom(const problem *p, const char *text, uint32_t ops, const char *name, const char *want,
                       char out[TEXT])
{
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix_info info;
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p->csr.arrays, 0, &m));
    assert_ok(ctx, spmvx_wisdom_import(ctx, text, strlen(text)));
    spmvx_matrix *A = convert_auto(ctx, m, 0, ops, &info);
    if (!strstr(info.reason, "wisdom") || strncmp(info.kernel, name, strlen(name)) != 0 ||
        (want && strcmp(info.kernel, want) != 0))
        fail_msg("'%s' for %s: %s, %s", text, want ? want : name, info.kernel, info.reason);
    const char *slice = strstr(text, " slice=");
    if (want && slice) { /* one line's layout, of what has a view */
        spmvx_arrays v = SPMVX_ARRAYS_INIT;
        const spmvx_status s = spmvx_matrix_arrays(A, &v);
        if (s == SPMVX_OK || info.format != SPMVX_PACKED) assert_ok(ctx, s);
        if (s == SPMVX_OK) assert_int_equal(v.slice, strtol(slice + strlen(" slice="), NULL, 10));
    }
    problem_run(ctx, p, A);
    if (ops & SPMVX_OPS_T) check_transposed(ctx, p, A);
    export_to(ctx, out);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
}

/* What is learned with only one kernel left is the next conversion's in a context that imports it, and what
 * that exports is worth the same. */
static void test_wisdom_learned(void **state)
{
    (void)state;
    static const uint32_t ops[] = { SPMVX_OPS_N, SPMVX_OPS_N | SPMVX_OPS_T };
    problem p = problem_new();
    for (int k = 0; k < count; k++)
        for (size_t o = 0; o < sizeof ops / sizeof *ops && !adds_repeats(kernels[k].format); o++) {
            char text[TEXT], again[TEXT], third[TEXT];
            spmvx_matrix_info info;
            spmvx_matrix *m = NULL;
            spmvx_context *ctx = device_context(0, NULL, 0);
            assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
            leave(kernels[k].name);
            allow(k);
            spmvx_matrix *A = convert_auto(ctx, m, 2, ops[o], &info);
            unsetenv("SPMVX_DISABLE");
            if (strncmp(info.kernel, kernels[k].name, strlen(kernels[k].name)) != 0 ||
                !strstr(info.reason, "timed"))
                fail_msg("%s is left, and %s taken: %s", kernels[k].name, info.kernel, info.reason);
            problem_run(ctx, &p, A);
            if (ops[o] & SPMVX_OPS_T) check_transposed(ctx, &p, A);
            export_to(ctx, text);
            use_wisdom(&p, text, ops[o], kernels[k].name, o ? NULL : info.kernel, again);
            assert_string_equal(text, again);
            use_wisdom(&p, again, ops[o], kernels[k].name, o ? NULL : info.kernel, third);
            assert_string_equal(text, third);
            spmvx_matrix_destroy(A);
            spmvx_matrix_destroy(m);
            spmvx_context_destroy(ctx);
        }
    problem_free(&p);
}

/* Advice that somebody wrote: the name that info shows, with the layout beside it, in place of what the line
 * said. */
static void test_wisdom_advised(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    spmvx_matrix_info info;
    char text[TEXT], line[TEXT], out[TEXT];
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    allowed = 0;
    spmvx_matrix_destroy(convert_auto(ctx, m, 2, 0, &info));
    export_to(ctx, text);
    char *arrow = strstr(text, " -> ");
    assert_true(arrow && strchr(arrow, '\n')[1] == 0);
    for (int k = 0; k < count; k++) {
        if (adds_repeats(kernels[k].format)) continue;
        info = (spmvx_matrix_info)SPMVX_MATRIX_INFO_INIT;
        allow(k);
        spmvx_matrix *A = convert_by(ctx, m, kernels[k].name, 0, 0, 0);
        assert_ok(ctx, spmvx_matrix_get_info(A, &info));
        const char *layout = info.format == SPMVX_SELL ? " slice=64 sigma=128" : "";
        snprintf(line, sizeof line, "%.*s -> %s%s\n", (int)(arrow - text), text, info.kernel, layout);
        use_wisdom(&p, line, 0, kernels[k].name, info.kernel, out);
        assert_string_equal(line, out);
        spmvx_matrix_destroy(A);
    }
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* Lines that leave the layout open, or ask for what is not here: taken or passed over, and the conversion's
 * result is right. */
static void test_wisdom_harms_nothing(void **state)
{
    (void)state;
    static const char *const layouts[] = {
        "",         " slice=8 sigma=1", " slice=32",  " sigma=7", " slice=65536 sigma=1", " slice=33 sigma=1",
        " slice=0", " sigma=0",         " slice=-32", " width=7"
    };
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    spmvx_matrix_info info;
    char text[TEXT], line[TEXT];
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    allowed = 0;
    spmvx_matrix_destroy(convert_auto(ctx, m, 2, 0, &info));
    export_to(ctx, text);
    const char *arrow = strstr(text, " -> ");
    for (int k = 0; k < count; k++)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
            snprintf(line, sizeof line, "%.*s -> %.64s%s\n", (int)(arrow - text), text, kernels[k].name,
                     layouts[l]);
            assert_ok(ctx, spmvx_wisdom_import(ctx, line, strlen(line)));
            spmvx_matrix *A = convert_auto(ctx, m, 0, 0, &info);
            spmvx_arrays v = SPMVX_ARRAYS_INIT;
            if (spmvx_matrix_arrays(A, &v) == SPMVX_OK && v.slice % 32)
                fail_msg("'%s' made slices of %d rows", strstr(line, " -> "), (int)v.slice);
            problem_run(ctx, &p, A);
            spmvx_matrix_destroy(A);
        }
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

static int each_kernel(const char *only)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats_there_and_back), cmocka_unit_test(test_graph),
        cmocka_unit_test(test_several_columns),        cmocka_unit_test(test_new_values),
        cmocka_unit_test(test_two_contexts),           cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_wisdom_learned),         cmocka_unit_test(test_wisdom_advised),
        cmocka_unit_test(test_wisdom_harms_nothing),
    };
    count = choose_kernels(only, kernels, KERNELS);
    return count ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

int main(int argc, char **argv)
{
    return run_for_kernels(argc, argv, each_kernel);
}
