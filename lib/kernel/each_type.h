/* Compiles the file named by SPX_TEMPLATE once per value type (SPX_V) and row pointer type (SPX_P).
 * SPX_NAME(f) is f's name in an instance, SPX_VNAME(f) the name of a helper that knows the value type
 * alone; SPX_EACH(f) lists the instances in the order of spx_instance(). */
#define SPX_GLUE_(a, b) a##_##b
#define SPX_GLUE(a, b) SPX_GLUE_(a, b)
#define SPX_NAME(f) SPX_GLUE(f, SPX_SUFFIX)
#define SPX_VNAME(f) SPX_GLUE(spx_##f, SPX_VSUFFIX)
#define SPX_EACH(f)                                        \
    {                                                      \
        f##_f32_i32, f##_f32_i64, f##_f64_i32, f##_f64_i64 \
    }

#define SPX_V float
#define SPX_VSUFFIX f32
#define SPX_P int32_t
#define SPX_SUFFIX f32_i32
#include SPX_TEMPLATE
#undef SPX_P
#undef SPX_SUFFIX
#define SPX_P int64_t
#define SPX_SUFFIX f32_i64
#include SPX_TEMPLATE
#undef SPX_V
#undef SPX_VSUFFIX
#undef SPX_P
#undef SPX_SUFFIX

#define SPX_V double
#define SPX_VSUFFIX f64
#define SPX_P int32_t
#define SPX_SUFFIX f64_i32
#include SPX_TEMPLATE
#undef SPX_P
#undef SPX_SUFFIX
#define SPX_P int64_t
#define SPX_SUFFIX f64_i64
#include SPX_TEMPLATE
#undef SPX_V
#undef SPX_VSUFFIX
#undef SPX_P
#undef SPX_SUFFIX
#undef SPX_TEMPLATE
