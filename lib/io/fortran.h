/* Fortran's formatted numbers: fields of fixed width, which a format such as (1P,5D16.8) describes.
 * Source: ISO/IEC 1539-1:2018, clause 13 (edit descriptors I, F, E, EN, ES, D, G and P). */
#ifndef SPX_FORTRAN_H
#define SPX_FORTRAN_H
#include <stdbool.h>
#include <stdint.h>

typedef struct spx_fortran {
    bool real;           /* F E EN ES D G; else I */
    int fields, width;   /* of a line; characters of a field */
    int decimals, scale; /* d of Ew.d, k of kP */
} spx_fortran;

enum { SPX_FORTRAN_WIDTH = 256, SPX_FORTRAN_LINE = 16384 }; /* the widest field and line that are taken */

/* Reads a format of one descriptor. It may have a count, before it or before parentheses around it, and a
 * scale factor; only blanks may follow. False for anything else. */
bool spx_fortran_parse(const char *p, const char *end, spx_fortran *out);
/* Reads a whole field, with or without blanks around it: a whole number, or a value as the format has it. A
 * real's exponent may lack its letter (1.5-103); without a point the last `decimals` digits are the
 * fraction; without an exponent the value is divided by 10^scale. */
bool spx_fortran_int(const char *p, const char *end, int64_t *out);
bool spx_fortran_value(const spx_fortran *, const char *p, const char *end, double *out);
#endif
