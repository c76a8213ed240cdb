/* Matrices of several shapes. */
#include "shapes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void *room_for(int64_t n, size_t each)
{
    void *p = aligned_alloc(64, ((size_t)(n + 1) * each + 63) / 64 * 64);
    if (!p) abort();
    return p;
}

/* xorshift64 (Marsaglia, J. Stat. Soft. 8(14), 2003) */
static uint64_t random_next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static int64_t random_below(uint64_t *s, int64_t n)
{
    return (int64_t)(random_next(s) >> 16) % n;
}

/* In -0.5 ... 0.5, with 53 bits. */
static double random_value(uint64_t *s)
{
    return (double)(random_next(s) >> 11) / 9007199254740992.0 - 0.5;
}

/* A CSR under construction: rows end in turn. */
typedef struct builder {
    shape s;
    int64_t room, rows;
    uint64_t seed;
} builder;

static builder begin(const char *name, int64_t nrows, int64_t ncols, int64_t room)
{
    builder b = { .s = { .name = name, .format = SPMVX_CSR, .nrows = nrows, .ncols = ncols },
                  .room = room,
                  .seed = 88172645463325252u };
    b.s.ptr = room_for(nrows + 1, sizeof *b.s.ptr);
    b.s.col = room_for(room, sizeof *b.s.col);
    b.s.val = room_for(room, sizeof *b.s.val);
    b.s.ptr[0] = 0;
    return b;
}

static void put(builder *b, int64_t col)
{
    if (b->s.nnz == b->room) abort();
    b->s.col[b->s.nnz] = (int32_t)col;
    b->s.val[b->s.nnz++] = random_value(&b->seed);
}

static void end_row(builder *b)
{
    b->s.ptr[++b->rows] = (int32_t)b->s.nnz;
}

/* `length` columns, each in a part of its own of `from` ... `to`-1, so that they ascend. */
static void put_spread(builder *b, int64_t length, int64_t from, int64_t to)
{
    for (int64_t k = 0; k < length; k++) {
        const int64_t first = from + (to - from) * k / length, next = from + (to - from) * (k + 1) / length;
        put(b, first + random_below(&b->seed, next - first));
    }
}

/* Five diagonals; the pattern is symmetric. */
static shape stencil(void)
{
    enum { SIDE = 150, ROWS = SIDE * SIDE };
    builder b = begin("stencil", ROWS, ROWS, 5 * ROWS);
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < SIDE; j++) {
            const int64_t r = i * SIDE + j;
            if (i > 0) put(&b, r - SIDE);
            if (j > 0) put(&b, r - 1);
            put(&b, r);
            if (j + 1 < SIDE) put(&b, r + 1);
            if (i + 1 < SIDE) put(&b, r + SIDE);
            end_row(&b);
        }
    return b.s;
}

/* Dense blocks of 3 x 3. */
static shape blocks(void)
{
    enum { BLOCK_ROWS = 2000, BLOCKS = 8, SIDE = 3, SPREAD = 60 };
    const int64_t rows = BLOCK_ROWS * SIDE;
    builder b = begin("blocks", rows, rows, rows * BLOCKS * SIDE);
    for (int64_t i = 0; i < BLOCK_ROWS; i++) {
        const int64_t most = BLOCK_ROWS - BLOCKS * (SPREAD / BLOCKS), first = i < most ? i : most - 1;
        const uint64_t seed = b.seed;
        for (int64_t r = 0; r < SIDE; r++) {
            uint64_t places = seed; /* the same for each row of the block row */
            for (int64_t k = 0; k < BLOCKS; k++) {
                const int64_t block = first + SPREAD / BLOCKS * k + random_below(&places, SPREAD / BLOCKS);
                for (int64_t c = 0; c < SIDE; c++) put(&b, block * SIDE + c);
            }
            end_row(&b);
        }
    }
    return b.s;
}

/* Rows of nearly one length, columns anywhere. */
static shape scattered(void)
{
    enum { ROWS = 12000 };
    builder b = begin("scattered", ROWS, ROWS, 13 * ROWS);
    for (int64_t r = 0; r < ROWS; r++) {
        put_spread(&b, 10 + random_below(&b.seed, 4), 0, ROWS);
        end_row(&b);
    }
    return b.s;
}

/* Few long rows among many short ones, and empty ones. */
static shape power_law(void)
{
    enum { ROWS = 15000, LONGEST = 6000 };
    builder b = begin("power law", ROWS, ROWS, 400000);
    for (int64_t r = 0; r < ROWS; r++) {
        const int64_t rank = r * 7919 % ROWS + 1, length = 20000 / rank + random_below(&b.seed, 4);
        put_spread(&b, length < LONGEST ? length : LONGEST, 0, ROWS);
        end_row(&b);
    }
    return b.s;
}

static shape one_dense_row(void)
{
    enum { ROWS = 20000 };
    builder b = begin("one dense row", ROWS, ROWS, 4 * ROWS);
    for (int64_t r = 0; r < ROWS; r++) {
        put_spread(&b, r == ROWS / 3 ? ROWS : 3, 0, ROWS);
        end_row(&b);
    }
    return b.s;
}

static shape spread(const char *name, int64_t rows, int64_t cols, int64_t length)
{
    builder b = begin(name, rows, cols, rows * length);
    for (int64_t r = 0; r < rows; r++) {
        put_spread(&b, length, 0, cols);
        end_row(&b);
    }
    return b.s;
}

static shape long_rows(void)
{
    return spread("long rows", 24, 20000, 9000);
}

/* Gathers from all over a long x. */
static shape wide(void)
{
    return spread("wide", 4000, 400000, 40);
}

/* So small that one thread does it all. */
static shape small(void)
{
    enum { ROWS = 60 };
    builder b = begin("small", ROWS, ROWS, 9 * ROWS);
    for (int64_t r = 0; r < ROWS; r++) {
        put_spread(&b, 9, 0, ROWS);
        end_row(&b);
    }
    return b.s;
}

/* Rows far outnumber entries, which come in no order, some of a row apart. */
static shape few_entries(void)
{
    enum { ROWS = 300000, COLS = 1000, ENTRIES = 15000 };
    builder b = begin("few entries", ROWS, COLS, ENTRIES);
    free(b.s.ptr);
    b.s.ptr = NULL;
    b.s.format = SPMVX_COO;
    b.s.row = room_for(ENTRIES, sizeof *b.s.row);
    for (int64_t k = 0; k < ENTRIES; k++) {
        b.s.row[k] = (int32_t)(random_below(&b.seed, ROWS / 60) * 60);
        put(&b, random_below(&b.seed, COLS));
    }
    return b.s;
}

shape shape_make(int i)
{
    static shape (*const make[])(void) = { stencil,   blocks, scattered, power_law,  one_dense_row,
                                           long_rows, wide,   small,     few_entries };
    return i < (int)(sizeof make / sizeof *make) ? make[i]() : (shape){ 0 };
}

void shape_free(shape *s)
{
    free(s->ptr);
    free(s->row);
    free(s->col);
    free(s->val);
    *s = (shape){ 0 };
}

static void value_put(void *v, spmvx_type type, int64_t i, double value)
{
    if (type == SPMVX_F64) ((double *)v)[i] = value;
    else ((float *)v)[i] = (float)value;
}

static size_t value_size(spmvx_type type)
{
    return type == SPMVX_F64 ? sizeof(double) : sizeof(float);
}

static void *shifted(const int32_t *from, int64_t n, int64_t shift, void **block)
{
    int32_t *to = room_for(n + shift, sizeof *to);
    *block = to;
    memcpy(to + shift, from, (size_t)n * sizeof *from);
    return to + shift;
}

shape_arrays shape_arrays_make(const shape *s, spmvx_type type, int64_t shift)
{
    shape_arrays a = { .arrays = SPMVX_ARRAYS_INIT };
    const bool csr = s->format == SPMVX_CSR;
    a.arrays.format = s->format;
    a.arrays.val_type = type;
    a.arrays.nrows = s->nrows;
    a.arrays.ncols = s->ncols;
    a.arrays.nnz = s->nnz;
    if (csr) a.arrays.ptr = shifted(s->ptr, s->nrows + 1, shift, &a.block[0]);
    else a.arrays.row = shifted(s->row, s->nnz, shift, &a.block[0]);
    a.arrays.col = shifted(s->col, s->nnz, shift, &a.block[1]);
    a.block[2] = room_for(s->nnz + shift, value_size(type));
    for (int64_t k = 0; k < s->nnz; k++) value_put(a.block[2], type, k + shift, s->val[k]);
    a.arrays.val = (char *)a.block[2] + (size_t)shift * value_size(type);
    return a;
}

void shape_arrays_free(shape_arrays *a)
{
    for (int i = 0; i < 3; i++) free(a->block[i]);
    *a = (shape_arrays){ 0 };
}

void *shape_vector(spmvx_type type, int64_t n, uint64_t seed, int64_t shift, void **block)
{
    *block = room_for(n + shift, value_size(type));
    for (int64_t i = 0; i < n; i++) value_put(*block, type, i + shift, random_value(&seed));
    return (char *)*block + (size_t)shift * value_size(type);
}
