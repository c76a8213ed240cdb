/* The pattern of rows of C with some thousand products and more: a block sets a bit for each column in its
 * shared memory, which holds those of a row at once, or of a part of its columns after the other. Which words
 * have bits tell bits of their own, so that nothing is cleared or read that was not set. There is nothing to
 * compare, to probe or to sort.
 * Source: a bit a column, and a bit a word of these: Gustavson's dense row (ACM TOMS 4, 1978) in the form of
 * van Emde Boas' tree of two levels (1975). */
#ifndef SPX_COLUMNS_BY_MAP_CUH
#define SPX_COLUMNS_BY_MAP_CUH
#include "columns_by_words.cuh"
#include "product_ways.cuh"

constexpr size_t SPX_MAP_SCANS = 1024; /* bytes of shared memory that scans have, at most */
constexpr int SPX_MAP_THREADS = 1024, SPX_MAP_GROUP = 1024; /* columns that share a bit of bits: 32 words' */

struct spx_set_map : spx_columns_alone {
    static constexpr int AHEAD = 4;
    unsigned *bits, *some;
    int64_t low;
    int width;

    template <class ABOUT>
    __device__ void use_ahead(const bool (&in)[AHEAD], const item (&c)[AHEAD], ABOUT) const
    {
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            const int64_t at = c[j] - low;
            if (!in[j] || at < 0 || at >= width) continue;
            const int word = static_cast<int>(at) / 32;
            if (!atomicOr(bits + word, 1u << (at % 32))) atomicOr(some + word / 32, 1u << (word % 32));
        }
    }
    __device__ bool enough() const
    {
        return false;
    }
};

/* A group with many columns, and how many are before its own. */
struct spx_dense_group {
    int group, before;
};

struct spx_map_shared {
    union {
        spx_block_tile<SPX_MAP_THREADS, spx_set_map> tile;
        spx_dense_group dense[2 * SPX_MAP_THREADS]; /* when the bits are set */
    };
    int next, dense_groups;
    int64_t place;
};

/* Columns of a row that fit into so many bytes of shared memory, in whole groups. */
inline int spx_map_width(size_t bytes)
{
    constexpr size_t GROUP = (SPX_MAP_GROUP / 32 + 1) * sizeof(unsigned),
                     FIXED = sizeof(spx_map_shared) + SPX_MAP_SCANS;
    const size_t groups = bytes > FIXED ? (bytes - FIXED) / GROUP : 0;
    return static_cast<int>(spx_min(groups, 2 * SPX_MAP_THREADS)) * SPX_MAP_GROUP;
}
inline size_t spx_map_bytes(int width)
{
    return sizeof(spx_map_shared) +
           static_cast<size_t>(width) / SPX_MAP_GROUP * (SPX_MAP_GROUP / 32 + 1) * sizeof(unsigned);
}

/* Writes columns from `to` on, or nowhere, and clears the map. A thread has groups first ... last - 1, with
 * so many columns before; those with many are left to a warp. */
__device__ __forceinline__ void spx_write_map(spx_map_shared *s, unsigned *bits, unsigned *some, int first,
                                              int last, int before, int first_word, int *to)
{
    constexpr int MANY = 12, WARPS = SPX_MAP_THREADS / 32; /* columns of a group */
    if (threadIdx.x == 0) s->dense_groups = 0;
    __syncthreads();
    for (int g = first; g < last; g++) {
        int own = 0;
        for (unsigned left = some[g]; left; left &= left - 1)
            own += __popc(bits[g * 32 + __ffs(static_cast<int>(left)) - 1]);
        if (own > MANY) {
            s->dense[atomicAdd(&s->dense_groups, 1)] = { g, before };
        } else {
            int *at = to + before;
            for (unsigned left = some[g]; left; left &= left - 1) {
                const int word = g * 32 + __ffs(static_cast<int>(left)) - 1;
                if (to) at = spx_write_word(first_word + word, bits[word], at);
                bits[word] = 0;
            }
            some[g] = 0;
        }
        before += own;
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x) / 32; i < s->dense_groups; i += WARPS) {
        const spx_dense_group d = s->dense[i];
        const int word = d.group * 32 + spx_lane();
        const unsigned own = bits[word];
        const int at = d.before + spx_scan_lanes_before(__popc(own));
        if (to) spx_write_word(first_word + word, own, to + at);
        bits[word] = 0;
        if (spx_lane() == 0) some[d.group] = 0;
    }
    __syncthreads();
}

/* The rows of a list, as blocks get to them; `width` columns at a time. */
template <bool WRITE>
__global__ void __launch_bounds__(SPX_MAP_THREADS, 1)
    spx_columns_by_map(spx_factor A, spx_factor B, spx_tried_list list, int *next, int64_t ncols, int width,
                       spx_found out)
{
    const spx_beside_other_rows beside;
    constexpr int BLOCK = SPX_MAP_THREADS;
    spx_map_shared *const s = spx_dynamic_shared<spx_map_shared>();
    unsigned *const bits = reinterpret_cast<unsigned *>(s + 1), *const some = bits + width / 32;
    const int thread = static_cast<int>(threadIdx.x), all = *list.rows, groups = width / SPX_MAP_GROUP,
              each = (groups + BLOCK - 1) / BLOCK;
    const int first_group = min(thread * each, groups), last_group = min(first_group + each, groups);
    for (int w = thread; w < width / 32 + groups; w += BLOCK) bits[w] = 0;
    for (int i = static_cast<int>(blockIdx.x); i < all; i = s->next) {
        const int row = list.row[i];
        __syncthreads(); /* the last one is done, and all know this one */
        if (thread == 0) s->next = static_cast<int>(gridDim.x) + atomicAdd(next, 1);
        if (row < 0) {
            __syncthreads();
            continue;
        }
        const int products = out.products[row];
        int64_t columns = 0, words = 0;
        /* of several parts the columns are known when all have been written: room for all products */
        if (!WRITE && thread == 0) s->place = out.room && ncols > width ? out.take(products) : out.room;
        for (int64_t low = 0; low < ncols; low += width) {
            spx_set_map step = { { B.col }, bits, some, low, width };
            /* rows of B are mostly short: all are read for each part, none is searched */
            spx_by_block<1>(A, B, { nullptr, A.ptr[row] }, 0, A.ptr[row + 1] - A.ptr[row], 1, 0, INT_MAX,
                            true, &s->tile, step);
            __syncthreads();
            int own = 0, own_words = 0;
            for (int g = first_group; g < last_group; g++)
                for (unsigned left = some[g]; left; left &= left - 1) {
                    own += __popc(bits[g * 32 + __ffs(static_cast<int>(left)) - 1]);
                    own_words++;
                }
            const spx_scanned<int> of_part = spx_scan_block<BLOCK>(own);
            if constexpr (!WRITE) {
                words += spx_scan_block<BLOCK>(own_words).total;
                if (ncols <= width) {
                    if (thread == 0 && out.room) s->place = out.take(of_part.total);
                    __syncthreads();
                }
            }
            const int room = ncols > width ? products : of_part.total;
            int *to = nullptr;
            if constexpr (WRITE) to = out.col + out.ptr[row] + columns;
            else if (s->place + room <= out.room) to = out.kept + s->place + columns;
            spx_write_map(s, bits, some, first_group, last_group, of_part.before, static_cast<int>(low / 32),
                          to);
            columns += of_part.total;
        }
        if (WRITE || thread) continue;
        out.count[row] = columns;
        out.words[row] = static_cast<int>(words);
        if (s->place + (ncols > width ? products : columns) > out.room) continue;
        out.place[row] = s->place + 1;
        list.row[i] = ~row;
    }
}
#endif
