/* What the peers share: row pointers of 32 bits; and the formats that are built for cuSPARSE, multiplied
 * here. */
#include <stdlib.h>
#include <string.h>

#include "peer_support.h"
#include "peers/blocks.h"

/* Sizes beyond 32 bits, for the peers whose indices have no more; nothing is read of such a matrix. */
static void test_narrow(void **state)
{
    (void)state;
    const int64_t wide = INT64_C(3000000000), ptr[] = { 0, 1, 5 };
    peer_matrix
        A = { .nrows = 2, .ncols = 9, .nnz = 5, .ptr = ptr, .ptr_bits = 64, .val_bits = 64, .threads = 1 },
        narrow;
    peer_error e = { "" };
    int32_t *own;
    assert_int_equal(peer_narrow(&A, &narrow, &own, &e), PEER_OK);
    assert_ptr_equal(narrow.ptr, own);
    assert_true(narrow.ptr_bits == 32 && own[0] == 0 && own[1] == 1 && own[2] == 5);
    const int32_t ptr32[] = { 0, 1, 5 };
    peer_matrix B = A;
    B.ptr = ptr32;
    B.ptr_bits = 32;
    free(own);
    assert_int_equal(peer_narrow(&B, &narrow, &own, &e), PEER_OK);
    assert_true(narrow.ptr == ptr32 && !own);
    int64_t *const sizes[] = { &A.nrows, &A.ncols, &A.nnz };
    const char *const texts[] = { "nrows is 3000000000", "ncols is 3000000000", "nnz is 3000000000" };
    for (int i = 0; i < 3; i++) {
        const int64_t was = *sizes[i];
        *sizes[i] = wide;
        assert_int_equal(peer_narrow(&A, &narrow, &own, &e), PEER_UNSUPPORTED);
        assert_non_null(strstr(e.text, texts[i]));
        assert_null(own);
        *sizes[i] = was;
    }
}

static void mul_sliced_ell(const blocks *b, const csr *c, int64_t slice, const void *x, void *y)
{
    int64_t entries = 0;
    for (int64_t r = 0; r < c->nrows; r++) {
        double sum = 0;
        for (int64_t k = b->ptr[r / slice] + r % slice; k < b->ptr[r / slice + 1]; k += slice)
            if (b->col[k] >= 0)
                sum += value_at(b->val, c->type, k) * value_at(x, c->type, b->col[k]), entries++;
            else assert_true(value_at(b->val, c->type, k) == 0);
        value_put(y, c->type, r, sum);
    }
    assert_int_equal(entries, c->nnz);
}

static void mul_bsr(const blocks *b, const csr *c, int64_t size, bool by_column, const void *x, void *y)
{
    for (int64_t r = 0; r < c->nrows; r++) {
        double sum = 0;
        for (int64_t k = b->ptr[r / size]; k < b->ptr[r / size + 1]; k++) {
            assert_true(k == b->ptr[r / size] || b->col[k - 1] < b->col[k]);
            for (int64_t j = 0; j < size; j++)
                sum += value_at(b->val, c->type,
                                k * size * size + (by_column ? j * size + r % size : r % size * size + j)) *
                       value_at(x, c->type, b->col[k] * size + j);
        }
        value_put(y, c->type, r, sum);
    }
}

static void check_blocks(const csr *c, int64_t size, bool by_column, const void *x, void *y)
{
    const peer_library host = { .on_device = 0 };
    const peer_matrix A = given(&host, c, 32, 1);
    peer_error e = { "" };
    blocks b;
    if (!sliced_ell_make(&A, size, &b, &e)) {
        mul_sliced_ell(&b, c, size, x, y);
        check_vector(c, 1, x, 0, NULL, y, "sliced ELL");
        blocks_free(&b);
    } else assert_non_null(strstr(e.text, "slots for"));
    const bool fits = c->nrows % size == 0 && c->ncols % size == 0;
    if (!bsr_make(&A, size, by_column, &b, &e)) {
        mul_bsr(&b, c, size, by_column, x, y);
        check_vector(c, 1, x, 0, NULL, y, "BSR");
        blocks_free(&b);
    } else assert_non_null(strstr(e.text, fits ? "slots for" : "is not in blocks of"));
    given_drop(&host, &A);
}

static void test_blocks(void **state)
{
    (void)state;
    for (int i = 3;; i++) {
        csr c = csr_of_case(i, false, SPMVX_F64);
        if (c.nnz < 0) break;
        void *x = vector(c.ncols, c.type, 5), *y = vector(c.nrows, c.type, 0);
        for (int64_t size = 1; size <= 64; size *= 2) check_blocks(&c, size, size % 3 == 1, x, y);
        check_blocks(&c, 61, true, x, y); /* divides the Laplacian of 61 x 61 */
        free(x);
        free(y);
        csr_drop(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_narrow), cmocka_unit_test(test_blocks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
