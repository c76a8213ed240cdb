/* SciPy's .npz files: what is refused, with which words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archives.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- refused ---- */

static const struct {
    const char *spec, *other;
    spmvx_status status;
    const char *reason;
} refused[] = {
    { CSR, "-format.npy", SPMVX_ERR_FILE, "member 'format.npy': it is missing" },
    { CSR, "-shape.npy", SPMVX_ERR_FILE, "member 'shape.npy': it is missing" },
    { CSR, "-indptr.npy", SPMVX_ERR_FILE, "member 'indptr.npy': it is missing" },
    { CSR, "-indices.npy", SPMVX_ERR_FILE, "member 'indices.npy': it is missing" },
    { CSR, "-data.npy", SPMVX_ERR_FILE, "member 'data.npy': it is missing" },
    { COO, "-row.npy", SPMVX_ERR_FILE, "member 'row.npy': it is missing" },
    { COO, "-col.npy", SPMVX_ERR_FILE, "member 'col.npy': it is missing" },
    { DIA_C, "-offsets.npy", SPMVX_ERR_FILE, "member 'offsets.npy': it is missing" },
    { CSR, "format.npy |S3 () lil", SPMVX_ERR_FILE, "it says 'lil'" },
    { CSR, "format.npy |S4 () csrx", SPMVX_ERR_FILE, "it says 'csrx'" },
    { CSR, "format.npy |S40 () aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", SPMVX_ERR_FILE,
      "it says 'aaaaaaaaaaaaaaa'" },
    { CSR, "format.npy |S0 ()", SPMVX_ERR_FILE, "it says ''" },
    { CSR, "format.npy |S3 (1,) csr", SPMVX_ERR_FILE, "'format.npy': it has 1 dimensions, not 0" },
    { CSR, "format.npy <i4 () 1", SPMVX_ERR_FILE, "'format.npy': the type is '<i4', text wanted" },
    { CSR, "shape.npy <f8 (2,) 3 4", SPMVX_ERR_FILE, "'shape.npy': the type is '<f8', whole numbers wanted" },
    { CSR, "shape.npy |S3 (2,) abc abc", SPMVX_ERR_FILE,
      "'shape.npy': the type is '|S3', whole numbers wanted" },
    { CSR, "shape.npy <i8 (3,) 3 4 5", SPMVX_ERR_FILE, "'shape.npy': it has 3 elements, not 2" },
    { CSR, "shape.npy <i8 (1,) 3", SPMVX_ERR_FILE, "'shape.npy': it has 1 elements, not 2" },
    { CSR, "shape.npy <i8 (1,2) 3 4", SPMVX_ERR_FILE, "'shape.npy': it has 2 dimensions, not 1" },
    { CSR, "shape.npy <i8 (2,) -1 4", SPMVX_ERR_FILE, "-1 rows" },
    { CSR, "shape.npy <i8 (2,) 3 -4", SPMVX_ERR_FILE, "-4 columns" },
    { CSR, "shape.npy <i8 (2,) 2147483648 4", SPMVX_ERR_RANGE, "2147483648 rows" },
    { CSR, "shape.npy <u8 (2,) 3 18446744073709551615", SPMVX_ERR_RANGE, "9223372036854775807 columns" },
    { CSR, "shape.npy <i8 (2,) 4 4", SPMVX_ERR_FILE, "'indptr.npy': it has 4 elements, not 5" },
    { CSR, "shape.npy <i8 (2,) 2 4", SPMVX_ERR_FILE, "'indptr.npy': it has 4 elements, not 3" },
    { CSR, "shape.npy <i8 (2,) 2000000000 4", SPMVX_ERR_FILE,
      "'indptr.npy': it has 4 elements, not 2000000001" },
    { CSC, "shape.npy <i8 (2,) 3 5", SPMVX_ERR_FILE, "'indptr.npy': it has 5 elements, not 6" },
    { CSR, "indptr.npy <i4 (4,) 1 2 3 3", SPMVX_ERR_FILE, "'indptr.npy': element 0 is 1, not in 0 ... 0" },
    { CSR, "indptr.npy <i4 (4,) 0 2 1 3", SPMVX_ERR_FILE, "'indptr.npy': element 2 is 1, not in 2 ... 3" },
    { CSR, "indptr.npy <i4 (4,) 0 -1 1 3", SPMVX_ERR_FILE, "'indptr.npy': element 1 is -1, not in 0 ... 3" },
    { CSR, "indptr.npy <i4 (4,) 0 2 3 4", SPMVX_ERR_FILE, "'indptr.npy': element 3 is 4, not in 3 ... 3" },
    { CSR, "indptr.npy <i8 (4,) 0 2 4294967298 3", SPMVX_ERR_FILE, "'indptr.npy': element 2 is 4294967298" },
    { CSC, "indptr.npy <i4 (5,) 0 1 0 2 3", SPMVX_ERR_FILE, "'indptr.npy': element 2 is 0" },
    { BSR_C, "indptr.npy <i4 (3,) 0 1 3", SPMVX_ERR_FILE, "'indptr.npy': element 2 is 3, not in 1 ... 2" },
    { BSR_C, "indptr.npy <i4 (2,) 0 2", SPMVX_ERR_FILE, "'indptr.npy': it has 2 elements, not 3" },
    { CSR, "indptr.npy <f8 (4,) 0 2 3 3", SPMVX_ERR_FILE, "'indptr.npy': the type is '<f8'" },
    { CSR, "indptr.npy |b1 (4,) 0 1 1 1", SPMVX_ERR_FILE, "'indptr.npy': the type is '|b1'" },
    { CSR, "indices.npy <i4 (3,) 1 4 0", SPMVX_ERR_FILE, "'indices.npy': element 1 is 4, not in 0 ... 3" },
    { CSR, "indices.npy <i4 (3,) 1 -1 0", SPMVX_ERR_FILE, "'indices.npy': element 1 is -1, not in 0 ... 3" },
    { CSR, "indices.npy <i8 (3,) 1 4294967296 0", SPMVX_ERR_FILE,
      "'indices.npy': element 1 is 4294967296, not in 0 ... 3" },
    { CSR, "indices.npy <i4 (2,) 1 3", SPMVX_ERR_FILE, "'data.npy': it has 3 elements, not 2" },
    { CSR, "indices.npy <i4 (3,1) 1 3 0", SPMVX_ERR_FILE, "'indices.npy': it has 2 dimensions, not 1" },
    { CSC, "indices.npy <i4 (3,) 1 3 0", SPMVX_ERR_FILE, "'indices.npy': element 1 is 3, not in 0 ... 2" },
    { BSR_C, "indices.npy <i4 (2,) 1 2", SPMVX_ERR_FILE, "'indices.npy': element 1 is 2, not in 0 ... 1" },
    { COO, "row.npy <i4 (3,) 1 0 3", SPMVX_ERR_FILE, "'row.npy': element 2 is 3, not in 0 ... 2" },
    { COO, "col.npy <i4 (3,) 4 0 3", SPMVX_ERR_FILE, "'col.npy': element 0 is 4, not in 0 ... 3" },
    { COO, "col.npy <i4 (2,) 0 1", SPMVX_ERR_FILE, "'col.npy': it has 2 elements, not 3" },
    { COO, "row.npy <i4 (2,) 0 1", SPMVX_ERR_FILE, "'data.npy': it has 3 elements, not 2" },
    { COO, "shape.npy <i8 (2,) 0 4", SPMVX_ERR_FILE, "'row.npy': element 0 is 1, not in 0 ... -1" },
    { CSR, "data.npy <f8 (2,) 1 2", SPMVX_ERR_FILE, "'data.npy': it has 2 elements, not 3" },
    { CSR, "data.npy <f8 (4,) 1 2 3 4", SPMVX_ERR_FILE, "'data.npy': it has 4 elements, not 3" },
    { CSR, "data.npy <f8 () 1", SPMVX_ERR_FILE, "'data.npy': it has 0 dimensions, not 1" },
    { CSR, "data.npy |S3 (3,) abc abc abc", SPMVX_ERR_FILE, "'data.npy': the type is '|S3', numbers wanted" },
    { CSR, "data.npy <c16 (3,) 1", SPMVX_ERR_UNSUPPORTED, "'data.npy': the type is '<c16', complex" },
    { CSR, "data.npy <c8 (3,) 1", SPMVX_ERR_UNSUPPORTED, "'data.npy': the type is '<c8', complex" },
    { CSR, "data.npy <f2 (3,) 1", SPMVX_ERR_UNSUPPORTED, "'data.npy': the type is '<f2'" },
    { CSR, "data.npy <f16 (3,) 1", SPMVX_ERR_UNSUPPORTED, "'data.npy': the type is '<f16'" },
    { CSR, "data.npy <i3 (3,) 1", SPMVX_ERR_UNSUPPORTED, "'data.npy': the type is '<i3'" },
    { CSR, "data.npy |O8 (3,) 1", SPMVX_ERR_UNSUPPORTED, "'data.npy': the type is '|O8'" },
    { CSR, "data.npy <M8[ns] (3,) 1", SPMVX_ERR_UNSUPPORTED, "'data.npy': the type is '<M8[ns]'" },
    { CSR, "data.npy |V8 (3,) 1", SPMVX_ERR_UNSUPPORTED, "'data.npy': the type is '|V8'" },
    { CSR, "data.npy <f8 (3,) 1 2", SPMVX_ERR_FILE,
      "'data.npy': its array takes 92 bytes with the header, and it has 84" },
    { CSR, "data.npy <f8 (3,) 1 2 3 4", SPMVX_ERR_FILE,
      "'data.npy': its array takes 92 bytes with the header, and it has 100" },
    { CSR, "data.npy <f8 (1000000000000,) 1 2 3", SPMVX_ERR_FILE, "'data.npy': its array takes 8000000000" },
    { CSR, "data.npy <f8 (2305843009213693952,) 1", SPMVX_ERR_FILE,
      "'data.npy': its array takes 18446744073709551615" },
    { CSR, "data.npy <f8 (4611686018427387904,4) 1", SPMVX_ERR_FILE,
      "'data.npy': its shape has more than 2^63 elements" },
    { CSR, "data.npy <f8 (9223372036854775808,) 1", SPMVX_ERR_FILE,
      "'data.npy': the header has a shape that is not" },
    { CSR, "data.npy <f8 (1,1,1,1) 1", SPMVX_ERR_FILE, "'data.npy': it has more than 3 dimensions" },
    { CSR, "data.npy <f8 (-3,) 1", SPMVX_ERR_FILE, "'data.npy': the header has a shape that is not" },
    { BSR_C, "data.npy <f8 (2,3,2) 1 2 3 4 5 6 7 8 9 10 11 12", SPMVX_ERR_FILE,
      "'data.npy': blocks of 3 x 2, in a matrix of 4 x 6" },
    { BSR_C, "data.npy <f8 (2,2,4) 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", SPMVX_ERR_FILE,
      "'data.npy': blocks of 2 x 4, in a matrix of 4 x 6" },
    { BSR_C, "data.npy <f8 (2,0,3)", SPMVX_ERR_FILE, "'data.npy': blocks of 0 x 3" },
    { BSR_C, "data.npy <f8 (1,2,3) 1 2 3 4 5 6", SPMVX_ERR_FILE, "'data.npy': it has 1 elements, not 2" },
    { BSR_C, "data.npy <f8 (12,) 1 2 3 4 5 6 7 8 9 10 11 12", SPMVX_ERR_FILE,
      "'data.npy': it has 1 dimensions, not 3" },
    { DIA_C, "data.npy <f8 (2,3) 1 2 3 4 5 6", SPMVX_ERR_FILE, "'data.npy': it has 2 elements, not 3" },
    { DIA_C, "data.npy <f8 (9,) 1 2 3 4 5 6 7 8 9", SPMVX_ERR_FILE,
      "'data.npy': it has 1 dimensions, not 2" },
    { DIA_C, "offsets.npy <f8 (3,) -1 0 1", SPMVX_ERR_FILE, "'offsets.npy': the type is '<f8'" },
};

static void test_refused(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    for (size_t i = 0; i < COUNT(refused); i++)
        check_refuses(put_npz("a.npz", refused[i].spec, refused[i].other, NULL), refused[i].status, 0,
                      refused[i].reason);
}

/* ---- headers ---- */

static const char *put_header(const void *header, size_t n)
{
    static const char *const names[] = { "shape.npy", "indptr.npy", "indices.npy", "data.npy" };
    archive a = { 0 };
    text t = { 0 };
    add(&t, header, n);
    add_member(&a, "format.npy", &t, NULL);
    for (size_t i = 0; i < COUNT(names); i++) add_member(&a, names[i], &t, NULL);
    end_archive(&a);
    const char *path = put_file("a.npz", a.bytes.bytes, a.bytes.n);
    free(a.bytes.bytes);
    free(t.bytes);
    return path;
}

static const struct {
    const char *dictionary;
    spmvx_status status;
    const char *reason;
} headers[] = {
    { "", SPMVX_ERR_FILE, "a header of 1 bytes" },
    { "{", SPMVX_ERR_FILE, "is no dictionary" },
    { "{}", SPMVX_ERR_FILE, "has no 'descr'" },
    { "[]", SPMVX_ERR_FILE, "is no dictionary" },
    { "{'descr': '|S3', 'fortran_order': False, 'shape': ()", SPMVX_ERR_FILE, "is no dictionary" },
    { "{'descr': '|S3', 'fortran_order': False}", SPMVX_ERR_FILE, "has no 'shape'" },
    { "{'descr': '|S3', 'shape': ()}", SPMVX_ERR_FILE, "has no 'fortran_order'" },
    { "{'descr': '|S3', 'fortran_order': False, 'shape': (), 'shape': ()}", SPMVX_ERR_FILE,
      "has a 'shape' too many" },
    { "{'descr': '|S3', 'fortran_order': False, 'shape': (), 'x': 1}", SPMVX_ERR_FILE, "has a 'x' too many" },
    { "{'descr': '|S3', 'fortran_order': 0, 'shape': ()}", SPMVX_ERR_FILE, "neither True nor False" },
    { "{'descr': '|S3' 'fortran_order': False, 'shape': ()}", SPMVX_ERR_FILE, "is no dictionary" },
    { "{'descr' '|S3'}", SPMVX_ERR_FILE, "is no dictionary" },
    { "{'descr': |S3}", SPMVX_ERR_FILE, "has no type" },
    { "{'descr': '|S3}", SPMVX_ERR_FILE, "has no type" },
    { "{'descr': '|S\\3'}", SPMVX_ERR_FILE, "has no type" },
    { "{'descr': ''}", SPMVX_ERR_UNSUPPORTED, "the type is ''" },
    { "{'descr': '<'}", SPMVX_ERR_UNSUPPORTED, "the type is '<'" },
    { "{'descr': '<f'}", SPMVX_ERR_UNSUPPORTED, "the type is '<f'" },
    { "{'descr': '<f-8'}", SPMVX_ERR_UNSUPPORTED, "the type is '<f-8'" },
    { "{'descr': '<f99999999999999999999'}", SPMVX_ERR_UNSUPPORTED, "the type is '<f" },
    { "{'descr': '<i0'}", SPMVX_ERR_UNSUPPORTED, "the type is '<i0'" },
    { "{'descr': '|S1001'}", SPMVX_ERR_UNSUPPORTED, "the type is '|S1001'" },
    { "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}", SPMVX_ERR_UNSUPPORTED, "records" },
    { "{'shape': 3}", SPMVX_ERR_FILE, "no tuple" },
    { "{'shape': (3 4)}", SPMVX_ERR_FILE, "not of whole numbers" },
    { "{'shape': (x,)}", SPMVX_ERR_FILE, "not of whole numbers" },
    { "{'shape': (3.0,)}", SPMVX_ERR_FILE, "not of whole numbers" },
    { "{'shape': (3,", SPMVX_ERR_FILE, "not of whole numbers" },
    { "{'descr': '|S3', 'fortran_order': False, 'shape': ()} x", SPMVX_ERR_FILE,
      "goes on behind its dictionary" },
};

static void test_headers(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    for (size_t i = 0; i < COUNT(headers); i++) {
        text t = { 0 };
        add_npy(&t, headers[i].dictionary, 1);
        addf(&t, "csr");
        check_refuses(put_header(t.bytes, t.n), headers[i].status, 0, headers[i].reason);
        free(t.bytes);
    }
    /* fine: what fails is the next member, which is the same */
    for (int version = 1; version <= 3; version++) {
        text t = { 0 };
        add_npy(&t, "{\"shape\" : ( ) ,\"descr\":'|S3',\t'fortran_order':True  }  ", version);
        addf(&t, "csr");
        check_refuses(put_header(t.bytes, t.n), SPMVX_ERR_FILE, 0, "'shape.npy': the type is '|S3'");
        free(t.bytes);
    }
    check_refuses(put_header("", 0), SPMVX_ERR_FILE, 0, "'format.npy': it ends before its array");
    check_refuses(put_header("\x93NUMPY\1\0\1", 9), SPMVX_ERR_FILE, 0,
                  "'format.npy': it ends before its array");
    check_refuses(put_header("\x93NUMPX\1\0\1\0{}{}", 14), SPMVX_ERR_FILE, 0,
                  "does not begin as a NumPy array");
    check_refuses(put_header("\x93NUMPY\0\0\1\0{}{}", 14), SPMVX_ERR_FILE, 0, "version 0.0");
    check_refuses(put_header("\x93NUMPY\4\1\1\0{}{}", 14), SPMVX_ERR_FILE, 0, "version 4.1");
    check_refuses(put_header("\x93NUMPY\1\0\1\0{}{}", 14), SPMVX_ERR_FILE, 0, "a header of 1 bytes");
    check_refuses(put_header("\x93NUMPY\1\0\0\0{}{}", 14), SPMVX_ERR_FILE, 0, "a header of 0 bytes");
    check_refuses(put_header("\x93NUMPY\2\0\0\0\0\0{}{}", 16), SPMVX_ERR_FILE, 0, "is no dictionary");
    check_refuses(put_header("\x93NUMPY\2\0\1\0\1\0{}{}", 16), SPMVX_ERR_FILE, 0, "a header of 65537 bytes");
    check_refuses(put_header("\x93NUMPY\2\0\xff\xff\xff\xff{}{}", 16), SPMVX_ERR_FILE, 0,
                  "a header of 4294967295 bytes");
    check_refuses(put_header("\x93NUMPY\1\0\xff\xff{}{}", 14), SPMVX_ERR_FILE, 0, "it ends before its array");
}

/* ---- archives ---- */

static void test_lies(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    static const struct {
        lie lie;
        spmvx_status status;
        const char *reason;
    } lies[] = {
        { { "data.npy", 1, 0, 0, -1, -1, false },
          SPMVX_ERR_FILE,
          "'data.npy': the ZIP archive is damaged or ends early (CRC" },
        { { "format.npy", 1, 0, 0, -1, -1, false },
          SPMVX_ERR_FILE,
          "'format.npy': the ZIP archive is damaged" },
        { { "indptr.npy", 1u << 31, 0, 0, -1, -1, false },
          SPMVX_ERR_FILE,
          "'indptr.npy': the ZIP archive is damaged" },
        { { "data.npy", 0, 0, 1, -1, -1, false }, SPMVX_ERR_UNSUPPORTED, "'data.npy': it is encrypted" },
        { { "data.npy", 0, 12, 0, -1, -1, false },
          SPMVX_ERR_UNSUPPORTED,
          "'data.npy': it is compressed by method 12" },
        { { "data.npy", 0, 14, 0, -1, -1, false },
          SPMVX_ERR_UNSUPPORTED,
          "'data.npy': it is compressed by method 14" },
        { { "data.npy", 0, 93, 0, -1, -1, false },
          SPMVX_ERR_UNSUPPORTED,
          "'data.npy': it is compressed by method 93" },
        { { "data.npy", 0, 0, 0, 1000, -1, false },
          SPMVX_ERR_FILE,
          "'data.npy': 1000 bytes cannot come of 92" },
        { { "data.npy", 0, 8, 0, 1000000, -1, false },
          SPMVX_ERR_FILE,
          "'data.npy': 1000000 bytes cannot come of 92" },
        { { "data.npy", 0, 8, 0, 4000000000u, -1, false },
          SPMVX_ERR_FILE,
          "'data.npy': 4000000000 bytes cannot come of 92" },
        { { "data.npy", 0, 8, 0, INT64_MAX, -1, true },
          SPMVX_ERR_FILE,
          "'data.npy': 9223372036854775807 bytes cannot" },
        { { "data.npy", 0, 8, 0, INT64_MAX, INT64_MAX, true }, SPMVX_ERR_FILE, "'data.npy': " },
        { { "data.npy", 0, 0, 0, 10000, 10000, false },
          SPMVX_ERR_FILE,
          "'data.npy': 10000 bytes cannot come of 10000 compressed ones in a file of" },
        { { "data.npy", 0, 0, 0, 93, 93, false },
          SPMVX_ERR_FILE,
          "'data.npy': its array takes 92 bytes with the header, and it has 93" },
        /* stored, and called deflated */
        { { "data.npy", 0, 8, 0, -1, -1, false }, SPMVX_ERR_FILE, "'data.npy': the ZIP archive is damaged" },
    };
    for (size_t i = 0; i < COUNT(lies); i++)
        check_refuses(put_npz("a.npz", CSR, NULL, &lies[i].lie), lies[i].status, 0, lies[i].reason);
}

static void test_zip64(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    check_reads(put_npz("a.npz", CSR, NULL, &(lie){ .size = -1, .compressed = -1, .zip64 = true }), NULL,
                CSR_DUMP);
}

/* Cut anywhere, or with a bit turned: refused, or it does not matter (a date, say), and the matrix is the
 * same. */
static void test_cut_and_damaged(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    size_t n;
    unsigned char *bytes = get_file(put_npz("a.npz", CSR, NULL, NULL), &n);
    check_refuses(put_file("cut.npz", bytes, 0), SPMVX_ERR_FILE, 0, "empty");
    for (size_t cut = 1; cut < n; cut++)
        check_refuses(put_file("cut.npz", bytes, cut), SPMVX_ERR_FILE, 0,
                      "ZIP archive is damaged or ends early");
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, 2);
    const long before = c.live;
    int taken = 0, tried = 0;
    for (size_t bit = 0; bit < 8 * n; bit += 3, tried++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        spmvx_matrix *A = NULL;
        const spmvx_status s = spmvx_matrix_read(ctx, put_file("bad.npz", bytes, n), NULL, &A);
        if (s == SPMVX_OK) {
            char got[1024];
            dump(A, got);
            assert_string_equal(got, CSR_DUMP);
            taken++;
        } else if (s != SPMVX_ERR_UNSUPPORTED) assert_int_equal(s, SPMVX_ERR_FILE);
        spmvx_matrix_destroy(A);
        assert_int_equal(c.live, before);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(taken < tried / 2);
    free(bytes);
    spmvx_context_destroy(ctx);
}

static void test_directory_of_many(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    archive a = { 0 };
    text nothing = { 0 };
    for (int i = 0; i < 20000; i++) {
        char name[32];
        snprintf(name, sizeof name, "member%d.npy", i);
        add_member(&a, name, &nothing, NULL);
    }
    end_archive(&a);
    check_refuses(put_file("many.npz", a.bytes.bytes, a.bytes.n), SPMVX_ERR_FILE, 0,
                  "directory is too large");
    free(a.bytes.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_zip64),
        cmocka_unit_test(test_cut_and_damaged),
        cmocka_unit_test(test_directory_of_many),
    };
    return cmocka_run_group_tests_name("npz refused", tests, make_folder, remove_folder);
}
