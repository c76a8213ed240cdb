/* Lines of wisdom about the machine, of whole numbers, which no locale spells otherwise:
 *
 *     machine memory=20000 more=500 cache=40000 near=32000 mid=1000000 cached=24000000 compute=1000
 *     far=1000
 *     kernel sell@avx2 long second=1000 last=950 memory=1100 far=1000
 *     kernel packed@avx2 diagonals second=480 last=590 memory=1020 far=1020
 *
 * The first (of a GPU it begins with 'device') has MB/s, bytes, and thousandths of the model's own; see
 * spx_machine. The others have thousandths of the time that the model predicts, as a kernel of the host took
 * them with long rows, middle ones, short ones, and diagonals (of formats that make something of them), its
 * matrix in the second cache, in the last one, in memory, and with columns far apart; 0 where that is not
 * known. */
#include "dispatch/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/cpu.h"
#include "dispatch/presets.h"

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

static void preset_kernels(spx_machine *m, const spx_kernel_scales *list)
{
    for (; list->name; list++) {
        const int32_t i = find_kernel(list->name, strlen(list->name));
        if (i >= 0) memcpy(m->kernel_scale[i], list->scale, sizeof list->scale);
    }
}

void spx_machine_preset_for_cpu(spmvx_context *ctx)
{
    if (ctx->backend->place != SPMVX_HOST) return;
    const spx_cpu_preset *p = spx_cpu_preset_for(spx_cpu_which());
    if (p->rates) ctx->machine = *p->rates;
    preset_kernels(&ctx->machine, p->kernels);
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

static const char *const row_kinds[SPX_ROW_KINDS] = { "long", "middle", "short", "diagonals" };

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
    for (int32_t i = 0; i < SPX_ROW_KINDS * spx_kernel_total(); i++) {
        const int32_t kernel = i / SPX_ROW_KINDS, kind = i % SPX_ROW_KINDS;
        int64_t v[SPX_LEVELS];
        bool known = false;
        for (int l = 0; l < SPX_LEVELS; l++) {
            v[l] = m->kernel_scale[kernel][kind][l];
            known |= v[l] > 0;
        }
        if (!known) continue;
        variant_name(spx_kernel_at(kernel), name);
        n += (size_t)snprintf(n < room ? out + n : NULL, n < room ? room - n : 0,
                              "kernel %s %s" KERNEL(PRId64) "\n", name, row_kinds[kind], v[SPX_IN_SECOND],
                              v[SPX_IN_LAST], v[SPX_IN_MEMORY], v[SPX_FAR]);
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

static bool read_scale(const char *text, uint16_t scale[SPX_LEVELS])
{
    int64_t v[SPX_LEVELS];
    char rest;
    if (sscanf(text, KERNEL(SCNd64) "%c", &v[0], &v[1], &v[2], &v[3], &rest) != SPX_LEVELS) return false;
    for (int i = 0; i < SPX_LEVELS; i++)
        if (v[i] < 0 || v[i] > UINT16_MAX) return false;
    for (int i = 0; i < SPX_LEVELS; i++) scale[i] = (uint16_t)v[i];
    return true;
}

static spx_line read_kernel(const spmvx_context *ctx, const char *text, spx_machine *m, const char **wrong)
{
    uint16_t scale[SPX_LEVELS];
    const size_t name = strcspn(text, " ");
    const char *kind_word = text + name + (text[name] == ' ');
    const size_t word = strcspn(kind_word, " ");
    int kind = 0;
    *wrong = "after 'kernel' come its name, 'long', 'middle', 'short' or 'diagonals', and second, last, "
             "memory and far as whole "
             "numbers up to 65535";
    while (kind < SPX_ROW_KINDS && !begins(kind_word, word, row_kinds[kind])) kind++;
    if (!name || kind == SPX_ROW_KINDS || !read_scale(kind_word + word, scale)) return SPX_LINE_WRONG;
    const int32_t i = find_kernel(text, name);
    if (i < 0 || ctx->backend->place != SPMVX_HOST) return SPX_LINE_OF_OTHERS;
    memcpy(m->kernel_scale[i][kind], scale, sizeof scale);
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
    *m = other;
    return SPX_LINE_TAKEN;
}
