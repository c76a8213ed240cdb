/* Positions of values on a device, from 1 on: they go through a conversion in the values' place, and tell
 * where each went (lib/dispatch/updates.c). */
#include "build/build.cuh"

namespace {

constexpr const char *WHAT = "an update map";

template <class P> __global__ void write_positions(int64_t n, P *to)
{
    const int64_t i = spx_element();
    if (i < n) to[i] = static_cast<P>(i + 1);
}

template <class P> __global__ void find_moved(int64_t n, const P *position, int *moved)
{
    const int64_t i = spx_element();
    if (i < n && position[i] != static_cast<P>(i + 1)) *moved = 1;
}

}

spmvx_status spx_cuda_count_up(const spmvx_context *ctx, spmvx_type type, int64_t n, void *to)
{
    SPX_TRY(spx_by_pointer(type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, n, write_positions<P>, n, static_cast<P *>(to));
    }));
    return ctx->backend->synchronize(ctx);
}

spmvx_status spx_cuda_counts_up(const spmvx_context *ctx, spmvx_type type, int64_t n, const void *positions,
                                bool *yes)
{
    spx_temporary flag;
    int moved = 0;
    SPX_TRY(flag.make(ctx, 1, sizeof(int), WHAT));
    SPX_TRY(spx_cuda_clear(ctx, flag.as<int>(), sizeof(int), WHAT));
    SPX_TRY(spx_by_pointer(type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, n, find_moved<P>, n, static_cast<const P *>(positions),
                               flag.as<int>());
    }));
    SPX_TRY(ctx->backend->download(ctx, &moved, flag.as<int>(), sizeof moved));
    *yes = !moved;
    return SPMVX_OK;
}
