/* What a benchmark of C = A*B tells: a table, Markdown, CSV or JSON. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "product.h"

static double flops(const product_bench *b, const product_contender *c)
{
    return 2.0 * (double)b->products / c->time.median;
}

static double csr_bytes(int64_t rows, int64_t nnz, spmvx_type type)
{
    return (double)nnz * (4.0 + (double)type_bytes(type)) +
           (nnz > INT32_MAX ? 8.0 : 4.0) * (double)(rows + 1);
}

/* A and B read once, C written once. */
static double rate(const product_bench *b, const product_contender *c)
{
    const spmvx_arrays *A = &b->a.csr, *B = &b->b->csr;
    return (csr_bytes(A->nrows, A->nnz, b->type) + csr_bytes(B->nrows, B->nnz, b->type) +
            csr_bytes(A->nrows, c->nnz, b->type)) /
           c->time.median;
}

static const char *kind_text(const product_contender *c)
{
    static const char *const names[] = { "kernel", "auto", "plan", "refill", "peer" };
    return c->way == BY_PEER && c->product->refills ? "peer-refill" : names[c->way];
}

static const char *mark(const product_bench *b, int i)
{
    return !b->who[i].time.level ? "" : i == b->best && b->won ? "**" : "*";
}

static void heading(const product_bench *b, FILE *f)
{
    const spmvx_arrays *A = &b->a.csr, *B = &b->b->csr;
    fprintf(f,
            "%s: %" PRId64 " x %" PRId64 " with %" PRId64 " nonzeros times %" PRId64 " x %" PRId64
            " with %" PRId64 ", %" PRId64 " products, at most %" PRId64
            " a row, %s, %d thread%s%s; memory reads at %.1f GB/s",
            b->name, A->nrows, A->ncols, A->nnz, B->nrows, B->ncols, B->nnz, b->products, b->most,
            type_text(b->type), b->set->threads, b->set->threads == 1 ? "" : "s",
            b->set->pool ? " of the pool" : "", 1e-9 * b->median_bandwidth);
}

/* Of what is known for some contenders alone. */
static void amount(double v, const char *format, char *out, size_t room)
{
    *out = 0;
    if (v > 0) snprintf(out, room, format, v);
}

typedef struct cells {
    char setup[16], quartiles[32], workspace[16], peak[16];
} cells;

static cells cells_of(const product_contender *c)
{
    cells t;
    amount(1e3 * c->setup, "%.3f", t.setup, sizeof t.setup);
    amount(1e-6 * (double)c->workspace, "%.1f", t.workspace, sizeof t.workspace);
    amount(1e-6 * (double)c->peak, "%.1f", t.peak, sizeof t.peak);
    snprintf(t.quartiles, sizeof t.quartiles, "%.3f-%.3f", 1e3 * c->time.low, 1e3 * c->time.high);
    if (c->time.taken < 2) snprintf(t.quartiles, sizeof t.quartiles, "once");
    return t;
}

static void write_table(const void *one, FILE *f)
{
    const product_bench *b = one;
    heading(b, f);
    fprintf(f, "\n%-30s %10s %10s %19s %8s %8s %12s %9s %9s %9s\n", "", "setup", "time", "quartiles",
            "GFLOP/s", "GB/s", "nonzeros", "workspace", "peak", "error");
    fprintf(f, "%-30s %10s %10s %19s %8s %8s %12s %9s %9s %9s\n", "kernel", "ms", "ms", "ms", "", "once each",
            "of C", "MB", "MB", "");
    for (int i = 0; i < b->count; i++) {
        const product_contender *c = &b->who[i];
        if (!c->time.measured) {
            fprintf(f, "  %-28s %s\n", c->name, c->note);
            continue;
        }
        const cells t = cells_of(c);
        fprintf(f, "%-2s%-28s %10s %10.3f %19s %8.2f %8.1f %12" PRId64 " %9s %9s %9.1e\n", mark(b, i),
                c->name, t.setup, 1e3 * c->time.median, t.quartiles, 1e-9 * flops(b, c), 1e-9 * rate(b, c),
                c->nnz, t.workspace, t.peak, c->error);
    }
    for (int i = 0; i < b->count; i++)
        if (b->who[i].time.measured && b->who[i].way == BY_AUTO)
            fprintf(f, "AUTO took %s: %s\n", b->who[i].kernel, b->who[i].reason);
    if (b->best >= 0 && b->won) fprintf(f, "fastest: %s\n", b->who[b->best].name);
    else if (b->best >= 0) fprintf(f, "no winner: those with a * are within the noise\n");
}

static void write_markdown(const void *one, FILE *f)
{
    const product_bench *b = one;
    fprintf(f, "\n### ");
    heading(b, f);
    fprintf(f,
            "\n\n| kernel | setup, ms | time, ms | quartiles | GFLOP/s | GB/s, once each | nonzeros of C | "
            "workspace, MB | peak, MB | error |\n| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: "
            "|\n");
    for (int i = 0; i < b->count; i++) {
        const product_contender *c = &b->who[i];
        if (!c->time.measured) {
            fprintf(f, "| %s | %s | | | | | | | | |\n", c->name, c->note);
            continue;
        }
        const cells t = cells_of(c);
        const char *bold = i == b->best && b->won ? "**" : "";
        fprintf(f, "| %s%s%s%s | %s | %.3f | %s | %.2f | %.1f | %" PRId64 " | %s | %s | %.1e |\n", bold,
                c->name, bold, c->time.level && !*bold ? " *" : "", t.setup, 1e3 * c->time.median,
                t.quartiles, 1e-9 * flops(b, c), 1e-9 * rate(b, c), c->nnz, t.workspace, t.peak, c->error);
    }
}

static void write_csv(const void *one, FILE *f)
{
    const product_bench *b = one;
    for (int i = 0; i < b->count; i++) {
        const product_contender *c = &b->who[i];
        csv_text(f, b->name);
        fprintf(f, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%d,%s,", b->a.csr.nrows,
                b->b->csr.ncols, b->a.csr.nnz, b->b->csr.nnz, b->products, type_text(b->type),
                b->set->threads, kind_text(c));
        csv_text(f, c->name);
        putc(',', f);
        csv_text(f, c->time.measured ? c->kernel : "");
        if (c->time.measured) {
            fprintf(f, ",%.6e,%.6e,%.6e,%.6e,%.4f,%.4f,%.4f,%" PRId64 ",%zu,%zu,%.3e,\n", c->setup,
                    c->time.median, c->time.low, c->time.high, 1e-9 * flops(b, c), 1e-9 * rate(b, c),
                    1e-9 * b->median_bandwidth, c->nnz, c->workspace, c->peak, c->error);
        } else {
            fprintf(f, ",,,,,,,,,,,,");
            csv_text(f, c->note);
            putc('\n', f);
        }
    }
}

static void json_contender(const product_bench *b, const product_contender *c, FILE *f)
{
    fprintf(f, "{\"name\": ");
    json_text(f, c->name);
    fprintf(f, ", \"kind\": \"%s\"", kind_text(c));
    if (!c->time.measured) {
        fprintf(f, ", \"%s\": ", c->unsuited ? "unsuited" : "failed");
        json_text(f, c->note);
        putc('}', f);
        return;
    }
    if (c->way != BY_PEER) {
        fprintf(f, ", \"kernel\": ");
        json_text(f, c->kernel);
        fprintf(f, ", \"reason\": ");
        json_text(f, c->reason);
        fprintf(f, ", \"workspace_bytes\": %zu", c->workspace);
    }
    fprintf(f,
            ", \"setup_s\": %.6e, \"time_s\": %.6e, \"quartiles_s\": [%.6e, %.6e], \"gflops\": %.4f, "
            "\"gbytes\": %.4f, \"nnz\": %" PRId64 ", \"peak_bytes\": %zu, ",
            c->setup, c->time.median, c->time.low, c->time.high, 1e-9 * flops(b, c), 1e-9 * rate(b, c),
            c->nnz, c->peak);
    fprintf(f, isfinite(c->error) ? "\"error\": %.3e" : "\"error\": null", c->error);
    fprintf(f, ", \"within_noise_of_best\": %s, \"samples_s\": ", c->time.level ? "true" : "false");
    json_numbers(f, c->time.samples, c->time.taken);
    putc('}', f);
}

static void write_json(const void *one, FILE *f)
{
    const product_bench *b = one;
    fprintf(f, "    {\"matrix\": ");
    json_text(f, b->name);
    fprintf(f,
            ", \"rows\": %" PRId64 ", \"cols\": %" PRId64 ", \"inner\": %" PRId64 ", \"nnz_a\": %" PRId64
            ", \"nnz_b\": %" PRId64 ", \"products\": %" PRId64 ", \"most_products\": %" PRId64
            ", \"type\": \"%s\", \"state\": \"warm\", \"beta\": 0,\n     \"winner\": ",
            b->a.csr.nrows, b->b->csr.ncols, b->a.csr.ncols, b->a.csr.nnz, b->b->csr.nnz, b->products,
            b->most, type_text(b->type));
    if (b->best >= 0 && b->won) json_text(f, b->who[b->best].name);
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
        json_contender(b, &b->who[i], f);
    }
    fprintf(f, "\n    ]}");
}

/* ---- over all cases ---- */

static double least_time(const product_bench *b, const char *kind)
{
    double t = INFINITY;
    for (int i = 0; i < b->count; i++)
        if (b->who[i].time.measured && !strcmp(kind_text(&b->who[i]), kind))
            t = fmin(t, b->who[i].time.median);
    return t;
}

static void note_ratios(const void *one, tally *all)
{
    const product_bench *b = one;
    const double peer = least_time(b, "peer"), kernel = least_time(b, "kernel"), own = least_time(b, "auto"),
                 refill = least_time(b, "refill");
    char where[2 * NAME];
    snprintf(where, sizeof where, "%.160s, %s", b->name, type_text(b->type));
    ratio_note(&all[0], where, peer, own);
    ratio_note(&all[1], where, kernel, own);
    ratio_note(&all[2], where, own, least_time(b, "plan"));
    ratio_note(&all[3], where, own, refill);
    ratio_note(&all[4], where, least_time(b, "peer-refill"), refill);
}

const report_of report_of_product = {
    .operation = "spmspm",
    .csv_head =
        "matrix,rows,cols,nnz_a,nnz_b,products,type,threads,kind,name,kernel,setup_s,time_s,low_s,high_s,"
        "gflops,gbytes,read_gbytes,nnz,workspace_bytes,peak_bytes,error,note",
    .text = write_table,
    .markdown = write_markdown,
    .csv = write_csv,
    .json = write_json,
    .ratio_names = { "AUTO against the best peer", "AUTO against the best kernel",
                     "a plan's product against AUTO", "refill against AUTO",
                     "refill against the best peer's" },
    .note_ratios = note_ratios,
};
