/* CUDA's vector types and their make_ functions, with CUDA's alignments. */
#ifndef SIMT_VECTOR_TYPES_H
#define SIMT_VECTOR_TYPES_H
#include "cuda_runtime_api.h"

#define SIMT_VECTOR3(name, type) \
    struct name {                \
        type x, y, z;            \
    };
#define SIMT_VECTORS(name, type, align2, align4)                     \
    struct name##1                                                   \
    {                                                                \
        type x;                                                      \
    };                                                               \
    struct alignas(align2) name##2                                   \
    {                                                                \
        type x, y;                                                   \
    };                                                               \
    struct alignas(align4) name##4                                   \
    {                                                                \
        type x, y, z, w;                                             \
    };                                                               \
    constexpr name##1 make_##name##1(type x)                         \
    {                                                                \
        return { x };                                                \
    }                                                                \
    constexpr name##2 make_##name##2(type x, type y)                 \
    {                                                                \
        return { x, y };                                             \
    }                                                                \
    constexpr name##3 make_##name##3(type x, type y, type z)         \
    {                                                                \
        return { x, y, z };                                          \
    }                                                                \
    constexpr name##4 make_##name##4(type x, type y, type z, type w) \
    {                                                                \
        return { x, y, z, w };                                       \
    }

/* uint3 is declared with dim3. */
SIMT_VECTOR3(char3, signed char)
SIMT_VECTOR3(uchar3, unsigned char)
SIMT_VECTOR3(short3, short)
SIMT_VECTOR3(ushort3, unsigned short)
SIMT_VECTOR3(int3, int)
SIMT_VECTOR3(longlong3, long long)
SIMT_VECTOR3(ulonglong3, unsigned long long)
SIMT_VECTOR3(float3, float)
SIMT_VECTOR3(double3, double)
SIMT_VECTORS(char, signed char, 2, 4)
SIMT_VECTORS(uchar, unsigned char, 2, 4)
SIMT_VECTORS(short, short, 4, 8)
SIMT_VECTORS(ushort, unsigned short, 4, 8)
SIMT_VECTORS(int, int, 8, 16)
SIMT_VECTORS(uint, unsigned, 8, 16)
SIMT_VECTORS(longlong, long long, 16, 16)
SIMT_VECTORS(ulonglong, unsigned long long, 16, 16)
SIMT_VECTORS(float, float, 8, 16)
SIMT_VECTORS(double, double, 16, 16)
#undef SIMT_VECTOR3
#undef SIMT_VECTORS
#endif
