/* Pictures of cells. PNG (ISO/IEC 15948): 16 colours, 4 bits a pixel; compressed by zlib where the build
 * has it, else in stored blocks (RFC 1950, RFC 1951). SVG: runs of equal shade in a row are one line, in
 * light colours or dark ones as the reader prefers. */
#include "image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifdef SPMVX_TOOL_ZLIB
#include <zlib.h>
#endif

#include "tool.h"

typedef struct colour {
    int r, g, b;
} colour;
typedef struct ramp {
    colour panel, frame, text, least, most;
} ramp;

static const ramp light = {
    { 255, 255, 255 }, { 128, 128, 128 }, { 31, 35, 40 }, { 120, 174, 226 }, { 6, 22, 72 }
};
static const ramp dark = {
    { 13, 17, 23 }, { 128, 128, 128 }, { 230, 237, 243 }, { 42, 92, 160 }, { 215, 238, 255 }
};

static colour shade_colour(const ramp *c, int shade)
{
    const int i = shade - 1, n = SHADES - 1;
    return (colour){ (c->least.r * (n - i) + c->most.r * i) / n, (c->least.g * (n - i) + c->most.g * i) / n,
                     (c->least.b * (n - i) + c->most.b * i) / n };
}

int64_t picture_width(const picture *p)
{
    return (int64_t)p->width * p->cell_width + 2 * BORDER;
}

int64_t picture_height(const picture *p)
{
    return (int64_t)p->height * p->cell_height + 2 * BORDER;
}

/* ---- PNG ---- */

/* indices of the palette: 0 the panel, then the shades, the frame */
enum { FRAME = SHADES + 1, COLOURS = SHADES + 2 };

static uint32_t crc(uint32_t c, const unsigned char *p, size_t n)
{
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            table[i] = i;
            for (int k = 0; k < 8; k++) table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320u : table[i] >> 1;
        }
    for (c = ~c; n--; p++) c = c >> 8 ^ table[(c ^ *p) & 255];
    return ~c;
}

static unsigned char *put32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (unsigned char)(v >> (24 - 8 * i));
    return p + 4;
}

static void chunk(FILE *f, const char *type, const void *data, size_t n)
{
    unsigned char head[8], tail[4];
    memcpy(put32(head, (uint32_t)n), type, 4);
    put32(tail, crc(crc(0, head + 4, 4), data, n));
    fwrite(head, 1, 8, f);
    fwrite(data, 1, n, f);
    fwrite(tail, 1, 4, f);
}

/* A zlib stream of n bytes, to be freed. */
#ifdef SPMVX_TOOL_ZLIB
static unsigned char *deflated(const unsigned char *raw, size_t n, size_t *size)
{
    uLongf room = compressBound((uLong)n);
    unsigned char *out = checked_alloc(room);
    if (compress2(out, &room, raw, (uLong)n, 9) != Z_OK) { /* only memory can be short */
        free(out);
        errno = ENOMEM;
        return NULL;
    }
    *size = room;
    return out;
}
#else
static unsigned char *deflated(const unsigned char *raw, size_t n, size_t *size)
{
    enum { MOST = 65535 };
    unsigned char *out = checked_alloc(n + 5 * (n / MOST + 1) + 6), *p = out;
    uint32_t a = 1, b = 0; /* Adler-32 */
    *p++ = 0x78;
    *p++ = 0x01;
    for (size_t at = 0; at < n; at += MOST) {
        const size_t m = n - at < MOST ? n - at : MOST;
        *p++ = at + m == n;
        *p++ = (unsigned char)m;
        *p++ = (unsigned char)(m >> 8);
        *p++ = (unsigned char)~m;
        *p++ = (unsigned char)(~m >> 8);
        memcpy(p, raw + at, m);
        p += m;
    }
    for (size_t i = 0; i < n; i++) {
        a = (a + raw[i]) % 65521;
        b = (b + a) % 65521;
    }
    *size = (size_t)(put32(p, b << 16 | a) - out);
    return out;
}
#endif

static void fill(unsigned char *row, int64_t from, int64_t to, int colour_index)
{
    for (int64_t x = from; x < to; x++) row[x / 2] |= (unsigned char)(colour_index << (x % 2 ? 0 : 4));
}

/* Rows of pixels as PNG wants them: a filter byte (none), then two pixels a byte. */
static unsigned char *pixels(const picture *p, size_t *size)
{
    const int64_t width = picture_width(p), height = picture_height(p);
    const size_t stride = 1 + ((size_t)width + 1) / 2;
    *size = stride * (size_t)height;
    unsigned char *raw = checked_alloc(*size);
    for (int64_t y = 0; y < height; y++) {
        unsigned char *row = raw + (size_t)y * stride + 1;
        const int64_t cell = (y - BORDER) / p->cell_height;
        fill(row, 0, y == 0 || y == height - 1 ? width : 1, FRAME);
        if (y && y < height - 1) fill(row, width - 1, width, FRAME);
        if (y < BORDER || y >= height - BORDER) continue;
        for (int x = 0; x < p->width; x++) {
            const int shade = p->shade[cell * p->width + x];
            if (shade)
                fill(row, BORDER + (int64_t)x * p->cell_width, BORDER + ((int64_t)x + 1) * p->cell_width,
                     shade);
        }
    }
    return raw;
}

bool write_png(FILE *f, const picture *p)
{
    static const char key[] = "Description";
    unsigned char head[13] = { 0 }, palette[3 * COLOURS];
    char text[256];
    size_t size, packed_size;
    unsigned char *raw = pixels(p, &size), *packed = deflated(raw, size, &packed_size);
    free(raw);
    if (!packed) return false;
    /* 4 bits, palette */
    memcpy(put32(put32(head, (uint32_t)picture_width(p)), (uint32_t)picture_height(p)), "\4\3\0\0\0", 5);
    for (int i = 0; i < COLOURS; i++) {
        colour c = shade_colour(&light, i);
        if (i == 0) c = light.panel;
        if (i == FRAME) c = light.frame;
        palette[3 * i] = (unsigned char)c.r;
        palette[3 * i + 1] = (unsigned char)c.g;
        palette[3 * i + 2] = (unsigned char)c.b;
    }
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, f);
    chunk(f, "IHDR", head, sizeof head);
    memcpy(text, key, sizeof key);
    chunk(f, "tEXt", text, sizeof key + (size_t)snprintf(text + sizeof key, 200, "%.199s", p->caption));
    chunk(f, "PLTE", palette, sizeof palette);
    chunk(f, "IDAT", packed, packed_size);
    chunk(f, "IEND", "", 0);
    free(packed);
    return !ferror(f);
}

/* ---- SVG ---- */

enum { MARGIN = 12, FONT = 13, LINE = 20, SWATCH = 9 };

static void print_style(FILE *f, const ramp *c)
{
    fprintf(f, ".panel{fill:#%02x%02x%02x}", (unsigned)c->panel.r, (unsigned)c->panel.g,
            (unsigned)c->panel.b);
    fprintf(f, ".frame{fill:none;stroke:#%02x%02x%02x}", (unsigned)c->frame.r, (unsigned)c->frame.g,
            (unsigned)c->frame.b);
    fprintf(f, "text{fill:#%02x%02x%02x}\n", (unsigned)c->text.r, (unsigned)c->text.g, (unsigned)c->text.b);
    for (int i = 1; i <= SHADES; i++) {
        const colour s = shade_colour(c, i);
        fprintf(f, ".s%d{stroke:#%02x%02x%02x}%s", i, (unsigned)s.r, (unsigned)s.g, (unsigned)s.b,
                i == SHADES ? "\n" : "");
    }
}

/* The runs of one shade: a path for each row that has any, a line one cell wide for each run (a third of
 * what rects take). */
static void print_runs(FILE *f, const picture *p, int shade)
{
    if (!memchr(p->shade, shade, (size_t)p->width * (size_t)p->height)) return;
    fprintf(f, "<g class=\"s%d\">\n", shade);
    for (int y = 0; y < p->height; y++) {
        const unsigned char *row = p->shade + (size_t)y * (size_t)p->width;
        bool any = false;
        for (int x = 0, from; x < p->width; x++) {
            if (row[x] != shade) continue;
            for (from = x; x + 1 < p->width && row[x + 1] == shade; x++) {}
            fprintf(f, "%sM%d %dh%d", any ? "" : "<path d=\"", from, y, x + 1 - from);
            any = true;
        }
        if (any) fprintf(f, "\"/>\n");
    }
    fprintf(f, "</g>\n");
}

/* What a text takes at most, in pixels, in the usual sans-serif fonts. */
static int64_t text_width(const char *s)
{
    return (int64_t)strlen(s) * FONT * 3 / 5;
}

static void print_scale(FILE *f, const picture *p, int64_t y)
{
    int64_t x = MARGIN + text_width(p->least) + 4;
    fprintf(f, "<text x=\"%d\" y=\"%" PRId64 "\">%s</text>\n", MARGIN, y, p->least);
    for (int i = 1; i <= SHADES; i++, x += SWATCH)
        fprintf(f, "<path class=\"s%d\" stroke-width=\"%d\" d=\"M%" PRId64 " %" PRId64 "h%d\"/>\n", i, SWATCH,
                x, y - SWATCH / 2, SWATCH);
    fprintf(f, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\">%s</text>\n", x + 4, y, p->most);
}

bool write_svg(FILE *f, const picture *p)
{
    const int64_t inner_width = picture_width(p), inner_height = picture_height(p);
    int64_t width = inner_width, below = MARGIN + inner_height + LINE;
    if (width < text_width(p->caption)) width = text_width(p->caption);
    if (p->least && width < text_width(p->least) + text_width(p->most) + SHADES * SWATCH + 8)
        width = text_width(p->least) + text_width(p->most) + SHADES * SWATCH + 8;
    width += 2 * MARGIN;
    const int64_t height = below + (p->least ? LINE : 0) + MARGIN;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId64 "\" height=\"%" PRId64
            "\" viewBox=\"0 0 %" PRId64 " %" PRId64
            "\" role=\"img\">\n<title>%s</title>\n<style>\ntext{font:%dpx sans-serif}\n",
            width, height, width, height, p->caption, FONT);
    print_style(f, &light);
    fprintf(f, "@media (prefers-color-scheme:dark){\n");
    print_style(f, &dark);
    fprintf(f, "}\n</style>\n<rect class=\"panel\" width=\"%" PRId64 "\" height=\"%" PRId64 "\" rx=\"6\"/>\n",
            width, height);
    fprintf(
        f, "<g transform=\"translate(%d %d) scale(%d %d) translate(0 .5)\" shape-rendering=\"crispEdges\">\n",
        MARGIN + BORDER, MARGIN + BORDER, p->cell_width, p->cell_height);
    for (int i = 1; i <= SHADES; i++) print_runs(f, p, i);
    fprintf(f,
            "</g>\n<rect class=\"frame\" x=\"%d.5\" y=\"%d.5\" width=\"%" PRId64 "\" height=\"%" PRId64
            "\"/>\n",
            MARGIN, MARGIN, inner_width - 1, inner_height - 1);
    fprintf(f, "<text x=\"%d\" y=\"%" PRId64 "\">%s</text>\n", MARGIN, below, p->caption);
    if (p->least) print_scale(f, p, below + LINE);
    fprintf(f, "</svg>\n");
    return !ferror(f);
}
