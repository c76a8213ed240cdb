/* C = A*B row by row (Gustavson) without a branch a product: first the columns of C, by bits of a word that a
 * summary of words, and one of summaries, tell where to look for, so that they come out sorted; then the
 * values, added up in a dense row of sums that starts from -0, the number that changes none by being added
 * to. Rows of A that follow each other with the same columns (unknowns of one node) have the same columns in
 * C, and share each entry of B that is read. Parts of equal work are dealt to threads; what a part finds of
 * columns is kept, as far as the budget goes, and found again beyond that.
 * Sources: Gustavson, ACM TOMS 4(3), 1978; Gilbert, Moler & Schreiber, Sparse matrices in MATLAB, SIAM J.
 * Matrix Anal. Appl. 13(1), 1992; the bits: Deveci, Trott & Rajamanickam, Parallel Computing 78, 2018. */
#ifndef SPX_V
#include <string.h>

#include "kernel/product.h"

enum {
    GROUP = 4,      /* rows with the same columns that are taken at once */
    LEVELS = 3,     /* bits, and summaries of 64 */
    PARTS = 256,    /* at most */
    SLICES = 4096,  /* of rows, whose work is counted together; at most */
    WORK = 1 << 16, /* products of a part, at least */
    ROW_WORK = 8,   /* what a row costs beside its products */
    BLOCK = 1 << 16 /* columns that are allocated at once */
};

/* Columns of C that a part found: whole rows. */
typedef struct block {
    struct block *next;
    int64_t used;
    int32_t col[];
} block;

typedef struct part {
    int64_t first, last; /* rows */
    int64_t stored;      /* rows whose columns are in the blocks: first ... stored-1 */
    block *head, *tail;
    int64_t room;    /* left in the last block */
    int64_t grouped; /* rows that share their columns */
} part;

/* One bit a column, and where there are some: level l+1 has a bit for each word of level l. */
typedef struct marks {
    uint64_t *bit[LEVELS];
    int64_t low, high; /* words of the last level that may have bits */
} marks;

typedef struct job {
    spmvx_context *ctx;
    const spx_sparse *A, *B, *C; /* C: lengths of rows at first, in place of pointers */
    int64_t slices, *before;     /* the work before each slice */
    part *parts;
    const int64_t *bound; /* where parts begin */
    int64_t most;         /* entries of C that are worth keeping, */
    int64_t found;        /* and that were found so far, by all threads */
    void *own;            /* the threads': marks, or sums */
    int64_t lanes;        /* sums of a column: 1 or GROUP */
} job;

static int64_t words_of(int64_t ncols, int level)
{
    for (; level >= 0; level--) ncols = spx_ceil_div(ncols, 64);
    return ncols;
}

static int64_t marks_size(int64_t ncols)
{
    int64_t n = 0;
    for (int l = 0; l < LEVELS; l++) n += words_of(ncols, l);
    return n;
}

static void mark_word(marks *m, int64_t word, uint64_t bits)
{
    m->bit[0][word] |= bits;
    m->bit[1][word >> 6] |= UINT64_C(1) << (word & 63);
    m->bit[2][word >> 12] |= UINT64_C(1) << (word >> 6 & 63);
    m->low = spx_min(m->low, word >> 12);
    m->high = spx_max(m->high, word >> 12);
}

/* The columns of row r of C; answers how many products the row has. */
static int64_t mark_row(const job *j, int64_t r, marks *m)
{
    const int32_t *a_col = spx_data(j->A, SPX_COL), *b_col = spx_data(j->B, SPX_COL);
    int64_t word = 0, products = 0;
    uint64_t bits = 0;
    for (int64_t i = spx_ptr_at(j->A, r); i < spx_ptr_at(j->A, r + 1); i++) {
        const int64_t begin = spx_ptr_at(j->B, a_col[i]), end = spx_ptr_at(j->B, a_col[i] + 1);
        products += end - begin;
        for (int64_t k = begin; k < end; k++) {
            const int32_t c = b_col[k];
            if (c >> 6 != word) {
                if (bits) mark_word(m, word, bits);
                word = c >> 6;
                bits = 0;
            }
            bits |= UINT64_C(1) << (c & 63);
        }
    }
    if (bits) mark_word(m, word, bits);
    return products;
}

/* Takes all marks away, and writes their columns (out NULL: none); answers how many there were. */
static int64_t take_marks(marks *m, int32_t *out)
{
    int64_t n = 0;
    for (int64_t t = m->low; t <= m->high; t++) {
        for (uint64_t upper = m->bit[2][t]; upper; upper &= upper - 1) {
            const int64_t s = t * 64 + __builtin_ctzll(upper);
            for (uint64_t middle = m->bit[1][s]; middle; middle &= middle - 1) {
                const int64_t word = s * 64 + __builtin_ctzll(middle);
                if (out)
                    for (uint64_t lower = m->bit[0][word]; lower; lower &= lower - 1)
                        out[n++] = (int32_t)(word * 64 + __builtin_ctzll(lower));
                else n += __builtin_popcountll(m->bit[0][word]);
                m->bit[0][word] = 0;
            }
            m->bit[1][s] = 0;
        }
        m->bit[2][t] = 0;
    }
    m->low = INT64_MAX;
    m->high = -1;
    return n;
}

/* ---- rows with the same columns ---- */

static bool same_columns(const spx_sparse *A, int64_t r, int64_t s)
{
    const int32_t *col = spx_data(A, SPX_COL);
    const int64_t a = spx_ptr_at(A, r), b = spx_ptr_at(A, s), n = spx_ptr_at(A, r + 1) - a;
    return spx_ptr_at(A, s + 1) - b == n && !memcmp(col + a, col + b, (size_t)n * sizeof *col);
}

/* Rows from r on, before `last`, that have r's columns; GROUP at most. */
static int64_t group_at(const spx_sparse *A, int64_t r, int64_t last)
{
    int64_t n = 1;
    while (n < GROUP && r + n < last && same_columns(A, r, r + n)) n++;
    return n;
}

/* ---- parts of equal work ---- */

static int64_t row_work(const job *j, int64_t r)
{
    const int32_t *a_col = spx_data(j->A, SPX_COL);
    int64_t n = ROW_WORK;
    for (int64_t i = spx_ptr_at(j->A, r); i < spx_ptr_at(j->A, r + 1); i++)
        n += 1 + spx_ptr_at(j->B, a_col[i] + 1) - spx_ptr_at(j->B, a_col[i]);
    return n;
}

static void count_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const job *j = arg;
    for (int64_t s = begin; s < end; s++) {
        int64_t n = 0;
        for (int64_t r = spx_part(j->A->nrows, j->slices, s); r < spx_part(j->A->nrows, j->slices, s + 1);
             r++)
            n += row_work(j, r);
        j->before[s + 1] = n;
    }
}

/* The row at which the work before reaches `wanted`. */
static int64_t row_at(const job *j, int64_t wanted)
{
    int64_t low = 0, high = j->slices; /* the last slice with no more than that before it */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (j->before[middle] <= wanted) low = middle;
        else high = middle;
    }
    int64_t r = spx_part(j->A->nrows, j->slices, low), work = j->before[low];
    for (; work < wanted; r++) work += row_work(j, r);
    return r;
}

/* The rows where parts begin, the end, and room for one number. */
static spmvx_status cut_parts(job *j, spx_array **out)
{
    const int64_t nrows = j->A->nrows;
    j->slices = spx_max(1, spx_min(SLICES, nrows));
    SPX_TRY(
        spx_calloc(j->ctx, spx_bytes(j->slices + 1, sizeof *j->before), "parts of a product", &j->before));
    spx_parallel(spx_threads_for(j->ctx->threads, j->A->nnz), j->slices, count_body, j);
    spx_running_sum(j->before, SPMVX_I64, j->slices);
    const int64_t work = j->before[j->slices], parts = spx_max(1, spx_min(PARTS, work / WORK));
    const spmvx_status s = spx_array_new(j->ctx, parts + 2, sizeof(int64_t), "parts of a product", out);
    for (int64_t p = 0; s == SPMVX_OK && p <= parts; p++)
        ((int64_t *)(*out)->data)[p] = p == parts ? nrows : row_at(j, spx_part(work, parts, p));
    spx_free(j->ctx, j->before);
    return s;
}

static int64_t parts_of(const spx_array *bounds)
{
    return (int64_t)(bounds->bytes / sizeof(int64_t)) - 2;
}

/* Runs a step over parts by as many threads as the budget holds `each` bytes for; they are at `own`. */
static spmvx_status over_parts(job *j, int64_t parts, int64_t products, size_t each, const char *what,
                               spx_body *body)
{
    int threads = (int)spx_min(parts, spx_threads_for(j->ctx->threads, products));
    while (threads > 1 && spx_block_bytes(spx_bytes(threads, each)) > spx_budget_left(j->ctx)) threads--;
    SPX_TRY(spx_alloc(j->ctx, spx_bytes(threads, each), what, &j->own));
    spx_parallel(threads, parts, body, j);
    spx_free(j->ctx, j->own);
    return SPMVX_OK;
}

/* ---- the pattern ---- */

static marks marks_new(const job *j, int thread)
{
    const int64_t ncols = j->B->ncols, size = marks_size(ncols);
    marks m = { { (uint64_t *)j->own + thread * size }, INT64_MAX, -1 };
    for (int l = 1; l < LEVELS; l++) m.bit[l] = m.bit[l - 1] + words_of(ncols, l - 1);
    memset(m.bit[0], 0, (size_t)size * sizeof *m.bit[0]);
    return m;
}

/* Room for n columns in the part's last block; NULL where the budget is spent. */
static int32_t *room_for(const job *j, part *p, int64_t n)
{
    if (!p->tail || p->room < n) {
        const int64_t columns = spx_max(n, BLOCK);
        block *b = spx_try_alloc(j->ctx, spx_plus(sizeof *b, spx_bytes(columns, sizeof *b->col)));
        if (!b) return NULL;
        b->next = NULL;
        b->used = 0;
        if (p->tail) p->tail->next = b;
        else p->head = b;
        p->tail = b;
        p->room = columns;
    }
    return p->tail->col + p->tail->used;
}

/* Finds the columns of n rows of C from r on, all the same, and keeps them where there is room. Answers how
 * many each has. */
static int64_t find_rows(job *j, part *p, int64_t r, int64_t n, marks *m)
{
    const int64_t at_most = spx_min(mark_row(j, r, m), j->B->ncols);
    const bool wanted = p->stored == r && __atomic_load_n(&j->found, __ATOMIC_RELAXED) <= j->most;
    int32_t *col = wanted ? room_for(j, p, n * at_most) : NULL;
    const int64_t length = take_marks(m, col);
    __atomic_fetch_add(&j->found, n * length, __ATOMIC_RELAXED);
    if (!col) return length;
    for (int64_t g = 1; g < n; g++) memcpy(col + g * length, col, (size_t)length * sizeof *col);
    p->tail->used += n * length;
    p->room -= n * length;
    p->stored = r + n;
    return length;
}

static void find_body(void *arg, int thread, int64_t begin, int64_t end)
{
    job *j = arg;
    marks m = marks_new(j, thread);
    for (int64_t i = begin; i < end; i++) {
        part *p = &j->parts[i];
        for (int64_t r = p->first, n; r < p->last; r += n) {
            n = group_at(j->A, r, p->last);
            const int64_t length = find_rows(j, p, r, n, &m);
            for (int64_t g = 0; g < n; g++)
                spx_index_put(j->C->slot[SPX_PTR]->data, j->C->ptr_type, r + g + 1, length);
            p->grouped += n > 1 ? n : 0;
        }
    }
}

/* Brings the columns that were kept to their place in C, and finds the others once more. */
static void place_body(void *arg, int thread, int64_t begin, int64_t end)
{
    const job *j = arg;
    marks m = marks_new(j, thread);
    for (int64_t i = begin; i < end; i++) {
        const part *p = &j->parts[i];
        int32_t *col = j->C->slot[SPX_COL]->data, *to = col + spx_ptr_at(j->C, p->first);
        for (const block *b = p->head; b; to += b->used, b = b->next)
            memcpy(to, b->col, (size_t)b->used * sizeof *to);
        for (int64_t r = p->stored; r < p->last; r++) {
            mark_row(j, r, &m);
            take_marks(&m, col + spx_ptr_at(j->C, r));
        }
    }
}

static spmvx_status find_pattern(job *j, int64_t parts, const int64_t *bound, spx_plan *plan,
                                 int64_t *grouped)
{
    const size_t each = spx_bytes(marks_size(j->B->ncols), sizeof(uint64_t));
    for (int64_t p = 0; p < parts; p++)
        j->parts[p] = (part){ .first = bound[p], .last = bound[p + 1], .stored = bound[p] };
    SPX_TRY(over_parts(j, parts, plan->products, each, "marks of the columns of C", find_body));
    *grouped = 0;
    for (int64_t p = 0; p < parts; p++) *grouped += j->parts[p].grouped;
    SPX_TRY(spx_plan_count(j->ctx, plan));
    if (plan->C.nnz > j->most) return SPMVX_OK; /* nobody wants them */
    SPX_TRY(spx_plan_columns(j->ctx, plan));
    return over_parts(j, parts, plan->products, each, "marks of the columns of C", place_body);
}

static void free_blocks(const job *j, int64_t parts)
{
    for (int64_t p = 0; p < parts; p++)
        for (block *b = j->parts[p].head, *next; b; b = next) {
            next = b->next;
            spx_free(j->ctx, b);
        }
    spx_free(j->ctx, j->parts);
}

/* Sums of a column: GROUP where most rows share their columns with others. */
static int64_t lanes_of(const spx_plan *plan)
{
    const int64_t *bound = plan->state->data;
    return 2 * bound[parts_of(plan->state) + 1] > plan->C.nrows ? GROUP : 1;
}

/* The plan's state: the rows where parts begin, the end, and how many rows share their columns. */
static spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    SPX_TRY(spx_plan_begin(ctx, A, B, plan));
    job j = { .ctx = ctx, .A = A, .B = B, .C = &plan->C, .most = plan->most ? plan->most : INT64_MAX };
    SPX_TRY(cut_parts(&j, &plan->state));
    int64_t *bound = plan->state->data;
    const int64_t parts = parts_of(plan->state);
    SPX_TRY(spx_calloc(ctx, spx_bytes(parts, sizeof *j.parts), "parts of a product", &j.parts));
    const spmvx_status s = find_pattern(&j, parts, bound, plan, &bound[parts + 1]);
    free_blocks(&j, parts);
    const int64_t threads = spx_min(parts, spx_threads_for(ctx->threads, plan->products));
    plan->work = spx_block_bytes(spx_bytes(threads * lanes_of(plan) * B->ncols, spx_type_bytes(B->val_type)));
    return s;
}

/* ---- the values ---- */

#define SPX_TEMPLATE "kernel/spmspm_dense_window.c"
#include "kernel/each_value.h"

static spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                         spx_sparse *C)
{
    static spx_body *const bodies[] = { spx_fill_rows_f32, spx_fill_rows_f64 };
    const int64_t *bound = plan->state->data, parts = parts_of(plan->state);
    const size_t row = spx_bytes(B->ncols, spx_type_bytes(B->val_type));
    job j = { .ctx = ctx, .A = A, .B = B, .C = C, .bound = bound, .lanes = lanes_of(plan) };
    if (spx_block_bytes(spx_bytes(j.lanes, row)) > spx_budget_left(ctx)) j.lanes = 1;
    return over_parts(&j, parts, plan->products, spx_bytes(j.lanes, row), "a dense row of C",
                      bodies[B->val_type == SPMVX_F64]);
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
/* One row: sum has a place a column, and is -0 throughout before and after. */
static void SPX_VNAME(fill_row)(const job *j, int64_t r, SPX_V *restrict sum)
{
    const int32_t *a_col = spx_data(j->A, SPX_COL), *restrict b_col = spx_data(j->B, SPX_COL);
    const SPX_V *a = spx_data(j->A, SPX_VAL), *restrict b = spx_data(j->B, SPX_VAL);
    for (int64_t i = spx_ptr_at(j->A, r); i < spx_ptr_at(j->A, r + 1); i++) {
        const int64_t end = spx_ptr_at(j->B, a_col[i] + 1);
        for (int64_t k = spx_ptr_at(j->B, a_col[i]); k < end; k++) sum[b_col[k]] += a[i] * b[k];
    }
    const int32_t *restrict col = j->C->slot[SPX_COL]->data;
    SPX_V *restrict val = j->C->slot[SPX_VAL]->data;
    for (int64_t i = spx_ptr_at(j->C, r), end = spx_ptr_at(j->C, r + 1); i < end; i++) {
        val[i] = sum[col[i]];
        sum[col[i]] = -(SPX_V)0;
    }
}

/* n rows with the same columns: sum has GROUP places a column. */
static void SPX_VNAME(fill_group)(const job *j, int64_t r, int64_t n, SPX_V *restrict sum)
{
    const int32_t *a_col = spx_data(j->A, SPX_COL), *restrict b_col = spx_data(j->B, SPX_COL);
    const SPX_V *a = spx_data(j->A, SPX_VAL), *restrict b = spx_data(j->B, SPX_VAL);
    const int64_t first = spx_ptr_at(j->A, r), entries = spx_ptr_at(j->A, r + 1) - first;
    for (int64_t i = first; i < first + entries; i++) {
        const int64_t end = spx_ptr_at(j->B, a_col[i] + 1);
        SPX_V factor[GROUP] = { 0 };
        for (int64_t g = 0; g < n; g++) factor[g] = a[i + g * entries];
        for (int64_t k = spx_ptr_at(j->B, a_col[i]); k < end; k++) {
            SPX_V *restrict s = sum + (int64_t)b_col[k] * GROUP;
            for (int g = 0; g < GROUP; g++) s[g] += factor[g] * b[k];
        }
    }
    const int32_t *restrict col = j->C->slot[SPX_COL]->data;
    SPX_V *restrict val = j->C->slot[SPX_VAL]->data;
    const int64_t to = spx_ptr_at(j->C, r), length = spx_ptr_at(j->C, r + 1) - to;
    for (int64_t i = 0; i < length; i++) {
        SPX_V *restrict s = sum + (int64_t)col[to + i] * GROUP;
        for (int64_t g = 0; g < n; g++) val[to + g * length + i] = s[g];
        for (int g = 0; g < GROUP; g++) s[g] = -(SPX_V)0;
    }
}

static void SPX_VNAME(fill_rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    const job *j = arg;
    const int64_t places = j->B->ncols * j->lanes;
    SPX_V *sum = (SPX_V *)j->own + thread * places;
    for (int64_t i = 0; i < places; i++) sum[i] = -(SPX_V)0;
    for (int64_t r = j->bound[begin], n; r < j->bound[end]; r += n) {
        n = j->lanes == 1 ? 1 : group_at(j->A, r, j->bound[end]);
        if (j->lanes == 1) SPX_VNAME(fill_row)(j, r, sum);
        else SPX_VNAME(fill_group)(j, r, n, sum);
    }
}
#endif
