/* Wisdom about the machine's kernels, and wisdom from a file that the environment names. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"

enum { TEXT = 16384 };
#define HEAD "spmvx-wisdom 1\n"
#define MACHINE                                                                                      \
    "machine memory=20000 more=500 cache=40000 near=32000 mid=1000000 cached=24000000 compute=1000 " \
    "far=1000\n"
static const char known[] = HEAD MACHINE "kernel csr-scalar long second=1 last=2 memory=3 far=4\n"
                                         "kernel csr-scalar short second=1 last=2 memory=3 far=4\n"
                                         "kernel packed@c diagonals second=5 last=6 memory=7 far=8\n";

typedef struct said {
    int warnings;
    char last[600];
} said;

static void hear(void *user, spmvx_level level, const char *message)
{
    said *s = user;
    if (level != SPMVX_LOG_WARNING) return;
    s->warnings++;
    snprintf(s->last, sizeof s->last, "%s", message);
}

static spmvx_context *context(said *s)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.log = hear;
    o.user = s;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    return ctx;
}

static void text_of(const spmvx_context *ctx, char out[TEXT])
{
    size_t n = TEXT;
    assert_ok(ctx, spmvx_wisdom_export(ctx, out, &n));
}

static void test_in_and_out(void **state)
{
    (void)state;
    said s = { 0 };
    spmvx_context *ctx = context(&s);
    char text[TEXT];
    assert_ok(ctx, spmvx_wisdom_import(ctx, known, strlen(known)));
    text_of(ctx, text);
    assert_string_equal(text, known);
    /* in any order */
    static const char turned[] = HEAD "kernel csr-scalar short second=1 last=2 memory=3 far=4\n"
                                      "kernel packed@c diagonals second=5 last=6 memory=7 far=8\n"
                                      "kernel csr-scalar long second=1 last=2 memory=3 far=4\n" MACHINE;
    assert_ok(ctx, spmvx_wisdom_import(ctx, turned, strlen(turned)));
    text_of(ctx, text);
    assert_string_equal(text, known);
    /* another machine's line: what was measured with the one before is gone */
    assert_ok(ctx, spmvx_wisdom_import(ctx, HEAD MACHINE, strlen(HEAD MACHINE)));
    text_of(ctx, text);
    assert_string_equal(text, HEAD MACHINE);
    /* what is not known here is passed over */
    static const char foreign[] = HEAD "kernel of-another-version long second=1 last=1 memory=1 far=1\n";
    assert_ok(ctx, spmvx_wisdom_import(ctx, foreign, strlen(foreign)));
    text_of(ctx, text);
    assert_string_equal(text, HEAD MACHINE);
    spmvx_context_destroy(ctx);
}

static void test_malformed(void **state)
{
    (void)state;
    static const char *const broken[] = { "kernel\n",
                                          "kernel csr-scalar\n",
                                          "kernel  long second=1 last=1 memory=1 far=1\n",
                                          "kernel csr-scalar long second=1 last=1 memory=1\n",
                                          "kernel csr-scalar wide second=1 last=1 memory=1 far=1\n",
                                          "kernel csr-scalar second=1 last=1 memory=1 far=1\n",
                                          "kernel csr-scalar long second=-1 last=1 memory=1 far=1\n",
                                          "kernel csr-scalar long second=1 last=65536 memory=1 far=1\n",
                                          "kernel csr-scalar long second=1 last=1 memory=1 far=1 x\n",
                                          "kernel csr-scalar short second=1.5 last=1 memory=1 far=1\n" };
    said s = { 0 };
    spmvx_context *ctx = context(&s);
    char text[TEXT];
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        snprintf(text, sizeof text, HEAD MACHINE "%s", broken[i]);
        assert_fails(SPMVX_ERR_FILE, "line 3: after 'kernel'", spmvx_wisdom_import(ctx, text, strlen(text)));
        text_of(ctx, text);
        assert_string_equal(text, HEAD);
    }
    spmvx_context_destroy(ctx);
}

static const char *chosen(const char *wisdom, char kernel[256])
{
    said s = { 0 };
    spmvx_context *ctx = context(&s);
    triples t = case_make(0);
    for (int i = 1; t.nnz < 500; i++) {
        triples_free(&t);
        t = case_make(i);
        assert_true(t.nnz >= 0);
    }
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *A = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_wisdom_import(ctx, wisdom, strlen(wisdom)));
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, NULL, &A));
    assert_ok(ctx, spmvx_matrix_get_info(A, &i));
    assert_true(i.expected_s > 0);
    snprintf(kernel, 256, "%s", i.kernel);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(coo);
    triples_free(&t);
    spmvx_context_destroy(ctx);
    return kernel;
}

static void test_decides(void **state)
{
    (void)state;
    char first[256], second[256], text[TEXT], *end;
    chosen(HEAD MACHINE, first);
    if ((end = strchr(first, ':'))) *end = 0;
    snprintf(text, sizeof text,
             HEAD MACHINE "kernel %s long second=65535 last=65535 memory=65535 far=65535\n"
                          "kernel %s middle second=65535 last=65535 memory=65535 far=65535\n"
                          "kernel %s short second=65535 last=65535 memory=65535 far=65535\n"
                          "kernel %s diagonals second=65535 last=65535 memory=65535 far=65535\n",
             first, first, first, first);
    chosen(text, second);
    assert_true(strncmp(first, second, strlen(first)));
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static void test_from_the_environment(void **state)
{
    (void)state;
    said s = { 0 };
    char path[64], text[TEXT];
    snprintf(path, sizeof path, "wisdom-%ld.txt", (long)getpid());
    write_file(path, known);
    setenv("SPMVX_WISDOM", path, 1);
    spmvx_context *ctx = context(&s);
    text_of(ctx, text);
    assert_string_equal(text, known);
    assert_int_equal(s.warnings, 0);
    spmvx_context_destroy(ctx);
    static const char *const broken[] = { "", "no wisdom", HEAD "no arrow\n", HEAD MACHINE "kernel\n" };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        write_file(path, broken[i]);
        s.warnings = 0;
        ctx = context(&s);
        text_of(ctx, text);
        assert_string_equal(text, HEAD);
        assert_int_equal(s.warnings, 1);
        assert_non_null(strstr(s.last, path));
        assert_string_equal(spmvx_last_error(ctx), "");
        spmvx_context_destroy(ctx);
    }
    remove(path);
    s.warnings = 0;
    ctx = context(&s);
    assert_int_equal(s.warnings, 1); /* it is not there */
    spmvx_context_destroy(ctx);
    setenv("SPMVX_WISDOM", ".", 1);
    ctx = context(&s);
    assert_int_equal(s.warnings, 2); /* a folder */
    spmvx_context_destroy(ctx);
    snprintf(path, sizeof path, "pipe-%ld", (long)getpid());
    assert_int_equal(mkfifo(path, 0600), 0);
    setenv("SPMVX_WISDOM", path, 1);
    ctx = context(&s); /* does not wait for a writer */
    assert_int_equal(s.warnings, 3);
    spmvx_context_destroy(ctx);
    remove(path);
    setenv("SPMVX_WISDOM", "", 1);
    ctx = context(&s);
    assert_int_equal(s.warnings, 3);
    spmvx_context_destroy(ctx);
    unsetenv("SPMVX_WISDOM");
}

/* More than one read's worth. */
static void test_long_file(void **state)
{
    (void)state;
    said s = { 0 };
    char path[64];
    snprintf(path, sizeof path, "wisdom-%ld.txt", (long)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(HEAD, f);
    for (int i = 0; i < 5000; i++) fprintf(f, "key %04d -> csr-scalar\n", i);
    assert_int_equal(fclose(f), 0);
    setenv("SPMVX_WISDOM", path, 1);
    spmvx_context *ctx = context(&s);
    unsetenv("SPMVX_WISDOM");
    size_t n = 0;
    assert_ok(ctx, spmvx_wisdom_export(ctx, NULL, &n));
    assert_int_equal(n, strlen(HEAD) + 5000 * strlen("key 0000 -> csr-scalar\n") + 1);
    spmvx_context_destroy(ctx);
    remove(path);
}

int main(void)
{
    unsetenv("SPMVX_DISABLE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_and_out), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_decides),    cmocka_unit_test(test_from_the_environment),
        cmocka_unit_test(test_long_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
