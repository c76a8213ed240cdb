/* Seeds of .npz files: archives of stored members made here, and what the library writes. */
#include "drive.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "crc32.h"

typedef struct array {
    const char *name, *type, *shape, *bytes;
    size_t n;
} array;
enum { ARRAYS = 5, ROOM = 4096 };

#define ARRAY(name, type, shape, bytes)            \
    {                                              \
        name, type, shape, bytes, sizeof bytes - 1 \
    }
#define I4(a, b, c) a "\0\0\0" b "\0\0\0" c "\0\0\0"
#define F8(a) "\0\0\0\0\0\0" a "\x40" /* "\0" is 2, "\x08" 3, "\x10" 4 */
#define SHAPE ARRAY("shape.npy", "<i8", "(2,)", "\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0")

static const array archives[][ARRAYS] = {
    { ARRAY("format.npy", "|S3", "()", "csr"), SHAPE,
      ARRAY("indices.npy", "<i4", "(3,)", I4("\0", "\1", "\0")),
      ARRAY("indptr.npy", "<i4", "(3,)", I4("\0", "\2", "\3")),
      ARRAY("data.npy", "<f8", "(3,)", F8("\0") F8("\x08") F8("\x10")) },
    { ARRAY("format.npy", "|S3", "()", "csc"), SHAPE, ARRAY("indices.npy", ">i2", "(3,)", "\0\0\0\1\0\0"),
      ARRAY("indptr.npy", "<i4", "(3,)", I4("\0", "\2", "\3")),
      ARRAY("data.npy", "|i1", "(3,)", "\1\2\xff") },
    { ARRAY("format.npy", "<U3", "()", "c\0\0\0o\0\0\0o\0\0\0"), SHAPE,
      ARRAY("row.npy", "<i4", "(3,)", I4("\0", "\1", "\1")),
      ARRAY("col.npy", "<i4", "(3,)", I4("\0", "\1", "\1")), ARRAY("data.npy", "|b1", "(3,)", "\1\0\1") },
    { ARRAY("format.npy", "|S3", "()", "bsr"), SHAPE,
      ARRAY("indices.npy", "<i4", "(3,)", I4("\0", "\1", "\0")),
      ARRAY("indptr.npy", "<i4", "(3,)", I4("\0", "\2", "\3")),
      ARRAY("data.npy", "<f8", "(3, 1, 1)", F8("\0") F8("\x08") F8("\x10")) },
    { ARRAY("format.npy", "|S3", "()", "bsr"), SHAPE, ARRAY("indices.npy", "<u4", "(1,)", "\0\0\0\0"),
      ARRAY("indptr.npy", "|u1", "(2,)", "\0\1"), ARRAY("data.npy", "<u2", "(1, 2, 2)", "\1\0\2\0\3\0\4\0") },
    { ARRAY("format.npy", "|S3", "()", "dia"), SHAPE, ARRAY("offsets.npy", "|i1", "(3,)", "\xff\0\1"),
      ARRAY("data.npy", "|i1", "(3, 2)", "\1\2\3\4\5\6"), ARRAY("_is_array.npy", "|b1", "()", "\1") },
};

static size_t put(uint8_t *out, const void *bytes, size_t n)
{
    memcpy(out, bytes, n);
    return n;
}

/* The part that both headers of a member have, from flags to the lengths of name and extras. */
static size_t put_header(uint8_t *out, const array *a, const uint8_t *content, size_t n)
{
    size_t at = put(out, "\0\0\0\0\0\0\x21\0", 8);
    at += put_le(out + at, crc32_of(content, n), 4);
    at += put_le(out + at, (uint32_t)n, 4);
    at += put_le(out + at, (uint32_t)n, 4);
    return at + put_le(out + at, (uint32_t)strlen(a->name), 4);
}

static size_t make_content(const array *a, uint8_t *out)
{
    char header[128];
    const int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
                           a->type, a->shape);
    size_t at = put(out, "\x93NUMPY\1", 8);
    at += put_le(out + at, (uint32_t)n, 2);
    at += put(out + at, header, (size_t)n);
    return at + put(out + at, a->bytes, a->n);
}

static void add_archive(const array arrays[ARRAYS])
{
    uint8_t out[ROOM], central[ROOM], content[ROOM];
    size_t n = 0, c = 0;
    for (int i = 0; i < ARRAYS; i++) {
        const array *a = &arrays[i];
        const size_t length = make_content(a, content), at = n;
        n += put(out + n, "PK\3\4\x2d", 6);
        n += put_header(out + n, a, content, length);
        n += put(out + n, a->name, strlen(a->name));
        n += put(out + n, content, length);
        c += put(central + c, "PK\1\2\x2d\0\x2d", 8);
        c += put_header(central + c, a, content, length);
        c += put(central + c, "\0\0\0\0\0\0\0\0\0", 10);
        c += put_le(central + c, (uint32_t)at, 4);
        c += put(central + c, a->name, strlen(a->name));
    }
    const size_t directory = n;
    n += put(out + n, central, c);
    n += put(out + n, "PK\5\6\0\0\0", 8);
    n += put_le(out + n, ARRAYS, 2);
    n += put_le(out + n, ARRAYS, 2);
    n += put_le(out + n, (uint32_t)c, 4);
    n += put_le(out + n, (uint32_t)directory, 4);
    n += put_le(out + n, 0, 2);
    add_seed(out, n);
}

const char *const pieces[] = {
    "csr",
    "csc",
    "coo",
    "bsr",
    "dia",
    "<i4",
    "<i8",
    ">i4",
    "<f4",
    "<f8",
    ">f8",
    "|b1",
    "|i1",
    "<u2",
    "|S3",
    "<U3",
    "c16",
    "True ",
    "()",
    "(0,)",
    "(1,)",
    "(2,)",
    "(3,)",
    "(4,)",
    "(3, 1, 1)",
    "(1, 2, 2)",
    "(9223372036854775807,)",
    "(-1,)",
    "\x01",
    "\x02",
    "\x7f",
    "\x80",
    "\xff",
    "\xff\xff\xff\xff",
    "PK\1\2",
    "PK\3\4",
    "PK\5\6",
    "PK\6\6",
    "\x93NUMPY",
    "data.npy",
    "indices.npy",
    "row.npy",
    "offsets.npy",
    "\x08",
    "\n",
    "{",
    "}",
};
const int piece_count = sizeof pieces / sizeof *pieces;

void make_seeds(void)
{
    for (size_t i = 0; i < sizeof archives / sizeof *archives; i++) add_archive(archives[i]);
    add_written_seed(".npz");
}
