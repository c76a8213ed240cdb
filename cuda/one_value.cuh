/* Values of a CSR that are each entry's own, or one for all, as its layout tells (lib/format/csr.c): then a
 * thread reads it once, before it waits for the launch before, since nobody writes it. Products and sums are
 * the same, bit for bit. */
#ifndef SPX_ONE_VALUE_CUH
#define SPX_ONE_VALUE_CUH
#include "ptx.cuh"
#include "view.cuh"

template <class V, bool ONE> struct spx_value_of {
    explicit __device__ __forceinline__ spx_value_of(const V *) {}
    /* The value at p; 0 where there is none. */
    template <spx_policy POLICY, spx_written WRITTEN>
    __device__ __forceinline__ V load(bool in, const V *p) const
    {
        return spx_load_if<POLICY, WRITTEN>(in, p, V(0));
    }
};

template <class V> struct spx_value_of<V, true> {
    V one;

    explicit __device__ __forceinline__ spx_value_of(const V *val) : one(*val) {}
    template <spx_policy, spx_written> __device__ __forceinline__ V load(bool in, const V *) const
    {
        return in ? one : V(0);
    }
};

/* Calls f with whether all values are one: f(std::bool_constant<ONE>()). */
template <class F> auto spx_by_one_value(const spx_sparse *csr, F f)
{
    return csr->layout.values == SPX_VALUES_ONE ? f(std::true_type()) : f(std::false_type());
}
#endif
