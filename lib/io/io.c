/* Chooses the reader or writer of a file. */
#include "io/io.h"

#include <inttypes.h>

#include "io/kind.h"

spmvx_status spx_read(const spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                      spx_sparse *out)
{
    spx_file_kind kind;
    SPX_TRY(spx_kind_of_file(ctx, path, &kind));
    switch (kind) {
    case SPX_NPZ_FILE: return spx_npz_read(ctx, path, options, out);
    case SPX_BOEING: return spx_rb_read(ctx, path, options, out);
    default: return spx_mtx_read(ctx, path, options, out);
    }
}

spmvx_status spx_write(const spmvx_context *ctx, const spx_sparse *a, const char *path,
                       const spmvx_write_options *options)
{
    spx_file_kind kind;
    SPX_TRY(spx_output_kind(ctx, path, options, &kind));
    return kind == SPX_NPZ_FILE ? spx_npz_write(ctx, a, path, options) : spx_mtx_write(ctx, a, path, options);
}

spmvx_status spx_write_step(const spmvx_context *ctx, const char *path, const spmvx_write_options *options,
                            int64_t done, int64_t total)
{
    if (!options->progress || !options->progress(options->user, done, total)) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_CANCELLED,
                    "%s: the progress callback stopped the writing at entry %" PRId64 " of %" PRId64,
                    spx_path_tail(path), done, total);
}
