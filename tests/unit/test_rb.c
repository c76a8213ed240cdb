/* Reading of Rutherford-Boeing and Harwell-Boeing files: what is taken, by which names, compressed, from a
 * pipe, and how much of it. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boeing.h"
#include "files.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- good files ---- */

static const struct {
    const char *name, *text, *expected;
} good[] = {
    { "real", RUA, "CSR 3x3: 1 1 1; 1 3 3; 2 2 2; 3 1 4;" },
    { "capitals", TITLE "3 1 1 1\nRUA 3 3 4 0\n(16i5) (16i5) (4e8.1)\n" RUA_REST,
      "CSR 3x3: 1 1 1; 1 3 3; 2 2 2; 3 1 4;" },
    { "element values left out", TITLE "3 1 1 1\nrua 3 3 4\n" RUA_FORMATS RUA_REST,
      "CSR 3x3: 1 1 1; 1 3 3; 2 2 2; 3 1 4;" },
    { "carriage returns",
      TITLE
      "3 1 1 1\r\nrua 3 3 4 0\r\n(16I5) (16I5) (4E8.1)\r\n    1    3    4    5\r\n    1    3    2    1\r\n"
      " 1.0E+00 4.0E+00 2.0E+00 3.0E+00\r\n",
      "CSR 3x3: 1 1 1; 1 3 3; 2 2 2; 3 1 4;" },
    { "no blanks between fields",
      TITLE "6 1 1 4\nrua 12 2 4 0\n(3I1) (26I2) (1P,1D9.2)\n135\n 1121112\n 1.50D+00\n-2.50D-01\n "
            "3.25D+02\n-4.00D+00\n",
      "CSR 12x2: 1 1 1.5; 11 2 325; 12 1 -0.25; 12 2 -4;" },
    { "nested parentheses",
      TITLE "5 2 2 1\nrua 3 3 4 0\n(2(I8)) (3(I4)) (4(1P,E10.3))\n       1       3\n       4       5\n   1   "
            "3   2\n   1\n"
            " 1.000E+00 4.000E+00 2.000E+00 3.000E+00\n",
      "CSR 3x3: 1 1 1; 1 3 3; 2 2 2; 3 1 4;" },
    { "blanks and lower case in formats",
      TITLE "3 1 1 1\nrua 3 3 4 0\n( 16 I 5 ) (16I5.5)  ( 1p , 4 e 8.1 e 2 )\n" RUA_REST,
      "CSR 3x3: 1 1 1; 1 3 3; 2 2 2; 3 1 4;" },
    { "trailing blanks",
      TITLE "3 1 1 1    \nrua 3 3 4 0  \n(16I5) (16I5) (4E8.1)   \n    1    3    4    5   \n    1    3    2  "
            "  1      \n"
            " 1.0E+00 4.0E+00 2.0E+00 3.0E+00 \n   \n\n",
      "CSR 3x3: 1 1 1; 1 3 3; 2 2 2; 3 1 4;" },
    { "integer", TITLE "3 1 1 1\niua 2 2 3 0\n(3I3) (3I3) (3I4)\n  1  3  4\n  1  2  1\n  -7  12 100\n",
      "CSR 2x2: 1 1 -7; 1 2 100; 2 1 12;" },
    { "integer beyond 64 bits",
      TITLE "3 1 1 1\niua 1 1 1 0\n(3I3) (3I3) (1I21)\n  1  2\n  1\n-12345678901234567890\n",
      "CSR 1x1: 1 1 -1.2345678901234567e+19;" },
    { "pattern", TITLE "2 1 1 0\npua 2 2 3 0\n(3I3) (3I3)\n  1  3  4\n  1  2  1\n",
      "CSR 2x2: 1 1 1; 1 2 1; 2 1 1;" },
    { "rectangular",
      TITLE "3 1 1 1\nrra 2 4 3 0\n(5I3) (3I3) (3F5.1)\n  1  2  2  3  4\n  2  1  2\n  1.5  2.5 -3.5\n",
      "CSR 2x4: 1 3 2.5; 2 1 1.5; 2 4 -3.5;" },
    { "rua that is not square",
      TITLE "3 1 1 1\nrua 1 2 2 0\n(5I3) (3I3) (3F5.1)\n  1  2  3\n  1  1\n  1.5  2.5\n",
      "CSR 1x2: 1 1 1.5; 1 2 2.5;" },
    { "symmetric",
      TITLE "3 1 1 1\nrsa 3 3 4 0\n(4I3) (4I3) (4F5.1)\n  1  3  4  5\n  1  3  2  3\n  1.0  4.0  2.0 -3.5\n",
      "CSR 3x3: 1 1 1; 1 3 4; 2 2 2; 3 1 4; 3 3 -3.5;" },
    { "symmetric pattern", TITLE "2 1 1 0\npsa 2 2 2 0\n(4I3) (4I3)\n  1  3  3\n  1  2\n",
      "CSR 2x2: 1 1 1; 1 2 1; 2 1 1;" },
    { "symmetric integer", TITLE "3 1 1 1\nisa 2 2 2 0\n(4I3) (4I3) (4I3)\n  1  3  3\n  1  2\n  5  6\n",
      "CSR 2x2: 1 1 5; 1 2 6; 2 1 6;" },
    { "skew-symmetric", TITLE "3 1 1 1\nrza 3 3 2 0\n(4I3) (4I3) (4F5.1)\n  1  3  3  3\n  2  3\n  1.5 -2.0\n",
      "CSR 3x3: 1 2 -1.5; 1 3 2; 2 1 1.5; 3 1 -2;" },
    { "skew-symmetric pattern", TITLE "2 1 1 0\npza 2 2 1 0\n(4I3) (4I3)\n  1  2  2\n  2\n",
      "CSR 2x2: 1 2 -1; 2 1 1;" },
    { "unsorted, repeats, zeros",
      TITLE "3 1 1 1\nrua 2 1 4 0\n(4I3) (4I3) (4F3.0)\n  1  5\n  2  1  2  1\n 1. 0. 3. 4.\n",
      "CSR 2x1: 1 1 0; 1 1 4; 2 1 1; 2 1 3;" },
    { "no entries", TITLE "1 1 0 0\nrua 2 3 0 0\n(4I3) (4I3) (4F5.1)\n  1  1  1  1\n", "CSR 2x3:" },
    { "0 x 0", TITLE "1 1 0 0\nrua 0 0 0 0\n(4I3) (4I3) (4F5.1)\n  1\n", "CSR 0x0:" },
    { "rows far outnumber entries",
      TITLE "3 1 1 1\nrra 2000000000 1 2 0\n(8I10) (4I12) (4F5.1)\n         1         3\n  2000000000        "
            "   7\n  1.5  2.5\n",
      "COO 2000000000x1: 2000000000 1 1.5; 7 1 2.5;" },
    { "no newline at the end", TITLE "2 1 1 0\npua 2 2 3 0\n(3I3) (3I3)\n  1  3  4\n  1  2  1",
      "CSR 2x2: 1 1 1; 1 2 1; 2 1 1;" },
    { "widths that the format does not say",
      TITLE "3 1 1 1\nrua 3 3 4 0\n(16I5) (16I8) (4E25.16)\n 1 3 4 5\n1          3 2    1\n 1.0E+00 4.0E+00 "
            "2.0E+00 3.0E+00\n",
      "CSR 3x3: 1 1 1; 1 3 3; 2 2 2; 3 1 4;" },
    { "Harwell-Boeing, right-hand sides",
      TITLE "5 1 1 1 2\nRUA 2 2 3 0\n(3I3)           (3I3)           (3F5.1)             (2F5.1)\n"
            "FGX                        1             2\n  1  3  4\n  1  2  1\n  1.0  2.0  3.0\n  9.0  9.0\n "
            " 8.0  8.0\n",
      "CSR 2x2: 1 1 1; 1 2 3; 2 1 2;" },
    { "Harwell-Boeing, no right-hand sides",
      TITLE "3 1 1 1 0\nRUA 2 2 3 0\n(3I3) (3I3) (3F5.1)\n  1  3  4\n  1  2  1\n  1.0  2.0  3.0\n",
      "CSR 2x2: 1 1 1; 1 2 3; 2 1 2;" },
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        check_reads_as(good[i].name, put_text("a.rb", good[i].text), NULL, good[i].expected);
}

static void test_single_precision(void **state)
{
    (void)state;
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.val_type = SPMVX_F32;
    check_reads(put_text("a.rb", TITLE "3 1 1 1\nrza 2 2 1 0\n(4I3) (4I3) (4F5.1)\n  1  2  2\n  2\n  0.1\n"),
                &o, "CSR 2x2: 1 2 -0.10000000149011612; 2 1 0.10000000149011612;");
    check_reads(put_text("a.rb", TITLE "2 1 1 0\npua 1 1 1 0\n(4I3) (4I3)\n  1  2\n  1\n"), &o,
                "CSR 1x1: 1 1 1;");
}

/* One field of a real format, and the number that Fortran means by it. */
static const struct {
    const char *format, *field;
    double value;
} reals[] = {
    { "(F8.2)", "    1.50", 1.5 },
    { "(F8.2)", "1.5     ", 1.5 },
    { "(F8.2)", "     150", 1.5 }, /* no point: the last two digits are the fraction */
    { "(F8.2)", "    -150", -1.5 },
    { "(F8.2)", "       1", 0.01 },
    { "(F8.0)", "     150", 150 },
    { "(F8.2)", "   1.5e1", 15 },
    { "(E12.4)", "     150E+02", 1.5 }, /* the same with an exponent */
    { "(E12.4)", "  0.1500E+02", 15 },
    { "(E12.4)", "  .15D+02   ", 15 },
    { "(E12.4)", "   1.5d2    ", 150 },
    { "(E12.4)", "     1.5+002", 150 }, /* three digits of an exponent push its letter out */
    { "(E12.4)", "     1.5-103", 1.5e-103 },
    { "(E12.4)", "    -1.5-103", -1.5e-103 },
    { "(D12.4)", "     150-002", 1.5e-4 },
    { "(1P,E12.4)", "  1.5000E+01", 15 },   /* an exponent: the scale factor is for output */
    { "(1P,E12.4)", "      1.5000", 0.15 }, /* none: it divides */
    { "(2PF8.2)", "   150.0", 1.5 },
    { "(-2P,F8.2)", "    1.50", 150 },
    { "(2PF8.2)", "     150", 0.015 },
    { "(1P1E12.4)", "  1.5000E+01", 15 },
    { "(G12.4)", "       0.25 ", 0.25 },
    { "(EN12.4)", " 150.00E-03", 0.15 },
    { "(ES12.4)", "  1.5000E-01", 0.15 },
    { "(1P,E24.17E3)", " 2.2250738585072014E-308", 0x1p-1022 },
    /* a half, and a bit less */
    { "(E75.68)", "2.2250738585072011360574097967091319759348195463516456480234261097248e-308",
      0x0.fffffffffffffp-1022 },
    { "(F30.20)", "   9007199254740993.0000000001", 9007199254740994.0 },
    /* ties to even, after the shift */
    { "(F30.2)", "           900719925474099300", 9007199254740992.0 },
    { "(F30.2)", "           900719925474099301", 9007199254740994.0 },
    { "(E12.4)", "   1.5E+9999", INFINITY },
    { "(E12.4)", "  1.5E-99999", 0 },
    { "(E25.4)", "     1E99999999999999999", INFINITY },
    { "(E8.1)", "     Inf", INFINITY },
    { "(E9.1)", "-Infinity", -INFINITY },
};

static void test_reals(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(reals); i++) {
        text t = { 0 };
        addf(&t, TITLE "3 1 1 1\nrua 1 1 1 0\n(4I3) (4I3) %s\n  1  2\n  1\n%s\n", reals[i].format,
             reals[i].field);
        char expected[64];
        snprintf(expected, sizeof expected, "CSR 1x1: 1 1 %.17g;", reals[i].value);
        check_reads(put_file("a.rb", t.bytes, t.n), NULL, expected);
        free(t.bytes);
    }
}

/* ---- names and contents ---- */

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = { "a.rb",     "a.RB",    "a.hb",     "a.rua", "a.RUA",
                                         "a.Rua",    "a.psa",   "a.cza",    "a.ise", "a.rua.gz",
                                         "a.mtx.rb", "a.rb.xz", "a.rb.zst", ".rb" };
    static const char *const others[] = { "a.mtx", "rua",      "a.rub",      "a.xua",   "rb",
                                          "a.rbx", "a.rb.bz2", "a.rb.gz.gz", "a.rua.GZ" };
    for (size_t i = 0; i < COUNT(names); i++) check_reads(put_text(names[i], RUA), NULL, RUA_DUMP);
    for (size_t i = 0; i < COUNT(others); i++)
        check_refuses(put_text(others[i], RUA), SPMVX_ERR_FILE, 1, "MatrixMarket");
    for (size_t i = 0; i < COUNT(names); i++)
        check_reads(put_text(names[i], "%%matrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n"), NULL,
                    "CSR 1x1: 1 1 2;");
    check_refuses(put_text("a.rb", "%%MatrixMark"), SPMVX_ERR_FILE, 2, "ends before");
    check_refuses(path_of("missing.rb"), SPMVX_ERR_IO, 0, "No such file");
    assert_int_equal(mkdir(path_of("folder.rb"), 0700), 0);
    check_refuses(path_of("folder.rb"), SPMVX_ERR_IO, 0, "directory");
    rmdir(path_of("folder.rb"));
}

static void test_gzip(void **state)
{
    (void)state;
    static const char market[] = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n";
    text z = { 0 };
    add_gzip(&z, RUA, strlen(RUA));
    const char *path = put_file("a.rua.gz", z.bytes, z.n);
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    const spmvx_status s = spmvx_matrix_read(ctx, path, NULL, &A);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    if (s == SPMVX_ERR_UNSUPPORTED) skip(); /* a build without zlib */
    check_reads(path, NULL, RUA_DUMP);
    check_reads(put_file("a.rua", z.bytes, z.n), NULL, RUA_DUMP);
    z.bytes[z.n - 6] ^= 1;
    check_refuses(put_file("a.rua", z.bytes, z.n), SPMVX_ERR_FILE, 0, "gzip");
    z.bytes[z.n - 6] ^= 1;
    for (size_t cut = 2; cut < z.n; cut++)
        check_refuses(put_file("a.rua", z.bytes, cut), SPMVX_ERR_FILE, 0, "gzip");
    z.n = 0;
    add_gzip(&z, market, sizeof market - 1);
    check_reads(put_file("a.rua.gz", z.bytes, z.n), NULL, "CSR 1x1: 1 1 2;");
    free(z.bytes);
}

/* What is no regular file is told by its name alone, since it can be read but once. */
static void test_pipe(void **state)
{
    (void)state;
    const char *path = path_of("pipe.rb");
    assert_int_equal(mkfifo(path, 0600), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(30);
        const int fd = open(path, O_WRONLY);
        _exit(fd < 0 || write(fd, RUA, strlen(RUA)) != (ssize_t)strlen(RUA));
    }
    check_reads(path, NULL, RUA_DUMP);
    int exit_status = -1;
    assert_int_equal(waitpid(child, &exit_status, 0), child);
    assert_int_equal(exit_status, 0);
}

static void test_not_written(void **state)
{
    (void)state;
    static const char *const names[] = { "out.rb", "out.rua", "out.hb.gz" };
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_read(ctx, put_text("a.rb", RUA), NULL, &A));
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *path = path_of(names[i]);
        assert_fails(SPMVX_ERR_UNSUPPORTED, "read and not written", spmvx_matrix_write(ctx, A, path, NULL));
        assert_int_equal(access(path, F_OK), -1);
    }
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* ---- large files ---- */

enum { ROWS = 1501, COLS = 900, A_COLUMN = 120, ENTRIES = COLS * A_COLUMN };

/* Column j holds rows j + 7k mod ROWS; value i is i + 0.5. */
static text large_text(int lines_of_indices)
{
    text t = { 0 };
    addf(&t, TITLE "%d %d %d %d\nrra %d %d %d 0\n(10I8) (16I5) (3D20.12)\n",
         (COLS + 10) / 10 + lines_of_indices + ENTRIES / 3, (COLS + 10) / 10, lines_of_indices, ENTRIES / 3,
         ROWS, COLS, ENTRIES);
    for (int j = 0; j <= COLS; j++) addf(&t, "%8d%s", j * A_COLUMN + 1, j % 10 == 9 || j == COLS ? "\n" : "");
    for (int i = 0; i < ENTRIES; i++)
        addf(&t, "%5d%s", (i / A_COLUMN + 7 * (i % A_COLUMN)) % ROWS + 1,
             i % 16 == 15 || i + 1 == ENTRIES ? "\n" : "");
    for (int i = 0; i < ENTRIES; i++) addf(&t, "%20.12E%s", i + 0.5, i % 3 == 2 ? "\n" : "");
    return t;
}

static void test_large(void **state)
{
    (void)state;
    text t = large_text(ENTRIES / 16);
    const char *path = put_file("large.rb", t.bytes, t.n);
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_read(ctx, path, NULL, &A));
    const spmvx_arrays v = view_of(A);
    assert_int_equal(v.nnz, ENTRIES);
    const int32_t *ptr = v.ptr, *col = v.col;
    int64_t seen = 0;
    for (int32_t r = 0; r < ROWS; r++)
        for (int32_t k = ptr[r], last = -1; k < ptr[r + 1]; k++, seen++) {
            assert_true(col[k] > last); /* by columns */
            last = col[k];
            const int i = (int)(((const double *)v.val)[k] - 0.5);
            if (i / A_COLUMN != col[k] || (i / A_COLUMN + 7 * (i % A_COLUMN)) % ROWS != r)
                fail_msg("entry %d is in row %d, column %d", i, r, col[k]);
        }
    assert_int_equal(seen, ENTRIES);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    check_bounded(path, 2);
    text z = { 0 };
    add_gzip(&z, t.bytes, t.n);
    if (read_metered(put_file("large.rb.gz", z.bytes, z.n), 2, 0, &(size_t){ 0 }) != SPMVX_ERR_UNSUPPORTED)
        check_bounded(path_of("large.rb.gz"), 2);
    free(z.bytes);
    free(t.bytes);
}

static void test_progress(void **state)
{
    (void)state;
    text t = large_text(ENTRIES / 16);
    check_progress(put_file("large.rb", t.bytes, t.n), 1, 3);
    free(t.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),        cmocka_unit_test(test_single_precision),
        cmocka_unit_test(test_reals),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_gzip),        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_not_written), cmocka_unit_test(test_large),
        cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests_name("rb", tests, make_folder, remove_folder);
}
