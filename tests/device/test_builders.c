/* What a device builds of a CSR that lies there is, bit for bit, what the host builds: every format with
 * a builder there, the transpose, CSR of COO, and what DIA and BSR are told to hold; every case and some
 * layouts, all types of values that go through a conversion, pointers of both widths, values that are no
 * numbers; the memory that this takes, and that it stays there. Sees the library's inside, since some
 * formats have no view. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builders.h"
#include "core/packed.h"
#include "core/tiled.h"
#include "dispatch/transfer.h"

typedef struct request {
    spmvx_format format;
    spx_layout layout;
} request;

static const request requests[] = {
    { SPMVX_COO, { 0 } },
    { SPMVX_CSC, { 0 } },
    { SPMVX_ELL, { 0 } },
    { SPMVX_HYB, { 0 } },
    { SPMVX_DIA, { 0 } },
    { SPMVX_SELL, { .slice = 32 } },
    { SPMVX_SELL, { .slice = 32, .sigma = 1 } },
    { SPMVX_SELL, { .slice = 32, .sigma = 64 } },
    { SPMVX_SELL, { .slice = 64 } },
    { SPMVX_SELL, { .slice = 96, .sigma = 1000 } },
    { SPMVX_SELL, { .slice = 32, .sigma = 1 << 30 } },
    { SPMVX_BSR, { 0 } },
    { SPMVX_BSR, { .block_rows = 3, .block_cols = 3 } },
    { SPMVX_BSR, { .block_rows = 2, .block_cols = 7 } },
    { SPMVX_BSR, { .block_rows = 16, .block_cols = 16 } },
    { SPMVX_BSR, { .block_rows = 1, .block_cols = 1 } },
    { SPMVX_CSR5, { .lanes = 32, .lane_entries = 16 } },
    { SPMVX_CSR5, { .lanes = 32, .lane_entries = 1 } },
    { SPMVX_CSR5, { .lanes = 32, .lane_entries = 32 } },
    { SPMVX_TILED, { 0 } },
    { SPMVX_TILED, { .tile_width = 64 } },
    { SPMVX_TILED, { .tile_width = 1000 } },
    { SPMVX_TILED, { .tile_width = 1000, .columns = SPX_COLUMNS_U16 } },
    { SPMVX_TILED, { .tile_width = 5000, .columns = SPX_COLUMNS_DELTA } },
    { SPMVX_TILED, { .hot = 1 } },
    { SPMVX_TILED, { .hot = 20 } },
    { SPMVX_TILED, { .hot = 50000 } },
    { SPMVX_PACKED, { .piece = 504 } },
    { SPMVX_PACKED, { .piece = 20, .sigma = 1 } },
    { SPMVX_PACKED, { .piece = 8, .sigma = 64 } },
    { SPMVX_PACKED, { .piece = 64, .sigma = 1 << 30, .values = SPX_VALUES_RAW } },
    { SPMVX_PACKED, { .piece = 504, .values = SPX_VALUES_U8 } },
};

static void check_matrix(const spmvx_context *ctx, const char *what, const spx_sparse *host,
                         const spx_sparse *there)
{
    static const char *const slots[SPX_SLOTS] = { "ptr",  "row",      "col",  "val",   "bits", "tile",
                                                  "desc", "list_ptr", "list", "order", "table" };
    assert_int_equal(host->format, there->format);
    assert_int_equal(host->val_type, there->val_type);
    assert_int_equal(host->ptr_type, there->ptr_type);
    assert_int_equal(host->nrows, there->nrows);
    assert_int_equal(host->ncols, there->ncols);
    assert_int_equal(host->nnz, there->nnz);
    assert_int_equal(host->stored, there->stored);
    assert_int_equal(host->width, there->width);
    assert_int_equal(host->all_diagonal, there->all_diagonal);
    assert_memory_equal(&host->layout, &there->layout, sizeof host->layout);
    for (int i = 0; i < SPX_SLOTS; i++) {
        const spx_array *h = host->slot[i], *d = there->slot[i];
        if (!h != !d) fail_msg("%s: only one of both has %s", what, slots[i]);
        if (!h) continue;
        if (h->bytes != d->bytes)
            fail_msg("%s: %s has %zu bytes, and %zu on the host", what, slots[i], d->bytes, h->bytes);
        char *down = malloc(d->bytes + 1);
        assert_ok(ctx, ctx->backend->download(ctx, down, d->data, d->bytes));
        for (size_t b = 0; b < d->bytes; b++)
            if (down[b] != ((const char *)h->data)[b])
                fail_msg("%s: %s differs at byte %zu of %zu", what, slots[i], b, d->bytes);
        free(down);
    }
}

/* Both places build, and agree, in a refusal too. */
static void check_build(const spmvx_context *host_ctx, const spx_sparse *host, const spmvx_context *ctx,
                        const spx_sparse *there, const request *q)
{
    enum { MOST = 64 << 20 };
    spx_build how = { .layout = q->layout, .left = MOST, .max_bytes = MOST };
    spx_sparse a = { 0 }, b = { 0 };
    char what[128];
    snprintf(what, sizeof what, "%s of %lld x %lld, %lld entries", spx_format_name(q->format),
             (long long)host->nrows, (long long)host->ncols, (long long)host->nnz);
    const spmvx_status t = spx_format_of_place(ctx, q->format)->from_csr(ctx, there, &how, &b);
    /* which the places choose otherwise */
    if (t == SPMVX_OK && !q->layout.hot) how.layout.columns = b.layout.columns;
    const spmvx_status s = spx_format_find(q->format)->from_csr(host_ctx, host, &how, &a);
    if (s != t)
        fail_msg("%s: %s on the host, %s here: %s", what, spmvx_status_string(s), spmvx_status_string(t),
                 ctx->error);
    if (s == SPMVX_OK) {
        check_matrix(ctx, what, &a, &b);
        spx_sparse_drop(&a);
        spx_sparse_drop(&b);
        return;
    }
    assert_int_equal(s, SPMVX_ERR_LIMIT);
    assert_string_equal(host_ctx->error, ctx->error);
}

static void check_look(const spmvx_context *host_ctx, const spx_sparse *host, const spmvx_context *ctx,
                       const spx_sparse *there, spmvx_format format, const spx_layout *asked)
{
    const spx_features f = { .nrows = host->nrows, .ncols = host->ncols, .nnz = host->nnz };
    spx_look a, b;
    assert_ok(host_ctx, spx_format_find(format)->look(host_ctx, host, &f, asked, &a));
    assert_ok(ctx, spx_format_of_place(ctx, format)->look(ctx, there, &f, asked, &b));
    assert_int_equal(a.stored, b.stored);
    assert_int_equal(a.width, b.width);
    assert_memory_equal(&a.layout, &b.layout, sizeof a.layout);
}

static void check_transpose(const spmvx_context *host_ctx, const spx_sparse *host, const spmvx_context *ctx,
                            const spx_sparse *there)
{
    spx_sparse a = { 0 }, b = { 0 };
    assert_ok(host_ctx, spx_transpose_csr(host_ctx, host, &a));
    assert_ok(ctx, spx_format_of_place(ctx, SPMVX_CSR)->transpose(ctx, there, &b));
    check_matrix(ctx, "the transpose", &a, &b);
    spx_sparse_drop(&a);
    spx_sparse_drop(&b);
}

/* In all layouts, or one a format. */
static void check_all(const spmvx_context *host_ctx, const spx_sparse *csr, const spmvx_context *ctx,
                      bool all)
{
    static const spx_layout open, rectangle = { .block_rows = 5 };
    spx_sparse there = spx_sparse_share(csr);
    assert_ok(ctx, spx_to_place(ctx, &there));
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (all || !i || requests[i].format != requests[i - 1].format)
            check_build(host_ctx, csr, ctx, &there, &requests[i]);
    check_look(host_ctx, csr, ctx, &there, SPMVX_DIA, &open);
    check_look(host_ctx, csr, ctx, &there, SPMVX_BSR, &open);
    check_look(host_ctx, csr, ctx, &there, SPMVX_BSR, &rectangle);
    check_transpose(host_ctx, csr, ctx, &there);
    spx_sparse_drop(&there);
}

/* A host matrix with row pointers of the other width. */
static spx_sparse other_pointers(const spmvx_context *ctx, const spx_sparse *csr)
{
    spx_sparse a = spx_sparse_share(csr);
    a.ptr_type = csr->ptr_type == SPMVX_I32 ? SPMVX_I64 : SPMVX_I32;
    spx_array_drop(a.slot[SPX_PTR]);
    assert_ok(ctx, spx_array_new(ctx, a.nrows + 1, spx_type_bytes(a.ptr_type), "ptr", &a.slot[SPX_PTR]));
    for (int64_t r = 0; r <= a.nrows; r++)
        spx_index_put(a.slot[SPX_PTR]->data, a.ptr_type, r, spx_ptr_at(csr, r));
    return a;
}

spx_sparse builders_csr(const spmvx_context *host_ctx, const spx_sparse *coo, const spmvx_context *ctx)
{
    spx_sparse there = spx_sparse_share(coo), a = { 0 }, b = { 0 };
    assert_ok(ctx, spx_to_place(ctx, &there));
    assert_ok(host_ctx, spx_format_find(SPMVX_COO)->to_csr(host_ctx, coo, &a));
    assert_ok(ctx, spx_format_of_place(ctx, SPMVX_COO)->to_csr(ctx, &there, &b));
    check_matrix(ctx, "CSR of COO", &a, &b);
    spx_sparse_drop(&b);
    spx_sparse_drop(&there);
    return a;
}

/* Some values that are no numbers, and a zero of its own. */
static void make_odd(const spx_sparse *a)
{
    static const double odd[] = { NAN, -0.0, INFINITY };
    for (int64_t i = 0; i < 3 && a->nnz > 3; i++)
        value_put(a->slot[SPX_VAL]->data, a->val_type, (i + 1) * a->nnz / 4, odd[i]);
}

static void check_case(spmvx_context *host_ctx, spmvx_context *ctx, const triples *t, spmvx_type type)
{
    spmvx_matrix *given = case_coo(host_ctx, t, type);
    spx_sparse coo = spx_sparse_share(&given->op[SPMVX_N].A);
    make_odd(&coo);
    spx_sparse csr = builders_csr(host_ctx, &coo, ctx);
    if (type == SPMVX_F64) {
        spx_sparse positions = csr;
        check_all(host_ctx, &csr, ctx, true);
        positions.val_type = SPMVX_I64; /* as an update map, which nobody adds up */
        check_all(host_ctx, &positions, ctx, false);
    } else {
        spx_sparse wide = other_pointers(host_ctx, &csr);
        check_all(host_ctx, &wide, ctx, false);
        spx_sparse_drop(&wide);
    }
    spx_sparse_drop(&csr);
    spx_sparse_drop(&coo);
    spmvx_matrix_destroy(given);
}

/* Blocks of 3 x 3 along some diagonals, all full, so that BSR and DIA have something to find. */
static triples blocks_on_diagonals(int64_t blocks)
{
    static const int64_t offsets[] = { -40, -1, 0, 1, 40 };
    triples t = { "blocks on diagonals", 3 * blocks, 3 * blocks, 0, NULL, NULL, NULL };
    uint64_t seed = 5;
    t.row = malloc((size_t)blocks * 45 * sizeof *t.row);
    t.col = malloc((size_t)blocks * 45 * sizeof *t.col);
    t.val = malloc((size_t)blocks * 45 * sizeof *t.val);
    assert_true(t.row && t.col && t.val);
    for (int64_t B = 0; B < blocks; B++)
        for (int i = 0; i < 5; i++) {
            const int64_t C = B + offsets[i];
            if (C < 0 || C >= blocks) continue;
            for (int k = 0; k < 9; k++) {
                t.row[t.nnz] = (int32_t)(3 * B + k / 3);
                t.col[t.nnz] = (int32_t)(3 * C + k % 3);
                t.val[t.nnz++] = case_value(&seed);
            }
        }
    return t;
}

static void test_cases(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    for (int i = -1;; i++) {
        triples t = i < 0 ? blocks_on_diagonals(500) : case_make(i);
        if (t.nnz < 0) break;
        if (!test_is_slow() || t.nnz <= MANY) {
            check_case(host, ctx, &t, SPMVX_F64);
            check_case(host, ctx, &t, SPMVX_F32);
        }
        triples_free(&t);
    }
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
}

triples builders_short_rows(int64_t rows, int most)
{
    triples t = { "short rows", rows, 1000, 0, NULL, NULL, NULL };
    uint64_t seed = 3;
    t.row = malloc((size_t)(rows * most) * sizeof *t.row);
    t.col = malloc((size_t)(rows * most) * sizeof *t.col);
    t.val = malloc((size_t)(rows * most) * sizeof *t.val);
    assert_true(t.row && t.col && t.val);
    for (int64_t r = 0; r < rows; r++)
        for (int k = most > 1 ? (int)(case_random(&seed) % (unsigned)(most + 1)) : 0; k < most; k++) {
            t.row[t.nnz] = (int32_t)r;
            t.col[t.nnz] = (int32_t)(case_random(&seed) % 1000);
            t.val[t.nnz++] = case_value(&seed);
        }
    return t;
}

/* What the result takes is enough to make it there, so that sizes are told by the code of the values. */
static void check_room(const spmvx_context *ctx, const spx_sparse *there, const request *q)
{
    spx_build how = { .layout = q->layout, .left = SIZE_MAX, .max_bytes = SIZE_MAX };
    spx_sparse built;
    if (spx_format_of_place(ctx, q->format)->from_csr(ctx, there, &how, &built) != SPMVX_OK) return;
    how.left = how.max_bytes = spx_sparse_bytes(&built, true);
    spx_sparse_drop(&built);
    assert_ok(ctx, spx_format_of_place(ctx, q->format)->from_csr(ctx, there, &how, &built));
    spx_sparse_drop(&built);
}

/* Formats that code values, of values of which so many are distinct, around the sizes of the tables: as
 * doubles that are no floats, and as floats, 0 and NaN among them where there is room. */
static void test_few_values(void **state)
{
    (void)state;
    static const int64_t distinct[] = { 1, 2, 256, 257, 4096, 4097 };
    static const double odd[] = { -0.0, 0.0, INFINITY, NAN, 0x1p-126, 0x1p-140 };
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    triples t = builders_short_rows(2500, 4);
    for (size_t d = 0; d < sizeof distinct / sizeof *distinct; d++)
        for (int kind = 0; kind < 3; kind++) { /* doubles, floats as doubles, floats */
            const spmvx_type type = kind == 2 ? SPMVX_F32 : SPMVX_F64;
            for (int64_t k = 0; k < t.nnz; k++) {
                const int64_t i = k * 7919 % distinct[d];
                const double v = i < 6 && distinct[d] > 6 ? odd[i] : 1.0 + (double)i / 3.0;
                t.val[k] = kind ? (double)(float)v : v;
            }
            spmvx_matrix *given = case_coo(host, &t, type);
            spx_sparse csr = builders_csr(host, &given->op[SPMVX_N].A, ctx), there = spx_sparse_share(&csr);
            assert_ok(ctx, spx_to_place(ctx, &there));
            for (int64_t values = 0; values <= SPX_VALUES_STEP; values++) {
                const request packed = { SPMVX_PACKED, { .piece = 504, .values = values } },
                              tiles = { SPMVX_TILED, { .tile_width = 64, .values = values } },
                              hot = { SPMVX_TILED, { .hot = 20, .values = values } };
                check_build(host, &csr, ctx, &there, &packed);
                check_room(ctx, &there, &packed);
                if (values == SPX_VALUES_STEP) continue; /* PACKED's alone */
                check_build(host, &csr, ctx, &there, &tiles);
                check_build(host, &csr, ctx, &there, &hot);
                check_room(ctx, &there, &tiles);
            }
            spx_sparse_drop(&there);
            spx_sparse_drop(&csr);
            spmvx_matrix_destroy(given);
        }
    triples_free(&t);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
}

triples builders_diagonals(int64_t rows)
{
    static const int64_t offset[] = { -1, 0, 40 };
    triples t = builders_short_rows(rows, 3);
    t.nnz = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int d = 0; d < 3; d++) {
            const int64_t c = r + offset[d];
            if (c < 0 || c >= t.ncols) continue;
            t.row[t.nnz] = (int32_t)r, t.col[t.nnz] = (int32_t)c;
            t.val[t.nnz++] = (double)d / 3.0;
        }
    return t;
}

/* One value on each diagonal of a slice, or two on one, in the first slice and in the last. */
static void test_single_values(void **state)
{
    (void)state;
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    for (int kind = 0; kind < 6; kind++) {
        triples t = builders_diagonals(kind < 3 ? 1000 : 33);
        if (kind % 3) t.val[kind % 3 == 1 ? 4 : t.nnz - (kind < 3 ? 3 : 60)] = 0.5;
        spmvx_matrix *given = case_coo(host, &t, kind % 2 ? SPMVX_F32 : SPMVX_F64);
        spx_sparse csr = builders_csr(host, &given->op[SPMVX_N].A, ctx), there = spx_sparse_share(&csr);
        assert_ok(ctx, spx_to_place(ctx, &there));
        for (int asked = 0; asked < 2; asked++) {
            const request q = { SPMVX_PACKED, { .piece = 504, .values = asked ? SPX_VALUES_STEP : 0 } };
            check_build(host, &csr, ctx, &there, &q);
            check_room(ctx, &there, &q);
        }
        spx_sparse_drop(&there);
        spx_sparse_drop(&csr);
        spmvx_matrix_destroy(given);
        triples_free(&t);
    }
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
}

/* More rows than are counted at once for SELL's windows. */
static void test_many_rows(void **state)
{
    (void)state;
    enum { ROWS = 140000 };
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    triples t = builders_short_rows(ROWS, 3);
    spmvx_matrix *given = case_coo(host, &t, SPMVX_F64);
    spx_sparse csr = builders_csr(host, &given->op[SPMVX_N].A, ctx), there = spx_sparse_share(&csr);
    assert_ok(ctx, spx_to_place(ctx, &there));
    check_build(host, &csr, ctx, &there, &(request){ SPMVX_SELL, { .slice = 32 } });
    spx_sparse_drop(&there);
    spx_sparse_drop(&csr);
    spmvx_matrix_destroy(given);
    triples_free(&t);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
}

/* ---- memory ---- */

static size_t bytes_of(const spx_sparse *a)
{
    size_t sum = 0;
    for (int i = 0; i < SPX_SLOTS; i++) sum += a->slot[i] ? a->slot[i]->bytes : 0;
    return sum;
}

/* Beside the target a build takes as much as the source, or, where little of it is told by much, as half of
 * the target. */
static void check_peak(const spx_sparse *source, size_t peak, const spx_sparse *target, const char *what)
{
    const size_t of_sort = test_is_emulated() ? 0 : 1 << 17, /* CUB's own, whatever the size */
        held = bytes_of(target), of_source = bytes_of(source),
                 most = held + of_sort + (of_source > held / 2 ? of_source : held / 2);
    if (peak > most)
        fail_msg("%s of %lld entries in %zu bytes takes %zu at most, for %zu that stay", what,
                 (long long)source->nnz, of_source, peak, held);
}

/* Only BSR's memory, of rows whose entries are in no order. */
static void check_memory_of_bsr(spmvx_context *host, spmvx_context *ctx, const triples *t, spmvx_type type)
{
    const spx_layout layout = { .block_rows = 1, .block_cols = 1 };
    const spx_build how = { .layout = layout, .left = SIZE_MAX, .max_bytes = SIZE_MAX };
    spmvx_matrix *given = case_coo(host, t, type);
    spx_sparse csr = builders_csr(host, &given->op[SPMVX_N].A, ctx), there = spx_sparse_share(&csr), built;
    assert_ok(ctx, spx_to_place(ctx, &there));
    assert_ok(ctx, spx_budget_open(ctx, SIZE_MAX, "nothing", 0));
    assert_ok(ctx, spx_format_of_place(ctx, SPMVX_BSR)->from_csr(ctx, &there, &how, &built));
    check_peak(&there, spx_budget_peak(ctx), &built, "BSR of rows in no order");
    spx_budget_close(ctx);
    spx_sparse_drop(&built);
    check_build(host, &csr, ctx, &there, &(request){ SPMVX_BSR, layout });
    spx_sparse_drop(&there);
    spx_sparse_drop(&csr);
    spmvx_matrix_destroy(given);
}

static void check_memory_of_all(spmvx_context *ctx, const spx_sparse *csr, bool scattered)
{
    const spx_build how = { .left = SIZE_MAX, .max_bytes = SIZE_MAX };
    spx_sparse built = { 0 };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const request *q = &requests[i];
        /* these would be mostly padding */
        if (scattered && (q->format == SPMVX_DIA || q->format == SPMVX_BSR)) continue;
        if (q->layout.values > SPX_VALUES_RAW) continue; /* which would lose some of these */
        spx_build own = how;
        own.layout = q->layout;
        assert_ok(ctx, spx_budget_open(ctx, SIZE_MAX, "nothing", 0));
        assert_ok(ctx, spx_format_of_place(ctx, q->format)->from_csr(ctx, csr, &own, &built));
        check_peak(csr, spx_budget_peak(ctx), &built, spx_format_name(q->format));
        spx_budget_close(ctx);
        spx_sparse_drop(&built);
    }
    assert_ok(ctx, spx_budget_open(ctx, SIZE_MAX, "nothing", 0));
    assert_ok(ctx, spx_format_of_place(ctx, SPMVX_CSR)->transpose(ctx, csr, &built));
    check_peak(csr, spx_budget_peak(ctx), &built, "the transpose");
    spx_budget_close(ctx);
    spx_sparse_drop(&built);
}

static void check_memory(spmvx_context *host, spmvx_context *ctx, const triples *t, spmvx_type type,
                         bool scattered)
{
    spmvx_matrix *given = case_coo(host, t, type);
    spx_sparse coo = spx_sparse_share(&given->op[SPMVX_N].A), csr = { 0 };
    assert_ok(ctx, spx_to_place(ctx, &coo));
    assert_ok(ctx, spx_budget_open(ctx, SIZE_MAX, "nothing", 0));
    assert_ok(ctx, spx_format_of_place(ctx, SPMVX_COO)->to_csr(ctx, &coo, &csr));
    check_peak(&coo, spx_budget_peak(ctx), &csr, "CSR of COO");
    spx_budget_close(ctx);
    check_memory_of_all(ctx, &csr, scattered);
    spx_sparse_drop(&csr);
    spx_sparse_drop(&coo);
    spmvx_matrix_destroy(given);
}

static void triples_swap(triples *t, int64_t i, int64_t j)
{
    const int32_t row = t->row[i], col = t->col[i];
    t->row[i] = t->row[j];
    t->col[i] = t->col[j];
    t->row[j] = row;
    t->col[j] = col;
}

static void test_memory(void **state)
{
    (void)state;
    enum { BLOCKS = 2000, STRIDE = 7919 };
    uint64_t seed = 9;
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    triples t = blocks_on_diagonals(BLOCKS);
    check_memory(host, ctx, &t, SPMVX_F64, false);
    check_memory(host, ctx, &t, SPMVX_F32, false);
    for (int64_t i = 0; i < t.nnz; i++) /* in no order */
        triples_swap(&t, i, i + (int64_t)(case_random(&seed) % (unsigned)(t.nnz - i)));
    for (int64_t i = t.nnz / 2, j = 0; i < t.nnz; i++, j++) /* half of them twice, not side by side */
        t.row[i] = t.row[j], t.col[i] = t.col[j];
    check_memory_of_bsr(host, ctx, &t, SPMVX_F64);
    check_memory_of_bsr(host, ctx, &t, SPMVX_F32);
    for (int64_t i = 0; i < t.nnz; i++) /* columns of a row apart */
        t.col[i] = (int32_t)((t.col[i] * (int64_t)STRIDE + t.row[i]) % t.ncols);
    check_memory(host, ctx, &t, SPMVX_F64, true);
    check_memory(host, ctx, &t, SPMVX_F32, true);
    triples_free(&t);
    t = builders_short_rows(10 * BLOCKS, 1);
    check_memory(host, ctx, &t, SPMVX_F32, true);
    triples_free(&t);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
}

/* ---- what comes down to the host ---- */

static const spx_backend *plain;
static size_t came_down;

static spmvx_status counting_download(const spmvx_context *ctx, void *to, const void *from, size_t bytes)
{
    came_down += bytes;
    return plain->download(ctx, to, from, bytes);
}
static spmvx_status counting_fetch(const spmvx_context *ctx, int32_t device, void *to, const void *from,
                                   size_t bytes)
{
    came_down += bytes;
    return plain->fetch(ctx, device, to, from, bytes);
}

/* A conversion of what lies on the device, and its update map, bring next to nothing to the host: no more
 * than some numbers of a block of rows. */
static void test_stays_there(void **state)
{
    (void)state;
    static const spmvx_format formats[] = { SPMVX_COO, SPMVX_CSC,  SPMVX_ELL,  SPMVX_HYB,   SPMVX_DIA,
                                            SPMVX_BSR, SPMVX_SELL, SPMVX_CSR5, SPMVX_TILED, SPMVX_PACKED };
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    triples t = blocks_on_diagonals(1500);
    spmvx_matrix *given = case_coo(host, &t, SPMVX_F64), *csr = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_CSR;
    o.flags = SPMVX_UPDATABLE | SPMVX_ALLOW_NONDETERMINISTIC; /* CSC has no other kernel */
    assert_ok(ctx, spmvx_matrix_convert(ctx, given, &o, &csr));
    plain = ctx->backend;
    spx_backend counting = *plain;
    counting.download = counting_download;
    counting.fetch = counting_fetch;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        spmvx_matrix *A = NULL;
        o.format = formats[i];
        came_down = 0;
        ctx->backend = &counting;
        assert_ok(ctx, spmvx_matrix_convert(ctx, csr, &o, &A));
        ctx->backend = plain;
        if (came_down > (size_t)t.nnz / 2)
            fail_msg("%s with an update map: %zu bytes came down, of %lld entries",
                     spx_format_name(formats[i]), came_down, (long long)t.nnz);
        assert_true(came_down > 0);
        spmvx_matrix_destroy(A);
    }
    spmvx_matrix_destroy(csr);
    spmvx_matrix_destroy(given);
    triples_free(&t);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
}

/* What is not left is refused, and nothing stays. */
static void test_limit(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *csr = NULL, *A = NOT_WRITTEN;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &csr));
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_SELL;
    o.max_bytes = (size_t)p.t.nnz * 12 + 1000;
    assert_fails(SPMVX_ERR_LIMIT, "SELL would hold", spmvx_matrix_convert(ctx, csr, &o, &A));
    assert_ptr_equal(A, NOT_WRITTEN);
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),         cmocka_unit_test(test_few_values),
        cmocka_unit_test(test_single_values), cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_stays_there),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) + builders_looks_run();
}
