/* Conversion: choose a kernel for a side, build its format, bring it to its place, prepare it; with the transpose and the update
 * maps when asked for. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/place.h"
#include "dispatch/tune.h"
#include "dispatch/updates.h"
#include "dispatch/wisdom.h"

/* ---- one side ---- */

typedef struct job {
    spmvx_context *ctx;
    spx_request request;
    int effort;
    size_t max_bytes, used;     /* what the result holds already */
    const spx_sparse *there;    /* what a side is made from, if its arrays lie where the context computes */
    spx_wisdom *learned;        /* the context's when all has gone well */
} job;

static size_t bytes_left(const job *j)
{
    return j->used < j->max_bytes ? j->max_bytes - j->used : 0;
}

/* Builds the candidate's format from CSR in host memory, brings it to where the context computes, and prepares its kernel. */
static spmvx_status side_build(const job *j, const spx_sparse *csr, const spx_candidate *c, spx_side *side)
{
    const spx_build build = { c->layout, bytes_left(j), j->max_bytes };
    const spx_sparse *there = j->there;
    spx_side s = { 0 };
    SPX_TRY(spx_format_find(c->choice.kernel->format)->from_csr(j->ctx, csr, &build, &s.A));
    spmvx_status status = SPMVX_OK;
    if (!spx_is_here(j->ctx, &s.A)) {
        s.host = spx_sparse_share(&s.A);
        if (there && there->format == SPMVX_CSR && s.A.format == SPMVX_CSR) {   /* it is there already */
            spx_sparse_drop(&s.A);
            s.A = spx_sparse_share(there);
        } else status = spx_to_place(j->ctx, &s.A);
    }
    if (status == SPMVX_OK) status = spx_side_prepare(j->ctx, &s, &c->choice);
    if (status == SPMVX_OK) *side = s;
    else spx_side_drop(&s);
    return status;
}

/* Takes the first candidate whose format keeps within the budget. */
static spmvx_status side_by_model(const job *j, const spx_sparse *csr, const spx_candidate *c, int count, int *taken, spx_side *side)
{
    spmvx_status s = SPMVX_ERR_LIMIT;
    for (*taken = 0; *taken < count; ++*taken) {
        s = side_build(j, csr, &c[*taken], side);
        if (s != SPMVX_ERR_LIMIT) break;
    }
    return s;
}

/* Builds and times the candidates one after the other, and keeps the best. */
static spmvx_status side_by_timing(const job *j, const spx_sparse *csr, const spx_candidate *c, int count, const void *x, void *y,
                                   spx_candidate *best, int *timed, spx_side *side)
{
    spmvx_status s = SPMVX_ERR_LIMIT;
    *timed = 0;
    for (int i = 0; i < count; i++) {
        spx_side now = { 0 };
        spx_candidate measured = c[i];
        const double begin = spx_now();
        s = side_build(j, csr, &c[i], &now);
        if (s == SPMVX_ERR_LIMIT) continue;
        if (s != SPMVX_OK) break;
        measured.setup_ns = spx_now() - begin;
        s = spx_side_time(j->ctx, &now, x, y, &measured.mul_ns);
        if (s != SPMVX_OK) {
            spx_side_drop(&now);
            break;
        }
        ++*timed;
        if (!side->choice.kernel || spx_score(&measured, j->request.expected_muls) < spx_score(best, j->request.expected_muls)) {
            spx_side_drop(side);
            *side = now;
            *best = measured;
        } else spx_side_drop(&now);
    }
    if (s == SPMVX_ERR_LIMIT && side->choice.kernel) s = SPMVX_OK;
    if (s != SPMVX_OK) spx_side_drop(side);
    return s;
}

static void to_front(spx_candidate *c, int *few, int i)
{
    const spx_candidate next = c[i];
    memmove(&c[*few + 1], &c[*few], (size_t)(i - *few) * sizeof *c);
    c[(*few)++] = next;
}

static int same_base_among(const spx_candidate *c, int few, const spx_candidate *of)
{
    int same = 0;
    for (int k = 0; k < few; k++) same += spx_kernel_same_base(c[k].choice.kernel, of->choice.kernel);
    return same;
}

/* Brings the few that are worth timing to the front, by merit: of one kernel no more than two variants, since what makes the
 * model err is the format more often than the instruction set. Then CSR's kernels, one variant of each, which cost nothing to
 * build: what is taken is never slower than they are. */
static int few_best(spx_candidate *c, int count)
{
    enum { FEW = 4, VARIANTS = 2, OF_CSR = 2 };
    static const double hopeless = 20.0;   /* times the best; the model does not err by that much */
    const double most = hopeless * c[0].mul_ns;
    int few = 0, of_csr = 0;
    for (int i = 0; i < count && few < FEW; i++)
        if (c[i].mul_ns <= most && same_base_among(c, few, &c[i]) < VARIANTS) to_front(c, &few, i);
    for (int k = 0; k < few; k++) of_csr += c[k].choice.kernel->format == SPMVX_CSR;
    for (int i = few; i < count && of_csr < OF_CSR; i++) {
        if (c[i].mul_ns > most || c[i].choice.kernel->format != SPMVX_CSR || same_base_among(c, few, &c[i])) continue;
        to_front(c, &few, i);
        of_csr++;
    }
    return few;
}

/* Vectors to time with: x of ones, so that no value is a special case; y is written only. */
static spmvx_status side_timed(const job *j, const spx_sparse *csr, const spx_candidate *c, int count, spx_candidate *best, int *timed,
                               spx_side *side)
{
    const size_t each = spx_type_bytes(csr->val_type);
    void *x = NULL, *y = NULL;
    spx_array *ones = NULL;
    spmvx_status s = spx_array_new(j->ctx, csr->ncols, each, "a vector to time with", &ones);
    if (s == SPMVX_OK) s = j->ctx->backend->allocate(j->ctx, spx_bytes(csr->ncols, each), "a vector to time with", &x);
    if (s == SPMVX_OK) s = j->ctx->backend->allocate(j->ctx, spx_bytes(csr->nrows, each), "a vector to time with", &y);
    if (s == SPMVX_OK) {
        for (int64_t i = 0; i < csr->ncols; i++)
            if (each == 8) ((double *)ones->data)[i] = 1.0;
            else ((float *)ones->data)[i] = 1.0f;
        s = j->ctx->backend->upload(j->ctx, x, ones->data, spx_bytes(csr->ncols, each));
    }
    if (s == SPMVX_OK) s = side_by_timing(j, csr, c, count, x, y, best, timed, side);
    if (x) j->ctx->backend->release(j->ctx, x);
    if (y) j->ctx->backend->release(j->ctx, y);
    spx_array_drop(ones);
    return s;
}

static void tell(char *reason, const spx_features *f, const spx_candidate *best, const spx_candidate *next, const char *how)
{
    char spec[SPX_SPEC], other[SPX_SPEC] = "";
    spx_kernel_spec(&best->choice, spec);
    const bool judged = best->mul_ns < (double)INT64_MAX;   /* a kernel asked for by its format may not be */
    int n = snprintf(reason, SPX_REASON, "%s: %s", judged ? how : "the only kernel of the format asked for", spec);
    if (judged) n += snprintf(reason + n, (size_t)(SPX_REASON - n), ", %.3g us a multiplication", best->mul_ns / 1e3);
    if (next && n < SPX_REASON) {
        spx_kernel_spec(&next->choice, other);
        n += snprintf(reason + n, (size_t)(SPX_REASON - n), " (next %s, %.3g)", other, next->mul_ns / 1e3);
    }
    if (n < SPX_REASON)
        n += snprintf(reason + n, (size_t)(SPX_REASON - n), "; rows of %.3g +- %.3g, longest %" PRId64, f->mean, f->deviation, f->longest);
    if (f->slice && n < SPX_REASON)
        snprintf(reason + n, (size_t)(SPX_REASON - n), "; SELL-%" PRId64 "-%" PRId64 " would store %.3g of each entry", f->slice,
                 spx_min(f->sigma, f->nrows), (double)f->sell_stored / (double)spx_max(f->nnz, 1));
}

/* Another kernel over the same arrays, for a matrix that has the format asked for already; CSR is looked at instead. */
static spmvx_status side_shared(const job *j, const spx_sparse *A, spx_side *side, char *reason)
{
    const spx_request *q = &j->request;
    spx_choice choice = q->forced;
    spx_side s = { 0 };
    if (!choice.kernel) SPX_TRY(spx_select_any(j->ctx, A->format, A->val_type, &choice));
    snprintf(reason, SPX_REASON, "%s", q->forced.kernel ? "kernel asked for by name" : q->format != SPMVX_AUTO ? "format asked for" :
             "rows far outnumber entries, so that CSR's row pointers would cost more than the entries");
    spmvx_status status = SPMVX_OK;
    s.A = spx_sparse_share(A);
    if (!spx_is_here(j->ctx, A)) {
        spx_sparse_drop(&s.A);
        status = spx_to_host(j->ctx, A, &s.A);
        if (status == SPMVX_OK && j->ctx->backend->place != SPMVX_HOST) s.host = spx_sparse_share(&s.A);
        if (status == SPMVX_OK) status = spx_to_place(j->ctx, &s.A);
    }
    if (status == SPMVX_OK) status = spx_side_prepare(j->ctx, &s, &choice);
    if (status == SPMVX_OK) *side = s;
    else spx_side_drop(&s);
    return status;
}

/* Is A in the format asked for already, in the shape asked for? */
static bool stays(const job *j, const spx_sparse *A)
{
    const spx_request *q = &j->request;
    const spmvx_format format = q->forced.kernel ? q->forced.kernel->format : q->format;
    const spx_layout *l = &q->layout;
    if (format == SPMVX_AUTO)
        return A->format == SPMVX_COO && spx_rows_outnumber(A->nrows, A->nnz) && spx_kernel_serves(j->ctx, SPMVX_COO);
    if (format != A->format) return false;
    switch (format) {
    case SPMVX_CSR: return q->forced.kernel && j->there == A && j->ctx->backend->place == SPMVX_CUDA;   /* without looking at it */
    case SPMVX_CSR5: case SPMVX_TILED: return false;   /* their parameters are the kernel's: built anew */
    case SPMVX_SELL:
        return (l->slice ? l->slice == A->slice : spx_slice_serves(j->ctx, A->slice)) && (!l->sigma || l->sigma == A->sigma);
    default: break;
    }
    if (format == SPMVX_PACKED) return !l->slice && (!l->sigma || l->sigma == A->sigma);
    if (format == SPMVX_BSR) return (!l->block_rows || l->block_rows == A->block_rows) && (!l->block_cols || l->block_cols == A->block_cols);
    return true;
}

/* False when nothing is known for the key, or what is known is not allowed or does not fit here. */
static bool side_by_wisdom(const job *j, const spx_sparse *csr, const char *key, spx_side *side, spmvx_status *s)
{
    spx_candidate c = { 0 };
    if (!spx_wisdom_find(j->ctx, key, &c)) return false;
    if (!j->request.nondeterministic && !(c.choice.kernel->flags & SPMVX_KERNEL_DETERMINISTIC)) return false;
    int taken;
    *s = side_by_model(j, csr, &c, 1, &taken, side);
    return *s != SPMVX_ERR_LIMIT;
}

/* The transpose that the side for op T is made from: of COO that stays COO, the same arrays. */
static spmvx_status turn(const job *j, const spx_sparse *a, spx_sparse *out)
{
    if (a->format != SPMVX_COO || !stays(j, a)) return spx_transpose(j->ctx, a, out);
    *out = spx_transpose_coo(a);
    return SPMVX_OK;
}

static size_t csr_bytes(const spx_sparse *a)
{
    return spx_plus(spx_bytes(a->nnz, 4 + spx_type_bytes(a->val_type)), spx_bytes(a->nrows + 1, spx_type_bytes(spx_count_type(a->nnz))));
}

/* CSR is what everything goes through; where it is the target as well, its size is known before it is built. */
static spmvx_status check_csr_size(const job *j, const spx_sparse *A)
{
    const spx_request *q = &j->request;
    const spmvx_format format = q->forced.kernel ? q->forced.kernel->format : q->format;
    const size_t bytes = csr_bytes(A), left = bytes_left(j);
    if (A->format == SPMVX_CSR || format != SPMVX_CSR || bytes <= left) return SPMVX_OK;
    return spx_fail(j->ctx, SPMVX_ERR_LIMIT, "CSR would hold %zu bytes, for %" PRId64 " rows and %" PRId64 " entries; max_bytes is %zu, and %zu of it are left",
                    bytes, A->nrows, A->nnz, j->max_bytes, left);
}

/* CSR in host memory of what lies anywhere. */
static spmvx_status host_csr(const job *j, const spx_sparse *A, spx_sparse *csr)
{
    spx_sparse host = { 0 };
    SPX_TRY(check_csr_size(j, A));
    SPX_TRY(spx_to_host(j->ctx, A, &host));
    const spmvx_status s = spx_format_find(A->format)->to_csr(j->ctx, &host, csr);
    spx_sparse_drop(&host);
    return s;
}

/* Chooses and builds one side from A, which may lie anywhere. */
static spmvx_status side_make(job *j, const spx_sparse *A, spx_side *side, char *reason)
{
    const spx_request *q = &j->request;
    j->there = spx_is_here(j->ctx, A) ? A : NULL;
    if (stays(j, A)) return side_shared(j, A, side, reason);
    spx_sparse csr = { 0 };
    SPX_TRY(host_csr(j, A, &csr));
    spx_candidate c[SPX_CANDIDATES], best = { 0 };
    spx_features f;
    int count, taken = 0;
    spmvx_status s = spx_select(j->ctx, &csr, q, c, &count, &f);
    if (s == SPMVX_OK && q->forced.kernel) {
        s = side_build(j, &csr, &c[0], side);
        snprintf(reason, SPX_REASON, "kernel asked for by name");
    } else if (s == SPMVX_OK) {
        char key[SPX_WISDOM_KEY];
        spx_wisdom_key(j->ctx, &f, key);
        const bool any = q->format == SPMVX_AUTO && !(q->layout.slice | q->layout.sigma | q->layout.block_rows | q->layout.block_cols);
        if (any && j->effort < 2 && side_by_wisdom(j, &csr, key, side, &s)) {
            snprintf(reason, SPX_REASON, "wisdom of an earlier timing");
        } else if (j->effort < 1) {
            s = side_by_model(j, &csr, c, count, &taken, side);
            if (s == SPMVX_OK) tell(reason, &f, &c[taken], taken + 1 < count ? &c[taken + 1] : NULL, "by the model");
        } else {
            char how[48];
            int timed = 0;
            s = side_timed(j, &csr, c, j->effort > 1 ? count : few_best(c, count), &best, &timed, side);
            snprintf(how, sizeof how, "fastest of %d timed", timed);
            if (s == SPMVX_OK) tell(reason, &f, &best, NULL, how);
            if (s == SPMVX_OK && any) s = spx_wisdom_learn(j->ctx, &j->learned, key, &best);
            if (s != SPMVX_OK) spx_side_drop(side);
        }
    }
    spx_sparse_drop(&csr);
    return s;
}

/* ---- the whole ---- */

static spmvx_status map_side(const job *j, const spx_sparse *pos, spx_side *side)
{
    return spx_update_map(j->ctx, pos, stays(j, pos), bytes_left(j), j->max_bytes, side);
}

static spmvx_status make_maps(job *j, const spmvx_matrix *src, spmvx_matrix *m)
{
    spx_sparse pos = { 0 }, pos_t = { 0 };
    j->there = NULL;
    SPX_TRY(spx_positions(j->ctx, src, &pos));
    spmvx_status s = map_side(j, &pos, &m->side[SPMVX_N]);
    if (s == SPMVX_OK && m->ops & SPMVX_OPS_T) {
        j->used = spx_side_bytes(&m->side[SPMVX_N]) + spx_side_bytes(&m->side[SPMVX_T]);
        s = turn(j, &pos, &pos_t);
        if (s == SPMVX_OK) s = map_side(j, &pos_t, &m->side[SPMVX_T]);
        spx_sparse_drop(&pos_t);
    }
    spx_sparse_drop(&pos);
    for (int op = 0; op < 2; op++) {
        if (s == SPMVX_OK) s = spx_array_to_place(j->ctx, &m->side[op].map);
        if (s == SPMVX_OK) s = spx_array_to_place(j->ctx, &m->side[op].map_ptr);
    }
    return s;
}

static size_t default_max_bytes(const spx_sparse *a)
{
    size_t n;
    spx_size_mul(csr_bytes(a), 16, &n);
    return spx_plus(n, (size_t)64 << 20);
}

static spmvx_status request_of(const spmvx_context *ctx, const spmvx_convert_options *o, spx_request *q)
{
    *q = (spx_request){ .format = o->format, .nondeterministic = o->flags & SPMVX_ALLOW_NONDETERMINISTIC,
                        .layout = { .slice = o->slice, .sigma = o->sigma, .block_rows = o->block_rows, .block_cols = o->block_cols },
                        .expected_muls = o->expected_muls ? o->expected_muls : 1000 };
    if (o->kernel) {
        SPX_TRY(spx_kernel_parse(ctx, SPMVX_MUL, o->kernel, &q->forced));
        if (o->format != SPMVX_AUTO && o->format != q->forced.kernel->format)
            return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel is \"%.64s\", of format %s, and options.format is %s", o->kernel,
                            spx_format_name(q->forced.kernel->format), spx_format_name(o->format));
    }
    return SPMVX_OK;
}

static spmvx_status transpose_side(job *j, const spmvx_matrix *src, spmvx_matrix *m)
{
    char reason[SPX_REASON];
    spx_sparse host = { 0 }, at = { 0 };
    SPX_TRY(spx_to_host(j->ctx, &src->side[SPMVX_N].A, &host));
    spmvx_status s = turn(j, &host, &at);
    if (s == SPMVX_OK) s = side_make(j, &at, &m->side[SPMVX_T], reason);
    spx_sparse_drop(&host);
    spx_sparse_drop(&at);
    if (s == SPMVX_OK) m->ops |= SPMVX_OPS_T;
    return s;
}

static spmvx_status convert_into(job *j, const spmvx_matrix *src, const spmvx_convert_options *o, spmvx_matrix *m)
{
    spmvx_context *ctx = j->ctx;
    const spx_side *from = &src->side[SPMVX_N];
    spx_side *n = &m->side[SPMVX_N], *t = &m->side[SPMVX_T];
    SPX_TRY(side_make(j, &from->A, n, m->reason));
    j->used = spx_sparse_bytes(&n->A, true) + spx_side_bytes(n) - spx_sparse_bytes(&n->A, false);
    if (o->ops & SPMVX_OPS_T) {
        SPX_TRY(transpose_side(j, src, m));
        j->used += spx_side_bytes(t);
    }
    if (o->nvec > 1) SPX_TRY(spx_side_prepare_multi(ctx, n));
    if (o->nvec > 1 && o->ops & SPMVX_OPS_T) SPX_TRY(spx_side_prepare_multi(ctx, t));
    m->updatable = o->flags & SPMVX_UPDATABLE;
    m->csr_is_input = src->csr_is_input && !spx_format_find(n->A.format)->place;   /* which sorts, and adds repeats up */
    const bool same_values = n->A.slot[SPX_VAL] == from->A.slot[SPX_VAL];
    m->stored_is_input = same_values ? src->stored_is_input : src->csr_is_input && (n->A.format == SPMVX_CSR || n->A.format == SPMVX_COO);
    /* A transpose that copied what is lent does not follow the caller's values, so the matrix must not, either. */
    const bool copied = o->ops & SPMVX_OPS_T && spx_sparse_borrowed(&n->A) && t->A.slot[SPX_VAL] != n->A.slot[SPX_VAL];
    if (m->updatable || copied || (src->updatable && same_values)) SPX_TRY(spx_own_values(ctx, &n->A));
    if (o->ops & SPMVX_OPS_T && (m->updatable || src->updatable)) SPX_TRY(spx_own_values(ctx, &t->A));
    if (m->updatable) {
        SPX_TRY(make_maps(j, src, m));
        m->stored_is_input |= !n->map;
    }
    spx_sparse_drop(&n->host);
    spx_sparse_drop(&t->host);
    const size_t held = spx_matrix_bytes(m);
    if (held > j->max_bytes)
        return spx_fail(ctx, SPMVX_ERR_LIMIT, "the result would hold %zu bytes with its partition and transpose; max_bytes is %zu", held, j->max_bytes);
    spx_kernel_spec(&n->choice, m->kernel);
    spx_log(ctx, SPMVX_LOG_DEBUG, "converted to %s: %s", m->kernel, m->reason);
    return spx_mul_reserve(ctx, m, SPMVX_N, o->nvec ? o->nvec : 1);
}

spmvx_status spx_matrix_convert(spmvx_context *ctx, const spmvx_matrix *src, const spmvx_convert_options *o, spmvx_matrix **out)
{
    job j = { .ctx = ctx, .effort = o->effort, .max_bytes = o->max_bytes ? o->max_bytes : default_max_bytes(&src->side[SPMVX_N].A) };
    SPX_TRY(request_of(ctx, o, &j.request));
    spmvx_matrix *m;
    SPX_TRY(spx_matrix_new(ctx, &m));
    spx_error_state before;
    spx_error_save(ctx, &before);
    const spmvx_status s = convert_into(&j, src, o, m);
    if (s == SPMVX_OK) {
        spx_error_restore(ctx, &before);   /* of candidates that did not fit */
        spx_wisdom_merge(ctx, j.learned);
        *out = m;
    } else {
        spx_wisdom_free(ctx, j.learned);
        spx_matrix_free(m);
    }
    return s;
}

