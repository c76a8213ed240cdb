/* Reading of Matrix Market files: what is taken, in which order it comes out, and what is refused with which words. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAL "%%MatrixMarket matrix coordinate real general\n"
#define ARRAY "%%MatrixMarket matrix array real "
#define INTEGER "%%MatrixMarket matrix coordinate integer general\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define SKEW "%%MatrixMarket matrix coordinate real skew-symmetric\n"
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { BLOCK = 4 << 20 };   /* the reader takes at most so much text at once */

static const char *put_text(const char *content)
{
    return put_file("a.mtx", content, strlen(content));
}

static void add_banner(text *t, const char *banner)
{
    t->n = 0;
    add(t, banner, strlen(banner));
}

static void check_refuses(const char *path, spmvx_status status, int line, const char *reason)
{
    check_refuses_with(path, NULL, 2, status, line, reason);
}

/* ---- good files ---- */

static const struct { const char *name, *text, *expected; } good[] = {
    { "general real", REAL "2 3 3\n2 1 4\n1 3 2.5\n1 1 -1\n", "CSR 2x3: 1 3 2.5; 1 1 -1; 2 1 4;" },
    { "general integer", INTEGER "2 2 3\n1 1 -7\n2 2 +12\n1 2 0\n", "CSR 2x2: 1 1 -7; 1 2 0; 2 2 12;" },
    { "general pattern", PATTERN "2 2 2\n2 2\n1 2\n", "CSR 2x2: 1 2 1; 2 2 1;" },
    { "symmetric real", SYMMETRIC "3 3 3\n3 1 2\n2 2 5\n3 2 -1\n", "CSR 3x3: 1 3 2; 2 2 5; 2 3 -1; 3 1 2; 3 2 -1;" },
    { "symmetric integer", "%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n2 1 3\n1 1 4\n", "CSR 2x2: 1 2 3; 1 1 4; 2 1 3;" },
    { "symmetric pattern", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n", "CSR 2x2: 1 1 1; 1 2 1; 2 1 1;" },
    { "symmetric, upper half", SYMMETRIC "2 2 1\n1 2 9\n", "CSR 2x2: 1 2 9; 2 1 9;" },
    { "symmetric, both halves", SYMMETRIC "2 2 2\n1 2 9\n2 1 8\n", "CSR 2x2: 1 2 9; 1 2 8; 2 1 9; 2 1 8;" },
    { "symmetric, order", SYMMETRIC "3 3 4\n2 1 1\n3 2 2\n2 2 3\n3 1 4\n", "CSR 3x3: 1 2 1; 1 3 4; 2 1 1; 2 3 2; 2 2 3; 3 2 2; 3 1 4;" },
    { "skew-symmetric real", SKEW "3 3 2\n2 1 1.5\n3 1 -2\n", "CSR 3x3: 1 2 -1.5; 1 3 2; 2 1 1.5; 3 1 -2;" },
    { "skew-symmetric integer", "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 0\n", "CSR 2x2: 1 2 -0; 2 1 0;" },
    { "comments and blank lines", REAL "% one\n\n%two\n  \t\n 2 2 2 \n%three\n1 1 1\n\n % four\n2 2 2\n\n%five", "CSR 2x2: 1 1 1; 2 2 2;" },
    { "tabs", REAL "2\t2\t1\n1\t2\t3\n", "CSR 2x2: 1 2 3;" },
    { "capitals", "%%MATRIXMARKET MATRIX Coordinate REAL General\n1 1 1\n1 1 1\n", "CSR 1x1: 1 1 1;" },
    { "lower case", "%%matrixmarket matrix coordinate integer general\n1 1 1\n1 1 1\n", "CSR 1x1: 1 1 1;" },
    { "capitals of integer", "%%MatrixMarket MATRIX COORDINATE INTEGER SKEW-SYMMETRIC\n2 2 1\n2 1 1\n", "CSR 2x2: 1 2 -1; 2 1 1;" },
    { "blanks in the banner", "%%MatrixMarket  matrix\tcoordinate   real general \t\n1 1 0\n", "CSR 1x1:" },
    { "carriage returns", "%%MatrixMarket matrix coordinate real general\r\n%c\r\n\r\n2 2 2\r\n1 1 1\r\n2 1 2.5\r\n",
      "CSR 2x2: 1 1 1; 2 1 2.5;" },
    { "carriage returns, pattern", "%%MatrixMarket matrix coordinate pattern general\r\n1 2 1\r\n1 2\r\n", "CSR 1x2: 1 2 1;" },
    { "no newline at the end", REAL "1 1 1\n1 1 2.25", "CSR 1x1: 1 1 2.25;" },
    { "no newline after the sizes", REAL "4 5 0", "CSR 4x5:" },
    { "blanks around", REAL "  2 2 1  \n   2   1    -3   \n", "CSR 2x2: 2 1 -3;" },
    { "plus signs", REAL "+2 +2 +1\n+1 +2 +3.5e+1\n", "CSR 2x2: 1 2 35;" },
    { "leading zeros", REAL "002 02 01\n0001 02 0003.50\n", "CSR 2x2: 1 2 3.5;" },
    { "exponents", REAL "1 1 6\n1 1 1e2\n1 1 1E-2\n1 1 1d3\n1 1 1.5D+1\n1 1 .5\n1 1 5.\n",
      "CSR 1x1: 1 1 100; 1 1 0.01; 1 1 1000; 1 1 15; 1 1 0.5; 1 1 5;" },
    { "inf", REAL "1 1 4\n1 1 inf\n1 1 -Inf\n1 1 INFINITY\n1 1 +infinity\n", "CSR 1x1: 1 1 inf; 1 1 -inf; 1 1 inf; 1 1 inf;" },
    { "nan", REAL "1 1 2\n1 1 nan\n1 1 NaN\n", "CSR 1x1: 1 1 nan; 1 1 nan;" },
    { "out of range values", REAL "1 1 3\n1 1 1e400\n1 1 -1e400\n1 1 1e-400\n", "CSR 1x1: 1 1 inf; 1 1 -inf; 1 1 0;" },
    { "-0", REAL "1 1 2\n1 1 -0\n1 1 -0.0e5\n", "CSR 1x1: 1 1 -0; 1 1 -0;" },
    { "0 x 0", REAL "0 0 0\n", "CSR 0x0:" },
    { "0 x 0, symmetric", SYMMETRIC "0 0 0\n", "CSR 0x0:" },
    { "5 x 3, empty", REAL "5 3 0\n", "CSR 5x3:" },
    { "0 x 7", REAL "0 7 0\n", "CSR 0x7:" },
    { "7 x 0", REAL "7 0 0\n%\n\n", "CSR 7x0:" },
    { "repeats and explicit zeros", REAL "2 2 5\n1 1 1\n2 2 0\n1 1 1\n1 1 0\n2 2 0.0\n", "CSR 2x2: 1 1 1; 1 1 1; 1 1 0; 2 2 0; 2 2 0;" },
    { "repeats on a diagonal", SYMMETRIC "1 1 2\n1 1 2\n1 1 3\n", "CSR 1x1: 1 1 2; 1 1 3;" },
    { "unsorted", REAL "3 3 5\n3 3 1\n1 3 2\n3 1 3\n1 1 4\n3 2 5\n", "CSR 3x3: 1 3 2; 1 1 4; 3 3 1; 3 1 3; 3 2 5;" },
    { "rows far outnumber entries", REAL "2000000000 2000000000 3\n2000000000 1 1\n1 2000000000 2\n7 7 3\n",
      "COO 2000000000x2000000000: 2000000000 1 1; 1 2000000000 2; 7 7 3;" },
    { "the largest sizes", REAL "2147483647 2147483647 1\n2147483647 2147483647 1\n",
      "COO 2147483647x2147483647: 2147483647 2147483647 1;" },
    { "many columns", REAL "1 2147483647 1\n1 2147483647 5\n", "CSR 1x2147483647: 1 2147483647 5;" },
    { "symmetric COO", SYMMETRIC "1000000 1000000 2\n9 8 1\n5 5 2\n", "COO 1000000x1000000: 9 8 1; 8 9 1; 5 5 2;" },
    { "as many rows as CSR takes", REAL "4104 1 1\n4104 1 1\n", "CSR 4104x1: 4104 1 1;" },
    { "a row more", REAL "4105 1 1\n4105 1 1\n", "COO 4105x1: 4105 1 1;" },
    { "many rows, no entry", REAL "4097 4097 0\n", "COO 4097x4097:" },
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        char got[1024] = "";
        spmvx_context *ctx = test_context(NULL, 2);
        spmvx_matrix *A = NULL;
        if (spmvx_matrix_read(ctx, put_text(good[i].text), NULL, &A) != SPMVX_OK) fail_msg("%s: %s", good[i].name, spmvx_last_error(ctx));
        dump(A, got);
        if (strcmp(got, good[i].expected)) fail_msg("%s: %s, not %s", good[i].name, got, good[i].expected);
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
    }
}

static void test_single_precision(void **state)
{
    (void)state;
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.val_type = SPMVX_F32;
    check_reads(put_text(REAL "1 2 4\n1 1 0.5\n1 2 -0\n1 1 1e39\n1 2 1e-46\n"), &o, "CSR 1x2: 1 1 0.5; 1 2 -0; 1 1 inf; 1 2 0;");
    check_reads(put_text(SKEW "2 2 1\n2 1 0.1\n"), &o, "CSR 2x2: 1 2 -0.10000000149011612; 2 1 0.10000000149011612;");
    check_reads(put_text(REAL "9000 1 1\n3 1 16777217\n"), &o, "COO 9000x1: 3 1 16777216;");
    o.val_type = 0;
    check_reads(put_text(REAL "1 1 1\n1 1 0.1\n"), &o, "CSR 1x1: 1 1 0.10000000000000001;");
}

/* ---- refused ---- */

static const struct { const char *name, *text; spmvx_status status; int line; const char *reason; } refused[] = {
    { "fewer entries", REAL "2 2 3\n1 1 1\n2 2 2\n", SPMVX_ERR_FILE, 5, "2 of the 3 entries" },
    { "no entries", REAL "2 2 3\n", SPMVX_ERR_FILE, 3, "0 of the 3 entries" },
    { "more entries", REAL "2 2 1\n%\n1 1 1\n\n2 2 2\n1 2 3\n", SPMVX_ERR_FILE, 6, "more entries than the 1 announced" },
    { "entries where none were announced", REAL "2 2 0\n1 1 1\n", SPMVX_ERR_FILE, 3, "more entries than the 0 announced" },
    { "entries in a matrix of no rows", REAL "0 0 1\n1 1 1\n", SPMVX_ERR_FILE, 3, "row 1 is not in 1 ... 0" },
    { "row 0", REAL "2 2 1\n0 1 1\n", SPMVX_ERR_FILE, 3, "row 0 is not in 1 ... 2" },
    { "column 0", REAL "2 2 1\n1 0 1\n", SPMVX_ERR_FILE, 3, "column 0 is not in 1 ... 2" },
    { "row too large", REAL "2 3 2\n1 3 1\n3 1 1\n", SPMVX_ERR_FILE, 4, "row 3 is not in 1 ... 2" },
    { "column too large", REAL "3 2 1\n3 3 1\n", SPMVX_ERR_FILE, 3, "column 3 is not in 1 ... 2" },
    { "index of 2^32 + 1", REAL "2 2 1\n4294967297 1 1\n", SPMVX_ERR_FILE, 3, "row 4294967297 is not" },
    { "negative row", REAL "2 2 1\n-1 1 1\n", SPMVX_ERR_FILE, 3, "row -1 is not" },
    { "negative column", REAL "2 2 1\n1 -2 1\n", SPMVX_ERR_FILE, 3, "column -2 is not" },
    { "fractional row", REAL "2 2 1\n1.5 1 1\n", SPMVX_ERR_FILE, 3, "row is '1.5'" },
    { "fractional column", PATTERN "2 2 1\n1 2.0\n", SPMVX_ERR_FILE, 3, "column is '2.0'" },
    { "row with an exponent", REAL "20 2 1\n1e1 1 1\n", SPMVX_ERR_FILE, 3, "row is '1e1'" },
    { "row beyond int64", REAL "2 2 1\n9223372036854775808 1 1\n", SPMVX_ERR_FILE, 3, "row is '9223372036854775808'" },
    { "column of thirty digits", REAL "2 2 1\n1 100000000000000000000000000001 1\n", SPMVX_ERR_FILE, 3, "column is '1000000000" },
    { "word for a row", REAL "2 2 1\none 1 1\n", SPMVX_ERR_FILE, 3, "row is 'one'" },
    { "diagonal in skew-symmetric", SKEW "2 2 2\n2 1 1\n2 2 0\n", SPMVX_ERR_FILE, 4, "diagonal" },
    { "fraction in integer", INTEGER "2 2 1\n1 1 1.5\n", SPMVX_ERR_FILE, 3, "value is '1.5'" },
    { "point in integer", INTEGER "2 2 1\n1 1 1.\n", SPMVX_ERR_FILE, 3, "value is '1.'" },
    { "exponent in integer", INTEGER "2 2 1\n1 1 1e2\n", SPMVX_ERR_FILE, 3, "value is '1e2'" },
    { "inf in integer", INTEGER "2 2 1\n1 1 inf\n", SPMVX_ERR_FILE, 3, "value is 'inf'" },
    { "junk in a value", REAL "2 2 1\n1 1 3.0abc\n", SPMVX_ERR_FILE, 3, "value is '3.0abc'" },
    { "junk after the value", REAL "2 2 1\n1 1 3.0 4\n", SPMVX_ERR_FILE, 3, "'4'" },
    { "comment after the value", REAL "2 2 1\n1 1 3.0 % c\n", SPMVX_ERR_FILE, 3, "'%'" },
    { "value in a pattern", PATTERN "2 2 1\n1 1 3\n", SPMVX_ERR_FILE, 3, "'3'" },
    { "comma", REAL "2 2 1\n1 1 3,5\n", SPMVX_ERR_FILE, 3, "value is '3,5'" },
    { "commas between", REAL "2 2 1\n1,1,3\n", SPMVX_ERR_FILE, 3, "row is '1,1,3'" },
    { "hexadecimal", REAL "2 2 1\n1 1 0x10\n", SPMVX_ERR_FILE, 3, "value is '0x10'" },
    { "half an exponent", REAL "2 2 1\n1 1 3e\n", SPMVX_ERR_FILE, 3, "value is '3e'" },
    { "half an infinity", REAL "2 2 1\n1 1 infi\n", SPMVX_ERR_FILE, 3, "value is 'infi'" },
    { "two signs", REAL "2 2 1\n1 1 +-3\n", SPMVX_ERR_FILE, 3, "value is '+-3'" },
    { "sign alone", REAL "2 2 1\n1 1 -\n", SPMVX_ERR_FILE, 3, "value is '-'" },
    { "point alone", REAL "2 2 1\n1 1 .\n", SPMVX_ERR_FILE, 3, "value is '.'" },
    { "missing value", REAL "2 2 1\n1 1\n", SPMVX_ERR_FILE, 3, "value is ''" },
    { "missing value, carriage return", REAL "2 2 1\r\n1 1\r\n", SPMVX_ERR_FILE, 3, "value is ''" },
    { "missing column", PATTERN "2 2 1\n1\n", SPMVX_ERR_FILE, 3, "column is ''" },
    { "missing value at the end", REAL "2 2 1\n1 1", SPMVX_ERR_FILE, 3, "value is ''" },
    { "empty file", "", SPMVX_ERR_FILE, 1, "ends before" },
    { "banner alone", REAL, SPMVX_ERR_FILE, 2, "ends before" },
    { "comments alone", REAL "% a\n%\n\n", SPMVX_ERR_FILE, 5, "ends before" },
    { "blank line first", "\n" REAL "1 1 0\n", SPMVX_ERR_FILE, 1, "MatrixMarket" },
    { "no banner", "1 1 1\n1 1 1\n", SPMVX_ERR_FILE, 1, "MatrixMarket" },
    { "banner of one %", "%MatrixMarket matrix coordinate real general\n1 1 0\n", SPMVX_ERR_FILE, 1, "MatrixMarket" },
    { "first word", "%%MatrixMarked matrix coordinate real general\n1 1 0\n", SPMVX_ERR_FILE, 1, "MatrixMarket" },
    { "first word too long", "%%MatrixMarketeers matrix coordinate real general\n1 1 0\n", SPMVX_ERR_FILE, 1, "MatrixMarket" },
    { "object", "%%MatrixMarket vector coordinate real general\n1 1 0\n", SPMVX_ERR_FILE, 1, "'vector'" },
    { "layout", "%%MatrixMarket matrix coordinates real general\n1 1 0\n", SPMVX_ERR_FILE, 1, "'coordinates'" },
    { "field", "%%MatrixMarket matrix coordinate reals general\n1 1 0\n", SPMVX_ERR_FILE, 1, "'reals'" },
    { "symmetry", "%%MatrixMarket matrix coordinate real lower\n1 1 0\n", SPMVX_ERR_FILE, 1, "'lower'" },
    { "banner without symmetry", "%%MatrixMarket matrix coordinate real\n1 1 0\n", SPMVX_ERR_FILE, 1, "symmetry" },
    { "banner without field", "%%MatrixMarket matrix coordinate\n1 1 0\n", SPMVX_ERR_FILE, 1, "field" },
    { "banner of one word", "%%MatrixMarket\n1 1 0\n", SPMVX_ERR_FILE, 1, "object" },
    { "banner of six words", "%%MatrixMarket matrix coordinate real general x\n1 1 0\n", SPMVX_ERR_FILE, 1, "'x" },
    { "skew-symmetric pattern", "%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", SPMVX_ERR_FILE, 1, "pattern" },
    { "complex", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", SPMVX_ERR_UNSUPPORTED, 1, "complex" },
    { "hermitian", "%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n", SPMVX_ERR_UNSUPPORTED, 1, "hermitian" },
    { "complex hermitian", "%%MatrixMarket matrix coordinate complex hermitian\n1 1 0\n", SPMVX_ERR_UNSUPPORTED, 1, "complex" },
    { "array, complex", "%%MatrixMarket matrix array complex general\n1 1\n1 1\n", SPMVX_ERR_UNSUPPORTED, 1, "complex" },
    { "array, pattern", "%%MatrixMarket matrix array pattern general\n1 1\n", SPMVX_ERR_FILE, 1, "pattern" },
    { "array, three sizes", ARRAY "general\n1 1 1\n1\n", SPMVX_ERR_FILE, 2, "after the sizes comes '1'" },
    { "array, too few", ARRAY "general\n2 2\n1\n2\n3\n", SPMVX_ERR_FILE, 6, "3 of the 4 entries" },
    { "array, too many", ARRAY "general\n2 2\n1\n2\n3\n\n4\n5\n", SPMVX_ERR_FILE, 8, "more entries than the 4" },
    { "array, two in a line", ARRAY "general\n2 2\n1 2\n3 4\n", SPMVX_ERR_FILE, 3, "after the value comes '2'" },
    { "array, no number", ARRAY "general\n2 1\n1\nx\n", SPMVX_ERR_FILE, 4, "value is 'x'" },
    { "array, symmetric and not square", ARRAY "symmetric\n2 3\n1\n", SPMVX_ERR_FILE, 2, "symmetric" },
    { "array, lying", ARRAY "general\n2000000000 2000000000\n1\n", SPMVX_ERR_FILE, 4, "1 of the 4000000000000000000" },
    { "symmetric 2 x 3", SYMMETRIC "2 3 0\n", SPMVX_ERR_FILE, 2, "2 rows and 3 columns" },
    { "skew-symmetric 3 x 2", SKEW "%\n3 2 0\n", SPMVX_ERR_FILE, 3, "3 rows and 2 columns" },
    { "2^31 rows", REAL "2147483648 1 0\n", SPMVX_ERR_RANGE, 2, "2147483648 rows" },
    { "2^31 columns", REAL "%\n1 2147483648 0\n", SPMVX_ERR_RANGE, 3, "2147483648 columns" },
    { "2^63 rows", REAL "9223372036854775808 1 0\n", SPMVX_ERR_FILE, 2, "rows is '9223372036854775808'" },
    { "negative rows", REAL "-1 1 0\n", SPMVX_ERR_FILE, 2, "rows is '-1'" },
    { "negative columns", REAL "1 -1 0\n", SPMVX_ERR_FILE, 2, "columns is '-1'" },
    { "negative entries", REAL "1 1 -1\n", SPMVX_ERR_FILE, 2, "entries is '-1'" },
    { "fractional sizes", REAL "1.0 1 0\n", SPMVX_ERR_FILE, 2, "rows is '1.0'" },
    { "two sizes", REAL "1 1\n1 1 1\n", SPMVX_ERR_FILE, 2, "entries is ''" },
    { "four sizes", REAL "1 1 0 0\n", SPMVX_ERR_FILE, 2, "'0'" },
    { "sizes over two lines", REAL "1\n1 0\n", SPMVX_ERR_FILE, 2, "columns is ''" },
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        check_refuses(put_text(refused[i].text), refused[i].status, refused[i].line, refused[i].reason);
    }
}

/* Values only, column by column; zeros are no entries, and of symmetric ones the lower triangle is in the file. */
static void test_arrays(void **state)
{
    (void)state;
    check_reads(put_text(ARRAY "general\n2 3\n1\n2\n0\n4\n-0.0\n6\n"), NULL, "CSR 2x3: 1 1 1; 2 1 2; 2 2 4; 2 3 6;");
    check_reads(put_text("%%MatrixMarket matrix array integer general\n% c\n\n3 1\n7\n\n% x\n 0 \n9"), NULL, "CSR 3x1: 1 1 7; 3 1 9;");
    check_reads(put_text(ARRAY "symmetric\n3 3\n1\n2\n3\n4\n0\n6\n"), NULL, "CSR 3x3: 1 1 1; 1 2 2; 1 3 3; 2 1 2; 2 2 4; 3 1 3; 3 3 6;");
    check_reads(put_text(ARRAY "skew-symmetric\n3 3\n2\n3\n5\n"), NULL, "CSR 3x3: 1 2 -2; 1 3 -3; 2 1 2; 2 3 -5; 3 1 3; 3 2 5;");
    check_reads(put_text(ARRAY "general\n0 5\n"), NULL, "CSR 0x5:");
    check_reads(put_text(ARRAY "skew-symmetric\n1 1\n"), NULL, "CSR 1x1:");
}

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
                const double lower = (double)((i > j ? i : j) * N + (i > j ? j : i) + 1), want = kind == 0 ? (double)(i * N + j + 1) : kind == 1 || i > j ? lower : -lower;
                if (((const double *)v.val)[k] != want) fail_msg("%s, %d threads: entry (%d, %d)", kinds[kind], (int)threads, (int)i, (int)j);
            }
            spmvx_matrix_destroy(A);
            spmvx_context_destroy(ctx);
        }
        free(t.bytes);
    }
}

static void test_nul_bytes(void **state)
{
    (void)state;
    static const char in_value[] = REAL "1 1 1\n1 1 1\0\n", in_index[] = REAL "1 1 1\n1\0 1 1\n", between[] = REAL "1 1 1\n1 1\0001\n",
                      alone[] = REAL "1 1 1\n1 1 1\n\0\0\0", sizes[] = REAL "1 1 1\0\n1 1 1\n",
                      banner[] = "%%MatrixMarket\0 matrix coordinate real general\n1 1 0\n",
                      comment[] = REAL "1 1 1\n% \0 \n1 1 1\n";
    check_refuses(put_file("a.mtx", in_value, sizeof in_value - 1), SPMVX_ERR_FILE, 3, "value is '1?'");
    check_refuses(put_file("a.mtx", in_index, sizeof in_index - 1), SPMVX_ERR_FILE, 3, "row is '1?'");
    check_refuses(put_file("a.mtx", between, sizeof between - 1), SPMVX_ERR_FILE, 3, "column is '1?1'");
    check_refuses(put_file("a.mtx", alone, sizeof alone - 1), SPMVX_ERR_FILE, 4, "more entries");
    check_refuses(put_file("a.mtx", sizes, sizeof sizes - 1), SPMVX_ERR_FILE, 2, "entries is '1?'");
    check_refuses(put_file("a.mtx", banner, sizeof banner - 1), SPMVX_ERR_FILE, 1, "MatrixMarket");
    check_reads(put_file("a.mtx", comment, sizeof comment - 1), NULL, "CSR 1x1: 1 1 1;");
}

static void test_paths(void **state)
{
    (void)state;
    check_refuses(path_of("missing.mtx"), SPMVX_ERR_IO, 0, strerror(ENOENT));
    check_refuses(path_of("missing/a.mtx"), SPMVX_ERR_IO, 0, strerror(ENOENT));
    check_refuses(folder, SPMVX_ERR_IO, 0, strerror(EISDIR));
    put_text(REAL "1 1 0\n");
    check_refuses(path_of("a.mtx/b.mtx"), SPMVX_ERR_IO, 0, strerror(ENOTDIR));
    if (geteuid() == 0) return;
    const char *path = put_text(REAL "1 1 0\n");
    assert_int_equal(chmod(path, 0), 0);
    check_refuses(path, SPMVX_ERR_IO, 0, strerror(EACCES));
    chmod(path, 0600);
}

/* Line and reason stay in the message, however long the path is. */
static void test_long_path(void **state)
{
    (void)state;
    put_text(REAL "1 1 1\n1 1 x\n");
    text path = { 0 };
    addf(&path, "%s", folder);
    for (int i = 0; i < 400; i++) add(&path, "/.", 2);
    add(&path, "/a.mtx", 7);
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    assert_fails(SPMVX_ERR_FILE, "a.mtx: line 3: the value is 'x'", spmvx_matrix_read(ctx, path.bytes, NULL, &A));
    path.bytes[path.n - 2] = 'y';
    assert_fails(SPMVX_ERR_IO, strerror(ENOENT), spmvx_matrix_read(ctx, path.bytes, NULL, &A));
    spmvx_context_destroy(ctx);
    free(path.bytes);
}

static void test_lying_header(void **state)
{
    (void)state;
    static const char *const texts[] = {
        REAL "3 3 1000000000000000\n1 1 1\n", SYMMETRIC "3 3 9223372036854775807\n2 1 1\n",
        PATTERN "2147483647 2147483647 1000000000000000\n1 1\n",
        REAL "2147483647 1 9223372036854775807\n", REAL "2000000000 2000000000 9223372036854775807",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        size_t peak;
        assert_int_equal(read_metered(put_text(texts[i]), 2, 0, &peak), SPMVX_ERR_FILE);
        assert_true(peak < 10000000);
        assert_non_null(strstr(spmvx_last_error(NULL), "entries announced"));
    }
}

static void test_long_lines(void **state)
{
    (void)state;
    text t = { 0 };
    add_banner(&t, REAL);
    addf(&t, "%%");
    add_fill(&t, 'c', BLOCK + 100);
    addf(&t, "\n1 1 1\n1 1 1\n");
    check_refuses(put_file("a.mtx", t.bytes, t.n), SPMVX_ERR_FILE, 2, "longer than");
    add_banner(&t, REAL);
    addf(&t, "1 1 1\n1");
    add_fill(&t, ' ', BLOCK);
    addf(&t, "1 1\n");
    check_refuses(put_file("a.mtx", t.bytes, t.n), SPMVX_ERR_FILE, 3, "longer than");
    t.n = 0;
    add_fill(&t, 0, BLOCK + 1);
    check_refuses(put_file("a.mtx", t.bytes, t.n), SPMVX_ERR_FILE, 1, "longer than");
    add_banner(&t, REAL);
    addf(&t, "1 1 1\n1");   /* long, and taken */
    add_fill(&t, ' ', 1000000);
    addf(&t, "1 1.");
    add_fill(&t, '0', 1000000);
    addf(&t, "1e+0");
    check_reads(put_file("a.mtx", t.bytes, t.n), NULL, "CSR 1x1: 1 1 1;");
    free(t.bytes);
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

/* Unsorted entries, among them comments, blank lines and lines of all lengths; first line of entry `at` goes to *line. */
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
        if (col[k] != e[i].col || ((const double *)v.val)[k] != e[i].val) fail_msg("entry %d of the file, at %d", i, k);
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
            const spmvx_status s = spmvx_matrix_read(ctx, path_of(zipped ? "large.mtx.gz" : "large.mtx"), NULL, &A);
            if (zipped && s == SPMVX_ERR_UNSUPPORTED) continue;   /* a build without zlib */
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
        char sizes[32];   /* as many announced, blanks keep the length */
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
            if (((const int32_t *)v.col)[i] != i || ((const double *)v.val)[i] != i + 0.25) fail_msg("entry %d of blocks of %zu", i, room);
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
    }
    free(t.bytes);
}

/* ---- compressed ---- */

static const char small[] = SYMMETRIC "3 3 3\n3 1 2\n2 2 5\n3 2 -1\n", small_dump[] = "CSR 3x3: 1 3 2; 2 2 5; 2 3 -1; 3 1 2; 3 2 -1;";

/* Whether this build reads gzip. */
static bool has_gzip(void)
{
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

/* Writes a matrix of one row, entry k is value[k % 4]; false where this build lacks the compressor. */
static bool put_row(const char *name, int32_t level, int64_t nnz)
{
    static const double values[] = { 1, 2, 0.5, -3 };
    int32_t *col = calloc((size_t)nnz, sizeof *col), ptr[2] = { 0, (int32_t)nnz };
    double *val = malloc((size_t)nnz * sizeof *val);
    for (int64_t i = 0; i < nnz; i++) val[i] = values[i % 4];
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.nrows = a.ncols = 1;
    a.nnz = nnz;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &A));
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    o.level = level;
    const spmvx_status s = spmvx_matrix_write(ctx, A, path_of(name), &o);
    if (s != SPMVX_ERR_UNSUPPORTED) assert_ok(ctx, s);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    free(col);
    free(val);
    return s == SPMVX_OK;
}

static const struct { const char *name, *kind; size_t magic; } kinds[] = {
    { "c.mtx.gz", "gzip", 2 }, { "c.mtx.zst", "zstd", 4 }, { "c.mtx.xz", "xz", 6 },
};

static void test_told_by_content(void **state)
{
    (void)state;
    check_reads(put_file("plain.mtx.gz", small, sizeof small - 1), NULL, small_dump);
    check_reads(put_file("plain.zst", small, sizeof small - 1), NULL, small_dump);
    if (!has_gzip()) skip();
    text z = { 0 };
    add_gzip(&z, small, sizeof small - 1);
    check_reads(put_file("gzip.mtx", z.bytes, z.n), NULL, small_dump);
    check_reads(put_file("gzip.xz", z.bytes, z.n), NULL, small_dump);
    free(z.bytes);
}

/* However the text is cut into members, empty ones among them. */
/* Zeros behind the last member are padding, as for gzip; anything else is damage. */
static void test_gzip_padding(void **state)
{
    (void)state;
    if (!has_gzip()) skip();
    static const int paddings[] = { 1, 511, 70000 };
    for (size_t i = 0; i < COUNT(paddings); i++) {
        text z = { 0 };
        add_gzip(&z, small, sizeof small - 1);
        add_fill(&z, 0, (size_t)paddings[i]);
        check_reads(put_file("padded.gz", z.bytes, z.n), NULL, small_dump);
        add_fill(&z, 'x', 1);
        check_refuses(put_file("padded.gz", z.bytes, z.n), SPMVX_ERR_FILE, 0, "gzip");
        free(z.bytes);
    }
}

static void test_gzip_members(void **state)
{
    (void)state;
    if (!has_gzip()) skip();
    const size_t n = sizeof small - 1;
    for (size_t cut = 0; cut <= n; cut++) {
        text z = { 0 };
        add_gzip(&z, small, cut);
        add_gzip(&z, "", 0);
        for (size_t i = cut; i < n; i++) add_gzip(&z, small + i, 1);
        check_reads(put_file("members.gz", z.bytes, z.n), NULL, small_dump);
        free(z.bytes);
    }
}

static void test_compressed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!put_row(kinds[i].name, 1, 5)) continue;
        static const char expected[] = "CSR 1x1: 1 1 1; 1 1 2; 1 1 0.5; 1 1 -3; 1 1 1;";
        check_reads(path_of(kinds[i].name), NULL, expected);
        size_t n;
        unsigned char *bytes = get_file(path_of(kinds[i].name), &n);
        check_reads(put_file("renamed.mtx", bytes, n), NULL, expected);
        free(bytes);
    }
}

/* Cut anywhere: after the magic it is called damaged, within it the file is text and no Matrix Market. */
static void test_truncated(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!put_row(kinds[i].name, 1, 300)) continue;
        size_t n;
        unsigned char *bytes = get_file(path_of(kinds[i].name), &n);
        for (size_t cut = 1; cut < n; cut++) {
            const char *path = put_file("cut.mtx", bytes, cut);
            if (cut < kinds[i].magic) check_refuses(path, SPMVX_ERR_FILE, 1, "MatrixMarket");
            else check_refuses(path, SPMVX_ERR_FILE, 0, kinds[i].kind);
        }
        free(bytes);
    }
}

/* A bit turned in every byte: refused, or it does not matter (a time stamp, say). */
static void test_damaged(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!put_row(kinds[i].name, 1, 40)) continue;
        counter c = { 0 };
        spmvx_context *ctx = test_context(&c, 2);
        spmvx_matrix *good_one = NULL;
        assert_ok(ctx, spmvx_matrix_read(ctx, path_of(kinds[i].name), NULL, &good_one));
        spmvx_matrix_destroy(good_one);
        const long before = c.live;
        size_t n, taken = 0;
        unsigned char *bytes = get_file(path_of(kinds[i].name), &n);
        for (size_t bit = 0; bit < 8 * n; bit += 3) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            spmvx_matrix *A = NULL;
            const spmvx_status s = spmvx_matrix_read(ctx, put_file("bad.mtx", bytes, n), NULL, &A);
            if (s == SPMVX_OK) {
                const spmvx_arrays v = view_of(A);
                assert_int_equal(v.nnz, 40);
                taken++;
            } else if (s != SPMVX_ERR_MEMORY) assert_int_equal(s, SPMVX_ERR_FILE);   /* a window of gigabytes may be asked for */
            spmvx_matrix_destroy(A);
            assert_int_equal(c.live, before);
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        if (i != 1) assert_true(taken < n);   /* gzip and xz carry checksums */
        free(bytes);
        spmvx_context_destroy(ctx);
    }
}

static void test_damaged_body(void **state)
{
    (void)state;
    if (!has_gzip()) skip();
    text z = { 0 };
    add_gzip(&z, small, sizeof small - 1);
    z.bytes[z.n - 12] ^= 1;   /* of the last value */
    check_refuses(put_file("body.mtx.gz", z.bytes, z.n), SPMVX_ERR_FILE, 0, "gzip");
    z.bytes[z.n - 12] ^= 1;
    add(&z, "\x1f\x8b junk", 7);
    check_refuses(put_file("body.mtx.gz", z.bytes, z.n), SPMVX_ERR_FILE, 0, "gzip");
    free(z.bytes);
}

/* Writes byte by byte, the next when the last was taken. */
static void feed_pipe(const char *path, const char *bytes, size_t n)
{
    alarm(30);
    const int fd = open(path, O_WRONLY);
    for (size_t i = 0; i < n; i++) {
        if (fd < 0 || write(fd, bytes + i, 1) != 1) _exit(1);
        for (int waiting = 1; i < 8 && waiting;)
            if (ioctl(fd, FIONREAD, &waiting)) waiting = 0;
    }
    _exit(0);
}

static int32_t total_unknown(void *user, int64_t done, int64_t total)
{
    *(int64_t *)user = total;
    return done < 0;
}

/* A pipe gives its bytes as they come; its kind is told though the first read gets one byte only. */
static void check_pipe(const char *bytes, size_t n)
{
    const char *path = path_of("pipe.mtx");
    remove(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) feed_pipe(path, bytes, n);
    int64_t total = 0;
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.progress = total_unknown;
    o.user = &total;
    check_reads(path, &o, small_dump);
    assert_int_equal(total, -1);
    int exit_status = -1;
    assert_int_equal(waitpid(child, &exit_status, 0), child);
    assert_int_equal(exit_status, 0);
}

static void test_pipe(void **state)
{
    (void)state;
    check_pipe(small, sizeof small - 1);
}

static void test_pipe_of_gzip(void **state)
{
    (void)state;
    if (!has_gzip()) skip();
    text z = { 0 };
    add_gzip(&z, small, sizeof small - 1);
    check_pipe(z.bytes, z.n);
    free(z.bytes);
}

/* ---- memory ---- */

static void test_limit_message(void **state)
{
    (void)state;
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    assert_true(put_row("row.mtx", 0, 200000));
    o.max_bytes = 1000000;
    check_refuses_with(path_of("row.mtx"), &o, 2, SPMVX_ERR_LIMIT, 0, "max_bytes is 1000000");
    text t = { 0 };   /* few entries: it is the row pointers that do not fit */
    add_banner(&t, REAL);
    addf(&t, "1000000 5 130000\n");
    for (int i = 0; i < 130000; i++) addf(&t, "%d 1 1\n", i + 1);
    o.max_bytes = 12000000;
    check_refuses_with(put_file("tall.mtx", t.bytes, t.n), &o, 2, SPMVX_ERR_LIMIT, 0, "max_bytes is 12000000");
    free(t.bytes);
}

static void test_bounded_plain(void **state)
{
    (void)state;
    assert_true(put_row("row.mtx", 0, 1000000));
    check_bounded(path_of("row.mtx"), 1);
}

/* Much text in few bytes. */
static void test_bounded_gzip(void **state)
{
    (void)state;
    if (!put_row("bomb.mtx.gz", 9, 1000000)) skip();
    check_bounded(path_of("bomb.mtx.gz"), 2);
}

static void test_bounded_zstd(void **state)
{
    (void)state;
    if (!put_row("bomb.mtx.zst", 3, 1000000)) skip();
    check_bounded(path_of("bomb.mtx.zst"), 2);
}

static void test_bounded_xz(void **state)
{
    (void)state;
    if (!put_row("bomb.mtx.xz", 6, 1000000)) skip();
    check_bounded(path_of("bomb.mtx.xz"), 2);
}

/* Text of blank lines, and entries that are turned around. */
static void test_bounded_shapes(void **state)
{
    (void)state;
    text t = { 0 };
    add_banner(&t, REAL);
    addf(&t, "1 1 1\n1 1 1\n");
    add_fill(&t, '\n', 3000000);
    check_bounded(put_file("blank.mtx", t.bytes, t.n), 2);
    add_banner(&t, SYMMETRIC);
    addf(&t, "400000 400000 400000\n");
    for (int i = 400000; i > 0; i--) addf(&t, "%d 1 1\n", i);
    check_bounded(put_file("symmetric.mtx", t.bytes, t.n), 3);
    free(t.bytes);
}

/* Unsorted rows of some entries each, by many threads. */
static void test_bounded_threads(void **state)
{
    (void)state;
    text t = { 0 };
    add_banner(&t, PATTERN);
    addf(&t, "60000 1 600000\n");
    for (int i = 0; i < 600000; i++) addf(&t, "%d 1\n", 60000 - i % 60000);
    const char *path = put_file("unsorted.mtx", t.bytes, t.n);
    size_t peak, needed = 0;
    for (size_t limit = 8u << 20; limit < 40u << 20; limit += 1200000) {
        const spmvx_status s = read_metered(path, 8, limit, &peak);
        if (s != SPMVX_OK) assert_int_equal(s, SPMVX_ERR_LIMIT);
        else if (!needed) needed = limit;
        if (peak > limit) fail_msg("max_bytes %zu, status %d: %zu bytes at the peak", limit, (int)s, peak);
    }
    assert_true(needed);
    free(t.bytes);
}

/* Limits below what any text takes. */
static void test_bounded_tightly(void **state)
{
    (void)state;
    const char *path = put_text(REAL "1 1 1\n1 1 1\n");
    static const size_t limits[] = { 1, 1000, 50000, 65536, 100000, 130000, 150000, 200000 };
    for (size_t i = 0; i < COUNT(limits); i++) {
        size_t peak;
        const spmvx_status s = read_metered(path, 1, limits[i], &peak);
        if (s != SPMVX_OK) assert_int_equal(s, SPMVX_ERR_LIMIT);
        if (peak > limits[i]) fail_msg("max_bytes %zu, status %d: %zu bytes at the peak", limits[i], (int)s, peak);
    }
}

/* Lets the header of an xz file ask for another dictionary; code as in the format's description, section 5.3.1. */
static void set_dictionary(unsigned char *bytes, unsigned char code)
{
    enum { HEADER = 12, DICTIONARY = HEADER + 4, CHECK = HEADER + 8 };
    assert_int_equal(bytes[HEADER], 2);
    assert_int_equal(bytes[HEADER + 2], 0x21);
    bytes[DICTIONARY] = code;
    const uint32_t crc = crc32_of(bytes + HEADER, 8);
    for (int i = 0; i < 4; i++) bytes[CHECK + i] = (unsigned char)(crc >> 8 * i);
}

/* An xz file of few bytes whose header asks for a dictionary of 4 GiB. */
static void test_xz_dictionary(void **state)
{
    (void)state;
    if (!put_row("dict.mtx.xz", 1, 10)) skip();
    size_t n, peak;
    unsigned char *bytes = get_file(path_of("dict.mtx.xz"), &n);
    set_dictionary(bytes, 40);
    const char *path = put_file("dict.mtx.xz", bytes, n);
    assert_int_equal(read_metered(path, 1, 64u << 20, &peak), SPMVX_ERR_LIMIT);
    assert_true(peak <= 64u << 20);
    free(bytes);
}

/* A large dictionary that is asked for late, when the entries are there already. */
static void test_late_dictionary(void **state)
{
    (void)state;
    enum { LIMIT = 40 << 20, OF_32_MIB = 26 };
    if (!put_row("first.xz", 1, 1000000) || !put_row("second.xz", 1, 10)) skip();
    size_t n, m, peak;
    unsigned char *first = get_file(path_of("first.xz"), &n), *second = get_file(path_of("second.xz"), &m);
    set_dictionary(second, OF_32_MIB);
    text t = { 0 };
    add(&t, first, n);
    add(&t, second, m);   /* begins with a comment and an entry too many */
    const spmvx_status s = read_metered(put_file("both.xz", t.bytes, t.n), 1, LIMIT, &peak);
    if (peak > LIMIT) fail_msg("max_bytes %d, status %d: %zu bytes at the peak", LIMIT, (int)s, peak);
    if (s != SPMVX_ERR_FILE) assert_int_equal(s, SPMVX_ERR_LIMIT);
    free(first);
    free(second);
    free(t.bytes);
}

/* ---- progress ---- */

typedef struct progress {
    int calls, stop_at;
    int64_t done, total;
} progress;

static int32_t on_progress(void *user, int64_t done, int64_t total)
{
    progress *p = user;
    assert_true(done >= p->done);
    assert_true(done <= total);
    p->done = done;
    p->total = total;
    return ++p->calls == p->stop_at ? -7 : 0;
}

static void check_progress(const char *path, int least_calls)
{
    size_t n;
    free(get_file(path, &n));
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, 2);
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
    const long before = c.live;   /* with the workspace of the first matrix */
    char *const untouched = (char *)&c;
    for (int stop = 1, calls = p.calls; stop <= calls; stop++) {
        p = (progress){ .stop_at = stop };
        A = (spmvx_matrix *)untouched;
        assert_fails(SPMVX_ERR_CANCELLED, strrchr(path, '/') + 1, spmvx_matrix_read(ctx, path, &o, &A));
        assert_int_equal(p.calls, stop);
        assert_ptr_equal(A, untouched);
        assert_int_equal(c.live, before);
    }
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
}

static void test_progress(void **state)
{
    (void)state;
    check_progress(put_text(REAL "1 1 1\n1 1 1\n"), 1);
    assert_true(put_row("row.mtx", 0, 700000));
    check_progress(path_of("row.mtx"), 2);
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (put_row(kinds[i].name, 1, 700000)) check_progress(path_of(kinds[i].name), 2);
}

/* ---- memory that runs out, and locales ---- */

static void test_memory_runs_out(void **state)
{
    (void)state;
    text t = { 0 };
    add_banner(&t, SYMMETRIC);
    addf(&t, "3 3 40\n");
    for (int i = 0; i < 40; i++) addf(&t, "%d %d 1\n", 3 - i % 3, 1 + i % 2);
    const char *path = put_file("memory.mtx", t.bytes, t.n);
    spmvx_status s = SPMVX_ERR_MEMORY;
    for (long fail_at = 1; s == SPMVX_ERR_MEMORY; fail_at++) {
        counter c = { 0 };
        spmvx_context *ctx = test_context(&c, 2);
        const long before = c.live;
        c.fail_at = c.allocations + fail_at;
        spmvx_matrix *A = NULL;
        s = spmvx_matrix_read(ctx, path, NULL, &A);
        if (s != SPMVX_OK) {
            assert_int_equal(s, SPMVX_ERR_MEMORY);
            assert_null(A);
            assert_int_equal(c.live, before);
        }
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
        assert_int_equal(c.live, 0);
    }
    free(t.bytes);
}

/* Decimal commas in German, and a lower-case I without a dot in Turkish. */
static void test_locales(void **state)
{
    (void)state;
    static const char *const locales[] = { "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "tr_TR.UTF-8", "tr_TR" };
    int found = 0;
    for (size_t i = 0; i < COUNT(locales); i++) {
        if (!setlocale(LC_ALL, locales[i])) continue;
        found++;
        check_reads(put_text(REAL "1 2 2\n1 1 1.5\n1 2 -2.5e-1\n"), NULL,
                    localeconv()->decimal_point[0] == ',' ? "CSR 1x2: 1 1 1,5; 1 2 -0,25;" : "CSR 1x2: 1 1 1.5; 1 2 -0.25;");
        check_reads(put_text("%%MATRIXMARKET MATRIX COORDINATE INTEGER SYMMETRIC\n1 1 1\n1 1 1\n"), NULL, "CSR 1x1: 1 1 1;");
        check_reads(put_text(REAL "1 1 2\n1 1 INF\n1 1 -INFINITY\n"), NULL, "CSR 1x1: 1 1 inf; 1 1 -inf;");
        check_refuses(put_text(REAL "1 1 1\n1 1 1,5\n"), SPMVX_ERR_FILE, 3, "'1,5'");
    }
    setlocale(LC_ALL, "C");
    if (!found) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_single_precision),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_nul_bytes),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_long_arrays),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_long_path),
        cmocka_unit_test(test_lying_header),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_large_refused),
        cmocka_unit_test(test_straddling_lines),
        cmocka_unit_test(test_told_by_content),
        cmocka_unit_test(test_gzip_members), cmocka_unit_test(test_gzip_padding),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_damaged_body),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_pipe_of_gzip),
        cmocka_unit_test(test_limit_message),
        cmocka_unit_test(test_bounded_plain),
        cmocka_unit_test(test_bounded_gzip),
        cmocka_unit_test(test_bounded_zstd),
        cmocka_unit_test(test_bounded_xz),
        cmocka_unit_test(test_bounded_shapes),
        cmocka_unit_test(test_bounded_threads),
        cmocka_unit_test(test_bounded_tightly),
        cmocka_unit_test(test_xz_dictionary),
        cmocka_unit_test(test_late_dictionary),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_locales),
    };
    return cmocka_run_group_tests_name("read", tests, make_folder, remove_folder);
}
