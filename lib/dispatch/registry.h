/* The tables of kernels and of formats, and how a text such as "csr-merge-path:chunk=4096" names a kernel. */
#ifndef SPX_REGISTRY_H
#define SPX_REGISTRY_H
#include "format/format.h"
#include "kernel/kernel.h"
#include "kernel/product.h"

enum {
    SPX_FORMATS = SPMVX_PKT + 1, /* formats count from 0, AUTO; a test holds all against it */
    SPX_SPEC = 256,              /* room for a kernel's name with parameters; a test holds all against it */
    /* kernels that multiply by a vector, at most; the table says so when it grows past it */
    SPX_CANDIDATES = SPX_KERNELS
};

/* Kernels that multiply by vectors. */
int32_t spx_kernel_total(void);
const spx_kernel *spx_kernel_at(int32_t i);
/* Kernels that multiply sparse matrices. */
int32_t spx_product_kernel_total(void);
const spx_product_kernel *spx_product_kernel_at(int32_t i);

/* Can this machine run it, and does SPMVX_DISABLE (read at every call) leave it? */
bool spx_kernel_available(const spx_kernel *);
bool spx_product_kernel_available(const spx_product_kernel *);

/* The records of all formats, of all places. */
int32_t spx_format_total(void);
const spx_format *spx_format_at(int32_t i);
/* A format's record of the host, which builds all; and the one of the place where the context computes,
 * NULL where it has none. NULL for AUTO and what is no format. */
const spx_format *spx_format_find(spmvx_format);
/* The keys of the kernel's format's layout, with the bounds that hold where the kernel runs; NULL: none. */
const spx_layout_key *spx_kernel_layout(const spx_kernel *);
const spx_format *spx_format_of_place(const spmvx_context *, spmvx_format);

/* Is there any kernel for one column, in the place where the context computes, that takes the format; and
 * one that takes it in this layout? unasked: one without atomics, which a caller has to ask for. */
bool spx_kernel_serves(const spmvx_context *, spmvx_format, bool unasked);
bool spx_layout_serves(const spmvx_context *, spmvx_format, const spx_layout *, bool unasked);

/* A kernel with its parameters, and what is asked for of its format's layout. */
typedef struct spx_choice {
    const spx_kernel *kernel;
    bool any_variant; /* named without '@': every available variant will do, and the model takes one */
    int64_t param[SPX_PARAMS];
    spx_layout layout; /* 0: chosen */
} spx_choice;

/* Finds the kernel that `spec` names for the operation where the context computes, and reads its
 * parameters and those of its format's layout. */
spmvx_status spx_kernel_parse(const spmvx_context *, spmvx_operation, const char *spec, spx_choice *out);
/* The product kernel that `spec` names, with its parameters. */
spmvx_status spx_product_kernel_parse(const spmvx_context *, const char *spec, const spx_product_kernel **out,
                                      int64_t param[SPX_PARAMS]);
/* True for variants of one kernel. */
bool spx_kernel_same_base(const spx_kernel *, const spx_kernel *);
/* True when a bare name leaves the model a choice. */
bool spx_kernel_has_variants(const spx_kernel *);
/* The kernel with its preset parameters. */
spx_choice spx_kernel_preset(const spx_kernel *);
/* Writes the form that spx_kernel_parse reads back. */
void spx_kernel_spec(const spx_choice *, char out[SPX_SPEC]);
#endif
