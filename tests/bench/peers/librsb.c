/* librsb (M. Martone, "Efficient multithreaded untransposed, transposed or symmetric sparse matrix-vector
 * multiplication with the Recursive Sparse Blocks format", Parallel Computing 40, 2014): rsb_spmv on a
 * matrix of its own, as it comes or after rsb_tune_spmm. librsb 1.3 takes its number of threads from
 * OpenMP when it starts, and rsb_spmv then keeps to it whatever the option RSB_IO_WANT_EXECUTING_THREADS
 * says: so it is started anew where another number is asked for, while no handle is open. */
#include <stdbool.h>
#include <stdlib.h>

#include <omp.h>
#include <rsb.h>

#include "util.h"

typedef struct matrix {
    struct rsb_mtx_t *A;
    int val_bits;
} matrix;

static const int tuned = 1;

static int check(rsb_err_t status, const char *call, peer_error *e)
{
    if (status == RSB_ERR_NO_ERROR) return PEER_OK;
    char text[128];
    rsb_strerror_r(status, text, sizeof text);
    return peer_fail(e, status == RSB_ERR_UNSUPPORTED_TYPE ? PEER_UNSUPPORTED : PEER_FAILED, "%s: %s", call,
                     text);
}

static int session_threads, live; /* what librsb was started with; open handles */

/* The caller's OpenMP number is put back by who called. */
static int use_threads(int threads, peer_error *e)
{
    omp_set_num_threads(threads); /* set-up has parallel regions with OpenMP's number, too */
    if (session_threads == threads) return PEER_OK;
    if (live)
        return peer_fail(e, PEER_UNSUPPORTED, "threads is %d, and librsb has open handles for %d", threads,
                         session_threads);
    if (session_threads) rsb_lib_exit(RSB_NULL_EXIT_OPTIONS);
    session_threads = 0;
    const int result = check(rsb_lib_init(RSB_NULL_INIT_OPTIONS), "rsb_lib_init", e);
    if (!result) session_threads = threads;
    return result;
}

/* One right hand side, vectors of librsb's own, the number of threads as it is. */
static int tune(matrix *h, peer_error *e)
{
    const double one64 = 1, zero64 = 0;
    const float one32 = 1, zero32 = 0;
    const void *one = h->val_bits == 64 ? (const void *)&one64 : (const void *)&one32;
    const void *zero = h->val_bits == 64 ? (const void *)&zero64 : (const void *)&zero32;
    const rsb_flags_t order = RSB_FLAG_WANT_COLUMN_MAJOR_ORDER;
    return check(rsb_tune_spmm(&h->A, NULL, NULL, 0, 0, RSB_TRANSPOSITION_N, one, NULL, 1, order, NULL, 0,
                               zero, NULL, 0),
                 "rsb_tune_spmm", e);
}

static void close_matrix(void *handle)
{
    matrix *h = handle;
    rsb_mtx_free(h->A);
    free(h);
    live--;
}

/* Row pointers are of 32 bits; librsb copies all. */
static int make(matrix *h, const peer_matrix *m, bool tuning, peer_error *e)
{
    rsb_err_t status = RSB_ERR_NO_ERROR;
    int result = use_threads(m->threads, e);
    if (result) return result;
    const rsb_type_t type = m->val_bits == 64 ? RSB_NUMERICAL_TYPE_DOUBLE : RSB_NUMERICAL_TYPE_FLOAT;
    h->A = rsb_mtx_alloc_from_csr_const(m->val, m->ptr, m->col, (rsb_nnz_idx_t)m->nnz, type,
                                        (rsb_coo_idx_t)m->nrows, (rsb_coo_idx_t)m->ncols,
                                        RSB_DEFAULT_ROW_BLOCKING, RSB_DEFAULT_COL_BLOCKING, RSB_FLAG_NOFLAGS,
                                        &status);
    result = check(status, "rsb_mtx_alloc_from_csr_const", e);
    return result || !tuning || m->nnz == 0 ? result : tune(h, e);
}

static int open_matrix(const peer_method *method, const peer_matrix *A, void **handle, peer_error *e)
{
    peer_matrix m;
    int32_t *own;
    int result = peer_narrow(A, &m, &own, e);
    if (result) return result;
    matrix *h = calloc(1, sizeof *h);
    const int before = omp_get_max_threads();
    if (h) {
        h->val_bits = A->val_bits;
        result = make(h, &m, method->variant == &tuned, e);
    } else result = peer_fail(e, PEER_FAILED, "out of memory");
    omp_set_num_threads(before);
    free(own);
    if (!result) {
        live++;
        *handle = h;
        return PEER_OK;
    }
    if (h) rsb_mtx_free(h->A);
    free(h);
    return result;
}

static int mul(void *handle, double alpha, const void *x, double beta, void *y, peer_error *e)
{
    const matrix *h = handle;
    const float alpha32 = (float)alpha, beta32 = (float)beta;
    const void *a = h->val_bits == 64 ? (const void *)&alpha : (const void *)&alpha32;
    const void *b = h->val_bits == 64 ? (const void *)&beta : (const void *)&beta32;
    return check(rsb_spmv(RSB_TRANSPOSITION_N, a, h->A, x, 1, b, y, 1), "rsb_spmv", e);
}

static size_t bytes(void *handle)
{
    size_t size = 0;
    const matrix *h = handle;
    return rsb_mtx_get_info(h->A, RSB_MIF_TOTAL_SIZE__TO__SIZE_T, &size) == RSB_ERR_NO_ERROR ? size : 0;
}

static void finish(void)
{
    if (session_threads) rsb_lib_exit(RSB_NULL_EXIT_OPTIONS);
    session_threads = 0;
}

static const peer_method methods[] = {
    { .name = "librsb",
      .summary = "rsb_spmv",
      .open = open_matrix,
      .mul = mul,
      .bytes = bytes,
      .close = close_matrix },
    { .name = "librsb-tuned",
      .summary = "rsb_spmv after rsb_tune_spmm",
      .variant = &tuned,
      .open = open_matrix,
      .mul = mul,
      .bytes = bytes,
      .close = close_matrix },
};
static const peer_library library = {
    .interface_version = PEER_INTERFACE,
    .name = "librsb",
    .version = RSB_LIBRSB_VER_STRING,
    .count = 2,
    .methods = methods,
    .finish = finish,
};

const peer_library *spmvx_peer(void)
{
    return &library;
}
