/* Any bytes as advice for matrices that are then converted: the text is refused, or no conversion fails, and
 * the products are right. The keys are those of three small matrices, so that what a fuzzer tries is used. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "spmvx/spmvx.h"

#define REQUIRE(condition)                                                                               \
    do {                                                                                                 \
        if (!(condition)) {                                                                              \
            fprintf(stderr, "fuzz_wisdom.c:%d: %s: %s\n", __LINE__, #condition, spmvx_last_error(NULL)); \
            abort();                                                                                     \
        }                                                                                                \
    } while (0)

enum { MATRICES = 3, ROWS = 90, MOST = 8 * ROWS, KEY = 256 };

static int32_t row[MATRICES][MOST], col[MATRICES][MOST];
static double val[MATRICES][MOST];
static const int64_t columns[MATRICES] = { ROWS, 40, 700 };
static int64_t entries[MATRICES];
static char key[MATRICES][KEY];

/* A band, short rows with repeats, and rows of every length over many columns. */
static void fill(int m)
{
    int64_t n = 0;
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < (m == 0 ? 3 : m == 1 ? r % 3 : r % 8); k++, n++) {
            row[m][n] = r;
            col[m][n] = (int32_t)(m == 0 ? (r + k) % ROWS : m == 1 ? r % 40 : (r * 31 + k * 97) % 700);
            val[m][n] = (double)(n % 13) - 6.25;
        }
    entries[m] = n;
}

static spmvx_context *context(void)
{
    spmvx_context *ctx = NULL;
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    o.threads = 1;
    REQUIRE(spmvx_context_create(&o, &ctx) == SPMVX_OK);
    return ctx;
}

static spmvx_matrix *matrix(spmvx_context *ctx, int m)
{
    spmvx_matrix *A = NULL;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_COO;
    a.nrows = ROWS;
    a.ncols = columns[m];
    a.nnz = entries[m];
    a.row = row[m];
    a.col = col[m];
    a.val = val[m];
    REQUIRE(spmvx_matrix_create(ctx, &a, 0, &A) == SPMVX_OK);
    return A;
}

/* The key under which a timed conversion learns. */
static void find_key(int m)
{
    char text[4096];
    size_t len = sizeof text;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_context *ctx = context();
    spmvx_matrix *A = matrix(ctx, m), *B = NULL;
    o.effort = 1;
    REQUIRE(spmvx_matrix_convert(ctx, A, &o, &B) == SPMVX_OK);
    REQUIRE(spmvx_wisdom_export(ctx, text, &len) == SPMVX_OK);
    const char *line = strchr(text, '\n') + 1, *arrow = strstr(line, " -> ");
    REQUIRE(arrow && arrow - line < KEY);
    memcpy(key[m], line, (size_t)(arrow - line));
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
}

static void check(spmvx_context *ctx, const spmvx_matrix *A, int m)
{
    double x[700], y[ROWS], sum[ROWS] = { 0 }, weight[ROWS] = { 0 };
    for (int j = 0; j < 700; j++) x[j] = (j % 7) - 2.5;
    for (int64_t k = 0; k < entries[m]; k++) {
        sum[row[m][k]] += val[m][k] * x[col[m][k]];
        weight[row[m][k]] += fabs(val[m][k] * x[col[m][k]]);
    }
    REQUIRE(spmvx_mul(ctx, SPMVX_N, 1.0, A, x, 0.0, y) == SPMVX_OK);
    for (int r = 0; r < ROWS; r++) REQUIRE(fabs(y[r] - sum[r]) <= 1e-12 * weight[r]);
}

/* Where the advice does not fit and effort is 1 the library times, which takes long: of some inputs only. */
static void use(spmvx_context *ctx, int m, int32_t effort)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *A = matrix(ctx, m), *B = NULL;
    o.effort = effort;
    REQUIRE(spmvx_matrix_convert(ctx, A, &o, &B) == SPMVX_OK);
    check(ctx, B, m);
    spmvx_matrix_destroy(B);
    spmvx_matrix_destroy(A);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int m = 0; m < MATRICES && !*key[m]; m++) {
        fill(m);
        find_key(m);
    }
    uint32_t hash = 0;
    for (size_t i = 0; i < size; i++) hash = hash * 31 + data[i];
    for (int m = 0; m < MATRICES; m++) {
        const size_t room = size + KEY + 64;
        char *text = malloc(room);
        REQUIRE(text);
        size_t n = (size_t)snprintf(text, room, "spmvx-wisdom 1\n%s -> ", key[m]);
        memcpy(text + n, data, size);
        n += size;
        text[n++] = '\n';
        spmvx_context *ctx = context();
        size_t before = 0, after = 0;
        REQUIRE(spmvx_wisdom_export(ctx, NULL, &before) == SPMVX_OK);
        const spmvx_status s = spmvx_wisdom_import(ctx, text, n);
        REQUIRE(s == SPMVX_OK || s == SPMVX_ERR_FILE);
        REQUIRE(spmvx_wisdom_export(ctx, NULL, &after) == SPMVX_OK);
        REQUIRE(s == SPMVX_OK || after == before);
        use(ctx, m, 0);
        if (s == SPMVX_OK && hash % 64 == 0) use(ctx, m, 1);
        spmvx_context_destroy(ctx);
        free(text);
    }
    return 0;
}
