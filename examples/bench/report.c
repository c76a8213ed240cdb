/* What every benchmark tells, whatever it times: the machine and the peers, one case after the other, and
 * ratios over all of them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "bench.h"

void csv_text(FILE *f, const char *s)
{
    putc('"', f);
    for (; *s; s++) fprintf(f, *s == '"' ? "\"\"" : "%c", *s);
    putc('"', f);
}

void json_text(FILE *f, const char *s)
{
    putc('"', f);
    for (; *s; s++)
        if (*s == '"' || *s == '\\') fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 32) fprintf(f, "\\u%04x", (unsigned)*s);
        else putc(*s, f);
    putc('"', f);
}

void json_numbers(FILE *f, const double *v, int n)
{
    putc('[', f);
    for (int i = 0; i < n; i++) fprintf(f, "%s%.6e", i ? ", " : "", v[i]);
    putc(']', f);
}

const char *type_text(spmvx_type type)
{
    return type == SPMVX_F64 ? "f64" : "f32";
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
    if (r->kind == CSV) fprintf(r->out, "%s\n", r->of->csv_head);
    else if (r->kind == JSON) {
        fprintf(r->out, "{\"spmvx\": \"%s\", \"operation\": \"%s\", \"place\": \"%s\", \"device\": ",
                spmvx_version_string(), r->of->operation, set->on_device ? "cuda" : "host");
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

void report_case(report *r, const void *one)
{
    if (r->kind == TEXT_TABLE) {
        putc('\n', r->out);
        r->of->text(one, r->out);
    } else if (r->kind == MARKDOWN) r->of->markdown(one, r->out);
    else if (r->kind == CSV) r->of->csv(one, r->out);
    else {
        if (r->to_file && r->any) fseek(r->out, r->tail, SEEK_SET);
        fprintf(r->out, r->any ? ",\n" : "\n");
        r->of->json(one, r->out);
        r->tail = ftell(r->out);
        if (r->to_file) fprintf(r->out, "\n]}\n");
    }
    r->of->note_ratios(one, r->ratios);
    r->any = true;
    fflush(r->out);
}

/* ---- over all cases ---- */

void ratio_note(tally *t, const char *where, double over, double under)
{
    if (!isfinite(over) || !isfinite(under) || under <= 0) return;
    const double times = over / under;
    if (!t->count || times < t->least) {
        t->least = times;
        snprintf(t->where, sizeof t->where, "%s", where);
    }
    t->sum += log(times);
    t->count++;
}

static void print_ratios(const report *r)
{
    putc('\n', r->out);
    for (int i = 0; i < RATIOS; i++) {
        const tally *t = &r->ratios[i];
        if (t->count > 1)
            fprintf(r->out, "%s: %.2fx in the geometric mean of %d, least %.2fx (%s)\n",
                    r->of->ratio_names[i], exp(t->sum / t->count), t->count, t->least, t->where);
        else if (t->count) fprintf(r->out, "%s: %.2fx\n", r->of->ratio_names[i], t->least);
    }
}

void report_end(report *r)
{
    if (r->kind == TEXT_TABLE) print_ratios(r);
    if (r->kind == JSON && !(r->to_file && r->any)) fprintf(r->out, "\n]}\n");
}
