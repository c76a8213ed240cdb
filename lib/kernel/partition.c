/* Chunks of near-equal weight, the run() of host kernels, and what their cost functions share. */
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
    enum { WEIGHT = 4096 }; /* of a chunk, while that gives no more chunks than SPX_MAX_CHUNKS */
    const int64_t total = weight_before(a, units);
    p->chunks = spx_max(1, spx_min(spx_min(total / WEIGHT, units), SPX_MAX_CHUNKS));
    SPX_TRY(spx_array_new(ctx, p->chunks + 1, sizeof(int64_t), "a partition", &p->bounds));
    int64_t *bound = p->bounds->data;
    bound[0] = 0;
    bound[p->chunks] = units;
    for (int64_t c = 1; c < p->chunks; c++) {
        const int64_t target = spx_part(total, p->chunks, c);
        int64_t low = bound[c - 1], high = units; /* the first unit with target or more before it */
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

spmvx_status spx_run_chunks(const spx_mul *m)
{
    spx_mul job = *m;
    spx_context_parallel(m->ctx, m->threads, m->part->chunks, m->kernel->bodies[spx_instance(m->A)], &job);
    return SPMVX_OK;
}

spmvx_status spx_run_columns(const spx_mul *m)
{
    const size_t each = spx_type_bytes(m->A->val_type);
    for (int64_t j = 0, n; j < m->nvec; j += n) {
        const int64_t left = m->nvec - j;
        for (n = 8; n > left;) n /= 2;
        spx_mul job = *m;
        job.x = m->A->ncols ? (const char *)m->x + (size_t)(j * m->ldx) * each : m->x;
        job.y = (char *)m->y + (size_t)(j * m->ldy) * each;
        job.nvec = n;
        SPX_TRY(spx_run_chunks(&job));
    }
    return SPMVX_OK;
}

double spx_csr_bytes(const spx_features *f)
{
    return (double)f->nnz * (4.0 + (double)f->value_bytes) + (double)f->nrows * (double)f->ptr_bytes;
}

double spx_cost(const spx_features *f, const spx_rates *rate, double entries, double bytes, double serial)
{
    const spx_machine *m = f->machine;
    const double reach = f->span * (double)f->value_bytes, irregular = f->deviation / (f->mean + 1.0);
    const double part = reach / m->second_cache;
    const double beyond =
        part < 1.0 ? part * part : 1.0; /* the part of x that the second cache does not hold */
    const double near = f->sectors_per_entry * (1.0 - beyond) * m->compute_scale * rate->mid,
                 far = f->sectors_per_entry * beyond * m->far_scale * rate->far;
    const double entry = m->compute_scale * rate->entry + (reach < m->first_cache ? 0.0 : near + far);
    const double row = m->compute_scale * (rate->row + rate->irregular * (irregular < 1.0 ? irregular : 1.0));
    const double threads = f->threads;
    double compute = (entry * entries + row * (double)f->nrows) / threads;
    if (compute < entry * serial) compute = entry * serial;
    const double from_cache = m->cache_rate * threads,
                 from_memory = m->memory_rate * (1.0 + m->extra_thread * (threads - 1.0));
    const double stream = bytes / (bytes < m->last_cache ? from_cache : from_memory);
    return compute > stream ? compute + 0.3 * stream : stream + 0.3 * compute;
}

double spx_cost_columns(const spx_features *f, const spx_rates *rate, double entries, double bytes,
                        double columns)
{
    enum { AT_ONCE = 8 };
    double all = 0;
    for (int64_t left = f->nvec; left > 0; left -= AT_ONCE) {
        const double n = (double)spx_min(left, AT_ONCE), factor = 1.0 + columns * (n - 1.0);
        const spx_rates group = { .entry = rate->entry * factor,
                                  .row = rate->row * factor,
                                  .irregular = rate->irregular,
                                  .mid = rate->mid * n, /* each column has an x of its own */
                                  .far = rate->far * n };
        all += spx_cost(f, &group, entries, bytes, (double)f->longest);
        if (left > AT_ONCE * AT_ONCE) { /* whole groups cost the same */
            const int64_t whole = left / AT_ONCE - 1;
            all += (double)whole * spx_cost(f, &group, entries, bytes, (double)f->longest);
            left -= whole * AT_ONCE;
        }
    }
    return all;
}
