/* PACKED back to CSR, exactly: pieces give their entries to the row that they were cut from, twice over the
 * slices, once for the rows' lengths and once for the entries. The format is told in packed.c. */
#include "format/packed_to_csr.h"

#include <string.h>

#include "core/packed.h"
#include "format/build.h"
#include "format/values.h"

typedef struct unfill_job {
    const spx_sparse *a;
    spx_sparse *csr;
    bool write;
} unfill_job;

typedef struct place {
    int64_t row, begin; /* -1: none; where the lane's piece begins in its row */
    bool last;          /* the piece ends the row */
} place;

static place place_of(const spx_sparse *a, int64_t lane)
{
    const int32_t *cut = spx_data(a, SPX_LIST);
    const int64_t *first = spx_data(a, SPX_LIST_PTR);
    const int64_t row = spx_packed_row(a, spx_data(a, SPX_ROW), lane);
    if (row >= SPX_PACKED_NO_ROW) return (place){ row, 0, true };
    const int64_t part = SPX_PACKED_PART - row;
    int64_t low = 0, high = (int64_t)(a->slot[SPX_LIST]->bytes / sizeof *cut);
    while (low + 1 < high) {
        const int64_t mid = low + (high - low) / 2;
        if (first[mid] <= part) low = mid;
        else high = mid;
    }
    return (place){ cut[low], (part - first[low]) * a->layout.piece, part + 1 == first[low + 1] };
}

/* The columns of the steps of a slice, one after the other. */
typedef struct told {
    const unsigned char *stream; /* of the next step, or of its run */
    int kind;
    spx_packed_shared shared;
    int patterns, in_run;
    int lane_of[SPX_PACKED_LANES]; /* shared: the number of a lane's pattern; else the lane's own */
} told;

static told told_of(const spx_sparse *a, int64_t s)
{
    const int64_t tile = ((const int64_t *)spx_data(a, SPX_TILE))[s];
    told t = { (const unsigned char *)spx_data(a, SPX_COL) + spx_packed_stream(tile),
               spx_packed_kind(tile),
               { UINT32_MAX, 1, 0 },
               0,
               0,
               { 0 } };
    if (t.kind == SPX_PACKED_SHARED) {
        memcpy(&t.shared, t.stream, sizeof t.shared);
        t.stream += sizeof t.shared;
    }
    for (int i = 0; i < SPX_PACKED_LANES; i++) {
        t.patterns += (int)(t.shared.begins >> i & 1);
        t.lane_of[i] = t.patterns - 1;
    }
    return t;
}

/* The column of a lane, or -1. */
static int64_t column(const told *t, int64_t base, int64_t lane)
{
    uint32_t mask;
    int32_t wide;
    uint16_t narrow;
    if (t->kind == SPX_PACKED_DIAGONALS) {
        memcpy(&mask, t->stream, sizeof mask);
        return mask >> lane & 1 ? base + lane : -1;
    }
    const size_t of = (size_t)t->lane_of[lane];
    if (base < 0 || t->shared.wide) {
        memcpy(&wide, t->stream + of * sizeof wide, sizeof wide);
        return wide < 0 ? -1 : wide + spx_max(base, 0);
    }
    memcpy(&narrow, t->stream + of * sizeof narrow, sizeof narrow);
    return narrow == SPX_PACKED_PADDING ? -1 : base + narrow;
}

static void next_step(told *t, int32_t base)
{
    if (t->kind == SPX_PACKED_DIAGONALS) t->stream += sizeof(uint32_t);
    else if (t->kind == SPX_PACKED_OFFSETS) t->stream += spx_packed_step_bytes(base);
    else if (++t->in_run == t->shared.run) {
        t->stream += spx_packed_run_bytes(t->patterns, t->shared.wide);
        t->in_run = 0;
    }
}

/* Writes a slice's entries to their rows; or, before there are row pointers, the rows' lengths. */
static void unfill_slice(const unfill_job *j, int64_t s)
{
    const spx_sparse *a = j->a;
    const int32_t *base = spx_data(a, SPX_DESC);
    told t = told_of(a, s);
    place lane[SPX_PACKED_LANES];
    int64_t to[SPX_PACKED_LANES];
    for (int64_t i = 0; i < SPX_PACKED_LANES; i++) {
        lane[i] = place_of(a, s * SPX_PACKED_LANES + i);
        to[i] = lane[i].begin + (j->write && lane[i].row >= 0 ? spx_ptr_at(j->csr, lane[i].row) : 0);
    }
    for (int64_t step = spx_ptr_at(a, s); step < spx_ptr_at(a, s + 1); step++) {
        for (int64_t i = 0; i < SPX_PACKED_LANES; i++) {
            const int64_t c = column(&t, base[step], i);
            if (c < 0) continue;
            if (j->write) {
                ((int32_t *)j->csr->slot[SPX_COL]->data)[to[i]] = (int32_t)c;
                spx_value_code_take(a, step * SPX_PACKED_LANES + i, j->csr->slot[SPX_VAL]->data, to[i]);
            }
            to[i]++;
        }
        next_step(&t, base[step]);
    }
    for (int64_t i = 0; !j->write && i < SPX_PACKED_LANES; i++)
        if (lane[i].row >= 0 && lane[i].last)
            spx_index_put(j->csr->slot[SPX_PTR]->data, j->csr->ptr_type, lane[i].row + 1, to[i]);
}

static void unfill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    for (int64_t s = begin; s < end; s++) unfill_slice(arg, s);
}

spmvx_status spx_packed_to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    const int64_t slices = spx_packed_slices(a);
    const int threads = spx_threads_for(ctx->threads, a->stored);
    SPX_TRY(spx_csr_new(ctx, a, a->nnz, csr));
    unfill_job j = { a, csr, false };
    spx_parallel(threads, slices, unfill_body, &j);
    spx_running_sum(csr->slot[SPX_PTR]->data, csr->ptr_type, a->nrows);
    j.write = true;
    spx_parallel(threads, slices, unfill_body, &j);
    return SPMVX_OK;
}
