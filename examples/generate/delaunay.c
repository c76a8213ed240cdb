/* Delaunay triangulation by divide and conquer (L. Guibas, J. Stolfi, Primitives for the manipulation of
 * general subdivisions, ACM TOG 1985). Coordinates are whole numbers and the signs of the determinants
 * exact: first in double with a bound of the error (J. Shewchuk, Adaptive precision floating-point
 * arithmetic, 1997), in 128-bit integers where that cannot tell. */
#include "delaunay.h"

#include <math.h>
#include <stdlib.h>

#include "build.h"

__extension__ typedef __int128 wide;

enum { WORTH_A_TASK = 4096 };

/* ---- predicates ---- */

static bool counterclockwise(point a, point b, point c)
{
    return (int64_t)(b.x - a.x) * (c.y - a.y) > (int64_t)(b.y - a.y) * (c.x - a.x);
}

static bool exactly_in_circle(int64_t ax, int64_t ay, int64_t bx, int64_t by, int64_t cx, int64_t cy)
{
    const wide a = (wide)(ax * ax + ay * ay) * (bx * cy - cx * by);
    const wide b = (wide)(bx * bx + by * by) * (cx * ay - ax * cy);
    const wide c = (wide)(cx * cx + cy * cy) * (ax * by - bx * ay);
    return a + b + c > 0;
}

/* Whether d lies within the circle through a, b, c, which are counterclockwise. */
static bool in_circle(point a, point b, point c, point d)
{
    const double ax = a.x - d.x, ay = a.y - d.y, bx = b.x - d.x, by = b.y - d.y, cx = c.x - d.x,
                 cy = c.y - d.y;
    const double a2 = ax * ax + ay * ay, b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
    const double det = a2 * (bx * cy - cx * by) + b2 * (cx * ay - ax * cy) + c2 * (ax * by - bx * ay);
    const double size = a2 * (fabs(bx * cy) + fabs(cx * by)) + b2 * (fabs(cx * ay) + fabs(ax * cy)) +
                        c2 * (fabs(ax * by) + fabs(bx * ay));
    if (fabs(det) > 0x1p-49 * size) return det > 0;
    return exactly_in_circle(a.x - d.x, a.y - d.y, b.x - d.x, b.y - d.y, c.x - d.x, c.y - d.y);
}

/* ---- edges; free ones are chained by next, in pools that a part of the points owns ---- */

typedef struct pool {
    int32_t first, last;
} pool;

typedef struct part {
    /* the hull's edges: from the leftmost point counterclockwise, from the rightmost clockwise */
    int32_t left, right;
    pool unused;
} part;

static int32_t destination(const triangulation *t, int32_t e)
{
    return t->origin[e ^ 1];
}
static int32_t left_next(const triangulation *t, int32_t e)
{
    return t->previous[e ^ 1];
}
static int32_t right_previous(const triangulation *t, int32_t e)
{
    return t->next[e ^ 1];
}
static point at(const triangulation *t, int32_t i)
{
    return t->points[i];
}

static int32_t make_edge(triangulation *t, pool *p, int32_t from, int32_t to)
{
    const int32_t e = p->first;
    p->first = t->next[e];
    t->origin[e] = from;
    t->origin[e ^ 1] = to;
    t->next[e] = t->previous[e] = e;
    t->next[e ^ 1] = t->previous[e ^ 1] = e ^ 1;
    return e;
}

static void splice(triangulation *t, int32_t a, int32_t b)
{
    const int32_t after_a = t->next[a], after_b = t->next[b];
    t->next[a] = after_b;
    t->previous[after_b] = a;
    t->next[b] = after_a;
    t->previous[after_a] = b;
}

/* A new edge from the end of a to the origin of b, with the same face at its left. */
static int32_t join(triangulation *t, pool *p, int32_t a, int32_t b)
{
    const int32_t e = make_edge(t, p, destination(t, a), t->origin[b]);
    splice(t, e, left_next(t, a));
    splice(t, e ^ 1, b);
    return e;
}

static void put_back(triangulation *t, pool *p, int32_t e)
{
    t->origin[e] = t->origin[e ^ 1] = -1;
    t->next[e] = p->first;
    p->first = e;
}

static void remove_edge(triangulation *t, pool *p, int32_t e)
{
    splice(t, e, t->previous[e]);
    splice(t, e ^ 1, t->previous[e ^ 1]);
    put_back(t, p, e & ~1);
}

/* Three edges for each of the points begin ... end-1. */
static pool fresh_edges(triangulation *t, int32_t begin, int32_t end)
{
    pool p = { -1, 6 * end - 2 };
    for (int32_t e = p.last; e >= 6 * begin; e -= 2) put_back(t, &p, e);
    return p;
}

/* ---- divide and conquer ---- */

static part few_points(triangulation *t, int32_t begin, int32_t end)
{
    part out = { .unused = fresh_edges(t, begin, end) };
    const int32_t a = make_edge(t, &out.unused, begin, begin + 1);
    out.left = a;
    out.right = a ^ 1;
    if (end - begin == 2) return out;
    const int32_t b = make_edge(t, &out.unused, begin + 1, begin + 2);
    splice(t, a ^ 1, b);
    out.right = b ^ 1;
    const point p = at(t, begin), q = at(t, begin + 1), r = at(t, begin + 2);
    if (counterclockwise(p, q, r)) {
        join(t, &out.unused, b, a);
    } else if (counterclockwise(p, r, q)) {
        out.right = join(t, &out.unused, b, a);
        out.left = out.right ^ 1;
    }
    return out;
}

/* Whether the end of e lies above the base, an edge from right to left. */
static bool above(const triangulation *t, int32_t e, int32_t base)
{
    return counterclockwise(at(t, destination(t, e)), at(t, destination(t, base)), at(t, t->origin[base]));
}

static bool circle_holds(const triangulation *t, int32_t base, int32_t candidate, int32_t other)
{
    return in_circle(at(t, destination(t, base)), at(t, t->origin[base]), at(t, destination(t, candidate)),
                     at(t, destination(t, other)));
}

/* The lower common tangent of both hulls, as an edge from right to left; moves the hulls' ends that it
 * replaces. */
static int32_t tangent(triangulation *t, pool *unused, part *l, part *r)
{
    int32_t a = l->right, b = r->left;
    for (;;) {
        if (counterclockwise(at(t, t->origin[b]), at(t, t->origin[a]), at(t, destination(t, a))))
            a = left_next(t, a);
        else if (counterclockwise(at(t, t->origin[a]), at(t, destination(t, b)), at(t, t->origin[b])))
            b = right_previous(t, b);
        else break;
    }
    const int32_t base = join(t, unused, b ^ 1, a);
    if (t->origin[a] == t->origin[l->left]) l->left = base ^ 1;
    if (t->origin[b] == t->origin[r->right]) r->right = base;
    return base;
}

static part merge(triangulation *t, part l, part r)
{
    pool unused = { l.unused.first, r.unused.last };
    if (l.unused.first < 0) unused = r.unused;
    else if (r.unused.first < 0) unused.last = l.unused.last;
    else t->next[l.unused.last] = r.unused.first;
    int32_t base = tangent(t, &unused, &l, &r);
    for (;;) {
        int32_t a = t->next[base ^ 1], b = t->previous[base];
        if (above(t, a, base))
            while (circle_holds(t, base, a, t->next[a])) {
                const int32_t gone = a;
                a = t->next[a];
                remove_edge(t, &unused, gone);
            }
        if (above(t, b, base))
            while (circle_holds(t, base, b, t->previous[b])) {
                const int32_t gone = b;
                b = t->previous[b];
                remove_edge(t, &unused, gone);
            }
        const bool left = above(t, a, base), right = above(t, b, base);
        if (!left && !right) break;
        if (!left || (right && circle_holds(t, a, b ^ 1, b))) base = join(t, &unused, b, base ^ 1);
        else base = join(t, &unused, base ^ 1, a ^ 1);
    }
    return (part){ l.left, r.right, unused };
}

static part conquer(triangulation *t, int32_t begin, int32_t end)
{
    if (end - begin < 4) return few_points(t, begin, end);
    const int32_t middle = begin + (end - begin) / 2;
    part l, r;
#ifdef _OPENMP
#pragma omp task shared(l) if (end - begin > WORTH_A_TASK)
#endif
    l = conquer(t, begin, middle);
    r = conquer(t, middle, end);
#ifdef _OPENMP
#pragma omp taskwait
#endif
    return merge(t, l, r);
}

bool triangulate(const point *points, int64_t n, int threads, triangulation *t)
{
    *t = (triangulation){ .halves = 6 * n, .points = points };
    t->origin = allocate(t->halves, sizeof *t->origin);
    t->next = allocate(t->halves, sizeof *t->next);
    t->previous = allocate(t->halves, sizeof *t->previous);
    if (!t->origin || !t->next || !t->previous) {
        triangulation_free(t);
        return false;
    }
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
#pragma omp single
#endif
    conquer(t, 0, (int32_t)n);
    (void)threads;
    return true;
}

void triangulation_free(triangulation *t)
{
    free(t->origin);
    free(t->next);
    free(t->previous);
    *t = (triangulation){ 0 };
}
