/* y = alpha*A*x + beta*y for CSR5 on a GPU: a warp a tile of 32 lanes by sigma entries. A lane adds up its
 * entries, and a flag ends one row's segment and begins the next; segments that begin and end within the
 * lane are added to y there, and what a lane has above its first flag goes to the segment that is open in
 * the lanes before it, by a segmented sum over the lanes. What tiles have of rows that are cut between them
 * is stored, and a second launch adds that up in the tiles' order. What fills no tile is taken 32 entries a
 * warp, by the row pointers, and ended the same way. Where there are empty rows, which no tile has, y is
 * scaled first, and all is added to it. The flags of a lane are 32 bits of the format's descriptor or, by
 * flags=u8, as many bytes as sigma needs, in a copy of the descriptors that is made for the kernel: 3 to 6
 * bytes a lane in place of 8. Sums of short rows go by shared memory, so that lanes write them to y side by
 * side.
 * Differs from the sources: a tile's first sum goes to an array that a second launch adds up row by row,
 * where the authors' second kernel adds atomically at its blocks' ends; the segmented sum is a prefix sum
 * less another there, which cancels; a lane's descriptor takes 8 bytes, there as few words as sigma needs,
 * and a tile within one row has no way of its own; seg_offset is stored, and not used. The FrogByte report
 * has a flag an entry, of 32 or 8 bits, where flags here are bits, in words of 32 or 8.
 * Source: Liu & Vinter, CSR5: an efficient storage format for cross-platform SpMV, ICS 2015, algorithms 5 to
 * 7; FrogByte report. */
#include "csr5_tiles.cuh"
#include "ptx.cuh"
#include "scan.cuh"

namespace {

constexpr const char *NAME = "csr5";
constexpr int OMEGA = SPX_CSR5_WARP, WAYS = 4;
constexpr const char *const FLAGS[] = { "u32", "u8", nullptr };
enum {
    THREADS_PARAM,
    FLAGS_PARAM,
    EMPTY_ROWS
}; /* the last is none of the name's, but found: are there any? */

/* Sums that a warp keeps in shared memory until the end of its tile, to write neighbouring rows side by side;
 * where rows are long, L1 has more use for that memory. */
constexpr int STAGED = 256;

/* A whole tile. */
template <spx_policy STREAMED, class V, class P>
__device__ void multiply_tile(const spx_csr5_tiles<V, P> &t, int tile, const spx_vectors<V> &vectors,
                              const spx_csr5_sums<V> &sums)
{
    constexpr int AT_ONCE = 4;
    const int lane = spx_lane();
    V *const staged = spx_dynamic_shared<V>() + threadIdx.x / 32 * STAGED;
    const bool gaps = spx_load_cached(t.first_row + tile) & SPX_CSR5_EMPTY;
    const int *rows = gaps ? t.list + spx_load_cached(t.list_ptr + tile) : nullptr;
    const spx_csr5_desc desc = t.descriptor(tile, lane);
    const int64_t base = t.begin(tile) + lane;
    V top = 0, sum = 0;
    int segment = desc.y_offset - 1; /* which is open */
    const int segments = __shfl_sync(SPX_ALL_LANES, desc.y_offset + __popc(desc.bit_flag), 31);
    const auto end_row = [&](int s, V total) { sums.end(sums.first_row + (rows ? rows[s] : s), total); };
    const auto end_segment = [&](V total) {
        if (segments <= t.staged) staged[segment] = total;
        else end_row(segment, total);
    };
    for (int j = 0; j < t.sigma; j += AT_ONCE) {
        V val[AT_ONCE], from_x[AT_ONCE];
        int col[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int64_t at = base + (j + i) * OMEGA;
            col[i] = spx_load_if<STREAMED>(j + i < t.sigma, t.A.col + at, -1);
            val[i] = spx_load_if<STREAMED>(j + i < t.sigma, t.A.val + at, V(0));
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) from_x[i] = spx_load_at(vectors.x, col[i], V(0));
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            if (j + i < t.sigma && desc.bit_flag >> (j + i) & 1u) {
                if (segment < desc.y_offset) top = sum;
                else end_segment(sum);
                segment++;
                sum = 0;
            }
            sum += val[i] * from_x[i];
        }
    }
    if (!desc.bit_flag) top = sum;
    /* the tops of the lanes behind this one, as far as none of them has a flag, and of the next that has */
    const V above = __shfl_down_sync(SPX_ALL_LANES, top, 1u);
    const V tops = spx_sum_segments(lane == 31 ? V(0) : above, spx_segments(desc.bit_flag != 0));
    if (desc.bit_flag) end_segment(sum + tops);
    if (segments > t.staged) return;
    __syncwarp();
    for (int s = lane; s < segments; s += OMEGA) end_row(s, staged[s]);
}

/* 32 entries that fill no tile. */
template <class V, class P>
__device__ void multiply_rest(const spx_csr5_tiles<V, P> &t, int part, const spx_vectors<V> &vectors,
                              const spx_csr5_sums<V> &sums)
{
    const int64_t k = t.begin(part) + spx_lane();
    const bool in = k < t.A.nnz;
    int row = SPX_NO_ROW;
    V product = 0;
    if (in) {
        row = spx_rows_ended<WAYS>(t.A.ptr, t.A.nrows, k);
        product = t.A.val[k] * spx_load_cached(vectors.x + t.A.col[k]);
    }
    const int before = __shfl_up_sync(SPX_ALL_LANES, row, 1u);
    const bool head = spx_lane() == 0 || row != before;
    const V total = spx_sum_segments(product, spx_segments(head));
    if (head && in) sums.end(row, total);
}

template <class V, class P, bool STAYS>
__global__ void csr5(spx_csr5_tiles<V, P> t, spx_vectors<V> vectors, spx_carries<V> carries, unsigned staying)
{
    const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    spx_let_next_begin();
    if (warp >= t.parts) return;
    const int part = static_cast<int>(warp);
    const spx_csr5_sums<V> sums(t, part, vectors, carries);
    if (part < t.count)
        spx_by_part<STAYS, SPX_PAST>(spx_part_stays(blockIdx.x, staying), [&](auto policy) {
            multiply_tile<policy.value>(t, part, vectors, sums);
        });
    else multiply_rest(t, part, vectors, sums);
}

template <class P> __global__ void find_empty_row(int nrows, const P *ptr, int *found)
{
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < static_cast<unsigned>(nrows) && ptr[row] == ptr[row + 1]) *found = 1;
}

/* A thread a lane. */
__global__ void pack(int64_t lanes, int sigma, const spx_csr5_desc *desc, uint8_t *packed)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= lanes) return;
    uint8_t *own = packed + i / OMEGA * spx_csr5_packed_size(sigma);
    reinterpret_cast<uint16_t *>(own)[i % OMEGA] = desc[i].y_offset;
    own += OMEGA * sizeof(uint16_t) + i % OMEGA;
    for (int j = 0; 8 * j < sigma; j++) own[j * OMEGA] = static_cast<uint8_t>(desc[i].bit_flag >> 8 * j);
}

/* ---- the host's side ---- */

spmvx_status pack_descriptors(const spmvx_context *ctx, const spx_sparse *a, spx_array **out)
{
    constexpr unsigned THREADS = 256;
    const int sigma = static_cast<int>(a->layout.lane_entries);
    const int64_t tiles = a->nnz / (OMEGA * sigma), lanes = tiles * OMEGA;
    spx_array *packed;
    SPX_TRY(ctx->backend->array_new(ctx, spx_bytes(tiles, static_cast<size_t>(spx_csr5_packed_size(sigma))),
                                    "flags of the lanes", &packed));
    spmvx_status s = spx_cuda_load(ctx, NAME, pack, 0);
    if (s == SPMVX_OK && lanes)
        s = spx_cuda_launch(ctx, NAME, pack, spx_ceil_div(lanes, THREADS), THREADS, 0, lanes, sigma,
                            static_cast<const spx_csr5_desc *>(spx_data(a, SPX_DESC)),
                            static_cast<uint8_t *>(packed->data));
    if (s == SPMVX_OK) s = ctx->backend->synchronize(ctx);
    if (s == SPMVX_OK) *out = packed;
    else spx_array_drop(packed);
    return s;
}

spmvx_status has_empty_rows(const spmvx_context *ctx, const spx_sparse *a, int64_t *answer)
{
    constexpr unsigned THREADS = 256;
    spx_array *flag;
    int found = 0;
    *answer = 0;
    if (!a->nrows) return SPMVX_OK;
    spmvx_status s = ctx->backend->array_new(ctx, sizeof(int), NAME, &flag);
    if (s != SPMVX_OK) return s;
    s = ctx->backend->clear(ctx, flag->data, sizeof(int));
    if (s == SPMVX_OK)
        s = spx_by_type(a, [=](auto, auto pointer) {
            using P = decltype(pointer);
            const spmvx_status loaded = spx_cuda_load(ctx, NAME, find_empty_row<P>, 0);
            if (loaded != SPMVX_OK) return loaded;
            return spx_cuda_launch(ctx, NAME, find_empty_row<P>, spx_ceil_div(a->nrows, THREADS), THREADS, 0,
                                   static_cast<int>(a->nrows), static_cast<const P *>(spx_data(a, SPX_PTR)),
                                   static_cast<int *>(flag->data));
        });
    if (s == SPMVX_OK) s = ctx->backend->download(ctx, &found, flag->data, sizeof found);
    spx_array_drop(flag);
    *answer = found;
    return s;
}

int64_t parts_of(const spx_sparse *a, int64_t *whole)
{
    const int64_t size = OMEGA * a->layout.lane_entries;
    *whole = a->nnz / size;
    return *whole + spx_ceil_div(a->nnz - *whole * size, 32);
}

int staged_by(const spx_sparse *a)
{
    constexpr int64_t SHORT = 16;
    return a->nnz < SHORT * a->nrows ? STAGED : 0;
}

template <class V, class P> spx_csr5_tiles<V, P> tiles_of(const spx_sparse *a, const spx_array *packed)
{
    int64_t whole;
    const int64_t parts = parts_of(a, &whole);
    spx_csr5_tiles<V, P> t;
    t.A = spx_csr_of<V, P>(a);
    t.sigma = static_cast<int>(a->layout.lane_entries);
    t.count = static_cast<int>(whole);
    t.parts = static_cast<int>(parts);
    t.staged = staged_by(a);
    t.first_row = static_cast<const unsigned *>(spx_data(a, SPX_TILE));
    t.desc = static_cast<const spx_csr5_desc *>(spx_data(a, SPX_DESC));
    t.packed = packed ? static_cast<const uint8_t *>(packed->data) : nullptr;
    t.list_ptr = static_cast<const int64_t *>(spx_data(a, SPX_LIST_PTR));
    t.list = static_cast<const int *>(spx_data(a, SPX_LIST));
    return t;
}

template <class V> size_t shared_bytes(const spx_sparse *a, int64_t threads)
{
    return static_cast<size_t>(threads) / 32 * static_cast<size_t>(staged_by(a)) * sizeof(V);
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t whole;
    p->chunks = parts_of(a, &whole);
    if (p->chunks >= INT32_MAX - SPX_SETTLE_THREADS)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%lld tiles; %s takes 2^31 on CUDA",
                        static_cast<long long>(p->chunks), NAME);
    p->work_bytes = static_cast<size_t>(p->chunks) * 2 * spx_type_bytes(a->val_type);
    SPX_TRY(has_empty_rows(ctx, a, &p->param[EMPTY_ROWS]));
    if (p->param[FLAGS_PARAM]) SPX_TRY(pack_descriptors(ctx, a, &p->bounds));
    return spx_by_type(a, [=](auto v, auto pointer) {
        using V = decltype(v);
        using P = decltype(pointer);
        SPX_TRY(spx_by_residence(ctx, a, [=](auto stays) {
            return spx_cuda_load(ctx, NAME, csr5<V, P, stays.value>,
                                 shared_bytes<V>(a, p->param[THREADS_PARAM]));
        }));
        return spx_cuda_load(ctx, NAME, spx_settle<V, spx_csr5_cut_rows<V, P>>, 0);
    });
}

template <class V, class P> spmvx_status launch(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM], parts = m->part->chunks;
    if (!parts) return SPMVX_OK;
    const spx_csr5_tiles<V, P> t = tiles_of<V, P>(m->A, m->part->bounds);
    spx_carries<V> carries = {};
    carries.begun = static_cast<V *>(m->work);
    carries.came = carries.begun + parts;
    spx_vectors<V> vectors = spx_vectors_of<V>(m);
    if (m->part->param[EMPTY_ROWS]) vectors.beta = 1; /* y has been scaled */
    SPX_TRY(spx_by_residence(m->ctx, m->A, [=](auto stays) {
        return spx_cuda_launch(m->ctx, NAME, csr5<V, P, stays.value>, spx_ceil_div(parts, threads / 32),
                               static_cast<unsigned>(threads), shared_bytes<V>(m->A, threads), t, vectors,
                               carries, spx_cuda_staying(m->ctx, m->A));
    }));
    if (parts < 2) return SPMVX_OK;
    return spx_cuda_launch_early(m->ctx, NAME, spx_settle<V, spx_csr5_cut_rows<V, P>>,
                                 spx_ceil_div(parts - 1, SPX_SETTLE_THREADS), SPX_SETTLE_THREADS, 0,
                                 static_cast<int>(parts), spx_csr5_cut_rows<V, P>{ t }, carries, vectors);
}

spmvx_status run(const spx_mul *m)
{
    const spmvx_status s = m->part->param[EMPTY_ROWS] ? spx_cuda_scale_y(m) : SPMVX_OK;
    if (s != SPMVX_OK) return s;
    return spx_by_type(m->A, [=](auto v, auto p) { return launch<decltype(v), decltype(p)>(m); });
}

double cost(const spx_features *f, const spx_look *)
{
    const double value = static_cast<double>(f->value_bytes),
                 bytes = static_cast<double>(f->nnz) * (4.6 + value) +
                         2.0 * value * static_cast<double>(f->nrows);
    return 1.6 * f->machine->launch_ns + spx_cuda_cost(f, bytes, 0.75, 0.0);
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 128, .kind = SPX_POWER_OF_TWO },
    { .key = "flags", .preset = 0, .kind = SPX_WORD, .words = FLAGS },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr5 = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR5,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "tiles of 32 lanes by sigma entries, segmented sum",
    .source = "Liu & Vinter 2015; FrogByte report",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
