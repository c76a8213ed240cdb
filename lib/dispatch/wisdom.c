/* Wisdom: what timed conversions found, kept in the context as a list and exchanged as text.
 *
 *     spmvx-wisdom 1
 *     machine memory=20000 more=500 cache=40000 near=32000 mid=1000000 cached=24000000 compute=1000 far=1000
 *     host f64 threads=2 rows=1000 cols=1000 nnz=4960 longest=5 empty=0 span=60 -> sell@avx512 slice=8 sigma=1
 *
 * The machine's line, which `spmvx tune` measures (of a GPU it begins with 'device'), has MB/s, bytes, and thousandths of the model's own; see spx_machine.
 *
 * Source of the idea: FFTW (Frigo & Johnson, Proc. IEEE 93(2), 2005). */
#include "dispatch/wisdom.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char head[] = "spmvx-wisdom 1\n";

void spx_wisdom_key(const spmvx_context *ctx, const spx_features *f, char out[SPX_WISDOM_KEY])
{
    snprintf(out, SPX_WISDOM_KEY, "%s f%zu threads=%d rows=%" PRId64 " cols=%" PRId64 " nnz=%" PRId64 " longest=%" PRId64 " empty=%" PRId64 " span=%.0f",
             ctx->backend->name, f->value_bytes * 8, ctx->threads, f->nrows, f->ncols, f->nnz, f->longest, f->empty, f->span);
}

static spx_wisdom *find(const spmvx_context *ctx, const char *key)
{
    spx_wisdom *w = ctx->wisdom;
    while (w && strcmp(w->key, key)) w = w->next;
    return w;
}

bool spx_wisdom_find(const spmvx_context *ctx, const char *key, spx_candidate *out)
{
    const spx_wisdom *w = find(ctx, key);
    if (!w) return false;
    spx_error_state before;
    spx_error_save(ctx, &before);
    const bool ok = spx_kernel_parse(ctx, SPMVX_MUL, w->spec, &out->choice) == SPMVX_OK;
    spx_error_restore(ctx, &before);
    out->layout = w->layout;
    return ok;
}

static spmvx_status put(const spmvx_context *ctx, spx_wisdom **list, const char *key, const char *spec, const spx_layout *layout)
{
    spx_wisdom *w = *list;
    while (w && strcmp(w->key, key)) w = w->next;
    if (!w) {
        SPX_TRY(spx_calloc(ctx, sizeof *w, "wisdom", &w));
        while (*list) list = &(*list)->next;
        *list = w;
    }
    snprintf(w->key, sizeof w->key, "%s", key);
    snprintf(w->spec, sizeof w->spec, "%s", spec);
    w->layout = *layout;
    return SPMVX_OK;
}

spmvx_status spx_wisdom_learn(const spmvx_context *ctx, spx_wisdom **list, const char *key, const spx_candidate *c)
{
    char spec[SPX_SPEC];
    spx_kernel_spec(&c->choice, spec);
    spx_layout layout = { 0 };
    if (c->choice.kernel->format == SPMVX_SELL) layout = (spx_layout){ .slice = c->layout.slice, .sigma = c->layout.sigma };
    if (c->choice.kernel->format == SPMVX_BSR) layout = (spx_layout){ .block_rows = c->layout.block_rows, .block_cols = c->layout.block_cols };
    return put(ctx, list, key, spec, &layout);
}

void spx_wisdom_free(const spmvx_context *ctx, spx_wisdom *w)
{
    while (w) {
        spx_wisdom *next = w->next;
        spx_free(ctx, w);
        w = next;
    }
}

void spx_wisdom_merge(spmvx_context *ctx, spx_wisdom *fresh)
{
    for (spx_wisdom **at = &ctx->wisdom; *at;) {
        const spx_wisdom *w = fresh;
        while (w && strcmp(w->key, (*at)->key)) w = w->next;
        if (!w) {
            at = &(*at)->next;
            continue;
        }
        spx_wisdom *old = *at;
        *at = old->next;
        spx_free(ctx, old);
    }
    spx_wisdom **end = &ctx->wisdom;
    while (*end) end = &(*end)->next;
    *end = fresh;
}

/* ---- the machine's line: whole numbers, which no locale spells otherwise ---- */

#define MACHINE(SPELL) " memory=%" SPELL " more=%" SPELL " cache=%" SPELL " near=%" SPELL " mid=%" SPELL " cached=%" SPELL " compute=%" SPELL " far=%" SPELL

/* What begins the line: "machine" of the host, "device" of a GPU. */
static const char *machine_word(spmvx_place place)
{
    return place == SPMVX_CUDA ? "device" : "machine";
}

static int machine_line(const spmvx_context *ctx, char *out, size_t room)
{
    const spx_machine *m = &ctx->machine;
    return snprintf(out, room, "%s" MACHINE(PRId64) "\n", machine_word(ctx->backend->place), (int64_t)(1e3 * m->memory + 0.5), (int64_t)(1e3 * m->more + 0.5), (int64_t)(1e3 * m->cache + 0.5),
                    (int64_t)m->near, (int64_t)m->mid, (int64_t)m->cached, (int64_t)(1e3 * m->compute + 0.5), (int64_t)(1e3 * m->far + 0.5));
}

static bool begins(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && !strncmp(text, word, length);
}

static bool read_machine(const char *text, spx_machine *m)
{
    int64_t v[8];
    char rest;
    if (sscanf(text, MACHINE(SCNd64) "%c", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &rest) != 8) return false;
    for (int i = 0; i < 8; i++)
        if (v[i] < (i != 1) || v[i] > INT64_C(1000000000000)) return false;
    if (v[1] > 1000 || v[3] > v[4] || v[4] > v[5]) return false;
    *m = (spx_machine){ 1e-3 * (double)v[0], 1e-3 * (double)v[1], 1e-3 * (double)v[2], (double)v[3], (double)v[4], (double)v[5], 1e-3 * (double)v[6], 1e-3 * (double)v[7] };
    return true;
}

size_t spx_wisdom_bytes(const spmvx_context *ctx)
{
    size_t bytes = 0;
    for (const spx_wisdom *w = ctx->wisdom; w; w = w->next) bytes += sizeof *w;
    return bytes;
}

static int line_of(const spx_wisdom *w, char *out, size_t room)
{
    int n = snprintf(out, room, "%s -> %s", w->key, w->spec);
    const spx_layout *l = &w->layout;
    if (l->slice) n += snprintf(out ? out + n : NULL, out ? room - (size_t)n : 0, " slice=%" PRId64 " sigma=%" PRId64, l->slice, l->sigma);
    if (l->block_rows) n += snprintf(out ? out + n : NULL, out ? room - (size_t)n : 0, " block=%" PRId64 "x%" PRId64, l->block_rows, l->block_cols);
    return n + snprintf(out ? out + n : NULL, out ? room - (size_t)n : 0, "\n");
}

spmvx_status spx_wisdom_write(const spmvx_context *ctx, char *buf, size_t *len)
{
    size_t need = sizeof head;   /* with the final NUL */
    if (ctx->machine_known) need += (size_t)machine_line(ctx, NULL, 0);
    for (const spx_wisdom *w = ctx->wisdom; w; w = w->next) need += (size_t)line_of(w, NULL, 0);
    if (buf && *len < need) return spx_fail(ctx, SPMVX_ERR_LIMIT, "*len is %zu, and the wisdom takes %zu bytes", *len, need);
    *len = need;
    if (!buf) return SPMVX_OK;
    memcpy(buf, head, sizeof head);
    size_t at = sizeof head - 1;
    if (ctx->machine_known) at += (size_t)machine_line(ctx, buf + at, need - at);
    for (const spx_wisdom *w = ctx->wisdom; w; w = w->next) at += (size_t)line_of(w, buf + at, need - at);
    return SPMVX_OK;
}

static spmvx_status bad_line(const spmvx_context *ctx, int64_t line, const char *why)
{
    return spx_fail(ctx, SPMVX_ERR_FILE, "buf is no wisdom: line %" PRId64 ": %s", line, why);
}

/* One line, without its end: "KEY -> SPEC" or "KEY -> SPEC slice=N sigma=N". */
static spmvx_status read_line(const spmvx_context *ctx, const char *text, int64_t line, spx_wisdom **list)
{
    char key[SPX_WISDOM_KEY], spec[SPX_SPEC], rest = 0;
    const char *arrow = strstr(text, " -> ");
    if (!arrow) return bad_line(ctx, line, "no ' -> '");
    if (arrow == text || (size_t)(arrow - text) >= sizeof key) return bad_line(ctx, line, "the features are empty or too long");
    memcpy(key, text, (size_t)(arrow - text));
    key[arrow - text] = 0;
    const char *after = arrow + 4;
    const size_t n = strcspn(after, " ");
    if (!n || n >= sizeof spec) return bad_line(ctx, line, "the kernel is empty or too long");
    memcpy(spec, after, n);
    spec[n] = 0;
    spx_layout l = { 0 };
    if (!after[n]) return put(ctx, list, key, spec, &l);
    const bool sell = sscanf(after + n, " slice=%" SCNd64 " sigma=%" SCNd64 "%c", &l.slice, &l.sigma, &rest) == 2 && l.slice >= SPX_MIN_SLICE && l.slice <= SPX_MAX_SLICE &&
                      l.sigma >= 1;
    if (sell) return put(ctx, list, key, spec, &l);
    l = (spx_layout){ 0 };
    const bool bsr = sscanf(after + n, " block=%" SCNd64 "x%" SCNd64 "%c", &l.block_rows, &l.block_cols, &rest) == 2 && l.block_rows >= 1 &&
                     l.block_rows <= 16 && l.block_cols >= 1 && l.block_cols <= 16;
    if (bsr) return put(ctx, list, key, spec, &l);
    return bad_line(ctx, line, "after the kernel comes ' slice=4...65536 sigma=1...', ' block=1...16x1...16' or nothing");
}

spmvx_status spx_wisdom_read(spmvx_context *ctx, const char *buf, size_t len)
{
    const size_t n = strnlen(buf, len);
    if (n < len && n + 1 != len) {
        int64_t line = 1;
        for (size_t i = 0; i < n; i++) line += buf[i] == '\n';
        return bad_line(ctx, line, "it has a NUL before the end");
    }
    if (n < sizeof head - 1 || memcmp(buf, head, sizeof head - 1)) return bad_line(ctx, 1, "it is not 'spmvx-wisdom 1'");
    spx_wisdom *fresh = NULL;
    spx_machine machine = ctx->machine;
    bool known = ctx->machine_known;
    spmvx_status s = SPMVX_OK;
    int64_t line = 2;
    for (size_t at = sizeof head - 1; at < n && s == SPMVX_OK; line++) {
        const char *end = memchr(buf + at, '\n', n - at);
        const size_t length = end ? (size_t)(end - (buf + at)) : n - at;
        char text[SPX_WISDOM_KEY + SPX_SPEC + 80];
        if (!end || length >= sizeof text) s = bad_line(ctx, line, end ? "too long" : "it does not end");
        else {
            memcpy(text, buf + at, length);
            text[length] = 0;
            const size_t word = strcspn(text, " ");
            const bool ours = begins(text, word, machine_word(ctx->backend->place));
            spx_machine other;
            if (!ours && !begins(text, word, "machine") && !begins(text, word, "device")) s = read_line(ctx, text, line, &fresh);
            else if (read_machine(text + word, ours ? &machine : &other)) known |= ours;   /* of the other place: passed over */
            else s = bad_line(ctx, line, "after 'machine' or 'device' come memory, more (up to 1000), cache, near, mid, cached (rising), compute and far, as whole numbers");
        }
        at += length + 1;
    }
    if (s != SPMVX_OK) {
        spx_wisdom_free(ctx, fresh);
        return s;
    }
    spx_wisdom_merge(ctx, fresh);
    ctx->machine = machine;
    ctx->machine_known = known;
    return SPMVX_OK;
}
