/* The vector that AUTO times multiplications with, on the host and on the emulator: all of it is ones,
 * however many columns of how many elements there are. */
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "dispatch/tune.h"

static void check_ones(spmvx_place place, spmvx_type type, int64_t ncols, int64_t nvec)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    spx_timing t;
    o.place = place;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    const size_t each = spx_type_bytes(type), bytes = (size_t)(ncols * nvec) * each;
    assert_ok(ctx, spx_timing_new(ctx, ncols, 3, nvec, type, &t));
    assert_true(t.nvec == nvec && t.ldx == ncols && t.ldy == 3);
    char *const x = test_down(ctx, t.x->data, bytes);
    const double one = 1.0;
    const float single = 1.0F;
    for (size_t i = 0; i < bytes; i += each)
        if (memcmp(x + i, type == SPMVX_F64 ? (const void *)&one : (const void *)&single, each))
            fail_msg("element %zu of %d columns of %d is not 1", i / each, (int)nvec, (int)ncols);
    free(x);
    spx_timing_drop(&t);
    spmvx_context_destroy(ctx);
}

static void test_ones(void **state)
{
    (void)state;
    static const spmvx_place places[] = { SPMVX_HOST, SPMVX_CUDA };
    static const int64_t columns[] = { 0, 1, 65535, 65536, 65537, 131072, 200000 };
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
            check_ones(places[p], SPMVX_F64, columns[i], 1);
            check_ones(places[p], SPMVX_F32, columns[i], 3);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ones) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
