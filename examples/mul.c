/* The smallest useful program: y = A * x for a matrix from a Matrix Market file, with x all ones.
 *
 *     cc mul.c -o mul $(pkg-config --cflags --libs spmvx) && ./mul A.mtx */
#include <inttypes.h>
#include <spmvx/spmvx.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    spmvx_context *ctx = NULL;
    spmvx_matrix *csr = NULL, *A = NULL;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    double *x = NULL, *y = NULL, sum = 0;
    int result = EXIT_FAILURE;
    if (argc != 2) {
        fprintf(stderr, "usage: mul FILE.mtx\n");
        return EXIT_FAILURE;
    }

    if (spmvx_context_create(NULL, &ctx)) goto error;
    if (spmvx_matrix_read(ctx, argv[1], NULL, &csr)) goto error;
    if (spmvx_matrix_convert(ctx, csr, NULL, &A)) goto error; /* picks format and kernel */
    if (spmvx_matrix_get_info(A, &info)) goto error;
    x = malloc((size_t)info.ncols * sizeof *x);
    y = malloc((size_t)info.nrows * sizeof *y);
    if (!x || !y) {
        fprintf(stderr, "mul: out of memory\n");
        goto done;
    }
    for (int64_t i = 0; i < info.ncols; i++) x[i] = 1;
    if (spmvx_mul(ctx, SPMVX_N, 1.0, A, x, 0.0, y)) goto error;

    for (int64_t i = 0; i < info.nrows; i++) sum += y[i];
    printf("%" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, kernel %s\n", info.nrows, info.ncols, info.nnz,
           info.kernel);
    printf("sum of y = %.15g\n", sum);
    result = EXIT_SUCCESS;
    goto done;
error:
    fprintf(stderr, "mul: %s\n", spmvx_last_error(NULL));
done:
    free(x);
    free(y);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(ctx);
    return result;
}
