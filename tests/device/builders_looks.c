/* What a device is told about a CSR that lies there before anything is built of it: statistics of its rows,
 * as the host's, and what PACKED would hold. */
#include <math.h>

#include "builders.h"

/* What has been queued ahead tells the same, while other work goes on and other numbers come to the host; one
 * of two at a time is to be had, and after one has been forgotten the next is. */
static void check_looks_ahead(spmvx_context *ctx, const spx_sparse *there, const spx_features *want)
{
    bool ahead = false, second = false;
    spx_features f;
    for (int time = 0; time < 2; time++) {
        assert_ok(ctx, ctx->backend->features_ahead(ctx, there, &ahead));
        assert_true(ahead);
        assert_ok(ctx, ctx->backend->features_ahead(ctx, there, &second));
        assert_false(second);
        if (time == 0) ctx->backend->features_forget(ctx, &ahead);
    }
    spx_features values = *want;
    assert_ok(ctx, spx_features_of_values(ctx, there, &values));
    assert_ok(ctx, spx_features_of(ctx, there, 1, &ahead, &f));
    assert_false(ahead);
    assert_true(f.longest == want->longest && f.empty == want->empty &&
                !memcmp(f.long_rows, want->long_rows, sizeof f.long_rows) && f.deviation == want->deviation &&
                f.span == want->span && f.padded == want->padded && f.padded_sorted == want->padded_sorted &&
                f.sectors_per_entry == want->sectors_per_entry);
}

/* The statistics pass of the device tells what the host's does, of rows about as long as the limits of long
 * ones. */
static void test_statistics(void **state)
{
    (void)state;
    enum { ROWS = 500 };
    int lengths[ROWS];
    for (int r = 0; r < ROWS; r++)
        lengths[r] = r == 77 ? 3000 : r % 5 ? (SPX_SHORT_ROW << r % SPX_LONG_LIMITS) - 2 + r % 6 : 0;
    problem p = problem_of_rows(ROWS, lengths);
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    spmvx_matrix *given = case_coo(host, &p.t, SPMVX_F64);
    spx_sparse csr = builders_csr(host, &given->op[SPMVX_N].A, ctx), there = spx_sparse_share(&csr);
    spx_features f, on_host;
    assert_ok(ctx, spx_to_place(ctx, &there));
    assert_ok(ctx, spx_features_of(ctx, &there, 1, NULL, &f));
    assert_ok(host, spx_features_of(host, &csr, 1, NULL, &on_host));
    int64_t long_rows[SPX_LONG_LIMITS] = { 0 }, longest = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        const int64_t n = spx_ptr_at(&csr, r + 1) - spx_ptr_at(&csr, r);
        for (int i = 0; i < SPX_LONG_LIMITS; i++) long_rows[i] += n > SPX_SHORT_ROW << i;
        longest = n > longest ? n : longest;
    }
    check_looks_ahead(ctx, &there, &f);
    assert_int_equal(f.longest, longest);
    assert_int_equal(on_host.longest, longest);
    assert_int_equal(f.empty, on_host.empty);
    for (int i = 0; i < SPX_LONG_LIMITS; i++) {
        assert_int_equal(f.long_rows[i], long_rows[i]);
        assert_int_equal(on_host.long_rows[i], long_rows[i]);
    }
    assert_true(fabs(f.deviation - on_host.deviation) < 1e-6 * on_host.deviation);
    assert_true(fabs(f.span - on_host.span) < 1e-6 * on_host.span);
    spx_sparse_drop(&there);
    spx_sparse_drop(&csr);
    spmvx_matrix_destroy(given);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* What PACKED is said to hold is about what it holds. */
static void check_look_at_packed(spmvx_context *host, spmvx_context *ctx, const triples *t, double diagonal,
                                 double shared)
{
    static const spx_layout open;
    const spx_build how = { .left = SIZE_MAX, .max_bytes = SIZE_MAX };
    spmvx_matrix *given = case_coo(host, t, SPMVX_F64);
    spx_sparse csr = builders_csr(host, &given->op[SPMVX_N].A, ctx), there = spx_sparse_share(&csr), built;
    spx_features f = { .nrows = csr.nrows, .ncols = csr.ncols, .nnz = csr.nnz, .value_bytes = 8 },
                 on_host = f;
    spx_look look;
    assert_ok(ctx, spx_to_place(ctx, &there));
    assert_ok(ctx, spx_features_of_values(ctx, &there, &f));
    assert_ok(host, spx_features_of_values(host, &csr, &on_host));
    assert_true(f.coded == on_host.coded && f.distinct == on_host.distinct);
    assert_ok(ctx, spx_format_of_place(ctx, SPMVX_PACKED)->look(ctx, &there, &f, &open, &look));
    assert_ok(ctx, spx_format_of_place(ctx, SPMVX_PACKED)->from_csr(ctx, &there, &how, &built));
    const double index = (double)(built.slot[SPX_COL]->bytes + built.slot[SPX_DESC]->bytes);
    if (fabs((double)look.stored / (double)built.stored - 1) > 0.1 ||
        fabs(look.index_bytes / index - 1) > 0.1 || fabs(look.diagonal_part - diagonal) > 0.05 ||
        fabs(look.shared_part - shared) > 0.05)
        fail_msg("%lld places, %g bytes of indices, %g of it diagonals, %g shared; it holds %lld, %g",
                 (long long)look.stored, look.index_bytes, look.diagonal_part, look.shared_part,
                 (long long)built.stored, index);
    assert_true(spx_look_value_bytes(&f, &look) == (double)built.slot[SPX_VAL]->bytes / (double)built.stored);
    spx_look host_look;
    assert_ok(host, spx_format_of_place(host, SPMVX_PACKED)->look(host, &csr, &on_host, &open, &host_look));
    assert_int_equal(host_look.single, look.single);
    assert_true(fabs(host_look.shared_part - shared) < 0.05);
    assert_int_equal(look.layout.piece, built.layout.piece);
    const spx_layout sorted = { .sigma = 64 };
    assert_ok(ctx, spx_format_of_place(ctx, SPMVX_PACKED)->look(ctx, &there, &f, &sorted, &look));
    assert_int_equal(look.layout.sigma, 64);
    spx_sparse_drop(&built);
    spx_sparse_drop(&there);
    spx_sparse_drop(&csr);
    spmvx_matrix_destroy(given);
}

static void test_looks(void **state)
{
    (void)state;
    enum { ROWS = 4000, LONG = 100 };
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    triples t = builders_short_rows(ROWS, 4);
    check_look_at_packed(host, ctx, &t, 0, 0); /* sorted */
    for (int64_t k = 0; k < t.nnz; k++) t.val[k] = (double)(k % 3);
    check_look_at_packed(host, ctx, &t, 0, 0);
    triples_free(&t);
    /* one entry each: a diagonal, but for a row that is cut and has a value of its own */
    t = builders_short_rows(25 * ROWS, 1);
    for (int64_t k = 0; k < t.nnz; k++) t.col[k] = (int32_t)(k % 1000), t.val[k] = k < LONG ? 1.5 : 2.5;
    for (int64_t k = 0; k < LONG; k++) t.row[k] = 0, t.col[k] = (int32_t)k;
    check_look_at_packed(host, ctx, &t, 0.9, 0);
    /* more slices than the sample has, and other columns and values from the middle on */
    uint64_t seed = 9;
    for (int64_t k = t.nnz / 2; k < t.nnz; k++) {
        t.col[k] = (int32_t)(case_random(&seed) % 1000);
        t.val[k] = (double)(k % 1000) / 3.0;
    }
    check_look_at_packed(host, ctx, &t, 0.5, 0);
    triples_free(&t);
    t = builders_diagonals(20 * ROWS); /* of one value each; and with another in each slice */
    check_look_at_packed(host, ctx, &t, 1, 0);
    for (int64_t k = 0; k < t.nnz; k++)
        if (t.col[k] == t.row[k] && t.row[k] % 32 == 5) t.val[k] = 7;
    check_look_at_packed(host, ctx, &t, 1, 0);
    triples_free(&t);
    t = builders_short_rows(3 * ROWS, 12); /* 12 entries each, and on half of them three unknowns a node */
    t.nrows = t.nnz / 12, t.ncols = 4000;
    t.nnz = t.nrows * 12;
    for (int64_t k = 0; k < t.nnz; k++) {
        const int64_t row = k / 12, shared = row < t.nrows / 2, of = shared ? row / 3 : row;
        t.row[k] = (int32_t)row;
        t.col[k] = (int32_t)(of * 7 % 500 + k % 12 / 3 * 1000 + k % 3 * (2 - shared));
    }
    check_look_at_packed(host, ctx, &t, 0, 0.5);
    triples_free(&t);
    t = builders_short_rows(5 * ROWS, 4); /* sorted, and wide apart */
    t.ncols = 3000000;
    for (int64_t k = 0; k < t.nnz; k++) t.col[k] = (int32_t)(case_random(&seed) % 3000000);
    check_look_at_packed(host, ctx, &t, 0, 0);
    triples_free(&t);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
}

/* Hot columns stand in the order of their entries, and of equals the first ones are hot, on both places. */
static void check_hot(const spmvx_context *ctx, const spx_sparse *csr, const int64_t *entries)
{
    enum { HOT = 13 };
    const spx_build how = { .layout = { .hot = HOT }, .left = SIZE_MAX, .max_bytes = SIZE_MAX };
    spx_sparse a;
    int32_t held[HOT];
    assert_ok(ctx, spx_format_of_place(ctx, SPMVX_TILED)->from_csr(ctx, csr, &how, &a));
    assert_int_equal(a.slot[SPX_DESC]->bytes, sizeof held);
    assert_ok(ctx, ctx->backend->download(ctx, held, a.slot[SPX_DESC]->data, sizeof held));
    for (int i = 0; i < HOT; i++)
        for (int64_t c = 0; c < csr->ncols; c++) {
            int before = 0; /* is c among those before? */
            for (int j = 0; j <= i; j++) before += held[j] == c;
            const int64_t its = entries[held[i]];
            if (!before && (entries[c] > its || (entries[c] == its && c < held[i])))
                fail_msg("column %d, with %lld entries, is held before %lld, with %lld", (int)held[i],
                         (long long)its, (long long)c, (long long)entries[c]);
            assert_true(before <= 1);
        }
    spx_sparse_drop(&a);
}

static void test_hot(void **state)
{
    (void)state;
    enum { COLUMNS = 50, ROWS = 40 };
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    triples t = builders_short_rows(ROWS * COLUMNS, 1);
    int64_t entries[COLUMNS] = { 0 };
    t.nnz = 0, t.nrows = ROWS, t.ncols = COLUMNS;
    for (int32_t c = 0; c < COLUMNS; c++) {
        entries[c] = c * 7 % COLUMNS / 2 + 1;
        for (int32_t r = 0; r < entries[c]; r++) t.row[t.nnz] = r, t.col[t.nnz++] = c;
    }
    spmvx_matrix *given = case_coo(host, &t, SPMVX_F32);
    spx_sparse csr = builders_csr(host, &given->op[SPMVX_N].A, ctx), there = spx_sparse_share(&csr);
    assert_ok(ctx, spx_to_place(ctx, &there));
    check_hot(host, &csr, entries);
    check_hot(ctx, &there, entries);
    spx_sparse_drop(&there);
    spx_sparse_drop(&csr);
    spmvx_matrix_destroy(given);
    triples_free(&t);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
}

int builders_looks_run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_statistics), cmocka_unit_test(test_looks),
                                        cmocka_unit_test(test_hot) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
