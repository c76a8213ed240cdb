/* Chooses the reader or writer of a file. */
#include "io/io.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/source.h"

typedef enum name_kind { OTHER, BOEING, NPZ } name_kind;

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool ends_in(const char *name, size_t n, const char *ending)
{
    const size_t e = strlen(ending);
    return n >= e && !memcmp(name + n - e, ending, e);
}

/* The kind that a name tells, after the ending of a compressed file is left out: by .npz, by .rb or .hb, or
 * by a matrix type such as .rua, in letters of either case. */
static name_kind kind_of_name(const char *path, bool *compressed)
{
    size_t n = strlen(path);
    *compressed = ends_in(path, n, ".gz") || ends_in(path, n, ".xz") || ends_in(path, n, ".zst");
    if (*compressed) n -= path[n - 1] == 't' ? 4 : 3;
    char end[5] = "";
    for (size_t i = 0; i < 4 && i < n; i++) end[3 - i] = lower(path[n - 1 - i]);
    if (!memcmp(end, ".npz", 4)) return NPZ;
    if (!memcmp(end + 1, ".rb", 3) || !memcmp(end + 1, ".hb", 3)) return BOEING;
    return n >= 4 && end[0] == '.' && strchr("rcpiq", end[1]) && strchr("urshz", end[2]) &&
                   strchr("ae", end[3])
               ? BOEING
               : OTHER;
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

spmvx_status spx_read(const spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                      spx_sparse *out)
{
    bool compressed, market = false;
    const name_kind kind = kind_of_name(path, &compressed);
    const bool regular = is_regular(path);
    if ((kind == NPZ && !compressed) || (regular && is_zip(path)))
        return spx_npz_read(ctx, path, options, out);
    if (kind == BOEING && regular) SPX_TRY(is_matrix_market(ctx, path, &market));
    return kind == BOEING && !market ? spx_rb_read(ctx, path, options, out)
                                     : spx_mtx_read(ctx, path, options, out);
}

spmvx_status spx_write(const spmvx_context *ctx, const spx_sparse *a, const char *path,
                       const spmvx_write_options *options)
{
    bool compressed;
    const name_kind kind = kind_of_name(path, &compressed);
    if (kind == BOEING)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "%s: the name is a Rutherford-Boeing file's, which are read and not written",
                        spx_path_tail(path));
    if (kind == NPZ && compressed)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "%s: a .npz file has its members compressed, and not itself", spx_path_tail(path));
    return kind == NPZ ? spx_npz_write(ctx, a, path, options) : spx_mtx_write(ctx, a, path, options);
}
