/* Shared by the tests of peers. */
#include "peer_support.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

module modules[MOST_MODULES];
int module_count;

/* ---- memory where the library wants it ---- */

static int (*device_malloc)(void **, size_t), (*device_copy)(void *, const void *, size_t, int),
    (*device_free)(void *);

/* The CUDA runtime that the module brings. */
static void find_device(const module *m)
{
    *(void **)&device_malloc = dlsym(m->handle, "cudaMalloc");
    *(void **)&device_copy = dlsym(m->handle, "cudaMemcpy");
    *(void **)&device_free = dlsym(m->handle, "cudaFree");
    assert_true(device_malloc && device_copy && device_free);
}

enum { TO_DEVICE = 1, FROM_DEVICE = 2 }; /* cudaMemcpyKind */

void *place(const peer_library *l, const void *values, size_t bytes)
{
    void *p = NULL;
    if (l->on_device) assert_int_equal(device_malloc(&p, bytes + 1), 0);
    else p = malloc(bytes + 1);
    assert_non_null(p);
    if (l->on_device) assert_int_equal(device_copy(p, values, bytes, TO_DEVICE), 0);
    else if (bytes) memcpy(p, values, bytes);
    return p;
}

void release(const peer_library *l, const void *p)
{
    if (l->on_device) device_free((void *)(uintptr_t)p);
    else free((void *)(uintptr_t)p);
}

void copy_in(const peer_library *l, void *to, const void *from, size_t bytes)
{
    if (l->on_device) assert_int_equal(device_copy(to, from, bytes, TO_DEVICE), 0);
    else memcpy(to, from, bytes);
}

void copy_out(const peer_library *l, void *to, const void *from, size_t bytes)
{
    if (l->on_device) assert_int_equal(device_copy(to, from, bytes, FROM_DEVICE), 0);
    else memcpy(to, from, bytes);
}

/* ---- matrices ---- */

typedef struct entry {
    int32_t row, col;
    double val;
} entry;

static int compare(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    return a->row != b->row ? (a->row > b->row) - (a->row < b->row) : (a->col > b->col) - (a->col < b->col);
}

csr csr_make(const triples *t, bool transposed, spmvx_type type)
{
    csr c = { .name = t->name,
              .nrows = transposed ? t->ncols : t->nrows,
              .ncols = transposed ? t->nrows : t->ncols,
              .type = type };
    entry *e = malloc((size_t)(t->nnz + 1) * sizeof *e);
    c.ptr = calloc((size_t)c.nrows + 1, sizeof *c.ptr);
    c.ptr32 = calloc((size_t)c.nrows + 1, sizeof *c.ptr32);
    c.col = malloc((size_t)(t->nnz + 1) * sizeof *c.col);
    c.val = malloc((size_t)(t->nnz + 1) * 8);
    assert_true(e && c.ptr && c.ptr32 && c.col && c.val);
    for (int64_t k = 0; k < t->nnz; k++)
        e[k] = transposed ? (entry){ t->col[k], t->row[k], t->val[k] }
                          : (entry){ t->row[k], t->col[k], t->val[k] };
    qsort(e, (size_t)t->nnz, sizeof *e, compare);
    for (int64_t k = 0; k < t->nnz; k++) {
        const bool repeat = k && e[k].row == e[k - 1].row && e[k].col == e[k - 1].col;
        if (!repeat) c.ptr[e[k].row + 1]++, c.nnz++;
        c.col[c.nnz - 1] = e[k].col;
        value_put(c.val, type, c.nnz - 1, e[k].val + (repeat ? value_at(c.val, type, c.nnz - 1) : 0));
    }
    for (int64_t r = 0; r < c.nrows; r++) c.ptr[r + 1] += c.ptr[r];
    for (int64_t r = 0; r <= c.nrows; r++) c.ptr32[r] = (int32_t)c.ptr[r];
    free(e);
    return c;
}

csr csr_of_case(int i, bool transposed, spmvx_type type)
{
    triples t = case_make(i);
    if (t.nnz < 0) return (csr){ .nnz = -1 };
    csr c = csr_make(&t, transposed, type);
    triples_free(&t);
    return c;
}

void csr_drop(csr *c)
{
    free(c->ptr);
    free(c->ptr32);
    free(c->col);
    free(c->val);
}

peer_matrix given(const peer_library *l, const csr *c, int ptr_bits, int threads)
{
    peer_matrix A = { .nrows = c->nrows,
                      .ncols = c->ncols,
                      .nnz = c->nnz,
                      .ptr_bits = ptr_bits,
                      .val_bits = 8 * (int)value_bytes(c->type),
                      .threads = threads,
                      .expected_muls = 100 };
    A.ptr = place(l, ptr_bits == 64 ? (const void *)c->ptr : c->ptr32,
                  (size_t)(c->nrows + 1) * (size_t)ptr_bits / 8);
    A.col = place(l, c->col, (size_t)c->nnz * 4);
    A.val = place(l, c->val, (size_t)c->nnz * value_bytes(c->type));
    return A;
}

void given_drop(const peer_library *l, const peer_matrix *A)
{
    release(l, A->ptr);
    release(l, A->col);
    release(l, A->val);
}

/* ---- vectors ---- */

void *vector(int64_t n, spmvx_type type, uint64_t seed)
{
    void *v = malloc((size_t)(n + 1) * 8);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) value_put(v, type, i, seed ? case_value(&seed) : NAN);
    return v;
}

void check_vector(const csr *c, double alpha, const void *x, double beta, const void *before, const void *y,
                  const char *what)
{
    const long double u = c->type == SPMVX_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    for (int64_t r = 0; r < c->nrows; r++) {
        const long double b = beta == 0 ? 0 : beta * (long double)value_at(before, c->type, r);
        long double sum = 0, weight = 0;
        for (int64_t k = c->ptr[r]; k < c->ptr[r + 1]; k++) {
            const long double t = (long double)value_at(c->val, c->type, k) * value_at(x, c->type, c->col[k]);
            sum += t;
            weight += fabsl(t);
        }
        const long double n = (long double)(c->ptr[r + 1] - c->ptr[r]) + 4;
        const long double error = fabsl(value_at(y, c->type, r) - (alpha * sum + b));
        if (!(error <= 2 * n * u * (fabsl(alpha) * weight + fabsl(b))))
            fail_msg("%s, '%s', f%d, alpha %g, beta %g: row %lld is off by %Lg", what, c->name,
                     8 * (int)value_bytes(c->type), alpha, beta, (long long)r, error);
    }
}

/* ---- modules ---- */

static bool load(module *m, const char *path)
{
    m->path = path;
    m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const peer_library *(*peer)(void) = NULL;
    if (m->handle) *(void **)&peer = dlsym(m->handle, "spmvx_peer");
    if (!peer) {
        fprintf(stderr, "%s: %s\n", path, dlerror());
        return false;
    }
    m->library = peer();
    return m->library->interface_version == PEER_INTERFACE;
}

int modules_start(void **state)
{
    (void)state;
    for (int k = 0; k < module_count; k++) {
        const peer_library *l = modules[k].library;
        peer_error e = { "" };
        const int code = l->start ? l->start(&e) : PEER_OK;
        if (code == PEER_FAILED || (code && !*e.text))
            fail_msg("%s: start answers %d, %s", l->name, code, e.text);
        modules[k].started = code == PEER_OK;
        printf("%s: %s\n", l->name, modules[k].started ? l->version : e.text);
        if (modules[k].started) assert_true(l->version && *l->version);
        if (modules[k].started && l->on_device) find_device(&modules[k]);
    }
    return 0;
}

int modules_finish(void **state)
{
    (void)state;
    for (int k = 0; k < module_count; k++)
        if (modules[k].started && modules[k].library->finish) modules[k].library->finish();
    return 0;
}

bool modules_load(int argc, char **argv)
{
    for (; module_count < argc - 1 && module_count < MOST_MODULES; module_count++)
        if (!load(&modules[module_count], argv[module_count + 1])) return false;
    return true;
}

int modules_verdict(int failed)
{
    bool ran = false;
    for (int k = 0; k < module_count; k++) ran = ran || modules[k].started;
    return failed ? EXIT_FAILURE : ran ? EXIT_SUCCESS : 77;
}
