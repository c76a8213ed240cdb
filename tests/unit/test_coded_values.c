/* Values in fewer bits, in PACKED and TILED: which code a matrix gets, that every kernel of the place gives
 * the bits that raw values give, that the way back is exact, whatever the values are, and what is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static const char *const codes[] = { "raw", "f32", "i16", "u16", "u8", "one", "step" };
enum { RAW, SINGLE, I16, U16, U8, ONE, STEP, CODES };

static uint64_t bits_of(const void *p, spmvx_type type, int64_t i)
{
    uint64_t wide = 0;
    memcpy(&wide, (const char *)p + (size_t)i * value_bytes(type), value_bytes(type));
    return wide;
}

/* One of so many values, some of them odd; no more than that are distinct. */
static double one_of(uint64_t *seed, int64_t distinct)
{
    static const double odd[] = { -0.0, 0.0, INFINITY, -INFINITY, NAN, 0x1p-126, -1.5 };
    const int64_t i = (int64_t)(case_random(seed) % (uint64_t)distinct);
    return i < 7 && distinct > 7 ? odd[i] : 1.0 + (double)i / 3.0;
}

/* Whole numbers, the least and the largest that 16 bits hold first. */
static double whole_of(uint64_t *seed, int64_t distinct)
{
    static const double first[] = { -32768, 32767, 0, -1, 1 };
    const int64_t i = (int64_t)(case_random(seed) % (uint64_t)(distinct < 60000 ? distinct : 60000));
    return i < 5 ? first[i] : (double)(i - 30000);
}

/* The case with other values, in rows: doubles that few floats are; floats; or whole numbers. */
enum kind { DOUBLES, SINGLES, WHOLE };
static csr_arrays with_values(const triples *t, spmvx_type type, int64_t distinct, enum kind kind)
{
    csr_arrays c = case_csr(t, type);
    uint64_t seed = 11;
    for (int64_t k = 0; k < t->nnz; k++) {
        const double v = kind == WHOLE ? whole_of(&seed, distinct) : one_of(&seed, distinct);
        value_put(c.val, type, k, kind == SINGLES ? (double)(float)v : v);
    }
    return c;
}

/* The formats that code values, and the kernels of each by the parameters that a test gives them first. */
static const struct {
    spmvx_format format;
    const char *name;
    const char *host[5], *device[5];
} forms[] = {
    { SPMVX_PACKED,
      "packed",
      { "packed@c:", "packed@avx2:", "packed@avx512:" },
      { "packed:split=1,", "packed:split=4," } },
    { SPMVX_TILED,
      "tiled",
      { "tiled:", "tiled:columns=u16,", "tiled:hot=3," },
      { "tiled:width=64,columns=u16,parts=2,", "tiled:width=64,columns=delta,parts=2,",
        "tiled:hot=3,lanes=4," } },
};
enum { FORMS = sizeof forms / sizeof *forms };

static spmvx_status convert(spmvx_context *ctx, const spmvx_matrix *A, int form, const char *kernel,
                            uint32_t flags, spmvx_matrix **out)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = forms[form].format;
    o.kernel = kernel;
    o.flags = flags;
    return spmvx_matrix_convert(ctx, A, &o, out);
}

static int code_of(const spmvx_matrix *m)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(NULL, spmvx_matrix_get_info(m, &i));
    const char *values = strstr(i.kernel, "values=");
    assert_non_null(values);
    for (int c = 0; c < CODES; c++)
        if (!strncmp(values + 7, codes[c], strlen(codes[c]))) return c;
    fail_msg("%s", i.kernel);
    return -1;
}

/* As raw values in the same kernel: not a bit differs, but between two NaN. */
static void check_product(spmvx_context *ctx, const spmvx_matrix *m, const spmvx_matrix *raw,
                          const spmvx_arrays *a, const char *what)
{
    const spmvx_type type = a->val_type;
    void *x = malloc((size_t)(a->ncols + 1) * 8), *y = calloc((size_t)a->nrows + 1, 8),
         *z = calloc((size_t)a->nrows + 1, 8);
    uint64_t seed = 7;
    for (int64_t i = 0; i < a->ncols; i++) value_put(x, type, i, case_value(&seed));
    assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.5, m, x, 0.0, y, a->nrows, a->ncols, value_bytes(type)));
    assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.5, raw, x, 0.0, z, a->nrows, a->ncols, value_bytes(type)));
    for (int64_t i = 0; i < a->nrows; i++)
        if (bits_of(y, type, i) != bits_of(z, type, i) &&
            !(isnan(value_at(y, type, i)) && isnan(value_at(z, type, i))))
            fail_msg("%s: row %lld", what, (long long)i);
    free(x);
    free(y);
    free(z);
}

/* The smallest code that the bytes speak for. */
static int expected(int64_t n, int64_t distinct, enum kind kind, size_t each)
{
    const int64_t raw = n * (int64_t)each, table = distinct * (int64_t)each;
    if (distinct == 1 && n > 1) return ONE;
    if (kind == WHOLE && n) return distinct <= 256 && table + n < 2 * n ? U8 : I16;
    if (distinct <= 256 && table + n < raw) return U8;
    if (distinct <= 4096 && table + 2 * n < raw) return U16;
    return kind == SINGLES && each == 8 && n ? SINGLE : RAW;
}

static int by_bits(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int64_t distinct_of(const csr_arrays *c)
{
    const int64_t nnz = c->arrays.nnz;
    uint64_t *const bits = malloc((size_t)(nnz + 1) * sizeof *bits);
    int64_t n = 0;
    assert_non_null(bits);
    for (int64_t i = 0; i < nnz; i++) bits[i] = bits_of(c->val, c->arrays.val_type, i);
    qsort(bits, (size_t)nnz, sizeof *bits, by_bits);
    for (int64_t i = 0; i < nnz; i++) n += i == 0 || bits[i] != bits[i - 1];
    free(bits);
    return n;
}

static enum kind kind_of(const csr_arrays *c)
{
    enum kind kind = WHOLE;
    for (int64_t k = 0; k < c->arrays.nnz; k++) {
        const double v = value_at(c->val, c->arrays.val_type, k);
        if (isnan(v) || v != (double)(float)v) return DOUBLES;
        if (v != floor(v) || fabs(v + 0.5) > 32768 || (v == 0 && signbit(v))) kind = SINGLES;
    }
    return kind;
}

static void check_case(spmvx_context *ctx, const triples *t, spmvx_type type, int form, int64_t choices,
                       enum kind given)
{
    const char *const *const kernels = test_place() == SPMVX_HOST ? forms[form].host : forms[form].device;
    csr_arrays c = with_values(t, type, choices, given);
    const enum kind kind = kind_of(&c);
    spmvx_matrix *A = NULL, *chosen = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
    assert_ok(ctx, convert(ctx, A, form, NULL, 0, &chosen));
    const int64_t distinct = distinct_of(&c);
    const int want = expected(t->nnz, distinct, kind, value_bytes(type)), got = code_of(chosen);
    /* few rows may well have one value on each of their diagonals (test_steps) */
    const bool by_steps = got == STEP && (want == U8 || want == U16 || want == I16);
    if (want != got && !by_steps)
        fail_msg("%s, %lld of %lld values distinct: %s, and %s is wanted", t->name, (long long)distinct,
                 (long long)t->nnz, codes[got], codes[want]);
    case_way_back(chosen, &c);
    spmvx_matrix_destroy(chosen);
    for (int k = 0; kernels[k]; k++) {
        spmvx_matrix *raw = NULL;
        char name[64];
        snprintf(name, sizeof name, "%svalues=raw", kernels[k]);
        const spmvx_status s = convert(ctx, A, form, name, 0, &raw);
        if (s == SPMVX_ERR_UNSUPPORTED) continue; /* not this processor's */
        assert_ok(ctx, s);
        for (int i = 0; i < STEP; i++) {
            spmvx_matrix *m = NULL;
            snprintf(name, sizeof name, "%svalues=%s", kernels[k], codes[i]);
            const bool holds = i == RAW || (i == SINGLE && type == SPMVX_F64 && kind != DOUBLES) ||
                               (i == I16 && kind == WHOLE) || (i == U16 && distinct <= 4096) ||
                               (i == U8 && distinct <= 256) || (i == ONE && distinct <= 1);
            if (!holds) {
                assert_fails(SPMVX_ERR_LIMIT, "would lose", convert(ctx, A, form, name, 0, &m));
                continue;
            }
            assert_ok(ctx, convert(ctx, A, form, name, 0, &m));
            assert_int_equal(code_of(m), i);
            check_product(ctx, m, raw, &c.arrays, name);
            case_way_back(m, &c);
            spmvx_matrix_destroy(m);
        }
        spmvx_matrix_destroy(raw);
    }
    spmvx_matrix_destroy(A);
    csr_free(&c);
}

/* Tables that begin with infinity, which padding must not meet, and rows of all lengths. */
static void test_infinite(void **state)
{
    (void)state;
    static const char *const values[] = { "u16", "u8", "one" };
    spmvx_context *ctx = test_context(NULL, 2);
    triples t = case_make(6);
    for (int i = 0; i < 2 * FORMS; i++) {
        const int form = i / 2, two = i % 2;
        char name[64];
        csr_arrays c = case_csr(&t, SPMVX_F64);
        spmvx_matrix *A = NULL, *raw = NULL, *m = NULL;
        for (int64_t k = 0; k < t.nnz; k++) ((double *)c.val)[k] = two && k % 2 ? -1.5 : INFINITY;
        assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
        snprintf(name, sizeof name, "%s:values=raw", forms[form].name);
        assert_ok(ctx, convert(ctx, A, form, name, 0, &raw));
        for (size_t k = 0; k < sizeof values / sizeof *values - (size_t)two; k++) {
            snprintf(name, sizeof name, "%s:values=%s", forms[form].name, values[k]);
            assert_ok(ctx, convert(ctx, A, form, name, 0, &m));
            check_product(ctx, m, raw, &c.arrays, name);
            spmvx_matrix_destroy(m);
        }
        spmvx_matrix_destroy(raw);
        spmvx_matrix_destroy(A);
        csr_free(&c);
    }
    triples_free(&t);
    spmvx_context_destroy(ctx);
}

/* Of so many rows, on the diagonals that have a value: an odd one, all finite but for two. Of many rows some
 * are empty, and some have 40 diagonals more. */
static csr_arrays stencil(int64_t nrows, spmvx_type type, bool infinite)
{
    static const int64_t offset[] = { -70, -33, -32, -1, 0, 1, 2, 32, 70 };
    static const double odd[] = { 1.0 / 3, 0x1p-126, -0.0, 5, -1.5, 0, 5, INFINITY, NAN };
    enum { DIAGONALS = sizeof offset / sizeof *offset };
    triples t = { .nrows = nrows, .ncols = nrows };
    enum { MORE = 40 };
    const size_t room = (size_t)(nrows * (DIAGONALS + MORE) + 1);
    t.row = malloc(room * sizeof *t.row), t.col = malloc(room * sizeof *t.col);
    t.val = malloc(room * sizeof *t.val);
    for (int64_t r = 0; r < nrows; r++)
        for (int d = 0; d < DIAGONALS + MORE; d++) {
            const int64_t c = r + (d < DIAGONALS ? offset[d] : d + 100);
            if (d >= DIAGONALS ? r < 500 || r >= 600 : !infinite && d >= DIAGONALS - 2) continue;
            if (r >= 300 && r < 420) continue;
            /* gaps, as at the end of a grid's lines */
            if (c < 0 || c >= nrows || (d < DIAGONALS && offset[d] == 1 && r % 50 == 49)) continue;
            t.row[t.nnz] = (int32_t)r, t.col[t.nnz] = (int32_t)c;
            const double v = odd[d % (DIAGONALS - 2 * (d >= DIAGONALS))];
            t.val[t.nnz++] = type == SPMVX_F32 ? (double)(float)v : v;
        }
    csr_arrays c = case_csr(&t, type);
    triples_free(&t);
    return c;
}

/* One value on each diagonal of 32 rows is stored once for them, in every kernel with raw values' bits; where
 * one entry differs, none is. */
static void test_steps(void **state)
{
    (void)state;
    static const char *const device[] = { "packed:split=1,slices=1,",         "packed:split=1,slices=4,",
                                          "packed:split=1,slices=16,unit=4,", "packed:split=2,",
                                          "packed:split=8,unit=4,",           NULL };
    const char *const *const kernels = test_place() == SPMVX_HOST ? forms[0].host : device;
    spmvx_context *ctx = test_context(NULL, 2);
    for (int i = 0; i < 12; i++) {
        const spmvx_type type = i % 2 ? SPMVX_F32 : SPMVX_F64;
        csr_arrays c = stencil((const int64_t[]){ 200, 1000, 33 }[i / 4], type, i / 2 % 2);
        char name[64];
        spmvx_matrix *A = NULL, *m = NULL, *raw = NULL, *numbers = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
        assert_ok(ctx, convert(ctx, A, 0, NULL, 0, &m));
        assert_int_equal(code_of(m), STEP);
        case_way_back(m, &c);
        spmvx_matrix_destroy(m);
        for (int k = 0; kernels[k]; k++) {
            snprintf(name, sizeof name, "%svalues=step", kernels[k]);
            const spmvx_status s = convert(ctx, A, 0, name, 0, &m);
            if (s == SPMVX_ERR_UNSUPPORTED) continue; /* not this processor's */
            assert_ok(ctx, s);
            snprintf(name, sizeof name, "%svalues=u8", kernels[k]);
            assert_ok(ctx, convert(ctx, A, 0, name, 0, &numbers));
            snprintf(name, sizeof name, "%svalues=raw", kernels[k]);
            assert_ok(ctx, convert(ctx, A, 0, name, 0, &raw));
            check_product(ctx, m, raw, &c.arrays, name);
            check_product(ctx, numbers, raw, &c.arrays, name);
            case_way_back(m, &c);
            spmvx_matrix_destroy(m);
            spmvx_matrix_destroy(numbers);
            spmvx_matrix_destroy(raw);
        }
        spmvx_matrix_destroy(A);
        value_put(c.val, type, c.arrays.nnz / 2, 7.0);
        assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
        assert_ok(ctx, convert(ctx, A, 0, NULL, 0, &m));
        assert_int_equal(code_of(m), U8);
        assert_fails(SPMVX_ERR_LIMIT, "would lose", convert(ctx, A, 0, "packed:values=step", 0, &numbers));
        assert_fails(SPMVX_ERR_ARGUMENT, "raw, one, f32, i16, u16, u8",
                     convert(ctx, A, 1, "tiled:values=step", 0, &numbers));
        spmvx_matrix_destroy(m);
        spmvx_matrix_destroy(A);
        csr_free(&c);
    }
    spmvx_context_destroy(ctx);
}

/* Products that underflow, negative ones first: by fma a sum may be -0 then. It is 0 in all, whatever
 * padding follows it, which differs by code and by how many slices a warp takes. */
static void test_underflow(void **state)
{
    (void)state;
    enum { N = 192, KINDS = 4 };
    static const char *const host[KINDS] = { "packed@avx2:values=raw", "packed@avx2:values=step",
                                             "packed@avx512:values=raw", "packed@avx512:values=step" },
                             *const device[KINDS] = { "packed:values=raw,split=1,slices=1,unit=4",
                                                      "packed:values=step,split=1,slices=1,unit=4",
                                                      "packed:values=u8,split=1,slices=4",
                                                      "packed:values=raw,split=1,slices=8" };
    const char *const *const kernels = test_place() == SPMVX_HOST ? host : device;
    int32_t row[4 * N], col[4 * N];
    double val[4 * N], x[N], y[KINDS][N];
    triples t = { "underflow", N, N, 0, row, col, val };
    for (int r = 0; r < N; r++) {
        x[r] = 0x1p-600;
        for (int d = -2; d <= 1; d++) { /* the last diagonal is not in all rows */
            if (r + d < 0 || r + d >= N || (d == 1 && r % 16 == 1)) continue;
            row[t.nnz] = r, col[t.nnz] = r + d;
            val[t.nnz++] = d == 1 ? -1.0 : -0x1p-600;
        }
    }
    spmvx_context *ctx = test_context(NULL, 2);
    csr_arrays c = case_csr(&t, SPMVX_F64);
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
    for (int k = 0; k < KINDS; k++) {
        spmvx_matrix *m = NULL;
        const spmvx_status s = convert(ctx, A, 0, kernels[k], 0, &m);
        if (s == SPMVX_ERR_UNSUPPORTED) break; /* not this processor's */
        assert_ok(ctx, s);
        assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.0, m, x, 0.0, y[k], N, N, sizeof(double)));
        for (int r = 0; k && r < N; r++)
            if (bits_of(y[k], SPMVX_F64, r) != bits_of(y[0], SPMVX_F64, r))
                fail_msg("%s: row %d is %g, and %g by %s", kernels[k], r, y[k][r], y[0][r], kernels[0]);
        spmvx_matrix_destroy(m);
    }
    spmvx_matrix_destroy(A);
    csr_free(&c);
    spmvx_context_destroy(ctx);
}

static void test_codes(void **state)
{
    (void)state;
    /* the last are tables that fit in a register of the host's kernels, in some, or just do not */
    static const int64_t distinct[] = { 1, 2, 100, 256, 257, 3000, 1 << 20, 8, 9, 16, 17, 32, 33, 64, 65 };
    const size_t kinds = sizeof distinct / sizeof *distinct, others = kinds - 8;
    static const struct {
        spmvx_type type;
        enum kind kind;
    } given[] = { { SPMVX_F64, DOUBLES },
                  { SPMVX_F64, SINGLES },
                  { SPMVX_F64, WHOLE },
                  { SPMVX_F32, SINGLES },
                  { SPMVX_F32, WHOLE } };
    enum { GIVEN = sizeof given / sizeof *given };
    /* the emulator of a GPU takes long; where there is little time each case has them by turns */
    const int64_t most = test_is_emulated() ? 600 : 10000;
    spmvx_context *ctx = test_context(NULL, 2);
    for (int i = 0;; i++) {
        triples t = case_make(i);
        if (t.nnz < 0) break;
        for (int form = 0; form < FORMS; form++) {
            const bool registers = test_place() == SPMVX_HOST && forms[form].format == SPMVX_PACKED;
            for (size_t d = 0; d < (registers ? kinds : others) && t.nnz < most; d++) {
                for (size_t g = 0; g < GIVEN; g++)
                    if (!test_is_slow() || g == (2 * (size_t)i + d) % GIVEN)
                        check_case(ctx, &t, given[g].type, form, distinct[d], given[g].kind);
            }
        }
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

/* Many values: the table's limits, met by several threads. */
static void test_limits(void **state)
{
    (void)state;
    enum { N = 40000 };
    static const struct {
        int64_t distinct;
        double first; /* and ones more by 1 */
        int code;
    } want[] = { { 1, 1.0 / 3.0, ONE },    { 256, 1.0 / 3.0, U8 },    { 257, 1.0 / 3.0, U16 },
                 { 4096, 1.0 / 3.0, U16 }, { 4097, 1.0 / 3.0, RAW },  { 256, 5, U8 },
                 { 257, 5, I16 },          { 39768, -7000, I16 },     { 39769, -7000, SINGLE },
                 { 39768, -32768, I16 },   { 39768, -32769, SINGLE }, { 4097, 0.5, SINGLE } };
    spmvx_context *ctx = test_context(NULL, 2);
    csr_arrays c = { malloc((N + 1) * sizeof *c.ptr), malloc(N * sizeof *c.col), malloc(N * 8),
                     SPMVX_ARRAYS_INIT };
    for (int64_t i = 0; i < N; i++) c.ptr[i] = i, c.col[i] = (int32_t)i;
    c.ptr[N] = N;
    c.arrays.format = SPMVX_CSR;
    c.arrays.val_type = SPMVX_F64;
    c.arrays.idx_type = SPMVX_I32;
    c.arrays.ptr_type = SPMVX_I64;
    c.arrays.nrows = c.arrays.ncols = c.arrays.nnz = N;
    c.arrays.ptr = c.ptr, c.arrays.col = c.col, c.arrays.val = c.val;
    for (size_t w = 0; w < sizeof want / sizeof *want; w++) {
        spmvx_matrix *A = NULL, *m = NULL;
        for (int64_t i = 0; i < N; i++)
            ((double *)c.val)[i] = want[w].first + (double)((i * 7919) % want[w].distinct);
        assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
        for (int form = 0; form < FORMS; form++) {
            assert_ok(ctx, convert(ctx, A, form, NULL, 0, &m));
            assert_int_equal(code_of(m), want[w].code);
            case_way_back(m, &c);
            spmvx_matrix_destroy(m);
        }
        spmvx_matrix_destroy(A);
    }
    free(c.ptr);
    free(c.col);
    free(c.val);
    spmvx_context_destroy(ctx);
}

/* Whole numbers, and one value that is none: -0, a float, and what is subnormal, as f64 and as f32; also
 * where the processor takes the last for 0. */
static void check_odd_one(spmvx_context *ctx, spmvx_type type, double odd, int code)
{
    enum { ROWS = 100, EACH = 60 };
    triples t = { .nrows = ROWS, .ncols = ROWS };
    t.row = malloc(ROWS * EACH * sizeof *t.row), t.col = malloc(ROWS * EACH * sizeof *t.col);
    t.val = malloc(ROWS * EACH * sizeof *t.val);
    for (; t.nnz < ROWS * EACH; t.nnz++) {
        t.row[t.nnz] = (int32_t)(t.nnz / EACH), t.col[t.nnz] = (int32_t)(t.nnz % EACH);
        t.val[t.nnz] = t.nnz == 1234 ? odd : (double)(t.nnz - 3000);
    }
    csr_arrays c = case_csr(&t, type);
    for (int form = 0; form < FORMS; form++) {
        spmvx_matrix *A = NULL, *m = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
#ifdef __SSE2__
        const unsigned before = __builtin_ia32_stmxcsr();
        __builtin_ia32_ldmxcsr(before | 0x8040); /* subnormal numbers are 0, as operands and as results */
#endif
        const spmvx_status s = convert(ctx, A, form, NULL, 0, &m);
#ifdef __SSE2__
        __builtin_ia32_ldmxcsr(before);
#endif
        assert_ok(ctx, s);
        assert_int_equal(code_of(m), code);
        case_way_back(m, &c);
        spmvx_matrix_destroy(m);
        spmvx_matrix_destroy(A);
    }
    csr_free(&c);
    triples_free(&t);
}

static void test_odd_ones(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    check_odd_one(ctx, SPMVX_F64, 7, I16);
    check_odd_one(ctx, SPMVX_F32, 7, I16);
    check_odd_one(ctx, SPMVX_F64, -0.0, SINGLE);
    check_odd_one(ctx, SPMVX_F32, -0.0, RAW);
    check_odd_one(ctx, SPMVX_F64, 0.5, SINGLE);
    check_odd_one(ctx, SPMVX_F32, 0.5, RAW);
    check_odd_one(ctx, SPMVX_F64, 0x1p-1070, RAW);
    check_odd_one(ctx, SPMVX_F64, -0x1p-1070, RAW);
    check_odd_one(ctx, SPMVX_F64, 0x1p-140, RAW);
    check_odd_one(ctx, SPMVX_F32, 0x1p-140, RAW);
    spmvx_context_destroy(ctx);
}

/* What is updated has raw values; what is made of a coded matrix may be updated like its source. */
static void check_updates(spmvx_context *ctx, int form)
{
    triples t = case_make(6);
    csr_arrays c = with_values(&t, SPMVX_F64, 3, DOUBLES), other = case_csr(&t, SPMVX_F64);
    spmvx_matrix *A = NULL, *m = NULL, *coded = NULL;
    char name[64];
    assert_true(t.nnz > 30);
    void *const there = test_up(ctx, other.val, (size_t)t.nnz * 8);
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &A));
    assert_ok(ctx, convert(ctx, A, form, NULL, SPMVX_UPDATABLE, &m));
    assert_int_equal(code_of(m), RAW);
    assert_ok(ctx, spmvx_matrix_update_values(ctx, m, there));
    case_way_back(m, &other);
    spmvx_matrix_destroy(m);
    snprintf(name, sizeof name, "%s:values=u8", forms[form].name);
    assert_fails(SPMVX_ERR_ARGUMENT, "values=u8", convert(ctx, A, form, name, SPMVX_UPDATABLE, &m));
    assert_ok(ctx, convert(ctx, A, form, NULL, 0, &coded));
    assert_int_equal(code_of(coded), U8);
    assert_ok(ctx,
              convert(ctx, coded, form, NULL, SPMVX_UPDATABLE, &m)); /* it still knows the order of rows */
    assert_int_equal(code_of(m), RAW);
    case_way_back(m, &c);
    assert_ok(ctx, spmvx_matrix_update_values(ctx, m, there));
    case_way_back(m, &other);
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(coded);
    spmvx_matrix_destroy(A);
    spmvx_buffer_free(ctx, there);
    csr_free(&c);
    csr_free(&other);
    triples_free(&t);
}

static void test_updates(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    for (int form = 0; form < FORMS; form++) check_updates(ctx, form);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    if (!test_place_answers()) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_codes),     cmocka_unit_test(test_steps),
                                        cmocka_unit_test(test_underflow), cmocka_unit_test(test_infinite),
                                        cmocka_unit_test(test_limits),    cmocka_unit_test(test_odd_ones),
                                        cmocka_unit_test(test_updates) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
