/* What the reader of Matrix Market files and its parser share: the header, and parts of a block of lines,
 * each of which one thread parses. */
#ifndef SPX_MTX_H
#define SPX_MTX_H
#include <stdbool.h>

#include "core/sparse.h"

typedef enum spx_mtx_field { SPX_MTX_REAL, SPX_MTX_INTEGER, SPX_MTX_PATTERN } spx_mtx_field;

typedef struct spx_mtx_header {
    spx_mtx_field field;
    spmvx_symmetry symmetry;
    bool array;                      /* values only, column by column */
    int64_t nrows, ncols, announced; /* rows, columns, and lines with an entry */
} spx_mtx_header;

/* Where entries go: arrays with room for those of all parts. */
typedef struct spx_mtx_target {
    int32_t *row, *col;
    void *val;
    bool wide; /* values are doubles, not floats */
} spx_mtx_target;

enum { SPX_MTX_WHY = 160 };

/* A run of whole lines. */
typedef struct spx_mtx_part {
    const char *begin, *end;
    int64_t lines;    /* how many they are */
    int64_t place;    /* where the first entry goes */
    int64_t count;    /* entries, or an upper bound before they are parsed */
    int64_t bad_line; /* the line that is wrong, counted from the part's first; -1: none */
    char why[SPX_MTX_WHY];
} spx_mtx_part;

/* Sets the number of lines, and takes it for the number of entries. */
void spx_mtx_count_lines(spx_mtx_part *);
/* Sets the number of entries: of lines that are neither empty nor a comment. */
void spx_mtx_count_entries(spx_mtx_part *);
/* Reads the entries, and sets their number. What is wrong is told in bad_line and why. */
void spx_mtx_parse(const spx_mtx_header *, const spx_mtx_target *, spx_mtx_part *);

/* A line without an entry. */
bool spx_mtx_is_empty(const char *p, const char *end);
#endif
