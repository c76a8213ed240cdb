/* Whose a matrix's arrays are. */
#include "dispatch/ownership.h"

#include "dispatch/transfer.h"

/* Does the kernel multiply by a copy of the values, or by what was found of them, which does not see what
 * their owner changes? */
static bool copies_values(const spx_operator *op)
{
    const bool one = op->A.format == SPMVX_CSR && op->A.layout.values;
    return one || (op->choice.kernel && op->choice.kernel->refresh && op->part.order);
}

static bool all_values_borrowed(const spmvx_matrix *m)
{
    for (int op = 0; op < 2; op++) {
        const spx_array *val = m->op[op].A.slot[SPX_VAL];
        if (m->ops & 1u << op && (!(val && val->borrowed) || copies_values(&m->op[op]))) return false;
    }
    return true;
}

/* Replaces an array by a copy wherever the matrix holds it: the operators may share it. */
static spmvx_status own_array(const spmvx_context *ctx, spmvx_matrix *m, spx_array *a)
{
    spx_array *own;
    SPX_TRY(spx_array_copy(ctx, a, &own));
    spx_array_share(a); /* so that it lives until all places have been looked at */
    for (int op = 0; op < 2; op++)
        for (int i = 0; i < SPX_SLOTS; i++) {
            spx_array **slot = &m->op[op].A.slot[i];
            if (*slot != a) continue;
            spx_array_drop(*slot);
            *slot = spx_array_share(own);
        }
    spx_array_drop(a);
    spx_array_drop(own);
    return SPMVX_OK;
}

spmvx_status spx_matrix_settle_ownership(const spmvx_context *ctx, spmvx_matrix *m, bool private_values)
{
    m->borrowed = !private_values && all_values_borrowed(m);
    if (m->borrowed) return SPMVX_OK;
    for (int op = 0; op < 2; op++)
        for (int i = 0; i < SPX_SLOTS; i++) {
            spx_array *a = m->op[op].A.slot[i];
            if (!a) continue;
            const bool written = private_values && i == SPX_VAL && spx_array_shared(a);
            if (a->borrowed || written) SPX_TRY(own_array(ctx, m, a));
        }
    return SPMVX_OK;
}
