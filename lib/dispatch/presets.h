/* What is known beforehand of processors that were measured. */
#ifndef SPX_PRESETS_H
#define SPX_PRESETS_H
#include "core/context.h"
#include "dispatch/cpu.h"

typedef struct spx_kernel_scales {
    const char *name; /* with its variant, "sell@c"; NULL ends a list */
    uint16_t scale[SPX_ROW_KINDS][SPX_LEVELS];
} spx_kernel_scales;

typedef struct spx_cpu_preset {
    const char *vendor;
    int family, first_model, last_model;
    const spx_machine *rates; /* without kernels' scales; or NULL: the usual */
    const spx_kernel_scales *kernels;
} spx_cpu_preset;

/* Never NULL: one with caution for a processor that nobody measured. */
const spx_cpu_preset *spx_cpu_preset_for(spx_cpu);
#endif
