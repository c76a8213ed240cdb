/* C = A*B row by row (Gustavson): the columns of C first (kernel/product_columns.c), then the values, added
 * up in a dense row of sums that starts from -0, the number that changes none by being added to. Rows of A
 * that follow each other with the same columns (unknowns of one node) share each entry of B that is read, and
 * rows of B that do so each sum.
 * Sources: Gustavson, ACM TOMS 4(3), 1978; Gilbert, Moler & Schreiber, Sparse matrices in MATLAB, SIAM J.
 * Matrix Anal. Appl. 13(1), 1992. */
#ifndef SPX_V
#include "kernel/product_parts.h"
#include "kernel/short_rows.h"

enum {
    AHEAD = 8, /* entries of A whose rows of B are fetched before their turn */
    RUN = 64   /* rows of few columns that are filled by one call, at most */
};

typedef struct job {
    const spx_sparse *A, *B, *C;
    int64_t ahead;        /* where A's entries end */
    const int64_t *bound; /* where parts begin */
    void *own;            /* the threads' sums */
    int64_t lanes;        /* sums of a column: 1 or SPX_GROUP */
    uint64_t *same;       /* rows of B with the columns of the row before; or NULL */
    spx_fill_few *few;    /* of rows of few columns; or NULL */
} job;

/* The end of those rows before `last` behind which there are SPX_FEW_COLUMNS entries before last's. */
static int64_t few_end(const spx_sparse *C, int64_t first, int64_t last)
{
    const int64_t end = spx_ptr_at(C, last) - SPX_FEW_COLUMNS;
    while (last > first && spx_ptr_at(C, last) > end) last--;
    return last;
}

/* Rows from r on, before `last`, of SPX_FEW_COLUMNS columns at most; *columns: half of that or all. */
static int64_t few_at(const spx_sparse *C, int64_t r, int64_t last, int *columns)
{
    int64_t n = 0, most = 0;
    for (; r + n < last && n < RUN; n++) {
        const int64_t length = spx_ptr_at(C, r + n + 1) - spx_ptr_at(C, r + n);
        if (length > SPX_FEW_COLUMNS) break;
        most = spx_max(most, length);
    }
    *columns = most > SPX_FEW_COLUMNS / 2 ? SPX_FEW_COLUMNS : SPX_FEW_COLUMNS / 2;
    return n;
}

/* Sums of a column: SPX_GROUP where most entries are of rows that share their columns with others. */
static int64_t lanes_of(const spx_plan *plan)
{
    const int64_t *bound = plan->state->data;
    return 2 * bound[spx_parts_of(plan->state) + 1] > plan->C.nnz ? SPX_GROUP : 1;
}

static const char DENSE_ROW[] = "a dense row of C";

/* The plan's state: the rows where parts begin, the end, and how many entries are of rows that share their
 * columns. */
spmvx_status spx_dense_window_analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                      spx_plan *plan, const spx_short_rows *steps)
{
    SPX_TRY(spx_parts_cut(ctx, A, B, &plan->state));
    int64_t *bound = plan->state->data;
    const int64_t parts = spx_parts_of(plan->state),
                  threads = spx_min(parts, spx_threads_for(ctx->threads, plan->products));
    SPX_TRY(spx_product_columns(ctx, A, B, plan, plan->state, steps, &bound[parts + 1]));
    const size_t row = spx_bytes(B->ncols, spx_type_bytes(B->val_type));
    plan->work = spx_block_bytes(spx_bytes(threads * lanes_of(plan), row));
    if (lanes_of(plan) > 1) plan->work = spx_plus(plan->work, spx_same_rows_bytes(B));
    /* what values need at least is refused now, not when they come */
    void *least;
    SPX_TRY(spx_alloc(ctx, row, DENSE_ROW, &least));
    spx_free(ctx, least);
    return SPMVX_OK;
}

static spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    return spx_dense_window_analyse(ctx, A, B, plan, NULL);
}

#define SPX_TEMPLATE "kernel/spmspm_dense_window.c"
#include "kernel/each_value.h"

spmvx_status spx_dense_window_fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A,
                                   const spx_sparse *B, spx_sparse *C, const spx_short_rows *steps)
{
    static spx_body *const bodies[] = { spx_fill_rows_f32, spx_fill_rows_f64 };
    const int64_t *bound = plan->state->data, parts = spx_parts_of(plan->state);
    const size_t row = spx_bytes(B->ncols, spx_type_bytes(B->val_type));
    job j = {
        .A = A, .B = B, .C = C, .ahead = spx_ptr_at(A, A->nrows), .bound = bound, .lanes = lanes_of(plan)
    };
    if (spx_block_bytes(spx_bytes(j.lanes, row)) > spx_budget_left(ctx)) j.lanes = 1;
    if (steps && j.lanes == 1 && C->nnz <= SPX_FEW_COLUMNS * A->nrows)
        j.few = steps->fill[B->val_type == SPMVX_F64];
    if (j.lanes > 1) j.same = spx_same_rows(ctx, B, spx_bytes(j.lanes, row));
    const spmvx_status s = spx_parts_run(ctx, parts, plan->products, spx_bytes(j.lanes, row), DENSE_ROW,
                                         bodies[B->val_type == SPMVX_F64], &j, &j.own);
    spx_free(ctx, j.same);
    return s;
}

static spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                         spx_sparse *C)
{
    return spx_dense_window_fill(ctx, plan, A, B, C, NULL);
}

const spx_product_kernel spx_spmspm_dense_window = {
    .name = "dense-window",
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "columns by bits, values by a dense row of sums, equal rows at once",
    .source = "Gustavson 1978; Gilbert, Moler & Schreiber 1992",
    .analyse = analyse,
    .fill = fill,
};

#else
/* A row of one entry in A, whose row of B has C's columns: nothing is added up. */
static bool SPX_VNAME(fill_scaled)(const job *j, int64_t r)
{
    const int64_t i = spx_ptr_at(j->A, r), to = spx_ptr_at(j->C, r), length = spx_ptr_at(j->C, r + 1) - to;
    if (spx_ptr_at(j->A, r + 1) != i + 1) return false;
    const int64_t row = ((const int32_t *)spx_data(j->A, SPX_COL))[i], from = spx_ptr_at(j->B, row);
    if (spx_ptr_at(j->B, row + 1) - from != length) return false;
    const int32_t *b_col = spx_data(j->B, SPX_COL), *c_col = j->C->slot[SPX_COL]->data;
    for (int64_t k = 0; k < length; k++)
        if (b_col[from + k] != c_col[to + k]) return false;
    const SPX_V a = ((const SPX_V *)spx_data(j->A, SPX_VAL))[i], *b = spx_data(j->B, SPX_VAL);
    SPX_V *val = j->C->slot[SPX_VAL]->data;
    for (int64_t k = 0; k < length; k++) val[to + k] = a * b[from + k];
    return true;
}

/* One row: sum has a place a column, and is -0 throughout before and after. */
static void SPX_VNAME(fill_row)(const job *j, int64_t r, SPX_V *restrict sum)
{
    if (SPX_VNAME(fill_scaled)(j, r)) return;
    const int32_t *a_col = spx_data(j->A, SPX_COL), *restrict b_col = spx_data(j->B, SPX_COL);
    const SPX_V *a = spx_data(j->A, SPX_VAL), *restrict b = spx_data(j->B, SPX_VAL);
    for (int64_t i = spx_ptr_at(j->A, r); i < spx_ptr_at(j->A, r + 1); i++) {
        const int64_t end = spx_ptr_at(j->B, a_col[i] + 1);
        if (i + AHEAD < j->ahead) {
            const int64_t next = spx_ptr_at(j->B, a_col[i + AHEAD]);
            __builtin_prefetch(b_col + next);
            __builtin_prefetch(b + next);
        }
        for (int64_t k = spx_ptr_at(j->B, a_col[i]); k < end; k++) sum[b_col[k]] += a[i] * b[k];
    }
    const int32_t *restrict col = j->C->slot[SPX_COL]->data;
    SPX_V *restrict val = j->C->slot[SPX_VAL]->data;
    for (int64_t i = spx_ptr_at(j->C, r), end = spx_ptr_at(j->C, r + 1); i < end; i++) {
        val[i] = sum[col[i]];
        sum[col[i]] = -(SPX_V)0;
    }
}

/* `like` entries of each of n rows of A with the same columns, entries apart, by as many rows of B, which
 * have the same columns, too: sum has SPX_GROUP places a column, and each is read once for all of them. */
SPX_INLINE void SPX_VNAME(add_like)(const int32_t *restrict col, const SPX_V *restrict b, int64_t length,
                                    const SPX_V *a, int64_t entries, int64_t n, int64_t like,
                                    SPX_V *restrict sum)
{
    SPX_V factor[SPX_GROUP][SPX_GROUP] = { { 0 } };
    for (int64_t l = 0; l < like; l++)
        for (int64_t g = 0; g < n; g++) factor[l][g] = a[l + g * entries];
    for (int64_t k = 0; k < length; k++) {
        SPX_V *restrict s = sum + (int64_t)col[k] * SPX_GROUP;
        for (int g = 0; g < SPX_GROUP; g++) {
            SPX_V v = s[g];
            for (int64_t l = 0; l < like; l++) v += factor[l][g] * b[l * length + k];
            s[g] = v;
        }
    }
}

/* n rows with the same columns. */
static void SPX_VNAME(fill_group)(const job *j, int64_t r, int64_t n, SPX_V *restrict sum)
{
    const int32_t *a_col = spx_data(j->A, SPX_COL), *b_col = spx_data(j->B, SPX_COL);
    const SPX_V *a = spx_data(j->A, SPX_VAL), *b = spx_data(j->B, SPX_VAL);
    const int64_t first = spx_ptr_at(j->A, r), entries = spx_ptr_at(j->A, r + 1) - first;
    for (int64_t i = first, like; i < first + entries; i += like) {
        const int64_t begin = spx_ptr_at(j->B, a_col[i]), length = spx_ptr_at(j->B, a_col[i] + 1) - begin;
        like = j->same ? spx_like_entries(a_col, i, first + entries, j->same) : 1;
        switch (like) {
        case 1: SPX_VNAME(add_like)(b_col + begin, b + begin, length, a + i, entries, n, 1, sum); break;
        case 2: SPX_VNAME(add_like)(b_col + begin, b + begin, length, a + i, entries, n, 2, sum); break;
        case 3: SPX_VNAME(add_like)(b_col + begin, b + begin, length, a + i, entries, n, 3, sum); break;
        default: SPX_VNAME(add_like)(b_col + begin, b + begin, length, a + i, entries, n, 4, sum);
        }
    }
    const int32_t *restrict col = j->C->slot[SPX_COL]->data;
    SPX_V *restrict val = j->C->slot[SPX_VAL]->data;
    const int64_t to = spx_ptr_at(j->C, r), length = spx_ptr_at(j->C, r + 1) - to;
    for (int64_t i = 0; i < length; i++) {
        SPX_V *restrict s = sum + (int64_t)col[to + i] * SPX_GROUP;
        for (int64_t g = 0; g < n; g++) val[to + g * length + i] = s[g];
        for (int g = 0; g < SPX_GROUP; g++) s[g] = -(SPX_V)0;
    }
}

static void SPX_VNAME(fill_groups)(const job *j, int64_t first, int64_t last, SPX_V *sum)
{
    for (int64_t i = 0; i < j->B->ncols * SPX_GROUP; i++) sum[i] = -(SPX_V)0;
    for (int64_t r = first, n; r < last; r += n) {
        n = spx_group_at(j->A, r, last);
        SPX_VNAME(fill_group)(j, r, n, sum);
    }
}

/* Sums are not touched before a row needs them, which those of few columns may not. */
static void SPX_VNAME(fill_each)(const job *j, int64_t first, int64_t last, SPX_V *sum)
{
    const int64_t few = j->few ? few_end(j->C, first, last) : first;
    bool ready = false;
    for (int64_t r = first, n; r < last; r += n) {
        int columns;
        n = few_at(j->C, r, few, &columns);
        if (n) {
            j->few(j->A, j->B, j->C, r, r + n, columns);
            continue;
        }
        for (int64_t i = ready ? j->B->ncols : 0; i < j->B->ncols; i++) sum[i] = -(SPX_V)0;
        ready = true;
        SPX_VNAME(fill_row)(j, r, sum);
        n = 1;
    }
}

static void SPX_VNAME(fill_rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    const job *j = arg;
    const int64_t first = j->bound[begin], last = j->bound[end];
    SPX_V *sum = (SPX_V *)j->own + thread * j->B->ncols * j->lanes;
    if (j->lanes > 1) SPX_VNAME(fill_groups)(j, first, last, sum);
    else SPX_VNAME(fill_each)(j, first, last, sum);
}
#endif
