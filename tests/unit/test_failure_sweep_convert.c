/* Conversions, by every way to choose, with each allocation failing in turn. */
#include "failure_sweep.h"

#include <stdio.h>

/* Every source to a format and effort, with the transpose, updatable, and both. */
static void convert_all(spmvx_format format, int32_t effort, const char *kernel)
{
    for (int source = CSR; source <= SELL; source++)
        for (uint32_t more = 0; more < 4; more++) {
            char name[128];
            const sweep s = { .name = name,
                              .call = convert,
                              .source = source,
                              .format = format,
                              .effort = effort,
                              .kernel = kernel,
                              .ops = more & 1 ? SPMVX_OPS_N | SPMVX_OPS_T : 0,
                              .flags = more & 2 ? SPMVX_UPDATABLE : 0 };
            snprintf(name, sizeof name,
                     "convert source %d to format %d, kernel %s, effort %d, ops %u, flags 0x%x", source,
                     (int)format, kernel ? kernel : "any", effort, s.ops, s.flags);
            run_sweep(&s);
        }
}

static void test_convert_auto(void **state)
{
    (void)state;
    convert_all(SPMVX_AUTO, 0, NULL);
}

static void test_convert_auto_timed(void **state)
{
    (void)state;
    convert_all(SPMVX_AUTO, 1, NULL);
}

static void test_convert_auto_all_timed(void **state)
{
    (void)state;
    convert_all(SPMVX_AUTO, 2, NULL);
}

static void test_convert_formats(void **state)
{
    (void)state;
    convert_all(SPMVX_COO, 0, NULL);
    convert_all(SPMVX_CSR, 0, NULL);
    convert_all(SPMVX_SELL, 0, NULL);
}

static void test_convert_formats_timed(void **state)
{
    (void)state;
    convert_all(SPMVX_CSR, 1, NULL);
    convert_all(SPMVX_SELL, 2, NULL);
}

static void test_convert_kernels(void **state)
{
    (void)state;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.place == SPMVX_HOST && k.operation == SPMVX_MUL && k.flags & SPMVX_KERNEL_AVAILABLE)
            convert_all(SPMVX_AUTO, 0, k.name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convert_auto),           cmocka_unit_test(test_convert_auto_timed),
        cmocka_unit_test(test_convert_auto_all_timed), cmocka_unit_test(test_convert_formats),
        cmocka_unit_test(test_convert_formats_timed),  cmocka_unit_test(test_convert_kernels),
    };
    return cmocka_run_group_tests_name("failure sweep convert", tests, begin, end);
}
