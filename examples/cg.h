/* Shared by the two halves of the example cg: cg.c on the host, cg_device.cu on a GPU. */
#ifndef CG_H
#define CG_H
#include <spmvx/spmvx.h>

#define TOLERANCE 1e-8 /* of the residual, relative to b */

#ifdef __cplusplus
extern "C" {
#endif
/* Solves A * x = A * ones by conjugate gradients on the context's device; d, the diagonal of A, and x are
 * n doubles of host memory. 0, or -1 with a message on stderr. */
int cg_on_device(spmvx_context *ctx, const spmvx_matrix *A, int64_t n, const double *d, double *x);
#ifdef __cplusplus
}
#endif
#endif
