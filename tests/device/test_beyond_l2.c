/* Every kernel on matrices that L2 does not hold: what is streamed is loaded in another way there than of
 * small ones, by other instances, which few other tests run on a GPU. The emulator, which has no caches and
 * one instance, takes a small one. */
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { EACH = 16 }; /* entries of a row */

/* So many rows that their values alone are 1.3 times L2. */
static int32_t rows_beyond(void)
{
    int bytes = 0;
    if (test_is_emulated()) return 300;
    assert_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0));
    return (int32_t)(1.3 * bytes / (EACH * sizeof(double)));
}

/* Sixteen diagonals side by side; or columns that are 1 to 511 apart, as far as there are so many. */
static problem problem_beyond(bool band)
{
    const int32_t n = rows_beyond(), apart = n < 256 * EACH ? n / EACH : 256;
    triples t = { .name = band ? "band" : "scattered", .nrows = n, .ncols = n };
    const size_t most = (size_t)n * EACH;
    uint64_t seed = 11;
    t.row = malloc(most * sizeof *t.row);
    t.col = malloc(most * sizeof *t.col);
    t.val = malloc(most * sizeof *t.val);
    for (int32_t r = 0; r < n; r++) {
        const int32_t middle = r - apart * EACH / 2, last = n - apart * EACH;
        const int32_t first = middle < 0 ? 0 : middle > last ? last : middle;
        for (int32_t k = 0; k < EACH; k++) {
            const int32_t to_one_side = r + k - EACH / 2;
            if (band && (to_one_side < 0 || to_one_side >= n)) continue;
            t.row[t.nnz] = r;
            t.col[t.nnz] =
                band ? to_one_side : first + k * apart + (int32_t)(case_random(&seed) % (uint64_t)apart);
            t.val[t.nnz++] = case_value(&seed);
        }
    }
    return problem_of_triples(t, seed);
}

/* Of formats that are only for such. */
static bool wants_band(spmvx_format f)
{
    return f == SPMVX_DIA || f == SPMVX_BSR || f == SPMVX_PKT;
}

static void run_all(bool band)
{
    problem p = problem_beyond(band);
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    int ran = 0;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(ctx, spmvx_kernel_get_info(i, &k));
        if (k.operation != SPMVX_MUL || k.place != SPMVX_CUDA || !(k.flags & SPMVX_KERNEL_AVAILABLE))
            continue;
        if (!band && wants_band(k.format)) continue;
        spmvx_matrix *A = convert_by(ctx, m, k.name, 0, 0, 0);
        problem_run(ctx, &p, A);
        spmvx_matrix_destroy(A);
        ran++;
    }
    assert_true(ran > 20);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

static void test_band(void **state)
{
    (void)state;
    run_all(true);
}

static void test_scattered(void **state)
{
    (void)state;
    run_all(false);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_band), cmocka_unit_test(test_scattered) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
