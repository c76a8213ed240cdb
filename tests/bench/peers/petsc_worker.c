/* A rank of the peer petsc-mpi: `mpiexec -n RANKS petsc_worker SEGMENT` takes its rows of the matrix in
 * the shared segment into an MPIAIJ matrix (MatMPIAIJSetPreallocationCSR), lays its parts of x and y over
 * the segment, and multiplies on order. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "petsc_mul.h"
#include "petsc_shared.h"

typedef struct worker {
    petsc_shared *shared;
    int rank;
    Mat A;
    Vec x, y, scaled;
} worker;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static petsc_shared *attach(const char *name)
{
    struct stat s;
    const int file = shm_open(name, O_RDWR, 0);
    void *p = MAP_FAILED;
    if (file >= 0 && fstat(file, &s) == 0)
        p = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (p != MAP_FAILED) return p;
    fprintf(stderr, "petsc_worker: %s: %s\n", name, strerror(errno));
    return NULL;
}

static PetscErrorCode make_matrix(worker *w)
{
    petsc_shared *s = w->shared;
    const int32_t *ptr = petsc_shared_at(s, s->ptr_at), *col = petsc_shared_at(s, s->col_at);
    const double *val = petsc_shared_at(s, s->val_at);
    PetscInt rows = PETSC_DECIDE, all_rows = (PetscInt)s->nrows, end, *local;
    PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &rows, &all_rows));
    MPI_Scan(&rows, &end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD);
    const PetscInt begin = end - rows;
    PetscCall(PetscMalloc1(rows + 1, &local));
    for (PetscInt r = begin; r <= end; r++) local[r - begin] = ptr[r] - ptr[begin];
    PetscCall(MatCreate(PETSC_COMM_WORLD, &w->A));
    PetscCall(MatSetSizes(w->A, rows, PETSC_DECIDE, all_rows, (PetscInt)s->ncols));
    PetscCall(MatSetType(w->A, MATMPIAIJ));
    PetscCall(MatMPIAIJSetPreallocationCSR(w->A, local, col + ptr[begin], val + ptr[begin]));
    return PetscFree(local);
}

static PetscErrorCode make_vectors(worker *w)
{
    petsc_shared *s = w->shared;
    double *x = petsc_shared_at(s, s->x_at), *y = petsc_shared_at(s, s->y_at);
    PetscInt row, row_end, col, col_end;
    PetscCall(MatGetOwnershipRange(w->A, &row, &row_end));
    PetscCall(MatGetOwnershipRangeColumn(w->A, &col, &col_end));
    PetscCall(VecCreateMPIWithArray(PETSC_COMM_WORLD, 1, col_end - col, (PetscInt)s->ncols, x + col, &w->x));
    PetscCall(VecCreateMPIWithArray(PETSC_COMM_WORLD, 1, row_end - row, (PetscInt)s->nrows, y + row, &w->y));
    return VecDuplicate(w->y, &w->scaled);
}

static PetscErrorCode tell_bytes(worker *w)
{
    MatInfo info;
    PetscCall(MatGetInfo(w->A, MAT_GLOBAL_SUM, &info));
    if (w->rank == 0) w->shared->matrix_bytes = info.memory;
    return 0;
}

static PetscErrorCode multiply(worker *w)
{
    petsc_shared *s = w->shared;
    MPI_Barrier(PETSC_COMM_WORLD);
    s->begin[w->rank] = now();
    for (int64_t i = 0; i < s->times; i++)
        PetscCall(petsc_mul(w->A, s->alpha, w->x, s->beta, w->y, w->scaled));
    s->end[w->rank] = now();
    return 0;
}

/* Sleeps until the next order; LEAVE, too, when the caller is gone. */
static order next_order(worker *w)
{
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        if (sem_timedwait(&w->shared->go[w->rank], &until) == 0) return w->shared->order;
        if (kill(w->shared->caller, 0) != 0) return LEAVE;
    }
}

static PetscErrorCode serve(worker *w)
{
    PetscCall(make_matrix(w));
    PetscCall(make_vectors(w));
    PetscCall(tell_bytes(w));
    do {
        MPI_Barrier(PETSC_COMM_WORLD); /* all through: with what was built, or with the last order */
        if (w->rank == 0) sem_post(&w->shared->done);
        if (next_order(w) == LEAVE) break;
        PetscCall(multiply(w));
    } while (true);
    PetscCall(MatDestroy(&w->A));
    PetscCall(VecDestroy(&w->x));
    PetscCall(VecDestroy(&w->y));
    return VecDestroy(&w->scaled);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: mpiexec -n RANKS %s SEGMENT\n", argv[0]);
        return 2;
    }
    worker w = { .shared = attach(argv[1]) };
    if (!w.shared) return EXIT_FAILURE;
    int petsc_argc = 1, ranks = 0;
    if (PetscInitialize(&petsc_argc, &argv, NULL, NULL)) return EXIT_FAILURE;
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    MPI_Comm_rank(PETSC_COMM_WORLD, &w.rank);
    PetscErrorCode failed = PETSC_ERR_ARG_WRONG;
    char *error = w.shared->error;
    const size_t room = sizeof w.shared->error;
    if (ranks != w.shared->ranks)
        snprintf(error, room, "mpiexec started %d ranks, not %d", ranks, w.shared->ranks);
    else if (sizeof(PetscInt) != 4)
        snprintf(error, room, "this PETSc has indices of %zu bytes, not 4", sizeof(PetscInt));
    else if (sizeof(PetscScalar) != 8)
        snprintf(error, room, "this PETSc has values of %zu bytes, not 8", sizeof(PetscScalar));
    else {
        failed = serve(&w);
        if (failed) snprintf(error, room, "PETSc's error %d on rank %d", (int)failed, w.rank);
    }
    if (failed) MPI_Abort(PETSC_COMM_WORLD, EXIT_FAILURE);
    PetscFinalize();
    return EXIT_SUCCESS;
}
