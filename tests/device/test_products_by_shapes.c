/* Products whose rows are of few shapes, as on grids that are numbered line by line: the same pattern and,
 * for whole numbers, the same bits as the host's; the same bits as without shapes, for which a small
 * budget has no room; and rows that have no shape, or one of too many, beside those that have. They are so
 * few that nobody would look for shapes, if memory were not said to be slow. */
#include <stdlib.h>
#include <string.h>

#include "products.h"

static const char *const kernels[] = { "hash", NULL };

/* Points of a grid, each with so many unknowns, that have entries with all points up to `reach` away in each
 * direction, or (star) in one of them. */
static triples grid(const char *name, int nx, int ny, int unknowns, int reach, bool star)
{
    const int points = nx * ny, width = 2 * reach + 1;
    const size_t most = (size_t)points * (size_t)(width * width * unknowns * unknowns);
    triples t = { name, points * unknowns, points * unknowns, 0, NULL, NULL, NULL };
    uint64_t seed = 3;
    t.row = malloc(most * sizeof *t.row);
    t.col = malloc(most * sizeof *t.col);
    t.val = malloc(most * sizeof *t.val);
    for (int r = 0; r < points * unknowns; r++) {
        const int x = r / unknowns % nx, y = r / unknowns / nx;
        for (int j = y - reach; j <= y + reach; j++)
            for (int i = x - reach; i <= x + reach; i++) {
                if (i < 0 || j < 0 || i >= nx || j >= ny || (star && i != x && j != y)) continue;
                for (int k = 0; k < unknowns; k++) {
                    t.row[t.nnz] = r;
                    t.col[t.nnz] = (j * nx + i) * unknowns + k;
                    t.val[t.nnz++] = case_value(&seed);
                }
            }
    }
    return t;
}

/* All rows are of one shape, with columns whose distances grow, so that C has some 20 times as many. */
static triples apart(const char *name, int rows, int length)
{
    triples t = even_rows(name, rows, length, rows + length * length, false);
    for (int64_t i = 0; i < t.nnz; i++) t.col[i] = (int32_t)(t.row[i] + (i % length) * (i % length));
    return t;
}

/* Each row has one entry, or none: `apart` rows after the other have the same column. */
static triples aggregates(int nrows, int apart, bool gaps)
{
    triples t = even_rows("aggregates", nrows, 1, (nrows + apart - 1) / apart, false);
    int64_t n = 0;
    for (int r = 0; r < nrows; r++) {
        if (gaps && r % 50 == 7) continue;
        t.row[n] = r;
        t.col[n] = r / apart;
        t.val[n++] = 1.0 + r % 3;
    }
    t.nnz = n;
    return t;
}

static spmvx_context *slow_context(void)
{
    spmvx_context *ctx = device_context(0, NULL, 0);
    slow_memory(ctx);
    return ctx;
}

/* Does a plan within so many bytes (0: any number) have rows that share their pattern? */
static bool has_shapes(spmvx_context *ctx, const pair *p, size_t workspace)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmspm_info i = SPMSPM_INFO_INIT;
    spmspm_plan *plan = NULL;
    o.kernel = "hash";
    o.max_workspace = workspace;
    assert_ok(ctx, spmspm_plan_create(ctx, p->A, p->B, &o, &plan));
    assert_ok(ctx, spmspm_plan_get_info(plan, &i));
    const bool has = strstr(i.reason, "rows of one shape");
    spmspm_plan_destroy(plan);
    return has;
}

/* Against the host, with and without shapes: the same bits. Frees both. */
static void check(triples l, triples r, bool shapes)
{
    enum { SMALL = 16 << 20, MANY = 10000 };
    const bool same = l.val == r.val;
    spmvx_context *ctx = slow_context();
    make_rounded(&l);
    if (!same) make_rounded(&r);
    for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
        if (type == SPMVX_F32 && (test_is_slow() || l.nnz > MANY)) continue;
        pair p = pair_new(ctx, &l, &r, type);
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmvx_matrix *without = NULL;
        if (has_shapes(ctx, &p, 0) != shapes)
            fail_msg("%s times %s: %s", l.name, r.name, shapes ? "no shapes" : "shapes");
        assert_false(has_shapes(ctx, &p, SMALL));
        o.kernel = "hash";
        o.max_workspace = SMALL;
        assert_ok(ctx, spmspm_mul(ctx, p.A, p.B, &o, &without));
        spmvx_matrix *with = product(ctx, p.A, p.B, "hash", SPMVX_AUTO), *want = to_host(without);
        check_same("by shapes", with, want, NULL);
        pair here = pair_new(host, &l, &r, type);
        spmvx_matrix *of_host = product(host, here.A, here.B, NULL, SPMVX_AUTO);
        check_same("as the host", with, of_host, NULL);
        spmvx_matrix_destroy(of_host);
        pair_free(&here);
        spmvx_matrix_destroy(with);
        spmvx_matrix_destroy(without);
        spmvx_matrix_destroy(want);
        pair_free(&p);
    }
    spmvx_context_destroy(ctx);
    triples_free(&l);
    if (!same) triples_free(&r);
}

static void check_square(triples t, bool shapes)
{
    check(t, t, shapes);
}

/* Rows of C of 5, 13, 25, 27 and more entries, sorted and not; of one unknown and three. */
static void grids(void **state)
{
    (void)state;
    check_square(grid("a line", 400, 1, 1, 1, false), true);
    check_square(grid("a star", 30, 20, 1, 1, true), true);
    check_square(grid("a box", 30, 20, 1, 1, false), true);
    check_square(grid("three unknowns", 20, 10, 3, 1, false), true);
    check_square(grid("rows of 105 by threes", test_is_slow() ? 50 : 80, 1, 3, 17, false), true);
    check_square(grid("rows of 70 by twos", 90, 1, 2, 17, false), true);
    if (test_is_slow()) return;
    check_square(grid("rows of 75 by threes", 14, 9, 3, 2, false), true);
    check_square(grid("a line of more", 600, 1, 1, 9, false), true);
    check_square(grid("a wide star", 90, 8, 1, 6, true), true);
    check_square(grid("rows of 49", 40, 10, 1, 3, false), true);
    check_square(grid("rows of 66", 50, 6, 1, 5, false), true);
}

/* Rows of A beyond what a shape has, and of C beyond what is summed by shapes. */
static void long_rows(void **state)
{
    (void)state;
    check_square(grid("rows of 130", test_is_slow() ? 14 : 30, 10, 1, 6, false), false);
    check(apart("far apart", 150, 30), apart("far apart", 150 + 30 * 30, 30), true);
}

/* What a multigrid set-up multiplies. */
static void coarse_grids(void **state)
{
    (void)state;
    check(grid("a star", 30, 20, 1, 1, true), aggregates(600, 4, false), true);
    triples p = aggregates(600, 4, false);
    check(turned(p), grid("a box", 30, 20, 1, 1, false), true);
    check(grid("a star", 30, 20, 1, 1, true), aggregates(600, 1, true), true);
}

/* Every seventh row has another pattern; so have all; and rows of B that do not rise. */
static void rows_apart(void **state)
{
    (void)state;
    uint64_t seed = 9;
    triples some = grid("some rows apart", 30, 20, 1, 1, true);
    for (int64_t i = 1; i < some.nnz; i++)
        if (some.row[i] % 50 == 7 && (i + 1 == some.nnz || some.row[i + 1] != some.row[i]))
            some.col[i] = (int32_t)(some.col[i - 1] + 1 + (int32_t)(case_random(&seed) % 9));
    some.ncols += 10;
    triples square = grid("a star", 610, 1, 1, 1, false);
    check(some, square, true);
    check_square(even_rows("no two alike", 4000, 3, 4000, false), false);
    triples falling = grid("a star", 30, 20, 1, 1, true);
    for (int64_t i = 1; i < falling.nnz; i++)
        if (falling.row[i] == 77 && falling.row[i - 1] == 77) {
            const int32_t c = falling.col[i];
            falling.col[i] = falling.col[i - 1];
            falling.col[i - 1] = c;
        }
    check_square(falling, false);
}

/* Rows of B that have no shape beside others, which rows of A meet with them. */
static void rows_without(void **state)
{
    (void)state;
    enum { ROWS = 600, APART = 8, LONG = 140 };
    uint64_t seed = 4;
    triples l = even_rows("two neighbours", ROWS, 2, ROWS + 2, false),
            r = even_rows("some long rows", ROWS + 2, LONG, ROWS + 900, false);
    int64_t n = 0;
    for (int64_t i = 0; i < l.nnz; i++) l.col[i] = l.row[i] + (int32_t)(i % 2);
    for (int i = 0; i < ROWS + 2; i++) {
        int32_t c = i;
        for (int k = 0; k < (i % APART == 7 ? LONG : 3); k++) {
            r.row[n] = i;
            r.col[n] = c;
            r.val[n++] = case_value(&seed);
            c += i % APART == 7 ? 1 + (int32_t)(case_random(&seed) % 4) : 1;
        }
    }
    r.nnz = n;
    check(l, r, true);
}

/* Rows without a shape that come together, so many that who looks for shapes gives up before he has seen
 * that there are few of them in all: of B, and of A. */
static void given_up(void **state)
{
    (void)state;
    enum { LONG_ROWS = 4000, LONG = 130, SHORT_ROWS = 14000, MANY = 11000, MORE = 4000, TOO_LONG = 129 };
    spmvx_context *ctx = slow_context();
    triples r = even_rows("long rows, then short", LONG_ROWS, LONG, LONG_ROWS + SHORT_ROWS + 200, false);
    const int64_t long_ones = r.nnz;
    r.nrows += SHORT_ROWS;
    r.nnz += 3 * SHORT_ROWS;
    r.row = realloc(r.row, (size_t)r.nnz * sizeof *r.row);
    r.col = realloc(r.col, (size_t)r.nnz * sizeof *r.col);
    r.val = realloc(r.val, (size_t)r.nnz * sizeof *r.val);
    for (int64_t i = 0; i < r.nnz; i++) {
        const int64_t k = i < long_ones ? i % LONG : (i - long_ones) % 3,
                      row = i < long_ones ? i / LONG : LONG_ROWS + (i - long_ones) / 3;
        r.row[i] = (int32_t)row;
        r.col[i] = (int32_t)(row + (i < long_ones ? k : k * (1 + row % 3)));
    }
    triples l = even_rows("short rows alone", SHORT_ROWS, 1, r.nrows, false);
    for (int64_t i = 0; i < l.nnz; i++) l.col[i] = LONG_ROWS + l.row[i];
    check_once(ctx, kernels, l, r, SPMVX_F64);
    if (!test_is_slow()) {
        static int length[2 * MANY + MORE];
        for (int i = 0; i < 2 * MANY + MORE; i++) length[i] = i >= MANY && i < MANY + MORE ? TOO_LONG : 2;
        l = rows_of("rows, then long ones, then rows", length, 2 * MANY + MORE, 600, false);
        for (int64_t i = 0; i < l.nnz; i++)
            l.col[i] = i && l.row[i - 1] == l.row[i] ? l.col[i - 1] + 1 : l.row[i] % 400;
        r = apart("three", 600, 3);
        check_once(ctx, kernels, l, r, SPMVX_F64);
    }
    spmvx_context_destroy(ctx);
}

/* More shapes than the table holds, each of eight rows: those that find none go by themselves. */
static void many_shapes(void **state)
{
    (void)state;
    enum { SHAPES = 2600, EACH = 8 };
    triples l = even_rows("many shapes", SHAPES * EACH, 2, 4000, false);
    for (int64_t i = 0; i < l.nnz; i++) {
        const int shape = l.row[i] % SHAPES;
        l.col[i] = i % 2 ? 1 + shape + l.row[i] % 3 : l.row[i] % 3;
    }
    check(l, aggregates(4000, 1, false), true);
}

/* A plan's new values go where the old ones went. */
static void refilled(void **state)
{
    (void)state;
    spmvx_context *ctx = slow_context();
    triples t = grid("a box", 30, 20, 1, 1, false);
    pair p = pair_new(ctx, &t, &t, SPMVX_F64);
    make_whole(&t);
    pair other = pair_new(ctx, &t, &t, SPMVX_F64), here = pair_new(host, &t, &t, SPMVX_F64);
    spmspm_plan *plan = NULL;
    spmvx_matrix *C = NULL;
    assert_ok(ctx, spmspm_plan_create(ctx, p.A, p.B, NULL, &plan));
    assert_ok(ctx, spmspm_plan_mul(ctx, plan, p.A, p.B, &C));
    assert_ok(ctx, spmspm_plan_refill(ctx, plan, other.A, other.B, C));
    spmvx_matrix *want = product(host, here.A, here.B, NULL, SPMVX_AUTO);
    check_same("refilled", C, want, NULL);
    spmvx_matrix_destroy(want);
    spmvx_matrix_destroy(C);
    spmspm_plan_destroy(plan);
    pair_free(&p);
    pair_free(&other);
    pair_free(&here);
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

/* Where memory is as fast as the device says, a few products are not worth the look. */
static void few(void **state)
{
    (void)state;
    triples t = grid("a star", 30, 20, 1, 1, true);
    spmvx_context *slow = slow_context(), *ctx = device_context(0, NULL, 0);
    pair there = pair_new(slow, &t, &t, SPMVX_F64), here = pair_new(ctx, &t, &t, SPMVX_F64);
    assert_true(has_shapes(slow, &there, 0));
    assert_false(has_shapes(ctx, &here, 0));
    spmvx_matrix *by_shapes = product(slow, there.A, there.B, "hash", SPMVX_CSR), *want = to_host(by_shapes),
                 *C = product(ctx, here.A, here.B, "hash", SPMVX_CSR);
    check_same("without shapes", C, want, NULL);
    spmvx_matrix *const made[] = { by_shapes, want, C };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) spmvx_matrix_destroy(made[i]);
    pair_free(&there);
    pair_free(&here);
    spmvx_context_destroy(slow);
    spmvx_context_destroy(ctx);
    triples_free(&t);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(grids),        cmocka_unit_test(long_rows),
                                        cmocka_unit_test(coarse_grids), cmocka_unit_test(rows_apart),
                                        cmocka_unit_test(many_shapes),  cmocka_unit_test(refilled),
                                        cmocka_unit_test(rows_without), cmocka_unit_test(given_up),
                                        cmocka_unit_test(few) };
    return cmocka_run_group_tests(tests, open_host, close_host);
}
