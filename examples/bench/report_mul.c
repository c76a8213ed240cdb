/* What a benchmark of y = A x tells: a table, Markdown, CSV or JSON. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench.h"

static double flops(const bench *b, const contender *c)
{
    return 2.0 * (double)b->in.csr.nnz / c->time.median;
}
static double csr_rate(const bench *b, const contender *c)
{
    return b->csr_bytes / c->time.median;
}

/* The matrix's bytes as the contender streams them, x and y once; 0 where they are not known. */
static double own_rate(const bench *b, const contender *c)
{
    const double vectors = (double)type_bytes(b->type) * (double)(b->in.csr.nrows + b->in.csr.ncols);
    return c->kind == PEER ? 0.0 : ((double)c->info.bytes_streamed + vectors) / c->time.median;
}

static double of_bandwidth(const bench *b, const contender *c)
{
    return 100.0 * (c->kind == PEER ? csr_rate(b, c) : own_rate(b, c)) / b->median_bandwidth;
}

static const contender *named(const bench *b, const char *name)
{
    for (int i = 0; i < b->count; i++)
        if (b->who[i].time.measured && !strncmp(b->who[i].name, name, strlen(name))) return &b->who[i];
    return NULL;
}

/* The set-up in multiplications of the fastest csr-vector, which AUTO may have taken; NaN without one. */
static double setup_muls(const bench *b, const contender *c)
{
    double t = INFINITY;
    for (int i = 0; i < b->count; i++) {
        const contender *v = &b->who[i];
        if (v->time.measured && v->kind != PEER && !strncmp(v->info.kernel, "csr-vector", 10))
            t = fmin(t, v->time.median);
    }
    return isfinite(t) && t > 0 ? c->setup / t : NAN;
}

/* Multiplications after which the set-up has paid, against CSR as it is; -1: never, 0: at once. */
static double pays_after(const bench *b, const contender *c)
{
    const contender *csr = named(b, "csr-vector");
    if (!csr || c == csr) return 0;
    return c->time.median < csr->time.median ? ceil(c->setup / (csr->time.median - c->time.median)) : -1;
}

static const char *label(const contender *c)
{
    return c->kind == KERNEL ? c->info.kernel : c->name;
}

static const char *kind_text(const contender *c)
{
    static const char *const names[] = { "kernel", "auto-model", "auto-timed", "peer" };
    return names[c->kind];
}

static const char *mark(const bench *b, int i)
{
    return !b->who[i].time.level ? "" : i == b->best && b->won ? "**" : "*";
}

/* ---- table ---- */

static void heading(const bench *b, FILE *f)
{
    fprintf(f,
            "%s: %" PRId64 " x %" PRId64 ", %" PRId64
            " nonzeros, %s, %s, beta %g, %d thread%s%s; rows of %.1f +- %.1f, %" PRId64 " to %" PRId64
            "; memory reads at %.1f GB/s",
            base_name(b->name), b->in.csr.nrows, b->in.csr.ncols, b->in.csr.nnz, type_text(b->type),
            state_names[b->state], b->set->beta, b->set->threads, b->set->threads == 1 ? "" : "s",
            b->set->pool ? " of the pool" : "", b->rows.mean, b->rows.deviation, b->rows.shortest,
            b->rows.longest, 1e-9 * b->median_bandwidth);
}

static void setup_text(const bench *b, const contender *c, char *out, size_t room)
{
    const double muls = setup_muls(b, c);
    if (isfinite(muls)) snprintf(out, room, "%.1f", muls);
    else *out = 0;
}

static void write_table(const void *one, FILE *f)
{
    const bench *b = one;
    heading(b, f);
    fprintf(f, "\n%-30s %11s %8s %9s %15s %8s %8s %8s %6s %9s %8s %9s\n", "", "setup", "setup", "time",
            "quartiles", "GFLOP/s", "GB/s", "GB/s", "of the", "pays", "peak", "error");
    fprintf(f, "%-30s %11s %8s %9s %15s %8s %8s %8s %6s %9s %8s %9s\n", "kernel", "us", "muls", "us", "us",
            "", "as CSR", "own", "read %", "after", "MB", "");
    for (int i = 0; i < b->count; i++) {
        const contender *c = &b->who[i];
        if (!c->time.measured) {
            fprintf(f, "  %-28s %s\n", c->name, why_not(b, c));
            continue;
        }
        char quartiles[32], pays[16] = "never", own[16] = "", muls[16];
        setup_text(b, c, muls, sizeof muls);
        if (pays_after(b, c) >= 0) snprintf(pays, sizeof pays, "%.0f", pays_after(b, c));
        if (c->kind != PEER) snprintf(own, sizeof own, "%.2f", 1e-9 * own_rate(b, c));
        snprintf(quartiles, sizeof quartiles, "%.1f-%.1f", 1e6 * c->time.low, 1e6 * c->time.high);
        fprintf(f, "%-2s%-28s %11.1f %8s %9.1f %15s %8.2f %8.2f %8s %6.0f %9s %8.1f %9.1e\n", mark(b, i),
                label(c), 1e6 * c->setup, muls, 1e6 * c->time.median, c->time.taken > 1 ? quartiles : "once",
                1e-9 * flops(b, c), 1e-9 * csr_rate(b, c), own, of_bandwidth(b, c), pays,
                1e-6 * (double)c->peak, c->error);
    }
    for (int i = 0; i < b->count; i++)
        if (b->who[i].time.measured && b->who[i].kind != KERNEL && b->who[i].kind != PEER)
            fprintf(f, "%s took %s: %s\n", b->who[i].name, b->who[i].info.kernel, b->who[i].info.reason);
    if (b->best >= 0 && b->won) fprintf(f, "fastest: %s\n", label(&b->who[b->best]));
    else if (b->best >= 0) fprintf(f, "no winner: those with a * are within the noise\n");
}

static void write_markdown(const void *one, FILE *f)
{
    const bench *b = one;
    fprintf(f, "\n### ");
    heading(b, f);
    fprintf(f, "\n\n| kernel | setup, us | setup, muls | time, us | quartiles | GFLOP/s | GB/s as CSR | GB/s "
               "own | read %% | pays after | error |\n"
               "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n");
    for (int i = 0; i < b->count; i++) {
        const contender *c = &b->who[i];
        if (!c->time.measured) {
            fprintf(f, "| %s | %s | | | | | | | | | |\n", c->name, why_not(b, c));
            continue;
        }
        char quartiles[32] = "once", pays[16] = "never", own[16] = "", muls[16];
        setup_text(b, c, muls, sizeof muls);
        if (c->time.taken > 1)
            snprintf(quartiles, sizeof quartiles, "%.1f-%.1f", 1e6 * c->time.low, 1e6 * c->time.high);
        if (pays_after(b, c) >= 0) snprintf(pays, sizeof pays, "%.0f", pays_after(b, c));
        if (c->kind != PEER) snprintf(own, sizeof own, "%.2f", 1e-9 * own_rate(b, c));
        const char *bold = i == b->best && b->won ? "**" : "";
        fprintf(f, "| %s%s%s%s | %.1f | %s | %.1f | %s | %.2f | %.2f | %s | %.0f | %s | %.1e |\n", bold,
                label(c), bold, c->time.level && !*bold ? " *" : "", 1e6 * c->setup, muls,
                1e6 * c->time.median, quartiles, 1e-9 * flops(b, c), 1e-9 * csr_rate(b, c), own,
                of_bandwidth(b, c), pays, c->error);
    }
}

static void write_csv(const void *one, FILE *f)
{
    const bench *b = one;
    for (int i = 0; i < b->count; i++) {
        const contender *c = &b->who[i];
        csv_text(f, base_name(b->name));
        fprintf(f, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%g,%d,%s,", b->in.csr.nrows, b->in.csr.ncols,
                b->in.csr.nnz, type_text(b->type), state_names[b->state], b->set->beta, b->set->threads,
                kind_text(c));
        csv_text(f, c->name);
        putc(',', f);
        csv_text(f, c->time.measured && c->kind != PEER ? c->info.kernel : "");
        if (c->time.measured) {
            char muls[16];
            setup_text(b, c, muls, sizeof muls);
            fprintf(f, ",%.6e,%.6e,%.6e,%.6e,%.4f,%.4f,%.4f,%.4f,%zu,%zu,%.3e,%s,\n", c->setup,
                    c->time.median, c->time.low, c->time.high, 1e-9 * flops(b, c), 1e-9 * csr_rate(b, c),
                    1e-9 * own_rate(b, c), 1e-9 * b->median_bandwidth, c->held, c->peak, c->error, muls);
        } else {
            fprintf(f, ",,,,,,,,,,,,,");
            csv_text(f, why_not(b, c));
            putc('\n', f);
        }
    }
}

static void json_contender(const bench *b, int i, FILE *f)
{
    const contender *c = &b->who[i];
    fprintf(f, "{\"name\": ");
    json_text(f, c->name);
    fprintf(f, ", \"kind\": \"%s\"", kind_text(c));
    if (!c->time.measured) {
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
            c->setup, c->time.median, c->time.low, c->time.high, 1e-9 * flops(b, c), 1e-9 * csr_rate(b, c),
            c->held, c->peak);
    fprintf(f, "\"setups\": %d, ", c->setups);
    if (isfinite(setup_muls(b, c))) fprintf(f, "\"setup_muls\": %.4f, ", setup_muls(b, c));
    fprintf(f, isfinite(c->error) ? "\"error\": %.3e" : "\"error\": null", c->error);
    fprintf(f, ", \"within_noise_of_best\": %s, \"samples_s\": ", c->time.level ? "true" : "false");
    json_numbers(f, c->time.samples, c->time.taken);
    putc('}', f);
}

static void write_json(const void *one, FILE *f)
{
    const bench *b = one;
    fprintf(f, "    {\"matrix\": ");
    json_text(f, base_name(b->name));
    fprintf(f,
            ", \"rows\": %" PRId64 ", \"cols\": %" PRId64 ", \"nnz\": %" PRId64
            ", \"type\": \"%s\", \"state\": \"%s\", \"beta\": %g, \"csr_bytes\": %.0f, "
            "\"row_lengths\": {\"min\": %" PRId64 ", \"mean\": %.4f, \"deviation\": %.4f, \"max\": %" PRId64
            "},\n     \"winner\": ",
            b->in.csr.nrows, b->in.csr.ncols, b->in.csr.nnz, type_text(b->type), state_names[b->state],
            b->set->beta, b->csr_bytes, b->rows.shortest, b->rows.mean, b->rows.deviation, b->rows.longest);
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

static double best_time(const bench *b, bool (*takes)(const contender *))
{
    double t = INFINITY;
    for (int i = 0; i < b->count; i++)
        if (b->who[i].time.measured && takes(&b->who[i])) t = fmin(t, b->who[i].time.median);
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

static void note_ratios(const void *one, tally *all)
{
    const bench *b = one;
    const double peer = best_time(b, is_peer), model = best_time(b, is_model), timed = best_time(b, is_timed),
                 plain = best_time(b, is_plain);
    char where[2 * NAME];
    snprintf(where, sizeof where, "%.60s, %s, %s", base_name(b->name), type_text(b->type),
             state_names[b->state]);
    ratio_note(&all[0], where, peer, timed);
    ratio_note(&all[1], where, peer, model);
    ratio_note(&all[2], where, plain, timed);
    ratio_note(&all[3], where, plain, model);
    ratio_note(&all[4], where, timed, model);
}

const report_of report_of_mul = {
    .operation = "mul",
    .csv_head = "matrix,rows,cols,nnz,type,state,beta,threads,kind,name,kernel,setup_s,time_s,low_s,"
                "high_s,gflops,gbytes,own_gbytes,read_gbytes,"
                "bytes_held,peak_bytes,error,setup_muls,note",
    .text = write_table,
    .markdown = write_markdown,
    .csv = write_csv,
    .json = write_json,
    .ratio_names = { "AUTO by timing against the best peer", "AUTO by its model against the best peer",
                     "AUTO by timing against the best CSR kernel",
                     "AUTO by its model against the best CSR kernel",
                     "AUTO by its model against AUTO by timing" },
    .note_ratios = note_ratios,
};
