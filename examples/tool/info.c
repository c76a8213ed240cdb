/* spmvx info: what a matrix looks like, what each format would make of it, and what AUTO would choose. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

enum { BUCKETS = 33 };

typedef struct shape {
    int64_t shortest, longest, empty, histogram[BUCKETS]; /* bucket b: lengths of b bits */
    int64_t below, above;                                 /* bandwidth */
    int64_t zeros, diagonal, diagonal_zeros; /* entries that are 0; rows with one on the diagonal */
    bool sorted;
} shape;

static double value_of(const spmvx_arrays *a, int64_t k)
{
    return vector_get(a->val, a->val_type, k);
}

static shape shape_of(const spmvx_arrays *a)
{
    shape s = { .shortest = INT64_MAX, .sorted = true };
    const int32_t *col = a->col;
    for (int64_t r = 0; r < a->nrows; r++) {
        const int64_t from = index_at(a->ptr, a->ptr_type, r), to = index_at(a->ptr, a->ptr_type, r + 1),
                      n = to - from;
        int bits = 0;
        while (n >> bits && bits < BUCKETS - 1) bits++;
        s.histogram[bits]++;
        s.empty += n == 0;
        s.shortest = n < s.shortest ? n : s.shortest;
        s.longest = n > s.longest ? n : s.longest;
        bool on_diagonal = false, zero_there = true;
        for (int64_t k = from; k < to; k++) {
            const int64_t d = col[k] - r;
            const bool zero = value_of(a, k) == 0;
            s.zeros += zero;
            on_diagonal |= !d;
            zero_there &= d || zero;
            s.above = d > s.above ? d : s.above;
            s.below = -d > s.below ? -d : s.below;
            s.sorted = s.sorted && (k == from || col[k - 1] < col[k]);
        }
        s.diagonal += on_diagonal;
        s.diagonal_zeros += on_diagonal && zero_there;
    }
    if (!a->nrows) s.shortest = 0;
    return s;
}

static void print_shape(const spmvx_arrays *a, const shape *s)
{
    const double rows = a->nrows ? (double)a->nrows : 1.0, cols = a->ncols ? (double)a->ncols : 1.0;
    const int64_t places = a->nrows < a->ncols ? a->nrows : a->ncols;
    printf("  rows x columns    %" PRId64 " x %" PRId64 "\n", a->nrows, a->ncols);
    printf("  nonzeros          %" PRId64 " (%.3g of all places)\n", a->nnz, (double)a->nnz / rows / cols);
    printf("  explicit zeros    %" PRId64 "\n", s->zeros);
    printf("  row lengths       %" PRId64 " ... %" PRId64 ", mean %.2f, %" PRId64 " rows empty\n",
           s->shortest, s->longest, (double)a->nnz / rows, s->empty);
    printf("  bandwidth         %" PRId64 " below the diagonal, %" PRId64 " above\n", s->below, s->above);
    printf("  diagonal          %" PRId64 " of %" PRId64 " places have an entry", s->diagonal, places);
    printf(s->diagonal_zeros ? ", %" PRId64 " of them 0\n" : "\n", s->diagonal_zeros);
    printf("  columns in a row  %s\n", s->sorted ? "sorted, none repeats" : "not sorted, or some repeat");
    printf("  row length histogram\n");
    for (int b = 0; b < BUCKETS; b++) {
        if (!s->histogram[b]) continue;
        const int64_t low = b ? INT64_C(1) << (b - 1) : 0, high = b ? (INT64_C(1) << b) - 1 : 0;
        const int bar = (int)(40.0 * (double)s->histogram[b] / rows + 0.5);
        printf("    %8" PRId64 " - %-8" PRId64 " %9" PRId64 "  %.*s\n", low, high, s->histogram[b], bar,
               "########################################");
    }
}

/* ---- symmetry: rows of the transpose beside rows of its transpose, both of which are sorted ---- */

typedef struct symmetry {
    /* entries whose mirror image is there; has the same value, the opposite one */
    int64_t mirrored, equal, opposite;
} symmetry;

static symmetry compare_rows(const spmvx_arrays *a, const spmvx_arrays *t)
{
    symmetry s = { 0 };
    const int32_t *ca = a->col, *ct = t->col;
    for (int64_t r = 0; r < a->nrows; r++) {
        const int64_t end = index_at(a->ptr, a->ptr_type, r + 1),
                      end_t = index_at(t->ptr, t->ptr_type, r + 1);
        int64_t j = index_at(t->ptr, t->ptr_type, r);
        for (int64_t k = index_at(a->ptr, a->ptr_type, r); k < end; k++) {
            while (j < end_t && ct[j] < ca[k]) j++;
            if (j == end_t || ct[j] != ca[k]) continue;
            s.mirrored++;
            s.equal += value_of(a, k) == value_of(t, j);
            s.opposite += value_of(a, k) == -value_of(t, j);
            j++;
        }
    }
    return s;
}

static void print_symmetry(spmvx_context *ctx, const spmvx_matrix *m)
{
    spmvx_matrix *t = NULL, *tt = NULL;
    spmvx_arrays a = SPMVX_ARRAYS_INIT, b = SPMVX_ARRAYS_INIT;
    if (spmvx_matrix_transpose(ctx, m, &t) == SPMVX_OK && spmvx_matrix_transpose(ctx, t, &tt) == SPMVX_OK &&
        spmvx_matrix_arrays(tt, &a) == SPMVX_OK && spmvx_matrix_arrays(t, &b) == SPMVX_OK &&
        a.format == SPMVX_CSR && b.format == SPMVX_CSR) {
        const symmetry s = compare_rows(&a, &b);
        const double all = a.nnz ? (double)a.nnz : 1.0;
        if (s.equal == a.nnz) printf("  symmetry          symmetric\n");
        else if (s.opposite == a.nnz) printf("  symmetry          skew-symmetric\n");
        else if (s.mirrored == a.nnz)
            printf("  symmetry          pattern symmetric; %.1f%% of the values are\n",
                   100.0 * (double)s.equal / all);
        else
            printf("  symmetry          none; %.1f%% of the nonzeros have a mirror image\n",
                   100.0 * (double)s.mirrored / all);
    } else fail(ctx, "transposition");
    spmvx_matrix_destroy(t);
    spmvx_matrix_destroy(tt);
}

/* What a file's header says, which need not be what its entries are: a symmetric matrix may come general. */
static void print_told(const char *path, spmvx_symmetry told)
{
    static const char *const holds[] = { "all entries (general)", "one triangle (symmetric)",
                                         "one triangle (skew-symmetric)" };
    if (input_is_file(path)) printf("  the file holds    %s\n", holds[told]);
}

/* ---- diagonals and blocks ---- */

static void print_diagonals(const spmvx_arrays *a)
{
    const int64_t most = a->nrows + a->ncols;
    unsigned char *seen = checked_alloc((size_t)most + 1);
    const int32_t *col = a->col;
    int64_t diagonals = 0, places = 0;
    for (int64_t r = 0; r < a->nrows; r++) {
        const int64_t to = index_at(a->ptr, a->ptr_type, r + 1);
        for (int64_t k = index_at(a->ptr, a->ptr_type, r); k < to; k++) seen[col[k] - r + a->nrows] = 1;
    }
    for (int64_t d = 0; d < most; d++) {
        if (!seen[d]) continue;
        const int64_t offset = d - a->nrows, first = offset < 0 ? -offset : 0,
                      last = a->ncols - offset < a->nrows ? a->ncols - offset : a->nrows;
        diagonals++;
        places += last - first;
    }
    free(seen);
    printf("  diagonals         %" PRId64 " with nonzeros", diagonals);
    if (places) printf(", %.1f%% full", 100.0 * (double)a->nnz / (double)places);
    printf("\n");
}

static int64_t count_blocks(const spmvx_arrays *a, int64_t size, int64_t *last_seen)
{
    const int32_t *col = a->col;
    int64_t blocks = 0;
    memset(last_seen, 0, (size_t)(a->ncols / size + 1) * sizeof *last_seen);
    for (int64_t r = 0; r < a->nrows; r++) {
        const int64_t to = index_at(a->ptr, a->ptr_type, r + 1), stamp = r / size + 1;
        for (int64_t k = index_at(a->ptr, a->ptr_type, r); k < to; k++) {
            blocks += last_seen[col[k] / size] != stamp;
            last_seen[col[k] / size] = stamp;
        }
    }
    return blocks;
}

/* The square block whose columns and values take the fewest bytes; larger ones win ties. */
static void print_best_block(const spmvx_arrays *a)
{
    const double each = (double)type_bytes(a->val_type);
    int64_t *last_seen = checked_alloc(((size_t)a->ncols + 1) * sizeof *last_seen), best = 1,
            best_blocks = a->nnz;
    double least = (double)a->nnz * (4.0 + each);
    for (int64_t size = 2; size <= 8; size++) {
        const int64_t blocks = count_blocks(a, size, last_seen);
        const double bytes = (double)blocks * (4.0 + each * (double)(size * size));
        if (bytes > least) continue;
        least = bytes;
        best = size;
        best_blocks = blocks;
    }
    free(last_seen);
    if (!a->nnz) printf("  best block        none: there are no nonzeros\n");
    else if (best == 1)
        printf(
            "  best block        none: no square block of 2 to 8 takes fewer bytes than single nonzeros\n");
    else
        printf("  best block        %" PRId64 " x %" PRId64 ": %" PRId64 " blocks, %.1f%% full\n", best, best,
               best_blocks, 100.0 * (double)a->nnz / (double)(best_blocks * best * best));
}

/* ---- formats and choice ---- */

static void print_bytes(size_t n)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    double v = (double)n;
    int u = 0;
    for (; v >= 999.5 && u < 4; u++) v /= 1000.0;
    const int digits = (v < 9.995) + (v < 99.95); /* behind the point */
    printf(" %8.*f %-2s", u ? digits : 0, v, units[u]);
}

/* By converting: what is printed is what a program would get. */
static void print_formats(spmvx_context *ctx, const spmvx_matrix *m)
{
    static const spmvx_format formats[] = { SPMVX_COO,  SPMVX_CSR,   SPMVX_CSC,   SPMVX_ELL,
                                            SPMVX_SELL, SPMVX_CSR5,  SPMVX_HYB,   SPMVX_DIA,
                                            SPMVX_BSR,  SPMVX_TILED, SPMVX_PACKED };
    printf("  format   slots a nonzero        holds     streams\n");
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        spmvx_matrix *c;
        spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
        o.format = formats[f];
        if (spmvx_matrix_convert(ctx, m, &o, &c) != SPMVX_OK) {
            const char *name = format_text(formats[f]), *why = spmvx_last_error(ctx);
            const size_t n = strlen(name);
            printf("    %-8s -- %s\n", name, strncmp(why, name, n) ? why : why + n + 1); /* named once */
            continue;
        }
        spmvx_matrix_get_info(c, &i);
        printf("    %-8s ", format_text(formats[f]));
        if (i.nnz) printf("%12.2f", (double)i.stored / (double)i.nnz);
        else printf("%12s", "-");
        print_bytes(i.bytes_held);
        print_bytes(i.bytes_streamed);
        printf("\n");
        spmvx_matrix_destroy(c);
    }
}

/* Whether the context's wisdom has a line about the machine. */
static bool is_tuned(const spmvx_context *ctx)
{
    size_t length = 0;
    if (spmvx_wisdom_export(ctx, NULL, &length) != SPMVX_OK) return false;
    char *text = checked_alloc(length);
    const bool tuned = spmvx_wisdom_export(ctx, text, &length) == SPMVX_OK &&
                       (strstr(text, "\nmachine ") || strstr(text, "\ndevice "));
    free(text);
    return tuned;
}

/* What the model expects of the matrix in other orders, against what it expects of it as it is. */
static void print_orders(spmvx_context *host, spmvx_context *ctx, const spmvx_matrix *m, double expected_s)
{
    static const char *const names[] = { "rcm", "degree", "cluster" };
    /* below, it is within the model's error, or nobody would notice */
    const double worth = 1.1, least_s = 10e-6;
    double best = worth;
    const char *pays = NULL;
    printf("  in other orders  ");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        spmvx_reorder_options o = SPMVX_REORDER_OPTIONS_INIT;
        spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
        spmvx_matrix *other = NULL, *chosen = NULL;
        o.method = reordering_named(names[k]);
        if (spmvx_matrix_reorder(host, m, &o, NULL, NULL, &other) == SPMVX_OK &&
            spmvx_matrix_convert(ctx, other, NULL, &chosen) == SPMVX_OK &&
            spmvx_matrix_get_info(chosen, &i) == SPMVX_OK && i.expected_s > 0.0) {
            const double gain = expected_s / i.expected_s;
            printf("%s %s %.2f times as fast", k ? "," : "", names[k], gain);
            if (gain >= best && expected_s > least_s) best = gain, pays = names[k];
        } else printf("%s %s --", k ? "," : "", names[k]);
        spmvx_matrix_destroy(chosen);
        spmvx_matrix_destroy(other);
    }
    if (pays) printf(": %s would pay ('spmvx convert --reorder %s')\n", pays, pays);
    else printf(": none would pay\n");
}

/* *expected_s: of a multiplication; 0 where that is not known. */
static int print_choice(spmvx_context *ctx, const spmvx_matrix *m, double *expected_s)
{
    spmvx_matrix *best;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    if (spmvx_matrix_convert(ctx, m, NULL, &best) != SPMVX_OK || spmvx_matrix_get_info(best, &i) != SPMVX_OK)
        return fail(ctx, "conversion");
    *expected_s = i.expected_s;
    printf("  AUTO takes        %s (%s)", i.kernel, format_text(i.format));
    if (i.nnz) printf(", %.2f bytes a nonzero", (double)i.bytes_streamed / (double)i.nnz);
    printf("\n  because           %s\n", i.reason);
    printf("  predicted times   %s\n",
           is_tuned(ctx)
               ? "are a guess, mostly within a factor of 1.5, and of 2 where this was tried ('spmvx "
                 "bench' measures)"
               : "are a guess, of processors like this one at best ('spmvx tune' measures this one, for "
                 "--wisdom)");
    spmvx_matrix_destroy(best);
    return EXIT_SUCCESS;
}

/* The matrix is read and looked at on the host; formats and choice are those of the context's place. */
static int show(spmvx_context *host, spmvx_context *ctx, const char *path, spmvx_type type)
{
    spmvx_symmetry told = SPMVX_GENERAL;
    spmvx_matrix *m = input_matrix(host, path, type, &told), *csr = NULL;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    double expected_s = 0;
    int result = EXIT_FAILURE;
    /* more rows than row lengths are worth */
    if (m && spmvx_matrix_arrays(m, &a) == SPMVX_OK && a.format == SPMVX_COO) {
        printf("%s\n  rows x columns    %" PRId64 " x %" PRId64 "\n  nonzeros          %" PRId64 "\n", path,
               a.nrows, a.ncols, a.nnz);
        print_told(path, told);
        result = print_choice(ctx, m, &expected_s);
    } else if (m && as_csr(host, m, &csr, &a)) {
        const shape s = shape_of(&a);
        printf("%s\n", path);
        print_shape(&a, &s);
        print_told(path, told);
        if (a.nrows == a.ncols) print_symmetry(host, m);
        print_diagonals(&a);
        print_best_block(&a);
        print_formats(ctx, m);
        result = print_choice(ctx, m, &expected_s);
        /* where most rows and columns are empty, no order matters, and finding one takes long */
        if (expected_s > 0.0 && (a.nrows + a.ncols) / 8 <= a.nnz) print_orders(host, ctx, m, expected_s);
    }
    spmvx_matrix_destroy(csr);
    spmvx_matrix_destroy(m);
    return result;
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *type = "f64", *wisdom = NULL, *place = "any";
    int count, result = EXIT_SUCCESS;
    int64_t threads = 0, device = 0;
    const option options[] = {
        { "--type", 0, TEXT, &type, VALUE_TYPES, "f64 (default) or f32" },
        { "--wisdom", 0, TEXT, &wisdom, "FILE", "what 'spmvx tune' found, for AUTO" },
        { "--place", 0, TEXT, &place, PLACES, "host, cuda or any (default): whose formats and choice" },
        { "--device", 0, COUNT, &device, "N", "number of the GPU (default 0)" },
        { "--threads", 0, THREADS, &threads, "N", "threads to use (0: OpenMP's default)" },
        { 0 }
    };
    const int status = parse(&command_info, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (!count) return usage_error(&command_info, "no file or name given");
    spmvx_context *host = open_context(threads), *ctx = host ? open_context_at(place, device, threads) : NULL;
    const bool ready = ctx && import_wisdom(ctx, wisdom);
    if (!ready) result = EXIT_FAILURE;
    for (int i = 0; i < count && ready; i++)
        if (show(host, ctx, files[i], type_named(type)) != EXIT_SUCCESS) result = EXIT_FAILURE;
    spmvx_context_destroy(ctx);
    spmvx_context_destroy(host);
    return result;
}

const command command_info = {
    "info", "[options] FILE|NAME...", "Show a matrix's size, structure, and what AUTO would choose",
    "A NAME that is no file is a generated matrix ('spmvx generate --list'). What cannot be "
    "read is told, and the\n"
    "others are shown; the exit status is 1 then. Nonzeros are entries, those "
    "that are 0 included.",
    run
};
