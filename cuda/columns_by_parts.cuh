/* The pattern of rows of C whose products fit in the shared memory of a block, where tables gain nothing, as
 * few products share a word: the products' columns side by side, dealt to parts of their range, put in order
 * within each part by counting how many are smaller, and written without repeats. Work is in proportion to
 * the products.
 * Source: bucket sort (Knuth 5.2.5); expanding, sorting and compressing products: Bell, Dalton & Olson, SIAM
 * J. Sci. Comput. 34, 2012. */
#ifndef SPX_COLUMNS_BY_PARTS_CUH
#define SPX_COLUMNS_BY_PARTS_CUH
#include "columns_by_words.cuh"

template <int BLOCK> struct spx_parts_shared {
    static constexpr int MOST = 16 * BLOCK, PARTS = 8 * BLOCK;
    int col[MOST];
    int begin[PARTS + 1];
    int products, lowest, highest;
    int *to; /* where the row's columns are written; or NULL */
};

/* Puts the columns of a row's products side by side, by warps that take 32 entries of A each. */
template <int BLOCK>
__device__ __forceinline__ void spx_put_products(const spx_factor &A, const spx_factor &B, int row,
                                                 spx_parts_shared<BLOCK> *s)
{
    const int64_t last = A.ptr[row + 1], first = A.ptr[row];
    const int lane = spx_lane();
    for (int64_t at = first + static_cast<int>(threadIdx.x) - lane; at < last; at += BLOCK) {
        const int64_t e = at + lane;
        const int c = e < last ? __ldg(A.col + e) : -1;
        const bool met = c < 0 || spx_is_met(A, B, first, e, c);
        const int64_t begin = met ? 0 : B.ptr[c];
        const int length = met ? 0 : static_cast<int>(B.ptr[c + 1] - begin), sum = spx_scan_lanes(length),
                  earlier = sum - length, total = __shfl_sync(SPX_ALL_LANES, sum, 31);
        int to = 0;
        if (lane == 0 && total) to = atomicAdd(&s->products, total);
        to = __shfl_sync(SPX_ALL_LANES, to, 0);
        const int64_t from = begin - earlier;
        for (int f = lane; f - lane < total; f += 32) {
            int i = 0; /* the last entry with no more products before it */
#pragma unroll
            for (int half = 16; half; half /= 2)
                if (__shfl_sync(SPX_ALL_LANES, earlier, i + half) <= f) i += half;
            const int64_t k = __shfl_sync(SPX_ALL_LANES, from, i) + f;
            if (f < total) spx_copy_async(s->col + to + f, B.col + k);
        }
    }
    spx_copies_wait();
}

/* Puts n columns in order. */
template <int BLOCK> __device__ __forceinline__ void spx_order_by_parts(int n, spx_parts_shared<BLOCK> *s)
{
    using shared = spx_parts_shared<BLOCK>;
    constexpr int EACH = shared::MOST / BLOCK, PARTS_EACH = shared::PARTS / BLOCK;
    const int thread = static_cast<int>(threadIdx.x);
    int col[EACH] = {}, place[EACH] = {}, lowest = INT_MAX, highest = 0;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        if (j * BLOCK >= n) break;
        col[j] = j * BLOCK + thread < n ? s->col[j * BLOCK + thread] : -1;
        if (col[j] < 0) continue;
        lowest = min(lowest, col[j]);
        highest = max(highest, col[j]);
    }
    lowest = __reduce_min_sync(SPX_ALL_LANES, lowest);
    highest = __reduce_max_sync(SPX_ALL_LANES, highest);
    if (spx_lane() == 0 && highest >= lowest) {
        atomicMin(&s->lowest, lowest);
        atomicMax(&s->highest, highest);
    }
    __syncthreads();
    const spx_word_parts parts = { s->lowest, spx_part_shift<shared::PARTS>(s->highest - s->lowest) };
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        if (j * BLOCK >= n) break;
        place[j] = col[j] < 0 ? 0 : atomicAdd(s->begin + parts.of(col[j]), 1);
    }
    __syncthreads();
    int own = 0, before[PARTS_EACH] = {};
#pragma unroll
    for (int p = 0; p < PARTS_EACH; p++) {
        before[p] = own;
        own += s->begin[thread * PARTS_EACH + p];
    }
    const int earlier = spx_scan_block<BLOCK>(own).before;
#pragma unroll
    for (int p = 0; p < PARTS_EACH; p++) s->begin[thread * PARTS_EACH + p] = earlier + before[p];
    if (thread == 0) s->begin[shared::PARTS] = n;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        if (j * BLOCK >= n) break;
        if (col[j] < 0) continue;
        place[j] += s->begin[parts.of(col[j])];
        s->col[place[j]] = col[j];
    }
    __syncthreads();
    /* Equal ones by where they are. */
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        if (j * BLOCK >= n) break;
        if (col[j] < 0) continue;
        const int part = parts.of(col[j]), begin = s->begin[part], end = s->begin[part + 1], mine = place[j];
        int rank = begin;
        for (int k = begin; k < end; k++) {
            const int other = s->col[k];
            rank += other < col[j] || (other == col[j] && k < mine);
        }
        place[j] = rank;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        if (j * BLOCK >= n) break;
        if (col[j] >= 0) s->col[place[j]] = col[j];
    }
    __syncthreads();
}

/* A block a row of a list, of those with up to MOST products; others stay in it. */
template <int BLOCK, bool WRITE>
__global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
    spx_columns_by_parts(spx_factor A, spx_factor B, spx_tried_list list, spx_found out)
{
    using shared = spx_parts_shared<BLOCK>;
    shared *const s = spx_dynamic_shared<shared>();
    const int thread = static_cast<int>(threadIdx.x), all = *list.rows;
    for (int i = static_cast<int>(blockIdx.x); i < all; i += static_cast<int>(gridDim.x)) {
        const int row = list.row[i];
        if (row < 0 || out.products[row] > shared::MOST) continue;
        __syncthreads(); /* the last row has been written */
        for (int p = thread; p < shared::PARTS; p += BLOCK) s->begin[p] = 0;
        if (thread == 0) {
            s->products = s->highest = 0;
            s->lowest = INT_MAX;
        }
        __syncthreads();
        spx_put_products<BLOCK>(A, B, row, s);
        __syncthreads();
        const int n = s->products;
        spx_order_by_parts<BLOCK>(n, s);
        const int each = (n + BLOCK - 1) / BLOCK, first = min(n, thread * each), last = min(n, first + each);
        int columns = 0, words = 0;
        for (int k = first; k < last; k++) {
            const int c = s->col[k], c_before = k ? s->col[k - 1] : -1;
            columns += c != c_before;
            words += k == 0 || spx_word_of(c) != spx_word_of(c_before);
        }
        const spx_scanned<int> scan = spx_scan_block<BLOCK>(columns);
        if constexpr (WRITE) {
            if (thread == 0) s->to = out.col + out.ptr[row];
        } else {
            words = spx_scan_block<BLOCK>(words).total;
            if (thread == 0) {
                out.count[row] = scan.total;
                out.words[row] = words;
                const int64_t place = out.room ? out.take(scan.total) : 0;
                const bool keep = place + scan.total <= out.room;
                s->to = keep ? out.kept + place : nullptr;
                if (keep) {
                    out.place[row] = place + 1;
                    list.row[i] = ~row;
                }
            }
        }
        __syncthreads();
        if (!s->to) continue;
        int *to = s->to + scan.before;
        for (int k = first; k < last; k++) {
            const int c = s->col[k];
            if (k == 0 || c != s->col[k - 1]) *to++ = c;
        }
    }
}
#endif
