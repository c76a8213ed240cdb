/* dia with AVX2: kernel/mul_dia_simd.h over this folder's vectors. */
#define SPX_ISA avx2
#define SPX_ISA_BIT SPX_ISA_AVX2
#include "kernel/avx2/vec.h"
#include "kernel/mul_dia_simd.h"
