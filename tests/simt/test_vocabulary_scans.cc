/* What the library's kernels are written with: scans, sums, the last block, and searches among rows. */
#include "launching.h"

#include <numeric>

#include "vocabulary.cuh"

/* ---- scans and sums ---- */

template <class T> static void scan_one_warp(unsigned rare)
{
    std::vector<T> x(32);
    std::vector<int> heads(32);
    for (std::size_t i = 0; i < 32; i++) {
        x[i] = static_cast<T>(below(1000)) - 500;
        heads[i] = below(rare) == 0;
    }
    const Array<T> dx(x), dy(192);
    const Array<int> dheads(heads);
    launch(1, 32, 0, scan_warp<T>, dx, dheads, dy);
    const std::vector<T> y = dy.host();
    T sum = 0, of_segment = 0;
    for (std::size_t i = 0, first = 0; i < 32; i++) {
        if (heads[i] || i == 0) {
            first = i;
            of_segment = 0;
        }
        std::size_t last = i;
        while (last < 31 && !heads[last + 1]) last++;
        assert_true(y[32 + i] == sum);
        sum += x[i];
        of_segment += x[i];
        assert_true(y[i] == sum && y[64 + i] == of_segment);
        if (i == first) assert_true(y[96 + i] == std::accumulate(&x[first], &x[last] + 1, T(0)));
        assert_true(y[128 + i] == static_cast<T>(first) && y[160 + i] == static_cast<T>(last));
    }
}

template <class T, int THREADS> static void scan_one_block(int n, unsigned rare)
{
    std::vector<T> x(static_cast<std::size_t>(n));
    std::vector<int> heads(x.size());
    for (std::size_t i = 0; i < x.size(); i++) {
        x[i] = static_cast<T>(below(1000)) - 500;
        heads[i] = below(rare) == 0;
    }
    const Array<T> dx(x), dy(4 * x.size() + 2);
    const Array<int> dheads(heads);
    launch(1, THREADS, 0, scan_blocks<T, THREADS>, n, dx, dheads, dy);
    const std::vector<T> y = dy.host();
    T sum = 0, of_segment = 0;
    for (std::size_t i = 0; i < x.size(); i++) {
        if (heads[i]) of_segment = 0;
        assert_true(y[i] == sum && y[2 * x.size() + i] == of_segment);
        sum += x[i];
        of_segment += x[i];
        assert_true(y[x.size() + i] == sum && y[3 * x.size() + i] == of_segment);
    }
    assert_true(y[4 * x.size()] == sum && y[4 * x.size() + 1] == of_segment);
}

static void test_scans(void **)
{
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        for (const unsigned rare : { 1u, 2u, 7u, 40u, 1000000u }) {
            scan_one_warp<int>(rare);
            scan_one_warp<double>(rare);
            scan_one_block<int, 32>(96, rare);
            scan_one_block<double, 96>(288, rare);
            scan_one_block<long long, 256>(512, 10 * rare);
        }
    }
}

static void test_last_block(void **)
{
    const Array<unsigned> ticket(1, 0u), total(1, 0u);
    for (unsigned round = 1; round <= 16; round++) {
        simt_seed(round);
        const Array<unsigned> written(33, 0u);
        launch(33, 64, 0, sum_by_last, written, ticket, total);
        assert_int_equal(total.host()[0], round * 33 * 17);
        assert_int_equal(ticket.host()[0], 0);
    }
}

/* ---- rows ---- */

template <class P, int WAYS> static void search(const std::vector<P> &ptr)
{
    const int nrows = static_cast<int>(ptr.size()) - 1;
    const int64_t from = static_cast<int64_t>(ptr[0]);
    const int entries = static_cast<int>(ptr.back() - ptr[0]);
    const Array<P> dptr(ptr);
    const Array<int> dended(static_cast<std::size_t>(entries + 1)),
        dbefore(static_cast<std::size_t>(entries + nrows + 1));
    launch(static_cast<unsigned>(entries + nrows) / 64 + 1, 64, 0, search_rows<P, WAYS>, dptr, nrows, from,
           entries, dended, dbefore);
    const std::vector<int> ended = dended.host(), before = dbefore.host();
    for (int k = 0; k <= entries; k++) {
        int rows = 0;
        while (rows < nrows && static_cast<int64_t>(ptr[static_cast<std::size_t>(rows) + 1]) <= from + k)
            rows++;
        assert_int_equal(ended[static_cast<std::size_t>(k)], rows);
    }
    if (from) return;              /* a diagonal counts entries from 0 on */
    std::vector<int> ends = { 0 }; /* among the first d items */
    for (int r = 0; r < nrows; r++) {
        for (P k = ptr[static_cast<std::size_t>(r)]; k < ptr[static_cast<std::size_t>(r) + 1]; k++)
            ends.push_back(ends.back());
        ends.push_back(ends.back() + 1);
    }
    assert_true(before == ends);
}

static void test_row_search(void **)
{
    for (int round = 0; round < 20; round++) {
        const std::size_t nrows = 1 + below(80);
        std::vector<int> ptr(1, 0);
        std::vector<int64_t> wide(1, 0);
        for (std::size_t r = 0; r < nrows; r++) {
            const unsigned lengths[] = { 0, 0, 1, 2, below(60) };
            ptr.push_back(ptr.back() + static_cast<int>(lengths[below(5)]));
            wide.push_back(ptr.back());
        }
        search<int, 2>(ptr);
        search<int, 8>(ptr);
        search<int64_t, 32>(wide);
    }
    search<int, 8>({ 2147483000, 2147483000, 2147483100, 2147483646, 2147483647, 2147483647 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scans),
        cmocka_unit_test(test_last_block),
        cmocka_unit_test(test_row_search),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
