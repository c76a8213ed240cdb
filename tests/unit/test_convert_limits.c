/* max_bytes of a conversion, through every value that changes the outcome, beside an allocator that counts on
 * its own: the result never holds more, what fits is accepted, and what is taken on the way has a bound. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "meter.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { FORMATS = SPMVX_PKT + 1, STEPS = 12 /* a limit is less than the one before by so much of it */ };

typedef struct request {
    const char *name;
    spmvx_format format;
    uint32_t ops, flags;
    int32_t effort;
} request;

typedef struct outcome {
    spmvx_status status;
    size_t held, peak; /* the peak beyond what was there before */
} outcome;

static size_t csr_bytes(const triples *t, spmvx_type type)
{
    return (size_t)t->nnz * (4 + value_bytes(type)) + (size_t)(t->nrows + 1) * 4;
}

/* What a conversion may take beside its result: see lib/dispatch/convert.c. */
static size_t scratch(const triples *t, spmvx_type type, size_t source, const request *q, size_t max_bytes)
{
    const size_t n = 8 * csr_bytes(t, type) + source + ((size_t)16 << 20);
    const int64_t vectors = t->nrows + t->ncols + (t->nrows > t->ncols ? t->nrows : t->ncols);
    return q->effort ? n + max_bytes + (size_t)vectors * value_bytes(type) : n;
}

static outcome convert_within(meter *m, spmvx_context *ctx, const spmvx_matrix *A, const triples *t,
                              spmvx_type type, const request *q, size_t max_bytes, bool check)
{
    outcome r = { 0 };
    spmvx_matrix *B = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT, of_A = SPMVX_MATRIX_INFO_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = q->format;
    o.ops = q->ops;
    o.flags = q->flags;
    o.effort = q->effort;
    o.max_bytes = max_bytes;
    meter_reset(m);
    const size_t before = m->live;
    const long blocks = m->blocks;
    assert_ok(ctx, spmvx_matrix_get_info(A, &of_A));
    r.status = spmvx_matrix_convert(ctx, A, &o, &B);
    r.peak = m->peak - before;
    if (r.status == SPMVX_OK) {
        assert_ok(ctx, spmvx_matrix_get_info(B, &i));
        r.held = i.bytes_held;
        if (r.held > max_bytes)
            fail_msg("%s on %s: %zu bytes are held, and max_bytes is %zu: %s", q->name, t->name, r.held,
                     max_bytes, i.kernel);
        if (check) case_check(ctx, B, t, q->name);
        spmvx_matrix_destroy(B);
    } else if (r.status != SPMVX_ERR_LIMIT)
        fail_msg("%s on %s, max_bytes %zu: %d %s", q->name, t->name, max_bytes, (int)r.status,
                 spmvx_last_error(ctx));
    else assert_true(m->blocks <= blocks + (q->effort > 0)); /* room for wisdom, which the context keeps */
    const size_t most =
        max_bytes == SIZE_MAX ? SIZE_MAX : max_bytes + scratch(t, type, of_A.bytes_held, q, max_bytes);
    if (r.peak > most)
        fail_msg("%s on %s, max_bytes %zu: %zu bytes were taken, above %zu", q->name, t->name, max_bytes,
                 r.peak, most);
    return r;
}

/* From an answer at `low` to another at `high`: every byte around the change. */
static void around_the_change(meter *m, spmvx_context *ctx, const spmvx_matrix *A, const triples *t,
                              spmvx_type type, const request *q, size_t low, size_t high)
{
    const outcome top = convert_within(m, ctx, A, t, type, q, high, false);
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        const outcome r = convert_within(m, ctx, A, t, type, q, mid, false);
        if (r.status == top.status && r.held == top.held) high = mid;
        else low = mid;
    }
    for (size_t limit = low > 4 ? low - 4 : 1; limit < high + 4; limit++)
        convert_within(m, ctx, A, t, type, q, limit, false);
}

static void sweep(const triples *t, spmvx_type type, const request *q, spmvx_format from, bool own_context)
{
    meter m = { 0 };
    spmvx_context *ctx = meter_context(&m, 2), *maker = own_context ? ctx : test_context(NULL, 2);
    spmvx_matrix *A = NULL;
    csr_arrays csr = case_csr(t, type);
    if (from == SPMVX_COO) A = case_coo(maker, t, type);
    else assert_ok(maker, spmvx_matrix_create(maker, &csr.arrays, 0, &A));
    csr_free(&csr);
    const outcome free_of_limits = convert_within(&m, ctx, A, t, type, q, SIZE_MAX, true);
    assert_int_equal(free_of_limits.status, SPMVX_OK);
    const size_t held = free_of_limits.held;
    if (!held) {
        spmvx_matrix_destroy(A);
        if (!own_context) spmvx_context_destroy(maker);
        spmvx_context_destroy(ctx);
        return;
    }
    if (!q->effort && convert_within(&m, ctx, A, t, type, q, held, true).status != SPMVX_OK)
        fail_msg("%s on %s: what it holds, %zu bytes, is refused as max_bytes: %s", q->name, t->name, held,
                 spmvx_last_error(ctx));
    /* With less, another kernel or format is taken, until none is left; more room never ends in a refusal. */
    size_t fits = 0;
    for (size_t limit = held; limit; limit -= limit / STEPS + 1)
        if (convert_within(&m, ctx, A, t, type, q, limit, false).status == SPMVX_OK) fits = limit;
    if (fits > 1) around_the_change(&m, ctx, A, t, type, q, 1, fits);
    for (size_t limit = fits; fits && limit < held; limit += limit / STEPS + 1)
        if (convert_within(&m, ctx, A, t, type, q, limit, false).status != SPMVX_OK)
            fail_msg("%s on %s: max_bytes %zu is enough, and %zu is not: %s", q->name, t->name, fits, limit,
                     spmvx_last_error(ctx));
    spmvx_matrix_destroy(A);
    if (!own_context) spmvx_context_destroy(maker);
    spmvx_context_destroy(ctx);
    assert_int_equal(m.blocks, 0);
}

static const char *const names[] = { "AUTO", "COO", "CSR", "CSC",   "ELL",    "SELL", "CSR5",
                                     "HYB",  "DIA", "BSR", "TILED", "PACKED", "PKT" };

static void sweep_all(const int *cases, size_t count, int32_t effort)
{
    for (size_t c = 0; c < count; c++) {
        triples t = case_make(cases[c]);
        for (int f = 0; f < FORMATS; f++) {
            if (effort && f != SPMVX_AUTO && f != SPMVX_SELL && f != SPMVX_BSR) continue;
            for (uint32_t ops = SPMVX_OPS_N; ops <= (SPMVX_OPS_N | SPMVX_OPS_T); ops += SPMVX_OPS_T)
                for (uint32_t flags = 0; flags <= SPMVX_UPDATABLE; flags += SPMVX_UPDATABLE) {
                    if (effort && flags) continue;
                    char name[80];
                    snprintf(name, sizeof name, "%s, ops %u%s, effort %d", names[f], (unsigned)ops,
                             flags ? ", updatable" : "", (int)effort);
                    const request q = { name, (spmvx_format)f, ops, flags, effort };
                    const spmvx_type type = f % 2 ? SPMVX_F32 : SPMVX_F64;
                    sweep(&t, type, &q, SPMVX_CSR, true);
                    if (!effort) sweep(&t, type, &q, SPMVX_COO, false);
                }
        }
        triples_free(&t);
    }
}

static void small_matrices(void **state)
{
    (void)state;
    static const int cases[] = { 3, 4, 7, 15 };
    sweep_all(cases, COUNT(cases), 0);
}

static void larger_matrices(void **state)
{
    (void)state;
    static const int cases[] = { 8, 11 };
    sweep_all(cases, COUNT(cases), 0);
}

static void timed(void **state)
{
    (void)state;
    static const int cases[] = { 7, 15 };
    sweep_all(cases, COUNT(cases), 1);
}

/* Refused before anything in proportion to the matrix is taken. */
static void refused_early(void **state)
{
    (void)state;
    enum { LITTLE = 65536 };
    static const int cases[] = { 10, 12, 13, 14 };
    for (size_t c = 0; c < COUNT(cases); c++) {
        triples t = case_make(cases[c]);
        meter m = { 0 };
        spmvx_context *ctx = meter_context(&m, 2);
        spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *A = NULL;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.format = SPMVX_CSR;
        assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &A));
        for (int f = SPMVX_COO; f < FORMATS; f++) {
            const request q = { names[f], (spmvx_format)f, SPMVX_OPS_N, 0, 0 };
            const outcome r = convert_within(&m, ctx, A, &t, SPMVX_F64, &q, 1, false);
            assert_int_equal(r.status, SPMVX_ERR_LIMIT);
            if ((f == SPMVX_TILED || f == SPMVX_ELL || f == SPMVX_CSR5 || f == SPMVX_COO) && r.peak > LITTLE)
                fail_msg("%s on %s: %zu bytes were taken to refuse it", names[f], t.name, r.peak);
        }
        spmvx_matrix_destroy(A);
        spmvx_matrix_destroy(coo);
        spmvx_context_destroy(ctx);
        assert_int_equal(m.blocks, 0);
        triples_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(small_matrices), cmocka_unit_test(larger_matrices),
                                        cmocka_unit_test(timed), cmocka_unit_test(refused_early) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
