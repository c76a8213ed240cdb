/* Wisdom is advice: what is learned of every kernel serves the next conversion; what does not fit is passed
 * over, said in the log, and harms nothing. Contexts have one thread: with several, other processes that are
 * busy leave the choice to the model, and nothing is learned. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "meter.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define HEAD "spmvx-wisdom 1\n"
enum { TEXT = 4096 };

static spmvx_kernel_info kernel_at(int32_t i)
{
    spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
    assert_ok(NULL, spmvx_kernel_get_info(i, &k));
    return k;
}

/* A kernel of the host that multiplies, here. */
static bool concerns(const spmvx_kernel_info *k)
{
    return k->operation == SPMVX_MUL && k->place == SPMVX_HOST && k->flags & SPMVX_KERNEL_AVAILABLE;
}

static size_t base_length(const char *name)
{
    return strcspn(name, "@:");
}

static bool same_base(const char *a, const char *b)
{
    return base_length(a) == base_length(b) && !strncmp(a, b, base_length(a));
}

/* Rules out all kernels but this one; the portable one of its name cannot be ruled out alone. */
static void leave(const char *name)
{
    char list[1024] = "";
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = kernel_at(i);
        if (!concerns(&k) || !strcmp(k.name, name)) continue;
        if (same_base(k.name, name) && !strchr(k.name, '@')) continue;
        assert_true(strlen(list) + strlen(k.name) + 2 < sizeof list);
        strcat(strcat(list, k.name), ",");
    }
    setenv("SPMVX_DISABLE", list, 1);
}

static spmvx_matrix *convert(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_convert_options *o,
                             spmvx_matrix_info *info)
{
    spmvx_matrix *m = NULL;
    *info = (spmvx_matrix_info)SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, o, &m));
    assert_ok(ctx, spmvx_matrix_get_info(m, info));
    return m;
}

static void export_to(spmvx_context *ctx, char text[TEXT])
{
    size_t len = TEXT;
    assert_ok(ctx, spmvx_wisdom_export(ctx, text, &len));
}

static void import(spmvx_context *ctx, const char *text)
{
    assert_ok(ctx, spmvx_wisdom_import(ctx, text, strlen(text)));
}

/* Text with the advice in place of what each line of `learned` says. */
static void with_advice(const char *learned, const char *advice, char out[TEXT])
{
    size_t n = 0;
    for (const char *line = learned; *line; line = strchr(line, '\n') + 1) {
        const char *arrow = strstr(line, " -> "), *end = strchr(line, '\n');
        if (arrow && arrow < end)
            n += (size_t)snprintf(out + n, TEXT - n, "%.*s -> %s\n", (int)(arrow - line), line, advice);
        else n += (size_t)snprintf(out + n, TEXT - n, "%.*s\n", (int)(end - line), line);
        assert_true(n < TEXT);
    }
}

typedef struct fixture {
    meter meter;
    spmvx_context *ctx;
    triples t;
    spmvx_matrix *A;
    char learned[TEXT]; /* of a conversion of A with default options */
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    spmvx_matrix_info info;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    unsetenv("SPMVX_DISABLE");
    f->ctx = meter_context(&f->meter, 1);
    f->t = case_make(11); /* which every format suits */
    f->A = case_coo(f->ctx, &f->t, SPMVX_F64);
    o.effort = 1;
    spmvx_context *other = test_context(NULL, 1);
    spmvx_matrix_destroy(convert(other, f->A, &o, &info));
    export_to(other, f->learned);
    spmvx_context_destroy(other);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    unsetenv("SPMVX_DISABLE");
    spmvx_matrix_destroy(f->A);
    spmvx_context_destroy(f->ctx);
    assert_int_equal(f->meter.blocks, 0);
    triples_free(&f->t);
    free(f);
    return 0;
}

/* Learns with only this kernel there, and converts by it in a context that knows nothing else. */
static void learn_and_use(const fixture *f, const char *name, spmvx_type type, uint32_t ops)
{
    char text[TEXT], again[TEXT];
    spmvx_matrix_info learned, used;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_context *teacher = test_context(NULL, 1), *pupil = test_context(NULL, 1);
    spmvx_matrix *A = case_coo(teacher, &f->t, type);
    o.effort = 1;
    o.ops = ops;
    o.flags = SPMVX_ALLOW_NONDETERMINISTIC;
    leave(name);
    spmvx_matrix *timed = convert(teacher, A, &o, &learned);
    unsetenv("SPMVX_DISABLE");
    if (!same_base(learned.kernel, name)) fail_msg("%s is taken, and only %s is left", learned.kernel, name);
    case_check(teacher, timed, &f->t, learned.kernel);
    export_to(teacher, text);
    import(pupil, text);
    export_to(pupil, again);
    assert_string_equal(text, again);
    o.effort = 0;
    spmvx_matrix *known = convert(pupil, A, &o, &used);
    if (!strstr(used.reason, "wisdom"))
        fail_msg("%s: learned from '%s', used by '%s'", name, text, used.reason);
    if (ops == SPMVX_OPS_N) assert_string_equal(used.kernel, learned.kernel);
    else assert_true(same_base(used.kernel, learned.kernel)); /* both ops have one key, and may differ */
    assert_int_equal(used.format, learned.format);
    case_check(pupil, known, &f->t, used.kernel);
    spmvx_matrix_destroy(known);
    spmvx_matrix_destroy(timed);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(teacher);
    spmvx_context_destroy(pupil);
}

static void every_kernel_is_learned_and_used(void **state)
{
    const fixture *f = *state;
    int tried = 0;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = kernel_at(i);
        if (!concerns(&k)) continue;
        tried++;
        learn_and_use(f, k.name, SPMVX_F64, SPMVX_OPS_N);
        learn_and_use(f, k.name, SPMVX_F32, SPMVX_OPS_N | SPMVX_OPS_T);
    }
    assert_true(tried >= 12);
}

/* The name that info shows is advice, for every variant. */
static void every_kernel_is_advised(void **state)
{
    fixture *f = *state;
    char text[TEXT];
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = kernel_at(i);
        if (!concerns(&k)) continue;
        spmvx_matrix_info forced, used;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.kernel = k.name;
        spmvx_matrix *m = convert(f->ctx, f->A, &o, &forced);
        with_advice(f->learned, forced.kernel, text);
        import(f->ctx, text);
        o.kernel = NULL;
        o.flags = SPMVX_ALLOW_NONDETERMINISTIC;
        spmvx_matrix *known = convert(f->ctx, f->A, &o, &used);
        if (!strstr(used.reason, "wisdom") || strcmp(used.kernel, forced.kernel))
            fail_msg("advised '%s', taken %s: %s", forced.kernel, used.kernel, used.reason);
        case_check(f->ctx, known, &f->t, used.kernel);
        spmvx_matrix_destroy(known);
        spmvx_matrix_destroy(m);
    }
}

/* ---- what does not fit ---- */

static const char *const unfit[] = {
    "packed@c slice=8 sigma=1",
    "sell slice=3 sigma=1",
    "sell slice=8 width=7",
    "sell slice=0 sigma=-1",
    "sell slice=65537 sigma=1",
    "sell@c slice=99999999999999999999999 sigma=1",
    "sell slice=8 sigma=1x",
    "bsr block_rows=99 block_cols=1",
    "bsr block_rows=-2 block_cols=2",
    "bsr block_rows=4294967298 block_cols=2",
    "bsr:block_rows=0,block_cols=2",
    "tiled:width=0",
    "tiled:width=63",
    "tiled:width=65536",
    "tiled:width=-1",
    "tiled:hot=65536",
    "tiled:width=16384 sigma=3",
    "csr5:omega=0",
    "csr5:omega=65",
    "csr5:omega=8,sigma=33",
    "csr5:sigma=-1",
    "csr5 width=5",
    "csr-merge-path:chunk=0",
    "csr-merge-path:chunk=-4096",
    "csr-merge-path:chunk=18446744073709551616",
    "csr-merge-path:chunk=",
    "csr-merge-path:=4096",
    "csr-merge-path:lanes=16,threads=256",
    "csr-scalar:chunk=1",
    "csr-scalar slice=8",
    "csr-dense-row",
    "coo-hash",
    "csr-rowblock",
    "sell@cuda slice=32 sigma=1",
    "sell@sve slice=8 sigma=1",
    "@avx2",
    ":",
    "=",
    "dia dia=1",
    "no-such-kernel",
};

/* May be taken or not; nothing but the choice depends on it. */
static const char *const doubtful[] = {
    "csr5",
    "csr5:omega=64,sigma=32",
    "csr5:omega=1,sigma=1",
    "csr5:sigma=0",
    "tiled",
    "tiled:width=16384",
    "tiled:width=64",
    "tiled:width=65535",
    "tiled:hot=20",
    "tiled:width=100,hot=20",
    "packed",
    "packed@c slice=32 sigma=9223372036854775807",
    "sell",
    "sell slice=65536 sigma=9223372036854775807",
    "sell slice=4 sigma=5",
    "sell slice=5",
    "sell sigma=7",
    "sell@c slice=+8 sigma=1",
    "bsr",
    "bsr block_rows=16 block_cols=16",
    "bsr block_rows=1 block_cols=1",
    "bsr block_rows=3",
    "bsr block_cols=7",
    "ell",
    "hyb",
    "dia",
    "csc-scalar",
    "coo-scalar",
    "csr-vector",
    "csr-merge-path:chunk=16",
    "csr-nnz-split",
};

static void use(fixture *f, const char *advice, const triples *t, const spmvx_matrix *A, bool fits)
{
    char text[TEXT];
    for (int32_t effort = 0; effort < 2; effort++) {
        spmvx_context *ctx = meter_context(&f->meter, 1);
        spmvx_matrix_info info;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        spmvx_context *other = test_context(NULL, 1);
        o.effort = 1;
        o.kernel = NULL;
        spmvx_matrix_destroy(convert(other, A, &o, &info)); /* for the key */
        export_to(other, text);
        spmvx_context_destroy(other);
        char hostile[TEXT];
        with_advice(text, advice, hostile);
        import(ctx, hostile);
        meter_reset(&f->meter);
        o.effort = effort;
        spmvx_matrix *m = convert(ctx, A, &o, &info);
        const bool taken = strstr(info.reason, "wisdom"),
                   told = strstr(f->meter.log, "wisdom is passed over");
        if (taken == told || (taken && !fits))
            fail_msg("'%s': taken: %d, told: %d; %s; log: %s", advice, taken, told, info.reason,
                     f->meter.log);
        assert_string_equal(spmvx_last_error(ctx), "");
        case_check(ctx, m, t, advice);
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
    }
}

static void what_does_not_fit_is_passed_over(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(unfit); i++) {
        use(f, unfit[i], &f->t, f->A, false);
    }
}

static void what_may_fit_harms_nothing(void **state)
{
    fixture *f = *state;
    static const int cases[] = { 11, 7, 10, 3, 4, 5, 6 };
    for (size_t c = 0; c < COUNT(cases); c++) {
        triples t = case_make(cases[c]);
        spmvx_matrix *A = case_coo(f->ctx, &t, c % 2 ? SPMVX_F32 : SPMVX_F64);
        for (size_t i = 0; i < COUNT(doubtful); i++) use(f, doubtful[i], &t, A, true);
        spmvx_matrix_destroy(A);
        triples_free(&t);
    }
}

/* Advice that is not allowed or would exceed the limit: another kernel is taken. */
static void requests_bind_advice(void **state)
{
    fixture *f = *state;
    char text[TEXT];
    triples t = case_make(10); /* one huge row: ELL would be large */
    spmvx_matrix *A = case_coo(f->ctx, &t, SPMVX_F64);
    spmvx_context *ctx = meter_context(&f->meter, 1);
    spmvx_matrix_info info;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.effort = 1;
    spmvx_matrix_destroy(convert(ctx, A, &o, &info));
    export_to(ctx, text);
    char hostile[TEXT];
    with_advice(text, "ell", hostile);
    import(ctx, hostile);
    meter_reset(&f->meter);
    o.effort = 0;
    o.max_bytes = 4000000;
    spmvx_matrix *m = convert(ctx, A, &o, &info);
    assert_int_not_equal(info.format, SPMVX_ELL);
    assert_non_null(strstr(f->meter.log, "wisdom is passed over"));
    assert_true(info.bytes_held <= o.max_bytes + 4096);
    case_check(ctx, m, &t, "limited");
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    triples_free(&t);
}

/* The case with two values alone, which a table gives back. */
static spmvx_matrix *of_two_values(const fixture *f)
{
    csr_arrays c = case_csr(&f->t, SPMVX_F64);
    spmvx_matrix *A = NULL;
    for (int64_t k = 0; k < f->t.nnz; k++) value_put(c.val, SPMVX_F64, k, k % 2 ? 0.1 : 0.2);
    assert_ok(f->ctx, spmvx_matrix_create(f->ctx, &c.arrays, 0, &A));
    csr_free(&c);
    return A;
}

/* Advice of values in fewer bits, where they are to be updated, too; and of values as they came. */
static void updates_bind_advice(void **state)
{
    fixture *f = *state;
    static const uint32_t flags[] = { 0, SPMVX_UPDATABLE, 0 };
    static const char *const advice[] = { "packed@c:values=u8", "packed@c:values=u8", "packed@c:values=raw" };
    static const char *const wanted[] = { "packed@c:piece=504,values=u8", "packed@c:piece=504,values=raw",
                                          "packed@c:piece=504,values=raw" };
    csr_arrays other = case_csr(&f->t, SPMVX_F64);
    spmvx_matrix *A = of_two_values(f);
    for (size_t i = 0; i < COUNT(flags); i++) {
        char text[TEXT], advised[TEXT];
        spmvx_context *ctx = meter_context(&f->meter, 1);
        spmvx_matrix_info info;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.flags = flags[i];
        o.effort = 1;
        spmvx_matrix_destroy(convert(ctx, A, &o, &info)); /* for the key */
        export_to(ctx, text);
        with_advice(text, advice[i], advised);
        import(ctx, advised);
        spmvx_matrix *m = convert(ctx, A, &o, &info);
        assert_non_null(strstr(info.reason, "wisdom"));
        assert_string_equal(info.kernel, wanted[i]);
        if (o.flags) {
            assert_ok(ctx, spmvx_matrix_update_values(ctx, m, other.val));
            case_check(ctx, m, &f->t, "updated");
        }
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
    }
    spmvx_matrix_destroy(A);
    csr_free(&other);
}

/* In a cache a table takes longer than the bytes that it saves; asked for, the format has the fewest. */
static void values_in_a_cache(void **state)
{
    fixture *f = *state;
    static const spmvx_format formats[] = { SPMVX_AUTO, SPMVX_PACKED };
    static const char *const wanted[] = { "packed@c:piece=504,values=raw", "packed@c:piece=504,values=u8" };
    spmvx_matrix *A = of_two_values(f);
    leave("packed@c");
    for (size_t i = 0; i < COUNT(formats); i++) {
        spmvx_matrix_info info;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.format = formats[i];
        spmvx_matrix *m = convert(f->ctx, A, &o, &info);
        assert_string_equal(info.kernel, wanted[i]);
        spmvx_matrix_destroy(m);
    }
    unsetenv("SPMVX_DISABLE");
    spmvx_matrix_destroy(A);
}

/* ---- the key ---- */

static void the_key_has_what_was_asked(void **state)
{
    fixture *f = *state;
    static const int64_t asked[][2] = { { 1000, 1 }, { 1, 1 },     { 1000000, 1 },
                                        { 1000, 2 }, { 1000, 16 }, { 7, 3 } };
    spmvx_matrix_info info;
    for (size_t i = 0; i < COUNT(asked); i++) {
        spmvx_context *ctx = test_context(NULL, 1);
        for (int32_t effort = 1; effort >= 0; effort--)
            for (size_t k = 0; k < COUNT(asked); k++) {
                spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
                const size_t at = effort ? i : k;
                o.effort = effort;
                o.expected_muls = asked[at][0];
                o.nvec = asked[at][1];
                spmvx_matrix *m = convert(ctx, f->A, &o, &info);
                if (!effort && !strstr(info.reason, "wisdom") != (i != k))
                    fail_msg("learned for %d multiplications by %d, asked for %d by %d: %s", (int)asked[i][0],
                             (int)asked[i][1], (int)asked[k][0], (int)asked[k][1], info.reason);
                spmvx_matrix_destroy(m);
                if (effort) break;
            }
        spmvx_context_destroy(ctx);
    }
    /* what is 0 means its default */
    spmvx_context *ctx = test_context(NULL, 1);
    import(ctx, f->learned);
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.expected_muls = 1000;
    o.nvec = 1;
    spmvx_matrix *m = convert(ctx, f->A, &o, &info);
    assert_non_null(strstr(info.reason, "wisdom"));
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
}

/* ---- much of it ---- */

/* Keys in an order of their own, every one twice: the later line counts. */
static void many_lines(void **state)
{
    enum { LINES = 200000, EACH = 48 };
    fixture *f = *state;
    char *text = malloc((size_t)LINES * EACH + 64), *out = malloc((size_t)LINES * EACH + 64);
    size_t n = (size_t)sprintf(text, HEAD), len;
    assert_true(text && out);
    for (int64_t i = 0; i < LINES; i++)
        n += (size_t)sprintf(text + n, "k%06d -> csr-merge-path:chunk=%06d\n", (int)(i * 7919 % (LINES / 2)),
                             (int)i);
    assert_ok(f->ctx, spmvx_wisdom_import(f->ctx, text, n));
    for (int again = 0; again < 2; again++) {
        len = (size_t)LINES * EACH + 64;
        assert_ok(f->ctx, spmvx_wisdom_export(f->ctx, out, &len));
        int lines = 0;
        for (const char *p = out + sizeof HEAD - 1; *p; p = strchr(p, '\n') + 1, lines++) {
            int key, chunk;
            assert_int_equal(sscanf(p, "k%d -> csr-merge-path:chunk=%d", &key, &chunk), 2);
            assert_true(chunk >= LINES / 2);
            assert_int_equal((int64_t)chunk * 7919 % (LINES / 2), key);
        }
        assert_int_equal(lines, LINES / 2);
        /* older text does not come back, and its own text changes nothing */
        assert_ok(f->ctx, spmvx_wisdom_import(f->ctx, out, len));
    }
    /* one bad line of many: nothing is taken */
    const long blocks = f->meter.blocks;
    memcpy(text + n, "k -> \n", 7);
    assert_fails(SPMVX_ERR_FILE, "line 200002", spmvx_wisdom_import(f->ctx, text, n + 6));
    assert_int_equal(f->meter.blocks, blocks);
    size_t after = 0;
    assert_ok(f->ctx, spmvx_wisdom_export(f->ctx, NULL, &after));
    assert_int_equal(after, len);
    free(text);
    free(out);
}

/* Memory that runs out anywhere leaves what was known. */
static void import_that_fails(void **state)
{
    fixture *f = *state;
    char before[TEXT], after[TEXT];
    static const char text[] = HEAD "b -> csr-scalar\na -> ell\nb -> dia\nd -> coo-scalar\n";
    import(f->ctx, HEAD "a -> csr-scalar\nc -> sell slice=8 sigma=1\n");
    export_to(f->ctx, before);
    for (long i = 1;; i++) {
        const long blocks = f->meter.blocks;
        meter_reset(&f->meter);
        f->meter.fail_at = i;
        const spmvx_status s = spmvx_wisdom_import(f->ctx, text, sizeof text);
        f->meter.fail_at = 0;
        if (s == SPMVX_OK) {
            assert_true(i > 3);
            break;
        }
        assert_int_equal(s, SPMVX_ERR_MEMORY);
        assert_int_equal(f->meter.blocks, blocks);
        export_to(f->ctx, after);
        assert_string_equal(before, after);
    }
    export_to(f->ctx, after);
    assert_string_equal(after, HEAD "a -> ell\nb -> dia\nc -> sell slice=8 sigma=1\nd -> coo-scalar\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kernel_is_learned_and_used),
        TEST(every_kernel_is_advised),
        TEST(what_does_not_fit_is_passed_over),
        TEST(what_may_fit_harms_nothing),
        TEST(requests_bind_advice),
        TEST(updates_bind_advice),
        TEST(values_in_a_cache),
        TEST(the_key_has_what_was_asked),
        TEST(many_lines),
        TEST(import_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
