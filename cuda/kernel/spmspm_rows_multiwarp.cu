/* C = A*B: a block a row of C, a warp an entry of A's row, as rows-warp, but that chunks are longer, and all
 * warps write, each 32 columns at a time.
 * Source: Charaf, Charaf & Abou Hawili report, kernel 4. What differs: product_entries.cuh. */
#include "product_entries.cuh"

namespace {

/* By all warps in turns. */
struct write_each {
    template <class V>
    static __device__ __forceinline__ void write(const spx_entries<V> &C, const spx_chunk<V> &chunk,
                                                 int64_t row, int64_t start)
    {
        const int threads = static_cast<int>(blockDim.x);
        for (int c = static_cast<int>(threadIdx.x); c < chunk.size; c += threads)
            spx_put_by_warp(C, chunk.has(c), row, start + c, chunk.sum[c]);
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

struct rows_multiwarp {
    static constexpr const char *NAME = "rows-multiwarp";

    template <class V, bool COUNT> static auto kernel()
    {
        return row_by_block<V, COUNT>;
    }
    template <class V, bool COUNT> static size_t shared(int64_t chunk, int64_t)
    {
        return spx_chunk_bytes<V, COUNT>(chunk);
    }
    static int64_t chunk(const int64_t *param)
    {
        return param[SPX_CHUNK_PARAM];
    }
    static int64_t rows(int64_t)
    {
        return 1;
    }
};

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 64, .kind = SPX_POWER_OF_TWO },
    { .key = "chunk", .low = 32, .high = 16384, .preset = 512, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_product_kernel spx_cuda_spmspm_rows_multiwarp = {
    .name = rows_multiwarp::NAME,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .summary = "a warp an entry of A, chunks of columns written by all warps",
    .source = "Charaf, Charaf & Abou Hawili report, kernel 4",
    .params = params,
    .analyse = spx_analyse_entries<rows_multiwarp>,
    .fill = spx_fill_entries<rows_multiwarp>,
};
