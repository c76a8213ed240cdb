/* Formats that have a place for what is no entry, and add repeats up: their values and presence bits
 * while they are filled. */
#ifndef SPX_PLACES_CUH
#define SPX_PLACES_CUH
#include "build.cuh"

/* The sum of two values, which come as their bits; the first one where they are positions. NaN as x86 has
 * it: the first operand that is one, made quiet; of Inf - Inf, the negative one. */
__device__ inline uint64_t spx_added(spmvx_type type, uint64_t a, uint64_t b)
{
    constexpr uint64_t QUIET = 1ull << 51, INDEFINITE = 0xfff8ull << 48;
    if (type != SPMVX_F64) return a;
    const double x = __longlong_as_double(static_cast<long long>(a)),
                 y = __longlong_as_double(static_cast<long long>(b)), sum = x + y;
    if (x != x) return a | QUIET;
    if (y != y) return b | QUIET;
    return sum != sum ? INDEFINITE : static_cast<uint64_t>(__double_as_longlong(sum));
}
__device__ inline uint32_t spx_added(spmvx_type type, uint32_t a, uint32_t b)
{
    constexpr uint32_t QUIET = 1u << 22, INDEFINITE = 0xffc00000u;
    if (type != SPMVX_F32) return a;
    const float x = __uint_as_float(a), y = __uint_as_float(b), sum = x + y;
    if (x != x) return a | QUIET;
    if (y != y) return b | QUIET;
    return sum != sum ? INDEFINITE : __float_as_uint(sum);
}

/* Values and bits, zero before they are filled. */
template <class E> struct spx_places {
    spmvx_type type;
    E *val;
    unsigned long long *bits;

    template <class F> void each_pointer(F f) const
    {
        f(val), f(bits);
    }

    /* Puts a value at its place, or adds it to what is there; true if nothing was. Who puts there twice
     * is one thread. */
    __device__ bool put(int64_t place, int64_t word, int64_t bit, E v) const
    {
        const unsigned long long own = 1ull << bit, before = atomicOr(bits + word, own);
        val[place] = before & own ? spx_added(type, val[place], v) : v;
        return !(before & own);
    }
};

template <class E> spx_places<E> spx_places_of(const spx_draft &a)
{
    return { a.type(), a.as<E>(SPX_VAL), a.as<unsigned long long>(SPX_BITS) };
}

inline spmvx_status spx_clear_places(const spmvx_context *ctx, const spx_draft &a, int64_t words)
{
    SPX_TRY(ctx->backend->clear(ctx, a.as<void>(SPX_VAL), spx_bytes(a.stored(), spx_type_bytes(a.type()))));
    return ctx->backend->clear(ctx, a.as<void>(SPX_BITS), spx_bytes(words, sizeof(uint64_t)));
}

/* Makes VAL, for a->stored, and BITS, zeroed. */
inline spmvx_status spx_make_places(const spmvx_context *ctx, spx_draft &a, int64_t words)
{
    SPX_TRY(a.make(ctx, SPX_VAL, a->stored, spx_type_bytes(a->val_type), "val"));
    SPX_TRY(a.make(ctx, SPX_BITS, words, sizeof(uint64_t), "presence bits"));
    return spx_clear_places(ctx, a, words);
}

/* There are so many entries; without empty places inside the matrix there are no bits. */
inline void spx_settle_places(spx_draft &a, int64_t entries, int64_t inside)
{
    a->nnz = entries;
    if (entries != inside) return;
    spx_array_drop(a->slot[SPX_BITS]);
    a->slot[SPX_BITS] = nullptr;
}
#endif
