/* DIA from a CSR on the device, equal to what the host makes of it (lib/format/dia.c). The diagonals are
 * met in a hash table: a lane an entry, which mostly finds its own there and writes nothing. Sorted, they
 * are the offsets. Then a thread a row puts its entries where they belong, adds up repeats in their
 * order, and sets their presence bits.
 * Source of the table: open addressing, Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4). */
#include "places.cuh"
#include "reduce.cuh"
#include "rows.cuh"

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

/* Adds an offset unless more than `most` are there. */
__device__ void add(const offset_set &set, int offset, unsigned long long most)
{
    const uint32_t hash = static_cast<uint32_t>(offset) * 0x9e3779b9u;
    uint32_t at = __umulhi(hash, set.size);
    for (;; at = at + 1 < set.size ? at + 1 : 0) {
        int there = *const_cast<volatile int *>(set.slots + at);
        if (there == offset) return;
        if (there != FREE) continue;
        if (*const_cast<volatile unsigned long long *>(set.count) > most) return;
        there = atomicCAS(set.slots + at, FREE, offset);
        if (there == FREE) atomicAdd(set.count, 1ull);
        if (there == FREE || there == offset) return;
    }
}

/* Sixteen lanes a row. */
constexpr int ROW_LANES = 16;
template <class P>
__global__ void collect(int nrows, const P *ptr, const int *col, offset_set set, unsigned long long most)
{
    const int64_t r = spx_element() / ROW_LANES;
    if (r >= nrows) return;
    const int64_t last = static_cast<int64_t>(ptr[r + 1]);
    for (int64_t k = static_cast<int64_t>(ptr[r]) + threadIdx.x % ROW_LANES; k < last; k += ROW_LANES)
        add(set, col[k] - static_cast<int>(r), most);
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

template <class P, class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    fill(int nrows, const P *ptr, const int *col, const E *val, diagonals<E> to, unsigned long long *distinct)
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
    if (threadIdx.x == 0 && own) atomicAdd(distinct, own);
}

/* ---- the host's side ---- */

/* The set of the distinct diagonals, as long as they are no more than `most` (and of some more, if they
 * are). */
spmvx_status find_offsets(const spmvx_context *ctx, const spx_sparse *csr, int64_t most, spx_temporary *slots,
                          spx_temporary *count, offset_set *set, int64_t *found)
{
    const int64_t possible = spx_min(most, spx_min(csr->nnz, csr->nrows + csr->ncols)),
                  /* a block may go on adding while others learn that the set is full */
        size = spx_min(spx_min(2 * possible + spx_cuda_blocks_held(ctx, 1), 2 * csr->nnz) + 64, UINT32_MAX);
    SPX_TRY(slots->make(ctx, size, sizeof(int), "the set of diagonals"));
    SPX_TRY(count->make(ctx, 1, sizeof(unsigned long long), "the set of diagonals"));
    *set = { slots->as<int>(), static_cast<uint32_t>(size), count->as<unsigned long long>() };
    SPX_TRY(ctx->backend->clear(ctx, set->count, sizeof *set->count));
    SPX_TRY(spx_launch_over(ctx, WHAT, size, empty_slots, size, set->slots));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, ROW_LANES * csr->nrows, collect<P>, static_cast<int>(csr->nrows),
                               spx_slot_of<P>(csr, SPX_PTR), spx_slot_of<int>(csr, SPX_COL), *set,
                               static_cast<unsigned long long>(most));
    }));
    return ctx->backend->download(ctx, found, set->count, sizeof *found);
}

/* The offsets in rising order, as the slot COL. */
spmvx_status sort_offsets(const spmvx_context *ctx, const offset_set &set, spx_draft &a)
{
    int *list;
    SPX_TRY(a.make(ctx, SPX_COL, a->width, sizeof(int), "col"));
    SPX_TRY(ctx->backend->clear(ctx, set.count, sizeof *set.count));
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
    SPX_TRY(spx_make_places(ctx, a, a->width * words));
    SPX_TRY(ctx->backend->clear(ctx, set.count, sizeof *set.count));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_by_width(csr->val_type, [&](auto value) {
            using E = decltype(value);
            const diagonals<E> to = { a.as<const int>(SPX_COL), a->width, csr->nrows, words,
                                      spx_places_of<E>(a) };
            return spx_launch_over(ctx, WHAT, csr->nrows, fill<P, E>, static_cast<int>(csr->nrows),
                                   spx_slot_of<P>(csr, SPX_PTR), spx_slot_of<int>(csr, SPX_COL),
                                   spx_slot_of<E>(csr, SPX_VAL), to, set.count);
        });
    }));
    SPX_TRY(ctx->backend->download(ctx, &distinct, set.count, sizeof distinct));
    spx_settle_places(a, distinct, inside);
    *out = a.give();
    return SPMVX_OK;
}
