/* Matrices as SciPy reads them (scipy.sparse.load_npz): CSR and COO as NumPy arrays in a ZIP archive. libzip
 * writes it through the same sink as other files, so that it appears whole or not at all, too. */
#include <errno.h>
#include <string.h>
#include <zip.h>

#include "io/io.h"
#include "io/npy.h"
#include "io/sink.h"

/* ---- the archive, as libzip sees it ---- */

typedef struct output {
    spx_sink *sink;
    int64_t at, end;     /* place of the next byte; bytes in all */
    spmvx_status status; /* why a callback failed */
    zip_error_t error;
} output;

static zip_int64_t broken(output *o, spmvx_status status)
{
    o->status = status;
    zip_error_set(&o->error, ZIP_ER_WRITE, EIO);
    return -1;
}

static zip_int64_t put(output *o, const void *data, zip_uint64_t bytes)
{
    const spmvx_status s = spx_sink_write(o->sink, data, bytes);
    if (s != SPMVX_OK) return broken(o, s);
    o->at += (int64_t)bytes;
    o->end = spx_max(o->end, o->at);
    return (zip_int64_t)bytes;
}

static zip_int64_t go_to(output *o, void *data, zip_uint64_t bytes)
{
    const zip_int64_t to =
        zip_source_seek_compute_offset((zip_uint64_t)o->at, (zip_uint64_t)o->end, data, bytes, &o->error);
    if (to < 0) return -1;
    const spmvx_status s = spx_sink_seek(o->sink, to);
    if (s != SPMVX_OK) return broken(o, s);
    o->at = to;
    return 0;
}

/* libzip sees an empty file: what was there before is replaced as a whole. */
static zip_int64_t serve_archive(void *user, void *data, zip_uint64_t bytes, zip_source_cmd_t command)
{
    output *o = user;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_STAT: zip_stat_init(data); return sizeof(zip_stat_t);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&o->error, data, bytes);
    case ZIP_SOURCE_WRITE: return put(o, data, bytes);
    case ZIP_SOURCE_SEEK_WRITE: return go_to(o, data, bytes);
    case ZIP_SOURCE_TELL_WRITE: return o->at;
    case ZIP_SOURCE_READ:
    case ZIP_SOURCE_OPEN:
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_COMMIT_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE: return 0;
    default: zip_error_set(&o->error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

/* ---- a member: header and elements ---- */

/* Who is told how much of all members libzip has taken. */
typedef struct teller {
    const spmvx_context *ctx;
    const char *path;
    const spmvx_write_options *options;
    output *o;
    size_t done, total; /* bytes */
    int64_t nnz;
} teller;

typedef struct member {
    teller *teller;
    const char *name;
    char header[SPX_NPY_HEADER];
    size_t header_bytes, bytes, at; /* of the header; of the elements; of both, those that libzip has taken */
    const void *data;
    zip_error_t error;
} member;

static size_t give(member *m, char *out, size_t room)
{
    size_t n = 0;
    if (m->at < m->header_bytes) {
        n = m->header_bytes - m->at < room ? m->header_bytes - m->at : room;
        memcpy(out, m->header + m->at, n);
        m->at += n;
    }
    const size_t done = m->at - m->header_bytes, left = m->bytes - done,
                 more = left < room - n ? left : room - n;
    if (m->at < m->header_bytes || !more) return n;
    memcpy(out + n, (const char *)m->data + done, more);
    m->at += more;
    return n + more;
}

/* In entries, of which each member has its share of bytes. */
static spmvx_status tell(teller *t, size_t bytes)
{
    t->done += bytes;
    const double share = t->done < t->total ? (double)t->done / (double)t->total : 1.0;
    return spx_write_step(t->ctx, t->path, t->options, (int64_t)(share * (double)t->nnz), t->nnz);
}

static zip_int64_t read_member(member *m, char *data, zip_uint64_t bytes)
{
    const size_t n = give(m, data, bytes);
    const spmvx_status s = tell(m->teller, n);
    if (s == SPMVX_OK) return (zip_int64_t)n;
    m->teller->o->status = s;
    zip_error_set(&m->error, ZIP_ER_CANCELLED, 0);
    return -1;
}

static zip_int64_t serve_member(void *user, void *data, zip_uint64_t bytes, zip_source_cmd_t command)
{
    member *m = user;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_READABLE;
    case ZIP_SOURCE_OPEN: m->at = 0; return 0;
    case ZIP_SOURCE_READ: return read_member(m, data, bytes);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&m->error, data, bytes);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    case ZIP_SOURCE_STAT: {
        zip_stat_t *st = data;
        zip_stat_init(st);
        st->valid = ZIP_STAT_SIZE;
        st->size = m->header_bytes + m->bytes;
        return sizeof *st;
    }
    default: zip_error_set(&m->error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

static member member_of(const char *name, const char *type, size_t each, int dims, int64_t count,
                        const void *data)
{
    member m = { .name = name, .bytes = (size_t)count * each, .data = data };
    m.header_bytes = spx_npy_header(type, dims, count, m.header);
    return m;
}

/* Every member has the same date, the earliest of the format, so that the same matrix gives the same
 * bytes. */
static bool add_member(zip_t *archive, member *m, int level)
{
    enum { JANUARY_1980 = 1 << 5 | 1 };
    zip_source_t *source = zip_source_function(archive, serve_member, m);
    const zip_int64_t i = source ? zip_file_add(archive, m->name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (i < 0) {
        zip_source_free(source);
        return false;
    }
    return !zip_set_file_compression(archive, (zip_uint64_t)i, ZIP_CM_DEFLATE, (zip_uint32_t)level) &&
           !zip_file_set_dostime(archive, (zip_uint64_t)i, 0, JANUARY_1980, 0);
}

/* ---- all together ---- */

enum { MEMBERS = 5 };

static void describe(const spx_sparse *a, const int64_t shape[2], member m[MEMBERS])
{
    const bool coo = a->format == SPMVX_COO;
    const size_t each = spx_type_bytes(a->val_type), ptr_each = spx_type_bytes(a->ptr_type);
    m[0] = coo ? member_of("row.npy", "i4", 4, 1, a->nnz, spx_data(a, SPX_ROW))
               : member_of("indices.npy", "i4", 4, 1, a->nnz, spx_data(a, SPX_COL));
    m[1] = coo ? member_of("col.npy", "i4", 4, 1, a->nnz, spx_data(a, SPX_COL))
               : member_of("indptr.npy", ptr_each == 8 ? "i8" : "i4", ptr_each, 1, a->nrows + 1,
                           spx_data(a, SPX_PTR));
    m[2] = member_of("format.npy", "S3", 3, 0, 1, coo ? "coo" : "csr");
    m[3] = member_of("shape.npy", "i8", 8, 1, 2, shape);
    m[4] = member_of("data.npy", each == 8 ? "f8" : "f4", each, 1, a->nnz, spx_data(a, SPX_VAL));
}

static spmvx_status fail_by(const spmvx_context *ctx, const char *path, const output *o, zip_error_t *e)
{
    if (o->status != SPMVX_OK) return o->status;
    if (zip_error_code_zip(e) == ZIP_ER_MEMORY)
        return spx_fail(ctx, SPMVX_ERR_MEMORY, "%s: no memory for libzip", spx_path_tail(path));
    return spx_fail(ctx, SPMVX_ERR_IO, "%s: libzip cannot write: %s", spx_path_tail(path),
                    zip_error_strerror(e));
}

static spmvx_status write_archive(const spmvx_context *ctx, const char *path, output *o, member m[MEMBERS],
                                  int level)
{
    zip_error_t e;
    zip_error_init(&e);
    zip_source_t *target = zip_source_function_create(serve_archive, o, &e);
    zip_t *archive = target ? zip_open_from_source(target, ZIP_CREATE | ZIP_TRUNCATE, &e) : NULL;
    if (target && !archive) zip_source_free(target);
    bool ok = archive;
    for (int i = 0; i < MEMBERS && ok; i++) ok = add_member(archive, &m[i], level);
    if (ok) ok = !zip_close(archive); /* this call writes everything */
    spmvx_status s = SPMVX_OK;
    if (!ok) {
        s = fail_by(ctx, path, o, archive ? zip_get_error(archive) : &e);
        if (archive) zip_discard(archive);
    }
    zip_error_fini(&e);
    return s;
}

spmvx_status spx_npz_write(const spmvx_context *ctx, const spx_sparse *a, const char *path,
                           const spmvx_write_options *options)
{
    const int64_t shape[2] = { a->nrows, a->ncols };
    member m[MEMBERS];
    output o = { 0 };
    teller t = { .ctx = ctx, .path = path, .options = options, .o = &o, .nnz = a->nnz };
    describe(a, shape, m);
    for (int i = 0; i < MEMBERS; i++) {
        m[i].teller = &t;
        t.total += m[i].header_bytes + m[i].bytes;
    }
    SPX_TRY(spx_sink_open(ctx, path, SPMVX_UNCOMPRESSED, 0, &o.sink));
    zip_error_init(&o.error);
    const spmvx_status s = write_archive(ctx, path, &o, m, options->level),
                       closed = spx_sink_close(o.sink, s == SPMVX_OK);
    zip_error_fini(&o.error);
    return s == SPMVX_OK ? closed : s;
}
