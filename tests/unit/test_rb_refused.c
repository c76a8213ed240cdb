/* Rutherford-Boeing and Harwell-Boeing files: what is refused, with which words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boeing.h"
#include "files.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- refused ---- */

#define HEAD TITLE "3 1 1 1\nrua 3 3 4 0\n" RUA_FORMATS
#define POINTERS "    1    3    4    5\n"
#define INDICES "    1    3    2    1\n"

static const struct {
    const char *name, *text;
    spmvx_status status;
    int line;
    const char *reason;
} refused[] = {
    { "empty file", "", SPMVX_ERR_FILE, 1, "ends before its title" },
    { "title alone", TITLE, SPMVX_ERR_FILE, 2, "ends before its counts of lines" },
    { "two lines", TITLE "3 1 1 1\n", SPMVX_ERR_FILE, 3, "ends before its type and sizes" },
    { "three lines", TITLE "3 1 1 1\nrua 3 3 4 0\n", SPMVX_ERR_FILE, 4, "ends before its formats" },
    { "header alone", HEAD, SPMVX_ERR_FILE, 5, "ends after 0 of the 4 pointers" },
    { "no indices", HEAD POINTERS, SPMVX_ERR_FILE, 6, "ends after 0 of the 4 indices" },
    { "no values", HEAD POINTERS INDICES, SPMVX_ERR_FILE, 7, "ends after 0 of the 4 values" },
    { "ends within a value", HEAD POINTERS INDICES " 1.0E+00 4.0E+00 2.0E+00 3.0", SPMVX_ERR_FILE, 7,
      "ends within its last line of values" },
    { "ends within an index", HEAD POINTERS "    1    3    2   ", SPMVX_ERR_FILE, 6,
      "ends within its last line of indices" },
    { "ends within a pointer", HEAD "    1    3    4   ", SPMVX_ERR_FILE, 5,
      "ends within its last line of pointers" },
    { "words for counts", TITLE "three 1 1 1\n", SPMVX_ERR_FILE, 2, "number of lines is 'three'" },
    { "two counts", TITLE "3 1\n", SPMVX_ERR_FILE, 2, "number of lines of indices is ''" },
    { "six counts", TITLE "3 1 1 1 0 5\n", SPMVX_ERR_FILE, 2, "after the counts comes '5'" },
    { "negative count", TITLE "1 1 -1 1\n", SPMVX_ERR_FILE, 2, "number of lines of indices is '-1'" },
    { "fractional count", TITLE "3 1 1.0 1\n", SPMVX_ERR_FILE, 2, "number of lines of indices is '1.0'" },
    { "count of 15 digits", TITLE "100000000000000 1 1 1\n", SPMVX_ERR_FILE, 2,
      "number of lines is '100000000000000'" },
    { "count beyond 64 bits", TITLE "99999999999999999999999 1 1 1\n", SPMVX_ERR_FILE, 2,
      "number of lines is '9999" },
    { "counts that do not add up", TITLE "4 1 1 1\n", SPMVX_ERR_FILE, 2,
      "4 lines in total, and 3 as the sum" },
    { "counts that do not add up, right-hand sides", TITLE "3 1 1 1 1\n", SPMVX_ERR_FILE, 2,
      "3 lines in total, and 4 as the sum" },
    { "complex", TITLE "3 1 1 1\ncua 3 3 4 0\n", SPMVX_ERR_UNSUPPORTED, 3, "'cua': complex" },
    { "Hermitian", TITLE "3 1 1 1\nCHA 3 3 4 0\n", SPMVX_ERR_UNSUPPORTED, 3, "'cha': complex" },
    { "real Hermitian", TITLE "3 1 1 1\nrha 3 3 4 0\n", SPMVX_ERR_UNSUPPORTED, 3, "'rha': Hermitian" },
    { "elemental", TITLE "3 1 1 1\nrse 3 3 4 9\n", SPMVX_ERR_UNSUPPORTED, 3, "'rse': elemental" },
    { "values elsewhere", TITLE "3 1 1 1\nqua 3 3 4 0\n", SPMVX_ERR_UNSUPPORTED, 3,
      "'qua': its values are in a supplementary file" },
    { "supplementary file", TITLE "rhs 1 1 1\n", SPMVX_ERR_FILE, 2, "number of lines is 'rhs'" },
    { "unknown field", TITLE "3 1 1 1\nxua 3 3 4 0\n", SPMVX_ERR_FILE, 3, "the type is 'xua'" },
    { "unknown symmetry", TITLE "3 1 1 1\nrxa 3 3 4 0\n", SPMVX_ERR_FILE, 3, "the type is 'rxa'" },
    { "unknown assembly", TITLE "3 1 1 1\nruu 3 3 4 0\n", SPMVX_ERR_FILE, 3, "the type is 'ruu'" },
    { "two letters", TITLE "3 1 1 1\nru 3 3 4 0\n", SPMVX_ERR_FILE, 3, "the type is 'ru'" },
    { "four letters", TITLE "3 1 1 1\nruaa 3 3 4 0\n", SPMVX_ERR_FILE, 3, "'rua' goes on with 'a'" },
    { "no type", TITLE "3 1 1 1\n\n", SPMVX_ERR_FILE, 3, "the type is ''" },
    { "two sizes", TITLE "3 1 1 1\nrua 3 3\n", SPMVX_ERR_FILE, 3, "number of entries is ''" },
    { "negative rows", TITLE "3 1 1 1\nrua -3 3 4 0\n", SPMVX_ERR_FILE, 3, "number of rows is '-3'" },
    { "negative columns", TITLE "3 1 1 1\nrua 3 -3 4 0\n", SPMVX_ERR_FILE, 3, "number of columns is '-3'" },
    { "2^31 rows", TITLE "3 1 1 1\nrua 2147483648 3 4 0\n", SPMVX_ERR_RANGE, 3, "2147483648 rows" },
    { "2^31 columns", TITLE "3 1 1 1\nrua 3 2147483648 4 0\n", SPMVX_ERR_RANGE, 3, "2147483648 columns" },
    { "symmetric 3 x 2", TITLE "3 1 1 1\nrsa 3 2 4 0\n", SPMVX_ERR_FILE, 3, "3 rows and 2 columns" },
    { "skew-symmetric 3 x 2", TITLE "3 1 1 1\nrza 3 2 4 0\n", SPMVX_ERR_FILE, 3, "3 rows and 2 columns" },
    { "no format", TITLE "3 1 1 1\nrua 3 3 4 0\n\n", SPMVX_ERR_FILE, 4, "the format of the pointers is ''" },
    { "two formats", TITLE "3 1 1 1\nrua 3 3 4 0\n(16I5) (16I5)\n", SPMVX_ERR_FILE, 4,
      "the format of the values is ''" },
    { "no parentheses", TITLE "3 1 1 1\nrua 3 3 4 0\n16I5\n", SPMVX_ERR_FILE, 4,
      "the format of the pointers is '16I5'" },
    { "format left open", TITLE "3 1 1 1\nrua 3 3 4 0\n(16I5 (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4,
      "the format of the pointers is '(16I5 (16I5) (4E8.1)'" },
    { "real pointers", TITLE "3 1 1 1\nrua 3 3 4 0\n(16F5.0) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4,
      "the format of the pointers is '(16F5.0)'" },
    { "real indices", TITLE "3 1 1 1\nrua 3 3 4 0\n(16I5) (4E8.1) (4E8.1)\n", SPMVX_ERR_FILE, 4,
      "the format of the indices is '(4E8.1)'" },
    { "letters", TITLE "3 1 1 1\nrua 3 3 4 0\n(16I5) (16I5) (4A8)\n", SPMVX_ERR_FILE, 4,
      "the format of the values is '(4A8)'" },
    { "two descriptors", TITLE "3 1 1 1\nrua 3 3 4 0\n(I5,I6) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4,
      "'(I5,I6)'" },
    { "skips", TITLE "3 1 1 1\nrua 3 3 4 0\n(1X,16I5) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4, "'(1X,16I5)'" },
    { "width 0", TITLE "3 1 1 1\nrua 3 3 4 0\n(16I0) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4, "'(16I0)'" },
    { "no width", TITLE "3 1 1 1\nrua 3 3 4 0\n(16I) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4, "'(16I)'" },
    { "no fields", TITLE "3 1 1 1\nrua 3 3 4 0\n(0I5) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4, "'(0I5)'" },
    { "absurd width", TITLE "3 1 1 1\nrua 3 3 4 0\n(1I257) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4,
      "'(1I257)'" },
    { "absurd count", TITLE "3 1 1 1\nrua 3 3 4 0\n(99999I5) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4,
      "'(99999I5)'" },
    { "width of many digits", TITLE "3 1 1 1\nrua 3 3 4 0\n(1I4294967301) (16I5) (4E8.1)\n", SPMVX_ERR_FILE,
      4, "'(1I4294967301)'" },
    { "counts that multiply",
      TITLE "3 1 1 1\nrua 3 3 4 0\n(999999(999999(999999(999999I1)))) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4,
      "'(999999(999999" },
    { "deep parentheses", TITLE "3 1 1 1\nrua 3 3 4 0\n(((((((((1I5))))))))) (16I5) (4E8.1)\n",
      SPMVX_ERR_FILE, 4, "'(((((((((1I5)))))))))'" },
    { "scale factor without a count", TITLE "3 1 1 1\nrua 3 3 4 0\n(16I5) (16I5) (P4E8.1)\n", SPMVX_ERR_FILE,
      4, "'(P4E8.1)'" },
    { "half an exponent in a format", TITLE "3 1 1 1\nrua 3 3 4 0\n(16I5) (16I5) (4E8.1E)\n", SPMVX_ERR_FILE,
      4, "'(4E8.1E)'" },
    { "too few lines of pointers", TITLE "3 1 1 1\nrua 3 3 4 0\n(3I5) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4,
      "4 pointers take 2 lines, and the header says 1" },
    { "too many lines of indices", TITLE "4 1 2 1\nrua 3 3 4 0\n(16I5) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4,
      "4 indices take 1 lines, and the header says 2" },
    { "too few lines of values", TITLE "2 1 1 0\nrua 3 3 4 0\n(16I5) (16I5) (4E8.1)\n", SPMVX_ERR_FILE, 4,
      "4 values take 1 lines, and the header says 0" },
    { "lines of values in a pattern", TITLE "3 1 1 1\npua 3 3 4 0\n(16I5) (16I5) (4E8.1)\n", SPMVX_ERR_FILE,
      4, "0 values take 0 lines, and the header says 1" },
    { "more entries than lines", TITLE "3 1 1 1\nrua 3 3 99999999999999 0\n(16I5) (16I5) (4E8.1)\n",
      SPMVX_ERR_FILE, 4, "99999999999999 indices take 6250000000000 lines" },
    { "no type of right-hand sides", TITLE "4 1 1 1 1\nrua 3 3 4 0\n" RUA_FORMATS, SPMVX_ERR_FILE, 5,
      "ends before its type of right-hand sides" },
    { "first pointer", HEAD "    0    3    4    5\n", SPMVX_ERR_FILE, 5, "pointer 1 is 0, not in 1 ... 1" },
    { "falling pointers", HEAD "    1    3    2    5\n", SPMVX_ERR_FILE, 5,
      "pointer 3 is 2, not in 3 ... 5" },
    { "pointer beyond the entries", HEAD "    1    3    6    5\n", SPMVX_ERR_FILE, 5,
      "pointer 3 is 6, not in 3 ... 5" },
    { "last pointer", HEAD "    1    3    4    4\n", SPMVX_ERR_FILE, 5,
      "the last pointer is 4, and 4 entries are announced" },
    { "entries without columns", TITLE "3 1 1 1\nrua 3 0 4 0\n" RUA_FORMATS "    1\n", SPMVX_ERR_FILE, 5,
      "the last pointer is 1, and 4 entries" },
    { "word for a pointer", HEAD "    1    x    4    5\n", SPMVX_ERR_FILE, 5,
      "pointer 2 is 'x', not a whole number" },
    { "two numbers in a field", HEAD "    1  1 3    4    5\n", SPMVX_ERR_FILE, 5,
      "pointer 2 is '1 3', not a whole number" },
    { "blank pointer", HEAD "    1         4    5\n", SPMVX_ERR_FILE, 5, "pointer 2 is '', not" },
    { "short line of pointers", HEAD "    1    3    4\n    5\n", SPMVX_ERR_FILE, 5, "pointer 4 is '', not" },
    { "short line of other widths", HEAD " 1 3 4\n 5\n", SPMVX_ERR_FILE, 5, "pointer 1 is '1 3', not" },
    { "a field too many", HEAD "    1    3    4    5    6\n", SPMVX_ERR_FILE, 5,
      "after the last of 4 numbers comes '6'" },
    { "row 0", HEAD POINTERS "    1    0    2    1\n", SPMVX_ERR_FILE, 6,
      "row 0 in column 1 is not in 1 ... 3" },
    { "row too large", HEAD POINTERS "    1    3    4    1\n", SPMVX_ERR_FILE, 6,
      "row 4 in column 2 is not in 1 ... 3" },
    { "negative row", HEAD POINTERS "    1    3    2   -1\n", SPMVX_ERR_FILE, 6,
      "row -1 in column 3 is not" },
    { "fractional row", HEAD POINTERS "    1  1.5    2    1\n", SPMVX_ERR_FILE, 6,
      "row 2 is '1.5', not a whole number" },
    { "row of 2^64 + 1",
      TITLE "3 1 1 1\nrua 3 3 4 0\n(16I5) (4I21) (4E8.1)\n" POINTERS
            " 18446744073709551617                    3                    2                    1\n",
      SPMVX_ERR_FILE, 6, "row 1 is '18446744073709551617', not a whole number" },
    { "diagonal in skew-symmetric",
      TITLE "3 1 1 1\nrza 3 3 4 0\n" RUA_FORMATS POINTERS "    2    3    2    1\n", SPMVX_ERR_FILE, 6,
      "row 2, column 2 is on the diagonal" },
    { "word for a value", HEAD POINTERS INDICES " 1.0E+00    four 2.0E+00 3.0E+00\n", SPMVX_ERR_FILE, 7,
      "value 2 is 'four', not a number" },
    { "fraction in integer",
      TITLE "3 1 1 1\niua 3 3 4 0\n(16I5) (16I5) (4I5)\n" POINTERS INDICES "    1  2.0    3    4\n",
      SPMVX_ERR_FILE, 7, "value 2 is '2.0', not a whole number" },
    { "exponent in integer",
      TITLE "3 1 1 1\niua 3 3 4 0\n(16I5) (16I5) (4I5)\n" POINTERS INDICES "    1  2E0    3    4\n",
      SPMVX_ERR_FILE, 7, "value 2 is '2E0', not a whole number" },
    { "half an exponent", HEAD POINTERS INDICES " 1.0E+00    4.0E 2.0E+00 3.0E+00\n", SPMVX_ERR_FILE, 7,
      "value 2 is '4.0E', not a number" },
    { "half an exponent, no point", HEAD POINTERS INDICES " 1.0E+00      4E 2.0E+00 3.0E+00\n",
      SPMVX_ERR_FILE, 7, "value 2 is '4E', not a number" },
    { "two exponents", HEAD POINTERS INDICES " 1.0E+00 4.0E1E2 2.0E+00 3.0E+00\n", SPMVX_ERR_FILE, 7,
      "value 2 is '4.0E1E2', not a number" },
    { "sign alone", HEAD POINTERS INDICES " 1.0E+00       - 2.0E+00 3.0E+00\n", SPMVX_ERR_FILE, 7,
      "value 2 is '-', not a number" },
    { "stars", HEAD POINTERS INDICES " 1.0E+00******** 2.0E+00 3.0E+00\n", SPMVX_ERR_FILE, 7,
      "value 2 is '********', not a number" },
    { "blank value", HEAD POINTERS INDICES " 1.0E+00         2.0E+00 3.0E+00\n", SPMVX_ERR_FILE, 7,
      "value 2 is '', not a number" },
    { "more behind the values", RUA "\n  junk\n", SPMVX_ERR_FILE, 9, "after the matrix comes 'junk'" },
    { "not such a file", "hello\nworld\n", SPMVX_ERR_FILE, 2, "number of lines is 'world'" },
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++)
        check_refuses(put_text("a.rb", refused[i].text), refused[i].status, refused[i].line,
                      refused[i].reason);
}

static void test_nul_bytes(void **state)
{
    (void)state;
    static const char in_value[] = HEAD POINTERS INDICES " 1.0E+00 4.0\0+00 2.0E+00 3.0E+00\n",
                      in_type[] = TITLE "3 1 1 1\nr\0a 3 3 4 0\n",
                      in_format[] = TITLE "3 1 1 1\nrua 3 3 4 0\n(16\0I5) (16I5) (4E8.1)\n",
                      in_pointer[] = HEAD "    1   \0003    4    5\n";
    check_refuses(put_file("a.rb", in_value, sizeof in_value - 1), SPMVX_ERR_FILE, 7, "value 2 is '4.0?+00'");
    check_refuses(put_file("a.rb", in_type, sizeof in_type - 1), SPMVX_ERR_FILE, 3, "the type is 'r?a'");
    check_refuses(put_file("a.rb", in_format, sizeof in_format - 1), SPMVX_ERR_FILE, 4, "'(16?I5)'");
    check_refuses(put_file("a.rb", in_pointer, sizeof in_pointer - 1), SPMVX_ERR_FILE, 5,
                  "pointer 2 is '?3'");
}

/* Cut anywhere: refused, but for the newline at the end. */
static void test_cut(void **state)
{
    (void)state;
    const size_t n = strlen(RUA);
    for (size_t cut = 0; cut + 1 < n; cut++)
        check_refuses(put_file("cut.rb", RUA, cut), SPMVX_ERR_FILE, 0, "");
    check_reads(put_file("cut.rb", RUA, n - 1), NULL, RUA_DUMP);
}

/* Little memory is taken where the file is short, whatever the header says. */
static void test_lying_header(void **state)
{
    (void)state;
    static const char *const texts[] = {
        TITLE "12500000000004 2 6250000000000 6250000000002\nrua 1 19 99999999999999 0\n(16I5) (16I5) "
              "(16F5.1)\n    1    1    1\n",
        TITLE "6250000000002 2 6250000000000 0\npua 1 19 99999999999999 0\n(16I5) (16I5)\n    1\n",
        TITLE
        "134217729 134217728 1 0\npsa 2147483647 2147483647 9 0\n(16I12) (16I12)\n           1           1\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        size_t peak;
        assert_int_equal(read_metered(put_text("a.rb", texts[i]), 2, 0, &peak), SPMVX_ERR_FILE);
        assert_true(peak < 10000000);
    }
}

static void test_long_line(void **state)
{
    (void)state;
    text t = { 0 };
    add_fill(&t, 'x', (4 << 20) + 1);
    addf(&t, "\n");
    check_refuses(put_file("a.rb", t.bytes, t.n), SPMVX_ERR_FILE, 1, "longer than");
    free(t.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_nul_bytes), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_lying_header), cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests_name("rb refused", tests, make_folder, remove_folder);
}
