/* DIA from a CSR on the device, equal to what the host makes of it (lib/format/dia.c). The diagonals are
 * met in a hash table, by way of a small one of each warp, where a lane mostly finds its own. Sorted, they are
 * the offsets. Then a warp takes 32 rows, a lane each, reads their entries some at a time side by side, puts
 * them where they belong, adds up repeats in their order, and sets the presence bits: the word of 32 rows of
 * a diagonal is one warp's.
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

/* Sixteen lanes a row, so many rows one after the other, several entries of a lane at a time. */
constexpr int ROW_LANES = 16, ROWS_OF_LANES = 16;
template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    collect(int nrows, const P *ptr, const int *col, offset_set set, unsigned long long most)
{
    constexpr unsigned ALL = 0xffffffffu;
    constexpr int LEAST_BITS = 24, SIZE = 1 << (32 - LEAST_BITS), WARPS = SPX_BUILD_THREADS / 32, AT_ONCE = 4;
    __shared__ int met_by_warp[WARPS][SIZE]; /* the last offset of each hash */
    int *const met = met_by_warp[threadIdx.x / 32];
    for (int i = static_cast<int>(threadIdx.x) % 32; i < SIZE; i += 32) met[i] = FREE;
    __syncwarp();
    const int64_t first = spx_element() / ROW_LANES * ROWS_OF_LANES,
                  end = first + ROWS_OF_LANES < nrows ? first + ROWS_OF_LANES : nrows;
    bool room = true;
    for (int64_t r = first; __any_sync(ALL, room && r < end); r++) {
        const int64_t last = room && r < end ? static_cast<int64_t>(ptr[r + 1]) : 0;
        for (int64_t k = last ? static_cast<int64_t>(ptr[r]) + threadIdx.x % ROW_LANES : 0;
             __any_sync(ALL, room && k < last); k += AT_ONCE * ROW_LANES) {
            int offset[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                offset[i] =
                    room && k + i * ROW_LANES < last ? col[k + i * ROW_LANES] - static_cast<int>(r) : FREE;
            bool is_new = false;
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                is_new |= offset[i] != FREE && met[hash_of(offset[i]) >> LEAST_BITS] != offset[i];
            if (!__any_sync(ALL, is_new)) continue;
            __syncwarp();
            for (int i = 0; i < AT_ONCE && is_new && room; i++) {
                if (offset[i] == FREE) break;
                room = add(set, offset[i], most);
                atomicExch(met + (hash_of(offset[i]) >> LEAST_BITS),
                           offset[i]); /* of lanes that meet here any one */
            }
            __syncwarp();
        }
    }
}

__global__ void list_offsets(offset_set set, int *list, unsigned long long *next)
{
    const int64_t i = spx_element();
    if (i < set.size && set.slots[i] != FREE) list[atomicAdd(next, 1ull)] = set.slots[i];
}

/* Which diagonal has an offset: a table of those that there are. */
struct offset_map {
    int *slots, *place;
    uint32_t size;

    template <class F> void each_pointer(F f) const
    {
        f(slots), f(place);
    }
    __device__ int operator()(int offset) const
    {
        uint32_t at = __umulhi(hash_of(offset), size);
        while (slots[at] != offset) at = at + 1 < size ? at + 1 : 0;
        return place[at];
    }
};

__global__ void fill_map(int64_t width, const int *offset, offset_map map)
{
    const int64_t d = spx_element();
    if (d >= width) return;
    uint32_t at = __umulhi(hash_of(offset[d]), map.size);
    while (atomicCAS(map.slots + at, FREE, offset[d]) != FREE) at = at + 1 < map.size ? at + 1 : 0;
    map.place[at] = static_cast<int>(d);
}

/* Where entries go. */
template <class E> struct diagonals {
    offset_map find;
    int64_t nrows, words; /* of 32 bits, a diagonal */
    spmvx_type type;
    E *val;
    unsigned *bits;

    template <class F> void each_pointer(F f) const
    {
        find.each_pointer(f);
        f(val), f(bits);
    }
    /* Each lane that has an entry (else d is -1) puts it at diagonal d of its row, or adds it to what is there;
     * true if nothing was. All lanes of a warp together, whose rows are 32 neighbours from a multiple on. */
    __device__ bool put(bool in, int d, int64_t row, E v) const
    {
        constexpr unsigned ALL = 0xffffffffu;
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const unsigned same = __match_any_sync(ALL, d);
        const int leader = __ffs(static_cast<int>(same)) - 1;
        unsigned before = 0;
        if (in && lane == leader) {
            unsigned *const word = bits + static_cast<int64_t>(d) * words + row / 32;
            before = *word;
            *word = before | same;
        }
        before = __shfl_sync(ALL, before, leader);
        const bool was = before >> lane & 1u;
        E *const place = val + static_cast<int64_t>(d) * nrows + row;
        if (in) *place = was ? spx_added(type, *place, v) : v;
        __syncwarp();
        return in && !was;
    }
};

template <class P, class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    fill(int nrows, const P *ptr, const int *col, const E *val, diagonals<E> to, unsigned long long *distinct)
{
    constexpr unsigned ALL = 0xffffffffu;
    const int64_t r = spx_element();
    const int64_t from = r < nrows ? static_cast<int64_t>(ptr[r]) : 0,
                  length = r < nrows ? static_cast<int64_t>(ptr[r + 1]) - from : 0;
    unsigned long long own = 0;
    spx_turned<E> turned;
    for (int64_t k0 = 0; __any_sync(ALL, k0 < length); k0 += turned.AT_ONCE) {
        turned.read(col, val, from, length, k0);
        for (int j = 0; j < turned.AT_ONCE && __any_sync(ALL, k0 + j < length); j++) {
            const bool in = k0 + j < length;
            own += to.put(in, in ? to.find(turned.col(j) - static_cast<int>(r)) : -1, r, turned.val(j));
        }
        __syncwarp();
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
        return spx_launch_over(ctx, WHAT, spx_ceil_div(csr->nrows, ROWS_OF_LANES) * ROW_LANES, collect<P>,
                               static_cast<int>(csr->nrows), spx_slot_of<P>(csr, SPX_PTR),
                               spx_slot_of<int>(csr, SPX_COL), *set, static_cast<unsigned long long>(most));
    }));
    return ctx->backend->download(ctx, found, set->count, sizeof *found);
}

/* Where each diagonal is in the slot COL. */
spmvx_status map_offsets(const spmvx_context *ctx, spx_draft &a, spx_temporary table[2], offset_map *map)
{
    const int64_t size = 2 * a->width + 1;
    for (int i = 0; i < 2; i++) SPX_TRY(table[i].make(ctx, size, sizeof(int), "the places of diagonals"));
    *map = { table[0].as<int>(), table[1].as<int>(), static_cast<uint32_t>(size) };
    SPX_TRY(spx_launch_over(ctx, WHAT, size, empty_slots, size, map->slots));
    return spx_launch_over(ctx, WHAT, a->width, fill_map, a->width, a.as<const int>(SPX_COL), *map);
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
    spx_temporary slots, count, table[2];
    offset_set set;
    offset_map map;
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
    SPX_TRY(map_offsets(ctx, a, table, &map));
    const int64_t inside = a->nnz;
    SPX_TRY(spx_make_places(ctx, a, a->width * words));
    SPX_TRY(ctx->backend->clear(ctx, set.count, sizeof *set.count));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_by_width(csr->val_type, [&](auto value) {
            using E = decltype(value);
            const diagonals<E> to = { map,      csr->nrows,       2 * words,
                                      a.type(), a.as<E>(SPX_VAL), a.as<unsigned>(SPX_BITS) };
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
