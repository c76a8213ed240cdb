/* Bytes of a file, through zlib, libzstd or liblzma where its first bytes call for it. */
#include "io/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef SPX_ZLIB
#include <zlib.h>
#endif
#ifdef SPX_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif
#ifdef SPX_LZMA
#include <lzma.h>
#endif

enum { INPUT = 1 << 16, MAGIC = 6, GZIP_HOLDS = 48 << 10 };
enum kind { PLAIN, GZIP, ZSTD, XZ };

struct spx_source {
    const spmvx_context *ctx;
    const char *path;
    int fd;
    enum kind kind;
    size_t budget;              /* of the decoder */
    int64_t done, total;
    size_t at, end;             /* of what is in input */
    bool eof, between;          /* file read to its end; between two members of a compressed file */
#ifdef SPX_ZLIB
    z_stream z;
#endif
#ifdef SPX_ZSTD
    ZSTD_DStream *zstd;
#endif
#ifdef SPX_LZMA
    lzma_stream xz;
    lzma_allocator xz_allocator;
#endif
    unsigned char input[INPUT];
};

static spmvx_status fail_io(const spmvx_context *ctx, const char *path, const char *what)
{
    return spx_fail(ctx, SPMVX_ERR_IO, "%s: %s: %s", spx_path_tail(path), what, strerror(errno));
}

static spmvx_status read_plain(spx_source *s, void *buf, size_t room, size_t *got)
{
    ssize_t n;
    do n = read(s->fd, buf, room);
    while (n < 0 && errno == EINTR);
    if (n < 0) return fail_io(s->ctx, s->path, "cannot read");
    s->done += n;
    s->eof = n == 0;
    *got = (size_t)n;
    return SPMVX_OK;
}

static spmvx_status read_more(spx_source *s)
{
    size_t got = 0;
    SPX_TRY(read_plain(s, s->input + s->end, INPUT - s->end, &got));
    s->end += got;
    return SPMVX_OK;
}

static spmvx_status refill(spx_source *s)
{
    if (s->at < s->end || s->eof) return SPMVX_OK;
    s->at = s->end = 0;
    return read_more(s);
}

/* What needs more memory than it was given. */
__attribute__((unused))
static spmvx_status beyond(const spx_source *s, const char *kind)
{
    return spx_fail(s->ctx, SPMVX_ERR_LIMIT, "%s: the %s data needs a larger window than options.max_bytes leaves (%zu bytes)", spx_path_tail(s->path),
                    kind, s->budget);
}

static spmvx_status damaged(const spx_source *s, const char *kind, const char *why)
{
    return spx_fail(s->ctx, SPMVX_ERR_FILE, "%s: the %s data is damaged or ends early near byte %lld (%s)", spx_path_tail(s->path), kind,
                    (long long)(s->done - (int64_t)(s->end - s->at)), why);
}

/* ---- one decoder each: open, and one step that moves input to output ---- */

#ifdef SPX_ZLIB
static void *z_alloc(void *ctx, unsigned n, unsigned each)
{
    return spx_raw_alloc(&((const spmvx_context *)ctx)->allocator, spx_bytes((int64_t)n, each));
}

static void z_free(void *ctx, void *p)
{
    spx_free(ctx, p);
}

static spmvx_status gzip_open(spx_source *s)
{
    if (s->budget < GZIP_HOLDS) return beyond(s, "gzip");
    union { const spmvx_context *in; void *out; } ctx = { s->ctx };
    s->z.zalloc = z_alloc;
    s->z.zfree = z_free;
    s->z.opaque = ctx.out;
    return inflateInit2(&s->z, 15 + 16) == Z_OK ? SPMVX_OK : spx_fail(s->ctx, SPMVX_ERR_MEMORY, "no memory for zlib's state");
}

static spmvx_status gzip_step(spx_source *s, char *buf, size_t room, size_t *got)
{
    s->z.next_in = s->input + s->at;
    s->z.avail_in = (unsigned)(s->end - s->at);
    s->z.next_out = (unsigned char *)buf;
    s->z.avail_out = room > UINT32_MAX ? UINT32_MAX : (unsigned)room;
    const unsigned before = s->z.avail_out;
    if (s->between) {
        while (s->at < s->end && !s->input[s->at]) s->at++;   /* zeros behind a member are padding, as for gzip */
        if (s->at == s->end) return SPMVX_OK;
        s->z.next_in = s->input + s->at;
        s->z.avail_in = (unsigned)(s->end - s->at);
        if (inflateReset(&s->z) != Z_OK) return damaged(s, "gzip", "no next member");
    }
    s->between = false;
    const int r = inflate(&s->z, Z_NO_FLUSH);
    s->at = s->end - s->z.avail_in;
    *got = before - s->z.avail_out;
    if (r == Z_STREAM_END) s->between = true;
    else if (r == Z_MEM_ERROR) return spx_fail(s->ctx, SPMVX_ERR_MEMORY, "no memory for zlib's window");
    else if (r != Z_OK && r != Z_BUF_ERROR) return damaged(s, "gzip", s->z.msg ? s->z.msg : "inflate");
    return SPMVX_OK;
}
#endif

#ifdef SPX_ZSTD
static spmvx_status zstd_open(spx_source *s)
{
    s->zstd = ZSTD_createDStream();
    if (!s->zstd) return spx_fail(s->ctx, SPMVX_ERR_MEMORY, "no memory for zstd's state");
    s->between = true;
    return SPMVX_OK;
}

/* The window of the next frame, and its buffers beside it, within the budget. */
static spmvx_status zstd_limit(spx_source *s)
{
    const size_t state = ZSTD_sizeof_DStream(s->zstd) + (256 << 10);
    int log = 0;
    while (log < 27 && s->budget > state && (size_t)2 << log <= s->budget - state) log++;
    return log < 10 || ZSTD_isError(ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, log)) ? beyond(s, "zstd") : SPMVX_OK;
}

static spmvx_status zstd_step(spx_source *s, char *buf, size_t room, size_t *got)
{
    if (s->between) SPX_TRY(zstd_limit(s));
    ZSTD_outBuffer out = { buf, room, 0 };
    ZSTD_inBuffer in = { s->input + s->at, s->end - s->at, 0 };
    const size_t r = ZSTD_decompressStream(s->zstd, &out, &in);
    s->at += in.pos;
    *got = out.pos;
    if (s->budget != SIZE_MAX && ZSTD_getErrorCode(r) == ZSTD_error_frameParameter_windowTooLarge) return beyond(s, "zstd");
    if (ZSTD_isError(r)) return damaged(s, "zstd", ZSTD_getErrorName(r));
    s->between = r == 0;
    return SPMVX_OK;
}
#endif

#ifdef SPX_LZMA
static void *xz_alloc(void *ctx, size_t n, size_t each)
{
    return spx_raw_alloc(&((const spmvx_context *)ctx)->allocator, spx_bytes((int64_t)n, each));
}

static void xz_free(void *ctx, void *p)
{
    spx_free(ctx, p);
}

static spmvx_status xz_open(spx_source *s)
{
    union { const spmvx_context *in; void *out; } ctx = { s->ctx };
    s->xz_allocator = (lzma_allocator){ xz_alloc, xz_free, ctx.out };
    s->xz = (lzma_stream)LZMA_STREAM_INIT;
    s->xz.allocator = &s->xz_allocator;
    const lzma_ret r = lzma_stream_decoder(&s->xz, s->budget, LZMA_CONCATENATED);
    return r == LZMA_OK ? SPMVX_OK : spx_fail(s->ctx, SPMVX_ERR_MEMORY, "no memory for liblzma's state");
}

static spmvx_status xz_step(spx_source *s, char *buf, size_t room, size_t *got)
{
    lzma_memlimit_set(&s->xz, s->budget);   /* refused while the decoder holds more: then nothing has changed */
    s->xz.next_in = s->input + s->at;
    s->xz.avail_in = s->end - s->at;
    s->xz.next_out = (unsigned char *)buf;
    s->xz.avail_out = room;
    const lzma_ret r = lzma_code(&s->xz, s->eof ? LZMA_FINISH : LZMA_RUN);
    s->at = s->end - s->xz.avail_in;
    *got = room - s->xz.avail_out;
    s->between = r == LZMA_STREAM_END;
    if (r == LZMA_MEMLIMIT_ERROR) return beyond(s, "xz");
    if (r == LZMA_MEM_ERROR) return spx_fail(s->ctx, SPMVX_ERR_MEMORY, "no memory for liblzma's window");
    if (r != LZMA_OK && r != LZMA_STREAM_END && r != LZMA_BUF_ERROR) return damaged(s, "xz", "liblzma");
    return SPMVX_OK;
}
#endif

typedef struct decoder {
    const char *name, *library;
    const char *magic;
    size_t magic_bytes;
    spmvx_status (*open)(spx_source *);      /* NULL: not in this build */
    spmvx_status (*step)(spx_source *, char *buf, size_t room, size_t *got);
} decoder;

#ifndef SPX_ZLIB
#define gzip_open NULL
#define gzip_step NULL
#endif
#ifndef SPX_ZSTD
#define zstd_open NULL
#define zstd_step NULL
#endif
#ifndef SPX_LZMA
#define xz_open NULL
#define xz_step NULL
#endif

static const decoder decoders[] = {
    [GZIP] = { "gzip", "zlib", "\x1f\x8b", 2, gzip_open, gzip_step },
    [ZSTD] = { "zstd", "libzstd", "\x28\xb5\x2f\xfd", 4, zstd_open, zstd_step },
    [XZ] = { "xz", "liblzma", "\xfd" "7zXZ", 6, xz_open, xz_step },
};

static spmvx_status tell_kind(spx_source *s)
{
    while (s->end < MAGIC && !s->eof) SPX_TRY(read_more(s));   /* a pipe may give a byte at a time */
    if (s->end) s->eof = false;
    for (enum kind k = GZIP; k <= XZ; k++) {
        const decoder *d = &decoders[k];
        if (s->end < d->magic_bytes || memcmp(s->input, d->magic, d->magic_bytes)) continue;
        if (!d->open)
            return spx_fail(s->ctx, SPMVX_ERR_UNSUPPORTED, "%s is compressed by %s, and this libspmvx was built without %s", spx_path_tail(s->path), d->name, d->library);
        s->kind = k;
        return d->open(s);
    }
    return SPMVX_OK;
}

spmvx_status spx_source_open(const spmvx_context *ctx, const char *path, size_t budget, spx_source **out)
{
    spx_source *s;
    SPX_TRY(spx_calloc(ctx, sizeof *s, "a file's buffer", &s));
    s->ctx = ctx;
    s->path = path;
    s->budget = budget;
    s->total = -1;
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    spmvx_status status = s->fd < 0 ? fail_io(ctx, path, "cannot open") : SPMVX_OK;
    struct stat st;
    if (status == SPMVX_OK && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode)) s->total = st.st_size;
    if (status == SPMVX_OK) status = tell_kind(s);
    if (status == SPMVX_OK) *out = s;
    else spx_source_close(s);
    return status;
}

spmvx_status spx_source_read(spx_source *s, char *buf, size_t room, size_t *got)
{
    *got = 0;
    if (s->kind == PLAIN && s->at == s->end && !s->eof) return read_plain(s, buf, room, got);
    while (!*got) {
        SPX_TRY(refill(s));
        if (s->kind == PLAIN) {
            *got = s->end - s->at < room ? s->end - s->at : room;
            memcpy(buf, s->input + s->at, *got);
            s->at += *got;
            return SPMVX_OK;
        }
        if (s->eof && s->between) return SPMVX_OK;
        SPX_TRY(decoders[s->kind].step(s, buf, room, got));
        if (s->eof && !*got && !s->between) return damaged(s, decoders[s->kind].name, "end of file");
    }
    return SPMVX_OK;
}

void spx_source_progress(const spx_source *s, int64_t *done, int64_t *total)
{
    *done = s->done - (int64_t)(s->end - s->at);
    *total = s->total;
}

int64_t spx_source_plain_bytes(const spx_source *s)
{
    return s->kind == PLAIN ? spx_max(s->total, 0) : 0;
}

size_t spx_source_least(void)
{
    return sizeof(spx_source);
}

void spx_source_set_budget(spx_source *s, size_t budget)
{
    s->budget = budget;
}

size_t spx_source_held(const spx_source *s)
{
    if (!s) return 0;
    size_t bytes = sizeof *s;
#ifdef SPX_ZLIB
    if (s->kind == GZIP) bytes += GZIP_HOLDS;
#endif
#ifdef SPX_ZSTD
    if (s->kind == ZSTD) bytes += ZSTD_sizeof_DStream(s->zstd);
#endif
#ifdef SPX_LZMA
    if (s->kind == XZ) bytes += (size_t)lzma_memusage(&s->xz);
#endif
    return bytes;
}

void spx_source_close(spx_source *s)
{
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
#ifdef SPX_ZLIB
    if (s->kind == GZIP) inflateEnd(&s->z);
#endif
#ifdef SPX_ZSTD
    ZSTD_freeDStream(s->zstd);
#endif
#ifdef SPX_LZMA
    if (s->kind == XZ) lzma_end(&s->xz);
#endif
    spx_free(s->ctx, s);
}
