/* The library's kernels at positions that come near 2^31. */
#include "launching.h"

#include <algorithm>
#include <numeric>

#include "csr_vector.cuh"
#include "device.cuh"
#include "early.cuh"
#include "one_value.cuh"
#include "ptx.cuh"
#include "reduce.cuh"
#include "row_groups.cuh"
#include "view.cuh"

/* The library's kernels once more, to be called from kernels of this file: near_the_end below. */
#define spx_cuda_mul_csr_vector spx_cuda_mul_csr_vector_again
#define spx_cuda_mul_csr_adaptive spx_cuda_mul_csr_adaptive_again
#define spx_cuda_mul_csr_shared_x spx_cuda_mul_csr_shared_x_again
#define spx_cuda_mul_sell spx_cuda_mul_sell_again
#define spx_cuda_mul_multi_csr_vector spx_cuda_mul_multi_csr_vector_again
#define spx_cuda_mul_multi_sell spx_cuda_mul_multi_sell_again
namespace csr_vector_file {
#include "kernel/mul_csr_vector.cu"
}
namespace csr_shared_x_file {
#include "kernel/mul_csr_shared_x.cu"
}
namespace csr_adaptive_file {
#include "kernel/mul_csr_adaptive.cu"
}
namespace sell_file {
#include "kernel/mul_sell.cu"
}
namespace multi_csr_vector_file {
#include "kernel/mul_multi_csr_vector.cu"
}
namespace multi_sell_file {
#include "kernel/mul_multi_sell.cu"
}

/* Arrays of the entries from `first` on, behind pointers that count from 0: `shift` is taken off within the
 * kernel, after the emulator has looked at the pointers. What a kernel reads outside is AddressSanitizer's to
 * see, or lies where nothing is mapped. */
static constexpr int64_t END = INT32_MAX;

template <class VIEW> __device__ VIEW shifted(VIEW A, int64_t shift)
{
    A.col -= shift;
    A.val -= shift;
    return A;
}
template <int LANES>
__global__ void csr_vector_at(spx_csr<double, int> A, spx_vectors<double> v, int64_t shift)
{
    spx_early_vectors<double, true> early = {};
    static_cast<spx_vectors<double> &>(early) = v;
    early.early = true;
    spx_csr_vector<double, int, LANES, false, true, true, false, false>(shifted(A, shift), early,
                                                                        spx_row_pieces<double, false>(), 0);
}
__global__ static void csr_adaptive_at(spx_csr<double, int> A, const spx_row_group *groups,
                                       spx_vectors<double> v, int64_t shift)
{
    spx_early_vectors<double> early = {};
    static_cast<spx_vectors<double> &>(early) = v;
    early.early = true;
    csr_adaptive_file::csr_adaptive<double, int, 2, false, false>(shifted(A, shift), groups, early, 0);
}
template <int LANES>
__global__ void csr_shared_x_at(spx_csr<double, int> A, spx_vectors<double> v, int64_t shift)
{
    spx_early_vectors<double> early = {};
    static_cast<spx_vectors<double> &>(early) = v;
    early.early = true;
    const spx_csr<double, int> a = shifted(A, shift);
    csr_shared_x_file::csr_shared_x<double, int, int, LANES, csr_shared_x_file::BY_BLOCK, false, false>(
        a, a.col, early, 1, 0, 0);
}
/* Each warp has a piece. */
__global__ static void pieces_at(spx_csr<double, int> A, spx_vectors<double> v, const spx_row_piece *list,
                                 unsigned count, int64_t shift)
{
    spx_early_vectors<double> early = {};
    static_cast<spx_vectors<double> &>(early) = v;
    early.early = true;
    const spx_row_pieces<double, true> pieces = { list, nullptr, 0, count, gridDim.x };
    const spx_csr<double, int> there = shifted(A, shift);
    spx_multiply_piece<SPX_KEPT>(there, spx_value_of<double, false>(there.val), early, pieces);
}
template <int LANES>
__global__ void multi_csr_vector_at(spx_csr<double, int> A, spx_columns<double> v, int64_t shift)
{
    multi_csr_vector_file::multi_csr_vector<double, int, LANES>(shifted(A, shift), v);
}
template <int SLICE, bool SPLIT>
__global__ void sell_at(spx_sell<double, int> A, spx_vectors<double> v, int log_split, int64_t shift)
{
    sell_file::sell<double, int, sell_file::shape<SLICE, SPLIT, false, 8>>(shifted(A, shift), v, log_split,
                                                                           0);
}
__global__ void multi_sell_at(spx_sell<double, int> A, spx_columns<double> v, int64_t shift)
{
    multi_sell_file::multi_sell<double, int>(shifted(A, shift), v);
}

/* Rows, the last of which end at 2^31 - 1, with ones in column 0. */
struct near_the_end {
    explicit near_the_end(const std::vector<int> &lengths)
        : nrows(static_cast<int>(lengths.size())),
          entries(std::accumulate(lengths.begin(), lengths.end(), 0)), shift(END - entries),
          wanted(lengths.begin(), lengths.end()), ptr(pointers(lengths)),
          col(static_cast<std::size_t>(entries), 0), val(static_cast<std::size_t>(entries), 1.0), x(1, 1.0),
          y(lengths.size(), 99.0)
    {}
    static std::vector<int> pointers(const std::vector<int> &lengths)
    {
        std::vector<int> p(1, static_cast<int>(END) - std::accumulate(lengths.begin(), lengths.end(), 0));
        for (const int n : lengths) p.push_back(p.back() + n);
        return p;
    }
    spx_csr<double, int> A() const
    {
        return { nrows, entries, ptr, col, val };
    }
    spx_vectors<double> vectors() const
    {
        return { x, y, 1.0, 0.0 };
    }
    spx_columns<double> columns() const
    {
        return { x, y, 1.0, 0.0, 0, 0, 1 };
    }
    void check() const
    {
        assert_true(y.host() == wanted);
        assert_cuda(cudaMemset(y, 0x11, static_cast<std::size_t>(nrows) * sizeof(double)));
    }

    int nrows, entries;
    int64_t shift;
    std::vector<double> wanted;
    Array<int> ptr, col;
    Array<double> val, x, y;
};

/* A block for each row: a group, or eight pieces. */
static void test_groups_near_2_to_the_31(void **)
{
    const std::vector<int> lengths = { 3, 0, 64, 500, 65, 2 };
    const near_the_end p(lengths);
    std::vector<spx_row_group> groups(8 * lengths.size());
    int64_t entry = p.shift;
    for (std::size_t r = 0; r < lengths.size(); r++) {
        const int row = static_cast<int>(r), n = lengths[r];
        if (n <= 64) groups[8 * r] = spx_row_group::of(entry, row, 1, n);
        for (int i = 0; i < 8 && n > 64; i++) {
            const int from = std::min(i * 96, n), to = std::min(from + 96, n);
            groups[8 * r + static_cast<std::size_t>(i)] = spx_row_group::of(entry + from, row, -8, to - from);
        }
        entry += n;
    }
    const Array<spx_row_group> on_device(groups);
    launch(static_cast<unsigned>(lengths.size()), 256, 1 << 13, csr_adaptive_at, p.A(), on_device,
           p.vectors(), p.shift);
    p.check();
}

static void test_csr_near_2_to_the_31(void **)
{
    for (const std::vector<int> &lengths : { std::vector<int>{ 3, 0, 65, 1, 130, 2 },
                                             std::vector<int>{ 40, 0, 0 }, std::vector<int>{ 0, 1000 } }) {
        const near_the_end p(lengths);
        const unsigned rows = static_cast<unsigned>(p.nrows);
        launch(rows, 256, 0, multi_csr_vector_at<4>, p.A(), p.columns(), p.shift);
        p.check();
        launch(rows, 256, 0, multi_csr_vector_at<16>, p.A(), p.columns(), p.shift);
        p.check();
        launch(rows, 256, 0, multi_csr_vector_at<32>, p.A(), p.columns(), p.shift);
        p.check();
        launch(rows, 256, 0, csr_vector_at<2>, p.A(), p.vectors(), p.shift);
        p.check();
        launch(rows, 256, 0, csr_vector_at<16>, p.A(), p.vectors(), p.shift);
        p.check();
        launch(rows, 256, 0, csr_vector_at<64>, p.A(), p.vectors(), p.shift);
        p.check();
        launch(1, 1024, sizeof(double), csr_shared_x_at<2>, p.A(), p.vectors(), p.shift);
        p.check();
        launch(1, 1024, sizeof(double), csr_shared_x_at<32>, p.A(), p.vectors(), p.shift);
        p.check();
        std::vector<spx_row_piece> pieces;
        int64_t entry = p.shift;
        for (int r = 0; r < p.nrows; entry += lengths[static_cast<std::size_t>(r++)])
            pieces.push_back({ entry, lengths[static_cast<std::size_t>(r)], r });
        const Array<spx_row_piece> list(pieces);
        launch(rows, 32, 0, pieces_at, p.A(), p.vectors(), list, rows, p.shift);
        p.check();
    }
}

/* The pieces of a row of more entries than 32 bits count. */
static void test_pieces_of_a_huge_row(void **)
{
    constexpr int64_t LENGTH = 5'000'000'000, PIECE = 1 << 20, PIECES = (LENGTH + PIECE - 1) / PIECE;
    const Array<int64_t> ptr(std::vector<int64_t>{ 7, 7 + LENGTH });
    const Array<int64_t> before(SPX_OF_ALL, 0);
    const Array<spx_row_piece> list(std::vector<spx_row_piece>(static_cast<std::size_t>(PIECES)));
    const Array<spx_cut> split(std::vector<spx_cut>(1));
    launch(1, SPX_BUILD_THREADS, 0, spx_write_pieces<int64_t>, ptr, 1, spx_splitting{ 16, PIECE }, before,
           list, split);
    const std::vector<spx_row_piece> got = list.host();
    for (int64_t i = 0; i < PIECES; i++) {
        const spx_row_piece p = got[static_cast<std::size_t>(i)];
        assert_true(p.entry == 7 + i * PIECE && p.to == ~static_cast<int>(i));
        assert_true(p.entries == (i + 1 < PIECES ? PIECE : LENGTH - i * PIECE));
    }
    const spx_cut cut = split.host()[0];
    assert_true(cut.row == 0 && cut.first == 0 && cut.last == PIECES - 1);
}

static void test_sell_near_2_to_the_31(void **)
{
    /* slices of 64 rows, of 3 entries a row, of none, of 5 */
    const near_the_end p({ 3 * 64, 0, 5 * 64 });
    std::vector<double> wanted(192, 3.0);
    std::fill(wanted.begin() + 64, wanted.begin() + 128, 0.0);
    std::fill(wanted.begin() + 128, wanted.end(), 5.0);
    const auto check = [&](const Array<double> &y) { assert_true(y.host() == wanted); };
    const spx_csr<double, int> csr = p.A();
    const spx_sell<double, int> A = { 192, 64, csr.ptr, csr.col, csr.val, nullptr };
    {
        const Array<double> y(192, 99.0);
        launch(3, 128, 0, multi_sell_at, A, spx_columns<double>{ p.x, y, 1.0, 0.0, 0, 0, 1 }, p.shift);
        check(y);
    }
    {
        const Array<double> y(192, 99.0);
        launch(6, 32, 0, sell_at<64, false>, A, spx_vectors<double>{ p.x, y, 1.0, 0.0 }, 0, p.shift);
        check(y);
    }
    const Array<double> y(192, 99.0);
    launch(6, 64, 64 * sizeof(double), sell_at<0, true>, A, spx_vectors<double>{ p.x, y, 1.0, 0.0 }, 1,
           p.shift);
    check(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_near_2_to_the_31),
        cmocka_unit_test(test_csr_near_2_to_the_31),
        cmocka_unit_test(test_sell_near_2_to_the_31),
        cmocka_unit_test(test_pieces_of_a_huge_row),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
