/* Wrong arguments to matrices of given arrays, and to views: the status, the message, and that nothing was
 * written. */
#include "arguments.h"

#include <stdio.h>

static void refuse_create(fixture *f, spmvx_status status, const char *text, const spmvx_arrays *a,
                          uint32_t flags)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const long live = f->count.live;
    refused(f, status, text, spmvx_matrix_create(f->ctx, a, flags, &out));
    assert_ptr_equal(out, NOT_WRITTEN);
    assert_int_equal(f->count.live, live);
}

/* The arrays `base`, spoiled by the statements, are refused. */
#define CREATE(base, status, text, ...)            \
    do {                                           \
        spmvx_arrays a = base;                     \
        uint32_t flags = 0;                        \
        __VA_ARGS__;                               \
        refuse_create(f, status, text, &a, flags); \
    } while (0)

static void test_create_values(void **state)
{
    fixture *f = *state;
    spmvx_matrix *out = NOT_WRITTEN;
    refused(f, SPMVX_ERR_ARGUMENT, "arrays is NULL", spmvx_matrix_create(f->ctx, NULL, 0, &out));
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_matrix_create(f->ctx, &csr, 0, NULL));
    assert_ptr_equal(out, NOT_WRITTEN);
    CREATE(csr, SPMVX_ERR_ARGUMENT, "flags is 0x4", flags = 4);
    CREATE(csr, SPMVX_ERR_ARGUMENT, "flags is 0x20", flags = SPMVX_UPDATABLE);
    CREATE(csr, SPMVX_ERR_ARGUMENT, "flags is 0x101", flags = SPMVX_BORROW | SPMVX_CONTEXT_CHECK);
    CREATE(csr, SPMVX_ERR_ARGUMENT, "flags is 0x1000", flags = SPMVX_IS_BORROWED);
    CREATE(csr, SPMVX_ERR_ARGUMENT, "arrays.reserved is 5", a.reserved = 5);
    const spmvx_arrays bases[] = { csr, coo, sell };
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.nrows is -1", a.nrows = -1);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.ncols is -7", a.ncols = -7);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.nnz is -1", a.nnz = -1);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.nnz is -9223372036854775808", a.nnz = INT64_MIN);
        CREATE(bases[i], SPMVX_ERR_RANGE, "arrays.nrows is 2147483648", a.nrows = INT64_C(1) << 31);
        CREATE(bases[i], SPMVX_ERR_RANGE, "arrays.nrows is 9223372036854775807", a.nrows = INT64_MAX);
        CREATE(bases[i], SPMVX_ERR_RANGE, "arrays.ncols is 2147483648", a.ncols = INT64_C(1) << 31,
               flags = SPMVX_BORROW | SPMVX_TRUST);
        CREATE(bases[i], SPMVX_ERR_RANGE, "arrays.nnz is 9223372036854775807", a.nnz = INT64_MAX);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.val is NULL", a.val = NULL);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.col is NULL", a.col = NULL);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.col is NULL", a.col = NULL,
               flags = SPMVX_BORROW | SPMVX_TRUST);
    }
    CREATE(csr, SPMVX_ERR_ARGUMENT, "arrays.ptr is NULL", a.ptr = NULL);
    CREATE(sell, SPMVX_ERR_ARGUMENT, "arrays.ptr is NULL", a.ptr = NULL);
    CREATE(coo, SPMVX_ERR_ARGUMENT, "arrays.row is NULL", a.row = NULL);
}

static void test_create_formats(void **state)
{
    fixture *f = *state;
    static const struct {
        spmvx_format format;
        const char *name;
    } missing[] = {
        { SPMVX_CSR5, "CSR5" },     { SPMVX_HYB, "HYB" }, { SPMVX_TILED, "TILED" },
        { SPMVX_PACKED, "PACKED" }, { SPMVX_PKT, "PKT" },
    };
    static const int unknown[] = { 13, -1, 99, INT32_MAX };
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        char text[48];
        snprintf(text, sizeof text, "arrays.format is SPMVX_%s", missing[i].name);
        CREATE(csr, SPMVX_ERR_UNSUPPORTED, text, a.format = missing[i].format);
    }
    CREATE(csr, SPMVX_ERR_ARGUMENT, "arrays.format is SPMVX_AUTO", a.format = SPMVX_AUTO);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char text[48];
        snprintf(text, sizeof text, "arrays.format is %d", unknown[i]);
        CREATE(csr, SPMVX_ERR_ARGUMENT, text, a.format = (spmvx_format)unknown[i]);
    }
}

static void test_create_types(void **state)
{
    fixture *f = *state;
    static const int unknown[] = { 0, 5, -1, INT32_MAX };
    const spmvx_arrays bases[] = { csr, coo, sell };
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        CREATE(bases[i], SPMVX_ERR_TYPE, "arrays.val_type is 1", a.val_type = SPMVX_I32);
        CREATE(bases[i], SPMVX_ERR_TYPE, "arrays.val_type is 2", a.val_type = SPMVX_I64);
        CREATE(bases[i], SPMVX_ERR_TYPE, "arrays.idx_type is 3", a.idx_type = SPMVX_F32);
        CREATE(bases[i], SPMVX_ERR_TYPE, "arrays.idx_type is 4", a.idx_type = SPMVX_F64);
        if (bases[i].format != SPMVX_COO)
            CREATE(bases[i], SPMVX_ERR_TYPE, "arrays.ptr_type is 4", a.ptr_type = SPMVX_F64);
        for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++) {
            CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.val_type is", a.val_type = (spmvx_type)unknown[k]);
            CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.idx_type is", a.idx_type = (spmvx_type)unknown[k]);
            if (bases[i].format == SPMVX_COO) continue;
            CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.ptr_type is", a.ptr_type = (spmvx_type)unknown[k]);
        }
    }
    CREATE(csr, SPMVX_ERR_UNSUPPORTED, "arrays.idx_type is SPMVX_I64", a.idx_type = SPMVX_I64,
           a.col = csr_col64, flags = SPMVX_BORROW);
}

static void test_create_csr(void **state)
{
    fixture *f = *state;
    static const int32_t above[] = { 0, 4, 1 }, below[] = { 0, -1, 1 };
    static const int32_t begins[] = { 1, 2, 2, 3 }, falls[] = { 0, 3, 2, 3 }, minus[] = { 0, -2, 2, 3 };
    static const int64_t above64[] = { 0, INT64_C(1) << 32, 1 }, falls64[] = { 0, INT64_C(1) << 40, 2, 3 };
    static const int64_t end64[] = { 0, 2, 2, (INT64_C(1) << 32) + 3 };
    CREATE(csr, SPMVX_ERR_SHAPE, "arrays.ptr[3] is 3, and arrays.nnz is 2", a.nnz = 2);
    CREATE(csr, SPMVX_ERR_SHAPE, "arrays.ptr[3] is 3, and arrays.nnz is 4", a.nnz = 4, flags = SPMVX_TRUST);
    CREATE(csr, SPMVX_ERR_SHAPE, "arrays.ptr[3] is 4294967299", a.ptr = end64, a.ptr_type = SPMVX_I64);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.ptr[0] is 1", a.ptr = begins);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.ptr falls from 3 at 1 to 2", a.ptr = falls);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.ptr falls from 0 at 0 to -2", a.ptr = minus);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.ptr falls from 1099511627776 at 1 to 2", a.ptr = falls64,
           a.ptr_type = SPMVX_I64);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.col[1] is 4", a.col = above);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.col[1] is 4", a.col = above, flags = SPMVX_BORROW);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.col[1] is -1", a.col = below);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.col[1] is 4294967296", a.col = above64, a.idx_type = SPMVX_I64);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.col[0] is 0", a.ncols = 0);
}

static void test_create_coo(void **state)
{
    fixture *f = *state;
    static const int32_t above[] = { 2, 3, 0 }, below[] = { 2, 0, -1 };
    static const int64_t above64[] = { INT64_C(1) << 33, 0, 0 };
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.row[1] is 3", a.row = above);
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.row[2] is -1", a.row = below);
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.col[2] is -1", a.col = below);
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.col[0] is 3", a.ncols = 3);
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.row[0] is 2", a.nrows = 0);
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.row[0] is 8589934592", a.row = above64, a.col = csr_col64,
           a.idx_type = SPMVX_I64);
    CREATE(coo, SPMVX_ERR_UNSUPPORTED, "arrays.idx_type is SPMVX_I64", a.row = csr_col64, a.col = csr_col64,
           a.idx_type = SPMVX_I64, flags = SPMVX_BORROW | SPMVX_TRUST);
}

static void test_create_sell(void **state)
{
    fixture *f = *state;
    static const int32_t repeats[] = { 1, 0, 2, 4, 1 }, above[] = { 1, 0, 2, 4, 5 },
                         below[] = { 1, 0, -1, 4, 3 };
    static const int32_t begins[] = { 4, 8, 12 }, falls[] = { 0, 16, 12 }, odd[] = { 0, 6, 12 },
                         ends[] = { 0, 8, 4 };
    int32_t wild[12], low[12], tail[12];
    memcpy(wild, sell_col, sizeof wild);
    memcpy(low, sell_col, sizeof low);
    memcpy(tail, sell_col, sizeof tail);
    wild[3] = 4;
    low[7] = -2;
    tail[9] = 0; /* of row 5 of 5 */
    CREATE(sell, SPMVX_ERR_ARGUMENT, "arrays.slice is 0", a.slice = 0);
    CREATE(sell, SPMVX_ERR_ARGUMENT, "arrays.slice is -4", a.slice = -4);
    CREATE(sell, SPMVX_ERR_UNSUPPORTED, "arrays.slice is 3", a.slice = 3);
    CREATE(sell, SPMVX_ERR_UNSUPPORTED, "arrays.slice is 65537", a.slice = 65537);
    CREATE(sell, SPMVX_ERR_UNSUPPORTED, "arrays.slice is 9223372036854775807", a.slice = INT64_MAX);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.row[4] is 1", a.row = repeats);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.row[4] is 5", a.row = above);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.row[2] is -1", a.row = below);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.ptr[0] is 4", a.ptr = begins);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.ptr falls from 16 at 1 to 12", a.ptr = falls);
    CREATE(sell, SPMVX_ERR_SHAPE, "arrays.ptr[1] is 6", a.ptr = odd);
    CREATE(sell, SPMVX_ERR_SHAPE, "arrays.ptr[2] is 4", a.ptr = ends);
    CREATE(sell, SPMVX_ERR_SHAPE, "arrays.nnz is 8", a.nnz = 8);
    CREATE(sell, SPMVX_ERR_SHAPE, "arrays.nnz is 13", a.nnz = 13);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.col[3] is 4", a.col = wild);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.col[7] is -2", a.col = low);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.col[9]", a.col = tail, a.nnz = 8);
}

static void make(fixture *f, const spmvx_arrays *a, uint32_t flags)
{
    spmvx_matrix *m = NULL;
    double y[3] = { 1, 2, 3 };
    assert_ok(f->ctx, spmvx_matrix_create(f->ctx, a, flags, &m));
    if (!a->ncols && a->nrows <= 3)
        assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1.0, m, NULL, 2.0, a->nrows ? y : NULL));
    spmvx_matrix_destroy(m);
}

static void test_create_accepts(void **state)
{
    fixture *f = *state;
    static const int32_t zeros[4] = { 0 };
    const spmvx_arrays bases[] = { csr, coo, sell };
    for (uint32_t flags = 0; flags < 4; flags++)
        for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
            spmvx_arrays a = bases[i];
            make(f, &a, flags);
            /* of BSR only, as are the block's sizes; where arrays live is found out */
            a.block_order = (spmvx_order)99;
            a.block_rows = a.block_cols = -3;
            a.width = -1;
            a.place = SPMVX_CUDA;
            if (a.format == SPMVX_COO) a.ptr_type = (spmvx_type)0;
            make(f, &a, flags);
            a = bases[i];
            a.nnz = 0;
            a.ptr = a.format == SPMVX_COO ? NULL : zeros;
            a.row = a.col = a.val = NULL;
            a.nrows = 3;
            make(f, &a, flags);
            a.nrows = 0;
            make(f, &a, flags);
            a.ncols = 0;
            make(f, &a, flags);
            a.nrows = 3;
            make(f, &a, flags);
        }
    spmvx_arrays a = csr;
    a.ptr_type = SPMVX_I64;
    a.ptr = csr_ptr64;
    make(f, &a, SPMVX_BORROW);
    a.idx_type = SPMVX_I64;
    a.col = csr_col64;
    make(f, &a, 0);
}

static void test_views(void **state)
{
    spmvx_arrays view = SPMVX_ARRAYS_INIT;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    fixture *f = *state;
    refused_alone(SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_arrays(NULL, &view));
    refused_alone(SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_get_info(NULL, &info));
    refused_alone(SPMVX_ERR_ARGUMENT, "view is NULL", spmvx_matrix_arrays(f->A, NULL));
    refused_alone(SPMVX_ERR_ARGUMENT, "info is NULL", spmvx_matrix_get_info(f->A, NULL));
    assert_null(view.ptr);
    assert_null(info.kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_create_values), TEST(test_create_formats), TEST(test_create_types),   TEST(test_create_csr),
        TEST(test_create_coo),    TEST(test_create_sell),    TEST(test_create_accepts), TEST(test_views),
    };
    return cmocka_run_group_tests_name("arguments matrix", tests, NULL, NULL);
}
