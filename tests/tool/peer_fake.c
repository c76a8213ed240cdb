/* A peer for the tests of `spmvx bench`: methods that are right, wrong, unsuited and failing. */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"

typedef struct handle {
    const peer_matrix *m;
    peer_matrix copy;
    double bias;
} handle;

static int open_right(const peer_matrix *m, void **out, char *error, size_t size)
{
    handle *h = calloc(1, sizeof *h);
    if (!h) {
        snprintf(error, size, "no memory");
        return PEER_FAILED;
    }
    h->copy = *m;
    *out = h;
    return PEER_OK;
}

static int open_wrong(const peer_matrix *m, void **out, char *error, size_t size)
{
    const int status = open_right(m, out, error, size);
    if (status == PEER_OK) ((handle *)*out)->bias = 0.5;
    return status;
}

static int open_unsuited(const peer_matrix *m, void **out, char *error, size_t size)
{
    (void)m, (void)out;
    snprintf(error, size, "this peer serves nobody");
    return PEER_UNSUPPORTED;
}

static int mul(void *arg, double alpha, const void *x, double beta, void *y)
{
    const handle *h = arg;
    const peer_matrix *m = &h->copy;
    for (int64_t r = 0; r < m->nrows; r++) {
        const int64_t from = m->ptr_bits == 64 ? ((const int64_t *)m->ptr)[r] : ((const int32_t *)m->ptr)[r];
        const int64_t to = m->ptr_bits == 64 ? ((const int64_t *)m->ptr)[r + 1] : ((const int32_t *)m->ptr)[r + 1];
        double sum = h->bias;
        for (int64_t k = from; k < to; k++)
            sum += m->val_bits == 64 ? ((const double *)m->val)[k] * ((const double *)x)[m->col[k]]
                                     : (double)((const float *)m->val)[k] * (double)((const float *)x)[m->col[k]];
        if (m->val_bits == 64) ((double *)y)[r] = alpha * sum + (beta != 0 ? beta * ((double *)y)[r] : 0);
        else ((float *)y)[r] = (float)(alpha * sum + (beta != 0 ? beta * (double)((float *)y)[r] : 0));
    }
    return 0;
}

static int fail(void *arg, double alpha, const void *x, double beta, void *y)
{
    (void)arg, (void)alpha, (void)x, (void)beta, (void)y;
    return 1;
}

static size_t bytes(void *arg)
{
    (void)arg;
    return sizeof(handle);
}

#ifndef PEER_TEST_BAD
static const peer_method methods[] = {
    { "fake-right", "row by row", open_right, mul, bytes, free },
    { "fake-unsuited", "serves nobody", open_unsuited, mul, NULL, free },
};
#else
static const peer_method methods[] = {
    { "fake-wrong", "half too much", open_wrong, mul, NULL, free },
    { "fake-failing", "does not multiply", open_right, fail, NULL, free },
};
#endif

const peer_library *spmvx_peer(void);
const peer_library *spmvx_peer(void)
{
    static const peer_library library = { PEER_INTERFACE, "fake", "1.2", sizeof methods / sizeof *methods, methods, 0, NULL };
    (void)open_right, (void)open_wrong, (void)open_unsuited, (void)fail, (void)bytes;
    return &library;
}
