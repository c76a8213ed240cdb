/* Matrices by name: sizes against their formulas and published counts, order, symmetry, the same bits for
 * any number of threads and in every version (recorded checksums), triangulations against their
 * definition, and bad names. */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delaunay.h"
#include "family.h"
#include "generate.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static generated make(const char *name, int threads)
{
    generated g;
    char error[4096] = "";
    if (!generate(name, threads, &g, error, sizeof error)) fail_msg("%s: %s", name, error);
    return g;
}

/* FNV-1a over words of 64 bits. */
static uint64_t add_word(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x100000001b3u;
    return h ^ h >> 29;
}

static uint64_t checksum(const generated *g)
{
    uint64_t h = add_word(add_word(0xcbf29ce484222325u, (uint64_t)g->nrows), (uint64_t)g->ncols);
    for (int64_t i = 0; i <= g->nrows; i++) h = add_word(h, (uint64_t)g->ptr[i]);
    for (int64_t k = 0; k < g->nnz; k++) {
        uint64_t bits;
        memcpy(&bits, &g->val[k], sizeof bits);
        h = add_word(add_word(h, (uint64_t)g->col[k]), bits);
    }
    return h;
}

static void check_order(const char *name, const generated *g)
{
    if (g->ptr[0] != 0 || g->ptr[g->nrows] != g->nnz) fail_msg("%s: ptr does not go from 0 to nnz", name);
    for (int64_t i = 0; i < g->nrows; i++) {
        if (g->ptr[i] > g->ptr[i + 1]) fail_msg("%s: row %" PRId64 " has a negative length", name, i);
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
            if (g->col[k] < 0 || g->col[k] >= g->ncols)
                fail_msg("%s: row %" PRId64 " has column %d", name, i, g->col[k]);
            if (k > g->ptr[i] && g->col[k] <= g->col[k - 1])
                fail_msg("%s: row %" PRId64 " is not in order", name, i);
            if (!(g->val[k] > -1e9 && g->val[k] < 1e9))
                fail_msg("%s: row %" PRId64 " has the value %g", name, i, g->val[k]);
        }
    }
}

static const double *entry(const generated *g, int64_t i, int64_t c)
{
    for (int64_t low = g->ptr[i], high = g->ptr[i + 1]; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        if (g->col[middle] == c) return &g->val[middle];
        if (g->col[middle] < c) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

static bool is_symmetric(const generated *g)
{
    if (g->nrows != g->ncols) return false;
    for (int64_t i = 0; i < g->nrows; i++)
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
            const double *other = entry(g, g->col[k], i);
            if (!other || *other != g->val[k]) return false;
        }
    return true;
}

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

/* ---- formulas, published and measured sizes ---- */

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

static void test_full_sizes(void **state)
{
    (void)state;
    check_size("mc2depi", 525825, 2100225);
    check_size("mc2depi_like", 525625, 2100325);
    check_size("conf5_like", 49152, 1916928);
    check_size("atmosmodd", 1270432, 8814880);
    check_size("air02", 50, 61555);
}

/* Names of the measurements, by the sizes they declare. */
static void test_measured_names(void **state)
{
    static const struct {
        const char *name;
        int64_t nrows, ncols, nnz;
    } exact[] = {
        { "lap2d_1000", 1000000, 1000000, 4996000 },     { "lap2d_2000", 4000000, 4000000, 19992000 },
        { "lap3d_128", 2097152, 2097152, 14581760 },     { "lap3d_256", 16777216, 16777216, 117047296 },
        { "hpcg_144", 2985984, 2985984, 79507000 },      { "fem3dof_40", 192000, 192000, 14787288 },
        { "fem3dof_80", 1536000, 1536000, 121331448 },   { "fem6dof_40", 384000, 384000, 59149152 },
        { "atmosmodd_like", 1283040, 1283040, 8910432 }, { "cant_like", 62451, 62451, 4325625 },
        { "ecology1", 1000000, 1000000, 4996000 },       { "mycielskian17", 98303, 98303, 100245742 },
        { "dense_4000", 4000, 4000, 16000000 },          { "rail_small", 2000, 500000, 4987689 },
        { "rail_like", 4284, 1092610, 11145929 },        { "rail4284", 4284, 1092610, 11279748 },
        { "random_200k", 200000, 200000, 3999782 },      { "random_30k", 30000, 20000, 5970162 },
        { "spal_like", 10203, 321696, 46140513 },        { "sls_like", 1748122, 62729, 6992488 },
    };
    static const struct {
        const char *name;
        int64_t nrows;
    } rows[] = {
        { "circuit_1M", 1000000 },  { "circuit_like", 1500000 }, { "chem_like", 268096 },
        { "delaunay_n18", 262144 }, { "delaunay_n20", 1048576 }, { "kron_18", 262144 },
        { "kron_20", 1048576 },     { "mawi_like", 20000000 },   { "road_like", 2250000 },
        { "web_like", 4000000 },
    };
    (void)state;
    request r;
    shape s;
    char error[256];
    for (size_t k = 0; k < COUNT(exact); k++) {
        assert_true(parse_name(exact[k].name, &r, error, sizeof error));
        r.family->size(r.p, &s);
        if ((int64_t)s.nrows != exact[k].nrows || (int64_t)s.ncols != exact[k].ncols ||
            (int64_t)s.nnz != exact[k].nnz)
            fail_msg("%s: %.0f x %.0f, %.0f nonzeros", exact[k].name, s.nrows, s.ncols, s.nnz);
    }
    for (size_t k = 0; k < COUNT(rows); k++) {
        assert_true(parse_name(rows[k].name, &r, error, sizeof error));
        r.family->size(r.p, &s);
        if ((int64_t)s.nrows != rows[k].nrows) fail_msg("%s: %.0f rows", rows[k].name, s.nrows);
    }
    const char *name, *meaning;
    for (int i = 0; generate_alias(i, &name, &meaning); i++)
        if (!parse_name(meaning, &r, error, sizeof error)) fail_msg("%s stands for %s", name, error);
    assert_false(generate_alias(-1, &name, &meaning));
}

/* ---- structure and values ---- */

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
              random = make("lap2d_30_rand", 1);
    generated outer = make("lap2d_30_rand_const", 1), alias = make("kron_g7_rand_const", 1),
              ones = make("kron_g7", 1);
    assert_int_equal(checksum(&plain), checksum(&constant));
    assert_int_equal(checksum(&plain), checksum(&outer));
    assert_int_equal(checksum(&alias), checksum(&ones));
    assert_int_equal(plain.nnz, random.nnz);
    assert_memory_equal(plain.col, random.col, (size_t)plain.nnz * sizeof *plain.col);
    assert_true(is_symmetric(&random));
    /* the diagonal outweighs its row: positive definite */
    for (int64_t i = 0; i < random.nrows; i++) {
        double others = 0;
        for (int64_t k = random.ptr[i]; k < random.ptr[i + 1]; k++)
            if (random.col[k] != i) others += random.val[k] < 0 ? -random.val[k] : random.val[k];
        assert_true(*entry(&random, i, i) > others);
    }
    generated *const all[] = { &plain, &constant, &random, &outer, &alias, &ones };
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

/* ---- triangulations ---- */

static int64_t turn(point a, point b, point c)
{
    return (int64_t)(b.x - a.x) * (c.y - a.y) - (int64_t)(b.y - a.y) * (c.x - a.x);
}

__extension__ typedef __int128 wide;

/* Whether d lies within the circle through a, b, c. */
static bool within(point a, point b, point c, point d)
{
    const wide ax = a.x - d.x, ay = a.y - d.y, bx = b.x - d.x, by = b.y - d.y, cx = c.x - d.x, cy = c.y - d.y;
    const wide a2 = ax * ax + ay * ay, b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
    return a2 * (bx * cy - cx * by) + b2 * (cx * ay - ax * cy) + c2 * (ax * by - bx * ay) > 0;
}

/* Points on the border of the hull, those on its edges among them. */
static int64_t hull_size(const point *p, int64_t n)
{
    int64_t border = 0;
    for (int64_t i = 0; i < n; i++) {
        bool outer = false;
        for (int64_t j = 0; j < n && !outer; j++) {
            if (j == i) continue;
            bool all_left = true;
            for (int64_t k = 0; k < n && all_left; k++) all_left = turn(p[i], p[j], p[k]) >= 0;
            outer = all_left;
        }
        border += outer;
    }
    return border;
}

/* As many edges as a triangulation has, and every triangle's circle without a point inside. */
static void check_triangulation(const point *p, int64_t n, bool collinear)
{
    triangulation t;
    assert_true(triangulate(p, n, 2, &t));
    int64_t edges = 0;
    for (int32_t e = 0; e < t.halves; e++) {
        if (t.origin[e] < 0) continue;
        edges++;
        const point a = p[t.origin[e]], b = p[t.origin[e ^ 1]], c = p[t.origin[t.next[e] ^ 1]];
        if (turn(a, b, c) <= 0) continue;
        for (int64_t d = 0; d < n; d++)
            if (within(a, b, c, p[d]))
                fail_msg("point %" PRId64 " of %" PRId64 " lies within a triangle's circle", d, n);
    }
    assert_int_equal(edges / 2, collinear ? n - 1 : 3 * n - 3 - hull_size(p, n));
    triangulation_free(&t);
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static void test_triangulation(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int64_t n = 2; n <= 90; n += n < 12 ? 1 : 13)
        /* flat ones are full of points on a line or a circle */
        for (int32_t height = 1; height <= 1000; height *= 10) {
            point p[90];
            bool collinear = true;
            for (int64_t i = 0; i < n; i++) {
                p[i] = (point){ (int32_t)i * (height == 1000 ? 11 : 1),
                                (int32_t)(next_random(&random) % (uint64_t)height) };
                collinear = collinear && turn(p[0], p[n > 1], p[i]) == 0;
            }
            check_triangulation(p, n, collinear);
        }
}

/* 24 points on the circle about (2^25, 2^25) with the squared radius 33198620^2 + k, k in -3, 0, 1, 2, 4:
 * too near for doubles to tell which lie within it. */
static void test_triangulation_exact(void **state)
{
    static const point p[] = {
        { 414052, 31588832 },   { 1165534, 40841932 },  { 5642217, 51528208 },  { 6098276, 14891424 },
        { 6272833, 52471692 },  { 9666204, 56608736 },  { 12097541, 8221643 },  { 14637172, 6272833 },
        { 22738526, 2167101 },  { 26266932, 1165534 },  { 29707134, 66529372 }, { 32074538, 66720051 },
        { 33554433, 66753052 }, { 33554434, 66753052 }, { 36927844, 527648 },   { 42445183, 65540412 },
        { 43396656, 1848297 },  { 58887221, 12097541 }, { 61530576, 15680324 }, { 62156320, 50409116 },
        { 64941763, 22738526 }, { 66529372, 29707134 }, { 66569634, 37039372 }, { 66720051, 35034326 },
    };
    (void)state;
    check_triangulation(p, COUNT(p), false);
}

/* ---- bad names ---- */

static void test_bad_names(void **state)
{
    static const struct {
        const char *name, *text;
    } bad[] = {
        { "nonsense", "'nonsense' is not known; known are lap2d_X[_Y]" },
        { "nonsense", "web_like" },
        { "", "'' is not known" },
        { "lap2d_", "not known" },
        { "lap2d_10_", "not known" },
        { "lap2d_10_20_30", "not known" },
        { "lap2d_-5", "not known" },
        { "lap2d_1e3", "not known" },
        { "lap3d_4_5", "not known" },
        { "_rand", "not known" },
        { "mycielskian", "not known" },
        { "lap2d_0", "X of lap2d_X[_Y] is 0, not 1 to 2147483647" },
        { "lap2d_10_0", "Y of lap2d_X[_Y] is 0" },
        { "kron_g31", "K of kron_gK[_eE] is 31, not 1 to 30" },
        { "kron_g8_e0", "E of kron_gK[_eE] is 0" },
        { "fem65dof_3", "B of femBdof_X[_Y_Z] is 65" },
        { "delaunay_n25", "is 25, not 2 to 24" },
        { "qcd_2", "L of qcd_L is 2" },
        { "thin_10_10_4_101", "E of thin_R_C[_D[_E]] is 101, not 0 to 100" },
        { "web_99999999999999999999", "N of web_N is too large" },
        { "lap2d_50k", "2500000000 rows and 2500000000 columns; at most 2147483647" },
        { "stochlp_3000000_1000_5", "3000000000 rows and 15000005 columns; at most 2147483647" },
        { "qcd_4000", "3072000000000000 rows" },
        { "dense_2000M", "2000000000 rows and 4000000000000000000 nonzeros take 4.8e+10 GB" },
        { "random_2_2_5", "5 nonzeros in 2 x 2, which holds 4" },
        { "rail_3_2_7", "7 nonzeros in 3 x 2, which holds 6" },
        { "random_3_4_5_shuffled", "_shuffled needs a square matrix, and this one is 3 x 4" },
    };
    (void)state;
    char error[4096], longer[200];
    generated g;
    for (size_t k = 0; k < COUNT(bad); k++) {
        memset(&g, 0x55, sizeof g);
        assert_false(generate(bad[k].name, 1, &g, error, sizeof error));
        if (!strstr(error, bad[k].text))
            fail_msg("%s says '%s', without '%s'", bad[k].name, error, bad[k].text);
        assert_null(g.ptr);
        assert_null(g.col);
        assert_null(g.val);
    }
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    assert_false(generate(longer, 1, &g, error, sizeof error));
    assert_non_null(strstr(error, "199 letters"));
    memset(error, '#', sizeof error);
    assert_false(generate("nonsense", 1, &g, error, 20)); /* cut, and nothing behind */
    assert_string_equal(error, "'nonsense' is not k");
    assert_int_equal(error[20], '#');
    generated_free(NULL);
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
        cmocka_unit_test(test_mycielski_no_triangles),
        cmocka_unit_test(test_full_sizes),
        cmocka_unit_test(test_measured_names),
        cmocka_unit_test(test_chains_sum_to_zero),
        cmocka_unit_test(test_no_loops),
        cmocka_unit_test(test_endings_of_values),
        cmocka_unit_test(test_shuffled),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_triangulation),
        cmocka_unit_test(test_triangulation_exact),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}
