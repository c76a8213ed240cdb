/* spmvx info: what a matrix looks like, and what AUTO would choose for it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool.h"

enum { BUCKETS = 33 };

typedef struct shape {
    int64_t shortest, longest, empty, histogram[BUCKETS];   /* bucket b: lengths of b bits */
    int64_t below, above;                                   /* bandwidth */
    bool sorted;
} shape;

static shape shape_of(const spmvx_arrays *a)
{
    shape s = { .shortest = INT64_MAX, .sorted = true };
    const int32_t *col = a->col;
    for (int64_t r = 0; r < a->nrows; r++) {
        const int64_t from = index_at(a->ptr, a->ptr_type, r), to = index_at(a->ptr, a->ptr_type, r + 1), n = to - from;
        int bits = 0;
        while (n >> bits && bits < BUCKETS - 1) bits++;
        s.histogram[bits]++;
        s.empty += n == 0;
        s.shortest = n < s.shortest ? n : s.shortest;
        s.longest = n > s.longest ? n : s.longest;
        for (int64_t k = from; k < to; k++) {
            const int64_t d = col[k] - r;
            s.above = d > s.above ? d : s.above;
            s.below = -d > s.below ? -d : s.below;
            s.sorted = s.sorted && (k == from || col[k - 1] < col[k]);
        }
    }
    if (!a->nrows) s.shortest = 0;
    return s;
}

static void print_shape(const spmvx_arrays *a, const shape *s)
{
    const double rows = a->nrows ? (double)a->nrows : 1.0, cols = a->ncols ? (double)a->ncols : 1.0;
    printf("  rows x columns    %" PRId64 " x %" PRId64 "\n", a->nrows, a->ncols);
    printf("  nonzeros          %" PRId64 " (%.3g of all places)\n", a->nnz, (double)a->nnz / rows / cols);
    printf("  row lengths       %" PRId64 " ... %" PRId64 ", mean %.2f, %" PRId64 " rows empty\n", s->shortest, s->longest, (double)a->nnz / rows, s->empty);
    printf("  bandwidth         %" PRId64 " below the diagonal, %" PRId64 " above\n", s->below, s->above);
    printf("  columns in a row  %s\n", s->sorted ? "sorted, none repeats" : "not sorted, or some repeat");
    printf("  row length histogram\n");
    for (int b = 0; b < BUCKETS; b++) {
        if (!s->histogram[b]) continue;
        const int64_t low = b ? INT64_C(1) << (b - 1) : 0, high = b ? (INT64_C(1) << b) - 1 : 0;
        const int bar = (int)(40.0 * (double)s->histogram[b] / rows + 0.5);
        printf("    %8" PRId64 " - %-8" PRId64 " %9" PRId64 "  %.*s\n", low, high, s->histogram[b], bar, "########################################");
    }
}

static int print_choice(spmvx_context *ctx, const spmvx_matrix *m)
{
    spmvx_matrix *best;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    if (spmvx_matrix_convert(ctx, m, NULL, &best) != SPMVX_OK || spmvx_matrix_get_info(best, &i) != SPMVX_OK) return fail(ctx, "conversion");
    printf("  AUTO takes        %s (%s), %.2f bytes a nonzero\n", i.kernel, format_text(i.format), (double)i.bytes_streamed / (double)(i.nnz ? i.nnz : 1));
    printf("  because           %s\n", i.reason);
    spmvx_matrix_destroy(best);
    return EXIT_SUCCESS;
}

static int show(spmvx_context *ctx, const char *path, spmvx_type type)
{
    spmvx_matrix *m = read_matrix(ctx, path, type), *csr = NULL;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    int result = EXIT_FAILURE;
    if (m && spmvx_matrix_arrays(m, &a) == SPMVX_OK && a.format == SPMVX_COO) {   /* more rows than row lengths are worth */
        printf("%s\n  rows x columns    %" PRId64 " x %" PRId64 "\n  nonzeros          %" PRId64 "\n", path, a.nrows, a.ncols, a.nnz);
        result = print_choice(ctx, m);
    } else if (m && as_csr(ctx, m, &csr, &a)) {
        const shape s = shape_of(&a);
        printf("%s\n", path);
        print_shape(&a, &s);
        result = print_choice(ctx, m);
    }
    spmvx_matrix_destroy(csr);
    spmvx_matrix_destroy(m);
    return result;
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *type = "f64";
    int count, result = EXIT_SUCCESS;
    int64_t threads = 0;
    const option options[] = {
        { "--type", 0, TEXT, &type, "T", "f64 (default) or f32" },
        { "--threads", 0, COUNT, &threads, "N", "threads to use (0: OpenMP's default)" }, { 0 } };
    const int status = parse(&command_info, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (!count) return usage_error(&command_info, "no file given");
    if (!type_named(type)) return usage_error(&command_info, "--type is '%s', not f64 or f32", type);
    spmvx_context *ctx = open_context(threads);
    if (!ctx) return EXIT_FAILURE;
    for (int i = 0; i < count; i++)
        if (show(ctx, files[i], type_named(type)) != EXIT_SUCCESS) result = EXIT_FAILURE;
    spmvx_context_destroy(ctx);
    return result;
}

const command command_info = { "info", "[options] FILE...", "Show a matrix's size, structure, and what AUTO would choose", NULL, run };
