/* Shared by the tests of what the library's kernels are written with: launches that wait for their end,
 * and random numbers that are the same in every run. */
#ifndef LAUNCHING_H
#define LAUNCHING_H
#include "check.h"

#include "launch.cuh"

static constexpr std::uint64_t seeds = 8;

template <class... P, class... A>
void launch(unsigned blocks, unsigned threads, std::size_t shared, void (*kernel)(P...), A &&...args)
{
    assert_cuda(spx_launch(spx_launch_config(blocks, threads, shared, nullptr), kernel, args...));
    assert_cuda(cudaDeviceSynchronize());
}

inline unsigned below(unsigned n)
{
    static std::uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>(state >> 33) % n;
}
#endif
