/* y = alpha A x + beta y in PETSc, for the peer in this process and for its worker: PETSc has MatMult,
 * MatMultAdd and VecAXPBY. */
#ifndef PETSC_MUL_H
#define PETSC_MUL_H
#include <petscmat.h>

/* scaled has y's layout. */
static inline PetscErrorCode petsc_mul(Mat A, double alpha, Vec x, double beta, Vec y, Vec scaled)
{
    if (alpha == 1 && beta == 0) return MatMult(A, x, y);
    if (alpha == 1 && beta == 1) return MatMultAdd(A, x, y, y);
    const PetscErrorCode failed = MatMult(A, x, scaled);
    return failed ? failed : VecAXPBY(y, alpha, beta, scaled);
}
#endif
