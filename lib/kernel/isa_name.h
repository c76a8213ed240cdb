/* Names of a kernel's variant for the instruction set SPX_ISA: spx_mul_sell_avx2, "avx2". */
#ifndef SPX_ISA_NAME_H
#define SPX_ISA_NAME_H
#define SPX_ISA_GLUE_(a, b) a##_##b
#define SPX_ISA_GLUE(a, b) SPX_ISA_GLUE_(a, b)
#define SPX_ISA_NAME(name) SPX_ISA_GLUE(name, SPX_ISA)
#define SPX_ISA_QUOTE_(a) #a
#define SPX_ISA_QUOTE(a) SPX_ISA_QUOTE_(a)
#define SPX_ISA_TEXT SPX_ISA_QUOTE(SPX_ISA)
#endif
