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
                                          .methods = methods };
    (void)open_right, (void)open_wrong, (void)open_unsuited, (void)open_failing, (void)fail, (void)bytes;
    return &library;
}
