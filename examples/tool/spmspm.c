/* spmvx spmspm: the product of two sparse matrices in files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "output.h"
#include "tool.h"

static int multiply(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B, const spmspm_options *o,
                    const char *out)
{
    spmvx_matrix *C = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    const double begin = now();
    if (spmspm_mul(ctx, A, B, o, &C) != SPMVX_OK) return fail(ctx, "product");
    const double took = now() - begin;
    spmvx_matrix_get_info(C, &i);
    if (!out || !quiet())
        printf("%" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, %.3g ms\n", i.nrows, i.ncols, i.nnz,
               1e3 * took);
    int result = EXIT_SUCCESS;
    if (out && write_matrix(ctx, C, out, NULL) != SPMVX_OK) {
        fprintf(stderr, "spmvx: %s\n", spmvx_last_error(ctx));
        result = EXIT_FAILURE;
    }
    spmvx_matrix_destroy(C);
    return result;
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *out = NULL, *type = "f64";
    int count;
    int64_t threads = 0, workspace = 0;
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    const option options[] = {
        { "--output", 'o', TEXT, &out, "C", "write the product there (.npz; .gz .zst .xz compress)" },
        { "--kernel", 0, TEXT, &o.kernel, "NAME", "force a kernel: csr-dense-row, coo-hash" },
        { "--max-workspace", 0, COUNT, &workspace, "N", "bytes beside the product (0: no limit)" },
        { "--type", 0, TEXT, &type, "T", "f64 (default) or f32" },
        { "--threads", 0, COUNT, &threads, "N", "threads to use (0: OpenMP's default)" },
        { 0 }
    };
    const int status = parse(&command_spmspm, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (count != 2) return usage_error(&command_spmspm, "%d files given, two wanted", count);
    if (!type_named(type)) return usage_error(&command_spmspm, "--type is '%s', not f64 or f32", type);
    o.max_workspace = (size_t)workspace;
    spmvx_context *ctx = open_context(threads);
    spmvx_matrix *A = ctx ? read_matrix(ctx, files[0], type_named(type)) : NULL,
                 *B = A ? read_matrix(ctx, files[1], type_named(type)) : NULL;
    const int result = B ? multiply(ctx, A, B, &o, out) : EXIT_FAILURE;
    spmvx_matrix_destroy(B);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    return result;
}

const command command_spmspm = { "spmspm", "[options] A B [-o C]", "Multiply two sparse matrices, C = A*B",
                                 "C has sorted columns and no repeats; entries that cancel to zero are kept.",
                                 run };
