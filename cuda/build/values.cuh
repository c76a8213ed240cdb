/* How the values of a matrix on a device are stored in fewer bits, as the host finds it
 * (lib/format/packed_values.h): values.cu. */
#ifndef SPX_VALUES_CUH
#define SPX_VALUES_CUH
#include "build.cuh"

extern "C" {
#include "format/packed_values.h"
}

/* Distinct values by their bits, but for 0, which marks a free slot; and, once they are numbered, the number
 * of each. */
struct spx_value_hash {
    unsigned count; /* without 0 */
    unsigned zero, many, doubles;
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

/* The code of a matrix's values, as spx_value_code_find has it, and, where they are numbers in a table, their
 * numbers on the device. The caller drops the code. */
spmvx_status spx_cuda_find_values(const spmvx_context *, const char *what, const spx_sparse *csr,
                                  int64_t asked, spx_value_code *, spx_temporary *numbers);
/* Bytes of a place, from a sample of the values. */
spmvx_status spx_cuda_guess_values(const spmvx_context *, const char *what, const spx_sparse *csr,
                                   int64_t asked, double *bytes);
#endif
