/* PETSc's AIJ matrices in this process: one rank, one thread, MatCreateSeqAIJWithArrays over the caller's
 * arrays, vectors placed over the caller's. (PETSc's parallelism is by ranks: petsc_mpi.c.) */
#include <stdio.h>
#include <stdlib.h>

#include "petsc_mul.h"
#include "util.h"

typedef struct matrix {
    Mat A;
    Vec x, y, scaled;
    int32_t *own;
    size_t bytes;
} matrix;

static int check(PetscErrorCode code, const char *call, peer_error *e)
{
    if (!code) return PEER_OK;
    const char *text = NULL;
    PetscErrorMessage(code, &text, NULL);
    return peer_fail(e, PEER_FAILED, "%s: %s", call, text ? text : "failed");
}

/* PETSc has one type of values and one of indices, set when it was built. */
static int check_types(const peer_matrix *A, peer_error *e)
{
    const int scalar = 8 * (int)sizeof(PetscScalar), index = 8 * (int)sizeof(PetscInt);
    if (A->val_bits != 64 || scalar != 64)
        return peer_fail(e, PEER_UNSUPPORTED, "val_bits is %d, and this PETSc has %d", A->val_bits, scalar);
    if (index != 32)
        return peer_fail(e, PEER_UNSUPPORTED, "this PETSc has indices of %d bits, not 32", index);
    return PEER_OK;
}

static void close_matrix(void *handle)
{
    matrix *h = handle;
    MatDestroy(&h->A);
    VecDestroy(&h->x);
    VecDestroy(&h->y);
    VecDestroy(&h->scaled);
    free(h->own);
    free(h);
}

static int open_matrix(const peer_method *method, const peer_matrix *A, void **handle, peer_error *e)
{
    (void)method;
    peer_matrix m;
    int32_t *own;
    int result = peer_narrow(A, &m, &own, e);
    if (result) return result;
    matrix *h = calloc(1, sizeof *h);
    if (!h) result = peer_fail(e, PEER_FAILED, "out of memory");
    else result = check_types(&m, e);
    if (result) {
        free(own);
        free(h);
        return result;
    }
    h->own = own;
    h->bytes = peer_csr_bytes(&m);
    const PetscInt nrows = (PetscInt)m.nrows, ncols = (PetscInt)m.ncols;
    PetscInt *ptr = (PetscInt *)(uintptr_t)m.ptr, *col = (PetscInt *)(uintptr_t)m.col; /* not written */
    STEP(result, MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, nrows, ncols, ptr, col,
                                           (PetscScalar *)(uintptr_t)m.val, &h->A));
    STEP(result, VecCreateSeqWithArray(PETSC_COMM_SELF, 1, ncols, NULL, &h->x));
    STEP(result, VecCreateSeqWithArray(PETSC_COMM_SELF, 1, nrows, NULL, &h->y));
    STEP(result, VecCreateSeq(PETSC_COMM_SELF, nrows, &h->scaled));
    if (!result) {
        *handle = h;
        return PEER_OK;
    }
    close_matrix(h);
    return result;
}

static int mul(void *handle, double alpha, const void *x, double beta, void *y, peer_error *e)
{
    matrix *h = handle;
    int result = PEER_OK;
    STEP(result, VecPlaceArray(h->x, x));
    STEP(result, VecPlaceArray(h->y, y));
    STEP(result, petsc_mul(h->A, alpha, h->x, beta, h->y, h->scaled));
    VecResetArray(h->x);
    VecResetArray(h->y);
    return result;
}

static size_t bytes(void *handle)
{
    return ((const matrix *)handle)->bytes;
}

static char version[64];

static int start(peer_error *e)
{
    char *words[] = { (char[]){ "spmvx" }, (char[]){ "-no_signal_handler" }, NULL }, **argv = words;
    int argc = 2;
    PetscInt major, minor, patch, release;
    int result = check(PetscInitialize(&argc, &argv, NULL, NULL), "PetscInitialize", e);
    STEP(result, PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    STEP(result, PetscGetVersionNumber(&major, &minor, &patch, &release));
    if (!result) snprintf(version, sizeof version, "%d.%d.%d", (int)major, (int)minor, (int)patch);
    return result;
}

static void finish(void)
{
    PetscFinalize();
}

static const peer_method methods[] = {
    { .name = "petsc",
      .summary = "MatMult of SeqAIJ, one rank in this process",
      .threads = 1,
      .open = open_matrix,
      .mul = mul,
      .bytes = bytes,
      .close = close_matrix },
};
static const peer_library library = {
    .interface_version = PEER_INTERFACE,
    .name = "PETSc",
    .version = version,
    .count = 1,
    .methods = methods,
    .start = start,
    .finish = finish,
};

const peer_library *spmvx_peer(void)
{
    return &library;
}
