/* Matrices by name: generators of the classes that sparse kernels are compared on, from stencils to
 * power-law graphs. Every one is a pure function of its name: the same bits for any number of threads, on
 * every machine. docs/matrices.md tells the families and how they compare with the matrices they stand
 * for. */
#ifndef GENERATE_H
#define GENERATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A matrix in CSR: sorted columns, no repeats. */
typedef struct generated {
    int64_t nrows, ncols, nnz;
    int64_t *ptr; /* nrows + 1 */
    int32_t *col; /* nnz */
    double *val;  /* nnz */
} generated;

/* Makes the matrix of that name; threads 0 means OpenMP's default. When it answers false, *out is empty
 * and error tells what is wrong: the name, the parameter and its limits, or the sizes that do not fit.
 * What it made ends by generated_free. */
bool generate(const char *name, int threads, generated *out, char *error, size_t error_size);
void generated_free(generated *);

/* A family of names: in the pattern capitals stand for numbers (k and M behind one mean thousands and
 * millions), and brackets hold what may be left out. */
typedef struct family_info {
    const char *pattern, *summary, *formula, *original;
} family_info;

/* Family i, or false behind the last one; likewise names that stand for others. */
bool generate_family(int i, family_info *);
bool generate_alias(int i, const char **name, const char **meaning);
#endif
