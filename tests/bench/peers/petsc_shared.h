/* What petsc_mpi.c shares with the ranks of petsc_worker.c: one segment of POSIX shared memory, this
 * header first, then the arrays of A (64-bit aligned), x and y. The caller writes an order and posts `go`
 * of every rank; rank 0 posts `done` once all are through. Everybody sleeps while he waits, so that the
 * cores are free for the other peers' turns. */
#ifndef PETSC_SHARED_H
#define PETSC_SHARED_H
#include <semaphore.h>
#include <stdint.h>
#include <sys/types.h>

enum { MOST_RANKS = 256 };

typedef enum order { MULTIPLY, LEAVE } order;

typedef struct petsc_shared {
    sem_t done, go[MOST_RANKS];
    pid_t caller; /* ranks leave when it is gone */
    int ranks;
    int64_t nrows, ncols, nnz;
    int64_t ptr_at, col_at, val_at, x_at, y_at, size; /* bytes from the start */
    order order;
    int64_t times;
    double alpha, beta;
    /* Answers. Seconds by CLOCK_MONOTONIC, which is one clock for all processes, from a barrier to the end
     * of a rank's products. */
    double begin[MOST_RANKS], end[MOST_RANKS], matrix_bytes;
    char error[200]; /* empty, or what failed */
} petsc_shared;

static inline void *petsc_shared_at(petsc_shared *s, int64_t offset)
{
    return (char *)s + offset;
}
#endif
