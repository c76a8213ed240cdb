/* A family of matrices as its file declares it; a new one is an entry of the table in its file and learns
 * nothing else. */
#ifndef GENERATE_FAMILY_H
#define GENERATE_FAMILY_H
#include "build.h"

enum { MOST_PARAMETERS = 4, SAME = -1 };

/* Sizes as doubles, which do not overflow; nnz may be an upper bound or, where chance decides, an
 * estimate. */
typedef struct shape {
    double nrows, ncols, nnz;
} shape;

typedef struct family {
    family_info info;
    int64_t least[MOST_PARAMETERS], most[MOST_PARAMETERS]; /* a most of 0: 2^31 - 1 */
    int64_t defaults[MOST_PARAMETERS];                     /* of those left out; SAME: as the first */
    /* what a bare name means; OWN: make writes them, too */
    enum { CONSTANT, RANDOM, OWN } values;
    double diagonal, off_diagonal; /* of CONSTANT; both 0: 1 everywhere */
    bool symmetric;                /* then random values are, too */
    void (*size)(const int64_t *p, shape *);
    /* Fills g, whose nrows and ncols are set, from the parameters. False: no memory; the caller frees g. */
    bool (*make)(const int64_t *p, int threads, generated *g);
} family;

/* Each ends with a pattern of NULL. */
extern const family stencil_families[], lattice_families[], graph_families[], mesh_families[],
    rectangular_families[], irregular_families[];

/* A name taken apart. */
typedef struct request {
    const family *family;
    int64_t p[MOST_PARAMETERS];
    enum values { PLAIN, AS_CONSTANT, AS_RANDOM, AS_WHOLE } values;
    bool shuffled;
} request;

/* Answers false with the reason in error. */
bool parse_name(const char *name, request *, char *error, size_t error_size);
#endif
