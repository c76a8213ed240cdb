/* Bytes into a file, through zlib, libzstd or liblzma by its name. */
#include "io/sink.h"

#include <string.h>

#include "io/outfile.h"

#ifdef SPX_ZLIB
#include <zlib.h>
#endif
#ifdef SPX_ZSTD
#include <zstd.h>
#endif
#ifdef SPX_LZMA
#include <lzma.h>
#endif

enum { OUTPUT = 1 << 16 };

struct spx_sink {
    const spmvx_context *ctx;
    const char *path;
    spx_outfile file;
    spmvx_compression kind; /* not BY_NAME */
    bool open;              /* the compressor has state */
#ifdef SPX_ZLIB
    z_stream z;
#endif
#ifdef SPX_ZSTD
    ZSTD_CStream *zstd;
#endif
#ifdef SPX_LZMA
    lzma_stream xz;
    lzma_allocator xz_allocator;
#endif
    unsigned char output[OUTPUT];
};

__attribute__((unused)) /* in a build without compressors */
static spmvx_status
bad_level(const spx_sink *s, int level, const char *kind, int most)
{
    return spx_fail(s->ctx, SPMVX_ERR_ARGUMENT, "options.level is %d; %s takes 1 to %d, or 0 for its default",
                    level, kind, most);
}

/* ---- one encoder each: open, and push what is there; `end` finishes ---- */

#ifdef SPX_ZLIB
static void *z_alloc(void *ctx, unsigned n, unsigned each)
{
    return spx_try_alloc(ctx, spx_bytes((int64_t)n, each));
}

static void z_free(void *ctx, void *p)
{
    spx_free(ctx, p);
}

static spmvx_status gzip_open(spx_sink *s, int level)
{
    if (level > 9) return bad_level(s, level, "gzip", 9);
    union {
        const spmvx_context *in;
        void *out;
    } ctx = { s->ctx };
    s->z.zalloc = z_alloc;
    s->z.zfree = z_free;
    s->z.opaque = ctx.out;
    if (deflateInit2(&s->z, level ? level : Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return spx_fail(s->ctx, SPMVX_ERR_MEMORY, "no memory for zlib's state");
    return SPMVX_OK;
}

static spmvx_status gzip_push(spx_sink *s, const char *buf, size_t bytes, bool end)
{
    union {
        const char *in;
        unsigned char *out;
    } in = { buf }; /* zlib does not write there */
    int r = Z_OK;
    do {
        const unsigned part = bytes > INT32_MAX ? INT32_MAX : (unsigned)bytes;
        s->z.next_in = in.out;
        s->z.avail_in = part;
        s->z.next_out = s->output;
        s->z.avail_out = OUTPUT;
        r = deflate(&s->z, end ? Z_FINISH : Z_NO_FLUSH);
        in.out += part - s->z.avail_in;
        bytes -= part - s->z.avail_in;
        SPX_TRY(spx_outfile_write(&s->file, s->output, OUTPUT - s->z.avail_out));
    } while (bytes || (end && r != Z_STREAM_END));
    return SPMVX_OK;
}
#endif

#ifdef SPX_ZSTD
static spmvx_status zstd_open(spx_sink *s, int level)
{
    if (level > ZSTD_maxCLevel()) return bad_level(s, level, "zstd", ZSTD_maxCLevel());
    s->zstd = ZSTD_createCStream();
    if (!s->zstd || ZSTD_isError(ZSTD_initCStream(s->zstd, level ? level : ZSTD_CLEVEL_DEFAULT)))
        return spx_fail(s->ctx, SPMVX_ERR_MEMORY, "no memory for zstd's state");
    return SPMVX_OK;
}

static spmvx_status zstd_push(spx_sink *s, const char *buf, size_t bytes, bool end)
{
    ZSTD_inBuffer in = { buf, bytes, 0 };
    size_t left;
    do {
        ZSTD_outBuffer out = { s->output, OUTPUT, 0 };
        left = ZSTD_compressStream2(s->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return spx_fail(s->ctx, SPMVX_ERR_MEMORY, "zstd: %s", ZSTD_getErrorName(left));
        SPX_TRY(spx_outfile_write(&s->file, s->output, out.pos));
    } while (in.pos < in.size || (end && left));
    return SPMVX_OK;
}
#endif

#ifdef SPX_LZMA
static void *xz_alloc(void *ctx, size_t n, size_t each)
{
    return spx_try_alloc(ctx, spx_bytes((int64_t)n, each));
}

static void xz_free(void *ctx, void *p)
{
    spx_free(ctx, p);
}

static spmvx_status xz_open(spx_sink *s, int level)
{
    if (level > 9) return bad_level(s, level, "xz", 9);
    union {
        const spmvx_context *in;
        void *out;
    } ctx = { s->ctx };
    s->xz_allocator = (lzma_allocator){ xz_alloc, xz_free, ctx.out };
    s->xz = (lzma_stream)LZMA_STREAM_INIT;
    s->xz.allocator = &s->xz_allocator;
    if (lzma_easy_encoder(&s->xz, level ? (uint32_t)level : LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64) != LZMA_OK)
        return spx_fail(s->ctx, SPMVX_ERR_MEMORY, "no memory for liblzma's state");
    return SPMVX_OK;
}

static spmvx_status xz_push(spx_sink *s, const char *buf, size_t bytes, bool end)
{
    lzma_ret r;
    s->xz.next_in = (const unsigned char *)buf;
    s->xz.avail_in = bytes;
    do {
        s->xz.next_out = s->output;
        s->xz.avail_out = OUTPUT;
        r = lzma_code(&s->xz, end ? LZMA_FINISH : LZMA_RUN);
        if (r != LZMA_OK && r != LZMA_STREAM_END)
            return spx_fail(s->ctx, SPMVX_ERR_MEMORY, "no memory for liblzma's encoder");
        SPX_TRY(spx_outfile_write(&s->file, s->output, OUTPUT - s->xz.avail_out));
    } while (s->xz.avail_in || (end && r != LZMA_STREAM_END));
    return SPMVX_OK;
}
#endif

#ifndef SPX_ZLIB
#define gzip_open NULL
#define gzip_push NULL
#endif
#ifndef SPX_ZSTD
#define zstd_open NULL
#define zstd_push NULL
#endif
#ifndef SPX_LZMA
#define xz_open NULL
#define xz_push NULL
#endif

static const struct {
    const char *ending, *library;
    spmvx_status (*open)(spx_sink *, int level);
    spmvx_status (*push)(spx_sink *, const char *buf, size_t bytes, bool end);
} encoders[] = {
    [SPMVX_GZIP] = { ".gz", "zlib", gzip_open, gzip_push },
    [SPMVX_ZSTD] = { ".zst", "libzstd", zstd_open, zstd_push },
    [SPMVX_XZ] = { ".xz", "liblzma", xz_open, xz_push },
};

spmvx_compression spx_sink_compression(const char *path, size_t *ending)
{
    const size_t n = strlen(path);
    for (spmvx_compression k = SPMVX_GZIP; k <= SPMVX_XZ; k++) {
        *ending = strlen(encoders[k].ending);
        if (n >= *ending && !strcmp(path + n - *ending, encoders[k].ending)) return k;
    }
    *ending = 0;
    return SPMVX_UNCOMPRESSED;
}

static spmvx_status open_encoder(spx_sink *s, spmvx_compression kind, int level)
{
    size_t ending;
    s->kind = kind == SPMVX_BY_NAME ? spx_sink_compression(s->path, &ending) : kind;
    if (s->kind == SPMVX_UNCOMPRESSED) return SPMVX_OK;
    if (!encoders[s->kind].open)
        return spx_fail(s->ctx, SPMVX_ERR_UNSUPPORTED,
                        "%s asks for %s, and this libspmvx was built without %s", spx_path_tail(s->path),
                        encoders[s->kind].ending, encoders[s->kind].library);
    s->open = true;
    return encoders[s->kind].open(s, level);
}

static spmvx_status new_sink(const spmvx_context *ctx, const char *path, spmvx_compression kind, int level,
                             spx_sink **out)
{
    spx_sink *s;
    SPX_TRY(spx_calloc(ctx, sizeof *s, "a file's buffer", &s));
    s->ctx = ctx;
    s->path = path;
    s->file.fd = s->file.folder = -1;
    const spmvx_status status = open_encoder(s, kind, level);
    if (status == SPMVX_OK) *out = s;
    else spx_sink_close(s, false);
    return status;
}

spmvx_status spx_sink_check(const spmvx_context *ctx, const char *path, spmvx_compression kind, int level)
{
    spx_sink *s;
    SPX_TRY(new_sink(ctx, path, kind, level, &s));
    spx_sink_close(s, false);
    return spx_outfile_check(ctx, path);
}

spmvx_status spx_sink_open(const spmvx_context *ctx, const char *path, spmvx_compression kind, int level,
                           spx_sink **out)
{
    spx_sink *s;
    SPX_TRY(new_sink(ctx, path, kind, level, &s));
    const spmvx_status status = spx_outfile_open(ctx, path, &s->file);
    if (status == SPMVX_OK) *out = s;
    else spx_sink_close(s, false);
    return status;
}

spmvx_status spx_sink_write(spx_sink *s, const char *buf, size_t bytes)
{
    if (s->kind == SPMVX_UNCOMPRESSED) return spx_outfile_write(&s->file, buf, bytes);
    return encoders[s->kind].push(s, buf, bytes, false);
}

spmvx_status spx_sink_seek(spx_sink *s, int64_t to)
{
    return spx_outfile_seek(&s->file, to);
}

spmvx_status spx_sink_close(spx_sink *s, bool keep)
{
    spmvx_status status = SPMVX_OK;
    if (keep && s->open) status = encoders[s->kind].push(s, "", 0, true);
    const spmvx_status closed = spx_outfile_close(&s->file, keep && status == SPMVX_OK);
    if (status == SPMVX_OK) status = closed;
#ifdef SPX_ZLIB
    if (s->open && s->kind == SPMVX_GZIP) deflateEnd(&s->z);
#endif
#ifdef SPX_ZSTD
    ZSTD_freeCStream(s->zstd);
#endif
#ifdef SPX_LZMA
    if (s->open && s->kind == SPMVX_XZ) lzma_end(&s->xz);
#endif
    spx_free(s->ctx, s);
    return status;
}
