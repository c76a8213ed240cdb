#include "core/sort.h"

#include <stdbool.h>

enum { FEW = 24 }; /* that insertion sorts faster */

static void insert_u64(uint64_t *v, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const uint64_t moved = v[i];
        int64_t k = i;
        for (; k > 0 && v[k - 1] > moved; k--) v[k] = v[k - 1];
        v[k] = moved;
    }
}

void spx_sort_u64(uint64_t *v, int64_t n)
{
    while (n > FEW) {
        uint64_t differ = 0;
        for (int64_t i = 1; i < n; i++) differ |= v[i] ^ v[0];
        if (!differ) return;
        const uint64_t bit = UINT64_C(1) << (63 - __builtin_clzll(differ));
        int64_t zeros = 0, ones = n; /* v[zeros ... ones-1] are not looked at yet */
        while (zeros < ones) {
            const uint64_t now = v[zeros];
            if (now & bit) {
                v[zeros] = v[--ones];
                v[ones] = now;
            } else zeros++;
        }
        spx_sort_u64(v, zeros);
        v += zeros;
        n -= zeros;
    }
    insert_u64(v, n);
}

static void insert_i32(int32_t *v, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const int32_t moved = v[i];
        int64_t k = i;
        for (; k > 0 && v[k - 1] > moved; k--) v[k] = v[k - 1];
        v[k] = moved;
    }
}

void spx_sort_i32(int32_t *v, int64_t n)
{
    while (n > FEW) {
        uint32_t differ = 0;
        for (int64_t i = 1; i < n; i++) differ |= (uint32_t)(v[i] ^ v[0]);
        if (!differ) return;
        const uint32_t bit = UINT32_C(1) << (31 - __builtin_clz(differ));
        const bool sign = bit >> 31; /* numbers with it come first */
        int64_t low = 0, high = n;
        while (low < high) {
            const int32_t now = v[low];
            const bool set = (uint32_t)now & bit;
            if (set != sign) {
                v[low] = v[--high];
                v[high] = now;
            } else low++;
        }
        spx_sort_i32(v, low);
        v += low;
        n -= low;
    }
    insert_i32(v, n);
}
