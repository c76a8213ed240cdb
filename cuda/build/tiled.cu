/* TILED from a CSR on the device, equal to what the host makes of it (lib/format/tiled.c). Entries are cut
 * into segments where their row or their tile changes and every PIECE entries, by warps that take equal
 * parts of them: so segments are numbered row by row, tile by tile, which is the order of the rows' lists.
 * One stable sort by tile and falling length deals them to lanes; a warp a slice fills these, and writes to
 * the lists where they are. */
#include "build.cuh"
#include "rows.cuh"
#include "scan.cuh"
#include "values.cuh"

extern "C" {
#include "core/tiled.h"
}

namespace {

constexpr const char *WHAT = "TILED";
constexpr int WAYS = 4, LANES = SPX_TILED_LANES, LENGTH_BITS = 8; /* PIECE - length is below 2^8 */
static_assert(LANES == 32 && SPX_TILED_PIECE < 1 << LENGTH_BITS, "a lane a segment, its length in a key");

/* Entries tile by tile within rows, and the width of a tile. */
struct tile_order {
    const int *col;
    const int64_t *order; /* or NULL: as in CSR */
    int width;
    const int *code; /* of each column, where hot ones are held; or NULL */

    template <class F> void each_pointer(F f) const
    {
        f(col), f(order), f(code);
    }
    __device__ int64_t entry(int64_t k) const
    {
        return order ? order[k] : k;
    }
    __device__ int tile(int64_t k) const
    {
        return col[entry(k)] / width;
    }
};

__global__ void find_disorder(int64_t nnz, const int *row, const int *col, int width, int *found)
{
    const int64_t k = spx_element();
    if (k > 0 && k < nnz && row[k - 1] == row[k] && col[k - 1] / width > col[k] / width) *found = 1;
}

/* A warp's way over a part of the entries: calls each(k, row, heads) for 32 of them at a time, of which
 * `heads` begin a segment. */
constexpr int64_t PART = 1024;
template <class F> __device__ void cut_part(int64_t nnz, const int *row, const tile_order &e, F each)
{
    const int64_t first = spx_element() / LANES * PART, last = first + PART < nnz ? first + PART : nnz;
    if (first >= last) return;
    const auto place_of = [&](int64_t k) { /* a row's tile */
                                           return static_cast<int64_t>(row[k]) << 32 |
                                                  static_cast<int64_t>(e.tile(k));
    };
    int64_t before = first > 0 ? place_of(first - 1) : -1;
    /* the first entry of the row's tile that the warp is in, which may have begun in a part before */
    const int64_t own_place = place_of(first);
    int64_t run = first;
    if (before == own_place)
        run = spx_first_not<WAYS>(0, first, [&](int64_t k) { return place_of(k) < own_place; });
    for (int64_t k0 = first; k0 < last; k0 += LANES) {
        const int64_t k = k0 + spx_lane();
        const bool in = k < last;
        const int64_t own = in ? place_of(k) : -1, of_left = __shfl_up_sync(SPX_ALL_LANES, own, 1),
                      left = spx_lane() ? of_left : before;
        const unsigned begun = __ballot_sync(SPX_ALL_LANES, in && own != left),
                       by_here = begun & (SPX_ALL_LANES >> (31 - spx_lane()));
        const int64_t own_run = by_here ? k0 + 31 - __clz(static_cast<int>(by_here)) : run;
        each(k, static_cast<int>(own >> 32),
             __ballot_sync(SPX_ALL_LANES, in && (k - own_run) % SPX_TILED_PIECE == 0));
        if (begun) run = k0 + 31 - __clz(static_cast<int>(begun));
        before = __shfl_sync(SPX_ALL_LANES, own, 31);
    }
}

__global__ void count_segments(int64_t nnz, const int *row, tile_order e, int64_t *count)
{
    int64_t own = 0;
    cut_part(nnz, row, e, [&](int64_t, int, unsigned heads) { own += __popc(heads); });
    if (spx_lane() == 0 && spx_element() / LANES * PART < nnz) count[spx_element() / LANES] = own;
}

__global__ void write_segments(int64_t nnz, const int *row, tile_order e, const int64_t *before,
                               int64_t *first, int *row_out)
{
    int64_t to = spx_element() / LANES * PART < nnz ? before[spx_element() / LANES] : 0;
    cut_part(nnz, row, e, [&](int64_t k, int r, unsigned heads) {
        if (heads >> spx_lane() & 1u) {
            const int64_t at = to + __popc(heads & ((1u << spx_lane()) - 1u));
            first[at] = k;
            row_out[at] = r;
        }
        to += __popc(heads);
    });
}

/* The first segment of each row, and twice the end of all. */
template <class P>
__global__ void begin_lists(int64_t nrows, const P *ptr, int64_t segments, const int64_t *first,
                            int64_t *list_ptr)
{
    const int64_t r = spx_element();
    if (r > nrows + 1) return;
    const int64_t begin = static_cast<int64_t>(ptr[r < nrows ? r : nrows]);
    list_ptr[r] = spx_first_not<WAYS>(0, segments, [=](int64_t i) { return first[i] < begin; });
}

/* Where segments are among the entries, and their rows. One ends where the next one begins. */
struct segments_of {
    int64_t count, nnz;
    const int64_t *first;
    const int *row;

    template <class F> void each_pointer(F f) const
    {
        f(first), f(row);
    }
    __device__ int length(int64_t i) const
    {
        return static_cast<int>((i + 1 < count ? first[i + 1] : nnz) - first[i]);
    }
};

template <class K> __global__ void write_segment_keys(segments_of from, tile_order e, K *key)
{
    const int64_t i = spx_element();
    if (i < from.count)
        key[i] = static_cast<K>(e.tile(from.first[i])) << LENGTH_BITS |
                 static_cast<K>(SPX_TILED_PIECE - from.length(i));
}

/* Each tile's first segment, and the number of slices of each. */
template <class K> __global__ void begin_tiles(int64_t tiles, int64_t segments, const K *key, int64_t *begin)
{
    const int64_t t = spx_element();
    if (t > tiles) return;
    begin[t] = spx_first_not<WAYS>(0, segments, [=](int64_t i) {
        return static_cast<int64_t>(key[i] >> LENGTH_BITS) < t;
    });
}
__global__ void count_slices(int64_t tiles, const int64_t *begin, int64_t *slices)
{
    const int64_t t = spx_element();
    if (t < tiles) slices[t] = (begin[t + 1] - begin[t] + LANES - 1) / LANES;
}

/* The segments in the order of their lanes, and where tiles begin among them and among the slices. */
struct dealt {
    const int *segment;
    const int64_t *tile_begin;
    const int *tile_ptr;
    int64_t tiles;

    template <class F> void each_pointer(F f) const
    {
        f(segment), f(tile_begin), f(tile_ptr);
    }
    __device__ int64_t tile_of(int64_t slice) const
    {
        return spx_first_not<WAYS>(0, tiles, [=, this](int64_t t) { return tile_ptr[t + 1] <= slice; });
    }
    __device__ int64_t first_of(int64_t slice, int64_t tile) const
    {
        return tile_begin[tile] + (slice - tile_ptr[tile]) * LANES;
    }
};

/* As wide as its longest segment, which comes first, in whole groups. */
__global__ void size_slices(int64_t slices, dealt d, segments_of from, int64_t *places)
{
    const int64_t s = spx_element();
    if (s >= slices) return;
    const int64_t longest = from.length(d.segment[d.first_of(s, d.tile_of(s))]);
    places[s] = (longest + SPX_TILED_GROUP - 1) / SPX_TILED_GROUP * SPX_TILED_GROUP * LANES;
}

template <class Q, class C> struct slices_out {
    const Q *ptr;
    int *row;
    C *col;
    int *list;

    template <class F> void each_pointer(F f) const
    {
        f(ptr), f(row), f(col), f(list);
    }
};

/* A warp a slice: GROUP lanes read as many neighbouring entries of a segment, and all write side by side. */
template <int VALUES, class Q, class E, class C>
__global__ void fill(int64_t slices, dealt d, segments_of from, tile_order e, spx_coded_values<E> val,
                     slices_out<Q, C> out)
{
    constexpr int GROUP = SPX_TILED_GROUP, SEGMENTS = LANES / GROUP;
    constexpr bool CODES = sizeof(C) == 4;
    constexpr C NONE = static_cast<C>(CODES ? int64_t(SPX_TILED_NONE) : int64_t(SPX_TILED_PADDING));
    const int64_t s = spx_element() / LANES;
    if (s >= slices) return;
    const int lane = spx_lane(), in_group = lane % GROUP;
    const int64_t tile = d.tile_of(s), at = d.first_of(s, tile) + lane;
    const bool used = at < d.tile_begin[tile + 1];
    const int segment = used ? d.segment[at] : -1, length = used ? from.length(segment) : 0;
    const int64_t first = used ? from.first[segment] : 0;
    const int64_t base = static_cast<int64_t>(out.ptr[s]);
    const int width = static_cast<int>((static_cast<int64_t>(out.ptr[s + 1]) - base) / LANES);
    out.row[s * LANES + lane] = used ? from.row[segment] : -1;
    if (used) out.list[segment] = static_cast<int>(s * LANES + lane);
    for (int k0 = 0; k0 < width; k0 += GROUP) {
#pragma unroll
        for (int i = 0; i < LANES; i += SEGMENTS) {
            const int of = i + lane / GROUP, k = k0 + in_group;
            const int64_t begin = __shfl_sync(SPX_ALL_LANES, first, of),
                          to = base + (k0 * LANES + i * GROUP + lane);
            const bool in = k < __shfl_sync(SPX_ALL_LANES, length, of);
            const int64_t entry = in ? e.entry(begin + k) : 0;
            const int col = in ? e.col[entry] : 0;
            out.col[to] = !in ? NONE : static_cast<C>(CODES ? e.code[col] : col - tile * e.width);
            val.template put<VALUES>(to, entry, in);
        }
    }
}

/* ---- the host's side ---- */

struct builder {
    const spmvx_context *ctx;
    const spx_sparse *csr;
    spx_draft &a;
    tile_order entries;
    int64_t tiles, segments, slices;
    spx_temporary first, row; /* of the segments, in the order of rows */
    spx_temporary dealt;      /* segments in the order of lanes */
    spx_temporary tile_begin, code, numbers;
    spx_value_code values;

    ~builder()
    {
        spx_value_code_drop(ctx, &values);
    }

    segments_of all() const
    {
        return { segments, csr->nnz, first.as<const int64_t>(), row.as<const int>() };
    }
};

/* ORDER, where tiles do not ascend in each row. */
spmvx_status order_entries(builder *b, const int *row)
{
    const spmvx_context *const ctx = b->ctx;
    const int64_t nnz = b->csr->nnz;
    const int width = b->entries.width;
    const spx_sort_key by[] = { { row, 1, b->csr->nrows }, { b->entries.col, width, b->tiles } };
    spx_temporary flag;
    int unordered = 0;
    SPX_TRY(flag.make(ctx, 1, sizeof(int), WHAT));
    SPX_TRY(ctx->backend->clear(ctx, flag.as<int>(), sizeof(int)));
    SPX_TRY(spx_launch_over(ctx, WHAT, nnz, find_disorder, nnz, row, b->entries.col, width, flag.as<int>()));
    SPX_TRY(ctx->backend->download(ctx, &unordered, flag.as<int>(), sizeof unordered));
    if (!unordered) return SPMVX_OK;
    SPX_TRY(spx_cuda_order_entries(ctx, "an order of the entries", nnz, by, 2, &b->a->slot[SPX_ORDER]));
    b->entries.order = b->a.as<const int64_t>(SPX_ORDER);
    return SPMVX_OK;
}

/* The segments, and the rows' lists of them. */
spmvx_status cut(builder *b)
{
    const spmvx_context *const ctx = b->ctx;
    const int64_t nnz = b->csr->nnz, nrows = b->csr->nrows, parts = spx_ceil_div(nnz, PART);
    spx_temporary rows, before;
    SPX_TRY(rows.make(ctx, nnz, sizeof(int), "rows of the entries"));
    int *const row = rows.as<int>();
    SPX_TRY(spx_cuda_spell_rows(ctx, WHAT, b->csr, row));
    SPX_TRY(order_entries(b, row));
    SPX_TRY(before.make(ctx, parts + 1, sizeof(int64_t), "segments"));
    SPX_TRY(spx_launch_over(ctx, WHAT, LANES * parts, count_segments, nnz, static_cast<const int *>(row),
                            b->entries, before.as<int64_t>()));
    SPX_TRY(spx_sum_up(ctx, WHAT, parts, before.as<int64_t>(), &b->segments));
    SPX_TRY(b->a.make(ctx, SPX_LIST_PTR, nrows + 2, sizeof(int64_t), "lanes of the rows"));
    SPX_TRY(b->first.make(ctx, b->segments, sizeof(int64_t), "segments"));
    SPX_TRY(b->row.make(ctx, b->segments, sizeof(int), "segments"));
    int64_t *const list_ptr = b->a.as<int64_t>(SPX_LIST_PTR);
    SPX_TRY(spx_launch_over(ctx, WHAT, LANES * parts, write_segments, nnz, static_cast<const int *>(row),
                            b->entries, before.as<const int64_t>(), b->first.as<int64_t>(),
                            b->row.as<int>()));
    return spx_by_pointer(b->csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, nrows + 2, begin_lists<P>, nrows, spx_slot_of<P>(b->csr, SPX_PTR),
                               b->segments, b->first.as<const int64_t>(), list_ptr);
    });
}

/* The segments by tile and falling length, and each tile's first. */
template <class K> spmvx_status order_segments(builder *b)
{
    const spmvx_context *const ctx = b->ctx;
    spx_temporary key[2], position[2];
    int in = 0;
    for (int i = 0; i < 2; i++) {
        SPX_TRY(key[i].make(ctx, b->segments, sizeof(K), "segments"));
        SPX_TRY(position[i].make(ctx, b->segments, sizeof(int), "segments"));
    }
    K *const keys[] = { key[0].as<K>(), key[1].as<K>() };
    int *const positions[] = { position[0].as<int>(), position[1].as<int>() };
    SPX_TRY(spx_launch_over(ctx, WHAT, b->segments, write_segment_keys<K>, b->all(), b->entries, keys[0]));
    SPX_TRY(spx_order(ctx, WHAT, b->segments, LENGTH_BITS + spx_bits_for(b->tiles), keys, positions, &in));
    SPX_TRY(b->tile_begin.make(ctx, b->tiles + 1, sizeof(int64_t), "segments of the tiles"));
    SPX_TRY(spx_launch_over(ctx, WHAT, b->tiles + 1, begin_tiles<K>, b->tiles, b->segments,
                            static_cast<const K *>(keys[in]), b->tile_begin.as<int64_t>()));
    b->dealt.swap(&position[in]);
    return SPMVX_OK;
}

/* Deals the segments to lanes: TILE, and how many slices there are. */
spmvx_status deal(builder *b)
{
    const spmvx_context *const ctx = b->ctx;
    const bool narrow = LENGTH_BITS + spx_bits_for(b->tiles) <= 32;
    spx_temporary slices;
    SPX_TRY(narrow ? order_segments<uint32_t>(b) : order_segments<uint64_t>(b));
    SPX_TRY(slices.make(ctx, b->tiles + 1, sizeof(int64_t), "segments of the tiles"));
    SPX_TRY(b->a.make(ctx, SPX_TILE, b->tiles + 1, sizeof(int), "tile pointers"));
    SPX_TRY(spx_launch_over(ctx, WHAT, b->tiles, count_slices, b->tiles, b->tile_begin.as<const int64_t>(),
                            slices.as<int64_t>()));
    SPX_TRY(spx_sum_up(ctx, WHAT, b->tiles, slices.as<int64_t>(), &b->slices));
    if (b->slices * LANES > INT32_MAX)
        return spx_fail(ctx, SPMVX_ERR_LIMIT, "TILED would have %lld slices, above %d",
                        static_cast<long long>(b->slices), INT32_MAX / LANES);
    return spx_launch_over(ctx, WHAT, b->tiles + 1, spx_narrow<int>, b->tiles + 1, slices.as<const int64_t>(),
                           b->a.as<int>(SPX_TILE));
}

template <class Q, class C> spmvx_status fill_slices(builder *b, const dealt &d, const int64_t *places)
{
    const spmvx_context *const ctx = b->ctx;
    spx_draft &a = b->a;
    SPX_TRY(
        spx_launch_over(ctx, WHAT, b->slices + 1, spx_narrow<Q>, b->slices + 1, places, a.as<Q>(SPX_PTR)));
    return spx_by_width(a->val_type, [&](auto value) {
        using E = decltype(value);
        const slices_out<Q, C> out = { a.as<const Q>(SPX_PTR), a.as<int>(SPX_ROW), a.as<C>(SPX_COL),
                                       a.as<int>(SPX_LIST) };
        const spx_coded_values<E> val = { spx_slot_of<E>(b->csr, SPX_VAL), a.as<void>(SPX_VAL),
                                          b->numbers.as<const spx_value_hash>() };
        return spx_by_code<sizeof(E)>(b->values.values, [&](auto code) {
            return spx_launch_over(ctx, WHAT, LANES * b->slices, fill<code.value, Q, E, C>, b->slices, d,
                                   b->all(), b->entries, val, out);
        });
    });
}

spmvx_status fill_all(builder *b, const spx_build *how)
{
    const spmvx_context *const ctx = b->ctx;
    spx_draft &a = b->a;
    SPX_TRY(spx_cuda_find_values(ctx, WHAT, b->csr, how->layout.values, &b->values, &b->numbers));
    a->layout.values = b->values.values;
    const size_t each = spx_values_bytes(a->layout.values, spx_type_bytes(a->val_type)),
                 of_col = spx_tiled_col_bytes(&a->layout);
    const dealt d = { b->dealt.as<const int>(), b->tile_begin.as<const int64_t>(), a.as<const int>(SPX_TILE),
                      b->tiles };
    spx_temporary places;
    SPX_TRY(places.make(ctx, b->slices + 1, sizeof(int64_t), "ptr"));
    SPX_TRY(spx_launch_over(ctx, WHAT, b->slices, size_slices, b->slices, d, b->all(), places.as<int64_t>()));
    SPX_TRY(spx_sum_up(ctx, WHAT, b->slices, places.as<int64_t>(), &a->stored));
    a->ptr_type = spx_count_type(a->stored);
    size_t bytes = spx_plus(spx_bytes(a->stored, of_col + each),
                            spx_bytes(b->slices, 4 * LANES + spx_type_bytes(a->ptr_type)));
    bytes = spx_plus(bytes, spx_plus(spx_bytes(a->nrows + 2, 8), spx_bytes(b->segments, 4)));
    bytes = spx_plus(bytes, spx_bytes(a->layout.hot, 4));
    if (a->slot[SPX_ORDER]) bytes = spx_plus(bytes, spx_bytes(a->nnz, 8));
    SPX_TRY(spx_build_check(ctx, WHAT, bytes, b->csr, how));
    SPX_TRY(a.make(ctx, SPX_PTR, b->slices + 1, spx_type_bytes(a->ptr_type), "ptr"));
    SPX_TRY(a.make(ctx, SPX_ROW, b->slices * LANES, sizeof(int), "row"));
    SPX_TRY(a.make(ctx, SPX_COL, a->stored, of_col, "col"));
    SPX_TRY(a.make(ctx, SPX_VAL, a->stored, each, "val"));
    SPX_TRY(spx_cuda_put_table(ctx, b->values, a));
    SPX_TRY(a.make(ctx, SPX_LIST, b->segments, sizeof(int), "lanes of the rows"));
    SPX_TRY(spx_by_pointer(a->ptr_type, [&](auto q) {
        using Q = decltype(q);
        return b->entries.code ? fill_slices<Q, int32_t>(b, d, places.as<const int64_t>())
                               : fill_slices<Q, uint16_t>(b, d, places.as<const int64_t>());
    }));
    return ctx->backend->synchronize(ctx);
}

}

spmvx_status spx_cuda_build_tiled(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                  spx_sparse *out)
{
    spx_sparse shape = {};
    SPX_TRY(spx_tiled_layout(ctx, &how->layout, csr->ncols, &shape.layout));
    SPX_TRY(spx_build_check(ctx, WHAT, spx_tiled_least_bytes(csr, &shape.layout), csr, how));
    shape.format = SPMVX_TILED;
    shape.val_type = csr->val_type;
    shape.nrows = csr->nrows;
    shape.ncols = csr->ncols;
    shape.nnz = csr->nnz;
    spx_draft a(shape);
    const int64_t width = shape.layout.hot ? int64_t(INT32_MAX) : shape.layout.tile_width;
    builder b = { .ctx = ctx,
                  .csr = csr,
                  .a = a,
                  .entries = { spx_slot_of<int>(csr, SPX_COL), nullptr, static_cast<int>(width), nullptr },
                  .tiles = spx_tiled_tiles(&shape) };
    if (shape.layout.hot) {
        SPX_TRY(spx_cuda_hot_columns(ctx, WHAT, csr, shape.layout.hot, &b.code, &a->slot[SPX_DESC]));
        b.entries.code = b.code.as<const int>();
    }
    SPX_TRY(cut(&b));
    SPX_TRY(deal(&b));
    SPX_TRY(fill_all(&b, how));
    *out = a.give();
    return SPMVX_OK;
}
