/* C = A*B: a block a row of C, a warp an entry of A's row, whose lanes read the row of B side by side. A
 * chunk is 32 columns, and the first warp writes it: a lane a column, places by ballot, population count and
 * shuffle.
 * Source: Charaf, Charaf & Abou Hawili report, kernel 3. What differs: product_entries.cuh. */
#include "product_entries.cuh"

namespace {

/* By the first warp. */
struct write_each {
    template <class V>
    static __device__ __forceinline__ void write(const spx_entries<V> &C, const spx_chunk<V> &chunk,
                                                 int64_t row, int64_t start)
    {
        if (threadIdx.x >= 32) return;
        spx_put_by_warp(C, chunk.has(spx_lane()), row, start + spx_lane(), chunk.sum[spx_lane()]);
    }
};

template <class V, bool COUNT>
__global__ void __launch_bounds__(1024, 1)
    row_by_block(spx_factor A, spx_factor B, const V *a, const V *b, spx_entries<V> C, int size)
{
    spx_row_by_chunks<V, COUNT, spx_by_warps>(A, B, a, b, C, size,
                                              [&](const spx_chunk<V> &chunk, int64_t row, int64_t start) {
                                                  write_each::write(C, chunk, row, start);
                                              });
}

struct rows_warp {
    static constexpr const char *NAME = "rows-warp";

    template <class V, bool COUNT> static auto kernel()
    {
        return row_by_block<V, COUNT>;
    }
    template <class V, bool COUNT> static size_t shared(int64_t chunk, int64_t)
    {
        return spx_chunk_bytes<V, COUNT>(chunk);
    }
    static int64_t chunk(const int64_t *)
    {
        return 32;
    }
    static int64_t rows(int64_t)
    {
        return 1;
    }
};

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 64, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_product_kernel spx_cuda_spmspm_rows_warp = {
    .name = rows_warp::NAME,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .summary = "a warp an entry of A, the first writes 32 columns by ballot and shuffle",
    .source = "Charaf, Charaf & Abou Hawili report, kernel 3",
    .params = params,
    .analyse = spx_analyse_entries<rows_warp>,
    .fill = spx_fill_entries<rows_warp>,
};
