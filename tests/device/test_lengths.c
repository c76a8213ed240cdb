/* Arrays in device memory whose lengths do not agree: refused by the argument at fault before anything that
 * long is copied (the emulator reports a copy past an allocation's end), and nothing is left behind. */
#include <stdlib.h>
#include <string.h>

#include "device.h"
#if __has_include("simt.h")
#include "simt.h"
#else
typedef struct simt_live {
    size_t allocations, bytes;
} simt_live;
static simt_live simt_live_now(void)
{
    return (simt_live){ 0, 0 };
}
#endif

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define LIST(...) (const double[]){ __VA_ARGS__ }, COUNT(((const double[]){ __VA_ARGS__ }))
enum { NROWS = 5, NCOLS = 4, NNZ = 7, MOST_ARRAYS = 64, ANY = SPMVX_BORROW | SPMVX_TRUST };

/* The same matrix in every format that takes arrays, each array in an allocation of exactly its length. */
typedef struct fixture {
    _Atomic long blocks; /* of the context, on the host */
    spmvx_context *ctx;
    spmvx_type ptr_type, idx_type, val_type;
    void *memory[MOST_ARRAYS];
    int count;
    spmvx_arrays csr, csc, coo, ell, sell, bsr, dia;
} fixture;

/* Memory that no test here needs is not there. */
static void *allocate(void *blocks, size_t bytes)
{
    if (bytes > (size_t)1 << 24) return NULL;
    ++*(_Atomic long *)blocks;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(void *blocks, void *p)
{
    if (p) --*(_Atomic long *)blocks;
    free(p);
}

static void put(void *array, spmvx_type type, size_t i, double v)
{
    if (type == SPMVX_I32) ((int32_t *)array)[i] = (int32_t)v;
    else if (type == SPMVX_I64) ((int64_t *)array)[i] = (int64_t)v;
    else value_put(array, type, (int64_t)i, v);
}

/* The numbers as an array on the device. */
static const void *up(fixture *f, spmvx_type type, const double *numbers, size_t n)
{
    const size_t each = type == SPMVX_I32 || type == SPMVX_F32 ? 4 : 8;
    void *host = malloc(n * each), *device = NULL;
    assert_true(host && f->count < MOST_ARRAYS);
    for (size_t i = 0; i < n; i++) put(host, type, i, numbers[i]);
    assert_cuda(cudaMalloc(&device, n * each));
    assert_cuda(cudaMemcpy(device, host, n * each, cudaMemcpyHostToDevice));
    free(host);
    return f->memory[f->count++] = device;
}

static spmvx_arrays shape(const fixture *f, spmvx_format format, int64_t nnz)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = format;
    a.ptr_type = f->ptr_type;
    a.idx_type = f->idx_type;
    a.val_type = f->val_type;
    a.nrows = NROWS;
    a.ncols = NCOLS;
    a.nnz = nnz;
    return a;
}

/* 1 0 0 2; 0 3 0 0; 0 0 0 0; 4 0 5 0; 0 0 6 7, where BSR has zeros as entries, too; DIA's values are
 * others. */
static void give(fixture *f)
{
    const spmvx_type p = f->ptr_type, i = f->idx_type, v = f->val_type;
    f->csr = shape(f, SPMVX_CSR, NNZ);
    f->csr.ptr = up(f, p, LIST(0, 2, 3, 3, 5, 7));
    f->csr.col = up(f, i, LIST(0, 3, 1, 0, 2, 2, 3));
    f->csr.val = up(f, v, LIST(1, 2, 3, 4, 5, 6, 7));
    f->csc = shape(f, SPMVX_CSC, NNZ);
    f->csc.ptr = up(f, p, LIST(0, 2, 3, 5, 7));
    f->csc.row = up(f, i, LIST(0, 3, 1, 3, 4, 0, 4));
    f->csc.val = up(f, v, LIST(1, 4, 3, 5, 6, 2, 7));
    f->coo = shape(f, SPMVX_COO, NNZ);
    f->coo.row = up(f, i, LIST(0, 0, 1, 3, 3, 4, 4));
    f->coo.col = f->csr.col;
    f->coo.val = f->csr.val;
    f->ell = shape(f, SPMVX_ELL, NNZ);
    f->ell.width = 2;
    f->ell.col = up(f, i, LIST(0, 1, -1, 0, 2, 3, -1, -1, 2, 3));
    f->ell.val = up(f, v, LIST(1, 3, 0, 4, 6, 2, 0, 0, 5, 7));
    f->sell = shape(f, SPMVX_SELL, NNZ);
    f->sell.slice = 4;
    f->sell.ptr = up(f, p, LIST(0, 8, 16));
    f->sell.col = up(f, i, LIST(0, 1, -1, 0, 3, -1, -1, 2, 2, -1, -1, -1, 3, -1, -1, -1));
    f->sell.val = up(f, v, LIST(1, 3, 0, 4, 2, 0, 0, 5, 6, 0, 0, 0, 7, 0, 0, 0));
    f->bsr = shape(f, SPMVX_BSR, 18);
    f->bsr.block_rows = f->bsr.block_cols = 2;
    f->bsr.block_order = SPMVX_ROW_MAJOR;
    f->bsr.ptr = up(f, p, LIST(0, 2, 4, 5));
    f->bsr.col = up(f, i, LIST(0, 1, 0, 1, 1));
    f->bsr.val = up(f, v, LIST(1, 0, 0, 3, 0, 2, 0, 0, 0, 0, 4, 0, 0, 0, 5, 0, 6, 7, 0, 0));
    f->dia = shape(f, SPMVX_DIA, 7);
    f->dia.width = 2;
    f->dia.col = up(f, i, LIST(0, 1));
    f->dia.val = up(f, v, LIST(1, 2, 3, 4, 0, 5, 6, 7, 0, 0));
}

static void open_context(fixture *f)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    o.place = SPMVX_CUDA;
    o.flags = SPMVX_CONTEXT_CHECK;
    o.alloc = allocate;
    o.release = release;
    o.user = &f->blocks;
    assert_ok(NULL, spmvx_context_create(&o, &f->ctx));
}

/* Runs the test with arrays of these types. */
static void with_types(spmvx_type ptr, spmvx_type idx, spmvx_type val, void (*test)(fixture *))
{
    const simt_live before = simt_live_now();
    fixture f = { .ptr_type = ptr, .idx_type = idx, .val_type = val };
    open_context(&f);
    give(&f);
    test(&f);
    for (int i = 0; i < f.count; i++) assert_cuda(cudaFree(f.memory[i]));
    spmvx_context_destroy(f.ctx);
    assert_int_equal(f.blocks, 0);
    assert_int_equal(simt_live_now().allocations, before.allocations);
}

static void with_all_types(void (*test)(fixture *))
{
    with_types(SPMVX_I32, SPMVX_I32, SPMVX_F64, test);
    with_types(SPMVX_I64, SPMVX_I32, SPMVX_F32, test);
    with_types(SPMVX_I64, SPMVX_I64, SPMVX_F64, test);
}

/* Creation with these flags at most, in every combination, is refused and leaves nothing. */
static void refuse(fixture *f, const spmvx_arrays *a, uint32_t most, spmvx_status status, const char *text)
{
    if (a->idx_type == SPMVX_I64) most &= ~SPMVX_BORROW; /* which borrowing refuses already */
    for (uint32_t flags = 0; flags <= ANY; flags++) {
        if (flags & ~most) continue;
        spmvx_matrix *out = NOT_WRITTEN;
        const long blocks = f->blocks;
        const simt_live before = simt_live_now();
        assert_fails(status, text, spmvx_matrix_create(f->ctx, a, flags, &out));
        assert_ptr_equal(out, NOT_WRITTEN);
        assert_int_equal(f->blocks, blocks);
        assert_int_equal(simt_live_now().allocations, before.allocations);
        assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    }
}

/* The arrays `base`, spoiled by the statements. */
#define REFUSE_WITH(most, base, status, text, ...) \
    do {                                           \
        spmvx_arrays a = f->base;                  \
        __VA_ARGS__;                               \
        refuse(f, &a, most, status, text);         \
    } while (0)
#define REFUSE(base, status, text, ...) REFUSE_WITH(ANY, base, status, text, __VA_ARGS__)
/* What is seen by a look at all entries. */
#define REFUSE_UNTRUSTED(base, status, text, ...) REFUSE_WITH(SPMVX_BORROW, base, status, text, __VA_ARGS__)

/* ---- the arrays as they are ---- */

static void take_arrays(fixture *f)
{
    const spmvx_arrays *all[] = { &f->csr, &f->csc, &f->coo, &f->ell, &f->sell, &f->bsr, &f->dia };
    const double x[NCOLS] = { 1, 2, 4, 8 };
    static const double want[NROWS] = { 17, 6, 0, 24, 80 };
    spmvx_context *host = NULL;
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    for (size_t k = 0; k < COUNT(all); k++)
        for (uint32_t flags = 0; flags <= ANY; flags++) {
            spmvx_matrix *m = NULL, *on_host = NULL;
            const long blocks = f->blocks;
            const simt_live before = simt_live_now();
            if (flags & SPMVX_BORROW && all[k]->idx_type == SPMVX_I64) continue;
            assert_ok(f->ctx, spmvx_matrix_create(f->ctx, all[k], flags, &m));
            assert_ok(host, spmvx_matrix_convert(host, m, NULL, &on_host));
            char X[NCOLS * 8], Y[NROWS * 8];
            for (int i = 0; i < NCOLS; i++) value_put(X, f->val_type, i, x[i]);
            assert_ok(host, spmvx_mul(host, SPMVX_N, 1, on_host, X, 0, Y));
            for (int i = 0; all[k] != &f->dia && i < NROWS; i++)
                assert_true(value_at(Y, f->val_type, i) == want[i]);
            spmvx_matrix_destroy(on_host);
            spmvx_matrix_destroy(m);
            assert_int_equal(f->blocks, blocks);
            assert_int_equal(simt_live_now().allocations, before.allocations);
        }
    spmvx_context_destroy(host);
}

static void test_taken(void **state)
{
    (void)state;
    with_all_types(take_arrays);
}

/* ---- too many entries, or too few ---- */

static void refuse_counts(fixture *f)
{
    static const int64_t counts[] = { 0, 1, NNZ - 1, NNZ + 1, 100, 1 << 20, INT64_MAX / 64 };
    for (size_t i = 0; i < COUNT(counts); i++) {
        REFUSE(csr, SPMVX_ERR_SHAPE, "arrays.ptr[5] is 7, and arrays.nnz is", a.nnz = counts[i]);
        REFUSE(csc, SPMVX_ERR_SHAPE, "arrays.ptr[4] is 7, and arrays.nnz is", a.nnz = counts[i]);
        if (counts[i] > 16)
            REFUSE(sell, SPMVX_ERR_SHAPE, "arrays.ptr[2] is 16, and arrays.nnz is", a.nnz = counts[i]);
        else REFUSE_UNTRUSTED(sell, SPMVX_ERR_SHAPE, "and arrays.nnz is", a.nnz = counts[i]);
        if (counts[i] > 10) REFUSE(ell, SPMVX_ERR_SHAPE, "arrays.nnz is", a.nnz = counts[i]);
        else REFUSE_UNTRUSTED(ell, SPMVX_ERR_SHAPE, "and arrays.nnz is", a.nnz = counts[i]);
        REFUSE(bsr, SPMVX_ERR_SHAPE, "arrays.nnz is", a.nnz = counts[i]);
        REFUSE(dia, SPMVX_ERR_SHAPE, "arrays.nnz is", a.nnz = counts[i]);
    }
    REFUSE(sell, SPMVX_ERR_SHAPE, "arrays.ptr[2] is 16, and arrays.nnz is 17", a.nnz = 17);
    REFUSE(ell, SPMVX_ERR_SHAPE, "arrays.nnz is 11, and width 2 by 5 rows hold 10", a.nnz = 11);
    REFUSE(bsr, SPMVX_ERR_SHAPE, "arrays.nnz is 4, and 5 blocks", a.nnz = 4);
    REFUSE(bsr, SPMVX_ERR_SHAPE, "arrays.nnz is 17, and the blocks have 18 places", a.nnz = 17);
    REFUSE(bsr, SPMVX_ERR_SHAPE, "arrays.nnz is 19, and the blocks have 18 places", a.nnz = 19);
    REFUSE(bsr, SPMVX_ERR_SHAPE, "arrays.nnz is 21, and 5 blocks", a.nnz = 21);
    static const struct {
        int64_t nnz;
        spmvx_status status;
        const char *text;
    } wild[] = { { -1, SPMVX_ERR_ARGUMENT, "arrays.nnz is -1" },
                 { INT64_MIN, SPMVX_ERR_ARGUMENT, "arrays.nnz is -9223372036854775808" },
                 { INT64_MAX / 64 + 1, SPMVX_ERR_RANGE, "arrays.nnz is 144115188075855872" },
                 { INT64_MAX, SPMVX_ERR_RANGE, "arrays.nnz is 9223372036854775807" } };
    for (size_t i = 0; i < COUNT(wild); i++) {
        REFUSE(csr, wild[i].status, wild[i].text, a.nnz = wild[i].nnz);
        REFUSE(csc, wild[i].status, wild[i].text, a.nnz = wild[i].nnz);
        REFUSE(coo, wild[i].status, wild[i].text, a.nnz = wild[i].nnz);
        REFUSE(ell, wild[i].status, wild[i].text, a.nnz = wild[i].nnz);
        REFUSE(sell, wild[i].status, wild[i].text, a.nnz = wild[i].nnz);
        REFUSE(bsr, wild[i].status, wild[i].text, a.nnz = wild[i].nnz);
        REFUSE(dia, wild[i].status, wild[i].text, a.nnz = wild[i].nnz);
    }
}

static void test_counts(void **state)
{
    (void)state;
    with_all_types(refuse_counts);
}

/* COO's arrays are as long as it says; what the host has no memory for is not copied. */
static void refuse_coo(fixture *f)
{
    REFUSE(coo, SPMVX_ERR_MEMORY, "row", a.nnz = INT64_MAX / 64);
    REFUSE(coo, SPMVX_ERR_MEMORY, "row", a.nnz = INT64_C(1) << 50);
    REFUSE(coo, SPMVX_ERR_ARGUMENT, "arrays.row is NULL", a.row = NULL);
    REFUSE(coo, SPMVX_ERR_ARGUMENT, "arrays.col is NULL", a.col = NULL);
    REFUSE(coo, SPMVX_ERR_ARGUMENT, "arrays.val is NULL", a.val = NULL);
    spmvx_matrix *m = NULL;
    spmvx_arrays none = f->coo;
    none.nnz = 0;
    none.row = none.col = none.val = NULL;
    assert_ok(f->ctx, spmvx_matrix_create(f->ctx, &none, 0, &m));
    spmvx_matrix_destroy(m);
}

static void test_coo(void **state)
{
    (void)state;
    with_all_types(refuse_coo);
}

/* ---- the last pointer ---- */

static void refuse_ends(fixture *f)
{
    if (f->ptr_type != SPMVX_I64) return;
    static const double ends[] = { -1, -4294967289.0, 4294967303.0, 0x1p57, 0x1p60, 0x1p61, 0x1p62 };
    for (size_t i = 0; i < COUNT(ends); i++) {
        const double e = ends[i];
        const void *csr = up(f, SPMVX_I64, LIST(0, 2, 3, 3, 5, e)), *sell = up(f, SPMVX_I64, LIST(0, 8, e)),
                   *bsr = up(f, SPMVX_I64, LIST(0, 2, 4, e));
        REFUSE(csr, SPMVX_ERR_SHAPE, "arrays.ptr[5] is ", a.ptr = csr);
        REFUSE(csc, SPMVX_ERR_SHAPE, "arrays.ptr[5] is ", a.ptr = csr, a.ncols = NROWS);
        if (e < 0) REFUSE(sell, SPMVX_ERR_SHAPE, "arrays.ptr[2] is -", a.ptr = sell);
        else if (e >= 0x1p57) REFUSE(sell, SPMVX_ERR_RANGE, "arrays.ptr[2] is ", a.ptr = sell);
        else REFUSE(sell, SPMVX_ERR_MEMORY, "col", a.ptr = sell);
        if (e > 0 && e < 0x1p55) {
            REFUSE(bsr, SPMVX_ERR_SHAPE, "arrays.nnz is 18, and 4294967303 blocks", a.ptr = bsr);
            REFUSE(bsr, SPMVX_ERR_MEMORY, "col", a.ptr = bsr, a.nnz = (int64_t)e);
        } else REFUSE(bsr, SPMVX_ERR_RANGE, "arrays.ptr[3] is ", a.ptr = bsr);
        /* as many entries as are said, of which there are not so many */
        if (e < 0 || e >= 0x1p57) continue;
        const int64_t nnz = (int64_t)e;
        REFUSE_WITH(SPMVX_BORROW, csr, SPMVX_ERR_MEMORY, "col", a.ptr = csr, a.nnz = nnz);
        REFUSE_WITH(SPMVX_TRUST, csr, SPMVX_ERR_MEMORY, "col", a.ptr = csr, a.nnz = nnz);
        REFUSE(csc, SPMVX_ERR_MEMORY, "row", a.ptr = csr, a.ncols = NROWS, a.nnz = nnz);
    }
}

static void test_ends(void **state)
{
    (void)state;
    with_all_types(refuse_ends);
}

/* ---- products that overflow ---- */

static void refuse_products(fixture *f)
{
    /* the largest wraps to 4 places for 5 rows, the one before it to so few bytes of values */
    static const int64_t widths[] = { INT64_MAX, INT64_C(1) << 62, INT64_MAX / 64 / NROWS + 1,
                                      INT64_C(461168601842738791), INT64_C(3689348814741910324) };
    for (size_t i = 0; i < COUNT(widths); i++) {
        REFUSE(ell, SPMVX_ERR_RANGE, "arrays.width is ", a.width = widths[i], a.nnz = 0);
        REFUSE(ell, SPMVX_ERR_RANGE, "arrays.width is ", a.width = widths[i], a.nnz = 4);
        REFUSE(dia, SPMVX_ERR_RANGE, "arrays.width is ", a.width = widths[i], a.nnz = 4);
    }
    REFUSE(ell, SPMVX_ERR_RANGE, "which with 4 rows overflows", a.width = INT64_C(1) << 62, a.nrows = 4);
    REFUSE(ell, SPMVX_ERR_ARGUMENT, "arrays.width is -1", a.width = -1);
    REFUSE(ell, SPMVX_ERR_ARGUMENT, "arrays.width is -9223372036854775808", a.width = INT64_MIN);
    REFUSE(ell, SPMVX_ERR_SHAPE, "arrays.nnz is 7, and width 1 by 5 rows hold 5", a.width = 1);
    REFUSE(dia, SPMVX_ERR_ARGUMENT, "arrays.width is -1", a.width = -1);
    REFUSE(sell, SPMVX_ERR_ARGUMENT, "arrays.slice is 0", a.slice = 0);
    REFUSE(sell, SPMVX_ERR_ARGUMENT, "arrays.slice is -4", a.slice = -4);
    REFUSE(sell, SPMVX_ERR_UNSUPPORTED, "arrays.slice is 65537", a.slice = 65537);
    REFUSE(sell, SPMVX_ERR_UNSUPPORTED, "arrays.slice is 9223372036854775807", a.slice = INT64_MAX);
    static const int64_t sizes[] = {
        INT64_MIN, -2, -1, 0, 17, INT64_C(1) << 31, INT64_C(1) << 32, INT64_C(1) << 61, INT64_MAX
    };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const int64_t n = sizes[i];
        const spmvx_status s = n < 1 ? SPMVX_ERR_ARGUMENT : SPMVX_ERR_UNSUPPORTED;
        REFUSE(bsr, s, "arrays.block_rows is ", a.block_rows = n);
        REFUSE(bsr, s, "arrays.block_cols is ", a.block_cols = n);
        REFUSE(bsr, s, "arrays.block_rows is ", a.block_rows = a.block_cols = n);
        REFUSE(bsr, s, "arrays.block_rows is ", a.block_rows = a.block_cols = n, a.nnz = 0);
    }
}

static void test_products(void **state)
{
    (void)state;
    with_all_types(refuse_products);
}

/* ---- some of the arrays on the host ---- */

static void refuse_mixed(fixture *f)
{
    if (f->ptr_type != SPMVX_I32) return;
    static const int32_t ptr[] = { 0, 2, 3, 3, 5, 7 }, col[] = { 0, 3, 1, 0, 2, 2, 3 };
    REFUSE_WITH(SPMVX_TRUST, csr, SPMVX_ERR_SHAPE, "arrays.ptr[5] is 7", a.ptr = ptr, a.nnz = NNZ + 1);
    REFUSE_WITH(SPMVX_TRUST, csr, SPMVX_ERR_SHAPE, "arrays.ptr[5] is 7", a.col = col, a.nnz = NNZ + 1);
    REFUSE_WITH(ANY, csr, SPMVX_ERR_SHAPE, "arrays.ptr[5] is 7", a.col = col, a.nnz = NNZ - 1);
    REFUSE_WITH(SPMVX_TRUST, csr, SPMVX_ERR_SHAPE, "arrays.ptr[5] is 7", a.ptr = ptr, a.col = col, a.nnz = 0);
}

static void test_mixed(void **state)
{
    (void)state;
    with_all_types(refuse_mixed);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken), cmocka_unit_test(test_counts),   cmocka_unit_test(test_coo),
        cmocka_unit_test(test_ends),  cmocka_unit_test(test_products), cmocka_unit_test(test_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
