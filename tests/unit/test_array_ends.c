/* No kernel of the host reads or writes outside of what it is given: every array, x and y end where a page
 * begins that may not be touched, or begin where one ends. What lies inside but is no entry (padding, and
 * columns of x that no entry meets) is NaN. */
#include "support.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"

/* A copy between two pages that may not be touched, at the one or the other. */
typedef struct guarded {
    char *map;
    size_t bytes;
    void *at;
} guarded;

static guarded guard(const void *from, size_t bytes, bool at_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page + page;
    guarded g = { .bytes = inner + 2 * page };
    g.map = mmap(NULL, g.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    g.at = g.map + page + (at_end ? inner - bytes : 0);
    if (bytes) memcpy(g.at, from, bytes);
    assert_int_equal(mprotect(g.map, page, PROT_NONE), 0);
    assert_int_equal(mprotect(g.map + page + inner, page, PROT_NONE), 0);
    return g;
}

static void unguard(guarded *g)
{
    munmap(g->map, g->bytes);
}

static size_t index_bytes(spmvx_type t)
{
    return t == SPMVX_I64 ? 8 : 4;
}

/* Elements of a format's arrays. */
typedef struct lengths {
    size_t ptr, row, col, val;
} lengths;

static lengths lengths_of(const spmvx_arrays *a)
{
    const size_t rows = (size_t)a->nrows, nnz = (size_t)a->nnz;
    switch (a->format) {
    case SPMVX_COO: return (lengths){ 0, nnz, nnz, nnz };
    case SPMVX_CSR: return (lengths){ rows + 1, 0, nnz, nnz };
    case SPMVX_CSC: return (lengths){ (size_t)a->ncols + 1, nnz, 0, nnz };
    case SPMVX_ELL: return (lengths){ 0, 0, rows * (size_t)a->width, rows * (size_t)a->width };
    case SPMVX_SELL: {
        const size_t slices = (rows + (size_t)a->slice - 1) / (size_t)a->slice;
        const size_t places = a->ptr_type == SPMVX_I64 ? (size_t)((const int64_t *)a->ptr)[slices]
                                                       : (size_t)((const int32_t *)a->ptr)[slices];
        return (lengths){ slices + 1, a->row ? rows : 0, places, places };
    }
    case SPMVX_BSR: {
        const size_t n = (rows + (size_t)a->block_rows - 1) / (size_t)a->block_rows;
        const size_t blocks = a->ptr_type == SPMVX_I64 ? (size_t)((const int64_t *)a->ptr)[n]
                                                       : (size_t)((const int32_t *)a->ptr)[n];
        return (lengths){ n + 1, 0, blocks, blocks * (size_t)(a->block_rows * a->block_cols) };
    }
    default: return (lengths){ 0, 0, (size_t)a->width, (size_t)a->width * rows };
    }
}

/* The same arrays at guard pages, lent to a matrix. */
typedef struct fenced {
    guarded ptr, row, col, val;
    spmvx_matrix *A;
} fenced;

static fenced fence(spmvx_context *ctx, const spmvx_matrix *of, bool at_end)
{
    fenced f;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    assert_ok(ctx, spmvx_matrix_arrays(of, &a));
    const lengths n = lengths_of(&a);
    f.ptr = guard(a.ptr, n.ptr * index_bytes(a.ptr_type), at_end);
    f.row = guard(a.row, n.row * index_bytes(a.idx_type), at_end);
    f.col = guard(a.col, n.col * index_bytes(a.idx_type), at_end);
    f.val = guard(a.val, n.val * value_bytes(a.val_type), at_end);
    if (a.format == SPMVX_SELL || a.format == SPMVX_ELL)
        for (size_t k = 0; k < n.val; k++)
            if (((const int32_t *)f.col.at)[k] < 0) value_put(f.val.at, a.val_type, (int64_t)k, NAN);
    if (n.ptr) a.ptr = f.ptr.at;
    if (n.row) a.row = f.row.at;
    if (n.col) a.col = f.col.at;
    if (n.val) a.val = f.val.at;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &f.A));
    return f;
}

static void unfence(fenced *f)
{
    spmvx_matrix_destroy(f->A);
    unguard(&f->ptr);
    unguard(&f->row);
    unguard(&f->col);
    unguard(&f->val);
}

/* Multiplies by the kernel between guard pages, and looks at y. */
static void multiply(spmvx_context *ctx, const spmvx_matrix *source, const char *kernel, const triples *t,
                     spmvx_type type, bool at_end)
{
    const size_t each = value_bytes(type);
    double *x = test_malloc((size_t)t->ncols * sizeof *x),
           *want = test_calloc((size_t)t->nrows, sizeof *want),
           *size = test_calloc((size_t)t->nrows, sizeof *size);
    for (int64_t j = 0; j < t->ncols; j++) x[j] = NAN;
    for (int64_t k = 0; k < t->nnz; k++) x[t->col[k]] = 0.25 * (double)(t->col[k] % 7 - 3);
    for (int64_t k = 0; k < t->nnz; k++) {
        want[t->row[k]] += t->val[k] * x[t->col[k]];
        size[t->row[k]] += fabs(t->val[k] * x[t->col[k]]);
    }
    char *plain = test_calloc((size_t)(t->ncols > t->nrows ? t->ncols : t->nrows) + 1, each);
    for (int64_t j = 0; j < t->ncols; j++) value_put(plain, type, j, x[j]);
    guarded gx = guard(plain, (size_t)t->ncols * each, at_end);
    for (int64_t r = 0; r < t->nrows; r++) value_put(plain, type, r, NAN);
    guarded gy = guard(plain, (size_t)t->nrows * each, at_end);
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *A = NULL;
    o.kernel = kernel;
    const spmvx_status s = spmvx_matrix_convert(ctx, source, &o, &A);
    if (s != SPMVX_ERR_LIMIT && s != SPMVX_ERR_UNSUPPORTED) {
        assert_ok(ctx, s);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, gx.at, 0.0, gy.at));
        const double eps = type == SPMVX_F64 ? 1e-12 : 1e-4;
        for (int64_t r = 0; r < t->nrows; r++) {
            const double got = value_at(gy.at, type, r);
            if (!(fabs(got - want[r]) <= eps * (size[r] + 1e-300)))
                fail_msg("%s, %s: row %lld is %g, not %g", t->name, kernel, (long long)r, got, want[r]);
        }
    }
    spmvx_matrix_destroy(A);
    unguard(&gx);
    unguard(&gy);
    test_free(plain);
    test_free(x);
    test_free(want);
    test_free(size);
}

/* Bands with gaps and ragged ends, so that diagonals, blocks and slices are cut everywhere. */
static triples banded(int64_t n)
{
    const int64_t most = n * 8;
    triples t = { .name = "bands", .nrows = n, .ncols = n + 3 };
    t.row = test_malloc((size_t)most * sizeof *t.row);
    t.col = test_malloc((size_t)most * sizeof *t.col);
    t.val = test_malloc((size_t)most * sizeof *t.val);
    uint64_t seed = 7;
    static const int64_t offset[] = { -33, -3, -1, 0, 1, 2, 3, 40 };
    for (int64_t r = 0; r < n; r++)
        for (int d = 0; d < 8; d++) {
            const int64_t c = r + offset[d];
            if (c < 0 || c >= t.ncols || case_random(&seed) % 8 == 0) continue;
            t.row[t.nnz] = (int32_t)r;
            t.col[t.nnz] = (int32_t)c;
            t.val[t.nnz++] = case_value(&seed);
        }
    return t;
}

static void drop(triples *t)
{
    test_free(t->row);
    test_free(t->col);
    test_free(t->val);
}

static spmvx_matrix *in_format(spmvx_context *ctx, const spmvx_matrix *coo, spmvx_format format,
                               int64_t slice)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *A = NULL;
    o.format = format;
    o.slice = slice;
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &A));
    return A;
}

static void walk(spmvx_context *ctx, const triples *t, spmvx_type type, bool at_end)
{
    static const struct {
        spmvx_format format;
        int64_t slice;
    } sources[] = { { SPMVX_COO, 0 },  { SPMVX_CSR, 0 },   { SPMVX_CSC, 0 },  { SPMVX_ELL, 0 },
                    { SPMVX_SELL, 8 }, { SPMVX_SELL, 13 }, { SPMVX_SELL, 32 } };
    spmvx_matrix *coo = case_coo(ctx, t, type);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        spmvx_matrix *own = in_format(ctx, coo, sources[i].format, sources[i].slice);
        fenced f = fence(ctx, own, at_end);
        for (int32_t k = 0; k < spmvx_kernel_count(); k++) {
            spmvx_kernel_info info = SPMVX_KERNEL_INFO_INIT;
            assert_ok(ctx, spmvx_kernel_get_info(k, &info));
            if (info.operation != SPMVX_MUL || info.place != SPMVX_HOST) continue;
            if (info.format != sources[i].format && sources[i].format != SPMVX_CSR) continue;
            multiply(ctx, f.A, info.name, t, type, at_end);
        }
        unfence(&f);
        spmvx_matrix_destroy(own);
    }
    spmvx_matrix_destroy(coo);
}

/* Full blocks, lent as BSR, whose last block sticks out of the matrix by more than half. */
static void test_blocks(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    static const int64_t sizes[] = { 1, 2, 3, 4, 5, 6, 8, 12, 16 };
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const int64_t b = sizes[i / 2], blocks = 5, n = b * blocks - (b > 4 ? b / 2 + 3 : b - 1);
        triples t = { .name = "blocks", .nrows = n, .ncols = n };
        t.row = test_malloc((size_t)(n * n) * sizeof *t.row);
        t.col = test_malloc((size_t)(n * n) * sizeof *t.col);
        t.val = test_malloc((size_t)(n * n) * sizeof *t.val);
        uint64_t seed = 3;
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < n; c++)
                if ((r / b + c / b) % 2 == 0) {
                    t.row[t.nnz] = (int32_t)r;
                    t.col[t.nnz] = (int32_t)c;
                    t.val[t.nnz++] = case_value(&seed);
                }
        for (int type = 0; type < 2; type++) {
            const spmvx_type v = type ? SPMVX_F32 : SPMVX_F64;
            spmvx_matrix *coo = case_coo(ctx, &t, v), *own = NULL;
            spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
            o.format = SPMVX_BSR;
            o.block_rows = o.block_cols = b;
            assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &own));
            fenced f = fence(ctx, own, i % 2);
            multiply(ctx, f.A, "bsr", &t, v, i % 2);
            multiply(ctx, f.A, "bsr@c", &t, v, i % 2);
            unfence(&f);
            spmvx_matrix_destroy(own);
            spmvx_matrix_destroy(coo);
        }
        drop(&t);
    }
    spmvx_context_destroy(ctx);
}

/* Rows that share their columns by `alike`, in runs, the last of which ends where x does; or, far apart, is
 * told by 32 bits. */
static triples shared(int64_t alike, int64_t run, bool far)
{
    enum { ROWS = 101, RUNS = 12 };
    const int64_t apart = far ? 7000 : 17;
    triples t = { .name = far ? "shared, far" : "shared", .nrows = ROWS, .ncols = (RUNS + 1) * apart + run };
    t.row = test_malloc((size_t)(ROWS * RUNS * run) * sizeof *t.row);
    t.col = test_malloc((size_t)(ROWS * RUNS * run) * sizeof *t.col);
    t.val = test_malloc((size_t)(ROWS * RUNS * run) * sizeof *t.val);
    uint64_t seed = 11;
    for (int64_t r = 0; r < ROWS; r++) {
        const int64_t node = r / alike, runs = RUNS - node % 3;
        for (int64_t k = 0; k < runs; k++)
            for (int64_t u = 0; u < run; u++) {
                const int64_t own = k * apart + node % 13 * (far ? 5800 : 1),
                              first = k + 1 == runs ? t.ncols - run : own % (t.ncols - run);
                t.row[t.nnz] = (int32_t)r;
                t.col[t.nnz] = (int32_t)(first + u);
                t.val[t.nnz++] = case_value(&seed);
            }
    }
    return t;
}

static void test_shared(void **state)
{
    (void)state;
    static const char *const kernels[] = { "packed@c", "packed@avx2", "packed@avx512" };
    static const int64_t alike[] = { 1, 2, 3, 8, 40 }, runs[] = { 1, 2, 3, 4, 7 };
    spmvx_context *ctx = test_context(NULL, 1);
    for (size_t i = 0; i < 2 * sizeof alike / sizeof *alike; i++)
        for (size_t j = 0; j < 2 * sizeof runs / sizeof *runs; j++) {
            triples t = shared(alike[i / 2], runs[j / 2], j % 2);
            const spmvx_type type = i % 2 ? SPMVX_F32 : SPMVX_F64;
            spmvx_matrix *coo = case_coo(ctx, &t, type);
            for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
                for (int end = 0; end < 2; end++) multiply(ctx, coo, kernels[k], &t, type, end);
            spmvx_matrix_destroy(coo);
            drop(&t);
        }
    spmvx_context_destroy(ctx);
}

static void test_kernels(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    static const int64_t sizes[] = { 1, 5, 31, 64, 65, 130, 257 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        triples t = banded(sizes[i]);
        for (int end = 0; end < 2; end++) {
            walk(ctx, &t, SPMVX_F64, end);
            walk(ctx, &t, SPMVX_F32, end);
        }
        drop(&t);
    }
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_blocks), cmocka_unit_test(test_shared),
                                        cmocka_unit_test(test_kernels) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
