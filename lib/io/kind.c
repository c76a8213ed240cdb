#include "io/kind.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/sink.h"
#include "io/source.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

spx_file_kind spx_kind_of_name(const char *path, bool *compressed)
{
    size_t ending;
    spx_sink_compression(path, &ending);
    const size_t n = strlen(path) - ending;
    *compressed = ending;
    char end[5] = "";
    for (size_t i = 0; i < 4 && i < n; i++) end[3 - i] = lower(path[n - 1 - i]);
    if (!memcmp(end, ".npz", 4)) return SPX_NPZ_FILE;
    if (!memcmp(end + 1, ".rb", 3) || !memcmp(end + 1, ".hb", 3)) return SPX_BOEING;
    return n >= 4 && end[0] == '.' && strchr("rcpiq", end[1]) && strchr("urshz", end[2]) &&
                   strchr("ae", end[3])
               ? SPX_BOEING
               : SPX_MARKET;
}

/* Whether a text, which may be compressed, begins as Matrix Market files do. */
static spmvx_status is_matrix_market(const spmvx_context *ctx, const char *path, bool *out)
{
    static const char banner[] = "%%matrixmarket";
    enum { N = sizeof banner - 1 };
    char head[N] = { 0 };
    size_t n = 0, got = 1;
    spx_file_source *source = NULL;
    *out = false;
    SPX_TRY(spx_file_source_open(ctx, path, &source));
    spmvx_status s = SPMVX_OK;
    while (s == SPMVX_OK && n < N && got) {
        s = spx_file_source_read(source, head + n, N - n, &got);
        n += got;
    }
    spx_file_source_close(source);
    for (size_t i = 0; i < N; i++) head[i] = lower(head[i]);
    *out = !memcmp(head, banner, N);
    return s;
}

static bool is_regular(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Whether a file begins as ZIP archives do: with a member, or with the end of an empty archive. */
static bool is_zip(const char *path)
{
    char head[4] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool whole = fd >= 0 && read(fd, head, sizeof head) == sizeof head;
    if (fd >= 0) close(fd);
    return whole && (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4));
}

spmvx_status spx_kind_of_file(const spmvx_context *ctx, const char *path, spx_file_kind *out)
{
    bool compressed, market = false;
    const spx_file_kind kind = spx_kind_of_name(path, &compressed);
    const bool regular = is_regular(path);
    *out = SPX_NPZ_FILE;
    if ((kind == SPX_NPZ_FILE && !compressed) || (regular && is_zip(path))) return SPMVX_OK;
    *out = SPX_MARKET;
    if (kind == SPX_BOEING && regular) SPX_TRY(is_matrix_market(ctx, path, &market));
    if (kind == SPX_BOEING && !market) *out = SPX_BOEING;
    return SPMVX_OK;
}

spmvx_status spx_npz_missing(const spmvx_context *ctx, const char *path)
{
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                    "%s is a .npz file, and this libspmvx was built without libzip", spx_path_tail(path));
}

static spmvx_status check_npz(const spmvx_context *ctx, const char *path, const spmvx_write_options *options)
{
    enum { MOST_LEVEL = 9 };
#ifndef SPX_LIBZIP
    return spx_npz_missing(ctx, path);
#endif
    (void)path;
    if (options->digits)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "options.digits is %d; a .npz file holds values as they are, and takes 0",
                        (int)options->digits);
    if (options->symmetry != SPMVX_GENERAL)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "options.symmetry is %d; a .npz file holds all entries, and takes SPMVX_GENERAL (0)",
                        (int)options->symmetry);
    if (options->compression != SPMVX_BY_NAME)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "options.compression is %d; a .npz file has its members compressed, and takes "
                        "SPMVX_BY_NAME (0)",
                        (int)options->compression);
    if (options->level > MOST_LEVEL)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "options.level is %d; .npz takes 1 to %d, or 0 for its default", (int)options->level,
                        MOST_LEVEL);
    return SPMVX_OK;
}

spmvx_status spx_output_kind(const spmvx_context *ctx, const char *path, const spmvx_write_options *options,
                             spx_file_kind *out)
{
    bool compressed;
    *out = spx_kind_of_name(path, &compressed);
    if (*out == SPX_BOEING)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "%s: the name is a Rutherford-Boeing file's, which are read and not written",
                        spx_path_tail(path));
    if (*out == SPX_NPZ_FILE && compressed)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "%s: a .npz file has its members compressed, and not itself", spx_path_tail(path));
    return *out == SPX_NPZ_FILE ? check_npz(ctx, path, options) : SPMVX_OK;
}

spmvx_status spx_output_check(const spmvx_context *ctx, const char *path, const spmvx_write_options *options)
{
    spx_file_kind kind;
    SPX_TRY(spx_output_kind(ctx, path, options, &kind));
    const bool npz = kind == SPX_NPZ_FILE;
    return spx_sink_check(ctx, path, npz ? SPMVX_UNCOMPRESSED : options->compression,
                          npz ? 0 : options->level);
}
