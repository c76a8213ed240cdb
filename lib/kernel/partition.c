/* Chunks of near-equal weight, and what cost functions share. */
#include "kernel/kernel.h"

void spx_partition_drop(spx_partition *p)
{
    spx_array_drop(p->bounds);
    spx_array_drop(p->order);
    *p = (spx_partition){ 0 };
}

spmvx_status spx_partition_by(const spmvx_context *ctx, const spx_sparse *a, int64_t units,
                              int64_t (*weight_before)(const spx_sparse *, int64_t), spx_partition *p)
{
    enum { WEIGHT = 8192 };   /* of a chunk, while that gives no more chunks than SPX_MAX_CHUNKS */
    const int64_t total = weight_before(a, units);
    p->chunks = spx_max(1, spx_min(spx_min(total / WEIGHT, units), SPX_MAX_CHUNKS));
    SPX_TRY(spx_array_new(ctx, p->chunks + 1, sizeof(int64_t), "a partition", &p->bounds));
    int64_t *bound = p->bounds->data;
    bound[0] = 0;
    bound[p->chunks] = units;
    for (int64_t c = 1; c < p->chunks; c++) {
        const int64_t target = spx_part(total, p->chunks, c);
        int64_t low = bound[c - 1], high = units;   /* the first unit with target or more before it */
        while (low < high) {
            const int64_t mid = low + (high - low) / 2;
            if (weight_before(a, mid) < target) low = mid + 1;
            else high = mid;
        }
        bound[c] = low;
    }
    return SPMVX_OK;
}

static int64_t rows_weight(const spx_sparse *a, int64_t r)
{
    return spx_ptr_at(a, r) + 2 * r;
}

spmvx_status spx_partition_rows(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    return spx_partition_by(ctx, a, a->nrows, rows_weight, p);
}

double spx_cost(const spx_features *f, double bytes, double compute, double serial)
{
    static const double bytes_per_ns = 20.0;   /* one thread's stream from memory; two share about 1.6 of it */
    const double threads = f->threads, lanes = threads > 1 ? 1.0 + 0.6 * (threads - 1) : 1.0;
    double t = compute / threads;
    if (t < serial) t = serial;
    const double stream = bytes / (bytes_per_ns * lanes);
    return t > stream ? t + 0.3 * stream : stream + 0.3 * t;
}

double spx_cost_gather(const spx_features *f, double gathers)
{
    const double near = 32.0 * 1024, far = 1024.0 * 1024;   /* bytes: of L1, of L2 */
    const double reach = f->span * (double)f->value_bytes;
    const double each = reach < near ? 0.0 : reach < far ? 0.4 : 1.2;
    return gathers * each;
}
