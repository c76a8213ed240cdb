/* NumPy's array headers and elements. */
#include "io/npy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/size.h"
#include "io/number.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const char native = '<', foreign = '>';
#else
static const char native = '>', foreign = '<';
#endif

static const char magic[] = "\x93NUMPY";
enum { MAGIC = sizeof magic - 1 };

__attribute__((format(printf, 3, 4))) static spmvx_status refuse(char why[SPX_NPY_WHY], spmvx_status status,
                                                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, SPX_NPY_WHY, format, args);
    va_end(args);
    return status;
}

static spmvx_status bad(char why[SPX_NPY_WHY], const char *what)
{
    return refuse(why, SPMVX_ERR_FILE, "the header %s", what);
}

spmvx_status spx_npy_prefix(const unsigned char prefix[SPX_NPY_PREFIX], size_t *skip, size_t *length,
                            char why[SPX_NPY_WHY])
{
    if (memcmp(prefix, magic, MAGIC))
        return refuse(why, SPMVX_ERR_FILE, "it does not begin as a NumPy array");
    const unsigned char *p = prefix + MAGIC;
    if (p[0] < 1 || p[0] > 3)
        return refuse(why, SPMVX_ERR_FILE, "version %d.%d of NumPy's format; 1 to 3 are known", p[0], p[1]);
    const bool wide = p[0] > 1;
    *skip = wide ? 12 : 10;
    *length = (size_t)p[2] | (size_t)p[3] << 8;
    if (wide) *length |= (size_t)p[4] << 16 | (size_t)p[5] << 24;
    if (*length <= SPX_NPY_LONGEST) return SPMVX_OK;
    return refuse(why, SPMVX_ERR_FILE, "a header of %zu bytes", *length);
}

/* ---- the dictionary ---- */

typedef struct cursor {
    const char *p, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t' || *c->p == '\r')) c->p++;
}

static bool take(cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->p == c->end || *c->p != wanted) return false;
    c->p++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    const size_t n = strlen(word);
    skip_blanks(c);
    if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n)) return false;
    c->p += n;
    return true;
}

/* A string of plain characters, cut to what out holds. */
static bool take_string(cursor *c, char out[16])
{
    skip_blanks(c);
    if (c->p == c->end || (*c->p != '\'' && *c->p != '"')) return false;
    const char quote = *c->p++;
    int n = 0;
    for (; c->p < c->end && *c->p != quote; c->p++) {
        if (*c->p < ' ' || *c->p > '~' || *c->p == '\\') return false;
        if (n < 15) out[n++] = *c->p;
    }
    out[n] = 0;
    return take(c, quote);
}

static spmvx_status take_type(cursor *c, spx_npy *a, char why[SPX_NPY_WHY])
{
    static const struct {
        char kind;
        const char *bytes;
    } known[] = { { 'b', "1" }, { 'i', "1248" }, { 'u', "1248" }, { 'f', "48" } };
    skip_blanks(c);
    if (c->p < c->end && *c->p == '[')
        return refuse(why, SPMVX_ERR_UNSUPPORTED, "its elements are records; numbers are read");
    if (!take_string(c, a->type)) return bad(why, "has no type");
    const char *t = a->type;
    const char order = *t && strchr("<>=|", *t) ? *t++ : '=';
    a->kind = *t ? *t++ : '?';
    a->swapped = order == foreign;
    const char *end = t + strlen(t);
    int64_t bytes;
    if (a->kind == 'c')
        return refuse(why, SPMVX_ERR_UNSUPPORTED,
                      "the type is '%s', complex; real, integer and boolean values are read", a->type);
    if (!spx_scan_int(&t, end, &bytes) || t != end || bytes < 0 || bytes > 1000)
        return refuse(why, SPMVX_ERR_UNSUPPORTED, "the type is '%s', which is no number's", a->type);
    a->bytes = (int)bytes;
    if (a->kind == 'U') a->bytes *= 4;
    if (a->kind == 'S' || a->kind == 'U') return SPMVX_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (a->kind == known[i].kind && bytes < 10 && bytes && strchr(known[i].bytes, (int)('0' + bytes)))
            return SPMVX_OK;
    return refuse(why, SPMVX_ERR_UNSUPPORTED,
                  "the type is '%s'; f4, f8, b1, and i and u of 1 to 8 bytes are read", a->type);
}

static spmvx_status take_order(cursor *c, spx_npy *a, char why[SPX_NPY_WHY])
{
    a->columns_first = take_word(c, "True");
    return a->columns_first || take_word(c, "False")
               ? SPMVX_OK
               : bad(why, "has a fortran_order that is neither True nor False");
}

static spmvx_status take_shape(cursor *c, spx_npy *a, char why[SPX_NPY_WHY])
{
    if (!take(c, '(')) return bad(why, "has a shape that is no tuple");
    a->dims = 0;
    a->count = 1;
    while (!take(c, ')')) {
        int64_t n;
        skip_blanks(c);
        if (!spx_scan_int(&c->p, c->end, &n) || n < 0)
            return bad(why, "has a shape that is not of whole numbers");
        take(c, 'L'); /* of Python 2 */
        if (a->dims == SPX_NPY_DIMS)
            return refuse(why, SPMVX_ERR_FILE, "it has more than %d dimensions", SPX_NPY_DIMS);
        a->dim[a->dims++] = n;
        if (!take(c, ',') && (skip_blanks(c), c->p == c->end || *c->p != ')'))
            return bad(why, "has a shape that is not of whole numbers");
    }
    for (int i = 0; i < a->dims; i++)
        if (__builtin_mul_overflow(a->count, a->dim[i], &a->count))
            return refuse(why, SPMVX_ERR_FILE, "its shape has more than 2^63 elements");
    return SPMVX_OK;
}

spmvx_status spx_npy_parse(const char *text, size_t length, spx_npy *out, char why[SPX_NPY_WHY])
{
    static const struct {
        const char *name;
        spmvx_status (*take)(cursor *, spx_npy *, char why[SPX_NPY_WHY]);
    } keys[] = { { "descr", take_type }, { "fortran_order", take_order }, { "shape", take_shape } };
    cursor c = { text, text + length };
    spx_npy a = { 0 };
    unsigned seen = 0;
    if (!take(&c, '{')) return bad(why, "is no dictionary");
    while (!take(&c, '}')) {
        char key[16];
        if (!take_string(&c, key) || !take(&c, ':')) return bad(why, "is no dictionary");
        size_t k = 0;
        while (k < 3 && strcmp(key, keys[k].name)) k++;
        if (k == 3 || seen & 1u << k)
            return refuse(why, SPMVX_ERR_FILE, "the header has a '%s' too many", key);
        seen |= 1u << k;
        SPX_TRY(keys[k].take(&c, &a, why));
        if (!take(&c, ',') && (skip_blanks(&c), c.p == c.end || *c.p != '}'))
            return bad(why, "is no dictionary");
    }
    skip_blanks(&c);
    if (c.p != c.end) return bad(why, "goes on behind its dictionary");
    for (size_t k = 0; k < 3; k++)
        if (!(seen & 1u << k)) return refuse(why, SPMVX_ERR_FILE, "the header has no '%s'", keys[k].name);
    *out = a;
    return SPMVX_OK;
}

/* ---- elements ---- */

static uint64_t load(const spx_npy *a, const unsigned char *raw, int64_t i)
{
    const unsigned char *p = raw + i * a->bytes;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (a->bytes) {
    case 1: return *p;
    case 2: memcpy(&two, p, 2); return a->swapped ? __builtin_bswap16(two) : two;
    case 4: memcpy(&four, p, 4); return a->swapped ? __builtin_bswap32(four) : four;
    default: memcpy(&eight, p, 8); return a->swapped ? __builtin_bswap64(eight) : eight;
    }
}

static int64_t with_sign(uint64_t v, int bytes)
{
    const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    return (int64_t)((v ^ sign) - sign);
}

void spx_npy_ints(const spx_npy *a, const unsigned char *raw, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        const uint64_t v = load(a, raw, i);
        out[i] = a->kind == 'i'   ? with_sign(v, a->bytes)
                 : a->kind == 'b' ? v != 0
                 : v > INT64_MAX  ? INT64_MAX
                                  : (int64_t)v;
    }
}

void spx_npy_reals(const spx_npy *a, const unsigned char *raw, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        const uint64_t v = load(a, raw, i);
        if (a->kind == 'f' && a->bytes == 8) memcpy(&out[i], &v, 8);
        else if (a->kind == 'f') {
            const uint32_t bits = (uint32_t)v;
            float single;
            memcpy(&single, &bits, 4);
            out[i] = single;
        } else if (a->kind == 'i') out[i] = (double)with_sign(v, a->bytes);
        else out[i] = a->kind == 'b' ? v != 0 : (double)v;
    }
}

void spx_npy_text(const spx_npy *a, const unsigned char *raw, char *out, size_t room)
{
    const int each = a->kind == 'U' ? 4 : 1;
    size_t n = 0;
    for (int at = 0; at < a->bytes && n + 1 < room; at += each) {
        const spx_npy letter = { .bytes = each, .swapped = a->swapped };
        const uint64_t v = load(&letter, raw + at, 0);
        if (!v) break;
        out[n++] = v >= ' ' && v <= '~' ? (char)v : '?';
    }
    out[n] = 0;
}

/* ---- writing ---- */

size_t spx_npy_header(const char *type, int dims, int64_t count, char out[SPX_NPY_HEADER])
{
    enum { PREFIX = MAGIC + 4 };
    char shape[32] = "()";
    if (dims) snprintf(shape, sizeof shape, "(%" PRId64 ",)", count);
    const int n = snprintf(out + PREFIX, SPX_NPY_HEADER - PREFIX,
                           "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }",
                           *type == 'S' ? '|' : native, type, shape);
    const size_t used = PREFIX + (size_t)n + 1, all = (used + 63) / 64 * 64;
    memset(out + used - 1, ' ', all - used);
    out[all - 1] = '\n';
    memcpy(out, magic, MAGIC);
    const char rest[] = { 1, 0, (char)(all - PREFIX), (char)((all - PREFIX) >> 8) };
    memcpy(out + MAGIC, rest, sizeof rest);
    return all;
}
