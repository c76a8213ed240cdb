/* A program with CSR arrays of its own: 64-bit row pointers, 32-bit columns.
 *
 *   1. It lends them to the library, which multiplies with them in place.
 *   2. It changes a value in its array; the next multiplication sees that.
 *   3. It converts to SELL, a format with arrays of its own, and hands over new values there.
 *
 * Each result is compared with a plain loop.
 *
 *     cc custom_arrays.c -o custom_arrays $(pkg-config --cflags --libs spmvx) -lm */
#include <inttypes.h>
#include <math.h>
#include <spmvx/spmvx.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1000, COLS = 800, WIDEST = 7, ENTRIES_MAX = ROWS * WIDEST };

static int64_t row_ptr[ROWS + 1];
static int32_t col_idx[ENTRIES_MAX];
static double values[ENTRIES_MAX], new_values[ENTRIES_MAX], x[COLS], y[ROWS];

static void fill(void)
{
    int64_t k = 0;
    for (int32_t r = 0; r < ROWS; r++) {
        row_ptr[r] = k;
        for (int32_t j = 0; j < r % (WIDEST + 1); j++, k++) {
            col_idx[k] = (r + 113 * j) % COLS;
            values[k] = 1.0 / (1 + r % 10 + j);
            new_values[k] = (double)(r - 3 * j) / ROWS;
        }
    }
    row_ptr[ROWS] = k;
    for (int32_t c = 0; c < COLS; c++) x[c] = cos(c);
}

static int check(spmvx_status status)
{
    if (status) fprintf(stderr, "custom_arrays: %s\n", spmvx_last_error(NULL));
    return status ? -1 : 0;
}

static int multiply(spmvx_context *ctx, const spmvx_matrix *A, const double *val, const char *what)
{
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    double error = 0;
    if (check(spmvx_matrix_get_info(A, &info)) || check(spmvx_mul(ctx, SPMVX_N, 1.0, A, x, 0.0, y)))
        return -1;
    for (int32_t r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int64_t k = row_ptr[r]; k < row_ptr[r + 1]; k++) sum += val[k] * x[col_idx[k]];
        error = fmax(error, fabs(y[r] - sum));
    }
    printf("%-40s kernel %s, largest difference from the plain loop %.1e\n", what, info.kernel, error);
    if (error < 1e-12) return 0;
    fprintf(stderr, "custom_arrays: %s: wrong result\n", what);
    return -1;
}

static int lend(spmvx_context *ctx, spmvx_matrix **out)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_CSR;
    a.ptr_type = SPMVX_I64;
    a.idx_type = SPMVX_I32;
    a.val_type = SPMVX_F64;
    a.nrows = ROWS;
    a.ncols = COLS;
    a.nnz = row_ptr[ROWS];
    a.ptr = row_ptr;
    a.col = col_idx;
    a.val = values;
    return check(spmvx_matrix_create(ctx, &a, SPMVX_BORROW, out));
}

/* While a matrix is marked as borrowed, its values may change between calls; its pattern may not. */
static int change_in_place(spmvx_context *ctx, const spmvx_matrix *csr)
{
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    if (check(spmvx_matrix_get_info(csr, &info))) return -1;
    if (!(info.flags & SPMVX_IS_BORROWED)) {
        fprintf(stderr, "custom_arrays: the arrays are not lent\n");
        return -1;
    }
    values[0] += 1000;
    return multiply(ctx, csr, values, "lent CSR, a value changed in place:");
}

/* The new values come in the order of the arrays that the matrix was first made from: here, our CSR. */
static int convert_and_update(spmvx_context *ctx, const spmvx_matrix *csr, spmvx_matrix **sell)
{
    spmvx_convert_options options = SPMVX_CONVERT_OPTIONS_INIT;
    options.format = SPMVX_SELL;
    options.flags = SPMVX_UPDATABLE;
    if (check(spmvx_matrix_convert(ctx, csr, &options, sell))) return -1;
    if (multiply(ctx, *sell, values, "SELL, converted:")) return -1;
    if (check(spmvx_matrix_update_values(ctx, *sell, new_values))) return -1;
    if (multiply(ctx, *sell, new_values, "SELL, all values updated:")) return -1;
    return multiply(ctx, csr, values, "lent CSR, untouched by the update:");
}

int main(void)
{
    spmvx_context *ctx = NULL;
    spmvx_matrix *csr = NULL, *sell = NULL;
    fill();
    int result = check(spmvx_context_create(NULL, &ctx));
    if (!result) result = lend(ctx, &csr);
    if (!result) printf("%d x %d, %" PRId64 " entries, double values\n", ROWS, COLS, row_ptr[ROWS]);
    if (!result) result = multiply(ctx, csr, values, "lent CSR:");
    if (!result) result = change_in_place(ctx, csr);
    if (!result) result = convert_and_update(ctx, csr, &sell);
    spmvx_matrix_destroy(sell);
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(ctx);
    return result ? EXIT_FAILURE : EXIT_SUCCESS;
}
