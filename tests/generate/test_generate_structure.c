/* Structure and values of matrices by name. */
#include "made.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A graph without triangles: no neighbour of a neighbour is a neighbour. */
static void test_mycielski_no_triangles(void **state)
{
    (void)state;
    generated g = make("mycielskian7", 1);
    for (int64_t i = 0; i < g.nrows; i++)
        for (int64_t a = g.ptr[i]; a < g.ptr[i + 1]; a++)
            for (int64_t b = g.ptr[i]; b < g.ptr[i + 1]; b++) assert_null(entry(&g, g.col[a], g.col[b]));
    generated_free(&g);
}

static void test_chains_sum_to_zero(void **state)
{
    static const char *const names[] = { "mc2depi_40", "mc2box_40_30", "ecology_50" };
    (void)state;
    for (size_t n = 0; n < COUNT(names); n++) {
        generated g = make(names[n], 1);
        for (int64_t i = 0; i < g.nrows; i++) {
            double sum = 0;
            for (int64_t k = g.ptr[i]; k < g.ptr[i + 1]; k++) {
                sum += g.val[k];
                assert_true(g.val[k] != 0);
            }
            if (!(sum > -1e-9 && sum < 1e-9)) fail_msg("%s: row %" PRId64 " sums to %g", names[n], i, sum);
        }
        generated_free(&g);
    }
}

static void test_no_loops(void **state)
{
    static const char *const names[] = { "kron_g9", "delaunay_n8", "rgg_n9",
                                         "road_40", "mawi_3000",   "mycielskian8" };
    (void)state;
    for (size_t n = 0; n < COUNT(names); n++) {
        generated g = make(names[n], 2);
        for (int64_t i = 0; i < g.nrows; i++) assert_null(entry(&g, i, i));
        generated_free(&g);
    }
}

static void test_endings_of_values(void **state)
{
    (void)state;
    generated plain = make("lap2d_30", 1), constant = make("lap2d_30_const", 1),
              random = make("lap2d_30_rand", 1), whole = make("lap2d_30_whole", 1);
    generated outer = make("lap2d_30_rand_const", 1), alias = make("kron_g7_rand_const", 1),
              ones = make("kron_g7", 1);
    assert_int_equal(checksum(&plain), checksum(&constant));
    assert_int_equal(checksum(&plain), checksum(&outer));
    assert_int_equal(checksum(&alias), checksum(&ones));
    assert_int_equal(plain.nnz, random.nnz);
    assert_memory_equal(plain.col, random.col, (size_t)plain.nnz * sizeof *plain.col);
    assert_true(is_symmetric(&random) && is_symmetric(&whole));
    assert_memory_equal(plain.col, whole.col, (size_t)plain.nnz * sizeof *plain.col);
    double least = whole.val[0], most = least;
    for (int64_t k = 0; k < whole.nnz; k++) {
        const double v = whole.val[k];
        assert_true(v == (double)(int)v);
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    assert_true(least >= 1 && least < 100 && most > 9900 && most <= 10000);
    /* the diagonal outweighs its row: positive definite */
    for (int64_t i = 0; i < random.nrows; i++) {
        double others = 0;
        for (int64_t k = random.ptr[i]; k < random.ptr[i + 1]; k++)
            if (random.col[k] != i) others += random.val[k] < 0 ? -random.val[k] : random.val[k];
        assert_true(*entry(&random, i, i) > others);
    }
    generated *const all[] = { &plain, &constant, &random, &whole, &outer, &alias, &ones };
    for (size_t k = 0; k < COUNT(all); k++) generated_free(all[k]);
}

static int by_length(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t *sorted_lengths(const generated *g)
{
    int64_t *length = malloc((size_t)g->nrows * sizeof *length);
    assert_non_null(length);
    for (int64_t i = 0; i < g->nrows; i++) length[i] = g->ptr[i + 1] - g->ptr[i];
    qsort(length, (size_t)g->nrows, sizeof *length, by_length);
    return length;
}

/* The same matrix in another order: lengths, values and symmetry stay, places do not. */
static void test_shuffled(void **state)
{
    static const char *const names[] = { "lap2d_30_rand", "circuit_2000", "delaunay_n9", "ecology_20" };
    (void)state;
    for (size_t n = 0; n < COUNT(names); n++) {
        char name[64];
        snprintf(name, sizeof name, "%s_shuffled", names[n]);
        generated a = make(names[n], 1), b = make(name, 1);
        int64_t *la = sorted_lengths(&a), *lb = sorted_lengths(&b);
        double sum_a = 0, sum_b = 0, trace_a = 0, trace_b = 0;
        check_order(name, &b);
        assert_int_equal(a.nnz, b.nnz);
        assert_memory_equal(la, lb, (size_t)a.nrows * sizeof *la);
        assert_int_equal(is_symmetric(&a), is_symmetric(&b));
        assert_int_not_equal(checksum(&a), checksum(&b));
        for (int64_t k = 0; k < a.nnz; k++) {
            sum_a += a.val[k] * a.val[k];
            sum_b += b.val[k] * b.val[k];
        }
        for (int64_t i = 0; i < a.nrows; i++) {
            trace_a += entry(&a, i, i) ? *entry(&a, i, i) : 0;
            trace_b += entry(&b, i, i) ? *entry(&b, i, i) : 0;
        }
        assert_true(sum_a - sum_b < 1e-9 * sum_a && sum_b - sum_a < 1e-9 * sum_a);
        assert_true(trace_a - trace_b <= 1e-9 * trace_a && trace_b - trace_a <= 1e-9 * trace_a);
        free(la);
        free(lb);
        generated_free(&a);
        generated_free(&b);
    }
}

static int64_t longest_row(const generated *g)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < g->nrows; i++)
        longest = g->ptr[i + 1] - g->ptr[i] > longest ? g->ptr[i + 1] - g->ptr[i] : longest;
    return longest;
}

static void test_shapes(void **state)
{
    (void)state;
    generated thin = make("thin_5000_64_4_90", 1), web = make("web_20000", 2),
              traffic = make("mawi_50000", 2);
    generated circuit = make("circuit_20000", 1);
    int64_t empty = 0;
    for (int64_t i = 0; i < thin.nrows; i++) empty += thin.ptr[i] == thin.ptr[i + 1];
    assert_in_range(empty, 4300, 4700);
    assert_true(longest_row(&web) > 100 * web.nnz / web.nrows);
    assert_in_range(100 * traffic.ptr[1] / traffic.nnz, 23, 26);
    assert_in_range(100 * longest_row(&circuit) / circuit.nrows, 21, 25);
    generated *const all[] = { &thin, &web, &traffic, &circuit };
    for (size_t k = 0; k < COUNT(all); k++) generated_free(all[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mycielski_no_triangles),
        cmocka_unit_test(test_chains_sum_to_zero),
        cmocka_unit_test(test_no_loops),
        cmocka_unit_test(test_endings_of_values),
        cmocka_unit_test(test_shuffled),
        cmocka_unit_test(test_shapes),
    };
    return cmocka_run_group_tests_name("generate structure", tests, NULL, NULL);
}
