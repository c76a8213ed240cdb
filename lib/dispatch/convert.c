/* Conversion: choose a kernel for op N and, when asked for, for op T, build their formats, bring them to
 * where the context computes, prepare the kernels; with update maps when asked for.
 *
 * What the result may hold is max_bytes. What the conversion takes beside it, candidates that are dropped
 * included, is bounded by a budget of its own (scratch() below), also where the result is refused. */
#include "dispatch/make.h"

#include "core/values.h"
#include "dispatch/ownership.h"
#include "dispatch/source.h"
#include "dispatch/tune.h"
#include "dispatch/updates.h"

/* ---- the transpose, and update maps ---- */

/* What op T is made from: of a COO that is kept, the same arrays. */
static spmvx_status transpose_source(const spx_conversion *c, const spx_sparse *A, spx_sparse *out)
{
    if (A->format != SPMVX_COO || !spx_is_kept(c, A)) return spx_source_transpose(c->ctx, A, out);
    *out = spx_transpose_coo(A);
    return SPMVX_OK;
}

static spmvx_status make_transpose(spx_conversion *c, const spmvx_matrix *src, spmvx_matrix *m, char *reason)
{
    spx_sparse at = { 0 };
    spmvx_status s = transpose_source(c, &src->op[SPMVX_N].A, &at);
    if (s == SPMVX_OK) s = spx_make_operator(c, &at, SPMVX_T, &m->op[SPMVX_T], reason);
    spx_sparse_drop(&at);
    if (s == SPMVX_OK) m->ops |= SPMVX_OPS_T;
    return s;
}

static spmvx_status make_map(const spx_conversion *c, const spx_sparse *positions, spx_operator *op)
{
    return spx_update_map(c->ctx, positions, spx_is_kept(c, positions), op);
}

static spmvx_status make_maps(spx_conversion *c, const spmvx_matrix *src, spmvx_matrix *m)
{
    spx_sparse positions = { 0 }, transposed = { 0 };
    SPX_TRY(spx_positions(c->ctx, src, &positions));
    spmvx_status s = make_map(c, &positions, &m->op[SPMVX_N]);
    if (s == SPMVX_OK && m->ops & SPMVX_OPS_T) {
        s = transpose_source(c, &positions, &transposed);
        if (s == SPMVX_OK) s = make_map(c, &transposed, &m->op[SPMVX_T]);
        spx_sparse_drop(&transposed);
    }
    spx_sparse_drop(&positions);
    for (int op = 0; op < 2; op++) {
        if (s == SPMVX_OK) s = spx_array_to_place(c->ctx, &m->op[op].map);
        if (s == SPMVX_OK) s = spx_array_to_place(c->ctx, &m->op[op].map_ptr);
    }
    return s;
}

/* ---- the whole ---- */

static size_t default_max_bytes(const spx_sparse *a)
{
    size_t n;
    spx_size_mul(spx_csr_size(a->nrows, a->nnz, spx_type_bytes(a->val_type)), 16, &n);
    return spx_plus(n, (size_t)64 << 20);
}

/* What a conversion may take beside its result: eight times CSR's bytes and the source's own, which may
 * have to be brought to the host, and 16 MiB; with effort 1 and 2 another result, since the best so far is
 * kept while the next is built, and the vectors to time with. The workspace of the best so far is of the
 * former. */
static size_t scratch(const spx_conversion *c, const spx_sparse *a)
{
    size_t n;
    spx_size_mul(spx_csr_size(a->nrows, a->nnz, spx_type_bytes(a->val_type)), 8, &n);
    n = spx_plus(n, spx_plus(spx_sparse_bytes(a, true), (size_t)16 << 20));
    if (c->effort <= 0) return n;
    return spx_plus(n, spx_plus(c->max_bytes,
                                spx_timing_bytes(a->nrows, a->ncols, c->request.nvec, a->val_type)));
}

static spmvx_status read_request(const spmvx_context *ctx, const spmvx_convert_options *o, spx_request *q)
{
    *q = (spx_request){
        .format = o->format,
        .nondeterministic = o->flags & SPMVX_ALLOW_NONDETERMINISTIC,
        .updatable = o->flags & SPMVX_UPDATABLE,
        .layout = { .slice = o->slice,
                    .sigma = o->sigma,
                    .block_rows = o->block_rows,
                    .block_cols = o->block_cols },
        .expected_muls = o->expected_muls ? o->expected_muls : SPX_EXPECTED_MULS,
        .nvec = o->nvec ? o->nvec : 1,
    };
    if (!o->kernel) return SPMVX_OK;
    SPX_TRY(spx_kernel_parse(ctx, SPMVX_MUL, o->kernel, &q->forced));
    const int64_t values = q->forced.layout.values;
    if (q->updatable && values > SPX_VALUES_RAW)
        return spx_fail(
            ctx, SPMVX_ERR_ARGUMENT,
            "options.kernel has values=%s, and options.flags has SPMVX_UPDATABLE, which needs raw",
            spx_values_names[values - 1]);
    if (o->format == SPMVX_AUTO || o->format == q->forced.kernel->format) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                    "options.kernel is \"%.64s\", of format %s, and options.format is %s", o->kernel,
                    spx_format_name(q->forced.kernel->format), spx_format_name(o->format));
}

/* Which order of values the result still knows. */
static void set_order(const spmvx_matrix *src, spmvx_matrix *m)
{
    const spx_sparse *A = &m->op[SPMVX_N].A;
    const bool same_values = A->slot[SPX_VAL] == src->op[SPMVX_N].A.slot[SPX_VAL];
    const bool in_rows = A->format == SPMVX_CSR || A->format == SPMVX_COO;
    m->csr_is_input =
        src->csr_is_input && !spx_format_find(A->format)->place_of; /* which sorts, and adds repeats up */
    m->stored_is_input = same_values ? src->stored_is_input : src->csr_is_input && in_rows;
}

static spmvx_status check_result(const spx_conversion *c, const spmvx_matrix *m)
{
    const size_t held = spx_matrix_bytes(m);
    if (held <= c->max_bytes) return SPMVX_OK;
    return spx_fail(c->ctx, SPMVX_ERR_LIMIT,
                    "the result would hold %zu bytes with its partition and transpose; max_bytes is %zu",
                    held, c->max_bytes);
}

/* op N, and op T where it is asked for. */
static spmvx_status make_operators(spx_conversion *c, const spmvx_matrix *src, uint32_t ops,
                                   size_t of_transpose, spmvx_matrix *m)
{
    spx_operator *n = &m->op[SPMVX_N], *t = &m->op[SPMVX_T];
    char reason[SPX_REASON], spec[SPX_SPEC];
    c->n = NULL;
    c->used = 0;
    c->of_transpose = of_transpose;
    SPX_TRY(spx_make_operator(c, &src->op[SPMVX_N].A, SPMVX_N, n, m->reason));
    c->of_transpose = 0;
    if (!(ops & SPMVX_OPS_T)) return SPMVX_OK;
    c->used += spx_sparse_bytes(&n->A, true) + spx_operator_bytes(n) - spx_sparse_bytes(&n->A, false);
    c->n = n;
    SPX_TRY(make_transpose(c, src, m, reason));
    spx_kernel_spec(&t->choice, spec);
    spx_append(m->reason, "; op T by %s: %s", spec, reason);
    return SPMVX_OK;
}

static spmvx_status convert(spx_conversion *c, const spmvx_matrix *src, const spmvx_convert_options *o,
                            size_t of_transpose, spmvx_matrix *m)
{
    spx_operator *n = &m->op[SPMVX_N];
    SPX_TRY(make_operators(c, src, o->ops, of_transpose, m));
    set_order(src, m);
    const bool shares_written = src->updatable && n->A.slot[SPX_VAL] == src->op[SPMVX_N].A.slot[SPX_VAL];
    m->updatable = o->flags & SPMVX_UPDATABLE;
    SPX_TRY(spx_matrix_settle_ownership(
        c->ctx, m, m->updatable || shares_written || (src->updatable && o->ops & SPMVX_OPS_T)));
    if (m->updatable) {
        SPX_TRY(make_maps(c, src, m));
        m->stored_is_input |= !n->map;
    }
    SPX_TRY(check_result(c, m));
    spx_kernel_spec(&n->choice, m->kernel);
    SPX_TRY(spx_mul_reserve(c->ctx, m, SPMVX_N, c->request.nvec));
    return c->ctx->backend->synchronize(c->ctx); /* a kernel that begins early may read the pattern */
}

static void forget_learned(spx_conversion *c)
{
    for (int op = 0; op < 2; op++) {
        spx_wisdom_drop(c->ctx, c->learned[op]);
        c->learned[op] = NULL;
    }
}

static spmvx_status attempt(spx_conversion *c, const spmvx_matrix *src, const spmvx_convert_options *o,
                            size_t of_transpose, spmvx_matrix **out)
{
    spmvx_matrix *m = NULL;
    spmvx_status s = spx_matrix_new(c->ctx, &m);
    if (s == SPMVX_OK) s = convert(c, src, o, of_transpose, m);
    if (s == SPMVX_OK) {
        *out = m;
        return s;
    }
    if (m) spx_matrix_free(m);
    forget_learned(c);
    return s;
}

/* Is there a kernel of this place that keeps lists of the entries, which a lean request leaves out? */
static bool lists_are_kept(const spmvx_context *ctx)
{
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (k->place == ctx->backend->place && k->prepare_entry > 0) return true;
    }
    return false;
}

/* What is made after the choice, a transpose, a map for updates or workspace, may not fit beside what was
 * chosen. Then the library chooses again, leaving room for a transpose, as CSR or, since PACKED may take
 * less, more and more of what there is; and in the end takes CSR, with a kernel that keeps no lists. */
static spmvx_status convert_what_fits(spx_conversion *c, const spmvx_matrix *src,
                                      const spmvx_convert_options *o, spmvx_matrix **out)
{
    enum { LEAST_PART = 16 }; /* of max_bytes, for op N */
    const spx_sparse *A = &src->op[SPMVX_N].A;
    spmvx_status s = attempt(c, src, o, 0, out);
    const spmvx_format format = spx_request_format(&c->request);
    if (s != SPMVX_ERR_LIMIT && s != SPMVX_ERR_MEMORY) return s;
    if (format == SPMVX_CSR && !c->request.forced.kernel && lists_are_kept(c->ctx)) {
        c->request.lean = true;
        c->effort = 0;
        return attempt(c, src, o, 0, out);
    }
    if (format != SPMVX_AUTO || spx_is_kept(c, A)) return s;
    if (o->ops & SPMVX_OPS_T)
        s = attempt(c, src, o, spx_csr_size(A->ncols, A->nnz, spx_type_bytes(A->val_type)), out);
    for (size_t part = 2; o->ops & SPMVX_OPS_T && part <= LEAST_PART && s == SPMVX_ERR_LIMIT; part *= 2)
        s = attempt(c, src, o, c->max_bytes - c->max_bytes / part, out);
    if (s != SPMVX_ERR_LIMIT && s != SPMVX_ERR_MEMORY) return s;
    c->request.format = SPMVX_CSR;
    c->request.lean = true;
    c->effort = 0;
    s = attempt(c, src, o, 0, out);
    if (s == SPMVX_OK) spx_append((*out)->reason, "; no other format fits with all that was asked for");
    return s;
}

static spmvx_status convert_within_budget(spx_conversion *c, const spmvx_matrix *src,
                                          const spmvx_convert_options *o, spmvx_matrix **out)
{
    const spx_sparse *a = &src->op[SPMVX_N].A;
    SPX_TRY(spx_budget_open(c->ctx, spx_plus(c->max_bytes, scratch(c, a)),
                            "options.max_bytes, beside which a conversion takes some scratch,",
                            c->max_bytes));
    const spmvx_status s = convert_what_fits(c, src, o, out);
    spx_budget_close(c->ctx);
    return s;
}

spmvx_status spx_matrix_convert(spmvx_context *ctx, const spmvx_matrix *src, const spmvx_convert_options *o,
                                spmvx_matrix **out)
{
    spx_conversion c = { .ctx = ctx, .effort = o->effort };
    c.max_bytes = o->max_bytes ? o->max_bytes : default_max_bytes(&src->op[SPMVX_N].A);
    SPX_TRY(read_request(ctx, o, &c.request));
    spx_error_state before;
    spx_error_save(ctx, &before);
    const spmvx_status s = convert_within_budget(&c, src, o, out);
    if (s != SPMVX_OK) return s;
    spx_error_restore(ctx, &before); /* of candidates that did not fit */
    for (int op = 0; op < 2; op++) spx_wisdom_keep(ctx, c.learned[op]);
    spx_log(ctx, SPMVX_LOG_DEBUG, "converted to %s: %s", (*out)->kernel, (*out)->reason);
    return s;
}
