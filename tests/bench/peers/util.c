/* Shared by the peers. */
#include "util.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int peer_fail(peer_error *e, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return code;
}

int peer_check(const peer_matrix *A, peer_error *e)
{
    if (A->val_bits != 32 && A->val_bits != 64)
        return peer_fail(e, PEER_UNSUPPORTED, "val_bits is %d, not 32 or 64", A->val_bits);
    if (A->ptr_bits != 32 && A->ptr_bits != 64)
        return peer_fail(e, PEER_UNSUPPORTED, "ptr_bits is %d, not 32 or 64", A->ptr_bits);
    if (A->nrows < 1) return peer_fail(e, PEER_UNSUPPORTED, "nrows is %" PRId64 ", not 1 or more", A->nrows);
    if (A->ncols < 1) return peer_fail(e, PEER_UNSUPPORTED, "ncols is %" PRId64 ", not 1 or more", A->ncols);
    if (A->nnz < 0) return peer_fail(e, PEER_UNSUPPORTED, "nnz is %" PRId64, A->nnz);
    if (A->threads < 1) return peer_fail(e, PEER_UNSUPPORTED, "threads is %d, not 1 or more", A->threads);
    return PEER_OK;
}

static int check_size(const char *name, int64_t size, peer_error *e)
{
    if (size <= INT32_MAX) return PEER_OK;
    return peer_fail(e, PEER_UNSUPPORTED, "%s is %" PRId64 ", over the 2147483647 of 32-bit indices", name,
                     size);
}

int peer_narrow(const peer_matrix *A, peer_matrix *narrow, int32_t **own, peer_error *e)
{
    *own = NULL;
    int result = peer_check(A, e);
    if (!result) result = check_size("nrows", A->nrows, e);
    if (!result) result = check_size("ncols", A->ncols, e);
    if (!result) result = check_size("nnz", A->nnz, e);
    if (result) return result;
    *narrow = *A;
    if (A->ptr_bits == 32) return PEER_OK;
    *own = malloc((size_t)(A->nrows + 1) * sizeof **own);
    if (!*own) return peer_fail(e, PEER_FAILED, "out of memory for %" PRId64 " row pointers", A->nrows + 1);
    for (int64_t r = 0; r <= A->nrows; r++) (*own)[r] = (int32_t)peer_ptr(A, r);
    narrow->ptr = *own;
    narrow->ptr_bits = 32;
    return PEER_OK;
}

int64_t peer_ptr(const peer_matrix *A, int64_t row)
{
    return A->ptr_bits == 64 ? ((const int64_t *)A->ptr)[row] : ((const int32_t *)A->ptr)[row];
}

size_t peer_csr_bytes(const peer_matrix *A)
{
    return (size_t)(A->nrows + 1) * (size_t)A->ptr_bits / 8 + (size_t)A->nnz * (4 + (size_t)A->val_bits / 8);
}
