/* How a test steers the emulator (../README.md), for C and C++. Not for device code. */
#ifndef SIMT_H
#define SIMT_H
#include <stddef.h>
#include <stdint.h>

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The order of lanes, warps and blocks, and what fresh memory holds, follow from this; at first from
 * SIMT_SEED in the environment, else 1. */
void simt_seed(uint64_t);

/* The machine, in place of what there was: devices (at first SIMT_DEVICES in the environment, else 2; 0:
 * none), and what each has of multiprocessors (at first 2) and bytes (1 GiB). */
void simt_machine(int devices, int multiprocessors, size_t bytes);

/* On (at first if SIMT_DEFER=1 is in the environment): queued work runs only when something waits for it.
 * Off: at once. */
void simt_defer(int on);

/* On (at first if SIMT_OVERLAP=1 is in the environment): queued work runs when something waits for it, and
 * then that of all streams together: their kernels take turns, block by block, as the seed has it, and what
 * nobody waited for stays half done. Off: one piece of work after another. For one thread of the host. */
void simt_overlap(int on);

/* The N-th counted call of the runtime from now on, from 1, fails with this error; sticky: so does every
 * later one. 0: none. Every call counts but those that only name errors or read the last one. A call that
 * releases something releases it all the same. */
void simt_fail_call(long n, cudaError_t, int sticky);
/* Counted calls since simt_fail_call. */
long simt_calls(void);

/* On: a fault ends the launch, which fails with cudaErrorLaunchFailure, and its text is kept. Off (at
 * first): it aborts. */
void simt_keep_faults(int on);
/* The first fault since the last call of this function; NULL: none. Valid until the next call. Mends the
 * devices: after a fault in a kernel all calls fail, as they do in CUDA. */
const char *simt_fault(void);

/* What is alive on all devices. */
typedef struct simt_live {
    size_t allocations, bytes, streams, events, graphs, pools, held; /* bytes of pools, in use or not */
} simt_live;
simt_live simt_live_now(void);

#ifdef __cplusplus
}
#endif
#endif
