/* Peers for the tests of `spmvx bench`: methods that are right, unsuited, out of memory and failing; and,
 * with PEER_TEST_BAD, one that is wrong. With TURNS=FILE in the environment each multiplication by one that
 * is right adds its name and the address of its x there. */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"

typedef struct handle {
    const char *name;
    peer_matrix copy;
    double bias;
} handle;

static int open_right(const peer_method *method, const peer_matrix *m, void **out, peer_error *error)
{
    handle *h = calloc(1, sizeof *h);
    if (!h) {
        snprintf(error->text, sizeof error->text, "no memory");
        return PEER_FAILED;
    }
    h->name = method->name;
    h->copy = *m;
    *out = h;
    return PEER_OK;
}

static int open_wrong(const peer_method *method, const peer_matrix *m, void **out, peer_error *error)
{
    const int status = open_right(method, m, out, error);
    if (status == PEER_OK) ((handle *)*out)->bias = 0.5;
    return status;
}

static int open_unsuited(const peer_method *method, const peer_matrix *m, void **out, peer_error *error)
{
    (void)method, (void)m, (void)out;
    snprintf(error->text, sizeof error->text, "this peer serves nobody");
    return PEER_UNSUPPORTED;
}

static int open_failing(const peer_method *method, const peer_matrix *m, void **out, peer_error *error)
{
    (void)method, (void)m, (void)out;
    snprintf(error->text, sizeof error->text, "this peer finds no memory");
    return PEER_FAILED;
}

static void note_turn(const handle *h, const void *x)
{
    const char *path = getenv("TURNS");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f) return;
    fprintf(f, "%s %p\n", h->name, x);
    fclose(f);
}

static int mul(void *arg, double alpha, const void *x, double beta, void *y, peer_error *error)
{
    (void)error;
    const handle *h = arg;
    const peer_matrix *m = &h->copy;
    note_turn(h, x);
    for (int64_t r = 0; r < m->nrows; r++) {
        const int64_t from = m->ptr_bits == 64 ? ((const int64_t *)m->ptr)[r] : ((const int32_t *)m->ptr)[r];
        const int64_t to =
            m->ptr_bits == 64 ? ((const int64_t *)m->ptr)[r + 1] : ((const int32_t *)m->ptr)[r + 1];
        double sum = h->bias;
        for (int64_t k = from; k < to; k++)
            sum += m->val_bits == 64
                       ? ((const double *)m->val)[k] * ((const double *)x)[m->col[k]]
                       : (double)((const float *)m->val)[k] * (double)((const float *)x)[m->col[k]];
        if (m->val_bits == 64) ((double *)y)[r] = alpha * sum + (beta != 0 ? beta * ((double *)y)[r] : 0);
        else ((float *)y)[r] = (float)(alpha * sum + (beta != 0 ? beta * (double)((float *)y)[r] : 0));
    }
    return 0;
}

static int fail(void *arg, double alpha, const void *x, double beta, void *y, peer_error *error)
{
    (void)arg, (void)alpha, (void)x, (void)beta, (void)y;
    snprintf(error->text, sizeof error->text, "this peer fails");
    return PEER_FAILED;
}

/* ---- C = A*B, by a dense row ---- */

typedef struct product {
    peer_matrix A, B;
    int64_t *ptr, nnz;
    int32_t *col;
    double *val;
    double bias;
} product;

static int open_product(const peer_product *p, const peer_matrix *A, const peer_matrix *B, void **out,
                        peer_error *error)
{
    product *h = A->val_bits == 64 ? calloc(1, sizeof *h) : NULL;
    if (!h) {
        snprintf(error->text, sizeof error->text, "this peer has products of f64 alone");
        return PEER_UNSUPPORTED;
    }
    h->A = *A;
    h->B = *B;
    h->bias = p->variant ? 0.5 : 0;
    *out = h;
    return PEER_OK;
}

static int64_t at(const peer_matrix *m, int64_t r)
{
    return m->ptr_bits == 64 ? ((const int64_t *)m->ptr)[r] : ((const int32_t *)m->ptr)[r];
}

static void drop_product(product *h)
{
    free(h->ptr);
    free(h->col);
    free(h->val);
    h->ptr = NULL;
    h->col = NULL;
    h->val = NULL;
}

static void close_product(void *arg)
{
    drop_product(arg);
    free(arg);
}

/* Every entry of C stands there, zeros too. */
static int mul_product(void *arg, peer_error *error)
{
    (void)error;
    product *h = arg;
    const int64_t m = h->A.nrows, n = h->B.ncols;
    drop_product(h);
    h->nnz = m * n;
    h->ptr = malloc((size_t)(m + 1) * sizeof *h->ptr);
    h->col = malloc((size_t)h->nnz * sizeof *h->col);
    h->val = calloc((size_t)h->nnz, sizeof *h->val);
    for (int64_t r = 0; r <= m; r++) h->ptr[r] = r * n;
    for (int64_t k = 0; k < h->nnz; k++) h->col[k] = (int32_t)(k % n);
    for (int64_t r = 0; r < m; r++)
        for (int64_t e = at(&h->A, r); e < at(&h->A, r + 1); e++)
            for (int64_t k = at(&h->B, h->A.col[e]); k < at(&h->B, h->A.col[e] + INT64_C(1)); k++)
                h->val[r * n + h->B.col[k]] +=
                    ((const double *)h->A.val)[e] * ((const double *)h->B.val)[k] + h->bias;
    return 0;
}

static int result_of_product(void *arg, peer_matrix *C, peer_error *error)
{
    (void)error;
    const product *h = arg;
    *C = (peer_matrix){ .nrows = h->A.nrows,
                        .ncols = h->B.ncols,
                        .nnz = h->nnz,
                        .ptr = h->ptr,
                        .ptr_bits = 64,
                        .col = h->col,
                        .val = h->val,
                        .val_bits = 64 };
    return 0;
}

static int fail_product(void *arg, peer_error *error)
{
    (void)arg;
    snprintf(error->text, sizeof error->text, "this product fails");
    return PEER_FAILED;
}

#define PRODUCT(title, call, ...)                                                                          \
    {                                                                                                      \
        .name = title, .summary = "dense", .open = open_product, .mul = call, .result = result_of_product, \
        .close = close_product, __VA_ARGS__                                                                \
    }
#ifndef PEER_TEST_BAD
static const peer_product products[] = { PRODUCT("fake-product", mul_product, .refills = 0),
                                         PRODUCT("fake-refill", mul_product, .refills = 1),
                                         PRODUCT("fake-no-product", fail_product, .refills = 0) };
#else
static const peer_product products[] = { PRODUCT("fake-wrong-product", mul_product, .variant = "wrong") };
#endif

static size_t bytes(void *arg)
{
    (void)arg;
    return sizeof(handle);
}

#ifndef PEER_TEST_BAD
static const peer_method methods[] = {
    { .name = "fake-right",
      .summary = "row by row",
      .open = open_right,
      .mul = mul,
      .bytes = bytes,
      .close = free },
    { .name = "fake-too",
      .summary = "the same",
      .open = open_right,
      .mul = mul,
      .bytes = bytes,
      .close = free },
    { .name = "fake-unsuited", .summary = "serves nobody", .open = open_unsuited, .mul = mul, .close = free },
    { .name = "fake-memory", .summary = "is not set up", .open = open_failing, .mul = mul, .close = free },
    { .name = "fake-failing",
      .summary = "does not multiply",
      .open = open_right,
      .mul = fail,
      .close = free },
};
#else
static const peer_method methods[] = {
    { .name = "fake-wrong", .summary = "half too much", .open = open_wrong, .mul = mul, .close = free },
};
#endif

const peer_library *spmvx_peer(void)
{
    static const peer_library library = { .interface_version = PEER_INTERFACE,
                                          .name = "fake",
                                          .version = "1.2",
                                          .count = sizeof methods / sizeof *methods,
                                          .methods = methods,
                                          .product_count = sizeof products / sizeof *products,
                                          .products = products };
    (void)open_right, (void)open_wrong, (void)open_unsuited, (void)open_failing, (void)fail, (void)bytes,
        (void)fail_product;
    return &library;
}
