/* What AUTO times multiplications with: a vector, all of which is ones, however many columns of how many
 * elements there are; and on a device, how many multiplications a sample has, and what samples tell. In
 * optimised builds, too: a compiler may leave out what writes the ones, if it thinks that nobody reads them.
 * (On a device: tests/simt.) */
#include <math.h>
#include <string.h>

#include "cases.h"

#include "dispatch/tune.h"

static void check_ones(spmvx_type type, int64_t ncols, int64_t nvec)
{
    spmvx_context *ctx = NULL;
    spx_timing t;
    assert_ok(NULL, spmvx_context_create(NULL, &ctx));
    assert_ok(ctx, spx_timing_new(ctx, ncols, 3, nvec, type, &t));
    assert_true(t.nvec == nvec && t.ldx == ncols && t.ldy == 3);
    for (int64_t i = 0; i < ncols * nvec; i++) {
        double d = 0;
        float f = 0;
        if (type == SPMVX_F64) memcpy(&d, (const char *)t.x->data + 8 * i, 8);
        else memcpy(&f, (const char *)t.x->data + 4 * i, 4);
        if ((type == SPMVX_F64 ? d : f) != 1.0)
            fail_msg("element %d of %d columns of %d is not 1", (int)i, (int)nvec, (int)ncols);
    }
    spx_timing_drop(&t);
    spmvx_context_destroy(ctx);
}

static void test_ones(void **state)
{
    (void)state;
    static const int64_t columns[] = { 0, 1, 65535, 65536, 65537, 131072, 200000 };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        check_ones(SPMVX_F64, columns[i], 1);
        check_ones(SPMVX_F32, columns[i], 3);
    }
}

/* What a call and a wait take, 8 us, is no part of a multiplication: short ones have many in a sample. */
static void test_samples(void **state)
{
    (void)state;
    int before = 64;
    for (double brief = 0; brief < 1e7; brief = 2 * brief + 100) {
        const int runs = spx_timing_runs(brief);
        if (runs < 1 || runs > before)
            fail_msg("%d multiplications of %.0f ns, %d shorter ones", runs, brief, before);
        before = runs;
    }
    assert_int_equal(before, 1);
    assert_true(spx_timing_runs(10e3) >= 10);
    assert_true(spx_timing_runs(12e3) >= 6);
    assert_true(spx_timing_runs(18e3) >= 3);
    assert_true(spx_timing_runs(90e3) >= 2);
}

/* A recording is for what the host queues slower than the device computes. */
static void test_recorded(void **state)
{
    (void)state;
    assert_true(spx_timing_records(9e3, 4e3));
    assert_true(spx_timing_records(12e3, 4e3));
    assert_false(spx_timing_records(15e3, 4e3));
    assert_false(spx_timing_records(1e6, 4e3));
    assert_true(spx_timing_records(1e6, 9e5));
}

/* What all take beside their multiplications is as long for one: what one more takes is told to a hair. Where
 * the one, or several, were disturbed, no more than 4 us are taken for what is beside them. */
static void test_each(void **state)
{
    (void)state;
    static const double own[] = { 1.2e3, 6.5e3, 18e3, 9e4 }, beside[] = { 0, 1.1e3, 2.8e3 };
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        for (size_t j = 0; j < sizeof beside / sizeof *beside; j++) {
            const int runs = spx_timing_runs(own[k] + 8e3);
            const double many = runs * own[k] + beside[j];
            const double each = spx_timing_each(runs, own[k] + beside[j], many);
            if (runs < 2 || fabs(each - own[k]) > 1e-9 * own[k])
                fail_msg("%d of %g ns with %g beside: %g", runs, own[k], beside[j], each);
            assert_true(spx_timing_each(runs, 0.1 * own[k], many) == many / runs);
            assert_true(spx_timing_each(runs, 0.9 * many, many) == (many - 4e3) / runs);
        }
    assert_true(spx_timing_each(1, 5e5, 4e5) == 4e5 && spx_timing_each(1, 4e5, 5e5) == 4e5);
}

/* A device whose replays take what is told, in turn: of one multiplication, and of all. */
static struct {
    const double (*ns)[2];
    int replays, records;
} told;

static spmvx_status told_record(spmvx_context *ctx, spmvx_status (*queue)(const void *), const void *arg,
                                void **recording, int *launches)
{
    (void)ctx, (void)queue;
    told.records++;
    *recording = &told;
    *launches = ((const spx_batch *)arg)->runs;
    return SPMVX_OK;
}

static spmvx_status told_replay(const spmvx_context *ctx, void *recording, spmvx_status (*one)(const void *),
                                spmvx_status (*many)(const void *), const void *arg, double ns[2])
{
    (void)ctx, (void)recording, (void)one, (void)many, (void)arg;
    memcpy(ns, told.ns[told.replays++], 2 * sizeof *ns);
    return SPMVX_OK;
}

static void told_drop(const spmvx_context *ctx, void *recording)
{
    (void)ctx, (void)recording;
}

/* Two contenders, the second of which had a turn before if `known`; *replays is how many turns they had. */
static void timed_as_told(const double (*ns)[2], bool known, double got[2], int *replays)
{
    enum { RUNS = 5 };
    static const int32_t ptr[] = { 0, 1, 2 }, col[] = { 0, 1 };
    static const double val[] = { 1, 2 };
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_CSR, a.nrows = a.ncols = a.nnz = 2;
    a.ptr = ptr, a.ptr_type = SPMVX_I32, a.col = col, a.val = val, a.val_type = SPMVX_F64;
    spmvx_context *ctx = NULL;
    spmvx_matrix *m = NULL;
    spx_timing t;
    spx_contender c[2] = { 0 }, *const both[] = { &c[0], &c[1] };
    assert_ok(NULL, spmvx_context_create(NULL, &ctx));
    const spx_backend *const own = ctx->backend;
    spx_backend device = *own;
    device.record = told_record, device.replay = told_replay, device.drop_recording = told_drop;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &m));
    assert_ok(ctx, spx_timing_new(ctx, 2, 2, 1, SPMVX_F64, &t));
    for (int i = 0; i < 2; i++) assert_ok(ctx, spx_contender_new(ctx, &m->op[SPMVX_N], &t, &c[i]));
    ctx->backend = &device;
    for (int i = 0; i < 2; i++) c[i].first = c[i].call = 1.0, c[i].b.runs = RUNS; /* they are ready */
    told.ns = ns, told.replays = 0;
    if (known) c[1].n = 1, c[1].one = 10e3, c[1].many = 50e3;
    assert_ok(ctx, spx_contenders_time(2, both, got));
    *replays = told.replays;
    for (int i = 0; i < 2; i++) spx_contender_drop(&c[i]);
    ctx->backend = own;
    spx_timing_drop(&t);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
}

/* Two turns each, of which the least counts, of one and of all apart; a turn before tells that the first is
 * not worth another one, and so does the first round. */
static void test_turns(void **state)
{
    (void)state;
    double got[2];
    int replays;
    static const double level[][2] = { { 13e3, 51e3 }, { 11e3, 60e3 }, { 12e3, 53e3 }, { 12e3, 49e3 } };
    timed_as_told(level, false, got, &replays);
    assert_int_equal(replays, 4);
    assert_true(fabs(got[0] - (51e3 - 12e3) / 4) < 1e-6 && fabs(got[1] - (49e3 - 11e3) / 4) < 1e-6);
    timed_as_told(level, true, got, &replays);
    assert_int_equal(replays, 4);
    static const double far[][2] = { { 15e3, 71e3 }, { 11e3, 51e3 } };
    timed_as_told(far, true, got, &replays);
    assert_int_equal(replays, 1);
    assert_true(fabs(got[0] - 14e3) < 1e-6 && fabs(got[1] - 10e3) < 1e-6);
    timed_as_told(far, false, got, &replays);
    assert_int_equal(replays, 2);
    static const double behind[][2] = { { 12e3, 55e3 }, { 11e3, 51e3 }, { 12e3, 55e3 }, { 11e3, 51e3 } };
    timed_as_told(behind, false, got, &replays);
    assert_int_equal(replays, 4);
    assert_true(fabs(got[0] - (55e3 - 12e3) / 4) < 1e-6 && fabs(got[1] - 10e3) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ones), cmocka_unit_test(test_samples),
                                        cmocka_unit_test(test_recorded), cmocka_unit_test(test_each),
                                        cmocka_unit_test(test_turns) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
