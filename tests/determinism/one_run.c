/* One process of the test runs.sh: converts matrices of several shapes by AUTO, multiplies, and prints the
 * kernels and a hash of each result. What it prints must be the same in every process.
 *
 *     one_run                   effort 0, by the model alone
 *     one_run --learn FILE      effort 1, by timing; what it learned goes to FILE as wisdom
 *     one_run --wisdom FILE     effort 0, with that wisdom
 *     --effort N                another effort
 *     --shift N                 arrays and vectors begin N elements behind a boundary of 64 bytes */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shapes.h"

enum { COLUMNS = 8, TEXT = 1 << 20, TRIES = 200, SKIPPED = 77 };

typedef struct run {
    const char *learn, *wisdom;
    int32_t effort;
    int64_t shift;
    spmvx_context *ctx;
} run;

static void check(const run *r, spmvx_status s, const char *call)
{
    if (s == SPMVX_OK) return;
    fprintf(stderr, "one_run: %s: %s\n", call, spmvx_last_error(r->ctx));
    exit(1);
}

/* FNV-1a of 64 bits. */
static uint64_t hash_of(const void *p, size_t bytes)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < bytes; i++) h = (h ^ ((const unsigned char *)p)[i]) * UINT64_C(1099511628211);
    return h;
}

/* A choice that says it came from elsewhere would make the comparison worthless. COO is kept as it is. While
 * learning, op T of the stencil takes what op N has learned: it has the same features. */
static void check_reason(const run *r, const shape *s, const char *reason)
{
    const bool known = r->wisdom || (r->learn && !strcmp(s->name, "stencil") && strstr(reason, "op T"));
    const char *word = known ? "wisdom" : r->learn ? NULL : "by the model";
    if (!word || s->format == SPMVX_COO || strstr(reason, word)) return;
    fprintf(stderr, "one_run: %s: the reason is not '%s': %s\n", s->name, word, reason);
    exit(1);
}

/* The kernel of op T, which stands in the reason. */
static void print_transpose(const char *reason)
{
    static const char before[] = "; op T by ";
    const char *from = strstr(reason, before);
    if (!from) return;
    from += sizeof before - 1;
    printf(", op T by %.*s", (int)(strstr(from, ": ") - from), from);
}

static void multiply(const run *r, const shape *s, const spmvx_matrix *A, spmvx_type type, spmvx_op op,
                     int64_t nvec)
{
    const int64_t rows = op == SPMVX_N ? s->nrows : s->ncols, cols = op == SPMVX_N ? s->ncols : s->nrows;
    void *x_block, *y_block;
    const void *X = shape_vector(type, cols * nvec, 1, r->shift, &x_block);
    void *Y = shape_vector(type, rows * nvec, 2, r->shift, &y_block);
    check(r, spmvx_mul_multi(r->ctx, op, 1.25, A, nvec, X, cols, -0.75, Y, rows), "spmvx_mul_multi");
    const size_t each = type == SPMVX_F64 ? sizeof(double) : sizeof(float);
    printf("  %c %016" PRIx64, op == SPMVX_N ? 'N' : 'T', hash_of(Y, (size_t)(rows * nvec) * each));
    free(x_block);
    free(y_block);
}

static void one_case(const run *r, const shape *s, spmvx_type type, uint32_t ops, int64_t nvec)
{
    shape_arrays a = shape_arrays_make(s, type, r->shift);
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *given, *A;
    o.effort = r->effort;
    o.ops = ops;
    o.nvec = nvec;
    check(r, spmvx_matrix_create(r->ctx, &a.arrays, SPMVX_BORROW, &given), "spmvx_matrix_create");
    check(r, spmvx_matrix_convert(r->ctx, given, &o, &A), "spmvx_matrix_convert");
    check(r, spmvx_matrix_get_info(A, &info), "spmvx_matrix_get_info");
    /* Other processes that are busy leave the choice to the model, and nothing is learned. */
    for (int tries = 0; r->learn && strstr(info.reason, "by the model"); tries++) {
        if (tries == TRIES) {
            fprintf(stderr, "one_run: %s: the processors are too busy to time\n", s->name);
            exit(SKIPPED);
        }
        spmvx_matrix_destroy(A);
        check(r, spmvx_matrix_convert(r->ctx, given, &o, &A), "spmvx_matrix_convert");
        check(r, spmvx_matrix_get_info(A, &info), "spmvx_matrix_get_info");
    }
    check_reason(r, s, info.reason);
    printf("%s, f%d, %d columns: %s", s->name, type == SPMVX_F64 ? 64 : 32, (int)nvec, info.kernel);
    print_transpose(info.reason);
    multiply(r, s, A, type, SPMVX_N, nvec);
    if (ops & SPMVX_OPS_T) multiply(r, s, A, type, SPMVX_T, nvec);
    printf("\n");
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(given);
    shape_arrays_free(&a);
}

/* With op T first, so that both operators have to choose; later conversions find what these learned. */
static void all_cases(const run *r)
{
    static const spmvx_type types[] = { SPMVX_F64, SPMVX_F32 };
    static const uint32_t ops[] = { SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_OPS_N };
    shape s;
    for (int i = 0; (s = shape_make(i)).name; i++) {
        for (int t = 0; t < 2; t++)
            for (int o = 0; o < 2; o++) {
                one_case(r, &s, types[t], ops[o], 1);
                one_case(r, &s, types[t], ops[o], COLUMNS);
            }
        shape_free(&s);
    }
}

static void import_wisdom(const run *r)
{
    static char text[TEXT];
    FILE *f = fopen(r->wisdom, "r");
    const size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (!n || n == sizeof text) {
        fprintf(stderr, "one_run: cannot read %s\n", r->wisdom);
        exit(1);
    }
    fclose(f);
    check(r, spmvx_wisdom_import(r->ctx, text, n), "spmvx_wisdom_import");
}

static void export_wisdom(const run *r)
{
    static char text[TEXT];
    size_t n = sizeof text;
    check(r, spmvx_wisdom_export(r->ctx, text, &n), "spmvx_wisdom_export");
    FILE *f = fopen(r->learn, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) {
        fprintf(stderr, "one_run: cannot write %s\n", r->learn);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    run r = { .effort = 0 };
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(name, "--learn")) r.learn = value, r.effort = 1;
        else if (!strcmp(name, "--wisdom")) r.wisdom = value;
        else if (!strcmp(name, "--effort")) r.effort = (int32_t)strtol(value, NULL, 10);
        else if (!strcmp(name, "--shift")) r.shift = strtol(value, NULL, 10);
        else {
            fprintf(stderr, "one_run: unknown: %s\n", name);
            return 2;
        }
    }
    check(&r, spmvx_context_create(NULL, &r.ctx), "spmvx_context_create");
    if (r.wisdom) import_wisdom(&r);
    all_cases(&r);
    if (r.learn) export_wisdom(&r);
    spmvx_context_destroy(r.ctx);
    return 0;
}
