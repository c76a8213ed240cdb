/* spmvx convert: a matrix from one file to another. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "output.h"
#include "tool.h"

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *out = NULL, *type = "f64";
    int count;
    int64_t threads = 0, digits = 0, level = 0;
    const option options[] = {
        { "--output", 'o', TEXT, &out, "OUT", "the file to write; or name it behind IN" },
        { "--digits", 0, COUNT, &digits, "N",
          "significant digits, 1 to 17 (0: enough to read back the same bits)" },
        { "--level", 0, COUNT, &level, "N", "of the compressor (0: its default)" },
        { "--type", 0, TEXT, &type, "T", "f64 (default) or f32, which values are rounded to" },
        { "--threads", 0, COUNT, &threads, "N", "threads to use (0: OpenMP's default)" },
        { 0 }
    };
    const int status = parse(&command_convert, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (count == 2 && !out) out = files[--count];
    if (count != 1 || !out)
        return usage_error(&command_convert, "%d files given, one in and one out wanted",
                           count + (out != NULL));
    if (digits > 17) return usage_error(&command_convert, "--digits is %" PRId64 ", not 0 to 17", digits);
    if (level > INT32_MAX)
        return usage_error(&command_convert, "--level is %" PRId64 ", above %d", level, INT32_MAX);
    if (!type_named(type)) return usage_error(&command_convert, "--type is '%s', not f64 or f32", type);
    spmvx_context *ctx = open_context(threads);
    spmvx_matrix *m = ctx ? read_matrix(ctx, files[0], type_named(type)) : NULL;
    int result = EXIT_FAILURE;
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    o.digits = (int32_t)digits;
    o.level = (int32_t)level;
    if (m) {
        if (write_matrix(ctx, m, out, &o) == SPMVX_OK) result = EXIT_SUCCESS;
        else fprintf(stderr, "spmvx: %s\n", spmvx_last_error(ctx));
    }
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    return result;
}

const command command_convert = {
    "convert", "[options] IN OUT", "Read a matrix file and write another",
    "The library tells what IN is. OUT is SciPy's .npz where its name ends so, else Matrix Market, "
    "compressed where it ends in .gz,\n"
    ".zst or .xz. What it holds is real and general: symmetric input is expanded.",
    run
};
