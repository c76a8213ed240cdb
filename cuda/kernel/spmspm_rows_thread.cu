/* C = A*B: a thread a row of C, chunks of columns one after the other, for each of which it walks all the
 * products of its row again; entries go one by one to places from one counter.
 * Source: Charaf, Charaf & Abou Hawili report, kernel 0. What differs: the sums lie in shared memory, in
 * turns with those of the block's other threads, where the report has an array of each thread's own, which is
 * memory as well; and product_entries.cuh. */
#include "product_entries.cuh"

namespace {

constexpr int MOST_THREADS = 256;

template <class V, bool COUNT>
__global__ void __launch_bounds__(MOST_THREADS)
    row_by_thread(spx_factor A, spx_factor B, const V *a, const V *b, spx_entries<V> C, int size)
{
    const int threads = static_cast<int>(blockDim.x);
    const int64_t row = C.first + static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (row >= C.end) return;
    V *const sums = spx_dynamic_shared<V>();
    unsigned *const words = reinterpret_cast<unsigned *>(sums + (COUNT ? 0 : size * threads));
    const spx_chunk<V> chunk = { sums + threadIdx.x, words + threadIdx.x, size, threads };
    const int64_t first = A.ptr[row], last = A.ptr[row + 1];
    int64_t found = 0;
    for (int64_t start = 0; start < C.ncols; start += size) {
        for (int w = 0; w < size / 32; w++) chunk.bits[w * threads] = 0;
        if constexpr (!COUNT)
            for (int c = 0; c < size; c++) chunk.sum[c * threads] = V(-0.0);
        for (int64_t e = first; e < last; e++) {
            const int k = __ldg(A.col + e);
            const int64_t end = B.ptr[k + 1];
            for (int64_t n = B.ptr[k]; n < end; n++) {
                const int64_t c = __ldg(B.col + n) - start;
                if (c < 0 || c >= size) continue;
                chunk.bits[c / 32 * threads] |= 1u << (c % 32);
                if constexpr (!COUNT) chunk.sum[c * threads] += __ldg(a + e) * __ldg(b + n);
            }
        }
        if constexpr (COUNT) {
            for (int w = 0; w < size / 32; w++) found += __popc(chunk.bits[w * threads]);
        } else {
            for (int c = 0; c < size; c++)
                if (chunk.has(c)) C.put(atomicAdd(C.next, 1ull), row, start + c, chunk.sum[c * threads]);
        }
    }
    if constexpr (COUNT) C.count[row] = found;
}

struct rows_thread {
    static constexpr const char *NAME = "rows-thread";

    template <class V, bool COUNT> static auto kernel()
    {
        return row_by_thread<V, COUNT>;
    }
    template <class V, bool COUNT> static size_t shared(int64_t chunk, int64_t threads)
    {
        return static_cast<size_t>(threads) * spx_chunk_bytes<V, COUNT>(chunk);
    }
    static int64_t chunk(const int64_t *param)
    {
        return param[SPX_CHUNK_PARAM];
    }
    static int64_t rows(int64_t threads)
    {
        return threads;
    }
};

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = MOST_THREADS, .preset = 32, .kind = SPX_POWER_OF_TWO },
    { .key = "chunk", .low = 32, .high = 512, .preset = 32, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_product_kernel spx_cuda_spmspm_rows_thread = {
    .name = rows_thread::NAME,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a thread a row, chunks of columns one after the other, entries sorted",
    .source = "Charaf, Charaf & Abou Hawili report, kernel 0",
    .params = params,
    .analyse = spx_analyse_entries<rows_thread>,
    .fill = spx_fill_entries<rows_thread>,
};
