/* Packets of PKT by METIS: rows of a grid in random order come together again; every row has one position;
 * the update map knows them; the caller's sequence of random numbers does not notice. Without METIS: the
 * order given. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "dispatch/matrix.h"
#include "format/parts.h"

enum { EDGE = 48, N = EDGE * EDGE, PACKET = 256 };

/* The five-point stencil on a grid, its points numbered at random. */
static triples shuffled_grid(void)
{
    triples t = { "a shuffled grid",
                  N,
                  N,
                  0,
                  malloc(5 * N * sizeof *t.row),
                  malloc(5 * N * sizeof *t.col),
                  malloc(5 * N * sizeof *t.val) };
    static int32_t number[N];
    uint64_t seed = 11;
    for (int32_t i = 0; i < N; i++) number[i] = i;
    for (int32_t i = N - 1; i > 0; i--) {
        const int32_t j = (int32_t)(case_random(&seed) % (uint64_t)(i + 1)), kept = number[i];
        number[i] = number[j];
        number[j] = kept;
    }
    static const int across[5] = { 0, -1, 1, 0, 0 }, down[5] = { 0, 0, 0, -1, 1 };
    for (int r = 0; r < EDGE; r++)
        for (int c = 0; c < EDGE; c++)
            for (int k = 0; k < 5; k++) {
                const int rr = r + down[k], cc = c + across[k];
                if (rr < 0 || cc < 0 || rr >= EDGE || cc >= EDGE) continue;
                t.row[t.nnz] = number[r * EDGE + c];
                t.col[t.nnz] = number[rr * EDGE + cc];
                t.val[t.nnz++] = case_value(&seed);
            }
    return t;
}

static spmvx_matrix *pkt(spmvx_context *ctx, const spmvx_matrix *m, const char *kernel, uint32_t flags)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *out = NULL;
    o.kernel = kernel;
    o.flags = flags;
    o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &out));
    return out;
}

static double part_in_packets(const spmvx_matrix *m)
{
    const spx_sparse *a = &m->op[SPMVX_N].A;
    return 1.0 - (double)(a->stored - a->width) / (double)a->nnz;
}

static void test_packets(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    triples t = shuffled_grid();
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64),
                 *given = pkt(ctx, coo, "pkt:packet=256,partition=order", 0),
                 *m = pkt(ctx, coo, "pkt:packet=256", 0), *again = pkt(ctx, coo, "pkt:packet=256", 0);
    const spx_sparse *a = &m->op[SPMVX_N].A, *b = &again->op[SPMVX_N].A;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    case_check(ctx, given, &t, "packets in the order given");
    case_check(ctx, m, &t, "packets");
    assert_true(part_in_packets(given) < 0.4);
    assert_null(given->op[SPMVX_N].A.slot[SPX_LIST]);
    assert_ok(ctx, spmvx_matrix_get_info(m, &info));
    assert_string_equal(info.kernel, spx_has_metis() ? "pkt:packet=256,partition=metis"
                                                     : "pkt:packet=256,partition=order");
    if (spx_has_metis()) {
        assert_true(part_in_packets(m) > 0.8);
        const int32_t *list = spx_data(a, SPX_LIST);
        const int64_t positions = (int64_t)(a->slot[SPX_LIST]->bytes / sizeof *list);
        static bool seen[N];
        memset(seen, 0, sizeof seen);
        assert_int_equal(positions % PACKET, 0);
        assert_int_equal(positions, PACKET * spx_ceil_div(100 * N, 97 * PACKET));
        int64_t rows = 0;
        for (int64_t i = 0; i < positions; i++) {
            if (list[i] < 0) continue;
            assert_in_range(list[i], 0, N - 1);
            assert_false(seen[list[i]]);
            seen[list[i]] = true;
            rows++;
            if (i % PACKET) assert_true(list[i - 1] >= 0 && list[i - 1] < list[i]);
        }
        assert_int_equal(rows, N);
        assert_int_equal(b->slot[SPX_LIST]->bytes, a->slot[SPX_LIST]->bytes);
        assert_memory_equal(b->slot[SPX_LIST]->data, list, a->slot[SPX_LIST]->bytes);
    }
    spmvx_matrix_destroy(given);
    spmvx_matrix_destroy(again);
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(coo);
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

/* Between two calls another thread may draw from what METIS draws from, and the second comes to other
 * packets: so the update map takes those of the values. */
static int calls;
spmvx_status __real_spx_parts(const spmvx_context *, const spx_sparse *, int64_t, bool, spx_array **);
spmvx_status __wrap_spx_parts(const spmvx_context *, const spx_sparse *, int64_t, bool, spx_array **);
spmvx_status __wrap_spx_parts(const spmvx_context *ctx, const spx_sparse *csr, int64_t room, bool demanded,
                              spx_array **list)
{
    calls++;
    return __real_spx_parts(ctx, csr, room, demanded, list);
}

static void test_update(void **state)
{
    (void)state;
    calls = 0;
    spmvx_context *ctx = test_context(NULL, 1);
    triples t = shuffled_grid();
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *m = pkt(ctx, coo, "pkt:packet=32", SPMVX_UPDATABLE);
    if (spx_has_metis()) assert_int_equal(calls, 2); /* op N, op T */
    for (int64_t k = 0; k < t.nnz; k++) t.val[k] = 1.0 + (double)(k % 97);
    assert_ok(ctx, spmvx_matrix_update_values(ctx, m, t.val));
    case_check(ctx, m, &t, "packets with new values");
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(coo);
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

static void test_random_numbers(void **state)
{
    (void)state;
    enum { DRAWS = 20 };
    int drawn[DRAWS];
    spmvx_context *ctx = test_context(NULL, 1);
    triples t = shuffled_grid();
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64);
    srand(7);
    for (int i = 0; i < DRAWS; i++) drawn[i] = rand();
    srand(7);
    for (int i = 0; i < DRAWS; i++) {
        if (i == DRAWS / 2) spmvx_matrix_destroy(pkt(ctx, coo, "pkt:packet=32", 0));
        assert_int_equal(rand(), drawn[i]);
    }
    spmvx_matrix_destroy(coo);
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

/* What cannot be cut by METIS is taken in its order, and refused where METIS is asked for by name. */
static void test_what_is_not_cut(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int64_t nrows, ncols, step; /* entries (r, r * step % ncols) */
        bool refused;
    } cases[] = { { "more rows", 300, 100, 7, true },
                  { "more columns", 100, 300, 7, true },
                  { "a diagonal", 300, 300, 1, false },
                  { "one packet", 32, 32, 5, false },
                  { "nothing", 0, 0, 1, false } };
    spmvx_context *ctx = test_context(NULL, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t n = cases[i].nrows;
        triples t = { cases[i].what,
                      n,
                      cases[i].ncols,
                      n,
                      malloc((size_t)(n + 1) * 4),
                      malloc((size_t)(n + 1) * 4),
                      malloc((size_t)(n + 1) * 8) };
        for (int64_t r = 0; r < n; r++) {
            t.row[r] = (int32_t)r;
            t.col[r] = (int32_t)(r * cases[i].step % cases[i].ncols);
            t.val[r] = (double)(r + 1);
        }
        spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *m = pkt(ctx, coo, "pkt:packet=32", 0), *out = NULL;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        assert_null(m->op[SPMVX_N].A.slot[SPX_LIST]);
        assert_int_equal(m->op[SPMVX_N].A.layout.partition, 1);
        case_check(ctx, m, &t, t.name);
        o.kernel = "pkt:packet=32,partition=metis";
        if (!spx_has_metis())
            assert_fails(SPMVX_ERR_UNSUPPORTED, "no METIS", spmvx_matrix_convert(ctx, coo, &o, &out));
        else if (cases[i].refused)
            assert_fails(SPMVX_ERR_UNSUPPORTED, "METIS cuts square matrices",
                         spmvx_matrix_convert(ctx, coo, &o, &out));
        else assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &out));
        spmvx_matrix_destroy(out);
        spmvx_matrix_destroy(m);
        spmvx_matrix_destroy(coo);
        triples_free(&t);
    }
    triples t = shuffled_grid();
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *out = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    static const char *const bad[] = { "pkt:partition=scotch", "pkt:partition=", "pkt:partition",
                                       "pkt:partition=2", "pkt:packet=31" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.kernel = bad[i];
        assert_fails(SPMVX_ERR_ARGUMENT, "options.kernel has", spmvx_matrix_convert(ctx, coo, &o, &out));
    }
    o.kernel = bad[0];
    assert_fails(SPMVX_ERR_ARGUMENT, "\"partition=scotch\"; pkt takes partition of: order, metis",
                 spmvx_matrix_convert(ctx, coo, &o, &out));
    spmvx_matrix_destroy(coo);
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packets),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_random_numbers),
        cmocka_unit_test(test_what_is_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
