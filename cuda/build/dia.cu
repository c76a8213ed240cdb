/* DIA from a CSR on the device, equal to what the host makes of it (lib/format/dia.c). The diagonals are met
 * in a hash table: first those of a few rows, so that the launch for all of them mostly finds its own, in
 * L1. Sorted, they are the offsets. Then a warp takes 32 rows, a lane each, and goes over the diagonals and
 * the entries together, so that every place is written once, side by side. Rows that do not rise are found
 * out by what is left of them; then each entry is put where it belongs, and repeats are added up in their
 * order.
 * Source of the tables: open addressing, Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4). */
#include "places.cuh"
#include "reduce.cuh"
#include "rows.cuh"
#include "turned.cuh"

extern "C" {
#include "core/sort.h"
}

namespace {

constexpr const char *WHAT = "DIA";
constexpr int FREE = INT32_MIN; /* which is no offset */
constexpr int WAYS = 4;

/* A set of offsets: slots of a table, and how many are taken. */
struct offset_set {
    int *slots;
    uint32_t size;
    unsigned long long *count;

    template <class F> void each_pointer(F f) const
    {
        f(slots), f(count);
    }
};

__global__ void empty_slots(int64_t n, int *slots)
{
    const int64_t i = spx_element();
    if (i < n) slots[i] = FREE;
}

__device__ __forceinline__ uint32_t hash_of(int offset)
{
    return static_cast<uint32_t>(offset) * 0x9e3779b9u;
}

/* Adds an offset unless more than `most` are there; false if they are. */
__device__ bool add(const offset_set &set, int offset, unsigned long long most)
{
    uint32_t at = __umulhi(hash_of(offset), set.size);
    for (;; at = at + 1 < set.size ? at + 1 : 0) {
        int there = *const_cast<volatile int *>(set.slots + at);
        if (there == offset) return true;
        if (there != FREE) continue;
        if (*const_cast<volatile unsigned long long *>(set.count) > most) return false;
        there = atomicCAS(set.slots + at, FREE, offset);
        if (there == FREE) atomicAdd(set.count, 1ull);
        if (there == FREE || there == offset) return true;
    }
}

/* 2^log_lanes lanes a row; of `step` runs of rows the first. What L1 has of the table may be old: then an
 * offset is looked for once more. */
constexpr int RUN_OF_ROWS = 16;
template <class P>
__global__ void collect(int nrows, const P *ptr, const int *col, int log_lanes, int64_t step, offset_set set,
                        unsigned long long most)
{
    const int lanes = 1 << log_lanes;
    const int64_t i = spx_element() >> log_lanes, r = i / RUN_OF_ROWS * step * RUN_OF_ROWS + i % RUN_OF_ROWS;
    if (r >= nrows) return;
    const int64_t last = static_cast<int64_t>(ptr[r + 1]);
    for (int64_t k = static_cast<int64_t>(ptr[r]) + (static_cast<int>(threadIdx.x) & (lanes - 1)); k < last;
         k += lanes) {
        const int offset = col[k] - static_cast<int>(r);
        if (set.slots[__umulhi(hash_of(offset), set.size)] == offset) continue;
        if (!add(set, offset, most)) return;
    }
}

__global__ void list_offsets(offset_set set, int *list, unsigned long long *next)
{
    const int64_t i = spx_element();
    if (i < set.size && set.slots[i] != FREE) list[atomicAdd(next, 1ull)] = set.slots[i];
}

/* Where entries go. */
template <class E> struct diagonals {
    const int *offset;
    int64_t width, nrows, words; /* of bits, a diagonal */
    spx_places<E> places;

    template <class F> void each_pointer(F f) const
    {
        f(offset);
        places.each_pointer(f);
    }
};

/* Of rows that rise; counts[0] += their entries, counts[1] += rows that do not. */
template <class P, class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    merge(int nrows, const P *ptr, const int *col, const E *val, diagonals<E> to, unsigned long long *counts)
{
    constexpr unsigned ALL = 0xffffffffu;
    const int64_t r = spx_element(), halves = 2 * to.words;
    unsigned *const bits = reinterpret_cast<unsigned *>(to.places.bits); /* of 32 rows each */
    int64_t from = r < nrows ? static_cast<int64_t>(ptr[r]) : 0;
    const int64_t end = r < nrows ? static_cast<int64_t>(ptr[r + 1]) : 0;
    unsigned long long own = 0;
    spx_turned<E> turned;
    for (int64_t d0 = 0; d0 < to.width; d0 += turned.AT_ONCE) {
        int next = 0; /* of the entries at hand */
        turned.begin(from, end - from);
        turned.read(col, val, 0);
        for (int64_t d = d0; d < d0 + turned.AT_ONCE && d < to.width; d++) {
            const int64_t wanted = r + to.offset[d];
            const bool here = next < turned.AT_ONCE && wanted >= 0 && turned.col(next) == wanted;
            const unsigned all_here = __ballot_sync(ALL, here);
            if (r < nrows) to.places.val[d * to.nrows + r] = here ? turned.val(next) : E(0);
            if (threadIdx.x % 32 == 0 && r / 32 < halves) bits[d * halves + r / 32] = all_here;
            next += here;
        }
        from += next;
        own += static_cast<unsigned>(next);
        __syncwarp();
    }
    own = spx_sum_block<SPX_BUILD_THREADS>(own);
    const int left = __syncthreads_count(from < end);
    if (threadIdx.x) return;
    if (own) atomicAdd(counts, own);
    if (left) atomicAdd(counts + 1, static_cast<unsigned long long>(left));
}

/* Of any rows, after places and bits were cleared. */
template <class P, class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    fill(int nrows, const P *ptr, const int *col, const E *val, diagonals<E> to, unsigned long long *counts)
{
    const int64_t r = spx_element();
    unsigned long long own = 0;
    const int64_t last = r < nrows ? static_cast<int64_t>(ptr[r + 1]) : 0;
    for (int64_t k = r < nrows ? static_cast<int64_t>(ptr[r]) : 0; k < last; k++) {
        const int offset = col[k] - static_cast<int>(r);
        const int64_t d = spx_first_not<WAYS>(0, to.width, [=](int64_t i) { return to.offset[i] < offset; });
        own += to.places.put(d * to.nrows + r, d * to.words + r / 64, r % 64, val[k]);
    }
    own = spx_sum_block<SPX_BUILD_THREADS>(own);
    if (threadIdx.x == 0 && own) atomicAdd(counts, own);
}

/* ---- the host's side ---- */

/* The set of the distinct diagonals, as long as they are no more than `most` (and of some more, if they
 * are). */
spmvx_status find_offsets(const spmvx_context *ctx, const spx_sparse *csr, int64_t most, spx_temporary *slots,
                          spx_temporary *count, offset_set *set, int64_t *found)
{
    constexpr int64_t FEW = 64;
    const int log_lanes = csr->nnz / spx_max(csr->nrows, 1) < 16 ? 2 : 4;
    const int64_t possible = spx_min(most, spx_min(csr->nnz, csr->nrows + csr->ncols)),
                  /* a block may go on adding while others learn that the set is full */
        size = spx_min(spx_min(2 * possible + spx_cuda_blocks_held(ctx, 1), 2 * csr->nnz) + 64, UINT32_MAX);
    SPX_TRY(slots->make(ctx, size, sizeof(int), "the set of diagonals"));
    SPX_TRY(count->make(ctx, 1, sizeof(unsigned long long), "the set of diagonals"));
    *set = { slots->as<int>(), static_cast<uint32_t>(size), count->as<unsigned long long>() };
    SPX_TRY(spx_cuda_clear(ctx, set->count, sizeof *set->count, WHAT));
    SPX_TRY(spx_launch_over(ctx, WHAT, size, empty_slots, size, set->slots));
    for (const int64_t step : { FEW, int64_t(1) }) {
        const int64_t runs = spx_ceil_div(spx_ceil_div(csr->nrows, RUN_OF_ROWS), step);
        SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
            using P = decltype(p);
            return spx_launch_over(ctx, WHAT, runs * RUN_OF_ROWS << log_lanes, collect<P>,
                                   static_cast<int>(csr->nrows), spx_slot_of<P>(csr, SPX_PTR),
                                   spx_slot_of<int>(csr, SPX_COL), log_lanes, step, *set,
                                   static_cast<unsigned long long>(most));
        }));
    }
    return ctx->backend->download(ctx, found, set->count, sizeof *found);
}

/* The offsets in rising order, as the slot COL. */
spmvx_status sort_offsets(const spmvx_context *ctx, const offset_set &set, spx_draft &a)
{
    int *list;
    SPX_TRY(a.make(ctx, SPX_COL, a->width, sizeof(int), "col"));
    SPX_TRY(spx_cuda_clear(ctx, set.count, sizeof *set.count, WHAT));
    SPX_TRY(spx_launch_over(ctx, WHAT, set.size, list_offsets, set, a.as<int>(SPX_COL), set.count));
    SPX_TRY(spx_alloc(ctx, spx_bytes(a->width, sizeof *list), "the set of diagonals", &list));
    spmvx_status s = ctx->backend->download(ctx, list, a.as<int>(SPX_COL), spx_bytes(a->width, sizeof *list));
    if (s == SPMVX_OK) {
        spx_sort_i32(list, a->width);
        s = ctx->backend->upload(ctx, a.as<int>(SPX_COL), list, spx_bytes(a->width, sizeof *list));
    }
    /* slots of the diagonals that lie inside the matrix */
    for (int64_t d = 0; s == SPMVX_OK && d < a->width; d++) {
        const int64_t first = spx_max(0, -static_cast<int64_t>(list[d]));
        a->nnz += spx_max(first, spx_min(a->nrows, a->ncols - list[d])) - first;
    }
    spx_free(ctx, list);
    return s;
}

/* VAL and BITS, and how many entries there are, repeats once. */
template <class P, class E>
spmvx_status fill_all(const spmvx_context *ctx, const spx_sparse *csr, spx_draft &a, int64_t words,
                      int64_t *distinct)
{
    const int nrows = static_cast<int>(csr->nrows);
    const P *const ptr = spx_slot_of<P>(csr, SPX_PTR);
    const int *const col = spx_slot_of<int>(csr, SPX_COL);
    const E *const val = spx_slot_of<E>(csr, SPX_VAL);
    const diagonals<E> to = { a.as<const int>(SPX_COL), a->width, csr->nrows, words, spx_places_of<E>(a) };
    spx_temporary count;
    int64_t counts[2];
    SPX_TRY(count.make(ctx, 2, sizeof(int64_t), WHAT));
    unsigned long long *const on_device = count.as<unsigned long long>();
    SPX_TRY(spx_cuda_clear(ctx, on_device, sizeof counts, WHAT));
    SPX_TRY(spx_launch_over(ctx, WHAT, nrows, merge<P, E>, nrows, ptr, col, val, to, on_device));
    SPX_TRY(ctx->backend->download(ctx, counts, on_device, sizeof counts));
    if (counts[1]) {
        SPX_TRY(spx_cuda_clear(ctx, on_device, sizeof counts, WHAT));
        SPX_TRY(spx_clear_places(ctx, a, a->width * words));
        SPX_TRY(spx_launch_over(ctx, WHAT, nrows, fill<P, E>, nrows, ptr, col, val, to, on_device));
        SPX_TRY(ctx->backend->download(ctx, counts, on_device, sizeof counts));
    }
    *distinct = counts[0];
    return SPMVX_OK;
}

}

spmvx_status spx_cuda_look_at_dia(const spmvx_context *ctx, const spx_sparse *csr, spx_look *out)
{
    constexpr int64_t MOST = 4096; /* as on the host */
    spx_temporary slots, count;
    offset_set set;
    int64_t found = 0;
    const int64_t most = spx_min(MOST, csr->nrows ? 4 * csr->nnz / csr->nrows : 0);
    *out = spx_look{};
    SPX_TRY(find_offsets(ctx, csr, most, &slots, &count, &set, &found));
    if (found > most) return SPMVX_OK;
    out->width = found;
    out->stored = found * csr->nrows;
    return SPMVX_OK;
}

spmvx_status spx_cuda_build_dia(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                spx_sparse *out)
{
    const size_t each = spx_type_bytes(csr->val_type);
    const int64_t words = spx_ceil_div(csr->nrows, 64);
    spx_sparse shape = {};
    spx_temporary slots, count;
    offset_set set;
    int64_t distinct = 0;
    shape.format = SPMVX_DIA;
    shape.val_type = csr->val_type;
    shape.ptr_type = SPMVX_I32;
    shape.nrows = csr->nrows;
    shape.ncols = csr->ncols;
    spx_draft a(shape);
    SPX_TRY(find_offsets(ctx, csr, INT64_MAX, &slots, &count, &set, &a->width));
    if (__builtin_mul_overflow(a->width, a->nrows, &a->stored) || a->stored > INT64_MAX / 64)
        a->stored = INT64_MAX / 64;
    /* without the presence bits, as on the host */
    SPX_TRY(
        spx_build_check(ctx, WHAT, spx_plus(spx_bytes(a->stored, each), spx_bytes(a->width, 4)), csr, how));
    SPX_TRY(sort_offsets(ctx, set, a));
    const int64_t inside = a->nnz;
    SPX_TRY(a.make(ctx, SPX_VAL, a->stored, each, "val"));
    SPX_TRY(a.make(ctx, SPX_BITS, a->width * words, sizeof(uint64_t), "presence bits"));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_by_width(csr->val_type, [&](auto value) {
            return fill_all<P, decltype(value)>(ctx, csr, a, words, &distinct);
        });
    }));
    spx_settle_places(a, distinct, inside);
    *out = a.give();
    return SPMVX_OK;
}
