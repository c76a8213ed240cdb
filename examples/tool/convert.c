/* spmvx convert: a matrix from one file to another. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/kind.h"
#include "output.h"

typedef struct request {
    const char *in, *out;
    spmvx_type type;
    bool keep; /* the symmetry that the file tells */
    const char *reorder, *order;
    spmvx_write_options options;
} request;

/* Matrix Market tells a symmetry; .npz holds all entries. */
static bool tells_symmetry(const char *path)
{
    bool compressed;
    return spx_kind_of_name(path, &compressed) == SPX_MARKET;
}

/* Numbers from 1, as a Matrix Market array: rows; of a matrix that is not square, columns behind them. */
static bool write_order(const char *path, const spmvx_matrix_info *i, const int32_t *rows,
                        const int32_t *cols)
{
    const int64_t behind = i->nrows == i->ncols ? 0 : i->ncols;
    FILE *f = fopen(path, "w");
    bool ok = f;
    if (ok) {
        fprintf(f, "%%%%MatrixMarket matrix array integer general\n%" PRId64 " 1\n", i->nrows + behind);
        for (int64_t r = 0; r < i->nrows; r++) fprintf(f, "%" PRId64 "\n", (int64_t)rows[r] + 1);
        for (int64_t c = 0; c < behind; c++) fprintf(f, "%" PRId64 "\n", (int64_t)cols[c] + 1);
        ok = !ferror(f);
        ok = !fclose(f) && ok;
    }
    if (!ok) fprintf(stderr, "spmvx: %s: %s\n", path, strerror(errno));
    return ok;
}

/* The matrix in another order in place of *m, which stays as it is after a message. */
static bool reorder(spmvx_context *ctx, const request *q, spmvx_matrix **m)
{
    spmvx_reorder_options o = SPMVX_REORDER_OPTIONS_INIT;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *other = NULL;
    o.method = reordering_named(q->reorder);
    spmvx_matrix_get_info(*m, &i);
    int32_t *rows = checked_alloc(((size_t)i.nrows + 1) * sizeof *rows),
            *cols = checked_alloc(((size_t)i.ncols + 1) * sizeof *cols);
    bool ok = spmvx_matrix_reorder(ctx, *m, &o, rows, cols, &other) == SPMVX_OK;
    if (!ok) fail(ctx, "reordering");
    ok = ok && (!q->order || write_order(q->order, &i, rows, cols));
    free(rows);
    free(cols);
    if (!ok) {
        spmvx_matrix_destroy(other);
        return false;
    }
    spmvx_matrix_destroy(*m);
    *m = other;
    return true;
}

static int convert(spmvx_context *ctx, request *q)
{
    const int status = check_output(&command_convert, ctx, &q->out, &q->options);
    if (status >= 0) return status;
    if (q->order && !check_writable(ctx, q->order)) return EXIT_FAILURE;
    spmvx_symmetry symmetry = SPMVX_GENERAL;
    spmvx_matrix *m = read_matrix(ctx, q->in, q->type, &symmetry);
    if (!m) return EXIT_FAILURE;
    if (q->reorder && !reorder(ctx, q, &m)) {
        spmvx_matrix_destroy(m);
        return EXIT_FAILURE;
    }
    if (q->keep && tells_symmetry(q->out)) q->options.symmetry = symmetry;
    const int result =
        write_matrix(ctx, m, q->out, &q->options) == SPMVX_OK ? EXIT_SUCCESS : fail_plainly(ctx);
    spmvx_matrix_destroy(m);
    return result;
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *type = "f64", *symmetry = "keep";
    int count;
    int64_t threads = 0, digits = 0, level = 0;
    request q = { .options = SPMVX_WRITE_OPTIONS_INIT };
    const option options[] = {
        { "--output", 'o', TEXT, &q.out, "OUT", "the file to write; or name it behind IN ('-': stdout)" },
        { "--symmetry", 0, TEXT, &symmetry, "keep|general",
          "keep (default): a symmetric file is written symmetric; general: all entries" },
        { "--reorder", 0, TEXT, &q.reorder, REORDERINGS,
          "rows and columns in another order ('spmvx info' tells which would pay)" },
        { "--order", 0, TEXT, &q.order, "FILE",
          "with --reorder: which row of IN each row is, from 1 (then the columns, where IN is not square)" },
        { "--digits", 0, COUNT, &digits, "N",
          "significant digits, 1 to 17 (0: enough to read back the same bits)" },
        { "--level", 0, COUNT, &level, "N", "of the compressor (0: its default)" },
        { "--type", 0, TEXT, &type, VALUE_TYPES, "f64 (default) or f32, which values are rounded to" },
        { "--threads", 0, THREADS, &threads, "N", "threads to use (0: OpenMP's default)" },
        { 0 }
    };
    const int status = parse(&command_convert, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (count == 2 && !q.out) q.out = files[--count];
    if (count != 1 || !q.out)
        return usage_error(&command_convert, "%d files given, one in and one out wanted",
                           count + (q.out != NULL));
    if (q.order && !q.reorder) return usage_error(&command_convert, "--order is given, and --reorder is not");
    if (digits > 17) return usage_error(&command_convert, "--digits is %" PRId64 ", not 0 to 17", digits);
    if (level > INT32_MAX)
        return usage_error(&command_convert, "--level is %" PRId64 ", above %d", level, INT32_MAX);
    q.in = files[0];
    q.type = type_named(type);
    q.keep = !strcmp(symmetry, "keep");
    q.options.digits = (int32_t)digits;
    q.options.level = (int32_t)level;
    spmvx_context *ctx = open_context(threads);
    const int result = ctx ? convert(ctx, &q) : EXIT_FAILURE;
    spmvx_context_destroy(ctx);
    return result;
}

const command command_convert = {
    "convert", "[options] IN OUT", "Read a matrix file and write another",
    "The library tells what IN is. OUT ends in one of " OUTPUT_ENDINGS ", in letters of either case, or is "
    "'-' for standard output.\n"
    "A Matrix Market file holds real values. It is symmetric, or skew-symmetric, where IN is so, which every "
    "entry is held\n"
    "against before anything is written; a .npz file holds all entries.",
    run
};
