/* The model of a multiplication's time on a GPU: bytes over bandwidth, and gathers of x by sectors of 32 bytes, whichever is
 * longer; from L2 where the matrix fits in it; and a launch.
 *
 * Rates of gathers on one H200 (docs/design.md, section 6), in sectors a nanosecond: 150 while x lies in L2, 60 and less from
 * memory. Entries of neighbouring rows share sectors where the columns of a row lie close together. */
#include "device.cuh"

double spx_cuda_cost(const spx_features *f, double bytes, double efficiency)
{
    constexpr double LAUNCH = 2500.0, SECTOR = 32.0;
    const spx_machine *m = f->machine;
    const double value = static_cast<double>(f->value_bytes), x_bytes = static_cast<double>(f->ncols) * value, y_bytes = static_cast<double>(f->nrows) * value;
    const double all = bytes + x_bytes + y_bytes, rate = all < m->cached ? m->cache : m->memory;
    const double stream = all / (rate * efficiency);
    const double apart = f->span / (f->mean + 1.0) * value;   /* bytes between neighbouring columns of a row */
    const double sectors = static_cast<double>(f->nnz) * (apart >= SECTOR ? 1.0 : apart / SECTOR);
    const bool near = x_bytes < m->mid || f->span * value < m->near;
    const double gather = near ? sectors / 150.0 * m->compute : sectors / 60.0 * m->far;
    return LAUNCH + (stream > gather ? stream + 0.2 * gather : gather + 0.2 * stream);
}
