/* Wrong arguments to products of sparse matrices: the status, the message, and that nothing was written. */
#include "arguments.h"

static void refuse_product(fixture *f, spmvx_status status, const char *text, const spmvx_matrix *A,
                           const spmvx_matrix *B, const spmspm_options *o)
{
    spmvx_matrix *m = NOT_WRITTEN;
    spmspm_plan *plan = NOT_WRITTEN;
    refused(f, status, text, spmspm_mul(f->ctx, A, B, o, &m));
    refused(f, status, text, spmspm_plan_create(f->ctx, A, B, o, &plan));
    if (!o) refused(f, status, text, spmspm_plan_mul(f->ctx, NOT_WRITTEN, A, B, &m));
    if (!o) refused(f, status, text, spmspm_plan_refill(f->ctx, NOT_WRITTEN, A, B, f->wide));
    assert_ptr_equal(m, NOT_WRITTEN);
    assert_ptr_equal(plan, NOT_WRITTEN);
}

static void test_products(void **state)
{
    fixture *f = *state;
    spmvx_matrix *m = NOT_WRITTEN;
    refuse_product(f, SPMVX_ERR_ARGUMENT, "A is NULL", NULL, f->B, NULL);
    refuse_product(f, SPMVX_ERR_ARGUMENT, "B is NULL", f->A, NULL, NULL);
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_mul(f->ctx, f->A, f->B, NULL, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmspm_plan_create(f->ctx, f->A, f->B, NULL, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "plan is NULL", spmspm_plan_mul(f->ctx, NULL, f->A, f->B, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_plan_mul(f->ctx, NOT_WRITTEN, f->A, f->B, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "plan is NULL", spmspm_plan_refill(f->ctx, NULL, f->A, f->B, f->wide));
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_plan_refill(f->ctx, NOT_WRITTEN, f->A, f->B, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "R is NULL", spmspm_triple(f->ctx, NULL, f->A, f->B, NULL, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "A is NULL", spmspm_triple(f->ctx, f->B, NULL, f->B, NULL, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_triple(f->ctx, f->B, f->A, f->B, NULL, NULL));
    assert_ptr_equal(m, NOT_WRITTEN);
    spmspm_info info = SPMSPM_INFO_INIT;
    refused_alone(SPMVX_ERR_ARGUMENT, "plan is NULL", spmspm_plan_get_info(NULL, &info));
    refused_alone(SPMVX_ERR_ARGUMENT, "info is NULL", spmspm_plan_get_info(NOT_WRITTEN, NULL));
    assert_null(info.kernel);
}

/* A plan refuses what it was not made for. */
static void test_plans(void **state)
{
    fixture *f = *state;
    static const int32_t ptr[] = { 0, 1, 2, 3 }, other[] = { 0, 0, 2, 3 }, col[] = { 0, 1, 3 },
                         other_col[] = { 0, 2, 3 };
    static const double val[] = { 1, 2, 3 };
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.nrows = a.nnz = 3;
    a.ncols = 4;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    spmvx_matrix *A = NULL, *moved = NULL, *shifted = NULL, *C = NULL, *plain = NULL, *m = NOT_WRITTEN;
    spmspm_plan *plan = NULL, *none = NOT_WRITTEN;
    assert_ok(f->ctx, spmvx_matrix_create(f->ctx, &a, 0, &A));
    a.ptr = other;
    assert_ok(f->ctx, spmvx_matrix_create(f->ctx, &a, 0, &moved));
    a.ptr = ptr;
    a.col = other_col;
    assert_ok(f->ctx, spmvx_matrix_create(f->ctx, &a, 0, &shifted));
    assert_ok(f->ctx, spmspm_plan_create(f->ctx, A, f->B, NULL, &plan));
    assert_ok(f->ctx, spmspm_plan_mul(f->ctx, plan, A, f->B, &C));
    assert_ok(f->ctx, spmspm_mul(f->ctx, A, f->B, NULL, &plain));
    refused(f, SPMVX_ERR_PATTERN, "A has its entries in other places",
            spmspm_plan_mul(f->ctx, plan, moved, f->B, &m));
    refused(f, SPMVX_ERR_PATTERN, "A has its entries in other places",
            spmspm_plan_refill(f->ctx, plan, moved, f->B, C));
    refused(f, SPMVX_ERR_PATTERN, "A has its entries in other places",
            spmspm_plan_mul(f->ctx, plan, shifted, f->B, &m));
    refused(f, SPMVX_ERR_PATTERN, "A is 4 x 3", spmspm_plan_mul(f->ctx, plan, f->B, A, &m));
    refused(f, SPMVX_ERR_PATTERN, "C did not come from this plan",
            spmspm_plan_refill(f->ctx, plan, A, f->B, plain));
    refused(f, SPMVX_ERR_PATTERN, "C did not come from this plan",
            spmspm_plan_refill(f->ctx, plan, A, f->B, f->wide));
    refused(f, SPMVX_ERR_ARGUMENT, "C is A, too", spmspm_plan_refill(f->ctx, plan, C, plain, C));
    refused(f, SPMVX_ERR_ARGUMENT, "C is B, too", spmspm_plan_refill(f->ctx, plan, plain, C, C));
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.kernel = "csr-dense-row";
    refused(f, SPMVX_ERR_UNSUPPORTED, "csr-dense-row finds the columns of C with its values",
            spmspm_plan_create(f->ctx, A, f->B, &o, &none));
    assert_ptr_equal(none, NOT_WRITTEN);
    assert_ptr_equal(m, NOT_WRITTEN);
    spmspm_plan_destroy(plan);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(moved);
    spmvx_matrix_destroy(shifted);
    spmvx_matrix_destroy(C);
    spmvx_matrix_destroy(plain);
}

static void test_triple_names_p(void **state)
{
    fixture *f = *state;
    spmvx_matrix *m = NOT_WRITTEN;
    refused(f, SPMVX_ERR_ARGUMENT, "P is NULL", spmspm_triple(f->ctx, f->B, f->A, NULL, NULL, &m));
    assert_ptr_equal(m, NOT_WRITTEN);
}

static void test_product_options(void **state)
{
    fixture *f = *state;
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.flags = 1;
    refuse_product(f, SPMVX_ERR_ARGUMENT, "options.flags is 0x1", f->A, f->B, &o);
    o = (spmspm_options)SPMSPM_OPTIONS_INIT;
    o.format = (spmvx_format)99;
    refuse_product(f, SPMVX_ERR_ARGUMENT, "options.format is 99", f->A, f->B, &o);
}

static void test_product_shapes(void **state)
{
    fixture *f = *state;
    spmvx_matrix *m = NOT_WRITTEN;
    refuse_product(f, SPMVX_ERR_SHAPE, "4", f->A, f->A, NULL);
    refused(f, SPMVX_ERR_SHAPE, "4", spmspm_triple(f->ctx, f->A, f->A, f->B, NULL, &m));
    refused(f, SPMVX_ERR_SHAPE, "4", spmspm_triple(f->ctx, f->B, f->A, f->A, NULL, &m));
    refuse_product(f, SPMVX_ERR_TYPE, "B", f->B, f->single, NULL);
    assert_ptr_equal(m, NOT_WRITTEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_products),        TEST(test_plans),          TEST(test_triple_names_p),
        TEST(test_product_options), TEST(test_product_shapes),
    };
    return cmocka_run_group_tests_name("arguments products", tests, NULL, NULL);
}
