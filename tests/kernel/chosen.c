/* Which kernels a test runs. */
#include "chosen.h"

#include <stdio.h>
#include <string.h>

static spmvx_kernel_info info_of(int32_t i)
{
    spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
    assert_ok(NULL, spmvx_kernel_get_info(i, &k));
    return k;
}

static bool concerns(const spmvx_kernel_info *k)
{
    return k->operation == SPMVX_MUL && k->place == test_place();
}

static bool has_variant(const char *name)
{
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = info_of(i);
        if (concerns(&k) && !strncmp(k.name, name, strlen(name)) && k.name[strlen(name)] == '@') return true;
    }
    return false;
}

int choose_kernels(const char *only, chosen_kernel *out, int room)
{
    int n = 0;
    bool known = !only;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = info_of(i);
        if (!concerns(&k) || (only && strcmp(k.name, only) != 0)) continue;
        known = true;
        if (!(k.flags & SPMVX_KERNEL_AVAILABLE)) continue;
        assert_true(n < room);
        const int length =
            snprintf(out[n].name, sizeof out[n].name, "%s%s", k.name, has_variant(k.name) ? "@c" : "");
        assert_true(length < (int)sizeof out[n].name);
        out[n].format = k.format;
        out[n].same_bits = k.flags & SPMVX_KERNEL_DETERMINISTIC;
        out[n++].types = k.types;
    }
    if (!known) fail_msg("the registry has no kernel %s here", only);
    return n;
}

static bool among(const char *name, int n, char **names)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

/* The exit status. */
static int check_complete(int n, char **names)
{
    int kernels = 0, missing = 0;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        const spmvx_kernel_info k = info_of(i);
        if (!concerns(&k)) continue;
        kernels++;
        if (among(k.name, n, names)) continue;
        missing++;
        printf("%s has no test of its own; tests/kernel/meson.build takes the names from the files\n",
               k.name);
    }
    if (!missing && kernels != n) printf("%d tests for %d kernels\n", n, kernels);
    return missing || kernels != n;
}

int run_for_kernels(int argc, char **argv, int (*tests)(const char *only))
{
    if (argc > 1 && !strcmp(argv[1], "--complete")) return check_complete(argc - 2, argv + 2);
    if (!test_place_answers()) return 77;
    return tests(argc > 1 ? argv[1] : NULL);
}
