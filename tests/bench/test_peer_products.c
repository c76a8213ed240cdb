/* Peers of the benchmark: every sparse product of the modules named as arguments against a long-double
 * one, and what is refused. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "peer_support.h"

typedef struct dense {
    long double *sum, *weight;
    int64_t *terms, *met;
} dense;

static dense dense_new(int64_t n)
{
    const size_t m = (size_t)n + 1;
    const dense d = { calloc(m, sizeof *d.sum), calloc(m, sizeof *d.weight), calloc(m, sizeof *d.terms),
                      calloc(m, sizeof *d.met) };
    assert_true(d.sum && d.weight && d.terms && d.met);
    return d;
}

static void dense_drop(dense *d)
{
    free(d->sum);
    free(d->weight);
    free(d->terms);
    free(d->met);
}

/* Row r of the product, and of |A||B|; the row before is undone by the same walk. */
static void dense_row(const csr *a, const csr *b, int64_t r, dense *d, bool undo)
{
    for (int64_t i = a->ptr[r]; i < a->ptr[r + 1]; i++)
        for (int64_t k = b->ptr[a->col[i]]; k < b->ptr[a->col[i] + 1]; k++) {
            const int32_t j = b->col[k];
            const long double t = (long double)value_at(a->val, a->type, i) * value_at(b->val, b->type, k);
            d->sum[j] = undo ? 0 : d->sum[j] + t;
            d->weight[j] = undo ? 0 : d->weight[j] + fabsl(t);
            d->terms[j] = undo ? 0 : d->terms[j] + 1;
        }
}

/* Each column of a row at most once, each entry right, and the entries that are missing 0. */
static void check_row(const peer_matrix *C, const csr *a, const csr *b, int64_t r, dense *d, const char *what)
{
    const long double u = a->type == SPMVX_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    dense_row(a, b, r, d, false);
    for (int64_t k = peer_ptr(C, r); k < peer_ptr(C, r + 1); k++) {
        const int32_t j = C->col[k];
        assert_in_range(j, 0, C->ncols - 1);
        const long double error = fabsl(value_at(C->val, a->type, k) - d->sum[j]);
        if (d->met[j] == r + 1 || !(error <= 2 * (long double)(d->terms[j] + 1) * u * d->weight[j]))
            fail_msg("%s, '%s': row %lld, column %d is off by %Lg", what, a->name, (long long)r, j, error);
        d->met[j] = r + 1;
    }
    for (int64_t i = a->ptr[r]; i < a->ptr[r + 1]; i++)
        for (int64_t k = b->ptr[a->col[i]]; k < b->ptr[a->col[i] + 1]; k++)
            if (d->met[b->col[k]] != r + 1 && fabsl(d->sum[b->col[k]]) > u * d->weight[b->col[k]])
                fail_msg("%s, '%s': row %lld, column %d is missing", what, a->name, (long long)r, b->col[k]);
    dense_row(a, b, r, d, true);
}

/* A host's copy of an array of the peer's. */
static void *fetched(const peer_library *l, const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    assert_non_null(to);
    copy_out(l, to, from, bytes);
    return to;
}

static void check_product(const peer_library *l, const peer_product *p, const csr *a, const csr *b, void *h)
{
    peer_matrix C = { 0 };
    peer_error e = { "" };
    if (p->mul(h, &e) || p->result(h, &C, &e)) fail_msg("%s, '%s': %s", p->name, a->name, e.text);
    assert_true(C.nrows == a->nrows && C.ncols == b->ncols && C.val_bits == 8 * (int)value_bytes(a->type));
    void *ptr = fetched(l, C.ptr, (size_t)(C.nrows + 1) * (size_t)C.ptr_bits / 8),
         *col = fetched(l, C.col, (size_t)C.nnz * 4),
         *val = fetched(l, C.val, (size_t)C.nnz * value_bytes(a->type));
    C.ptr = ptr;
    C.col = col;
    C.val = val;
    assert_int_equal(peer_ptr(&C, 0), 0);
    assert_int_equal(peer_ptr(&C, C.nrows), C.nnz);
    dense d = dense_new(C.ncols);
    for (int64_t r = 0; r < C.nrows; r++) check_row(&C, a, b, r, &d, p->name);
    dense_drop(&d);
    free(ptr);
    free(col);
    free(val);
}

/* A times its transpose, twice. */
static void check_pair(const peer_library *l, const peer_product *p, int i, spmvx_type type)
{
    csr a = csr_of_case(i, false, type), b = csr_of_case(i, true, type);
    const peer_matrix A = given(l, &a, 64, 2), B = given(l, &b, 32, 2);
    peer_error e = { "" };
    void *h = NULL;
    if (p->open(p, &A, &B, &h, &e)) fail_msg("%s, '%s': %s", p->name, a.name, e.text);
    check_product(l, p, &a, &b, h);
    check_product(l, p, &a, &b, h);
    p->close(h);
    given_drop(l, &A);
    given_drop(l, &B);
    csr_drop(&a);
    csr_drop(&b);
}

static void test_products(void **state)
{
    (void)state;
    static const int cases[] = { 3, 4, 5, 7, 8, 9, 11, 12, 15 }; /* those whose products are small */
    int count = 0;
    for (int k = 0; k < module_count; k++)
        for (int i = 0; modules[k].started && i < modules[k].library->product_count; i++, count++)
            for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
                check_pair(modules[k].library, &modules[k].library->products[i], cases[n], SPMVX_F64);
                check_pair(modules[k].library, &modules[k].library->products[i], cases[n], SPMVX_F32);
            }
    if (!count) skip();
}

static void test_refusals(void **state)
{
    (void)state;
    csr c = csr_of_case(4, false, SPMVX_F64);
    peer_error e = { "" };
    void *h = NULL;
    int count = 0;
    for (int k = 0; k < module_count; k++)
        for (int i = 0; modules[k].started && i < modules[k].library->product_count; i++, count++) {
            const peer_product *p = &modules[k].library->products[i];
            const peer_matrix A = given(modules[k].library, &c, 32, 2);
            peer_matrix B = A;
            B.val_bits = 128;
            assert_int_equal(p->open(p, &A, &B, &h, &e), PEER_UNSUPPORTED);
            assert_non_null(strstr(e.text, "val_bits is 128"));
            assert_null(h);
            given_drop(modules[k].library, &A);
        }
    csr_drop(&c);
    if (!count) skip();
}

int main(int argc, char **argv)
{
    if (!modules_load(argc, argv)) return EXIT_FAILURE;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_products), cmocka_unit_test(test_refusals) };
    return modules_verdict(cmocka_run_group_tests(tests, modules_start, modules_finish));
}
