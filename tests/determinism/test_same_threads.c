/* A kernel's result has the same bits for any number of threads, and wherever arrays and vectors begin. Every
 * kernel by name, f32 and f64, op N and op T, one and several columns, on matrices large enough for threads.
 * (test_walk.c has more matrices, of one type.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chosen.h"
#include "shapes.h"

enum { KERNELS = 64, COLUMNS = 8, MOST_BYTES = 48 << 20 };
enum { POOL = 4, CONTEXTS }; /* the last multiplies by a pool of threads */

static chosen_kernel kernels[KERNELS];
static int count;

typedef struct thing {
    const shape *s;
    const char *kernel;
    spmvx_type type;
} thing;

/* NULL where the format would be too large: DIA and ELL of a matrix that is not for them. */
static spmvx_matrix *convert(spmvx_context *ctx, const thing *t, const spmvx_matrix *from, int64_t nvec)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *m = NULL;
    o.kernel = t->kernel;
    o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
    o.nvec = nvec;
    o.max_bytes = MOST_BYTES;
    const spmvx_status s = spmvx_matrix_convert(ctx, from, &o, &m);
    if (s == SPMVX_ERR_LIMIT) return NULL;
    assert_ok(ctx, s);
    return m;
}

/* The product by op, whose bits the first call of a case leaves in *first. */
static void check_product(spmvx_context *ctx, const thing *t, const spmvx_matrix *m, spmvx_op op,
                          int64_t nvec, int64_t shift, void **first)
{
    const int64_t rows = op == SPMVX_N ? t->s->nrows : t->s->ncols,
                  cols = op == SPMVX_N ? t->s->ncols : t->s->nrows;
    const size_t bytes = (size_t)(rows * nvec) * (t->type == SPMVX_F64 ? 8 : 4);
    void *x_block, *y_block;
    const void *X = shape_vector(t->type, cols * nvec, 1, shift, &x_block);
    void *Y = shape_vector(t->type, rows * nvec, 2, shift, &y_block);
    assert_ok(ctx, spmvx_mul_multi(ctx, op, 1.25, m, nvec, X, cols, -0.75, Y, rows));
    if (!*first) {
        *first = malloc(bytes);
        assert_non_null(*first);
        memcpy(*first, Y, bytes);
    }
    if (memcmp(*first, Y, bytes)) {
        spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
        assert_ok(ctx, spmvx_context_get_info(ctx, &i));
        fail_msg("%s on %s, f%d, op %c, %d columns: other bits with %d threads, shift %d", t->kernel,
                 t->s->name, t->type == SPMVX_F64 ? 64 : 32, "NT"[op], (int)nvec, (int)i.threads, (int)shift);
    }
    free(x_block);
    free(y_block);
}

/* Converted for nvec columns by two threads, then multiplied by 1, 2, 3 and 7, and by a pool of 3. Which
 * kernel serves several columns is the model's choice, which depends on the threads of the conversion
 * alone. */
static void check_multiplying(spmvx_context *ctx[CONTEXTS], const thing *t, const spmvx_matrix *from,
                              int64_t nvec)
{
    spmvx_matrix *m = convert(ctx[1], t, from, nvec);
    for (int op = 0; m && op < 2; op++) {
        void *first = NULL;
        for (int c = 0; c < CONTEXTS; c++) check_product(ctx[c], t, m, (spmvx_op)op, nvec, 0, &first);
        check_product(ctx[1], t, m, (spmvx_op)op, nvec, 1, &first);
        check_product(ctx[2], t, m, (spmvx_op)op, nvec, 3, &first);
        free(first);
    }
    spmvx_matrix_destroy(m);
}

/* Converted and multiplied by as many, from arrays of the caller at several places. */
static void check_building(spmvx_context *ctx[CONTEXTS], const thing *t)
{
    void *first[2] = { NULL, NULL };
    for (int c = 0; c < POOL; c++) {
        shape_arrays a = shape_arrays_make(t->s, t->type, c);
        spmvx_matrix *given = NULL;
        assert_ok(ctx[c], spmvx_matrix_create(ctx[c], &a.arrays, SPMVX_BORROW, &given));
        spmvx_matrix *m = convert(ctx[c], t, given, 1);
        for (int op = 0; m && op < 2; op++) check_product(ctx[c], t, m, (spmvx_op)op, 1, 0, &first[op]);
        spmvx_matrix_destroy(m);
        spmvx_matrix_destroy(given);
        shape_arrays_free(&a);
    }
    free(first[0]);
    free(first[1]);
}

static spmvx_context *pool_context(int32_t threads)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.place = test_place();
    o.threads = threads;
    o.flags = SPMVX_CONTEXT_POOL;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    return ctx;
}

static void same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    static const spmvx_type types[] = { SPMVX_F64, SPMVX_F32 };
    static const int32_t threads[CONTEXTS] = { 1, 2, 3, 7, 3 };
    spmvx_context *ctx[CONTEXTS];
    bool started = true;
    for (int c = 0; c < CONTEXTS; c++) {
        spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
        ctx[c] = c < POOL ? test_context(NULL, threads[c]) : pool_context(threads[c]);
        assert_ok(ctx[c], spmvx_context_get_info(ctx[c], &i));
        started &= i.threads == threads[c]; /* not without OpenMP, nor where no more can be started */
    }
    shape s;
    for (int i = 0; started && (s = shape_make(i)).name; i++) {
        for (int k = 0; k < count; k++)
            for (int y = 0; y < 2; y++) {
                const thing t = { &s, kernels[k].name, types[y] };
                shape_arrays a = shape_arrays_make(&s, t.type, 0);
                spmvx_matrix *from = NULL;
                assert_ok(ctx[0], spmvx_matrix_create(ctx[0], &a.arrays, 0, &from));
                check_multiplying(ctx, &t, from, COLUMNS);
                spmvx_matrix_destroy(from);
                shape_arrays_free(&a);
                check_building(ctx, &t);
            }
        shape_free(&s);
    }
    for (int c = 0; c < CONTEXTS; c++) spmvx_context_destroy(ctx[c]);
    if (!started) skip();
}

/* As the header and docs/determinism.md say of this version. */
static void no_host_kernel_has_atomics(void **state)
{
    (void)state;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.place == SPMVX_HOST && !(k.flags & SPMVX_KERNEL_DETERMINISTIC))
            fail_msg("%s lacks the flag", k.name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(same_bits_for_any_number_of_threads),
                                        cmocka_unit_test(no_host_kernel_has_atomics) };
    count = choose_kernels(NULL, kernels, KERNELS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
