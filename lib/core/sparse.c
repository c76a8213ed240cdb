/* A sparse matrix as reference-counted arrays. */
#include "core/sparse.h"

spx_sparse spx_sparse_share(const spx_sparse *a)
{
    spx_sparse b = *a;
    for (int i = 0; i < SPX_SLOTS; i++) spx_array_share(b.slot[i]);
    return b;
}

void spx_sparse_drop(spx_sparse *a)
{
    for (int i = 0; i < SPX_SLOTS; i++) spx_array_drop(a->slot[i]);
    *a = (spx_sparse){ 0 };
}

size_t spx_sparse_bytes(const spx_sparse *a, bool with_borrowed)
{
    size_t bytes = 0;
    for (int i = 0; i < SPX_SLOTS; i++)
        if (a->slot[i] && (with_borrowed || !a->slot[i]->borrowed)) bytes = spx_plus(bytes, a->slot[i]->bytes);
    return bytes;
}

bool spx_sparse_borrowed(const spx_sparse *a)
{
    for (int i = 0; i < SPX_SLOTS; i++)
        if (a->slot[i] && a->slot[i]->borrowed) return true;
    return false;
}
