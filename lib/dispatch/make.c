#include "dispatch/make.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/features.h"
#include "dispatch/source.h"
#include "dispatch/contest.h"
#include "dispatch/tune.h"

/* What an operator may take, if it shares with op N all that it could. */
static size_t bytes_left(const spx_conversion *c, spmvx_format format)
{
    const size_t used = c->used - (c->n ? spx_sparse_bytes(&c->n->A, true) : 0);
    const size_t all = spx_plus(used, format == SPMVX_CSR ? 0 : c->of_transpose);
    return all < c->max_bytes ? c->max_bytes - all : 0;
}

static bool has_array(const spx_sparse *A, const spx_array *array)
{
    for (int i = 0; i < SPX_SLOTS; i++)
        if (A->slot[i] == array) return true;
    return false;
}

/* With its partition, and what it shares counted once, does an operator that is built fit? One that knows
 * CSR's values to be one will have copies of what is borrowed (dispatch/ownership.c). */
static spmvx_status check_operator(const spx_conversion *c, const spx_operator *op)
{
    size_t held = c->used + spx_operator_bytes(op);
    if (op->A.format == SPMVX_CSR && op->A.layout.values)
        held = spx_plus(held, spx_sparse_bytes(&op->A, true) - spx_sparse_bytes(&op->A, false));
    for (int i = 0; c->n && i < SPX_SLOTS; i++) {
        const spx_array *array = op->A.slot[i];
        if (array && !array->borrowed && has_array(&c->n->A, array)) held -= array->bytes;
    }
    if (op->A.format != SPMVX_CSR) held = spx_plus(held, c->of_transpose);
    if (held <= c->max_bytes) return SPMVX_OK;
    return spx_fail(c->ctx, SPMVX_ERR_LIMIT,
                    "the result would hold %zu bytes with its partition; max_bytes is %zu", held,
                    c->max_bytes);
}

/* ---- one operator of a candidate ---- */

/* Did the format add repeats up? A choice by the library never does: NaN and Inf would differ from CSR's,
 * and op N's from op T's. */
static spmvx_status check_repeats(const spx_conversion *c, const spx_source *source, const spx_sparse *A)
{
    if (spx_request_format(&c->request) != SPMVX_AUTO || A->nnz == source->nnz) return SPMVX_OK;
    return spx_fail(c->ctx, SPMVX_ERR_UNSUPPORTED, "%s would add up %" PRId64 " repeated entries",
                    spx_format_name(A->format), source->nnz - A->nnz);
}

/* Formats that the host builds for a device may leave it a layout that no kernel there takes. */
static spmvx_status check_layout(const spx_conversion *c, const spx_sparse *A)
{
    if (spx_layout_serves(c->ctx, A->format, &A->layout, false)) return SPMVX_OK;
    return spx_fail(c->ctx, SPMVX_ERR_UNSUPPORTED, "no kernel of %s takes this layout of %s",
                    c->ctx->backend->name, spx_format_name(A->format));
}

spmvx_status spx_build_candidate(const spx_conversion *c, spx_source *source, const spx_candidate *candidate,
                                 spx_operator *out)
{
    const spx_build how = { .layout = candidate->choice.layout,
                            .left = bytes_left(c, candidate->choice.kernel->format),
                            .max_bytes = c->max_bytes };
    spx_operator op = { 0 };
    SPX_TRY(spx_source_build(c->ctx, source, candidate->choice.kernel->format, &how, &op.A));
    spmvx_status s = check_repeats(c, source, &op.A);
    if (s == SPMVX_OK) s = check_layout(c, &op.A);
    if (s == SPMVX_OK) s = spx_operator_prepare(c->ctx, &op, &candidate->choice);
    if (s == SPMVX_OK && candidate->multi.kernel)
        s = spx_operator_prepare_multi(c->ctx, &op, &candidate->multi);
    if (s == SPMVX_OK) s = check_operator(c, &op);
    if (s == SPMVX_OK) *out = op;
    else spx_operator_drop(&op);
    return s;
}

bool spx_may_go_on(spmvx_status s)
{
    return s == SPMVX_ERR_LIMIT || s == SPMVX_ERR_MEMORY || s == SPMVX_ERR_UNSUPPORTED;
}

void spx_log_dropped(const spx_conversion *c, const spx_candidate *candidate)
{
    char spec[SPX_SPEC];
    spx_kernel_spec(&candidate->choice, spec);
    spx_log(c->ctx, SPMVX_LOG_DEBUG, "%s is dropped: %s", spec, c->ctx->error);
}

/* Takes the first candidate that can be built; *chosen tells which. If none can be built, the call fails
 * with CSR's error, or with the first one where CSR is no candidate. */
static spmvx_status build_by_model(const spx_conversion *c, spx_source *source,
                                   const spx_candidate *candidates, int count, int *chosen, spx_operator *out)
{
    spmvx_status failed = SPMVX_OK;
    spx_error_state first_error;
    for (*chosen = 0; *chosen < count; ++*chosen) {
        const spx_candidate *candidate = &candidates[*chosen];
        const spmvx_status s = spx_build_candidate(c, source, candidate, out);
        if (!spx_may_go_on(s)) return s;
        spx_log_dropped(c, candidate);
        if (failed == SPMVX_OK || candidate->choice.kernel->format == SPMVX_CSR) {
            spx_error_save(c->ctx, &first_error);
            failed = s;
        }
    }
    spx_error_restore(c->ctx, &first_error);
    return failed;
}

/* ---- the reason, in words ---- */

void spx_append(char *reason, const char *format, ...)
{
    const size_t n = strlen(reason);
    va_list args;
    va_start(args, format);
    vsnprintf(reason + n, SPX_REASON - n, format, args);
    va_end(args);
}

/* Three digits, and never an exponent. */
static void append_number(char *reason, const char *before, double v, const char *after)
{
    spx_append(reason, v < 999.5 ? "%s%.3g%s" : "%s%.0f%s", before, v, after);
}

static void append_time(char *reason, double ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = { { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
    int u = 0;
    while (u < 2 && ns >= 999.5 * units[u].ns) u++;
    spx_append(reason, ", %.3g %s", ns / units[u].ns, units[u].name);
}

static void append_candidate(char *reason, const spx_candidate *c, const char *before, const char *after)
{
    char spec[SPX_SPEC];
    spx_kernel_spec(&c->choice, spec);
    spx_append(reason, "%s%s", before, spec);
    if (!c->judged) return;
    append_time(reason, c->mul_ns);
    spx_append(reason, "%s", after);
}

static void write_reason(char *reason, const char *how, const spx_features *f, const spx_candidate *best,
                         const spx_candidate *next, const spx_candidate *all, int count)
{
    snprintf(reason, SPX_REASON, "%s: ", how);
    append_candidate(reason, best, "",
                     f->nvec > 1 ? " a multiplication by all columns" : " a multiplication");
    if (next) {
        append_candidate(reason, next, " (next ", "");
        if (next->judged && next->mul_ns < best->mul_ns)
            spx_append(reason, ", too little less for what it takes to build");
        spx_append(reason, ")");
    }
    append_number(reason, "; rows of ", f->mean, "");
    append_number(reason, " +- ", f->deviation, "");
    spx_append(reason, ", longest %" PRId64, f->longest);
    for (int i = 0; i < count && f->nnz; i++) {
        const spx_candidate *c = &all[i];
        if (c->choice.kernel->format != SPMVX_SELL || !c->judged) continue;
        const int64_t sigma = spx_min(c->choice.layout.sigma, f->nrows);
        spx_append(reason, "; SELL in slices of %" PRId64 " rows", c->choice.layout.slice);
        if (sigma > 1) spx_append(reason, ", sorted within %" PRId64 ",", sigma);
        else if (!sigma) spx_append(reason, ", sorted,");
        append_number(reason, " would store ", (double)c->stored / (double)spx_max(f->nnz, 1),
                      " places an entry");
        break;
    }
}

/* ---- one operator ---- */

bool spx_is_kept(const spx_conversion *c, const spx_sparse *A)
{
    const spx_request *q = &c->request;
    const spmvx_format format = spx_request_format(q);
    const spx_layout asked = spx_request_layout(q);
    if (format == SPMVX_AUTO)
        return A->format == SPMVX_COO && spx_rows_outnumber(A->nrows, A->nnz) &&
               spx_kernel_serves(c->ctx, SPMVX_COO, true);
    if (format != A->format) return false;
    if (format == SPMVX_CSR && A->layout.values && !asked.values) return false; /* as they came */
    if (format == SPMVX_CSR &&
        (!q->forced.kernel || (q->forced.any_variant && spx_kernel_has_variants(q->forced.kernel))))
        return false;
    return spx_layout_serves(c->ctx, format, &A->layout, !q->forced.kernel) &&
           spx_layout_matches(spx_format_find(format), &asked, &A->layout);
}

/* The kernel for several columns, of an operator that is built. */
static spmvx_status prepare_multi(const spx_conversion *c, spx_operator *op)
{
    const spx_sparse *A = &op->A;
    const spx_look look = { .layout = A->layout, .stored = A->stored, .width = A->width };
    spx_features f = spx_features_of_shape(c->ctx, A, c->request.nvec);
    spx_choice multi;
    double ns;
    if (A->format == SPMVX_CSR) SPX_TRY(spx_features_of(c->ctx, A, c->request.nvec, NULL, &f));
    spx_select_multi(c->ctx, &f, &look, A->format, A->val_type, c->request.nondeterministic,
                     spx_kernel_factor(&f, op->choice.kernel, &look) * op->choice.kernel->cost(&f, &look),
                     &multi, &ns);
    return multi.kernel ? spx_operator_prepare_multi(c->ctx, op, &multi) : SPMVX_OK;
}

/* A bare name takes the best of its variants by the model, also of arrays that are there, of whose rows only
 * the mean is known. */
static void take_best_variant(const spx_conversion *c, const spx_sparse *A, spx_choice *choice)
{
    const spx_look look = { .layout = A->layout, .stored = A->stored, .width = A->width };
    const spx_features f = spx_features_of_shape(c->ctx, A, 1);
    const spx_kernel *named = choice->kernel;
    double least = INFINITY;
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (!(k->types & SPX_BIT(A->val_type)) || !spx_kernel_same_base(k, named) || !spx_kernel_available(k))
            continue;
        const double ns = spx_kernel_factor(&f, k, &look) * k->cost(&f, &look);
        if (ns >= least) continue;
        least = ns;
        choice->kernel = k;
    }
}

/* Another kernel over the same arrays. */
static spmvx_status keep(const spx_conversion *c, const spx_sparse *A, spx_operator *out, char *reason)
{
    const spx_request *q = &c->request;
    spx_choice choice = q->forced;
    spx_operator op = { 0 };
    if (!choice.kernel) SPX_TRY(spx_select_any(c->ctx, A->format, A->val_type, &choice));
    choice.layout = A->layout;
    if (choice.any_variant) take_best_variant(c, A, &choice);
    if (q->forced.kernel) snprintf(reason, SPX_REASON, "kernel asked for by name");
    else if (q->format != SPMVX_AUTO) snprintf(reason, SPX_REASON, "format asked for");
    else
        snprintf(reason, SPX_REASON,
                 "rows far outnumber entries, so that CSR's row pointers would cost more than the entries");
    spmvx_status s = spx_source_share(c->ctx, A, &op.A);
    if (s == SPMVX_OK) s = spx_operator_prepare(c->ctx, &op, &choice);
    if (s == SPMVX_OK && q->nvec > 1) s = prepare_multi(c, &op);
    if (s == SPMVX_OK) *out = op;
    else spx_operator_drop(&op);
    return s;
}

/* What is in a kernel's name is all there or not at all: "tiled:hot=100" has no width. In which code values
 * and columns are stored is not advised, but found. */
static void take_layout(const spx_layout_key *keys, const spx_layout *advised, spx_layout *out)
{
    bool named = false;
    for (const spx_layout_key *k = keys; k && k->key; k++)
        named |= k->in_name && !spx_is_found(k) && spx_layout_value(advised, k);
    for (const spx_layout_key *k = keys; k && k->key; k++) {
        if (spx_is_found(k)) continue;
        const int64_t v = spx_layout_value(advised, k);
        if (v || (named && k->in_name)) *spx_layout_field(out, k) = v;
    }
}

/* Are values stored in a code, or known to be one? CSR says nothing of values as they came. */
static bool is_coded(const spx_choice *choice)
{
    const int64_t values = choice->layout.values;
    return values != SPX_VALUES_RAW && (values || choice->kernel->format != SPMVX_CSR);
}

/* The candidate for what wisdom knows: its kernel, with values as they came where these were faster than a
 * code, if that is in question here; NULL where there is none, or CSR was the fastest since all values were
 * one, and these are not. */
static const spx_candidate *candidate_for(const spx_choice *known, const spx_candidate *candidates, int count)
{
    const spx_candidate *found = NULL;
    for (const spx_candidate *c = candidates; c < candidates + count; c++) {
        if (c->choice.kernel != known->kernel) continue;
        if (is_coded(&c->choice) == is_coded(known)) return c;
        if (!found) found = c;
    }
    return known->kernel->format == SPMVX_CSR && is_coded(known) ? NULL : found;
}

/* The candidate that wisdom advises, with what the advice leaves open of its layout as the format's look has
 * it; false when it advises nothing, or what is no candidate. Wisdom is what op N has just learned, too: a
 * transpose with the same features takes the same kernel here as where this wisdom is imported. */
static bool advised(const spx_conversion *c, const char *key, const spx_candidate *candidates, int count,
                    spx_candidate *out)
{
    spx_candidate known;
    if (!spx_wisdom_find(c->ctx, c->learned[SPMVX_N], key, &known)) return false;
    const spx_candidate *found = candidate_for(&known.choice, candidates, count);
    if (!found) {
        spx_log(c->ctx, SPMVX_LOG_DEBUG, "wisdom is passed over: %s is out of the question here",
                known.choice.kernel->name);
        return false;
    }
    *out = *found;
    memcpy(out->choice.param, known.choice.param, sizeof known.choice.param);
    take_layout(spx_format_find(known.choice.kernel->format)->layout, &known.choice.layout,
                &out->choice.layout);
    if (known.by_column) out->multi = (spx_choice){ 0 };
    return true;
}

/* False when wisdom advises nothing that can be built here. */
static bool build_by_wisdom(const spx_conversion *c, spx_source *source, const char *key,
                            const spx_candidate *candidates, int count, spx_operator *out)
{
    spx_candidate known;
    if (!advised(c, key, candidates, count, &known)) return false;
    spx_error_state before;
    spx_error_save(c->ctx, &before);
    const spmvx_status s = spx_build_candidate(c, source, &known, out);
    if (s != SPMVX_OK) spx_log(c->ctx, SPMVX_LOG_DEBUG, "wisdom is passed over: %s", c->ctx->error);
    spx_error_restore(c->ctx, &before);
    if (s == SPMVX_OK && known.judged) out->expected_ns = known.mul_ns;
    return s == SPMVX_OK;
}

/* Chooses among all that fit, by wisdom, by timing or by the model. */
static spmvx_status choose(spx_conversion *c, spx_source *source, spmvx_op op, spx_operator *out,
                           char *reason)
{
    const spx_request *q = &c->request;
    const spx_sparse *csr;
    spx_candidate candidates[SPX_CANDIDATES], best = { 0 };
    spx_features f;
    int count, chosen = 0, timed = 0;
    SPX_TRY(spx_source_csr(c->ctx, source, &csr));
    c->began = spx_now();
    SPX_TRY(spx_select(c->ctx, csr, q, candidates, &count, &f));
    if (q->forced.kernel) {
        snprintf(reason, SPX_REASON, "kernel asked for by name");
        SPX_TRY(spx_build_candidate(c, source, &candidates[0], out));
        if (candidates[0].judged) out->expected_ns = candidates[0].mul_ns;
        return SPMVX_OK;
    }
    char key[SPX_WISDOM_KEY];
    static const spx_layout open;
    const bool any = q->format == SPMVX_AUTO && !memcmp(&q->layout, &open, sizeof open);
    spx_wisdom_key(c->ctx, &f, q->expected_muls, key);
    if (any && c->effort < 2 && build_by_wisdom(c, source, key, candidates, count, out)) {
        snprintf(reason, SPX_REASON, "wisdom of an earlier timing");
        return SPMVX_OK;
    }
    if (c->effort > 0 && source->nrows) {
        const spmvx_status s = spx_build_timed(c, source, candidates, count, &best, &timed, out);
        char how[48];
        snprintf(how, sizeof how, "fastest of %d timed", timed);
        if (s == SPMVX_OK) {
            write_reason(reason, how, &f, &best, NULL, candidates, count);
            out->expected_ns = best.mul_ns;
        }
        if (s == SPMVX_OK && any && !c->hurried) {
            best.choice = out->choice;
            best.by_column = q->nvec > 1 && !out->multi.kernel;
            if (spx_wisdom_learn(c->ctx, key, &best, &c->learned[op]) != SPMVX_OK)
                spx_log(c->ctx, SPMVX_LOG_DEBUG, "nothing is learned: %s", c->ctx->error);
        }
        if (s == SPMVX_OK || !spx_may_go_on(s)) return s;
        spx_log(c->ctx, SPMVX_LOG_DEBUG, "nothing was timed: %s", c->ctx->error);
    }
    SPX_TRY(build_by_model(c, source, candidates, count, &chosen, out));
    if (candidates[chosen].judged) out->expected_ns = candidates[chosen].mul_ns;
    const char *how = !candidates[chosen].judged ? "the only kernel of the format asked for"
                      : c->disturbed ? "by the model, since other processes kept the processors busy"
                                     : "by the model";
    write_reason(reason, how, &f, &candidates[chosen], chosen + 1 < count ? &candidates[chosen + 1] : NULL,
                 candidates, count);
    if (chosen) append_candidate(reason, &candidates[0], "; preferred, but not to be built here: ", "");
    return SPMVX_OK;
}

/* CSR is what everything goes through; where it is the target as well, its size is known before it is
 * built. */
static spmvx_status check_csr_size(const spx_conversion *c, const spx_sparse *A)
{
    const size_t bytes = spx_csr_size(A->nrows, A->nnz, spx_type_bytes(A->val_type)),
                 left = bytes_left(c, SPMVX_CSR);
    if (A->format == SPMVX_CSR || spx_request_format(&c->request) != SPMVX_CSR || bytes <= left)
        return SPMVX_OK;
    return spx_fail(c->ctx, SPMVX_ERR_LIMIT,
                    "CSR would hold %zu bytes, for %" PRId64 " rows and %" PRId64
                    " entries; max_bytes is %zu, and %zu of it "
                    "are left",
                    bytes, A->nrows, A->nnz, c->max_bytes, left);
}

spmvx_status spx_make_operator(spx_conversion *c, const spx_sparse *A, spmvx_op op, spx_operator *out,
                               char *reason)
{
    if (spx_is_kept(c, A)) return keep(c, A, out, reason);
    SPX_TRY(check_csr_size(c, A));
    spx_source source = spx_source_of(A);
    const spmvx_status s = choose(c, &source, op, out, reason);
    spx_source_drop(&source);
    if (s != SPMVX_OK) spx_operator_drop(out);
    return s;
}
