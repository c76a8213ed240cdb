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

/* What all take beside their multiplications is as long for one: what one more takes is told to a hair, but
 * where a disturbance made one long, or several. */
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
            assert_true(spx_timing_each(runs, 0.9 * many, many) >= many / runs);
            assert_true(spx_timing_each(runs, 0.1 * own[k], many) <= many / runs);
        }
    assert_true(spx_timing_each(1, 5e5, 4e5) == 4e5 && spx_timing_each(1, 4e5, 5e5) == 4e5);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ones), cmocka_unit_test(test_samples),
                                        cmocka_unit_test(test_recorded), cmocka_unit_test(test_each) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
