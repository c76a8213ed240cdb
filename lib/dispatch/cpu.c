/* What this processor can run. */
#include "dispatch/cpu.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

spx_cpu spx_cpu_which(void)
{
    spx_cpu cpu = { 0 };
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d)) return cpu;
    memcpy(cpu.vendor, &b, 4);
    memcpy(cpu.vendor + 4, &d, 4);
    memcpy(cpu.vendor + 8, &c, 4);
    if (!__get_cpuid(1, &a, &b, &c, &d)) return cpu;
    const unsigned family = a >> 8 & 15, model = a >> 4 & 15;
    cpu.family = (int)(family + (family == 15 ? a >> 20 & 255 : 0));
    cpu.model = (int)(model + (family == 15 || family == 6 ? (a >> 16 & 15) << 4 : 0));
#endif
    return cpu;
}

uint32_t spx_cpu_isa(void)
{
    uint32_t isa = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) isa |= SPX_ISA_AVX2;
    if (isa && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        isa |= SPX_ISA_AVX512;
#endif
    return isa;
}
