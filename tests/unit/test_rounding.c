/* Numbers of files are the same in every floating-point environment: of the caller, and of the threads that
 * OpenMP keeps, which have that of whoever started them. */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "archives.h"

#define BANNER "%%MatrixMarket matrix coordinate real "
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { ENTRIES = 20000, FLUSH = 0x8040 }; /* FLUSH: subnormal results, and operands, are 0 */

static const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST };

static void set_flush(bool on)
{
#if defined(__SSE2__)
    _mm_setcsr(on ? _mm_getcsr() | FLUSH : _mm_getcsr() & ~(unsigned)FLUSH);
#else
    (void)on;
#endif
}

static bool has_flush(void)
{
#if defined(__SSE2__)
    return (_mm_getcsr() & FLUSH) == FLUSH;
#else
    return false;
#endif
}

/* ---- files ---- */

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

/* Decimals of all lengths and exponents, subnormal ones among them; some that lie close to the middle. */
static void add_decimal(text *t, uint64_t *s)
{
    static const char *const hard[] = { "4.9406564584124654e-324",
                                        "2.2250738585072011e-308",
                                        "1e-310",
                                        "9007199254740993",
                                        "0.1",
                                        "1e23",
                                        "1.7976931348623157e308",
                                        "3.4028235e38",
                                        "1e-45",
                                        "1.1754943e-38",
                                        "7e-46",
                                        "16777217" };
    const uint64_t r = next_random(s);
    const char *sign = r & 1 ? "-" : "";
    if (r % 16 == 0) addf(t, "%s%s", sign, hard[(r >> 8) % COUNT(hard)]);
    else if (r % 16 == 1) addf(t, "%s%llue%d", sign, (unsigned long long)(r >> 12), -(int)(r % 330));
    else if (r % 4 == 1) addf(t, "%s0.%llu", sign, (unsigned long long)(next_random(s) >> r % 60));
    else addf(t, "%s%llue%d", sign, (unsigned long long)(next_random(s) >> 10), (int)(r >> 5) % 40 - 20);
}

static void put_decimals(const char *name, const char *symmetry)
{
    text t = { 0 };
    uint64_t s = 88172645463325252u;
    addf(&t, "%s%s\n%d %d %d\n", BANNER, symmetry, ENTRIES, ENTRIES, ENTRIES);
    for (int i = 0; i < ENTRIES; i++) {
        addf(&t, "%d 1 ", i + 1 + (i == 0 && *symmetry == 's'));
        add_decimal(&t, &s);
        addf(&t, "\n");
    }
    put_file(name, t.bytes, t.n);
    free(t.bytes);
}

static void put_boeing(const char *name)
{
    static const char content[] =
        "a title                                                                 key\n"
        "3 1 1 1\nrua 3 1 3 0\n(2I3) (3I3) (1P,3E24.16)\n  1  4\n  1  2  3\n"
        "  1.0000000000000001E-310   1.0000000000000002E+023                     0.3\n";
    put_file(name, content, sizeof content - 1);
}

/* ---- what is read and written in an environment ---- */

typedef struct result {
    void *val;
    size_t bytes;
} result;

static result read_values(const char *name, spmvx_type type, int32_t threads)
{
    spmvx_context *ctx = test_context(NULL, threads);
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    spmvx_matrix *A = NULL;
    o.val_type = type;
    assert_ok(ctx, spmvx_matrix_read(ctx, path_of(name), &o, &A));
    const spmvx_arrays v = view_of(A);
    result r = { .bytes = (size_t)v.nnz * (type == SPMVX_F64 ? 8 : 4) };
    r.val = malloc(r.bytes);
    assert_non_null(r.val);
    memcpy(r.val, v.val, r.bytes);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    return r;
}

static result write_values(const char *from, spmvx_type type, int32_t digits, int32_t threads)
{
    spmvx_context *ctx = test_context(NULL, threads);
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    spmvx_write_options w = SPMVX_WRITE_OPTIONS_INIT;
    spmvx_matrix *A = NULL;
    result r;
    o.val_type = type;
    w.digits = digits;
    assert_ok(ctx, spmvx_matrix_read(ctx, path_of(from), &o, &A));
    assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of("written.mtx"), &w));
    r.val = get_file(path_of("written.mtx"), &r.bytes);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    return r;
}

/* What is done in the default environment, and in all others. */
static result act(const char *name, spmvx_type type, int32_t digits, int32_t threads)
{
    return digits < 0 ? read_values(name, type, threads) : write_values(name, type, digits, threads);
}

static void check_everywhere(const char *name, spmvx_type type, int32_t digits)
{
    const result want = act(name, type, digits, 1);
    for (size_t i = 0; i < COUNT(modes); i++)
        for (int flush = 0; flush < 2; flush++) {
            assert_int_equal(fesetround(modes[i]), 0);
            set_flush(flush);
            feclearexcept(FE_ALL_EXCEPT);
            const result got = act(name, type, digits, 3);
            const bool kept =
                fegetround() == modes[i] && (!flush || has_flush()) && !fetestexcept(FE_INEXACT);
            fesetenv(FE_DFL_ENV);
            if (got.bytes != want.bytes || memcmp(got.val, want.val, want.bytes))
                fail_msg("%s as type %d, digits %d, differs in mode %d, flushing %d", name, (int)type, digits,
                         modes[i], flush);
            if (!kept) fail_msg("the environment of mode %d, flushing %d, was changed", modes[i], flush);
            free(got.val);
        }
    free(want.val);
}

static void check_types(const char *name, int32_t digits)
{
    check_everywhere(name, SPMVX_F64, digits);
    check_everywhere(name, SPMVX_F32, digits);
}

static void test_reading(void **state)
{
    (void)state;
    check_types("general.mtx", -1);
    check_types("skew.mtx", -1);
    check_types("a.rua", -1);
}

static void test_reading_npz(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    put_npz("a.npz", CSR, "data.npy <f8 (3,) 1e-310 1e-40 0.1", NULL);
    check_types("a.npz", -1);
    put_npz("a.npz", CSR, "data.npy <i8 (3,) 9007199254740993 -9007199254740993 16777217", NULL);
    check_types("a.npz", -1);
    put_npz("a.npz", CSR, "data.npy <f4 (3,) 1e-45 1e-40 0.1", NULL);
    check_types("a.npz", -1);
}

static void test_writing(void **state)
{
    (void)state;
    check_types("general.mtx", 0);
    check_types("general.mtx", 3);
    check_types("general.mtx", 17);
}

/* The threads that OpenMP starts here, and keeps, round upward and flush to zero. */
static int start_threads(void **state)
{
    if (make_folder(state)) return -1;
    put_decimals("general.mtx", "general");
    put_decimals("skew.mtx", "skew-symmetric");
    put_boeing("a.rua");
    fesetround(FE_UPWARD);
    set_flush(true);
    const result r = read_values("general.mtx", SPMVX_F64, 3);
    fesetenv(FE_DFL_ENV);
    free(r.val);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_reading_npz),
        cmocka_unit_test(test_writing),
    };
    return cmocka_run_group_tests_name("rounding", tests, start_threads, remove_folder);
}
