/* cuSPARSE's SpMV (cuSPARSE documentation, "cusparseSpMV") in each format and algorithm, CSR with and
 * without cusparseSpMV_preprocess, and the older cusparse?bsrmv. CSR multiplies over the caller's device
 * arrays; COO's rows are expanded by cuSPARSE on the device; sliced ELL and BSR are built on the host
 * (blocks.c), so that their set-up times are not cuSPARSE's. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "blocks.h"
#include "cusparse_shared.h"

typedef struct variant {
    enum { CSR, COO, SELL, BSR, BSRMV } format;
    cusparseSpMVAlg_t alg;
    bool preprocess;
    int size;       /* rows a slice, or rows and columns a block */
    bool by_column; /* within a block */
} variant;

/* Device memory is NULL until it is allocated. */
typedef struct matrix {
    const variant *v;
    int64_t nrows, ncols;
    int val_bits;
    cudaStream_t stream;
    cusparseSpMatDescr_t A;
    cusparseDnVecDescr_t x, y;
    void *ptr, *col, *val;   /* what is not the caller's */
    void *buffer, *stand_in; /* stand_in: the vectors that preprocessing is given */
    /* for bsrmv */
    cusparseMatDescr_t old;
    int block_rows, block_cols, block_count;
    size_t bytes;
} matrix;

cusparseHandle_t cusparse;

int check(cusparseStatus_t s, const char *call, peer_error *e)
{
    if (s == CUSPARSE_STATUS_SUCCESS) return PEER_OK;
    const int code = s == CUSPARSE_STATUS_NOT_SUPPORTED            ? PEER_UNSUPPORTED
                     : s == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES ? PEER_UNSUPPORTED
                                                                   : PEER_FAILED;
    return peer_fail(e, code, "%.40s: %s", call, cusparseGetErrorString(s));
}

int check_cuda(cudaError_t s, const char *call, peer_error *e)
{
    const int code = s == cudaErrorMemoryAllocation ? PEER_UNSUPPORTED : PEER_FAILED;
    return s == cudaSuccess ? PEER_OK : peer_fail(e, code, "%.40s: %s", call, cudaGetErrorString(s));
}

cudaDataType type_of(int bits)
{
    return bits == 64 ? CUDA_R_64F : CUDA_R_32F;
}

/* ---- arrays ---- */

/* Device memory of so many bytes with what is at host; one byte more, so that none is NULL. */
static int upload(void **device, const void *host, size_t bytes, peer_error *e)
{
    int result = PEER_OK;
    STEP_CUDA(result, cudaMalloc(device, bytes + 1));
    STEP_CUDA(result, cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice));
    return result;
}

/* Malloc'ed memory with what is on the device; NULL after a failure. */
static void *download(const void *device, size_t bytes, peer_error *e)
{
    void *host = malloc(bytes + 1);
    if (!host) {
        peer_fail(e, PEER_FAILED, "out of memory for %zu bytes", bytes);
        return NULL;
    }
    if (check_cuda(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy", e) == PEER_OK)
        return host;
    free(host);
    return NULL;
}

/* Row pointers of 32 bits on the host. */
static int download_ptr(const peer_matrix *A, int32_t **out, peer_error *e)
{
    peer_matrix host = *A, narrow;
    void *ptr = download(A->ptr, (size_t)(A->nrows + 1) * (size_t)A->ptr_bits / 8, e);
    if (!ptr) return PEER_FAILED;
    host.ptr = ptr;
    const int result = peer_narrow(&host, &narrow, out, e);
    if (!result && !*out) *out = ptr;
    else free(ptr);
    return result;
}

/* A whole copy on the host with row pointers of 32 bits. */
static int download_csr(const peer_matrix *A, int32_t **ptr, int32_t **col, void **val, peer_matrix *host,
                        peer_error *e)
{
    const int result = download_ptr(A, ptr, e);
    if (result) return result;
    *col = download(A->col, (size_t)A->nnz * 4, e);
    *val = *col ? download(A->val, (size_t)A->nnz * (size_t)A->val_bits / 8, e) : NULL;
    *host = *A;
    host->ptr = *ptr;
    host->ptr_bits = 32;
    host->col = *col;
    host->val = *val;
    return *val ? PEER_OK : PEER_FAILED;
}

/* The caller's row pointers where they are of 32 bits, else a narrow copy, which is *own. */
static int narrow_on_device(const peer_matrix *A, const void **ptr, void **own, peer_error *e)
{
    peer_matrix narrow;
    int32_t *host = NULL;
    *ptr = A->ptr;
    if (A->ptr_bits == 32) return peer_narrow(A, &narrow, &host, e); /* its checks; nothing is read */
    int result = download_ptr(A, &host, e);
    if (!result) result = upload(own, host, (size_t)(A->nrows + 1) * 4, e);
    free(host);
    *ptr = *own;
    return result;
}

/* ---- descriptors ---- */

static void *writable(const void *p)
{
    return (void *)(uintptr_t)p;
}

int describe_csr(const peer_matrix *A, cusparseSpMatDescr_t *out, void **own, peer_error *e)
{
    const bool wide = A->nnz > INT32_MAX;
    const void *ptr = A->ptr;
    int result = wide ? PEER_OK : narrow_on_device(A, &ptr, own, e);
    STEP(result, cusparseCreateCsr(out, A->nrows, A->ncols, A->nnz, writable(ptr), writable(A->col),
                                   writable(A->val), wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of(A->val_bits)));
    return result;
}

static int make_csr(matrix *h, const peer_matrix *A, peer_error *e)
{
    h->bytes = peer_csr_bytes(A);
    return describe_csr(A, &h->A, &h->ptr, e);
}

static int make_coo(matrix *h, const peer_matrix *A, peer_error *e)
{
    const void *ptr;
    int result = narrow_on_device(A, &ptr, &h->ptr, e);
    /* the rows; the columns are the caller's */
    STEP_CUDA(result, cudaMalloc(&h->col, (size_t)A->nnz * 4 + 1));
    if (A->nnz)
        STEP(result,
             cusparseXcsr2coo(cusparse, ptr, (int)A->nnz, (int)A->nrows, h->col, CUSPARSE_INDEX_BASE_ZERO));
    h->bytes = (size_t)A->nnz * (8 + (size_t)A->val_bits / 8);
    STEP(result,
         cusparseCreateCoo(&h->A, A->nrows, A->ncols, A->nnz, h->col, writable(A->col), writable(A->val),
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of(A->val_bits)));
    return result;
}

static int describe_blocks(matrix *h, const peer_matrix *A, const blocks *b, peer_error *e)
{
    const variant *v = h->v;
    int result = PEER_OK;
    if (v->format == SELL) {
        STEP(result, cusparseCreateSlicedEll(&h->A, A->nrows, A->ncols, A->nnz, b->slots, v->size, h->ptr,
                                             h->col, h->val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                             CUSPARSE_INDEX_BASE_ZERO, type_of(A->val_bits)));
    } else if (v->format == BSR) {
        STEP(result,
             cusparseCreateBsr(&h->A, b->count, A->ncols / v->size, b->cols, v->size, v->size, h->ptr, h->col,
                               h->val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                               type_of(A->val_bits), v->by_column ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW));
    } else {
        h->block_rows = (int)b->count;
        h->block_cols = (int)(A->ncols / v->size);
        h->block_count = (int)b->cols;
        STEP(result, cusparseCreateMatDescr(&h->old));
    }
    return result;
}

/* About how many slots a nonzero BSR would have: from rows of blocks in the middle, whose columns alone
 * are brought here. */
static int sample_fill(const peer_matrix *A, const int32_t *ptr, int64_t size, double *fill, peer_error *e)
{
    enum { SAMPLE = 20000 };
    const int64_t rows = A->nrows / size, first = rows > SAMPLE ? (rows - SAMPLE) / 2 : 0,
                  last = rows > SAMPLE ? first + SAMPLE : rows;
    const int64_t from = ptr[first * size], count = ptr[last * size] - from;
    int32_t *col = download(A->col + from, (size_t)count * 4, e),
            *met = calloc((size_t)(A->ncols / size) + 1, sizeof *met);
    int64_t found = 0;
    for (int64_t row = first; col && met && row < last; row++)
        for (int64_t k = ptr[row * size] - from; k < ptr[(row + 1) * size] - from; k++) {
            found += met[col[k] / size] != (int32_t)(row + 1);
            met[col[k] / size] = (int32_t)(row + 1);
        }
    const int result = col && met ? PEER_OK : PEER_FAILED;
    *fill = count ? (double)(found * size * size) / (double)count : 1.0;
    free(col);
    free(met);
    return result;
}

/* Refuses what would store several times the matrix, before all of that is brought here. */
static int check_fill(const variant *v, const peer_matrix *A, peer_error *e)
{
    static const double most_bsr = 1.4, most_sell = 4;
    const int64_t size = v->size;
    int32_t *ptr = NULL;
    double fill = 0;
    if (v->format != SELL && (A->nrows % size || A->ncols % size))
        return peer_fail(e, PEER_UNSUPPORTED, "%lld x %lld is not in blocks of %lld", (long long)A->nrows,
                         (long long)A->ncols, (long long)size);
    int result = download_ptr(A, &ptr, e);
    if (result) return result;
    if (v->format == SELL) {
        int64_t slots = 0;
        for (int64_t s = 0; s < A->nrows; s += size) {
            int64_t widest = 0;
            for (int64_t r = s; r < s + size && r < A->nrows; r++)
                widest = ptr[r + 1] - ptr[r] > widest ? ptr[r + 1] - ptr[r] : widest;
            slots += widest * size;
        }
        fill = A->nnz ? (double)slots / (double)A->nnz : 1.0;
    } else result = sample_fill(A, ptr, size, &fill, e);
    free(ptr);
    if (!result && fill > (v->format == SELL ? most_sell : most_bsr))
        return peer_fail(e, PEER_UNSUPPORTED, "would store %.1f times the nonzeros", fill);
    return result;
}

static int make_blocks(matrix *h, const peer_matrix *A, peer_error *e)
{
    const variant *v = h->v;
    const int worth = check_fill(v, A, e);
    if (worth) return worth;
    peer_matrix host;
    int32_t *ptr = NULL, *col = NULL;
    void *val = NULL;
    blocks b = { 0 };
    int result = download_csr(A, &ptr, &col, &val, &host, e);
    if (!result && v->format == SELL) result = sliced_ell_make(&host, v->size, &b, e);
    else if (!result) result = bsr_make(&host, v->size, v->by_column, &b, e);
    free(ptr);
    free(col);
    free(val);
    const size_t each = (size_t)A->val_bits / 8;
    if (!result) result = upload(&h->ptr, b.ptr, (size_t)(b.count + 1) * 4, e);
    if (!result) result = upload(&h->col, b.col, (size_t)b.cols * 4, e);
    if (!result) result = upload(&h->val, b.val, (size_t)b.slots * each, e);
    if (!result) result = describe_blocks(h, A, &b, e);
    h->bytes = (size_t)(b.count + 1 + b.cols) * 4 + (size_t)b.slots * each;
    blocks_free(&b);
    return result;
}

/* Descriptors of x and y, which point to something that lives until mul gives them the caller's, and the
 * buffer. */
static int make_vectors(matrix *h, const peer_matrix *A, peer_error *e)
{
    const size_t each = (size_t)A->val_bits / 8, x_bytes = (size_t)A->ncols * each,
                 y_bytes = (size_t)A->nrows * each;
    const double one = 1, zero = 0;
    const float one32 = 1, zero32 = 0;
    const void *alpha = A->val_bits == 64 ? (const void *)&one : (const void *)&one32;
    const void *beta = A->val_bits == 64 ? (const void *)&zero : (const void *)&zero32;
    const cudaDataType type = type_of(A->val_bits);
    const cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const cusparseSpMVAlg_t alg = h->v->alg;
    size_t size = 0;
    int result = PEER_OK;
    STEP_CUDA(result, cudaMalloc(&h->stand_in, x_bytes + y_bytes));
    STEP_CUDA(result, cudaMemset(h->stand_in, 0, x_bytes + y_bytes));
    STEP(result, cusparseCreateDnVec(&h->x, A->ncols, h->stand_in, type));
    STEP(result, cusparseCreateDnVec(&h->y, A->nrows, (char *)h->stand_in + x_bytes, type));
    STEP(result, cusparseSpMV_bufferSize(cusparse, op, alpha, h->A, h->x, beta, h->y, type, alg, &size));
    STEP_CUDA(result, cudaMalloc(&h->buffer, size + 1));
    if (h->v->preprocess)
        STEP(result,
             cusparseSpMV_preprocess(cusparse, op, alpha, h->A, h->x, beta, h->y, type, alg, h->buffer));
    return result;
}

/* ---- the peer ---- */

static void close_matrix(void *handle)
{
    matrix *h = handle;
    if (h->A) cusparseDestroySpMat(h->A);
    if (h->x) cusparseDestroyDnVec(h->x);
    if (h->y) cusparseDestroyDnVec(h->y);
    if (h->old) cusparseDestroyMatDescr(h->old);
    cudaFree(h->ptr);
    cudaFree(h->col);
    cudaFree(h->val);
    cudaFree(h->buffer);
    cudaFree(h->stand_in);
    free(h);
}

/* Everything is done when it answers, so that the caller's clock sees all of it. */
static int open_matrix(const peer_method *method, const peer_matrix *A, void **handle, peer_error *e)
{
    int result = peer_check(A, e);
    if (result) return result;
    matrix *h = calloc(1, sizeof *h);
    if (!h) return peer_fail(e, PEER_FAILED, "out of memory");
    h->v = method->variant;
    h->nrows = A->nrows;
    h->ncols = A->ncols;
    h->val_bits = A->val_bits;
    h->stream = A->stream;
    STEP(result, cusparseSetStream(cusparse, h->stream));
    STEP_CUDA(result, cudaStreamSynchronize(h->stream)); /* the arrays are there */
    if (!result)
        result = h->v->format == CSR   ? make_csr(h, A, e)
                 : h->v->format == COO ? make_coo(h, A, e)
                                       : make_blocks(h, A, e);
    if (!result && h->v->format != BSRMV) result = make_vectors(h, A, e);
    STEP_CUDA(result, cudaStreamSynchronize(h->stream));
    if (!result) {
        *handle = h;
        return PEER_OK;
    }
    close_matrix(h);
    return result;
}

static int mul_old(const matrix *h, double alpha, const void *x, double beta, void *y, peer_error *e)
{
    const cusparseDirection_t order = h->v->by_column ? CUSPARSE_DIRECTION_COLUMN : CUSPARSE_DIRECTION_ROW;
    const cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const float alpha32 = (float)alpha, beta32 = (float)beta;
    const int m = h->block_rows, n = h->block_cols, nnz = h->block_count, size = h->v->size;
    const cusparseStatus_t s = h->val_bits == 64
                                   ? cusparseDbsrmv(cusparse, order, op, m, n, nnz, &alpha, h->old, h->val,
                                                    h->ptr, h->col, size, x, &beta, y)
                                   : cusparseSbsrmv(cusparse, order, op, m, n, nnz, &alpha32, h->old, h->val,
                                                    h->ptr, h->col, size, x, &beta32, y);
    return check(s, "cusparse?bsrmv", e);
}

static int mul(void *handle, double alpha, const void *x, double beta, void *y, peer_error *e)
{
    const matrix *h = handle;
    const float alpha32 = (float)alpha, beta32 = (float)beta;
    const void *a = h->val_bits == 64 ? (const void *)&alpha : (const void *)&alpha32;
    const void *b = h->val_bits == 64 ? (const void *)&beta : (const void *)&beta32;
    int result = PEER_OK;
    STEP(result, cusparseSetStream(cusparse, h->stream));
    if (result) return result;
    if (h->v->format == BSRMV) return mul_old(h, alpha, x, beta, y, e);
    STEP(result, cusparseDnVecSetValues(h->x, writable(x)));
    STEP(result, cusparseDnVecSetValues(h->y, y));
    STEP(result, cusparseSpMV(cusparse, CUSPARSE_OPERATION_NON_TRANSPOSE, a, h->A, h->x, b, h->y,
                              type_of(h->val_bits), h->v->alg, h->buffer));
    return result;
}

static size_t bytes(void *handle)
{
    return ((const matrix *)handle)->bytes;
}

static char version[32];

static int start(peer_error *e)
{
    int devices = 0, number = 0;
    const cudaError_t s = cudaGetDeviceCount(&devices);
    if (s != cudaSuccess || !devices)
        return peer_fail(e, PEER_UNSUPPORTED, "no CUDA device: %s", cudaGetErrorString(s));
    int result = PEER_OK;
    STEP(result, cusparseCreate(&cusparse));
    STEP(result, cusparseGetVersion(cusparse, &number));
    snprintf(version, sizeof version, "%d.%d.%d", number / 1000, number / 100 % 10, number % 100);
    return result;
}

static void finish(void)
{
    if (cusparse) cusparseDestroy(cusparse);
    cusparse = NULL;
}

#define METHOD(title, text, ...)                                                                \
    {                                                                                           \
        .name = "cusparse-" title, .summary = text, .variant = &(const variant){ __VA_ARGS__ }, \
        .open = open_matrix, .mul = mul, .bytes = bytes, .close = close_matrix                  \
    }
static const peer_method methods[] = {
    METHOD("csr-alg1", "CSR, ALG1", .format = CSR, .alg = CUSPARSE_SPMV_CSR_ALG1),
    METHOD("csr-alg1-preprocess", "CSR, ALG1, preprocessed", .format = CSR, .alg = CUSPARSE_SPMV_CSR_ALG1,
           .preprocess = true),
    METHOD("csr-alg2", "CSR, ALG2", .format = CSR, .alg = CUSPARSE_SPMV_CSR_ALG2),
    METHOD("csr-alg2-preprocess", "CSR, ALG2, preprocessed", .format = CSR, .alg = CUSPARSE_SPMV_CSR_ALG2,
           .preprocess = true),
    METHOD("coo-alg1", "COO, ALG1", .format = COO, .alg = CUSPARSE_SPMV_COO_ALG1),
    METHOD("coo-alg2", "COO, ALG2", .format = COO, .alg = CUSPARSE_SPMV_COO_ALG2),
    METHOD("sell-32", "sliced ELL, slices of 32 rows", .format = SELL, .alg = CUSPARSE_SPMV_SELL_ALG1,
           .size = 32),
    METHOD("sell-64", "sliced ELL, slices of 64 rows", .format = SELL, .alg = CUSPARSE_SPMV_SELL_ALG1,
           .size = 64),
    METHOD("sell-128", "sliced ELL, slices of 128 rows", .format = SELL, .alg = CUSPARSE_SPMV_SELL_ALG1,
           .size = 128),
    METHOD("bsr-2", "BSR, blocks of 2 x 2 by columns", .format = BSR, .alg = CUSPARSE_SPMV_BSR_ALG1,
           .size = 2, .by_column = true),
    METHOD("bsr-3", "BSR, blocks of 3 x 3 by columns", .format = BSR, .alg = CUSPARSE_SPMV_BSR_ALG1,
           .size = 3, .by_column = true),
    METHOD("bsr-4", "BSR, blocks of 4 x 4 by columns", .format = BSR, .alg = CUSPARSE_SPMV_BSR_ALG1,
           .size = 4, .by_column = true),
    METHOD("bsr-6", "BSR, blocks of 6 x 6 by columns", .format = BSR, .alg = CUSPARSE_SPMV_BSR_ALG1,
           .size = 6, .by_column = true),
    METHOD("bsr-3-rows", "BSR, blocks of 3 x 3 by rows", .format = BSR, .alg = CUSPARSE_SPMV_BSR_ALG1,
           .size = 3),
    METHOD("bsr-4-rows", "BSR, blocks of 4 x 4 by rows", .format = BSR, .alg = CUSPARSE_SPMV_BSR_ALG1,
           .size = 4),
    METHOD("bsrmv-2", "bsrmv, blocks of 2 x 2 by rows", .format = BSRMV, .size = 2),
    METHOD("bsrmv-3", "bsrmv, blocks of 3 x 3 by rows", .format = BSRMV, .size = 3),
    METHOD("bsrmv-4", "bsrmv, blocks of 4 x 4 by rows", .format = BSRMV, .size = 4),
    METHOD("bsrmv-6", "bsrmv, blocks of 6 x 6 by rows", .format = BSRMV, .size = 6),
};
static const peer_library library = {
    .interface_version = PEER_INTERFACE,
    .name = "cuSPARSE",
    .version = version,
    .on_device = 1,
    .count = (int)(sizeof methods / sizeof *methods),
    .methods = methods,
    .product_count = CUSPARSE_PRODUCTS,
    .products = cusparse_products,
    .start = start,
    .finish = finish,
};

const peer_library *spmvx_peer(void)
{
    return &library;
}
