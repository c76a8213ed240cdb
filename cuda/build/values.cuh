/* How the values of a matrix on a device are stored in fewer bits, as the host finds it
 * (lib/format/values.h): values.cu. */
#ifndef SPX_VALUES_CUH
#define SPX_VALUES_CUH
#include <cstring>

#include "../coded.cuh"
#include "build.cuh"

extern "C" {
#include "format/values.h"
}

/* Distinct values by their bits, but for 0, which marks a free slot; and, once they are numbered, the number
 * of each. */
struct spx_value_hash {
    unsigned count; /* without 0 */
    unsigned zero, many;
    int kind; /* the largest spx_value_kind */
    uint16_t number_of_zero;
    uint16_t number[SPX_VALUE_SLOTS];
    unsigned long long key[SPX_VALUE_SLOTS];
};

/* The number of a value that is there. */
__device__ __forceinline__ int spx_value_number(const spx_value_hash *h, unsigned long long bits)
{
    if (!bits) return h->number_of_zero;
    unsigned at = spx_value_slot(bits);
    while (h->key[at] != bits) at = (at + 1) % SPX_VALUE_SLOTS;
    return h->number[at];
}

/* The value with these bits, whose type is as wide. */
__device__ __forceinline__ double spx_value_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
__device__ __forceinline__ float spx_value_of_bits(uint32_t bits)
{
    return __uint_as_float(bits);
}

/* Where values come from and go to. E is as wide as a value. */
template <class E> struct spx_coded_values {
    const E *from;
    void *to;
    const spx_value_hash *numbers;

    template <class F> void each_pointer(F f) const
    {
        f(from), f(to), f(numbers);
    }
    template <int VALUES> __device__ __forceinline__ void put(int64_t place, int64_t entry, bool in) const
    {
        const E bits = in && VALUES != SPX_VALUES_ONE ? from[entry] : E(0);
        if constexpr (VALUES == SPX_VALUES_RAW) {
            static_cast<E *>(to)[place] = bits;
        } else if constexpr (VALUES == SPX_VALUES_F32) {
            static_cast<float *>(to)[place] = in ? static_cast<float>(spx_value_of_bits(bits)) : 0.0f;
        } else if constexpr (VALUES == SPX_VALUES_I16) {
            static_cast<int16_t *>(to)[place] = static_cast<int16_t>(in ? spx_value_of_bits(bits) : 0);
        } else if constexpr (VALUES != SPX_VALUES_ONE) {
            const int number = in ? spx_value_number(numbers, bits) : 0;
            if constexpr (VALUES == SPX_VALUES_U8)
                static_cast<uint8_t *>(to)[place] = static_cast<uint8_t>(number);
            else static_cast<uint16_t *>(to)[place] = static_cast<uint16_t>(number);
        }
    }
};

/* The code of a matrix's values, as spx_value_code_find has it, and, where they are numbers in a table, their
 * numbers on the device. The caller drops the code. */
spmvx_status spx_cuda_find_values(const spmvx_context *, const char *what, const spx_sparse *csr,
                                  int64_t asked, spx_value_code *, spx_temporary *numbers);
/* TABLE, where the code has one; its list is spent then. */
spmvx_status spx_cuda_put_table(const spmvx_context *, spx_value_code &, spx_draft &);
#endif
