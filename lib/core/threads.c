/* Host threads on OpenMP. */
#include "core/threads.h"

#include "core/size.h"

#ifdef SPX_OPENMP
#include <omp.h>
#endif

/* Two awake threads cost 0.9 microseconds more than one (docs/performance-notes.md), which csr-vector wins
 * back from 5000 nonzeros on; twice that leaves room for threads that have to wake up. */
static const int64_t WORK_WORTH_THREADS = 10000;

int spx_threads_for(int threads, int64_t work)
{
    return work < WORK_WORTH_THREADS ? 1 : threads;
}

int spx_default_threads(void)
{
#ifdef SPX_OPENMP
    const int n = omp_get_max_threads();
    return n < 1 ? 1 : n > SPX_MAX_THREADS ? SPX_MAX_THREADS : n;
#else
    return 1;
#endif
}

void spx_parallel(int threads, int64_t chunks, spx_body *body, void *arg)
{
    if (chunks < 1) return;
#ifdef SPX_OPENMP
    const int n = (int)spx_min(threads, chunks);
    if (n > 1) {
#pragma omp parallel num_threads(n)
        {
            const int parts = omp_get_num_threads(), i = omp_get_thread_num();
            const int64_t begin = spx_part(chunks, parts, i), end = spx_part(chunks, parts, i + 1);
            if (begin < end) body(arg, i, begin, end);
        }
        return;
    }
#endif
    (void)threads;
    body(arg, 0, 0, chunks);
}
