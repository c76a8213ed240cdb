/* The entries of A whose rows of B are not empty, where most are: as a CSR of their own, with the place that
 * each has in A. A bit for each entry and how many are set before each word of these say where an entry goes,
 * and where a row begins.
 * Source: ranks in bit vectors; Jacobson, FOCS 1989. */
#ifndef SPX_THIN_ENTRIES_CUH
#define SPX_THIN_ENTRIES_CUH
#include "product.cuh"

/* Where these arrays are, in one: of `rows` rows and so many entries. */
struct spx_met_entries {
    int *ptr, *col, *at;

    static size_t bytes(int64_t rows, int64_t entries)
    {
        return spx_plus(spx_bytes(rows + 1, sizeof(int)), spx_bytes(entries, 2 * sizeof(int)));
    }
    spx_met_entries(const spx_array *a, int64_t rows, int64_t entries)
        : ptr(static_cast<int *>(a->data)), col(ptr + rows + 1), at(col + entries)
    {}
    template <class F> void each_pointer(F f) const
    {
        f(ptr), f(col), f(at);
    }
    spx_factor factor(int64_t rows) const
    {
        return { static_cast<int>(rows), { ptr, false }, col, nullptr };
    }
};

/* Words of bits that a warp finds at once. */
constexpr int SPX_MET_WORDS = 8;

/* A bit for each entry: some tells a bit for each row of B; and how many bits a word has. */
static __global__ void spx_find_met(int64_t entries, const int *col, const unsigned *some, unsigned *met,
                                    int64_t *count)
{
    const int lane = spx_lane();
    const int64_t first = spx_element() / 32 * SPX_MET_WORDS;
    unsigned own = 0;
    int c[SPX_MET_WORDS];
#pragma unroll
    for (int w = 0; w < SPX_MET_WORDS; w++) {
        const int64_t e = (first + w) * 32 + lane;
        c[w] = e < entries ? __ldg(col + e) : -1;
    }
#pragma unroll
    for (int w = 0; w < SPX_MET_WORDS; w++) {
        const unsigned bits =
            __ballot_sync(SPX_ALL_LANES, c[w] >= 0 && (__ldg(some + c[w] / 32) >> (c[w] % 32) & 1u));
        if (lane == w) own = bits;
    }
    if (lane >= SPX_MET_WORDS || (first + lane) * 32 >= entries) return;
    met[first + lane] = own;
    count[first + lane] = __popc(own);
}

/* The entries; before: how many bits are set before each of so many words. A thread has those of a word, some
 * of which are under way together. */
static __global__ void spx_write_met(int64_t words, const int *col, const unsigned *met,
                                     const int64_t *before, spx_met_entries to)
{
    constexpr int AHEAD = 4;
    const int64_t w = spx_element();
    if (w >= words) return;
    int64_t at = before[w];
    for (unsigned left = __ldg(met + w); left;) {
        int e[AHEAD], c[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            e[j] = left ? static_cast<int>(w * 32) + __ffs(static_cast<int>(left)) - 1 : -1;
            c[j] = left ? __ldg(col + e[j]) : 0;
            left &= left - 1u;
        }
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            if (e[j] < 0) break;
            to.col[at] = c[j];
            to.at[at++] = e[j];
        }
    }
}

/* The row pointers. */
static __global__ void spx_write_met_pointers(spx_factor A, const unsigned *met, const int64_t *before,
                                              spx_met_entries to)
{
    const int64_t r = spx_element();
    if (r > A.nrows) return;
    const int64_t e = A.ptr[r];
    int64_t place = before[e / 32];
    if (e % 32) place += __popc(__ldg(met + e / 32) & ((1u << (e % 32)) - 1u));
    to.ptr[r] = static_cast<int>(place);
}
#endif
