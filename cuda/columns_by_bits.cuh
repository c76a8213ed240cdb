/* The columns of rows of C that no block holds: many blocks set a bit each in memory, for all columns, and
 * then write those that are set. */
#ifndef SPX_COLUMNS_BY_BITS_CUH
#define SPX_COLUMNS_BY_BITS_CUH
#include "columns_by_words.cuh"
#include "product_ways.cuh"

constexpr int SPX_BITS_PARTS = 128;        /* blocks for each row */
constexpr int64_t SPX_LONG_OF_B = 1 << 12; /* entries of a row of B: more than one block's */

/* Long rows of B that rows of C meet, for all blocks together. */
struct spx_long_rows {
    static constexpr int MOST = 1024;
    int filled; /* or more: those were not put here */
    struct {
        int64_t begin, end;
        unsigned *bits;
    } row[MOST];
};

/* Sets bits for all columns of a row. */
struct spx_set_row_bits : spx_columns_alone {
    static constexpr int AHEAD = 4;
    unsigned *bits;
    spx_long_rows *deferred;

    __device__ bool defer(int64_t begin, int64_t end) const
    {
        if (end - begin <= SPX_LONG_OF_B) return false;
        const int at = atomicAdd(&deferred->filled, 1);
        if (at >= spx_long_rows::MOST) return false;
        deferred->row[at] = { begin, end, bits };
        return true;
    }
    template <class ABOUT>
    __device__ void use_ahead(const bool (&in)[AHEAD], const item (&c)[AHEAD], ABOUT) const
    {
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            if (in[j]) spx_set_bits(bits + spx_word_of(c[j]), spx_word_bit(c[j]));
    }
    __device__ bool enough() const
    {
        return false;
    }
};

/* SPX_BITS_PARTS blocks for each row of a list. */
static __global__ void spx_bits_of_rows(spx_factor A, spx_factor B, const int *list, unsigned *bits,
                                        int64_t words, spx_long_rows *deferred)
{
    spx_block_tile<SPX_COLUMN_THREADS, spx_set_row_bits> *const tile =
        spx_dynamic_shared<spx_block_tile<SPX_COLUMN_THREADS, spx_set_row_bits>>();
    const int row = list[blockIdx.x / SPX_BITS_PARTS];
    spx_set_row_bits step = { { B.col }, bits + blockIdx.x / SPX_BITS_PARTS * words, deferred };
    spx_by_block<1>(A, B, { nullptr, A.ptr[row] },
                    static_cast<int64_t>(blockIdx.x % SPX_BITS_PARTS) * SPX_COLUMN_THREADS,
                    A.ptr[row + 1] - A.ptr[row], SPX_BITS_PARTS, 0, INT_MAX, true, tile, step);
}

static __global__ void spx_bits_of_long_rows(const int *col, const spx_long_rows *deferred)
{
    const int rows = min(deferred->filled, spx_long_rows::MOST);
    for (int i = 0; i < rows; i++) {
        unsigned *const bits = deferred->row[i].bits;
        const int64_t end = deferred->row[i].end, step = static_cast<int64_t>(gridDim.x) * SPX_COLUMN_THREADS;
#pragma unroll 4
        for (int64_t k = deferred->row[i].begin + spx_element(); k < end; k += step) {
            const int c = __ldg(col + k);
            spx_set_bits(bits + spx_word_of(c), spx_word_bit(c));
        }
    }
}

/* Each part of a row's words, and how many columns it has. */
template <bool WRITE>
__global__ void spx_columns_of_bits(const int *list, const unsigned *bits, int64_t words, int *part_columns,
                                    spx_found out)
{
    const int row = list[blockIdx.x / SPX_BITS_PARTS], part = static_cast<int>(blockIdx.x % SPX_BITS_PARTS);
    const int64_t each = (words + SPX_BITS_PARTS - 1) / SPX_BITS_PARTS, first = part * each,
                  last = first + each < words ? first + each : words;
    const unsigned *const own = bits + blockIdx.x / SPX_BITS_PARTS * words;
    if constexpr (!WRITE) {
        int columns = 0, with_some = 0;
        for (int64_t w = first + threadIdx.x; w < last; w += SPX_COLUMN_THREADS) {
            columns += __popc(own[w]);
            with_some += own[w] != 0;
        }
        columns = spx_scan_block<SPX_COLUMN_THREADS>(columns).total;
        with_some = spx_scan_block<SPX_COLUMN_THREADS>(with_some).total;
        if (threadIdx.x) return;
        part_columns[blockIdx.x] = columns;
        atomicAdd(reinterpret_cast<unsigned long long *>(out.count + row),
                  static_cast<unsigned long long>(columns));
        atomicAdd(out.words + row, with_some);
    } else {
        int *to = out.col + out.ptr[row];
        for (int p = 0; p < part; p++) to += part_columns[blockIdx.x - part + p];
        for (int64_t w = first; w < last; w += SPX_COLUMN_THREADS) {
            const int64_t mine = w + threadIdx.x;
            const unsigned b = mine < last ? own[mine] : 0u;
            const spx_scanned<int> s = spx_scan_block<SPX_COLUMN_THREADS>(__popc(b));
            spx_write_word(static_cast<int>(mine), b, to + s.before);
            to += s.total;
        }
    }
}
#endif
