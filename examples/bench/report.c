/* What a benchmark tells: a table, Markdown, CSV or JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "bench.h"

static double flops(const bench *b, const contender *c)
{
    return 2.0 * (double)b->csr.nnz / c->median;
}
static double csr_rate(const bench *b, const contender *c)
{
    return b->csr_bytes / c->median;
}

/* The matrix's bytes as the contender streams them, x and y once; 0 where they are not known. */
static double own_rate(const bench *b, const contender *c)
{
    const double vectors = (double)type_bytes(b->type) * (double)(b->csr.nrows + b->csr.ncols);
    return c->kind == PEER ? 0.0 : ((double)c->info.bytes_streamed + vectors) / c->median;
}

static double of_bandwidth(const bench *b, const contender *c)
{
    return 100.0 * (c->kind == PEER ? csr_rate(b, c) : own_rate(b, c)) / b->median_bandwidth;
}

static const contender *named(const bench *b, const char *name)
{
    for (int i = 0; i < b->count; i++)
        if (b->who[i].measured && !strncmp(b->who[i].name, name, strlen(name))) return &b->who[i];
    return NULL;
}

/* The set-up in multiplications of the fastest csr-vector, which AUTO may have taken; NaN without one. */
static double setup_muls(const bench *b, const contender *c)
{
    double t = INFINITY;
    for (int i = 0; i < b->count; i++) {
        const contender *v = &b->who[i];
        if (v->measured && v->kind != PEER && !strncmp(v->info.kernel, "csr-vector", 10))
            t = fmin(t, v->median);
    }
    return isfinite(t) && t > 0 ? c->setup / t : NAN;
}

/* Multiplications after which the set-up has paid, against CSR as it is; -1: never, 0: at once. */
static double pays_after(const bench *b, const contender *c)
{
    const contender *csr = named(b, "csr-vector");
    if (!csr || c == csr) return 0;
    return c->median < csr->median ? ceil(c->setup / (csr->median - c->median)) : -1;
}

static const char *label(const contender *c)
{
    return c->kind == KERNEL ? c->info.kernel : c->name;
}

static const char *type_text(const bench *b)
{
    return b->type == SPMVX_F64 ? "f64" : "f32";
}
static const char *kind_text(const contender *c)
{
    static const char *const names[] = { "kernel", "auto-model", "auto-timed", "peer" };
    return names[c->kind];
}

static const char *mark(const bench *b, int i)
{
    return !b->who[i].level ? "" : i == b->best && b->won ? "**" : "*";
}

/* ---- table ---- */

static void heading(const bench *b, FILE *f)
{
    fprintf(f,
            "%s: %" PRId64 " x %" PRId64 ", %" PRId64
            " nonzeros, %s, %s, beta %g, %d thread%s%s; rows of %.1f +- %.1f, %" PRId64 " to %" PRId64
            "; memory reads at %.1f GB/s",
            base_name(b->name), b->csr.nrows, b->csr.ncols, b->csr.nnz, type_text(b), state_names[b->state],
            b->set->beta, b->set->threads, b->set->threads == 1 ? "" : "s",
            b->set->pool ? " of the pool" : "", b->mean, b->deviation, b->shortest, b->longest,
            1e-9 * b->median_bandwidth);
}

static void setup_text(const bench *b, const contender *c, char *out, size_t room)
{
    const double muls = setup_muls(b, c);
    if (isfinite(muls)) snprintf(out, room, "%.1f", muls);
    else *out = 0;
}

static void write_table(const bench *b, FILE *f)
{
    heading(b, f);
    fprintf(f, "\n%-30s %11s %8s %9s %15s %8s %8s %8s %6s %9s %8s %9s\n", "", "setup", "setup", "time",
            "quartiles", "GFLOP/s", "GB/s", "GB/s", "of the", "pays", "peak", "error");
    fprintf(f, "%-30s %11s %8s %9s %15s %8s %8s %8s %6s %9s %8s %9s\n", "kernel", "us", "muls", "us", "us",
            "", "as CSR", "own", "read %", "after", "MB", "");
    for (int i = 0; i < b->count; i++) {
        const contender *c = &b->who[i];
        if (!c->measured) {
            fprintf(f, "  %-28s %s\n", c->name, why_not(b, c));
            continue;
        }
        char quartiles[32], pays[16] = "never", own[16] = "", muls[16];
        setup_text(b, c, muls, sizeof muls);
        if (pays_after(b, c) >= 0) snprintf(pays, sizeof pays, "%.0f", pays_after(b, c));
        if (c->kind != PEER) snprintf(own, sizeof own, "%.2f", 1e-9 * own_rate(b, c));
        snprintf(quartiles, sizeof quartiles, "%.1f-%.1f", 1e6 * c->low, 1e6 * c->high);
        fprintf(f, "%-2s%-28s %11.1f %8s %9.1f %15s %8.2f %8.2f %8s %6.0f %9s %8.1f %9.1e\n", mark(b, i),
                label(c), 1e6 * c->setup, muls, 1e6 * c->median, c->taken > 1 ? quartiles : "once",
                1e-9 * flops(b, c), 1e-9 * csr_rate(b, c), own, of_bandwidth(b, c), pays,
                1e-6 * (double)c->peak, c->error);
    }
    for (int i = 0; i < b->count; i++)
        if (b->who[i].measured && b->who[i].kind != KERNEL && b->who[i].kind != PEER)
            fprintf(f, "%s took %s: %s\n", b->who[i].name, b->who[i].info.kernel, b->who[i].info.reason);
    if (b->best >= 0 && b->won) fprintf(f, "fastest: %s\n", label(&b->who[b->best]));
    else if (b->best >= 0) fprintf(f, "no winner: those with a * are within the noise\n");
}

static void write_markdown(const bench *b, FILE *f)
{
    fprintf(f, "\n### ");
    heading(b, f);
    fprintf(f, "\n\n| kernel | setup, us | setup, muls | time, us | quartiles | GFLOP/s | GB/s as CSR | GB/s "
               "own | read %% | pays after | error |\n"
               "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n");
    for (int i = 0; i < b->count; i++) {
        const contender *c = &b->who[i];
        if (!c->measured) {
            fprintf(f, "| %s | %s | | | | | | | | | |\n", c->name, why_not(b, c));
            continue;
        }
        char quartiles[32] = "once", pays[16] = "never", own[16] = "", muls[16];
        setup_text(b, c, muls, sizeof muls);
        if (c->taken > 1) snprintf(quartiles, sizeof quartiles, "%.1f-%.1f", 1e6 * c->low, 1e6 * c->high);
        if (pays_after(b, c) >= 0) snprintf(pays, sizeof pays, "%.0f", pays_after(b, c));
        if (c->kind != PEER) snprintf(own, sizeof own, "%.2f", 1e-9 * own_rate(b, c));
        const char *bold = i == b->best && b->won ? "**" : "";
        fprintf(f, "| %s%s%s%s | %.1f | %s | %.1f | %s | %.2f | %.2f | %s | %.0f | %s | %.1e |\n", bold,
                label(c), bold, c->level && !*bold ? " *" : "", 1e6 * c->setup, muls, 1e6 * c->median,
                quartiles, 1e-9 * flops(b, c), 1e-9 * csr_rate(b, c), own, of_bandwidth(b, c), pays,
                c->error);
    }
}

/* ---- CSV: a line a contender ---- */

static void csv_text(FILE *f, const char *s)
{
    putc('"', f);
    for (; *s; s++) fprintf(f, *s == '"' ? "\"\"" : "%c", *s);
    putc('"', f);
}

static void write_csv(const bench *b, FILE *f)
{
    for (int i = 0; i < b->count; i++) {
        const contender *c = &b->who[i];
        csv_text(f, base_name(b->name));
        fprintf(f, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%g,%d,%s,", b->csr.nrows, b->csr.ncols,
                b->csr.nnz, type_text(b), state_names[b->state], b->set->beta, b->set->threads, kind_text(c));
        csv_text(f, c->name);
        putc(',', f);
        csv_text(f, c->measured && c->kind != PEER ? c->info.kernel : "");
        if (c->measured) {
            char muls[16];
            setup_text(b, c, muls, sizeof muls);
            fprintf(f, ",%.6e,%.6e,%.6e,%.6e,%.4f,%.4f,%.4f,%.4f,%zu,%zu,%.3e,%s,\n", c->setup, c->median,
                    c->low, c->high, 1e-9 * flops(b, c), 1e-9 * csr_rate(b, c), 1e-9 * own_rate(b, c),
                    1e-9 * b->median_bandwidth, c->held, c->peak, c->error, muls);
        } else {
            fprintf(f, ",,,,,,,,,,,,,");
            csv_text(f, why_not(b, c));
            putc('\n', f);
        }
    }
}

/* ---- JSON ---- */

static void json_text(FILE *f, const char *s)
{
    putc('"', f);
    for (; *s; s++)
        if (*s == '"' || *s == '\\') fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 32) fprintf(f, "\\u%04x", (unsigned)*s);
        else putc(*s, f);
    putc('"', f);
}

static void json_numbers(FILE *f, const double *v, int n)
{
    putc('[', f);
    for (int i = 0; i < n; i++) fprintf(f, "%s%.6e", i ? ", " : "", v[i]);
    putc(']', f);
}

static void json_contender(const bench *b, int i, FILE *f)
{
    const contender *c = &b->who[i];
    fprintf(f, "{\"name\": ");
    json_text(f, c->name);
    fprintf(f, ", \"kind\": \"%s\"", kind_text(c));
    if (!c->measured) {
        fprintf(f, ", \"%s\": ", c->unsuited || *b->refused ? "unsuited" : "failed");
        json_text(f, why_not(b, c));
        putc('}', f);
        return;
    }
    if (c->kind != PEER) {
        fprintf(f, ", \"kernel\": ");
        json_text(f, c->info.kernel);
        fprintf(f, ", \"format\": \"%s\", \"reason\": ", format_text(c->info.format));
        json_text(f, c->info.reason);
        fprintf(f, ", \"stored\": %" PRId64 ", \"bytes_streamed\": %zu, \"own_gbytes\": %.4f", c->info.stored,
                c->info.bytes_streamed, 1e-9 * own_rate(b, c));
    }
    fprintf(f,
            ", \"setup_s\": %.6e, \"time_s\": %.6e, \"quartiles_s\": [%.6e, %.6e], \"gflops\": %.4f, "
            "\"gbytes\": %.4f, \"bytes_held\": %zu, "
            "\"peak_bytes\": %zu, ",
            c->setup, c->median, c->low, c->high, 1e-9 * flops(b, c), 1e-9 * csr_rate(b, c), c->held,
            c->peak);
    fprintf(f, "\"setups\": %d, ", c->setups);
    if (isfinite(setup_muls(b, c))) fprintf(f, "\"setup_muls\": %.4f, ", setup_muls(b, c));
    fprintf(f, isfinite(c->error) ? "\"error\": %.3e" : "\"error\": null", c->error);
    fprintf(f, ", \"within_noise_of_best\": %s, \"samples_s\": ", c->level ? "true" : "false");
    json_numbers(f, c->samples, c->taken);
    putc('}', f);
}

static void write_json(const bench *b, FILE *f)
{
    fprintf(f, "    {\"matrix\": ");
    json_text(f, base_name(b->name));
    fprintf(f,
            ", \"rows\": %" PRId64 ", \"cols\": %" PRId64 ", \"nnz\": %" PRId64
            ", \"type\": \"%s\", \"state\": \"%s\", \"beta\": %g, \"csr_bytes\": %.0f, "
            "\"row_lengths\": {\"min\": %" PRId64 ", \"mean\": %.4f, \"deviation\": %.4f, \"max\": %" PRId64
            "},\n     \"winner\": ",
            b->csr.nrows, b->csr.ncols, b->csr.nnz, type_text(b), state_names[b->state], b->set->beta,
            b->csr_bytes, b->shortest, b->mean, b->deviation, b->longest);
    if (b->best >= 0 && b->won) json_text(f, label(&b->who[b->best]));
    else fprintf(f, "null");
    fprintf(f, ", \"read_bytes_s\": ");
    json_numbers(f, b->bandwidth, b->set->rounds);
    if (b->set->on_device) {
        fprintf(f, ", \"clock_mhz\": ");
        json_numbers(f, b->clock, b->set->rounds);
    }
    fprintf(f, ", \"results\": [");
    for (int i = 0; i < b->count; i++) {
        fprintf(f, "%s\n      ", i ? "," : "");
        json_contender(b, i, f);
    }
    fprintf(f, "\n    ]}");
}

/* Names of processors say little ("AMD EPYC"); kernels are tuned by family. Nothing where it is not known. */
static void json_processor(FILE *f)
{
#if defined(__x86_64__)
    unsigned a, b, c, d, vendor[3];
    if (!__get_cpuid(0, &a, &vendor[0], &vendor[2], &vendor[1]) || !__get_cpuid(1, &a, &b, &c, &d)) return;
    const unsigned base = a >> 8 & 15, family = base == 15 ? base + (a >> 20 & 255) : base,
                   model = (a >> 4 & 15) | (base == 6 || base == 15 ? a >> 12 & 240 : 0);
    fprintf(f, ", \"processor\": {\"vendor\": \"%.12s\", \"family\": %u, \"model\": %u}",
            (const char *)vendor, family, model);
#else
    (void)f;
#endif
}

static void json_peers(FILE *f)
{
    const char *library, *before = "";
    fprintf(f, "{");
    for (int k = 0; k < peer_count(); k++) {
        const char *version = peer_version(k, &library);
        if (!strcmp(library, before)) continue; /* a second module of it */
        fprintf(f, *before ? ", " : "");
        json_text(f, library);
        fprintf(f, ": ");
        json_text(f, version);
        before = library;
    }
    fprintf(f, "}");
}

/* ---- all kinds ---- */

void report_begin(report *r, const spmvx_context *ctx, const settings *set)
{
    spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context_get_info(ctx, &i);
    if (r->kind == CSV)
        fprintf(r->out, "matrix,rows,cols,nnz,type,state,beta,threads,kind,name,kernel,setup_s,time_s,low_s,"
                        "high_s,gflops,gbytes,own_gbytes,read_gbytes,"
                        "bytes_held,peak_bytes,error,setup_muls,note\n");
    else if (r->kind == JSON) {
        fprintf(r->out, "{\"spmvx\": \"%s\", \"place\": \"%s\", \"device\": ", spmvx_version_string(),
                set->on_device ? "cuda" : "host");
        json_text(r->out, i.name);
        json_processor(r->out);
        fprintf(r->out, ", \"threads\": %d, %s\"rounds\": %d, \"min_time_s\": %g, \"peers\": ", i.threads,
                set->pool ? "\"pool\": true, " : "", set->rounds, set->min_time);
        json_peers(r->out);
        double stream = 0, graph = 0;
        fprintf(r->out, ", ");
        if (set->on_device && device_launch(&stream, &graph))
            fprintf(r->out, "\"empty_launch_s\": {\"stream\": %.4e, \"graph\": %.4e}, ", stream, graph);
        fprintf(r->out, "\"cases\": [");
    } else {
        fprintf(r->out, "%sspmvx %s on %s\n", r->kind == MARKDOWN ? "## " : "", spmvx_version_string(),
                i.name);
        for (int k = 0; k < peer_count(); k++) {
            const char *library, *version = peer_version(k, &library);
            fprintf(r->out, "%speer: %s %s\n", r->kind == MARKDOWN ? "- " : "", library, version);
        }
    }
}

void report_case(report *r, const bench *b)
{
    if (r->kind == TEXT_TABLE) {
        putc('\n', r->out);
        write_table(b, r->out);
    } else if (r->kind == MARKDOWN) write_markdown(b, r->out);
    else if (r->kind == CSV) write_csv(b, r->out);
    else {
        if (r->to_file && r->any) fseek(r->out, r->tail, SEEK_SET);
        fprintf(r->out, r->any ? ",\n" : "\n");
        write_json(b, r->out);
        r->tail = ftell(r->out);
        if (r->to_file) fprintf(r->out, "\n]}\n");
    }
    r->any = true;
    fflush(r->out);
}

void report_end(report *r)
{
    if (r->kind == JSON && !(r->to_file && r->any)) fprintf(r->out, "\n]}\n");
}

/* ---- over all cases ---- */

enum { RATIOS = 5 };

typedef struct tally {
    double sum, least;
    int count;
    char where[NAME];
} tally;

struct summary {
    tally of[RATIOS];
};

static const char *const ratio_names[RATIOS] = { "AUTO by timing against the best peer",
                                                 "AUTO by its model against the best peer",
                                                 "AUTO by timing against the best CSR kernel",
                                                 "AUTO by its model against the best CSR kernel",
                                                 "AUTO by its model against AUTO by timing" };

summary *summary_new(void)
{
    return checked_alloc(sizeof(summary));
}

void summary_free(summary *s)
{
    free(s);
}

static double best_time(const bench *b, bool (*takes)(const contender *))
{
    double t = INFINITY;
    for (int i = 0; i < b->count; i++)
        if (b->who[i].measured && takes(&b->who[i])) t = fmin(t, b->who[i].median);
    return t;
}

static bool is_peer(const contender *c)
{
    return c->kind == PEER;
}
static bool is_model(const contender *c)
{
    return c->kind == AUTO_MODEL;
}
static bool is_timed(const contender *c)
{
    return c->kind == AUTO_TIMED;
}
static bool is_plain(const contender *c)
{
    return c->kind == KERNEL && c->info.format == SPMVX_CSR;
}

static void note_ratio(tally *t, const bench *b, double over, double under)
{
    if (!isfinite(over) || !isfinite(under) || under <= 0) return;
    const double ratio = over / under;
    if (!t->count || ratio < t->least) {
        t->least = ratio;
        snprintf(t->where, sizeof t->where, "%.60s, %s, %s", base_name(b->name), type_text(b),
                 state_names[b->state]);
    }
    t->sum += log(ratio);
    t->count++;
}

void summary_add(summary *s, const bench *b)
{
    const double peer = best_time(b, is_peer), model = best_time(b, is_model), timed = best_time(b, is_timed),
                 plain = best_time(b, is_plain);
    note_ratio(&s->of[0], b, peer, timed);
    note_ratio(&s->of[1], b, peer, model);
    note_ratio(&s->of[2], b, plain, timed);
    note_ratio(&s->of[3], b, plain, model);
    note_ratio(&s->of[4], b, timed, model);
}

void summary_print(const summary *s, FILE *out)
{
    putc('\n', out);
    for (int i = 0; i < RATIOS; i++)
        if (s->of[i].count > 1)
            fprintf(out, "%s: %.2fx in the geometric mean of %d, least %.2fx (%s)\n", ratio_names[i],
                    exp(s->of[i].sum / s->of[i].count), s->of[i].count, s->of[i].least, s->of[i].where);
        else if (s->of[i].count) fprintf(out, "%s: %.2fx\n", ratio_names[i], s->of[i].least);
}
