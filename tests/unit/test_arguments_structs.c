/* Structs of arguments: their sizes, and what lies behind the part that is known. */
#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>

enum { TAIL = 16 };

/* ---- input ---- */

static spmvx_status take_context(fixture *f, const void *s)
{
    spmvx_context *out = NOT_WRITTEN;
    (void)f;
    const spmvx_status status = spmvx_context_create(s, &out);
    if (status == SPMVX_OK) spmvx_context_destroy(out);
    else assert_ptr_equal(out, NOT_WRITTEN);
    return status;
}

static spmvx_status ended(spmvx_status status, spmvx_matrix *out)
{
    if (status == SPMVX_OK) spmvx_matrix_destroy(out);
    else assert_ptr_equal(out, NOT_WRITTEN);
    return status;
}

static spmvx_status take_arrays(fixture *f, const void *s)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const spmvx_status status = spmvx_matrix_create(f->ctx, s, 0, &out);
    return ended(status, out);
}

static spmvx_status take_read(fixture *f, const void *s)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const spmvx_status status = spmvx_matrix_read(f->ctx, f->data, s, &out);
    return ended(status, out);
}

static spmvx_status take_write(fixture *f, const void *s)
{
    return spmvx_matrix_write(f->ctx, f->A, f->path, s);
}

static spmvx_status take_convert(fixture *f, const void *s)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const spmvx_status status = spmvx_matrix_convert(f->ctx, f->A, s, &out);
    return ended(status, out);
}

static spmvx_status take_product(fixture *f, const void *s)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const spmvx_status status = spmspm_mul(f->ctx, f->A, f->B, s, &out);
    return ended(status, out);
}

static spmvx_status take_triple(fixture *f, const void *s)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const spmvx_status status = spmspm_triple(f->ctx, f->B, f->A, f->B, s, &out);
    return ended(status, out);
}

static spmvx_status take_plan(fixture *f, const void *s)
{
    spmspm_plan *out = NOT_WRITTEN;
    const spmvx_status status = spmspm_plan_create(f->ctx, f->A, f->B, s, &out);
    if (status == SPMVX_OK) spmspm_plan_destroy(out);
    else assert_ptr_equal(out, NOT_WRITTEN);
    return status;
}

/* A copy of exactly `size` bytes, the struct's size field among them, zero beyond what is known. */
static unsigned char *resized(const void *init, size_t known, size_t size)
{
    const size_t room = size < sizeof size ? sizeof size : size;
    unsigned char *s = calloc(1, room);
    memcpy(s, init, room < known ? room : known);
    memcpy(s, &size, sizeof size);
    return s;
}

static void test_input_structs(void **state)
{
    static const spmvx_context_options context = SPMVX_CONTEXT_OPTIONS_INIT;
    static const spmvx_read_options reading = SPMVX_READ_OPTIONS_INIT;
    static const spmvx_write_options writing = SPMVX_WRITE_OPTIONS_INIT;
    static const spmvx_convert_options convert = SPMVX_CONVERT_OPTIONS_INIT;
    static const spmspm_options product = SPMSPM_OPTIONS_INIT;
    static const struct {
        const char *name;
        const void *init;
        size_t known, least; /* bytes, now and in version 0.1 */
        spmvx_status good;
        spmvx_status (*call)(fixture *, const void *);
    } cases[] = {
        { "options", &context, sizeof context, 64, SPMVX_OK, take_context },
        { "arrays", &csr, sizeof csr, 128, SPMVX_OK, take_arrays },
        { "options", &reading, sizeof reading, 40, SPMVX_OK, take_read },
        { "options", &writing, sizeof writing, 24, SPMVX_OK, take_write },
        { "options", &convert, sizeof convert, 88, SPMVX_OK, take_convert },
        { "options", &product, sizeof product, 32, SPMVX_OK, take_product },
        { "options", &product, sizeof product, 32, SPMVX_OK, take_triple },
        { "options", &product, sizeof product, 32, SPMVX_OK, take_plan },
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t known = cases[i].known, least = cases[i].least,
                     sizes[] = { 0, 1, 7, sizeof(size_t), least - 8, least - 1 };
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            char text[64];
            unsigned char *s = resized(cases[i].init, known, sizes[k]);
            snprintf(text, sizeof text, "%s->size is %zu", cases[i].name, sizes[k]);
            refused_alone(SPMVX_ERR_ARGUMENT, text, cases[i].call(f, s));
            free(s);
        }
        unsigned char *exact = resized(cases[i].init, known, known),
                      *old = resized(cases[i].init, known, least),
                      *larger = resized(cases[i].init, known, known + TAIL);
        if (cases[i].call != take_arrays) assert_int_equal(cases[i].call(f, NULL), cases[i].good);
        assert_int_equal(cases[i].call(f, old), cases[i].good);
        assert_int_equal(cases[i].call(f, exact), cases[i].good);
        assert_int_equal(cases[i].call(f, larger), cases[i].good);
        for (size_t at = known; at < known + TAIL; at += TAIL - 1) {
            larger[at] = 1;
            refused_alone(SPMVX_ERR_ARGUMENT, cases[i].name, cases[i].call(f, larger));
            larger[at] = 0;
        }
        free(old);
        free(exact);
        free(larger);
    }
}

/* ---- output ---- */

static spmvx_status give_context(fixture *f, void *s)
{
    return spmvx_context_get_info(f->ctx, s);
}
static spmvx_status give_matrix(fixture *f, void *s)
{
    return spmvx_matrix_get_info(f->A, s);
}
static spmvx_status give_view(fixture *f, void *s)
{
    return spmvx_matrix_arrays(f->A, s);
}
static spmvx_status give_kernel(fixture *f, void *s)
{
    (void)f;
    return spmvx_kernel_get_info(0, s);
}
static spmspm_plan *given;
static spmvx_status give_plan(fixture *f, void *s)
{
    (void)f;
    return spmspm_plan_get_info(given, s);
}

static void test_output_structs(void **state)
{
    static const struct {
        const char *name;
        size_t known, least; /* of this version, and of 0.1 */
        spmvx_status good;
        spmvx_status (*call)(fixture *, void *);
    } cases[] = {
        { "info", sizeof(spmvx_context_info), sizeof(spmvx_context_info), SPMVX_OK, give_context },
        { "info", sizeof(spmvx_matrix_info), sizeof(spmvx_matrix_info), SPMVX_OK, give_matrix },
        { "view", sizeof(spmvx_arrays), sizeof(spmvx_arrays), SPMVX_OK, give_view },
        { "info", sizeof(spmvx_kernel_info), offsetof(spmvx_kernel_info, parameters), SPMVX_OK, give_kernel },
        { "info", sizeof(spmspm_info), sizeof(spmspm_info), SPMVX_OK, give_plan },
    };
    fixture *f = *state;
    static const unsigned char zero[512] = { 0 };
    assert_ok(f->ctx, spmspm_plan_create(f->ctx, f->A, f->B, NULL, &given));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t known = cases[i].known, sizes[] = { 0, 1, sizeof(size_t), cases[i].least - 1 };
        char text[64];
        snprintf(text, sizeof text, "%s is NULL", cases[i].name);
        refused_alone(SPMVX_ERR_ARGUMENT, text, cases[i].call(f, NULL));
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            unsigned char *s = resized(zero, known, sizes[k]), *before = resized(zero, known, sizes[k]);
            snprintf(text, sizeof text, "%s->size is %zu", cases[i].name, sizes[k]);
            refused_alone(SPMVX_ERR_ARGUMENT, text, cases[i].call(f, s));
            assert_memory_equal(s, before, sizes[k] < sizeof(size_t) ? sizeof(size_t) : sizes[k]);
            free(s);
            free(before);
        }
        unsigned char *exact = resized(zero, known, known), *larger = resized(zero, known, known + TAIL),
                      *first = resized(zero, known, cases[i].least);
        const size_t size = known + TAIL;
        assert_int_equal(cases[i].call(f, exact), cases[i].good);
        assert_int_equal(cases[i].call(f, first), cases[i].good);
        assert_memory_equal(first + sizeof size, exact + sizeof size, cases[i].least - sizeof size);
        free(first);
        assert_int_equal(cases[i].call(f, larger), cases[i].good);
        assert_memory_equal(larger, &size, sizeof size);
        assert_memory_equal(larger + sizeof size, exact + sizeof size, known - sizeof size);
        assert_memory_equal(larger + known, zero, TAIL);
        free(exact);
        free(larger);
    }
    spmspm_plan_destroy(given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_input_structs),
        TEST(test_output_structs),
    };
    return cmocka_run_group_tests_name("arguments structs", tests, NULL, NULL);
}
