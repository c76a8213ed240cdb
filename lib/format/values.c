/* The code of a matrix's values: all threads collect distinct values, each its own, until there are too many;
 * sorted by their bits, so that the table does not depend on the threads, they are numbered. Values are
 * compared as bits: -0 is not 0, and payloads of NaN stay.
 * Source: Kourtis, Goumas & Koziris, CF 2008 (CSR-VI). */
#include "format/values.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/packed.h"
#include "core/threads.h"

enum { TABLE = SPX_VALUES_TABLE, BYTE = 256, CHUNK = 16384 };

static uint64_t bits_of(const void *val, size_t each, int64_t i)
{
    uint64_t bits;
    uint32_t half;
    if (each == 8) {
        spx_value_copy(&bits, 0, val, i, 8);
        return bits;
    }
    spx_value_copy(&half, 0, val, i, 4);
    return half;
}

static int64_t slot_of(const spx_value_set *s, uint64_t bits)
{
    int64_t h = spx_value_slot(bits);
    while (s->slot[h] && s->list[s->slot[h] - 1] != bits) h = (h + 1) % SPX_VALUE_SLOTS;
    return h;
}

static void insert(spx_value_set *s, uint64_t bits)
{
    if (s->count > TABLE) return;
    const int64_t at = slot_of(s, bits);
    if (s->slot[at]) return;
    if (s->count < TABLE) {
        s->list[s->count] = bits;
        s->slot[at] = (uint16_t)(s->count + 1);
    }
    s->count++;
}

typedef struct collect_job {
    const void *val;
    spmvx_type type;
    int64_t n;
    spx_value_set *set; /* one a thread */
    atomic_bool many;
    atomic_int kind; /* the largest one */
} collect_job;

static void raise_kind(collect_job *j, int own)
{
    int there = atomic_load_explicit(&j->kind, memory_order_relaxed);
    while (there < own && !atomic_compare_exchange_weak(&j->kind, &there, own)) continue;
}

static void collect_body(void *arg, int thread, int64_t begin, int64_t end)
{
    collect_job *const j = arg;
    spx_value_set *const own = j->set + thread;
    const size_t each = spx_type_bytes(j->type);
    const int most = spx_value_kind_most(each);
    for (int64_t c = begin; c < end; c++) {
        bool many = atomic_load_explicit(&j->many, memory_order_relaxed);
        int kind = atomic_load_explicit(&j->kind, memory_order_relaxed);
        const int64_t last = spx_min((c + 1) * CHUNK, j->n);
        uint64_t before = 0;
        for (int64_t i = c * CHUNK; i < last && !(many && kind >= most); i++) {
            const uint64_t bits = bits_of(j->val, each, i);
            if (bits == before && i > c * CHUNK) continue;
            before = bits;
            if (!many) insert(own, bits);
            many |= own->count > TABLE;
            if (kind < most) kind = (int)spx_max(kind, spx_value_kind_of(bits, each));
        }
        if (many) atomic_store_explicit(&j->many, true, memory_order_relaxed);
        raise_kind(j, kind);
        if (many && kind >= most) return;
    }
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The values of sets[1 ... n-1] to sets[0]. */
static void merge(spx_value_set *sets, int n)
{
    for (int t = 1; t < n; t++) {
        for (int64_t i = 0; i < spx_min(sets[t].count, TABLE); i++) insert(sets, sets[t].list[i]);
        if (sets[t].count > TABLE) sets->count = TABLE + 1;
    }
}

/* Numbers the values in order. */
static void number(spx_value_set *set)
{
    qsort(set->list, (size_t)set->count, sizeof *set->list, ascending);
    memset(set->slot, 0, sizeof set->slot);
    for (int64_t i = 0; i < set->count; i++) set->slot[slot_of(set, set->list[i])] = (uint16_t)(i + 1);
}

int64_t spx_value_code_number(const spx_value_code *c, uint64_t bits)
{
    return c->set->slot[slot_of(c->set, bits)] - 1;
}

int64_t spx_value_code_smallest(int64_t n, int64_t distinct, int kind, size_t each)
{
    const int64_t raw = n * (int64_t)each, table = distinct * (int64_t)each;
    if (distinct == 1 && table < raw) return SPX_VALUES_ONE;
    const bool whole = kind == SPX_VALUE_WHOLE && n;
    if (distinct <= BYTE && table + n < (whole ? 2 * n : raw)) return SPX_VALUES_U8;
    if (whole) return SPX_VALUES_I16;
    if (distinct <= TABLE && table + 2 * n < raw) return SPX_VALUES_U16;
    return kind <= SPX_VALUE_SINGLE && each == 8 && n ? SPX_VALUES_F32 : SPX_VALUES_RAW;
}

static bool holds(int64_t values, int64_t distinct, int kind, size_t each)
{
    switch (values) {
    case SPX_VALUES_F32: return kind <= SPX_VALUE_SINGLE && each == 8;
    case SPX_VALUES_I16: return kind == SPX_VALUE_WHOLE;
    case SPX_VALUES_U16: return distinct <= TABLE;
    case SPX_VALUES_U8: return distinct <= BYTE;
    case SPX_VALUES_ONE: return distinct <= 1;
    default: return true;
    }
}

static bool is_numbered(int64_t values)
{
    return values == SPX_VALUES_U16 || values == SPX_VALUES_U8 || values == SPX_VALUES_ONE;
}

spmvx_status spx_value_code_choose(const spmvx_context *ctx, spx_value_set *set, int kind, spmvx_type type,
                                   int64_t n, int64_t asked, spx_value_code *out)
{
    const int64_t distinct = set->count;
    const size_t each = spx_type_bytes(type);
    out->values = asked ? asked : spx_value_code_smallest(n, distinct, kind, each);
    const bool possible = holds(out->values, distinct, kind, each);
    out->set = is_numbered(out->values) && possible ? set : NULL;
    if (out->set) number(set);
    else spx_free(ctx, set);
    if (possible) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_LIMIT,
                    "options.kernel has values=%s, which would lose some of A's %" PRId64
                    " values (%s%" PRId64 " distinct)",
                    spx_values_names[out->values - 1], n, distinct > TABLE ? "more than " : "",
                    spx_min(distinct, TABLE));
}

spmvx_status spx_value_code_find(const spmvx_context *ctx, const void *val, spmvx_type type, int64_t n,
                                 int64_t asked, spx_value_code *out)
{
    *out = (spx_value_code){ SPX_VALUES_RAW, NULL };
    if (asked == SPX_VALUES_RAW || (type != SPMVX_F64 && type != SPMVX_F32)) return SPMVX_OK;
    const int threads = spx_threads_for(ctx->threads, n);
    collect_job j = { .val = val, .type = type, .n = n };
    atomic_init(&j.many, false);
    atomic_init(&j.kind, SPX_VALUE_WHOLE);
    SPX_TRY(spx_alloc(ctx, spx_bytes(threads, sizeof *j.set), "distinct values", &j.set));
    for (int t = 0; t < threads; t++) {
        j.set[t].count = 0;
        memset(j.set[t].slot, 0, sizeof j.set[t].slot);
    }
    spx_parallel(threads, spx_ceil_div(n, CHUNK), collect_body, &j);
    merge(j.set, threads);
    if (atomic_load(&j.many)) j.set->count = TABLE + 1;
    return spx_value_code_choose(ctx, j.set, atomic_load(&j.kind), type, n, asked, out);
}

void spx_value_code_drop(const spmvx_context *ctx, spx_value_code *c)
{
    spx_free(ctx, c->set);
    c->set = NULL;
}

/* Called with constant sizes, so that a value is copied by one move. */
static inline void put_raw(void *coded, int64_t to, const void *val, const int64_t *from, int n, size_t each)
{
    for (int i = 0; i < n; i++)
        if (from[i] < 0) spx_value_clear(coded, to + i, each);
        else spx_value_copy(coded, to + i, val, from[i], each);
}

/* The number that is stored for one value, of a table or its own; 0 for padding. */
static int64_t code_of(const spx_value_code *c, const void *val, size_t each, int64_t from)
{
    if (from < 0) return 0;
    if (c->values == SPX_VALUES_I16)
        return (int64_t)(each == 8 ? ((const double *)val)[from] : ((const float *)val)[from]);
    return spx_value_code_number(c, bits_of(val, each, from));
}

void spx_value_code_put(const spx_value_code *c, spmvx_type type, void *coded, int64_t to, const void *val,
                        const int64_t *from, int n)
{
    const size_t each = spx_type_bytes(type);
    switch (c->values) {
    case SPX_VALUES_ONE: return;
    case SPX_VALUES_F32:
        for (int i = 0; i < n; i++)
            ((float *)coded)[to + i] = from[i] < 0 ? 0.0f : (float)((const double *)val)[from[i]];
        return;
    case SPX_VALUES_I16:
        for (int i = 0; i < n; i++) ((int16_t *)coded)[to + i] = (int16_t)code_of(c, val, each, from[i]);
        return;
    case SPX_VALUES_U16:
        for (int i = 0; i < n; i++) ((uint16_t *)coded)[to + i] = (uint16_t)code_of(c, val, each, from[i]);
        return;
    case SPX_VALUES_U8:
        for (int i = 0; i < n; i++) ((uint8_t *)coded)[to + i] = (uint8_t)code_of(c, val, each, from[i]);
        return;
    default:
        if (each == 8) put_raw(coded, to, val, from, n, 8);
        else if (each == 4) put_raw(coded, to, val, from, n, 4);
        else put_raw(coded, to, val, from, n, each);
    }
}

spmvx_status spx_value_code_table(const spmvx_context *ctx, const spx_value_code *c, spmvx_type type,
                                  spx_array **table)
{
    if (!c->set) return SPMVX_OK;
    const size_t each = spx_type_bytes(type);
    const int64_t count = c->set->count;
    SPX_TRY(spx_array_new(ctx, spx_max(count, 1), each, "distinct values", table));
    for (int64_t i = 0; i < spx_max(count, 1); i++) {
        const uint64_t bits = count ? c->set->list[i] : 0;
        const uint32_t half = (uint32_t)bits;
        spx_value_copy((*table)->data, i, each == 8 ? (const void *)&bits : &half, 0, each);
    }
    return SPMVX_OK;
}

void spx_value_code_take(const spx_sparse *a, int64_t at, void *val, int64_t to)
{
    const void *const coded = spx_data(a, SPX_VAL), *const table = spx_data(a, SPX_TABLE);
    const size_t each = spx_type_bytes(a->val_type);
    switch (a->layout.values) {
    case SPX_VALUES_F32: ((double *)val)[to] = (double)((const float *)coded)[at]; return;
    case SPX_VALUES_I16:
        if (each == 8) ((double *)val)[to] = ((const int16_t *)coded)[at];
        else ((float *)val)[to] = ((const int16_t *)coded)[at];
        return;
    case SPX_VALUES_U16: spx_value_copy(val, to, table, ((const uint16_t *)coded)[at], each); return;
    case SPX_VALUES_U8: spx_value_copy(val, to, table, ((const uint8_t *)coded)[at], each); return;
    case SPX_VALUES_ONE: spx_value_copy(val, to, table, 0, each); return;
    case SPX_VALUES_STEP: spx_value_copy(val, to, coded, at / SPX_PACKED_LANES, each); return;
    default: spx_value_copy(val, to, coded, at, each);
    }
}

spmvx_status spx_value_code_guess(const spmvx_context *ctx, const void *val, spmvx_type type, int64_t n,
                                  int64_t *values, int64_t *distinct)
{
    enum { RUNS = 64, RUN = 256 };
    const size_t each = spx_type_bytes(type);
    spx_value_set *set;
    int kind = SPX_VALUE_WHOLE;
    SPX_TRY(spx_alloc(ctx, sizeof *set, "distinct values", &set));
    set->count = 0;
    memset(set->slot, 0, sizeof set->slot);
    for (int64_t r = 0; r < RUNS && set->count <= TABLE; r++) {
        const int64_t first = spx_part(n, RUNS, r), last = spx_min(first + RUN, spx_part(n, RUNS, r + 1));
        for (int64_t i = first; i < last; i++) {
            const uint64_t bits = bits_of(val, each, i);
            insert(set, bits);
            kind = (int)spx_max(kind, spx_value_kind_of(bits, each));
        }
    }
    /* a table that is half full of a sample has more to come */
    const bool more = set->count > TABLE / 2;
    *distinct = more ? 0 : set->count;
    *values = spx_value_code_smallest(n, more ? TABLE + 1 : set->count, kind, each);
    spx_free(ctx, set);
    return SPMVX_OK;
}
