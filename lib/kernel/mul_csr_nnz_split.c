/* y = alpha*A*x + beta*y for CSR in equal runs of nonzeros: each run finds its first row by binary search,
 * writes the rows that begin in it, and carries what it has of the row that began before it. No row is too
 * long: it is many runs.
 * Source: Marconi report ('merge based'), whose atomic additions are replaced by carries settled in fixed
 * order. */
#ifndef SPX_V
#include "kernel/carry.h"
#include "kernel/dot.h"

enum { CHUNK }; /* the parameter, by its place in params */
static const spx_param params[] = {
    { .key = "chunk", .low = 64, .high = 1 << 30, .preset = 16384 },
    { 0 },
};

#define SPX_TEMPLATE "kernel/mul_csr_nnz_split.c"
#include "kernel/each_type.h"

static spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    (void)ctx;
    p->chunks = spx_max(1, spx_ceil_div(a->nnz, p->param[CHUNK]));
    p->work_bytes = (size_t)p->chunks * sizeof(spx_carry_f64);
    return SPMVX_OK;
}

static spx_body *const bodies[] = SPX_EACH(runs);

static spmvx_status run(const spx_mul *m)
{
    return spx_run_carrying(m, 1);
}

static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates rates = { 0.33, 1.3, 5.8, 0.18, 1.2 };
    /* Empty rows come in clusters, and one run writes a whole cluster. */
    return spx_cost(f, &rates, (double)f->nnz, spx_csr_bytes(f), (double)f->empty);
}

const spx_kernel spx_mul_csr_nnz_split = {
    .name = "csr-nnz-split",
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "equal runs of nonzeros, binary search for the row",
    .source = "Marconi report ('merge based')",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
    .bodies = bodies,
};

#else
/* The first row that begins at entry k or later. */
static int64_t SPX_NAME(row_from)(const SPX_P *ptr, int64_t nrows, int64_t k)
{
    int64_t low = 0, high = nrows;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (ptr[mid] < k) low = mid + 1;
        else high = mid;
    }
    return low;
}

static void SPX_NAME(runs)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t length = m->part->param[CHUNK], nrows = m->A->nrows, nnz = m->A->nnz;
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *col = spx_data(m->A, SPX_COL);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y;
    SPX_VNAME(carry) *carry = m->work;
    int64_t row = SPX_NAME(row_from)(ptr, nrows, begin * length);
    for (int64_t c = begin; c < end; c++) {
        const int64_t from = c * length, to = spx_min(from + length, nnz);
        const int64_t stop = c + 1 == m->part->chunks ? nrows : SPX_NAME(row_from)(ptr, nrows, to);
        carry[c].row = -1;
        /* before it: entries of an earlier row */
        const int64_t head = row < nrows ? spx_min(ptr[row], to) : to;
        if (head > from) {
            carry[c].row = row - 1;
            carry[c].sum = SPX_VNAME(dot)(val + from, col + from, x, head - from);
        }
        for (; row < stop; row++) {
            const SPX_V sum =
                SPX_VNAME(dot)(val + ptr[row], col + ptr[row], x, spx_min(ptr[row + 1], to) - ptr[row]);
            y[row] = SPX_VNAME(axpby)(alpha, sum, beta, &y[row]);
        }
    }
}
#endif
