/* The pattern of C = A*B, without a branch a product: columns as bits, with a list of the words that have
 * some, which is sorted where it is short, and brought into order by summaries of words where it is long.
 * Rows of a group are found once. What a part finds is kept, as far as the budget goes, and found again
 * beyond that.
 * Sources: Gilbert, Moler & Schreiber, SIAM J. Matrix Anal. Appl. 13(1), 1992, for the pattern before the
 * values; Deveci, Trott & Rajamanickam, Parallel Computing 78, 2018, for columns as bits. */
#include <string.h>

#include "kernel/product_parts.h"
#include "kernel/short_rows.h"

enum {
    FEW = 8,      /* products whose columns are put in order one by one, */
    SHORT = 12,   /* and words */
    SAMPLES = 64, /* places at which so many entries of B are looked at: */
    SAMPLE = 256,
    AHEAD = 8,               /* entries of A whose rows of B are fetched before their turn */
    LEAST_CHUNK = 256 << 10, /* bytes that are allocated at once, */
    MOST_CHUNK = 4 << 20     /* which grow until large pages hold them (core/alloc.c) */
};

/* Columns of C that a part found: whole rows. Blocks lie in their thread's chunks, one behind the other. */
typedef struct block {
    struct block *next;
    int64_t used;
    int32_t col[];
} block;

typedef struct chunk {
    struct chunk *next;
} chunk;

/* A thread's. */
typedef struct arena {
    chunk *chunks;
    char *at, *end;  /* what is left of the last one */
    size_t grows_to; /* bytes of the next one */
} arena;

typedef struct part {
    int64_t first, last; /* rows */
    int64_t stored;      /* rows whose columns are in the blocks: first ... stored-1 */
    block *head, *tail;
    int64_t grouped; /* entries of rows that share their columns */
    int64_t untold;  /* entries that the count of all threads has not yet */
} part;

/* One bit a column; the words that have some, in the order in which they were met; and summaries of words,
 * and of those, which are empty but while words are brought into order. */
typedef struct marks {
    uint64_t *bit;
    int32_t *met;
    int64_t count;
    uint64_t *upper, *top;
} marks;

typedef struct job {
    spmvx_context *ctx;
    const spx_sparse *A, *B, *C;  /* C: lengths of rows at first, in place of pointers */
    int64_t ahead;                /* where A's entries end */
    const spx_short_rows *sorter; /* or NULL */
    int64_t gathered;             /* entries of a row of A that may have few enough products, at most */
    bool runs;                    /* in B's columns */
    bool frugal;    /* C is charged to a limit, too: nothing is taken that can be done without */
    uint64_t *same; /* rows of B with the columns of the row before; or NULL */
    part *parts;
    arena *arenas; /* the threads' */
    bool groups;   /* of rows of A with the same columns: there are some */
    int64_t most;  /* entries of C that are worth keeping, */
    int64_t found; /* and that were found so far, by all threads */
    void *own;     /* the threads' marks */
} job;

/* Words of bits, of the list, and of both summaries. */
static int64_t words_of(int64_t n)
{
    return spx_ceil_div(n, 64);
}

static int64_t list_words(int64_t ncols)
{
    return words_of(ncols) / 2 + 1; /* one more than there are, which is written and not counted */
}

static int64_t marks_size(int64_t ncols)
{
    const int64_t words = words_of(ncols);
    return words + list_words(ncols) + words_of(words) + words_of(words_of(words));
}

/* The columns of row r of C, as marks; answers how many products the row has. */
static int64_t mark_each(const job *j, int64_t r, marks *m)
{
    const int32_t *a_col = spx_data(j->A, SPX_COL), *restrict b_col = spx_data(j->B, SPX_COL);
    uint64_t *restrict bit = m->bit;
    int32_t *restrict met = m->met;
    const int64_t last = spx_ptr_at(j->A, r + 1);
    int64_t count = 0, products = 0;
    for (int64_t i = spx_ptr_at(j->A, r); i < last; i++) {
        const int64_t begin = spx_ptr_at(j->B, a_col[i]), end = spx_ptr_at(j->B, a_col[i] + 1);
        if (i + AHEAD < j->ahead) __builtin_prefetch(b_col + spx_ptr_at(j->B, a_col[i + AHEAD]));
        products += end - begin;
        for (int64_t k = begin; k < end; k++) {
            const int32_t word = b_col[k] >> 6;
            const uint64_t before = bit[word];
            met[count] = word;
            count += !before;
            bit[word] = before | UINT64_C(1) << (b_col[k] & 63);
        }
    }
    m->count = count;
    return products;
}

/* The same where B has runs of columns: a word is written once for those of a row that lie in it, since to
 * read again what was just written takes a while. */
static int64_t mark_runs(const job *j, int64_t r, marks *m)
{
    const int32_t *a_col = spx_data(j->A, SPX_COL), *restrict b_col = spx_data(j->B, SPX_COL);
    uint64_t *restrict bit = m->bit;
    int32_t *restrict met = m->met;
    const int64_t last = spx_ptr_at(j->A, r + 1);
    int64_t count = 0, products = 0;
    for (int64_t i = spx_ptr_at(j->A, r), like; i < last; i += like) {
        const int64_t begin = spx_ptr_at(j->B, a_col[i]), end = spx_ptr_at(j->B, a_col[i] + 1);
        like = j->same ? spx_like_entries(a_col, i, last, j->same) : 1;
        products += like * (end - begin);
        for (int64_t k = begin; k < end;) {
            const int32_t word = b_col[k] >> 6;
            uint64_t bits = 0;
            do bits |= UINT64_C(1) << (b_col[k] & 63);
            while (++k < end && b_col[k] >> 6 == word);
            const uint64_t before = bit[word];
            met[count] = word;
            count += !before;
            bit[word] = before | bits;
        }
    }
    m->count = count;
    return products;
}

static int64_t mark_row(const job *j, int64_t r, marks *m)
{
    return j->runs ? mark_runs(j, r, m) : mark_each(j, r, m);
}

/* Do many columns of B lie in the word of the one before? Told by a sample. */
static bool has_runs(const spx_sparse *B)
{
    const int32_t *col = spx_data(B, SPX_COL);
    const int64_t first = spx_ptr_at(B, 0), nnz = spx_ptr_at(B, B->nrows) - first;
    int64_t seen = 0, same = 0;
    for (int64_t s = 0; s < SAMPLES; s++) {
        const int64_t at = first + spx_part(nnz, SAMPLES, s);
        for (int64_t k = at + 1; k < spx_min(at + SAMPLE, first + nnz); k++, seen++)
            same += col[k] >> 6 == col[k - 1] >> 6;
    }
    return 4 * same > 3 * seen;
}

/* Brings the list of words into rising order. */
static void order_words(marks *m)
{
    int32_t *met = m->met;
    if (m->count > SHORT) {
        int32_t low = INT32_MAX, high = -1;
        for (int64_t i = 0; i < m->count; i++) {
            m->upper[met[i] >> 6] |= UINT64_C(1) << (met[i] & 63);
            m->top[met[i] >> 12] |= UINT64_C(1) << (met[i] >> 6 & 63);
            low = met[i] < low ? met[i] : low;
            high = met[i] > high ? met[i] : high;
        }
        int64_t n = 0;
        for (int32_t t = low >> 12; t <= high >> 12; t++) {
            for (uint64_t above = m->top[t]; above; above &= above - 1) {
                const int32_t s = t * 64 + __builtin_ctzll(above);
                for (uint64_t words = m->upper[s]; words; words &= words - 1)
                    met[n++] = s * 64 + __builtin_ctzll(words);
                m->upper[s] = 0;
            }
            m->top[t] = 0;
        }
        return;
    }
    for (int64_t i = 1; i < m->count; i++) {
        const int32_t word = met[i];
        int64_t at = i;
        for (; at > 0 && met[at - 1] > word; at--) met[at] = met[at - 1];
        met[at] = word;
    }
}

/* Takes all marks away, and writes their columns (out NULL: none); answers how many there were. */
static int64_t take_marks(marks *m, int32_t *out)
{
    int64_t n = 0;
    if (out) order_words(m);
    for (int64_t i = 0; i < m->count; i++) {
        const int32_t word = m->met[i];
        uint64_t bits = m->bit[word];
        m->bit[word] = 0;
        if (out)
            for (; bits; bits &= bits - 1) out[n++] = word * 64 + __builtin_ctzll(bits);
        else n += __builtin_popcountll(bits);
    }
    m->count = 0;
    return n;
}

static marks marks_new(const job *j, int thread)
{
    const int64_t ncols = j->B->ncols, size = marks_size(ncols), words = words_of(ncols);
    uint64_t *own = (uint64_t *)j->own + thread * size;
    memset(own, 0, (size_t)size * sizeof *own);
    return (marks){ .bit = own,
                    .met = (int32_t *)(own + words),
                    .upper = own + words + list_words(ncols),
                    .top = own + words + list_words(ncols) + words_of(words) };
}

/* A new chunk with a block of at least n columns; false where there is no room. */
static bool new_chunk(const job *j, arena *own, int64_t n)
{
    const size_t needed = spx_plus(sizeof(chunk) + sizeof(block), spx_bytes(n, sizeof(int32_t)));
    const size_t wanted =
        (own->grows_to ? own->grows_to : LEAST_CHUNK) - SPX_ALIGN; /* with what is before it */
    size_t bytes = wanted > needed ? wanted : needed;
    chunk *c = spx_try_alloc(j->ctx, bytes);
    if (!c && bytes > needed) c = spx_try_alloc(j->ctx, bytes = needed);
    if (!c) return false;
    c->next = own->chunks;
    own->chunks = c;
    own->at = (char *)(c + 1);
    own->end = (char *)c + bytes;
    own->grows_to = wanted + SPX_ALIGN < MOST_CHUNK ? 4 * (wanted + SPX_ALIGN) : MOST_CHUNK;
    return true;
}

static bool has_room(const arena *own, size_t bytes)
{
    return (size_t)(own->end - own->at) >= bytes;
}

/* Room for n columns behind the part's last ones; NULL where the budget is spent. */
static int32_t *room_for(const job *j, arena *own, part *p, int64_t n)
{
    const size_t bytes = spx_bytes(n, sizeof(int32_t));
    if (j->frugal) return NULL;
    if (p->tail && has_room(own, bytes)) return p->tail->col + p->tail->used;
    const size_t with_block = spx_plus(sizeof(block) + _Alignof(block), bytes);
    if ((!own->at || !has_room(own, with_block)) && !new_chunk(j, own, n)) return NULL;
    block *b = (block *)(void *)(own->at + (-(uintptr_t)own->at & (_Alignof(block) - 1)));
    *b = (block){ 0 };
    if (p->tail) p->tail->next = b;
    else p->head = b;
    p->tail = b;
    own->at = (char *)b->col;
    return b->col;
}

/* All threads' count follows in steps: to write it for every row would take longer than the row. */
static void tell_found(job *j, part *p, int64_t entries)
{
    enum { STEP = 4096 };
    p->untold += entries;
    if (p->untold < STEP) return;
    __atomic_fetch_add(&j->found, p->untold, __ATOMIC_RELAXED);
    p->untold = 0;
}

/* The columns of row r of C, put in order one by one, of FEW products at most; else -1. */
static int64_t find_few(const job *j, int64_t r, int32_t *col)
{
    const int32_t *a_col = spx_data(j->A, SPX_COL), *b_col = spx_data(j->B, SPX_COL);
    const int64_t first = spx_ptr_at(j->A, r), last = spx_ptr_at(j->A, r + 1);
    int64_t products = 0, count = 0;
    if (last - first > FEW) return -1;
    for (int64_t i = first; i < last; i++)
        products += spx_ptr_at(j->B, a_col[i] + 1) - spx_ptr_at(j->B, a_col[i]);
    if (products > FEW) return -1;
    for (int64_t i = first; i < last; i++)
        for (int64_t k = spx_ptr_at(j->B, a_col[i]); k < spx_ptr_at(j->B, a_col[i] + 1); k++) {
            int64_t at = count;
            while (at > 0 && col[at - 1] > b_col[k]) at--;
            if (at > 0 && col[at - 1] == b_col[k]) continue;
            for (int64_t l = count++; l > at; l--) col[l] = col[l - 1];
            col[at] = b_col[k];
        }
    return count;
}

/* Groups of rows with the same columns: of each its first row. */
typedef struct groups {
    spx_rows rows;
    int64_t n[SPX_BATCH]; /* rows of each */
} groups;

static void gather(const job *j, spx_rows *rows)
{
    if (j->sorter) j->sorter->gather(j->A, j->B, j->ahead, j->gathered, rows);
    else
        for (int k = 0; k < rows->n; k++) rows->products[k] = -1;
}

static bool wanted(const job *j, const part *p, int64_t row)
{
    return p->stored == row && __atomic_load_n(&j->found, __ATOMIC_RELAXED) <= j->most;
}

/* The lengths of a group's rows of C, and copies of the first one's columns for the others, where these are
 * kept; answers how many columns there are in all. */
static int64_t end_group(const job *j, part *p, const groups *g, int k, int64_t length, int32_t *col)
{
    const int64_t first = g->rows.row[k], n = g->n[k];
    for (int64_t r = first; r < first + n; r++)
        spx_index_put(j->C->slot[SPX_PTR]->data, j->C->ptr_type, r + 1, length);
    for (int64_t i = 1; col && i < n; i++) memcpy(col + i * length, col, (size_t)length * sizeof *col);
    p->grouped += n > 1 ? n * length : 0;
    return n * length;
}

/* n columns of the rows before `end` are behind the part's last ones. */
static void keep(arena *own, part *p, int64_t n, int64_t end)
{
    p->tail->used += n;
    own->at = (char *)(p->tail->col + p->tail->used);
    p->stored = end;
}

/* The columns of a group whose products were not gathered. */
static void find_group(job *j, arena *own, part *p, const groups *g, int k, marks *m)
{
    int32_t few[FEW];
    const int64_t first = g->rows.row[k], n = g->n[k];
    int64_t length = find_few(j, first, few);
    const int64_t at_most = length < 0 ? spx_min(mark_row(j, first, m), j->B->ncols) : length;
    int32_t *col = wanted(j, p, first) ? room_for(j, own, p, n * at_most) : NULL;
    if (length < 0) length = take_marks(m, col);
    else if (col)
        for (int64_t i = 0; i < length; i++) col[i] = few[i];
    const int64_t entries = end_group(j, p, g, k, length, col);
    tell_found(j, p, entries);
    if (col) keep(own, p, entries, first + n);
}

/* The same for groups k ... end-1, whose products were. */
static void sort_groups(job *j, arena *own, part *p, const groups *g, int k, int end)
{
    int32_t spare[SPX_SORTED + SPX_FEW_COLUMNS];
    int64_t room = SPX_FEW_COLUMNS, entries = 0;
    for (int i = k; i < end; i++) room += g->n[i] * g->rows.products[i];
    int32_t *col = wanted(j, p, g->rows.row[k]) ? room_for(j, own, p, room) : NULL;
    for (int i = k; i < end; i++) {
        int32_t *to = col ? col + entries : spare;
        entries += end_group(j, p, g, i, j->sorter->sort(&g->rows, i, to), col ? to : NULL);
    }
    tell_found(j, p, entries);
    if (col) keep(own, p, entries, g->rows.row[end - 1] + g->n[end - 1]);
}

/* Some groups from row r on; answers the row behind them. */
static int64_t gather_some(const job *j, int64_t r, int64_t last, groups *g)
{
    int n = 0;
    for (; n < SPX_BATCH && r < last; n++) {
        g->rows.row[n] = r;
        g->n[n] = j->groups ? spx_group_at(j->A, r, last) : 1;
        r += g->n[n];
    }
    g->rows.n = n;
    gather(j, &g->rows);
    return r;
}

/* Parts and arenas lie side by side, so that each thread has a copy of its own while it writes to them. */
static void find_body(void *arg, int thread, int64_t begin, int64_t end)
{
    job *j = arg;
    marks m = marks_new(j, thread);
    groups some;
    arena own = j->arenas[thread];
    for (int64_t i = begin; i < end; i++) {
        part p = j->parts[i];
        for (int64_t r = p.first; r < p.last;) {
            r = gather_some(j, r, p.last, &some);
            for (int k = 0, stop; k < some.rows.n; k = stop) {
                stop = k;
                while (stop < some.rows.n && some.rows.products[stop] >= 0) stop++;
                if (stop > k) sort_groups(j, &own, &p, &some, k, stop);
                else find_group(j, &own, &p, &some, k, &m), stop++;
            }
        }
        j->parts[i] = p;
    }
    j->arenas[thread] = own;
}

/* Finds the columns of a row once more, which go to its place in C. */
static void place_row(const job *j, int64_t r, marks *m, int32_t *out)
{
    int32_t few[SPX_SORTED + SPX_FEW_COLUMNS];
    spx_rows one; /* large, and not needed whole */
    one.n = 1;
    one.row[0] = r;
    gather(j, &one);
    const int64_t length = one.products[0] < 0 ? find_few(j, r, few) : j->sorter->sort(&one, 0, few);
    if (length >= 0) memcpy(out, few, (size_t)length * sizeof *out);
    else {
        mark_row(j, r, m);
        take_marks(m, out);
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
        for (int64_t r = p->stored; r < p->last; r++) place_row(j, r, &m, col + spx_ptr_at(j->C, r));
    }
}

static size_t marks_bytes(const spx_sparse *B)
{
    return spx_bytes(marks_size(B->ncols), sizeof(uint64_t));
}

static spmvx_status over_parts(job *j, int64_t parts, int64_t products, spx_body *body)
{
    return spx_parts_run(j->ctx, parts, products, marks_bytes(j->B), "marks of the columns of C", body, j,
                         &j->own);
}

static spmvx_status find_pattern(job *j, int64_t parts, const int64_t *bound, spx_plan *plan,
                                 int64_t *grouped)
{
    for (int64_t p = 0; p < parts; p++)
        j->parts[p] = (part){ .first = bound[p], .last = bound[p + 1], .stored = bound[p] };
    SPX_TRY(over_parts(j, parts, plan->products, find_body));
    *grouped = 0;
    for (int64_t p = 0; p < parts; p++) *grouped += j->parts[p].grouped;
    SPX_TRY(spx_plan_count(j->ctx, plan));
    if (plan->C.nnz > j->most) return SPMVX_OK; /* nobody wants them */
    SPX_TRY(spx_plan_columns(j->ctx, plan));
    return over_parts(j, parts, plan->products, place_body);
}

static void free_found(const job *j)
{
    for (int t = 0; t < j->ctx->threads; t++)
        for (chunk *c = j->arenas[t].chunks, *next; c; c = next) {
            next = c->next;
            spx_free(j->ctx, c);
        }
    spx_free(j->ctx, j->parts);
}

spmvx_status spx_product_columns(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan,
                                 const spx_array *bounds, const spx_short_rows *sorter, int64_t *grouped)
{
    const int64_t parts = spx_parts_of(bounds);
    job j = { .ctx = ctx,
              .A = A,
              .B = B,
              .C = &plan->C,
              .ahead = spx_ptr_at(A, A->nrows),
              .sorter = sorter,
              .groups = plan->products > FEW * A->nrows && spx_has_groups(A),
              .runs = has_runs(B),
              .frugal = plan->beside && spx_budget_left(ctx) != SIZE_MAX,
              .most = plan->most ? plan->most : INT64_MAX };
    SPX_TRY(spx_plan_begin(ctx, A, B, plan));
    const size_t of_parts = spx_bytes(parts, sizeof *j.parts);
    SPX_TRY(spx_calloc(ctx, spx_plus(of_parts, spx_bytes(ctx->threads, sizeof *j.arenas)),
                       "parts of a product", &j.parts));
    j.arenas = (arena *)(j.parts + parts);
    /* by the mean length of B's rows */
    const int64_t of_b = spx_ptr_at(B, B->nrows) - spx_ptr_at(B, 0);
    j.gathered = SPX_SORTED * B->nrows / spx_max(of_b, 1) + 1;
    if (j.runs && !j.frugal) j.same = spx_same_rows(ctx, B, marks_bytes(B));
    const spmvx_status s = find_pattern(&j, parts, bounds->data, plan, grouped);
    free_found(&j);
    spx_free(ctx, j.same);
    return s;
}
