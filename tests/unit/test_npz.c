/* SciPy's .npz files: what is read, what is refused with which words, and what is written. Archives are made here by hand from
 * short texts: "name type shape values; name ..." */
#include "files.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- archives by hand ---- */

typedef struct archive {
    text bytes, directory;
    int count;
} archive;

/* What a member says of itself in place of the truth. */
typedef struct lie {
    const char *name;          /* the member's; NULL: none lies */
    uint32_t crc, method, flags;
    int64_t size, compressed;  /* -1: the truth */
    bool zip64;
} lie;

static void add_header(archive *a, const char *name, const lie *l, uint32_t crc, size_t n, bool central, size_t at)
{
    text *t = central ? &a->directory : &a->bytes;
    const uint64_t size = l->size < 0 ? n : (uint64_t)l->size, compressed = l->compressed < 0 ? n : (uint64_t)l->compressed;
    add(t, central ? "PK\1\2" : "PK\3\4", 4);
    if (central) add_le(t, 45, 2);
    add_le(t, 45, 2);
    add_le(t, l->flags, 2);
    add_le(t, l->method, 2);
    add_le(t, 0x00210000, 4);
    add_le(t, crc ^ l->crc, 4);
    add_le(t, l->zip64 ? UINT32_MAX : (uint32_t)compressed, 4);
    add_le(t, l->zip64 ? UINT32_MAX : (uint32_t)size, 4);
    add_le(t, (uint32_t)strlen(name), 2);
    add_le(t, l->zip64 ? 20 : 0, 2);
    if (central) add_fill(t, 0, 10);
    if (central) add_le(t, (uint32_t)at, 4);
    add(t, name, strlen(name));
    if (!l->zip64) return;
    add_le(t, 1, 2);
    add_le(t, 16, 2);
    add_le(t, (uint32_t)size, 4);
    add_le(t, (uint32_t)(size >> 32), 4);
    add_le(t, (uint32_t)compressed, 4);
    add_le(t, (uint32_t)(compressed >> 32), 4);
}

static void add_member(archive *a, const char *name, const text *content, const lie *lies)
{
    const lie truth = { .size = -1, .compressed = -1 }, *l = lies && (!lies->name || !strcmp(lies->name, name)) ? lies : &truth;
    const uint32_t crc = crc32_of(content->bytes, content->n);
    const size_t at = a->bytes.n;
    add_header(a, name, l, crc, content->n, false, at);
    add(&a->bytes, content->bytes, content->n);
    add_header(a, name, l, crc, content->n, true, at);
    a->count++;
}

static void end_archive(archive *a)
{
    const size_t at = a->bytes.n;
    add(&a->bytes, a->directory.bytes, a->directory.n);
    add(&a->bytes, "PK\5\6\0\0\0\0", 8);
    add_le(&a->bytes, (uint32_t)a->count, 2);
    add_le(&a->bytes, (uint32_t)a->count, 2);
    add_le(&a->bytes, (uint32_t)a->directory.n, 4);
    add_le(&a->bytes, (uint32_t)at, 4);
    add_le(&a->bytes, 0, 2);
    free(a->directory.bytes);
}

/* ---- arrays by hand ---- */

static void add_number(text *t, const char *type, const char *word)
{
    const int bytes = atoi(type + 2);
    unsigned char b[16] = { 0 };
    const float single = strtof(word, NULL);
    const double real = strtod(word, NULL);
    const int64_t whole = type[1] == 'u' ? (int64_t)strtoull(word, NULL, 10) : strtoll(word, NULL, 10);
    if (type[1] == 'f' && bytes == 4) memcpy(b, &single, 4);
    else if (type[1] == 'f') memcpy(b, &real, 8);
    else memcpy(b, &whole, 8);   /* little endian, as all machines that this runs on */
    for (int i = 0; i < bytes; i++) add(t, &b[*type == '>' ? bytes - 1 - i : i], 1);
}

static void add_letters(text *t, const char *type, const char *word)
{
    const int n = atoi(type + 2), each = type[1] == 'U' ? 4 : 1, length = (int)strlen(word);
    for (int i = 0; i < n; i++) {
        if (*type == '>') add_fill(t, 0, (size_t)(each - 1));
        add(t, i < length ? &word[i] : "", 1);
        if (*type != '>') add_fill(t, 0, (size_t)(each - 1));
    }
}

static void add_npy(text *t, const char *dictionary, int version)
{
    add(t, "\x93NUMPY", 6);
    add_le(t, (uint32_t)version, 2);
    add_le(t, (uint32_t)strlen(dictionary) + 1, version == 1 ? 2 : 4);
    addf(t, "%s\n", dictionary);
}

/* "name type shape values": a shape with an F behind it is of an array in Fortran order. */
static void add_array(archive *a, char *spec, const lie *lies)
{
    char *rest = NULL, *name = strtok_r(spec, " ", &rest), *type = strtok_r(NULL, " ", &rest), *shape = strtok_r(NULL, " ", &rest), *word, dictionary[200];
    const size_t n = strlen(shape);
    const bool columns_first = shape[n - 1] == 'F';
    text t = { 0 };
    if (columns_first) shape[n - 1] = 0;
    snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", type, columns_first ? "True" : "False", shape);
    add_npy(&t, dictionary, 1);
    while ((word = strtok_r(NULL, " ", &rest)))
        if (type[1] == 'S' || type[1] == 'U') add_letters(&t, type, word);
        else add_number(&t, type, word);
    add_member(a, name, &t, lies);
    free(t.bytes);
}

/* Whether a spec is of the member that another one is of, or "-name" says. */
static bool same_member(const char *spec, const char *other)
{
    if (*other == '-') other++;
    const size_t n = strcspn(spec, " ");
    return n == strcspn(other, " ") && !strncmp(spec, other, n);
}

/* The archive of `spec` with `other` in place of its namesake, or behind the rest; "-name" leaves one out. */
static const char *put_npz(const char *name, const char *spec, const char *other, const lie *lies)
{
    archive a = { 0 };
    char copy[2000], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", spec);
    bool used = !other || *other == '-';
    for (char *one = strtok_r(copy, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        char each[1000];
        one += strspn(one, " ");
        const bool same = other && same_member(one, other);
        if (same && *other == '-') continue;
        snprintf(each, sizeof each, "%s", same ? other : one);
        used |= same;
        add_array(&a, each, lies);
    }
    if (!used) {
        char each[1000];
        snprintf(each, sizeof each, "%s", other);
        add_array(&a, each, lies);
    }
    end_archive(&a);
    const char *path = put_file(name, a.bytes.bytes, a.bytes.n);
    free(a.bytes.bytes);
    return path;
}

/*   . 1.5 . -2
 *   7 .   . .
 *   . .   . .   */
#define SHAPE "shape.npy <i8 (2,) 3 4;"
#define CSR "indices.npy <i4 (3,) 1 3 0; indptr.npy <i4 (4,) 0 2 3 3; format.npy |S3 () csr; data.npy <f8 (3,) 1.5 -2 7;" SHAPE
#define CSC "indices.npy <i4 (3,) 1 0 0; indptr.npy <i4 (5,) 0 1 2 2 3; format.npy |S3 () csc; data.npy <f8 (3,) 7 1.5 -2;" SHAPE
#define COO "row.npy <i4 (3,) 1 0 0; col.npy <i4 (3,) 0 1 3; format.npy |S3 () coo; data.npy <f8 (3,) 7 1.5 -2;" SHAPE
static const char csr_dump[] = "CSR 3x4: 1 2 1.5; 1 4 -2; 2 1 7;";

#define BSR "indices.npy <i4 (2,) 1 0; indptr.npy <i4 (3,) 0 1 2; format.npy |S3 () bsr; shape.npy <i8 (2,) 4 6; "
#define BSR_C BSR "data.npy <f8 (2,2,3) 1 2 3 4 5 6 7 8 9 0 11 12;"
#define BSR_F BSR "data.npy <f8 (2,2,3)F 1 7 4 0 2 8 5 11 3 9 6 12;"
static const char bsr_dump[] = "CSR 4x6: 1 4 1; 1 5 2; 1 6 3; 2 4 4; 2 5 5; 2 6 6; 3 1 7; 3 2 8; 3 3 9; 4 1 0; 4 2 11; 4 3 12;";

/*   1 6 .    diagonals -1, 0, 1; what lies outside of the matrix is 99
 *   4 2 7
 *   . 5 3   */
#define DIA "offsets.npy <i4 (3,) -1 0 1; format.npy |S3 () dia; shape.npy <i8 (2,) 3 3; "
#define DIA_C DIA "data.npy <f8 (3,3) 4 5 99 1 2 3 99 6 7;"
#define DIA_F DIA "data.npy <f8 (3,3)F 4 1 99 5 2 6 99 3 7;"

static const struct { const char *name, *spec, *other, *expected; } good[] = {
    { "csr", CSR, NULL, csr_dump },
    { "csc", CSC, NULL, csr_dump },
    { "coo", COO, NULL, csr_dump },
    { "bsr", BSR_C, NULL, bsr_dump },
    { "bsr, Fortran order", BSR_F, NULL, bsr_dump },
    { "dia", DIA_C, NULL, "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 2 2; 2 3 7; 3 2 5; 3 3 3;" },
    { "dia, Fortran order", DIA_F, NULL, "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 2 2; 2 3 7; 3 2 5; 3 3 3;" },
    { "dia, zeros", DIA_C, "data.npy <f8 (3,3) 4 0 99 1 -0 nan 99 6 7", "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 3 7; 3 3 nan;" },
    { "dia, narrow", DIA_C, "data.npy <f8 (3,2) 4 5 1 2 99 6", "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 2 2; 3 2 5;" },
    { "dia, wide", DIA_C, "data.npy <f8 (3,4) 4 5 99 99 1 2 3 99 99 6 7 99", "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 2 2; 2 3 7; 3 2 5; 3 3 3;" },
    { "dia, far diagonals", DIA_C, "offsets.npy <i8 (3,) -9223372036854775808 9223372036854775807 2", "CSR 3x3: 1 3 7;" },
    { "dia, none", DIA "data.npy <f8 (0,3)", "offsets.npy <i4 (0,)", "CSR 3x3:" },
    { "dia, of no length", DIA_C, "data.npy <f8 (3,0)", "CSR 3x3:" },
    { "indices of 64 bits", CSR, "indices.npy <i8 (3,) 1 3 0", csr_dump },
    { "pointers of 64 bits", CSR, "indptr.npy <i8 (4,) 0 2 3 3", csr_dump },
    { "indices of 8 bits", CSR, "indices.npy |i1 (3,) 1 3 0", csr_dump },
    { "indices of 16 bits, unsigned", CSR, "indices.npy <u2 (3,) 1 3 0", csr_dump },
    { "big-endian indices", CSR, "indices.npy >i4 (3,) 1 3 0", csr_dump },
    { "big-endian pointers", CSR, "indptr.npy >i8 (4,) 0 2 3 3", csr_dump },
    { "big-endian shape", CSR, "shape.npy >i4 (2,) 3 4", csr_dump },
    { "shape of 32 bits", CSR, "shape.npy <i4 (2,) 3 4", csr_dump },
    { "big-endian values", CSR, "data.npy >f8 (3,) 1.5 -2 7", csr_dump },
    { "single values", CSR, "data.npy <f4 (3,) 1.5 -2 0.1", "CSR 3x4: 1 2 1.5; 1 4 -2; 2 1 0.10000000149011612;" },
    { "big-endian single values", CSR, "data.npy >f4 (3,) 1.5 -2 7", csr_dump },
    { "this machine's order", CSR, "data.npy =f8 (3,) 1.5 -2 7", csr_dump },
    { "integer values", CSR, "data.npy <i8 (3,) 1 -9007199254740993 7", "CSR 3x4: 1 2 1; 1 4 -9007199254740992; 2 1 7;" },
    { "values of 8 bits", CSR, "data.npy |i1 (3,) 1 -128 127", "CSR 3x4: 1 2 1; 1 4 -128; 2 1 127;" },
    { "values of 16 bits", CSR, "data.npy >i2 (3,) 1 -32768 7", "CSR 3x4: 1 2 1; 1 4 -32768; 2 1 7;" },
    { "unsigned values", CSR, "data.npy <u8 (3,) 1 18446744073709551615 7", "CSR 3x4: 1 2 1; 1 4 1.8446744073709552e+19; 2 1 7;" },
    { "boolean values", CSR, "data.npy |b1 (3,) 1 0 5", "CSR 3x4: 1 2 1; 1 4 0; 2 1 1;" },
    { "NaN, infinity, -0", CSR, "data.npy <f8 (3,) nan -inf -0", "CSR 3x4: 1 2 nan; 1 4 -inf; 2 1 -0;" },
    { "one-dimensional in Fortran order", CSR, "data.npy <f8 (3,)F 1.5 -2 7", csr_dump },
    { "format in Unicode", CSR, "format.npy <U3 () csr", csr_dump },
    { "format in big-endian Unicode", CSR, "format.npy >U3 () csr", csr_dump },
    { "format with room behind it", CSR, "format.npy |S10 () csr", csr_dump },
    { "members that do not matter", CSR, "_is_array.npy |b1 () 1", csr_dump },
    { "more entries than pointers use", CSR, "indptr.npy <i4 (4,) 0 2 2 2", "CSR 3x4: 1 2 1.5; 1 4 -2;" },
    { "csc, more entries than pointers use", CSC, "indptr.npy <i4 (5,) 0 1 1 1 1", "CSR 3x4: 2 1 7;" },
    { "bsr, more blocks than pointers use", BSR_C, "indptr.npy <i4 (3,) 0 0 1", "CSR 4x6: 3 4 1; 3 5 2; 3 6 3; 4 4 4; 4 5 5; 4 6 6;" },
    { "bsr in Fortran order, more blocks", BSR_F, "indptr.npy <i4 (3,) 0 0 1", "CSR 4x6: 3 4 1; 3 5 2; 3 6 3; 4 4 4; 4 5 5; 4 6 6;" },
    { "repeats, unsorted, zeros", CSR, "indices.npy <i4 (3,) 3 3 0", "CSR 3x4: 1 4 1.5; 1 4 -2; 2 1 7;" },
    { "no entries", "indices.npy <i4 (0,); indptr.npy <i4 (4,) 0 0 0 0; format.npy |S3 () csr; data.npy <f8 (0,);" SHAPE, NULL, "CSR 3x4:" },
    { "0 x 0", "indices.npy <i4 (0,); indptr.npy <i4 (1,) 0; format.npy |S3 () csr; data.npy <f8 (0,); shape.npy <i8 (2,) 0 0", NULL, "CSR 0x0:" },
    { "coo, rows far outnumber entries", COO, "shape.npy <i8 (2,) 2000000000 2147483647", "COO 2000000000x2147483647: 2 1 7; 1 2 1.5; 1 4 -2;" },
    { "bsr, no blocks of any size", "indices.npy <i4 (0,); indptr.npy <i4 (1,) 0; format.npy |S3 () bsr; shape.npy <i8 (2,) 0 0; data.npy <f8 (0,999999999999,999999999999)", NULL,
      "CSR 0x0:" },
};

/* A build without libzip refuses by name. */
static bool has_npz(void)
{
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    const spmvx_status s = spmvx_matrix_read(ctx, put_npz("probe.npz", CSR, NULL, NULL), NULL, &A);
    if (s == SPMVX_ERR_UNSUPPORTED) assert_non_null(strstr(spmvx_last_error(ctx), "without libzip"));
    else assert_ok(ctx, s);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    return s == SPMVX_OK;
}

static void test_good(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    for (size_t i = 0; i < COUNT(good); i++) {
        char got[1024] = "";
        spmvx_context *ctx = test_context(NULL, 2);
        spmvx_matrix *A = NULL;
        if (spmvx_matrix_read(ctx, put_npz("a.npz", good[i].spec, good[i].other, NULL), NULL, &A) != SPMVX_OK)
            fail_msg("%s: %s", good[i].name, spmvx_last_error(ctx));
        dump(A, got);
        if (strcmp(got, good[i].expected)) fail_msg("%s: %s, not %s", good[i].name, got, good[i].expected);
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
    }
}

static void test_single_precision(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.val_type = SPMVX_F32;
    check_reads(put_npz("a.npz", CSR, "data.npy <f8 (3,) 0.1 1e39 16777217", NULL), &o, "CSR 3x4: 1 2 0.10000000149011612; 1 4 inf; 2 1 16777216;");
    check_reads(put_npz("a.npz", DIA_C, NULL, NULL), &o, "CSR 3x3: 1 1 1; 1 2 6; 2 1 4; 2 2 2; 2 3 7; 3 2 5; 3 3 3;");
    check_reads(put_npz("a.npz", BSR_F, NULL, NULL), &o, bsr_dump);
}

/* ---- refused ---- */

static void check_refuses(const char *path, spmvx_status status, const char *reason)
{
    check_refuses_with(path, NULL, 2, status, 0, reason);
}

static const struct { const char *spec, *other; spmvx_status status; const char *reason; } refused[] = {
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
    { CSR, "format.npy |S40 () aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", SPMVX_ERR_FILE, "it says 'aaaaaaaaaaaaaaa'" },
    { CSR, "format.npy |S0 ()", SPMVX_ERR_FILE, "it says ''" },
    { CSR, "format.npy |S3 (1,) csr", SPMVX_ERR_FILE, "'format.npy': it has 1 dimensions, not 0" },
    { CSR, "format.npy <i4 () 1", SPMVX_ERR_FILE, "'format.npy': the type is '<i4', text wanted" },
    { CSR, "shape.npy <f8 (2,) 3 4", SPMVX_ERR_FILE, "'shape.npy': the type is '<f8', whole numbers wanted" },
    { CSR, "shape.npy |S3 (2,) abc abc", SPMVX_ERR_FILE, "'shape.npy': the type is '|S3', whole numbers wanted" },
    { CSR, "shape.npy <i8 (3,) 3 4 5", SPMVX_ERR_FILE, "'shape.npy': it has 3 elements, not 2" },
    { CSR, "shape.npy <i8 (1,) 3", SPMVX_ERR_FILE, "'shape.npy': it has 1 elements, not 2" },
    { CSR, "shape.npy <i8 (1,2) 3 4", SPMVX_ERR_FILE, "'shape.npy': it has 2 dimensions, not 1" },
    { CSR, "shape.npy <i8 (2,) -1 4", SPMVX_ERR_FILE, "-1 rows" },
    { CSR, "shape.npy <i8 (2,) 3 -4", SPMVX_ERR_FILE, "-4 columns" },
    { CSR, "shape.npy <i8 (2,) 2147483648 4", SPMVX_ERR_RANGE, "2147483648 rows" },
    { CSR, "shape.npy <u8 (2,) 3 18446744073709551615", SPMVX_ERR_RANGE, "9223372036854775807 columns" },
    { CSR, "shape.npy <i8 (2,) 4 4", SPMVX_ERR_FILE, "'indptr.npy': it has 4 elements, not 5" },
    { CSR, "shape.npy <i8 (2,) 2 4", SPMVX_ERR_FILE, "'indptr.npy': it has 4 elements, not 3" },
    { CSR, "shape.npy <i8 (2,) 2000000000 4", SPMVX_ERR_FILE, "'indptr.npy': it has 4 elements, not 2000000001" },
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
    { CSR, "indices.npy <i8 (3,) 1 4294967296 0", SPMVX_ERR_FILE, "'indices.npy': element 1 is 4294967296, not in 0 ... 3" },
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
    { CSR, "data.npy <f8 (3,) 1 2", SPMVX_ERR_FILE, "'data.npy': its array takes 92 bytes with the header, and it has 84" },
    { CSR, "data.npy <f8 (3,) 1 2 3 4", SPMVX_ERR_FILE, "'data.npy': its array takes 92 bytes with the header, and it has 100" },
    { CSR, "data.npy <f8 (1000000000000,) 1 2 3", SPMVX_ERR_FILE, "'data.npy': its array takes 8000000000" },
    { CSR, "data.npy <f8 (2305843009213693952,) 1", SPMVX_ERR_FILE, "'data.npy': its array takes 18446744073709551615" },
    { CSR, "data.npy <f8 (4611686018427387904,4) 1", SPMVX_ERR_FILE, "'data.npy': its shape has more than 2^63 elements" },
    { CSR, "data.npy <f8 (9223372036854775808,) 1", SPMVX_ERR_FILE, "'data.npy': the header has a shape that is not" },
    { CSR, "data.npy <f8 (1,1,1,1) 1", SPMVX_ERR_FILE, "'data.npy': it has more than 3 dimensions" },
    { CSR, "data.npy <f8 (-3,) 1", SPMVX_ERR_FILE, "'data.npy': the header has a shape that is not" },
    { BSR_C, "data.npy <f8 (2,3,2) 1 2 3 4 5 6 7 8 9 10 11 12", SPMVX_ERR_FILE, "'data.npy': blocks of 3 x 2, in a matrix of 4 x 6" },
    { BSR_C, "data.npy <f8 (2,2,4) 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", SPMVX_ERR_FILE, "'data.npy': blocks of 2 x 4, in a matrix of 4 x 6" },
    { BSR_C, "data.npy <f8 (2,0,3)", SPMVX_ERR_FILE, "'data.npy': blocks of 0 x 3" },
    { BSR_C, "data.npy <f8 (1,2,3) 1 2 3 4 5 6", SPMVX_ERR_FILE, "'data.npy': it has 1 elements, not 2" },
    { BSR_C, "data.npy <f8 (12,) 1 2 3 4 5 6 7 8 9 10 11 12", SPMVX_ERR_FILE, "'data.npy': it has 1 dimensions, not 3" },
    { DIA_C, "data.npy <f8 (2,3) 1 2 3 4 5 6", SPMVX_ERR_FILE, "'data.npy': it has 2 elements, not 3" },
    { DIA_C, "data.npy <f8 (9,) 1 2 3 4 5 6 7 8 9", SPMVX_ERR_FILE, "'data.npy': it has 1 dimensions, not 2" },
    { DIA_C, "offsets.npy <f8 (3,) -1 0 1", SPMVX_ERR_FILE, "'offsets.npy': the type is '<f8'" },
};

static void test_refused(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    for (size_t i = 0; i < COUNT(refused); i++)
        check_refuses(put_npz("a.npz", refused[i].spec, refused[i].other, NULL), refused[i].status, refused[i].reason);
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

static const struct { const char *dictionary; spmvx_status status; const char *reason; } headers[] = {
    { "", SPMVX_ERR_FILE, "a header of 1 bytes" },
    { "{", SPMVX_ERR_FILE, "is no dictionary" },
    { "{}", SPMVX_ERR_FILE, "has no 'descr'" },
    { "[]", SPMVX_ERR_FILE, "is no dictionary" },
    { "{'descr': '|S3', 'fortran_order': False, 'shape': ()", SPMVX_ERR_FILE, "is no dictionary" },
    { "{'descr': '|S3', 'fortran_order': False}", SPMVX_ERR_FILE, "has no 'shape'" },
    { "{'descr': '|S3', 'shape': ()}", SPMVX_ERR_FILE, "has no 'fortran_order'" },
    { "{'descr': '|S3', 'fortran_order': False, 'shape': (), 'shape': ()}", SPMVX_ERR_FILE, "has a 'shape' too many" },
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
    { "{'descr': '|S3', 'fortran_order': False, 'shape': ()} x", SPMVX_ERR_FILE, "goes on behind its dictionary" },
};

static void test_headers(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    for (size_t i = 0; i < COUNT(headers); i++) {
        text t = { 0 };
        add_npy(&t, headers[i].dictionary, 1);
        addf(&t, "csr");
        check_refuses(put_header(t.bytes, t.n), headers[i].status, headers[i].reason);
        free(t.bytes);
    }
    for (int version = 1; version <= 3; version++) {   /* fine: what fails is the next member, which is the same */
        text t = { 0 };
        add_npy(&t, "{\"shape\" : ( ) ,\"descr\":'|S3',\t'fortran_order':True  }  ", version);
        addf(&t, "csr");
        check_refuses(put_header(t.bytes, t.n), SPMVX_ERR_FILE, "'shape.npy': the type is '|S3'");
        free(t.bytes);
    }
    check_refuses(put_header("", 0), SPMVX_ERR_FILE, "'format.npy': it ends before its array");
    check_refuses(put_header("\x93NUMPY\1\0\1", 9), SPMVX_ERR_FILE, "'format.npy': it ends before its array");
    check_refuses(put_header("\x93NUMPX\1\0\1\0{}{}", 14), SPMVX_ERR_FILE, "does not begin as a NumPy array");
    check_refuses(put_header("\x93NUMPY\0\0\1\0{}{}", 14), SPMVX_ERR_FILE, "version 0.0");
    check_refuses(put_header("\x93NUMPY\4\1\1\0{}{}", 14), SPMVX_ERR_FILE, "version 4.1");
    check_refuses(put_header("\x93NUMPY\1\0\1\0{}{}", 14), SPMVX_ERR_FILE, "a header of 1 bytes");
    check_refuses(put_header("\x93NUMPY\1\0\0\0{}{}", 14), SPMVX_ERR_FILE, "a header of 0 bytes");
    check_refuses(put_header("\x93NUMPY\2\0\0\0\0\0{}{}", 16), SPMVX_ERR_FILE, "is no dictionary");
    check_refuses(put_header("\x93NUMPY\2\0\1\0\1\0{}{}", 16), SPMVX_ERR_FILE, "a header of 65537 bytes");
    check_refuses(put_header("\x93NUMPY\2\0\xff\xff\xff\xff{}{}", 16), SPMVX_ERR_FILE, "a header of 4294967295 bytes");
    check_refuses(put_header("\x93NUMPY\1\0\xff\xff{}{}", 14), SPMVX_ERR_FILE, "it ends before its array");
}

/* ---- archives ---- */

static void test_lies(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    static const struct { lie lie; spmvx_status status; const char *reason; } lies[] = {
        { { "data.npy", 1, 0, 0, -1, -1, false }, SPMVX_ERR_FILE, "'data.npy': the ZIP archive is damaged or ends early (CRC" },
        { { "format.npy", 1, 0, 0, -1, -1, false }, SPMVX_ERR_FILE, "'format.npy': the ZIP archive is damaged" },
        { { "indptr.npy", 1u << 31, 0, 0, -1, -1, false }, SPMVX_ERR_FILE, "'indptr.npy': the ZIP archive is damaged" },
        { { "data.npy", 0, 0, 1, -1, -1, false }, SPMVX_ERR_UNSUPPORTED, "'data.npy': it is encrypted" },
        { { "data.npy", 0, 12, 0, -1, -1, false }, SPMVX_ERR_UNSUPPORTED, "'data.npy': it is compressed by method 12" },
        { { "data.npy", 0, 14, 0, -1, -1, false }, SPMVX_ERR_UNSUPPORTED, "'data.npy': it is compressed by method 14" },
        { { "data.npy", 0, 93, 0, -1, -1, false }, SPMVX_ERR_UNSUPPORTED, "'data.npy': it is compressed by method 93" },
        { { "data.npy", 0, 0, 0, 1000, -1, false }, SPMVX_ERR_FILE, "'data.npy': 1000 bytes cannot come of 92" },
        { { "data.npy", 0, 8, 0, 1000000, -1, false }, SPMVX_ERR_FILE, "'data.npy': 1000000 bytes cannot come of 92" },
        { { "data.npy", 0, 8, 0, 4000000000u, -1, false }, SPMVX_ERR_FILE, "'data.npy': 4000000000 bytes cannot come of 92" },
        { { "data.npy", 0, 8, 0, INT64_MAX, -1, true }, SPMVX_ERR_FILE, "'data.npy': 9223372036854775807 bytes cannot" },
        { { "data.npy", 0, 8, 0, INT64_MAX, INT64_MAX, true }, SPMVX_ERR_FILE, "'data.npy': " },
        { { "data.npy", 0, 0, 0, 10000, 10000, false }, SPMVX_ERR_FILE, "'data.npy': 10000 bytes cannot come of 10000 compressed ones in a file of" },
        { { "data.npy", 0, 0, 0, 93, 93, false }, SPMVX_ERR_FILE, "'data.npy': its array takes 92 bytes with the header, and it has 93" },
        { { "data.npy", 0, 8, 0, -1, -1, false }, SPMVX_ERR_FILE, "'data.npy': the ZIP archive is damaged" },   /* stored, and called deflated */
    };
    for (size_t i = 0; i < COUNT(lies); i++) check_refuses(put_npz("a.npz", CSR, NULL, &lies[i].lie), lies[i].status, lies[i].reason);
}

static void test_zip64(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    check_reads(put_npz("a.npz", CSR, NULL, &(lie){ .size = -1, .compressed = -1, .zip64 = true }), NULL, csr_dump);
}

/* Cut anywhere, or with a bit turned: refused, or it does not matter (a date, say), and the matrix is the same. */
static void test_cut_and_damaged(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    size_t n;
    unsigned char *bytes = get_file(put_npz("a.npz", CSR, NULL, NULL), &n);
    check_refuses(put_file("cut.npz", bytes, 0), SPMVX_ERR_FILE, "empty");
    for (size_t cut = 1; cut < n; cut++) check_refuses(put_file("cut.npz", bytes, cut), SPMVX_ERR_FILE, "ZIP archive is damaged or ends early");
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
            assert_string_equal(got, csr_dump);
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
    check_refuses(put_file("many.npz", a.bytes.bytes, a.bytes.n), SPMVX_ERR_FILE, "directory is too large");
    free(a.bytes.bytes);
}

static void test_names(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    static const char *const names[] = { "a.npz", "a.NPZ", "a.zip", "a.mtx", "a.rb", "a", "a.npz.gz" };
    static const char market[] = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n";
    for (size_t i = 0; i < COUNT(names); i++) check_reads(put_npz(names[i], CSR, NULL, NULL), NULL, csr_dump);
    check_refuses(put_file("a.npz", market, sizeof market - 1), SPMVX_ERR_FILE, "a.npz: the ZIP archive is damaged");
    check_refuses(put_file("a.npz", "", 0), SPMVX_ERR_FILE, "a.npz: the file is empty");
    check_refuses(put_file("a.npz", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22), SPMVX_ERR_FILE, "member 'format.npy': it is missing");
    check_refuses(path_of("missing.npz"), SPMVX_ERR_IO, "No such file");
    check_refuses(path_of("a.npz/a.npz"), SPMVX_ERR_IO, "Not a directory");
    assert_int_equal(mkdir(path_of("folder.npz"), 0700), 0);
    check_refuses(path_of("folder.npz"), SPMVX_ERR_IO, "Is a directory");
    rmdir(path_of("folder.npz"));
    assert_int_equal(mkfifo(path_of("pipe.npz"), 0600), 0);
    const int fd = open(path_of("pipe.npz"), O_RDWR);
    check_refuses(path_of("pipe.npz"), SPMVX_ERR_IO, "takes a regular file");
    close(fd);
}

/* ---- writing ---- */

static spmvx_matrix *read_matrix(spmvx_context *ctx, const char *path, spmvx_type type)
{
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.val_type = type;
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_read(ctx, path, &o, &A));
    return A;
}

static void test_written_members(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    static const struct { const char *spec; spmvx_type type; const char *members[5]; } written[] = {
        { CSR, SPMVX_F64, { "indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy" } },
        { COO, SPMVX_F32, { "row.npy", "col.npy", "format.npy", "shape.npy", "data.npy" } },
    };
    spmvx_context *ctx = test_context(NULL, 2);
    for (size_t i = 0; i < COUNT(written); i++) {
        const char *other = i ? "shape.npy <i8 (2,) 9000 4" : NULL;   /* which stays COO */
        spmvx_matrix *A = read_matrix(ctx, put_npz("in.npz", written[i].spec, other, NULL), written[i].type);
        unsigned char *first = NULL;
        size_t n;
        for (int again = 0; again < 2; again++) {
            assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of("out.npz"), NULL));
            unsigned char *bytes = get_file(path_of("out.npz"), &n);
            if (first) assert_memory_equal(bytes, first, n);
            free(first);
            first = bytes;
        }
        size_t at = 0;
        for (int m = 0; m < 5; m++) {   /* in SciPy's order, each where the one before ends */
            assert_memory_equal(first + at, "PK\3\4", 4);
            const size_t name = first[at + 26], extra = first[at + 28], size = first[at + 18] | (size_t)first[at + 19] << 8;
            assert_int_equal(name, strlen(written[i].members[m]));
            assert_memory_equal(first + at + 30, written[i].members[m], name);
            assert_int_equal(first[at + 8], 8);
            assert_memory_equal(first + at + 10, "\0\0\x21\0", 4);   /* the first of January 1980, the earliest date there is */
            at += 30 + name + extra + size;
        }
        assert_memory_equal(first + at, "PK\1\2", 4);
        free(first);
        spmvx_matrix *B = read_matrix(ctx, path_of("out.npz"), written[i].type);
        char got[1024], expected[1024];
        dump(A, expected);
        dump(B, got);
        assert_string_equal(got, expected);
        spmvx_matrix_destroy(A);
        spmvx_matrix_destroy(B);
    }
    spmvx_context_destroy(ctx);
}

static void test_formats_written(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    static const spmvx_format formats[] = { SPMVX_CSC, SPMVX_ELL, SPMVX_SELL, SPMVX_HYB, SPMVX_CSR5, SPMVX_TILED };
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = read_matrix(ctx, put_npz("in.npz", CSR, NULL, NULL), SPMVX_F64);
    for (size_t i = 0; i < COUNT(formats); i++) {
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.format = formats[i];
        spmvx_matrix *B = NULL;
        assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &B));
        assert_ok(ctx, spmvx_matrix_write(ctx, B, path_of("out.npz"), NULL));
        check_reads(path_of("out.npz"), NULL, csr_dump);
        spmvx_matrix_destroy(B);
    }
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* Row pointers of 64 bits, as they may be lent. */
static void test_wide_pointers(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    static const int64_t ptr[] = { 0, 2, 3, 3 };
    static const int32_t col[] = { 1, 3, 0 };
    static const double val[] = { 1.5, -2, 7 };
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.nrows = 3;
    a.ncols = 4;
    a.nnz = 3;
    a.ptr_type = SPMVX_I64;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &A));
    assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of("out.npz"), NULL));
    check_reads(path_of("out.npz"), NULL, csr_dump);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

static void test_options_refused(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = read_matrix(ctx, put_npz("in.npz", CSR, NULL, NULL), SPMVX_F64);
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    remove(path_of("out.npz"));
    o.digits = 5;
    assert_fails(SPMVX_ERR_ARGUMENT, "options.digits is 5", spmvx_matrix_write(ctx, A, path_of("out.npz"), &o));
    o.digits = 0;
    o.level = 10;
    assert_fails(SPMVX_ERR_ARGUMENT, "options.level is 10", spmvx_matrix_write(ctx, A, path_of("out.npz"), &o));
    assert_int_equal(access(path_of("out.npz"), F_OK), -1);
    o.level = 0;
    static const char *const names[] = { "out.npz.gz", "out.npz.zst", "out.npz.xz" };
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_fails(SPMVX_ERR_UNSUPPORTED, "members compressed", spmvx_matrix_write(ctx, A, path_of(names[i]), &o));
        assert_int_equal(access(path_of(names[i]), F_OK), -1);
    }
    assert_int_equal(mkfifo(path_of("way.npz"), 0600), 0);
    const int fd = open(path_of("way.npz"), O_RDWR);
    assert_fails(SPMVX_ERR_IO, "way.npz", spmvx_matrix_write(ctx, A, path_of("way.npz"), &o));
    close(fd);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* ---- large files ---- */

/* n zeros, as CSR in one row, or as COO in two rows by turns: files that are small. */
static const char *put_zeros(const char *name, spmvx_format format, int32_t n)
{
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    const int32_t ptr[] = { 0, n, n };
    int32_t *row = calloc((size_t)n, sizeof *row), *col = calloc((size_t)n, sizeof *col);
    double *val = calloc((size_t)n, sizeof *val);
    assert_true(row && col && val);
    for (int32_t i = 0; i < n; i++) row[i] = i % 2;
    a.format = format;
    a.nrows = 2;
    a.ncols = 1;
    a.nnz = n;
    a.ptr = ptr;
    a.row = row;
    a.col = col;
    a.val = val;
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &A));
    assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of(name), NULL));
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    free(row);
    free(col);
    free(val);
    return path_of(name);
}

static void test_memory(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    check_bounded(put_zeros("coo.npz", SPMVX_COO, 1000000), 2);   /* which takes CSR's arrays beside its own */
    const char *path = put_zeros("zeros.npz", SPMVX_CSR, 2000000);   /* a bomb: 24 MB in 24 KB */
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 40000);
    check_bounded(path, 2);
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.max_bytes = 20000000;
    check_refuses_with(path, &o, 2, SPMVX_ERR_LIMIT, 0, "options.max_bytes is 20000000");
    o.max_bytes = 1000;
    check_refuses_with(path, &o, 2, SPMVX_ERR_LIMIT, 0, "options.max_bytes is 1000");
    static const char *const specs[] = { CSC, COO, BSR_C, DIA_C };
    for (size_t i = 0; i < COUNT(specs); i++) {   /* every limit up to one that is enough */
        const char *small = put_npz("a.npz", specs[i], NULL, NULL);
        size_t limit = 1100000, peak;
        for (spmvx_status s = SPMVX_ERR_LIMIT; s != SPMVX_OK; limit += 8) {
            s = read_metered(small, 1, limit, &peak);
            assert_true(s == SPMVX_OK || s == SPMVX_ERR_LIMIT);
            assert_true(peak <= limit);
        }
        assert_true(limit < 1300000);
    }
}

typedef struct calls {
    int count, stop_at;
    int64_t done, total;
} calls;

static int32_t count_calls(void *user, int64_t done, int64_t total)
{
    calls *c = user;
    assert_true(done >= c->done && done <= total);
    c->done = done;
    c->total = total;
    return ++c->count == c->stop_at;
}

static void test_progress(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    const char *path = put_zeros("zeros.npz", SPMVX_CSR, 100000);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    calls c = { 0 };
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.progress = count_calls;
    o.user = &c;
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_read(ctx, path, &o, &A));
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    assert_true(c.count > 10);
    assert_int_equal(c.done, st.st_size);
    assert_int_equal(c.total, st.st_size);
    const int all = c.count;
    for (int stop = 1; stop <= all; stop++) {
        c = (calls){ .stop_at = stop };
        check_refuses_with(path, &o, 1, SPMVX_ERR_CANCELLED, 0, "callback stopped");
        assert_int_equal(c.count, stop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good), cmocka_unit_test(test_single_precision), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_headers), cmocka_unit_test(test_lies), cmocka_unit_test(test_zip64),
        cmocka_unit_test(test_cut_and_damaged), cmocka_unit_test(test_directory_of_many), cmocka_unit_test(test_names),
        cmocka_unit_test(test_written_members), cmocka_unit_test(test_formats_written), cmocka_unit_test(test_wide_pointers),
        cmocka_unit_test(test_options_refused), cmocka_unit_test(test_memory), cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests_name("npz", tests, make_folder, remove_folder);
}
