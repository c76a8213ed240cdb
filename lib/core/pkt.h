/* What PKT's builder and kernel agree on: where packets lie, and how a place tells its row and column. The
 * format is told in format/pkt.c. */
#ifndef SPX_PKT_H
#define SPX_PKT_H
#include "core/sparse.h"

enum {
    SPX_PKT_SIDE = 1024, /* rows, and columns, of a packet where nothing else is asked for */
    SPX_PKT_MOST = 8192, /* at most, so that x and y of a packet fit in a block's shared memory */
    SPX_PKT_LANES = 256, /* threads of a packet */
    SPX_PKT_PADDING = -1 /* of the slot COL: no entry */
};

/* Values of the layout's field, and their names from the first on. */
enum { SPX_PKT_ORDER = 1, SPX_PKT_METIS = 2 };
static const char *const spx_pkt_partitions[] = { "order", "metis", NULL };
#define SPX_PKT_KEYS(shown)                                                                   \
    { "packet", offsetof(spx_layout, packet), 32, SPX_PKT_MOST, 0, shown, NULL },             \
    {                                                                                         \
        "partition", offsetof(spx_layout, partition), SPX_PKT_ORDER, SPX_PKT_METIS, 0, shown, \
            spx_pkt_partitions                                                                \
    }

static inline int64_t spx_pkt_packets(const spx_sparse *a)
{
    return (int64_t)(a->slot[SPX_PTR]->bytes / spx_type_bytes(a->ptr_type)) - 1;
}

/* Where a packet's columns begin: of a square matrix with its rows. */
SPX_BOTH static inline int64_t spx_pkt_first_column(int64_t nrows, int64_t ncols, int64_t side,
                                                    int64_t packet)
{
    return nrows == ncols ? packet * side : packet * side * ncols / nrows;
}

/* The row, or column, at a position: that of the list, -1 where it has none; without a list the position
 * itself. */
SPX_BOTH static inline int64_t spx_pkt_at(const int32_t *list, int64_t position)
{
    return list ? list[position] : position;
}

/* A place's row and column in its packet, and the place of both. */
SPX_BOTH static inline int32_t spx_pkt_row(int32_t place)
{
    return place >> 16;
}
SPX_BOTH static inline int32_t spx_pkt_column(int32_t place)
{
    return place & 0xffff;
}
SPX_BOTH static inline int32_t spx_pkt_place(int64_t row, int64_t column)
{
    return (int32_t)(row << 16 | column);
}

/* Entries behind the packets, whose rows are in ROW. */
static inline int64_t spx_pkt_rest(const spx_sparse *a)
{
    return a->stored - a->width;
}
#endif
