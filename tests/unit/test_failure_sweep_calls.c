/* Calls that may allocate, but for conversions and files, with each allocation failing in turn; and
 * multiplication, which allocates nothing where the matrix was made. */
#include "failure_sweep.h"

#include <string.h>

/* ---- what is swept ---- */

static spmvx_status make_context(world *w, const sweep *s)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    (void)s;
    o.alloc = counter_alloc;
    o.release = counter_release;
    o.user = &w->count;
    return spmvx_context_create(&o, &w->made);
}

static spmvx_status make_buffer(world *w, const sweep *s)
{
    (void)s;
    return spmvx_buffer_alloc(w->ctx, 100, &w->buffer);
}

static spmvx_status create(world *w, const sweep *s)
{
    const spmvx_arrays a = arrays_of(s->format, s->index);
    return spmvx_matrix_create(w->ctx, &a, s->flags, &w->out);
}

static spmvx_status transpose(world *w, const sweep *s)
{
    return spmvx_matrix_transpose(w->ctx, s->source < 0 ? w->A : w->source[s->source], &w->out);
}

static spmvx_status prepare(world *w, const sweep *s)
{
    (void)s;
    return spmvx_mul_prepare(w->other, w->A, SPMVX_T, 2);
}

static spmvx_status mul(world *w, const sweep *s)
{
    (void)s;
    return spmvx_mul(w->other, SPMVX_N, 1.0, w->A, x, 0.0, w->y);
}

static spmvx_status mul_multi(world *w, const sweep *s)
{
    double X[2 * ROWS];
    (void)s;
    memcpy(X, x, sizeof x);
    memcpy(X + ROWS, x, sizeof x);
    return spmvx_mul_multi(w->other, SPMVX_N, 1.0, w->A, 2, X, ROWS, 0.0, w->y, ROWS);
}

static spmvx_status update(world *w, const sweep *s)
{
    (void)s;
    return spmvx_matrix_update_values(w->ctx, w->A, csr_val);
}

static spmvx_status export(world *w, const sweep *s)
{
    (void)s;
    return spmvx_wisdom_export(w->ctx, w->text, &w->len);
}

static spmvx_status import(world *w, const sweep *s)
{
    (void)s;
    static const char lines[] =
        "spmvx-wisdom 1\nfirst -> coo-scalar\nsecond -> sell slice=8 sigma=1\nthird -> csr-scalar\n";
    return spmvx_wisdom_import(w->ctx, lines, sizeof lines);
}

static void test_small_calls(void **state)
{
    static const sweep list[] = {
        { .name = "context_create", .call = make_context },
        { .name = "buffer_alloc", .call = make_buffer },
        { .name = "mul_prepare", .call = prepare },
        { .name = "mul in another context", .call = mul },
        { .name = "mul_multi in another context", .call = mul_multi },
        { .name = "update_values", .call = update },
        { .name = "wisdom_export", .call = export },
        { .name = "wisdom_import", .call = import },
    };
    (void)state;
    RUN(list);
}

static void test_create(void **state)
{
    static const spmvx_format formats[] = { SPMVX_COO, SPMVX_CSR, SPMVX_SELL };
    (void)state;
    for (int i = 0; i < 3; i++) {
        const sweep list[] = {
            { .name = "create copied I32", .call = create, .format = formats[i], .index = SPMVX_I32 },
            { .name = "create copied I64", .call = create, .format = formats[i], .index = SPMVX_I64 },
            { .name = "create borrowed",
              .call = create,
              .format = formats[i],
              .index = SPMVX_I32,
              .flags = SPMVX_BORROW },
            { .name = "create trusted",
              .call = create,
              .format = formats[i],
              .index = SPMVX_I32,
              .flags = SPMVX_BORROW | SPMVX_TRUST },
        };
        RUN(list);
    }
}

static void test_transpose(void **state)
{
    static const sweep list[] = {
        { .name = "transpose of CSR", .call = transpose, .source = CSR },
        { .name = "transpose of COO", .call = transpose, .source = COO },
        { .name = "transpose of COO, not sorted", .call = transpose, .source = MIXED },
        { .name = "transpose of SELL", .call = transpose, .source = SELL },
        { .name = "transpose of updatable", .call = transpose, .source = -1 },
    };
    (void)state;
    RUN(list);
}

/* ---- multiplication allocates nothing where the matrix was made ---- */

static void no_allocation(world *w, const spmvx_matrix *m, bool both)
{
    double y[2 * ROWS], X[2 * ROWS] = { 0 };
    if (both) assert_ok(w->ctx, spmvx_mul_prepare(w->ctx, m, SPMVX_T, 2));
    const long before = w->count.allocations;
    w->count.fail_at = before + 1;
    for (int op = SPMVX_N; op <= (both ? SPMVX_T : SPMVX_N); op++) {
        assert_ok(w->ctx, spmvx_mul(w->ctx, (spmvx_op)op, 1.0, m, x, 0.0, y));
        assert_ok(w->ctx, spmvx_mul(w->ctx, (spmvx_op)op, 2.5, m, x, -1.0, y));
        assert_ok(w->ctx, spmvx_mul_multi(w->ctx, (spmvx_op)op, 1.0, m, 2, X, ROWS, 0.0, y, ROWS));
    }
    assert_int_equal(w->count.allocations, before);
    w->count.fail_at = 0;
}

static void test_multiplication_allocates_nothing(void **state)
{
    (void)state;
    world w;
    world_open(&w);
    for (int i = CSR; i <= SELL; i++) no_allocation(&w, w.source[i], false);
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.place != SPMVX_HOST || k.operation != SPMVX_MUL || !(k.flags & SPMVX_KERNEL_AVAILABLE))
            continue;
        for (int both = 0; both < 2; both++) {
            spmvx_matrix *m = NULL;
            spmvx_context *fresh = test_context(&w.count, 2), *ctx = w.ctx;
            o.kernel = k.name;
            o.flags = SPMVX_UPDATABLE;
            o.ops = both ? SPMVX_OPS_N | SPMVX_OPS_T : SPMVX_OPS_N;
            w.ctx = fresh;
            assert_ok(fresh, spmvx_matrix_convert(fresh, w.source[MIXED], &o, &m));
            no_allocation(&w, m, both);
            w.count.fail_at = w.count.allocations + 1;
            assert_ok(fresh, spmvx_matrix_update_values(fresh, m, csr_val));
            w.count.fail_at = 0;
            w.ctx = ctx;
            assert_ok(w.other, spmvx_mul_prepare(w.other, m, SPMVX_N, 2)); /* nor where it was prepared */
            w.ctx = w.other;
            no_allocation(&w, m, false);
            w.ctx = ctx;
            spmvx_matrix_destroy(m);
            spmvx_context_destroy(fresh);
        }
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_calls),
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_multiplication_allocates_nothing),
    };
    return cmocka_run_group_tests_name("failure sweep calls", tests, begin, end);
}
