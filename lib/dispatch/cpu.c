/* What this processor can run. */
#include "dispatch/cpu.h"

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
