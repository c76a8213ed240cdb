/* The columns of a row of C as words of 32 of them: a hash table of words that the lanes of a group fill
 * together, each with the bits of the columns that the row has. Neighbouring columns share a word, and a
 * word's columns come in order: so what is sorted is a fraction of the columns.
 * Sources: open addressing, Fibonacci hashing (Knuth 6.4); columns as bits of words: Deveci, Trott &
 * Rajamanickam, Multithreaded sparse matrix-matrix multiplication for many-core and GPU architectures,
 * Parallel Computing 78, 2018. */
#ifndef SPX_WORD_TABLE_CUH
#define SPX_WORD_TABLE_CUH
#include <cuda_runtime.h>

/* `slots` of them, a power of two; key -1 is none. Shared memory. */
struct spx_word_table {
    int *key;
    unsigned *bits;
    int slots, shift; /* 32 - log2(slots) */

    __device__ __forceinline__ unsigned home(int word) const
    {
        return static_cast<unsigned>(word) * 0x9e3779b1u >> shift;
    }
    /* A word's slot, which is made if there is none: *fresh. There is room. */
    __device__ __forceinline__ int put(int word, bool *fresh) const
    {
        for (unsigned i = home(word);; i = (i + 1) & static_cast<unsigned>(slots - 1)) {
            const int there = *const_cast<volatile int *>(key + i);
            if (there == word) return static_cast<int>(i);
            if (there >= 0) continue;
            const int before = atomicCAS(key + i, -1, word);
            if (before == -1) *fresh = true;
            if (before == -1 || before == word) return static_cast<int>(i);
        }
    }
    /* The slot of a word that is there. */
    __device__ __forceinline__ int find(int word) const
    {
        unsigned i = home(word);
        while (key[i] != word) i = (i + 1) & static_cast<unsigned>(slots - 1);
        return static_cast<int>(i);
    }
};

/* Of `slots` slots, empty, by `lanes` lanes; they have to wait for each other before it is used. */
__device__ __forceinline__ spx_word_table spx_empty_words(int *key, unsigned *bits, int slots, int lane,
                                                          int lanes)
{
    for (int i = lane; i < slots; i += lanes) {
        key[i] = -1;
        bits[i] = 0;
    }
    return { key, bits, slots, __clz(slots) + 1 };
}

__device__ __forceinline__ int spx_word_of(int col)
{
    return static_cast<int>(static_cast<unsigned>(col) >> 5);
}
__device__ __forceinline__ unsigned spx_word_bit(int col)
{
    return 1u << (col & 31);
}

/* Sets bits that other lanes set, too: most are there already, and lanes that only look do not wait for each
 * other. */
__device__ __forceinline__ void spx_set_bits(unsigned *word, unsigned bits)
{
    if (~*const_cast<volatile unsigned *>(word) & bits) atomicOr(word, bits);
}

/* The columns of a word, from `to` on. */
__device__ __forceinline__ int *spx_write_word(int word, unsigned bits, int *to)
{
    for (; bits; bits &= bits - 1) *to++ = word * 32 + __ffs(static_cast<int>(bits)) - 1;
    return to;
}
#endif
