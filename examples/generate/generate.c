/* From a name to a matrix: the sizes are checked before anything is allocated, the family makes the
 * structure, then values and order follow the endings of the name. */
#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "family.h"
#include "hash.h"

void generated_free(generated *g)
{
    if (!g) return;
    free(g->ptr);
    free(g->col);
    free(g->val);
    *g = (generated){ 0 };
}

/* ---- sizes ---- */

static double memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (double)pages * (double)page : 1e300;
}

static bool sizes_fit(const char *name, const shape *s, bool shuffled, char *error, size_t error_size)
{
    const double largest = 2147483647.0, bytes = 8 * (s->nrows + 1) + 12 * s->nnz;
    if (s->nrows > largest || s->ncols > largest) {
        snprintf(error, error_size, "%s has %.0f rows and %.0f columns; at most %.0f are possible", name,
                 s->nrows, s->ncols, largest);
    } else if (s->nnz > s->nrows * s->ncols) {
        snprintf(error, error_size, "%s has %.0f nonzeros in %.0f x %.0f, which holds %.0f", name, s->nnz,
                 s->nrows, s->ncols, s->nrows * s->ncols);
    } else if (shuffled && s->nrows != s->ncols) {
        snprintf(error, error_size, "%s: _shuffled needs a square matrix, and this one is %.0f x %.0f", name,
                 s->nrows, s->ncols);
    } else if (bytes > memory()) {
        snprintf(error, error_size, "%s: %.0f rows and %.0f nonzeros take %.3g GB, and this machine has %.3g",
                 name, s->nrows, s->nnz, 1e-9 * bytes, 1e-9 * memory());
    } else {
        return true;
    }
    return false;
}

/* ---- values ---- */

typedef struct values_job {
    const family *f;
    enum values values;
    bool square;
    generated *g;
} values_job;

/* Uniform in [0, 1); of a pair without order where the family is symmetric. */
static double unit_of(const values_job *j, int64_t i, int64_t c)
{
    return unit(j->f->symmetric && i > c ? hash2(0x7a1, c, i) : hash2(0x7a1, i, c));
}

/* Uniform in [-1, 1); a diagonal outweighs its row. */
static double random_value(const values_job *j, int64_t i, int64_t c)
{
    const double u = unit_of(j, i, c);
    return i == c && j->square ? (double)(j->g->ptr[i + 1] - j->g->ptr[i]) + u : 2 * u - 1;
}

/* From 1 to WEIGHTS, all alike. */
static double whole_value(const values_job *j, int64_t i, int64_t c)
{
    enum { WEIGHTS = 10000 };
    return (double)(1 + (int64_t)(WEIGHTS * unit_of(j, i, c)));
}

static double constant_value(const values_job *j, int64_t i, int64_t c)
{
    const double v = i == c ? j->f->diagonal : j->f->off_diagonal;
    return v != 0 ? v : 1;
}

static void set_values(void *arg, int64_t begin, int64_t end)
{
    const values_job *j = arg;
    const generated *g = j->g;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++)
            g->val[k] = j->values == AS_RANDOM  ? random_value(j, i, g->col[k])
                        : j->values == AS_WHOLE ? whole_value(j, i, g->col[k])
                                                : constant_value(j, i, g->col[k]);
}

/* ---- the matrix ---- */

static int threads_for(int asked)
{
    enum { MOST = 256 };
    int n = asked;
#ifdef _OPENMP
    if (n < 1) n = omp_get_max_threads();
#endif
    if (n < 1) return 1;
    return n > MOST ? MOST : n;
}

static bool make(const request *r, int threads, generated *g)
{
    if (!r->family->make(r->p, threads, g)) return false;
    if (r->family->values != OWN || r->values) {
        const enum values own = r->family->values == RANDOM ? AS_RANDOM : AS_CONSTANT;
        values_job j = { r->family, r->values ? r->values : own, g->nrows == g->ncols, g };
        parallel(threads, g->nrows, set_values, &j);
    }
    return !r->shuffled || shuffle(g);
}

bool generate(const char *name, int threads, generated *out, char *error, size_t error_size)
{
    *out = (generated){ 0 };
    request r;
    shape s;
    if (!parse_name(name, &r, error, error_size)) return false;
    r.family->size(r.p, &s);
    if (!sizes_fit(name, &s, r.shuffled, error, error_size)) return false;
    out->nrows = (int64_t)s.nrows;
    out->ncols = (int64_t)s.ncols;
    if (make(&r, threads_for(threads), out)) return true;
    generated_free(out);
    snprintf(error, error_size, "%s: no memory for %.0f rows and %.0f nonzeros", name, s.nrows, s.nnz);
    return false;
}
