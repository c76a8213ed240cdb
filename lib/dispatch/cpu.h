/* What this machine can run. */
#ifndef SPX_CPU_H
#define SPX_CPU_H
#include "kernel/kernel.h"

/* The instruction sets of the processor that the operating system lets us use, as SPX_ISA bits. */
uint32_t spx_cpu_isa(void);

/* What processor this is, as CPUID tells it; zeros where it is no x86. */
typedef struct spx_cpu {
    char vendor[13]; /* "AuthenticAMD", "GenuineIntel" */
    int family, model;
} spx_cpu;
spx_cpu spx_cpu_which(void);
#endif
