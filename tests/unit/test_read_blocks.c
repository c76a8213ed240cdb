/* Reading of long Matrix Market files: every entry comes to its place whatever the threads and the blocks
 * are, the line of an error is right, and progress is told. */
#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REAL "%%MatrixMarket matrix coordinate real general\n"
#define ARRAY "%%MatrixMarket matrix array real "
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { BLOCK = 1 << 20 }; /* the reader takes so much text at once */

/* Long ones by several threads: every value in its place. */
static void test_long_arrays(void **state)
{
    (void)state;
    enum { N = 700 };
    static const char *const kinds[] = { "general", "symmetric", "skew-symmetric" };
    for (int kind = 0; kind < 3; kind++) {
        text t = { 0 };
        addf(&t, "%s%s\n%d %d\n", ARRAY, kinds[kind], N, N);
        for (int j = 0; j < N; j++)
            for (int i = kind == 0 ? 0 : j + kind - 1; i < N; i++) addf(&t, "%d\n", i * N + j + 1);
        const char *path = put_file("array.mtx", t.bytes, t.n);
        for (int32_t threads = 1; threads < 8; threads += 3) {
            spmvx_context *ctx = test_context(NULL, threads);
            spmvx_matrix *A = NULL;
            assert_ok(ctx, spmvx_matrix_read(ctx, path, NULL, &A));
            const spmvx_arrays v = view_of(A);
            assert_int_equal(v.nnz, kind == 2 ? N * (N - 1) : N * N);
            for (int64_t k = 0; k < v.nnz; k++) {
                const int64_t i = row_of(&v, k), j = ((const int32_t *)v.col)[k];
                const double lower = (double)((i > j ? i : j) * N + (i > j ? j : i) + 1),
                             want = kind == 0            ? (double)(i * N + j + 1)
                                    : kind == 1 || i > j ? lower
                                                         : -lower;
                if (((const double *)v.val)[k] != want)
                    fail_msg("%s, %d threads: entry (%d, %d)", kinds[kind], (int)threads, (int)i, (int)j);
            }
            spmvx_matrix_destroy(A);
            spmvx_context_destroy(ctx);
        }
        free(t.bytes);
    }
}

/* ---- large files: threads and blocks ---- */

enum { ROWS = 3001, COLS = 2003, ENTRIES = 400000 };

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

typedef struct entry {
    int32_t row, col;
    double val;
} entry;

/* Unsorted entries, among them comments, blank lines and lines of all lengths; first line of entry `at`
 * goes to *line. */
static text large_text(entry *e, int at, int *line)
{
    text t = { 0 };
    uint64_t s = 88172645463325252u;
    add_banner(&t, REAL);
    addf(&t, "%d %d %d\n", ROWS, COLS, ENTRIES);
    int lines = 2;
    for (int i = 0; i < ENTRIES; i++, lines++) {
        const uint64_t r = next_random(&s);
        e[i] = (entry){ (int32_t)(r % ROWS), (int32_t)((r >> 20) % COLS), (double)i + 0.5 };
        if (r >> 60 == 0) lines++, addf(&t, "%% a comment of %d\n", i);
        if (r >> 60 == 1) lines += 2, addf(&t, "\n   \t\n");
        if (r >> 60 == 2) add_fill(&t, ' ', r >> 50 & 63);
        if (i == at && line) *line = lines + 1;
        addf(&t, "%d %d %.17g%s\n", e[i].row + 1, e[i].col + 1, e[i].val, r >> 60 == 3 ? " \r" : "");
    }
    return t;
}

/* By row, in the file's order. */
static void check_large(const spmvx_matrix *A, const entry *e)
{
    const spmvx_arrays v = view_of(A);
    assert_int_equal(v.format, SPMVX_CSR);
    assert_int_equal(v.nrows, ROWS);
    assert_int_equal(v.ncols, COLS);
    assert_int_equal(v.nnz, ENTRIES);
    assert_int_equal(v.ptr_type, SPMVX_I32);
    int32_t next[ROWS + 1] = { 0 };
    const int32_t *ptr = v.ptr, *col = v.col;
    for (int i = 0; i < ENTRIES; i++) next[e[i].row + 1]++;
    for (int r = 0; r < ROWS; r++) next[r + 1] += next[r];
    assert_memory_equal(ptr, next, sizeof next);
    for (int i = 0; i < ENTRIES; i++) {
        const int32_t k = next[e[i].row]++;
        if (col[k] != e[i].col || ((const double *)v.val)[k] != e[i].val)
            fail_msg("entry %d of the file, at %d", i, k);
    }
}

static const int32_t thread_counts[] = { 1, 2, 3, 7 };

static void test_large(void **state)
{
    (void)state;
    entry *e = malloc(ENTRIES * sizeof *e);
    text t = large_text(e, 0, NULL), z = { 0 };
    assert_true(t.n > BLOCK + BLOCK / 2);
    add_gzip(&z, t.bytes, t.n);
    put_file("large.mtx", t.bytes, t.n);
    put_file("large.mtx.gz", z.bytes, z.n);
    for (size_t i = 0; i < COUNT(thread_counts); i++) {
        spmvx_context *ctx = test_context(NULL, thread_counts[i]);
        for (int zipped = 0; zipped < 2; zipped++) {
            spmvx_matrix *A = NULL;
            const spmvx_status s =
                spmvx_matrix_read(ctx, path_of(zipped ? "large.mtx.gz" : "large.mtx"), NULL, &A);
            if (zipped && s == SPMVX_ERR_UNSUPPORTED) continue; /* a build without zlib */
            assert_ok(ctx, s);
            check_large(A, e);
            spmvx_matrix_destroy(A);
        }
        spmvx_context_destroy(ctx);
    }
    free(e);
    free(t.bytes);
    free(z.bytes);
}

/* The line of an error is right in every block and part. */
static void test_large_refused(void **state)
{
    (void)state;
    entry *e = malloc(ENTRIES * sizeof *e);
    static const int places[] = { 1000, 150000, 262144, 399999 };
    for (size_t i = 0; i < COUNT(places); i++) {
        int line = 0;
        text t = large_text(e, places[i], &line);
        char *p = t.bytes;
        for (int n = 1; n < line; n++) p = (char *)memchr(p, '\n', t.n - (size_t)(p - t.bytes)) + 1;
        const char *value = memchr(p, '.', t.n - (size_t)(p - t.bytes));
        t.bytes[value - t.bytes] = '_';
        const char *path = put_file("large.mtx", t.bytes, t.n);
        for (size_t k = 0; k < COUNT(thread_counts); k++)
            check_refuses_with(path, NULL, thread_counts[k], SPMVX_ERR_FILE, line, "_5', not a number");
        t.bytes[value - t.bytes] = '.';
        char sizes[32]; /* as many announced, blanks keep the length */
        const int n = snprintf(sizes, sizeof sizes, "%d %d %d", ROWS, COLS, places[i]);
        char *second = strchr(t.bytes, '\n') + 1;
        memset(second, ' ', strcspn(second, "\n"));
        memcpy(second, sizes, (size_t)n);
        put_file("large.mtx", t.bytes, t.n);
        for (size_t k = 0; k < COUNT(thread_counts); k++)
            check_refuses_with(path, NULL, thread_counts[k], SPMVX_ERR_FILE, line, "more entries than the");
        free(t.bytes);
    }
    free(e);
}

/* Lines lie across the ends of blocks in every way: max_bytes makes the blocks small, and of every size. */
static void test_straddling_lines(void **state)
{
    (void)state;
    enum { LINES = 700 };
    text t = { 0 };
    add_banner(&t, REAL);
    addf(&t, "1 %d %d\n", LINES, LINES);
    for (int i = 0; i < LINES; i++) {
        add_fill(&t, ' ', 400);
        addf(&t, "1 %d", i + 1);
        add_fill(&t, '\t', (size_t)(i % 13));
        addf(&t, " %d.25\r\n", i);
    }
    const char *path = put_file("a.mtx", t.bytes, t.n);
    for (size_t room = 65536; room < 65536 + 450; room++) {
        spmvx_context *ctx = test_context(NULL, room % 3 ? 3 : 1);
        spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
        o.max_bytes = 4 * room;
        spmvx_matrix *A = NULL;
        assert_ok(ctx, spmvx_matrix_read(ctx, path, &o, &A));
        const spmvx_arrays v = view_of(A);
        assert_int_equal(v.nnz, LINES);
        for (int i = 0; i < LINES; i++)
            if (((const int32_t *)v.col)[i] != i || ((const double *)v.val)[i] != i + 0.25)
                fail_msg("entry %d of blocks of %zu", i, room);
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
    }
    free(t.bytes);
}

/* ---- progress ---- */

static void test_progress(void **state)
{
    (void)state;
    check_progress(put_text("a.mtx", REAL "1 1 1\n1 1 1\n"), 2, 1);
    assert_true(put_row("row.mtx", 0, 700000));
    check_progress(path_of("row.mtx"), 2, 2);
    static const char *const names[] = { "c.mtx.gz", "c.mtx.zst", "c.mtx.xz" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (put_row(names[i], 1, 700000)) check_progress(path_of(names[i]), 2, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_arrays),   cmocka_unit_test(test_large),
        cmocka_unit_test(test_large_refused), cmocka_unit_test(test_straddling_lines),
        cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests_name("read blocks", tests, make_folder, remove_folder);
}
