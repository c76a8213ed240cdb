/* BSR from a CSR on the device, equal to what the host makes of it (lib/format/bsr.c). Where an entry of a
 * row begins another block than the entry before it and the row above, its block row and block column make a
 * key; sorted, each once, the keys are the blocks. Then some lanes a row find their blocks among those of
 * the block row, and put the values in; one lane alone where a row does not rise, so that repeats are added
 * up in their order. */
#include "places.cuh"
#include "reduce.cuh"
#include "rows.cuh"

extern "C" {
#include "core/bsr.h"
#include "format/blocks.h"
}

namespace {

constexpr const char *WHAT = "BSR";
constexpr int WAYS = 4, ROW_LANES = 16;

/* The lanes of a row. */
__device__ __forceinline__ int64_t own_row()
{
    return spx_element() / ROW_LANES;
}
__device__ __forceinline__ int own_lane()
{
    return static_cast<int>(threadIdx.x) % ROW_LANES;
}

/* Does entry k of row r begin another block than the one before it, and one that the row above in the block
 * row has not, as far as that rises? What is told twice is sorted out later. */
template <class P>
__device__ __forceinline__ bool begins(const P *ptr, const int *col, int64_t r, int64_t first, int64_t k,
                                       int br, int bc)
{
    const int block = col[k] / bc;
    if (k > first && col[k - 1] / bc == block) return false;
    if (r % br == 0) return true;
    const int64_t above = static_cast<int64_t>(ptr[r - 1]), guess = above + (k - first);
    if (guess < first && col[guess] / bc == block) return false;
    const int begin = block * bc;
    const int64_t at = spx_first_not<WAYS>(above, first, [=](int64_t i) { return col[i] < begin; });
    return at >= first || col[at] / bc != block;
}

template <class P>
__global__ void count_heads(int nrows, const P *ptr, const int *col, int br, int bc, int64_t *heads)
{
    const int64_t r = own_row(), first = r < nrows ? static_cast<int64_t>(ptr[r]) : 0,
                  last = r < nrows ? static_cast<int64_t>(ptr[r + 1]) : 0;
    int64_t own = 0;
    for (int64_t k = first + own_lane(); k < last; k += ROW_LANES)
        own += begins(ptr, col, r, first, k, br, bc);
    own = spx_sum_lanes<ROW_LANES>(own);
    if (r < nrows && own_lane() == 0) heads[r] = own;
}

/* In any order within a row. */
template <class P>
__global__ void write_keys(int nrows, const P *ptr, const int *col, int br, int bc, int64_t block_cols,
                           const int64_t *heads, uint64_t *key)
{
    const int64_t r = own_row(), first = r < nrows ? static_cast<int64_t>(ptr[r]) : 0,
                  last = r < nrows ? static_cast<int64_t>(ptr[r + 1]) : 0;
    const unsigned shift = threadIdx.x % 32 / ROW_LANES * ROW_LANES, mask = (1u << ROW_LANES) - 1u;
    int64_t to = r < nrows ? heads[r] : 0;
    const bool some = r < nrows && heads[r + 1] > to;
    for (int64_t k = first; __any_sync(0xffffffffu, some && k < last); k += ROW_LANES) {
        const int64_t own = k + own_lane();
        const bool head = some && own < last && begins(ptr, col, r, first, own, br, bc);
        const unsigned heads_here = __ballot_sync(0xffffffffu, head) >> shift & mask;
        if (head)
            key[to + __popc(heads_here & ((1u << own_lane()) - 1u))] =
                static_cast<uint64_t>(r / br * block_cols + col[own] / bc);
        to += __popc(heads_here);
    }
}

/* Where the keys of some runs of block rows begin: at that of the block row in which an equal part of them
 * ends. */
__global__ void find_runs(int64_t nrows, int br, int64_t n, const int64_t *heads, int runs, int64_t *at)
{
    const int64_t i = spx_element();
    if (i > runs) return;
    const int64_t part = n / runs * i,
                  behind = spx_first_not<WAYS>(0, nrows, [=](int64_t r) { return heads[r + 1] <= part; });
    at[i] = i < runs ? heads[behind / br * br] : n;
}

template <class Q>
__global__ void point_rows(const uint64_t *key, int64_t blocks, int64_t block_rows, int64_t block_cols,
                           Q *ptr)
{
    const int64_t R = spx_element();
    if (R > block_rows) return;
    const uint64_t least = static_cast<uint64_t>(R * block_cols);
    ptr[R] = static_cast<Q>(spx_first_not<WAYS>(0, blocks, [=](int64_t b) { return key[b] < least; }));
}

/* The block columns, and how many places of the blocks lie inside the matrix. */
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    write_columns(const uint64_t *key, int64_t blocks, int64_t block_cols, int64_t nrows, int64_t ncols,
                  int br, int bc, int *col, unsigned long long *inside)
{
    const int64_t b = spx_element();
    unsigned long long own = 0;
    if (b < blocks) {
        const int64_t R = static_cast<int64_t>(key[b]) / block_cols,
                      C = static_cast<int64_t>(key[b]) % block_cols, rows = nrows - R * br,
                      cols = ncols - C * bc;
        col[b] = static_cast<int>(C);
        own = static_cast<unsigned long long>((rows < br ? rows : br) * (cols < bc ? cols : bc));
    }
    own = spx_sum_block<SPX_BUILD_THREADS>(own);
    if (threadIdx.x == 0 && own) atomicAdd(inside, own);
}

/* Where entries go. */
template <class Q, class E> struct blocks_of {
    const Q *ptr;
    const int *col;
    int br, bc, words;
    spx_places<E> places;

    template <class F> void each_pointer(F f) const
    {
        f(ptr), f(col);
        places.each_pointer(f);
    }
    __device__ bool put(int64_t r, int c, E v) const
    {
        const int64_t R = r / br;
        const int C = c / bc;
        const int64_t b = spx_first_not<WAYS>(static_cast<int64_t>(ptr[R]), static_cast<int64_t>(ptr[R + 1]),
                                              [=, this](int64_t i) { return col[i] < C; });
        const int64_t at = r % br * bc + c % bc;
        return places.put(b * br * bc + at, b * words + at / 64, at % 64, v);
    }
};

template <class P, class Q, class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    fill(int nrows, const P *ptr, const int *col, const E *val, blocks_of<Q, E> to,
         unsigned long long *distinct)
{
    const int64_t r = own_row(), first = r < nrows ? static_cast<int64_t>(ptr[r]) : 0,
                  last = r < nrows ? static_cast<int64_t>(ptr[r + 1]) : 0;
    bool falls = false;
    for (int64_t k = first + 1 + own_lane(); k < last; k += ROW_LANES) falls |= col[k - 1] >= col[k];
    const unsigned shift = threadIdx.x % 32 / ROW_LANES * ROW_LANES, mask = (1u << ROW_LANES) - 1u;
    const bool alone = __ballot_sync(0xffffffffu, falls) >> shift & mask;
    unsigned long long own = 0;
    const int64_t step = alone ? 1 : ROW_LANES;
    if (!alone || own_lane() == 0)
        for (int64_t k = first + own_lane(); k < last; k += step) own += to.put(r, col[k], val[k]);
    own = spx_sum_block<SPX_BUILD_THREADS>(own);
    if (threadIdx.x == 0 && own) atomicAdd(distinct, own);
}

/* ---- the host's side ---- */

/* Keys that are sorted at once, so that the second buffer of a sort takes no more than what the source has
 * beyond the keys; but a 16th of them at least, since sorting a run of them costs calls. */
int64_t keys_at_once(const spx_sparse *csr, int64_t n)
{
    const size_t source = spx_plus(spx_bytes(csr->nrows + 1, spx_type_bytes(csr->ptr_type)),
                                   spx_bytes(csr->nnz, sizeof(int) + spx_type_bytes(csr->val_type)));
    const int64_t room = static_cast<int64_t>(source / sizeof(uint64_t)) - n;
    return spx_min(n, spx_max(room, spx_ceil_div(n, 16)));
}

/* Runs of block rows with about so many keys each: at[0 ... *runs] tells where theirs begin. */
constexpr int MOST_RUNS = 16;
spmvx_status cut_into_runs(const spmvx_context *ctx, const spx_sparse *csr, int br, int64_t n,
                           const int64_t *heads, int64_t *at, int *runs)
{
    spx_temporary begins;
    *runs = n ? static_cast<int>(spx_ceil_div(n, keys_at_once(csr, n))) : 0;
    at[0] = 0;
    at[*runs] = n;
    if (*runs < 2) return SPMVX_OK;
    SPX_TRY(begins.make(ctx, *runs + 1, sizeof(int64_t), "blocks of the rows"));
    SPX_TRY(spx_launch_over(ctx, WHAT, *runs + 1, find_runs, csr->nrows, br, n, heads, *runs,
                            begins.as<int64_t>()));
    return ctx->backend->download(ctx, at, begins.as<void>(), (*runs + 1) * sizeof *at);
}

/* Sorts each run of keys, leaves each key once, and puts what is left side by side. */
spmvx_status sort_runs(const spmvx_context *ctx, uint64_t *key, const int64_t *at, int runs, int bits,
                       int64_t *left)
{
    int64_t longest = 0;
    spx_temporary count, other;
    *left = 0;
    for (int i = 0; i < runs; i++) longest = spx_max(longest, at[i + 1] - at[i]);
    SPX_TRY(count.make(ctx, 1, sizeof(int64_t), "blocks of the rows"));
    SPX_TRY(other.make(ctx, longest, sizeof(uint64_t), "blocks of the rows"));
    for (int i = 0; i < runs; i++) {
        const int64_t n = at[i + 1] - at[i];
        uint64_t *const both[] = { key + at[i], other.as<uint64_t>() }, *const to = key + *left;
        int sorted = 0;
        int64_t found = 0;
        SPX_TRY(spx_with_cub(ctx, WHAT, [&](void *temp, size_t &bytes, cudaStream_t stream) {
            return spx_cub_sort(temp, bytes, n, both, &sorted, 0, bits, stream);
        }));
        uint64_t *const once = sorted ? to : both[1];
        SPX_TRY(spx_with_cub(ctx, WHAT, [&](void *temp, size_t &bytes, cudaStream_t stream) {
            return spx_cub_unique(temp, bytes, n, static_cast<const uint64_t *>(both[sorted]), once,
                                  count.as<int64_t>(), stream);
        }));
        SPX_TRY(ctx->backend->download(ctx, &found, count.as<void>(), sizeof found));
        if (once != to) SPX_TRY(ctx->backend->copy(ctx, to, once, spx_bytes(found, sizeof *to)));
        *left += found;
    }
    return SPMVX_OK;
}

/* The distinct blocks as ascending keys. */
spmvx_status find_blocks(const spmvx_context *ctx, const spx_sparse *csr, int br, int bc, spx_temporary *key,
                         int64_t *blocks)
{
    const int64_t block_cols = spx_ceil_div(csr->ncols, bc), block_rows = spx_ceil_div(csr->nrows, br);
    const int nrows = static_cast<int>(csr->nrows);
    spx_temporary heads;
    int64_t n = 0, at[MOST_RUNS + 1];
    int runs;
    SPX_TRY(heads.make(ctx, csr->nrows + 1, sizeof(int64_t), "blocks of the rows"));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, ROW_LANES * csr->nrows, count_heads<P>, nrows,
                               spx_slot_of<P>(csr, SPX_PTR), spx_slot_of<int>(csr, SPX_COL), br, bc,
                               heads.as<int64_t>());
    }));
    SPX_TRY(spx_sum_up(ctx, WHAT, csr->nrows, heads.as<int64_t>(), &n));
    SPX_TRY(cut_into_runs(ctx, csr, br, n, heads.as<const int64_t>(), at, &runs));
    SPX_TRY(key->make(ctx, n, sizeof(uint64_t), "blocks of the rows"));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, ROW_LANES * csr->nrows, write_keys<P>, nrows,
                               spx_slot_of<P>(csr, SPX_PTR), spx_slot_of<int>(csr, SPX_COL), br, bc,
                               block_cols, heads.as<const int64_t>(), key->as<uint64_t>());
    }));
    heads.drop();
    return sort_runs(ctx, key->as<uint64_t>(), at, runs, spx_bits_for(block_rows * block_cols), blocks);
}

/* PTR and COL. */
template <class Q>
spmvx_status place_blocks(const spmvx_context *ctx, spx_draft &a, const uint64_t *key, int64_t blocks,
                          unsigned long long *inside)
{
    const int br = static_cast<int>(a->layout.block_rows), bc = static_cast<int>(a->layout.block_cols);
    const int64_t block_cols = spx_ceil_div(a->ncols, bc), block_rows = spx_ceil_div(a->nrows, br);
    SPX_TRY(spx_launch_over(ctx, WHAT, block_rows + 1, point_rows<Q>, key, blocks, block_rows, block_cols,
                            a.as<Q>(SPX_PTR)));
    return spx_launch_over(ctx, WHAT, blocks, write_columns, key, blocks, block_cols, a->nrows, a->ncols, br,
                           bc, a.as<int>(SPX_COL), inside);
}

template <class Q>
spmvx_status fill_blocks(const spmvx_context *ctx, const spx_sparse *csr, spx_draft &a,
                         unsigned long long *distinct)
{
    return spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_by_width(csr->val_type, [&](auto value) {
            using E = decltype(value);
            const blocks_of<Q, E> to = { a.as<const Q>(SPX_PTR),
                                         a.as<const int>(SPX_COL),
                                         static_cast<int>(a->layout.block_rows),
                                         static_cast<int>(a->layout.block_cols),
                                         static_cast<int>(spx_bsr_words(a.get())),
                                         spx_places_of<E>(a) };
            return spx_launch_over(ctx, WHAT, ROW_LANES * csr->nrows, fill<P, Q, E>,
                                   static_cast<int>(csr->nrows), spx_slot_of<P>(csr, SPX_PTR),
                                   spx_slot_of<int>(csr, SPX_COL), spx_slot_of<E>(csr, SPX_VAL), to,
                                   distinct);
        });
    });
}

}

spmvx_status spx_cuda_build_bsr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                spx_sparse *out)
{
    spx_look chosen = {};
    spx_sparse shape = {};
    spx_temporary key, counts;
    int64_t blocks = 0, found[2]; /* places inside the matrix, entries */
    chosen.layout = how->layout;
    if (!chosen.layout.block_rows || !chosen.layout.block_cols)
        SPX_TRY(spx_cuda_look_at_bsr(ctx, csr, &how->layout, &chosen));
    const int64_t br = chosen.layout.block_rows, bc = chosen.layout.block_cols,
                  rows = spx_ceil_div(csr->nrows, br);
    shape.format = SPMVX_BSR;
    shape.val_type = csr->val_type;
    shape.nrows = csr->nrows;
    shape.ncols = csr->ncols;
    shape.layout.block_rows = br;
    shape.layout.block_cols = bc;
    spx_draft a(shape);
    SPX_TRY(find_blocks(ctx, csr, static_cast<int>(br), static_cast<int>(bc), &key, &blocks));
    a->stored = blocks * br * bc;
    a->ptr_type = spx_count_type(a->stored);
    /* without the presence bits, as on the host */
    const size_t index =
        spx_plus(spx_bytes(rows + 1, spx_type_bytes(a->ptr_type)), spx_bytes(blocks, sizeof(int)));
    SPX_TRY(spx_build_check(ctx, WHAT, spx_plus(index, spx_bytes(a->stored, spx_type_bytes(a->val_type))),
                            csr, how));
    SPX_TRY(a.make(ctx, SPX_PTR, rows + 1, spx_type_bytes(a->ptr_type), "ptr"));
    SPX_TRY(a.make(ctx, SPX_COL, blocks, sizeof(int), "col"));
    SPX_TRY(counts.make(ctx, 2, sizeof(int64_t), WHAT));
    SPX_TRY(spx_cuda_clear(ctx, counts.as<void>(), sizeof found, WHAT));
    unsigned long long *const count = counts.as<unsigned long long>();
    SPX_TRY(spx_by_pointer(a->ptr_type, [&](auto q) {
        return place_blocks<decltype(q)>(ctx, a, key.as<const uint64_t>(), blocks, count);
    }));
    key.drop(); /* before the values take their memory */
    SPX_TRY(spx_make_places(ctx, a, blocks * spx_bsr_words(a.get())));
    SPX_TRY(spx_by_pointer(a->ptr_type,
                           [&](auto q) { return fill_blocks<decltype(q)>(ctx, csr, a, count + 1); }));
    SPX_TRY(ctx->backend->download(ctx, found, count, sizeof found));
    spx_settle_places(a, found[1], found[0]);
    *out = a.give();
    return SPMVX_OK;
}
