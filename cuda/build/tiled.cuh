/* How TILED's builder sees a CSR: its entries tile by tile within rows, and the segments that these are cut
 * into. */
#ifndef SPX_BUILD_TILED_CUH
#define SPX_BUILD_TILED_CUH
#include "build.cuh"

extern "C" {
#include "core/tiled.h"
}

/* Entries tile by tile within rows, and the width of a tile. */
struct spx_tile_order {
    const int *col;
    const int64_t *order; /* or NULL: as in CSR */
    int width;
    const int *code; /* of each column, where hot ones are held; or NULL */

    template <class F> void each_pointer(F f) const
    {
        f(col), f(order), f(code);
    }
    __device__ int64_t entry(int64_t k) const
    {
        return order ? order[k] : k;
    }
    __device__ int tile(int64_t k) const
    {
        return col[entry(k)] / width;
    }
};

/* Where segments are among the entries, and their rows. One ends where the next one begins. */
struct spx_segment_places {
    int64_t count, nnz;
    const int64_t *first;
    const int *row;
    const uint8_t *groups; /* of each, where columns are told by how far they are above each other; or NULL */

    template <class F> void each_pointer(F f) const
    {
        f(first), f(row), f(groups);
    }
    /* What a slice is as wide as. */
    __device__ int extent(int64_t i) const
    {
        return groups ? groups[i] : length(i);
    }
    __device__ int64_t wide(int64_t i) const
    {
        return groups ? groups[i] : (length(i) + SPX_TILED_GROUP - 1) / SPX_TILED_GROUP;
    }
    __device__ int length(int64_t i) const
    {
        return static_cast<int>((i + 1 < count ? first[i + 1] : nnz) - first[i]);
    }
};

/* The segments of a matrix, row by row, and within rows tile by tile. */
struct spx_cut_segments {
    int64_t count = 0;
    spx_temporary first, row, groups;

    spx_segment_places view(int64_t nnz) const
    {
        return { count, nnz, first.as<const int64_t>(), row.as<const int>(), groups.as<const uint8_t>() };
    }
};

/* Cuts the entries of a CSR into segments of tiles 0 ... tiles-1; and makes the draft's ORDER, where tiles do
 * not ascend in each row, by which `entries` goes then, and LIST_PTR: the rows' first segments. */
spmvx_status spx_cuda_cut_segments(const spmvx_context *, const spx_sparse *csr, int64_t tiles, spx_draft &,
                                   spx_tile_order *entries, spx_cut_segments *);
#endif
