/* Products of sparse matrices that the tool has no command for, of files and to files, for test_scipy.py:
 *     products plan A B A2 B2 C C2    C = A*B by a plan, and C2 = A2*B2 by a refill of another C of that plan
 *     products triple R A P C         C = R*A*P */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <spmvx/spmvx.h>

enum { MOST = 4 };

static spmvx_context *ctx;
static spmvx_matrix *given[MOST];

static bool ok(spmvx_status s)
{
    if (s != SPMVX_OK) fprintf(stderr, "products: %s: %s\n", spmvx_status_string(s), spmvx_last_error(ctx));
    return s == SPMVX_OK;
}

static bool read_all(char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (!ok(spmvx_matrix_read(ctx, names[i], NULL, &given[i]))) return false;
    return true;
}

static bool write_one(const spmvx_matrix *C, const char *name)
{
    return ok(spmvx_matrix_write(ctx, C, name, NULL));
}

static bool by_plan(char **names)
{
    spmspm_plan *plan = NULL;
    spmvx_matrix *first = NULL, *second = NULL;
    const bool done = read_all(names, 4) && ok(spmspm_plan_create(ctx, given[0], given[1], NULL, &plan)) &&
                      ok(spmspm_plan_mul(ctx, plan, given[0], given[1], &first)) &&
                      ok(spmspm_plan_mul(ctx, plan, given[0], given[1], &second)) &&
                      ok(spmspm_plan_refill(ctx, plan, given[2], given[3], second)) &&
                      write_one(first, names[4]) && write_one(second, names[5]);
    spmvx_matrix_destroy(first);
    spmvx_matrix_destroy(second);
    spmspm_plan_destroy(plan);
    return done;
}

static bool by_triple(char **names)
{
    spmvx_matrix *C = NULL;
    const bool done = read_all(names, 3) && ok(spmspm_triple(ctx, given[0], given[1], given[2], NULL, &C)) &&
                      write_one(C, names[3]);
    spmvx_matrix_destroy(C);
    return done;
}

int main(int count, char **words)
{
    const bool plan = count == 8 && !strcmp(words[1], "plan"),
               triple = count == 6 && !strcmp(words[1], "triple");
    bool done = false;
    if (!plan && !triple) {
        fprintf(stderr, "products: plan A B A2 B2 C C2, or triple R A P C\n");
        return 2;
    }
    if (ok(spmvx_context_create(NULL, &ctx))) done = plan ? by_plan(words + 2) : by_triple(words + 2);
    for (int i = 0; i < MOST; i++) spmvx_matrix_destroy(given[i]);
    spmvx_context_destroy(ctx);
    return !done;
}
