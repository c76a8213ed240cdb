/* max_bytes of a reading, from 0 to what it takes and beyond, beside an allocator that counts on its own; and
 * how large a request for memory a file of few bytes can cause. Small files of every kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archives.h"

#define BANNER "%%MatrixMarket matrix "
#define RB "a title                                                                 key\n"
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { NPZ_HOLDS = 1 << 20, ZSTD_HOLDS = 3 << 20 }; /* counted beside what the allocator sees */

/* ---- files ---- */

/* Entries of a matrix of 500 rows, row by row or the other way round. */
static const char *put_entries(const char *name, const char *kind, bool sorted, bool zipped)
{
    enum { ROWS = 500, EACH = 8 };
    text t = { 0 }, z = { 0 };
    addf(&t, "%scoordinate real %s\n%d %d %d\n", BANNER, kind, ROWS, ROWS, ROWS * EACH);
    for (int i = 0; i < ROWS * EACH; i++) {
        const int k = sorted ? i : ROWS * EACH - 1 - i;
        addf(&t, "%d %d %d.25\n", k / EACH + 1, k % EACH + 1, i);
    }
    if (zipped) add_gzip(&z, t.bytes, t.n);
    const char *path = put_file(name, zipped ? z.bytes : t.bytes, zipped ? z.n : t.n);
    free(t.bytes);
    free(z.bytes);
    return path;
}

static const char *put_array(const char *name, const char *kind)
{
    enum { N = 60 };
    text t = { 0 };
    addf(&t, "%sarray real %s\n%d %d\n", BANNER, kind, N, N);
    const int values = strcmp(kind, "general") ? N * (N + 1) / 2 : N * N;
    for (int i = 0; i < values; i++) addf(&t, "%d\n", i % 3);
    const char *path = put_file(name, t.bytes, t.n);
    free(t.bytes);
    return path;
}

static const char rua[] = RB "4 1 1 2\nrua 3 3 4 0\n(4I3) (4I3) (2F5.1)\n  1  3  4  5\n  1  3  2  1\n"
                             "  1.0  2.0\n  3.0  4.0\n",
                  rsa[] = RB "4 1 1 2\nrsa 3 3 4 0\n(4I3) (4I3) (2F5.1)\n  1  3  4  5\n  1  3  2  3\n"
                             "  1.0  2.0\n  3.0  4.0\n";

/* ---- limits ---- */

enum { STEP = 64, AROUND = 1024 }; /* bytes of max_bytes: between limits, and around those that matter */

typedef struct outcome {
    spmvx_status status;
    size_t peak;
} outcome;

/* Reads within the limit: what is taken never exceeds it, and a refusal is LIMIT. */
static outcome read_within(const char *path, size_t limit)
{
    outcome o;
    o.status = read_metered(path, 2, limit, &o.peak);
    if ((o.status != SPMVX_OK && o.status != SPMVX_ERR_LIMIT) || o.peak > limit)
        fail_msg("%s, max_bytes %zu: status %d, %zu bytes at the peak: %s", path, limit, (int)o.status,
                 o.peak, spmvx_last_error(NULL));
    return o;
}

/* Where the answer changes between the two limits, every 64th value around the change is tried. */
static void look_between(const char *path, size_t low, size_t high, spmvx_status above)
{
    while (high - low > STEP) {
        const size_t mid = low + (high - low) / 2;
        if (read_within(path, mid).status == above) high = mid;
        else low = mid;
    }
    const size_t first = low > AROUND ? low - AROUND : 1;
    for (size_t limit = first; limit < high + AROUND; limit += STEP) read_within(path, limit);
}

/* `beside`: what is counted and does not come from the allocator, at most. */
static void sweep(const char *path, size_t beside)
{
    enum { STEPS = 40 };
    outcome before = { SPMVX_ERR_LIMIT, 0 };
    size_t needed, last = 1;
    if (read_metered(path, 2, 0, &needed) != SPMVX_OK) fail_msg("%s: %s", path, spmvx_last_error(NULL));
    const size_t enough = needed + beside;
    for (size_t limit = 1; limit < AROUND; limit += STEP) read_within(path, limit);
    for (int i = 1; i <= STEPS; i++) {
        const size_t limit = enough / STEPS * (size_t)i;
        const outcome o = read_within(path, limit);
        if (o.status != before.status) look_between(path, last, limit, o.status);
        if (o.status != SPMVX_OK && before.status == SPMVX_OK)
            fail_msg("%s: a limit of %zu is enough, and %zu is not: %s", path, last, limit,
                     spmvx_last_error(NULL));
        if (o.status == SPMVX_OK && o.peak > needed)
            fail_msg("%s takes %zu bytes with a limit of %zu, and %zu without", path, o.peak, limit, needed);
        before = o;
        last = limit;
    }
    for (size_t limit = enough - AROUND; limit < enough; limit += STEP) read_within(path, limit);
    for (size_t more = 0; more <= AROUND; more += STEP)
        if (read_within(path, enough + more).status != SPMVX_OK)
            fail_msg("%s takes %zu bytes, and %zu are refused: %s", path, enough, enough + more,
                     spmvx_last_error(NULL));
    assert_int_equal(read_within(path, 2 * enough).status, SPMVX_OK);
}

static void test_coordinates(void **state)
{
    (void)state;
    static const char *const kinds[] = { "general", "symmetric" };
    for (int i = 0; i < 4; i++) sweep(put_entries("a.mtx", kinds[i / 2], i % 2, false), 0);
    sweep(put_text("few.mtx", BANNER "coordinate real general\n2 2 1\n1 1 1\n"), 0);
    sweep(put_text("tall.mtx", BANNER "coordinate pattern general\n2000000000 2 1\n1000000000 1\n"), 0);
}

static void test_arrays(void **state)
{
    (void)state;
    sweep(put_array("a.mtx", "general"), 0);
    sweep(put_array("a.mtx", "symmetric"), 0);
}

/* Text of more than a block, whose entries are counted as they come. */
static void test_compressed(void **state)
{
    (void)state;
    if (has_gzip()) {
        sweep(put_entries("a.mtx.gz", "general", true, true), 0);
        sweep(put_entries("a.mtx.gz", "symmetric", false, true), 0);
    }
    if (put_row("row.mtx.gz", 9, 200000)) sweep(path_of("row.mtx.gz"), 0);
    if (put_row("row.mtx.xz", 1, 200000)) sweep(path_of("row.mtx.xz"), 0);
    if (put_row("row.mtx.zst", 1, 200000)) sweep(path_of("row.mtx.zst"), ZSTD_HOLDS);
}

static void test_boeing(void **state)
{
    (void)state;
    sweep(put_text("a.rua", rua), 0);
    sweep(put_text("a.rsa", rsa), 0);
    if (has_gzip()) {
        text z = { 0 };
        add_gzip(&z, rua, sizeof rua - 1);
        sweep(put_file("a.rua.gz", z.bytes, z.n), 0);
        free(z.bytes);
    }
    sweep(put_text("market.rua", BANNER "coordinate real general\n2 2 1\n1 1 1\n"), 0);
}

static void test_npz(void **state)
{
    (void)state;
    static const char *const specs[] = { CSR, CSC, COO, BSR_C, DIA_C };
    if (!has_npz()) skip();
    for (size_t i = 0; i < COUNT(specs); i++) sweep(put_npz("a.npz", specs[i], NULL, NULL), NPZ_HOLDS);
    sweep(put_zeros("coo.npz", SPMVX_COO, 20000), NPZ_HOLDS);
}

/* A sorted file takes little beside its arrays. */
static void test_sorted(void **state)
{
    (void)state;
    enum { N = 1000000, ARRAYS = 16 * N, TEXT = 2 << 20 };
    size_t peak;
    assert_true(put_row("row.mtx", 0, N));
    assert_int_equal(read_metered(path_of("row.mtx"), 2, ARRAYS + TEXT, &peak), SPMVX_OK);
    assert_true(peak <= ARRAYS + TEXT);
}

/* ---- the largest request ---- */

/* 64 times the bytes of the file, decompressed, and 4 MiB, as lib/io/io.h says. */
static void check_request(const char *path, size_t bytes)
{
    const size_t largest = largest_request(path, 2), most = 64 * bytes + (4 << 20);
    if (largest > most)
        fail_msg("%s of %zu bytes asks for %zu at once: %s", path, bytes, largest, spmvx_last_error(NULL));
}

static void test_lying_texts(void **state)
{
    (void)state;
    static const char *const market[] = {
        BANNER "coordinate real general\n3 3 1000000000000000\n1 1 1\n",
        BANNER "coordinate pattern symmetric\n2147483647 2147483647 9223372036854775807\n2 1\n",
        BANNER "coordinate real general\n2147483647 1 1\n1 1 1\n",
        BANNER "coordinate real general\n1 2147483647 1\n1 1 1\n",
        BANNER "array real general\n2147483647 2147483647\n1\n",
        BANNER "array integer skew-symmetric\n2147483647 2147483647\n1\n",
    };
    static const char *const boeing[] = {
        RB "12500000000004 2 6250000000000 6250000000002\nrua 1 19 99999999999999 0\n(16I5) (16I5) "
           "(16F5.1)\n    1    1    1\n",
        RB "134217729 134217728 1 0\npsa 2147483647 2147483647 9 0\n(16I12) (16I12)\n           1           "
           "1\n",
        RB "3 1 1 1\nrua 2147483647 1 1 0\n(2I3) (1I3) (1F5.1)\n  1  2\n  1\n  1.0\n",
    };
    for (size_t i = 0; i < COUNT(market); i++) {
        text z = { 0 };
        check_request(put_text("a.mtx", market[i]), strlen(market[i]));
        add_gzip(&z, market[i], strlen(market[i]));
        check_request(put_file("a.mtx.gz", z.bytes, z.n), strlen(market[i]));
        free(z.bytes);
    }
    for (size_t i = 0; i < COUNT(boeing); i++) check_request(put_text("a.rb", boeing[i]), strlen(boeing[i]));
}

/* Shapes of two billion rows and columns, over arrays of one element. */
static void test_lying_archives(void **state)
{
    (void)state;
    static const char *const kinds[] = { "csr", "csc", "bsr", "coo", "dia" };
    if (!has_npz()) skip();
    for (size_t i = 0; i < COUNT(kinds); i++) {
        char spec[400];
        size_t n;
        const char *data = !strcmp(kinds[i], "bsr") ? "(1,1,1)" : !strcmp(kinds[i], "dia") ? "(1,1)" : "(1,)";
        snprintf(spec, sizeof spec,
                 "indices.npy <i4 (1,) 0; indptr.npy <i4 (1,) 0; row.npy <i4 (1,) 0; col.npy <i4 (1,) 0; "
                 "offsets.npy <i4 (1,) 0; format.npy |S3 () %s; data.npy <f8 %s 1; "
                 "shape.npy <i8 (2,) 2147483647 2147483647",
                 kinds[i], data);
        free(get_file(put_npz("a.npz", spec, NULL, NULL), &n));
        check_request(path_of("a.npz"), n);
    }
}

/* Honest files in which a byte stands for as much as it can. */
static void test_dense_files(void **state)
{
    (void)state;
    enum { N = 30000 };
    text t = { 0 };
    addf(&t, "%scoordinate pattern symmetric\n%d %d %d\n", BANNER, 8 * N, 8 * N, N);
    for (int i = 0; i < N; i++) addf(&t, "%d 1\n", 9 - i % 9);
    check_request(put_file("a.mtx", t.bytes, t.n), t.n);
    t.n = 0;
    addf(&t, "%s%d 1 %d\npua 9 1 %d 0\n(2I8) (80I1)\n%8d%8d\n", RB, N / 80 + 1, N / 80, N, 1, N + 1);
    for (int i = 0; i < N; i++) addf(&t, "%d%s", 9 - i % 9, i % 80 == 79 ? "\n" : "");
    size_t peak;
    assert_int_equal(read_metered(put_file("a.rb", t.bytes, t.n), 2, 0, &peak), SPMVX_OK);
    check_request(path_of("a.rb"), t.n);
    free(t.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coordinates), cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_compressed),  cmocka_unit_test(test_boeing),
        cmocka_unit_test(test_npz),         cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_lying_texts), cmocka_unit_test(test_lying_archives),
        cmocka_unit_test(test_dense_files),
    };
    return cmocka_run_group_tests_name("read limits", tests, make_folder, remove_folder);
}
