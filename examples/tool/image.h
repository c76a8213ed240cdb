/* A picture of cells in a few shades, written as PNG or SVG. */
#ifndef TOOL_IMAGE_H
#define TOOL_IMAGE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SHADES = 12, BORDER = 3 }; /* BORDER: pixels of frame and gap around the cells */

typedef struct picture {
    int width, height;           /* cells */
    int cell_width, cell_height; /* pixels of a cell */
    const unsigned char *shade;  /* row by row: 0 nothing, 1 (least) to SHADES (most) */
    const char *caption;         /* ASCII without markup */
    const char *least, *most;    /* what shades 1 and SHADES stand for, for a scale; NULL: no scale */
} picture;

int64_t picture_width(const picture *); /* pixels, the border included, the caption aside */
int64_t picture_height(const picture *);
/* Both answer false when the file cannot be written (errno tells why). */
bool write_png(FILE *, const picture *);
bool write_svg(FILE *, const picture *);
#endif
