/* The choice by the model: every kernel's own cost(), with what its format costs to build spread over the
 * multiplications that are expected. What a format would hold, and what it costs to build, its record
 * tells. */
#include "dispatch/select.h"

#include <stdlib.h>
#include <string.h>

#include "core/values.h"
#include "dispatch/features.h"

double spx_score(const spx_candidate *c, int64_t expected_muls)
{
    return c->mul_ns + c->setup_ns / (double)expected_muls;
}

spmvx_format spx_request_format(const spx_request *q)
{
    return q->forced.kernel ? q->forced.kernel->format : q->format;
}

spx_layout spx_request_layout(const spx_request *q)
{
    spx_layout l = q->layout;
    const spx_format *f = q->forced.kernel ? spx_format_find(q->forced.kernel->format) : NULL;
    for (const spx_layout_key *k = f ? f->layout : NULL; k && k->key; k++) {
        const int64_t named = spx_layout_value(&q->forced.layout, k);
        if (named) *spx_layout_field(&l, k) = named;
    }
    if (q->updatable) l.values = SPX_VALUES_RAW; /* which has room for any value */
    return l;
}

static bool fits(const spmvx_context *ctx, const spx_kernel *k, spmvx_operation operation,
                 spmvx_format format, spmvx_type type, bool nondeterministic)
{
    return k->operation == operation && k->place == ctx->backend->place && k->types & SPX_BIT(type) &&
           (format == SPMVX_AUTO || k->format == format) &&
           (nondeterministic || k->flags & SPMVX_KERNEL_DETERMINISTIC) && spx_kernel_available(k);
}

static bool wanted(const spmvx_context *ctx, const spx_request *q, const spx_kernel *k, spmvx_type type)
{
    const spx_kernel *forced = q->forced.kernel;
    if (!forced) return fits(ctx, k, SPMVX_MUL, q->format, type, q->nondeterministic);
    return k == forced ||
           (q->forced.any_variant && spx_kernel_same_base(k, forced) && spx_kernel_available(k));
}

static spmvx_status none_fits(const spmvx_context *ctx, spmvx_format format)
{
    const char *disabled = getenv("SPMVX_DISABLE");
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                    "no kernel is available for format %s; SPMVX_DISABLE is \"%.64s\"",
                    spx_format_name(format), disabled ? disabled : "");
}

/* Kernels for several columns are portable, and have the factor of the portable one for one column. */
static int32_t place_of(const spx_kernel *k)
{
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *r = spx_kernel_at(i);
        if (r->operation == SPMVX_MUL && r->place == k->place && !strcmp(r->name, k->name)) return i;
    }
    return -1;
}

static int kind_of_rows(const spx_features *f, const spx_kernel *k, const spx_look *look)
{
    static const double long_row = 40.0, middle_row = 12.0, most_padding = 1.25;
    if (k->format == SPMVX_PACKED && look->diagonal_part >= 0.5) return SPX_DIAGONALS;
    if (k->format == SPMVX_DIA && (double)look->stored <= most_padding * (double)f->nnz) return SPX_DIAGONALS;
    if (f->mean >= long_row) return SPX_LONG_ROWS;
    return f->mean >= middle_row ? SPX_MIDDLE_ROWS : SPX_SHORT_ROWS;
}

static int level_of(const spx_features *f, int kind)
{
    const spx_machine *m = f->machine;
    const double bytes = spx_csr_bytes(f);
    if (kind != SPX_DIAGONALS && f->span * (double)f->value_bytes > m->second_cache) return SPX_FAR;
    if (bytes > m->last_cache) return SPX_IN_MEMORY;
    return bytes > m->second_cache * f->threads ? SPX_IN_LAST : SPX_IN_SECOND;
}

double spx_kernel_factor(const spx_features *f, const spx_kernel *k, const spx_look *look)
{
    const int32_t place = k->place == SPMVX_HOST ? place_of(k) : -1;
    if (place < 0) return 1.0;
    const int kind = kind_of_rows(f, k, look),
              thousandths = f->machine->kernel_scale[place][kind][level_of(f, kind)];
    return thousandths ? 1e-3 * thousandths : 1.0;
}

void spx_select_multi(const spmvx_context *ctx, const spx_features *f, const spx_look *look,
                      spmvx_format format, spmvx_type type, bool nondeterministic, double mul_ns,
                      spx_choice *out, double *ns)
{
    *out = (spx_choice){ 0 };
    *ns = (double)f->nvec * mul_ns;
    for (int32_t i = 0; i < spx_kernel_total() && f->nvec > 1; i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (!fits(ctx, k, SPMVX_MUL_MULTI, format, type, nondeterministic)) continue;
        const double cost = spx_kernel_factor(f, k, look) * k->cost(f, look);
        if (cost >= *ns) continue;
        *ns = cost;
        *out = spx_kernel_preset(k);
    }
}

/* What one format would hold: looked at once, whatever number of kernels it has. */
typedef struct view {
    bool done, usable;
    spx_look look;
    double setup_ns;
} view;

typedef struct selection {
    spmvx_context *ctx;
    const spx_sparse *csr;
    const spx_request *request;
    spx_features features;
    bool one_value_asked, one_value;
    view of[SPX_FORMATS];
} selection;

/* Memory that looking may take, whatever the matrix's shape: a constant, which holds what the threads of
 * a device have in flight, and a part of CSR's. */
static size_t scratch(const spx_sparse *csr)
{
    return spx_csr_size(csr->nrows, csr->nnz, spx_type_bytes(csr->val_type)) / 4 + ((size_t)4 << 20);
}

/* Fields that a format has not are no request of it: AUTO with a slice asked for still weighs CSR. */
static bool layout_fits(selection *s, const spx_format *f, const spx_layout *asked)
{
    spx_error_state before;
    spx_error_save(s->ctx, &before);
    const bool ok = spx_layout_check(s->ctx, f, asked, "options.") == SPMVX_OK;
    spx_error_restore(s->ctx, &before);
    return ok;
}

/* Does the format store values in fewer bits, by a code that nobody has asked for? CSR has them as they
 * came. */
static bool codes_values(const spx_format *f, const spx_layout *asked)
{
    const spx_layout_key *k = f->format == SPMVX_CSR ? NULL : f->layout;
    while (k && k->key && !spx_tells_values(k)) k++;
    return k && k->key && !asked->values;
}

static spmvx_status look_at(selection *s, spmvx_format format, view *v)
{
    const spx_format *own = spx_format_of_place(s->ctx, format), *f = own ? own : spx_format_find(format);
    const spx_layout all = spx_request_layout(s->request), asked = spx_layout_of(f, &all);
    const bool any = spx_request_format(s->request) == SPMVX_AUTO;
    v->look = (spx_look){ .layout = asked, .stored = s->csr->nnz };
    if (format == SPMVX_CSR && asked.values == SPX_VALUES_RAW) v->look.layout.values = 0; /* as they came */
    if (any && !layout_fits(s, f, &asked)) return SPMVX_OK;
    SPX_TRY(spx_layout_check(s->ctx, f, &asked, "options."));
    if (s->request->updatable && !f->opaque_values)
        return any ? SPMVX_OK
                   : spx_fail(s->ctx, SPMVX_ERR_UNSUPPORTED,
                              "options.flags has SPMVX_UPDATABLE, and %s has no values to be updated",
                              spx_format_name(format));
    if (codes_values(f, &asked)) SPX_TRY(spx_features_of_values(s->ctx, s->csr, &s->features));
    if (f->look) SPX_TRY(f->look(s->ctx, s->csr, &s->features, &asked, &v->look));
    v->usable = true;
    v->setup_ns = f->setup_ns ? f->setup_ns(&s->features, &v->look) : 0.0;
    return SPMVX_OK;
}

/* Looks with a budget of its own. In a choice by the library what cannot be looked at is left out. */
static spmvx_status view_of(selection *s, spmvx_format format)
{
    view *v = &s->of[format];
    if (v->done) return SPMVX_OK;
    v->done = true;
    const spx_format *own = spx_format_of_place(s->ctx, format), *f = own ? own : spx_format_find(format);
    if (!f->look && !codes_values(f, &(spx_layout){ 0 }))
        return look_at(s, format, v); /* which takes nothing */
    const size_t most = scratch(s->csr);
    spx_error_state before;
    spx_error_save(s->ctx, &before);
    spmvx_status status = spx_budget_open(s->ctx, most, "the scratch of a choice", most);
    if (status == SPMVX_OK) {
        status = look_at(s, format, v);
        spx_budget_close(s->ctx);
    }
    const bool out = status == SPMVX_ERR_MEMORY || status == SPMVX_ERR_LIMIT;
    if (!out || spx_request_format(s->request) != SPMVX_AUTO) return status;
    spx_log(s->ctx, SPMVX_LOG_DEBUG, "%s is left out of the choice: %s", spx_format_name(format),
            s->ctx->error);
    spx_error_restore(s->ctx, &before);
    return SPMVX_OK;
}

/* A sample tells whether all values may be one, the builder whether they are. */
static spmvx_status look_for_one_value(selection *s)
{
    const spx_build how = { .layout = { .values = SPX_VALUES_ONE }, .left = SIZE_MAX, .max_bytes = SIZE_MAX };
    spx_sparse known;
    SPX_TRY(spx_features_of_values(s->ctx, s->csr, &s->features));
    if (s->features.distinct != 1 || !s->csr->nnz) return SPMVX_OK;
    SPX_TRY(spx_format_of_place(s->ctx, SPMVX_CSR)->from_csr(s->ctx, s->csr, &how, &known));
    s->one_value = known.layout.values == SPX_VALUES_ONE;
    spx_sparse_drop(&known);
    return SPMVX_OK;
}

/* In a choice by the library, are all values one, and will they stay so? Asked once, where a kernel would
 * read it once. Where there is no memory to look, nobody knows. */
static spmvx_status is_one_value(selection *s, const spx_kernel *k, bool *one)
{
    *one = false;
    if (!k->one_value || spx_request_format(s->request) != SPMVX_AUTO || s->request->updatable)
        return SPMVX_OK;
    const size_t most = scratch(s->csr);
    spx_error_state before;
    spx_error_save(s->ctx, &before);
    spmvx_status status = SPMVX_OK;
    if (!s->one_value_asked) {
        s->one_value_asked = true;
        status = spx_budget_open(s->ctx, most, "the scratch of a choice", most);
        if (status == SPMVX_OK) {
            status = look_for_one_value(s);
            spx_budget_close(s->ctx);
        }
    }
    *one = s->one_value;
    if (status != SPMVX_ERR_MEMORY && status != SPMVX_ERR_LIMIT) return status;
    spx_error_restore(s->ctx, &before);
    return SPMVX_OK;
}

/* What it takes to know one value: a pass over the values, and where the arrays are the caller's, who might
 * change them, a copy. */
static double one_value_setup_ns(const selection *s)
{
    const spx_features *f = &s->features;
    const double values = (double)f->nnz * (double)f->value_bytes,
                 copied = s->csr->slot[SPX_VAL]->borrowed ? 2.0 * spx_csr_bytes(f) : 0.0;
    return (values + copied) / f->machine->memory_rate;
}

static spx_candidate candidate_of(const selection *s, const spx_kernel *k, const spx_look *look,
                                  double setup_ns)
{
    const spx_request *q = s->request;
    const double prepare_ns =
        k->prepare_launches * s->features.machine->launch_ns + k->prepare_entry * (double)s->features.nnz;
    spx_candidate c = { .choice = q->forced.kernel ? q->forced : spx_kernel_preset(k),
                        .setup_ns = setup_ns + prepare_ns };
    c.choice.kernel = k;
    c.choice.layout = look->layout;
    c.stored = look->stored;
    c.judged = look->stored || !s->csr->nnz;
    const double one = spx_kernel_factor(&s->features, k, look) * k->cost(&s->features, look);
    /* Candidates with the same kernel for several columns tie: the faster one for one column comes first. */
    static const double tie = 1e-9;
    spx_select_multi(s->ctx, &s->features, look, k->format, s->csr->val_type, q->nondeterministic, one,
                     &c.multi, &c.mul_ns);
    c.mul_ns += tie * one;
    return c;
}

/* Where a table would give values back, a host's kernel reads them by one load more, or it converts whole
 * numbers: in a cache that may take longer than the bytes that it saves. The same look with values as they
 * came, where that is in question. */
static bool raw_look(const selection *s, const view *v, spmvx_format format, spx_look *raw)
{
    const spx_features *f = &s->features;
    *raw = v->look;
    raw->layout.values = SPX_VALUES_RAW;
    return s->ctx->backend->place == SPMVX_HOST && codes_values(spx_format_find(format), &v->look.layout) &&
           spx_request_format(s->request) == SPMVX_AUTO && !v->look.single && f->coded >= SPX_VALUES_I16;
}

/* What candidates are ordered by. The model errs, and CSR costs no set-up: another format has to promise more
 * than a tie, but less where a device streams and gathers as it does by CSR. */
static double order_of(const spx_candidate *c, int64_t expected_muls)
{
    static const double most = 1.10, least = 1.05;
    const spx_kernel *k = c->choice.kernel;
    const bool alike = k->place != SPMVX_HOST && (k->format == SPMVX_SELL || k->format == SPMVX_ELL);
    const double promise = alike ? least : most;
    return (k->format == SPMVX_CSR ? 1.0 : promise) * spx_score(c, expected_muls);
}

/* Candidates as they come, and their order: they are moved once, at the end. */
typedef struct ranking {
    spx_candidate *c;
    int64_t expected_muls;
    int count;
    double order[SPX_CANDIDATES];
    int16_t at[SPX_CANDIDATES]; /* the n-th best */
} ranking;

static void rank(ranking *r, const spx_candidate *c)
{
    const double own = order_of(c, r->expected_muls);
    int n = r->count++;
    r->c[n] = *c;
    const int16_t came = (int16_t)n;
    for (; n && r->order[n - 1] > own; n--) {
        r->order[n] = r->order[n - 1];
        r->at[n] = r->at[n - 1];
    }
    r->order[n] = own;
    r->at[n] = came;
}

static void put_in_order(ranking *r)
{
    for (int n = 0; n < r->count; n++) {
        int at = r->at[n];
        while (at < n) at = r->at[at]; /* where it was moved to */
        if (at == n) continue;
        const spx_candidate moved = r->c[n];
        r->c[n] = r->c[at];
        r->c[at] = moved;
    }
}

spmvx_status spx_select(spmvx_context *ctx, const spx_sparse *csr, const spx_request *q,
                        spx_candidate out[SPX_CANDIDATES], int *count, spx_features *f)
{
    selection s = { .ctx = ctx, .csr = csr, .request = q };
    static const double close = 1.25; /* the model does not know tables better */
    static const double worth = 0.99; /* of one value, for which arrays may have to be copied */
    const bool any = spx_request_format(q) == SPMVX_AUTO;
    SPX_TRY(spx_features_of(ctx, csr, q->nvec, q->ahead, &s.features));
    ranking r = { .c = out, .expected_muls = q->expected_muls };
    *f = s.features;
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (!wanted(ctx, q, k, csr->val_type) || (q->lean && k->prepare_entry > 0)) continue;
        SPX_TRY(view_of(&s, k->format));
        const view *v = &s.of[k->format];
        if (!v->usable || (any && !v->look.stored && csr->nnz)) continue;
        const spx_candidate c = candidate_of(&s, k, &v->look, v->setup_ns);
        rank(&r, &c);
        spx_look one = v->look, raw;
        bool is_one;
        one.layout.values = SPX_VALUES_ONE;
        SPX_TRY(is_one_value(&s, k, &is_one));
        if (is_one) {
            const spx_candidate by_one = candidate_of(&s, k, &one, v->setup_ns + one_value_setup_ns(&s));
            if (by_one.mul_ns < worth * c.mul_ns) rank(&r, &by_one);
        }
        if (!raw_look(&s, v, k->format, &raw)) continue;
        const spx_candidate as_they_came = candidate_of(&s, k, &raw, v->setup_ns);
        if (as_they_came.mul_ns < close * c.mul_ns) rank(&r, &as_they_came);
    }
    put_in_order(&r);
    *count = r.count;
    if (*count) return SPMVX_OK;
    if (!q->lean) return none_fits(ctx, spx_request_format(q));
    spx_request of_all = *q;
    of_all.lean = false;
    return spx_select(ctx, csr, &of_all, out, count, f);
}

spmvx_status spx_select_any(const spmvx_context *ctx, spmvx_format format, spmvx_type type, spx_choice *out)
{
    out->kernel = NULL;
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (fits(ctx, k, SPMVX_MUL, format, type, false) &&
            (!out->kernel || spx_kernel_same_base(k, out->kernel)))
            *out = spx_kernel_preset(k);
    }
    return out->kernel ? SPMVX_OK : none_fits(ctx, format);
}
