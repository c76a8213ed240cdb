/* spmvx kernels: the registry as a table. */
#include <stdio.h>
#include <stdlib.h>

#include "tool.h"

static int kernel_id(const spmvx_kernel_info *k, char *out, size_t room)
{
    static const char *const places[] = { "host", "cuda" };
    static const char *const operations[] = { "", "mul", "mul-multi", "spmspm" };
    return snprintf(out, room, "%s/%s/%s", places[k->place], operations[k->operation], k->name);
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES];
    int count;
    bool available = false;
    const option options[] = {
        { "--available", 0, FLAG, &available, NULL, "only those that this machine can run" }, { 0 }
    };
    const int status = parse(&command_kernels, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (count) return usage_error(&command_kernels, "no file is read, and '%s' is given", files[0]);
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        char id[64];
        if (spmvx_kernel_get_info(i, &k) != SPMVX_OK) return fail(NULL, "kernel list");
        if (available && !(k.flags & SPMVX_KERNEL_AVAILABLE)) continue;
        kernel_id(&k, id, sizeof id);
        printf("%-28s %-5s %s%s  %-11s %-9s  %s [%s]%s%s%s\n", id, format_text(k.format),
               k.types & 1u << SPMVX_F64 ? "f64" : "   ", k.types & 1u << SPMVX_F32 ? " f32" : "    ",
               k.flags & SPMVX_KERNEL_AVAILABLE ? "available" : "unavailable",
               k.flags & SPMVX_KERNEL_DETERMINISTIC ? "same-bits" : "atomics", k.summary, k.source,
               *k.parameters ? " {" : "", k.parameters, *k.parameters ? "}" : "");
    }
    return EXIT_SUCCESS;
}

const command command_kernels = { "kernels", "[--available]", "List every kernel of the library",
                                  "Columns: id (place/operation/name), format, value types, whether this "
                                  "machine can run it (SPMVX_DISABLE masks some),\n"
                                  "whether results have the same bits in every run, summary, source, and "
                                  "in braces the parameters: NAME:key=value,...\n"
                                  "A name with a variant such as sell@avx512 takes the best variant when "
                                  "given bare; name@c is the portable one.",
                                  run };
