/* What the library's kernels are written with: views of matrices and vectors, sizes known when compiling. */
#include "launching.h"

#include "vocabulary.cuh"

static void test_views(void **)
{
    const std::vector<int> ptr = { 0, 2, 2, 3 }, col = { 0, 2, 1 };
    const std::vector<double> val = { 2, 3, 5 }, x = { 1, 10, 100 };
    const Array<int> dptr(ptr), dcol(col);
    const Array<double> dval(val), dx(x), dy(std::vector<double>{ 7, 7, 7 });
    spx_csr<double, int> A = { 3, 3, dptr, dcol, dval };
    spx_vectors<double> v = { dx, dy, 2.0, 1.0 };
    launch(1, 32, 0, mul_by_views<double, int>, A, v);
    assert_true((dy.host() == std::vector<double>{ 611, 7, 107 }));
    v.beta = 0;
    launch(1, 32, 0, mul_by_views<double, int>, A, v);
    assert_true((dy.host() == std::vector<double>{ 604, 0, 100 }));
    /* the emulator sees a pointer to the host's memory within a view, as it sees one beside it */
    simt_keep_faults(1);
    A.col = col.data();
    assert_true(spx_launch(spx_launch_config(1, 32, 0, nullptr), mul_by_views<double, int>, A, v) !=
                cudaSuccess);
    assert_fault("argument 1", "not memory that a device can use");
    A.col = dcol;
    v.y = const_cast<double *>(val.data());
    assert_true(spx_launch(spx_launch_config(1, 32, 0, nullptr), mul_by_views<double, int>, A, v) !=
                cudaSuccess);
    assert_fault("argument 2", "not memory that a device can use");
    simt_keep_faults(0);
    cudaGetLastError();
}

static void test_views_of_the_library(void **)
{
    spx_sparse a = {};
    a.val_type = SPMVX_F32;
    a.ptr_type = SPMVX_I64;
    a.nrows = 5;
    a.nnz = 9;
    a.layout.slice = 32;
    spx_mul m = {};
    m.A = &a;
    m.alpha = spx_scalar_of(SPMVX_F32, 0.5);
    m.beta = spx_scalar_of(SPMVX_F32, -1);
    float x[40] = {}, y[40] = {};
    m.x = x;
    m.y = y;
    m.nvec = 10;
    m.ldx = 4;
    m.ldy = 3;
    const int kind =
        spx_by_type(&a, [](auto v, auto p) { return static_cast<int>(sizeof v * 10 + sizeof p); });
    assert_int_equal(kind, 48);
    const spx_csr<float, int64_t> csr = spx_csr_of<float, int64_t>(&a);
    assert_true(csr.nrows == 5 && csr.nnz == 9 && !csr.ptr && !csr.col && !csr.val);
    const spx_sell<float, int64_t> sell = spx_sell_of<float, int64_t>(&a);
    assert_true(sell.nrows == 5 && sell.slice == 32 && !sell.row);
    const spx_vectors<float> v = spx_vectors_of<float>(&m);
    assert_true(v.x == x && v.y == y && v.alpha == 0.5f && v.beta == -1.0f);
    const spx_columns<float> c = spx_columns_of<float>(&m, 8, 8);
    assert_true(c.x == x + 32 && c.y == y + 24 && c.count == 2 && c.ldx == 4 && c.ldy == 3);
    assert_int_equal(spx_columns_of<float>(&m, 0, 8).count, 8);
}

static void test_pick(void **)
{
    const auto picked = [](int64_t n) {
        return spx_pick<2, 4, 64, 8>(n, [](auto size) {
            static_assert(size.value > 0, "known when compiling");
            return size.value;
        });
    };
    assert_int_equal(picked(2), 2);
    assert_int_equal(picked(4), 4);
    assert_int_equal(picked(64), 64);
    assert_int_equal(picked(8), 8);
    assert_int_equal(picked(5), 8);
    assert_int_equal(spx_pick<3>(77, [](auto size) { return size.value; }), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_views_of_the_library),
        cmocka_unit_test(test_pick),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
