/* max_workspace of a product, through every value that changes the outcome, beside an allocator that counts
 * on its own: what is taken beside C's own arrays never exceeds it, and what fits is accepted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "meter.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const kernels[] = { NULL,           "csr-dense-row",  "coo-hash",
                                       "dense-window", "dense-window@c", "hash" };

/* Beside C's own: two columns of CSR arrays, each a block with its record; and the records of the matrix. */
enum { BLOCKS_OF_C = 8 * 256, RECORDS = 4096 };

static size_t bytes_of(const spmvx_matrix *C, spmvx_format format)
{
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(C, &v));
    const size_t entries = (size_t)v.nnz * (4 + value_bytes(v.val_type));
    return entries + (size_t)(format == SPMVX_COO ? v.nnz : v.nrows + 1) * 4;
}

typedef struct outcome {
    spmvx_status status;
    size_t beside;
} outcome;

/* The peak is seen from before the call: while C grows, what is beside it is at most the peak minus C. */
static outcome multiply(meter *m, spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                        const char *kernel, spmvx_format format, size_t limit, size_t of_C)
{
    outcome r = { 0 };
    spmvx_matrix *C = NULL;
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.kernel = kernel;
    o.format = format;
    o.max_workspace = limit;
    char said[512];
    snprintf(said, sizeof said, "%s", spmvx_last_error(ctx));
    meter_reset(m);
    const size_t before = m->live;
    const long blocks = m->blocks;
    r.status = spmspm_mul(ctx, A, B, &o, &C);
    const size_t taken = m->peak - before;
    if (r.status == SPMVX_OK) {
        assert_string_equal(spmvx_last_error(ctx), said); /* as it was */
        of_C = bytes_of(C, format);
        spmvx_matrix_destroy(C);
    } else {
        if (r.status != SPMVX_ERR_LIMIT)
            fail_msg("max_workspace %zu: %d %s", limit, (int)r.status, spmvx_last_error(ctx));
        assert_non_null(strstr(spmvx_last_error(ctx), "max_workspace"));
        assert_int_equal(m->blocks, blocks);
    }
    r.beside = taken > of_C ? taken - of_C : 0;
    const size_t most = limit + BLOCKS_OF_C + RECORDS;
    if (limit && r.beside > most)
        fail_msg("%s, max_workspace %zu: %zu bytes were taken beside C's %zu, status %d",
                 kernel ? kernel : "AUTO", limit, r.beside, of_C, (int)r.status);
    return r;
}

/* Gives the least limit that is enough. */
static size_t sweep(const triples *a, const triples *b, spmvx_format of_A, spmvx_format of_B, spmvx_type type,
                    const char *kernel, spmvx_format format)
{
    meter m = { 0 };
    spmvx_context *ctx = meter_context(&m, 2), *maker = test_context(NULL, 2);
    const triples *t[] = { a, b };
    spmvx_matrix *factor[2] = { NULL, NULL }, *C = NULL;
    const spmvx_format formats[] = { of_A, of_B };
    for (int i = 0; i < 2; i++) {
        spmvx_matrix *coo = case_coo(maker, t[i], type);
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.format = formats[i];
        o.max_bytes = SIZE_MAX;
        assert_ok(maker, spmvx_matrix_convert(maker, coo, &o, &factor[i]));
        spmvx_matrix_destroy(coo);
    }
    spmspm_options free_of_limits = SPMSPM_OPTIONS_INIT;
    free_of_limits.format = format;
    assert_ok(ctx, spmspm_mul(ctx, factor[0], factor[1], &free_of_limits, &C));
    const size_t of_C = bytes_of(C, format);
    spmvx_matrix_destroy(C);
    const outcome all = multiply(&m, ctx, factor[0], factor[1], kernel, format, 0, of_C);
    assert_int_equal(all.status, SPMVX_OK);
    /* all that was taken, C included, which may have come after the peak */
    size_t low = 1, high = all.beside + of_C + BLOCKS_OF_C + RECORDS;
    if (multiply(&m, ctx, factor[0], factor[1], kernel, format, high, of_C).status != SPMVX_OK)
        fail_msg("%s: %zu bytes are taken without a limit, and do not do as one of %zu: %s",
                 kernel ? kernel : "AUTO", all.beside + of_C, high, spmvx_last_error(ctx));
    assert_int_equal(multiply(&m, ctx, factor[0], factor[1], kernel, format, low, of_C).status,
                     SPMVX_ERR_LIMIT);
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (multiply(&m, ctx, factor[0], factor[1], kernel, format, mid, of_C).status == SPMVX_OK) high = mid;
        else low = mid;
    }
    const size_t step = high / 24 + 1;
    for (size_t limit = 1; limit < high; limit += step)
        multiply(&m, ctx, factor[0], factor[1], kernel, format, limit, of_C);
    for (size_t limit = low > 66 ? low - 66 : 1; limit < high + 2; limit++) {
        const outcome r = multiply(&m, ctx, factor[0], factor[1], kernel, format, limit, of_C);
        if (limit >= high) assert_int_equal(r.status, SPMVX_OK);
    }
    for (size_t limit = high; limit < 4 * high + 4096; limit += step)
        if (multiply(&m, ctx, factor[0], factor[1], kernel, format, limit, of_C).status != SPMVX_OK)
            fail_msg("%s: a limit of %zu is enough, and %zu is not", kernel ? kernel : "AUTO", high, limit);
    spmvx_matrix_destroy(factor[0]);
    spmvx_matrix_destroy(factor[1]);
    spmvx_context_destroy(maker);
    spmvx_context_destroy(ctx);
    assert_int_equal(m.blocks, 0);
    return high;
}

static triples turned(const triples *t)
{
    return (triples){ "turned", t->ncols, t->nrows, t->nnz, t->col, t->row, t->val };
}

static void limits(void **state)
{
    (void)state;
    static const int cases[] = { 7, 15, 3 };
    for (size_t c = 0; c < COUNT(cases); c++) {
        triples t = case_make(cases[c]);
        const triples other = turned(&t);
        for (int f = 0; f < 2; f++) {
            size_t least[COUNT(kernels)];
            for (size_t k = 0; k < COUNT(kernels); k++) {
                const spmvx_format format = f ? SPMVX_COO : SPMVX_CSR;
                least[k] = sweep(&t, &other, SPMVX_CSR, SPMVX_CSR, SPMVX_F64, kernels[k], format);
                sweep(&t, &other, SPMVX_ELL, SPMVX_BSR, SPMVX_F32, kernels[k], format);
                sweep(&other, &t, SPMVX_COO, SPMVX_PKT, SPMVX_F64, kernels[k], format);
            }
            /* AUTO takes the one that fits. */
            for (size_t k = COUNT(kernels) - 2; k < COUNT(kernels); k++)
                if (least[0] > least[k])
                    fail_msg("%s: AUTO needs %zu bytes, %s %zu", t.name, least[0], kernels[k], least[k]);
        }
        triples_free(&t);
    }
}

/* Row pointers of C that are far more than its entries, and not C's where it is COO. */
static void rows_outnumber_entries(void **state)
{
    (void)state;
    enum { N = 3 };
    int32_t row[N] = { 4, 4, 79999 }, col[N] = { 0, 1, 1 }, one[] = { 0, 1 };
    double val[N] = { 1, 2, 3 };
    const triples tall = { "tall", 80000, 2, N, row, col, val }, unit = { "unit", 2, 2, 2, one, one, val };
    for (size_t k = 0; k < COUNT(kernels); k++)
        for (int f = 0; f < 2; f++)
            sweep(&tall, &unit, SPMVX_CSR, SPMVX_CSR, SPMVX_F64, kernels[k], f ? SPMVX_COO : SPMVX_CSR);
}

/* 5e7 rows and 10 entries: what is in proportion to the rows is C's, or refused before it is taken. */
static void many_rows(void **state)
{
    (void)state;
    enum { ROWS = 50000000, ENTRIES = 10, LIMIT = 1 << 20 };
    int32_t *ptr = calloc(ROWS + 1, sizeof *ptr), col[ENTRIES], two[] = { 0, 1, 2 };
    double val[ENTRIES];
    spmvx_arrays a = SPMVX_ARRAYS_INIT, b = SPMVX_ARRAYS_INIT;
    assert_non_null(ptr);
    for (int k = 0; k < ENTRIES; k++) {
        col[k] = k % 2;
        val[k] = k;
    }
    for (int64_t r = ROWS - 4; r <= ROWS; r++) ptr[r] = r == ROWS ? ENTRIES : 0;
    a.nrows = ROWS;
    a.ncols = b.nrows = b.ncols = b.nnz = 2;
    a.nnz = ENTRIES;
    a.ptr = ptr;
    b.ptr = two;
    a.col = b.col = col;
    a.val = b.val = val;
    meter m = { 0 };
    spmvx_context *ctx = meter_context(&m, 2);
    spmvx_matrix *A = NULL, *B = NULL, *C = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &A));
    assert_ok(ctx, spmvx_matrix_create(ctx, &b, 0, &B));
    for (size_t k = 0; k < COUNT(kernels); k++) {
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        o.kernel = kernels[k];
        o.max_workspace = LIMIT;
        o.format = SPMVX_COO;
        meter_reset(&m);
        const size_t before = m.live;
        assert_fails(SPMVX_ERR_LIMIT, "options.max_workspace is 1048576", spmspm_mul(ctx, A, B, &o, &C));
        if (m.peak - before > LIMIT + RECORDS)
            fail_msg("%s: %zu bytes were taken", kernels[k] ? kernels[k] : "AUTO", (size_t)(m.peak - before));
        assert_true(m.live == before && !C);
        o.format = SPMVX_CSR;
        assert_ok(ctx, spmspm_mul(ctx, A, B, &o, &C));
        if (m.peak - before > LIMIT + bytes_of(C, SPMVX_CSR) + BLOCKS_OF_C + RECORDS)
            fail_msg("%s: %zu bytes were taken", kernels[k] ? kernels[k] : "AUTO", (size_t)(m.peak - before));
        spmvx_matrix_destroy(C);
        C = NULL;
    }
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
    assert_int_equal(m.blocks, 0);
    free(ptr);
}

/* max_bytes is of C's own arrays: their exact size is enough; with a byte less C is refused before it is
 * taken. */
static void size_of_the_product(void **state)
{
    (void)state;
    triples t = case_make(15);
    const triples other = turned(&t);
    meter m = { 0 };
    spmvx_context *ctx = meter_context(&m, 2);
    spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64), *B = case_coo(ctx, &other, SPMVX_F64);
    for (size_t k = 0; k < COUNT(kernels); k++)
        for (int f = 0; f < 2; f++) {
            spmvx_matrix *C = NULL;
            spmspm_options o = SPMSPM_OPTIONS_INIT;
            o.kernel = kernels[k];
            o.format = f ? SPMVX_COO : SPMVX_CSR;
            assert_ok(ctx, spmspm_mul(ctx, A, B, &o, &C));
            o.max_bytes = bytes_of(C, o.format);
            spmvx_matrix_destroy(C);
            C = NULL;
            assert_ok(ctx, spmspm_mul(ctx, A, B, &o, &C));
            spmvx_matrix_destroy(C);
            C = NULL;
            o.max_bytes--;
            const long blocks = m.blocks;
            assert_fails(SPMVX_ERR_LIMIT, "options.max_bytes", spmspm_mul(ctx, A, B, &o, &C));
            assert_true(!C && m.blocks == blocks);
        }
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
    triples_free(&t);
    assert_int_equal(m.blocks, 0);
}

/* A dense column times a dense row: a C of 7 GB, which is never taken. */
static void huge_product(void **state)
{
    (void)state;
    enum { N = 24200, LIMIT = 1 << 20 };
    int32_t *zeros = calloc(N, sizeof *zeros), *count = malloc((N + 1) * sizeof *count);
    double *val = calloc(N, sizeof *val);
    assert_true(zeros && count && val);
    for (int i = 0; i <= N; i++) count[i] = i;
    spmvx_arrays column = SPMVX_ARRAYS_INIT, row = SPMVX_ARRAYS_INIT;
    column.nrows = row.ncols = column.nnz = row.nnz = N;
    column.ncols = row.nrows = 1;
    column.ptr = count;
    column.col = zeros;
    row.ptr = (const int32_t[]){ 0, N };
    row.col = count;
    column.val = row.val = val;
    meter m = { 0 };
    spmvx_context *ctx = meter_context(&m, 2);
    spmvx_matrix *A = NULL, *B = NULL, *C = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &column, 0, &A));
    assert_ok(ctx, spmvx_matrix_create(ctx, &row, 0, &B));
    static const char *const told[] = { "options.max_bytes is 1048576",
                                        "options.max_bytes is 1048576",
                                        "more than the 79314 entries that options.max_bytes has room for",
                                        "options.max_bytes is 1048576",
                                        "options.max_bytes is 1048576",
                                        "more than the 79314 entries that options.max_bytes has room for" };
    for (size_t k = 0; k < COUNT(kernels); k++) {
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        o.kernel = kernels[k];
        o.max_bytes = LIMIT;
        meter_reset(&m);
        const size_t before = m.live;
        assert_fails(SPMVX_ERR_LIMIT, told[k], spmspm_mul(ctx, A, B, &o, &C));
        assert_true(m.peak - before < (size_t)64 << 20);
        o.max_bytes = 1000; /* its row pointers alone are more, and are not taken */
        meter_reset(&m);
        assert_fails(SPMVX_ERR_LIMIT, "the row pointers of C, of 24200 rows, would take 96804 bytes",
                     spmspm_mul(ctx, A, B, &o, &C));
        assert_true(m.peak - before < 10000);
    }
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
    free(zeros);
    free(count);
    free(val);
}

/* SPMVX_DISABLE of one kernel leaves the products working by the other; of both, it says so. */
static void disabled(void **state)
{
    (void)state;
    triples t = case_make(15);
    const triples other = turned(&t);
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64), *B = case_coo(ctx, &other, SPMVX_F64), *C = NULL;
    static const char *const lists[] = { "csr-dense-row",
                                         "coo-hash",
                                         "dense-window",
                                         "dense-window,csr-dense-row",
                                         "avx512,csr-dense-row,sell",
                                         "avx2" };
    spmvx_arrays first = SPMVX_ARRAYS_INIT, v = SPMVX_ARRAYS_INIT;
    spmvx_matrix *plain = NULL;
    assert_ok(ctx, spmspm_mul(ctx, A, B, NULL, &plain));
    assert_ok(ctx, spmvx_matrix_arrays(plain, &first));
    for (size_t i = 0; i < COUNT(lists); i++) {
        setenv("SPMVX_DISABLE", lists[i], 1);
        assert_ok(ctx, spmspm_mul(ctx, A, B, NULL, &C));
        assert_string_equal(spmvx_last_error(ctx), "");
        assert_ok(ctx, spmvx_matrix_arrays(C, &v));
        assert_int_equal(v.nnz, first.nnz);
        assert_memory_equal(v.val, first.val, (size_t)v.nnz * 8);
        assert_memory_equal(v.col, first.col, (size_t)v.nnz * 4);
        spmvx_matrix_destroy(C);
        C = NULL;
    }
    setenv("SPMVX_DISABLE", "csr-dense-row", 1);
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.kernel = "csr-dense-row";
    assert_fails(SPMVX_ERR_UNSUPPORTED, "SPMVX_DISABLE rules out", spmspm_mul(ctx, A, B, &o, &C));
    setenv("SPMVX_DISABLE", "csr-dense-row,coo-hash,dense-window,hash", 1);
    assert_fails(SPMVX_ERR_UNSUPPORTED, "SPMVX_DISABLE", spmspm_mul(ctx, A, B, NULL, &C));
    assert_null(strstr(spmvx_last_error(ctx), "options.kernel"));
    unsetenv("SPMVX_DISABLE");
    spmvx_matrix_destroy(plain);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
    triples_free(&t);
}

/* Rows that come in threes with the same `each` columns: a band's, or spread over all. */
static triples threes(int64_t n, int64_t columns, int64_t each)
{
    const size_t most = (size_t)(n * each);
    triples t = { "threes", n, columns, 0, malloc(most * 4), malloc(most * 4), malloc(most * 8) };
    for (int64_t r = 0; r < n; r++)
        for (int64_t k = 0; k < each; k++) {
            const int64_t c = n == columns ? r / 3 * 3 - 3 + k : (r / 3 * 7 + k * (columns / each)) % columns;
            if (c < 0 || c >= columns) continue;
            t.row[t.nnz] = (int32_t)r;
            t.col[t.nnz] = (int32_t)c;
            t.val[t.nnz++] = 1 / (double)(3 + (r + c) % 5);
        }
    return t;
}

/* A plan within this budget; true where it was made. Then values come within what its info tells. */
static bool check_plan(const triples *t[2], const char *kernel, int threads, size_t limit)
{
    meter m = { 0 };
    spmvx_context *ctx = meter_context(&m, threads);
    spmvx_matrix *factor[2] = { NULL, NULL }, *C = NULL;
    spmspm_options p = SPMSPM_OPTIONS_INIT;
    spmspm_info info = SPMSPM_INFO_INIT;
    spmspm_plan *plan = NULL;
    for (int i = 0; i < 2; i++) {
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        spmvx_matrix *coo = case_coo(ctx, t[i], SPMVX_F64);
        o.format = SPMVX_CSR;
        assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &factor[i]));
        spmvx_matrix_destroy(coo);
    }
    p.kernel = kernel;
    p.max_workspace = limit;
    const spmvx_status s = spmspm_plan_create(ctx, factor[0], factor[1], &p, &plan);
    if (s == SPMVX_OK) {
        assert_ok(NULL, spmspm_plan_get_info(plan, &info));
        assert_ok(ctx, spmspm_plan_mul(ctx, plan, factor[0], factor[1], &C));
        meter_reset(&m);
        const size_t before = m.live;
        assert_ok(ctx, spmspm_plan_refill(ctx, plan, factor[0], factor[1], C));
        if (m.peak - before > info.workspace)
            fail_msg("%s, max_workspace %zu: %zu bytes are told, %zu taken", info.kernel, limit,
                     info.workspace, (size_t)(m.peak - before));
    } else {
        assert_int_equal(s, SPMVX_ERR_LIMIT);
        assert_non_null(strstr(spmvx_last_error(ctx), "max_workspace"));
    }
    spmspm_plan_destroy(plan);
    spmvx_matrix_destroy(factor[0]);
    spmvx_matrix_destroy(factor[1]);
    spmvx_matrix_destroy(C);
    spmvx_context_destroy(ctx);
    assert_int_equal(m.blocks, 0);
    return s == SPMVX_OK;
}

/* A plan that is made within a budget is filled within it, and its info tells what that takes; also where a
 * dense row of C is most of that. */
static void plans_keep_what_they_tell(void **state)
{
    (void)state;
    static const char *const planned[] = { NULL, "dense-window", "dense-window@c", "hash", "coo-hash" };
    const triples band = threes(1500, 1500, 9), small = threes(90, 90, 9), wide = threes(90, 40000, 3);
    const triples *pairs[][2] = { { &band, &band }, { &small, &wide } };
    for (size_t f = 0; f < COUNT(pairs); f++)
        for (size_t k = 0; k < COUNT(planned); k++)
            for (int threads = 1; threads <= 2; threads++) {
                int made = 0, refused = 0;
                for (size_t limit = 512; limit < (size_t)1 << 22; limit += limit / 3)
                    check_plan(pairs[f], planned[k], threads, limit) ? made++ : refused++;
                assert_true(made > 3 && refused > 3 && check_plan(pairs[f], planned[k], threads, 0));
            }
    triples all[] = { band, small, wide };
    for (size_t i = 0; i < COUNT(all); i++) triples_free(&all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(limits),
                                        cmocka_unit_test(rows_outnumber_entries),
                                        cmocka_unit_test(many_rows),
                                        cmocka_unit_test(size_of_the_product),
                                        cmocka_unit_test(huge_product),
                                        cmocka_unit_test(disabled),
                                        cmocka_unit_test(plans_keep_what_they_tell) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
