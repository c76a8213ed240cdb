/* Wisdom: what timed conversions found, kept in the context in the order of its keys and exchanged as
 * text.
 *
 *     spmvx-wisdom 1
 *     machine memory=20000 more=500 cache=40000 near=32000 mid=1000000 cached=24000000 compute=1000
 *     far=1000
 *     kernel sell@avx2 long second=1000 last=950 memory=1100 far=1000
 *     host f64 threads=2 rows=1000 cols=1000 nnz=4960 longest=5 empty=0 span=60 muls=1000 nvec=1 -> sell
 *     slice=8 sigma=1
 *
 * The lines of the machine, which `spmvx tune` measures, are told in dispatch/machine.c. The others say what
 * a conversion with these features took: a kernel's name with parameters, what its format leaves open, and
 * "columns=1" where several columns are faster one after the other. A line of that form is taken as it is:
 * whether the kernel is there, and the layout is one of its format's, is asked when it would be used.
 *
 * Source of the idea: FFTW (Frigo & Johnson, Proc. IEEE 93(2), 2005). */
#include "dispatch/wisdom.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char head[] = "spmvx-wisdom 1\n";
static const char by_column[] = "columns=1";

struct spx_wisdom_entry {
    int64_t line;       /* of the text that it came from */
    size_t bytes;       /* of this record */
    const char *advice; /* behind the key's end: "sell@avx512 slice=8 sigma=1" */
    char key[];
};

/* ---- entries ---- */

void spx_wisdom_key(const spmvx_context *ctx, const spx_features *f, int64_t expected_muls,
                    char out[SPX_WISDOM_KEY])
{
    snprintf(out, SPX_WISDOM_KEY,
             "%s f%zu threads=%d rows=%" PRId64 " cols=%" PRId64 " nnz=%" PRId64 " longest=%" PRId64
             " empty=%" PRId64 " span=%.0f muls=%" PRId64 " nvec=%" PRId64,
             ctx->backend->name, f->value_bytes * 8, ctx->threads, f->nrows, f->ncols, f->nnz, f->longest,
             f->empty, f->span, expected_muls, f->nvec);
}

static spmvx_status make_entry(const spmvx_context *ctx, const char *key, size_t key_length,
                               const char *advice, size_t advice_length, int64_t line, spx_wisdom_entry **out)
{
    spx_wisdom_entry *e;
    const size_t bytes = sizeof *e + key_length + advice_length + 2;
    SPX_TRY(spx_alloc(ctx, bytes, "wisdom", &e));
    memcpy(e->key, key, key_length);
    e->key[key_length] = 0;
    memcpy(e->key + key_length + 1, advice, advice_length);
    e->key[key_length + 1 + advice_length] = 0;
    e->advice = e->key + key_length + 1;
    e->line = line;
    e->bytes = bytes;
    *out = e;
    return SPMVX_OK;
}

static void drop_entries(const spmvx_context *ctx, spx_wisdom *w)
{
    for (int64_t i = 0; i < w->count; i++) spx_free(ctx, w->entry[i]);
    spx_free(ctx, w->entry);
    *w = (spx_wisdom){ 0 };
}

void spx_wisdom_free(spmvx_context *ctx)
{
    if (!ctx->wisdom) return;
    drop_entries(ctx, ctx->wisdom);
    spx_free(ctx, ctx->wisdom);
    ctx->wisdom = NULL;
}

size_t spx_wisdom_bytes(const spmvx_context *ctx)
{
    if (!ctx->wisdom) return 0;
    size_t bytes = 0; /* of what is known; not of room for more */
    for (int64_t i = 0; i < ctx->wisdom->count; i++)
        bytes += sizeof *ctx->wisdom->entry + ctx->wisdom->entry[i]->bytes;
    return bytes;
}

/* Where the key is, or would be. */
static int64_t find(const spx_wisdom *w, const char *key, bool *found)
{
    int64_t low = 0, high = w ? w->count : 0;
    *found = false;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        const int order = strcmp(w->entry[mid]->key, key);
        if (order == 0) *found = true;
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* ---- learning ---- */

static spmvx_status reserve(spmvx_context *ctx, int64_t more)
{
    if (!ctx->wisdom) SPX_TRY(spx_calloc(ctx, sizeof *ctx->wisdom, "wisdom", &ctx->wisdom));
    spx_wisdom *w = ctx->wisdom;
    if (w->count + more <= w->room) return SPMVX_OK;
    const int64_t room = spx_max(2 * w->room, w->count + more);
    spx_wisdom_entry **entry;
    SPX_TRY(spx_alloc(ctx, spx_bytes(room, sizeof *entry), "wisdom", &entry));
    if (w->count) memcpy(entry, w->entry, (size_t)w->count * sizeof *entry);
    spx_free(ctx, w->entry);
    w->entry = entry;
    w->room = room;
    return SPMVX_OK;
}

spmvx_status spx_wisdom_learn(spmvx_context *ctx, const char *key, const spx_candidate *c,
                              spx_wisdom_entry **out)
{
    char advice[SPX_WISDOM_LINE];
    spx_kernel_spec(&c->choice, advice);
    const spx_format *f = spx_format_find(c->choice.kernel->format);
    for (const spx_layout_key *k = f->layout; k && k->key; k++) {
        const size_t n = strlen(advice);
        if (!k->in_name && spx_layout_value(&c->choice.layout, k))
            snprintf(advice + n, sizeof advice - n, " %s=%" PRId64, k->key,
                     spx_layout_value(&c->choice.layout, k));
    }
    const size_t n = strlen(advice);
    if (c->by_column) snprintf(advice + n, sizeof advice - n, " %s", by_column);
    SPX_TRY(reserve(ctx, 2)); /* both operators of a conversion may have learned something */
    return make_entry(ctx, key, strlen(key), advice, strlen(advice), 0, out);
}

void spx_wisdom_drop(spmvx_context *ctx, spx_wisdom_entry *e)
{
    spx_free(ctx, e);
    if (ctx->wisdom && !ctx->wisdom->count) spx_wisdom_free(ctx); /* the room that was made for it */
}

void spx_wisdom_keep(spmvx_context *ctx, spx_wisdom_entry *e)
{
    if (!e) return;
    spx_wisdom *w = ctx->wisdom;
    bool found;
    const int64_t at = find(w, e->key, &found);
    if (found) spx_free(ctx, w->entry[at]);
    else memmove(&w->entry[at + 1], &w->entry[at], (size_t)(w->count++ - at) * sizeof *w->entry);
    w->entry[at] = e;
}

/* ---- using ---- */

/* "key=value" of a layout, as one of the format's fields. */
static bool read_field(const spx_format *f, const char *word, size_t n, spx_layout *l)
{
    const size_t key = strcspn(word, "=");
    for (const spx_layout_key *k = f->layout; k && k->key; k++) {
        if (strlen(k->key) != key || strncmp(k->key, word, key)) continue;
        char *end;
        const int64_t v = strtoll(word + key + 1, &end, 10);
        if (end != word + n || v < k->low || v > k->high) return false;
        *spx_layout_field(l, k) = v;
        return true;
    }
    return false;
}

static bool read_advice(const spmvx_context *ctx, const char *advice, spx_candidate *c)
{
    char spec[SPX_SPEC];
    const size_t name = strcspn(advice, " ");
    if (name >= sizeof spec) return false;
    memcpy(spec, advice, name);
    spec[name] = 0;
    if (spx_kernel_parse(ctx, SPMVX_MUL, spec, &c->choice) != SPMVX_OK) return false;
    const spx_format *f = spx_format_find(c->choice.kernel->format);
    for (const char *word = advice + name; *word;) {
        const size_t n = strcspn(++word, " ");
        if (n == strlen(by_column) && !strncmp(word, by_column, n)) {
            c->by_column = true;
            word += n;
            continue;
        }
        if (!read_field(f, word, n, &c->choice.layout)) return false;
        word += n;
    }
    return spx_layout_serves(ctx, f->format, &c->choice.layout, false);
}

bool spx_wisdom_find(const spmvx_context *ctx, const spx_wisdom_entry *fresh, const char *key,
                     spx_candidate *out)
{
    bool found;
    const int64_t at = find(ctx->wisdom, key, &found);
    const spx_wisdom_entry *e = fresh && !strcmp(fresh->key, key) ? fresh : NULL;
    if (!e && found) e = ctx->wisdom->entry[at];
    if (!e) return false;
    spx_error_state before;
    spx_error_save(ctx, &before);
    *out = (spx_candidate){ 0 };
    const bool ok = read_advice(ctx, e->advice, out);
    spx_error_restore(ctx, &before);
    if (!ok) spx_log(ctx, SPMVX_LOG_DEBUG, "wisdom is passed over: \"%.200s\" does not fit here", e->advice);
    return ok;
}

/* ---- as text ---- */

spmvx_status spx_wisdom_write(const spmvx_context *ctx, char *buf, size_t *len)
{
    static const char arrow[] = " -> ";
    const spx_wisdom none = { 0 }, *w = ctx->wisdom ? ctx->wisdom : &none;
    size_t need = sizeof head; /* with the final NUL */
    if (ctx->machine_known) need += spx_machine_write(ctx, NULL, 0);
    for (int64_t i = 0; i < w->count; i++)
        need += strlen(w->entry[i]->key) + sizeof arrow - 1 + strlen(w->entry[i]->advice) + 1;
    if (buf && *len < need)
        return spx_fail(ctx, SPMVX_ERR_LIMIT, "*len is %zu, and the wisdom takes %zu bytes", *len, need);
    *len = need;
    if (!buf) return SPMVX_OK;
    memcpy(buf, head, sizeof head);
    size_t at = sizeof head - 1;
    if (ctx->machine_known) at += spx_machine_write(ctx, buf + at, need - at);
    for (int64_t i = 0; i < w->count; i++)
        at += (size_t)snprintf(buf + at, need - at, "%s%s%s\n", w->entry[i]->key, arrow, w->entry[i]->advice);
    return SPMVX_OK;
}

static spmvx_status bad_line(const spmvx_context *ctx, int64_t line, const char *why)
{
    return spx_fail(ctx, SPMVX_ERR_FILE, "buf is no wisdom: line %" PRId64 ": %s", line, why);
}

/* Letters, digits and what else names and numbers are made of. */
static size_t word_length(const char *p)
{
    return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.@:,=");
}

/* "KEY -> NAME" or "KEY -> NAME key=value key=value", without the line's end. */
static spmvx_status read_entry(const spmvx_context *ctx, const char *text, int64_t line,
                               spx_wisdom_entry **out)
{
    const char *arrow = strstr(text, " -> ");
    if (!arrow) return bad_line(ctx, line, "no ' -> '");
    const size_t key = (size_t)(arrow - text);
    if (!key || key >= SPX_WISDOM_KEY) return bad_line(ctx, line, "the features are empty or too long");
    const char *advice = arrow + 4, *p = advice;
    const size_t name = word_length(p);
    if (!name || name >= SPX_SPEC) return bad_line(ctx, line, "the kernel is empty or too long");
    for (p += name; *p;) {
        const size_t n = *p == ' ' ? word_length(p + 1) : 0;
        const char *equals = n ? memchr(p + 1, '=', n) : NULL;
        if (!equals || equals == p + 1 || equals == p + n)
            return bad_line(ctx, line, "after the kernel comes ' key=value' or nothing");
        p += 1 + n;
    }
    return make_entry(ctx, text, key, advice, strlen(advice), line, out);
}

/* What a text holds, while it is read. */
typedef struct reading {
    spmvx_context *ctx;
    spx_wisdom fresh; /* in the order of the lines */
    spx_machine machine;
    bool machine_known;
} reading;

static spmvx_status read_line(reading *r, const char *text, int64_t line)
{
    const char *wrong;
    switch (spx_machine_read(r->ctx, text, &r->machine, &wrong)) {
    case SPX_LINE_TAKEN: r->machine_known = true; return SPMVX_OK;
    case SPX_LINE_OF_OTHERS: return SPMVX_OK;
    case SPX_LINE_WRONG: return bad_line(r->ctx, line, wrong);
    default: break;
    }
    SPX_TRY(read_entry(r->ctx, text, line, &r->fresh.entry[r->fresh.count]));
    r->fresh.count++;
    return SPMVX_OK;
}

/* Of the factors known before nothing is left where a text has a line about the machine: they were found
 * with other rates. */
static void forget_factors(reading *r, const char *buf, size_t n)
{
    static const char word[] = "machine ";
    for (const char *line = buf; line; line = memchr(line, '\n', n - (size_t)(line - buf))) {
        line += *line == '\n';
        const size_t left = n - (size_t)(line - buf);
        if (left < sizeof word || memcmp(line, word, sizeof word - 1)) continue;
        memset(r->machine.kernel_scale, 0, sizeof r->machine.kernel_scale);
        return;
    }
}

static spmvx_status read_lines(reading *r, const char *buf, size_t n)
{
    int64_t line = 2;
    for (size_t at = sizeof head - 1; at < n; line++) {
        const char *end = memchr(buf + at, '\n', n - at);
        const size_t length = end ? (size_t)(end - (buf + at)) : n - at;
        char text[SPX_WISDOM_LINE];
        if (!end || length >= sizeof text)
            return bad_line(r->ctx, line, end ? "too long" : "it does not end");
        memcpy(text, buf + at, length);
        text[length] = 0;
        SPX_TRY(read_line(r, text, line));
        at += length + 1;
    }
    return SPMVX_OK;
}

/* By key; of one key the later line comes first. */
static bool comes_before(const spx_wisdom_entry *x, const spx_wisdom_entry *y)
{
    const int order = strcmp(x->key, y->key);
    return order < 0 || (order == 0 && x->line > y->line);
}

/* Moves v[i] down until neither of its children comes after it. */
static void sift(spx_wisdom_entry **v, int64_t i, int64_t n)
{
    spx_wisdom_entry *const moved = v[i];
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && comes_before(v[child], v[child + 1])) child++;
        if (!comes_before(moved, v[child])) break;
        v[i] = v[child];
    }
    v[i] = moved;
}

/* Heapsort, which takes no memory (Knuth, The Art of Computer Programming, 5.2.3). */
static void sort_entries(spx_wisdom_entry **v, int64_t n)
{
    for (int64_t i = n / 2; i-- > 0;) sift(v, i, n);
    for (int64_t last = n - 1; last > 0; last--) {
        spx_wisdom_entry *const latest = v[0];
        v[0] = v[last];
        v[last] = latest;
        sift(v, 0, last);
    }
}

/* Both into one, where fresh entries replace known ones, and the later of one key the earlier. `all` has
 * room for both. */
static void merge(const spmvx_context *ctx, const spx_wisdom *known, spx_wisdom *fresh, spx_wisdom *all)
{
    int64_t k = 0;
    for (int64_t i = 0; i < fresh->count; i++) {
        spx_wisdom_entry *e = fresh->entry[i];
        if (all->count && !strcmp(all->entry[all->count - 1]->key, e->key)) {
            spx_free(ctx, e);
            continue;
        }
        for (; k < known->count && strcmp(known->entry[k]->key, e->key) < 0; k++)
            all->entry[all->count++] = known->entry[k];
        if (k < known->count && !strcmp(known->entry[k]->key, e->key)) spx_free(ctx, known->entry[k++]);
        all->entry[all->count++] = e;
    }
    for (; k < known->count; k++) all->entry[all->count++] = known->entry[k];
    fresh->count = 0;
}

/* Takes all that was read, which cannot fail any more. */
static void take(reading *r, spx_wisdom *all)
{
    spx_wisdom *known = r->ctx->wisdom;
    sort_entries(r->fresh.entry, r->fresh.count);
    merge(r->ctx, known, &r->fresh, all);
    spx_free(r->ctx, known->entry);
    *known = *all;
    *all = (spx_wisdom){ 0 };
    r->ctx->machine = r->machine;
    r->ctx->machine_known = r->machine_known;
}

spmvx_status spx_wisdom_read(spmvx_context *ctx, const char *buf, size_t len)
{
    const size_t n = strnlen(buf, len);
    int64_t lines = 1;
    for (size_t i = 0; i < n; i++) lines += buf[i] == '\n';
    if (n < len && n + 1 != len) return bad_line(ctx, lines, "it has a NUL before the end");
    if (n < sizeof head - 1 || memcmp(buf, head, sizeof head - 1))
        return bad_line(ctx, 1, "it is not 'spmvx-wisdom 1'");
    reading r = { .ctx = ctx, .machine = ctx->machine, .machine_known = ctx->machine_known };
    spx_wisdom all = { 0 };
    SPX_TRY(reserve(ctx, 0));
    spmvx_status s = spx_alloc(ctx, spx_bytes(lines, sizeof *r.fresh.entry), "wisdom", &r.fresh.entry);
    if (r.ctx->backend->place == SPMVX_HOST) forget_factors(&r, buf, n);
    if (s == SPMVX_OK) s = read_lines(&r, buf, n);
    all.room = ctx->wisdom->count + r.fresh.count;
    if (s == SPMVX_OK) s = spx_alloc(ctx, spx_bytes(all.room, sizeof *all.entry), "wisdom", &all.entry);
    if (s == SPMVX_OK) take(&r, &all);
    drop_entries(ctx, &r.fresh);
    spx_wisdom_drop(ctx, NULL);
    return s;
}

/* ---- as a file ---- */

/* A whole file; fails with a message that names it. */
static spmvx_status read_whole(spmvx_context *ctx, FILE *f, const char *path, char **text, size_t *n)
{
    enum { FIRST = 4096, MOST = 64 << 20 };
    size_t room = FIRST, used = 0;
    char *buf;
    SPX_TRY(spx_alloc(ctx, room, "wisdom", &buf));
    for (size_t got; (got = fread(buf + used, 1, room - used, f)) > 0;) {
        char *more;
        used += got;
        if (used < room) continue;
        spmvx_status s = room < MOST
                             ? spx_alloc(ctx, 2 * room, "wisdom", &more)
                             : spx_fail(ctx, SPMVX_ERR_LIMIT, "%s: more than %d MB", path, MOST >> 20);
        if (s == SPMVX_OK) memcpy(more, buf, used);
        spx_free(ctx, buf);
        SPX_TRY(s);
        buf = more;
        room *= 2;
    }
    if (ferror(f)) {
        const spmvx_status s = spx_fail(ctx, SPMVX_ERR_IO, "%s: %s", path, strerror(errno));
        spx_free(ctx, buf);
        return s;
    }
    *text = buf;
    *n = used;
    return SPMVX_OK;
}

/* Nothing but a file: a pipe or a terminal would be waited for. */
static FILE *open_regular(const char *path)
{
    struct stat is;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return NULL;
    FILE *f = NULL;
    if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode)) f = fdopen(fd, "rb");
    else errno = EINVAL;
    if (!f) close(fd);
    return f;
}

void spx_wisdom_read_file(spmvx_context *ctx, const char *path)
{
    spx_error_state before;
    spx_error_save(ctx, &before);
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_regular(path);
    spmvx_status s = f ? read_whole(ctx, f, path, &text, &n)
                       : spx_fail(ctx, SPMVX_ERR_IO, "%s: %s", path, strerror(errno));
    if (f) fclose(f);
    if (s == SPMVX_OK) s = spx_wisdom_read(ctx, text, n);
    if (s != SPMVX_OK)
        spx_log(ctx, SPMVX_LOG_WARNING, "SPMVX_WISDOM is %s, which is passed over: %s", path, ctx->error);
    spx_free(ctx, text);
    spx_error_restore(ctx, &before);
}
