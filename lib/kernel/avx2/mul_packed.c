/* packed with AVX2: kernel/mul_packed_simd.h over this folder's vectors. */
#define SPX_ISA avx2
#define SPX_ISA_BIT SPX_ISA_AVX2
#include "kernel/avx2/coded.h"
#include "kernel/mul_packed_simd.h"
