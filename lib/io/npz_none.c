/* SciPy's .npz in a build without libzip. */
#include "io/io.h"

static spmvx_status missing(const spmvx_context *ctx, const char *path)
{
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                    "%s is a .npz file, and this libspmvx was built without libzip", spx_path_tail(path));
}

spmvx_status spx_npz_read(const spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                          spx_sparse *out)
{
    (void)options, (void)out;
    return missing(ctx, path);
}

spmvx_status spx_npz_write(const spmvx_context *ctx, const spx_sparse *a, const char *path,
                           const spmvx_write_options *options)
{
    (void)a, (void)options;
    return missing(ctx, path);
}
