/* Wrong arguments to products with vectors: the status, the message, and that nothing was written. */
#include "arguments.h"

static void test_mul(void **state)
{
    fixture *f = *state;
    double room[12];
    for (int i = 0; i < 12; i++) room[i] = 7;
    double *x = room, *y = room + 4;
    const void *crooked = (const char *)x + 4;
    refused(f, SPMVX_ERR_ARGUMENT, "A is NULL", spmvx_mul(f->ctx, SPMVX_N, 1, NULL, x, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "x is NULL", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, NULL, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "x is NULL", spmvx_mul(f->ctx, SPMVX_N, 0, f->A, NULL, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "y is NULL", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x, 0, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "op is 2", spmvx_mul(f->ctx, (spmvx_op)2, 1, f->A, x, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "op is", spmvx_mul(f->ctx, (spmvx_op)-1, 1, f->A, x, 0, y));
    refused(f, SPMVX_ERR_UNSUPPORTED, "SPMVX_OPS_T", spmvx_mul(f->ctx, SPMVX_T, 1, f->A, x, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "x is 0x", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, crooked, 0, y + 2));
    refused(f, SPMVX_ERR_ARGUMENT, "y is 0x",
            spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x + 4, 0, (char *)room + 4));
    refused(f, SPMVX_ERR_ARGUMENT, "x is 0x",
            spmvx_mul(f->ctx, SPMVX_N, 1, f->single, (const char *)x + 2, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x, 0, x));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x, 0, x + 3));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x + 2, 0, x));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_mul(f->ctx, SPMVX_T, 1, f->wide, x, 0, x + 2));
    refused(f, SPMVX_ERR_ARGUMENT, "A is NULL", spmvx_mul_prepare(f->ctx, NULL, SPMVX_N, 1));
    refused(f, SPMVX_ERR_ARGUMENT, "op is 9", spmvx_mul_prepare(f->ctx, f->A, (spmvx_op)9, 1));
    refused(f, SPMVX_ERR_UNSUPPORTED, "SPMVX_OPS_T", spmvx_mul_prepare(f->ctx, f->A, SPMVX_T, 1));
    refused(f, SPMVX_ERR_ARGUMENT, "nvec is -1", spmvx_mul_prepare(f->ctx, f->A, SPMVX_N, -1));
    for (int i = 0; i < 12; i++) assert_true(room[i] == 7);
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x, 0, x + 4)); /* side by side is no overlap */
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x + 3, 0, x));
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_T, 1, f->wide, x, 0, x + 3));
    /* aligned for F32 */
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1, f->single, (const char *)x + 4, 0, y));
}

static void test_mul_multi(void **state)
{
    fixture *f = *state;
    double room[20];
    for (int i = 0; i < 20; i++) room[i] = 7;
    double *x = room, *y = room + 10;
    const int64_t huge = INT64_MAX / 16;
    refused(f, SPMVX_ERR_ARGUMENT, "A is NULL", spmvx_mul_multi(f->ctx, SPMVX_N, 1, NULL, 2, x, 4, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "op is 2",
            spmvx_mul_multi(f->ctx, (spmvx_op)2, 1, f->A, 2, x, 4, 0, y, 3));
    refused(f, SPMVX_ERR_UNSUPPORTED, "SPMVX_OPS_T",
            spmvx_mul_multi(f->ctx, SPMVX_T, 1, f->A, 2, x, 4, 0, y, 4));
    refused(f, SPMVX_ERR_ARGUMENT, "nvec is -1",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, -1, x, 4, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "X is NULL",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, NULL, 4, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "Y is NULL",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 4, 0, NULL, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "ldx is 3", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 3, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "ldy is 2", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 4, 0, y, 2));
    refused(f, SPMVX_ERR_ARGUMENT, "ldx is -4", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, -4, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "ldx is 2",
            spmvx_mul_multi(f->ctx, SPMVX_T, 1, f->wide, 2, x, 2, 0, y, 4));
    refused(f, SPMVX_ERR_ARGUMENT, "ldy is 3",
            spmvx_mul_multi(f->ctx, SPMVX_T, 1, f->wide, 2, x, 3, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 5, 0, x + 8, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x + 6, 4, 0, x, 5));
    refused(f, SPMVX_ERR_ARGUMENT, "X is 0x",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, (char *)x + 1, 4, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "Y is 0x",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 4, 0, (char *)y + 4, 3));
    refused(f, SPMVX_ERR_RANGE, "ldx", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 1000, x, huge, 0, y, 3));
    refused(f, SPMVX_ERR_RANGE, "ldy", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 3, x, 4, 0, y, huge));
    refused(f, SPMVX_ERR_RANGE, "nvec", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, INT64_MAX, x, 4, 0, y, 3));
    assert_ok(f->ctx, spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 0, NULL, 4, 0, NULL, 3));
    assert_ok(f->ctx, spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 0, x, 4, 0, y, 3));
    for (int i = 0; i < 20; i++) assert_true(room[i] == 7);
    assert_ok(f->ctx, spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 5, 0, x + 9, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_mul),
        TEST(test_mul_multi),
    };
    return cmocka_run_group_tests_name("arguments mul", tests, NULL, NULL);
}
