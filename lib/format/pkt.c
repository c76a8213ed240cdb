/* PKT: packets, and the rest as COO. Packet p has the rows from p*side on, and as many columns, of a square
 * matrix those of the same numbers: so what it needs of x and y fits in fast memory. The partition is the
 * order that is given; who has a better one permutes the matrix first. LANES threads share a packet:
 * thread t has the rows t, t + LANES, ... of it, with their entries one after the other, so that no two add
 * to one row; what is more than four times the mean of the threads goes to the rest.
 *   PTR    where a packet's places begin; entry k of thread t is at ptr + k*LANES + t
 *   COL    of a packet's place: row in the packet * 2^16 + column in it, -1: padding; then the rest's columns
 *   ROW    rows of the rest, in CSR's order
 *   ORDER  of each stored place the position in CSR, -1: padding; for the way back
 * width is the number of places in packets.
 * Source: Bell & Garland, Efficient sparse matrix-vector multiplication on CUDA, NVIDIA NVR-2008-004, section
 * 3.6, where METIS partitions the matrix. */
#include <inttypes.h>

#include "core/pkt.h"
#include "format/build.h"

enum { LANES = SPX_PKT_LANES };

typedef struct job {
    const spx_sparse *csr;
    const spx_sparse *a;
    int64_t side;
    int64_t *places, *rest; /* a packet's: counts, then where it begins */
} job;

static bool inside(const job *j, int64_t packet, int32_t col)
{
    const int64_t first = spx_pkt_first_column(j->csr->nrows, j->csr->ncols, j->side, packet);
    return col >= first && col < first + j->side;
}

/* How many entries of a packet a thread takes: four times the mean, so that one long row does not make
 * all threads wait; what is above that goes to the rest. */
static int64_t most_of_a_thread(const job *j, int64_t p)
{
    enum { UNEVEN = 4, LEAST = 8 };
    const int64_t first = spx_ptr_at(j->csr, p * j->side),
                  last = spx_ptr_at(j->csr, spx_min((p + 1) * j->side, j->csr->nrows));
    const int32_t *col = spx_data(j->csr, SPX_COL);
    int64_t n = 0;
    for (int64_t i = first; i < last; i++) n += inside(j, p, col[i]);
    return spx_max(LEAST, UNEVEN * spx_ceil_div(n, LANES));
}

static void put(const job *j, int64_t to, int32_t col, int64_t from)
{
    ((int32_t *)j->a->slot[SPX_COL]->data)[to] = col;
    spx_value_copy(j->a->slot[SPX_VAL]->data, to, spx_data(j->csr, SPX_VAL), from,
                   spx_type_bytes(j->a->val_type));
    ((int64_t *)j->a->slot[SPX_ORDER]->data)[to] = from;
}

static void put_padding(const job *j, int64_t to)
{
    ((int32_t *)j->a->slot[SPX_COL]->data)[to] = SPX_PKT_PADDING;
    spx_value_clear(j->a->slot[SPX_VAL]->data, to, spx_type_bytes(j->a->val_type));
    ((int64_t *)j->a->slot[SPX_ORDER]->data)[to] = -1;
}

/* Counts a packet's places and what is left over, or writes them. */
static void walk_packet(const job *j, int64_t p, bool write)
{
    const spx_sparse *csr = j->csr;
    const int32_t *col = spx_data(csr, SPX_COL);
    const int64_t row0 = p * j->side, col0 = spx_pkt_first_column(csr->nrows, csr->ncols, j->side, p),
                  rows = spx_min(j->side, csr->nrows - row0), most = most_of_a_thread(j, p);
    int64_t taken[LANES] = { 0 }, longest = 0, rest = write ? j->rest[p] : 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = spx_ptr_at(csr, row0 + r); i < spx_ptr_at(csr, row0 + r + 1); i++) {
            const int64_t t = r % LANES;
            if (inside(j, p, col[i]) && taken[t] < most) {
                if (write) put(j, j->places[p] + taken[t] * LANES + t, spx_pkt_place(r, col[i] - col0), i);
                longest = spx_max(longest, ++taken[t]);
                continue;
            }
            if (write) {
                ((int32_t *)j->a->slot[SPX_ROW]->data)[rest] = (int32_t)(row0 + r);
                put(j, j->a->width + rest, col[i], i);
            }
            rest++;
        }
    if (!write) {
        j->places[p] = longest * LANES;
        j->rest[p] = rest;
        return;
    }
    for (int64_t t = 0; t < LANES; t++)
        for (int64_t k = taken[t]; k < longest; k++) put_padding(j, j->places[p] + k * LANES + t);
}

static void count_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    for (int64_t p = begin; p < end; p++) walk_packet(arg, p, false);
}

static void write_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    for (int64_t p = begin; p < end; p++) walk_packet(arg, p, true);
}

static spmvx_status new_arrays(const spmvx_context *ctx, spx_sparse *a, int64_t packets)
{
    SPX_TRY(spx_array_new(ctx, packets + 1, spx_type_bytes(a->ptr_type), "ptr", &a->slot[SPX_PTR]));
    SPX_TRY(spx_array_new(ctx, a->stored, sizeof(int32_t), "col", &a->slot[SPX_COL]));
    SPX_TRY(spx_array_new(ctx, a->stored, spx_type_bytes(a->val_type), "val", &a->slot[SPX_VAL]));
    SPX_TRY(spx_array_new(ctx, spx_pkt_rest(a), sizeof(int32_t), "row", &a->slot[SPX_ROW]));
    return spx_array_new(ctx, a->stored, sizeof(int64_t), "an order of the entries", &a->slot[SPX_ORDER]);
}

static spmvx_status build(const spmvx_context *ctx, job *j, const spx_build *how, spx_sparse *a)
{
    const spx_sparse *csr = j->csr;
    const int64_t packets = spx_ceil_div(csr->nrows, j->side);
    const int threads = spx_threads_for(ctx->threads, csr->nnz);
    SPX_TRY(spx_alloc(ctx, spx_bytes(packets + 1, sizeof *j->places), "counts of the packets", &j->places));
    SPX_TRY(spx_alloc(ctx, spx_bytes(packets + 1, sizeof *j->rest), "counts of the packets", &j->rest));
    spx_parallel(threads, packets, count_body, j);
    int64_t places = 0, rest = 0;
    for (int64_t p = 0; p < packets; p++) {
        const int64_t own = j->places[p], left = j->rest[p];
        j->places[p] = places;
        j->rest[p] = rest;
        if (__builtin_add_overflow(places, own, &places) || places > INT64_MAX / 64) places = INT64_MAX / 64;
        rest += left;
    }
    j->places[packets] = places;
    a->width = places;
    a->stored = places + rest;
    a->ptr_type = spx_count_type(places);
    const size_t bytes = spx_plus(spx_bytes(a->stored, 12 + spx_type_bytes(a->val_type)), spx_bytes(rest, 4));
    SPX_TRY(spx_build_check(ctx, "PKT", spx_plus(bytes, spx_bytes(packets + 1, spx_type_bytes(a->ptr_type))),
                            csr, how));
    SPX_TRY(new_arrays(ctx, a, packets));
    for (int64_t p = 0; p <= packets; p++)
        spx_index_put(a->slot[SPX_PTR]->data, a->ptr_type, p, j->places[p]);
    spx_parallel(threads, packets, write_body, j);
    return SPMVX_OK;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                             spx_sparse *out)
{
    const int64_t side = how->layout.packet ? how->layout.packet : SPX_PKT_SIDE;
    spx_sparse a = { .format = SPMVX_PKT,
                     .val_type = csr->val_type,
                     .nrows = csr->nrows,
                     .ncols = csr->ncols,
                     .nnz = csr->nnz,
                     .layout = { .packet = side } };
    job j = { .csr = csr, .a = &a, .side = side };
    const spmvx_status s = build(ctx, &j, how, &a);
    spx_free(ctx, j.places);
    spx_free(ctx, j.rest);
    if (s == SPMVX_OK) *out = a;
    else spx_sparse_drop(&a);
    return s;
}

/* ---- back to CSR ---- */

/* Calls each place that is an entry with its row and column. */
static void each_entry(const spx_sparse *a,
                       void (*each)(const spx_sparse *, spx_sparse *, int64_t at, int64_t row, int64_t col),
                       spx_sparse *csr)
{
    const int32_t *col = spx_data(a, SPX_COL), *row = spx_data(a, SPX_ROW);
    for (int64_t p = 0; p < spx_pkt_packets(a); p++) {
        const int64_t row0 = p * a->layout.packet,
                      col0 = spx_pkt_first_column(a->nrows, a->ncols, a->layout.packet, p);
        for (int64_t at = spx_ptr_at(a, p); at < spx_ptr_at(a, p + 1); at++)
            if (col[at] != SPX_PKT_PADDING)
                each(a, csr, at, row0 + spx_pkt_row(col[at]), col0 + spx_pkt_column(col[at]));
    }
    for (int64_t i = 0; i < spx_pkt_rest(a); i++) each(a, csr, a->width + i, row[i], col[a->width + i]);
}

static void count_entry(const spx_sparse *a, spx_sparse *csr, int64_t at, int64_t row, int64_t col)
{
    (void)a, (void)at, (void)col;
    void *ptr = csr->slot[SPX_PTR]->data;
    spx_index_put(ptr, csr->ptr_type, row + 1, spx_index_at(ptr, csr->ptr_type, row + 1) + 1);
}

static void put_entry(const spx_sparse *a, spx_sparse *csr, int64_t at, int64_t row, int64_t col)
{
    (void)row;
    const int64_t to = ((const int64_t *)spx_data(a, SPX_ORDER))[at];
    ((int32_t *)csr->slot[SPX_COL]->data)[to] = (int32_t)col;
    spx_value_copy(csr->slot[SPX_VAL]->data, to, spx_data(a, SPX_VAL), at, spx_type_bytes(a->val_type));
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    SPX_TRY(spx_csr_new(ctx, a, a->nnz, csr));
    for (int64_t r = 0; r < a->nrows; r++) spx_index_put(csr->slot[SPX_PTR]->data, csr->ptr_type, r + 1, 0);
    each_entry(a, count_entry, csr);
    spx_running_sum(csr->slot[SPX_PTR]->data, csr->ptr_type, a->nrows);
    each_entry(a, put_entry, csr);
    return SPMVX_OK;
}

static double setup_ns(const spx_features *f, const spx_look *l)
{
    (void)l;
    return 15.0 * (double)f->nnz / f->threads;
}

static const spx_layout_key layout[] = {
    { "packet", offsetof(spx_layout, packet), 32, SPX_PKT_MOST, 0, true },
    { 0 },
};

const spx_format spx_format_pkt = {
    .format = SPMVX_PKT,
    .place = SPMVX_HOST,
    .layout = layout,
    .opaque_values = true,
    .view = spx_no_view,
    .setup_ns = setup_ns,
    .from_csr = from_csr,
    .to_csr = to_csr,
};
