/* What memory the choice by the library takes: of any shape little, and where it runs out the next candidate
 * is taken, CSR at last. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "meter.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A CSR of the caller's, in arrays that are lent: so nothing but the conversion is counted. */
typedef struct shape {
    const char *name;
    int64_t nrows, ncols, nnz;
    int64_t (*row)(const struct shape *, int64_t k); /* rising */
    int64_t (*col)(const struct shape *, int64_t k);
} shape;

static int64_t evenly(const shape *s, int64_t k)
{
    return k * s->nrows / s->nnz;
}
static int64_t anywhere(const shape *s, int64_t k)
{
    uint64_t seed = (uint64_t)k * 2654435761u + 88172645463325252u;
    for (int i = 0; i < 3; i++) case_random(&seed);
    return (int64_t)(seed % (uint64_t)s->ncols);
}
static int64_t first(const shape *s, int64_t k)
{
    (void)s, (void)k;
    return 0;
}
static int64_t middle(const shape *s, int64_t k)
{
    return k < 100 ? k * s->nrows / 201 : s->nrows / 2;
}
static int64_t in_order(const shape *s, int64_t k)
{
    return k % s->ncols;
}
static int64_t power(const shape *s, int64_t k) /* row r has about nnz / (r + 1)^2 entries */
{
    const int64_t r = s->nnz / (s->nnz - k) - 1;
    return r < s->nrows ? r : s->nrows - 1;
}

static const shape shapes[] = {
    { "10 x 2^31 - 1", 10, 2147483647, 80, evenly, anywhere },
    { "1 x 2^31 - 1", 1, 2147483647, 7, first, anywhere },
    { "wide", 300, 50000000, 5000, evenly, anywhere },
    { "tall", 400000, 3, 60000, evenly, anywhere },
    { "tall, one entry", 400000, 1, 1, evenly, first },
    { "one dense row", 2000, 100000, 100100, middle, in_order },
    { "one dense column", 100000, 2000, 100000, evenly, first },
    { "power law", 30000, 30000, 200000, power, anywhere },
    { "scattered", 20000, 20000, 100000, evenly, anywhere },
    { "band", 20000, 20000, 20000, evenly, in_order },
    { "empty", 1000, 1000, 0, NULL, NULL },
    { "empty and wide", 3, 2147483647, 0, NULL, NULL },
    { "0 x 0", 0, 0, 0, NULL, NULL },
    { "1 x 1", 1, 1, 1, first, first },
};

typedef struct lent {
    int32_t *ptr, *row, *col;
    double *val;
    spmvx_arrays arrays; /* CSR */
} lent;

static lent make(const shape *s)
{
    lent l = { calloc((size_t)s->nrows + 2, 4), malloc((size_t)s->nnz * 4 + 4),
               malloc((size_t)s->nnz * 4 + 4), malloc((size_t)s->nnz * 8 + 8), SPMVX_ARRAYS_INIT };
    assert_true(l.ptr && l.row && l.col && l.val);
    for (int64_t k = 0; k < s->nnz; k++) {
        l.row[k] = (int32_t)s->row(s, k);
        l.ptr[l.row[k] + 1]++;
        l.col[k] = (int32_t)s->col(s, k);
        l.val[k] = 1 + (double)(k % 5);
    }
    for (int64_t r = 0; r < s->nrows; r++) l.ptr[r + 1] += l.ptr[r];
    l.arrays.nrows = s->nrows;
    l.arrays.ncols = s->ncols;
    l.arrays.nnz = s->nnz;
    l.arrays.ptr = l.ptr;
    l.arrays.col = l.col;
    l.arrays.val = l.val;
    return l;
}

static void borrowed_free(lent *l)
{
    free(l->ptr);
    free(l->row);
    free(l->col);
    free(l->val);
}

static triples triples_of(const shape *s, const lent *l)
{
    return (triples){ s->name, s->nrows, s->ncols, s->nnz, l->row, l->col, l->val };
}

/* Products are held against the triples where x and y are small. */
static void check(spmvx_context *ctx, const spmvx_matrix *m, const shape *s, const lent *l)
{
    const triples t = triples_of(s, l);
    if (s->ncols < 1000000) case_check(ctx, m, &t, s->name);
}

static size_t csr_bytes(const shape *s)
{
    return (size_t)(s->nrows + 1) * 4 + (size_t)s->nnz * 12;
}

/* Beside what the result holds, which is itself no more than CSR here: what a choice takes, with a block for
 * each array and record. */
static void scratch_of_the_choice(void **state)
{
    (void)state;
    enum { RECORDS = 16384 };
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const shape *s = &shapes[i];
        meter m = { 0 };
        lent l = make(s);
        spmvx_context *ctx = meter_context(&m, 2);
        spmvx_matrix *A = NULL, *B = NULL;
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        assert_ok(ctx, spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW | SPMVX_TRUST, &A));
        setenv("SPMVX_DISABLE", "coo-scalar,csc-scalar,ell,sell,hyb,dia,bsr,csr5,tiled,packed", 1);
        const size_t plain = m.live;
        meter_reset(&m);
        assert_ok(ctx, spmvx_matrix_convert(ctx, A, NULL, &B)); /* CSR alone: what every choice takes */
        const size_t of_csr = m.peak - plain;
        spmvx_matrix_destroy(B);
        unsetenv("SPMVX_DISABLE");
        assert_true(of_csr <= RECORDS + csr_bytes(s) / 4);
        /* AUTO looks at every format; what it builds is bounded apart, by scratch() of a conversion */
        const size_t before = m.live;
        meter_reset(&m);
        assert_ok(ctx, spmvx_matrix_convert(ctx, A, NULL, &B));
        assert_ok(ctx, spmvx_matrix_get_info(B, &info));
        const bool takes_csr = info.format == SPMVX_CSR; /* and does not fall back to it */
        spmvx_matrix_destroy(B);
        meter_reset(&m);
        m.fail_above = csr_bytes(s) / 4 + (1 << 20) + 64;
        const spmvx_status status = spmvx_matrix_convert(ctx, A, NULL, &B);
        if (status != SPMVX_OK) fail_msg("%s: %s", s->name, spmvx_last_error(ctx));
        assert_ok(ctx, spmvx_matrix_get_info(B, &info));
        m.fail_above = 0;
        if (takes_csr && m.peak - before > csr_bytes(s) / 4 + (1 << 20) + RECORDS)
            fail_msg("%s: CSR of %zu bytes was kept, and %zu were taken to choose it", s->name, csr_bytes(s),
                     m.peak - before);
        check(ctx, B, s, &l);
        spmvx_matrix_destroy(B);
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
        borrowed_free(&l);
        assert_int_equal(m.blocks, 0);
    }
}

/* With an allocator that refuses what goes beyond 64 MB in total, and of what is largely empty far less. */
static void little_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int32_t effort = 0; effort < 2; effort++)
            for (uint32_t ops = SPMVX_OPS_N; ops <= (SPMVX_OPS_N | SPMVX_OPS_T); ops += SPMVX_OPS_T) {
                const shape *s = &shapes[i];
                if (effort && s->ncols > 1000000) continue; /* which times with vectors of that length */
                if (ops & SPMVX_OPS_T && s->ncols > 2000000000 && s->nnz == 0) continue;
                meter m = { 0 };
                lent l = make(s);
                spmvx_context *ctx = meter_context(&m, 2);
                spmvx_matrix *A = NULL, *B = NULL;
                spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
                o.effort = effort;
                o.ops = ops;
                m.limit = (size_t)64 << 20;
                assert_ok(ctx, spmvx_matrix_create(ctx, &l.arrays, 0, &A));
                const spmvx_status status = spmvx_matrix_convert(ctx, A, &o, &B);
                if (status != SPMVX_OK)
                    fail_msg("%s, ops %u, effort %d: %s", s->name, (unsigned)ops, (int)effort,
                             spmvx_last_error(ctx));
                check(ctx, B, s, &l);
                spmvx_matrix_destroy(B);
                spmvx_matrix_destroy(A);
                spmvx_context_destroy(ctx);
                borrowed_free(&l);
                assert_int_equal(m.blocks, 0);
            }
}

static spmvx_status convert_with_limit(const spmvx_matrix *A, const triples *t,
                                       const spmvx_convert_options *o, size_t limit)
{
    meter m = { .limit = limit };
    spmvx_context *ctx = meter_context(&m, 2);
    spmvx_matrix *B = NULL;
    const spmvx_status s = spmvx_matrix_convert(ctx, A, o, &B);
    if (s == SPMVX_OK && o->format == SPMVX_AUTO) case_check(ctx, B, t, "little memory in all");
    else assert_true(s == SPMVX_OK || s == SPMVX_ERR_MEMORY);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
    assert_int_equal(m.blocks, 0);
    return s;
}

/* A transpose or a map for updates comes after the choice: where CSR has room for them, so has AUTO. */
static void what_comes_after_the_choice(void **state)
{
    (void)state;
    static const int cases[] = { 7, 11, 14 };
    static const size_t context = 5120; /* what one takes, and hardly more */
    for (size_t c = 0; c < COUNT(cases); c++)
        for (uint32_t ops = SPMVX_OPS_N; ops <= (SPMVX_OPS_N | SPMVX_OPS_T); ops += SPMVX_OPS_T)
            for (uint32_t flags = 0; flags <= SPMVX_UPDATABLE; flags += SPMVX_UPDATABLE) {
                triples t = case_make(cases[c]);
                csr_arrays csr = case_csr(&t, SPMVX_F64);
                spmvx_context *maker = test_context(NULL, 2);
                spmvx_matrix *A = NULL;
                spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT, plain = SPMVX_CONVERT_OPTIONS_INIT;
                o.ops = plain.ops = ops;
                o.flags = plain.flags = flags;
                plain.format = SPMVX_CSR;
                assert_ok(maker, spmvx_matrix_create(maker, &csr.arrays, 0, &A));
                int lived = 0;
                for (size_t limit = context; lived < 12 && limit < (size_t)1 << 30; limit += limit / 24) {
                    if (convert_with_limit(A, &t, &plain, limit) != SPMVX_OK) continue;
                    lived++;
                    if (convert_with_limit(A, &t, &o, limit) != SPMVX_OK)
                        fail_msg("%s, ops %u, flags %u: CSR has room in %zu bytes, and AUTO has not", t.name,
                                 (unsigned)ops, (unsigned)flags, limit);
                }
                assert_int_equal(lived, 12);
                spmvx_matrix_destroy(A);
                spmvx_context_destroy(maker);
                csr_free(&csr);
                triples_free(&t);
            }
}

/* The request that fails, alone, and then all larger ones: what CSR alone survives, AUTO survives. */
static bool csr_alone_lives(const spmvx_matrix *A, long fail_at, size_t fail_above)
{
    meter m = { 0 };
    spmvx_context *ctx = meter_context(&m, 2);
    spmvx_matrix *B = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = "csr-scalar";
    meter_reset(&m);
    m.fail_at = fail_at;
    m.fail_above = fail_above;
    const spmvx_status s = spmvx_matrix_convert(ctx, A, &o, &B);
    assert_true(s == SPMVX_OK || s == SPMVX_ERR_MEMORY);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
    assert_int_equal(m.blocks, 0);
    return s == SPMVX_OK;
}

static void requests_that_fail(void **state)
{
    (void)state;
    static const int cases[] = { 7, 11, 10, 14, 12 };
    for (size_t c = 0; c < COUNT(cases); c++)
        for (int32_t effort = 0; effort < 2; effort++) {
            triples t = case_make(cases[c]);
            csr_arrays csr = case_csr(&t, SPMVX_F64);
            spmvx_context *maker = test_context(NULL, 2);
            spmvx_matrix *A = NULL;
            spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
            o.effort = effort;
            assert_ok(maker, spmvx_matrix_create(maker, &csr.arrays, 0, &A));
            int survived = 0, failed = 0;
            const long step = effort ? 3 : 1;
            for (long n = 1;; n += step) {
                meter m = { 0 };
                spmvx_context *ctx = meter_context(&m, 2);
                spmvx_matrix *B = NULL;
                meter_reset(&m);
                m.fail_at = n;
                const spmvx_status s = spmvx_matrix_convert(ctx, A, &o, &B);
                const bool reached = m.requests >= n;
                m.fail_at = 0;
                if (s != SPMVX_OK) {
                    assert_int_equal(s, SPMVX_ERR_MEMORY);
                    failed++;
                } else {
                    survived += reached;
                    assert_string_equal(spmvx_last_error(ctx), "");
                    case_check(ctx, B, &t, "a request failed");
                }
                spmvx_matrix_destroy(B);
                spmvx_context_destroy(ctx);
                assert_int_equal(m.blocks, 0);
                if (!reached) break;
            }
            /* the budget, the matrix's record, the workspace, and CSR's own few */
            if (failed > 8 || !survived)
                fail_msg("%s, effort %d: %d single failures are fatal, %d are not", t.name, (int)effort,
                         failed, survived);
            for (size_t above = 64; above < (size_t)1 << 22; above += above / 4) {
                meter m = { 0 };
                spmvx_context *ctx = meter_context(&m, 2);
                spmvx_matrix *B = NULL;
                meter_reset(&m);
                m.fail_above = above;
                const spmvx_status s = spmvx_matrix_convert(ctx, A, &o, &B);
                m.fail_above = 0;
                if (s != SPMVX_OK && csr_alone_lives(A, 0, above))
                    fail_msg("%s, effort %d, blocks to %zu: CSR has room, and AUTO says: %s", t.name,
                             (int)effort, above, spmvx_last_error(ctx));
                if (s == SPMVX_OK) case_check(ctx, B, &t, "large requests failed");
                spmvx_matrix_destroy(B);
                spmvx_context_destroy(ctx);
                assert_int_equal(m.blocks, 0);
            }
            spmvx_matrix_destroy(A);
            spmvx_context_destroy(maker);
            csr_free(&csr);
            triples_free(&t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(scratch_of_the_choice),
                                        cmocka_unit_test(little_memory),
                                        cmocka_unit_test(what_comes_after_the_choice),
                                        cmocka_unit_test(requests_that_fail) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
