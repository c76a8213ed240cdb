/* The model of a multiplication's time on a GPU: bytes over bandwidth, and gathers of x by sectors of 32
 * bytes, whichever is longer, with a tenth of the other; from L2 where the matrix fits in it; and a
 * launch. Entries of neighbouring rows share sectors. The rates are the device's (spx_machine), which the
 * backend presets. */
#include "device.cuh"

double spx_cuda_cost(const spx_features *f, double bytes, double efficiency, double alone)
{
    constexpr double OVERLAP = 0.1;
    const spx_machine *m = f->machine;
    const double value = static_cast<double>(f->value_bytes);
    const double x_bytes = static_cast<double>(f->ncols) * value,
                 y_bytes = static_cast<double>(f->nrows) * value;
    const double moved = bytes + x_bytes + y_bytes;
    const double rate = moved < m->last_cache ? m->cache_rate : m->memory_rate;
    const double stream = moved / (rate * efficiency);
    const bool band = f->span * value < m->second_cache / 8.0; /* what of x is used again is still in L2 */
    const double from_l2 = x_bytes < m->second_cache || band ? 1.0 : m->second_cache / x_bytes;
    const double near = m->compute_scale / (x_bytes < m->first_cache ? m->gather_first : m->gather_second);
    const double far = m->far_scale / m->gather_memory;
    const double sectors = f->sectors_per_entry * static_cast<double>(f->nnz);
    const double gather = sectors * (from_l2 * near + (1.0 - from_l2) * far);
    const double all = stream > gather ? stream + OVERLAP * gather : gather + OVERLAP * stream;
    return m->launch_ns + (all > alone ? all : alone);
}

double spx_cuda_resident(const spx_machine *m)
{
    return static_cast<double>(m->multiprocessors) * static_cast<double>(m->resident_threads);
}
