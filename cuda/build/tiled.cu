/* TILED from a CSR on the device, equal to what the host makes of it (lib/format/tiled.c): one stable sort by
 * tile and falling length deals the segments (tiled_segments.cu) to lanes; a warp a slice fills these, and
 * writes to the rows' lists where they are. Where columns are told by how far they are above each other a
 * thread goes through each segment before, and each lane through its own. */
#include <type_traits>

#include "rows.cuh"
#include "scan.cuh"
#include "tiled.cuh"
#include "values.cuh"

namespace {

constexpr const char *WHAT = "TILED";
constexpr int WAYS = 4, LANES = SPX_TILED_LANES, LENGTH_BITS = 8; /* PIECE - length is below 2^8 */
static_assert(LANES == 32 && SPX_TILED_PIECE < 1 << LENGTH_BITS, "a lane a segment, its length in a key");

template <class K> __global__ void write_segment_keys(spx_segment_places from, spx_tile_order e, K *key)
{
    const int64_t i = spx_element();
    if (i < from.count)
        key[i] = static_cast<K>(e.tile(from.first[i])) << LENGTH_BITS |
                 static_cast<K>(SPX_TILED_PIECE - from.extent(i));
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

/* As wide as its widest segment, which comes first, in whole groups. */
__global__ void size_slices(int64_t slices, dealt d, spx_segment_places from, int64_t *places)
{
    const int64_t s = spx_element();
    if (s >= slices) return;
    places[s] = from.wide(d.segment[d.first_of(s, d.tile_of(s))]) * SPX_TILED_GROUP * LANES;
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

/* The next group of a segment, of its entries k ... length - 1: which these are, and their columns. */
struct next_group {
    int64_t entry[SPX_TILED_GROUP];
    int32_t col[SPX_TILED_GROUP];
    int count = 0;

    __device__ __forceinline__ void find(const spx_tile_order &e, int64_t first, int k, int length)
    {
        bool follows = true;
        count = 0;
#pragma unroll
        for (int i = 0; i < SPX_TILED_GROUP; i++) {
            follows = follows && k + i < length;
            entry[i] = follows ? e.entry(first + k + i) : 0;
            col[i] = follows ? e.col[entry[i]] : 0;
            if (i > 0) follows = follows && spx_tiled_follows(col[i - 1], col[i]);
            count += follows;
        }
    }
};

/* How many groups each segment makes, and all of them, and how many they would be if all were full. */
struct group_sums {
    unsigned long long full, made;
};
__global__ void count_groups(spx_segment_places from, spx_tile_order e, uint8_t *groups, group_sums *all)
{
    const int64_t i = spx_element();
    int64_t full = 0, made = 0;
    if (i < from.count) {
        const int length = from.length(i);
        const int64_t first = from.first[i];
        for (int k = 0; k < length; made++) {
            next_group next;
            next.find(e, first, k, length);
            k += next.count;
        }
        full = (length + SPX_TILED_GROUP - 1) / SPX_TILED_GROUP;
        groups[i] = static_cast<uint8_t>(made);
    }
    full = spx_sum_lanes_to_all<LANES>(full);
    made = spx_sum_lanes_to_all<LANES>(made);
    if (spx_lane() || !full) return;
    atomicAdd(&all->full, static_cast<unsigned long long>(full));
    atomicAdd(&all->made, static_cast<unsigned long long>(made));
}

/* What a lane of a slice has. */
struct lane_of_slice {
    int64_t first = 0; /* entry */
    int segment = -1, length = 0;

    __device__ __forceinline__ lane_of_slice(int64_t slice, const dealt &d, const spx_segment_places &from,
                                             int64_t tile)
    {
        const int64_t at = d.first_of(slice, tile) + spx_lane();
        if (at >= d.tile_begin[tile + 1]) return;
        segment = d.segment[at];
        length = from.length(segment);
        first = from.first[segment];
    }
    template <class O>
    __device__ __forceinline__ void put(int64_t slice, const spx_segment_places &from, const O &out) const
    {
        out.row[slice * LANES + spx_lane()] = segment >= 0 ? from.row[segment] : -1;
        if (segment >= 0) out.list[segment] = static_cast<int>(slice * LANES + spx_lane());
    }
};

/* A warp a slice, a lane a segment. */
template <int VALUES, class Q, class E>
__global__ void fill_groups(int64_t slices, dealt d, spx_segment_places from, spx_tile_order e,
                            spx_coded_values<E> val, slices_out<Q, uint32_t> out)
{
    constexpr int GROUP = SPX_TILED_GROUP;
    const int64_t s = spx_element() / LANES;
    if (s >= slices) return;
    const int lane = spx_lane();
    const int64_t tile = d.tile_of(s);
    const lane_of_slice own(s, d, from, tile);
    own.put(s, from, out);
    int k = 0;
    const int64_t end = static_cast<int64_t>(out.ptr[s + 1]);
    for (int64_t at = static_cast<int64_t>(out.ptr[s]); at < end; at += LANES * GROUP) {
        next_group next;
        next.find(e, own.first, k, own.length);
        k += next.count;
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            next.col[i] -= static_cast<int>(tile * e.width);
            val.template put<VALUES>(at + lane * GROUP + i, next.entry[i], i < next.count);
        }
        uint32_t word[3];
        spx_tiled_pack(next.col, next.count, word);
        const int64_t group = at / (LANES * GROUP);
        *reinterpret_cast<uint2 *>(out.col + spx_tiled_pair(group, lane)) = make_uint2(word[0], word[1]);
        out.col[spx_tiled_third(group, lane)] = word[2];
    }
}

/* A warp a slice: GROUP lanes read as many neighbouring entries of a segment, and all write side by side. */
template <int VALUES, class Q, class E, class C>
__global__ void fill(int64_t slices, dealt d, spx_segment_places from, spx_tile_order e,
                     spx_coded_values<E> val, slices_out<Q, C> out)
{
    constexpr int GROUP = SPX_TILED_GROUP, SEGMENTS = LANES / GROUP;
    constexpr bool CODES = sizeof(C) == 4;
    constexpr C NONE = static_cast<C>(CODES ? int64_t(SPX_TILED_NONE) : int64_t(SPX_TILED_PADDING));
    const int64_t s = spx_element() / LANES;
    if (s >= slices) return;
    const int lane = spx_lane(), in_group = lane % GROUP;
    const int64_t tile = d.tile_of(s);
    const lane_of_slice own(s, d, from, tile);
    const int64_t base = static_cast<int64_t>(out.ptr[s]);
    const int width = static_cast<int>((static_cast<int64_t>(out.ptr[s + 1]) - base) / LANES);
    own.put(s, from, out);
    for (int k0 = 0; k0 < width; k0 += GROUP) {
#pragma unroll
        for (int i = 0; i < LANES; i += SEGMENTS) {
            const int of = i + lane / GROUP, k = k0 + in_group;
            const int64_t begin = __shfl_sync(SPX_ALL_LANES, own.first, of),
                          to = base + (k0 * LANES + i * GROUP + lane);
            const bool in = k < __shfl_sync(SPX_ALL_LANES, own.length, of);
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
    spx_tile_order entries;
    int64_t tiles, slices;
    spx_cut_segments segments;
    spx_temporary dealt; /* segments in the order of lanes */
    spx_temporary tile_begin, code, numbers;
    spx_value_code values;

    ~builder()
    {
        spx_value_code_drop(ctx, &values);
    }

    spx_segment_places all() const
    {
        return segments.view(csr->nnz);
    }
};

/* How columns are told: as asked for, or in fewer bytes. And each segment's groups, where that is by how far
 * columns are above each other. */
spmvx_status choose_columns(builder *b)
{
    const spmvx_context *const ctx = b->ctx;
    spx_layout *const layout = &b->a->layout;
    if (layout->hot || layout->columns == SPX_COLUMNS_U16) return SPMVX_OK;
    const int64_t segments = b->segments.count;
    spx_temporary counted, groups;
    group_sums sums = {};
    SPX_TRY(counted.make(ctx, 1, sizeof sums, "segments"));
    SPX_TRY(groups.make(ctx, segments, sizeof(uint8_t), "segments"));
    SPX_TRY(spx_cuda_clear(ctx, counted.as<group_sums>(), sizeof sums, WHAT));
    SPX_TRY(spx_launch_over(ctx, WHAT, segments, count_groups, b->all(), b->entries, groups.as<uint8_t>(),
                            counted.as<group_sums>()));
    SPX_TRY(ctx->backend->download(ctx, &sums, counted.as<group_sums>(), sizeof sums));
    const bool delta = spx_tiled_by_delta(static_cast<double>(sums.full), static_cast<double>(sums.made));
    if (!layout->columns) layout->columns = delta ? SPX_COLUMNS_DELTA : SPX_COLUMNS_U16;
    if (layout->columns == SPX_COLUMNS_DELTA) b->segments.groups.swap(&groups);
    return SPMVX_OK;
}

/* The segments by tile and falling extent, and each tile's first. */
template <class K> spmvx_status order_segments(builder *b)
{
    const spmvx_context *const ctx = b->ctx;
    spx_temporary key[2], position[2];
    int in = 0;
    for (int i = 0; i < 2; i++) {
        SPX_TRY(key[i].make(ctx, b->segments.count, sizeof(K), "segments"));
        SPX_TRY(position[i].make(ctx, b->segments.count, sizeof(int), "segments"));
    }
    K *const keys[] = { key[0].as<K>(), key[1].as<K>() };
    int *const positions[] = { position[0].as<int>(), position[1].as<int>() };
    SPX_TRY(
        spx_launch_over(ctx, WHAT, b->segments.count, write_segment_keys<K>, b->all(), b->entries, keys[0]));
    SPX_TRY(
        spx_order(ctx, WHAT, b->segments.count, LENGTH_BITS + spx_bits_for(b->tiles), keys, positions, &in));
    SPX_TRY(b->tile_begin.make(ctx, b->tiles + 1, sizeof(int64_t), "segments of the tiles"));
    SPX_TRY(spx_launch_over(ctx, WHAT, b->tiles + 1, begin_tiles<K>, b->tiles, b->segments.count,
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
            const auto all = [&](auto filled) {
                return spx_launch_over(ctx, WHAT, LANES * b->slices, filled, b->slices, d, b->all(),
                                       b->entries, val, out);
            };
            if constexpr (std::is_same_v<C, uint32_t>) return all(fill_groups<code.value, Q, E>);
            else return all(fill<code.value, Q, E, C>);
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
                 of_pair = spx_tiled_pair_bytes(&a->layout);
    const dealt d = { b->dealt.as<const int>(), b->tile_begin.as<const int64_t>(), a.as<const int>(SPX_TILE),
                      b->tiles };
    spx_temporary places;
    SPX_TRY(places.make(ctx, b->slices + 1, sizeof(int64_t), "ptr"));
    SPX_TRY(spx_launch_over(ctx, WHAT, b->slices, size_slices, b->slices, d, b->all(), places.as<int64_t>()));
    SPX_TRY(spx_sum_up(ctx, WHAT, b->slices, places.as<int64_t>(), &a->stored));
    a->ptr_type = spx_count_type(a->stored);
    size_t bytes = spx_plus(spx_bytes(a->stored / 2, of_pair + 2 * each),
                            spx_bytes(b->slices, 4 * LANES + spx_type_bytes(a->ptr_type)));
    bytes = spx_plus(bytes, spx_plus(spx_bytes(a->nrows + 2, 8), spx_bytes(b->segments.count, 4)));
    bytes = spx_plus(bytes, spx_bytes(a->layout.hot, 4));
    if (a->slot[SPX_ORDER]) bytes = spx_plus(bytes, spx_bytes(a->nnz, 8));
    SPX_TRY(spx_build_check(ctx, WHAT, bytes, b->csr, how));
    SPX_TRY(a.make(ctx, SPX_PTR, b->slices + 1, spx_type_bytes(a->ptr_type), "ptr"));
    SPX_TRY(a.make(ctx, SPX_ROW, b->slices * LANES, sizeof(int), "row"));
    SPX_TRY(a.make(ctx, SPX_COL, a->stored / 2, of_pair, "col"));
    SPX_TRY(a.make(ctx, SPX_VAL, a->stored, each, "val"));
    SPX_TRY(spx_cuda_put_table(ctx, b->values, a));
    SPX_TRY(a.make(ctx, SPX_LIST, b->segments.count, sizeof(int), "lanes of the rows"));
    SPX_TRY(spx_by_pointer(a->ptr_type, [&](auto q) {
        using Q = decltype(q);
        const int64_t *const at = places.as<const int64_t>();
        if (b->entries.code) return fill_slices<Q, int32_t>(b, d, at);
        return b->a->layout.columns == SPX_COLUMNS_DELTA ? fill_slices<Q, uint32_t>(b, d, at)
                                                         : fill_slices<Q, uint16_t>(b, d, at);
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
    SPX_TRY(spx_cuda_cut_segments(ctx, csr, b.tiles, a, &b.entries, &b.segments));
    SPX_TRY(choose_columns(&b));
    SPX_TRY(deal(&b));
    SPX_TRY(fill_all(&b, how));
    *out = a.give();
    return SPMVX_OK;
}
