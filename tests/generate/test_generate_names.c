/* Names of matrices: the sizes that they declare, what short names stand for, and bad ones. */
#include <string.h>

#include "family.h"
#include "made.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measured_names),
        cmocka_unit_test(test_bad_names),
    };
    return cmocka_run_group_tests_name("generate names", tests, NULL, NULL);
}
