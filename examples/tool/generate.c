/* spmvx generate: matrices by name, as a file or as figures. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "generate.h"
#include "output.h"
#include "tool.h"

static int list(void)
{
    family_info f;
    const char *name, *meaning;
    for (int i = 0; generate_family(i, &f); i++)
        printf("%s\n    %s\n    figures:   %s\n    original:  %s\n", f.pattern, f.summary, f.formula,
               f.original);
    printf("\nnames that stand for others:\n");
    for (int i = 0; generate_alias(i, &name, &meaning); i++) printf("    %-16s %s\n", name, meaning);
    return EXIT_SUCCESS;
}

/* Lengths of rows, mean distance of an entry from the diagonal (of the rectangle's corners, in columns),
 * bandwidth. */
static void print_figures(FILE *to, const char *name, const generated *g)
{
    int64_t shortest = g->nrows ? INT64_MAX : 0, longest = 0, empty = 0, bandwidth = 0;
    double spread = 0;
    for (int64_t i = 0; i < g->nrows; i++) {
        const int64_t n = g->ptr[i + 1] - g->ptr[i],
                      middle = (int64_t)((double)i * (double)g->ncols / (double)g->nrows);
        shortest = n < shortest ? n : shortest;
        longest = n > longest ? n : longest;
        empty += !n;
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
            const int64_t away = llabs(g->col[k] - middle);
            spread += (double)away;
            bandwidth = away > bandwidth ? away : bandwidth;
        }
    }
    fprintf(to,
            "%s: %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, rows of %" PRId64 " to %" PRId64
            ", mean %.2f, %" PRId64 " empty; from the diagonal mean %.0f, most %" PRId64 "\n",
            name, g->nrows, g->ncols, g->nnz, shortest, longest, (double)g->nnz / (double)g->nrows, empty,
            g->nnz ? spread / (double)g->nnz : 0, bandwidth);
}

static int write_file(spmvx_context *ctx, const generated *g, const char *path,
                      const spmvx_write_options *options)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *m = NULL;
    a.nrows = g->nrows;
    a.ncols = g->ncols;
    a.nnz = g->nnz;
    a.ptr = g->ptr;
    a.col = g->col;
    a.val = g->val;
    a.ptr_type = SPMVX_I64;
    const bool ok = spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &m) == SPMVX_OK &&
                    write_matrix(ctx, m, path, options) == SPMVX_OK;
    if (!ok) fail_plainly(ctx);
    spmvx_matrix_destroy(m);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Figures, and a file where one is wanted. */
static int make(spmvx_context *ctx, const char *name, const char *out, spmvx_write_options *options)
{
    char error[4096];
    generated g;
    spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
    const int status = out ? check_output(&command_generate, ctx, &out, options) : -1;
    if (status >= 0) return status;
    spmvx_context_get_info(ctx, &i);
    if (!generate(name, i.threads, &g, error, sizeof error)) {
        fprintf(stderr, "spmvx generate: %s\n", error);
        return EXIT_USAGE;
    }
    if (!out || !quiet()) print_figures(out && is_stdout(out) ? stderr : stdout, name, &g);
    const int result = out ? write_file(ctx, &g, out, options) : EXIT_SUCCESS;
    generated_free(&g);
    return result;
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *out = NULL;
    int count;
    int64_t threads = 0, digits = 0;
    bool listed = false;
    const option options[] = {
        { "--output", 'o', TEXT, &out, "FILE", "write the matrix there (" OUTPUT_ENDINGS "; '-': stdout)" },
        { "--list", 0, FLAG, &listed, NULL, "tell the families of names, their figures and the originals'" },
        { "--digits", 0, COUNT, &digits, "N",
          "significant digits, 1 to 17 (0: enough to read back the same bits)" },
        { "--threads", 0, THREADS, &threads, "N", "threads to use (0: OpenMP's default)" },
        { 0 }
    };
    const int status = parse(&command_generate, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (listed && !count && !out) return list();
    if (listed || count != 1)
        return usage_error(&command_generate, "%d names given%s", count,
                           listed ? " beside --list" : ", one wanted");
    if (digits > 17) return usage_error(&command_generate, "--digits is %" PRId64 ", not 0 to 17", digits);
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    o.digits = (int32_t)digits;
    spmvx_context *ctx = open_context(threads);
    const int result = ctx ? make(ctx, files[0], out, &o) : EXIT_FAILURE;
    spmvx_context_destroy(ctx);
    return result;
}

const command command_generate = { "generate", "[options] NAME [-o FILE] | --list",
                                   "Make a matrix by its name",
                                   "Capitals of a pattern stand for numbers (k: thousands, M: millions), "
                                   "brackets hold what may be left out. Endings change a\n"
                                   "name: _const, _rand and _whole its values, _shuffled the order of rows "
                                   "and columns. The same name gives the same bits everywhere.\n"
                                   "Without -o only the figures are printed.",
                                   run };
