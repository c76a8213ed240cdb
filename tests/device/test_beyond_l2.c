/* Every kernel on matrices that L2 holds in part, or hardly: what is streamed is loaded in another way there
 * than of small ones, by other instances, which few other tests run on a GPU. Half of the rows alone, of
 * which more stays or all, have the same bits by the same kernel. The emulator, which has no caches and one
 * instance, takes small ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { EACH = 16, FIRST = 2 }; /* entries of a row; of so many rows one is among the first */

/* Values alone are such a part of L2. */
typedef struct size {
    spmvx_type type;
    double of_l2;
} size;

static const size sizes[] = { { SPMVX_F64, 1.3 }, { SPMVX_F64, 0.5 }, { SPMVX_F32, 0.5 } };

static int32_t rows_of(const size *s)
{
    int bytes = 0;
    if (test_is_emulated()) return 1500;
    assert_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0));
    return (int32_t)(s->of_l2 * bytes / (double)(EACH * value_bytes(s->type)));
}

/* Sixteen diagonals side by side; or columns that are 1 to 511 apart, as far as there are so many. */
static triples triples_of(int32_t n, bool band)
{
    const int32_t apart = n < 256 * EACH ? n / EACH : 256;
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
    return t;
}

/* The matrix, x, and what A*x is up to rounding. */
typedef struct large {
    spmvx_type type;
    csr_arrays csr;
    int64_t rows, first; /* all, and those that are the first */
    int others;          /* kernels by which these have other bits */
    void *x, *y, *y_first;
    double *want;
} large;

static large large_of(const size *s, bool band)
{
    triples t = triples_of(rows_of(s), band);
    const size_t each = value_bytes(s->type), n = (size_t)t.nrows;
    large l = { .type = s->type,
                .csr = case_csr(&t, s->type),
                .rows = t.nrows,
                .first = t.nrows / FIRST,
                .x = malloc(n * each),
                .y = malloc(n * each),
                .y_first = malloc(n * each),
                .want = calloc(n, sizeof *l.want) };
    uint64_t seed = 12;
    assert_true(l.x && l.y && l.y_first && l.want);
    for (int64_t i = 0; i < t.ncols; i++) value_put(l.x, s->type, i, case_value(&seed));
    for (int64_t k = 0; k < t.nnz; k++) l.want[t.row[k]] += t.val[k] * value_at(l.x, s->type, t.col[k]);
    triples_free(&t);
    return l;
}

static void large_free(large *l)
{
    csr_free(&l->csr);
    free(l->x);
    free(l->y);
    free(l->y_first);
    free(l->want);
}

/* Of formats that are only for such. */
static bool wants_band(spmvx_format f)
{
    return f == SPMVX_DIA || f == SPMVX_BSR || f == SPMVX_PKT;
}

/* y = A*x by the kernel, and its name with all parameters. */
typedef struct full_name {
    char text[256];
} full_name;

static full_name multiply(spmvx_context *ctx, const large *l, const spmvx_arrays *arrays, const char *kernel,
                          void *dx, void *y)
{
    spmvx_matrix_info told = SPMVX_MATRIX_INFO_INIT;
    full_name name;
    const size_t bytes = (size_t)arrays->nrows * value_bytes(l->type);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, arrays, 0, &m));
    spmvx_matrix *A = convert_by(ctx, m, kernel, 0, 0, 0);
    for (int64_t r = 0; r < arrays->nrows; r++) value_put(y, l->type, r, NAN);
    void *dy = test_up(ctx, y, bytes);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
    assert_ok(ctx, spmvx_buffer_download(ctx, y, dy, bytes));
    assert_ok(ctx, spmvx_matrix_get_info(A, &told));
    assert_true(snprintf(name.text, sizeof name.text, "%s", told.kernel) < (int)sizeof name.text);
    spmvx_buffer_free(ctx, dy);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    return name;
}

static void run_kernel(spmvx_context *ctx, large *l, const spmvx_kernel_info *k, void *dx)
{
    const double far = l->type == SPMVX_F64 ? 1e-9 : 1e-4;
    const full_name name = multiply(ctx, l, &l->csr.arrays, k->name, dx, l->y);
    for (int64_t r = 0; r < l->rows; r++)
        if (!(fabs(value_at(l->y, l->type, r) - l->want[r]) < far))
            fail_msg("%s: row %lld is %g, not %g", name.text, (long long)r, value_at(l->y, l->type, r),
                     l->want[r]);
    /* PKT cuts square matrices, and each anew */
    if (!(k->flags & SPMVX_KERNEL_DETERMINISTIC) || k->format == SPMVX_PKT) return;
    spmvx_arrays first = l->csr.arrays;
    first.nrows = l->first, first.nnz = l->csr.ptr[l->first];
    multiply(ctx, l, &first, name.text, dx, l->y_first);
    /* the last of the first rows share a tile with those that are not there */
    const size_t bytes = (size_t)(l->first / 2) * value_bytes(l->type);
    if (memcmp(l->y, l->y_first, bytes))
        print_error("%s has other bits of fewer rows\n", name.text), l->others++;
}

static void run_all(bool band)
{
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        if (test_is_emulated() && s && sizes[s].type == sizes[s - 1].type) continue; /* the same there */
        large l = large_of(&sizes[s], band);
        void *dx = test_up(ctx, l.x, (size_t)l.rows * value_bytes(l.type));
        int ran = 0;
        for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
            spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
            assert_ok(ctx, spmvx_kernel_get_info(i, &k));
            if (k.operation != SPMVX_MUL || k.place != SPMVX_CUDA || !(k.flags & SPMVX_KERNEL_AVAILABLE))
                continue;
            if (!band && wants_band(k.format)) continue;
            run_kernel(ctx, &l, &k, dx);
            ran++;
        }
        assert_true(ran > 20);
        assert_int_equal(l.others, 0);
        spmvx_buffer_free(ctx, dx);
        large_free(&l);
    }
    spmvx_context_destroy(ctx);
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
