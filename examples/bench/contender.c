/* Contenders: kernels forced by name, AUTO, and the methods of peers' modules, all behind one
 * multiplication. */
#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"
#include "tune.h"

/* ---- peers' modules ---- */

static struct {
    const peer_library *library[MOST_PEERS];
    int count;
    bool on_device;
} peers;

static bool load_module(const char *path)
{
    if (peers.count == MOST_PEERS) return true;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        fprintf(stderr, "spmvx: %s\n", dlerror());
        return false;
    }
    union {
        void *symbol;
        const peer_library *(*function)(void);
    } entry = { dlsym(module, "spmvx_peer") };
    const peer_library *l = entry.symbol ? entry.function() : NULL;
    if (!l || l->interface_version != PEER_INTERFACE) {
        fprintf(stderr, "spmvx: %s is no peer of interface %d\n", path, PEER_INTERFACE);
        return false;
    }
    peer_error e = { "" };
    const bool elsewhere = !l->on_device != !peers.on_device;
    int status = elsewhere ? PEER_UNSUPPORTED : PEER_OK;
    if (!elsewhere && l->start) status = l->start(&e);
    if (status != PEER_OK)
        fprintf(stderr, "spmvx: %s: %s\n", l->name,
                !elsewhere     ? e.text
                : l->on_device ? "serves CUDA alone"
                               : "serves the host alone");
    else peers.library[peers.count++] = l;
    return status != PEER_FAILED;
}

static bool is_module(const char *name)
{
    const size_t n = strlen(name);
    return !strncmp(name, "peer_", 5) && n > 8 && !strcmp(name + n - 3, ".so");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool load_directory(const char *path)
{
    struct dirent **entries;
    const int n = scandir(path, &entries, NULL, by_name);
    bool ok = n >= 0;
    int loaded = 0;
    for (int i = 0; i < n; i++) {
        char file[4096];
        if (is_module(entries[i]->d_name) &&
            snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name) < (int)sizeof file) {
            ok = load_module(file) && ok;
            loaded++;
        }
        free(entries[i]);
    }
    if (n >= 0) free(entries);
    if (!loaded) fprintf(stderr, "spmvx: no peer_*.so in %s\n", path);
    return ok && loaded;
}

bool load_peers(const char *paths, bool on_device)
{
    bool ok = true;
    peers.on_device = on_device;
    while (paths && *paths) {
        char path[4096];
        const size_t n = strcspn(paths, ",");
        struct stat st;
        snprintf(path, sizeof path, "%.*s", (int)n, paths);
        ok = (!stat(path, &st) && S_ISDIR(st.st_mode) ? load_directory(path) : load_module(path)) && ok;
        paths += n + (paths[n] == ',');
    }
    return ok;
}

int peer_count(void)
{
    return peers.count;
}

const char *peer_version(int i, const char **library)
{
    *library = peers.library[i]->name;
    return peers.library[i]->version ? peers.library[i]->version : "";
}

const peer_product *peer_product_at(int i)
{
    for (int k = 0; k < peers.count; i -= peers.library[k++]->product_count)
        if (i < peers.library[k]->product_count) return &peers.library[k]->products[i];
    return NULL;
}

void unload_peers(void)
{
    while (peers.count) { /* their modules stay: threads of OpenMP, Python and MPI do not leave */
        const peer_library *l = peers.library[--peers.count];
        if (l->finish) l->finish();
    }
}

/* ---- memory: this process's resident pages, as Linux counts them ---- */

static size_t status_kilobytes(const char *label)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    size_t kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, label, strlen(label))) kb = strtoull(line + strlen(label), NULL, 10);
    if (f) fclose(f);
    return kb;
}

size_t resident_now(void)
{
    return status_kilobytes("VmRSS:");
}
size_t resident_peak(void)
{
    return status_kilobytes("VmHWM:");
}

bool reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    const bool ok = f && fputs("5", f) >= 0;
    return f && fclose(f) == 0 && ok;
}

/* ---- who takes part ---- */

static contender *add(bench *b, contender_kind kind, const char *name)
{
    if (b->count == MOST_CONTENDERS) return NULL;
    contender *c = &b->who[b->count++];
    *c = (contender){ .kind = kind, .info = SPMVX_MATRIX_INFO_INIT };
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

/* A record that has variants is the portable one: forced as name@c. */
bool has_variants(const char *name)
{
    const size_t n = strlen(name);
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        if (spmvx_kernel_get_info(i, &k) == SPMVX_OK && k.operation == SPMVX_MUL && k.place == SPMVX_HOST &&
            !strncmp(k.name, name, n) && k.name[n] == '@')
            return true;
    }
    return false;
}

static void add_named(bench *b, const char *names)
{
    for (const char *p = names; *p;) {
        const size_t n = strcspn(p, ";");
        char name[NAME];
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        if (!strcmp(name, "auto")) {
            add(b, AUTO_MODEL, "AUTO, by its model");
            add(b, AUTO_TIMED, "AUTO, by timing");
        } else add(b, KERNEL, name);
        p += n + (p[n] == ';');
    }
}

static void add_all(bench *b)
{
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        if (spmvx_kernel_get_info(i, &k) != SPMVX_OK || k.operation != SPMVX_MUL ||
            (k.place == SPMVX_CUDA) != b->set->on_device)
            continue;
        if (!(k.flags & SPMVX_KERNEL_AVAILABLE) || !(k.types & 1u << b->type)) continue;
        char name[NAME];
        snprintf(name, sizeof name, "%s%s", k.name, !b->set->on_device && has_variants(k.name) ? "@c" : "");
        add(b, KERNEL, name);
    }
    add_named(b, "auto");
}

static void add_peers(bench *b)
{
    for (int i = 0; i < peers.count; i++)
        for (int k = 0; k < peers.library[i]->count; k++) {
            const peer_method *m = &peers.library[i]->methods[k];
            contender *c = add(b, PEER, m->name);
            if (c) c->method = m;
        }
}

/* ---- set-up ---- */

bool kernel_is_known(spmvx_operation operation, const char *name)
{
    const size_t n = strcspn(name, ":@");
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        if (spmvx_kernel_get_info(i, &k) == SPMVX_OK && k.operation == operation &&
            !strncmp(k.name, name, n) && strchr("@", k.name[n]))
            return true;
    }
    return false;
}

/* What a contender cannot help: it has a row that says why, and the run goes on. A name that is none is the
 * caller's mistake. */
static bool is_refusal(const contender *c, spmvx_status s)
{
    if (s == SPMVX_ERR_UNSUPPORTED) return c->kind != KERNEL || kernel_is_known(SPMVX_MUL, c->name);
    return s == SPMVX_ERR_LIMIT || s == SPMVX_ERR_MEMORY;
}

static bool set_up(bench *b, contender *c)
{
    if (c->kind == PEER) {
        const peer_matrix m = { .nrows = b->in.csr.nrows,
                                .ncols = b->in.csr.ncols,
                                .nnz = b->in.csr.nnz,
                                .ptr = b->in.csr.ptr,
                                .ptr_bits = b->in.csr.ptr_type == SPMVX_I64 ? 64 : 32,
                                .col = b->in.csr.col,
                                .val = b->in.csr.val,
                                .val_bits = b->type == SPMVX_F64 ? 64 : 32,
                                .threads = b->set->threads,
                                .expected_muls = 1000,
                                .stream = b->set->on_device ? device_stream() : NULL };
        if (!b->rows.strict) {
            c->unsuited = true;
            snprintf(c->note, sizeof c->note, "peers want the columns of a row to rise strictly");
            return false;
        }
        peer_error e = { "" };
        const int status = c->method->open(c->method, &m, &c->handle, &e);
        c->unsuited = status == PEER_UNSUPPORTED;
        if (status != PEER_OK) {
            snprintf(c->note, sizeof c->note, "%s", e.text);
            c->handle = NULL;
        }
        return status == PEER_OK;
    }
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    if (c->kind == KERNEL) o.kernel = c->name;
    else o.effort = c->kind == AUTO_TIMED;
    o.max_bytes = b->set->max_bytes;
    /* on a device as a solver has it: CSR lies there, borrowed and trusted */
    const spmvx_status status = spmvx_matrix_convert(b->ctx, b->in.A, &o, &c->A);
    if (status == SPMVX_OK) {
        spmvx_matrix_get_info(c->A, &c->info);
        return true;
    }
    c->unsuited = is_refusal(c, status);
    snprintf(c->note, sizeof c->note, "%s", spmvx_last_error(b->ctx));
    return false;
}

static void drop(contender *c)
{
    if (c->handle) c->method->close(c->handle);
    spmvx_matrix_destroy(c->A);
    device_drop_graph(c->graph);
    c->graph = NULL;
    c->handle = NULL;
    c->A = NULL;
    c->info = (spmvx_matrix_info)SPMVX_MATRIX_INFO_INIT;
    c->ready = false;
}

bool multiply(bench *b, contender *c, const void *x, void *y)
{
    if (c->kind == PEER) {
        peer_error e = { "" };
        const int status = c->method->mul(c->handle, 1.0, x, b->set->beta, y, &e);
        if (status == PEER_OK) return true;
        c->unsuited = status == PEER_UNSUPPORTED;
        snprintf(c->note, sizeof c->note, "%s", *e.text ? e.text : "the multiplication failed");
    } else {
        const spmvx_status status = spmvx_mul(b->ctx, SPMVX_N, 1.0, c->A, x, b->set->beta, y);
        if (status == SPMVX_OK) return true;
        c->unsuited = is_refusal(c, status);
        snprintf(c->note, sizeof c->note, "%s", spmvx_last_error(b->ctx));
    }
    drop(c);
    return false;
}

/* A graph of so many multiplications as a sample has. */
static bool replay(bench *b, contender *c, double *seconds)
{
    if (!c->graph) {
        if (!device_capture()) return false;
        for (int k = 0; k < c->inner; k++)
            if (!multiply(b, c, b->mx, b->my)) return device_captured(&c->graph), false;
        if (!device_captured(&c->graph)) return false;
    }
    return device_start() && device_replay(c->graph) && device_stop(seconds);
}

static bool multiply_there(bench *b, contender *c, int times, double *seconds)
{
    if (b->state == GRAPH) return replay(b, c, seconds);
    const bool rotate = b->state == ROTATED;
    if (!device_start()) return false;
    for (int k = 0; k < times; k++)
        if (!multiply(b, c, rotate ? b->xs[k % ROTATION] : b->mx, rotate ? b->ys[k % ROTATION] : b->my))
            return false;
    return device_stop(seconds);
}

bool multiply_often(bench *b, contender *c, int times, double *seconds)
{
    if (b->set->on_device) return multiply_there(b, c, times, seconds);
    const bool own = c->kind == PEER && c->method->vectors, rotate = b->state == ROTATED && !own;
    *seconds = 0;
    if (c->kind == PEER && c->method->run) {
        peer_error e = { "" };
        if (c->method->run(c->handle, times, 1.0, own ? NULL : b->mx, b->set->beta, own ? NULL : b->my,
                           seconds, &e) == PEER_OK)
            return true;
        snprintf(c->note, sizeof c->note, "%s", e.text);
        drop(c);
        return false;
    }
    const double begin = now();
    for (int k = 0; k < times; k++)
        if (!multiply(b, c,
                      own      ? NULL
                      : rotate ? b->xs[k % ROTATION]
                               : b->mx,
                      own      ? NULL
                      : rotate ? b->ys[k % ROTATION]
                               : b->my))
            return false;
    *seconds = now() - begin;
    return true;
}

/* The vectors of a peer that keeps its own. */
static void fill_vectors(bench *b, contender *c)
{
    void *x, *y;
    peer_error e = { "" };
    if (c->kind != PEER || !c->method->vectors) return;
    if (c->method->vectors(c->handle, &x, &y, &e) != PEER_OK) {
        snprintf(c->note, sizeof c->note, "%s", e.text);
        drop(c);
        return;
    }
    memcpy(x, b->x, (size_t)b->in.csr.ncols * type_bytes(b->type));
    memcpy(y, b->y0, (size_t)b->in.csr.nrows * type_bytes(b->type));
}

enum { SETUPS = 7 };

/* Another set-up? The first of AUTO by timing stands alone, since the next would know what it learned. */
static bool again(const contender *c, int done, double seconds)
{
    enum { FEW = 3 };
    static const double enough = 20e-3, most = 0.5; /* seconds: of many, of few */
    if (c->kind == AUTO_TIMED || done == SETUPS) return false;
    return seconds < (done < FEW ? most : enough);
}

/* The median of several times, where they are short. */
static bool time_set_up(bench *b, contender *c)
{
    double took[SETUPS], all = 0;
    int n = 0;
    do {
        if (n > 0) drop(c);
        const double begin = now();
        c->ready = set_up(b, c);
        took[n] = now() - begin;
        all += took[n++];
    } while (c->ready && again(c, n, all));
    sort_doubles(took, n);
    c->setup = took[n / 2];
    c->setups = n;
    return c->ready;
}

/* Out, with this reason unless one is noted. */
static void give_up(contender *c, const char *text)
{
    if (!*c->note) snprintf(c->note, sizeof c->note, "%s", text);
    drop(c);
}

/* The library keeps to the limit by itself, peers do not know of it. */
static bool holds_too_much(const bench *b, contender *c)
{
    if (c->kind != PEER || !b->set->max_bytes || c->held <= b->set->max_bytes) return false;
    c->unsuited = true;
    snprintf(c->note, sizeof c->note, "holds %zu bytes; --max-bytes is %zu", c->held, b->set->max_bytes);
    return true;
}

/* Set up, checked, warmed, and how many multiplications a sample takes. */
static void prepare(bench *b, contender *c)
{
    const bool there = b->set->on_device, counted = !there && reset_peak();
    if (there) device_forget_error(); /* of a peer before, which is none of this one's */
    const size_t before = there ? device_used() / 1024 : resident_now();
    if (!time_set_up(b, c)) {
        give_up(c, "its set-up failed");
        return;
    }
    const size_t peak = resident_peak(), after = there ? device_used() / 1024 : resident_now();
    c->peak = counted && peak > before ? (peak - before) * 1024 : 0;
    c->held = c->kind != PEER    ? c->info.bytes_held
              : c->method->bytes ? c->method->bytes(c->handle)
              : after > before   ? (after - before) * 1024
                                 : 0;
    if (holds_too_much(b, c)) {
        drop(c);
        return;
    }
    /* NaN, which it must overwrite */
    if (!reset_y(b, b->set->beta == 0) || !multiply(b, c, b->mx, b->my) || !fetch_y(b)) {
        give_up(c, spmvx_last_error(b->ctx));
        return;
    }
    c->error = error_of(b, b->y);
    if (!reset_y(b, false)) {
        give_up(c, spmvx_last_error(b->ctx));
        return;
    }
    fill_vectors(b, c);
    c->time.first = INFINITY;
    b->state = WARM;
    for (int i = 0; c->ready && i < (b->set->warmup > 0 ? b->set->warmup : 1); i++) {
        double seconds;
        if (!multiply_often(b, c, 1, &seconds)) {
            give_up(c, "a multiplication failed");
            return;
        }
        c->time.first = fmin(c->time.first, seconds);
        if (seconds > 0.1) break; /* warm enough */
    }
    c->inner = c->time.first > 0
                   ? (int)fmin(there ? 200.0 : 10000.0, fmax(1.0, ceil(b->set->min_time / c->time.first)))
                   : 10000;
    c->time.samples = checked_alloc((size_t)b->set->rounds * sizeof *c->time.samples);
}

void prepare_contenders(bench *b, const char *missing)
{
    if (b->set->kernels) add_named(b, b->set->kernels);
    else add_all(b);
    add_peers(b);
    for (int i = 0; i < b->count; i++) {
        contender *c = &b->who[i];
        c->unsuited = missing != NULL;
        if (missing) snprintf(c->note, sizeof c->note, "%s", missing);
        else prepare(b, c);
    }
}

void drop_contenders(bench *b)
{
    for (int i = 0; i < b->count; i++) {
        drop(&b->who[i]);
        free(b->who[i].time.samples);
    }
    b->count = 0;
}
