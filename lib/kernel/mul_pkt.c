/* y = alpha*A*x + beta*y for PKT: packet after packet, whose part of y is held while its places go by;
 * then the entries of the rest that its rows have are added to it, and each row is written once.
 * Source: Bell & Garland, NVIDIA NVR-2008-004, section 3.6. */
#ifndef SPX_V
#include "core/pkt.h"
#include "kernel/dot.h"
#include "kernel/kernel.h"

/* Entries of the rest in rows before `row`; `from` is that of an earlier row. The steps double, since a
 * packet's next row is mostly a near one. */
static int64_t rest_before(const int32_t *rows, int64_t rest, int64_t row, int64_t from)
{
    int64_t low = from, high = from, step = 1;
    while (high < rest && rows[high] < row) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    high = spx_min(high, rest);
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (rows[middle] < row) low = middle + 1;
        else high = middle;
    }
    return low;
}

#define SPX_TEMPLATE "kernel/mul_pkt.c"
#include "kernel/each_type.h"

static spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    (void)ctx;
    p->chunks = spx_pkt_packets(a);
    return SPMVX_OK;
}

static spx_body *const bodies[] = SPX_EACH(packets);

/* How many entries lie in packets is found when it is built; until then it is taken for twice CSR. */
static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates rates = { 1.5, 1.5, 0.5, 0.35, 1.3 };
    return spx_cost(f, &rates, 1.5 * (double)f->nnz, 2.0 * spx_csr_bytes(f), 0.0);
}

const spx_kernel spx_mul_pkt = {
    .name = "pkt",
    .operation = SPMVX_MUL,
    .format = SPMVX_PKT,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "packets of rows and columns, COO for the rest",
    .source = "Bell & Garland 2008",
    .cost = cost,
    .prepare = prepare,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
static void SPX_NAME(packets)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const spx_sparse *a = m->A;
    const SPX_P *ptr = spx_data(a, SPX_PTR);
    const int32_t *col = spx_data(a, SPX_COL), *row = spx_data(a, SPX_ROW), *list = spx_data(a, SPX_LIST);
    const SPX_V *val = spx_data(a, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y, sum[SPX_PKT_MOST];
    const int64_t side = a->layout.packet, rest = spx_pkt_rest(a);
    for (int64_t p = begin; p < end; p++) {
        const int64_t first = p * side, rows = list ? side : spx_min(side, a->nrows - first),
                      col0 = spx_pkt_first_column(a->nrows, a->ncols, side, p);
        int64_t at = 0;
        for (int64_t i = 0; i < rows; i++) sum[i] = 0;
        for (SPX_P k = ptr[p]; k < ptr[p + 1]; k++)
            if (col[k] != SPX_PKT_PADDING)
                sum[spx_pkt_row(col[k])] += val[k] * x[spx_pkt_at(list, col0 + spx_pkt_column(col[k]))];
        for (int64_t i = 0; i < rows; i++) {
            const int64_t r = spx_pkt_at(list, first + i);
            if (r < 0) continue;
            for (at = rest_before(row, rest, r, at); at < rest && row[at] == r; at++)
                sum[i] += val[a->width + at] * x[col[a->width + at]];
            y[r] = SPX_VNAME(axpby)(alpha, sum[i], beta, &y[r]);
        }
    }
}
#endif
