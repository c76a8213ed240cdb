/* Matrices made by name, and what tests look at in them. */
#ifndef MADE_H
#define MADE_H
#include "support.h"

#include "generate.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

generated make(const char *name, int threads);
uint64_t checksum(const generated *);
/* Pointers from 0 to nnz, columns in order and in range, values that are finite. */
void check_order(const char *name, const generated *);
/* The value in row i, column c; NULL where there is none. */
const double *entry(const generated *, int64_t i, int64_t c);
/* With its values. */
bool is_symmetric(const generated *);
#endif
