/* Whole numbers in text, and printing against the shortest text that reads back. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "numbers.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- whole numbers ---- */

static const struct {
    const char *text;
    bool taken;
    int64_t value;
    size_t used;
} ints[] = {
    { "0", true, 0, 1 },
    { "-0", true, 0, 2 },
    { "+0", true, 0, 2 },
    { "7", true, 7, 1 },
    { "+7", true, 7, 2 },
    { "-7", true, -7, 2 },
    { "007", true, 7, 3 },
    { "12 34", true, 12, 2 },
    { "12.5", true, 12, 2 },
    { "12e3", true, 12, 2 },
    { "12-", true, 12, 2 },
    { "2147483647", true, 2147483647, 10 },
    { "2147483648", true, 2147483648, 10 },
    { "4294967296", true, 4294967296, 10 },
    { "9223372036854775807", true, INT64_MAX, 19 },
    { "+9223372036854775807", true, INT64_MAX, 20 },
    { "-9223372036854775807", true, -INT64_MAX, 20 },
    { "-9223372036854775808", true, INT64_MIN, 20 },
    { "00000000000000000000000000009223372036854775807", true, INT64_MAX, 47 },
    { "9223372036854775808", false, 0, 0 },
    { "+9223372036854775808", false, 0, 0 },
    { "-9223372036854775809", false, 0, 0 },
    { "9223372036854775810", false, 0, 0 },
    { "18446744073709551616", false, 0, 0 },
    { "92233720368547758070", false, 0, 0 },
    { "99999999999999999999999999999", false, 0, 0 },
    { "", false, 0, 0 },
    { "-", false, 0, 0 },
    { "+", false, 0, 0 },
    { "x", false, 0, 0 },
    { " 1", false, 0, 0 },
    { "--1", false, 0, 0 },
    { "+-1", false, 0, 0 },
    { ".5", false, 0, 0 },
};

static void test_ints(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ints); i++) {
        const char *p = ints[i].text;
        int64_t v = 77;
        if (spx_scan_int(&p, p + strlen(p), &v) != ints[i].taken) fail_msg("'%s'", ints[i].text);
        assert_int_equal(p - ints[i].text, ints[i].used);
        assert_true(v == (ints[i].taken ? ints[i].value : 77));
    }
    for (int i = 0; i < 100000; i++) {
        char text[32];
        const int64_t expected = (int64_t)next_random() >> below(64);
        const size_t n = (size_t)sprintf(text, "%lld", (long long)expected);
        const char *p = text;
        int64_t v;
        assert_true(spx_scan_int(&p, text + n, &v) && v == expected && p == text + n);
    }
}

/* ---- printing ---- */

/* Some of the values that people write: few decimals. */
static double random_printed(int i)
{
    return i % 3 ? random_finite()
                 : (double)below(1000000000) / (double[]){ 1, 10, 1000, 1e6, 1e9, 3 }[below(6)];
}

static void test_format_shortest(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const double v = random_printed(i);
        char out[SPX_NUMBER + 1], expected[64];
        memset(out, '#', sizeof out);
        const size_t n = spx_format_double(v, 0, false, out);
        assert_int_equal(n, strlen(out));
        int digits = 15;
        while (sprintf(expected, "%.*g", digits, v), strtod(expected, NULL) != v) digits++;
        assert_true(digits <= 17);
        assert_string_equal(out, expected);
        assert_true(out[SPX_NUMBER] == '#');
        assert_true(bits_of(strtod(out, NULL)) == bits_of(v));
    }
}

static void test_format_single(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const uint32_t bits = (uint32_t)(next_random() >> 32) & (i % 8 ? 0xffffffffu : 0x807fffffu);
        float v;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v)) continue;
        char out[SPX_NUMBER], expected[64];
        const size_t n = spx_format_double((double)v, 0, true, out);
        assert_int_equal(n, strlen(out));
        int digits = 6;
        while (sprintf(expected, "%.*g", digits, (double)v), strtof(expected, NULL) != v) digits++;
        assert_true(digits <= 9);
        assert_string_equal(out, expected);
        const char *p = out;
        double back;
        assert_true(spx_scan_double(&p, out + strlen(out), &back));
        assert_true((float)back == v && !signbit(back) == !signbit(v));
    }
}

static void test_format_digits(void **state)
{
    (void)state;
    static const double special[] = { 0.0,
                                      -0.0,
                                      DBL_MAX,
                                      -DBL_MAX,
                                      DBL_MIN,
                                      0x1p-1074,
                                      -0x1p-1074,
                                      -0.00012345678901234567,
                                      99999.999999999999,
                                      0.5,
                                      9.5,
                                      1e22 };
    for (int i = 0; i < 20000; i++) {
        const double v = i < (int)COUNT(special) ? special[i] : random_printed(i);
        for (int digits = 1; digits <= 17; digits++) {
            char out[SPX_NUMBER], expected[64];
            const size_t n = spx_format_double(v, digits, i % 2, out);
            assert_int_equal(n, (size_t)sprintf(expected, "%.*g", digits, v));
            assert_string_equal(out, expected);
        }
    }
}

static void test_format_words(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } values[] = {
        { 0, "0" },
        { -0.0, "-0" },
        { 0.1, "0.1" },
        { 1, "1" },
        { -2.5, "-2.5" },
        { 100, "100" },
        { 1e15, "1e+15" },
        { 1e22, "1e+22" },
        { 0.30000000000000004, "0.30000000000000004" },
        { 1.0 / 3, "0.3333333333333333" },
        { DBL_MAX, "1.7976931348623157e+308" },
        { 0x1p-1074, "4.94065645841247e-324" },
        { HUGE_VAL, "inf" },
        { -HUGE_VAL, "-inf" },
    };
    for (size_t i = 0; i < COUNT(values); i++) {
        char out[SPX_NUMBER];
        const size_t n = spx_format_double(values[i].value, 0, false, out);
        assert_int_equal(n, strlen(values[i].text));
        assert_string_equal(out, values[i].text);
    }
    for (int digits = 0; digits <= 17; digits++) {
        char out[SPX_NUMBER];
        double v;
        const size_t n = spx_format_double((double)NAN, digits, digits % 2, out);
        const char *p = out;
        assert_true(spx_scan_double(&p, out + n, &v) && isnan(v) && p == out + n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ints, restart),
        cmocka_unit_test_setup(test_format_shortest, restart),
        cmocka_unit_test_setup(test_format_single, restart),
        cmocka_unit_test_setup(test_format_digits, restart),
        cmocka_unit_test(test_format_words),
    };
    return cmocka_run_group_tests_name("number print", tests, NULL, NULL);
}
