/* Graphs: Mycielski's, Kronecker, roads, web links, star-shaped traffic. */
#include <stdlib.h>

#include "family.h"
#include "hash.h"

/* ---- Mycielskians: triangle-free, chromatic number K ----
 * From a graph A of n vertices to one of 2n+1: [A A 0; A 0 1; 0 1' 0], from an edge at K = 2.
 * Source: J. Mycielski, Sur le coloriage des graphes, 1955. */

static int64_t myciel_vertices(int64_t k)
{
    return ((int64_t)3 << (k - 2)) - 1;
}

/* Row i at level k, its columns shifted by base. */
static int64_t myciel_columns(int64_t k, int64_t i, int64_t base, int32_t *col)
{
    if (k == 2) {
        if (col) *col = (int32_t)(base + 1 - i);
        return 1;
    }
    const int64_t n = myciel_vertices(k - 1);
    if (i == 2 * n) {
        for (int64_t c = 0; col && c < n; c++) col[c] = (int32_t)(base + n + c);
        return n;
    }
    const int64_t found = myciel_columns(k - 1, i % n, base, col);
    if (i >= n) {
        if (col) col[found] = (int32_t)(base + 2 * n);
        return found + 1;
    }
    for (int64_t c = 0; col && c < found; c++) col[found + c] = col[c] + (int32_t)n;
    return 2 * found;
}

static int64_t myciel_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    (void)val;
    return myciel_columns(*(const int64_t *)arg, i, 0, col);
}

static void myciel_size(const int64_t *p, shape *s)
{
    double n = 2, nnz = 2;
    for (int64_t k = 2; k < p[0]; k++) {
        nnz = 3 * nnz + 2 * n;
        n = 2 * n + 1;
    }
    *s = (shape){ n, n, nnz };
}

static bool myciel_make(const int64_t *p, int threads, generated *g)
{
    return build_rows(g, threads, myciel_row, p);
}

/* ---- Kronecker graphs, vertices relabelled ----
 * Each of E 2^K edges falls through K levels of quadrants with probabilities .57 .19 .19 .05.
 * Source: J. Leskovec et al., 2005; Graph500. */

typedef struct kronecker {
    int64_t scale;
    int32_t *label;
} kronecker;

static bool kron_edge(const void *arg, int64_t e, int32_t *row, int32_t *col)
{
    enum { A = 37356, AB = 49807, ABC = 62259 }; /* of 65536 */
    const kronecker *k = arg;
    uint64_t h = 0;
    uint32_t u = 0, v = 0;
    for (int64_t bit = 0; bit < k->scale; bit++) {
        h = bit % 4 ? h >> 16 : hash(0x6b, (uint64_t)(e * 32 + bit));
        const uint32_t at = h & 0xffff;
        u = u << 1 | (at >= AB);
        v = v << 1 | ((at >= A && at < AB) || at >= ABC);
    }
    *row = k->label[u];
    *col = k->label[v];
    return u != v;
}

static void kron_size(const int64_t *p, shape *s)
{
    s->nrows = s->ncols = (double)((int64_t)1 << p[0]);
    const double edges = 2 * (double)p[1] * s->nrows, most = s->nrows * (s->nrows - 1);
    s->nnz = edges < most ? edges : most;
}

static bool kron_make(const int64_t *p, int threads, generated *g)
{
    const kronecker k = { p[0], permutation(g->nrows, 0x6c) };
    const bool ok = k.label && build_edges(g, threads, p[1] * g->nrows, kron_edge, true, &k);
    free(k.label);
    return ok;
}

/* ---- roads: a square grid that keeps P of 100 edges ---- */

static bool road_edge(const void *arg, int64_t e, int32_t *row, int32_t *col)
{
    const int64_t *p = arg, n = p[0], i = e / 2, other = i + (e % 2 ? n : 1);
    *row = (int32_t)i;
    *col = (int32_t)other;
    return (e % 2 ? other < n * n : other % n) && below(hash(0x20ad, (uint64_t)e), 100) < p[1];
}

static void road_size(const int64_t *p, shape *s)
{
    const double n = (double)p[0];
    *s = (shape){ n * n, n * n, 4 * n * (n - 1) };
}

static bool road_make(const int64_t *p, int threads, generated *g)
{
    return build_edges(g, threads, 2 * g->nrows, road_edge, true, p);
}

/* ---- web: pages with a power law of links, half of them near, half to popular pages anywhere ---- */

enum { WEB_MOST = 13, WEB_MORE = 30640, WEB_POPULAR = 49152, WEB_NEAR = 58982, WEB_REACH = 4096 };

static int64_t web_links(int64_t i)
{
    const uint64_t h = hash(0x3eb, (uint64_t)i);
    const int k = level(h, WEB_MORE, WEB_MOST - 1);
    return ((int64_t)1 << k) + below(mix(h), (int64_t)1 << k);
}

static int64_t web_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    const int64_t n = *(const int64_t *)arg, links = web_links(i);
    if (!col) return links;
    for (int64_t k = 0; k < links; k++) {
        const uint64_t h = hash2(0x3ec, i, k), far = mix(h);
        const int64_t step = skewed(far, WEB_NEAR, n < WEB_REACH ? n : WEB_REACH) + 1,
                      near = h >> 63 ? i + step : i - step;
        const bool local = chance(h, 32768) && near >= 0 && near < n;
        col[k] = (int32_t)(local ? near : scatter(skewed(far, WEB_POPULAR, n), n));
    }
    sort_columns(col, links, n, (int32_t *)(void *)val);
    return unique_columns(col, links);
}

static void web_size(const int64_t *p, shape *s)
{
    s->nrows = s->ncols = (double)p[0];
    s->nnz = s->nrows * (p[0] < 8 ? (double)p[0] : 8);
}

static bool web_make(const int64_t *p, int threads, generated *g)
{
    return build_rows(g, threads, web_row, p);
}

/* ---- mawi: traffic seen at one place: most talk to one host, the rest to a few busy ones ---- */

enum { MAWI_HUB = 27745, MAWI_BUSY = 29491, MAWI_SKEW = 52429 }; /* 0.4234, 0.45 and 0.8 */

static bool mawi_edge(const void *arg, int64_t e, int32_t *row, int32_t *col)
{
    const int64_t n = *(const int64_t *)arg, i = e % n;
    const uint64_t h = hash(0x3a31, (uint64_t)e);
    const bool hub = e < n;
    const int64_t other = hub ? 0 : scatter(skewed(mix(h), MAWI_SKEW, n), n);
    *row = (int32_t)i;
    *col = (int32_t)other;
    return i != other && chance(h, hub ? MAWI_HUB : MAWI_BUSY);
}

static void mawi_size(const int64_t *p, shape *s)
{
    s->nrows = s->ncols = (double)p[0];
    s->nnz = s->nrows * (p[0] < 2 ? (double)p[0] : 2);
}

static bool mawi_make(const int64_t *p, int threads, generated *g)
{
    return build_edges(g, threads, 2 * g->nrows, mawi_edge, true, p);
}

const family graph_families[] = {
    { { "mycielskianK", "Mycielski graph of chromatic number K",
        "rows 3 2^(K-2) - 1; nonzeros z(2) = 2, z(K+1) = 3 z(K) + 2 rows(K)",
        "mycielskian17: 98303 rows, 100245742 nonzeros: the same" },
      .least = { 2 },
      .most = { 29 },
      .symmetric = true,
      .size = myciel_size,
      .make = myciel_make },
    { { "kron_gK[_eE]", "Kronecker graph of Graph500",
        "rows 2^K, nonzeros up to 2E 2^K less loops and repeats; E = 16",
        "kron_g500-logn20 (E = 48): 1048576 rows, 89239674 nonzeros" },
      .least = { 1, 1 },
      .most = { 30, 1024 },
      .defaults = { 0, 16 },
      .symmetric = true,
      .size = kron_size,
      .make = kron_make },
    { { "road_N[_P]", "N x N streets, P = 70 percent of them open", "rows N^2, nonzeros about 4N(N-1) P/100",
        "road_usa: 23947347 rows, 57708624 nonzeros (P = 60 gives 2.4 a row)" },
      .least = { 1, 0 },
      .most = { 46340, 100 },
      .defaults = { 0, 70 },
      .symmetric = true,
      .size = road_size,
      .make = road_make },
    { { "web_N", "links of N pages, power law out and in, half of them near",
        "about 6 nonzeros a row, up to 8191", "webbase-1M: 1000005 rows, 3105536 nonzeros" },
      .least = { 1 },
      .size = web_size,
      .make = web_make },
    { { "mawi_N", "traffic: one host talks to 0.42 N, some to many",
        "about 1.75 nonzeros a row, a quarter of them in row 0",
        "mawi_201512012345: 18571154 rows, 38040320 nonzeros" },
      .least = { 1 },
      .symmetric = true,
      .size = mawi_size,
      .make = mawi_make },
    { .info = { 0 } },
};
