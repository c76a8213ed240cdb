/* Reading of Matrix Market files: what is taken, in which order it comes out, and what is refused with
 * which words. */
#include "files.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL "%%MatrixMarket matrix coordinate real general\n"
#define ARRAY "%%MatrixMarket matrix array real "
#define INTEGER "%%MatrixMarket matrix coordinate integer general\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define SKEW "%%MatrixMarket matrix coordinate real skew-symmetric\n"
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { LONGEST = 4 << 20 }; /* bytes of a line, with its end */

/* ---- good files ---- */

static const struct {
    const char *name, *text, *expected;
} good[] = {
    { "general real", REAL "2 3 3\n2 1 4\n1 3 2.5\n1 1 -1\n", "CSR 2x3: 1 3 2.5; 1 1 -1; 2 1 4;" },
    { "general integer", INTEGER "2 2 3\n1 1 -7\n2 2 +12\n1 2 0\n", "CSR 2x2: 1 1 -7; 1 2 0; 2 2 12;" },
    { "general pattern", PATTERN "2 2 2\n2 2\n1 2\n", "CSR 2x2: 1 2 1; 2 2 1;" },
    { "symmetric real", SYMMETRIC "3 3 3\n3 1 2\n2 2 5\n3 2 -1\n",
      "CSR 3x3: 1 3 2; 2 2 5; 2 3 -1; 3 1 2; 3 2 -1;" },
    { "symmetric integer", "%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n2 1 3\n1 1 4\n",
      "CSR 2x2: 1 2 3; 1 1 4; 2 1 3;" },
    { "symmetric pattern", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
      "CSR 2x2: 1 1 1; 1 2 1; 2 1 1;" },
    { "symmetric, upper half", SYMMETRIC "2 2 1\n1 2 9\n", "CSR 2x2: 1 2 9; 2 1 9;" },
    { "symmetric, both halves", SYMMETRIC "2 2 2\n1 2 9\n2 1 8\n", "CSR 2x2: 1 2 9; 1 2 8; 2 1 9; 2 1 8;" },
    { "symmetric, order", SYMMETRIC "3 3 4\n2 1 1\n3 2 2\n2 2 3\n3 1 4\n",
      "CSR 3x3: 1 2 1; 1 3 4; 2 1 1; 2 3 2; 2 2 3; 3 2 2; 3 1 4;" },
    { "skew-symmetric real", SKEW "3 3 2\n2 1 1.5\n3 1 -2\n", "CSR 3x3: 1 2 -1.5; 1 3 2; 2 1 1.5; 3 1 -2;" },
    { "skew-symmetric integer", "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 0\n",
      "CSR 2x2: 1 2 -0; 2 1 0;" },
    { "comments and blank lines",
      REAL "% one\n\n%two\n  \t\n 2 2 2 \n%three\n1 1 1\n\n % four\n2 2 2\n\n%five",
      "CSR 2x2: 1 1 1; 2 2 2;" },
    { "tabs", REAL "2\t2\t1\n1\t2\t3\n", "CSR 2x2: 1 2 3;" },
    { "capitals", "%%MATRIXMARKET MATRIX Coordinate REAL General\n1 1 1\n1 1 1\n", "CSR 1x1: 1 1 1;" },
    { "lower case", "%%matrixmarket matrix coordinate integer general\n1 1 1\n1 1 1\n", "CSR 1x1: 1 1 1;" },
    { "capitals of integer", "%%MatrixMarket MATRIX COORDINATE INTEGER SKEW-SYMMETRIC\n2 2 1\n2 1 1\n",
      "CSR 2x2: 1 2 -1; 2 1 1;" },
    { "blanks in the banner", "%%MatrixMarket  matrix\tcoordinate   real general \t\n1 1 0\n", "CSR 1x1:" },
    { "carriage returns",
      "%%MatrixMarket matrix coordinate real general\r\n%c\r\n\r\n2 2 2\r\n1 1 1\r\n2 1 2.5\r\n",
      "CSR 2x2: 1 1 1; 2 1 2.5;" },
    { "carriage returns, pattern", "%%MatrixMarket matrix coordinate pattern general\r\n1 2 1\r\n1 2\r\n",
      "CSR 1x2: 1 2 1;" },
    { "no newline at the end", REAL "1 1 1\n1 1 2.25", "CSR 1x1: 1 1 2.25;" },
    { "no newline after the sizes", REAL "4 5 0", "CSR 4x5:" },
    { "blanks around", REAL "  2 2 1  \n   2   1    -3   \n", "CSR 2x2: 2 1 -3;" },
    { "plus signs", REAL "+2 +2 +1\n+1 +2 +3.5e+1\n", "CSR 2x2: 1 2 35;" },
    { "leading zeros", REAL "002 02 01\n0001 02 0003.50\n", "CSR 2x2: 1 2 3.5;" },
    { "exponents", REAL "1 1 6\n1 1 1e2\n1 1 1E-2\n1 1 1d3\n1 1 1.5D+1\n1 1 .5\n1 1 5.\n",
      "CSR 1x1: 1 1 100; 1 1 0.01; 1 1 1000; 1 1 15; 1 1 0.5; 1 1 5;" },
    { "inf", REAL "1 1 4\n1 1 inf\n1 1 -Inf\n1 1 INFINITY\n1 1 +infinity\n",
      "CSR 1x1: 1 1 inf; 1 1 -inf; 1 1 inf; 1 1 inf;" },
    { "nan", REAL "1 1 2\n1 1 nan\n1 1 NaN\n", "CSR 1x1: 1 1 nan; 1 1 nan;" },
    { "out of range values", REAL "1 1 3\n1 1 1e400\n1 1 -1e400\n1 1 1e-400\n",
      "CSR 1x1: 1 1 inf; 1 1 -inf; 1 1 0;" },
    { "-0", REAL "1 1 2\n1 1 -0\n1 1 -0.0e5\n", "CSR 1x1: 1 1 -0; 1 1 -0;" },
    { "0 x 0", REAL "0 0 0\n", "CSR 0x0:" },
    { "0 x 0, symmetric", SYMMETRIC "0 0 0\n", "CSR 0x0:" },
    { "5 x 3, empty", REAL "5 3 0\n", "CSR 5x3:" },
    { "0 x 7", REAL "0 7 0\n", "CSR 0x7:" },
    { "7 x 0", REAL "7 0 0\n%\n\n", "CSR 7x0:" },
    { "repeats and explicit zeros", REAL "2 2 5\n1 1 1\n2 2 0\n1 1 1\n1 1 0\n2 2 0.0\n",
      "CSR 2x2: 1 1 1; 1 1 1; 1 1 0; 2 2 0; 2 2 0;" },
    { "repeats on a diagonal", SYMMETRIC "1 1 2\n1 1 2\n1 1 3\n", "CSR 1x1: 1 1 2; 1 1 3;" },
    { "unsorted", REAL "3 3 5\n3 3 1\n1 3 2\n3 1 3\n1 1 4\n3 2 5\n",
      "CSR 3x3: 1 3 2; 1 1 4; 3 3 1; 3 1 3; 3 2 5;" },
    { "rows far outnumber entries", REAL "2000000000 2000000000 3\n2000000000 1 1\n1 2000000000 2\n7 7 3\n",
      "COO 2000000000x2000000000: 2000000000 1 1; 1 2000000000 2; 7 7 3;" },
    { "the largest sizes", REAL "2147483647 2147483647 1\n2147483647 2147483647 1\n",
      "COO 2147483647x2147483647: 2147483647 2147483647 1;" },
    { "many columns", REAL "1 2147483647 1\n1 2147483647 5\n", "CSR 1x2147483647: 1 2147483647 5;" },
    { "symmetric COO", SYMMETRIC "1000000 1000000 2\n9 8 1\n5 5 2\n",
      "COO 1000000x1000000: 9 8 1; 8 9 1; 5 5 2;" },
    { "as many rows as CSR takes", REAL "4104 1 1\n4104 1 1\n", "CSR 4104x1: 4104 1 1;" },
    { "a row more", REAL "4105 1 1\n4105 1 1\n", "COO 4105x1: 4105 1 1;" },
    { "many rows, no entry", REAL "4097 4097 0\n", "COO 4097x4097:" },
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        check_reads_as(good[i].name, put_text("a.mtx", good[i].text), NULL, good[i].expected);
}

static void test_single_precision(void **state)
{
    (void)state;
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.val_type = SPMVX_F32;
    check_reads(put_text("a.mtx", REAL "1 2 4\n1 1 0.5\n1 2 -0\n1 1 1e39\n1 2 1e-46\n"), &o,
                "CSR 1x2: 1 1 0.5; 1 2 -0; 1 1 inf; 1 2 0;");
    check_reads(put_text("a.mtx", SKEW "2 2 1\n2 1 0.1\n"), &o,
                "CSR 2x2: 1 2 -0.10000000149011612; 2 1 0.10000000149011612;");
    check_reads(put_text("a.mtx", REAL "9000 1 1\n3 1 16777217\n"), &o, "COO 9000x1: 3 1 16777216;");
    o.val_type = 0;
    check_reads(put_text("a.mtx", REAL "1 1 1\n1 1 0.1\n"), &o, "CSR 1x1: 1 1 0.10000000000000001;");
}

/* ---- refused ---- */

static const struct {
    const char *name, *text;
    spmvx_status status;
    int line;
    const char *reason;
} refused[] = {
    { "fewer entries", REAL "2 2 3\n1 1 1\n2 2 2\n", SPMVX_ERR_FILE, 5, "2 of the 3 entries" },
    { "no entries", REAL "2 2 3\n", SPMVX_ERR_FILE, 3, "0 of the 3 entries" },
    { "more entries", REAL "2 2 1\n%\n1 1 1\n\n2 2 2\n1 2 3\n", SPMVX_ERR_FILE, 6,
      "more entries than the 1 announced" },
    { "entries where none were announced", REAL "2 2 0\n1 1 1\n", SPMVX_ERR_FILE, 3,
      "more entries than the 0 announced" },
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
    { "row beyond int64", REAL "2 2 1\n9223372036854775808 1 1\n", SPMVX_ERR_FILE, 3,
      "row is '9223372036854775808'" },
    { "column of thirty digits", REAL "2 2 1\n1 100000000000000000000000000001 1\n", SPMVX_ERR_FILE, 3,
      "column is '1000000000" },
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
    { "banner of one %", "%MatrixMarket matrix coordinate real general\n1 1 0\n", SPMVX_ERR_FILE, 1,
      "MatrixMarket" },
    { "first word", "%%MatrixMarked matrix coordinate real general\n1 1 0\n", SPMVX_ERR_FILE, 1,
      "MatrixMarket" },
    { "first word too long", "%%MatrixMarketeers matrix coordinate real general\n1 1 0\n", SPMVX_ERR_FILE, 1,
      "MatrixMarket" },
    { "object", "%%MatrixMarket vector coordinate real general\n1 1 0\n", SPMVX_ERR_FILE, 1, "'vector'" },
    { "layout", "%%MatrixMarket matrix coordinates real general\n1 1 0\n", SPMVX_ERR_FILE, 1,
      "'coordinates'" },
    { "field", "%%MatrixMarket matrix coordinate reals general\n1 1 0\n", SPMVX_ERR_FILE, 1, "'reals'" },
    { "symmetry", "%%MatrixMarket matrix coordinate real lower\n1 1 0\n", SPMVX_ERR_FILE, 1, "'lower'" },
    { "banner without symmetry", "%%MatrixMarket matrix coordinate real\n1 1 0\n", SPMVX_ERR_FILE, 1,
      "symmetry" },
    { "banner without field", "%%MatrixMarket matrix coordinate\n1 1 0\n", SPMVX_ERR_FILE, 1, "field" },
    { "banner of one word", "%%MatrixMarket\n1 1 0\n", SPMVX_ERR_FILE, 1, "object" },
    { "banner of six words", "%%MatrixMarket matrix coordinate real general x\n1 1 0\n", SPMVX_ERR_FILE, 1,
      "'x" },
    { "skew-symmetric pattern", "%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n",
      SPMVX_ERR_FILE, 1, "pattern" },
    { "complex", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", SPMVX_ERR_UNSUPPORTED,
      1, "complex" },
    { "hermitian", "%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n", SPMVX_ERR_UNSUPPORTED, 1,
      "hermitian" },
    { "complex hermitian", "%%MatrixMarket matrix coordinate complex hermitian\n1 1 0\n",
      SPMVX_ERR_UNSUPPORTED, 1, "complex" },
    { "array, complex", "%%MatrixMarket matrix array complex general\n1 1\n1 1\n", SPMVX_ERR_UNSUPPORTED, 1,
      "complex" },
    { "array, pattern", "%%MatrixMarket matrix array pattern general\n1 1\n", SPMVX_ERR_FILE, 1, "pattern" },
    { "array, three sizes", ARRAY "general\n1 1 1\n1\n", SPMVX_ERR_FILE, 2, "after the sizes comes '1'" },
    { "array, too few", ARRAY "general\n2 2\n1\n2\n3\n", SPMVX_ERR_FILE, 6, "3 of the 4 entries" },
    { "array, too many", ARRAY "general\n2 2\n1\n2\n3\n\n4\n5\n", SPMVX_ERR_FILE, 8,
      "more entries than the 4" },
    { "array, two in a line", ARRAY "general\n2 2\n1 2\n3 4\n", SPMVX_ERR_FILE, 3,
      "after the value comes '2'" },
    { "array, no number", ARRAY "general\n2 1\n1\nx\n", SPMVX_ERR_FILE, 4, "value is 'x'" },
    { "array, symmetric and not square", ARRAY "symmetric\n2 3\n1\n", SPMVX_ERR_FILE, 2, "symmetric" },
    { "array, lying", ARRAY "general\n2000000000 2000000000\n1\n", SPMVX_ERR_FILE, 4,
      "1 of the 4000000000000000000" },
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
        check_refuses(put_text("a.mtx", refused[i].text), refused[i].status, refused[i].line,
                      refused[i].reason);
    }
}

/* Values only, column by column; zeros are no entries, and of symmetric ones the lower triangle is in the
 * file. */
static void test_arrays(void **state)
{
    (void)state;
    check_reads(put_text("a.mtx", ARRAY "general\n2 3\n1\n2\n0\n4\n-0.0\n6\n"), NULL,
                "CSR 2x3: 1 1 1; 2 1 2; 2 2 4; 2 3 6;");
    check_reads(put_text("a.mtx",
                         "%%MatrixMarket matrix array integer general\n% c\n\n3 1\n7\n\n% x\n 0 \n9"),
                NULL, "CSR 3x1: 1 1 7; 3 1 9;");
    check_reads(put_text("a.mtx", ARRAY "symmetric\n3 3\n1\n2\n3\n4\n0\n6\n"), NULL,
                "CSR 3x3: 1 1 1; 1 2 2; 1 3 3; 2 1 2; 2 2 4; 3 1 3; 3 3 6;");
    check_reads(put_text("a.mtx", ARRAY "skew-symmetric\n3 3\n2\n3\n5\n"), NULL,
                "CSR 3x3: 1 2 -2; 1 3 -3; 2 1 2; 2 3 -5; 3 1 3; 3 2 5;");
    check_reads(put_text("a.mtx", ARRAY "general\n0 5\n"), NULL, "CSR 0x5:");
    check_reads(put_text("a.mtx", ARRAY "skew-symmetric\n1 1\n"), NULL, "CSR 1x1:");
}

static void test_nul_bytes(void **state)
{
    (void)state;
    static const char in_value[] = REAL "1 1 1\n1 1 1\0\n", in_index[] = REAL "1 1 1\n1\0 1 1\n",
                      between[] = REAL "1 1 1\n1 1\0001\n", alone[] = REAL "1 1 1\n1 1 1\n\0\0\0",
                      sizes[] = REAL "1 1 1\0\n1 1 1\n",
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
    put_text("a.mtx", REAL "1 1 0\n");
    check_refuses(path_of("a.mtx/b.mtx"), SPMVX_ERR_IO, 0, strerror(ENOTDIR));
    if (geteuid() == 0) return;
    const char *path = put_text("a.mtx", REAL "1 1 0\n");
    assert_int_equal(chmod(path, 0), 0);
    check_refuses(path, SPMVX_ERR_IO, 0, strerror(EACCES));
    chmod(path, 0600);
}

/* Line and reason stay in the message, however long the path is. */
static void test_long_path(void **state)
{
    (void)state;
    put_text("a.mtx", REAL "1 1 1\n1 1 x\n");
    text path = { 0 };
    addf(&path, "%s", folder);
    for (int i = 0; i < 400; i++) add(&path, "/.", 2);
    add(&path, "/a.mtx", 7);
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    assert_fails(SPMVX_ERR_FILE, "a.mtx: line 3: the value is 'x'",
                 spmvx_matrix_read(ctx, path.bytes, NULL, &A));
    path.bytes[path.n - 2] = 'y';
    assert_fails(SPMVX_ERR_IO, strerror(ENOENT), spmvx_matrix_read(ctx, path.bytes, NULL, &A));
    spmvx_context_destroy(ctx);
    free(path.bytes);
}

static void test_lying_header(void **state)
{
    (void)state;
    static const char *const texts[] = {
        REAL "3 3 1000000000000000\n1 1 1\n",
        SYMMETRIC "3 3 9223372036854775807\n2 1 1\n",
        PATTERN "2147483647 2147483647 1000000000000000\n1 1\n",
        REAL "2147483647 1 9223372036854775807\n",
        REAL "2000000000 2000000000 9223372036854775807",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        size_t peak;
        assert_int_equal(read_metered(put_text("a.mtx", texts[i]), 2, 0, &peak), SPMVX_ERR_FILE);
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
    add_fill(&t, 'c', LONGEST + 100);
    addf(&t, "\n1 1 1\n1 1 1\n");
    check_refuses(put_file("a.mtx", t.bytes, t.n), SPMVX_ERR_FILE, 2, "longer than");
    add_banner(&t, REAL);
    addf(&t, "1 1 1\n1");
    add_fill(&t, ' ', LONGEST);
    addf(&t, "1 1\n");
    check_refuses(put_file("a.mtx", t.bytes, t.n), SPMVX_ERR_FILE, 3, "longer than");
    t.n = 0;
    add_fill(&t, 0, LONGEST + 1);
    check_refuses(put_file("a.mtx", t.bytes, t.n), SPMVX_ERR_FILE, 1, "longer than");
    add_banner(&t, REAL);
    addf(&t, "1 1 1\n1"); /* long, and taken */
    add_fill(&t, ' ', 1000000);
    addf(&t, "1 1.");
    add_fill(&t, '0', 1000000);
    addf(&t, "1e+0");
    check_reads(put_file("a.mtx", t.bytes, t.n), NULL, "CSR 1x1: 1 1 1;");
    free(t.bytes);
}

/* ---- locales ---- */

/* Decimal commas in German, and a lower-case I without a dot in Turkish. */
static void test_locales(void **state)
{
    (void)state;
    static const char *const locales[] = { "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "tr_TR.UTF-8", "tr_TR" };
    int found = 0;
    for (size_t i = 0; i < COUNT(locales); i++) {
        if (!setlocale(LC_ALL, locales[i])) continue;
        found++;
        check_reads(put_text("a.mtx", REAL "1 2 2\n1 1 1.5\n1 2 -2.5e-1\n"), NULL,
                    localeconv()->decimal_point[0] == ',' ? "CSR 1x2: 1 1 1,5; 1 2 -0,25;"
                                                          : "CSR 1x2: 1 1 1.5; 1 2 -0.25;");
        check_reads(put_text("a.mtx", "%%MATRIXMARKET MATRIX COORDINATE INTEGER SYMMETRIC\n1 1 1\n1 1 1\n"),
                    NULL, "CSR 1x1: 1 1 1;");
        check_reads(put_text("a.mtx", REAL "1 1 2\n1 1 INF\n1 1 -INFINITY\n"), NULL,
                    "CSR 1x1: 1 1 inf; 1 1 -inf;");
        check_refuses(put_text("a.mtx", REAL "1 1 1\n1 1 1,5\n"), SPMVX_ERR_FILE, 3, "'1,5'");
    }
    setlocale(LC_ALL, "C");
    if (!found) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),       cmocka_unit_test(test_single_precision),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_nul_bytes),  cmocka_unit_test(test_paths),
        cmocka_unit_test(test_long_path),  cmocka_unit_test(test_lying_header),
        cmocka_unit_test(test_long_lines), cmocka_unit_test(test_locales),
    };
    return cmocka_run_group_tests_name("read", tests, make_folder, remove_folder);
}
