/* spmvx spmspm: the product of two sparse matrices in files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "output.h"

static int multiply(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B, const spmspm_options *o,
                    const char *out, const spmvx_write_options *writing)
{
    spmvx_matrix *C = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    const double begin = now();
    if (spmspm_mul(ctx, A, B, o, &C) != SPMVX_OK) return fail(ctx, "product");
    const double took = now() - begin;
    spmvx_matrix_get_info(C, &i);
    if (!out || !quiet())
        fprintf(out && is_stdout(out) ? stderr : stdout,
                "%" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, %.3g ms\n", i.nrows, i.ncols, i.nnz,
                1e3 * took);
    int result = EXIT_SUCCESS;
    if (out && write_matrix(ctx, C, out, writing) != SPMVX_OK) result = fail_plainly(ctx);
    spmvx_matrix_destroy(C);
    return result;
}

static int read_and_multiply(spmvx_context *ctx, const char *const files[2], spmvx_type type,
                             const spmspm_options *o, const char *out)
{
    spmvx_write_options writing = SPMVX_WRITE_OPTIONS_INIT;
    int status = check_kernel(&command_spmspm, ctx, SPMVX_SPMSPM, o->kernel, type);
    if (status < 0 && out) status = check_output(&command_spmspm, ctx, &out, &writing);
    if (status >= 0) return status;
    spmvx_matrix *A = read_matrix(ctx, files[0], type, NULL),
                 *B = A ? read_matrix(ctx, files[1], type, NULL) : NULL;
    const int result = B ? multiply(ctx, A, B, o, out, &writing) : EXIT_FAILURE;
    spmvx_matrix_destroy(B);
    spmvx_matrix_destroy(A);
    return result;
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *out = NULL, *type = "f64";
    int count;
    int64_t threads = 0, workspace = 0, bytes = 0;
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    const option options[] = {
        { "--output", 'o', TEXT, &out, "C", "write C there (" OUTPUT_ENDINGS "; '-': stdout)" },
        { "--kernel", 0, TEXT, &o.kernel, "NAME",
          "force a kernel: csr-dense-row, coo-hash, dense-window, hash; on a GPU hash, thin, rows-thread, "
          "rows-block, rows-block-private, rows-warp, rows-multiwarp" },
        { "--max-workspace", 0, COUNT, &workspace, "N",
          "bytes that the product takes beside C (0: no limit)" },
        { "--max-bytes", 0, COUNT, &bytes, "N",
          "bytes that C may take; a larger one is refused before it is made (0: no limit)" },
        { "--type", 0, TEXT, &type, VALUE_TYPES, "f64 (default) or f32" },
        { "--threads", 0, THREADS, &threads, "N", "threads to use (0: OpenMP's default)" },
        { 0 }
    };
    const int status = parse(&command_spmspm, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (count != 2) return usage_error(&command_spmspm, "%d files given, two wanted", count);
    o.max_workspace = (size_t)workspace;
    o.max_bytes = (size_t)bytes;
    spmvx_context *ctx = open_context(threads);
    const int result = ctx ? read_and_multiply(ctx, files, type_named(type), &o, out) : EXIT_FAILURE;
    spmvx_context_destroy(ctx);
    return result;
}

const command command_spmspm = { "spmspm", "[options] A B [-o C]", "Multiply two sparse matrices, C = A*B",
                                 "C has sorted columns and no repeats; entries that cancel to zero are kept.",
                                 run };
