/* Lines of wisdom about the machine, of whole numbers, which no locale spells otherwise:
 *
 *     machine memory=20000 more=500 cache=40000 near=32000 mid=1000000 cached=24000000 compute=1000
 *     far=1000
 *     kernel sell@avx2 long second=1000 last=950 memory=1100 far=1000
 *     kernel sell@avx2 short second=800 last=850 memory=1000 far=1200
 *
 * The first (of a GPU it begins with 'device') has MB/s, bytes, and thousandths of the model's own; see
 * spx_machine. The others have thousandths of the time that the model predicts, as a kernel of the host took
 * them with long rows and with short ones, its matrix in the second cache, in the last one, in memory, and
 * with columns far apart; 0 where that is not known. */
#include "dispatch/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/cpu.h"

/* ---- presets ---- */

typedef struct kernel_preset {
    const char *name; /* as spx_kernel_spec has it, without parameters; NULL ends a list */
    uint16_t scale[SPX_ROW_KINDS][SPX_LEVELS];
} kernel_preset;

/* The geometric means of what `spmvx tune` found on one thread and on two, five times each. */
static const kernel_preset zen5[] = {
    { "csr-scalar", { { 900, 630, 620, 1400 }, { 660, 1180, 1280, 1660 } } },
    { "csr-vector@c", { { 800, 630, 740, 1450 }, { 800, 1380, 1370, 1840 } } },
    { "csr-vector@avx512", { { 980, 950, 880, 1050 }, { 470, 580, 620, 730 } } },
    { "csr-vector@avx2", { { 720, 570, 740, 1530 }, { 530, 880, 980, 1610 } } },
    { "csr-nnz-split", { { 790, 640, 810, 1490 }, { 790, 1400, 1450, 1860 } } },
    { "csr-merge-path", { { 780, 630, 770, 1490 }, { 770, 1160, 1520, 1820 } } },
    { "csc-scalar", { { 480, 590, 380, 900 }, { 250, 340, 380, 910 } } },
    { "ell", { { 1060, 1880, 1530, 1730 }, { 930, 1570, 1750, 1730 } } },
    { "sell@c", { { 650, 610, 580, 1330 }, { 920, 1150, 1310, 1410 } } },
    { "sell@avx512", { { 890, 830, 710, 1120 }, { 850, 1000, 1130, 1310 } } },
    { "sell@avx2", { { 660, 580, 700, 1460 }, { 790, 1080, 1280, 1400 } } },
    { "hyb", { { 1100, 1790, 1320, 1740 }, { 820, 1160, 1310, 2390 } } },
    { "dia@c", { { 1570, 1500, 1480, 0 }, { 1060, 870, 1290, 0 } } },
    { "dia@avx2", { { 870, 1080, 1310, 0 }, { 690, 2060, 2370, 0 } } },
    { "dia@avx512", { { 640, 520, 750, 0 }, { 500, 960, 1420, 0 } } },
    { "bsr@c", { { 1340, 1160, 1010, 1720 }, { 790, 790, 940, 1760 } } },
    { "bsr@avx512", { { 1320, 990, 850, 1220 }, { 2110, 1510, 1720, 1560 } } },
    { "csr5", { { 780, 810, 650, 1500 }, { 1520, 1290, 1250, 2420 } } },
    { "tiled", { { 350, 360, 740, 3790 }, { 390, 630, 820, 3100 } } },
    { "packed@c", { { 1060, 1110, 910, 1430 }, { 1300, 1040, 1080, 1500 } } },
    { "packed@avx512", { { 610, 420, 980, 1340 }, { 330, 600, 1070, 1080 } } },
    { "packed@avx2", { { 800, 290, 890, 1230 }, { 480, 590, 1020, 1360 } } },
    { NULL, { { 0 } } },
};

/* The same on 16 threads, twice. */
static const kernel_preset emerald_rapids[] = {
    { "csr-scalar", { { 1290, 1060, 1090, 4300 }, { 1370, 1360, 1440, 2300 } } },
    { "csr-vector@c", { { 810, 860, 1140, 4920 }, { 1120, 1040, 1300, 3330 } } },
    { "csr-vector@avx512", { { 590, 840, 1020, 6970 }, { 630, 620, 880, 2160 } } },
    { "csr-vector@avx2", { { 760, 860, 1140, 6450 }, { 1160, 1130, 1260, 2470 } } },
    { "csr-nnz-split", { { 890, 840, 1200, 4810 }, { 1180, 1130, 1350, 3110 } } },
    { "csr-merge-path", { { 870, 820, 1100, 5140 }, { 1310, 1140, 1460, 3060 } } },
    { "csc-scalar", { { 1760, 1380, 1580, 2340 }, { 1000, 920, 1000, 3000 } } },
    { "ell", { { 1260, 1200, 1590, 2290 }, { 1250, 1320, 1370, 1870 } } },
    { "sell@c", { { 860, 830, 940, 4260 }, { 1180, 1230, 1420, 3340 } } },
    { "sell@avx512", { { 560, 780, 830, 7810 }, { 850, 940, 1180, 4610 } } },
    { "sell@avx2", { { 720, 860, 860, 6430 }, { 870, 1030, 1240, 3720 } } },
    { "hyb", { { 940, 920, 1130, 2770 }, { 780, 720, 1020, 3160 } } },
    { "dia@c", { { 2640, 2220, 1480, 0 }, { 1190, 1090, 1690, 0 } } },
    { "dia@avx2", { { 1840, 1170, 1140, 0 }, { 750, 1030, 1680, 0 } } },
    { "dia@avx512", { { 1020, 1120, 560, 0 }, { 680, 1000, 1770, 0 } } },
    { "bsr@c", { { 960, 1020, 1040, 2310 }, { 1560, 1360, 1760, 2500 } } },
    { "bsr@avx512", { { 1240, 1340, 1230, 3710 }, { 2410, 2250, 1940, 4020 } } },
    { "csr5", { { 3960, 1260, 1320, 2750 }, { 2050, 1970, 2030, 3490 } } },
    { "tiled", { { 690, 690, 870, 8290 }, { 720, 880, 1690, 5150 } } },
    { "packed@c", { { 1710, 1470, 1560, 3550 }, { 1090, 1160, 1960, 4110 } } },
    { "packed@avx512", { { 390, 870, 820, 6350 }, { 700, 1080, 1750, 6760 } } },
    { "packed@avx2", { { 490, 610, 880, 4350 }, { 730, 1080, 1920, 5090 } } },
    { NULL, { { 0 } } },
};

/* A processor that nobody here has measured: AVX-512's gathers are slower than loads on some by several
 * times, so that its kernels have to promise more than they would where they are known. */
static const kernel_preset unknown[] = {
    { "csr-vector@avx512", { { 1300, 1300, 1300, 1100 }, { 1300, 1300, 1300, 1100 } } },
    { "sell@avx512", { { 1300, 1300, 1300, 1100 }, { 1300, 1300, 1300, 1100 } } },
    { "packed@avx512", { { 1200, 1200, 1200, 1100 }, { 1200, 1200, 1200, 1100 } } },
    { "dia@avx512", { { 1100, 1100, 1100, 1100 }, { 1100, 1100, 1100, 1100 } } },
    { "bsr@avx512", { { 1100, 1100, 1100, 1100 }, { 1100, 1100, 1100, 1100 } } },
    { NULL, { { 0 } } },
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
    /* Intel Xeon (Emerald Rapids), 16 threads of a virtual machine with 300 MB of last cache */
    { "GenuineIntel",
      6,
      207,
      207,
      { .memory_rate = 8.8,
        .extra_thread = 0.85,
        .cache_rate = 10.7,
        .first_cache = 48e3,
        .second_cache = 2e6,
        .last_cache = 256e6,
        .compute_scale = 1.3,
        .far_scale = 0.78 },
      emerald_rapids },
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

static const char *const row_kinds[SPX_ROW_KINDS] = { "long", "short" };

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
    *wrong = "after 'kernel' come its name, 'long' or 'short', and second, last, memory and far as whole "
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
