/* Wisdom: learning, the way out and in as text, and what a wrong text leaves behind. Contexts have one
 * thread: with several, other processes that are busy leave the choice to the model, and nothing is
 * learned. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "spmvx-wisdom 1\n";
enum { TEXT = 16384 };

typedef struct fixture {
    counter count;
    spmvx_context *ctx;
    spmvx_matrix *A;
} fixture;

static void load(fixture *f, const char *name, spmvx_matrix **A)
{
    char path[512];
    const spmvx_status s = spmvx_matrix_read(f->ctx, test_data(name, path), NULL, A);
    if (s == SPMVX_ERR_UNSUPPORTED) skip(); /* built without zlib */
    assert_ok(f->ctx, s);
}

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->ctx = test_context(&f->count, 1);
    unsetenv("SPMVX_DISABLE");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    spmvx_matrix_destroy(f->A);
    spmvx_context_destroy(f->ctx);
    assert_int_equal(f->count.live, 0);
    unsetenv("SPMVX_DISABLE");
    free(f);
    return 0;
}

static const char *wisdom_of(const spmvx_context *ctx, char text[TEXT])
{
    size_t need = 0, len = TEXT;
    assert_ok(ctx, spmvx_wisdom_export(ctx, NULL, &need));
    assert_ok(ctx, spmvx_wisdom_export(ctx, text, &len));
    assert_int_equal(len, need);
    assert_int_equal(len, strlen(text) + 1);
    return text;
}

static void import(spmvx_context *ctx, const char *text)
{
    assert_ok(ctx, spmvx_wisdom_import(ctx, text, strlen(text)));
}

static spmvx_matrix *convert(spmvx_context *ctx, const spmvx_matrix *A, int32_t effort,
                             spmvx_matrix_info *info)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *m = NULL;
    o.effort = effort;
    *info = (spmvx_matrix_info)SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &m));
    assert_ok(ctx, spmvx_matrix_get_info(m, info));
    return m;
}

/* The wisdom of one timed conversion with `kernel` in place of what was fastest. */
static void wisdom_with(fixture *f, const char *kernel, char text[TEXT])
{
    spmvx_matrix_info info;
    spmvx_matrix_destroy(convert(f->ctx, f->A, 1, &info));
    wisdom_of(f->ctx, text);
    char *arrow = strstr(text, " -> ");
    assert_non_null(arrow);
    snprintf(arrow, 200, " -> %s\n", kernel);
}

static void test_empty(void **state)
{
    fixture *f = *state;
    char text[TEXT];
    assert_string_equal(wisdom_of(f->ctx, text), head);
    import(f->ctx, text);
    assert_string_equal(wisdom_of(f->ctx, text), head);
}

static void test_untimed_conversion_learns_nothing(void **state)
{
    fixture *f = *state;
    char text[TEXT];
    spmvx_matrix_info info;
    load(f, "arc130.mtx.gz", &f->A);
    spmvx_matrix_destroy(convert(f->ctx, f->A, 0, &info));
    assert_string_equal(wisdom_of(f->ctx, text), head);
}

static void test_timed_conversion_teaches(void **state)
{
    static const char *const names[] = { "arc130.mtx.gz", "jagmesh7.mtx.gz", "orani678.mtx.gz" };
    fixture *f = *state;
    char text[TEXT];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        spmvx_context *fresh = test_context(NULL, 1);
        spmvx_matrix_info learnt, taken;
        spmvx_matrix *A = NULL;
        load(f, names[i], &A);
        spmvx_matrix *timed = convert(f->ctx, A, 1, &learnt);
        assert_non_null(strstr(wisdom_of(f->ctx, text), learnt.kernel));
        import(fresh, text);
        spmvx_matrix *known = convert(fresh, A, 0, &taken), *again;
        assert_string_equal(taken.kernel, learnt.kernel);
        assert_int_equal(taken.format, learnt.format);
        assert_int_equal(taken.stored, learnt.stored);
        assert_non_null(strstr(taken.reason, "wisdom"));
        again = convert(fresh, A, 1, &taken);
        assert_string_equal(taken.kernel, learnt.kernel);
        assert_non_null(strstr(taken.reason, "wisdom"));
        spmvx_matrix_destroy(again);
        spmvx_matrix_destroy(known);
        spmvx_matrix_destroy(timed);
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(fresh);
    }
}

static void test_round_trip(void **state)
{
    static const char *const names[] = { "arc130.mtx.gz", "jagmesh7.mtx.gz", "662_bus.mtx.gz" };
    fixture *f = *state;
    char text[TEXT], copy[TEXT];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        spmvx_context *fresh = test_context(NULL, 1);
        spmvx_matrix_info info;
        spmvx_matrix *A = NULL;
        load(f, names[i], &A);
        spmvx_matrix_destroy(convert(f->ctx, A, 1, &info));
        spmvx_matrix_destroy(A);
        wisdom_of(f->ctx, text);
        /* with the NUL and without */
        assert_ok(fresh, spmvx_wisdom_import(fresh, text, strlen(text) + (i & 1)));
        assert_string_equal(wisdom_of(fresh, copy), text);
        import(fresh, text); /* what is known already changes nothing */
        assert_string_equal(wisdom_of(fresh, copy), text);
        spmvx_context_destroy(fresh);
    }
}

static int lines_with(const char *text, const char *word)
{
    int n = 0;
    while ((text = strstr(text, word)) != NULL) {
        n++;
        text += strlen(word);
    }
    return n;
}

static void test_replaced_keys(void **state)
{
    fixture *f = *state;
    char text[TEXT];
    import(f->ctx, "spmvx-wisdom 1\none -> csr-scalar\ntwo -> csr-vector\n");
    import(f->ctx, "spmvx-wisdom 1\nthree -> coo-scalar\none -> sell slice=8 sigma=64\n");
    wisdom_of(f->ctx, text);
    assert_int_equal(lines_with(text, "\n"), 4);
    assert_int_equal(lines_with(text, "one -> "), 1);
    assert_non_null(strstr(text, "\none -> sell slice=8 sigma=64\n"));
    assert_non_null(strstr(text, "\ntwo -> csr-vector\n"));
    assert_non_null(strstr(text, "\nthree -> coo-scalar\n"));
    import(f->ctx, "spmvx-wisdom 1\none -> csr-scalar\none -> csr-merge-path:chunk=4096\n");
    assert_non_null(strstr(wisdom_of(f->ctx, text), "\none -> csr-merge-path:chunk=4096\n"));
    assert_int_equal(lines_with(text, "one -> "), 1);
}

static void test_imported_choice_counts(void **state)
{
    fixture *f = *state;
    char text[TEXT];
    static const struct {
        const char *kernel, *taken;
        spmvx_format format;
    } cases[] = {
        { "csr-merge-path:chunk=4096", "csr-merge-path:chunk=4096", SPMVX_CSR },
        { "csr-scalar", "csr-scalar", SPMVX_CSR },
        { "coo-scalar", "coo-scalar", SPMVX_COO },
        { "sell@c slice=16 sigma=64", "sell@c", SPMVX_SELL },
    };
    load(f, "jagmesh7.mtx.gz", &f->A);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spmvx_matrix_info info;
        wisdom_with(f, cases[i].kernel, text);
        import(f->ctx, text);
        spmvx_matrix *m = convert(f->ctx, f->A, 0, &info);
        assert_string_equal(info.kernel, cases[i].taken);
        assert_int_equal(info.format, cases[i].format);
        assert_non_null(strstr(info.reason, "wisdom"));
        if (info.format == SPMVX_SELL) {
            spmvx_arrays view = SPMVX_ARRAYS_INIT;
            assert_ok(NULL, spmvx_matrix_arrays(m, &view));
            assert_int_equal(view.slice, 16);
        }
        spmvx_matrix_destroy(m);
    }
}

/* What this version or machine cannot run is passed over, without a trace in the last error. */
static void test_choice_that_is_not_offered(void **state)
{
    static const char *const kernels[] = { "no-such-kernel", "csr-merge-path:size=3",
                                           "csr-merge-path:chunk=1", "sell@none slice=8 sigma=1",
                                           "csr-scalar" };
    fixture *f = *state;
    char text[TEXT];
    load(f, "arc130.mtx.gz", &f->A);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        spmvx_context *fresh = test_context(NULL, 1);
        spmvx_matrix_info info;
        wisdom_with(f, kernels[i], text);
        import(fresh, text);
        setenv("SPMVX_DISABLE", "csr-scalar", 1);
        spmvx_matrix_destroy(convert(fresh, f->A, 0, &info));
        unsetenv("SPMVX_DISABLE");
        assert_string_equal(spmvx_last_error(fresh), "");
        spmvx_context_destroy(fresh);
    }
}

/* Wisdom chooses among what the options leave; it does not overrule them. */
static void test_options_come_first(void **state)
{
    fixture *f = *state;
    char text[TEXT];
    spmvx_matrix *m = NULL;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    load(f, "jagmesh7.mtx.gz", &f->A);
    wisdom_with(f, "csr-scalar", text);
    import(f->ctx, text);
    o.format = SPMVX_SELL;
    assert_ok(f->ctx, spmvx_matrix_convert(f->ctx, f->A, &o, &m));
    assert_ok(f->ctx, spmvx_matrix_get_info(m, &info));
    assert_int_equal(info.format, SPMVX_SELL);
    spmvx_matrix_destroy(m);
    o.format = SPMVX_AUTO;
    o.kernel = "csr-merge-path";
    assert_ok(f->ctx, spmvx_matrix_convert(f->ctx, f->A, &o, &m));
    assert_ok(f->ctx, spmvx_matrix_get_info(m, &info));
    assert_non_null(strstr(info.kernel, "csr-merge-path"));
    spmvx_matrix_destroy(m);
}

static void test_slice_of_the_options(void **state)
{
    fixture *f = *state;
    char text[TEXT];
    spmvx_matrix *m = NULL;
    spmvx_arrays view = SPMVX_ARRAYS_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    load(f, "jagmesh7.mtx.gz", &f->A);
    wisdom_with(f, "sell slice=8 sigma=1", text);
    import(f->ctx, text);
    o.slice = 16; /* which PACKED could not take */
    assert_ok(f->ctx, spmvx_matrix_convert(f->ctx, f->A, &o, &m));
    spmvx_matrix_destroy(m);
    o.format = SPMVX_SELL;
    assert_ok(f->ctx, spmvx_matrix_convert(f->ctx, f->A, &o, &m));
    assert_ok(f->ctx, spmvx_matrix_arrays(m, &view));
    assert_int_equal(view.slice, 16);
    spmvx_matrix_destroy(m);
}

static void test_limit_of_the_options(void **state)
{
    fixture *f = *state;
    char text[TEXT];
    spmvx_context *fresh = test_context(NULL, 1);
    spmvx_matrix *without = NULL, *with = NULL;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    load(f, "orani678.mtx.gz", &f->A);
    assert_ok(NULL, spmvx_matrix_get_info(f->A, &info));
    o.max_bytes = info.bytes_streamed + 65536; /* CSR and a partition fit, SELL with its padding does not */
    assert_ok(fresh, spmvx_matrix_convert(fresh, f->A, &o, &without));
    wisdom_with(f, "sell slice=64 sigma=1", text);
    import(fresh, text);
    assert_ok(fresh, spmvx_matrix_convert(fresh, f->A, &o, &with));
    assert_ok(NULL, spmvx_matrix_get_info(with, &info));
    assert_true(info.bytes_held <= o.max_bytes + 4096);
    spmvx_matrix_destroy(without);
    spmvx_matrix_destroy(with);
    spmvx_context_destroy(fresh);
}

/* What the model knows of the machine comes with the wisdom, and decides. */
static void test_machine(void **state)
{
    fixture *f = *state;
    static const char line[] =
        "machine memory=12345 more=250 cache=30000 near=1000 mid=2000 cached=3000 compute=1500 far=2500\n";
    static const char *const broken[] = {
        "machine\n",
        "machine memory=1\n",
        "machine memory=0 more=250 cache=1 near=1 mid=1 cached=1 compute=1 far=1\n",
        "machine memory=1 more=1001 cache=1 near=1 mid=1 cached=1 compute=1 far=1\n",
        "machine memory=1 more=-1 cache=1 near=1 mid=1 cached=1 compute=1 far=1\n",
        "machine memory=1 more=1 cache=1 near=3 mid=2 cached=5 compute=1 far=1\n",
        "machine memory=1 more=1 cache=1 near=1 mid=1 cached=1 compute=1 far=1 x\n",
        "machine memory=1.5 more=1 cache=1 near=1 mid=1 cached=1 compute=1 far=1\n"
    };
    char text[TEXT], out[TEXT];
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        snprintf(text, sizeof text, "%s%s", head, broken[i]);
        assert_fails(SPMVX_ERR_FILE, "line 2", spmvx_wisdom_import(f->ctx, text, strlen(text)));
    }
    size_t need = 0;
    assert_ok(f->ctx, spmvx_wisdom_export(f->ctx, NULL, &need));
    assert_int_equal(need, strlen(head) + 1); /* nothing was taken */
    snprintf(text, sizeof text, "%s%s", head, line);
    import(f->ctx, text);
    need = sizeof out;
    assert_ok(f->ctx, spmvx_wisdom_export(f->ctx, out, &need));
    assert_string_equal(out, text);
    /* With a memory as slow as this one, only bytes count. */
    spmvx_matrix *m = NULL;
    spmvx_matrix_info before = SPMVX_MATRIX_INFO_INIT, after = SPMVX_MATRIX_INFO_INIT;
    load(f, "jagmesh7.mtx.gz", &f->A);
    assert_ok(f->ctx, spmvx_matrix_get_info(f->A, &before));
    import(f->ctx, "spmvx-wisdom 1\nmachine memory=1 more=0 cache=1 near=1 mid=1 cached=1 compute=1 far=1\n");
    assert_ok(f->ctx, spmvx_matrix_convert(f->ctx, f->A, NULL, &m));
    assert_ok(f->ctx, spmvx_matrix_get_info(m, &after));
    assert_true(after.bytes_streamed < before.bytes_streamed);
    spmvx_matrix_destroy(m);
}

static void test_too_little_room(void **state)
{
    fixture *f = *state;
    char text[TEXT], small[64], number[32];
    import(f->ctx, "spmvx-wisdom 1\none -> csr-scalar\n");
    size_t need = 0;
    assert_ok(f->ctx, spmvx_wisdom_export(f->ctx, NULL, &need));
    snprintf(number, sizeof number, "%zu", need);
    const size_t rooms[] = { 0, 1, sizeof head, need - 1 };
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        size_t len = rooms[i];
        memset(small, 'x', sizeof small);
        assert_fails(SPMVX_ERR_LIMIT, number, spmvx_wisdom_export(f->ctx, small, &len));
        assert_non_null(strstr(spmvx_last_error(f->ctx), number));
        assert_int_equal(len, rooms[i]);
        for (size_t k = 0; k < sizeof small; k++) assert_int_equal(small[k], 'x');
    }
    size_t len = need;
    memset(small, 'x', sizeof small);
    assert_ok(f->ctx, spmvx_wisdom_export(f->ctx, small, &len));
    assert_int_equal(small[need - 1], 0);
    assert_int_equal(small[need], 'x');
    assert_string_equal(small, wisdom_of(f->ctx, text));
}

static void refuse(fixture *f, const char *text, size_t len, const char *line)
{
    static char before[TEXT], after[TEXT];
    const long live = f->count.live;
    char *exact = malloc(len ? len : 1); /* of its exact length, so that a read beyond is seen */
    memcpy(exact, text, len);
    wisdom_of(f->ctx, before);
    assert_fails(SPMVX_ERR_FILE, line, spmvx_wisdom_import(f->ctx, exact, len));
    assert_non_null(strstr(spmvx_last_error(f->ctx), line));
    assert_string_equal(wisdom_of(f->ctx, after), before);
    assert_int_equal(f->count.live, live);
    free(exact);
}

static void test_malformed(void **state)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        { "", "line 1" },
        { "\n", "line 1" },
        { "spmvx-wisdom 1", "line 1" },
        { "spmvx-wisdom 2\n", "line 1" },
        { "spmvx-wisdom 10\n", "line 1" },
        { " spmvx-wisdom 1\n", "line 1" },
        { "spmvx-wisdom 1\r\n", "line 1" },
        { "a -> csr-scalar\n", "line 1" },
        { "spmvx-wisdom 1\n\n", "line 2" },
        { "spmvx-wisdom 1\na -> csr-scalar", "line 2" },
        { "spmvx-wisdom 1\na csr-scalar\n", "line 2" },
        { "spmvx-wisdom 1\n -> csr-scalar\n", "line 2" },
        { "spmvx-wisdom 1\na -> \n", "line 2" },
        { "spmvx-wisdom 1\na -> csr-scalar \n", "line 2" },
        { "spmvx-wisdom 1\na -> csr-scalar rest\n", "line 2" },
        { "spmvx-wisdom 1\na -> sell slice=\n", "line 2" },
        { "spmvx-wisdom 1\na -> sell =8\n", "line 2" },
        { "spmvx-wisdom 1\na -> sell slice=8  sigma=1\n", "line 2" },
        { "spmvx-wisdom 1\na -> sell slice=8;sigma=1\n", "line 2" },
        { "spmvx-wisdom 1\na -> sell\tslice=8\n", "line 2" },
        { "spmvx-wisdom 1\na -> sell slice=8 sigma=1 more\n", "line 2" },
        { "spmvx-wisdom 1\none -> coo-scalar\nb -> csr-vector\nc\n", "line 4" },
        { "spmvx-wisdom 1\none -> coo-scalar\n\n", "line 3" },
    };
    fixture *f = *state;
    import(f->ctx, "spmvx-wisdom 1\none -> csr-scalar\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(f, cases[i].text, strlen(cases[i].text), cases[i].line);
}

static void test_malformed_by_length(void **state)
{
    fixture *f = *state;
    char text[2048];
    import(f->ctx, "spmvx-wisdom 1\none -> csr-scalar\n");
    for (size_t n = 0; n < sizeof head - 1; n++) refuse(f, head, n, "line 1");
    static const size_t lengths[] = { 256, 500, 1500 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        snprintf(text, sizeof text, "spmvx-wisdom 1\n%0*d -> csr-scalar\n", (int)lengths[i], 0);
        refuse(f, text, strlen(text), "line 2");
        snprintf(text, sizeof text, "spmvx-wisdom 1\na -> %0*d\n", (int)lengths[i], 0);
        refuse(f, text, strlen(text), "line 2");
    }
}

static void test_nul_inside(void **state)
{
    static const char text[] = "spmvx-wisdom 1\na -> csr-scalar\0b -> csr-scalar\n",
                      twice[] = "spmvx-wisdom 1\na -> csr-scalar\n\0";
    fixture *f = *state;
    import(f->ctx, "spmvx-wisdom 1\none -> csr-scalar\n");
    refuse(f, twice, sizeof twice, "line 3");
    refuse(f, text, sizeof text - 1, "line 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_empty),
        TEST(test_untimed_conversion_learns_nothing),
        TEST(test_timed_conversion_teaches),
        TEST(test_round_trip),
        TEST(test_replaced_keys),
        TEST(test_imported_choice_counts),
        TEST(test_choice_that_is_not_offered),
        TEST(test_options_come_first),
        TEST(test_slice_of_the_options),
        TEST(test_limit_of_the_options),
        TEST(test_machine),
        TEST(test_too_little_room),
        TEST(test_malformed),
        TEST(test_malformed_by_length),
        TEST(test_nul_inside),
    };
    return cmocka_run_group_tests_name("wisdom", tests, NULL, NULL);
}
