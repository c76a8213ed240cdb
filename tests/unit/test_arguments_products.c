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
    spmspm_plan *plan = NOT_WRITTEN;
    refused(f, SPMVX_ERR_UNSUPPORTED, "not in this version",
            spmspm_plan_create(f->ctx, f->A, f->B, NULL, &plan));
    refused(f, SPMVX_ERR_UNSUPPORTED, "not in this version",
            spmspm_plan_mul(f->ctx, NOT_WRITTEN, f->A, f->B, &m));
    refused(f, SPMVX_ERR_UNSUPPORTED, "not in this version",
            spmspm_plan_refill(f->ctx, NOT_WRITTEN, f->A, f->B, f->wide));
    assert_ptr_equal(plan, NOT_WRITTEN);
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_mul(f->ctx, f->A, f->B, NULL, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmspm_plan_create(f->ctx, f->A, f->B, NULL, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "plan is NULL", spmspm_plan_mul(f->ctx, NULL, f->A, f->B, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_plan_mul(f->ctx, NOT_WRITTEN, f->A, f->B, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "plan is NULL", spmspm_plan_refill(f->ctx, NULL, f->A, f->B, f->wide));
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_plan_refill(f->ctx, NOT_WRITTEN, f->A, f->B, NULL));
    refused(f, SPMVX_ERR_UNSUPPORTED, "not in this version",
            spmspm_triple(f->ctx, f->B, f->A, f->B, NULL, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "R is NULL", spmspm_triple(f->ctx, NULL, f->A, f->B, NULL, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "A is NULL", spmspm_triple(f->ctx, f->B, NULL, f->B, NULL, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_triple(f->ctx, f->B, f->A, f->B, NULL, NULL));
    assert_ptr_equal(m, NOT_WRITTEN);
    spmspm_info info = SPMSPM_INFO_INIT;
    refused_alone(SPMVX_ERR_ARGUMENT, "plan is NULL", spmspm_plan_get_info(NULL, &info));
    refused_alone(SPMVX_ERR_ARGUMENT, "info is NULL", spmspm_plan_get_info(NOT_WRITTEN, NULL));
    refused_alone(SPMVX_ERR_UNSUPPORTED, "not in this version", spmspm_plan_get_info(NOT_WRITTEN, &info));
    assert_null(info.kernel);
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
        TEST(test_products),
        TEST(test_triple_names_p),
        TEST(test_product_options),
        TEST(test_product_shapes),
    };
    return cmocka_run_group_tests_name("arguments products", tests, NULL, NULL);
}
