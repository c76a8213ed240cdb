/* The line of the tool's progress bar, for names and terminals of all sizes. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "progress.h"

static const char *line(const char *name, int64_t done, int64_t total, int columns)
{
    static char out[1000];
    memset(out, 'x', sizeof out);
    progress_line(name, done, total, "MB", columns, out, sizeof out);
    return out;
}

static void shares(void **state)
{
    (void)state;
    assert_string_equal(line("a.mtx", 0, 2000000, 34), "a.mtx [..........]   0% of 2.0 MB");
    assert_string_equal(line("a.mtx", 0, 2000000, 35), "a.mtx [...........]   0% of 2.0 MB");
    assert_string_equal(line("a.mtx", 999999, 2000000, 34), "a.mtx [####......]  49% of 2.0 MB");
    assert_string_equal(line("a.mtx", 2000000, 2000000, 34), "a.mtx [##########] 100% of 2.0 MB");
    /* a file that grew */
    assert_string_equal(line("a.mtx", 3, 2, 34), "a.mtx [##########] 100% of 0.0 MB");
    assert_string_equal(line("a.mtx", 0, 0, 34), "a.mtx [##########] 100% of 0.0 MB");
    assert_string_equal(line("a.mtx", 123456789, -1, 80), "a.mtx 123.5 MB");
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(line("a\033[31m\177.mtx", 1000000, -1, 80), "a?[31m?.mtx 1.0 MB");
    /* cut between characters */
    assert_string_equal(line("\303\244\303\266\303\274.mtx", 1000000, -1, 13), "\303\274.mtx 1.0 MB");
    char name[300] = { 0 }, end[] = "-the-last-forty-characters-are-shown.mtx";
    memset(name, 'n', 256);
    strcpy(name + 100, end);
    assert_int_equal(strlen(end), 40);
    assert_int_equal(strncmp(line(name, 1, 2, 80), end, 40), 0);
    memset(name, 0x80, 299); /* no character begins */
    assert_string_equal(line(name, 1000000, -1, 80), " 1.0 MB");
    memset(name, 0xf0, 299);
    assert_int_equal(strlen(line(name, 1000000, -1, 80)), 40 + 7);
}

/* A line that fills the terminal would make it scroll. */
static void columns(void **state)
{
    (void)state;
    for (int n = 1; n <= 200; n++)
        for (int64_t total = -1; total < INT64_C(2000000000000); total = total < 1 ? total + 1 : 10 * total) {
            const size_t length = strlen(line("matrix.mtx", total / 2, total, n));
            assert_true(length < (size_t)n);
        }
    assert_string_equal(line("a.mtx", 500000, 1000000, 5), " 50%");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(shares), cmocka_unit_test(names),
                                        cmocka_unit_test(columns) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
