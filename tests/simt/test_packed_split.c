/* PACKED's slices on the emulator: by how many warps they are shared, where there are few of them and where
 * they are long; results are right by each. */
#include <string.h>

#include "device.h"
#include "simt.h"

/* What a matrix of so many rows of about `length` entries says of split on a device of one multiprocessor. */
static void check_split(int rows, int length, const char *want)
{
    enum { MOST = 800 };
    static int lengths[MOST];
    for (int r = 0; r < rows; r++) lengths[r] = length - r % 3;
    problem p = problem_of_rows(rows, lengths);
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    spmvx_matrix *A = convert_by(ctx, m, "packed", 0, 0, 0);
    assert_ok(ctx, spmvx_matrix_get_info(A, &info));
    if (!strstr(info.kernel, want))
        fail_msg("%d rows of %d: %s, which is not by %s", rows, length, info.kernel, want);
    problem_run(ctx, &p, A);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

static void test_split(void **state)
{
    (void)state;
    simt_machine(1, 1, (size_t)1 << 30);
    check_split(24 * 32, 20, "split=1,"); /* as many slices as there have to be warps, and short ones */
    check_split(24 * 32, 75, "split=1,"); /* by four warps with 28 steps each, or by one */
    check_split(24 * 32, 135, "split=4,");
    check_split(32, 135, "split=8,"); /* one slice alone, parts of 8 steps and more */
    check_split(32, 40, "split=4,");
    check_split(32, 10, "split=1,");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_split) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
