/* The table of kernels, and how a text such as "csr-merge-path:chunk=4096" names one. */
#ifndef SPX_REGISTRY_H
#define SPX_REGISTRY_H
#include "kernel/kernel.h"

enum { SPX_SPEC = 96 };   /* room for a kernel's name with parameters */

int32_t spx_kernel_total(void);
const spx_kernel *spx_kernel_at(int32_t i);

/* Can this machine run it, and does SPMVX_DISABLE (read at every call) leave it? */
bool spx_kernel_available(const spx_kernel *);

/* Is there any kernel for one column, in the place where the context computes, that takes the format, or SELL in slices of so
 * many rows? */
bool spx_kernel_serves(const spmvx_context *, spmvx_format);
bool spx_slice_serves(const spmvx_context *, int64_t slice);

/* A kernel with its parameters. */
typedef struct spx_choice {
    const spx_kernel *kernel;
    bool any_variant;           /* named without '@': every available variant will do, and the model takes one */
    int64_t param[SPX_PARAMS];
} spx_choice;

/* Finds the kernel that `spec` names for the operation where the context computes, and reads its parameters. */
spmvx_status spx_kernel_parse(const spmvx_context *, spmvx_operation, const char *spec, spx_choice *out);
/* Do the two differ by their variant at most? */
bool spx_kernel_same_base(const spx_kernel *, const spx_kernel *);
/* The kernel with its preset parameters. */
spx_choice spx_kernel_preset(const spx_kernel *);
/* Writes the form that spx_kernel_parse reads back. */
void spx_kernel_spec(const spx_choice *, char out[SPX_SPEC]);
#endif
