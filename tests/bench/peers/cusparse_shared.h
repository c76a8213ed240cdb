/* What the two halves of the cuSPARSE peer share: multiplications with vectors, and products of sparse
 * matrices. */
#ifndef CUSPARSE_SHARED_H
#define CUSPARSE_SHARED_H
#include <cuda_runtime_api.h>
#include <cusparse.h>

#include "util.h"

extern cusparseHandle_t cusparse;

int check(cusparseStatus_t, const char *call, peer_error *);
int check_cuda(cudaError_t, const char *call, peer_error *);
/* As STEP, for calls of the CUDA runtime. */
#define STEP_CUDA(result, call)                               \
    do {                                                      \
        if (!(result)) (result) = check_cuda(call, #call, e); \
    } while (0)
cudaDataType type_of(int bits);
/* A matrix over the caller's arrays, and row pointers of 32 bits: the caller's, or *own (cudaFree), which is
 * NULL else. With 2^31 nonzeros and more they go as they are, which cuSPARSE may refuse. */
int describe_csr(const peer_matrix *, cusparseSpMatDescr_t *, void **own, peer_error *);

enum { CUSPARSE_PRODUCTS = 4 };
extern const peer_product cusparse_products[CUSPARSE_PRODUCTS];
#endif
