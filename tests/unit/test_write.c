/* Writing of Matrix Market files: what is read back, in which digits, and compressed how. */
#include "files.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BANNER "%%MatrixMarket matrix coordinate real general\n"
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- matrices ---- */

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static spmvx_matrix *make(spmvx_context *ctx, spmvx_arrays a)
{
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &A));
    return A;
}

static spmvx_arrays coo(int64_t nrows, int64_t ncols, int64_t nnz, const int32_t *row, const int32_t *col,
                        const void *val, spmvx_type type)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_COO;
    a.val_type = type;
    a.nrows = nrows;
    a.ncols = ncols;
    a.nnz = nnz;
    a.row = row;
    a.col = col;
    a.val = val;
    return a;
}

/* 1 x n with these values, CSR. */
static spmvx_matrix *make_values(spmvx_context *ctx, const void *val, int32_t n, spmvx_type type)
{
    int32_t *col = malloc((size_t)(n ? n : 1) * sizeof *col);
    assert_non_null(col);
    for (int32_t i = 0; i < n; i++) col[i] = i;
    spmvx_arrays a = coo(1, n, n, NULL, col, val, type);
    a.format = SPMVX_CSR;
    a.ptr = (const int32_t[]){ 0, n };
    spmvx_matrix *A = make(ctx, a);
    free(col);
    return A;
}

static spmvx_matrix *read_back(spmvx_context *ctx, const char *path, spmvx_type type)
{
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.val_type = type;
    spmvx_matrix *B = NULL;
    assert_ok(ctx, spmvx_matrix_read(ctx, path, &o, &B));
    return B;
}

/* The same format, sizes, pattern and bits. */
static void check_same(const spmvx_matrix *A, const spmvx_matrix *B)
{
    const spmvx_arrays a = view_of(A), b = view_of(B);
    const size_t each = a.val_type == SPMVX_F64 ? 8 : 4;
    assert_int_equal(a.format, b.format);
    assert_int_equal(a.val_type, b.val_type);
    assert_int_equal(a.nrows, b.nrows);
    assert_int_equal(a.ncols, b.ncols);
    assert_int_equal(a.nnz, b.nnz);
    if (a.format == SPMVX_CSR) assert_memory_equal(a.ptr, b.ptr, (size_t)(a.nrows + 1) * 4);
    if (!a.nnz) return;
    if (a.format == SPMVX_COO) assert_memory_equal(a.row, b.row, (size_t)a.nnz * 4);
    assert_memory_equal(a.col, b.col, (size_t)a.nnz * 4);
    for (int64_t i = 0; i < a.nnz; i++)
        if (memcmp((const char *)a.val + (size_t)i * each, (const char *)b.val + (size_t)i * each, each))
            fail_msg("value %lld: %.17g, read back %.17g", (long long)i,
                     each == 8 ? ((const double *)a.val)[i] : (double)((const float *)a.val)[i],
                     each == 8 ? ((const double *)b.val)[i] : (double)((const float *)b.val)[i]);
}

static void check_round_trip(spmvx_context *ctx, const spmvx_matrix *A, const char *path)
{
    assert_ok(ctx, spmvx_matrix_write(ctx, A, path, NULL));
    spmvx_matrix *B = read_back(ctx, path, view_of(A).val_type);
    check_same(A, B);
    spmvx_matrix_destroy(B);
}

static spmvx_status write_with(spmvx_context *ctx, const spmvx_matrix *A, const char *path, int32_t digits,
                               int32_t level)
{
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    o.digits = digits;
    o.level = level;
    return spmvx_matrix_write(ctx, A, path, &o);
}

/* ---- values ---- */

enum { RANDOM = 60000 };

/* Bits at random, of all exponents alike; every fourth subnormal. */
static void test_doubles(void **state)
{
    (void)state;
    static const double special[] = { 0.0,
                                      -0.0,
                                      0.1,
                                      1.0 / 3,
                                      -2.0 / 3,
                                      DBL_MAX,
                                      -DBL_MAX,
                                      DBL_MIN,
                                      -DBL_MIN,
                                      4.9406564584124654e-324,
                                      -4.9406564584124654e-324,
                                      2.2250738585072009e-308,
                                      DBL_EPSILON,
                                      9007199254740993.0,
                                      1e22,
                                      1e23,
                                      123456789012345680.0,
                                      INFINITY,
                                      -INFINITY };
    double *val = malloc(RANDOM * sizeof *val);
    uint64_t s = 42;
    for (size_t i = 0; i < RANDOM; i++) {
        uint64_t bits = next_random(&s);
        if (i % 4 == 0) bits &= 0x800fffffffffffffu;
        if ((bits >> 52 & 0x7ff) == 0x7ff) bits ^= 1ull << 62;
        memcpy(&val[i], &bits, sizeof bits);
        if (i < COUNT(special)) val[i] = special[i];
    }
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = make_values(ctx, val, RANDOM, SPMVX_F64);
    check_round_trip(ctx, A, path_of("doubles.mtx"));
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    free(val);
}

static void test_floats(void **state)
{
    (void)state;
    static const float special[] = { 0.0f,        -0.0f,           0.1f,
                                     1.0f / 3,    FLT_MAX,         -FLT_MAX,
                                     FLT_MIN,     1.40129846e-45f, 1.17549421e-38f,
                                     16777216.0f, INFINITY,        -INFINITY };
    float *val = malloc(RANDOM * sizeof *val);
    uint64_t s = 43;
    for (size_t i = 0; i < RANDOM; i++) {
        uint32_t bits = (uint32_t)(next_random(&s) >> 32);
        if (i % 4 == 0) bits &= 0x807fffffu;
        if ((bits >> 23 & 0xff) == 0xff) bits ^= 1u << 30;
        memcpy(&val[i], &bits, sizeof bits);
        if (i < COUNT(special)) val[i] = special[i];
    }
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = make_values(ctx, val, RANDOM, SPMVX_F32);
    check_round_trip(ctx, A, path_of("floats.mtx"));
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    free(val);
}

static void test_nan(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = make_values(ctx, (const double[]){ NAN, -(double)NAN }, 2, SPMVX_F64);
    assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of("nan.mtx"), NULL));
    spmvx_matrix *B = read_back(ctx, path_of("nan.mtx"), SPMVX_F64);
    const double *v = view_of(B).val;
    assert_true(isnan(v[0]) && isnan(v[1]));
    assert_true(!signbit(v[0]) && signbit(v[1]));
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
}

/* Significant digits of a number in text. */
static int significant(const char *number)
{
    int n = 0;
    for (; *number && !strchr("eE \n", *number); number++)
        if (*number >= '0' && *number <= '9' && (n || *number != '0')) n++;
    return n;
}

static void test_few_digits(void **state)
{
    (void)state;
    static const double val[] = { 0.1,   0.5,       1, -2.5, 100, 1.0 / 3, 2.0 / 3, 0.30000000000000004,
                                  1e300, 123456.789 };
    static const char *const shown[] = { "0.1",    "0.5",       "1",  "-2.5",
                                         "100",    NULL,        NULL, "0.30000000000000004",
                                         "1e+300", "123456.789" };
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = make_values(ctx, val, COUNT(val), SPMVX_F64);
    assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of("few.mtx"), NULL));
    size_t n;
    char *lines = (char *)get_file(path_of("few.mtx"), &n);
    char *line = strchr(strchr(lines, '\n') + 1, '\n') + 1;
    for (size_t i = 0; i < COUNT(val); i++, line = strchr(line, '\n') + 1) {
        char expected[64];
        snprintf(expected, sizeof expected, "1 %zu %s\n", i + 1, shown[i] ? shown[i] : "0.");
        if (strncmp(line, expected, strlen(expected) - !shown[i])) assert_string_equal(line, expected);
        const char *number = strchr(strchr(line, ' ') + 1, ' ') + 1;
        assert_true(significant(number) <= 17);
        assert_true(strtod(number, NULL) == val[i]);
    }
    free(lines);
    spmvx_matrix_destroy(A);
    A = make_values(ctx, (const float[]){ 0.1f, 16777216.0f, 3.14159274f }, 3, SPMVX_F32);
    assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of("few.mtx"), NULL));
    check_file(path_of("few.mtx"), BANNER "1 3 3\n1 1 0.1\n1 2 16777216\n1 3 3.1415927\n");
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

static void test_digits(void **state)
{
    (void)state;
    double val[200];
    uint64_t s = 7;
    for (size_t i = 0; i < COUNT(val); i++)
        val[i] = ldexp((double)(int64_t)next_random(&s), (int)(next_random(&s) % 1800) - 900);
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = make_values(ctx, val, COUNT(val), SPMVX_F64);
    for (int digits = 1; digits <= 17; digits++) {
        assert_ok(ctx, write_with(ctx, A, path_of("digits.mtx"), digits, 0));
        size_t n;
        char *lines = (char *)get_file(path_of("digits.mtx"), &n);
        const char *line = strchr(strchr(lines, '\n') + 1, '\n') + 1;
        for (size_t i = 0; i < COUNT(val); i++, line = strchr(line, '\n') + 1) {
            char expected[64];
            snprintf(expected, sizeof expected, "%.*e", digits - 1, val[i]);
            const char *number = strchr(strchr(line, ' ') + 1, ' ') + 1;
            assert_true(strtod(number, NULL) == strtod(expected, NULL));
            assert_true(significant(number) <= digits || (fabs(val[i]) < 1e17 && fabs(val[i]) >= 1));
        }
        free(lines);
    }
    count_files(true);
    assert_fails(SPMVX_ERR_ARGUMENT, "options.digits is 18",
                 write_with(ctx, A, path_of("digits.mtx"), 18, 0));
    assert_fails(SPMVX_ERR_ARGUMENT, "options.digits is -1",
                 write_with(ctx, A, path_of("digits.mtx"), -1, 0));
    assert_int_equal(count_files(false), 0);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* ---- formats and shapes ---- */

static const int32_t some_row[] = { 2, 0, 2, 1, 0, 2 }, some_col[] = { 3, 1, 0, 2, 1, 3 };
static const double some_val[] = { 1.5, -2, 0, 1e-5, 7, 8 };

static void test_text(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = make(ctx, coo(3, 4, 6, some_row, some_col, some_val, SPMVX_F64)), *csr = NULL,
                 *sell = NULL, *empty;
    assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of("coo.mtx"), NULL));
    check_file(path_of("coo.mtx"), BANNER "3 4 6\n3 4 1.5\n1 2 -2\n3 1 0\n2 3 1e-05\n1 2 7\n3 4 8\n");
    static const char by_row[] = BANNER "3 4 6\n1 2 -2\n1 2 7\n2 3 1e-05\n3 4 1.5\n3 1 0\n3 4 8\n";
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_CSR;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &csr));
    assert_ok(ctx, spmvx_matrix_write(ctx, csr, path_of("csr.mtx"), NULL));
    check_file(path_of("csr.mtx"), by_row);
    o.format = SPMVX_SELL;
    o.slice = 4;
    o.sigma = 4;
    assert_ok(ctx, spmvx_matrix_convert(ctx, csr, &o, &sell));
    assert_ok(ctx, spmvx_matrix_write(ctx, sell, path_of("sell.mtx"), NULL));
    check_file(path_of("sell.mtx"), by_row);
    assert_int_equal(count_files(false), 3);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(csr);
    spmvx_matrix_destroy(sell);
    static const struct {
        int32_t nrows, ncols;
        const char *lines;
    } shapes[] = {
        { 0, 0, BANNER "0 0 0\n" },
        { 0, 5, BANNER "0 5 0\n" },
        { 5, 0, BANNER "5 0 0\n" },
        { 3, 2147483647, BANNER "3 2147483647 0\n" },
        { 2147483647, 2, BANNER "2147483647 2 0\n" },
    };
    for (size_t i = 0; i < COUNT(shapes); i++) {
        empty = make(ctx, coo(shapes[i].nrows, shapes[i].ncols, 0, NULL, NULL, NULL, SPMVX_F64));
        assert_ok(ctx, spmvx_matrix_write(ctx, empty, path_of("empty.mtx"), NULL));
        check_file(path_of("empty.mtx"), shapes[i].lines);
        spmvx_matrix_destroy(empty);
    }
    spmvx_context_destroy(ctx);
}

/* COO with rows at both ends of what is possible. */
static void test_far_rows(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A =
        make(ctx, coo(2147483647, 2147483647, 3, (const int32_t[]){ 2147483646, 0, 5 },
                      (const int32_t[]){ 0, 2147483646, 5 }, (const double[]){ 1, 2, 3 }, SPMVX_F64));
    check_round_trip(ctx, A, path_of("far.mtx"));
    check_file(path_of("far.mtx"), BANNER "2147483647 2147483647 3\n2147483647 1 1\n1 2147483647 2\n6 6 3\n");
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* A matrix of uneven and empty rows, longer than a round of the writer. */
static spmvx_matrix *uneven(spmvx_context *ctx, int32_t nrows)
{
    int32_t *ptr = malloc((size_t)(nrows + 1) * sizeof *ptr), n = 0;
    uint64_t s = 99;
    for (int32_t r = 0; r < nrows; r++) {
        ptr[r] = n;
        n += r % 1000 == 7 ? 9000 : r % 3 ? 0 : (int32_t)(next_random(&s) % 40);
    }
    ptr[nrows] = n;
    int32_t *col = malloc((size_t)n * sizeof *col);
    double *val = malloc((size_t)n * sizeof *val);
    for (int32_t i = 0; i < n; i++) {
        col[i] = (int32_t)(next_random(&s) % 10000);
        val[i] = (double)(int64_t)next_random(&s) / (i % 2 ? 1000.0 : 0x1p40);
    }
    spmvx_arrays a = coo(nrows, 10000, n, NULL, col, val, SPMVX_F64);
    a.format = SPMVX_CSR;
    a.ptr = ptr;
    spmvx_matrix *A = make(ctx, a);
    free(ptr);
    free(col);
    free(val);
    return A;
}

static void test_threads(void **state)
{
    (void)state;
    static const int32_t counts[] = { 1, 2, 5 };
    char *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < COUNT(counts); i++) {
        spmvx_context *ctx = test_context(NULL, counts[i]);
        spmvx_matrix *A = uneven(ctx, 6000);
        check_round_trip(ctx, A, path_of("threads.mtx"));
        size_t bytes;
        char *lines = (char *)get_file(path_of("threads.mtx"), &bytes);
        if (!first) {
            first = lines;
            n = bytes;
        } else {
            assert_int_equal(bytes, n);
            assert_memory_equal(lines, first, n);
            free(lines);
        }
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
    }
    free(first);
}

/* ---- compressed ---- */

static const struct {
    const char *name, *magic;
    int32_t good[3], bad;
} kinds[] = {
    { "a.mtx.gz", "\x1f\x8b", { 0, 1, 9 }, 10 },
    { "a.mtx.zst", "\x28\xb5\x2f\xfd", { 0, 1, 9 }, 100 },
    { "a.mtx.xz",
      "\xfd"
      "7zXZ",
      { 0, 1, 3 },
      10 },
    { "a.npz", "PK\3\4", { 0, 1, 9 }, 10 },
};

static bool offered(spmvx_context *ctx, const spmvx_matrix *A, const char *path)
{
    const spmvx_status s = spmvx_matrix_write(ctx, A, path, NULL);
    if (s != SPMVX_ERR_UNSUPPORTED) assert_ok(ctx, s);
    else assert_int_equal(access(path, F_OK), -1);
    remove(path);
    return s == SPMVX_OK;
}

static void test_compressed(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = uneven(ctx, 1500);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const char *path = path_of(kinds[i].name);
        if (!offered(ctx, A, path)) continue;
        for (int k = 0; k < 3; k++) {
            assert_ok(ctx, write_with(ctx, A, path, 0, kinds[i].good[k]));
            size_t n;
            unsigned char *bytes = get_file(path, &n);
            assert_memory_equal(bytes, kinds[i].magic, strlen(kinds[i].magic));
            free(bytes);
            spmvx_matrix *B = read_back(ctx, path, SPMVX_F64);
            check_same(A, B);
            spmvx_matrix_destroy(B);
        }
        remove(path);
        assert_fails(SPMVX_ERR_ARGUMENT, "options.level", write_with(ctx, A, path, 0, kinds[i].bad));
        assert_fails(SPMVX_ERR_ARGUMENT, "options.level is -1", write_with(ctx, A, path, 0, -1));
        assert_fails(SPMVX_ERR_ARGUMENT, "options.level", write_with(ctx, A, path, 0, INT32_MAX));
        assert_int_equal(count_files(false), 0);
    }
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

static void test_compressed_empty(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = make(ctx, coo(3, 3, 0, NULL, NULL, NULL, SPMVX_F64));
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!offered(ctx, A, path_of(kinds[i].name))) continue;
        assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of(kinds[i].name), NULL));
        spmvx_matrix *B = read_back(ctx, path_of(kinds[i].name), SPMVX_F64);
        assert_int_equal(view_of(B).nrows, 3);
        assert_int_equal(view_of(B).nnz, 0);
        spmvx_matrix_destroy(B);
    }
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* ---- locales ---- */

static void test_locales(void **state)
{
    (void)state;
    static const char *const locales[] = { "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "ps_AF.UTF-8",
                                           "fa_IR.UTF-8" };
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A =
        make_values(ctx, (const double[]){ 0.5, 1e300, -1.25e-7, INFINITY, 1234567.5 }, 5, SPMVX_F64);
    int found = 0;
    for (size_t i = 0; i < COUNT(locales); i++) {
        if (!setlocale(LC_ALL, locales[i])) continue;
        found++;
        assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of("locale.mtx"), NULL));
        check_file(path_of("locale.mtx"),
                   BANNER "1 5 5\n1 1 0.5\n1 2 1e+300\n1 3 -1.25e-07\n1 4 inf\n1 5 1234567.5\n");
    }
    setlocale(LC_ALL, "C");
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    if (!found) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_doubles, empty_folder),
        cmocka_unit_test_teardown(test_floats, empty_folder),
        cmocka_unit_test_teardown(test_nan, empty_folder),
        cmocka_unit_test_teardown(test_few_digits, empty_folder),
        cmocka_unit_test_teardown(test_digits, empty_folder),
        cmocka_unit_test_teardown(test_text, empty_folder),
        cmocka_unit_test_teardown(test_far_rows, empty_folder),
        cmocka_unit_test_teardown(test_threads, empty_folder),
        cmocka_unit_test_teardown(test_compressed, empty_folder),
        cmocka_unit_test_teardown(test_compressed_empty, empty_folder),
        cmocka_unit_test_teardown(test_locales, empty_folder),
    };
    return cmocka_run_group_tests_name("write", tests, make_folder, remove_folder);
}
