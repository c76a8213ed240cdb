/* Graphs in the plane over random points: Delaunay triangulations and geometric graphs, as in the tenth
 * DIMACS challenge (D. Bader et al., Graph partitioning and graph clustering, 2013). Coordinates are whole
 * numbers. */
#include <stdlib.h>

#include "delaunay.h"
#include "family.h"
#include "hash.h"

/* ---- Delaunay: point t has the t-th x, so that they are sorted and differ ---- */

enum { SIDE_BITS = 26 };

static point delaunay_point(int64_t t, int bits)
{
    const uint64_t h = hash(0xde, (uint64_t)t);
    const int spare = SIDE_BITS - bits;
    return (point){ (int32_t)(t << spare | (int64_t)(h & (((uint64_t)1 << spare) - 1))),
                    (int32_t)(h >> (64 - SIDE_BITS)) };
}

/* The place of a cell along Hilbert's curve over 2^bits x 2^bits cells (D. Hilbert, 1891). */
static int64_t hilbert(int bits, int64_t x, int64_t y)
{
    int64_t d = 0;
    for (int64_t s = (int64_t)1 << bits >> 1; s > 0; s >>= 1) {
        const bool right = x & s, up = y & s;
        d += s * s * ((right ? 3 : 0) ^ (up ? 1 : 0));
        if (up) continue;
        if (right) {
            x = ~x;
            y = ~y;
        }
        const int64_t swap = x;
        x = y;
        y = swap;
    }
    return d;
}

/* point_of[] in the order of the curve, by counting the points of each cell. */
static bool order_by_curve(const point *points, int64_t n, int bits, int32_t *point_of)
{
    const int order = (bits + 1) / 2;
    const int64_t cells = (int64_t)1 << 2 * order;
    int32_t *first = allocate(cells + 1, sizeof *first);
    if (!first) return false;
    for (int64_t c = 0; c <= cells; c++) first[c] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t t = 0; t < n; t++) {
            const int64_t c =
                hilbert(order, points[t].x >> (SIDE_BITS - order), points[t].y >> (SIDE_BITS - order));
            if (pass) point_of[first[c]++] = (int32_t)t;
            else first[c + 1]++;
        }
        for (int64_t c = 0; !pass && c < cells; c++) first[c + 1] += first[c];
    }
    free(first);
    return true;
}

typedef struct numbered_mesh {
    triangulation t;
    /* of a point: an edge that begins there, its row; of a row: its point */
    int32_t *edge, *number, *point_of;
} numbered_mesh;

/* Runs of so many points along the curve stay together; the runs lie in random order. */
static bool number_by_runs(const int32_t *curve, int64_t n, int64_t run, int32_t *point_of)
{
    const int64_t runs = (n + run - 1) / run;
    int32_t *order = permutation(runs, 0xdf);
    for (int64_t k = 0, row = 0; order && k < runs; k++)
        for (int64_t at = order[k] * run; at < order[k] * run + run && at < n; at++)
            point_of[row++] = curve[at];
    const bool ok = order;
    free(order);
    return ok;
}

/* How many of the rounds come after that of a point: three quarters of what is left are in the last one. */
static int rounds_after(int64_t t)
{
    uint64_t h = hash(0xe1, (uint64_t)t);
    int after = 0;
    for (; !(h & 3) && after < 32; h >>= 2) after++;
    return after;
}

/* Rounds that grow fourfold, each along the curve: the order in which points are inserted one by one (N.
 * Amenta, S. Choi, G. Rote, Incremental constructions con BRIO, SoCG 2003), which the originals have kept. */
static void number_by_rounds(const int32_t *curve, int64_t n, int32_t *point_of)
{
    int64_t row = 0;
    for (int after = 32; after >= 0; after--)
        for (int64_t at = 0; at < n; at++)
            if (rounds_after(curve[at]) == after) point_of[row++] = curve[at];
}

static bool number_points(const point *points, int64_t n, int bits, int64_t run, numbered_mesh *m)
{
    int32_t *curve = allocate(n, sizeof *curve);
    bool ok = curve && order_by_curve(points, n, bits, curve);
    if (ok && run) ok = number_by_runs(curve, n, run, m->point_of);
    else if (ok) number_by_rounds(curve, n, m->point_of);
    for (int64_t row = 0; ok && row < n; row++) m->number[m->point_of[row]] = (int32_t)row;
    free(curve);
    return ok;
}

static int64_t mesh_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    const numbered_mesh *m = arg;
    const int32_t begin = m->edge[m->point_of[i]];
    int64_t found = 0;
    for (int32_t e = begin; e != begin || !found; e = m->t.next[e]) {
        if (col) col[found] = m->number[m->t.origin[e ^ 1]];
        found++;
    }
    if (col) sort_columns(col, found, m->t.halves / 6, (int32_t *)(void *)val);
    return found;
}

static bool delaunay_rows(const int64_t *p, int threads, const point *points, numbered_mesh *m, generated *g)
{
    const int64_t n = g->nrows;
    if (!number_points(points, n, (int)p[0], p[1], m) || !triangulate(points, n, threads, &m->t))
        return false;
    for (int32_t e = 0; e < m->t.halves; e++)
        if (m->t.origin[e] >= 0) m->edge[m->t.origin[e]] = e;
    const bool ok = build_rows(g, threads, mesh_row, m);
    triangulation_free(&m->t);
    return ok;
}

static bool delaunay_make(const int64_t *p, int threads, generated *g)
{
    const int64_t n = g->nrows;
    point *points = allocate(n, sizeof *points);
    numbered_mesh m = { .edge = allocate(n, sizeof *m.edge),
                        .number = allocate(n, sizeof *m.number),
                        .point_of = allocate(n, sizeof *m.point_of) };
    bool ok = points && m.edge && m.number && m.point_of;
    if (ok) {
        for (int64_t t = 0; t < n; t++) points[t] = delaunay_point(t, (int)p[0]);
        ok = delaunay_rows(p, threads, points, &m, g);
    }
    free(points);
    free(m.edge);
    free(m.number);
    free(m.point_of);
    return ok;
}

static void delaunay_size(const int64_t *p, shape *s)
{
    const double n = (double)((int64_t)1 << p[0]);
    *s = (shape){ n, n, 6 * n - 12 };
}

/* ---- geometric graphs: n points in a square, edges up to the radius 0.55 sqrt(ln n / n) ----
 * The square is 2^31 wide. Points lie in two halves, each in the order of x, as in the originals. */

typedef struct geometric {
    int64_t n, radius2, cells; /* cells a side, each as wide as the radius or wider */
    int scale;
    int32_t *first, *point_of; /* of a cell: its points */
} geometric;

static void geometric_point(const geometric *g, int64_t t, int64_t *x, int64_t *y)
{
    const uint64_t h = hash(0x266, (uint64_t)t);
    const int spare = 31 - (g->scale - 1);
    *x = (t & (g->n / 2 - 1)) << spare | (int64_t)(h & (((uint64_t)1 << spare) - 1));
    *y = (t >= g->n / 2 ? (int64_t)1 << 30 : 0) | (int64_t)(h >> 34);
}

static int64_t cell_along(const geometric *g, int64_t x)
{
    return x * g->cells >> 31;
}

static bool sort_into_cells(geometric *g)
{
    const int64_t cells = g->cells * g->cells;
    g->first = allocate(cells + 2, sizeof *g->first);
    g->point_of = allocate(g->n, sizeof *g->point_of);
    if (!g->first || !g->point_of) return false;
    for (int64_t c = 0; c < cells + 2; c++) g->first[c] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t t = 0; t < g->n; t++) {
            int64_t x, y;
            geometric_point(g, t, &x, &y);
            int32_t *at = &g->first[cell_along(g, y) * g->cells + cell_along(g, x) + 2 - pass];
            if (pass) g->point_of[*at] = (int32_t)t;
            ++*at;
        }
        for (int64_t c = 2; !pass && c < cells + 2; c++) g->first[c] += g->first[c - 1];
    }
    return true;
}

static int64_t geometric_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    const geometric *g = arg;
    int64_t x, y, found = 0;
    geometric_point(g, i, &x, &y);
    const int64_t cx = cell_along(g, x), cy = cell_along(g, y), left = cx ? cx - 1 : 0,
                  right = cx + 1 < g->cells ? cx + 1 : cx;
    for (int64_t row = cy ? cy - 1 : 0; row <= cy + 1 && row < g->cells; row++)
        for (int32_t k = g->first[row * g->cells + left]; k < g->first[row * g->cells + right + 1]; k++) {
            const int32_t other = g->point_of[k];
            int64_t a, b;
            geometric_point(g, other, &a, &b);
            if (other == i || (a - x) * (a - x) + (b - y) * (b - y) > g->radius2) continue;
            if (col) col[found] = other;
            found++;
        }
    if (col) sort_columns(col, found, g->n, (int32_t *)(void *)val);
    return found;
}

static bool rgg_make(const int64_t *p, int threads, generated *out)
{
    /* 0.3025 ln 2 2^60: radius^2 = 0.3025 K ln 2 / 2^K of the square's 2^62 */
    const int64_t share = 241741147823362708;
    geometric g = { .n = out->nrows, .scale = (int)p[0] };
    g.radius2 = g.scale > 2 ? share * g.scale >> (g.scale - 2) : share * g.scale << (2 - g.scale);
    for (g.cells = 1; (g.cells + 1) * (g.cells + 1) <= ((int64_t)1 << 62) / g.radius2; g.cells++) {}
    const bool ok = sort_into_cells(&g) && build_rows(out, threads, geometric_row, &g);
    free(g.first);
    free(g.point_of);
    return ok;
}

static void rgg_size(const int64_t *p, shape *s)
{
    const double n = (double)((int64_t)1 << p[0]), degree = 0.66 * (double)p[0]; /* pi 0.3025 ln n */
    *s = (shape){ n, n, degree < n ? n * degree : n * n };
}

const family mesh_families[] = {
    { { "delaunay_nK[_rR]", "Delaunay triangulation of 2^K points, in runs of R along a curve",
        "rows 2^K, nonzeros 6 rows - 6 - 2 hull; R = 10; 0: in the originals' order",
        "delaunay_n20: 1048576 rows, 6291372 nonzeros" },
      .least = { 2, 0 },
      .most = { 24 },
      .defaults = { 0, 10 },
      .symmetric = true,
      .size = delaunay_size,
      .make = delaunay_make },
    { { "rgg_nK", "geometric graph of 2^K points", "rows 2^K, about 0.66 K nonzeros a row",
        "rgg_n_2_20_s0: 1048576 rows, 13783240 nonzeros" },
      .least = { 1 },
      .most = { 26 },
      .symmetric = true,
      .size = rgg_size,
      .make = rgg_make },
    { .info = { 0 } },
};
