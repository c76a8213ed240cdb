/* ZIP archives by libzip. It reads the file through callbacks of ours, so that an error of the system keeps
 * its reason, and so that the directory is bounded, for which libzip takes memory of its own. */
#include "io/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

enum {
    /* bytes of the file that may be read to open it: the end record, and a directory of some members */
    OPENING = 192 << 10,
    /* bytes that libzip and zlib take at most: 0.9 MB with a directory as large as OPENING allows */
    HOLDS = 1 << 20,
    SKIP = 4096,
};
static const int64_t DEFLATE_MOST = 1032; /* bytes that one compressed byte can stand for */

struct spx_zip {
    const spmvx_context *ctx;
    const char *path;
    const spmvx_read_options *options;
    zip_t *archive;
    zip_file_t *member;
    const char *name;    /* of the member */
    bool ended, charged; /* the member was read to its end; HOLDS is charged to the budget */
    /* the file, as libzip sees it */
    int fd;
    int64_t at, total, taken; /* position, length, bytes read in all */
    bool opening;
    spmvx_status status; /* why a callback failed */
    zip_error_t error;
};

spmvx_status spx_zip_fail(const spx_zip *z, spmvx_status status, const char *format, ...)
{
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (!z->name) return spx_fail(z->ctx, status, "%s: %s", spx_path_tail(z->path), why);
    return spx_fail(z->ctx, status, "%s: member '%s': %s", spx_path_tail(z->path), z->name, why);
}

/* Fails with what libzip says, or with what a callback said before. */
static spmvx_status fail_by(const spx_zip *z, zip_error_t *e)
{
    if (z->status != SPMVX_OK) return z->status;
    const int code = zip_error_code_zip(e);
    const bool unsupported =
        code == ZIP_ER_COMPNOTSUPP || code == ZIP_ER_ENCRNOTSUPP || code == ZIP_ER_NOPASSWD;
    const spmvx_status s = code == ZIP_ER_MEMORY ? SPMVX_ERR_MEMORY
                           : unsupported         ? SPMVX_ERR_UNSUPPORTED
                                                 : SPMVX_ERR_FILE;
    return spx_zip_fail(z, s, "the ZIP archive is damaged or ends early (%s)", zip_error_strerror(e));
}

/* ---- the file ---- */

static zip_int64_t refuse(spx_zip *z, spmvx_status status)
{
    z->status = status;
    zip_error_set(&z->error, ZIP_ER_READ, EIO);
    return -1;
}

static zip_int64_t take_bytes(spx_zip *z, void *buf, size_t bytes)
{
    ssize_t n;
    do n = pread(z->fd, buf, bytes, z->at);
    while (n < 0 && errno == EINTR);
    if (n < 0) return refuse(z, spx_zip_fail(z, SPMVX_ERR_IO, "cannot read: %s", strerror(errno)));
    z->at += n;
    z->taken += n;
    if (z->opening && z->taken > OPENING)
        return refuse(z,
                      spx_zip_fail(z, SPMVX_ERR_FILE,
                                   "the archive's directory is too large for the few members of a matrix"));
    return n;
}

static zip_int64_t serve(void *user, void *data, zip_uint64_t bytes, zip_source_cmd_t command)
{
    spx_zip *z = user;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_SEEKABLE;
    case ZIP_SOURCE_OPEN: z->at = 0; return 0;
    case ZIP_SOURCE_READ: return take_bytes(z, data, bytes);
    case ZIP_SOURCE_TELL: return z->at;
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&z->error, data, bytes);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    case ZIP_SOURCE_SEEK: {
        const zip_int64_t to = zip_source_seek_compute_offset((zip_uint64_t)z->at, (zip_uint64_t)z->total,
                                                              data, bytes, &z->error);
        if (to < 0) return -1;
        z->at = to;
        return 0;
    }
    case ZIP_SOURCE_STAT: {
        zip_stat_t *st = data;
        zip_stat_init(st);
        st->valid = ZIP_STAT_SIZE;
        st->size = (zip_uint64_t)z->total;
        return sizeof *st;
    }
    default: zip_error_set(&z->error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

/* ---- the archive ---- */

static spmvx_status charge(spx_zip *z)
{
    z->charged = spx_budget_charge(z->ctx, HOLDS);
    return z->charged ? SPMVX_OK : spx_fail_memory(z->ctx, HOLDS, "libzip");
}

static spmvx_status open_file(spx_zip *z)
{
    struct stat st;
    z->fd = open(z->path, O_RDONLY | O_CLOEXEC);
    if (z->fd < 0 || fstat(z->fd, &st))
        return spx_zip_fail(z, SPMVX_ERR_IO, "cannot open: %s", strerror(errno));
    z->total = st.st_size;
    if (S_ISDIR(st.st_mode)) return spx_zip_fail(z, SPMVX_ERR_IO, "cannot read: %s", strerror(EISDIR));
    if (!S_ISREG(st.st_mode))
        return spx_zip_fail(z, SPMVX_ERR_IO,
                            "a ZIP archive is read from its end, which takes a regular file");
    return z->total ? SPMVX_OK : spx_zip_fail(z, SPMVX_ERR_FILE, "the file is empty");
}

static spmvx_status open_archive(spx_zip *z)
{
    zip_error_t e;
    zip_error_init(&e);
    zip_source_t *source = zip_source_function_create(serve, z, &e);
    z->opening = true;
    if (source) z->archive = zip_open_from_source(source, ZIP_RDONLY, &e);
    z->opening = false;
    if (source && !z->archive) zip_source_free(source);
    const spmvx_status s = z->archive ? SPMVX_OK : fail_by(z, &e);
    zip_error_fini(&e);
    return s;
}

spmvx_status spx_zip_open(const spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                          spx_zip **out)
{
    spx_zip *z;
    SPX_TRY(spx_calloc(ctx, sizeof *z, "an archive's state", &z));
    *z = (spx_zip){ .ctx = ctx, .path = path, .options = options };
    z->fd = -1;
    zip_error_init(&z->error);
    spmvx_status s = charge(z);
    if (s == SPMVX_OK) s = open_file(z);
    if (s == SPMVX_OK) s = open_archive(z);
    if (s == SPMVX_OK) *out = z;
    else spx_zip_close(z);
    return s;
}

void spx_zip_close(spx_zip *z)
{
    if (!z) return;
    if (z->member) zip_fclose(z->member);
    if (z->archive) zip_discard(z->archive);
    if (z->fd >= 0) close(z->fd);
    if (z->charged) spx_budget_discharge(z->ctx, HOLDS);
    zip_error_fini(&z->error);
    spx_free(z->ctx, z);
}

/* ---- members ---- */

static spmvx_status check_member(const spx_zip *z, const zip_stat_t *st)
{
    const zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((st->valid & needed) != needed || st->size > INT64_MAX)
        return spx_zip_fail(z, SPMVX_ERR_FILE, "the archive does not tell its length");
    if (st->encryption_method != ZIP_EM_NONE)
        return spx_zip_fail(z, SPMVX_ERR_UNSUPPORTED, "it is encrypted");
    if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
        return spx_zip_fail(z, SPMVX_ERR_UNSUPPORTED,
                            "it is compressed by method %d; stored (0) and deflated (8) ones are read",
                            (int)st->comp_method);
    const int64_t most = st->comp_method == ZIP_CM_STORE ? 1 : DEFLATE_MOST;
    if (st->comp_size > (zip_uint64_t)z->total || (int64_t)st->size / most > (int64_t)st->comp_size)
        return spx_zip_fail(z, SPMVX_ERR_FILE,
                            "%" PRIu64 " bytes cannot come of %" PRIu64
                            " compressed ones in a file of %" PRId64,
                            (uint64_t)st->size, (uint64_t)st->comp_size, z->total);
    return SPMVX_OK;
}

spmvx_status spx_zip_member(spx_zip *z, const char *name, int64_t *bytes)
{
    if (z->member) zip_fclose(z->member);
    z->member = NULL;
    z->name = name;
    z->ended = false;
    zip_stat_t st;
    zip_stat_init(&st);
    const zip_int64_t i = zip_name_locate(z->archive, name, 0);
    if (i < 0) return spx_zip_fail(z, SPMVX_ERR_FILE, "it is missing");
    if (zip_stat_index(z->archive, (zip_uint64_t)i, 0, &st)) return fail_by(z, zip_get_error(z->archive));
    SPX_TRY(check_member(z, &st));
    z->member = zip_fopen_index(z->archive, (zip_uint64_t)i, 0);
    if (!z->member) return fail_by(z, zip_get_error(z->archive));
    *bytes = (int64_t)st.size;
    return SPMVX_OK;
}

static spmvx_status report(const spx_zip *z, int64_t done)
{
    if (!z->options->progress || !z->options->progress(z->options->user, done, z->total)) return SPMVX_OK;
    return spx_zip_fail(z, SPMVX_ERR_CANCELLED, "the progress callback stopped the reading at byte %" PRId64,
                        done);
}

/* Reads up to so many bytes. *got is 0 at the end; libzip has compared the checksum then. */
static spmvx_status read_some(spx_zip *z, void *buf, size_t bytes, size_t *got)
{
    const zip_int64_t n = zip_fread(z->member, buf, bytes);
    if (n < 0) return fail_by(z, zip_file_get_error(z->member));
    *got = (size_t)n;
    z->ended = n == 0;
    return report(z, z->taken < z->total ? z->taken : z->total);
}

spmvx_status spx_zip_read(spx_zip *z, void *buf, size_t bytes)
{
    size_t got = 0;
    for (char *p = buf; bytes; p += got, bytes -= got) {
        SPX_TRY(read_some(z, p, bytes, &got));
        if (!got) return spx_zip_fail(z, SPMVX_ERR_FILE, "it ends before its array does");
    }
    return SPMVX_OK;
}

spmvx_status spx_zip_end(spx_zip *z)
{
    char rest[SKIP];
    size_t got = 0;
    while (!z->ended) SPX_TRY(read_some(z, rest, sizeof rest, &got));
    return SPMVX_OK;
}

spmvx_status spx_zip_done(spx_zip *z)
{
    z->name = NULL;
    return report(z, z->total);
}
