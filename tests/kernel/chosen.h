/* Which kernels a test runs: each kernel has a test of its own, named by the build. */
#ifndef CHOSEN_H
#define CHOSEN_H
#include "support.h"

typedef struct chosen_kernel {
    char name[64]; /* that forces it: "sell@c" where "sell" has variants */
    spmvx_format format;
    uint32_t types;
    bool same_bits; /* in every run: no atomics */
} chosen_kernel;

/* The kernels for one vector that the test's place has on this machine; or the one with the registry's name
 * `only`. Gives how many there are: 0 if this machine has not the one. */
int choose_kernels(const char *only, chosen_kernel *out, int room);

/* main for a test of kernels, of which each takes its part from choose_kernels:
 *     PROGRAM [NAME]             the tests for all kernels, or one; 77 without it or without the place
 *     PROGRAM --complete NAME... are these the names of the place's kernels, all of them? */
int run_for_kernels(int argc, char **argv, int (*tests)(const char *only));
#endif
