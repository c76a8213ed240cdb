/* Sliced ELL and BSR built on the host. */
#include "blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* More slots than this for a nonzero are refused, but for small matrices. */
enum { MOST_FILL = 4, SMALL = 1 << 20 };

void blocks_free(blocks *b)
{
    free(b->ptr);
    free(b->col);
    free(b->val);
    *b = (blocks){ 0 };
}

static int allocate(blocks *b, const peer_matrix *A, peer_error *e)
{
    if (b->slots > INT32_MAX || (b->slots > SMALL && b->slots / MOST_FILL > A->nnz))
        return peer_fail(e, PEER_UNSUPPORTED, "%" PRId64 " slots for %" PRId64 " nonzeros", b->slots, A->nnz);
    b->col = malloc((size_t)b->cols * sizeof *b->col + 1);
    b->val = calloc((size_t)b->slots + 1, (size_t)A->val_bits / 8);
    return b->col && b->val ? PEER_OK
                            : peer_fail(e, PEER_FAILED, "out of memory for %" PRId64 " slots", b->slots);
}

static void copy_value(const peer_matrix *A, int64_t from, void *val, int64_t to)
{
    if (A->val_bits == 64) ((double *)val)[to] = ((const double *)A->val)[from];
    else ((float *)val)[to] = ((const float *)A->val)[from];
}

/* ---- sliced ELL ---- */

static int64_t widest_row(const int32_t *ptr, int64_t row, int64_t end)
{
    int64_t width = 0;
    for (; row < end; row++) width = ptr[row + 1] - ptr[row] > width ? ptr[row + 1] - ptr[row] : width;
    return width;
}

static int64_t slice_end(const peer_matrix *A, int64_t s, int64_t slice)
{
    return (s + 1) * slice < A->nrows ? (s + 1) * slice : A->nrows;
}

static void fill_slice(const peer_matrix *A, int64_t s, int64_t slice, const blocks *b)
{
    const int32_t *ptr = A->ptr;
    for (int64_t k = b->ptr[s]; k < b->ptr[s + 1]; k++) b->col[k] = -1;
    for (int64_t r = s * slice; r < slice_end(A, s, slice); r++)
        for (int64_t k = ptr[r]; k < ptr[r + 1]; k++) {
            const int64_t to = b->ptr[s] + (k - ptr[r]) * slice + (r - s * slice);
            b->col[to] = A->col[k];
            copy_value(A, k, b->val, to);
        }
}

int sliced_ell_make(const peer_matrix *A, int64_t slice, blocks *b, peer_error *e)
{
    *b = (blocks){ .count = (A->nrows + slice - 1) / slice };
    b->ptr = malloc((size_t)(b->count + 1) * sizeof *b->ptr);
    if (!b->ptr) return peer_fail(e, PEER_FAILED, "out of memory for %" PRId64 " slices", b->count);
    for (int64_t s = 0; s < b->count; s++) {
        b->ptr[s] = (int32_t)b->slots; /* refused below where it does not fit */
        b->slots += slice * widest_row(A->ptr, s * slice, slice_end(A, s, slice));
    }
    b->ptr[b->count] = (int32_t)b->slots;
    b->cols = b->slots;
    const int result = allocate(b, A, e);
    if (result) {
        blocks_free(b);
        return result;
    }
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (int64_t s = 0; s < b->count; s++) fill_slice(A, s, slice, b);
    return PEER_OK;
}

/* ---- BSR ---- */

static int compare(const void *x, const void *y)
{
    const int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

/* The columns of blocks in a row of blocks: how many, and which, sorted, where list is not NULL. met: per
 * column of blocks, the last row of blocks that counted it, from 1. */
static int64_t columns_of(const peer_matrix *A, int64_t row, int64_t size, int32_t *met, int32_t *list)
{
    const int32_t *ptr = A->ptr;
    int64_t n = 0;
    for (int64_t k = ptr[row * size]; k < ptr[(row + 1) * size]; k++) {
        const int32_t c = (int32_t)(A->col[k] / size);
        if (met[c] == (int32_t)row + 1) continue;
        met[c] = (int32_t)row + 1;
        if (list) list[n] = c;
        n++;
    }
    if (list) qsort(list, (size_t)n, sizeof *list, compare);
    return n;
}

/* place: per column of blocks, where its block is. */
static void fill_row(const peer_matrix *A, int64_t row, int64_t size, bool by_column, int32_t *place,
                     const blocks *b)
{
    const int32_t *ptr = A->ptr;
    for (int32_t k = b->ptr[row]; k < b->ptr[row + 1]; k++) place[b->col[k]] = k;
    for (int64_t r = row * size; r < (row + 1) * size; r++)
        for (int64_t k = ptr[r]; k < ptr[r + 1]; k++) {
            const int64_t i = r - row * size, j = A->col[k] % size,
                          in_block = by_column ? j * size + i : i * size + j;
            copy_value(A, k, b->val, place[A->col[k] / size] * size * size + in_block);
        }
}

static int fill_bsr(const peer_matrix *A, int64_t size, bool by_column, int32_t *scratch, blocks *b,
                    peer_error *e)
{
    const size_t scratch_bytes = (size_t)(A->ncols / size) * sizeof *scratch;
    for (int64_t row = 0; row < b->count; row++) {
        b->ptr[row] = (int32_t)b->cols;
        b->cols += columns_of(A, row, size, scratch, NULL);
    }
    b->ptr[b->count] = (int32_t)b->cols;
    b->slots = b->cols * size * size;
    const int result = allocate(b, A, e);
    if (result) return result;
    memset(scratch, 0, scratch_bytes);
    for (int64_t row = 0; row < b->count; row++) columns_of(A, row, size, scratch, b->col + b->ptr[row]);
    for (int64_t row = 0; row < b->count; row++) fill_row(A, row, size, by_column, scratch, b);
    return PEER_OK;
}

int bsr_make(const peer_matrix *A, int64_t size, bool by_column, blocks *b, peer_error *e)
{
    *b = (blocks){ .count = A->nrows / size };
    if (A->nrows % size || A->ncols % size)
        return peer_fail(e, PEER_UNSUPPORTED, "%" PRId64 " x %" PRId64 " is not in blocks of %" PRId64,
                         A->nrows, A->ncols, size);
    b->ptr = malloc((size_t)(b->count + 1) * sizeof *b->ptr);
    int32_t *scratch = calloc((size_t)(A->ncols / size), sizeof *scratch);
    int result = b->ptr && scratch
                     ? PEER_OK
                     : peer_fail(e, PEER_FAILED, "out of memory for %" PRId64 " rows of blocks", b->count);
    if (!result) result = fill_bsr(A, size, by_column, scratch, b, e);
    free(scratch);
    if (result) blocks_free(b);
    return result;
}
