/* The pattern of rows of C with few products, a thread each: a table of words in shared memory, which the
 * thread fills and sorts by itself. */
#ifndef SPX_COLUMNS_BY_THREAD_CUH
#define SPX_COLUMNS_BY_THREAD_CUH
#include "product.cuh"
#include "ptx.cuh"
#include "word_table.cuh"

constexpr int SPX_FEW_PRODUCTS = 64;  /* of a thread's row */
constexpr int SPX_ROWS_A_BLOCK = 128; /* threads */

/* A thread's table, whose slots lie a block's threads apart. */
template <int SLOTS> struct spx_own_words {
    int *key;
    unsigned *bits;
    int words, columns;

    __device__ __forceinline__ void clear()
    {
#pragma unroll 8
        for (int i = 0; i < SLOTS; i++) key[i * SPX_ROWS_A_BLOCK] = -1;
        words = columns = 0;
    }
    __device__ __forceinline__ void put(int word, unsigned own)
    {
        constexpr int SHIFT = SLOTS == 32 ? 27 : 26;
        static_assert(SLOTS == 32 || SLOTS == 64, "the shift");
        unsigned i = static_cast<unsigned>(word) * 0x9e3779b1u >> SHIFT;
        int there;
        while ((there = key[i * SPX_ROWS_A_BLOCK]) != word && there >= 0) i = (i + 1) % SLOTS;
        unsigned before = 0;
        if (there == word) {
            before = bits[i * SPX_ROWS_A_BLOCK];
        } else {
            key[i * SPX_ROWS_A_BLOCK] = word;
            words++;
        }
        bits[i * SPX_ROWS_A_BLOCK] = before | own;
        columns += __popc(own & ~before);
    }
    /* The words in their order, from the first slot on. */
    __device__ __forceinline__ void sort()
    {
        int n = 0;
        for (int i = 0; i < SLOTS; i++) {
            const int word = key[i * SPX_ROWS_A_BLOCK];
            if (word < 0) continue;
            const unsigned own = bits[i * SPX_ROWS_A_BLOCK];
            int at = n++;
            for (; at && key[(at - 1) * SPX_ROWS_A_BLOCK] > word; at--) {
                key[at * SPX_ROWS_A_BLOCK] = key[(at - 1) * SPX_ROWS_A_BLOCK];
                bits[at * SPX_ROWS_A_BLOCK] = bits[(at - 1) * SPX_ROWS_A_BLOCK];
            }
            key[at * SPX_ROWS_A_BLOCK] = word;
            bits[at * SPX_ROWS_A_BLOCK] = own;
        }
    }
};

/* Puts a row's columns into its table, neighbours in a row of B together; until it has over `most` words. */
template <int SLOTS>
__device__ __forceinline__ void spx_put_row(const spx_factor &A, const spx_factor &B, int64_t row, int most,
                                            spx_own_words<SLOTS> &table)
{
    constexpr int AHEAD = 4;
    const int64_t last = A.ptr[row + 1];
    int64_t e = A.ptr[row];
    int next = e < last ? __ldg(A.col + e) : 0;
    while (e < last && table.words <= most) {
        const int64_t begin = B.ptr[next], end = B.ptr[next + 1];
        next = ++e < last ? __ldg(A.col + e) : 0;
        int word = -1;
        unsigned own = 0;
        for (int64_t k = begin; k < end; k += AHEAD) {
            int col[AHEAD];
#pragma unroll
            for (int j = 0; j < AHEAD; j++) col[j] = k + j < end ? __ldg(B.col + k + j) : -1;
#pragma unroll
            for (int j = 0; j < AHEAD; j++) {
                if (col[j] < 0) continue;
                if (spx_word_of(col[j]) != word) {
                    if (own) table.put(word, own);
                    if (table.words > most) return;
                    word = spx_word_of(col[j]);
                    own = 0;
                }
                own |= spx_word_bit(col[j]);
            }
        }
        if (own) table.put(word, own);
    }
}

/* Rows of few products: with 32 slots all of them, of which those with too many words are put apart, those of
 * a scattered B before they are tried; and with 64 slots those. */
template <int SLOTS, bool WRITE>
__global__ void spx_columns_by_thread(spx_factor A, spx_factor B, spx_found out, bool scattered, int *apart,
                                      int *rows_apart)
{
    constexpr int MOST = SLOTS == 32 ? 28 : SPX_FEW_PRODUCTS; /* words */
    int *const key = spx_dynamic_shared<int>();
    const int64_t i = static_cast<int64_t>(blockIdx.x) * SPX_ROWS_A_BLOCK + threadIdx.x;
    const bool in = i < (SLOTS == 32 ? A.nrows : *rows_apart);
    const int64_t row = SLOTS == 32 || !in ? i : apart[i];
    bool mine = in && out.products[row] && out.products[row] <= SPX_FEW_PRODUCTS;
    if constexpr (WRITE) mine = mine && !out.is_kept(row) && (SLOTS > 32 || out.words[row] <= MOST);
    spx_own_words<SLOTS> table = { key + threadIdx.x,
                                   reinterpret_cast<unsigned *>(key) + SLOTS * SPX_ROWS_A_BLOCK + threadIdx.x,
                                   0, 0 };
    table.clear();
    if (mine) {
        if (WRITE || SLOTS > 32 || !scattered || out.products[row] <= MOST)
            spx_put_row(A, B, row, MOST, table);
        else table.words = MOST + 1;
    }
    const bool found = mine && table.words <= MOST;
    if (mine && !found) apart[atomicAdd(rows_apart, 1)] = static_cast<int>(row);
    int *to = nullptr;
    if constexpr (WRITE) {
        if (found) to = out.col + out.ptr[row];
    } else if (out.room) {
        const int n = found ? table.columns : 0, with_own = spx_scan_lanes(n);
        int64_t place = 0;
        if (spx_lane() == 31) place = out.take(with_own);
        place = __shfl_sync(SPX_ALL_LANES, place, 31) + with_own - n;
        if (found && place + n <= out.room) {
            out.place[row] = place + 1;
            to = out.kept + place;
        }
    }
    if (!WRITE && found) {
        out.count[row] = table.columns;
        out.words[row] = table.words;
    }
    if (!to) return;
    table.sort();
    for (int w = 0; w < table.words; w++)
        to = spx_write_word(table.key[w * SPX_ROWS_A_BLOCK], table.bits[w * SPX_ROWS_A_BLOCK], to);
}
#endif
