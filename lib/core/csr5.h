/* What CSR5's builder and kernel agree on: the descriptor of a lane. */
#ifndef SPX_CSR5_H
#define SPX_CSR5_H
#include <stdint.h>

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

/* Row of a tile's first entry; the top bit marks a tile with empty rows inside. */
#define SPX_CSR5_EMPTY 0x80000000u
#endif
