/* Lines of wisdom about the machine, of whole numbers, which no locale spells otherwise:
 *
 *     machine memory=20000 more=500 cache=40000 near=32000 mid=1000000 cached=24000000 compute=1000
 *     far=1000
 *     kernel sell@avx2 second=1000 last=950 memory=1100 far=1000
 *
 * The first (of a GPU it begins with 'device') has MB/s, bytes, and thousandths of the model's own; see
 * spx_machine. The others have thousandths of the time that the model predicts, as a kernel of the host took
 * them with its matrix in the second cache, in the last one, in memory, and with columns far apart; 0 where
 * that is not known. */
#include "dispatch/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/cpu.h"

/* ---- presets ---- */

typedef struct kernel_preset {
    const char *name; /* as spx_kernel_spec has it, without parameters; NULL ends a list */
    float scale[SPX_LEVELS];
} kernel_preset;

/* The geometric means of what `spmvx tune` found on one thread and on all, several times each. */
static const kernel_preset zen5[] = {
    { "csr-scalar", { 0.76f, 0.66f, 0.84f, 1.55f } },
    { "csr-vector@c", { 0.75f, 0.74f, 0.90f, 1.66f } },
    { "csr-vector@avx512", { 0.66f, 0.68f, 0.70f, 0.89f } },
    { "csr-vector@avx2", { 0.58f, 0.59f, 0.77f, 1.56f } },
    { "csr-nnz-split", { 0.74f, 0.77f, 0.98f, 1.65f } },
    { "csr-merge-path", { 0.74f, 0.73f, 0.91f, 1.73f } },
    { "csc-scalar", { 0.36f, 0.35f, 0.40f, 0.91f } },
    { "ell", { 0.93f, 0.92f, 1.56f, 1.79f } },
    { "sell@c", { 0.72f, 0.72f, 0.86f, 1.39f } },
    { "sell@avx512", { 0.82f, 0.83f, 0.88f, 1.37f } },
    { "sell@avx2", { 0.64f, 0.67f, 0.83f, 1.43f } },
    { "hyb", { 0.84f, 0.83f, 1.30f, 2.12f } },
    { "dia@c", { 1.14f, 1.07f, 1.10f, 0.00f } },
    { "dia@avx2", { 0.70f, 0.72f, 1.12f, 0.00f } },
    { "dia@avx512", { 0.49f, 0.54f, 0.70f, 0.00f } },
    { "bsr@c", { 0.92f, 1.01f, 0.89f, 1.89f } },
    { "bsr@avx512", { 1.36f, 1.35f, 1.14f, 1.55f } },
    { "csr5", { 0.93f, 1.00f, 0.98f, 1.98f } },
    { "tiled", { 0.34f, 0.34f, 0.60f, 3.42f } },
    { "packed@c", { 1.12f, 1.08f, 0.94f, 1.67f } },
    { "packed@avx512", { 0.43f, 0.50f, 0.64f, 1.25f } },
    { "packed@avx2", { 0.58f, 0.59f, 0.62f, 1.34f } },
    { NULL, { 0 } },
};

/* A processor that nobody here has measured: AVX-512's gathers are slower than loads on some by several
 * times, so that its kernels have to promise more than they would where they are known. */
static const kernel_preset unknown[] = {
    { "csr-vector@avx512", { 1.3f, 1.3f, 1.3f, 1.1f } }, { "sell@avx512", { 1.3f, 1.3f, 1.3f, 1.1f } },
    { "packed@avx512", { 1.2f, 1.2f, 1.2f, 1.1f } },     { "dia@avx512", { 1.1f, 1.1f, 1.1f, 1.1f } },
    { "bsr@avx512", { 1.1f, 1.1f, 1.1f, 1.1f } },        { NULL, { 0 } },
};

typedef struct cpu_preset {
    const char *vendor;
    int family, first_model, last_model;
    spx_machine machine;
    const kernel_preset *kernels;
} cpu_preset;

static const cpu_preset measured[] = {
    /* AMD EPYC of the fifth generation (Zen 5), 2 threads of a virtual machine */
    { "AuthenticAMD",
      26,
      0,
      INT32_MAX,
      { .memory_rate = 27.5,
        .extra_thread = 0.5,
        .cache_rate = 33.0,
        .first_cache = 48e3,
        .second_cache = 1e6,
        .last_cache = 24e6,
        .compute_scale = 0.8,
        .far_scale = 0.44 },
      zen5 },
};

static bool begins(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && !strncmp(text, word, length);
}

/* The kernel's name with its variant, which names it alone: "sell@c", "sell@avx2", "csr-scalar". */
static void variant_name(const spx_kernel *k, char out[SPX_SPEC])
{
    snprintf(out, SPX_SPEC, "%s%s", k->name, !strchr(k->name, '@') && spx_kernel_has_variants(k) ? "@c" : "");
}

/* Its place in the registry; -1 for none. */
static int32_t find_kernel(const char *name, size_t length)
{
    char spec[SPX_SPEC];
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (k->place != SPMVX_HOST || k->operation != SPMVX_MUL) continue;
        variant_name(k, spec);
        if (begins(name, length, spec)) return i;
    }
    return -1;
}

static void preset_kernels(spx_machine *m, const kernel_preset *list)
{
    for (; list->name; list++) {
        const int32_t i = find_kernel(list->name, strlen(list->name));
        if (i >= 0) memcpy(m->kernel_scale[i], list->scale, sizeof list->scale);
    }
}

void spx_machine_preset_for_cpu(spmvx_context *ctx)
{
    if (ctx->backend->place != SPMVX_HOST) return;
    const spx_cpu cpu = spx_cpu_which();
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const cpu_preset *p = &measured[i];
        if (strcmp(cpu.vendor, p->vendor) || cpu.family != p->family || cpu.model < p->first_model ||
            cpu.model > p->last_model)
            continue;
        ctx->machine = p->machine;
        preset_kernels(&ctx->machine, p->kernels);
        return;
    }
    preset_kernels(&ctx->machine, unknown);
}

/* ---- lines ---- */

#define MACHINE(SPELL)                                                                                  \
    " memory=%" SPELL " more=%" SPELL " cache=%" SPELL " near=%" SPELL " mid=%" SPELL " cached=%" SPELL \
    " compute=%" SPELL " far=%" SPELL
#define KERNEL(SPELL) " second=%" SPELL " last=%" SPELL " memory=%" SPELL " far=%" SPELL

/* What begins the line: "machine" of the host, "device" of a GPU. */
static const char *machine_word(spmvx_place place)
{
    return place == SPMVX_CUDA ? "device" : "machine";
}

static int64_t thousandths(double v)
{
    return (int64_t)(1e3 * v + 0.5);
}

size_t spx_machine_write(const spmvx_context *ctx, char *out, size_t room)
{
    const spx_machine *m = &ctx->machine;
    char name[SPX_SPEC];
    size_t n =
        (size_t)snprintf(out, room, "%s" MACHINE(PRId64) "\n", machine_word(ctx->backend->place),
                         thousandths(m->memory_rate), thousandths(m->extra_thread),
                         thousandths(m->cache_rate), (int64_t)m->first_cache, (int64_t)m->second_cache,
                         (int64_t)m->last_cache, thousandths(m->compute_scale), thousandths(m->far_scale));
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        int64_t v[SPX_LEVELS];
        bool known = false;
        for (int l = 0; l < SPX_LEVELS; l++) {
            v[l] = thousandths((double)m->kernel_scale[i][l]);
            known |= v[l] > 0;
        }
        if (!known) continue;
        variant_name(spx_kernel_at(i), name);
        n += (size_t)snprintf(n < room ? out + n : NULL, n < room ? room - n : 0,
                              "kernel %s" KERNEL(PRId64) "\n", name, v[SPX_IN_SECOND], v[SPX_IN_LAST],
                              v[SPX_IN_MEMORY], v[SPX_FAR]);
    }
    return n;
}

static bool read_rates(const char *text, spx_machine *m)
{
    int64_t v[8];
    char rest;
    if (sscanf(text, MACHINE(SCNd64) "%c", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &rest) !=
        8)
        return false;
    for (int i = 0; i < 8; i++)
        if (v[i] < (i != 1) || v[i] > INT64_C(1000000000000)) return false;
    if (v[1] > 1000 || v[3] > v[4] || v[4] > v[5]) return false;
    m->memory_rate = 1e-3 * (double)v[0];
    m->extra_thread = 1e-3 * (double)v[1];
    m->cache_rate = 1e-3 * (double)v[2];
    m->first_cache = (double)v[3];
    m->second_cache = (double)v[4];
    m->last_cache = (double)v[5];
    m->compute_scale = 1e-3 * (double)v[6];
    m->far_scale = 1e-3 * (double)v[7];
    return true;
}

static bool read_scale(const char *text, float scale[SPX_LEVELS])
{
    int64_t v[SPX_LEVELS];
    char rest;
    if (sscanf(text, KERNEL(SCNd64) "%c", &v[0], &v[1], &v[2], &v[3], &rest) != SPX_LEVELS) return false;
    for (int i = 0; i < SPX_LEVELS; i++)
        if (v[i] < 0 || v[i] > 1000000) return false;
    for (int i = 0; i < SPX_LEVELS; i++) scale[i] = 1e-3f * (float)v[i];
    return true;
}

static spx_line read_kernel(const spmvx_context *ctx, const char *text, spx_machine *m, const char **wrong)
{
    float scale[SPX_LEVELS];
    const size_t name = strcspn(text, " ");
    *wrong = "after 'kernel' come its name, and second, last, memory and far as whole numbers up to 1000000";
    if (!name || !read_scale(text + name, scale)) return SPX_LINE_WRONG;
    const int32_t i = find_kernel(text, name);
    if (i < 0 || ctx->backend->place != SPMVX_HOST) return SPX_LINE_OF_OTHERS;
    memcpy(m->kernel_scale[i], scale, sizeof scale);
    return SPX_LINE_TAKEN;
}

spx_line spx_machine_read(const spmvx_context *ctx, const char *text, spx_machine *m, const char **wrong)
{
    const size_t word = strcspn(text, " ");
    if (begins(text, word, "kernel") && !strstr(text, " -> "))
        return read_kernel(ctx, text + word + (text[word] == ' '), m, wrong);
    const bool ours = begins(text, word, machine_word(ctx->backend->place));
    if (!ours && !begins(text, word, "machine") && !begins(text, word, "device")) return SPX_LINE_NONE;
    *wrong = "after 'machine' or 'device' come memory, more (up to 1000), cache, near, mid, cached (rising), "
             "compute and far, as whole numbers";
    spx_machine other = *m;
    if (!read_rates(text + word, &other)) return SPX_LINE_WRONG;
    if (!ours) return SPX_LINE_OF_OTHERS;
    /* It was measured with what follows it; of what was known before nothing is left. */
    memset(other.kernel_scale, 0, sizeof other.kernel_scale);
    *m = other;
    return SPX_LINE_TAKEN;
}
