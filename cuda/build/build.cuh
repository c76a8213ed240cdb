/* What the builders of a device share: arrays for a while, launches over many elements, sums and orders. */
#ifndef SPX_BUILD_CUH
#define SPX_BUILD_CUH
#include <utility>

#include "cub.cuh"
#include "device.cuh"
#include "scan.cuh"

extern "C" {
#include "format/format.h"
}

/* Makes what is worth having, and not needed: where there is no room for it, that is no failure. */
template <class F> spmvx_status spx_where_room(const spmvx_context *ctx, F make)
{
    spx_error_state before;
    spx_error_save(ctx, &before);
    const spmvx_status s = make();
    if (s != SPMVX_ERR_LIMIT && s != SPMVX_ERR_MEMORY) return s;
    spx_error_restore(ctx, &before);
    return SPMVX_OK;
}

/* An array that only work on the context's stream uses, and that lives as long as this, or until it is given
 * away. */
class spx_temporary {
public:
    spx_temporary() = default;
    ~spx_temporary()
    {
        drop();
    }
    spx_temporary(const spx_temporary &) = delete;
    spx_temporary &operator=(const spx_temporary &) = delete;

    spmvx_status make(const spmvx_context *ctx, int64_t count, size_t each, const char *what)
    {
        drop();
        ctx_ = ctx;
        return spx_cuda_scratch_new(ctx, spx_bytes(count, each), what, &array_);
    }
    /* The same for what is worth having, and not needed: nothing where there is no room. */
    spmvx_status try_to_make(const spmvx_context *ctx, int64_t count, size_t each, const char *what)
    {
        return spx_where_room(ctx, [&] { return make(ctx, count, each, what); });
    }
    void drop()
    {
        spx_cuda_drop_behind(ctx_, give());
    }
    template <class T> T *as() const
    {
        return array_ ? static_cast<T *>(array_->data) : nullptr;
    }
    spx_array *give()
    {
        spx_array *const given = array_;
        array_ = nullptr;
        return given;
    }
    void swap(spx_temporary *other)
    {
        std::swap(array_, other->array_);
        std::swap(ctx_, other->ctx_);
    }

private:
    const spmvx_context *ctx_ = nullptr;
    spx_array *array_ = nullptr;
};

/* A matrix that is dropped with this, unless it is given away. */
class spx_draft {
public:
    explicit spx_draft(const spx_sparse &a) : a_(a) {}
    ~spx_draft()
    {
        spx_sparse_drop(&a_);
    }
    spx_draft(const spx_draft &) = delete;
    spx_draft &operator=(const spx_draft &) = delete;

    spx_sparse *operator->()
    {
        return &a_;
    }
    spx_sparse *get()
    {
        return &a_;
    }
    /* An array of so many elements in a slot. */
    spmvx_status make(const spmvx_context *ctx, spx_slot slot, int64_t count, size_t each, const char *what)
    {
        return ctx->backend->array_new(ctx, spx_bytes(count, each), what, &a_.slot[slot]);
    }
    spmvx_type type() const
    {
        return a_.val_type;
    }
    int64_t stored() const
    {
        return a_.stored;
    }
    template <class T> T *as(spx_slot slot) const
    {
        return a_.slot[slot] ? static_cast<T *>(a_.slot[slot]->data) : nullptr;
    }
    spx_sparse give()
    {
        const spx_sparse given = a_;
        a_ = spx_sparse{};
        return given;
    }

private:
    spx_sparse a_;
};

/* The array of a slot of a matrix that is read. */
template <class T> const T *spx_slot_of(const spx_sparse *a, spx_slot slot)
{
    return static_cast<const T *>(spx_data(a, slot));
}

/* Calls f with a number of the type of row pointers. */
template <class F> spmvx_status spx_by_pointer(spmvx_type type, F f)
{
    return type == SPMVX_I64 ? f(int64_t()) : f(int32_t());
}

/* Calls f with a number as wide as a value, for builders that move values as they are. */
template <class F> spmvx_status spx_by_width(spmvx_type type, F f)
{
    return spx_type_bytes(type) == 8 ? f(uint64_t()) : f(uint32_t());
}

/* Bits that tell numbers below n apart. */
inline int spx_bits_for(int64_t n)
{
    int bits = 1;
    while (bits < 63 && n > int64_t(1) << bits) bits++;
    return bits;
}

constexpr int64_t SPX_BUILD_THREADS = 256;

/* Launches a kernel with a thread for each of n elements; nothing where there are none. Its code is loaded
 * before. */
template <class... P>
spmvx_status spx_launch_over(const spmvx_context *ctx, const char *what, int64_t n, void (*kernel)(P...),
                             typename spx_same<P>::type... args)
{
    if (!n) return SPMVX_OK;
    const spmvx_status s = spx_cuda_load(ctx, what, kernel, 0);
    if (s != SPMVX_OK) return s;
    return spx_cuda_launch(ctx, what, kernel, spx_ceil_div(n, SPX_BUILD_THREADS),
                           static_cast<unsigned>(SPX_BUILD_THREADS), 0, args...);
}

__device__ __forceinline__ int64_t spx_element()
{
    return static_cast<int64_t>(blockIdx.x) * SPX_BUILD_THREADS + threadIdx.x;
}

/* Calls CUB twice: call(temp, bytes, stream), for its memory and with it. It may be at work on return. */
template <class F> spmvx_status spx_with_cub(const spmvx_context *ctx, const char *what, F call)
{
    spx_temporary temp;
    size_t bytes = 0;
    for (void *memory = nullptr;; memory = temp.as<void>()) {
        {
            const spx_beside_captures on_device(ctx->device);
            cudaError_t e = on_device.error();
            if (e == cudaSuccess) e = call(memory, bytes, spx_cuda_of(ctx)->stream);
            if (e != cudaSuccess) return spx_cuda_fail(ctx, e, what);
        }
        if (memory) return SPMVX_OK;
        SPX_TRY(temp.make(ctx, static_cast<int64_t>(bytes ? bytes : 1), 1, what));
    }
}

/* Numbers that are known to fit in a narrower type. */
template <class P> __global__ void spx_narrow(int64_t n, const int64_t *from, P *to)
{
    const int64_t i = spx_element();
    if (i < n) to[i] = static_cast<P>(from[i]);
}

/* The sums before each of n numbers, in place, by one block; and as 32 bits, or NULL. */
constexpr int SPX_SUMMED_THREADS = 1024, SPX_SUMMED = 1 << 14; /* numbers for which that is the fastest */
template <class T> __global__ void spx_sums_of_block(int n, T *numbers, int32_t *narrow)
{
    constexpr int EACH = 4, ALL = SPX_SUMMED_THREADS * EACH;
    const int lane = spx_lane(), first = (static_cast<int>(threadIdx.x) - lane) * EACH + lane;
    T next[EACH], carry = 0;
    const auto load = [&](int at) {
#pragma unroll
        for (int i = 0; i < EACH; i++) next[i] = at + i * 32 < n ? numbers[at + i * 32] : T(0);
    };
    load(first);
    for (int at = first; at - first < n; at += ALL) {
        T before[EACH], of_warp = 0;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const T with_own = spx_scan_lanes(next[i]);
            before[i] = of_warp + with_own - next[i];
            of_warp += __shfl_sync(SPX_ALL_LANES, with_own, 31);
        }
        load(at + ALL); /* on their way meanwhile */
        const spx_scanned<T> s = spx_scan_block<SPX_SUMMED_THREADS>(lane ? T(0) : of_warp);
        const T of_others = carry + __shfl_sync(SPX_ALL_LANES, s.before, 0);
        carry += s.total;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int k = at + i * 32;
            if (k < n) numbers[k] = of_others + before[i];
            if (k < n && narrow) narrow[k] = static_cast<int32_t>(of_others + before[i]);
        }
    }
}

/* Turns n counts, and counts[n], which is 0, into the sums of those before each, in place; or puts these to
 * `narrow`, where it is not NULL, and then nobody may count on more of `counts` than counts[n], the sum of
 * all. It may be at work on return. Few are one launch's work: CUB takes two, and memory. */
inline spmvx_status spx_sums_before(const spmvx_context *ctx, const char *what, int64_t n, int64_t *counts,
                                    int32_t *narrow)
{
    if (n < SPX_SUMMED) {
        SPX_TRY(spx_cuda_load(ctx, what, spx_sums_of_block<int64_t>, 0));
        return spx_cuda_launch(ctx, what, spx_sums_of_block<int64_t>, 1, SPX_SUMMED_THREADS, 0,
                               static_cast<int>(n) + 1, counts, narrow);
    }
    return spx_with_cub(ctx, what, [&](void *temp, size_t &bytes, cudaStream_t stream) {
        return narrow ? spx_cub_narrow_sums_before(temp, bytes, n, counts, narrow, stream)
                      : spx_cub_sums_before(temp, bytes, n + 1, static_cast<const int64_t *>(counts), counts,
                                            stream);
    });
}

/* Turns n counts into the sums of those before each, in place; counts[n] and *total become the sum of all. */
inline spmvx_status spx_sum_up(const spmvx_context *ctx, const char *what, int64_t n, int64_t *counts,
                               int64_t *total)
{
    SPX_TRY(spx_cuda_clear(ctx, counts + n, sizeof *counts, what));
    SPX_TRY(spx_sums_before(ctx, what, n, counts, nullptr));
    return ctx->backend->download(ctx, total, counts + n, sizeof *total);
}

template <class P> __global__ void spx_count_up(int64_t n, P *positions)
{
    const int64_t i = spx_element();
    if (i < n) positions[i] = static_cast<P>(i);
}

/* The stable order of n keys by their lowest bits: *in tells which of keys[0], keys[1] holds the sorted ones,
 * and which of positions[0], positions[1] where each was. The keys come in keys[0]. */
template <class Key, class P>
spmvx_status spx_order(const spmvx_context *ctx, const char *what, int64_t n, int bits, Key *const keys[2],
                       P *const positions[2], int *in)
{
    SPX_TRY(spx_launch_over(ctx, what, n, spx_count_up<P>, n, positions[0]));
    SPX_TRY(spx_with_cub(ctx, what, [&](void *temp, size_t &bytes, cudaStream_t stream) {
        return spx_cub_sort_pairs(temp, bytes, n, keys, positions, in, 0, bits, stream);
    }));
    return ctx->backend->synchronize(ctx);
}

/* ---- build/entries.cu: entries of CSR, one by one and by another key ---- */

/* The row of each entry. */
spmvx_status spx_cuda_spell_rows(const spmvx_context *, const char *what, const spx_sparse *csr, int *row);

/* Is any of n keys below the one before it? */
spmvx_status spx_cuda_descends(const spmvx_context *, const char *what, const int *keys, int64_t n,
                               bool *descends);

/* A number of each entry that it is sorted by, key[i] / divisor, in 0 ... limit-1. */
struct spx_sort_key {
    const int *key;
    int divisor;
    int64_t limit;
};

/* The stable order of n entries by some keys, of which the first counts most: order[i] (int64_t) is where
 * the i-th was. Complete on return. Takes two positions an entry beside it, of 32 bits while n < 2^31. */
spmvx_status spx_cuda_order_entries(const spmvx_context *, const char *what, int64_t n,
                                    const spx_sort_key *by, int keys, spx_array **order);

/* Pointers to where the entries of each of `rows` rows begin among n row numbers that ascend; rows + 1. */
spmvx_status spx_cuda_point_rows(const spmvx_context *, const char *what, const int *row, int64_t n,
                                 int64_t rows, spmvx_type, void *ptr);

/* The entries of a CSR by column, those of a column in the order of rows: PTR (ncols + 1), COL (their rows)
 * and VAL of `out`. *order, where asked for, is where each was (I32 or I64, as nnz needs). */
spmvx_status spx_cuda_by_column(const spmvx_context *, const char *what, const spx_sparse *csr,
                                spx_sparse *out, spx_array **order);

/* ---- build/hot.cu: the columns with most entries ---- */

/* A code for each column, and the `hot` columns that are held, as lib/format/tiled.c has them. */
spmvx_status spx_cuda_hot_columns(const spmvx_context *, const char *what, const spx_sparse *csr, int64_t hot,
                                  spx_temporary *code, spx_array **held);

/* About which part of the entries is in so many columns; from a sample. */
spmvx_status spx_cuda_hot_share(const spmvx_context *, const char *what, const spx_sparse *csr, int64_t hot,
                                double *share);

/* ---- the builders: functions of the formats' records ---- */

spmvx_status spx_cuda_build_coo(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                spx_sparse *out);
spmvx_status spx_cuda_build_csr(const spmvx_context *, const spx_sparse *coo, spx_sparse *csr);
spmvx_status spx_cuda_build_csc(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                spx_sparse *out);
spmvx_status spx_cuda_build_ell(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                spx_sparse *out);
spmvx_status spx_cuda_build_sell(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                 spx_sparse *out);
spmvx_status spx_cuda_build_hyb(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                spx_sparse *out);
spmvx_status spx_cuda_build_dia(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                spx_sparse *out);
spmvx_status spx_cuda_build_bsr(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                spx_sparse *out);
spmvx_status spx_cuda_build_csr5(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                 spx_sparse *out);
spmvx_status spx_cuda_build_tiled(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                  spx_sparse *out);
spmvx_status spx_cuda_build_packed(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                   spx_sparse *out);
spmvx_status spx_cuda_transpose(const spmvx_context *, const spx_sparse *csr, spx_sparse *out);

/* CSR5's sigma where none is asked for: the format's rule, with the bounds that an H200 likes. */
int64_t spx_cuda_csr5_sigma(const spx_layout *asked, int64_t nnz, int64_t nrows);

/* What DIA, BSR and PACKED would hold, the latter by a sample. */
spmvx_status spx_cuda_look_at_dia(const spmvx_context *, const spx_sparse *csr, spx_look *);
spmvx_status spx_cuda_look_at_bsr(const spmvx_context *, const spx_sparse *csr, const spx_layout *asked,
                                  spx_look *);
spmvx_status spx_cuda_look_at_packed(const spmvx_context *, const spx_sparse *csr, const spx_features *,
                                     const spx_layout *asked, spx_look *);
#endif
