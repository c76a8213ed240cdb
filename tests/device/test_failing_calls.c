/* On the emulator: the N-th call of the runtime fails, for every N up to 60 and some beyond, in every
 * public function that reaches it. Each time there is a status with a message, nothing leaks, handles
 * work on or can be destroyed, and no error stays pending. */
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "simt.h"

enum { SMALL_CASE = 15 }; /* 63 x 65, 500 entries in no order */
enum { IN_RUNS = 19500 }; /* bytes that hold some of the rows of a product at once */

typedef struct scene {
    problem p;
    borrowed_arrays borrowed;
    spmvx_context *ctx;
    spmvx_matrix *csr, *coo, *turned, *wide, *thin, *tall, *band, *sell, *merge, *made;
    const char *kernel; /* that build() asks for */
    void *x, *y, *val;
} scene;

static spmvx_matrix *case_on_device(spmvx_context *ctx, const triples *t)
{
    csr_arrays a = case_csr(t, SPMVX_F64);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a.arrays, 0, &m));
    csr_free(&a);
    return m;
}

/* TALL rows, of which each begins so far from the one before, and has so many entries in a run. */
enum { TALL = 600, MOST_OF_ROW = 3 };
static spmvx_matrix *tall_new(spmvx_context *ctx, int64_t ncols, int32_t apart, int32_t each)
{
    int32_t row[TALL * MOST_OF_ROW], col[TALL * MOST_OF_ROW];
    double val[TALL * MOST_OF_ROW];
    triples t = { "tall", TALL, ncols, 0, row, col, val };
    for (int32_t i = 0; i < TALL; i++)
        for (int32_t c = i * apart % (int32_t)ncols, k = 0; k < each && c + k < ncols; k++) {
            row[t.nnz] = i;
            col[t.nnz] = c + k;
            val[t.nnz++] = i;
        }
    return case_on_device(ctx, &t);
}

enum { EACH = 60 }; /* calls that are tried one by one */

static scene scene_new(void)
{
    scene s = { .p = problem_new() };
    s.borrowed = borrowed_new(&s.p);
    s.ctx = device_context(0, NULL, SPMVX_CONTEXT_CHECK);
    assert_ok(s.ctx, spmvx_matrix_create(s.ctx, &s.p.csr.arrays, 0, &s.csr));
    s.sell = convert_by(s.ctx, s.csr, "sell", SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE, 3);
    triples few = case_make(SMALL_CASE);
    s.coo = case_coo(s.ctx, &few, SPMVX_F64);
    const triples turned = { "turned", few.ncols, few.nrows, few.nnz, few.col, few.row, few.val };
    triples wide = turned;
    wide.ncols = 5000; /* not thin */
    s.turned = case_coo(s.ctx, &turned, SPMVX_F64);
    s.thin = case_on_device(s.ctx, &turned);
    s.tall = tall_new(s.ctx, turned.nrows, 7, 1);
    s.band = tall_new(s.ctx, TALL, 1, MOST_OF_ROW);
    s.wide = case_coo(s.ctx, &wide, SPMVX_F64);
    triples_free(&few);
    s.merge = convert_by(s.ctx, s.csr, "csr-merge-path", 0, 0, 0);
    s.x = test_up(s.ctx, s.p.x, 800 * 8);
    s.y = test_up(s.ctx, s.p.y, 700 * 8);
    s.val = test_up(s.ctx, s.p.csr.val, (size_t)s.p.t.nnz * 8);
    return s;
}

static void scene_free(scene *s)
{
    spmvx_buffer_free(s->ctx, s->x);
    spmvx_buffer_free(s->ctx, s->y);
    spmvx_buffer_free(s->ctx, s->val);
    spmvx_matrix_destroy(s->csr);
    spmvx_matrix_destroy(s->coo);
    spmvx_matrix_destroy(s->turned);
    spmvx_matrix_destroy(s->wide);
    spmvx_matrix_destroy(s->thin);
    spmvx_matrix_destroy(s->tall);
    spmvx_matrix_destroy(s->band);
    spmvx_matrix_destroy(s->sell);
    spmvx_matrix_destroy(s->merge);
    spmvx_context_destroy(s->ctx);
    borrowed_free(&s->borrowed);
    problem_free(&s->p);
}

static spmvx_status open_another(scene *s)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    (void)s;
    o.place = SPMVX_CUDA;
    const spmvx_status status = spmvx_context_create(&o, &ctx);
    spmvx_context_destroy(ctx);
    return status;
}

static spmvx_status give(scene *s)
{
    return spmvx_matrix_create(s->ctx, &s->p.csr.arrays, 0, &s->made);
}
static spmvx_status give_device(scene *s)
{
    return spmvx_matrix_create(s->ctx, &s->borrowed.arrays, 0, &s->made);
}
static spmvx_status lend(scene *s)
{
    return spmvx_matrix_create(s->ctx, &s->borrowed.arrays, SPMVX_BORROW, &s->made);
}
static spmvx_status lend_trusted(scene *s)
{
    return spmvx_matrix_create(s->ctx, &s->borrowed.arrays, SPMVX_BORROW | SPMVX_TRUST, &s->made);
}

static spmvx_status convert_with(scene *s, const char *kernel, int32_t effort, uint32_t ops, uint32_t flags)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = kernel;
    o.effort = effort;
    o.ops = ops;
    o.flags = flags;
    return spmvx_matrix_convert(s->ctx, s->csr, &o, &s->made);
}

static spmvx_status to_sell(scene *s)
{
    return convert_with(s, "sell", 0, SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE);
}
static spmvx_status to_merge(scene *s)
{
    return convert_with(s, "csr-merge-path", 0, 0, 0);
}
static spmvx_status to_vector(scene *s)
{
    return convert_with(s, "csr-vector", 0, SPMVX_OPS_N | SPMVX_OPS_T, 0);
}
static spmvx_status by_model(scene *s)
{
    return convert_with(s, NULL, 0, 0, 0);
}
static spmvx_status by_timing(scene *s)
{
    return convert_with(s, NULL, 1, 0, 0);
}
/* From an unsorted COO, so that CSR has to be built as well; and a multiplication. */
static spmvx_status build(scene *s)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = s->kernel;
    o.max_bytes = MOST_BYTES;
    spmvx_status status = spmvx_matrix_convert(s->ctx, s->coo, &o, &s->made);
    if (status != SPMVX_OK) return status;
    status = spmvx_mul(s->ctx, SPMVX_N, 2.5, s->made, s->x, 1.0, s->y);
    if (status == SPMVX_OK) return status;
    spmvx_matrix_destroy(s->made);
    s->made = NULL;
    return status;
}
/* With the transpose and maps. */
static spmvx_status build_all(scene *s)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_HYB;
    o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
    o.flags = SPMVX_UPDATABLE;
    return spmvx_matrix_convert(s->ctx, s->coo, &o, &s->made);
}
static spmvx_status turn(scene *s)
{
    return spmvx_matrix_transpose(s->ctx, s->sell, &s->made);
}
static spmvx_status multiply_thin(scene *s)
{
    return spmspm_mul(s->ctx, s->coo, s->turned, NULL, &s->made);
}
static spmvx_status multiply_wide(scene *s)
{
    return spmspm_mul(s->ctx, s->coo, s->wide, NULL, &s->made);
}
/* Rows of B are put together with their values for it. */
static spmvx_status multiply_tall(scene *s)
{
    return spmspm_mul(s->ctx, s->tall, s->thin, NULL, &s->made);
}
static spmspm_options in_runs(void)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.max_workspace = IN_RUNS;
    o.kernel = "hash";
    return o;
}
static spmvx_status multiply_in_runs(scene *s)
{
    const spmspm_options o = in_runs();
    return spmspm_mul(s->ctx, s->tall, s->thin, &o, &s->made);
}
/* All rows at once, as a plan has them, want more. */
static void check_runs(void)
{
    scene s = scene_new();
    const spmspm_options o = in_runs();
    spmspm_plan *plan = NULL;
    assert_fails(SPMVX_ERR_LIMIT, "max_workspace", spmspm_plan_create(s.ctx, s.tall, s.thin, &o, &plan));
    assert_ok(s.ctx, multiply_in_runs(&s));
    spmvx_matrix_destroy(s.made);
    scene_free(&s);
}
/* The plans that follow list the products, so that what this takes fails in turn, too. */
static spmvx_status plan_of(const scene *s, const spmvx_matrix *A, const spmvx_matrix *B, const char *kernel,
                            spmspm_plan **out)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.kernel = kernel;
    return spmspm_plan_create(s->ctx, A, B, &o, out);
}
static void check_plan(const scene *s, const spmvx_matrix *A, const spmvx_matrix *B, const char *asked,
                       const char *kernel, const char *reason)
{
    spmspm_plan *plan = NULL;
    spmspm_info i = SPMSPM_INFO_INIT;
    assert_ok(s->ctx, plan_of(s, A, B, asked, &plan));
    assert_ok(s->ctx, spmspm_plan_get_info(plan, &i));
    assert_string_equal(i.kernel, kernel);
    assert_non_null(strstr(i.reason, reason));
    spmspm_plan_destroy(plan);
}
static void check_plans(void)
{
    scene s = scene_new();
    check_plan(&s, s.coo, s.wide, NULL, "hash", "lists of their multiplications");
    check_plan(&s, s.tall, s.thin, NULL, "thin", "lists of their multiplications");
    slow_memory(s.ctx);
    check_plan(&s, s.band, s.band, "hash", "hash", "rows of one shape");
    scene_free(&s);
}
/* A plan, C of it, and once more; C is nobody's where the last call fails. */
static spmvx_status plan_and_refill_of(scene *s, const spmvx_matrix *A, const spmvx_matrix *B,
                                       const char *kernel)
{
    spmspm_plan *plan = NULL;
    spmvx_status status = plan_of(s, A, B, kernel, &plan);
    if (status == SPMVX_OK) status = spmspm_plan_mul(s->ctx, plan, A, B, &s->made);
    if (status == SPMVX_OK) status = spmspm_plan_refill(s->ctx, plan, A, B, s->made);
    spmspm_plan_destroy(plan);
    if (status != SPMVX_OK) {
        spmvx_matrix_destroy(s->made);
        s->made = NULL;
    }
    return status;
}
static spmvx_status plan_and_refill(scene *s)
{
    return plan_and_refill_of(s, s->coo, s->wide, NULL);
}
static spmvx_status plan_thin(scene *s)
{
    return plan_and_refill_of(s, s->tall, s->thin, NULL);
}
/* Rows of one shape, which few products are worth where memory is slow. */
static spmvx_status plan_by_shapes(scene *s)
{
    slow_memory(s->ctx);
    return plan_and_refill_of(s, s->band, s->band, "hash");
}
static spmvx_status multiply(scene *s)
{
    return spmvx_mul(s->ctx, SPMVX_N, 1.0, s->sell, s->x, 0.0, s->y);
}
static spmvx_status multiply_merge(scene *s)
{
    return spmvx_mul(s->ctx, SPMVX_N, 1.0, s->merge, s->x, 0.0, s->y);
}
static spmvx_status multiply_turned(scene *s)
{
    return spmvx_mul(s->ctx, SPMVX_T, 1.0, s->sell, s->y, 0.0, s->x);
}
static spmvx_status multiply_columns(scene *s)
{
    return spmvx_mul_multi(s->ctx, SPMVX_N, 1.0, s->sell, 1, s->x, 800, 0.0, s->y, 700);
}
static spmvx_status scale(scene *s)
{
    return spmvx_mul(s->ctx, SPMVX_N, 0.0, s->sell, s->x, 0.5, s->y);
}
static spmvx_status renew(scene *s)
{
    return spmvx_matrix_update_values(s->ctx, s->sell, s->val);
}
static spmvx_status wait(scene *s)
{
    return spmvx_context_synchronize(s->ctx);
}
static spmvx_status trim(scene *s)
{
    return spmvx_context_trim(s->ctx);
}
static spmvx_status upload(scene *s)
{
    return spmvx_buffer_upload(s->ctx, s->x, s->p.x, 800 * 8);
}
static spmvx_status download(scene *s)
{
    return spmvx_buffer_download(s->ctx, s->p.y, s->y, 700 * 8);
}
static spmvx_status write_file(scene *s)
{
    return spmvx_matrix_write(s->ctx, s->sell, "/dev/null", NULL);
}

static spmvx_status allocate(scene *s)
{
    void *p = NULL;
    const spmvx_status status = spmvx_buffer_alloc(s->ctx, 1000, &p);
    spmvx_buffer_free(s->ctx, p);
    return status;
}

static spmvx_status multiply_elsewhere(scene *s)
{
    spmvx_context *ctx = device_context(0, NULL, 0);
    const spmvx_status status = spmvx_mul(ctx, SPMVX_N, 1.0, s->merge, s->x, 0.0, s->y);
    spmvx_context_destroy(ctx);
    return status;
}

static spmvx_status to_host(scene *s)
{
    spmvx_context *host = NULL;
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    const spmvx_status status = spmvx_matrix_convert(host, s->sell, NULL, &s->made);
    spmvx_matrix_destroy(s->made);
    s->made = NULL;
    spmvx_context_destroy(host);
    return status;
}

/* Fails the n-th call of the runtime, for n up to so many. Were all tried? The last ended before it. */
static bool fail_each(scene *s, spmvx_status (*call)(scene *), cudaError_t error, long most)
{
    const char *const name = s->kernel;
    /* Of many calls not every one is tried. */
    for (long n = 1; n <= most; n += n > EACH ? 1 + n / 10 : 1) {
        const simt_live before = simt_live_now();
        simt_fail_call(n, error, 0);
        const spmvx_status status = call(s);
        const bool done = simt_calls() < n; /* it ended before the n-th */
        simt_fail_call(0, cudaSuccess, 0);
        if (done && status != SPMVX_OK) fail_msg("%s failed by itself: %s", name, spmvx_last_error(NULL));
        if (status != SPMVX_OK) {
            if (status != SPMVX_ERR_DEVICE && status != SPMVX_ERR_MEMORY)
                fail_msg("%s, call %ld: status %d, %s", name, n, (int)status, spmvx_last_error(NULL));
            if (strlen(spmvx_last_error(NULL)) < 10) fail_msg("%s, call %ld: no message", name, n);
            if (s->made) fail_msg("%s, call %ld: failed, and gave a matrix", name, n);
        }
        if (cudaPeekAtLastError() != cudaSuccess)
            fail_msg("%s, call %ld: left %s pending", name, n, cudaGetErrorName(cudaPeekAtLastError()));
        spmvx_matrix_destroy(s->made);
        s->made = NULL;
        if (call == build || call == build_all)
            spmvx_context_trim(s->ctx); /* what is reserved for multiplications */
        const simt_live after = simt_live_now();
        if (after.allocations > before.allocations + (status == SPMVX_OK && call == multiply_elsewhere) ||
            after.streams != before.streams || after.pools != before.pools)
            fail_msg("%s, call %ld: %zu allocations, %zu before", name, n, after.allocations,
                     before.allocations);
        if (done && n < 3) fail_msg("%s made %ld calls", name, n - 1);
        if (done) return true;
    }
    return false;
}

/* Twice, since code that has been loaded is not loaded again: calls behind that come sooner the next time, so
 * that some would be missed. */
static void sweep(const char *name, spmvx_status (*call)(scene *), cudaError_t error)
{
    scene s = scene_new();
    s.kernel = name;
    spmvx_context_trim(s.ctx);
    if (call != multiply_elsewhere && call != trim)
        assert_ok(s.ctx, spmvx_mul_prepare(s.ctx, s.merge, SPMVX_N, 1));
    if (!fail_each(&s, call, error, 20000)) fail_msg("%s: no end of calls", name);
    fail_each(&s, call, error, EACH);
    problem_run(s.ctx, &s.p, s.merge);
    scene_free(&s);
}

static void test_sweep(void **state)
{
    (void)state;
    const simt_live before = simt_live_now();
#define SWEEP(f) sweep(#f, f, cudaErrorUnknown)
    SWEEP(open_another);
    SWEEP(give);
    SWEEP(give_device);
    SWEEP(lend);
    SWEEP(lend_trusted);
    SWEEP(to_sell);
    SWEEP(to_merge);
    SWEEP(to_vector);
    SWEEP(by_model);
    SWEEP(turn);
    SWEEP(multiply_thin);
    SWEEP(multiply_wide);
    SWEEP(multiply_tall);
    check_runs();
    SWEEP(multiply_in_runs);
    check_plans();
    SWEEP(plan_and_refill);
    SWEEP(plan_thin);
    SWEEP(plan_by_shapes);
    SWEEP(multiply);
    SWEEP(multiply_merge);
    SWEEP(multiply_turned);
    SWEEP(multiply_columns);
    SWEEP(scale);
    SWEEP(renew);
    SWEEP(wait);
    SWEEP(trim);
    SWEEP(upload);
    SWEEP(download);
    SWEEP(allocate);
    SWEEP(write_file);
    SWEEP(to_host);
    static const char *const built[] = { "dia",          "bsr", "tiled", "tiled:hot=5", "csr-aligned:pad=16",
                                         "csr5:flags=u8" };
    for (size_t i = 0; i < sizeof built / sizeof *built; i++) sweep(built[i], build, cudaErrorUnknown);
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.place == SPMVX_CUDA && k.operation == SPMVX_MUL && !test_is_slow())
            sweep(k.name, build, cudaErrorUnknown);
    }
    SWEEP(build_all);
    sweep("to_sell without memory", to_sell, cudaErrorMemoryAllocation);
    const simt_live after = simt_live_now();
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(after.pools, before.pools);
    assert_int_equal(after.streams, before.streams);
}

/* Every later call fails, too: a broken device. Calls answer, and what there is can be destroyed. */
static void test_broken_device(void **state)
{
    (void)state;
    scene s = scene_new();
    simt_fail_call(1, cudaErrorIllegalAddress, 1);
    assert_int_equal(multiply(&s), SPMVX_ERR_DEVICE);
    assert_int_equal(give(&s), SPMVX_ERR_DEVICE);
    assert_int_equal(by_timing(&s), SPMVX_ERR_DEVICE);
    assert_int_equal(multiply_merge(&s), SPMVX_ERR_DEVICE);
    assert_null(s.made);
    scene_free(&s);
    simt_fail_call(0, cudaSuccess, 0);
    scene again = scene_new();
    problem_run(again.ctx, &again.p, again.sell);
    scene_free(&again);
}

static void test_no_device(void **state)
{
    (void)state;
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context *ctx = NULL;
    simt_machine(0, 0, 0);
    o.place = SPMVX_CUDA;
    assert_fails(SPMVX_ERR_DEVICE, "no CUDA device answers", spmvx_context_create(&o, &ctx));
    o.place = SPMVX_ANY;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    assert_ok(ctx, spmvx_context_get_info(ctx, &i));
    assert_int_equal(i.place, SPMVX_HOST);
    spmvx_context_destroy(ctx);
    simt_machine(2, 2, (size_t)1 << 30);
}

/* Little memory: a status, and all works on when there is enough. */
static void test_out_of_memory(void **state)
{
    (void)state;
    simt_machine(2, 2, 40000);
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    assert_fails(SPMVX_ERR_MEMORY, "device 0", spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    assert_null(m);
    spmvx_context_destroy(ctx);
    simt_machine(2, 2, (size_t)1 << 30);
    ctx = device_context(0, NULL, 0);
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    problem_run(ctx, &p, m);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* A machine of many multiprocessors: more blocks, so that a row's carries are more than a warp holds. */
static void test_many_blocks(void **state)
{
    (void)state;
    simt_machine(1, 40, (size_t)1 << 30);
    for (uint64_t seed = 0; seed < 3; seed++) {
        simt_seed(seed);
        problem p = problem_of(90000);
        spmvx_context *ctx = device_context(0, NULL, 0);
        spmvx_matrix *m = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
        spmvx_matrix *A = convert_by(ctx, m, "csr-merge-path", 0, 0, 0);
        problem_run(ctx, &p, A);
        spmvx_matrix_destroy(A);
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
        problem_free(&p);
    }
    simt_machine(2, 2, (size_t)1 << 30);
}

int main(void)
{
    (void)multiply_elsewhere;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sweep), cmocka_unit_test(test_broken_device),
                                        cmocka_unit_test(test_no_device),
                                        cmocka_unit_test(test_out_of_memory),
                                        cmocka_unit_test(test_many_blocks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
