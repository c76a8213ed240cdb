/* Slices of PACKED: which of three ways tells their columns, and in how many bytes. */
#include <string.h>

#include "core/context.h"
#include "format/packed_slices.h"
#include "support.h"

enum { MOST = 64, LANES = SPX_PACKED_LANES };

/* Rows of a slice, as they are given one after the other. */
typedef struct rows {
    int32_t col[LANES * MOST];
    spx_packed_piece p[LANES];
    int count;
    int64_t nnz;
} rows;

static void put_row(rows *r, int length, const int32_t *col)
{
    assert_true(length <= MOST && r->count < LANES);
    memcpy(r->col + r->nnz, col, (size_t)length * sizeof *col);
    r->p[r->count] = (spx_packed_piece){ r->nnz, r->count, length, r->count };
    r->nnz += length;
    r->count++;
}

/* Measures them as part of a matrix of so many entries. */
static spx_packed_slice measure(const rows *r, int64_t nnz)
{
    spx_array col = { .data = (void *)(uintptr_t)r->col };
    const spx_sparse csr = { .format = SPMVX_CSR, .val_type = SPMVX_F64, .nnz = nnz, .slot[SPX_COL] = &col };
    const spx_packed_lanes lanes = { &csr, r->p, r->count };
    return spx_packed_measure(&lanes);
}

/* `unknowns` rows for each node, with `neighbours` nodes of `unknowns` columns each, which are `apart` from
 * each other. */
static void put_nodes(rows *r, int unknowns, int neighbours, int32_t apart)
{
    for (int32_t row = 0; row < LANES; row++) {
        int32_t col[MOST], n = 0;
        for (int32_t k = 0; k < neighbours; k++)
            for (int32_t u = 0; u < unknowns; u++)
                col[n++] = (row / unknowns * 7 + k * k) % 31 * apart + k * 40 * apart + u;
        put_row(r, n, col);
    }
}

static void test_nodes(void **state)
{
    (void)state;
    /* 11 nodes of three unknowns in 32 rows, offsets of 11 patterns in 24 bytes, for three steps */
    rows three = { 0 };
    put_nodes(&three, 3, 4, 100);
    spx_packed_slice m = measure(&three, 1000);
    assert_int_equal(m.kind, SPX_PACKED_SHARED);
    assert_int_equal(m.steps, 12);
    assert_int_equal(m.shared.begins, 0x49249249);
    assert_int_equal(m.shared.run, 3);
    assert_int_equal(m.shared.wide, 0);
    assert_int_equal(m.bytes, 8 + 4 * 24);
    /* the same so far apart that 16 bits do not tell it */
    rows far = { 0 };
    put_nodes(&far, 3, 4, 10000);
    m = measure(&far, 1000);
    assert_int_equal(m.kind, SPX_PACKED_SHARED);
    assert_int_equal(m.shared.wide, 1);
    assert_int_equal(m.bytes, 8 + 4 * 44);
    /* one unknown a node has nothing to share, */
    rows one = { 0 };
    put_nodes(&one, 1, 9, 100);
    m = measure(&one, 1000);
    assert_int_equal(m.kind, SPX_PACKED_OFFSETS);
    assert_int_equal(m.bytes, 9 * 64);
}

/* Offsets are shared from 5/8 of their bytes and 384 bytes less on, by lanes or by runs of steps. */
static void test_worth(void **state)
{
    (void)state;
    for (int patterns = 1; patterns <= LANES; patterns++)
        for (int32_t run = 1; run <= 3; run++) {
            rows r = { 0 };
            for (int32_t row = 0; row < LANES; row++) {
                const int32_t own = row < patterns ? row : patterns - 1;
                int32_t col[12];
                for (int32_t k = 0; k < 12; k++) col[k] = own * own + k / run * 3000 + k % run;
                put_row(&r, 12, col);
            }
            const int bytes = 8 + 12 / run * (patterns + patterns % 2) * 2;
            const spx_packed_slice m = measure(&r, 1000);
            const bool worth = 8 * bytes <= 5 * 12 * 64 && bytes + 384 <= 12 * 64;
            assert_int_equal(m.kind, worth ? SPX_PACKED_SHARED : SPX_PACKED_OFFSETS);
            assert_int_equal(m.bytes, m.kind == SPX_PACKED_SHARED ? bytes : 12 * 64);
        }
}

/* Lanes without a row, and rows without entries, share no row's columns; runs are what all rows have. */
static void test_odd_lanes(void **state)
{
    (void)state;
    static const int32_t eight[] = { 5, 6, 7, 8, 9, 10, 20, 21 }, two[] = { 90, 91 },
                         late[] = { 6, 7, 8, 9, 10, 12, 20, 21 };
    rows r = { 0 };
    for (int i = 0; i < 10; i++) put_row(&r, 8, eight);
    for (int i = 0; i < 10; i++) put_row(&r, i < 5 ? 2 : 0, two);
    spx_packed_slice m = measure(&r, 1000);
    assert_int_equal(m.kind, SPX_PACKED_SHARED);
    assert_int_equal(m.steps, 8);
    assert_int_equal(m.shared.run, 2);
    assert_int_equal(m.shared.begins, 1 | 1 << 10 | 1 << 15); /* empty rows, and no rows, alike */
    assert_int_equal(m.bytes, 8 + 4 * 8);
    put_row(&r, 8, late); /* a run of five, and one more */
    m = measure(&r, 1000);
    assert_int_equal(m.shared.run, 1);
    assert_int_equal(m.shared.begins, 1 | 1 << 10 | 1 << 15 | 1 << 20 | 1 << 21);
    /* nothing at all */
    rows none = { 0 };
    put_row(&none, 0, two);
    assert_int_equal(measure(&none, 0).steps, 0);
    assert_int_equal(measure(&none, 0).bytes, 0);
}

/* Where there are diagonals, matrices that may stay in a cache have these, others the fewer bytes. */
static void test_diagonals(void **state)
{
    (void)state;
    rows grid = { 0 }, stencil = { 0 };
    for (int32_t row = 0; row < LANES; row++) { /* nine columns in a row, of three nodes: 11 diagonals */
        int32_t nine[9];
        for (int32_t k = 0; k < 9; k++) nine[k] = row / 3 * 3 + k;
        put_row(&grid, 9, nine);
        put_row(&stencil, 3, (const int32_t[]){ row, row + 1, row + 40 });
    }
    spx_packed_slice m = measure(&grid, (int64_t)4 << 20);
    assert_int_equal(m.kind, SPX_PACKED_DIAGONALS);
    assert_int_equal(m.steps, 11);
    assert_int_equal(m.bytes, 44);
    m = measure(&grid, ((int64_t)4 << 20) + 1);
    assert_int_equal(m.kind, SPX_PACKED_SHARED);
    assert_int_equal(m.steps, 9);
    assert_int_equal(m.shared.run, 9);
    assert_int_equal(m.bytes, 8 + 24);
    m = measure(&stencil, (int64_t)1 << 30);
    assert_int_equal(m.kind, SPX_PACKED_DIAGONALS);
    assert_int_equal(m.steps, 3);
}

/* Rows that are alike share their columns where they are cut, too: pieces come by turns. */
static void test_cut_rows(void **state)
{
    (void)state;
    enum { ROWS = 70, COLS = 200 };
    static double val[ROWS * COLS], x[COLS], y[ROWS], back[ROWS * COLS];
    static int32_t row[ROWS * COLS], col[ROWS * COLS];
    int64_t nnz = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < (r == 40 ? 3 : COLS); c++, nnz++) { /* a block with another row is as it comes */
            row[nnz] = r;
            col[nnz] = c;
            val[nnz] = (double)(r * 7 + c * 3 % 11) / 8;
            x[c] = c % 5 - 2;
        }
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.nrows = ROWS, a.ncols = COLS, a.nnz = nnz;
    a.row = row, a.col = col, a.val = val, a.val_type = SPMVX_F64;
    a.format = SPMVX_COO;
    spmvx_matrix *coo = NULL, *packed = NULL, *csr = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &coo));
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = "packed:piece=50,values=raw";
    o.sigma = 1;
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &packed));
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_get_info(packed, &info));
    /* 38 rows by one offset each 50 steps, 32 by 16 bits an entry, a base a step, a row a lane */
    assert_true(info.bytes_held < (size_t)info.stored * 8 + 32 * COLS * 2 + (size_t)info.stored / 8 + 4096);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, packed, x, 0.0, y));
    for (int64_t k = 0; k < nnz; k++) y[row[k]] -= val[k] * x[col[k]];
    for (int r = 0; r < ROWS; r++) assert_true(y[r] < 1e-9 && y[r] > -1e-9);
    spmvx_convert_options to = SPMVX_CONVERT_OPTIONS_INIT;
    to.format = SPMVX_CSR;
    assert_ok(ctx, spmvx_matrix_convert(ctx, packed, &to, &csr));
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    assert_ok(ctx, spmvx_matrix_arrays(csr, &v));
    assert_int_equal(v.nnz, nnz);
    memcpy(back, v.val, (size_t)nnz * sizeof *back);
    assert_memory_equal(back, val, (size_t)nnz * sizeof *back);
    assert_memory_equal(v.col, col, (size_t)nnz * sizeof *col);
    spmvx_matrix_destroy(csr);
    spmvx_matrix_destroy(packed);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_nodes), cmocka_unit_test(test_worth),
                                        cmocka_unit_test(test_odd_lanes), cmocka_unit_test(test_diagonals),
                                        cmocka_unit_test(test_cut_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
