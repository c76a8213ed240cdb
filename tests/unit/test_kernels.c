/* The list of kernels: its records, how a name forces one, and what SPMVX_DISABLE takes away. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int32_t ptr[] = { 0, 2, 2, 5, 6 }, col[] = { 0, 3, 1, 2, 4, 0 };
static const double val[] = { 1, 2, 3, 4, 5, 6 }, x[] = { 1, 2, 3, 4, 5 }, expected[] = { 9, 0, 43, 6 };

typedef struct fixture {
    spmvx_context *ctx;
    spmvx_matrix *A;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    unsetenv("SPMVX_DISABLE");
    a.nrows = 4;
    a.ncols = 5;
    a.nnz = 6;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    f->ctx = test_context(NULL, 2);
    assert_ok(f->ctx, spmvx_matrix_create(f->ctx, &a, 0, &f->A));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    unsetenv("SPMVX_DISABLE");
    spmvx_matrix_destroy(f->A);
    spmvx_context_destroy(f->ctx);
    free(f);
    return 0;
}

static spmvx_kernel_info kernel_at(int32_t i)
{
    spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
    assert_ok(NULL, spmvx_kernel_get_info(i, &k));
    return k;
}

static bool runs_here(const spmvx_kernel_info *k)
{
    return k->place == SPMVX_HOST && k->operation == SPMVX_MUL && k->flags & SPMVX_KERNEL_AVAILABLE;
}

static bool begins_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

/* Converts by that name, multiplies, and gives the kernel's name with its parameters. */
static void force(const fixture *f, const char *name, char kernel[128])
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *m = NULL;
    double y[4] = { 7, 7, 7, 7 };
    o.kernel = name;
    assert_ok(f->ctx, spmvx_matrix_convert(f->ctx, f->A, &o, &m));
    assert_ok(f->ctx, spmvx_matrix_get_info(m, &info));
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1.0, m, x, 0.0, y));
    for (int i = 0; i < 4; i++)
        if (y[i] != expected[i]) fail_msg("%s: y[%d] is %g, not %g", name, i, y[i], expected[i]);
    snprintf(kernel, 128, "%s", info.kernel);
    spmvx_matrix_destroy(m);
}

static void refuse(const fixture *f, const char *name)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *m = (spmvx_matrix *)f;
    o.kernel = name;
    assert_fails(SPMVX_ERR_UNSUPPORTED, name, spmvx_matrix_convert(f->ctx, f->A, &o, &m));
    assert_ptr_equal(m, f);
}

static void test_records(void **state)
{
    (void)state;
    assert_true(spmvx_kernel_count() > 0);
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = kernel_at(i);
        assert_int_equal(k.size, sizeof k);
        assert_true(k.operation >= SPMVX_MUL && k.operation <= SPMVX_SPMSPM);
        assert_true(k.format > SPMVX_AUTO && k.format <= SPMVX_PKT);
        assert_true(k.place == SPMVX_HOST || k.place == SPMVX_CUDA);
        assert_true(k.types && !(k.types & ~(1u << SPMVX_F32 | 1u << SPMVX_F64)));
        assert_true(k.ops && !(k.ops & ~(SPMVX_OPS_N | SPMVX_OPS_T)));
        assert_int_equal(k.flags & ~(SPMVX_KERNEL_DETERMINISTIC | SPMVX_KERNEL_AVAILABLE), 0);
        assert_true(k.name && strlen(k.name) > 0 && strlen(k.name) < 64);
        assert_true(k.summary && strlen(k.summary) > 0);
        assert_true(k.source && strlen(k.source) > 0);
        /* which part a name from parameters and places */
        assert_int_equal(strcspn(k.name, " :,=/"), strlen(k.name));
    }
}

static void test_names_are_unique(void **state)
{
    (void)state;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++)
        for (int32_t j = 0; j < i; j++) {
            const spmvx_kernel_info a = kernel_at(i), b = kernel_at(j);
            if (a.operation == b.operation && a.place == b.place && !strcmp(a.name, b.name))
                fail_msg("%s stands twice", a.name);
        }
}

static void test_variants_have_a_portable_kernel(void **state)
{
    (void)state;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = kernel_at(i);
        const char *at = strchr(k.name, '@');
        bool found = !at;
        for (int32_t j = 0; at && j < spmvx_kernel_count(); j++) {
            const spmvx_kernel_info p = kernel_at(j);
            found |= p.place == k.place && p.operation == k.operation && p.format == k.format &&
                     strlen(p.name) == (size_t)(at - k.name) && begins_with(k.name, p.name) &&
                     p.flags & SPMVX_KERNEL_AVAILABLE;
        }
        if (!found) fail_msg("%s is a variant of nothing", k.name);
    }
}

static void test_index_out_of_range(void **state)
{
    (void)state;
    const int32_t count = spmvx_kernel_count(), wrong[] = { -1, count, count + 1, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        char text[32];
        snprintf(text, sizeof text, "i is %d", wrong[i]);
        assert_fails(SPMVX_ERR_ARGUMENT, text, spmvx_kernel_get_info(wrong[i], &k));
        assert_null(k.name);
        assert_int_equal(k.types, 0);
    }
}

static void test_forced_by_name(void **state)
{
    fixture *f = *state;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = kernel_at(i);
        char kernel[128], again[128];
        if (k.place != SPMVX_HOST || k.operation != SPMVX_MUL) continue;
        if (!runs_here(&k)) {
            refuse(f, k.name);
            continue;
        }
        force(f, k.name, kernel);
        if (!begins_with(kernel, k.name)) fail_msg("%s gave %s", k.name, kernel);
        force(f, kernel, again);
        assert_string_equal(again, kernel);
    }
}

static void test_portable_by_name(void **state)
{
    fixture *f = *state;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = kernel_at(i);
        char name[96], kernel[128], again[128];
        if (!runs_here(&k) || strchr(k.name, '@')) continue;
        snprintf(name, sizeof name, "%s@c", k.name);
        force(f, name, kernel);
        const char *at = strchr(kernel, '@');
        if (!begins_with(kernel, k.name) || (at && !begins_with(at, "@c")))
            fail_msg("%s gave %s", name, kernel);
        force(f, kernel, again);
        assert_string_equal(again, kernel);
    }
}

/* Which variant is best depends on the matrix, so any that is available will do. */
static void test_bare_name_takes_a_variant(void **state)
{
    fixture *f = *state;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = kernel_at(i);
        const size_t n = strcspn(k.name, "@");
        char bare[64], kernel[128];
        if (!runs_here(&k)) continue;
        snprintf(bare, sizeof bare, "%.*s", (int)n, k.name);
        force(f, bare, kernel);
        if (!begins_with(kernel, bare) || !strchr("@:", kernel[n])) fail_msg("%s gave %s", bare, kernel);
    }
}

static void test_parameters_are_echoed(void **state)
{
    fixture *f = *state;
    char kernel[128], again[128];
    force(f, "csr-merge-path:chunk=4096", kernel);
    assert_string_equal(kernel, "csr-merge-path:chunk=4096");
    force(f, "csr-merge-path", kernel);
    assert_non_null(strstr(kernel, ":chunk="));
    force(f, kernel, again);
    assert_string_equal(again, kernel);
}

/* ---- SPMVX_DISABLE ---- */

/* What the list says may follow a name is taken, with the least value of each. */
static void test_parameters_are_told(void **state)
{
    int told = 0;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = kernel_at(i);
        assert_non_null(k.parameters);
        if (!strcmp(k.name, "csr-scalar"))
            assert_string_equal(k.parameters, k.place ? "threads=32, 64 ... 1024" : "");
        if (!strcmp(k.name, "tiled") && k.place == SPMVX_HOST)
            assert_string_equal(k.parameters, "width=64 ... 65535; hot=1 ... 65535; columns=u16, delta; "
                                              "values=raw, one, f32, i16, u16, u8");
        for (const char *at = k.parameters; runs_here(&k) && *at; told++) {
            char name[128], kernel[128];
            const size_t n = strcspn(at, ";"), first = strcspn(at, " ,;");
            snprintf(name, sizeof name, "%s:%.*s", k.name, (int)first, at);
            force(*state, name, kernel);
            at += n + (at[n] ? 2 : 0);
        }
    }
    assert_true(told > 8);
}

/* Under this SPMVX_DISABLE those are available that were without it, but for what is gone: "@avx2" every
 * kernel of that variant, "sell" every variant of that kernel. */
static void check_masked(const fixture *f, const char *disable, const char *const *gone, size_t count)
{
    uint32_t before[128];
    assert_true(spmvx_kernel_count() <= 128);
    unsetenv("SPMVX_DISABLE");
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) before[i] = kernel_at(i).flags;
    setenv("SPMVX_DISABLE", disable, 1);
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = kernel_at(i);
        bool masked = k.place == SPMVX_CUDA && strstr(disable, "cuda");
        for (size_t g = 0; g < count; g++) {
            const bool variant = gone[g][0] == '@';
            const char *at = strchr(k.name, '@');
            masked |= variant ? at && !strcmp(at, gone[g])
                              : begins_with(k.name, gone[g]) && strcspn(k.name, "@") == strlen(gone[g]);
        }
        const uint32_t wanted = masked ? before[i] & ~SPMVX_KERNEL_AVAILABLE : before[i];
        if (k.flags != wanted)
            fail_msg("SPMVX_DISABLE=%s: %s has flags 0x%x, not 0x%x", disable, k.name, k.flags, wanted);
        if (k.place == SPMVX_HOST && k.operation == SPMVX_MUL && masked) refuse(f, k.name);
    }
    unsetenv("SPMVX_DISABLE");
}

static void test_disable_isa(void **state)
{
    static const char *const avx512[] = { "@avx512" }, *const avx2[] = { "@avx2" },
                             *const both[] = { "@avx2", "@avx512" };
    fixture *f = *state;
    char kernel[128];
    check_masked(f, "avx512", avx512, 1);
    check_masked(f, "avx2", avx2, 1);
    check_masked(f, "avx2,avx512", both, 2);
    setenv("SPMVX_DISABLE", "avx512,avx2", 1);
    force(f, "sell", kernel);
    assert_string_equal(kernel, "sell@c");
    force(f, "csr-vector", kernel);
    assert_true(begins_with(kernel, "csr-vector@c"));
    setenv("SPMVX_DISABLE", "avx512", 1);
    force(f, "sell", kernel);
    assert_null(strstr(kernel, "avx512"));
}

static void test_disable_kernel(void **state)
{
    static const char *const sell[] = { "sell" }, *const mixed[] = { "sell", "@avx512" };
    fixture *f = *state;
    check_masked(f, "sell", sell, 1);
    check_masked(f, "avx512,cuda,sell", mixed, 2);
    setenv("SPMVX_DISABLE", "sell", 1);
    refuse(f, "sell");
    refuse(f, "sell@c");
    for (int32_t effort = 0; effort <= 2; effort++) {
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        spmvx_matrix *m = NULL;
        o.effort = effort;
        assert_ok(f->ctx, spmvx_matrix_convert(f->ctx, f->A, &o, &m));
        assert_ok(f->ctx, spmvx_matrix_get_info(m, &info));
        assert_int_not_equal(info.format, SPMVX_SELL);
        spmvx_matrix_destroy(m);
        m = NULL;
        o.format = SPMVX_SELL;
        assert_fails(SPMVX_ERR_UNSUPPORTED, "SPMVX_DISABLE", spmvx_matrix_convert(f->ctx, f->A, &o, &m));
        assert_null(m);
    }
}

static void test_disable_nothing(void **state)
{
    fixture *f = *state;
    check_masked(f, "", NULL, 0);
    check_masked(f, ",", NULL, 0);
    check_masked(f, "cuda", NULL, 0);
    check_masked(f, "host", NULL, 0);
    check_masked(f, "avx,sel,selling,AVX2,csr", NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_records),
        TEST(test_names_are_unique),
        TEST(test_variants_have_a_portable_kernel),
        TEST(test_index_out_of_range),
        TEST(test_forced_by_name),
        TEST(test_portable_by_name),
        TEST(test_bare_name_takes_a_variant),
        TEST(test_parameters_are_echoed),
        TEST(test_parameters_are_told),
        TEST(test_disable_isa),
        TEST(test_disable_kernel),
        TEST(test_disable_nothing),
    };
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
