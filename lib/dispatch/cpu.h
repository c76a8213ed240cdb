/* What this machine can run. */
#ifndef SPX_CPU_H
#define SPX_CPU_H
#include "kernel/kernel.h"

/* The instruction sets of the processor that the operating system lets us use, as SPX_ISA bits. */
uint32_t spx_cpu_isa(void);
#endif
