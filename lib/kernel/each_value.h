/* Compiles the file named by SPX_TEMPLATE once per value type: SPX_V is the type, SPX_VNAME(f) the name of
 * an instance. */
#ifndef SPX_VNAME
#define SPX_VGLUE_(a, b) a##_##b
#define SPX_VGLUE(a, b) SPX_VGLUE_(a, b)
#define SPX_VNAME(f) SPX_VGLUE(spx_##f, SPX_VSUFFIX)
#endif

#define SPX_V float
#define SPX_VSUFFIX f32
#include SPX_TEMPLATE
#undef SPX_V
#undef SPX_VSUFFIX
#define SPX_V double
#define SPX_VSUFFIX f64
#include SPX_TEMPLATE
#undef SPX_V
#undef SPX_VSUFFIX
#undef SPX_TEMPLATE
