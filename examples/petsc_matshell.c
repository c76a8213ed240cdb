/* PETSc's solvers with products by this library: a MatShell whose MatMult is spmvx_mul.
 *
 *     cc petsc_matshell.c -o petsc_matshell $(pkg-config --cflags --libs spmvx PETSc) -lm
 *
 *     petsc_matshell                      conjugate gradients on a Laplacian of 60 x 60 points
 *     petsc_matshell -points 500          of 500 x 500
 *     petsc_matshell -ksp_type bcgs ...   PETSc's own options
 *
 *   1. An AIJ matrix is assembled as ever. Its arrays are lent to this library, which makes a matrix of
 *      another format from them.
 *   2. The shell multiplies by that matrix, by its transpose too, and answers what a Jacobi preconditioner
 *      asks for from the AIJ matrix.
 *   3. The same system is solved with both, by conjugate gradients. The solutions must agree, and the numbers
 *      of iterations but for one or two, since sums are added up in another order.
 *   4. The AIJ matrix gets new values, which are not symmetric, the shell takes them over, and both solve
 *      again, by biconjugate gradients, which multiply by the transpose, too.
 *
 * One process, whose threads share the work. With MPI each rank does this with its diagonal block (that of
 * MatMPIAIJGetSeqAIJ), and leaves the rest to PETSc. */
#include <petscksp.h>
#include <spmvx/spmvx.h>

typedef struct shell {
    spmvx_context *ctx;
    spmvx_matrix *A; /* in the library's own format */
    Mat aij;         /* where the values come from */
} shell;

/* Ends the calling function with PETSc's error where a call of this library failed. */
#define CHECK(ctx, call) \
    PetscCheck((call) == SPMVX_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", spmvx_last_error(ctx))

/* ---- what PETSc calls ---- */

static PetscErrorCode multiply(Mat S, Vec x, Vec y, spmvx_op op)
{
    shell *s;
    const PetscScalar *px;
    PetscScalar *py;
    PetscFunctionBeginUser;
    PetscCall(MatShellGetContext(S, &s));
    PetscCall(VecGetArrayRead(x, &px));
    PetscCall(VecGetArrayWrite(y, &py));
    CHECK(s->ctx, spmvx_mul(s->ctx, op, 1.0, s->A, px, 0.0, py));
    PetscCall(VecRestoreArrayWrite(y, &py));
    PetscCall(VecRestoreArrayRead(x, &px));
    PetscFunctionReturn(0);
}

static PetscErrorCode mult(Mat S, Vec x, Vec y)
{
    return multiply(S, x, y, SPMVX_N);
}

static PetscErrorCode mult_transpose(Mat S, Vec x, Vec y)
{
    return multiply(S, x, y, SPMVX_T);
}

static PetscErrorCode get_diagonal(Mat S, Vec d)
{
    shell *s;
    PetscFunctionBeginUser;
    PetscCall(MatShellGetContext(S, &s));
    PetscCall(MatGetDiagonal(s->aij, d));
    PetscFunctionReturn(0);
}

static PetscErrorCode destroy(Mat S)
{
    shell *s;
    PetscFunctionBeginUser;
    PetscCall(MatShellGetContext(S, &s));
    spmvx_matrix_destroy(s->A);
    spmvx_context_destroy(s->ctx);
    PetscCall(MatDestroy(&s->aij));
    PetscCall(PetscFree(s));
    PetscFunctionReturn(0);
}

/* ---- the shell ---- */

/* The arrays of a sequential AIJ matrix are CSR of base 0: they are lent while the conversion reads them. */
static PetscErrorCode convert(shell *s)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *csr = NULL;
    spmvx_status status;
    PetscInt rows, cols;
    const PetscInt *ptr, *col;
    const PetscScalar *val;
    PetscBool done;
    PetscFunctionBeginUser;
    PetscCall(MatGetSize(s->aij, &rows, &cols));
    PetscCall(MatGetRowIJ(s->aij, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ptr, &col, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix has no CSR arrays");
    PetscCall(MatSeqAIJGetArrayRead(s->aij, &val));
    a.nrows = rows;
    a.ncols = cols;
    a.nnz = ptr[rows];
    a.ptr_type = a.idx_type = sizeof(PetscInt) == 8 ? SPMVX_I64 : SPMVX_I32;
    a.val_type = sizeof(PetscScalar) == 4 ? SPMVX_F32 : SPMVX_F64;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    o.ops = SPMVX_OPS_N | SPMVX_OPS_T; /* N alone where the solver never asks for the transpose */
    o.flags = SPMVX_UPDATABLE;         /* the result has values of its own, and takes new ones */
    status = spmvx_matrix_create(s->ctx, &a, sizeof(PetscInt) == 8 ? 0 : SPMVX_BORROW, &csr);
    if (!status) status = spmvx_matrix_convert(s->ctx, csr, &o, &s->A);
    spmvx_matrix_destroy(csr);
    PetscCall(MatSeqAIJRestoreArrayRead(s->aij, &val));
    PetscCall(MatRestoreRowIJ(s->aij, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ptr, &col, &done));
    CHECK(s->ctx, status);
    PetscFunctionReturn(0);
}

static PetscErrorCode shell_create(Mat aij, Mat *S)
{
    shell *s;
    PetscInt rows, cols;
    PetscFunctionBeginUser;
    PetscCall(PetscNew(&s));
    PetscCall(PetscObjectReference((PetscObject)aij));
    s->aij = aij;
    CHECK(NULL, spmvx_context_create(NULL, &s->ctx));
    PetscCall(convert(s));
    PetscCall(MatGetSize(aij, &rows, &cols));
    PetscCall(MatCreateShell(PETSC_COMM_SELF, rows, cols, rows, cols, s, S));
    PetscCall(MatShellSetOperation(*S, MATOP_MULT, (void (*)(void))mult));
    PetscCall(MatShellSetOperation(*S, MATOP_MULT_TRANSPOSE, (void (*)(void))mult_transpose));
    PetscCall(MatShellSetOperation(*S, MATOP_GET_DIAGONAL, (void (*)(void))get_diagonal));
    PetscCall(MatShellSetOperation(*S, MATOP_DESTROY, (void (*)(void))destroy));
    PetscFunctionReturn(0);
}

/* After the AIJ matrix got new values in its old pattern. */
static PetscErrorCode shell_update(Mat S)
{
    shell *s;
    const PetscScalar *val;
    PetscFunctionBeginUser;
    PetscCall(MatShellGetContext(S, &s));
    PetscCall(MatSeqAIJGetArrayRead(s->aij, &val));
    CHECK(s->ctx, spmvx_matrix_update_values(s->ctx, s->A, val));
    PetscCall(MatSeqAIJRestoreArrayRead(s->aij, &val));
    PetscCall(MatAssemblyBegin(S, MAT_FINAL_ASSEMBLY)); /* so that preconditioners look again */
    PetscCall(MatAssemblyEnd(S, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* ---- the problem ---- */

static PetscErrorCode laplacian(PetscInt points, Mat *A)
{
    const PetscInt n = points * points;
    PetscFunctionBeginUser;
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 5, NULL, A));
    for (PetscInt r = 0; r < n; r++) {
        const PetscInt i = r / points, j = r % points;
        if (i > 0) PetscCall(MatSetValue(*A, r, r - points, -1, INSERT_VALUES));
        if (j > 0) PetscCall(MatSetValue(*A, r, r - 1, -1, INSERT_VALUES));
        PetscCall(MatSetValue(*A, r, r, 4, INSERT_VALUES));
        if (j < points - 1) PetscCall(MatSetValue(*A, r, r + 1, -1, INSERT_VALUES));
        if (i < points - 1) PetscCall(MatSetValue(*A, r, r + points, -1, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* New values in the old pattern, no longer symmetric: each row by a factor of its own, and 1 on the
 * diagonal. */
static PetscErrorCode change(Mat A)
{
    Vec factors;
    PetscInt n;
    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(A, NULL, &factors));
    PetscCall(VecGetSize(factors, &n));
    for (PetscInt r = 0; r < n; r++) PetscCall(VecSetValue(factors, r, 1 + r % 7, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(factors));
    PetscCall(VecAssemblyEnd(factors));
    PetscCall(MatDiagonalScale(A, factors, NULL));
    PetscCall(MatShift(A, 1));
    PetscCall(VecDestroy(&factors));
    PetscFunctionReturn(0);
}

static PetscErrorCode solve(Mat A, KSPType type, Vec b, Vec x, PetscInt *iterations)
{
    KSP ksp;
    PC pc;
    PetscFunctionBeginUser;
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, type));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCJACOBI));
    PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, iterations));
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(0);
}

/* The norm of u - v over that of v; u is overwritten. */
static PetscErrorCode difference(Vec u, Vec v, PetscReal *out)
{
    PetscReal norm;
    PetscFunctionBeginUser;
    PetscCall(VecNorm(v, NORM_2, &norm));
    PetscCall(VecAXPY(u, -1, v));
    PetscCall(VecNorm(u, NORM_2, out));
    *out /= norm;
    PetscFunctionReturn(0);
}

/* Solves with both. */
static PetscErrorCode compare(Mat aij, Mat S, KSPType type, Vec b, const char *what)
{
    Vec x, y;
    PetscInt of_aij, of_shell;
    PetscReal error;
    PetscFunctionBeginUser;
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecDuplicate(b, &y));
    PetscCall(solve(aij, type, b, x, &of_aij));
    PetscCall(solve(S, type, b, y, &of_shell));
    PetscCall(difference(y, x, &error));
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "%s: %d iterations with the AIJ matrix, %d with the shell; the solutions differ by "
                          "%.1e\n",
                          what, (int)of_aij, (int)of_shell, (double)error));
    PetscCheck(error < 1e-7 && PetscAbsInt(of_aij - of_shell) <= 2, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "the shell does not agree with the AIJ matrix");
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscFunctionReturn(0);
}

static PetscErrorCode run(void)
{
    Mat aij, S;
    Vec b;
    shell *s;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    PetscInt points = 60;
    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-points", &points, NULL));
    PetscCall(laplacian(points, &aij));
    PetscCall(shell_create(aij, &S));
    PetscCall(MatShellGetContext(S, &s));
    CHECK(NULL, spmvx_matrix_get_info(s->A, &info));
    PetscCall(
        PetscPrintf(PETSC_COMM_SELF, "%d x %d points, kernel %s\n", (int)points, (int)points, info.kernel));
    PetscCall(MatCreateVecs(aij, NULL, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(compare(aij, S, KSPCG, b, "as assembled, cg"));
    PetscCall(change(aij));
    PetscCall(shell_update(S));
    PetscCall(compare(aij, S, KSPBICG, b, "values updated, bicg"));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&S));
    PetscCall(MatDestroy(&aij));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
#ifdef PETSC_USE_COMPLEX
    (void)argc, (void)argv, (void)run;
    fprintf(stderr, "petsc_matshell: PETSc is built for complex values, and this library has real ones.\n");
    return 77;
#else
    PetscErrorCode failed = PetscInitialize(&argc, &argv, NULL, NULL);
    if (failed) return EXIT_FAILURE;
    failed = run();
    return PetscFinalize() || failed ? EXIT_FAILURE : EXIT_SUCCESS;
#endif
}
