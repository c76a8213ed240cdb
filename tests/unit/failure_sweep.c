/* Calls that may allocate, with each allocation failing in turn. */
#include "failure_sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1600 };

static int32_t csr_ptr[ROWS + 1], csr_col[ENTRIES], coo_row[ENTRIES], sell_ptr[ROWS / 4 + 1], sell_row[ROWS],
    sell_col[ENTRIES];
static int64_t csr_ptr64[ROWS + 1], csr_col64[ENTRIES], coo_row64[ENTRIES], sell_ptr64[ROWS / 4 + 1],
    sell_row64[ROWS], sell_col64[ENTRIES];
double csr_val[ENTRIES], x[ROWS];
static double sell_val[ENTRIES], expected[ROWS];
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

spmvx_arrays arrays_of(spmvx_format format, spmvx_type index)
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

static void put_wisdom(world *w)
{
    static const char lines[] = "spmvx-wisdom 1\nfirst -> csr-scalar\n";
    assert_ok(w->ctx, spmvx_wisdom_import(w->ctx, lines, sizeof lines - 1));
}

void world_open(world *w)
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

void world_close(world *w)
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

spmvx_status write_file(world *w, const sweep *s)
{
    return spmvx_matrix_write(w->ctx, w->source[s->source], s->path, NULL);
}

spmvx_status convert(world *w, const sweep *s)
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

/* ---- one sweep ---- */

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
    seen->files = count_files(false);
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

void run_sweep(const sweep *s)
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

void run_all(const sweep *s, size_t count)
{
    for (size_t i = 0; i < count; i++) run_sweep(&s[i]);
}

int begin(void **state)
{
    fill_arrays();
    return make_folder(state);
}

int end(void **state)
{
    (void)state;
    return rmdir(folder);
}
