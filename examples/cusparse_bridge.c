/* A program that keeps its matrix in cuSPARSE hands it over without a copy: the device arrays behind a
 * cuSPARSE descriptor are lent to libspmvx, both multiply, and the results are compared.
 *
 *     cc cusparse_bridge.c -o bridge $(pkg-config --cflags --libs spmvx) -lcusparse -lcudart -lm
 *
 *     bridge           the 7-point Laplacian on 60 x 60 x 60 points
 *     bridge N         on N x N x N points
 *
 * Exit status 77: no device. */
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <math.h>
#include <spmvx/spmvx.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS_MAX 400

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "bridge: %s: %s\n", what, why);
    return -1;
}

static int cuda(cudaError_t e, const char *what)
{
    return e == cudaSuccess ? 0 : fail(what, cudaGetErrorString(e));
}
static int cusparse(cusparseStatus_t s, const char *what)
{
    return s == CUSPARSE_STATUS_SUCCESS ? 0 : fail(what, cusparseGetErrorString(s));
}
static int spmvx(spmvx_status s, const char *what)
{
    return s == SPMVX_OK ? 0 : fail(what, spmvx_last_error(NULL));
}

typedef struct host_csr {
    int n, nnz, *ptr, *col;
    double *val;
} host_csr;

static int laplacian(int points, host_csr *a)
{
    const int n = points * points * points,
              offset[7] = { -points * points, -points, -1, 0, 1, points, points * points };
    a->n = n;
    a->ptr = malloc(((size_t)n + 1) * sizeof *a->ptr);
    a->col = malloc(7 * (size_t)n * sizeof *a->col);
    a->val = malloc(7 * (size_t)n * sizeof *a->val);
    if (!a->ptr || !a->col || !a->val) return fail("the matrix", "out of memory");
    for (int i = 0; i < n; i++) {
        const int x = i % points, y = i / points % points, z = i / points / points;
        const int there[7] = { z > 0, y > 0, x > 0, 1, x < points - 1, y < points - 1, z < points - 1 };
        a->ptr[i] = a->nnz;
        for (int k = 0; k < 7; k++) {
            if (!there[k]) continue;
            a->col[a->nnz] = i + offset[k];
            a->val[a->nnz++] = k == 3 ? 6 : -1;
        }
    }
    a->ptr[n] = a->nnz;
    return 0;
}

/* The program's own objects: a matrix and two vectors that cuSPARSE describes. */
typedef struct program {
    cusparseHandle_t handle;
    cusparseSpMatDescr_t A;
    cusparseDnVecDescr_t x, y;
    void *ptr, *col, *val, *dx, *dy, *dz, *buffer;
} program;

static int upload(void **device, const void *host, size_t bytes)
{
    return cuda(cudaMalloc(device, bytes), "cudaMalloc") ||
                   cuda(cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy")
               ? -1
               : 0;
}

static int describe(program *p, const host_csr *a)
{
    const size_t n = (size_t)a->n, nnz = (size_t)a->nnz;
    const double one = 1, zero = 0;
    size_t bytes = 0;
    double *x = malloc(n * sizeof *x);
    if (!x) return fail("x", "out of memory");
    for (size_t i = 0; i < n; i++) x[i] = sin(0.001 * (double)i);
    int bad = upload(&p->ptr, a->ptr, (n + 1) * 4) || upload(&p->col, a->col, nnz * 4) ||
              upload(&p->val, a->val, nnz * 8) || upload(&p->dx, x, n * 8) || upload(&p->dy, x, n * 8) ||
              upload(&p->dz, x, n * 8);
    free(x);
    return bad || cusparse(cusparseCreate(&p->handle), "cusparseCreate") ||
                   cusparse(cusparseCreateCsr(&p->A, a->n, a->n, a->nnz, p->ptr, p->col, p->val,
                                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                              CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
                            "cusparseCreateCsr") ||
                   cusparse(cusparseCreateDnVec(&p->x, a->n, p->dx, CUDA_R_64F), "x") ||
                   cusparse(cusparseCreateDnVec(&p->y, a->n, p->dy, CUDA_R_64F), "y") ||
                   cusparse(cusparseSpMV_bufferSize(p->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, p->A,
                                                    p->x, &zero, p->y, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT,
                                                    &bytes),
                            "cusparseSpMV_bufferSize") ||
                   cuda(cudaMalloc(&p->buffer, bytes + 1), "cudaMalloc") ||
                   cusparse(cusparseSpMV(p->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, p->A, p->x, &zero,
                                         p->y, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, p->buffer),
                            "cusparseSpMV")
               ? -1
               : 0;
}

/* The bridge: what cusparseCsrGet tells is what spmvx_arrays takes. */
static int lend(spmvx_context *ctx, cusparseSpMatDescr_t A, spmvx_matrix **out)
{
    cusparseIndexType_t ptr_type, col_type;
    cusparseIndexBase_t base;
    cudaDataType type;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    void *ptr, *col, *val;
    if (cusparse(cusparseCsrGet(A, &a.nrows, &a.ncols, &a.nnz, &ptr, &col, &val, &ptr_type, &col_type, &base,
                                &type),
                 "cusparseCsrGet"))
        return -1;
    if (base != CUSPARSE_INDEX_BASE_ZERO || col_type != CUSPARSE_INDEX_32I)
        return fail("the matrix", "indices of base 0 and 32 bits are wanted");
    a.format = SPMVX_CSR;
    a.ptr_type = ptr_type == CUSPARSE_INDEX_64I ? SPMVX_I64 : SPMVX_I32;
    a.val_type = type == CUDA_R_64F ? SPMVX_F64 : SPMVX_F32;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    return spmvx(spmvx_matrix_create(ctx, &a, SPMVX_BORROW | SPMVX_TRUST, out), "lending");
}

static int compare(const program *p, int n)
{
    double *y = malloc((size_t)n * sizeof *y), *z = malloc((size_t)n * sizeof *z), worst = 0;
    int bad = !y || !z ||
              cuda(cudaMemcpy(y, p->dy, (size_t)n * sizeof *y, cudaMemcpyDeviceToHost), "cudaMemcpy") ||
              cuda(cudaMemcpy(z, p->dz, (size_t)n * sizeof *z, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (int i = 0; !bad && i < n; i++) worst = fmax(worst, fabs(y[i] - z[i]));
    free(y);
    free(z);
    if (bad) return -1;
    printf("largest difference to cuSPARSE: %.1e\n", worst);
    return worst < 1e-12 ? 0 : fail("comparison", "the two differ");
}

static int run(program *p, spmvx_context **ctx, spmvx_matrix **lent, spmvx_matrix **A, const host_csr *a)
{
    spmvx_context_options options = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    options.place = SPMVX_CUDA;
    if (describe(p, a) || spmvx(spmvx_context_create(&options, ctx), "context") || lend(*ctx, p->A, lent))
        return -1;
    if (spmvx(spmvx_mul(*ctx, SPMVX_N, 1.0, *lent, p->dx, 0.0, p->dz), "multiplication") ||
        spmvx(spmvx_context_synchronize(*ctx), "multiplication") || compare(p, a->n))
        return -1;
    if (spmvx(spmvx_matrix_convert(*ctx, *lent, NULL, A), "conversion") ||
        spmvx(spmvx_matrix_get_info(*A, &info), "info"))
        return -1;
    printf("AUTO takes %s: %s\n", info.kernel, info.reason);
    if (spmvx(spmvx_mul(*ctx, SPMVX_N, 1.0, *A, p->dx, 0.0, p->dz), "multiplication") ||
        spmvx(spmvx_context_synchronize(*ctx), "multiplication"))
        return -1;
    return compare(p, a->n);
}

int main(int argc, char **argv)
{
    int devices = 0;
    const int points = argc > 1 ? atoi(argv[1]) : 60;
    if (points < 1 || points > POINTS_MAX) {
        fprintf(stderr, "usage: bridge [POINTS], 1 to %d\n", POINTS_MAX);
        return EXIT_FAILURE;
    }
    if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
        fprintf(stderr, "bridge: no CUDA device\n");
        return 77;
    }
    host_csr a = { 0 };
    program p = { 0 };
    spmvx_context *ctx = NULL;
    spmvx_matrix *lent = NULL, *A = NULL;
    const int result = laplacian(points, &a) || run(&p, &ctx, &lent, &A, &a);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(lent);
    spmvx_context_destroy(ctx);
    if (p.A) cusparseDestroySpMat(p.A);
    if (p.x) cusparseDestroyDnVec(p.x);
    if (p.y) cusparseDestroyDnVec(p.y);
    if (p.handle) cusparseDestroy(p.handle);
    void *const device[] = { p.ptr, p.col, p.val, p.dx, p.dy, p.dz, p.buffer };
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) cudaFree(device[i]);
    free(a.ptr);
    free(a.col);
    free(a.val);
    return result ? EXIT_FAILURE : EXIT_SUCCESS;
}
