/* The memory that one operation may take, counted where it is taken.
 *
 * While a budget is open in a context, every block that the context takes from its allocator, and every array
 * that it makes on its device, is charged to it until it is freed, by whoever frees it. (A buffer of
 * spmvx_buffer_alloc on a device is not.) What would exceed
 * the limit is refused as memory that is out is, with SPMVX_ERR_LIMIT and a message that names the option.
 * So a limit holds whatever the code on the way there does; formulas only refuse early. Budgets nest: an
 * inner one is charged for what the outer one is charged for, too. */
#ifndef SPX_BUDGET_H
#define SPX_BUDGET_H
#include <stdbool.h>

#include "core/error.h"

/* The record outlives the operation while blocks that are charged to it live. */
typedef struct spx_budget spx_budget;

/* Opens a budget of `limit` bytes, or with SIZE_MAX one that counts and refuses nothing. `option` and `value`
 * are what the message of a refusal says: "max_bytes is 1000"; static text. What is allocated from here to
 * spx_budget_close is charged. */
spmvx_status spx_budget_open(spmvx_context *, size_t limit, const char *option, size_t value);
/* What the record of a budget takes, which is charged to it. */
size_t spx_budget_bytes(void);
/* Closes the context's innermost budget. What is charged stays with those who hold it, and is not limited
 * any more. */
void spx_budget_close(spmvx_context *);

/* What follows until spx_budget_resume is charged to no budget: the result of an operation of which only the
 * scratch is limited. NULL where no budget is open. */
spx_budget *spx_budget_suspend(spmvx_context *);
void spx_budget_resume(spmvx_context *, spx_budget *);

/* Bytes that are charged now, and that were charged at most; 0 without a budget. */
size_t spx_budget_used(const spmvx_context *);
size_t spx_budget_peak(const spmvx_context *);
/* How often the innermost budget has refused bytes. */
long spx_budget_refusals(const spmvx_context *);
/* Bytes that are left; SIZE_MAX without a limit. */
size_t spx_budget_left(const spmvx_context *);

/* For memory that does not come from the context's allocator: false when the limit does not hold it. */
bool spx_budget_charge(const spmvx_context *, size_t bytes);
void spx_budget_discharge(const spmvx_context *, size_t bytes);

/* ---- for those that allocate: core/alloc.c and the backends ---- */

/* The context's innermost budget, charged with the bytes, as a reference that spx_budget_release ends. *out
 * may be NULL, without a budget. False when a limit does not hold the bytes. */
bool spx_budget_take(const spmvx_context *, size_t bytes, spx_budget **out);
void spx_budget_release(spx_budget *, size_t bytes);
#endif
