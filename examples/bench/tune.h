/* What the two parts of `spmvx tune` share. */
#ifndef TUNE_H
#define TUNE_H
#include <stdbool.h>

#include "spmvx/spmvx.h"

enum { MOST_TUNED = 128, LEVELS = 4, FAR = 3 };

/* A kernel against the model: sums of the logarithms of measured over expected time, and of how many, with
 * the matrix in the second cache, in the last one, in memory, and with columns far apart. */
typedef struct kernel_finding {
    char name[64];
    double log_ratio[LEVELS];
    int times[LEVELS];
} kernel_finding;

/* True for the host's portable kernel of that name if it has variants: it is forced as name@c. */
bool has_variants(const char *name);
/* The host's kernels, with their variants; gives how many. */
int list_kernels(kernel_finding found[MOST_TUNED]);
/* Measures them on matrices of about so many bytes, and the last with an x of so many, in a context that
 * knows the machine's rates and nothing else. False after a message. */
bool measure_kernels(spmvx_context *, const double bytes[LEVELS], kernel_finding *found, int count);
#endif
