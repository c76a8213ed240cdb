/* Tiles of CSR for csr-merge-path and csr-propagation: where each begins, found by search when a matrix is
 * prepared. They are cut by the list of row ends and entries (Merrill & Garland's merge path), `step` items a
 * tile, so that no length of rows can unbalance them. A cut that lies few entries behind its row's begin is
 * moved back to there, so that only long rows are cut.
 * Source: Merrill & Garland, Merge-based parallel sparse matrix-vector multiplication, SC 2016. */
#ifndef SPX_TILES_CUH
#define SPX_TILES_CUH
#include "rows.cuh"

/* Where a tile begins. */
struct alignas(16) spx_tile_start {
    int row;   /* in which the tile begins */
    int head;  /* entries of that row before the cut, which are the tile's; SPX_CUT: the row began earlier */
    int first; /* of a row that began earlier: the tile in which it begins, */
    int last;  /* and the one in which it ends */
};
constexpr int SPX_CUT = -1;

/* How a matrix is cut. */
struct spx_tiling {
    int tiles, each; /* each: tiles of a run, which is a block's */
    int step;        /* items of a tile */
    int head;        /* entries that a cut is moved back by, at most */
    const spx_tile_start *starts;

    template <class F> void each_pointer(F f) const
    {
        f(starts);
    }
};

/* The place of tile t's cut among the items of the list. */
template <class V, class P>
__device__ __forceinline__ int64_t spx_cut_of(const spx_csr<V, P> &A, const spx_tiling &g, int t)
{
    const int64_t all = A.nnz + A.nrows, cut = static_cast<int64_t>(t) * g.step;
    return cut < all ? cut : all;
}

/* The first entry of tile t. */
template <class V, class P>
__device__ __forceinline__ int64_t spx_entry_of(const spx_csr<V, P> &A, const spx_tiling &g, int t,
                                                const spx_tile_start &s)
{
    const int64_t entries = spx_cut_of(A, g, t) - s.row;
    return s.head == SPX_CUT ? entries : entries - s.head;
}

/* Finds the starts, and counts those within a row that is cut. */
template <class V, class P>
__global__ void spx_find_tiles(spx_csr<V, P> A, spx_tiling g, spx_tile_start *starts, int *cuts)
{
    constexpr int WAYS = 8;
    const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (t > g.tiles) return;
    const int64_t cut = spx_cut_of(A, g, t);
    spx_tile_start s = { spx_rows_before<WAYS>(A.ptr, A.nrows, A.nnz, cut), 0, 0, 0 };
    const int64_t begin = static_cast<int64_t>(A.ptr[s.row]) + s.row; /* the row's first item */
    if (cut - begin <= g.head) {
        s.head = static_cast<int>(cut - begin);
    } else {
        s.head = SPX_CUT;
        s.first = static_cast<int>((begin + g.head) / g.step); /* the last whose cut is moved to the begin */
        s.last = static_cast<int>((static_cast<int64_t>(A.ptr[s.row + 1]) + s.row) / g.step);
        atomicAdd(cuts, 1);
    }
    starts[t] = s;
}

/* For spx_settle: the rows that are cut between runs. */
struct spx_cut_tiles {
    int each;
    const spx_tile_start *starts;

    __device__ spx_cut operator()(int run) const
    {
        const spx_tile_start s = starts[static_cast<int64_t>(run) * each];
        const spx_cut cut = { s.row, s.first / each, s.last / each };
        const bool first_boundary = s.head == SPX_CUT && cut.first + 1 == run;
        return first_boundary ? cut : spx_cut{ SPX_NO_ROW, 0, 0 };
    }
    template <class F> void each_pointer(F f) const
    {
        f(starts);
    }
};
#endif
