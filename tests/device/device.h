/* Shared by the tests of a device: CUDA's runtime beside the public interface, for a GPU and for the
 * emulator alike. */
#ifndef DEVICE_H
#define DEVICE_H
#include <cuda_runtime_api.h>

#include "cases.h"

#define assert_cuda(call)                                                         \
    do {                                                                          \
        const cudaError_t e_ = (call);                                            \
        if (e_ != cudaSuccess) fail_msg("%s: %s", #call, cudaGetErrorString(e_)); \
    } while (0)

/* Tells a device's context that memory is a million times slower than it is: then nothing is too little work
 * for what takes some launches more. */
void slow_memory(spmvx_context *);
/* A context on a device with a stream (NULL: the default one) and flags. */
spmvx_context *device_context(int32_t device, void *stream, uint32_t flags);
/* How many there are; 0 where there is no driver. */
int device_count(void);

/* A matrix that tests multiply: 700 x 800, short rows and empty ones, one long row, repeats. */
typedef struct problem {
    triples t;
    csr_arrays csr;       /* in host memory, pointers of 64 bits */
    double *x, *y, *want; /* x and A*x on the host; y for results */
} problem;
problem problem_new(void);
problem problem_of(int longest); /* with a row of so many entries */
problem problem_of_rows(int rows, const int *lengths);
problem problem_of_triples(triples, uint64_t seed); /* of x; takes the triples */
void problem_free(problem *);

/* Fails unless y = A*x up to rounding. */
void problem_check(const problem *, const double *y);
/* Multiplies on the device from and to buffers, and checks. */
void problem_run(spmvx_context *, const problem *, const spmvx_matrix *);
/* y = 2.5*A*x - 3*y, twice: right, and the same bits; and by the kernel of this name. */
void problem_check_scaled(spmvx_context *, const problem *, const spmvx_matrix *A, const char *kernel);
void problem_check_kernel(spmvx_context *, const problem *, const spmvx_matrix *, const char *kernel);
/* The kernel that is asked for has this name with all its parameters, and multiplies. Frees the problem. */
void problem_check_name(spmvx_context *, problem, const char *asked, const char *name);
/* Short rows, longer ones, and some of 2,900 entries and more, of which none is in columns where x is no
 * number, the first of them column 0. */
problem problem_of_absent(void);
/* By each of the kernels, with NaN and infinity for the values of one row: they reach that row, and no other.
 * Frees the problem. */
void problem_run_special(spmvx_context *, problem, int64_t special, int count, const char *const *kernels);
/* Ends a capture on the stream of y = A*x from and to buffers; launches it three times, with x and y as at
 * first, and checks. */
void problem_replay(spmvx_context *, const problem *, void *stream, void *dx, void *dy);
/* Its CSR with pointers of 32 bits in device memory of the current device; free with borrowed_free. */
typedef struct borrowed_arrays {
    void *ptr, *col, *val;
    spmvx_arrays arrays;
} borrowed_arrays;
borrowed_arrays borrowed_new(const problem *);
void borrowed_free(borrowed_arrays *);

/* What a conversion may hold: ELL pads all rows to the longest. */
enum { MOST_BYTES = 256 << 20 };

spmvx_matrix *convert_by(spmvx_context *, const spmvx_matrix *, const char *kernel, uint32_t ops,
                         uint32_t flags, int64_t nvec);

/* kernels.c: the tests of a device's kernels; gives how many failed. */
int device_kernels_run(void);
#endif
