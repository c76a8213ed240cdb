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
    int error = errno;
    if (ok) {
        errno = 0;
        fprintf(f, "%%%%MatrixMarket matrix array integer general\n%" PRId64 " 1\n", i->nrows + behind);
        for (int64_t r = 0; r < i->nrows; r++) fprintf(f, "%" PRId64 "\n", (int64_t)rows[r] + 1);
        for (int64_t c = 0; c < behind; c++) fprintf(f, "%" PRId64 "\n", (int64_t)cols[c] + 1);
        ok = !fflush(f) && !ferror(f);
        error = errno;
        ok = !fclose(f) && ok;
        if (!ok) remove(path);
    }
    if (!ok) fprintf(stderr, "spmvx: %s: %s\n", path, error ? strerror(error) : "not written");
    return ok;
}

/* Rows and columns of a matrix that is put in another order. */
typedef struct order {
    int32_t *rows, *cols;
    spmvx_matrix_info shape;
} order;

/* The matrix in another order in place of *m, which stays as it is after a message. */
static bool reorder(spmvx_context *ctx, const request *q, spmvx_matrix **m, order *o)
{
    spmvx_reorder_options options = SPMVX_REORDER_OPTIONS_INIT;
    spmvx_matrix *other = NULL;
    options.method = reordering_named(q->reorder);
    o->shape = (spmvx_matrix_info)SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix_get_info(*m, &o->shape);
    o->rows = checked_alloc(((size_t)o->shape.nrows + 1) * sizeof *o->rows);
    o->cols = checked_alloc(((size_t)o->shape.ncols + 1) * sizeof *o->cols);
    if (spmvx_matrix_reorder(ctx, *m, &options, o->rows, o->cols, &other) != SPMVX_OK) {
        fail(ctx, "reordering");
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
    order o = { 0 };
    bool ok = !q->reorder || reorder(ctx, q, &m, &o);
    if (q->keep && tells_symmetry(q->out)) q->options.symmetry = symmetry;
    if (ok && write_matrix(ctx, m, q->out, &q->options) != SPMVX_OK) {
        fail_plainly(ctx);
        ok = false;
    }
    if (ok && q->order) ok = write_order(q->order, &o.shape, o.rows, o.cols);
    free(o.rows);
    free(o.cols);
    spmvx_matrix_destroy(m);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
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
    if (q.order && (!strcmp(q.order, "-") || !strcmp(q.order, q.out) || !strcmp(q.order, files[0])))
        return usage_error(&command_convert, "--order is '%s', not a file of its own", q.order);
    if (q.order && !is_array_name(q.order))
        return usage_error(
            &command_convert,
            "--order is '%s'; an order is a Matrix Market array: .mtx, or another ending than a "
            "matrix's",
            q.order);
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
