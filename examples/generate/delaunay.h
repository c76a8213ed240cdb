/* Delaunay triangulation of points in the plane. */
#ifndef GENERATE_DELAUNAY_H
#define GENERATE_DELAUNAY_H
#include <stdbool.h>
#include <stdint.h>

/* A point has whole coordinates of 0 ... 2^26 - 1. */
typedef struct point {
    int32_t x, y;
} point;

/* Half-edges: e and e^1 are one edge, origin[e] is where e begins (-1: no edge), next[e] the next one
 * counterclockwise from the same point. */
typedef struct triangulation {
    int64_t halves;
    int32_t *origin, *next, *previous;
    const point *points;
} triangulation;

/* Triangulates n >= 2 points in ascending order of x, no two with the same x. False: no memory. */
bool triangulate(const point *, int64_t n, int threads, triangulation *);
void triangulation_free(triangulation *);
#endif
