/* Inputs of a benchmark: files, directories of files, generated matrices by name, and suites of such
 * names. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"

static const struct {
    const char *name, *summary, *members;
} suites[] = {
    { "quick", "one of each class, a second or two each",
      "lap2d_300 lap3d_40 stencil27_32 fem3dof_12 delaunay_n14 kron_g14 circuit_100000 "
      "random_20000_20000_400000" },
    { "host", "the classes on which host kernels are compared, 24 to 217 MB as CSR",
      "circuit_1M delaunay_n18 fem3dof_40 kron_18 lap2d_1000 lap3d_128 rail_small random_200k" },
    { "gpu", "the classes on which kernels of a device are compared, 36 MB to 1.7 GB as CSR",
      "atmosmodd_like cant_like chem_like circuit_like delaunay_n20 dense_4000 fem3dof_80 hpcg_144 kron_20 "
      "lap2d_2000 lap3d_256 mc2depi_like "
      "mycielskian17 rail_like random_30k road_like sls_like spal_like web_like mawi_like" },
    { "small", "under 1 MB as CSR: what a launch costs",
      "lap2d_60 lap2d_100 mc2box_100 fem3dof_4 delaunay_n13 random_1000_1000_20000" },
};
enum { SUITES = sizeof suites / sizeof *suites };

void suite_words(char *out, size_t room)
{
    const char *names[SUITES];
    for (int i = 0; i < SUITES; i++) names[i] = suites[i].name;
    join_words(names, SUITES, "|DIR", out, room);
}

static void add_name(inputs *in, const char *name, size_t length)
{
    char **grown = realloc(in->names, ((size_t)in->count + 1) * sizeof *grown),
         *copy = checked_alloc(length + 1);
    if (!grown) {
        fprintf(stderr, "spmvx: no memory for a list of names\n");
        exit(EXIT_FAILURE);
    }
    memcpy(copy, name, length);
    in->names = grown;
    in->names[in->count++] = copy;
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

static int is_matrix_file(const struct dirent *e)
{
    static const char *const endings[] = { ".mtx",   ".mtx.gz", ".mtx.xz", ".mtx.zst", ".rb",
                                           ".rb.gz", ".rb.xz",  ".rb.zst", ".npz" };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(e->d_name, endings[i])) return 1;
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_directory(inputs *in, const char *path)
{
    struct dirent **entries;
    const int n = scandir(path, &entries, is_matrix_file, by_name);
    if (n <= 0) {
        fprintf(stderr, "spmvx: %s: %s\n", path,
                n < 0 ? strerror(errno) : "no matrix files in this directory");
        in->failed++;
    }
    for (int i = 0; i < n; i++) {
        char file[4096];
        const int length = snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        if (length > 0 && length < (int)sizeof file) add_name(in, file, (size_t)length);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

bool suite_is(const char *what)
{
    struct stat st;
    for (int i = 0; i < SUITES; i++)
        if (!strcmp(what, suites[i].name)) return true;
    return !stat(what, &st) && S_ISDIR(st.st_mode);
}

void inputs_add(inputs *in, const char *what)
{
    struct stat st;
    if (!stat(what, &st)) {
        if (S_ISDIR(st.st_mode)) add_directory(in, what);
        else add_name(in, what, strlen(what));
        return;
    }
    for (int i = 0; i < SUITES; i++) {
        if (strcmp(what, suites[i].name)) continue;
        for (const char *p = suites[i].members; *p;) {
            const size_t n = strcspn(p, " ");
            add_name(in, p, n);
            p += n + (p[n] == ' ');
        }
        return;
    }
    add_name(in, what, strlen(what));
}

void inputs_clear(inputs *in)
{
    for (int i = 0; i < in->count; i++) free(in->names[i]);
    free(in->names);
    *in = (inputs){ 0 };
}

/* ---- matrices ---- */

/* Gives back the end of an array that became shorter. */
static void *shorten(void *p, int64_t count, size_t each)
{
    void *less = realloc(p, count ? (size_t)count * each : 1);
    return less ? less : p;
}

/* In place, so that no second array is needed: element k of the narrow type ends before element k of the
 * wide one, so that what is overwritten has been read. */
static void *narrow_pointers(int64_t *wide, int64_t count)
{
    char *bytes = (char *)wide;
    for (int64_t k = 0; k < count; k++) {
        int64_t v;
        memcpy(&v, bytes + (size_t)k * sizeof v, sizeof v);
        const int32_t narrow = (int32_t)v;
        memcpy(bytes + (size_t)k * sizeof narrow, &narrow, sizeof narrow);
    }
    return shorten(wide, count, sizeof(int32_t));
}

static void *narrow_values(double *wide, int64_t count)
{
    char *bytes = (char *)wide;
    for (int64_t k = 0; k < count; k++) {
        double v;
        memcpy(&v, bytes + (size_t)k * sizeof v, sizeof v);
        const float narrow = (float)v;
        memcpy(bytes + (size_t)k * sizeof narrow, &narrow, sizeof narrow);
    }
    return shorten(wide, count, sizeof(float));
}

/* Takes what was generated: row pointers in 32 bits while the nonzeros allow it, as a user's would be; values
 * in the type wanted. */
static void take_arrays(generated *g, spmvx_type type, input *in)
{
    const bool narrow = g->nnz <= INT32_MAX;
    in->ptr = narrow ? narrow_pointers(g->ptr, g->nrows + 1) : g->ptr;
    in->col = g->col;
    in->val = type == SPMVX_F32 ? narrow_values(g->val, g->nnz) : g->val;
    in->csr.val_type = type;
    in->csr.ptr_type = narrow ? SPMVX_I32 : SPMVX_I64;
    in->csr.nrows = g->nrows;
    in->csr.ncols = g->ncols;
    in->csr.nnz = g->nnz;
    in->csr.ptr = in->ptr;
    in->csr.col = in->col;
    in->csr.val = in->val;
}

static bool make_arrays(spmvx_context *ctx, const char *name, spmvx_type type, input *in)
{
    char error[2048];
    generated g;
    spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context_get_info(ctx, &i);
    if (!generate(name, i.threads, &g, error, sizeof error)) {
        fprintf(stderr, "spmvx: %s: no such file, and as a matrix's name: %s\n", name, error);
        return false;
    }
    take_arrays(&g, type, in);
    return true;
}

static void free_arrays(input *in)
{
    void *const own[] = { in->ptr, in->col, in->val };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (in->there) spmvx_buffer_free(in->there, own[i]);
        else free(own[i]);
    in->ptr = in->col = in->val = NULL;
}

/* Hands generated arrays to the library, which copies them: the copy is aligned and was first touched by
 * the threads that will read it, which decides on machines of several memories what a multiplication takes,
 * and bytes_held counts it. The generator's own go. */
static bool adopt(spmvx_context *ctx, input *in)
{
    const bool ok = spmvx_matrix_create(ctx, &in->csr, 0, &in->A) == SPMVX_OK;
    free_arrays(in);
    in->csr = (spmvx_arrays)SPMVX_ARRAYS_INIT;
    if (!ok) fail(ctx, "generated matrix");
    return ok && spmvx_matrix_arrays(in->A, &in->csr) == SPMVX_OK;
}

static bool read_file(spmvx_context *ctx, const char *name, spmvx_type type, input *in)
{
    spmvx_matrix *m = read_matrix(ctx, name, type, NULL);
    const bool ok = m && as_csr(ctx, m, &in->A, &in->csr);
    spmvx_matrix_destroy(m);
    return ok;
}

bool input_is_file(const char *name)
{
    struct stat st;
    return !stat(name, &st) || strpbrk(name, "/.");
}

spmvx_matrix *input_matrix(spmvx_context *ctx, const char *name, spmvx_type type, spmvx_symmetry *symmetry)
{
    input in = { .csr = SPMVX_ARRAYS_INIT };
    if (input_is_file(name)) return read_matrix(ctx, name, type, symmetry);
    if (make_arrays(ctx, name, type, &in) && adopt(ctx, &in)) return in.A;
    input_release(&in);
    return NULL;
}

bool input_open(spmvx_context *ctx, const char *name, spmvx_type type, bool arrays_only, input *in)
{
    *in = (input){ .csr = SPMVX_ARRAYS_INIT };
    const bool ok = input_is_file(name) ? read_file(ctx, name, type, in)
                                        : make_arrays(ctx, name, type, in) && (arrays_only || adopt(ctx, in));
    if (!ok) input_release(in);
    return ok;
}

void input_release(input *in)
{
    spmvx_matrix_destroy(in->A);
    in->A = NULL;
    free_arrays(in);
    in->csr.ptr = in->csr.col = in->csr.val = NULL;
}

bool input_take(spmvx_context *ctx, generated *g, spmvx_type type, input *in)
{
    *in = (input){ .csr = SPMVX_ARRAYS_INIT };
    take_arrays(g, type, in);
    return adopt(ctx, in);
}

bool send_bytes(spmvx_context *ctx, const void *host, size_t bytes, void **there)
{
    return spmvx_buffer_alloc(ctx, bytes, there) == SPMVX_OK &&
           spmvx_buffer_upload(ctx, *there, host, bytes) == SPMVX_OK;
}

bool input_send(spmvx_context *ctx, input *in)
{
    const spmvx_arrays *a = &in->csr;
    input there = { .csr = *a, .there = ctx };
    const size_t nnz = (size_t)a->nnz, rows = (size_t)a->nrows + 1;
    bool ok = send_bytes(ctx, a->ptr, rows * (a->ptr_type == SPMVX_I64 ? 8 : 4), &there.ptr) &&
              send_bytes(ctx, a->col, nnz * 4, &there.col) &&
              send_bytes(ctx, a->val, nnz * type_bytes(a->val_type), &there.val);
    there.csr.size = sizeof there.csr;
    there.csr.ptr = there.ptr;
    there.csr.row = NULL;
    there.csr.col = there.col;
    there.csr.val = there.val;
    ok = ok && spmvx_matrix_create(ctx, &there.csr, SPMVX_BORROW | SPMVX_TRUST, &there.A) == SPMVX_OK;
    input_release(in);
    *in = there;
    return ok;
}

row_shape row_shape_of(const spmvx_arrays *a, int threads)
{
    double squares = 0;
    const int32_t *col = a->col;
    int64_t shortest = INT64_MAX, longest = 0;
    bool strict = true;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(guided) reduction(min : shortest)                     \
    reduction(max : longest) reduction(+ : squares) reduction(&& : strict)
#endif
    for (int64_t r = 0; r < a->nrows; r++) {
        const int64_t from = index_at(a->ptr, a->ptr_type, r), to = index_at(a->ptr, a->ptr_type, r + 1),
                      n = to - from;
        for (int64_t k = from + 1; k < to; k++) strict = strict && col[k - 1] < col[k];
        shortest = n < shortest ? n : shortest;
        longest = n > longest ? n : longest;
        squares += (double)n * (double)n;
    }
    const double rows = a->nrows ? (double)a->nrows : 1.0, mean = (double)a->nnz / rows;
    (void)threads;
    return (row_shape){ .shortest = a->nrows ? shortest : 0,
                        .longest = longest,
                        .mean = mean,
                        .deviation = sqrt(fmax(0.0, squares / rows - mean * mean)),
                        .strict = strict };
}
