/* Lattices that are no boxes: the triangle of states of a Markov chain, and the periodic lattice of
 * quantum chromodynamics. */
#include "family.h"
#include "hash.h"

/* ---- mc2depi: states (x, y), x susceptible and y infected of N in all, numbered y by y ---- */

static int64_t first_state(int64_t n, int64_t y)
{
    return y * (n + 1) - y * (y - 1) / 2;
}

/* The y of a state, by bisection. */
static int64_t infected(int64_t n, int64_t state)
{
    int64_t low = 0, high = n + 1; /* first_state(low) <= state < first_state(high) */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (first_state(n, middle) <= state) low = middle;
        else high = middle;
    }
    return low;
}

static void add_rate(int32_t *col, double *val, int64_t *found, int64_t to, double rate)
{
    if (col) {
        col[*found] = (int32_t)to;
        val[*found] = rate;
    }
    ++*found;
}

/* Recovery (y-1), staying, arrival (x+1), infection (x-1, y+1): in the order of their numbers. */
static int64_t epidemic_row(const void *arg, int64_t state, int32_t *col, double *val)
{
    const int64_t n = *(const int64_t *)arg, y = infected(n, state), x = state - first_state(n, y);
    const double recovery = 0.25 * (double)y, infection = (double)x * (double)(y + 1) / (double)n;
    const double arrival = x + y < n ? 1 : 0;
    int64_t found = 0;
    if (y > 0) add_rate(col, val, &found, first_state(n, y - 1) + x, recovery);
    add_rate(col, val, &found, state, -(recovery + infection + arrival));
    if (x + y < n) add_rate(col, val, &found, state + 1, arrival);
    if (x > 0) add_rate(col, val, &found, first_state(n, y + 1) + x - 1, infection);
    return found;
}

static void mc2depi_size(const int64_t *p, shape *s)
{
    const double n = (double)p[0] + 1;
    s->nrows = s->ncols = n * (n + 1) / 2;
    s->nnz = 4 * s->nrows - 3 * n;
}

static bool mc2depi_make(const int64_t *p, int threads, generated *g)
{
    return build_rows(g, threads, epidemic_row, p);
}

/* ---- qcd: the Wilson hopping matrix on an L^4 torus, 4 spins and 3 colours a site ----
 * A hop along mu
 * couples spins by 1 - gamma_mu or 1 + gamma_mu, colours by a full 3 x 3 matrix. In the basis where
 * gamma_4 is diagonal a hop in space couples a spin with itself and one other, a hop in time half of the
 * spins with themselves: 6 x 2 x 3 + 3 entries a row.
 * Source: K. Wilson, Confinement of quarks, 1974. */

enum { SPINS = 4, COLOURS = 3, HOPS = 39 };

static int32_t *add_colours(int32_t *col, int64_t site, int spin)
{
    for (int colour = 0; colour < COLOURS; colour++)
        *col++ = (int32_t)((site * SPINS + spin) * COLOURS + colour);
    return col;
}

static int64_t hop_row(const void *arg, int64_t row, int32_t *col, double *val)
{
    if (!col) return HOPS;
    const int64_t l = *(const int64_t *)arg, site = row / (SPINS * COLOURS);
    const int spin = (int)(row / COLOURS % SPINS), partner[] = { 3 - spin, 3 - spin, spin ^ 2 };
    int32_t *end = col;
    int64_t stride = 1;
    for (int mu = 0; mu < 4; mu++, stride *= l) {
        const int64_t at = site / stride % l;
        const int64_t next = site + ((at + 1) % l - at) * stride,
                      before = site + ((at + l - 1) % l - at) * stride;
        if (mu == 3) {
            end = add_colours(end, spin < 2 ? before : next, spin);
            continue;
        }
        const int64_t sites[] = { before, next };
        for (int k = 0; k < 2; k++) {
            end = add_colours(end, sites[k], spin);
            end = add_colours(end, sites[k], partner[mu]);
        }
    }
    sort_columns(col, HOPS, l * l * l * l * SPINS * COLOURS, (int32_t *)(void *)val);
    return HOPS;
}

static void qcd_size(const int64_t *p, shape *s)
{
    const double l = (double)p[0];
    s->nrows = s->ncols = l * l * l * l * SPINS * COLOURS;
    s->nnz = s->nrows * HOPS;
}

static bool qcd_make(const int64_t *p, int threads, generated *g)
{
    return build_rows(g, threads, hop_row, p);
}

const family lattice_families[] = {
    { { "mc2depi[_N]", "Markov chain of an epidemic, N = 1024 persons",
        "n = N+1: rows n(n+1)/2, nonzeros 4 rows - 3n", "mc2depi: 525825 rows, 2100225 nonzeros" },
      .least = { 1 },
      .defaults = { 1024 },
      .values = OWN,
      .size = mc2depi_size,
      .make = mc2depi_make },
    { { "qcd_L", "quarks on a periodic lattice of L^4 sites, 3 x 3 blocks", "rows 12 L^4, 39 nonzeros a row",
        "conf5_4-8x8: 49152 rows, 1916928 nonzeros (complex)" },
      .least = { 3 },
      .values = RANDOM,
      .size = qcd_size,
      .make = qcd_make },
    { .info = { 0 } },
};
