/* Files of tests: made, read, measured. */
#include "files.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- files ---- */

char folder[256];

int make_folder(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/spmvx-test-XXXXXX", tmp && strlen(tmp) < 200 ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

int count_files(bool remove_them)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        n++;
        if (remove_them) remove(path_of(e->d_name));
    }
    if (d) closedir(d);
    return n;
}

int empty_folder(void **state)
{
    (void)state;
    count_files(true);
    return 0;
}

int remove_folder(void **state)
{
    empty_folder(state);
    return rmdir(folder);
}

const char *put_file(const char *name, const void *bytes, size_t n)
{
    const char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return path;
}

const char *put_text(const char *name, const char *content)
{
    return put_file(name, content, strlen(content));
}

unsigned char *get_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    bytes[*n] = 0;
    return bytes;
}

void check_file(const char *path, const char *expected)
{
    size_t n;
    char *bytes = (char *)get_file(path, &n);
    assert_string_equal(bytes, expected);
    free(bytes);
}

void add(text *t, const void *bytes, size_t n)
{
    if (!n) return;
    if (t->n + n > t->room) {
        t->room = 2 * t->room + n;
        t->bytes = realloc(t->bytes, t->room);
        assert_non_null(t->bytes);
    }
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

void addf(text *t, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_in_range(n, 0, sizeof line - 1);
    add(t, line, (size_t)n);
}

void add_fill(text *t, char c, size_t n)
{
    char fill[4096];
    memset(fill, c, sizeof fill);
    for (; n > sizeof fill; n -= sizeof fill) add(t, fill, sizeof fill);
    add(t, fill, n);
}

void add_banner(text *t, const char *banner)
{
    t->n = 0;
    add(t, banner, strlen(banner));
}

uint32_t crc32_of(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

void add_le(text *t, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) add(t, &(unsigned char){ (unsigned char)(v >> 8 * i) }, 1);
}

void add_gzip(text *t, const char *bytes, size_t n)
{
    add(t, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    for (size_t at = 0, part;; at += part) {
        part = n - at < 65535 ? n - at : 65535;
        add(t, &(char){ at + part == n }, 1);
        add_le(t, (uint32_t)part, 2);
        add_le(t, ~(uint32_t)part, 2);
        add(t, bytes + at, part);
        if (at + part == n) break;
    }
    add_le(t, crc32_of(bytes, n), 4);
    add_le(t, (uint32_t)n, 4);
}

spmvx_matrix *make_row(spmvx_context *ctx, int64_t nnz)
{
    static const double values[] = { 1, 2, 0.5, -3 };
    int32_t *col = calloc((size_t)nnz + 1, sizeof *col), ptr[2] = { 0, (int32_t)nnz };
    double *val = malloc(((size_t)nnz + 1) * sizeof *val);
    assert_true(col && val);
    for (int64_t i = 0; i < nnz; i++) val[i] = values[i % 4];
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.nrows = a.ncols = 1;
    a.nnz = nnz;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &A));
    free(col);
    free(val);
    return A;
}

bool put_row(const char *name, int32_t level, int64_t nnz)
{
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = make_row(ctx, nnz);
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    o.level = level;
    const spmvx_status s = spmvx_matrix_write(ctx, A, path_of(name), &o);
    if (s != SPMVX_ERR_UNSUPPORTED) assert_ok(ctx, s);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    return s == SPMVX_OK;
}

bool has_gzip(void)
{
    static const char small[] = "%%MatrixMarket matrix coordinate real general\n1 1 0\n";
    text z = { 0 };
    add_gzip(&z, small, sizeof small - 1);
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    const spmvx_status s = spmvx_matrix_read(ctx, put_file("probe", z.bytes, z.n), NULL, &A);
    if (s == SPMVX_ERR_UNSUPPORTED) assert_non_null(strstr(spmvx_last_error(ctx), "zlib"));
    else assert_ok(ctx, s);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    free(z.bytes);
    return s == SPMVX_OK;
}

/* ---- what memory is taken at the peak ---- */

typedef struct meter {
    _Atomic size_t live, peak;
    size_t largest; /* bytes of one request */
    size_t most;    /* beyond it there is no memory */
} meter;

static void *meter_alloc(void *user, size_t bytes)
{
    meter *m = user;
    if (bytes > m->largest) m->largest = bytes;
    if (bytes > m->most || m->live + bytes > m->most) {
        m->peak = SIZE_MAX;
        return NULL;
    }
    char *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) return NULL;
    memcpy(p, &bytes, sizeof bytes);
    const size_t live = atomic_fetch_add(&m->live, bytes) + bytes;
    size_t peak = m->peak;
    while (live > peak && !atomic_compare_exchange_weak(&m->peak, &peak, live)) {}
    return p + 64;
}

static void meter_release(void *user, void *ptr)
{
    meter *m = user;
    size_t bytes;
    memcpy(&bytes, (char *)ptr - 64, sizeof bytes);
    m->live -= bytes;
    free((char *)ptr - 64);
}

static spmvx_context *meter_context(meter *m, int32_t threads)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.threads = threads;
    o.alloc = meter_alloc;
    o.release = meter_release;
    o.user = m;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    return ctx;
}

static spmvx_status read_with(meter *m, const char *path, int32_t threads, size_t max_bytes)
{
    spmvx_context *ctx = meter_context(m, threads);
    const size_t before = m->live;
    m->peak = before;
    m->largest = 0;
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.max_bytes = max_bytes;
    spmvx_matrix *A = NULL;
    const spmvx_status s = spmvx_matrix_read(ctx, path, &o, &A);
    if (m->peak != SIZE_MAX) m->peak -= before;
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    assert_int_equal(m->live, 0);
    return s;
}

spmvx_status read_metered(const char *path, int32_t threads, size_t max_bytes, size_t *peak)
{
    meter m = { .most = 1u << 30 };
    const spmvx_status s = read_with(&m, path, threads, max_bytes);
    *peak = m.peak;
    return s;
}

size_t largest_request(const char *path, int32_t threads)
{
    meter m = { .most = 1u << 30 };
    read_with(&m, path, threads, 0);
    return m.largest;
}

void check_bounded(const char *path, int32_t threads)
{
    static const size_t limits[] = { 600000,   1000000,  3000000,  10000000,
                                     20000000, 30000000, 40000000, 60000000 };
    size_t free_peak, peak;
    assert_int_equal(read_metered(path, threads, 0, &free_peak), SPMVX_OK);
    for (size_t i = 0; i < COUNT(limits); i++) {
        const spmvx_status s = read_metered(path, threads, limits[i], &peak);
        if (s != SPMVX_OK) assert_int_equal(s, SPMVX_ERR_LIMIT);
        if (peak > limits[i])
            fail_msg("max_bytes %zu, status %d: %zu bytes at the peak", limits[i], (int)s, peak);
    }
    assert_int_equal(read_metered(path, threads, 2 * free_peak, &peak), SPMVX_OK);
    assert_true(peak <= 2 * free_peak);
}

/* ---- what came out ---- */

spmvx_arrays view_of(const spmvx_matrix *A)
{
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(A, &v));
    return v;
}

int64_t row_of(const spmvx_arrays *v, int64_t k)
{
    if (v->format == SPMVX_COO) return ((const int32_t *)v->row)[k];
    int64_t r = 0;
    while ((v->ptr_type == SPMVX_I64 ? ((const int64_t *)v->ptr)[r + 1] : ((const int32_t *)v->ptr)[r + 1]) <=
           k)
        r++;
    return r;
}

void dump(const spmvx_matrix *A, char out[1024])
{
    const spmvx_arrays v = view_of(A);
    const char *format = v.format == SPMVX_CSR ? "CSR" : v.format == SPMVX_COO ? "COO" : "?";
    int n = snprintf(out, 1024, "%s %lldx%lld:", format, (long long)v.nrows, (long long)v.ncols);
    for (int64_t k = 0; k < v.nnz && n < 1000; k++) {
        const double value =
            v.val_type == SPMVX_F64 ? ((const double *)v.val)[k] : (double)((const float *)v.val)[k];
        n += snprintf(out + n, (size_t)(1024 - n), " %lld %d %.17g;", (long long)row_of(&v, k) + 1,
                      ((const int32_t *)v.col)[k] + 1, value);
    }
}

void check_reads_as(const char *what, const char *path, const spmvx_read_options *o, const char *expected)
{
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, 2);
    spmvx_matrix *A = NULL;
    if (spmvx_matrix_read(ctx, path, o, &A) != SPMVX_OK) fail_msg("%s: %s", what, spmvx_last_error(ctx));
    char got[1024];
    dump(A, got);
    if (strcmp(got, expected)) fail_msg("%s: %s, not %s", what, got, expected);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
}

void check_reads(const char *path, const spmvx_read_options *o, const char *expected)
{
    check_reads_as(path, path, o, expected);
}

void check_refuses_with(const char *path, const spmvx_read_options *o, int32_t threads, spmvx_status status,
                        int line, const char *reason)
{
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, threads);
    const long before = c.live;
    char place[64] = "", *const untouched = place; /* an address that is no matrix */
    spmvx_matrix *A = (spmvx_matrix *)untouched;
    if (line) snprintf(place, sizeof place, "line %d:", line);
    assert_fails(status, reason, spmvx_matrix_read(ctx, path, o, &A));
    if (!strstr(spmvx_last_error(ctx), place) || !strstr(spmvx_last_error(ctx), strrchr(path, '/') + 1))
        fail_msg("'%s' does not have '%s' and the file's name", spmvx_last_error(ctx), place);
    assert_string_equal(spmvx_last_error(ctx), spmvx_last_error(NULL));
    assert_ptr_equal(A, untouched);
    assert_int_equal(c.live, before);
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
}

void check_refuses(const char *path, spmvx_status status, int line, const char *reason)
{
    check_refuses_with(path, NULL, 2, status, line, reason);
}

/* ---- progress ---- */

typedef struct progress {
    int calls, stop_at;
    int32_t answer; /* of that call */
    int64_t done, total;
} progress;

static int32_t on_progress(void *user, int64_t done, int64_t total)
{
    progress *p = user;
    assert_true(done >= p->done);
    assert_true(done <= total);
    p->done = done;
    p->total = total;
    return ++p->calls == p->stop_at ? p->answer : 0;
}

void check_progress(const char *path, int32_t threads, int least_calls)
{
    size_t n;
    free(get_file(path, &n));
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, threads);
    progress p = { 0 };
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.progress = on_progress;
    o.user = &p;
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_read(ctx, path, &o, &A));
    spmvx_matrix_destroy(A);
    assert_true(p.calls >= least_calls);
    assert_int_equal(p.total, n);
    assert_int_equal(p.done, n);
    const long before = c.live; /* with the workspace of the first matrix */
    char *const untouched = (char *)&c;
    for (int stop = 1, calls = p.calls; stop <= calls; stop++) {
        p = (progress){ .stop_at = stop, .answer = -7 };
        A = (spmvx_matrix *)untouched;
        assert_fails(SPMVX_ERR_CANCELLED, strrchr(path, '/') + 1, spmvx_matrix_read(ctx, path, &o, &A));
        assert_int_equal(p.calls, stop);
        assert_ptr_equal(A, untouched);
        assert_int_equal(c.live, before);
        p = (progress){ .stop_at = stop, .answer = 1 }; /* in a context of its own */
        check_refuses_with(path, &o, threads, SPMVX_ERR_CANCELLED, 0, "callback stopped");
        assert_int_equal(p.calls, stop);
    }
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
}
