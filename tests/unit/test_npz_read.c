/* SciPy's .npz files: what is read, by which names, and with which reports of progress. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archives.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct {
    const char *name, *spec, *other, *expected;
} good[] = {
    { "csr", CSR, NULL, CSR_DUMP },
    { "csc", CSC, NULL, CSR_DUMP },
    { "coo", COO, NULL, CSR_DUMP },
    { "bsr", BSR_C, NULL, BSR_DUMP },
    { "bsr, Fortran order", BSR_F, NULL, BSR_DUMP },
    { "dia", DIA_C, NULL, "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 2 2; 2 3 7; 3 2 5; 3 3 3;" },
    { "dia, Fortran order", DIA_F, NULL, "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 2 2; 2 3 7; 3 2 5; 3 3 3;" },
    { "dia, zeros", DIA_C, "data.npy <f8 (3,3) 4 0 99 1 -0 nan 99 6 7",
      "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 3 7; 3 3 nan;" },
    { "dia, narrow", DIA_C, "data.npy <f8 (3,2) 4 5 1 2 99 6",
      "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 2 2; 3 2 5;" },
    { "dia, wide", DIA_C, "data.npy <f8 (3,4) 4 5 99 99 1 2 3 99 99 6 7 99",
      "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 2 2; 2 3 7; 3 2 5; 3 3 3;" },
    { "dia, far diagonals", DIA_C, "offsets.npy <i8 (3,) -9223372036854775808 9223372036854775807 2",
      "CSR 3x3: 1 3 7;" },
    { "dia, none", DIA "data.npy <f8 (0,3)", "offsets.npy <i4 (0,)", "CSR 3x3:" },
    { "dia, of no length", DIA_C, "data.npy <f8 (3,0)", "CSR 3x3:" },
    { "indices of 64 bits", CSR, "indices.npy <i8 (3,) 1 3 0", CSR_DUMP },
    { "pointers of 64 bits", CSR, "indptr.npy <i8 (4,) 0 2 3 3", CSR_DUMP },
    { "indices of 8 bits", CSR, "indices.npy |i1 (3,) 1 3 0", CSR_DUMP },
    { "indices of 16 bits, unsigned", CSR, "indices.npy <u2 (3,) 1 3 0", CSR_DUMP },
    { "big-endian indices", CSR, "indices.npy >i4 (3,) 1 3 0", CSR_DUMP },
    { "big-endian pointers", CSR, "indptr.npy >i8 (4,) 0 2 3 3", CSR_DUMP },
    { "big-endian shape", CSR, "shape.npy >i4 (2,) 3 4", CSR_DUMP },
    { "shape of 32 bits", CSR, "shape.npy <i4 (2,) 3 4", CSR_DUMP },
    { "big-endian values", CSR, "data.npy >f8 (3,) 1.5 -2 7", CSR_DUMP },
    { "single values", CSR, "data.npy <f4 (3,) 1.5 -2 0.1",
      "CSR 3x4: 1 2 1.5; 1 4 -2; 2 1 0.10000000149011612;" },
    { "big-endian single values", CSR, "data.npy >f4 (3,) 1.5 -2 7", CSR_DUMP },
    { "this machine's order", CSR, "data.npy =f8 (3,) 1.5 -2 7", CSR_DUMP },
    { "integer values", CSR, "data.npy <i8 (3,) 1 -9007199254740993 7",
      "CSR 3x4: 1 2 1; 1 4 -9007199254740992; 2 1 7;" },
    { "values of 8 bits", CSR, "data.npy |i1 (3,) 1 -128 127", "CSR 3x4: 1 2 1; 1 4 -128; 2 1 127;" },
    { "values of 16 bits", CSR, "data.npy >i2 (3,) 1 -32768 7", "CSR 3x4: 1 2 1; 1 4 -32768; 2 1 7;" },
    { "unsigned values", CSR, "data.npy <u8 (3,) 1 18446744073709551615 7",
      "CSR 3x4: 1 2 1; 1 4 1.8446744073709552e+19; 2 1 7;" },
    { "boolean values", CSR, "data.npy |b1 (3,) 1 0 5", "CSR 3x4: 1 2 1; 1 4 0; 2 1 1;" },
    { "NaN, infinity, -0", CSR, "data.npy <f8 (3,) nan -inf -0", "CSR 3x4: 1 2 nan; 1 4 -inf; 2 1 -0;" },
    { "one-dimensional in Fortran order", CSR, "data.npy <f8 (3,)F 1.5 -2 7", CSR_DUMP },
    { "format in Unicode", CSR, "format.npy <U3 () csr", CSR_DUMP },
    { "format in big-endian Unicode", CSR, "format.npy >U3 () csr", CSR_DUMP },
    { "format with room behind it", CSR, "format.npy |S10 () csr", CSR_DUMP },
    { "members that do not matter", CSR, "_is_array.npy |b1 () 1", CSR_DUMP },
    { "more entries than pointers use", CSR, "indptr.npy <i4 (4,) 0 2 2 2", "CSR 3x4: 1 2 1.5; 1 4 -2;" },
    { "csc, more entries than pointers use", CSC, "indptr.npy <i4 (5,) 0 1 1 1 1", "CSR 3x4: 2 1 7;" },
    { "bsr, more blocks than pointers use", BSR_C, "indptr.npy <i4 (3,) 0 0 1",
      "CSR 4x6: 3 4 1; 3 5 2; 3 6 3; 4 4 4; 4 5 5; 4 6 6;" },
    { "bsr in Fortran order, more blocks", BSR_F, "indptr.npy <i4 (3,) 0 0 1",
      "CSR 4x6: 3 4 1; 3 5 2; 3 6 3; 4 4 4; 4 5 5; 4 6 6;" },
    { "repeats, unsorted, zeros", CSR, "indices.npy <i4 (3,) 3 3 0", "CSR 3x4: 1 4 1.5; 1 4 -2; 2 1 7;" },
    { "no entries",
      "indices.npy <i4 (0,); indptr.npy <i4 (4,) 0 0 0 0; format.npy |S3 () csr; data.npy <f8 (0,);" SHAPE,
      NULL, "CSR 3x4:" },
    { "0 x 0",
      "indices.npy <i4 (0,); indptr.npy <i4 (1,) 0; format.npy |S3 () csr; data.npy <f8 (0,); shape.npy <i8 "
      "(2,) 0 0",
      NULL, "CSR 0x0:" },
    { "coo, rows far outnumber entries", COO, "shape.npy <i8 (2,) 2000000000 2147483647",
      "COO 2000000000x2147483647: 2 1 7; 1 2 1.5; 1 4 -2;" },
    { "bsr, no blocks of any size",
      "indices.npy <i4 (0,); indptr.npy <i4 (1,) 0; format.npy |S3 () bsr; shape.npy <i8 (2,) 0 0; data.npy "
      "<f8 (0,999999999999,999999999999)",
      NULL, "CSR 0x0:" },
};

static void test_good(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    for (size_t i = 0; i < COUNT(good); i++)
        check_reads_as(good[i].name, put_npz("a.npz", good[i].spec, good[i].other, NULL), NULL,
                       good[i].expected);
}

static void test_single_precision(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.val_type = SPMVX_F32;
    check_reads(put_npz("a.npz", CSR, "data.npy <f8 (3,) 0.1 1e39 16777217", NULL), &o,
                "CSR 3x4: 1 2 0.10000000149011612; 1 4 inf; 2 1 16777216;");
    check_reads(put_npz("a.npz", DIA_C, NULL, NULL), &o,
                "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 2 2; 2 3 7; 3 2 5; 3 3 3;");
    check_reads(put_npz("a.npz", BSR_F, NULL, NULL), &o, BSR_DUMP);
}

/* ---- names ---- */

static void test_names(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    static const char *const names[] = { "a.npz", "a.NPZ", "a.zip", "a.mtx", "a.rb", "a", "a.npz.gz" };
    static const char market[] = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n";
    for (size_t i = 0; i < COUNT(names); i++) check_reads(put_npz(names[i], CSR, NULL, NULL), NULL, CSR_DUMP);
    check_refuses(put_file("a.npz", market, sizeof market - 1), SPMVX_ERR_FILE, 0,
                  "a.npz: the ZIP archive is damaged");
    check_refuses(put_file("a.npz", "", 0), SPMVX_ERR_FILE, 0, "a.npz: the file is empty");
    check_refuses(put_file("a.npz", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22), SPMVX_ERR_FILE, 0,
                  "member 'format.npy': it is missing");
    check_refuses(path_of("missing.npz"), SPMVX_ERR_IO, 0, "No such file");
    check_refuses(path_of("a.npz/a.npz"), SPMVX_ERR_IO, 0, "Not a directory");
    assert_int_equal(mkdir(path_of("folder.npz"), 0700), 0);
    check_refuses(path_of("folder.npz"), SPMVX_ERR_IO, 0, "Is a directory");
    rmdir(path_of("folder.npz"));
    assert_int_equal(mkfifo(path_of("pipe.npz"), 0600), 0);
    const int fd = open(path_of("pipe.npz"), O_RDWR);
    check_refuses(path_of("pipe.npz"), SPMVX_ERR_IO, 0, "takes a regular file");
    close(fd);
}

/* ---- progress ---- */

static void test_progress(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    check_progress(put_zeros("zeros.npz", SPMVX_CSR, 100000), 1, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_single_precision),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests_name("npz read", tests, make_folder, remove_folder);
}
