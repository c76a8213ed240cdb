/* What the two parts of `spmvx tune` share. */
#ifndef TUNE_H
#define TUNE_H
#include <stdbool.h>

#include "spmvx/spmvx.h"

enum { MOST_TUNED = 128 };
/* Where a matrix lies; or its x, beyond the second cache. */
enum { SECOND, LAST, MEMORY, FAR, LEVELS };
/* As lines of wisdom have them: long, middle, short, diagonals. */
enum { LONG_ROWS, MIDDLE_ROWS, SHORT_ROWS, DIAGONALS, ROW_KINDS };

/* A kernel against the model: measured over expected time, 0 where nothing is known; and the sums of its
 * logarithms over the matrices that were measured. */
typedef struct kernel_finding {
    char name[64];
    double ratio[ROW_KINDS][LEVELS], logs[ROW_KINDS][LEVELS];
    int times[ROW_KINDS][LEVELS];
} kernel_finding;

/* True for the host's portable kernel of that name if it has variants: it is forced as name@c. */
bool has_variants(const char *name);
/* The host's kernels, with their variants; gives how many. */
int list_kernels(kernel_finding found[MOST_TUNED]);
/* Measures them on matrices of about so many bytes (0: not at all), and the last with an x of so many, in a
 * context that knows the machine's rates and nothing else; near_x is the largest x that counts as near. False
 * after a message. */
bool measure_kernels(spmvx_context *, const double bytes[LEVELS], double near_x, kernel_finding *found,
                     int count);
#endif
