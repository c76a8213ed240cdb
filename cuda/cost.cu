/* The model of a multiplication's time on a GPU: bytes over bandwidth, and gathers of x by sectors of 32 bytes, whichever is
 * longer, with a tenth of the other; from L2 where the matrix fits in it; and a launch. Entries of neighbouring rows share
 * sectors.
 *
 * Rates of gathers were fitted on one H200 (docs/performance-notes.md, section 21), in sectors a nanosecond: while x lies in L1, in L2, and
 * from memory. */
#include "device.cuh"

double spx_cuda_cost(const spx_features *f, double bytes, double efficiency, double alone)
{
    constexpr double LAUNCH = 2500.0, FROM_L1 = 220.0, FROM_L2 = 130.0, FROM_MEMORY = 36.0, OVERLAP = 0.1;
    const spx_machine *m = f->machine;
    const double value = static_cast<double>(f->value_bytes), x_bytes = static_cast<double>(f->ncols) * value, y_bytes = static_cast<double>(f->nrows) * value;
    const double moved = bytes + x_bytes + y_bytes, rate = moved < m->cached ? m->cache : m->memory;
    const double stream = moved / (rate * efficiency);
    const bool band = f->span * value < m->mid / 8.0;   /* what of x is used again is still in L2 */
    const double from_l2 = x_bytes < m->mid || band ? 1.0 : m->mid / x_bytes;
    const double near = m->compute / (x_bytes < m->near ? FROM_L1 : FROM_L2);
    const double gather = f->sectors * static_cast<double>(f->nnz) * (from_l2 * near + (1.0 - from_l2) * m->far / FROM_MEMORY);
    const double all = stream > gather ? stream + OVERLAP * gather : gather + OVERLAP * stream;
    return LAUNCH + (all > alone ? all : alone);
}
