/* Communities of a graph's vertices side by side, small ones within large ones. Vertices are taken by rising
 * degree; each joins the neighbouring community by which modularity gains most, or stays alone where none
 * does. The order goes through the trees that this makes, a vertex before those that have joined it.
 * A community keeps its edges to others, with their weights, in the places of its members' own edges, which
 * are linked as a chain; they are gathered when its first vertex is taken. What has been gathered PASSES
 * times with more than FEW edges joins nothing: else a grid's points, each of which joins the next one with
 * all edges so far, would take time in proportion to the square of their number. Differs from the source in
 * this, and in that it runs on one thread, so that the order is always the same.
 * Source: Arai et al., Rabbit Order: just-in-time parallel reordering for fast graph analysis, IPDPS 2016. */
#include "format/reorder.h"

enum { PASSES = 32, FEW = 32 };
#define NONE UINT32_MAX

typedef struct forest {
    spx_graph *g;
    float *weight;                                       /* of each edge */
    uint32_t *held;                                      /* edges in a member's places */
    uint32_t *next, *last;                               /* chain of members that hold edges */
    uint32_t *root;                                      /* towards the community's first vertex */
    uint32_t *above, *first_below, *last_below, *beside; /* trees of those that joined */
    uint32_t *passes;                                    /* how often edges were gathered, many at a time */
    uint32_t *met;                                       /* communities that the taken one has edges to */
    double *strength;                                    /* sums of degrees */
    double *sum;                                         /* weights to each community that was met; else 0 */
    double total;                                        /* of all degrees */
} forest;

static uint32_t root_of(forest *f, uint32_t v)
{
    while (f->root[v] != v) v = f->root[v] = f->root[f->root[v]];
    return v;
}

/* Sums the weights of a community's edges by the communities that they lead to; how many these are. */
static int64_t gather(forest *f, uint32_t v)
{
    int64_t met = 0;
    for (uint32_t m = v; m != NONE; m = f->next[m])
        for (int64_t k = f->g->first[m]; k < f->g->first[m] + f->held[m]; k++) {
            const uint32_t u = root_of(f, f->g->neighbour[k]);
            if (u == v) continue;
            if (f->sum[u] == 0.0) f->met[met++] = u;
            f->sum[u] += (double)f->weight[k];
        }
    return met;
}

/* Puts the sums in the places of the edges that they are of; members without any leave the chain. */
static void hold(forest *f, uint32_t v, int64_t met)
{
    int64_t done = 0;
    uint32_t m = v;
    for (;; m = f->next[m]) {
        const int64_t at = f->g->first[m], room = spx_min(spx_degree(f->g, m), met - done);
        for (int64_t k = 0; k < room; k++, done++) {
            f->g->neighbour[at + k] = f->met[done];
            f->weight[at + k] = (float)f->sum[f->met[done]];
        }
        f->held[m] = (uint32_t)room;
        if (done == met) break;
    }
    f->next[m] = NONE;
    f->last[v] = m;
}

/* The community that gains most, and the least of such; NONE where nothing is gained. */
static uint32_t best_of(const forest *f, uint32_t v, int64_t met)
{
    uint32_t best = NONE;
    double most = 0.0;
    for (int64_t i = 0; i < met; i++) {
        const uint32_t u = f->met[i];
        const double gain = f->sum[u] - f->strength[v] * f->strength[u] / f->total;
        if (gain > most || (best != NONE && gain == most && u < best)) most = gain, best = u;
    }
    return best;
}

static void join(forest *f, uint32_t v, uint32_t to)
{
    f->root[v] = to;
    f->strength[to] += f->strength[v];
    if (f->passes[to] < f->passes[v]) f->passes[to] = f->passes[v];
    f->next[f->last[to]] = v;
    f->last[to] = f->last[v];
    f->above[v] = to;
    if (f->last_below[to] == NONE) f->first_below[to] = v;
    else f->beside[f->last_below[to]] = v;
    f->last_below[to] = v;
}

static void grow(forest *f, const uint32_t *by_degree)
{
    for (int64_t i = 0; i < f->g->n; i++) {
        const uint32_t v = by_degree[i];
        const int64_t met = gather(f, v);
        f->passes[v] += met > FEW;
        const uint32_t to = f->passes[v] < PASSES ? best_of(f, v, met) : NONE;
        hold(f, v, met);
        for (int64_t k = 0; k < met; k++) f->sum[f->met[k]] = 0.0;
        if (to != NONE) join(f, v, to);
    }
}

/* Trees by the number of their first vertex, each vertex before those below it. */
static void list(const forest *f, uint32_t *order)
{
    int64_t placed = 0;
    for (int64_t r = 0; r < f->g->n; r++) {
        if (f->above[r] != NONE) continue;
        for (uint32_t v = (uint32_t)r; v != NONE;) {
            order[placed++] = v;
            if (f->first_below[v] != NONE) {
                v = f->first_below[v];
                continue;
            }
            while (v != NONE && f->beside[v] == NONE) v = f->above[v];
            if (v != NONE) v = f->beside[v];
        }
    }
}

static void begin(forest *f)
{
    const spx_graph *g = f->g;
    f->total = (double)g->first[g->n];
    for (int64_t k = 0; k < g->first[g->n]; k++) f->weight[k] = 1.0f;
    for (int64_t v = 0; v < g->n; v++) {
        f->held[v] = (uint32_t)spx_degree(g, v);
        f->strength[v] = (double)spx_degree(g, v);
        f->root[v] = f->last[v] = (uint32_t)v;
        f->passes[v] = 0;
        f->next[v] = f->above[v] = f->first_below[v] = f->last_below[v] = f->beside[v] = NONE;
    }
}

spmvx_status spx_cluster(const spmvx_context *ctx, spx_graph *g, uint32_t *order)
{
    forest f = { .g = g };
    uint32_t *by_degree = NULL,
             **const numbers[] = { &f.held,       &f.next,   &f.last, &f.root,   &f.above,  &f.first_below,
                                   &f.last_below, &f.beside, &f.met,  &f.passes, &by_degree };
    spmvx_status s =
        spx_alloc(ctx, spx_bytes(g->first[g->n], sizeof *f.weight), "weights of edges", &f.weight);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && s == SPMVX_OK; i++)
        s = spx_alloc(ctx, spx_bytes(g->n, sizeof(uint32_t)), "communities", numbers[i]);
    if (s == SPMVX_OK) s = spx_alloc(ctx, spx_bytes(g->n, sizeof *f.strength), "communities", &f.strength);
    if (s == SPMVX_OK) s = spx_calloc(ctx, spx_bytes(g->n, sizeof *f.sum), "communities", &f.sum);
    if (s == SPMVX_OK) s = spx_graph_by_degree(ctx, g, false, by_degree);
    if (s == SPMVX_OK) {
        begin(&f);
        grow(&f, by_degree);
        list(&f, order);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) spx_free(ctx, *numbers[i]);
    spx_free(ctx, f.weight);
    spx_free(ctx, f.strength);
    spx_free(ctx, f.sum);
    return s;
}
