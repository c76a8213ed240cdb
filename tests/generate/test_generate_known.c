/* Matrices by name: sizes against their formulas and published counts, order, symmetry, and the same bits for
 * any number of threads and in every version (recorded checksums). */
#include "made.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "family.h"

/* ---- every family, small ---- */

static const struct known {
    const char *name;
    int64_t nrows, ncols, nnz;
    bool symmetric;
    uint64_t sum;
} known[] = {
#include "known.h"
};

static void test_known(void **state)
{
    (void)state;
    bool same = true;
    for (size_t n = 0; n < COUNT(known); n++) {
        const struct known *k = &known[n];
        for (int threads = 1; threads <= 3; threads++) {
            generated g = make(k->name, threads);
            check_order(k->name, &g);
            const uint64_t sum = checksum(&g);
            const bool symmetric = is_symmetric(&g);
            if (g.nrows != k->nrows || g.ncols != k->ncols || g.nnz != k->nnz || symmetric != k->symmetric ||
                sum != k->sum) {
                print_error("with %d threads: { \"%s\", %" PRId64 ", %" PRId64 ", %" PRId64
                            ", %s, 0x%016" PRIx64 " },\n",
                            threads, k->name, g.nrows, g.ncols, g.nnz, symmetric ? "true" : "false", sum);
                same = false;
            }
            generated_free(&g);
        }
    }
    assert_true(same);
}

/* No family without a matrix above. */
static void test_all_families_known(void **state)
{
    (void)state;
    family_info f;
    char error[64];
    for (int i = 0; generate_family(i, &f); i++) {
        bool found = false;
        for (size_t n = 0; n < COUNT(known) && !found; n++) {
            request r;
            found = parse_name(known[n].name, &r, error, sizeof error) &&
                    !strcmp(r.family->info.pattern, f.pattern);
        }
        if (!found) fail_msg("no matrix of %s is tested", f.pattern);
        assert_true(*f.summary && *f.formula && *f.original);
    }
    assert_false(generate_family(-1, &f));
}

/* Rows, columns and symmetry that a family declares are those of the matrices above. */
static void test_declared(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(known); n++) {
        request r;
        shape s;
        char error[64];
        assert_true(parse_name(known[n].name, &r, error, sizeof error));
        r.family->size(r.p, &s);
        assert_int_equal((int64_t)s.nrows, known[n].nrows);
        assert_int_equal((int64_t)s.ncols, known[n].ncols);
        if (r.family->symmetric && !known[n].symmetric) fail_msg("%s is declared symmetric", known[n].name);
    }
}

/* ---- formulas, published sizes ---- */

static void check_size(const char *name, int64_t nrows, int64_t nnz)
{
    generated g = make(name, 0);
    if (g.nrows != nrows || g.nnz != nnz)
        fail_msg("%s has %" PRId64 " rows and %" PRId64 " nonzeros, not %" PRId64 " and %" PRId64, name,
                 g.nrows, g.nnz, nrows, nnz);
    check_order(name, &g);
    generated_free(&g);
}

static void test_stencil_formulas(void **state)
{
    (void)state;
    for (int64_t x = 1; x <= 5; x++)
        for (int64_t y = 1; y <= 4; y++)
            for (int64_t z = 1; z <= 3; z++) {
                char name[64];
                const int64_t n = x * y * z, cube = (3 * x - 2) * (3 * y - 2) * (3 * z - 2);
                snprintf(name, sizeof name, "lap2d_%d_%d", (int)x, (int)y);
                check_size(name, x * y, 5 * x * y - 2 * x - 2 * y);
                snprintf(name, sizeof name, "mc2box_%d_%d", (int)x, (int)y);
                check_size(name, x * y, 4 * x * y - x - 2 * y);
                snprintf(name, sizeof name, "lap3d_%d_%d_%d", (int)x, (int)y, (int)z);
                check_size(name, n, 7 * n - 2 * (x * y + y * z + z * x));
                snprintf(name, sizeof name, "stencil27_%d_%d_%d", (int)x, (int)y, (int)z);
                check_size(name, n, cube);
                snprintf(name, sizeof name, "fem4dof_%d_%d_%d", (int)x, (int)y, (int)z);
                check_size(name, 4 * n, 16 * cube);
            }
}

static void test_mycielski_counts(void **state)
{
    static const int64_t published[][2] = { { 5, 10 },        { 11, 40 },      { 23, 142 },    { 47, 472 },
                                            { 95, 1510 },     { 191, 4720 },   { 383, 14542 }, { 767, 44392 },
                                            { 1535, 134710 }, { 3071, 407200 } };
    (void)state;
    for (int k = 0; k < (int)COUNT(published); k++) {
        char name[32];
        snprintf(name, sizeof name, "mycielskian%d", k + 3);
        check_size(name, published[k][0], published[k][1]);
    }
}

static void test_full_sizes(void **state)
{
    (void)state;
    check_size("mc2depi", 525825, 2100225);
    check_size("mc2depi_like", 525625, 2100325);
    check_size("conf5_like", 49152, 1916928);
    check_size("atmosmodd", 1270432, 8814880);
    check_size("air02", 50, 61555);
}

/* Any number of threads is taken. */
static void test_threads(void **state)
{
    (void)state;
    generated a = make("delaunay_n13", 1), b = make("delaunay_n13", 0), c = make("delaunay_n13", -3),
              d = make("web_3000", 100000);
    assert_int_equal(checksum(&a), checksum(&b));
    assert_int_equal(checksum(&a), checksum(&c));
    generated *const all[] = { &a, &b, &c, &d };
    for (size_t k = 0; k < COUNT(all); k++) generated_free(all[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_all_families_known),
        cmocka_unit_test(test_declared),
        cmocka_unit_test(test_stencil_formulas),
        cmocka_unit_test(test_mycielski_counts),
        cmocka_unit_test(test_full_sizes),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("generate known", tests, NULL, NULL);
}
