/* dia with AVX-512: kernel/mul_dia_simd.h over this folder's vectors. */
#define SPX_ISA avx512
#define SPX_ISA_BIT SPX_ISA_AVX512
#include "kernel/avx512/vec.h"
#include "kernel/mul_dia_simd.h"
