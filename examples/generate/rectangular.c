/* Random, dense and thin matrices, and the shapes of linear programs and least squares. */
#include <stdatomic.h>
#include <stdlib.h>

#include "family.h"
#include "hash.h"

static int32_t *scratch(double *val)
{
    return (int32_t *)(void *)val; /* 2 columns fit a value, as distinct_columns asks */
}

/* ---- random: Z entries fall on rows at random; the columns of a row are distinct ---- */

typedef struct random_rows {
    int64_t nrows, ncols;
    _Atomic int32_t *length;
} random_rows;

static void throw_entries(void *arg, int64_t begin, int64_t end)
{
    const random_rows *r = arg;
    for (int64_t e = begin; e < end; e++)
        atomic_fetch_add_explicit(&r->length[below(hash(0x3a, (uint64_t)e), r->nrows)], 1,
                                  memory_order_relaxed);
}

/* What a full row cannot take goes to the next with room. */
static void spill(random_rows *r)
{
    int64_t over = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < r->nrows; i++) {
            const int64_t want = atomic_load_explicit(&r->length[i], memory_order_relaxed) + over;
            const int64_t fits = want < r->ncols ? want : r->ncols;
            atomic_store_explicit(&r->length[i], (int32_t)fits, memory_order_relaxed);
            over = want - fits;
        }
}

static int64_t random_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    const random_rows *r = arg;
    const int64_t length = atomic_load_explicit(&r->length[i], memory_order_relaxed);
    if (col) distinct_columns(hash(0x3b, (uint64_t)i), length, r->ncols, col, scratch(val));
    return length;
}

static bool random_make(const int64_t *p, int threads, generated *g)
{
    random_rows r = { p[0], p[1], allocate(p[0], sizeof *r.length) };
    if (!r.length) return false;
    for (int64_t i = 0; i < r.nrows; i++) atomic_init(&r.length[i], 0);
    parallel(threads, p[2], throw_entries, &r);
    spill(&r);
    const bool ok = build_rows(g, threads, random_row, &r);
    free(r.length);
    return ok;
}

static void random_size(const int64_t *p, shape *s)
{
    *s = (shape){ (double)p[0], (double)p[1], (double)p[2] };
}

/* ---- dense ---- */

static int64_t dense_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    const int64_t ncols = ((const int64_t *)arg)[1];
    (void)i, (void)val;
    for (int64_t c = 0; col && c < ncols; c++) col[c] = (int32_t)c;
    return ncols;
}

static bool dense_make(const int64_t *p, int threads, generated *g)
{
    return build_rows(g, threads, dense_row, p);
}

static void dense_size(const int64_t *p, shape *s)
{
    *s = (shape){ (double)p[0], (double)p[1], (double)p[0] * (double)p[1] };
}

/* ---- thin: D draws a row, with repeats dropped; E of 100 rows are empty ---- */

static int64_t thin_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    const int64_t *p = arg, ncols = p[1], draws = p[2];
    if (below(hash(0x71, (uint64_t)i), 100) < p[3]) return 0;
    if (!col) return draws;
    for (int64_t k = 0; k < draws; k++) col[k] = (int32_t)below(hash2(0x72, i, k), ncols);
    sort_columns(col, draws, ncols, scratch(val));
    return unique_columns(col, draws);
}

static bool thin_make(const int64_t *p, int threads, generated *g)
{
    return build_rows(g, threads, thin_row, p);
}

static void thin_size(const int64_t *p, shape *s)
{
    const double draws = (double)(p[2] < p[1] ? p[2] : p[1]);
    *s = (shape){ (double)p[0], (double)p[1], (double)p[0] * draws };
}

/* ---- sls: rows of 1 to L entries, a pair of rows L+1 together ---- */

static int64_t sls_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    const int64_t *p = arg, most = p[2] < p[1] ? p[2] : p[1],
                  first = 1 + below(hash(0x515, (uint64_t)i / 2), most);
    const int64_t length = i % 2 ? most + 1 - first : first;
    if (col) distinct_columns(hash(0x516, (uint64_t)i), length, p[1], col, scratch(val));
    return length;
}

static bool sls_make(const int64_t *p, int threads, generated *g)
{
    return build_rows(g, threads, sls_row, p);
}

static void sls_size(const int64_t *p, shape *s)
{
    const double most = (double)(p[2] < p[1] ? p[2] : p[1]), pairs = (double)((p[0] + 1) / 2);
    *s = (shape){ (double)p[0], (double)p[1], pairs * (most + 1) };
}

/* ---- rail: set covering. A column is a roster, its rows the trips that it covers ---- Rosters come in
 * runs that were enumerated together: they begin at one trip and mostly agree in the following ones, which
 * have small gaps. The first trip is chosen with a density that falls as the power 2/3 of its rank. */

enum {
    RAIL_RUN = 32,
    RAIL_GAP = 24,
    RAIL_SKEW = 52016 /* 65536 2^(-1/3) */,
    RAIL_OTHER = 10923 /* a sixth */
};

/* How many entries one column of a pair may give to the other. */
static int64_t roster_spare(const int64_t *p)
{
    const int64_t low = p[2] / p[1], high = p[0] - low - 1;
    const int64_t least = low < high ? low : high;
    return high < 0 ? 0 : least / 3;
}

/* The entries of column j: Z/C rounded so that they sum to Z, and some moved between the columns of a
 * pair. */
static int64_t roster_length(const int64_t *p, int64_t j)
{
    const int64_t ncols = p[1], even = j & ~(int64_t)1, base = p[2] / ncols + (j < p[2] % ncols);
    if (even + 1 >= ncols) return base;
    const int64_t moved = below(hash(0x4a1, (uint64_t)even), roster_spare(p) + 1);
    return j == even ? base - moved : base + moved;
}

static int64_t roster(const void *arg, int64_t j, int32_t *trip, double *val)
{
    const int64_t *p = arg, nrows = p[0], length = roster_length(p, j), run = j / RAIL_RUN;
    (void)val;
    if (!trip || !length) return length;
    const int64_t most = p[2] / p[1] + 1 + roster_spare(p), longest = most < nrows ? most : nrows;
    const int64_t widest = nrows / longest - 1, gap = widest < RAIL_GAP ? widest : RAIL_GAP;
    int64_t at = skewed(hash(0x4a2, (uint64_t)run), RAIL_SKEW, nrows);
    for (int64_t k = 0; k < length; k++) {
        const int64_t room = 1 + below(hash2(0x4a3, run, k), gap + 1);
        const uint64_t h = hash2(0x4a4, j, k);
        trip[k] = (int32_t)((at + (chance(h, RAIL_OTHER) ? below(h, room) : 0)) % nrows);
        at += room;
    }
    return length;
}

static bool rail_make(const int64_t *p, int threads, generated *g)
{
    *g = (generated){ .nrows = p[1], .ncols = p[0] };
    return build_rows(g, threads, roster, p) && transpose(g, false);
}

/* ---- stochlp: a linear program with S scenarios: their rows share the first columns and have a block of
 * their own ---- */

static int64_t stochlp_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    enum { SHARED = 3, OWN_COLUMNS = 5 };
    const int64_t *p = arg, nrows = p[1], ncols = p[2], scenario = i / nrows;
    const uint64_t row = (uint64_t)(i % nrows);
    const int64_t shared = row % 4 == 0 ? SHARED : 0, own = OWN_COLUMNS;
    if (!col) return shared + own;
    distinct_columns(hash(0x570, row), shared, ncols, col, scratch(val));
    distinct_columns(hash(0x571, row), own, ncols, col + shared, scratch(val));
    for (int64_t k = shared; k < shared + own; k++) col[k] += (int32_t)((scenario + 1) * ncols);
    return shared + own;
}

static bool stochlp_make(const int64_t *p, int threads, generated *g)
{
    return build_rows(g, threads, stochlp_row, p);
}

static void stochlp_size(const int64_t *p, shape *s)
{
    const double scenarios = (double)p[0], nrows = (double)p[1], ncols = (double)p[2];
    *s = (shape){ scenarios * nrows, (scenarios + 1) * ncols,
                  scenarios * (5 * nrows + 3 * (double)((p[1] + 3) / 4)) };
}

const family rectangular_families[] = {
    { { "random_R_C_Z", "Z entries anywhere in R x C", "Z nonzeros exactly",
        "spal_004: 10203 x 321696, 46168124 nonzeros, as random_10203_321696_46168124" },
      .least = { 1, 1, 0 },
      .most = { 0, 0, (int64_t)1 << 40 },
      .values = RANDOM,
      .size = random_size,
      .make = random_make },
    { { "dense_R[_C]", "every entry", "R C nonzeros", "-" },
      .least = { 1, 1 },
      .defaults = { 0, SAME },
      .values = RANDOM,
      .size = dense_size,
      .make = dense_make },
    { { "thin_R_C[_D[_E]]", "few columns: D draws a row, E percent of the rows empty",
        "about R (1 - E/100) C (1 - (1 - 1/C)^D) nonzeros; D = 4, E = 0", "-" },
      .least = { 1, 1, 1, 0 },
      .most = { 0, 0, 65536, 100 },
      .defaults = { 0, 0, 4, 0 },
      .values = RANDOM,
      .size = thin_size,
      .make = thin_make },
    { { "sls_R_C_L", "least squares: rows of 1 to L entries anywhere",
        "R (L+1)/2 nonzeros for an even R; L is C at the most", "sls: 1748122 x 62729, 6804304 nonzeros" },
      .least = { 1, 1, 1 },
      .values = RANDOM,
      .size = sls_size,
      .make = sls_make },
    { { "rail_R_C_Z", "set covering: R trips, C rosters", "Z nonzeros exactly, 2/3 to 4/3 of Z/C a column",
        "rail4284: 4284 x 1096894 with 4284 slack columns, 11284032 nonzeros; air02: 50 x 6774, 61555" },
      .least = { 1, 1, 0 },
      .most = { 0, 0, (int64_t)1 << 40 },
      .size = random_size,
      .make = rail_make },
    { { "stochlp_S[_R_C]", "stochastic linear program: S scenarios of R rows and C columns",
        "rows SR, columns (S+1)C; 5 nonzeros a row, 8 in every fourth; R = 100, C = 120", "-" },
      .least = { 1, 1, 5 },
      .defaults = { 0, 100, 120 },
      .values = RANDOM,
      .size = stochlp_size,
      .make = stochlp_make },
    { .info = { 0 } },
};
