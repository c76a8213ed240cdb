/* What is known beforehand of processors names kernels that there are, and every kernel of the host has a
 * figure for every place on the processors that were measured: one without would seem the best where all
 * others take several times what the model expects. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/presets.h"
#include "dispatch/registry.h"

static void variant_name(const spx_kernel *k, char out[SPX_SPEC])
{
    snprintf(out, SPX_SPEC, "%s%s", k->name, !strchr(k->name, '@') && spx_kernel_has_variants(k) ? "@c" : "");
}

static const spx_kernel_scales *find(const spx_kernel_scales *list, const char *name)
{
    for (; list->name; list++)
        if (!strcmp(list->name, name)) return list;
    return NULL;
}

static void assert_known(const spx_kernel *k, const spx_kernel_scales *s)
{
    const bool diagonals = k->format == SPMVX_DIA || k->format == SPMVX_PACKED;
    for (int kind = 0; kind < SPX_ROW_KINDS; kind++)
        for (int level = 0; level < SPX_LEVELS; level++) {
            if (kind == SPX_DIAGONALS && (!diagonals || level == SPX_FAR)) continue;
            if (!s->scale[kind][level])
                fail_msg("%s has no figure for rows %d, level %d", s->name, kind, level);
        }
}

static void test_measured(void **state)
{
    (void)state;
    static const spx_cpu cpus[] = { { "AuthenticAMD", 26, 2 },
                                    { "AuthenticAMD", 25, 1 },
                                    { "AuthenticAMD", 25, 17 },
                                    { "GenuineIntel", 6, 207 } };
    for (size_t c = 0; c < sizeof cpus / sizeof *cpus; c++) {
        const spx_cpu_preset *p = spx_cpu_preset_for(cpus[c]);
        assert_non_null(p->rates);
        for (int32_t i = 0; i < spx_kernel_total(); i++) {
            const spx_kernel *k = spx_kernel_at(i);
            char name[SPX_SPEC];
            if (k->place != SPMVX_HOST || k->operation != SPMVX_MUL) continue;
            variant_name(k, name);
            const spx_kernel_scales *s = find(p->kernels, name);
            if (!s) fail_msg("%s is not in the preset of %s", name, cpus[c].vendor);
            assert_known(k, s);
        }
    }
}

static void test_unknown(void **state)
{
    (void)state;
    static const spx_cpu cpus[] = { { "", 0, 0 }, { "AuthenticAMD", 25, 97 }, { "GenuineIntel", 6, 143 } };
    for (size_t c = 0; c < sizeof cpus / sizeof *cpus; c++) {
        const spx_cpu_preset *p = spx_cpu_preset_for(cpus[c]);
        assert_null(p->rates);
        assert_non_null(find(p->kernels, "sell@avx512"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_measured), cmocka_unit_test(test_unknown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
