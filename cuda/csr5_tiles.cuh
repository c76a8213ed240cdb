/* What csr5 multiplies on a GPU: tiles of 32 lanes, then what fills none by 32 entries, parts both; and where
 * the sums of a part's rows go, those of rows that are cut between parts to arrays that a second launch adds
 * up. Flags of a lane are 32 bits of the format's descriptor, or bytes of a copy that is made for the
 * kernel. */
#ifndef SPX_CSR5_TILES_CUH
#define SPX_CSR5_TILES_CUH
#include "device.cuh"
#include "rows.cuh"

extern "C" {
#include "core/csr5.h"
}

constexpr int SPX_CSR5_WARP = 32;

/* Of a tile with flags in bytes: the lanes' y_offset, then byte j of each lane's flags. */
__host__ __device__ inline int64_t spx_csr5_packed_size(int sigma)
{
    return SPX_CSR5_WARP * static_cast<int64_t>(sizeof(uint16_t) + (sigma + 7) / 8);
}

template <class V, class P> struct spx_csr5_tiles {
    spx_csr<V, P> A;           /* columns and values in the order of tiles */
    int sigma, count, parts;   /* whole tiles; and with what fills none, by 32 entries */
    int staged;                /* sums in shared memory; or 0 */
    const unsigned *first_row; /* of a tile; the top bit: empty rows lie among its rows */
    const spx_csr5_desc *desc;
    const uint8_t *packed; /* or NULL */
    const int64_t *list_ptr;
    const int *list;

    __device__ int64_t begin(int part) const
    {
        const int64_t whole = static_cast<int64_t>(part < count ? part : count) * SPX_CSR5_WARP * sigma;
        return whole + (part < count ? 0 : static_cast<int64_t>(part - count) * 32);
    }
    /* of its first entry; behind the last part, no row */
    __device__ int row_of(int part) const
    {
        if (part < count) return static_cast<int>(spx_load_cached(first_row + part) & ~SPX_CSR5_EMPTY);
        return part < parts ? spx_rows_ended<4>(A.ptr, A.nrows, begin(part)) : SPX_NO_ROW;
    }
    __device__ int part_of(int64_t entry) const
    {
        const int64_t tile = entry / (SPX_CSR5_WARP * sigma);
        return static_cast<int>(tile < count ? tile : count + (entry - begin(count)) / 32);
    }
    template <class F> void each_pointer(F f) const
    {
        A.each_pointer(f), f(first_row), f(desc), f(packed), f(list_ptr), f(list);
    }
    __device__ spx_csr5_desc descriptor(int tile, int lane) const
    {
        if (!packed) return desc[static_cast<int64_t>(tile) * SPX_CSR5_WARP + lane];
        const uint8_t *own = packed + tile * spx_csr5_packed_size(sigma);
        spx_csr5_desc d = { 0, reinterpret_cast<const uint16_t *>(own)[lane], 0 };
        own += SPX_CSR5_WARP * sizeof(uint16_t) + lane;
        for (int j = 0; 8 * j < sigma; j++)
            d.bit_flag |= static_cast<unsigned>(own[j * SPX_CSR5_WARP]) << 8 * j;
        return d;
    }
};

/* For spx_settle: the rows that are cut between parts. */
template <class V, class P> struct spx_csr5_cut_rows {
    spx_csr5_tiles<V, P> t;

    __device__ spx_cut operator()(int boundary) const
    {
        const int row = t.row_of(boundary);
        const int64_t row_begin = static_cast<int64_t>(t.A.ptr[row]),
                      row_end = static_cast<int64_t>(t.A.ptr[row + 1]);
        const int first = t.part_of(row_begin);
        if (row_begin == t.begin(boundary) || first + 1 != boundary) return { SPX_NO_ROW, 0, 0 };
        return { row, first, t.part_of(row_end - 1) };
    }
    template <class F> void each_pointer(F f) const
    {
        t.each_pointer(f);
    }
};

/* Where the sums of a part's rows go. */
template <class V> struct spx_csr5_sums {
    int part, first_row, next_row; /* the latter: of the next part */
    bool came;                     /* has the first row begun in an earlier part? */
    const spx_vectors<V> &vectors;
    const spx_carries<V> &carries;

    template <class P>
    __device__ spx_csr5_sums(const spx_csr5_tiles<V, P> &t, int p, const spx_vectors<V> &v,
                             const spx_carries<V> &c)
        : part(p), first_row(t.row_of(p)), next_row(t.row_of(p + 1)),
          came(static_cast<int64_t>(t.A.ptr[first_row]) < t.begin(p)), vectors(v), carries(c)
    {}
    __device__ void end(int row, V total) const
    {
        if (came && row == first_row) carries.came[part] = total;
        else if (row == next_row) carries.begun[part] = total;
        else vectors.put(row, total);
    }
};
#endif
