/* y = alpha*A*x + beta*y for CSR on a GPU, a warp a group of neighbouring short rows or a piece of a longer
 * one (row_groups.cuh). A warp loads all entries of its group at once, whatever their rows, and adds up the
 * products row by row from shared memory; of pieces each lane adds up its own. A row's pieces are one block's
 * warps, which add up theirs in shared memory, or those of a cluster of blocks, which send theirs to the
 * first one's. So there is one launch, no workspace, and a chain of three loads: what a group is, its
 * entries, x. Differs from the sources: warps and not blocks take groups, and the pieces of very long rows
 * are added up in fixed order, by clusters, not by atomics.
 * Source: Greathouse & Daga, SC 2014; Daga & Greathouse, HiPC 2015. */
#include "early.cuh"
#include "one_value.cuh"
#include "reduce.cuh"
#include "row_groups.cuh"

namespace {

constexpr const char *NAME = "csr-adaptive";
constexpr int THREADS = 32 * SPX_GROUP_WARPS;
constexpr int64_t LONGEST = 1 << 15; /* entries of a row, from which on a lane has more a step */
enum { ITEMS_PARAM, CLUSTER_PARAM }; /* by their places in params */

/* Entries of a group, or of a step of a piece: ITEMS a lane. */
template <class V, int ITEMS, bool ONE> struct entries {
    spx_value_of<V, ONE> one;
    int col[ITEMS];
    V val[ITEMS];

    /* Those of `count` at k and behind. */
    template <spx_policy POLICY>
    __device__ __forceinline__ void load_columns(const int *cols, int k, int count)
    {
#pragma unroll
        for (int i = 0; i < ITEMS; i++)
            col[i] = spx_load_if<POLICY>(k + 32 * i < count, cols + k + 32 * i, -1);
    }
    template <spx_policy POLICY> __device__ __forceinline__ void load_values(const V *vals, int k, int count)
    {
#pragma unroll
        for (int i = 0; i < ITEMS; i++)
            val[i] = one.template load<POLICY, SPX_LATE>(k + 32 * i < count, vals + k + 32 * i);
    }
};

/* What a block has in shared memory. */
template <class V, int ITEMS> struct shared {
    V product[SPX_GROUP_WARPS][32 * ITEMS];
    V piece[SPX_GROUP_WARPS];      /* a warp's sum of its piece */
    V of_block[SPX_GROUP_CLUSTER]; /* in a cluster's first block: the blocks' sums */
};

/* The sums of a group's rows, each by as many lanes as the warp has for it; one that is long by all. */
template <class V, int ITEMS>
__device__ __forceinline__ void add_rows(const spx_vectors<V> &vectors, const spx_row_group &g, int rows,
                                         const V *product, int shift, int from, int to)
{
    constexpr int AT_ONCE = 4, LONG = 16; /* entries of a lane */
    const int lanes = 1 << shift, lane = spx_lane() & (lanes - 1), row = spx_lane() >> shift;
    const bool is_long = to - from > LONG * lanes;
    V sum = 0;
    for (int k = from + lane; !is_long && k < to; k += AT_ONCE * lanes) {
        V v[AT_ONCE];
#pragma unroll
        for (int e = 0; e < AT_ONCE; e++) v[e] = k + e * lanes < to ? product[k + e * lanes] : V(0);
        sum += (v[0] + v[1]) + (v[2] + v[3]);
    }
    sum = spx_sum_lanes_of(lanes, sum);
    for (unsigned left = __ballot_sync(SPX_ALL_LANES, is_long && lane == 0); left; left &= left - 1) {
        const int whose = __ffs(static_cast<int>(left)) - 1, its_to = __shfl_sync(SPX_ALL_LANES, to, whose);
        V its = 0;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            const int k = __shfl_sync(SPX_ALL_LANES, from, whose) + spx_lane() + 32 * i;
            its += k < its_to ? product[k] : V(0);
        }
        its = spx_sum_lanes_to_all<32>(its);
        if (spx_lane() == whose) sum = its;
    }
    if (lane == 0 && row < rows) vectors.put(g.row + row, sum);
}

/* The sum of a piece whose first columns are loaded, in all lanes. */
template <spx_policy POLICY, class V, int ITEMS, bool ONE>
__device__ __forceinline__ V add_piece(const spx_early_vectors<V> &vectors, const int *col, const V *val,
                                       int count, entries<V, ITEMS, ONE> &e)
{
    constexpr int STEP = 32 * ITEMS;
    V sum = 0;
    e.template load_values<POLICY>(val, spx_lane(), count);
    for (int k = spx_lane();;) {
        V from_x[ITEMS], val_now[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            from_x[i] = spx_load_at(vectors.x, e.col[i], V(0));
            val_now[i] = e.val[i];
        }
        const bool more = k - spx_lane() + STEP < count;
        k += STEP;
        if (more) {
            e.template load_columns<POLICY>(col, k, count);
            e.template load_values<POLICY>(val, k, count);
        }
#pragma unroll
        for (int i = 0; i < ITEMS; i++) sum += val_now[i] * from_x[i];
        if (!more) break;
    }
    return spx_sum_lanes_to_all<32>(sum);
}

/* Adds up what the warps of a row have: of a block's, or of a cluster's. All warps of a block come, and none
 * has a group. */
template <class V, int ITEMS>
__device__ __forceinline__ void add_pieces(const spx_vectors<V> &vectors, int row, int pieces, V sum,
                                           shared<V, ITEMS> *s)
{
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (spx_lane() == 0) s->piece[warp] = sum;
    __syncthreads();
    if (pieces <= SPX_GROUP_WARPS) {
        if (spx_lane() > 0 || warp % pieces > 0 || row < 0) return;
        for (int i = 1; i < pieces; i++) sum += s->piece[warp + i];
        vectors.put(row, sum);
        return;
    }
    if (warp > 0) return;
    for (int i = 1; i < SPX_GROUP_WARPS; i++) sum += s->piece[i];
    spx_wait_for_cluster(); /* all of its blocks have begun */
    if (spx_lane() == 0) spx_put_in_cluster(s->of_block + spx_cluster_rank(), 0, sum);
    spx_come_to_cluster();
    if (spx_cluster_rank() > 0) return;
    spx_wait_for_cluster();
    if (spx_lane() > 0) return;
    sum = s->of_block[0];
    for (int i = 1; i < pieces / SPX_GROUP_WARPS; i++) sum += s->of_block[i];
    vectors.put(row, sum);
}

template <spx_policy POLICY, class V, class P, int ITEMS, bool ONE>
__device__ __forceinline__ void multiply_groups(const spx_csr<V, P> &A, const spx_row_group *groups,
                                                const spx_early_vectors<V> &vectors)
{
    shared<V, ITEMS> *const s = spx_dynamic_shared<shared<V, ITEMS>>();
    const unsigned warp = threadIdx.x / 32;
    const spx_row_group g = groups[static_cast<int64_t>(blockIdx.x) * SPX_GROUP_WARPS + warp];
    const int *const col = A.col + g.entry();
    const V *const val = A.val + g.entry();
    const int rows = g.rows();
    entries<V, ITEMS, ONE> e = { spx_value_of<V, ONE>(A.val) };
    e.template load_columns<POLICY>(col, spx_lane(), g.entries);
    if (rows >= 0) {
        V *const product = s->product[warp];
        const int spare = __clz(rows - 1) - __clz(SPX_GROUP_ROWS - 1), shift = spare > 0 ? min(spare, 5) : 0,
                  row = spx_lane() >> shift;
        const P *const ptr = A.ptr + g.row + row;
        const P from = spx_load_if<SPX_KEPT>(row < rows, ptr, P(0)),
                to = spx_load_if<SPX_KEPT>(row < rows, ptr + 1, P(0));
        const int64_t first = row < rows ? g.entry() : 0;
        V from_x[ITEMS];
        vectors.wait();
        e.template load_values<POLICY>(val, spx_lane(), g.entries);
#pragma unroll
        for (int i = 0; i < ITEMS; i++) from_x[i] = spx_load_at(vectors.x, e.col[i], V(0));
#pragma unroll
        for (int i = 0; i < ITEMS; i++) product[spx_lane() + 32 * i] = e.val[i] * from_x[i];
        __syncwarp();
        add_rows<V, ITEMS>(vectors, g, rows, product, shift, static_cast<int>(from - first),
                           static_cast<int>(to - first));
        return;
    }
    if (-rows > SPX_GROUP_WARPS) spx_begin_in_cluster();
    vectors.wait();
    add_pieces<V, ITEMS>(vectors, g.row, -rows, add_piece<POLICY>(vectors, col, val, g.entries, e), s);
}

/* By plain loads where all STAYS in L2, else by those of the block's part. */
template <class V, class P, int ITEMS, bool ONE, bool STAYS>
__global__ void __launch_bounds__(THREADS)
    csr_adaptive(spx_csr<V, P> A, const spx_row_group *groups, spx_early_vectors<V> vectors, unsigned staying)
{
    spx_by_part<STAYS, SPX_PAST>(spx_part_stays(blockIdx.x, staying), [&](auto policy) {
        multiply_groups<policy.value, V, P, ITEMS, ONE>(A, groups, vectors);
    });
}

/* ---- the host's side ---- */

/* Calls f with the instance for this matrix, and the shared memory of a block. */
template <class F>
spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_pick<2, 4, 8>(p->param[ITEMS_PARAM], [&](auto items) {
            using V = decltype(value);
            constexpr int ITEMS = items.value;
            return spx_by_one_value(a, [&](auto one) {
                return spx_by_residence(ctx, a, [&](auto stays) {
                    return f(csr_adaptive<V, decltype(pointer), ITEMS, one.value, stays.value>,
                             sizeof(shared<V, ITEMS>));
                });
            });
        });
    });
}

template <class V, class P>
spmvx_status launch(const spx_mul *m,
                    void (*kernel)(spx_csr<V, P>, const spx_row_group *, spx_early_vectors<V>, unsigned),
                    size_t shared_bytes)
{
    const spx_launch_kind kind = { .early = true,
                                   .cluster = static_cast<unsigned>(m->part->param[CLUSTER_PARAM]) };
    return spx_cuda_launch_as(kind, m->ctx, NAME, kernel, m->part->chunks, THREADS, shared_bytes,
                              spx_csr_of<V, P>(m->A),
                              static_cast<const spx_row_group *>(m->part->bounds->data),
                              spx_early_vectors_of<V>(m), spx_cuda_staying(m->ctx, m->A));
}

/* What finds groups works with: a count for each class and part of the rows, and what it tells the host. */
struct finding {
    spx_temporary memory;
    int64_t parts, counts, *count;
    spx_class_starts *starts;

    spmvx_status make(const spmvx_context *ctx, int64_t nrows)
    {
        parts = spx_ceil_div(nrows, SPX_GROUP_PART);
        counts = SPX_GROUP_CLASSES * parts;
        const int64_t words = counts + 1 + static_cast<int64_t>(sizeof *starts / sizeof *count);
        SPX_TRY(memory.make(ctx, words, sizeof *count, FINDING));
        count = memory.as<int64_t>();
        starts = reinterpret_cast<spx_class_starts *>(count + counts + 1);
        return SPMVX_OK;
    }
    static constexpr const char *FINDING = "the groups of csr-adaptive";
    static constexpr int THREADS_OF_BLOCK = 32 * SPX_GROUP_FINDERS;
    int64_t blocks() const
    {
        return spx_ceil_div(parts, SPX_GROUP_FINDERS);
    }
};

/* Counts the groups, and tells where each class of them begins. */
template <class P>
spmvx_status count_groups(const spmvx_context *ctx, const spx_sparse *a, spx_grouping how, const finding &f,
                          spx_class_starts *starts)
{
    static const char *const what = finding::FINDING;
    SPX_TRY(spx_cuda_load(ctx, what, spx_count_groups<P>, 0));
    SPX_TRY(spx_cuda_load(ctx, what, spx_start_classes, 0));
    SPX_TRY(spx_cuda_clear(ctx, f.count + f.counts, sizeof *f.count + sizeof *f.starts, what));
    SPX_TRY(spx_cuda_launch(ctx, what, spx_count_groups<P>, f.blocks(), finding::THREADS_OF_BLOCK, 0,
                            static_cast<const P *>(spx_data(a, SPX_PTR)), static_cast<int>(a->nrows), f.parts,
                            how, f.count, &f.starts->longest));
    SPX_TRY(spx_with_cub(ctx, what, [&f](void *temp, size_t &bytes, cudaStream_t stream) {
        return spx_cub_sums_before(temp, bytes, f.counts + 1, static_cast<const int64_t *>(f.count), f.count,
                                   stream);
    }));
    SPX_TRY(spx_cuda_launch(ctx, what, spx_start_classes, 1, 1, 0, f.count, f.parts, f.starts));
    return ctx->backend->download(ctx, starts, f.starts, sizeof *starts);
}

/* Entries a lane: few, so that all warps are on the device at once, while rows leave little of a group empty
 * (in f64: in f32 four take no more registers than two); many, where they take turns in any case, where a row
 * just does not fit in a group of fewer, and where the longest takes many steps. */
int64_t items_for(const spmvx_context *ctx, const spx_sparse *a, int64_t longest)
{
    constexpr double WARPS = 64.0, FILLED = 0.8; /* of a multiprocessor; of a group */
    constexpr double FEW = 4.0, SHORT = 24.0, FIT = 128.0, LONG = 1024.0; /* entries of a row */
    const double entries = static_cast<double>(a->nnz), mean = entries / static_cast<double>(a->nrows),
                 lanes = 32.0 * WARPS * FILLED * static_cast<double>(spx_cuda_of(ctx)->multiprocessors);
    if (longest > LONGEST || (mean > FIT && mean <= LONG) || (mean > FEW && entries > 16.0 * lanes)) return 8;
    return a->val_type == SPMVX_F32 || mean > SHORT || entries > 2.0 * lanes ? 4 : 2;
}

/* Finds the groups, as partition. */
template <class P> spmvx_status find(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *const items = &p->param[ITEMS_PARAM], *const cluster = &p->param[CLUSTER_PARAM];
    const bool chosen = !*items;
    if (chosen) *items = items_for(ctx, a, 0);
    spx_grouping how;
    how.most = static_cast<int>(32 * *items);
    how.cluster = static_cast<int>(*cluster ? *cluster : spx_cuda_of(ctx)->since_90 ? SPX_GROUP_CLUSTER : 1);
    finding f;
    spx_class_starts starts;
    SPX_TRY(f.make(ctx, a->nrows));
    SPX_TRY(count_groups<P>(ctx, a, how, f, &starts));
    const int64_t better = items_for(ctx, a, static_cast<int64_t>(starts.longest));
    if (chosen && better != *items) {
        *items = better;
        how.most = static_cast<int>(32 * better);
        SPX_TRY(count_groups<P>(ctx, a, how, f, &starts));
    }
    const int64_t pieces = static_cast<int64_t>(how.cluster) * SPX_GROUP_WARPS,
                  longest = static_cast<int64_t>(starts.longest);
    if (longest / pieces > INT32_MAX / 2)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "a row of %lld entries in %lld pieces; csr-adaptive takes 2^30 entries a piece",
                        static_cast<long long>(longest), static_cast<long long>(pieces));
    if (!*cluster) *cluster = starts.at[SPX_OF_CLUSTER + 1] ? how.cluster : 1;
    const int64_t unit = SPX_GROUP_WARPS * *cluster,
                  all = spx_ceil_div(starts.at[SPX_GROUP_CLASSES], unit) * unit;
    const size_t bytes = static_cast<size_t>(all) * sizeof(spx_row_group);
    SPX_TRY(ctx->backend->array_new(ctx, bytes, "a partition", &p->bounds));
    spx_row_group *const groups = static_cast<spx_row_group *>(p->bounds->data);
    p->chunks = all / SPX_GROUP_WARPS;
    SPX_TRY(spx_cuda_clear(ctx, groups, bytes, finding::FINDING));
    SPX_TRY(spx_cuda_load(ctx, finding::FINDING, spx_write_groups<P>, 0));
    return spx_cuda_launch(ctx, finding::FINDING, spx_write_groups<P>, f.blocks(), finding::THREADS_OF_BLOCK,
                           0, static_cast<const P *>(spx_data(a, SPX_PTR)), static_cast<int>(a->nrows),
                           f.parts, how, f.count, f.starts, groups);
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    SPX_TRY(spx_cuda_check_cluster(ctx, p->param[CLUSTER_PARAM]));
    if (a->nrows > 0)
        SPX_TRY(
            spx_by_pointer(a->ptr_type, [&](auto pointer) { return find<decltype(pointer)>(ctx, a, p); }));
    p->param[ITEMS_PARAM] = spx_max(p->param[ITEMS_PARAM], 2);
    p->param[CLUSTER_PARAM] = spx_max(p->param[CLUSTER_PARAM], 1);
    return with_instance(ctx, a, p,
                         [ctx](auto kernel, size_t) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->ctx, m->A, m->part,
                         [m](auto kernel, size_t shared_bytes) { return launch(m, kernel, shared_bytes); });
}

/* A group takes LEAST ns, whatever is in it, and a row that is one block's, or one cluster's, alone STEP for
 * each step of its warps, or FAR_STEP, which these few multiprocessors wait for memory. From there all
 * of it streams less well than by csr-merge-path, whose blocks go on. Entries of long rows lie side by side,
 * and share sectors that windows of rows do not show. Where values are one, fewer bytes come beside products
 * that pass through shared memory as ever. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double LEAST = 700.0, STEP = 500.0, FAR_STEP[] = { 1000.0, 1400.0 }, EFFICIENCY = 0.8,
                     OF_ONE[] = { 0.68, 0.56 },     /* the same where values are one */
        SIDE_BY_SIDE = 0.9, FAR = 1.1, OF_L1 = 0.7; /* shared memory has the rest */
    constexpr double LANES = 32.0 * SPX_GROUP_WARPS;
    const double longest = static_cast<double>(f->longest), bytes = spx_csr_bytes_of(f, look, 0.0);
    const bool of_cluster = longest > 4.0 * LANES * SPX_GROUP_STEPS, near = bytes < f->machine->last_cache;
    const double in_step = of_cluster ? (f->longest > LONGEST ? 8.0 : 4.0) * SPX_GROUP_CLUSTER : 4.0,
                 steps = longest / (in_step * LANES);
    const double in_long = spx_cuda_part_in_long(f, f->long_rows[SPX_LONG_LIMITS - 1]);
    spx_features gathered = *f;
    gathered.sectors_per_entry *= 1.0 + (SIDE_BY_SIDE - 1.0) * in_long;
    const bool doubles = f->value_bytes == 8;
    const double all =
        spx_cuda_cost(&gathered, bytes, look->layout.values == SPX_VALUES_ONE ? OF_ONE[doubles] : EFFICIENCY,
                      LEAST + (near ? STEP : FAR_STEP[doubles]) * steps,
                      { .first = OF_L1, .by_parts = true });
    return (near ? 1.0 : FAR) * all;
}

const spx_param params[] = {
    { .key = "items", .low = 2, .high = 8, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "cluster", .low = 1, .high = SPX_GROUP_CLUSTER, .preset = 0, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_adaptive = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a warp a group of rows or a piece of one, pieces added up in a block or a cluster",
    .source = "Greathouse & Daga 2014; Daga & Greathouse 2015",
    .params = params,
    .one_value = true,
    .prepare_launches = 30,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
