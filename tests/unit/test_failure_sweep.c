/* Every call that may allocate, with its first, second, third ... allocation failing until it passes. */
#include "support.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char sentinel, folder[64], plain[96], packed[96], numpy[96];
#define NOT_WRITTEN ((void *)&sentinel)
enum { ROWS = 40, ENTRIES = 3 * ROWS, MOST = 800 };

static int32_t csr_ptr[ROWS + 1], csr_col[ENTRIES], coo_row[ENTRIES], sell_ptr[ROWS / 4 + 1], sell_row[ROWS],
    sell_col[ENTRIES];
static int64_t csr_ptr64[ROWS + 1], csr_col64[ENTRIES], coo_row64[ENTRIES], sell_ptr64[ROWS / 4 + 1],
    sell_row64[ROWS], sell_col64[ENTRIES];
static double csr_val[ENTRIES], sell_val[ENTRIES], x[ROWS], expected[ROWS];
static int32_t mixed_row[ENTRIES], mixed_col[ENTRIES]; /* COO, not sorted */

/* A matrix of three entries a row, in every format. */
static void fill_arrays(void)
{
    for (int r = 0; r < ROWS; r++) {
        csr_ptr64[r + 1] = csr_ptr[r + 1] = 3 * (r + 1);
        sell_row64[r] = sell_row[r] = r;
        x[r] = 1.0 + r;
        for (int k = 0; k < 3; k++) {
            const int i = 3 * r + k, at = r / 4 * 12 + k * 4 + r % 4;
            csr_col64[i] = csr_col[i] = (r + 7 * k) % ROWS;
            coo_row64[i] = coo_row[i] = r;
            csr_val[i] = 1.0 + i;
            mixed_row[i] = ROWS - 1 - r;
            mixed_col[i] = (ROWS - 1 - r + 7 * k) % ROWS;
            sell_col64[at] = sell_col[at] = csr_col[i];
            sell_val[at] = csr_val[i];
            expected[r] += csr_val[i] * (1.0 + csr_col[i]);
        }
    }
    for (int s = 0; s <= ROWS / 4; s++) sell_ptr64[s] = sell_ptr[s] = 12 * s;
}

static spmvx_arrays arrays_of(spmvx_format format, spmvx_type index)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    const bool wide = index == SPMVX_I64;
    a.format = format;
    a.ptr_type = a.idx_type = index;
    a.nrows = a.ncols = ROWS;
    a.nnz = ENTRIES;
    a.ptr = wide ? (const void *)csr_ptr64 : csr_ptr;
    a.row = wide ? (const void *)coo_row64 : coo_row;
    a.col = wide ? (const void *)csr_col64 : csr_col;
    a.val = csr_val;
    if (format != SPMVX_SELL) return a;
    a.slice = 4;
    a.ptr = wide ? (const void *)sell_ptr64 : sell_ptr;
    a.row = wide ? (const void *)sell_row64 : sell_row;
    a.col = wide ? (const void *)sell_col64 : sell_col;
    a.val = sell_val;
    return a;
}

/* What every attempt starts from; `other` is a second context over the same counter. */
typedef struct world {
    counter count;
    spmvx_context *ctx, *other, *made;
    spmvx_matrix *source[4]; /* CSR, COO, COO not sorted, SELL */
    spmvx_matrix *A;         /* CSR by the merge path, updatable, with op T: needs workspace */
    spmvx_matrix *out;
    void *buffer;
    double y[2 * ROWS];
    size_t len;
    char text[2048];
} world;

enum { CSR, COO, MIXED, SELL };

static void put_wisdom(world *w)
{
    static const char text[] = "spmvx-wisdom 1\nfirst -> csr-scalar\n";
    assert_ok(w->ctx, spmvx_wisdom_import(w->ctx, text, sizeof text - 1));
}

static void world_open(world *w)
{
    memset(w, 0, sizeof *w);
    w->ctx = test_context(&w->count, 2);
    w->other = test_context(&w->count, 2);
    const spmvx_arrays a[] = { arrays_of(SPMVX_CSR, SPMVX_I32), arrays_of(SPMVX_COO, SPMVX_I32),
                               arrays_of(SPMVX_COO, SPMVX_I32), arrays_of(SPMVX_SELL, SPMVX_I32) };
    for (int i = 0; i < 4; i++) {
        spmvx_arrays one = a[i];
        if (i == MIXED) one.row = mixed_row, one.col = mixed_col;
        assert_ok(w->ctx, spmvx_matrix_create(w->ctx, &one, 0, &w->source[i]));
    }
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = "csr-merge-path:chunk=64";
    o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
    o.flags = SPMVX_UPDATABLE;
    assert_ok(w->ctx, spmvx_matrix_convert(w->ctx, w->source[CSR], &o, &w->A));
    put_wisdom(w);
    w->made = w->buffer = NOT_WRITTEN;
    w->out = NOT_WRITTEN;
    w->len = sizeof w->text;
    for (int i = 0; i < 2 * ROWS; i++) w->y[i] = 7;
}

static void world_close(world *w)
{
    if (w->buffer != NOT_WRITTEN) spmvx_buffer_free(w->ctx, w->buffer);
    if (w->out != NOT_WRITTEN) spmvx_matrix_destroy(w->out);
    if ((void *)w->made != NOT_WRITTEN) spmvx_context_destroy(w->made);
    for (int i = 0; i < 4; i++) spmvx_matrix_destroy(w->source[i]);
    spmvx_matrix_destroy(w->A);
    spmvx_context_destroy(w->ctx);
    spmvx_context_destroy(w->other);
    assert_int_equal(w->count.live, 0);
}

/* ---- what is swept ---- */

typedef struct sweep sweep;
struct sweep {
    const char *name;
    spmvx_status (*call)(world *, const sweep *);
    int source;
    spmvx_format format;
    spmvx_type index;
    uint32_t flags, ops;
    int32_t effort;
    const char *kernel, *path;
};

static spmvx_status make_context(world *w, const sweep *s)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    (void)s;
    o.alloc = counter_alloc;
    o.release = counter_release;
    o.user = &w->count;
    return spmvx_context_create(&o, &w->made);
}

static spmvx_status make_buffer(world *w, const sweep *s)
{
    (void)s;
    return spmvx_buffer_alloc(w->ctx, 100, &w->buffer);
}

static spmvx_status create(world *w, const sweep *s)
{
    const spmvx_arrays a = arrays_of(s->format, s->index);
    return spmvx_matrix_create(w->ctx, &a, s->flags, &w->out);
}

static spmvx_status read_data(world *w, const sweep *s)
{
    char path[512];
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.val_type = s->flags ? SPMVX_F32 : SPMVX_F64;
    return spmvx_matrix_read(w->ctx, strchr(s->path, '/') ? s->path : test_data(s->path, path), &o, &w->out);
}

static spmvx_status write_file(world *w, const sweep *s)
{
    return spmvx_matrix_write(w->ctx, w->source[s->source], s->path, NULL);
}

static spmvx_status convert(world *w, const sweep *s)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = s->format;
    o.effort = s->effort;
    o.kernel = s->kernel;
    o.ops = s->ops;
    o.flags = s->flags;
    /* which has no workspace yet */
    return spmvx_matrix_convert(w->other, w->source[s->source], &o, &w->out);
}

static spmvx_status transpose(world *w, const sweep *s)
{
    return spmvx_matrix_transpose(w->ctx, s->source < 0 ? w->A : w->source[s->source], &w->out);
}

static spmvx_status prepare(world *w, const sweep *s)
{
    (void)s;
    return spmvx_mul_prepare(w->other, w->A, SPMVX_T, 2);
}

static spmvx_status mul(world *w, const sweep *s)
{
    (void)s;
    return spmvx_mul(w->other, SPMVX_N, 1.0, w->A, x, 0.0, w->y);
}

static spmvx_status mul_multi(world *w, const sweep *s)
{
    double X[2 * ROWS];
    (void)s;
    memcpy(X, x, sizeof x);
    memcpy(X + ROWS, x, sizeof x);
    return spmvx_mul_multi(w->other, SPMVX_N, 1.0, w->A, 2, X, ROWS, 0.0, w->y, ROWS);
}

static spmvx_status update(world *w, const sweep *s)
{
    (void)s;
    return spmvx_matrix_update_values(w->ctx, w->A, csr_val);
}

static spmvx_status export(world *w, const sweep *s)
{
    (void)s;
    return spmvx_wisdom_export(w->ctx, w->text, &w->len);
}

static spmvx_status import(world *w, const sweep *s)
{
    (void)s;
    static const char text[] =
        "spmvx-wisdom 1\nfirst -> coo-scalar\nsecond -> sell slice=8 sigma=1\nthird -> csr-scalar\n";
    return spmvx_wisdom_import(w->ctx, text, sizeof text);
}

/* ---- one sweep ---- */

static int files_there(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

typedef struct state_seen {
    long live;
    size_t held[2];
    char wisdom[2][2048];
    int files;
} state_seen;

static void look(const world *w, state_seen *seen)
{
    const spmvx_context *const ctx[] = { w->ctx, w->other };
    memset(seen, 0, sizeof *seen);
    for (int i = 0; i < 2; i++) {
        spmvx_context_info info = SPMVX_CONTEXT_INFO_INIT;
        size_t len = sizeof seen->wisdom[i];
        assert_ok(ctx[i], spmvx_context_get_info(ctx[i], &info));
        assert_ok(ctx[i], spmvx_wisdom_export(ctx[i], seen->wisdom[i], &len));
        seen->held[i] = info.bytes_held;
    }
    seen->live = w->count.live;
    seen->files = files_there();
}

static void check_untouched(const world *w, const state_seen *before, const char *name, int n)
{
    state_seen now;
    look(w, &now);
    for (int i = 0; i < 2; i++) {
        if (strcmp(now.wisdom[i], before->wisdom[i]))
            fail_msg("%s: allocation %d failed, and the wisdom became %s", name, n, now.wisdom[i]);
        if (now.held[i] != before->held[i])
            fail_msg("%s: allocation %d failed, and the context holds %zu bytes, not %zu", name, n,
                     now.held[i], before->held[i]);
    }
    if (now.live != before->live)
        fail_msg("%s: allocation %d failed, and %ld blocks live, not %ld", name, n, now.live, before->live);
    if (now.files != before->files) fail_msg("%s: allocation %d failed, and left a file", name, n);
    assert_ptr_equal(w->out, NOT_WRITTEN);
    assert_ptr_equal(w->made, NOT_WRITTEN);
    assert_ptr_equal(w->buffer, NOT_WRITTEN);
    assert_int_equal(w->len, sizeof w->text);
    for (int i = 0; i < 2 * ROWS; i++) assert_true(w->y[i] == 7);
}

/* The context still multiplies, and what was made multiplies too. */
static void check_works(world *w)
{
    double y[ROWS];
    const spmvx_matrix *const made[] = { w->A, w->out };
    for (int i = 0; i < 2; i++) {
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        if (made[i] == NOT_WRITTEN) continue;
        assert_ok(NULL, spmvx_matrix_get_info(made[i], &info));
        if (info.nrows != ROWS || info.val_type != SPMVX_F64) continue;
        assert_ok(w->ctx, spmvx_mul(w->ctx, SPMVX_N, 1.0, made[i], x, 0.0, y));
        if (i == 0)
            for (int r = 0; r < ROWS; r++) assert_true(fabs(y[r] - expected[r]) <= 1e-12 * expected[r]);
    }
}

/* Where the library chooses, it may do without what memory is out for. */
static bool chooses(const sweep *s)
{
    return s->call == convert && !s->kernel;
}

static void run_sweep(const sweep *s)
{
    int n = 0;
    spmvx_status status = SPMVX_ERR_MEMORY;
    while (status != SPMVX_OK) {
        world w;
        state_seen before;
        if (s->path && strchr(s->path, '/') && s->call == write_file) remove(s->path);
        world_open(&w);
        look(&w, &before);
        const long from = w.count.allocations;
        w.count.fail_at = from + ++n;
        status = s->call(&w, s);
        const bool failed = w.count.allocations >= w.count.fail_at;
        w.count.fail_at = 0;
        if (status != SPMVX_OK) {
            if (status != SPMVX_ERR_MEMORY)
                fail_msg("%s: allocation %d failed: %d %s", s->name, n, (int)status, spmvx_last_error(NULL));
            assert_true(failed);
            assert_true(strlen(spmvx_last_error(NULL)) > 0);
            check_untouched(&w, &before, s->name, n);
            check_works(&w);
            status = s->call(&w, s);
            if (status != SPMVX_OK)
                fail_msg("%s: after allocation %d failed, again: %d %s", s->name, n, (int)status,
                         spmvx_last_error(NULL));
            status = SPMVX_ERR_MEMORY;
        } else if (failed) {
            if (!chooses(s)) fail_msg("%s: allocation %d failed, and the call answers SPMVX_OK", s->name, n);
            status = SPMVX_ERR_MEMORY; /* something else was taken; on to the next allocation */
        }
        check_works(&w);
        world_close(&w);
        if (n > MOST) fail_msg("%s: more than %d allocations", s->name, MOST);
    }
}

static void run_all(const sweep *s, size_t count)
{
    for (size_t i = 0; i < count; i++) run_sweep(&s[i]);
}
#define RUN(list) run_all(list, sizeof list / sizeof *list)

static void test_small_calls(void **state)
{
    static const sweep list[] = {
        { .name = "context_create", .call = make_context },
        { .name = "buffer_alloc", .call = make_buffer },
        { .name = "mul_prepare", .call = prepare },
        { .name = "mul in another context", .call = mul },
        { .name = "mul_multi in another context", .call = mul_multi },
        { .name = "update_values", .call = update },
        { .name = "wisdom_export", .call = export },
        { .name = "wisdom_import", .call = import },
    };
    (void)state;
    RUN(list);
}

static void test_create(void **state)
{
    static const spmvx_format formats[] = { SPMVX_COO, SPMVX_CSR, SPMVX_SELL };
    (void)state;
    for (int i = 0; i < 3; i++) {
        const sweep list[] = {
            { .name = "create copied I32", .call = create, .format = formats[i], .index = SPMVX_I32 },
            { .name = "create copied I64", .call = create, .format = formats[i], .index = SPMVX_I64 },
            { .name = "create borrowed",
              .call = create,
              .format = formats[i],
              .index = SPMVX_I32,
              .flags = SPMVX_BORROW },
            { .name = "create trusted",
              .call = create,
              .format = formats[i],
              .index = SPMVX_I32,
              .flags = SPMVX_BORROW | SPMVX_TRUST },
        };
        RUN(list);
    }
}

static void test_transpose(void **state)
{
    static const sweep list[] = {
        { .name = "transpose of CSR", .call = transpose, .source = CSR },
        { .name = "transpose of COO", .call = transpose, .source = COO },
        { .name = "transpose of COO, not sorted", .call = transpose, .source = MIXED },
        { .name = "transpose of SELL", .call = transpose, .source = SELL },
        { .name = "transpose of updatable", .call = transpose, .source = -1 },
    };
    (void)state;
    RUN(list);
}

/* Every source to a format and effort, with the transpose, updatable, and both. */
static void convert_all(spmvx_format format, int32_t effort, const char *kernel)
{
    for (int source = CSR; source <= SELL; source++)
        for (uint32_t more = 0; more < 4; more++) {
            char name[128];
            const sweep s = { .name = name,
                              .call = convert,
                              .source = source,
                              .format = format,
                              .effort = effort,
                              .kernel = kernel,
                              .ops = more & 1 ? SPMVX_OPS_N | SPMVX_OPS_T : 0,
                              .flags = more & 2 ? SPMVX_UPDATABLE : 0 };
            snprintf(name, sizeof name,
                     "convert source %d to format %d, kernel %s, effort %d, ops %u, flags 0x%x", source,
                     (int)format, kernel ? kernel : "any", effort, s.ops, s.flags);
            run_sweep(&s);
        }
}

static void test_convert_auto(void **state)
{
    (void)state;
    convert_all(SPMVX_AUTO, 0, NULL);
}

static void test_convert_auto_timed(void **state)
{
    (void)state;
    convert_all(SPMVX_AUTO, 1, NULL);
}

static void test_convert_auto_all_timed(void **state)
{
    (void)state;
    convert_all(SPMVX_AUTO, 2, NULL);
}

static void test_convert_formats(void **state)
{
    (void)state;
    convert_all(SPMVX_COO, 0, NULL);
    convert_all(SPMVX_CSR, 0, NULL);
    convert_all(SPMVX_SELL, 0, NULL);
}

static void test_convert_formats_timed(void **state)
{
    (void)state;
    convert_all(SPMVX_CSR, 1, NULL);
    convert_all(SPMVX_SELL, 2, NULL);
}

static void test_convert_kernels(void **state)
{
    (void)state;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.place == SPMVX_HOST && k.operation == SPMVX_MUL && k.flags & SPMVX_KERNEL_AVAILABLE)
            convert_all(SPMVX_AUTO, 0, k.name);
    }
}

/* ---- files ---- */

/* Whether this build writes files of the path's kind. */
static bool writes(const char *path)
{
    world w;
    world_open(&w);
    const spmvx_status s = spmvx_matrix_write(w.ctx, w.source[CSR], path, NULL);
    world_close(&w);
    remove(path);
    return s == SPMVX_OK;
}

static void test_files(void **state)
{
    const sweep list[] = {
        { .name = "write CSR", .call = write_file, .source = CSR, .path = plain },
        { .name = "write COO", .call = write_file, .source = MIXED, .path = plain },
        { .name = "write SELL", .call = write_file, .source = SELL, .path = plain },
        { .name = "read plain", .call = read_data, .path = plain },
        { .name = "read plain F32", .call = read_data, .path = plain, .flags = 1 },
        { .name = "read Rutherford-Boeing", .call = read_data, .path = "hand5.rua" },
        { .name = "read Rutherford-Boeing, symmetric pattern", .call = read_data, .path = "path6.psa" },
    };
    (void)state;
    RUN(list);
    remove(plain);
}

static void test_compressed_files(void **state)
{
    const sweep list[] = {
        { .name = "write .gz", .call = write_file, .source = CSR, .path = packed },
        { .name = "write SELL .gz", .call = write_file, .source = SELL, .path = packed },
        { .name = "read .gz", .call = read_data, .path = packed },
        { .name = "read general", .call = read_data, .path = "arc130.mtx.gz" },
        { .name = "read symmetric", .call = read_data, .path = "662_bus.mtx.gz" },
        { .name = "read pattern", .call = read_data, .path = "jagmesh7.mtx.gz" },
    };
    (void)state;
    if (!writes(packed)) skip();
    RUN(list);
    remove(packed);
}

static void test_npz_files(void **state)
{
    const sweep list[] = {
        { .name = "write COO .npz", .call = write_file, .source = MIXED, .path = numpy },
        { .name = "read COO .npz", .call = read_data, .path = numpy },
        { .name = "write SELL .npz", .call = write_file, .source = SELL, .path = numpy },
        { .name = "read CSR .npz", .call = read_data, .path = numpy },
        { .name = "read CSR .npz F32", .call = read_data, .path = numpy, .flags = 1 },
    };
    (void)state;
    if (!writes(numpy)) skip();
    RUN(list);
    remove(numpy);
}

/* ---- multiplication allocates nothing where the matrix was made ---- */

static void no_allocation(world *w, const spmvx_matrix *m, bool both)
{
    double y[2 * ROWS], X[2 * ROWS] = { 0 };
    if (both) assert_ok(w->ctx, spmvx_mul_prepare(w->ctx, m, SPMVX_T, 2));
    const long before = w->count.allocations;
    w->count.fail_at = before + 1;
    for (int op = SPMVX_N; op <= (both ? SPMVX_T : SPMVX_N); op++) {
        assert_ok(w->ctx, spmvx_mul(w->ctx, (spmvx_op)op, 1.0, m, x, 0.0, y));
        assert_ok(w->ctx, spmvx_mul(w->ctx, (spmvx_op)op, 2.5, m, x, -1.0, y));
        assert_ok(w->ctx, spmvx_mul_multi(w->ctx, (spmvx_op)op, 1.0, m, 2, X, ROWS, 0.0, y, ROWS));
    }
    assert_int_equal(w->count.allocations, before);
    w->count.fail_at = 0;
}

static void test_multiplication_allocates_nothing(void **state)
{
    (void)state;
    world w;
    world_open(&w);
    for (int i = CSR; i <= SELL; i++) no_allocation(&w, w.source[i], false);
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.place != SPMVX_HOST || k.operation != SPMVX_MUL || !(k.flags & SPMVX_KERNEL_AVAILABLE))
            continue;
        for (int both = 0; both < 2; both++) {
            spmvx_matrix *m = NULL;
            spmvx_context *fresh = test_context(&w.count, 2), *ctx = w.ctx;
            o.kernel = k.name;
            o.flags = SPMVX_UPDATABLE;
            o.ops = both ? SPMVX_OPS_N | SPMVX_OPS_T : SPMVX_OPS_N;
            w.ctx = fresh;
            assert_ok(fresh, spmvx_matrix_convert(fresh, w.source[MIXED], &o, &m));
            no_allocation(&w, m, both);
            w.count.fail_at = w.count.allocations + 1;
            assert_ok(fresh, spmvx_matrix_update_values(fresh, m, csr_val));
            w.count.fail_at = 0;
            w.ctx = ctx;
            assert_ok(w.other, spmvx_mul_prepare(w.other, m, SPMVX_N, 2)); /* nor where it was prepared */
            w.ctx = w.other;
            no_allocation(&w, m, false);
            w.ctx = ctx;
            spmvx_matrix_destroy(m);
            spmvx_context_destroy(fresh);
        }
    }
    world_close(&w);
}

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    (void)state;
    fill_arrays();
    snprintf(folder, sizeof folder, "%.40s/spmvx-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    if (!mkdtemp(folder)) return 1;
    snprintf(plain, sizeof plain, "%s/A.mtx", folder);
    snprintf(packed, sizeof packed, "%s/A.mtx.gz", folder);
    snprintf(numpy, sizeof numpy, "%s/A.npz", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remove(plain);
    remove(packed);
    remove(numpy);
    return remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_calls),
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_convert_auto),
        cmocka_unit_test(test_convert_auto_timed),
        cmocka_unit_test(test_convert_auto_all_timed),
        cmocka_unit_test(test_convert_formats),
        cmocka_unit_test(test_convert_formats_timed),
        cmocka_unit_test(test_convert_kernels),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_compressed_files),
        cmocka_unit_test(test_npz_files),
        cmocka_unit_test(test_multiplication_allocates_nothing),
    };
    return cmocka_run_group_tests_name("failure sweep", tests, setup, teardown);
}
