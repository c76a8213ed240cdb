/* SciPy's .npz in a build without libzip. */
#include "io/io.h"
#include "io/kind.h"

spmvx_status spx_npz_read(const spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                          spx_sparse *out)
{
    (void)options, (void)out;
    return spx_npz_missing(ctx, path);
}

spmvx_status spx_npz_write(const spmvx_context *ctx, const spx_sparse *a, const char *path,
                           const spmvx_write_options *options)
{
    (void)a, (void)options;
    return spx_npz_missing(ctx, path);
}
