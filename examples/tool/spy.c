/* spmvx spy: where a matrix has its entries, as a picture by density. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "output.h"

/* FLATTEST: long side to short side, at most */
enum { LEAST_SIZE = 32, MOST_SIZE = 8192, SIZE = 800, FLATTEST = 8 };

/* How one side is cut: rows (or columns) a cell, cells, pixels a cell. All cells are equal but the last:
 * cells that differ would show as stripes that the matrix does not have. */
typedef struct side {
    int64_t per;
    int cells, pixels;
} side;

static side cut(int64_t n, int64_t pixels)
{
    if (n < 1) n = 1;
    const int64_t per = (n + pixels - 1) / pixels, cells = (n + per - 1) / per;
    return (side){ per, (int)cells, (int)(pixels / cells) };
}

/* To scale, but for a matrix so flat or so tall that nothing could be seen. */
static void cut_both(const spmvx_arrays *a, int64_t pixels, side *rows, side *cols)
{
    const bool tall = a->nrows >= a->ncols;
    const int64_t longer = tall ? a->nrows : a->ncols, shorter = tall ? a->ncols : a->nrows;
    const side l = cut(longer, pixels),
               s = shorter >= longer / FLATTEST
                       ? (side){ l.per, (int)((shorter + l.per - 1) / l.per), l.pixels }
                       : cut(shorter, pixels / FLATTEST);
    *rows = tall ? l : s;
    *cols = tall ? s : l;
    if (!rows->cells) rows->cells = 1;
    if (!cols->cells) cols->cells = 1;
}

static void add(uint32_t *cell)
{
    *cell += *cell < UINT32_MAX;
}

static uint32_t *count_entries(const spmvx_arrays *a, const side *rows, const side *cols)
{
    uint32_t *cells = checked_alloc((size_t)rows->cells * (size_t)cols->cells * sizeof *cells);
    if (a->format == SPMVX_COO) {
        for (int64_t k = 0; k < a->nnz; k++)
            add(&cells[index_at(a->row, a->idx_type, k) / rows->per * cols->cells +
                       index_at(a->col, a->idx_type, k) / cols->per]);
        return cells;
    }
    for (int64_t r = 0; r < a->nrows; r++) {
        uint32_t *row = cells + r / rows->per * cols->cells;
        const int64_t to = index_at(a->ptr, a->ptr_type, r + 1);
        for (int64_t k = index_at(a->ptr, a->ptr_type, r); k < to; k++)
            add(&row[index_at(a->col, a->idx_type, k) / cols->per]);
    }
    return cells;
}

/* Shades by the logarithm of the count; one entry alone can be seen. Answers the largest count. */
static uint32_t shade_cells(const uint32_t *cells, size_t n, unsigned char *shade)
{
    uint32_t most = 1;
    for (size_t i = 0; i < n; i++) most = cells[i] > most ? cells[i] : most;
    const double step = most > 1 ? (SHADES - 1) / log((double)most) : 0.0;
    for (size_t i = 0; i < n; i++)
        shade[i] = (unsigned char)(!cells[i]   ? 0
                                   : most == 1 ? SHADES
                                               : 1 + (int)(step * log((double)cells[i]) + 0.5));
    return most;
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

static int save(const char *path, const picture *p)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && (ends_with(path, ".png") ? write_png(f, p) : write_svg(f, p));
    if (f && fclose(f)) ok = false;
    if (ok) return EXIT_SUCCESS;
    fprintf(stderr, "spmvx: %s: %s\n", path, strerror(errno));
    return EXIT_FAILURE;
}

static int draw(const spmvx_arrays *a, int64_t size, const char *out)
{
    side rows, cols;
    cut_both(a, size - 2 * BORDER, &rows, &cols);
    const size_t n = (size_t)rows.cells * (size_t)cols.cells;
    uint32_t *cells = count_entries(a, &rows, &cols);
    unsigned char *shade = checked_alloc(n);
    const uint32_t most = shade_cells(cells, n, shade);
    free(cells);
    char caption[160], end[96];
    const bool to_scale = rows.per * cols.pixels == cols.per * rows.pixels;
    snprintf(caption, sizeof caption, "%" PRId64 " x %" PRId64 ", %" PRId64 " nonzero%s%s", a->nrows,
             a->ncols, a->nnz, a->nnz == 1 ? "" : "s", to_scale ? "" : " (not to scale)");
    snprintf(end, sizeof end, "%" PRIu32 " nonzero%s in a cell of %" PRId64 " x %" PRId64, most,
             most == 1 ? "" : "s", rows.per, cols.per);
    const picture p = { cols.cells, rows.cells, cols.pixels,           rows.pixels,
                        shade,      caption,    most > 1 ? "1" : NULL, end };
    const int result = save(out, &p);
    if (result == EXIT_SUCCESS)
        note("%s: %" PRId64 " x %" PRId64 " pixels; %s%s%s\n", out, picture_width(&p), picture_height(&p),
             caption, a->nnz ? "; up to " : "", a->nnz ? end : "");
    free(shade);
    return result;
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *out = NULL;
    int count, result = EXIT_FAILURE;
    int64_t threads = 0, size = SIZE;
    const option options[] = {
        { "--output", 'o', TEXT, &out, "OUT", "the picture to write, .svg or .png" },
        { "--size", 0, COUNT, &size, "N", "pixels of its longer side, at most; 32 to 8192 (default 800)" },
        { "--threads", 0, THREADS, &threads, "N", "threads to use (0: OpenMP's default)" },
        { 0 }
    };
    const int status = parse(&command_spy, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (count != 1) return usage_error(&command_spy, "%d files given, one wanted", count);
    if (!out) return usage_error(&command_spy, "no picture to write is given; -o names it");
    if (!ends_with(out, ".svg") && !ends_with(out, ".png"))
        return usage_error(&command_spy, "--output is '%s', not a name that ends in .svg or .png", out);
    if (size < LEAST_SIZE || size > MOST_SIZE)
        return usage_error(&command_spy, "--size is %" PRId64 ", not %d to %d", size, LEAST_SIZE, MOST_SIZE);
    spmvx_context *ctx = open_context(threads);
    spmvx_matrix *m = ctx && check_writable(ctx, out) ? read_matrix(ctx, files[0], SPMVX_F32, NULL) : NULL;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    if (m) result = spmvx_matrix_arrays(m, &a) == SPMVX_OK ? draw(&a, size, out) : fail(ctx, files[0]);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    return result;
}

const command command_spy = { "spy", "[options] FILE -o OUT",
                              "Draw where a matrix has its nonzeros, as SVG or PNG",
                              "The matrix is cut into equal cells; the more nonzeros a cell holds, the "
                              "stronger its shade, on a logarithmic scale. A\n"
                              "matrix that is more than 8 times as long as wide (or as wide as long) is "
                              "drawn wider (or taller) than it is. An SVG has a\n"
                              "caption, and follows the reader's preference for light or dark; it may be "
                              "larger than N by that caption.",
                              run };
