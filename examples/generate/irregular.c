/* Circuits with a few dense rows and columns, and the Hamiltonians of real-space quantum chemistry. */
#include "family.h"
#include "hash.h"

/* ---- circuit: a diagonal, wires to near nodes both ways, some far; supply nets as dense rows, and other
 * dense columns ---- */

enum { DENSE_ROWS = 5, DENSE_COLUMNS = 3, WIRES = 2, PARTS = 1 + 2 * WIRES + DENSE_ROWS + DENSE_COLUMNS };

/* Node i of net k, spread over all nodes; rows and columns have nets of their own. */
static int64_t net_node(int64_t k, int64_t n)
{
    return scatter(k % n, n);
}

/* Part 0 is the diagonal; then wires in both directions; then the nets, each with half of the nodes of the
 * one before. */
static bool circuit_edge(const void *arg, int64_t e, int32_t *row, int32_t *col)
{
    /* of 65536 */
    enum { FAR = 3277, SECOND_WIRE = 8520, FIRST_ROW = 15000, FIRST_COLUMN = 1966, CLOSER = 49152 };
    const int64_t n = *(const int64_t *)arg, i = e % n, part = e / n, wire = (part - 1) / 2,
                  net = part - 1 - 2 * WIRES;
    *row = *col = (int32_t)i;
    if (part == 0) return true;
    if (net >= DENSE_ROWS) {
        *col = (int32_t)net_node(net + 1, n);
        return chance(hash2(0xc1, i, net), FIRST_COLUMN >> (net - DENSE_ROWS));
    }
    if (net >= 0) {
        *row = (int32_t)net_node(net + 1, n);
        return chance(hash2(0xc1, i, net), FIRST_ROW >> net);
    }
    const uint64_t h = hash2(0xc2, i, wire), g = mix(h);
    const int64_t step = 1 + ((int64_t)1 << level(h >> 16, CLOSER, 14)) + below(g, 4), far = below(mix(g), n);
    const int64_t other = chance(g, FAR) ? far : i - step;
    *((part - 1) % 2 ? row : col) = (int32_t)(other < 0 ? 0 : other);
    return other >= 0 && other != i && (wire == 0 || chance(h, SECOND_WIRE));
}

static void circuit_size(const int64_t *p, shape *s)
{
    const double n = (double)p[0];
    *s = (shape){ n, n, n * (n < 4 ? n : 4) };
}

static bool circuit_make(const int64_t *p, int threads, generated *g)
{
    return build_edges(g, threads, PARTS * p[0], circuit_edge, false, p);
}

/* ---- chem ----
 * Points of a box, kinetic energy by differences of 12th order along each axis, and atoms in whose ball every
 * point couples with every other. Every cube of CELL^3 points has one atom; a ball lies within its cube, so
 * that balls are disjoint.
 * Source: J. Chelikowsky, N. Troullier, Y. Saad, Finite-difference-pseudopotential method, 1994. */

enum { CELL = 13, RADIUS2 = 22, REACH = 4, ORDER = 6, BALL = 512 };

typedef struct box {
    int64_t n[3];
} box;

/* The atom of the cube that holds the point at; true if the point is in its ball. */
static bool atom_near(const int64_t at[3], int64_t atom[3])
{
    const uint64_t h =
        hash(0xa70, (uint64_t)(at[0] / CELL + ((at[1] / CELL) << 20) + ((at[2] / CELL) << 40)));
    int64_t distance2 = 0;
    for (int d = 0; d < 3; d++) {
        atom[d] = at[d] / CELL * CELL + REACH + below(h << (20 * d), CELL - 2 * REACH);
        distance2 += (at[d] - atom[d]) * (at[d] - atom[d]);
    }
    return distance2 <= RADIUS2;
}

/* The points of the atom's ball that lie in the box. */
static int64_t add_ball(const box *b, const int64_t atom[3], int32_t *out)
{
    int64_t found = 0;
    for (int64_t z = -REACH; z <= REACH; z++)
        for (int64_t y = -REACH; y <= REACH; y++)
            for (int64_t x = -REACH; x <= REACH; x++) {
                const int64_t at[] = { atom[0] + x, atom[1] + y, atom[2] + z };
                if (x * x + y * y + z * z > RADIUS2 || at[0] >= b->n[0] || at[1] >= b->n[1] ||
                    at[2] >= b->n[2])
                    continue;
                out[found++] = (int32_t)(at[0] + b->n[0] * (at[1] + b->n[1] * at[2]));
            }
    return found;
}

static int64_t chem_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    const box *b = arg;
    const int64_t at[] = { i % b->n[0], i / b->n[0] % b->n[1], i / (b->n[0] * b->n[1]) };
    int32_t found[6 * ORDER + 1 + BALL], sorted[6 * ORDER + 1 + BALL];
    int64_t count = 0, stride = 1, atom[3];
    found[count++] = (int32_t)i;
    for (int d = 0; d < 3; stride *= b->n[d++])
        for (int64_t step = -ORDER; step <= ORDER; step++)
            if (step && at[d] + step >= 0 && at[d] + step < b->n[d])
                found[count++] = (int32_t)(i + step * stride);
    if (atom_near(at, atom)) count += add_ball(b, atom, found + count);
    (void)val;
    sort_columns(found, count, b->n[0] * b->n[1] * b->n[2], sorted);
    count = unique_columns(found, count);
    for (int64_t k = 0; col && k < count; k++) col[k] = found[k];
    return count;
}

static void chem_size(const int64_t *p, shape *s)
{
    const double n = (double)p[0] * (double)p[1] * (double)p[2];
    *s = (shape){ n, n, n * (n < 125 ? n : 125) };
}

static bool chem_make(const int64_t *p, int threads, generated *g)
{
    const box b = { { p[0], p[1], p[2] } };
    return build_rows(g, threads, chem_row, &b);
}

const family irregular_families[] = {
    { { "circuit_N", "circuit: short rows, 5 dense rows (up to 0.23 N), 3 dense columns",
        "about 3.75 nonzeros a row", "circuit5M_dc: 3523317 rows, 14865409 nonzeros" },
      .least = { 1 },
      .values = RANDOM,
      .size = circuit_size,
      .make = circuit_make },
    { { "chem_X[_Y_Z]",
        "real-space quantum chemistry: 37-point stencil, and an atom's ball of 461 points in every 13^3",
        "about 117 nonzeros a row, 19 to 485", "Ga41As41H72: 268096 rows, 18488476 nonzeros" },
      .least = { 1, 1, 1 },
      .most = { 1 << 20, 1 << 20, 1 << 20 },
      .defaults = { 0, SAME, SAME },
      .values = RANDOM,
      .symmetric = true,
      .size = chem_size,
      .make = chem_make },
    { .info = { 0 } },
};
