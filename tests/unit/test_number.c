/* Reals in text: scanning against strtod and against exact decimals of our own. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "numbers.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* All n bytes are one number, of this value. */
static void check_scan(const char *text, size_t n, double expected)
{
    const char *p = text;
    double v = 12345;
    if (!spx_scan_double(&p, text + n, &v)) fail_msg("'%.*s' is not taken", (int)n, text);
    if (p != text + n) fail_msg("'%.*s' is taken for %zu bytes", (int)n, text, (size_t)(p - text));
    if (bits_of(v) != bits_of(expected))
        fail_msg("'%.*s' gives %.17g (%a), not %.17g (%a)", (int)n, text, v, v, expected, expected);
}

static void check_as_strtod(const char *text, size_t n)
{
    check_scan(text, n, strtod(text, NULL));
}

/* ---- against strtod ---- */

static size_t put_digits(char *out, int n)
{
    const int kind = below(8); /* runs of one digit are where carries go far */
    for (int i = 0; i < n; i++) out[i] = (char)('0' + (kind == 0 ? 9 : kind == 1 ? (i ? 0 : 1) : below(10)));
    return (size_t)n;
}

static size_t put_number(char *out, int most_digits, int most_exponent)
{
    size_t n = 0;
    const int whole = below(most_digits + 1), fraction = below(most_digits + 1 - whole), sign = below(4);
    if (sign < 2) out[n++] = "-+"[sign];
    n += put_digits(out + n, whole);
    if (fraction || !whole || below(4) == 0) out[n++] = '.';
    n += put_digits(out + n, fraction || whole ? fraction : 1);
    if (below(4)) {
        const int e = below(2 * most_exponent + 1) - most_exponent;
        n += (size_t)sprintf(out + n, below(2) ? "e%d" : "E%+04d", e);
    }
    out[n] = 0;
    return n;
}

static void test_random_strings(void **state)
{
    (void)state;
    char text[2048];
    for (int i = 0; i < 1000000; i++) {
        const int kind = below(128);
        check_as_strtod(text, kind == 0   ? put_number(text, 1200, 400)
                              : kind < 40 ? put_number(text, 40, 360)
                              : kind < 80 ? put_number(text, 19, 330)
                                          : put_number(text, 12, 30));
    }
}

static void test_random_bits(void **state)
{
    (void)state;
    char text[512];
    for (int i = 0; i < 300000; i++) {
        const double v = random_finite();
        check_scan(text, (size_t)sprintf(text, "%.17g", v), v);
        check_as_strtod(text, (size_t)sprintf(text, "%.*e", below(40), v));
        if (fabs(v) < 1e100 && fabs(v) > 1e-100)
            check_as_strtod(text, (size_t)sprintf(text, "%.*f", below(130), v));
    }
}

/* Ends where the text ends: nothing behind is looked at. */
static void test_text_ends(void **state)
{
    (void)state;
    static const char *const texts[] = { "1",  "-",   "+",       ".",        "1.", "1.5", "1e", "1e+", "1e5",
                                         "in", "inf", "infinit", "infinity", "na", "nan", "-i", "" };
    for (size_t i = 0; i < COUNT(texts); i++)
        for (size_t n = 0; n <= strlen(texts[i]); n++) {
            char *exact = malloc(n ? n : 1); /* where a sanitizer sees the end */
            memcpy(exact, texts[i], n);
            const char *p = exact;
            double v;
            int64_t k;
            if (spx_scan_double(&p, exact + n, &v)) assert_true(p > exact && p <= exact + n);
            else assert_ptr_equal(p, exact);
            p = exact;
            if (spx_scan_int(&p, exact + n, &k)) assert_true(p > exact && p <= exact + n);
            else assert_ptr_equal(p, exact);
            free(exact);
        }
    const char text[] = "12345678901234567890", *p = text;
    double v;
    assert_true(spx_scan_double(&p, text + 3, &v) && v == 123 && p == text + 3);
}

static const struct {
    const char *text;
    size_t used;
    double value;
} words[] = {
    { "1.5d3", 5, 1500 },
    { "1D-2", 4, 0.01 },
    { "2d+2", 4, 200 },
    { "inf", 3, HUGE_VAL },
    { "-INF", 4, -HUGE_VAL },
    { "+Infinity", 9, HUGE_VAL },
    { "infinitx", 3, HUGE_VAL },
    { "inf5", 3, HUGE_VAL },
    { "1.2.3", 3, 1.2 },
    { "1-2", 1, 1 },
    { "1e2e3", 3, 100 },
    { "1 2", 1, 1 },
    { "0x10", 1, 0 },
    { "1,5", 1, 1 },
    { "-0", 2, -0.0 },
    { "+.5", 3, 0.5 },
    { "5.", 2, 5 },
    { "5.e1", 4, 50 },
    { "-.0e7", 5, -0.0 },
    { "00012", 5, 12 },
    { "1e0000000000000000003", 21, 1000 },
};

static void test_words(void **state)
{
    (void)state;
    static const char *const none[] = { "",    "-",  "+", ".",  "-.", "e5",  ".e5", "--1",
                                        "+-1", " 1", "x", "na", "i",  "\t1", "$" };
    for (size_t i = 0; i < COUNT(words); i++) {
        const char *p = words[i].text;
        double v;
        assert_true(spx_scan_double(&p, p + strlen(p), &v));
        assert_int_equal(p - words[i].text, words[i].used);
        assert_true(bits_of(v) == bits_of(words[i].value));
    }
    for (size_t i = 0; i < COUNT(none); i++) {
        const char *p = none[i];
        double v = 7;
        assert_false(spx_scan_double(&p, p + strlen(p), &v));
        assert_ptr_equal(p, none[i]);
        assert_true(v == 7);
    }
    const char *text = "-NaN", *p = text;
    double v;
    assert_true(spx_scan_double(&p, text + 4, &v) && isnan(v) && p == text + 4);
}

/* ---- exact decimals of our own ---- */

enum { LIMBS = 140 }; /* of nine decimal digits */

static void times(uint32_t *limb, int *n, uint32_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < *n; i++) {
        carry += (uint64_t)limb[i] * factor;
        limb[i] = (uint32_t)(carry % 1000000000);
        carry /= 1000000000;
    }
    if (carry) limb[(*n)++] = (uint32_t)carry;
}

/* m * 2^e as whole digits and a power of ten, which is answered; m is not 0. */
static int exact_decimal(uint64_t m, int e, char *digits)
{
    uint32_t limb[LIMBS] = { (uint32_t)(m % 1000000000), (uint32_t)(m / 1000000000 % 1000000000),
                             (uint32_t)(m / 1000000000 / 1000000000) };
    int n = 3;
    while (n > 1 && !limb[n - 1]) n--;
    for (int i = 0; i < abs(e); i++) times(limb, &n, e > 0 ? 2 : 5);
    size_t at = (size_t)sprintf(digits, "%u", limb[n - 1]);
    for (int i = n - 2; i >= 0; i--) at += (size_t)snprintf(digits + at, 10, "%09u", limb[i]);
    return e < 0 ? e : 0;
}

/* digits * 10^exponent, with the point after `whole` of them and `zeros` zeros behind, then the tail. */
static size_t compose(char *out, const char *digits, int exponent, int whole, int zeros, const char *tail)
{
    const int n = (int)strlen(digits);
    size_t at = (size_t)sprintf(out, "%.*s.%s", whole, digits, digits + whole);
    if (*tail) {
        memset(out + at, '0', (size_t)zeros);
        at += (size_t)zeros;
    }
    return at + (size_t)sprintf(out + at, "%se%d", tail, exponent + n - whole);
}

/* The middle between v (not negative, finite) and the next double: to even, and up or down by a digit far
 * out. */
static void check_middle(double v)
{
    char digits[9 * LIMBS + 1], text[6000];
    const uint64_t bits = bits_of(v), e = bits >> 52, fraction = bits & 0xfffffffffffffu;
    const int exponent =
        exact_decimal(2 * (e ? fraction | 1ull << 52 : fraction) + 1, (int)(e ? e : 1) - 1076, digits);
    const int n = (int)strlen(digits), whole = below(n + 1), zeros = below(4) ? below(30) : below(3000);
    check_scan(text, compose(text, digits, exponent, whole, zeros, ""), from_bits(bits + (bits & 1)));
    check_scan(text, compose(text, digits, exponent, whole, zeros, "0"), from_bits(bits + (bits & 1)));
    check_scan(text, compose(text, digits, exponent, whole, zeros, "1"), from_bits(bits + 1));
    int last = n - 1; /* one less: 5 becomes 4999... */
    while (digits[last] == '0') last--;
    digits[last]--;
    memset(digits + last + 1, '9', (size_t)(n - 1 - last));
    char nines[40] = "";
    memset(nines, '9', (size_t)below(39));
    strcat(nines, "9");
    check_scan(text, compose(text, digits, exponent, whole, 0, nines), v);
}

static void test_middles(void **state)
{
    (void)state;
    for (int i = 0; i < 12000; i++) check_middle(fabs(random_finite()));
    for (int e = 0; e < 2047; e++) { /* at every power of two */
        check_middle(from_bits((uint64_t)e << 52));
        check_middle(from_bits(((uint64_t)e << 52) + 1));
        check_middle(from_bits(((uint64_t)e << 52) | 0xfffffffffffffu));
    }
    for (uint64_t k = 0; k < 300; k++) check_middle(from_bits(k));
    for (int i = 0; i < 3000; i++) check_middle((double)(next_random() >> below(64)));
}

/* Doubles themselves, with all their digits. */
static void test_exact_doubles(void **state)
{
    (void)state;
    char digits[9 * LIMBS + 1], text[6000];
    for (int i = 0; i < 5000; i++) {
        const double v = fabs(random_finite());
        const uint64_t e = bits_of(v) >> 52, fraction = bits_of(v) & 0xfffffffffffffu;
        if (v == 0) continue;
        const int exponent =
            exact_decimal(e ? fraction | 1ull << 52 : fraction, (int)(e ? e : 1) - 1075, digits);
        check_scan(text,
                   compose(text, digits, exponent, below((int)strlen(digits)), below(2000), i % 2 ? "3" : ""),
                   v);
    }
}

/* ---- known cases ---- */

static const struct {
    const char *text;
    double value;
} borders[] = {
    { "1.7976931348623157e308", DBL_MAX },
    { "1.7976931348623158e308", DBL_MAX },
    { "1.797693134862315807e308", DBL_MAX },
    { "1.7976931348623158079372897140530341507993e308", DBL_MAX },
    { "1.7976931348623158079372897140530341507994e308", HUGE_VAL },
    { "1.797693134862315808e308", HUGE_VAL },
    { "1.7976931348623159e308", HUGE_VAL },
    { "1.8e308", HUGE_VAL },
    { "1e309", HUGE_VAL },
    { "-1e309", -HUGE_VAL },
    { "1e999999999999999999999999", HUGE_VAL },
    { "-1e99999", -HUGE_VAL },
    { "17976931348623157e292", DBL_MAX },
    { "0.00000000017976931348623157e318", DBL_MAX },
    { "2.2250738585072014e-308", DBL_MIN },
    { "2.2250738585072011e-308", 0x0.fffffffffffffp-1022 },
    { "2.2250738585072012e-308", DBL_MIN },
    { "2.22507385850720113605740979670913197593481954635164564e-308", 0x0.fffffffffffffp-1022 },
    { "2.22507385850720113605740979670913197593481954635164565e-308", DBL_MIN },
    { "4.9406564584124654e-324", 0x1p-1074 },
    { "5e-324", 0x1p-1074 },
    { "3e-324", 0x1p-1074 },
    { "2.4703282292062327e-324", 0 },
    { "2.4703282292062328e-324", 0x1p-1074 },
    { "2.47032822920623272088284396434110686182e-324", 0 },
    { "2.47032822920623272088284396434110686183e-324", 0x1p-1074 },
    { "7.4109846876186981e-324", 0x1p-1074 },
    { "7.4109846876186982e-324", 0x1p-1073 },
    { "2e-324", 0 },
    { "1e-325", 0 },
    { "-1e-325", -0.0 },
    { "-1e-99999999999999999999", -0.0 },
    { "0e999999999999999999", 0 },
    { "0.000e-999999999999999999", 0 },
    { "-0e400", -0.0 },
    { "9007199254740992", 0x1p53 },
    { "9007199254740993", 0x1p53 },
    { "9007199254740993.0000000000000000000000000000000000001", 0x1p53 + 2 },
    { "9007199254740995", 0x1p53 + 4 },
    { "9007199254740994.9999999999999999999999999999999999999999999", 0x1p53 + 2 },
    { "1.00000000000000011102230246251565404236316680908203125", 1 },
    { "1.00000000000000011102230246251565404236316680908203124", 1 },
    { "1.00000000000000011102230246251565404236316680908203126", 1 + DBL_EPSILON },
    { "0.99999999999999994448884876874217297881841659545898437", 1 - DBL_EPSILON / 2 },
    { "0.99999999999999994448884876874217297881841659545898438", 1 },
    { "18446744073709551615", 0x1p64 },
    { "18446744073709551616", 0x1p64 },
    { "9999999999999999999", 1e19 },
    { "9223372036854775807", 0x1p63 },
    { "9223372036854775295", 0x1.fffffffffffffp62 },
    { "9223372036854775296", 0x1p63 },
};

/* Of Paxson and Kahan, A program for testing IEEE decimal-binary conversion, 1991, and others that lie
 * close to a middle. */
static const char *const hard[] = {
    "5e125",
    "69e267",
    "999e-026",
    "7861e-034",
    "75569e-254",
    "928609e-261",
    "9210917e080",
    "84863171e114",
    "653777767e273",
    "5232604057e-298",
    "27235667517e-109",
    "653532977297e-123",
    "3142213164987e-294",
    "46202199371337e-072",
    "231010996856685e-073",
    "9324754620109615e212",
    "78459735791271921e049",
    "272104041512242479e200",
    "6802601037806061975e198",
    "20505426358836677347e-221",
    "836168422905420598437e-234",
    "4891559871276714924261e222",
    "9e-265",
    "85e-037",
    "623e100",
    "3571e263",
    "81661e153",
    "920657e-023",
    "4603285e-024",
    "87575437e-309",
    "245540327e122",
    "6138508175e120",
    "83356057653e193",
    "619534293513e124",
    "2335141086879e218",
    "36167929443327e-159",
    "609610927149051e-255",
    "3743626360493413e-165",
    "94080055902682397e-242",
    "899810892172646163e283",
    "7120190517612959703e120",
    "25188282901709339043e-252",
    "308984926168550152811e-052",
    "6372891218502368041059e064",
    "1e23",
    "8.5e22",
    "9.5e22",
    "6.02214076e23",
    "9007199254740993e-1",
    "7.2057594037927933e16",
    "104110013277974872254e-225",
    "123456789012345678901234567890",
    "62.5364939768271845828",
    "8.10109172351e-10",
    "1.50000000000000011102230246251565",
    "9007199254740991.4999999999999999999999999999999995",
    "6929495644600919.5",
    "6929495644600920",
    "6.631236846766476e-316",
    "3.237883913302901e-319",
    "6.8985865317742005e-310",
    "3.5e-323",
    "1.2344e-309",
    "30078505129381147446200",
    "0.500000000000000166533453693773481063544750213623046875",
    "3.518437208883201171875e13",
    "0.1e-6",
    "0.3e-4",
    "1448997445238699",
    "179769313486231580793728971405303e276",
    "2."
    "22507385850720113605740979670913197593481954635164564802342610972482222202107694551652952390813508791414"
    "91589130396211068700"
    "86438694594645527657207407820621743379988141063267329253552286881372149012981122451451889849057222307285"
    "2551331557550159143974"
    "76397983411801999323962548289017107081850690630666655994938275772572015763062690663332647565300009245888"
    "3164330377797918696120"
    "49497390377829704905051080609940730262937128958950003583799967207254304360284078895771796150945516748243"
    "4710307026091446215722"
    "89880258182545180325707018860872113128079512233426288368622321503775666622503982534335974568884423900265"
    "4981983854879482922068"
    "94721689831099698365846814022854243330660339850886445804001034933970427567186443383770486037861622771738"
    "5456230658746790140867"
    "23327636718751e-308",
};

static void test_borders(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(borders); i++)
        check_scan(borders[i].text, strlen(borders[i].text), borders[i].value);
}

static void test_hard_cases(void **state)
{
    (void)state;
    char text[2048];
    for (size_t i = 0; i < COUNT(hard); i++) {
        check_as_strtod(hard[i], strlen(hard[i]));
        check_as_strtod(text, (size_t)sprintf(text, "-%s", hard[i]));
        check_as_strtod(text, (size_t)sprintf(text, "+000%s", hard[i]));
    }
}

/* Small whole numbers times every power of ten. */
static void test_powers_of_ten(void **state)
{
    (void)state;
    static const char *const mantissas[] = { "1",
                                             "2",
                                             "5",
                                             "9",
                                             "12345678901234567",
                                             "9999999999999999999",
                                             "99999999999999999999",
                                             "1844674407370955161",
                                             "10000000000000000001" };
    char text[64];
    for (int e = -380; e <= 330; e++)
        for (size_t i = 0; i < COUNT(mantissas); i++)
            check_as_strtod(text, (size_t)sprintf(text, "%se%d", mantissas[i], e));
}

/* Thousands of digits, ahead of and behind the point, and exponents that make up for them. */
static void test_long_numbers(void **state)
{
    (void)state;
    enum { MOST = 20000 };
    char *text = malloc(2 * MOST + 100);
    assert_non_null(text);
    for (int i = 0; i < 300; i++) {
        const int zeros = below(MOST), digits = 1 + below(i % 10 ? 900 : MOST);
        size_t n = (size_t)sprintf(text, "0.");
        memset(text + n, '0', (size_t)zeros);
        n += (size_t)zeros;
        n += put_digits(text + n, digits);
        check_as_strtod(text, n + (size_t)sprintf(text + n, "e%d", zeros + below(640) - 330));
        n = put_digits(text, digits);
        memset(text + n, '0', (size_t)zeros);
        n += (size_t)zeros;
        check_as_strtod(text, n + (size_t)sprintf(text + n, ".000e%d", below(640) - 330 - zeros - digits));
        memset(text, '0', (size_t)zeros);
        n = (size_t)zeros + put_digits(text + zeros, digits);
        check_as_strtod(text, n + (size_t)sprintf(text + n, "e%d", 300 - below(digits + 600)));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_random_strings, restart),
        cmocka_unit_test_setup(test_random_bits, restart),
        cmocka_unit_test(test_text_ends),
        cmocka_unit_test(test_words),
        cmocka_unit_test_setup(test_middles, restart),
        cmocka_unit_test_setup(test_exact_doubles, restart),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_hard_cases),
        cmocka_unit_test(test_powers_of_ten),
        cmocka_unit_test_setup(test_long_numbers, restart),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
