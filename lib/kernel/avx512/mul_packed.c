/* packed with AVX512: kernel/mul_packed_simd.h over this folder's vectors. */
#define SPX_ISA avx512
#define SPX_ISA_BIT SPX_ISA_AVX512
#include "kernel/avx512/coded.h"
#include "kernel/mul_packed_simd.h"
