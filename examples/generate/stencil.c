/* Stencils on boxes of X x Y x Z points, x fastest: neighbours within the box, with constant or varying
 * coefficients, and elements of eight nodes with several unknowns a node (each node couples with the 27
 * around it by full blocks). HPCG: J. Dongarra, M. Heroux, P. Luszczek, A new metric for ranking
 * high-performance computing systems, 2016. */
#include "family.h"
#include "hash.h"

enum { MOST_NEIGHBOURS = 27 };

typedef struct grid {
    int64_t n[3];
    int count; /* of offsets, in the order of their points' numbers */
    int8_t at[MOST_NEIGHBOURS][3];
    int64_t unknowns; /* a point */
    /* The entry from point i to point j, offset k, of a family with values of its own; the diagonal gets
     * shift minus their sum. */
    double (*coupling)(const struct grid *, int64_t i, int64_t j, int k);
    double shift;
} grid;

/* Offsets with at most so many steps in all, over 1, 2 or 3 dimensions. */
static void add_offsets(grid *g, int dimensions, int steps)
{
    const int8_t z_end = dimensions > 2, y_end = dimensions > 1;
    for (int8_t z = (int8_t)-z_end; z <= z_end; z++)
        for (int8_t y = (int8_t)-y_end; y <= y_end; y++)
            for (int8_t x = -1; x <= 1; x++) {
                if (x * x + y * y + z * z > steps) continue;
                int8_t *at = g->at[g->count++];
                at[0] = x;
                at[1] = y;
                at[2] = z;
            }
}

static grid make_grid(const int64_t *p, int dimensions, int steps)
{
    grid g = { .n = { p[0], p[1], dimensions > 2 ? p[2] : 1 }, .unknowns = 1 };
    add_offsets(&g, dimensions, steps);
    return g;
}

/* The points around point i, itself among them; which[] tells their offsets. */
static int neighbours(const grid *g, int64_t i, int64_t out[MOST_NEIGHBOURS], int which[MOST_NEIGHBOURS])
{
    const int64_t x = i % g->n[0], y = i / g->n[0] % g->n[1], z = i / (g->n[0] * g->n[1]);
    int found = 0;
    for (int k = 0; k < g->count; k++) {
        const int64_t a = x + g->at[k][0], b = y + g->at[k][1], c = z + g->at[k][2];
        if (a < 0 || a >= g->n[0] || b < 0 || b >= g->n[1] || c < 0 || c >= g->n[2]) continue;
        out[found] = a + g->n[0] * (b + g->n[1] * c);
        which[found++] = k;
    }
    return found;
}

static void own_values(const grid *g, int64_t i, int found, const int64_t *near, const int *which,
                       double *val)
{
    double sum = 0;
    int diagonal = 0;
    for (int k = 0; k < found; k++) {
        if (near[k] == i) {
            diagonal = k;
            continue;
        }
        val[k] = g->coupling(g, i, near[k], which[k]);
        sum += val[k];
    }
    val[diagonal] = g->shift - sum;
}

static int64_t grid_row(const void *arg, int64_t row, int32_t *col, double *val)
{
    const grid *g = arg;
    int64_t near[MOST_NEIGHBOURS];
    int which[MOST_NEIGHBOURS];
    const int64_t i = row / g->unknowns;
    const int found = neighbours(g, i, near, which);
    if (!col) return found * g->unknowns;
    for (int k = 0; k < found; k++)
        for (int64_t u = 0; u < g->unknowns; u++) *col++ = (int32_t)(near[k] * g->unknowns + u);
    if (g->coupling) own_values(g, i, found, near, which, val);
    return found * g->unknowns;
}

/* ---- sizes ---- */

static double pairs(int64_t n)
{
    /* of points that are the same or next to each other, on a line of n */
    return 3.0 * (double)n - 2;
}

static void star_size(const int64_t *p, int dimensions, shape *s)
{
    double points = 1;
    for (int d = 0; d < dimensions; d++) points *= (double)p[d];
    s->nnz = points;
    for (int d = 0; d < dimensions; d++) s->nnz += 2 * (points - points / (double)p[d]);
    s->nrows = s->ncols = points;
}

static void star2_size(const int64_t *p, shape *s)
{
    star_size(p, 2, s);
}
static void star3_size(const int64_t *p, shape *s)
{
    star_size(p, 3, s);
}

static void block_size(double unknowns, const int64_t *n, shape *s)
{
    s->nrows = s->ncols = unknowns * (double)n[0] * (double)n[1] * (double)n[2];
    s->nnz = unknowns * unknowns * pairs(n[0]) * pairs(n[1]) * pairs(n[2]);
}

static void stencil27_size(const int64_t *p, shape *s)
{
    block_size(1, p, s);
}

static const int64_t *fem_box(const int64_t *p, int64_t n[3])
{
    n[0] = p[1];
    n[1] = p[2] ? p[2] : p[1];
    n[2] = p[3] ? p[3] : p[1];
    return n;
}

static void fem_size(const int64_t *p, shape *s)
{
    int64_t n[3];
    block_size((double)p[0], fem_box(p, n), s);
}

static void mc2box_size(const int64_t *p, shape *s)
{
    star_size(p, 2, s);
    s->nnz -= s->nrows - (double)p[0];
}

/* ---- matrices ---- */

static bool star2_make(const int64_t *p, int threads, generated *out)
{
    const grid g = make_grid(p, 2, 1);
    return build_rows(out, threads, grid_row, &g);
}

static bool star3_make(const int64_t *p, int threads, generated *out)
{
    const grid g = make_grid(p, 3, 1);
    return build_rows(out, threads, grid_row, &g);
}

static bool stencil27_make(const int64_t *p, int threads, generated *out)
{
    const grid g = make_grid(p, 3, 3);
    return build_rows(out, threads, grid_row, &g);
}

static bool fem_make(const int64_t *p, int threads, generated *out)
{
    int64_t n[3];
    grid g = make_grid(fem_box(p, n), 3, 3);
    g.unknowns = p[0];
    return build_rows(out, threads, grid_row, &g);
}

/* Diffusion that grows upward, and wind along each axis: against it more than with it, so not symmetric. */
static double wind(const grid *g, int64_t i, int64_t j, int k)
{
    const double height = (double)(i / (g->n[0] * g->n[1]) + 1) / (double)g->n[2];
    const double u = unit(hash2(0xa7, i, k));
    return -(1 + height) - (j < i ? 0.5 + u : 0.5 * u);
}

static bool atmosmodd_make(const int64_t *p, int threads, generated *out)
{
    grid g = make_grid(p, 3, 1);
    g.coupling = wind;
    g.shift = 1;
    return build_rows(out, threads, grid_row, &g);
}

/* Resistances of whole numbers between cells: a weighted Laplacian. */
static double resistance(const grid *g, int64_t i, int64_t j, int k)
{
    (void)g, (void)k;
    return -1.0 - (double)below(i < j ? hash2(0xec0, i, j) : hash2(0xec0, j, i), 32);
}

static bool ecology_make(const int64_t *p, int threads, generated *out)
{
    grid g = make_grid(p, 2, 1);
    g.coupling = resistance;
    return build_rows(out, threads, grid_row, &g);
}

/* Rates of an epidemic among x susceptible and y infected: arrival (x+1), infection (x-1), recovery (y-1). */
static double rate(const grid *g, int64_t i, int64_t j, int k)
{
    enum { RECOVERY, INFECTION, STAY, ARRIVAL };
    const double x = (double)(i % g->n[0]), y = (double)(i / g->n[0]);
    (void)j;
    if (k == ARRIVAL) return 1;
    return k == INFECTION ? x * (y + 1) / (double)g->n[0] : 0.25 * y;
}

static bool mc2box_make(const int64_t *p, int threads, generated *out)
{
    grid g = make_grid(p, 2, 1);
    g.count--; /* none towards y+1, the last of the offsets */
    g.coupling = rate;
    return build_rows(out, threads, grid_row, &g);
}

#define BOX2 .least = { 1, 1 }, .defaults = { 0, SAME }
#define BOX3 .least = { 1, 1, 1 }, .defaults = { 0, SAME, SAME }

const family stencil_families[] = {
    { { "lap2d_X[_Y]", "5-point Laplacian", "rows XY, nonzeros 5XY - 2X - 2Y; 4 and -1", "-" },
      BOX2,
      .diagonal = 4,
      .off_diagonal = -1,
      .symmetric = true,
      .size = star2_size,
      .make = star2_make },
    { { "lap3d_X[_Y_Z]", "7-point Laplacian", "rows XYZ, nonzeros 7XYZ - 2(XY + YZ + ZX); 6 and -1", "-" },
      BOX3,
      .diagonal = 6,
      .off_diagonal = -1,
      .symmetric = true,
      .size = star3_size,
      .make = star3_make },
    { { "stencil27_X[_Y_Z]", "27-point stencil", "rows XYZ, nonzeros (3X-2)(3Y-2)(3Z-2); 26 and -1", "-" },
      BOX3,
      .diagonal = 26,
      .off_diagonal = -1,
      .symmetric = true,
      .size = stencil27_size,
      .make = stencil27_make },
    { { "hpcg_X[_Y_Z]", "the matrix of HPCG, another name of stencil27", "as stencil27", "HPCG: the same" },
      BOX3,
      .diagonal = 26,
      .off_diagonal = -1,
      .symmetric = true,
      .size = stencil27_size,
      .make = stencil27_make },
    { { "atmosmodd_X[_Y_Z]", "7-point, varying coefficients, not symmetric",
        "as lap3d; coefficients of height and wind", "atmosmodd: 1270432 rows, 8814880 nonzeros" },
      BOX3,
      .values = OWN,
      .diagonal = 6,
      .off_diagonal = -1,
      .size = star3_size,
      .make = atmosmodd_make },
    { { "ecology_X[_Y]", "5-point Laplacian with whole weights of 1 to 32",
        "as lap2d; minus a weight, and their sum", "ecology1: 1000000 rows, 4996000 nonzeros" },
      BOX2,
      .values = OWN,
      .diagonal = 4,
      .off_diagonal = -1,
      .symmetric = true,
      .size = star2_size,
      .make = ecology_make },
    { { "mc2box_X[_Y]", "Markov chain of an epidemic on a box of states",
        "rows XY, nonzeros 4XY - X - 2Y; rates, and minus their sum", "-" },
      BOX2,
      .values = OWN,
      .size = mc2box_size,
      .make = mc2box_make },
    { { "femBdof_X[_Y_Z]", "hexahedral elements, B unknowns a node",
        "rows BXYZ, nonzeros B^2 (3X-2)(3Y-2)(3Z-2)",
        "cant: 62451 rows, 4007383 nonzeros, 3 unknowns a node" },
      .least = { 1, 1, 1, 1 },
      .most = { 64 },
      .values = RANDOM,
      .symmetric = true,
      .size = fem_size,
      .make = fem_make },
    { .info = { 0 } },
};
