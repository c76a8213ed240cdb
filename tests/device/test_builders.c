/* What a device builds of a CSR that lies there is, bit for bit, what the host builds: every case and some
 * layouts, both types, pointers of both widths, values that are no numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

typedef struct layout {
    spmvx_format format;
    int64_t slice, sigma;
} layout;

static const layout layouts[] = {
    { SPMVX_SELL, 32, 0 }, { SPMVX_SELL, 32, 1 },    { SPMVX_SELL, 32, 64 },
    { SPMVX_SELL, 64, 0 }, { SPMVX_SELL, 96, 1000 }, { SPMVX_SELL, 32, 1 << 30 },
};

static spmvx_matrix *build(spmvx_context *ctx, const spmvx_matrix *csr, const layout *l)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *A = NULL;
    o.format = l->format;
    o.slice = l->slice;
    o.sigma = l->sigma;
    o.max_bytes = SIZE_MAX;
    assert_ok(ctx, spmvx_matrix_convert(ctx, csr, &o, &A));
    return A;
}

static void check_array(spmvx_context *ctx, const char *what, const void *on_host, const void *there,
                        size_t bytes)
{
    if (!on_host != !there) fail_msg("%s: only one of both has it", what);
    if (!on_host || !bytes) return;
    void *down = test_down(ctx, there, bytes);
    if (memcmp(on_host, down, bytes) != 0) fail_msg("%s: other bytes", what);
    free(down);
}

static void compare(spmvx_context *ctx, const spmvx_matrix *on_host, const spmvx_matrix *there)
{
    spmvx_arrays h = SPMVX_ARRAYS_INIT, d = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(on_host, &h));
    assert_ok(ctx, spmvx_matrix_arrays(there, &d));
    assert_int_equal(d.place, SPMVX_CUDA);
    assert_int_equal(h.ptr_type, d.ptr_type);
    assert_int_equal(h.slice, d.slice);
    assert_int_equal(h.width, d.width);
    assert_int_equal(h.nnz, d.nnz);
    if (h.format == SPMVX_COO || h.format == SPMVX_ELL) {
        const int64_t places = h.format == SPMVX_COO ? h.nnz : h.width * h.nrows;
        check_array(ctx, "row", h.row, d.row, (size_t)places * 4);
        check_array(ctx, "col", h.col, d.col, (size_t)places * 4);
        check_array(ctx, "val", h.val, d.val, (size_t)places * value_bytes(h.val_type));
        return;
    }
    const int64_t slices = (h.nrows + h.slice - 1) / h.slice;
    const size_t ptr = (size_t)(slices + 1) * value_bytes(h.ptr_type);
    check_array(ctx, "ptr", h.ptr, d.ptr, ptr);
    const int64_t stored =
        h.ptr_type == SPMVX_I64 ? ((const int64_t *)h.ptr)[slices] : ((const int32_t *)h.ptr)[slices];
    check_array(ctx, "row", h.row, d.row, (size_t)h.nrows * 4);
    check_array(ctx, "col", h.col, d.col, (size_t)stored * 4);
    check_array(ctx, "val", h.val, d.val, (size_t)stored * value_bytes(h.val_type));
}

static void check_case(const triples *t, spmvx_type type, bool wide)
{
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    csr_arrays csr = case_csr(t, type);
    if (t->nnz > 3) {
        value_put(csr.val, type, 1, NAN);
        value_put(csr.val, type, 2, -0.0);
        value_put(csr.val, type, t->nnz - 1, INFINITY);
    }
    int32_t *narrow = malloc((size_t)(t->nrows + 1) * sizeof *narrow);
    for (int64_t r = 0; r <= t->nrows; r++) narrow[r] = (int32_t)csr.ptr[r];
    if (!wide) {
        csr.arrays.ptr = narrow;
        csr.arrays.ptr_type = SPMVX_I32;
    }
    spmvx_matrix *on_host = NULL, *there = NULL;
    spmvx_arrays lent = csr.arrays;
    assert_ok(host, spmvx_matrix_create(host, &csr.arrays, SPMVX_BORROW, &on_host));
    void *ptr = test_up(ctx, lent.ptr, (size_t)(t->nrows + 1) * (wide ? 8 : 4)),
         *col = test_up(ctx, lent.col, (size_t)t->nnz * 4),
         *val = test_up(ctx, lent.val, (size_t)t->nnz * value_bytes(type));
    lent.ptr = ptr;
    lent.col = col;
    lent.val = val;
    assert_ok(ctx, spmvx_matrix_create(ctx, &lent, SPMVX_BORROW, &there));
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const bool pads_all = layouts[i].format == SPMVX_ELL && t->nrows * (t->nnz + 1) > 100000000;
        if (pads_all) continue; /* a long row, as long as any */
        spmvx_matrix *a = build(host, on_host, &layouts[i]), *b = build(ctx, there, &layouts[i]);
        compare(ctx, a, b);
        spmvx_matrix_destroy(a);
        spmvx_matrix_destroy(b);
    }
    spmvx_matrix_destroy(on_host);
    spmvx_matrix_destroy(there);
    spmvx_buffer_free(ctx, ptr);
    spmvx_buffer_free(ctx, col);
    spmvx_buffer_free(ctx, val);
    free(narrow);
    csr_free(&csr);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
}

static void test_cases(void **state)
{
    (void)state;
    for (int i = 0;; i++) {
        triples t = case_make(i);
        if (t.nnz < 0) break;
        check_case(&t, SPMVX_F64, i % 2);
        check_case(&t, SPMVX_F32, i % 2 == 0);
        triples_free(&t);
    }
}

/* What is not left is refused, and nothing stays. */
static void test_limit(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *csr = NULL, *A = NOT_WRITTEN;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &csr));
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_SELL;
    o.max_bytes = (size_t)p.t.nnz * 12 + 1000;
    assert_fails(SPMVX_ERR_LIMIT, "SELL would hold", spmvx_matrix_convert(ctx, csr, &o, &A));
    assert_ptr_equal(A, NOT_WRITTEN);
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases), cmocka_unit_test(test_limit) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
