/* Memory pools: what they hold. */
#ifndef SIMT_POOL_H
#define SIMT_POOL_H
#include "simt.h"

namespace simt {

/* So many bytes more (or fewer) of the pool are in use. */
void pool_changed(cudaMemPool_t, long long bytes);
void count_pools(simt_live &);

}
#endif
