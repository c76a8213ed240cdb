#include "product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- contenders ---- */

static void add(product_bench *b, product_way way, const char *name, const peer_product *product)
{
    if (b->count == MOST_CONTENDERS) return;
    product_contender *c = &b->who[b->count++];
    *c = (product_contender){ .way = way, .product = product };
    snprintf(c->name, sizeof c->name, "%s", name);
}

static void add_auto(product_bench *b)
{
    add(b, BY_AUTO, "AUTO", NULL);
    add(b, BY_PLAN, "plan", NULL);
    add(b, BY_REFILL, "refill", NULL);
}

static void add_contenders(product_bench *b)
{
    for (const char *p = b->set->kernels; p && *p;) {
        char name[NAME];
        const size_t n = strcspn(p, ";");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        if (!strcmp(name, "auto")) add_auto(b);
        else add(b, BY_KERNEL, name, NULL);
        p += n + (p[n] == ';');
    }
    for (int32_t i = 0; !b->set->kernels && i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        if (spmvx_kernel_get_info(i, &k) == SPMVX_OK && k.operation == SPMVX_SPMSPM &&
            (k.place == SPMVX_CUDA) == b->set->on_device && k.flags & SPMVX_KERNEL_AVAILABLE &&
            k.types & 1u << b->type)
            add(b, BY_KERNEL, k.name, NULL);
    }
    if (!b->set->kernels) add_auto(b);
    const peer_product *product;
    for (int i = 0; (product = peer_product_at(i)); i++) add(b, BY_PEER, product->name, product);
}

static void drop(product_contender *c)
{
    if (c->handle) c->product->close(c->handle);
    spmvx_matrix_destroy(c->C);
    spmspm_plan_destroy(c->plan);
    c->handle = NULL;
    c->C = NULL;
    c->plan = NULL;
    c->ready = false;
}

static bool refuse(const product_bench *b, product_contender *c, spmvx_status s)
{
    if (s == SPMVX_OK) return true;
    c->unsuited = s == SPMVX_ERR_LIMIT || s == SPMVX_ERR_MEMORY || s == SPMVX_ERR_UNSUPPORTED;
    snprintf(c->note, sizeof c->note, "%s", spmvx_last_error(b->ctx));
    drop(c);
    return false;
}

static bool refuse_peer(product_contender *c, int status, const peer_error *e)
{
    if (status == PEER_OK) return true;
    c->unsuited = status == PEER_UNSUPPORTED;
    snprintf(c->note, sizeof c->note, "%s", *e->text ? e->text : "the product failed");
    drop(c);
    return false;
}

static spmspm_options options_of(const product_bench *b, const product_contender *c)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.kernel = c->way == BY_KERNEL ? c->name : NULL;
    o.max_workspace = b->set->max_workspace;
    o.max_bytes = b->set->max_bytes;
    return o;
}

static bool open_peer(const product_bench *b, product_contender *c)
{
    peer_matrix m[2];
    for (int i = 0; i < 2; i++) {
        const spmvx_arrays *a = i ? &b->b->csr : &b->a.csr;
        m[i] = (peer_matrix){ .nrows = a->nrows,
                              .ncols = a->ncols,
                              .nnz = a->nnz,
                              .ptr = a->ptr,
                              .ptr_bits = a->ptr_type == SPMVX_I64 ? 64 : 32,
                              .col = a->col,
                              .val = a->val,
                              .val_bits = b->type == SPMVX_F64 ? 64 : 32,
                              .threads = b->set->threads,
                              .expected_muls = 1,
                              .stream = b->set->on_device ? device_stream() : NULL };
    }
    if (!b->a_rows.strict || !b->b_rows.strict) {
        c->unsuited = true;
        snprintf(c->note, sizeof c->note, "peers want the columns of a row to rise strictly");
        return false;
    }
    peer_error e = { "" };
    const int status = c->product->open(c->product, &m[0], &m[1], &c->handle, &e);
    if (status != PEER_OK) c->handle = NULL;
    return refuse_peer(c, status, &e);
}

static bool make_plan(const product_bench *b, product_contender *c)
{
    const spmspm_options o = options_of(b, c);
    spmspm_info i = SPMSPM_INFO_INIT;
    const double begin = now();
    if (!refuse(b, c, spmspm_plan_create(b->ctx, b->a.A, b->b->A, &o, &c->plan))) return false;
    c->setup = now() - begin;
    spmspm_plan_get_info(c->plan, &i);
    snprintf(c->kernel, sizeof c->kernel, "%s", i.kernel);
    snprintf(c->reason, sizeof c->reason, "%s", i.reason);
    c->workspace = i.workspace;
    return true;
}

/* What AUTO takes, which has no set-up. */
static bool ask_plan(const product_bench *b, product_contender *c)
{
    if (!make_plan(b, c)) return false;
    spmspm_plan_destroy(c->plan);
    c->plan = NULL;
    c->setup = 0;
    return true;
}

static bool set_up(const product_bench *b, product_contender *c)
{
    const double begin = now();
    switch (c->way) {
    case BY_KERNEL: memcpy(c->kernel, c->name, sizeof c->kernel); return true;
    case BY_AUTO: return ask_plan(b, c);
    case BY_PLAN: return make_plan(b, c);
    case BY_REFILL:
        return make_plan(b, c) && refuse(b, c, spmspm_plan_mul(b->ctx, c->plan, b->a.A, b->b->A, &c->C));
    default: break;
    }
    const bool ok = open_peer(b, c);
    c->setup = now() - begin;
    return ok;
}

/* One product, which need not have ended on a device. */
static bool make_product(const product_bench *b, product_contender *c)
{
    if (c->way == BY_PEER) {
        peer_error e = { "" };
        return refuse_peer(c, c->product->mul(c->handle, &e), &e);
    }
    if (c->way == BY_REFILL) return refuse(b, c, spmspm_plan_refill(b->ctx, c->plan, b->a.A, b->b->A, c->C));
    spmvx_matrix_destroy(c->C);
    c->C = NULL;
    if (c->way == BY_PLAN) return refuse(b, c, spmspm_plan_mul(b->ctx, c->plan, b->a.A, b->b->A, &c->C));
    const spmspm_options o = options_of(b, c);
    return refuse(b, c, spmspm_mul(b->ctx, b->a.A, b->b->A, &o, &c->C));
}

static bool make_products(const product_bench *b, product_contender *c, int times, double *seconds)
{
    const double begin = now();
    for (int i = 0; i < times; i++)
        if (!make_product(b, c)) return false;
    if (!refuse(b, c, spmvx_context_synchronize(b->ctx))) return false;
    *seconds = now() - begin;
    return true;
}

static void prepare(product_bench *b, product_contender *c)
{
    if (b->set->on_device) device_forget_error(); /* of a peer before */
    const bool counted = !b->set->on_device && reset_peak();
    const size_t before = resident_now();
    double seconds = 0;
    if (!set_up(b, c) || !make_products(b, c, 1, &seconds)) return;
    const size_t peak = resident_peak();
    c->peak = counted && peak > before ? (peak - before) * 1024 : 0;
    if (!product_look(b, c)) {
        snprintf(c->note, sizeof c->note, "its C could not be read");
        drop(c);
        return;
    }
    c->ready = true;
    c->time.first = INFINITY;
    for (int i = 0; c->ready && i < b->set->warmup; i++) {
        if (!make_products(b, c, 1, &seconds)) return;
        c->time.first = fmin(c->time.first, seconds);
        if (seconds > 0.1) break;
    }
    if (!isfinite(c->time.first)) c->time.first = seconds;
    c->inner = (int)fmin(1000.0, fmax(1.0, ceil(b->set->min_time / fmax(c->time.first, 1e-9))));
    c->time.samples = checked_alloc((size_t)b->set->rounds * sizeof *c->time.samples);
}

/* ---- rounds ---- */

/* The caches hold other data before each; then one product, or two, untimed: what memory the others have left
 * in a pool of the library's is in the shape in which this one leaves it. */
static void take_turn(product_bench *b, product_contender *c)
{
    static const double brief = 0.02; /* seconds */
    double seconds;
    read_memory(b->set);
    if (!make_products(b, c, c->time.first < brief ? 2 : 1, &seconds)) return;
    if (make_products(b, c, c->inner, &seconds)) c->time.samples[c->time.taken++] = seconds / c->inner;
}

static bool competes(const product_contender *c)
{
    return c->way == BY_KERNEL || (c->way == BY_PEER && !c->product->refills);
}

static void measure_products(product_bench *b)
{
    const int rounds = b->set->rounds;
    double *scratch = checked_alloc((size_t)rounds * sizeof *scratch), best = INFINITY;
    series *times[MOST_CONTENDERS];
    bool takes_part[MOST_CONTENDERS];
    for (int i = 0; i < b->count; i++)
        if (b->who[i].ready) best = fmin(best, b->who[i].time.first);
    for (int round = 0; round < rounds; round++) {
        b->bandwidth[round] = b->set->on_device ? device_read(4) : read_memory(b->set);
        if (b->set->on_device) b->clock[round] = device_clock();
        const int first = series_first(round, rounds, b->count);
        for (int i = 0; i < b->count; i++) {
            product_contender *c = &b->who[(first + i) % b->count];
            if (c->ready && (!round || c->time.first <= HOPELESS * best)) take_turn(b, c);
        }
    }
    for (int i = 0; i < b->count; i++) {
        product_contender *c = &b->who[i];
        c->time.measured = c->ready && c->time.taken;
        if (c->time.measured) series_end(&c->time, scratch);
        b->results += c->time.measured;
        times[i] = &c->time;
        takes_part[i] = competes(c);
    }
    b->median_bandwidth = median_of(b->bandwidth, rounds, scratch);
    b->best = series_best(times, takes_part, b->count, scratch, &b->won);
    for (int i = 0; i < b->count; i++) /* what has a pattern already does less */
        if (!takes_part[i] && b->who[i].way != BY_AUTO) b->who[i].time.level = false;
    free(scratch);
}

/* ---- a case ---- */

static int verdict(const product_bench *b)
{
    int result = EXIT_SUCCESS;
    const double bound = product_bound(b);
    for (int i = 0; i < b->count; i++) {
        const product_contender *c = &b->who[i];
        if (c->unsuited || (c->ready && c->error <= bound)) continue;
        if (c->ready) fprintf(stderr, "spmvx: %s: %s is wrong: error %.1e\n", b->name, c->name, c->error);
        else fprintf(stderr, "spmvx: %s: %s did not run: %s\n", b->name, c->name, c->note);
        if (c->ready || c->way != BY_PEER) result = EXIT_FAILURE;
    }
    if (b->results) return result;
    fprintf(stderr, "spmvx: %s: nothing could be measured%s%s\n", b->name, b->count ? ": " : "",
            b->count ? b->who[0].note : "");
    return EXIT_FAILURE;
}

static void clear(product_bench *b)
{
    for (int i = 0; i < b->count; i++) {
        drop(&b->who[i]);
        free(b->who[i].time.samples);
    }
    if (b->b != &b->a) input_release(&b->own);
    input_release(&b->a);
    free(b->x);
    free(b->reference);
    free(b->weight);
    free(b->bandwidth);
    free(b->clock);
    free(b);
}

static bool make_transpose(spmvx_context *host, const input *a, input *out)
{
    spmvx_matrix *t = NULL;
    *out = (input){ .csr = SPMVX_ARRAYS_INIT };
    bool ok = spmvx_matrix_transpose(host, a->A, &t) == SPMVX_OK;
    if (!ok) fail(host, "transpose");
    ok = ok && as_csr(host, t, &out->A, &out->csr);
    spmvx_matrix_destroy(t);
    return ok;
}

static bool open_factors(product_bench *b, const char *name)
{
    const char *right = b->set->right;
    if (!input_open(b->host, name, b->type, false, &b->a)) return false;
    b->b = strcmp(right, "self") ? &b->own : &b->a;
    if (b->b != &b->a && !(strcmp(right, "transpose") ? input_open(b->host, right, b->type, false, &b->own)
                                                      : make_transpose(b->host, &b->a, &b->own)))
        return false;
    if (b->b->csr.nrows == b->a.csr.ncols) return true;
    fprintf(stderr, "spmvx: %s: %s has %lld columns and %s has %lld rows\n", b->name, base_name(name),
            (long long)b->a.csr.ncols, base_name(right), (long long)b->b->csr.nrows);
    return false;
}

/* Both to the device: the first contender's note says why not. */
static bool send_factors(product_bench *b)
{
    return input_send(b->ctx, &b->a) && (b->b == &b->a || input_send(b->ctx, b->b));
}

int bench_product(const settings *set, spmvx_context *ctx, spmvx_context *host, const char *name,
                  spmvx_type type, report *out)
{
    product_bench *b = checked_alloc(sizeof *b);
    b->set = set;
    b->ctx = ctx;
    b->host = host;
    b->type = type;
    snprintf(b->name, sizeof b->name, "%.90s * %.90s", base_name(name), base_name(set->right));
    b->bandwidth = checked_alloc((size_t)set->rounds * sizeof *b->bandwidth);
    b->clock = checked_alloc((size_t)set->rounds * sizeof *b->clock);
    int result = EXIT_FAILURE;
    if (open_factors(b, name)) {
        b->a_rows = row_shape_of(&b->a.csr, set->threads);
        b->b_rows = row_shape_of(&b->b->csr, set->threads);
        product_reference(b);
        add_contenders(b);
        const bool there = !set->on_device || send_factors(b);
        for (int i = 0; i < b->count; i++)
            if (there) prepare(b, &b->who[i]);
            else refuse(b, &b->who[i], SPMVX_ERR_MEMORY);
        measure_products(b);
        report_case(out, b);
        result = verdict(b);
    }
    clear(b);
    return result;
}
