/* Bytes of a file. When its first bytes are those of compressed data, zlib, libzstd or liblzma decode it. */
#include "io/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
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

enum { INPUT = 1 << 16, MAGIC = 6 };
enum kind { PLAIN, GZIP, ZSTD, XZ };

struct spx_file_source {
    const spmvx_context *ctx;
    const char *path;
    int fd;
    enum kind kind;
    int64_t done, total; /* bytes read; bytes of the file, or -1 */
    size_t asked;        /* bytes that a decoder asked for last */
    size_t at, end;      /* of what is in input */
    bool eof, between;   /* the file was read to its end; the decoder stands between two members, or frames */
#ifdef SPX_ZLIB
    z_stream z;
#endif
#ifdef SPX_ZSTD
    ZSTD_DStream *zstd;
    size_t state, charged; /* bytes that it held when it was new; bytes that the budget counts for it */
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

static spmvx_status read_plain(spx_file_source *s, void *buf, size_t room, size_t *got)
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

static spmvx_status read_more(spx_file_source *s)
{
    size_t got = 0;
    SPX_TRY(read_plain(s, s->input + s->end, INPUT - s->end, &got));
    s->end += got;
    return SPMVX_OK;
}

static spmvx_status refill(spx_file_source *s)
{
    if (s->at < s->end || s->eof) return SPMVX_OK;
    s->at = s->end = 0;
    return read_more(s);
}

static spmvx_status damaged(const spx_file_source *s, const char *kind, const char *why)
{
    return spx_fail(s->ctx, SPMVX_ERR_FILE, "%s: the %s data is damaged or ends early near byte %lld (%s)",
                    spx_path_tail(s->path), kind, (long long)(s->done - (int64_t)(s->end - s->at)), why);
}

/* ---- one decoder each: open, and one step that moves input to output ----
 * zlib and liblzma take their memory from the context, which counts it. libzstd has no stable interface for
 * that: what it is about to take of the C library is charged to the budget before. */

__attribute__((unused)) static void *take(spx_file_source *s, size_t bytes)
{
    s->asked = bytes;
    return spx_try_alloc(s->ctx, bytes);
}

__attribute__((unused)) static spmvx_status no_memory(const spx_file_source *s, const char *what)
{
    return spx_fail_memory(s->ctx, s->asked, what);
}

#ifdef SPX_ZLIB
static void *z_alloc(void *source, unsigned n, unsigned each)
{
    return take(source, spx_bytes((int64_t)n, each));
}

static void z_free(void *source, void *p)
{
    spx_free(((const spx_file_source *)source)->ctx, p);
}

static spmvx_status gzip_open(spx_file_source *s)
{
    s->z.zalloc = z_alloc;
    s->z.zfree = z_free;
    s->z.opaque = s;
    return inflateInit2(&s->z, 15 + 16) == Z_OK ? SPMVX_OK : no_memory(s, "zlib's state");
}

static spmvx_status gzip_step(spx_file_source *s, char *buf, size_t room, size_t *got)
{
    s->z.next_in = s->input + s->at;
    s->z.avail_in = (unsigned)(s->end - s->at);
    s->z.next_out = (unsigned char *)buf;
    s->z.avail_out = room > UINT32_MAX ? UINT32_MAX : (unsigned)room;
    const unsigned before = s->z.avail_out;
    if (s->between) {
        /* zeros behind a member are padding, as for gzip */
        while (s->at < s->end && !s->input[s->at]) s->at++;
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
    else if (r == Z_MEM_ERROR) return no_memory(s, "zlib's window");
    else if (r != Z_OK && r != Z_BUF_ERROR) return damaged(s, "gzip", s->z.msg ? s->z.msg : "inflate");
    return SPMVX_OK;
}
#endif

#ifdef SPX_ZSTD
enum { ZSTD_HEADER = 18, ZSTD_BLOCK = 128 << 10 }; /* bytes at most, of a frame's header and of a block */

static spmvx_status zstd_charge(spx_file_source *s, size_t bytes, const char *what)
{
    if (bytes > s->charged && !spx_budget_charge(s->ctx, bytes - s->charged))
        return spx_fail_memory(s->ctx, bytes - s->charged, what);
    if (bytes < s->charged) spx_budget_discharge(s->ctx, s->charged - bytes);
    s->charged = bytes;
    return SPMVX_OK;
}

static spmvx_status zstd_open(spx_file_source *s)
{
    s->between = true;
    s->zstd = ZSTD_createDStream();
    if (!s->zstd) return spx_fail(s->ctx, SPMVX_ERR_MEMORY, "no memory for zstd's state");
    s->state = ZSTD_sizeof_DStream(s->zstd);
    const int most = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;
    ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, most);
    return zstd_charge(s, s->state, "zstd's state");
}

/* The window that a frame asks for; 0 where its header tells none.
 * Source: RFC 8878, Zstandard compression, section 3.1.1.1. */
static uint64_t zstd_window(const unsigned char *p, size_t n)
{
    enum { FLAGS = 4, WINDOW = 5, ONE_SEGMENT = 0x20, LEAST_LOG = 10 };
    const bool frame = n > WINDOW && !memcmp(p, "\x28\xb5\x2f\xfd", 4);
    if (!frame) return 0;
    const unsigned long long content = ZSTD_getFrameContentSize(p, n);
    const bool known = content != ZSTD_CONTENTSIZE_UNKNOWN && content != ZSTD_CONTENTSIZE_ERROR;
    if (p[FLAGS] & ONE_SEGMENT) return known ? content : 0;
    const uint64_t base = (uint64_t)1 << (LEAST_LOG + (p[WINDOW] >> 3));
    return base + base / 8 * (p[WINDOW] & 7);
}

/* Looks at the header of a frame before libzstd does, and charges what it is about to take: the window and
 * some blocks, or less where the whole content is smaller. */
static spmvx_status zstd_begin(spx_file_source *s)
{
    if (s->end - s->at < ZSTD_HEADER) {
        memmove(s->input, s->input + s->at, s->end - s->at);
        s->end -= s->at;
        s->at = 0;
        while (s->end < ZSTD_HEADER && !s->eof) SPX_TRY(read_more(s));
    }
    const unsigned char *p = s->input + s->at;
    const uint64_t window = zstd_window(p, s->end - s->at),
                   most = (uint64_t)1 << ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;
    if (!window) return SPMVX_OK;
    if (window > most)
        return spx_fail(s->ctx, SPMVX_ERR_UNSUPPORTED,
                        "%s: the zstd data needs a window of %" PRIu64 " bytes, and libzstd takes at most "
                        "%" PRIu64 " here; compress it again with a smaller --long",
                        spx_path_tail(s->path), window, most);
    uint64_t needed = window + 4 * ZSTD_BLOCK;
    const unsigned long long content =
        ZSTD_getFrameContentSize(p, s->end - s->at); /* very large when it is not known */
    if (content < window) needed = content + 4 * ZSTD_BLOCK;
    const size_t all = spx_plus(s->state, needed > SIZE_MAX ? SIZE_MAX : (size_t)needed);
    char what[80];
    snprintf(what, sizeof what, "the window of %" PRIu64 " bytes of its zstd data", window);
    return all <= s->charged ? SPMVX_OK : zstd_charge(s, all, what);
}

static spmvx_status zstd_step(spx_file_source *s, char *buf, size_t room, size_t *got)
{
    const bool first = s->between;
    if (first) SPX_TRY(zstd_begin(s));
    ZSTD_outBuffer out = { buf, room, 0 };
    ZSTD_inBuffer in = { s->input + s->at, s->end - s->at, 0 };
    const size_t r = ZSTD_decompressStream(s->zstd, &out, &in);
    s->at += in.pos;
    *got = out.pos;
    if (ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation)
        return spx_fail(s->ctx, SPMVX_ERR_MEMORY, "%s: no memory for the window of its zstd data",
                        spx_path_tail(s->path));
    if (ZSTD_isError(r)) return damaged(s, "zstd", ZSTD_getErrorName(r));
    s->between = r == 0;
    return first ? zstd_charge(s, ZSTD_sizeof_DStream(s->zstd), "zstd's state") : SPMVX_OK;
}
#endif

#ifdef SPX_LZMA
static void *xz_alloc(void *source, size_t n, size_t each)
{
    return take(source, spx_bytes((int64_t)n, each));
}

static void xz_free(void *source, void *p)
{
    spx_free(((const spx_file_source *)source)->ctx, p);
}

static spmvx_status xz_open(spx_file_source *s)
{
    s->xz_allocator = (lzma_allocator){ xz_alloc, xz_free, s };
    s->xz = (lzma_stream)LZMA_STREAM_INIT;
    s->xz.allocator = &s->xz_allocator;
    const lzma_ret r = lzma_stream_decoder(&s->xz, UINT64_MAX, LZMA_CONCATENATED);
    return r == LZMA_OK ? SPMVX_OK : no_memory(s, "liblzma's state");
}

static spmvx_status xz_step(spx_file_source *s, char *buf, size_t room, size_t *got)
{
    s->xz.next_in = s->input + s->at;
    s->xz.avail_in = s->end - s->at;
    s->xz.next_out = (unsigned char *)buf;
    s->xz.avail_out = room;
    const lzma_ret r = lzma_code(&s->xz, s->eof ? LZMA_FINISH : LZMA_RUN);
    s->at = s->end - s->xz.avail_in;
    *got = room - s->xz.avail_out;
    s->between = r == LZMA_STREAM_END;
    if (r == LZMA_MEM_ERROR) return no_memory(s, "the window of its xz data");
    if (r != LZMA_OK && r != LZMA_STREAM_END && r != LZMA_BUF_ERROR) return damaged(s, "xz", "liblzma");
    return SPMVX_OK;
}
#endif

typedef struct decoder {
    const char *name, *library;
    const char *magic;
    size_t magic_bytes;
    spmvx_status (*open)(spx_file_source *); /* NULL: not in this build */
    spmvx_status (*step)(spx_file_source *, char *buf, size_t room, size_t *got);
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
    [XZ] = { "xz", "liblzma",
             "\xfd"
             "7zXZ",
             6, xz_open, xz_step },
};

static spmvx_status tell_kind(spx_file_source *s)
{
    while (s->end < MAGIC && !s->eof) SPX_TRY(read_more(s)); /* a pipe may give a byte at a time */
    if (s->end) s->eof = false;
    for (enum kind k = GZIP; k <= XZ; k++) {
        const decoder *d = &decoders[k];
        if (s->end < d->magic_bytes || memcmp(s->input, d->magic, d->magic_bytes)) continue;
        if (!d->open)
            return spx_fail(s->ctx, SPMVX_ERR_UNSUPPORTED,
                            "%s is compressed by %s, and this libspmvx was built without %s",
                            spx_path_tail(s->path), d->name, d->library);
        s->kind = k;
        return d->open(s);
    }
    return SPMVX_OK;
}

spmvx_status spx_file_source_open(const spmvx_context *ctx, const char *path, spx_file_source **out)
{
    spx_file_source *s;
    SPX_TRY(spx_calloc(ctx, sizeof *s, "a file's buffer", &s));
    s->ctx = ctx;
    s->path = path;
    s->total = -1;
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    spmvx_status status = s->fd < 0 ? fail_io(ctx, path, "cannot open") : SPMVX_OK;
    struct stat st;
    if (status == SPMVX_OK && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode)) s->total = st.st_size;
    if (status == SPMVX_OK) status = tell_kind(s);
    if (status == SPMVX_OK) *out = s;
    else spx_file_source_close(s);
    return status;
}

spmvx_status spx_file_source_read(spx_file_source *s, char *buf, size_t room, size_t *got)
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
        if (s->eof && s->between && s->at == s->end) return SPMVX_OK;
        SPX_TRY(decoders[s->kind].step(s, buf, room, got));
        if (s->eof && !*got && !s->between) return damaged(s, decoders[s->kind].name, "end of file");
    }
    return SPMVX_OK;
}

void spx_file_source_progress(const spx_file_source *s, int64_t *done, int64_t *total)
{
    *done = s->done - (int64_t)(s->end - s->at);
    *total = s->total;
}

int64_t spx_file_source_plain_bytes(const spx_file_source *s)
{
    return s->kind == PLAIN ? spx_max(s->total, 0) : 0;
}

void spx_file_source_close(spx_file_source *s)
{
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
#ifdef SPX_ZLIB
    if (s->kind == GZIP) inflateEnd(&s->z);
#endif
#ifdef SPX_ZSTD
    ZSTD_freeDStream(s->zstd);
    spx_budget_discharge(s->ctx, s->charged);
#endif
#ifdef SPX_LZMA
    if (s->kind == XZ) lzma_end(&s->xz);
#endif
    spx_free(s->ctx, s);
}
