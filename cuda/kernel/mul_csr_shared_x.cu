/* y = alpha*A*x + beta*y for CSR whose x, or much of it, fits in a multiprocessor's shared memory: one block
 * of 1024 threads for each multiprocessor brings the first columns of x there and goes over the rows, 2 to 32
 * lanes a row, whose partial sums are added by shuffles. So gathers do not compete in L1 and L2 with what is
 * streamed, which least squares problems with many short rows and few columns, and random matrices with few
 * columns, are slowed down by. Where a block would hold too few of them, two blocks of a cluster hold them
 * together. Columns are read from a copy in 16 bits, where these tell them apart: values and pointers are
 * CSR's, and the copy is all that is built.
 * A lane has a row's next entries under way while it multiplies those before, and the pointers of the row
 * behind; each group of lanes goes on to its next row by itself.
 * Source: Bell & Garland, SC 2009 (CSR-vector, and texture caches for x); Tsai, Cojean & Anzt,
 * ISC 2020; x in shared memory as in `tiled`. */
#include <cmath>

#include "build/build.cuh"
#include "csr_vector.cuh"
#include "held.cuh"

namespace {

constexpr const char *NAME = "csr-shared-x", *const NARROWING = "columns in 16 bits";
constexpr int THREADS = 1024;
constexpr int64_t NARROW = UINT16_MAX;           /* columns that 16 bits tell apart, and from none */
enum { LANES_PARAM, HELD_PARAM, CLUSTER_PARAM }; /* by their places in params */
enum holders { BY_BLOCK, ALL_BY_BLOCK, BY_CLUSTER };

/* Lanes of short rows load parts of a sector, one step after the other, and all keep what they load. */
template <class V, int LANES> constexpr bool may_pass = LANES > 4 && sizeof(V) == 8;

/* Steps of a group of lanes that are under way, and rows that it has at once, in 64 registers. */
template <class V, int LANES, holders HOLDERS> struct shape {
    static constexpr bool SINGLE = sizeof(V) == 4;
    static constexpr int STEPS = SINGLE && LANES > 4 ? 8 : 4,
                         ROWS = SINGLE && LANES <= 4 && HOLDERS != BY_CLUSTER ? 2 : 1;
};

/* A copy has each column and one, so that 0 is none. */
template <spx_policy POLICY> __device__ __forceinline__ int load_column(bool in, const uint16_t *p)
{
    return static_cast<int>(spx_load_held<POLICY>(in, p)) - 1;
}
template <spx_policy POLICY> __device__ __forceinline__ int load_column(bool in, const int *p)
{
    return spx_load_if<POLICY>(in, p, -1);
}

__global__ void narrow(int64_t count, const int *columns, uint16_t *to)
{
    const int64_t i = spx_element();
    if (i < count) to[i] = static_cast<uint16_t>(columns[i] + 1);
}

template <int LANES, holders HOLDERS, bool ONE, spx_policy POLICY, class V, class P, class C>
__device__ __forceinline__ void multiply_rows(const spx_csr<V, P> &A, const C *columns,
                                              const spx_early_vectors<V> &vectors, int held, int own)
{
    using shape = shape<V, LANES, HOLDERS>;
    constexpr int STEPS = shape::STEPS, ROWS = shape::ROWS, GROUPS = THREADS / LANES;
    const spx_value_of<V, ONE> one(A.val);
    const spx_held_x<V, HOLDERS == BY_CLUSTER ? SPX_HOLDERS : 1> near(spx_dynamic_shared<V>(), held, own);
    const unsigned lane = threadIdx.x % LANES, rows = static_cast<unsigned>(A.nrows),
                   stride = gridDim.x * GROUPS * ROWS;
    unsigned row[ROWS] = {};            /* whose entries are under way */
    spx_position<P> at[ROWS];           /* this lane's first of these */
    P left[ROWS];                       /* entries of the row from there on */
    P begin[ROWS] = {}, end[ROWS] = {}; /* of the group's next row */
    int col[ROWS][STEPS];
    V val[ROWS][STEPS], sum[ROWS];
    const auto load_pointers = [&](int i, bool wanted) {
        const unsigned next = row[i] + stride;
        const bool in = wanted && next < rows && next >= stride;
        begin[i] = spx_load_if<SPX_KEPT>(in, A.ptr + next, wanted ? P(0) : begin[i]);
        end[i] = spx_load_if<SPX_KEPT>(in, A.ptr + next + 1, wanted ? P(0) : end[i]);
    };
    const auto load_columns = [&](int i) {
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            col[i][s] = load_column<POLICY>(s * LANES < left[i], columns + at[i] + s * LANES);
    };
    const auto load_values = [&](int i) {
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            val[i][s] = one.template load<POLICY, SPX_LATE>(s * LANES < left[i], A.val + at[i] + s * LANES);
    };
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        row[i] = (blockIdx.x * ROWS + i) * GROUPS + threadIdx.x / LANES;
        const P from = spx_load_if<SPX_KEPT>(row[i] < rows, A.ptr + row[i], P(0)),
                to = spx_load_if<SPX_KEPT>(row[i] < rows, A.ptr + row[i] + 1, P(0));
        at[i] = static_cast<spx_position<P>>(from) + lane;
        left[i] = to - from - static_cast<P>(lane);
        sum[i] = 0;
        load_columns(i);
    }
    vectors.wait();
    near.template bring<THREADS>(
        [&](bool in, unsigned i) { return spx_load_if<SPX_PAST, SPX_LATE>(in, vectors.x + i, V(0)); });
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        load_values(i);
        load_pointers(i, true);
    }
    near.come();
    for (;;) {
        bool more = false;
#pragma unroll
        for (int i = 0; i < ROWS; i++) more = more || row[i] < rows;
        if (!__any_sync(0xffffffffu, more)) break;
        V from_x[ROWS][STEPS], times[ROWS][STEPS];
        unsigned done[ROWS]; /* the row that ends here, or none */
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                const int c = col[i][s];
                const bool is_near = static_cast<unsigned>(c) < static_cast<unsigned>(held);
                V far = 0;
                if constexpr (HOLDERS != ALL_BY_BLOCK) far = spx_load_at(vectors.x, is_near ? -1 : c, V(0));
                from_x[i][s] = near.get(is_near, static_cast<unsigned>(c), far);
                times[i][s] = val[i][s];
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            const bool ends = left[i] + static_cast<P>(lane) <= STEPS * LANES;
            done[i] = ends ? row[i] : rows;
            at[i] = ends ? static_cast<spx_position<P>>(begin[i]) + lane : at[i] + STEPS * LANES;
            left[i] = ends ? end[i] - begin[i] - static_cast<P>(lane) : left[i] - STEPS * LANES;
            const bool over = row[i] >= rows || rows - row[i] <= stride; /* no row comes behind this one */
            row[i] = !ends ? row[i] : over ? rows : row[i] + stride;
            load_columns(i);
            load_values(i);
            load_pointers(i, ends);
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            /* past the end of the row both are 0 */
#pragma unroll
            for (int s = 0; s < STEPS; s++) sum[i] += times[i][s] * from_x[i][s];
            const V total = spx_sum_lanes<LANES>(sum[i]);
            if (done[i] >= rows) continue;
            if (lane == 0) vectors.put(done[i], total);
            sum[i] = 0;
        }
    }
    near.meet();
}

/* C is the type of columns. */
template <class V, class P, class C, int LANES, holders HOLDERS, bool ONE, bool STAYS>
__global__ void __launch_bounds__(THREADS, 1)
    csr_shared_x(spx_csr<V, P> A, const C *columns, spx_early_vectors<V> vectors, int held, int own,
                 unsigned staying)
{
    constexpr bool KEEPS = STAYS || !may_pass<V, LANES>;
    spx_by_part<KEEPS, SPX_PAST>(spx_part_stays(blockIdx.x, staying), [&](auto policy) {
        multiply_rows<LANES, HOLDERS, ONE, policy.value>(A, columns, vectors, held, own);
    });
}

/* ---- the host's side ---- */

template <class F>
spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        using V = decltype(value);
        using P = decltype(pointer);
        return spx_by_one_value(a, [&](auto one) {
            constexpr bool ONE = one.value;
            return spx_pick<2, 4, 8, 16, 32>(p->param[LANES_PARAM], [&](auto lanes) {
                constexpr int LANES = lanes.value;
                const auto with = [&](auto stays) {
                    constexpr bool STAYS = stays.value;
                    if (!p->order) return f(csr_shared_x<V, P, int, LANES, BY_BLOCK, ONE, STAYS>);
                    if (p->param[CLUSTER_PARAM] > 1)
                        return f(csr_shared_x<V, P, uint16_t, LANES, BY_CLUSTER, ONE, STAYS>);
                    return p->param[HELD_PARAM] >= a->ncols
                               ? f(csr_shared_x<V, P, uint16_t, LANES, ALL_BY_BLOCK, ONE, STAYS>)
                               : f(csr_shared_x<V, P, uint16_t, LANES, BY_BLOCK, ONE, STAYS>);
                };
                if constexpr (may_pass<V, LANES>) return spx_by_residence(ctx, a, with);
                else return with(std::false_type());
            });
        });
    });
}

/* Of what the blocks of a cluster share each asks the other one for half: this part of x at most. */
constexpr double SHARED = 0.6;

/* Columns that both blocks of a cluster hold. */
int64_t own_of(const spx_sparse *a, const spx_partition *p)
{
    const int64_t held = p->param[HELD_PARAM];
    return spx_max(held - static_cast<int64_t>(SHARED * static_cast<double>(a->ncols)), 0);
}

size_t shared_bytes(const spx_sparse *a, const spx_partition *p)
{
    return static_cast<size_t>(
               spx_held_by_block(p->param[HELD_PARAM], own_of(a, p), p->param[CLUSTER_PARAM])) *
           spx_type_bytes(a->val_type);
}

/* Does a block hold all columns, or nearly all, of which `most` fit? */
bool fits(double columns, double most)
{
    constexpr double NEARLY_ALL = 0.88;
    return most >= NEARLY_ALL * columns;
}

/* All columns, or nearly all; of more than that fewer than would fit, since L1 helps with the others. */
double held_for(double columns, double most, bool in_cluster)
{
    constexpr double ALONE = 0.75, TOGETHER = 0.5625;
    if (in_cluster) return TOGETHER * most + 0.5 * std::fmin(2.0 * TOGETHER * most, SHARED * columns);
    return fits(columns, most) ? std::fmin(columns, most) : ALONE * most;
}

constexpr int64_t MOST = 1 << 16; /* columns, as a name may ask for */

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *const lanes = &p->param[LANES_PARAM], *const held = &p->param[HELD_PARAM],
                   *const cluster = &p->param[CLUSTER_PARAM];
    const double columns = static_cast<double>(a->ncols),
                 most = static_cast<double>(spx_cuda_of(ctx)->block_bytes) /
                        static_cast<double>(spx_type_bytes(a->val_type));
    const bool narrowed = a->ncols <= NARROW && a->nnz;
    SPX_TRY(spx_cuda_check_cluster(ctx, *cluster));
    if (!narrowed) *cluster = 1;
    const bool alone = *held ? static_cast<double>(*held) <= most : fits(columns, most);
    if (!*cluster) *cluster = spx_cuda_of(ctx)->since_90 && !alone ? SPX_HOLDERS : 1;
    if (!*lanes)
        *lanes =
            spx_vector_lanes_for(static_cast<double>(a->nnz) / static_cast<double>(spx_max(a->nrows, 1)));
    if (!*held) *held = static_cast<int64_t>(held_for(columns, most, *cluster > 1));
    *held = spx_max(spx_min(spx_min(*held, a->ncols), MOST), 1);
    if (narrowed) {
        SPX_TRY(ctx->backend->array_new(ctx, spx_bytes(a->nnz, sizeof(uint16_t)), NARROWING, &p->order));
        SPX_TRY(spx_launch_over(ctx, NARROWING, a->nnz, narrow, a->nnz,
                                static_cast<const int *>(spx_data(a, SPX_COL)),
                                static_cast<uint16_t *>(p->order->data)));
    }
    return with_instance(ctx, a, p,
                         [&](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, shared_bytes(a, p)); });
}

template <class V, class P, class C>
spmvx_status launch(const spx_mul *m,
                    void (*kernel)(spx_csr<V, P>, const C *, spx_early_vectors<V>, int, int, unsigned))
{
    const spx_partition *const p = m->part;
    const void *const columns = p->order ? p->order->data : spx_data(m->A, SPX_COL); /* the copy, if any */
    const int64_t cluster = p->param[CLUSTER_PARAM],
                  rows = THREADS / p->param[LANES_PARAM], /* of a block at a time, at least */
        blocks = spx_min(spx_ceil_div(m->A->nrows, rows), spx_cuda_of(m->ctx)->multiprocessors);
    const spx_launch_kind kind = { .early = true, .cluster = static_cast<unsigned>(cluster) };
    return spx_cuda_launch_as(kind, m->ctx, NAME, kernel, spx_max(blocks / cluster, 1) * cluster, THREADS,
                              shared_bytes(m->A, p), spx_csr_of<V, P>(m->A), static_cast<const C *>(columns),
                              spx_early_vectors_of<V>(m), static_cast<int>(p->param[HELD_PARAM]),
                              static_cast<int>(own_of(m->A, p)), spx_cuda_staying(m->ctx, m->A));
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->ctx, m->A, m->part, [m](auto kernel) { return launch(m, kernel); });
}

int64_t more_bytes(const spx_sparse *a, const spx_partition *p)
{
    return p->order ? static_cast<int64_t>(p->order->bytes - spx_bytes(a->nnz, sizeof(int))) : 0;
}

/* Each multiprocessor brings what it holds before anything else, while its first entries are on their way,
 * which hides most of it where these are wide and many; and only gathers of other columns are the caches',
 * which take longer by OTHERS, since a multiprocessor has half of the threads that others have, and L1 less
 * room.
 * Rows of few entries leave lanes without work, but wait less for what another block holds, and a long row
 * waits for each step of its lanes. Few rows do not fill the multiprocessors. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double BLOCK = 227.0 * 1024.0, START[] = { 2400.0, 1000.0 }, STEP = 400.0, /* bytes; ns */
        SHOWN[] = { 1.0, 0.25 }, OTHERS = 1.3, HIDES = 0.5,                              /* f32, f64 */
        NETWORK = 0.63; /* elements that a block gets of another one, a ns */
    const spx_machine *const m = f->machine;
    const bool wide = f->value_bytes == 8;
    const double value = static_cast<double>(f->value_bytes), columns = static_cast<double>(f->ncols),
                 most = BLOCK / value;
    const bool in_cluster = m->clusters && f->ncols <= NARROW && !fits(columns, most);
    const double held = std::fmin(held_for(columns, most, in_cluster), columns),
                 lanes = static_cast<double>(spx_vector_lanes_for(f->mean)),
                 multiprocessors = static_cast<double>(m->multiprocessors),
                 bytes =
                     spx_csr_bytes_of(f, look, f->ncols <= NARROW ? 2.0 * static_cast<double>(f->nnz) : 0.0),
                 stream = bytes / (bytes < m->last_cache ? m->cache_rate : m->memory_rate),
                 brought = (in_cluster ? 0.5 : 1.0) * held * value * multiprocessors /
                           (SPX_L2_RATE * m->cache_rate),
                 fill = START[wide] + std::fmax(SHOWN[wide] * brought, brought - HIDES * stream),
                 filled = static_cast<double>(f->nrows) * lanes / (THREADS * multiprocessors),
                 busy = filled < 0.5 ? 0.6 + 0.8 * filled : 1.0,
                 uneven = f->deviation / (f->mean + 1.0) - 0.45,
                 efficiency = (f->mean < 8.0 ? 0.8 : 0.9) * (4.0 * held < columns ? 0.72 : 1.0) * busy /
                              (1.0 + (uneven > 0 ? 0.6 * uneven : 0.0));
    spx_features others = *f;
    others.sectors_per_entry *= OTHERS;
    others.nnz = static_cast<int64_t>((1.0 - held / std::fmax(columns, 1.0)) * static_cast<double>(f->nnz));
    const double asked =
                     in_cluster ? 0.5 * std::fmin(held / columns, SHARED) * static_cast<double>(f->nnz) : 0.0,
                 of_others = (f->mean < 8.0 ? 0.5 : 1.0) * asked / (NETWORK * multiprocessors);
    return fill + of_others +
           spx_cuda_cost(&others, bytes, efficiency, STEP * static_cast<double>(f->longest) / (4.0 * lanes),
                         { .by_parts = wide && lanes > 4 });
}

const spx_param params[] = {
    { .key = "lanes", .low = 2, .high = 32, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "held", .low = 1, .high = MOST, .preset = 0 },
    { .key = "cluster", .low = 1, .high = SPX_HOLDERS, .preset = 0 },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_shared_x = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "2 to 32 lanes a row, x or its first columns in shared memory, of one block or two",
    .source = "Bell & Garland 2009; Tsai, Cojean & Anzt 2020",
    .params = params,
    .one_value = true,
    .prepare_launches = 3,
    .prepare_entry = 0.002,
    .cost = cost,
    .prepare = prepare,
    .more_bytes = more_bytes,
    .run = run,
};
