/* PKT: packets, and the rest as COO. A packet has `side` positions, each for a row, and for the column of the
 * same number where the matrix is square; so what it needs of x and y fits in fast memory. METIS deals the
 * rows to packets so that few entries lie between them (format/parts.h); or, where there is no METIS, the
 * matrix is not square, or the layout says so, packet p has the rows from p*side on, and as many columns.
 * LANES threads share a packet: thread t has the positions t, t + LANES, ... of it, with the entries of their
 * rows one after the other, so that no two add to one row; what is more than four times the mean of the
 * threads goes to the rest.
 *   PTR    where a packet's places begin; entry k of thread t is at ptr + k*LANES + t
 *   COL    of a packet's place: the row's position in the packet * 2^16 + the column's, -1: padding; then the
 *          rest's columns
 *   ROW    rows of the rest, in CSR's order
 *   LIST   row and column at each position, -1: none; no such array where packets are in the order given
 *   ORDER  of each stored place the position in CSR, -1: padding; for the way back
 * width is the number of places in packets.
 * Source: Bell & Garland, Efficient sparse matrix-vector multiplication on CUDA, NVIDIA NVR-2008-004, section
 * 3.6. */
#include <inttypes.h>

#include "core/pkt.h"
#include "format/build.h"
#include "format/parts.h"

enum { LANES = SPX_PKT_LANES };

typedef struct job {
    const spx_sparse *csr;
    const spx_sparse *a;
    int64_t side, packets;
    const int32_t *list; /* row at a position, */
    int32_t *position;   /* and position of a row; NULL without a list */
    int64_t *places;     /* a packet's: count, then where it begins */
    int64_t *rest;       /* a row's: count, then where it begins */
} job;

/* Rows that a packet may have, from this position on. */
static int64_t positions(const job *j, int64_t p)
{
    return j->list ? j->side : spx_min(j->side, j->csr->nrows - p * j->side);
}

/* The column's place among the packet's; out of 0 ... side - 1: it is not of the packet. */
static int64_t column_in(const job *j, int64_t packet, int32_t col)
{
    const int64_t position = j->position ? j->position[col] : col;
    return position - spx_pkt_first_column(j->csr->nrows, j->csr->ncols, j->side, packet);
}

static bool inside(const job *j, int64_t column)
{
    return column >= 0 && column < j->side;
}

/* How many entries of a packet a thread takes: four times the mean, so that one long row does not make
 * all threads wait; what is above that goes to the rest. */
static int64_t most_of_a_thread(const job *j, int64_t p)
{
    enum { UNEVEN = 4, LEAST = 8 };
    const int32_t *col = spx_data(j->csr, SPX_COL);
    int64_t n = 0;
    for (int64_t k = 0; k < positions(j, p); k++) {
        const int64_t r = spx_pkt_at(j->list, p * j->side + k);
        if (r < 0) continue;
        for (int64_t i = spx_ptr_at(j->csr, r); i < spx_ptr_at(j->csr, r + 1); i++)
            n += inside(j, column_in(j, p, col[i]));
    }
    return spx_max(LEAST, UNEVEN * spx_ceil_div(n, spx_max(1, spx_min(LANES, positions(j, p)))));
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

/* Counts a packet's places, and of each row what is left over; or writes them. */
static void walk_packet(const job *j, int64_t p, bool write)
{
    const spx_sparse *csr = j->csr;
    const int32_t *col = spx_data(csr, SPX_COL);
    const int64_t most = most_of_a_thread(j, p);
    int64_t taken[LANES] = { 0 }, longest = 0;
    for (int64_t k = 0; k < positions(j, p); k++) {
        const int64_t r = spx_pkt_at(j->list, p * j->side + k), t = k % LANES;
        if (r < 0) continue;
        int64_t rest = write ? j->rest[r] : 0;
        for (int64_t i = spx_ptr_at(csr, r); i < spx_ptr_at(csr, r + 1); i++) {
            const int64_t column = column_in(j, p, col[i]);
            if (inside(j, column) && taken[t] < most) {
                if (write) put(j, j->places[p] + taken[t] * LANES + t, spx_pkt_place(k, column), i);
                longest = spx_max(longest, ++taken[t]);
                continue;
            }
            if (write) {
                ((int32_t *)j->a->slot[SPX_ROW]->data)[rest] = (int32_t)r;
                put(j, j->a->width + rest, col[i], i);
            }
            rest++;
        }
        if (!write) j->rest[r] = rest;
    }
    if (!write) j->places[p] = longest * LANES;
    for (int64_t t = 0; write && t < LANES; t++)
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

/* The list of rows: the one that is kept, since METIS draws numbers that other threads may have drawn
 * in between; or a new one; or none. */
static spmvx_status take_list(const spmvx_context *ctx, job *j, const spx_build *how, spx_sparse *a)
{
    spx_array **list = &a->slot[SPX_LIST];
    if (how->kept) *list = spx_array_share(how->kept);
    else if (how->layout.partition != SPX_PKT_ORDER)
        SPX_TRY(spx_parts(ctx, j->csr, j->side, how->layout.partition == SPX_PKT_METIS, list));
    a->layout.partition = *list ? SPX_PKT_METIS : SPX_PKT_ORDER;
    j->packets = spx_ceil_div(j->csr->nrows, j->side);
    if (!*list) return SPMVX_OK;
    j->list = (*list)->data;
    j->packets = (int64_t)((*list)->bytes / sizeof(int32_t)) / j->side;
    SPX_TRY(spx_alloc(ctx, spx_bytes(j->csr->nrows, sizeof *j->position), "positions of rows", &j->position));
    for (int64_t i = 0; i < j->packets * j->side; i++)
        if (j->list[i] >= 0) j->position[j->list[i]] = (int32_t)i;
    return SPMVX_OK;
}

static spmvx_status new_arrays(const spmvx_context *ctx, spx_sparse *a, int64_t packets)
{
    SPX_TRY(spx_array_new(ctx, packets + 1, spx_type_bytes(a->ptr_type), "ptr", &a->slot[SPX_PTR]));
    SPX_TRY(spx_array_new(ctx, a->stored, sizeof(int32_t), "col", &a->slot[SPX_COL]));
    SPX_TRY(spx_array_new(ctx, a->stored, spx_type_bytes(a->val_type), "val", &a->slot[SPX_VAL]));
    SPX_TRY(spx_array_new(ctx, spx_pkt_rest(a), sizeof(int32_t), "row", &a->slot[SPX_ROW]));
    return spx_array_new(ctx, a->stored, sizeof(int64_t), "an order of the entries", &a->slot[SPX_ORDER]);
}

/* Counts into where each begins, and their sum; which saturates. */
static int64_t sum_up(int64_t *count, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t own = count[i];
        count[i] = sum;
        if (__builtin_add_overflow(sum, own, &sum) || sum > INT64_MAX / 64) sum = INT64_MAX / 64;
    }
    return sum;
}

static spmvx_status build(const spmvx_context *ctx, job *j, const spx_build *how, spx_sparse *a)
{
    const spx_sparse *csr = j->csr;
    const int threads = spx_threads_for(ctx->threads, csr->nnz);
    SPX_TRY(take_list(ctx, j, how, a));
    const int64_t packets = j->packets;
    SPX_TRY(spx_alloc(ctx, spx_bytes(packets + 1, sizeof *j->places), "counts of the packets", &j->places));
    SPX_TRY(spx_alloc(ctx, spx_bytes(csr->nrows, sizeof *j->rest), "counts of rows", &j->rest));
    spx_parallel(threads, packets, count_body, j);
    a->width = j->places[packets] = sum_up(j->places, packets);
    const int64_t rest = sum_up(j->rest, csr->nrows);
    a->stored = a->width + rest;
    a->ptr_type = spx_count_type(a->width);
    size_t bytes = spx_plus(spx_bytes(a->stored, 12 + spx_type_bytes(a->val_type)), spx_bytes(rest, 4));
    if (j->list) bytes = spx_plus(bytes, a->slot[SPX_LIST]->bytes);
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
    spx_free(ctx, j.position);
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
    const int32_t *col = spx_data(a, SPX_COL), *row = spx_data(a, SPX_ROW), *list = spx_data(a, SPX_LIST);
    for (int64_t p = 0; p < spx_pkt_packets(a); p++) {
        const int64_t row0 = p * a->layout.packet,
                      col0 = spx_pkt_first_column(a->nrows, a->ncols, a->layout.packet, p);
        for (int64_t at = spx_ptr_at(a, p); at < spx_ptr_at(a, p + 1); at++)
            if (col[at] != SPX_PKT_PADDING)
                each(a, csr, at, spx_pkt_at(list, row0 + spx_pkt_row(col[at])),
                     spx_pkt_at(list, col0 + spx_pkt_column(col[at])));
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

/* METIS takes 0.1 to 1.2 microseconds an entry. */
static double setup_ns(const spx_features *f, const spx_look *l)
{
    const bool metis = spx_has_metis() && f->nrows == f->ncols && l->layout.partition != SPX_PKT_ORDER;
    return 15.0 * (double)f->nnz / f->threads + (metis ? 500.0 * (double)f->nnz : 0.0);
}

static const spx_layout_key layout[] = {
    SPX_PKT_KEYS(true),
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
    .keeps = SPX_LIST,
};
