/* SuiteSparse:GraphBLAS (T. A. Davis, "Algorithm 1000", ACM TOMS 45(4), 2019), semiring PLUS_TIMES. Its
 * opaque objects own their arrays, with 64-bit indices: the matrix is a copy, and x and y are the peer's
 * own (peer.h, vectors), packed and unpacked in constant time.
 *
 * y = A x is y = 0 (one value in constant time), then y += A x by GrB_mxv: without an accumulator rows
 * without entries would be missing in y. The number of threads is the descriptor's. */
#include <stdlib.h>
#include <string.h>

#include <GraphBLAS.h>

#include "util.h"

typedef struct type {
    GrB_Type type;
    GrB_Semiring semiring;
    GrB_BinaryOp plus, times;
    int bits;
    size_t bytes;
} type;

typedef struct matrix {
    type t;
    GrB_Matrix A;
    GrB_Vector x, y, scaled;   /* scaled: A x, where alpha or beta take a second step */
    void *x_values, *y_values; /* where they are while unpacked; NULL while packed */
    GrB_Descriptor descriptor;
    GrB_Index nrows, ncols;
} matrix;

typedef struct product {
    type t;
    GrB_Matrix A, B, C;
    GrB_Descriptor descriptor;
    GrB_Index *ptr, *col64; /* of C, unpacked by result */
    void *val;
    int32_t *col;
} product;

static int check(GrB_Info info, const char *call, peer_error *e)
{
    if (info == GrB_SUCCESS || info == GrB_NO_VALUE) return PEER_OK;
    return peer_fail(e, PEER_FAILED, "%s answered %d", call, (int)info);
}

static type type_of(int bits)
{
    if (bits == 64)
        return (type){ GrB_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, GrB_PLUS_FP64, GrB_TIMES_FP64, 64, 8 };
    return (type){ GrB_FP32, GrB_PLUS_TIMES_SEMIRING_FP32, GrB_PLUS_FP32, GrB_TIMES_FP32, 32, 4 };
}

static int descriptor_make(GrB_Descriptor *d, int threads, peer_error *e)
{
    int result = check(GrB_Descriptor_new(d), "GrB_Descriptor_new", e);
    STEP(result, GxB_Desc_set(*d, GxB_NTHREADS, threads));
    return result;
}

/* A copy of the arrays with 64-bit indices, handed over. */
static int matrix_make(GrB_Matrix *out, const type *t, const peer_matrix *A, peer_error *e)
{
    const size_t n = (size_t)A->nrows + 1, nnz = (size_t)A->nnz + (A->nnz == 0);
    GrB_Index *ptr = malloc(n * sizeof *ptr), *col = malloc(nnz * sizeof *col);
    void *val = calloc(nnz, t->bytes);
    int result = ptr && col && val ? PEER_OK : peer_fail(e, PEER_FAILED, "out of memory");
    if (!result) {
        for (int64_t r = 0; r <= A->nrows; r++) ptr[r] = (GrB_Index)peer_ptr(A, r);
        for (int64_t k = 0; k < A->nnz; k++) col[k] = (GrB_Index)A->col[k];
        if (A->nnz) memcpy(val, A->val, (size_t)A->nnz * t->bytes);
        result = check(GxB_Matrix_import_CSR(out, t->type, (GrB_Index)A->nrows, (GrB_Index)A->ncols, &ptr,
                                             &col, &val, n * sizeof *ptr, nnz * sizeof *col, nnz * t->bytes,
                                             false, false, NULL),
                       "GxB_Matrix_import_CSR", e);
    }
    free(ptr); /* NULL once handed over */
    free(col);
    free(val);
    return result;
}

/* ---- A x ---- */

static int unpack(const matrix *h, GrB_Vector v, void **values, peer_error *e)
{
    GrB_Index size;
    return *values ? PEER_OK
                   : check(GxB_Vector_unpack_Full(v, values, &size, NULL, h->descriptor),
                           "GxB_Vector_unpack_Full", e);
}

static int pack(const matrix *h, GrB_Vector v, void **values, GrB_Index n, peer_error *e)
{
    if (!*values) return PEER_OK;
    return check(GxB_Vector_pack_Full(v, values, n * h->t.bytes, false, h->descriptor),
                 "GxB_Vector_pack_Full", e);
}

static int vectors(void *handle, void **x, void **y, peer_error *e)
{
    matrix *h = handle;
    int result = unpack(h, h->x, &h->x_values, e);
    if (!result) result = unpack(h, h->y, &h->y_values, e);
    *x = h->x_values;
    *y = h->y_values;
    return result;
}

static void close_matrix(void *handle)
{
    matrix *h = handle;
    GrB_free(&h->A);
    GrB_free(&h->x);
    GrB_free(&h->y);
    GrB_free(&h->scaled);
    GrB_free(&h->descriptor);
    free(h->x_values);
    free(h->y_values);
    free(h);
}

static int open_matrix(const peer_method *method, const peer_matrix *A, void **handle, peer_error *e)
{
    (void)method;
    int result = peer_check(A, e);
    if (result) return result;
    matrix *h = calloc(1, sizeof *h);
    if (!h) return peer_fail(e, PEER_FAILED, "out of memory");
    h->t = type_of(A->val_bits);
    h->nrows = (GrB_Index)A->nrows;
    h->ncols = (GrB_Index)A->ncols;
    result = descriptor_make(&h->descriptor, A->threads, e);
    if (!result) result = matrix_make(&h->A, &h->t, A, e);
    STEP(result, GrB_Vector_new(&h->x, h->t.type, h->ncols));
    STEP(result, GrB_Vector_new(&h->y, h->t.type, h->nrows));
    STEP(result, GrB_Vector_new(&h->scaled, h->t.type, h->nrows));
    h->x_values = calloc(h->ncols, h->t.bytes);
    h->y_values = calloc(h->nrows, h->t.bytes);
    if (!result && !(h->x_values && h->y_values)) result = peer_fail(e, PEER_FAILED, "out of memory");
    STEP(result, GrB_wait(h->A, GrB_MATERIALIZE));
    if (!result) {
        *handle = h;
        return PEER_OK;
    }
    close_matrix(h);
    return result;
}

static int multiply(const matrix *h, double alpha, double beta, peer_error *e)
{
    int result = PEER_OK;
    if (beta == 0)
        STEP(result, GrB_Vector_assign_FP64(h->y, NULL, NULL, 0.0, GrB_ALL, h->nrows, h->descriptor));
    else if (beta != 1)
        STEP(result,
             GrB_Vector_apply_BinaryOp1st_FP64(h->y, NULL, NULL, h->t.times, beta, h->y, h->descriptor));
    if (alpha == 1) {
        STEP(result, GrB_mxv(h->y, NULL, h->t.plus, h->t.semiring, h->A, h->x, h->descriptor));
    } else {
        STEP(result, GrB_mxv(h->scaled, NULL, NULL, h->t.semiring, h->A, h->x, h->descriptor));
        STEP(result, GrB_Vector_apply_BinaryOp1st_FP64(h->y, NULL, h->t.plus, h->t.times, alpha, h->scaled,
                                                       h->descriptor));
    }
    STEP(result, GrB_wait(h->y, GrB_MATERIALIZE));
    return result;
}

/* The caller's values into the peer's vector. */
static int fill(const matrix *h, GrB_Vector v, void **values, const void *given, GrB_Index n, peer_error *e)
{
    const int result = unpack(h, v, values, e);
    if (!result) memcpy(*values, given, n * h->t.bytes);
    return result;
}

static int mul(void *handle, double alpha, const void *x, double beta, void *y, peer_error *e)
{
    matrix *h = handle;
    int result = x ? fill(h, h->x, &h->x_values, x, h->ncols, e) : PEER_OK;
    if (!result && y && beta != 0) result = fill(h, h->y, &h->y_values, y, h->nrows, e);
    if (!result) result = pack(h, h->x, &h->x_values, h->ncols, e);
    if (!result) result = pack(h, h->y, &h->y_values, h->nrows, e);
    if (!result) result = multiply(h, alpha, beta, e);
    if (result || !y) return result;
    result = unpack(h, h->y, &h->y_values, e);
    if (!result) memcpy(y, h->y_values, h->nrows * h->t.bytes);
    return result;
}

static size_t bytes(void *handle)
{
    const matrix *h = handle;
    size_t size = 0;
    return GxB_Matrix_memoryUsage(&size, h->A) == GrB_SUCCESS ? size : 0;
}

/* ---- A B ---- */

static void release_result(product *h)
{
    free(h->ptr);
    free(h->col64);
    free(h->val);
    free(h->col);
    h->ptr = h->col64 = NULL;
    h->val = NULL;
    h->col = NULL;
}

static void close_product(void *handle)
{
    product *h = handle;
    release_result(h);
    GrB_free(&h->A);
    GrB_free(&h->B);
    GrB_free(&h->C);
    GrB_free(&h->descriptor);
    free(h);
}

static int open_product(const peer_product *method, const peer_matrix *A, const peer_matrix *B, void **handle,
                        peer_error *e)
{
    (void)method;
    int result = peer_check(A, e);
    if (!result) result = peer_check(B, e);
    if (result) return result;
    product *h = calloc(1, sizeof *h);
    if (!h) return peer_fail(e, PEER_FAILED, "out of memory");
    h->t = type_of(A->val_bits);
    result = descriptor_make(&h->descriptor, A->threads, e);
    if (!result) result = matrix_make(&h->A, &h->t, A, e);
    if (!result) result = matrix_make(&h->B, &h->t, B, e);
    if (!result) {
        *handle = h;
        return PEER_OK;
    }
    close_product(h);
    return result;
}

static int mul_product(void *handle, peer_error *e)
{
    product *h = handle;
    GrB_Index nrows, ncols;
    int result = PEER_OK;
    release_result(h);
    GrB_free(&h->C);
    STEP(result, GrB_Matrix_nrows(&nrows, h->A));
    STEP(result, GrB_Matrix_ncols(&ncols, h->B));
    STEP(result, GrB_Matrix_new(&h->C, h->t.type, nrows, ncols));
    STEP(result, GrB_mxm(h->C, NULL, NULL, h->t.semiring, h->A, h->B, h->descriptor));
    STEP(result, GrB_wait(h->C, GrB_MATERIALIZE));
    return result;
}

static int result_of_product(void *handle, peer_matrix *C, peer_error *e)
{
    product *h = handle;
    GrB_Index nrows, ncols, nnz, ptr_size, col_size, val_size;
    bool jumbled; /* asked for, so that rows need not be sorted */
    int result = PEER_OK;
    STEP(result, GrB_Matrix_nrows(&nrows, h->C));
    STEP(result, GrB_Matrix_ncols(&ncols, h->C));
    if (!result && !h->ptr)
        result = check(GxB_Matrix_unpack_CSR(h->C, &h->ptr, &h->col64, &h->val, &ptr_size, &col_size,
                                             &val_size, NULL, &jumbled, h->descriptor),
                       "GxB_Matrix_unpack_CSR", e);
    if (result) return result;
    nnz = h->ptr[nrows];
    if (!h->col) h->col = malloc((nnz + 1) * sizeof *h->col);
    if (!h->col) return peer_fail(e, PEER_FAILED, "out of memory for %llu columns", (unsigned long long)nnz);
    for (GrB_Index k = 0; k < nnz; k++) h->col[k] = (int32_t)h->col64[k];
    *C = (peer_matrix){ .nrows = (int64_t)nrows,
                        .ncols = (int64_t)ncols,
                        .nnz = (int64_t)nnz,
                        .ptr = h->ptr,
                        .ptr_bits = 64,
                        .col = h->col,
                        .val = h->val,
                        .val_bits = h->t.bits };
    return PEER_OK;
}

static int start(peer_error *e)
{
    return check(GrB_init(GrB_NONBLOCKING), "GrB_init", e);
}

static void finish(void)
{
    GrB_finalize();
}

static const peer_method methods[] = {
    { .name = "graphblas",
      .summary = "GrB_mxv, PLUS_TIMES, into a full y",
      .open = open_matrix,
      .mul = mul,
      .vectors = vectors,
      .bytes = bytes,
      .close = close_matrix },
};
static const peer_product products[] = {
    { .name = "graphblas",
      .summary = "GrB_mxm, PLUS_TIMES",
      .open = open_product,
      .mul = mul_product,
      .result = result_of_product,
      .close = close_product },
};
static const peer_library library = {
    .interface_version = PEER_INTERFACE,
    .name = "SuiteSparse:GraphBLAS",
    .version = PEER_TEXT(GxB_IMPLEMENTATION_MAJOR) "." PEER_TEXT(GxB_IMPLEMENTATION_MINOR) "." PEER_TEXT(
        GxB_IMPLEMENTATION_SUB),
    .count = 1,
    .methods = methods,
    .product_count = 1,
    .products = products,
    .start = start,
    .finish = finish,
};

const peer_library *spmvx_peer(void)
{
    return &library;
}
