/* cuSPARSE's SpGEMM (cuSPARSE documentation, "cusparseSpGEMM" and "cusparseSpGEMMreuse"): algorithms 1 to 3,
 * all phases with each mul, and the reuse of a pattern, whose mul computes values alone. Memory is of the
 * device's default pool, which keeps what is freed, so that no product pays for allocating; it is trimmed
 * with each close. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "cusparse_shared.h"

enum { BUFFERS = 5 };

typedef struct product {
    cusparseSpGEMMAlg_t alg;
    peer_matrix shape; /* A's type, C's size */
    cudaStream_t stream;
    cusparseSpMatDescr_t A, B, C;
    void *own[2];               /* A's and B's row pointers, where they are copies */
    void *ptr, *col, *val;      /* C's */
    void *buffer[BUFFERS];      /* while C is made; a reused pattern keeps some */
    cusparseSpGEMMDescr_t work; /* likewise */
} product;

static const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;

static const void *scalar(const product *h, bool one)
{
    static const double wide[] = { 0, 1 };
    static const float narrow[] = { 0, 1 };
    return h->shape.val_bits == 64 ? (const void *)&wide[one] : (const void *)&narrow[one];
}

/* ---- memory ---- */

static int take(const product *h, void **out, size_t bytes, peer_error *e)
{
    int result = PEER_OK;
    STEP_CUDA(result, cudaMallocAsync(out, bytes + 1, h->stream));
    return result;
}

static void give(const product *h, void **p)
{
    if (*p) cudaFreeAsync(*p, h->stream);
    *p = NULL;
}

static void drop_work(product *h)
{
    for (int i = 0; i < BUFFERS; i++) give(h, &h->buffer[i]);
    if (h->work) cusparseSpGEMM_destroyDescr(h->work);
    h->work = NULL;
}

static void drop_result(product *h)
{
    if (h->C) cusparseDestroySpMat(h->C);
    h->C = NULL;
    give(h, &h->ptr);
    give(h, &h->col);
    give(h, &h->val);
}

/* ---- C ---- */

/* C with its row pointers, and nothing in it yet. */
static int begin(product *h, peer_error *e)
{
    int result = PEER_OK;
    drop_work(h);
    drop_result(h);
    STEP(result, cusparseSetStream(cusparse, h->stream));
    if (!result) result = take(h, &h->ptr, (size_t)(h->shape.nrows + 1) * 4, e);
    STEP(result,
         cusparseCreateCsr(&h->C, h->shape.nrows, h->shape.ncols, 0, h->ptr, NULL, NULL, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of(h->shape.val_bits)));
    STEP(result, cusparseSpGEMM_createDescr(&h->work));
    return result;
}

/* Columns and values for the entries that were counted. */
static int take_entries(product *h, peer_error *e)
{
    int64_t rows, cols;
    int result = PEER_OK;
    STEP(result, cusparseSpMatGetSize(h->C, &rows, &cols, &h->shape.nnz));
    if (!result) result = take(h, &h->col, (size_t)h->shape.nnz * 4, e);
    if (!result) result = take(h, &h->val, (size_t)h->shape.nnz * (size_t)h->shape.val_bits / 8, e);
    STEP(result, cusparseCsrSetPointers(h->C, h->ptr, h->col, h->val));
    return result;
}

static int estimate(product *h, peer_error *e)
{
    const void *one = scalar(h, true), *zero = scalar(h, false);
    const cudaDataType type = type_of(h->shape.val_bits);
    size_t size = 0;
    int result = PEER_OK;
    STEP(result, cusparseSpGEMM_workEstimation(cusparse, plain, plain, one, h->A, h->B, zero, h->C, type,
                                               h->alg, h->work, &size, NULL));
    if (!result) result = take(h, &h->buffer[0], size, e);
    STEP(result, cusparseSpGEMM_workEstimation(cusparse, plain, plain, one, h->A, h->B, zero, h->C, type,
                                               h->alg, h->work, &size, h->buffer[0]));
    return result;
}

/* What the second buffer takes; 2 and 3 ask for a third first. */
static int compute_size(product *h, size_t *size, peer_error *e)
{
    static const float chunk = 0.2f; /* of the products at a time, by 3 */
    const void *one = scalar(h, true), *zero = scalar(h, false);
    const cudaDataType type = type_of(h->shape.val_bits);
    size_t more = 0;
    int result = PEER_OK;
    if (h->alg == CUSPARSE_SPGEMM_ALG1) {
        STEP(result, cusparseSpGEMM_compute(cusparse, plain, plain, one, h->A, h->B, zero, h->C, type, h->alg,
                                            h->work, size, NULL));
        return result;
    }
    STEP(result, cusparseSpGEMM_estimateMemory(cusparse, plain, plain, one, h->A, h->B, zero, h->C, type,
                                               h->alg, h->work, chunk, &more, NULL, NULL));
    if (!result) result = take(h, &h->buffer[2], more, e);
    STEP(result, cusparseSpGEMM_estimateMemory(cusparse, plain, plain, one, h->A, h->B, zero, h->C, type,
                                               h->alg, h->work, chunk, &more, h->buffer[2], size));
    give(h, &h->buffer[2]);
    return result;
}

static int mul_all(void *handle, peer_error *e)
{
    product *h = handle;
    const void *one = scalar(h, true), *zero = scalar(h, false);
    const cudaDataType type = type_of(h->shape.val_bits);
    size_t size = 0;
    int result = begin(h, e);
    if (!result) result = estimate(h, e);
    if (!result) result = compute_size(h, &size, e);
    if (!result) result = take(h, &h->buffer[1], size, e);
    STEP(result, cusparseSpGEMM_compute(cusparse, plain, plain, one, h->A, h->B, zero, h->C, type, h->alg,
                                        h->work, &size, h->buffer[1]));
    if (!result) result = take_entries(h, e);
    STEP(result,
         cusparseSpGEMM_copy(cusparse, plain, plain, one, h->A, h->B, zero, h->C, type, h->alg, h->work));
    drop_work(h);
    STEP_CUDA(result, cudaStreamSynchronize(h->stream));
    return result;
}

/* ---- a pattern that is reused ---- */

static int make_pattern(product *h, peer_error *e)
{
    size_t size[BUFFERS] = { 0 };
    int result = begin(h, e);
    STEP(result, cusparseSpGEMMreuse_workEstimation(cusparse, plain, plain, h->A, h->B, h->C, h->alg, h->work,
                                                    &size[0], NULL));
    if (!result) result = take(h, &h->buffer[0], size[0], e);
    STEP(result, cusparseSpGEMMreuse_workEstimation(cusparse, plain, plain, h->A, h->B, h->C, h->alg, h->work,
                                                    &size[0], h->buffer[0]));
    STEP(result, cusparseSpGEMMreuse_nnz(cusparse, plain, plain, h->A, h->B, h->C, h->alg, h->work, &size[1],
                                         NULL, &size[2], NULL, &size[3], NULL));
    for (int i = 1; i < 4 && !result; i++) result = take(h, &h->buffer[i], size[i], e);
    STEP(result, cusparseSpGEMMreuse_nnz(cusparse, plain, plain, h->A, h->B, h->C, h->alg, h->work, &size[1],
                                         h->buffer[1], &size[2], h->buffer[2], &size[3], h->buffer[3]));
    give(h, &h->buffer[0]);
    give(h, &h->buffer[1]);
    if (!result) result = take_entries(h, e);
    STEP(result,
         cusparseSpGEMMreuse_copy(cusparse, plain, plain, h->A, h->B, h->C, h->alg, h->work, &size[4], NULL));
    if (!result) result = take(h, &h->buffer[4], size[4], e);
    STEP(result, cusparseSpGEMMreuse_copy(cusparse, plain, plain, h->A, h->B, h->C, h->alg, h->work, &size[4],
                                          h->buffer[4]));
    give(h, &h->buffer[2]);
    STEP_CUDA(result, cudaStreamSynchronize(h->stream));
    return result;
}

static int mul_values(void *handle, peer_error *e)
{
    product *h = handle;
    int result = PEER_OK;
    STEP(result, cusparseSetStream(cusparse, h->stream));
    STEP(result,
         cusparseSpGEMMreuse_compute(cusparse, plain, plain, scalar(h, true), h->A, h->B, scalar(h, false),
                                     h->C, type_of(h->shape.val_bits), h->alg, h->work));
    STEP_CUDA(result, cudaStreamSynchronize(h->stream));
    return result;
}

/* ---- the peer ---- */

static void close_product(void *handle)
{
    product *h = handle;
    cudaMemPool_t pool;
    int device;
    drop_work(h);
    drop_result(h);
    if (h->A) cusparseDestroySpMat(h->A);
    if (h->B) cusparseDestroySpMat(h->B);
    cudaFree(h->own[0]);
    cudaFree(h->own[1]);
    cudaStreamSynchronize(h->stream);
    if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess)
        cudaMemPoolTrimTo(pool, 0);
    free(h);
}

static int keep_memory(peer_error *e)
{
    uint64_t all = UINT64_MAX;
    cudaMemPool_t pool;
    int device, result = PEER_OK;
    STEP_CUDA(result, cudaGetDevice(&device));
    STEP_CUDA(result, cudaDeviceGetDefaultMemPool(&pool, device));
    STEP_CUDA(result, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    return result;
}

static int open_product(const peer_product *method, const peer_matrix *A, const peer_matrix *B, void **handle,
                        peer_error *e)
{
    int result = peer_check(A, e);
    if (!result) result = peer_check(B, e);
    if (!result) result = keep_memory(e);
    if (result) return result;
    product *h = calloc(1, sizeof *h);
    if (!h) return peer_fail(e, PEER_FAILED, "out of memory");
    h->alg = *(const cusparseSpGEMMAlg_t *)method->variant;
    h->stream = A->stream;
    h->shape = (peer_matrix){ .nrows = A->nrows, .ncols = B->ncols, .val_bits = A->val_bits, .ptr_bits = 32 };
    STEP_CUDA(result, cudaStreamSynchronize(h->stream)); /* the arrays are there */
    if (!result) result = describe_csr(A, &h->A, &h->own[0], e);
    if (!result) result = describe_csr(B, &h->B, &h->own[1], e);
    if (!result && method->refills) result = make_pattern(h, e);
    if (!result) {
        *handle = h;
        return PEER_OK;
    }
    close_product(h);
    return result;
}

static int result_of_product(void *handle, peer_matrix *C, peer_error *e)
{
    (void)e;
    const product *h = handle;
    *C = h->shape;
    C->ptr = h->ptr;
    C->col = h->col;
    C->val = h->val;
    C->stream = h->stream;
    return PEER_OK;
}

#define PRODUCT(title, text, algorithm, ...)                                                           \
    {                                                                                                  \
        .name = "cusparse-" title, .summary = text, .open = open_product, .result = result_of_product, \
        .close = close_product, .variant = &(const cusparseSpGEMMAlg_t){ algorithm }, __VA_ARGS__      \
    }
const peer_product cusparse_products[CUSPARSE_PRODUCTS] = {
    PRODUCT("alg1", "SpGEMM, ALG1", CUSPARSE_SPGEMM_ALG1, .mul = mul_all),
    PRODUCT("alg2", "SpGEMM, ALG2", CUSPARSE_SPGEMM_ALG2, .mul = mul_all),
    PRODUCT("alg3", "SpGEMM, ALG3, a fifth of the products at a time", CUSPARSE_SPGEMM_ALG3, .mul = mul_all),
    PRODUCT("reuse", "SpGEMMreuse: values alone", CUSPARSE_SPGEMM_DEFAULT, .mul = mul_values, .refills = 1),
};
