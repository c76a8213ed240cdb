/* What CSR5's builders and kernels agree on: the descriptor of a lane, and the rule for sigma. */
#ifndef SPX_CSR5_H
#define SPX_CSR5_H
#include "core/sparse.h"

enum {
    SPX_CSR5_OMEGA = 64, /* lanes at most */
    SPX_CSR5_SIGMA = 32, /* entries of a lane at most */
    SPX_CSR5_LANES = 8   /* where nothing else is asked for */
};

/* Of a tile's lane: which of its sigma entries begin a row (the tile's first entry always does, to seal
 * the tile); how many segments begin in the lanes before it; how many lanes right after it begin none. */
typedef struct spx_csr5_desc {
    uint32_t bit_flag;
    uint16_t y_offset, seg_offset;
} spx_csr5_desc;

/* Sigma where none is asked for: r up to r entries a row, the mean from r to s, s from s to t, u beyond;
 * what the request leaves open of these is the place's preset. Source: Liu & Vinter, section 4.1. */
static inline int64_t spx_csr5_sigma(const spx_layout *asked, const int64_t preset[4], int64_t mean)
{
    int64_t rule[4];
    for (int i = 0; i < 4; i++) rule[i] = asked->rule[i] ? asked->rule[i] : preset[i];
    if (mean <= rule[1]) return spx_max(mean, rule[0]);
    return mean <= rule[2] ? rule[1] : rule[3];
}

#define SPX_CSR5_RULE_KEYS                                                         \
    { "r", offsetof(spx_layout, rule[0]), 1, SPX_CSR5_SIGMA, 0, false, NULL },     \
        { "s", offsetof(spx_layout, rule[1]), 1, SPX_CSR5_SIGMA, 0, false, NULL }, \
        { "t", offsetof(spx_layout, rule[2]), 1, INT64_MAX, 0, false, NULL },      \
    {                                                                              \
        "u", offsetof(spx_layout, rule[3]), 1, SPX_CSR5_SIGMA, 0, false, NULL      \
    }

/* Row of a tile's first entry; the top bit marks a tile with empty rows inside. */
#define SPX_CSR5_EMPTY 0x80000000u
#endif
