/* Matrices made by name. */
#include "made.h"

#include <inttypes.h>
#include <string.h>

generated make(const char *name, int threads)
{
    generated g;
    char error[4096] = "";
    if (!generate(name, threads, &g, error, sizeof error)) fail_msg("%s: %s", name, error);
    return g;
}

/* FNV-1a over words of 64 bits. */
static uint64_t add_word(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x100000001b3u;
    return h ^ h >> 29;
}

uint64_t checksum(const generated *g)
{
    uint64_t h = add_word(add_word(0xcbf29ce484222325u, (uint64_t)g->nrows), (uint64_t)g->ncols);
    for (int64_t i = 0; i <= g->nrows; i++) h = add_word(h, (uint64_t)g->ptr[i]);
    for (int64_t k = 0; k < g->nnz; k++) {
        uint64_t bits;
        memcpy(&bits, &g->val[k], sizeof bits);
        h = add_word(add_word(h, (uint64_t)g->col[k]), bits);
    }
    return h;
}

void check_order(const char *name, const generated *g)
{
    if (g->ptr[0] != 0 || g->ptr[g->nrows] != g->nnz) fail_msg("%s: ptr does not go from 0 to nnz", name);
    for (int64_t i = 0; i < g->nrows; i++) {
        if (g->ptr[i] > g->ptr[i + 1]) fail_msg("%s: row %" PRId64 " has a negative length", name, i);
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
            if (g->col[k] < 0 || g->col[k] >= g->ncols)
                fail_msg("%s: row %" PRId64 " has column %d", name, i, g->col[k]);
            if (k > g->ptr[i] && g->col[k] <= g->col[k - 1])
                fail_msg("%s: row %" PRId64 " is not in order", name, i);
            if (!(g->val[k] > -1e9 && g->val[k] < 1e9))
                fail_msg("%s: row %" PRId64 " has the value %g", name, i, g->val[k]);
        }
    }
}

const double *entry(const generated *g, int64_t i, int64_t c)
{
    for (int64_t low = g->ptr[i], high = g->ptr[i + 1]; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        if (g->col[middle] == c) return &g->val[middle];
        if (g->col[middle] < c) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

bool is_symmetric(const generated *g)
{
    if (g->nrows != g->ncols) return false;
    for (int64_t i = 0; i < g->nrows; i++)
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
            const double *other = entry(g, g->col[k], i);
            if (!other || *other != g->val[k]) return false;
        }
    return true;
}
