/* Wrong arguments to every public function: the status, the message, and that nothing was written. */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    counter count;
    spmvx_context *ctx;
    spmvx_matrix *A, *B, *single, *wide; /* 3x4, 4x3 and 3x4 of F32; 3x4 with op T and updatable */
    char folder[64], path[96], data[96]; /* a file that is not there, and one that is */
} fixture;

static char sentinel;
#define NOT_WRITTEN ((void *)&sentinel)
enum { TAIL = 16 };

static const int32_t csr_ptr[] = { 0, 2, 2, 3 }, csr_col[] = { 0, 3, 1 }, coo_row[] = { 2, 0, 1 },
                     coo_col[] = { 3, 0, 2 };
static const int64_t csr_ptr64[] = { 0, 2, 2, 3 }, csr_col64[] = { 0, 3, 1 };
static const double csr_val[] = { 1, 2, 3 };
static const float csr_val32[] = { 1, 2, 3 };
static const int32_t sell_ptr[] = { 0, 8, 12 }, sell_row[] = { 1, 0, 2, 4, 3 };
static const int32_t sell_col[] = { 0, 1, 2, 3, 1, -1, 3, -1, 2, -1, -1, -1 };
static const double sell_val[12] = { 1, 2, 3, 4, 5, 0, 6, 0, 7, 0, 0, 0 };

static const spmvx_arrays csr = { sizeof(spmvx_arrays),
                                  SPMVX_CSR,
                                  SPMVX_I32,
                                  SPMVX_I32,
                                  SPMVX_F64,
                                  SPMVX_HOST,
                                  0,
                                  SPMVX_ROW_MAJOR,
                                  0,
                                  3,
                                  4,
                                  3,
                                  0,
                                  0,
                                  0,
                                  0,
                                  csr_ptr,
                                  NULL,
                                  csr_col,
                                  csr_val };
static const spmvx_arrays coo = { sizeof(spmvx_arrays),
                                  SPMVX_COO,
                                  SPMVX_I32,
                                  SPMVX_I32,
                                  SPMVX_F64,
                                  SPMVX_HOST,
                                  0,
                                  SPMVX_ROW_MAJOR,
                                  0,
                                  3,
                                  4,
                                  3,
                                  0,
                                  0,
                                  0,
                                  0,
                                  NULL,
                                  coo_row,
                                  coo_col,
                                  csr_val };
static const spmvx_arrays sell = { sizeof(spmvx_arrays),
                                   SPMVX_SELL,
                                   SPMVX_I32,
                                   SPMVX_I32,
                                   SPMVX_F64,
                                   SPMVX_HOST,
                                   0,
                                   SPMVX_ROW_MAJOR,
                                   0,
                                   5,
                                   4,
                                   7,
                                   0,
                                   0,
                                   4,
                                   0,
                                   sell_ptr,
                                   sell_row,
                                   sell_col,
                                   sell_val };

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    const char *tmp = getenv("TMPDIR");
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_arrays a = csr;
    f->ctx = test_context(&f->count, 2);
    assert_ok(f->ctx, spmvx_matrix_create(f->ctx, &csr, 0, &f->A));
    assert_ok(f->ctx, spmvx_matrix_transpose(f->ctx, f->A, &f->B));
    a.val_type = SPMVX_F32;
    a.val = csr_val32;
    assert_ok(f->ctx, spmvx_matrix_create(f->ctx, &a, 0, &f->single));
    o.ops = SPMVX_OPS_T;
    o.flags = SPMVX_UPDATABLE;
    assert_ok(f->ctx, spmvx_matrix_convert(f->ctx, f->A, &o, &f->wide));
    snprintf(f->folder, sizeof f->folder, "%.40s/spmvx-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/A.mtx", f->folder);
    snprintf(f->data, sizeof f->data, "%s/data.mtx", f->folder);
    assert_ok(f->ctx, spmvx_matrix_write(f->ctx, f->A, f->data, NULL));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    remove(f->path);
    remove(f->data);
    assert_int_equal(remove(f->folder), 0); /* no test left a file behind */
    spmvx_matrix_destroy(f->A);
    spmvx_matrix_destroy(f->B);
    spmvx_matrix_destroy(f->single);
    spmvx_matrix_destroy(f->wide);
    spmvx_context_destroy(f->ctx);
    assert_int_equal(f->count.live, 0);
    free(f);
    return 0;
}

/* Leaves another message than any test looks for, in the thread and in the context if there is one. */
static void mark(const spmvx_context *ctx)
{
    assert_int_equal(spmvx_wisdom_export(ctx, NULL, NULL), SPMVX_ERR_ARGUMENT);
    assert_string_equal(spmvx_last_error(NULL), ctx ? "len is NULL" : "context is NULL");
}

/* A call that takes a context fails, and both messages say so. */
#define refused(f, status, text, call)                                           \
    do {                                                                         \
        mark((f)->ctx);                                                          \
        assert_fails(status, text, call);                                        \
        assert_string_equal(spmvx_last_error((f)->ctx), spmvx_last_error(NULL)); \
    } while (0)
/* A call without a context. */
#define refused_alone(status, text, call) \
    do {                                  \
        mark(NULL);                       \
        assert_fails(status, text, call); \
    } while (0)
#define no_context(call)                                                              \
    do {                                                                              \
        assert_fails(SPMVX_ERR_ARGUMENT, "i is -1", spmvx_kernel_get_info(-1, NULL)); \
        assert_fails(SPMVX_ERR_ARGUMENT, "context is NULL", call);                    \
    } while (0)

/* ---- no context at all; texts ---- */

static void test_texts(void **state)
{
    (void)state;
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", SPMVX_VERSION_MAJOR, SPMVX_VERSION_MINOR,
             SPMVX_VERSION_PATCH);
    assert_string_equal(spmvx_version_string(), version);
    assert_int_equal(spmvx_version(),
                     SPMVX_VERSION_MAJOR * 1000000 + SPMVX_VERSION_MINOR * 1000 + SPMVX_VERSION_PATCH);
    for (int i = SPMVX_OK; i >= SPMVX_ERR_INTERNAL; i--) {
        assert_true(strlen(spmvx_status_string((spmvx_status)i)) > 0);
        for (int j = i + 1; j <= SPMVX_OK; j++)
            assert_string_not_equal(spmvx_status_string((spmvx_status)i),
                                    spmvx_status_string((spmvx_status)j));
    }
    const int unknown[] = { 1, -15, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_non_null(spmvx_status_string((spmvx_status)unknown[i]));
    assert_non_null(spmvx_last_error(NULL));
    spmvx_context *fresh = test_context(NULL, 1);
    assert_string_equal(spmvx_last_error(fresh), "");
    spmvx_context_destroy(fresh);
}

static void test_destroy_null(void **state)
{
    fixture *f = *state;
    spmvx_context_destroy(NULL);
    spmvx_matrix_destroy(NULL);
    spmspm_plan_destroy(NULL);
    spmvx_buffer_free(f->ctx, NULL);
    spmvx_buffer_free(NULL, NULL);
}

static void test_null_context(void **state)
{
    fixture *f = *state;
    double x[4] = { 0 }, y[4] = { 7, 7, 7, 7 };
    size_t len = 77;
    void *p = NOT_WRITTEN;
    spmvx_matrix *m = NOT_WRITTEN;
    spmspm_plan *plan = NOT_WRITTEN;
    spmvx_context_info info = SPMVX_CONTEXT_INFO_INIT;
    no_context(spmvx_context_set_stream(NULL, NULL));
    no_context(spmvx_context_synchronize(NULL));
    no_context(spmvx_context_get_info(NULL, &info));
    no_context(spmvx_context_trim(NULL));
    no_context(spmvx_buffer_alloc(NULL, 8, &p));
    no_context(spmvx_buffer_upload(NULL, y, x, 8));
    no_context(spmvx_buffer_download(NULL, y, x, 8));
    no_context(spmvx_matrix_create(NULL, &csr, 0, &m));
    no_context(spmvx_matrix_read(NULL, f->path, NULL, &m));
    no_context(spmvx_matrix_write(NULL, f->A, f->path, NULL));
    no_context(spmvx_matrix_convert(NULL, f->A, NULL, &m));
    no_context(spmvx_matrix_transpose(NULL, f->A, &m));
    no_context(spmvx_matrix_update_values(NULL, f->wide, x));
    no_context(spmvx_mul_prepare(NULL, f->A, SPMVX_N, 1));
    no_context(spmvx_mul(NULL, SPMVX_N, 1.0, f->A, x, 0.0, y));
    no_context(spmvx_mul_multi(NULL, SPMVX_N, 1.0, f->A, 1, x, 4, 0.0, y, 3));
    no_context(spmspm_mul(NULL, f->A, f->B, NULL, &m));
    no_context(spmspm_triple(NULL, f->B, f->A, f->B, NULL, &m));
    no_context(spmspm_plan_create(NULL, f->A, f->B, NULL, &plan));
    no_context(spmspm_plan_mul(NULL, NOT_WRITTEN, f->A, f->B, &m));
    no_context(spmspm_plan_refill(NULL, NOT_WRITTEN, f->A, f->B, f->wide));
    no_context(spmvx_wisdom_export(NULL, NULL, &len));
    no_context(spmvx_wisdom_import(NULL, "spmvx-wisdom 1\n", 15));
    assert_ptr_equal(p, NOT_WRITTEN);
    assert_ptr_equal(m, NOT_WRITTEN);
    assert_ptr_equal(plan, NOT_WRITTEN);
    assert_int_equal(len, 77);
    assert_null(info.name);
    for (int i = 0; i < 4; i++) assert_true(y[i] == 7);
}

static void test_last_error_stays(void **state)
{
    fixture *f = *state;
    double x[4] = { 1, 1, 1, 1 }, y[3];
    spmvx_matrix *m = NULL;
    spmvx_context_info info = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context *other = test_context(NULL, 1);
    refused(f, SPMVX_ERR_ARGUMENT, "nvec is -5", spmvx_mul_prepare(f->ctx, f->A, SPMVX_N, -5));
    assert_string_equal(spmvx_last_error(other), "");
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1.0, f->A, x, 0.0, y));
    assert_ok(f->ctx, spmvx_context_get_info(f->ctx, &info));
    assert_ok(f->ctx, spmvx_matrix_transpose(f->ctx, f->A, &m));
    spmvx_matrix_destroy(m);
    for (int32_t effort = 0; effort <= 2; effort++) {
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.effort = effort;
        o.max_bytes = 3 * 12 + 4 * 4 + 64; /* CSR fits, wider formats may not */
        assert_ok(f->ctx, spmvx_matrix_convert(f->ctx, f->A, &o, &m));
        spmvx_matrix_destroy(m);
    }
    assert_non_null(strstr(spmvx_last_error(f->ctx), "nvec is -5"));
    assert_non_null(strstr(spmvx_last_error(NULL), "nvec is -5"));
    assert_int_equal(spmvx_context_synchronize(NULL), SPMVX_ERR_ARGUMENT); /* the thread's alone */
    assert_non_null(strstr(spmvx_last_error(f->ctx), "nvec is -5"));
    assert_non_null(strstr(spmvx_last_error(NULL), "context"));
    spmvx_context_destroy(other);
}

/* ---- sizes of structs ---- */

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
    assert_ptr_equal(out, NOT_WRITTEN);
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
        size_t known;
        spmvx_status good;
        spmvx_status (*call)(fixture *, const void *);
    } cases[] = {
        { "options", &context, sizeof context, SPMVX_OK, take_context },
        { "arrays", &csr, sizeof csr, SPMVX_OK, take_arrays },
        { "options", &reading, sizeof reading, SPMVX_OK, take_read },
        { "options", &writing, sizeof writing, SPMVX_OK, take_write },
        { "options", &convert, sizeof convert, SPMVX_OK, take_convert },
        { "options", &product, sizeof product, SPMVX_OK, take_product },
        { "options", &product, sizeof product, SPMVX_ERR_UNSUPPORTED, take_triple },
        { "options", &product, sizeof product, SPMVX_ERR_UNSUPPORTED, take_plan },
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t known = cases[i].known, sizes[] = { 0, 1, 7, sizeof(size_t), known - 8, known - 1 };
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            char text[64];
            unsigned char *s = resized(cases[i].init, known, sizes[k]);
            snprintf(text, sizeof text, "%s->size is %zu", cases[i].name, sizes[k]);
            refused_alone(SPMVX_ERR_ARGUMENT, text, cases[i].call(f, s));
            free(s);
        }
        unsigned char *exact = resized(cases[i].init, known, known),
                      *larger = resized(cases[i].init, known, known + TAIL);
        if (cases[i].call != take_arrays) assert_int_equal(cases[i].call(f, NULL), cases[i].good);
        assert_int_equal(cases[i].call(f, exact), cases[i].good);
        assert_int_equal(cases[i].call(f, larger), cases[i].good);
        for (size_t at = known; at < known + TAIL; at += TAIL - 1) {
            larger[at] = 1;
            refused_alone(SPMVX_ERR_ARGUMENT, cases[i].name, cases[i].call(f, larger));
            larger[at] = 0;
        }
        free(exact);
        free(larger);
    }
}

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
static spmvx_status give_plan(fixture *f, void *s)
{
    (void)f;
    return spmspm_plan_get_info(NOT_WRITTEN, s);
}

static void test_output_structs(void **state)
{
    static const struct {
        const char *name;
        size_t known;
        spmvx_status good;
        spmvx_status (*call)(fixture *, void *);
    } cases[] = {
        { "info", sizeof(spmvx_context_info), SPMVX_OK, give_context },
        { "info", sizeof(spmvx_matrix_info), SPMVX_OK, give_matrix },
        { "view", sizeof(spmvx_arrays), SPMVX_OK, give_view },
        { "info", sizeof(spmvx_kernel_info), SPMVX_OK, give_kernel },
        { "info", sizeof(spmspm_info), SPMVX_ERR_UNSUPPORTED, give_plan },
    };
    fixture *f = *state;
    static const unsigned char zero[512] = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t known = cases[i].known, sizes[] = { 0, 1, sizeof(size_t), known - 1 };
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
        unsigned char *exact = resized(zero, known, known), *larger = resized(zero, known, known + TAIL);
        const size_t size = known + TAIL;
        assert_int_equal(cases[i].call(f, exact), cases[i].good);
        assert_int_equal(cases[i].call(f, larger), cases[i].good);
        assert_memory_equal(larger, &size, sizeof size);
        assert_memory_equal(larger + sizeof size, exact + sizeof size, known - sizeof size);
        assert_memory_equal(larger + known, zero, TAIL);
        free(exact);
        free(larger);
    }
}

/* ---- context and buffers ---- */

static void refuse_context(spmvx_status status, const char *text, const spmvx_context_options *o)
{
    spmvx_context *out = NOT_WRITTEN;
    refused_alone(status, text, spmvx_context_create(o, &out));
    assert_ptr_equal(out, NOT_WRITTEN);
}

#define CONTEXT(status, text, ...)                            \
    do {                                                      \
        spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT; \
        __VA_ARGS__;                                          \
        refuse_context(status, text, &o);                     \
    } while (0)

static void test_context_create(void **state)
{
    (void)state;
    counter c = { 0 };
    refused_alone(SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_context_create(NULL, NULL));
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.place is 3", o.place = (spmvx_place)3);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.place is", o.place = (spmvx_place)-1);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.place is", o.place = SPMVX_PLACE_FORCE32);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.device is -1", o.place = SPMVX_CUDA, o.device = -1);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.threads is -1", o.threads = -1);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.threads is 4097", o.threads = 4097);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.flags is 0x200", o.flags = 0x200);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.flags is 0x101", o.flags = SPMVX_CONTEXT_CHECK | SPMVX_BORROW);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.flags is 0x80000000", o.flags = 0x80000000u);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.stream is", o.stream = NOT_WRITTEN);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.release is NULL", o.alloc = counter_alloc, o.user = &c);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.alloc is NULL", o.release = counter_release, o.user = &c);
    assert_int_equal(c.allocations, 0);
}

static void test_context_place(void **state)
{
    (void)state;
    spmvx_context_options first = SPMVX_CONTEXT_OPTIONS_INIT, second = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context_info info = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context *ctx = NULL;
    first.place = SPMVX_ANY;
    first.threads = 4096;
    first.flags = SPMVX_CONTEXT_CHECK;
    assert_ok(NULL, spmvx_context_create(&first, &ctx));
    assert_ok(ctx, spmvx_context_get_info(ctx, &info));
    if (info.place == SPMVX_CUDA) {
        spmvx_context_destroy(ctx);
        return; /* a device answers: what it refuses is told elsewhere */
    }
    assert_int_equal(info.place, SPMVX_HOST);
    assert_int_equal(info.device, 0);
    assert_int_equal(info.threads, 4096);
    assert_int_equal(info.flags, SPMVX_CONTEXT_CHECK);
    assert_non_null(info.name);
    spmvx_context_destroy(ctx);
    CONTEXT(SPMVX_ERR_DEVICE, "SPMVX_CUDA", o.place = SPMVX_CUDA);
    CONTEXT(SPMVX_ERR_DEVICE, "SPMVX_CUDA", o.place = SPMVX_CUDA, o.device = 3);
    second.device = 3; /* ignored on the host */
    assert_ok(NULL, spmvx_context_create(&second, &ctx));
    assert_ok(ctx, spmvx_context_get_info(ctx, &info));
    assert_int_equal(info.device, 0);
    assert_true(info.threads >= 1);
    spmvx_context_destroy(ctx);
}

static void test_context_calls(void **state)
{
    fixture *f = *state;
    refused(f, SPMVX_ERR_ARGUMENT, "stream is 0x", spmvx_context_set_stream(f->ctx, NOT_WRITTEN));
    refused(f, SPMVX_ERR_ARGUMENT, "info is NULL", spmvx_context_get_info(f->ctx, NULL));
    assert_ok(f->ctx, spmvx_context_set_stream(f->ctx, NULL));
    assert_ok(f->ctx, spmvx_context_synchronize(f->ctx));
    assert_ok(f->ctx, spmvx_context_trim(f->ctx));
}

static void test_buffers(void **state)
{
    fixture *f = *state;
    char a[8] = "abcdefg", b[8] = "1234567";
    void *p = NOT_WRITTEN;
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_buffer_alloc(f->ctx, 8, NULL));
    refused(f, SPMVX_ERR_MEMORY, "a buffer", spmvx_buffer_alloc(f->ctx, SIZE_MAX, &p));
    assert_ptr_equal(p, NOT_WRITTEN);
    refused(f, SPMVX_ERR_ARGUMENT, "dst is NULL", spmvx_buffer_upload(f->ctx, NULL, a, 8));
    refused(f, SPMVX_ERR_ARGUMENT, "host_src is NULL", spmvx_buffer_upload(f->ctx, b, NULL, 8));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_buffer_upload(f->ctx, a + 1, a, 4));
    refused(f, SPMVX_ERR_ARGUMENT, "host_dst is NULL", spmvx_buffer_download(f->ctx, NULL, a, 8));
    refused(f, SPMVX_ERR_ARGUMENT, "src is NULL", spmvx_buffer_download(f->ctx, b, NULL, 8));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_buffer_download(f->ctx, a, a + 1, 4));
    assert_string_equal(a, "abcdefg");
    assert_string_equal(b, "1234567");
    assert_ok(f->ctx, spmvx_buffer_upload(f->ctx, NULL, NULL, 0));
    assert_ok(f->ctx, spmvx_buffer_download(f->ctx, NULL, NULL, 0));
    assert_ok(f->ctx, spmvx_buffer_alloc(f->ctx, 0, &p));
    assert_null(p);
    assert_ok(f->ctx, spmvx_buffer_alloc(f->ctx, 1, &p));
    assert_true((uintptr_t)p % 64 == 0);
    spmvx_buffer_free(f->ctx, p);
}

/* ---- matrices of given arrays ---- */

static void refuse_create(fixture *f, spmvx_status status, const char *text, const spmvx_arrays *a,
                          uint32_t flags)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const long live = f->count.live;
    refused(f, status, text, spmvx_matrix_create(f->ctx, a, flags, &out));
    assert_ptr_equal(out, NOT_WRITTEN);
    assert_int_equal(f->count.live, live);
}

/* The arrays `base`, spoiled by the statements, are refused. */
#define CREATE(base, status, text, ...)            \
    do {                                           \
        spmvx_arrays a = base;                     \
        uint32_t flags = 0;                        \
        __VA_ARGS__;                               \
        refuse_create(f, status, text, &a, flags); \
    } while (0)

static void test_create_values(void **state)
{
    fixture *f = *state;
    spmvx_matrix *out = NOT_WRITTEN;
    refused(f, SPMVX_ERR_ARGUMENT, "arrays is NULL", spmvx_matrix_create(f->ctx, NULL, 0, &out));
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_matrix_create(f->ctx, &csr, 0, NULL));
    assert_ptr_equal(out, NOT_WRITTEN);
    CREATE(csr, SPMVX_ERR_ARGUMENT, "flags is 0x4", flags = 4);
    CREATE(csr, SPMVX_ERR_ARGUMENT, "flags is 0x20", flags = SPMVX_UPDATABLE);
    CREATE(csr, SPMVX_ERR_ARGUMENT, "flags is 0x101", flags = SPMVX_BORROW | SPMVX_CONTEXT_CHECK);
    CREATE(csr, SPMVX_ERR_ARGUMENT, "flags is 0x1000", flags = SPMVX_IS_BORROWED);
    CREATE(csr, SPMVX_ERR_ARGUMENT, "arrays.reserved is 5", a.reserved = 5);
    const spmvx_arrays bases[] = { csr, coo, sell };
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.nrows is -1", a.nrows = -1);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.ncols is -7", a.ncols = -7);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.nnz is -1", a.nnz = -1);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.nnz is -9223372036854775808", a.nnz = INT64_MIN);
        CREATE(bases[i], SPMVX_ERR_RANGE, "arrays.nrows is 2147483648", a.nrows = INT64_C(1) << 31);
        CREATE(bases[i], SPMVX_ERR_RANGE, "arrays.nrows is 9223372036854775807", a.nrows = INT64_MAX);
        CREATE(bases[i], SPMVX_ERR_RANGE, "arrays.ncols is 2147483648", a.ncols = INT64_C(1) << 31,
               flags = SPMVX_BORROW | SPMVX_TRUST);
        CREATE(bases[i], SPMVX_ERR_RANGE, "arrays.nnz is 9223372036854775807", a.nnz = INT64_MAX);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.val is NULL", a.val = NULL);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.col is NULL", a.col = NULL);
        CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.col is NULL", a.col = NULL,
               flags = SPMVX_BORROW | SPMVX_TRUST);
    }
    CREATE(csr, SPMVX_ERR_ARGUMENT, "arrays.ptr is NULL", a.ptr = NULL);
    CREATE(sell, SPMVX_ERR_ARGUMENT, "arrays.ptr is NULL", a.ptr = NULL);
    CREATE(coo, SPMVX_ERR_ARGUMENT, "arrays.row is NULL", a.row = NULL);
}

static void test_create_formats(void **state)
{
    fixture *f = *state;
    static const struct {
        spmvx_format format;
        const char *name;
    } missing[] = {
        { SPMVX_CSR5, "CSR5" },
        { SPMVX_HYB, "HYB" },
        { SPMVX_TILED, "TILED" },
        { SPMVX_PACKED, "PACKED" },
    };
    static const int unknown[] = { 12, -1, 99, INT32_MAX };
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        char text[48];
        snprintf(text, sizeof text, "arrays.format is SPMVX_%s", missing[i].name);
        CREATE(csr, SPMVX_ERR_UNSUPPORTED, text, a.format = missing[i].format);
    }
    CREATE(csr, SPMVX_ERR_ARGUMENT, "arrays.format is SPMVX_AUTO", a.format = SPMVX_AUTO);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char text[48];
        snprintf(text, sizeof text, "arrays.format is %d", unknown[i]);
        CREATE(csr, SPMVX_ERR_ARGUMENT, text, a.format = (spmvx_format)unknown[i]);
    }
}

static void test_create_types(void **state)
{
    fixture *f = *state;
    static const int unknown[] = { 0, 5, -1, INT32_MAX };
    const spmvx_arrays bases[] = { csr, coo, sell };
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        CREATE(bases[i], SPMVX_ERR_TYPE, "arrays.val_type is 1", a.val_type = SPMVX_I32);
        CREATE(bases[i], SPMVX_ERR_TYPE, "arrays.val_type is 2", a.val_type = SPMVX_I64);
        CREATE(bases[i], SPMVX_ERR_TYPE, "arrays.idx_type is 3", a.idx_type = SPMVX_F32);
        CREATE(bases[i], SPMVX_ERR_TYPE, "arrays.idx_type is 4", a.idx_type = SPMVX_F64);
        if (bases[i].format != SPMVX_COO)
            CREATE(bases[i], SPMVX_ERR_TYPE, "arrays.ptr_type is 4", a.ptr_type = SPMVX_F64);
        for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++) {
            CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.val_type is", a.val_type = (spmvx_type)unknown[k]);
            CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.idx_type is", a.idx_type = (spmvx_type)unknown[k]);
            if (bases[i].format == SPMVX_COO) continue;
            CREATE(bases[i], SPMVX_ERR_ARGUMENT, "arrays.ptr_type is", a.ptr_type = (spmvx_type)unknown[k]);
        }
    }
    CREATE(csr, SPMVX_ERR_UNSUPPORTED, "arrays.idx_type is SPMVX_I64", a.idx_type = SPMVX_I64,
           a.col = csr_col64, flags = SPMVX_BORROW);
}

static void test_create_csr(void **state)
{
    fixture *f = *state;
    static const int32_t above[] = { 0, 4, 1 }, below[] = { 0, -1, 1 };
    static const int32_t begins[] = { 1, 2, 2, 3 }, falls[] = { 0, 3, 2, 3 }, minus[] = { 0, -2, 2, 3 };
    static const int64_t above64[] = { 0, INT64_C(1) << 32, 1 }, falls64[] = { 0, INT64_C(1) << 40, 2, 3 };
    static const int64_t end64[] = { 0, 2, 2, (INT64_C(1) << 32) + 3 };
    CREATE(csr, SPMVX_ERR_SHAPE, "arrays.ptr[3] is 3, and arrays.nnz is 2", a.nnz = 2);
    CREATE(csr, SPMVX_ERR_SHAPE, "arrays.ptr[3] is 3, and arrays.nnz is 4", a.nnz = 4, flags = SPMVX_TRUST);
    CREATE(csr, SPMVX_ERR_SHAPE, "arrays.ptr[3] is 4294967299", a.ptr = end64, a.ptr_type = SPMVX_I64);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.ptr[0] is 1", a.ptr = begins);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.ptr falls from 3 at 1 to 2", a.ptr = falls);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.ptr falls from 0 at 0 to -2", a.ptr = minus);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.ptr falls from 1099511627776 at 1 to 2", a.ptr = falls64,
           a.ptr_type = SPMVX_I64);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.col[1] is 4", a.col = above);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.col[1] is 4", a.col = above, flags = SPMVX_BORROW);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.col[1] is -1", a.col = below);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.col[1] is 4294967296", a.col = above64, a.idx_type = SPMVX_I64);
    CREATE(csr, SPMVX_ERR_RANGE, "arrays.col[0] is 0", a.ncols = 0);
}

static void test_create_coo(void **state)
{
    fixture *f = *state;
    static const int32_t above[] = { 2, 3, 0 }, below[] = { 2, 0, -1 };
    static const int64_t above64[] = { INT64_C(1) << 33, 0, 0 };
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.row[1] is 3", a.row = above);
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.row[2] is -1", a.row = below);
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.col[2] is -1", a.col = below);
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.col[0] is 3", a.ncols = 3);
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.row[0] is 2", a.nrows = 0);
    CREATE(coo, SPMVX_ERR_RANGE, "arrays.row[0] is 8589934592", a.row = above64, a.col = csr_col64,
           a.idx_type = SPMVX_I64);
    CREATE(coo, SPMVX_ERR_UNSUPPORTED, "arrays.idx_type is SPMVX_I64", a.row = csr_col64, a.col = csr_col64,
           a.idx_type = SPMVX_I64, flags = SPMVX_BORROW | SPMVX_TRUST);
}

static void test_create_sell(void **state)
{
    fixture *f = *state;
    static const int32_t repeats[] = { 1, 0, 2, 4, 1 }, above[] = { 1, 0, 2, 4, 5 },
                         below[] = { 1, 0, -1, 4, 3 };
    static const int32_t begins[] = { 4, 8, 12 }, falls[] = { 0, 16, 12 }, odd[] = { 0, 6, 12 },
                         ends[] = { 0, 8, 4 };
    int32_t wild[12], low[12], tail[12];
    memcpy(wild, sell_col, sizeof wild);
    memcpy(low, sell_col, sizeof low);
    memcpy(tail, sell_col, sizeof tail);
    wild[3] = 4;
    low[7] = -2;
    tail[9] = 0; /* of row 5 of 5 */
    CREATE(sell, SPMVX_ERR_ARGUMENT, "arrays.slice is 0", a.slice = 0);
    CREATE(sell, SPMVX_ERR_ARGUMENT, "arrays.slice is -4", a.slice = -4);
    CREATE(sell, SPMVX_ERR_UNSUPPORTED, "arrays.slice is 3", a.slice = 3);
    CREATE(sell, SPMVX_ERR_UNSUPPORTED, "arrays.slice is 65537", a.slice = 65537);
    CREATE(sell, SPMVX_ERR_UNSUPPORTED, "arrays.slice is 9223372036854775807", a.slice = INT64_MAX);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.row[4] is 1", a.row = repeats);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.row[4] is 5", a.row = above);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.row[2] is -1", a.row = below);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.ptr[0] is 4", a.ptr = begins);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.ptr falls from 16 at 1 to 12", a.ptr = falls);
    CREATE(sell, SPMVX_ERR_SHAPE, "arrays.ptr[1] is 6", a.ptr = odd);
    CREATE(sell, SPMVX_ERR_SHAPE, "arrays.ptr[2] is 4", a.ptr = ends);
    CREATE(sell, SPMVX_ERR_SHAPE, "arrays.nnz is 8", a.nnz = 8);
    CREATE(sell, SPMVX_ERR_SHAPE, "arrays.nnz is 13", a.nnz = 13);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.col[3] is 4", a.col = wild);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.col[7] is -2", a.col = low);
    CREATE(sell, SPMVX_ERR_RANGE, "arrays.col[9]", a.col = tail, a.nnz = 8);
}

static void make(fixture *f, const spmvx_arrays *a, uint32_t flags)
{
    spmvx_matrix *m = NULL;
    double y[3] = { 1, 2, 3 };
    assert_ok(f->ctx, spmvx_matrix_create(f->ctx, a, flags, &m));
    if (!a->ncols && a->nrows <= 3)
        assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1.0, m, NULL, 2.0, a->nrows ? y : NULL));
    spmvx_matrix_destroy(m);
}

static void test_create_accepts(void **state)
{
    fixture *f = *state;
    static const int32_t zeros[4] = { 0 };
    const spmvx_arrays bases[] = { csr, coo, sell };
    for (uint32_t flags = 0; flags < 4; flags++)
        for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
            spmvx_arrays a = bases[i];
            make(f, &a, flags);
            /* of BSR only, as are the block's sizes; where arrays live is found out */
            a.block_order = (spmvx_order)99;
            a.block_rows = a.block_cols = -3;
            a.width = -1;
            a.place = SPMVX_CUDA;
            if (a.format == SPMVX_COO) a.ptr_type = (spmvx_type)0;
            make(f, &a, flags);
            a = bases[i];
            a.nnz = 0;
            a.ptr = a.format == SPMVX_COO ? NULL : zeros;
            a.row = a.col = a.val = NULL;
            a.nrows = 3;
            make(f, &a, flags);
            a.nrows = 0;
            make(f, &a, flags);
            a.ncols = 0;
            make(f, &a, flags);
            a.nrows = 3;
            make(f, &a, flags);
        }
    spmvx_arrays a = csr;
    a.ptr_type = SPMVX_I64;
    a.ptr = csr_ptr64;
    make(f, &a, SPMVX_BORROW);
    a.idx_type = SPMVX_I64;
    a.col = csr_col64;
    make(f, &a, 0);
}

static void test_views(void **state)
{
    spmvx_arrays view = SPMVX_ARRAYS_INIT;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    fixture *f = *state;
    refused_alone(SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_arrays(NULL, &view));
    refused_alone(SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_get_info(NULL, &info));
    refused_alone(SPMVX_ERR_ARGUMENT, "view is NULL", spmvx_matrix_arrays(f->A, NULL));
    refused_alone(SPMVX_ERR_ARGUMENT, "info is NULL", spmvx_matrix_get_info(f->A, NULL));
    assert_null(view.ptr);
    assert_null(info.kernel);
}

/* ---- files ---- */

static int32_t stop(void *user, int64_t done, int64_t total)
{
    (void)done, (void)total;
    ++*(int *)user;
    return 1;
}

static void refuse_read(fixture *f, spmvx_status status, const char *text, const char *path,
                        const spmvx_read_options *o)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const long live = f->count.live;
    refused(f, status, text, spmvx_matrix_read(f->ctx, path, o, &out));
    assert_ptr_equal(out, NOT_WRITTEN);
    assert_int_equal(f->count.live, live);
}

#define READ(status, text, ...)                         \
    do {                                                \
        spmvx_read_options o = SPMVX_READ_OPTIONS_INIT; \
        __VA_ARGS__;                                    \
        refuse_read(f, status, text, f->data, &o);      \
    } while (0)

static void test_read(void **state)
{
    fixture *f = *state;
    int calls = 0;
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_matrix_read(f->ctx, f->data, NULL, NULL));
    refuse_read(f, SPMVX_ERR_ARGUMENT, "path is NULL", NULL, NULL);
    refuse_read(f, SPMVX_ERR_IO, "no-such-file.mtx", "no-such-file.mtx", NULL);
    refuse_read(f, SPMVX_ERR_IO, f->folder, f->folder, NULL);
    READ(SPMVX_ERR_TYPE, "options.val_type is 1", o.val_type = SPMVX_I32);
    READ(SPMVX_ERR_TYPE, "options.val_type is 2", o.val_type = SPMVX_I64);
    READ(SPMVX_ERR_ARGUMENT, "options.val_type is 5", o.val_type = (spmvx_type)5);
    READ(SPMVX_ERR_ARGUMENT, "options.val_type is -1", o.val_type = (spmvx_type)-1);
    READ(SPMVX_ERR_ARGUMENT, "options.flags is 0x1", o.flags = SPMVX_BORROW);
    READ(SPMVX_ERR_ARGUMENT, "options.flags is 0x40000000", o.flags = 0x40000000);
    READ(SPMVX_ERR_LIMIT, "options.max_bytes is 100", o.max_bytes = 100);
    READ(SPMVX_ERR_CANCELLED, "data.mtx", o.progress = stop, o.user = &calls);
    assert_int_equal(calls, 1);
}

#define WRITE(status, text, ...)                                              \
    do {                                                                      \
        spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;                     \
        const char *path = f->path;                                           \
        __VA_ARGS__;                                                          \
        refused(f, status, text, spmvx_matrix_write(f->ctx, f->A, path, &o)); \
        assert_null(fopen(path, "rb"));                                       \
    } while (0)

static void test_write(void **state)
{
    fixture *f = *state;
    char gz[128], nowhere[128];
    snprintf(gz, sizeof gz, "%s.gz", f->path);
    snprintf(nowhere, sizeof nowhere, "%s/none/A.mtx", f->folder);
    refused(f, SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_write(f->ctx, NULL, f->path, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "path is NULL", spmvx_matrix_write(f->ctx, f->A, NULL, NULL));
    WRITE(SPMVX_ERR_ARGUMENT, "options.digits is -1", o.digits = -1);
    WRITE(SPMVX_ERR_ARGUMENT, "options.digits is 18", o.digits = 18);
    WRITE(SPMVX_ERR_ARGUMENT, "options.level is -1", o.level = -1);
    WRITE(SPMVX_ERR_ARGUMENT, "options.flags is 0x2", o.flags = SPMVX_TRUST);
    WRITE(SPMVX_ERR_ARGUMENT, "options.reserved is 1", o.reserved = 1);
    WRITE(SPMVX_ERR_IO, nowhere, path = nowhere);
    const spmvx_status probe = spmvx_matrix_write(f->ctx, f->A, gz, NULL);
    if (probe == SPMVX_ERR_UNSUPPORTED) return; /* built without zlib */
    assert_int_equal(probe, SPMVX_OK);
    remove(gz);
    WRITE(SPMVX_ERR_ARGUMENT, "options.level is 10", path = gz, o.level = 10);
}

/* ---- conversion ---- */

static void refuse_convert(fixture *f, spmvx_status status, const char *text, const spmvx_convert_options *o)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const long live = f->count.live;
    refused(f, status, text, spmvx_matrix_convert(f->ctx, f->A, o, &out));
    assert_ptr_equal(out, NOT_WRITTEN);
    assert_int_equal(f->count.live, live);
}

#define CONVERT(status, text, ...)                            \
    do {                                                      \
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT; \
        __VA_ARGS__;                                          \
        refuse_convert(f, status, text, &o);                  \
    } while (0)

static void test_convert_values(void **state)
{
    fixture *f = *state;
    spmvx_matrix *out = NOT_WRITTEN;
    refused(f, SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_convert(f->ctx, NULL, NULL, &out));
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_matrix_convert(f->ctx, f->A, NULL, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_transpose(f->ctx, NULL, &out));
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_matrix_transpose(f->ctx, f->A, NULL));
    assert_ptr_equal(out, NOT_WRITTEN);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.slice is 8; PACKED takes 32", o.format = SPMVX_PACKED,
            o.slice = 8);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.format is 12", o.format = (spmvx_format)12);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.format is -1", o.format = (spmvx_format)-1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.effort is -1", o.effort = -1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.effort is 3", o.effort = 3);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.expected_muls is -1", o.expected_muls = -1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.nvec is -2", o.nvec = -2);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.slice is -8", o.slice = -8);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.sigma is -1", o.sigma = -1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.block_rows is -1", o.block_rows = -1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.block_cols is -1", o.block_cols = -1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.ops is 0x4", o.ops = 4);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.ops is 0x21", o.ops = SPMVX_OPS_N | SPMVX_UPDATABLE);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.flags is 0x1", o.flags = SPMVX_BORROW);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.flags is 0x2020", o.flags = SPMVX_UPDATABLE | SPMVX_IS_UPDATABLE);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.slice is 3", o.format = SPMVX_SELL, o.slice = 3);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.slice is 65537", o.format = SPMVX_SELL, o.slice = 65537);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.slice is 9223372036854775807", o.format = SPMVX_SELL,
            o.slice = INT64_MAX);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.slice is 9223372036854775807", o.kernel = "sell@c",
            o.slice = INT64_MAX);
    CONVERT(SPMVX_ERR_LIMIT, "max_bytes is 1", o.max_bytes = 1);
    CONVERT(SPMVX_ERR_LIMIT, "max_bytes is 1", o.max_bytes = 1, o.effort = 2);
    CONVERT(SPMVX_ERR_LIMIT, "max_bytes is 20", o.max_bytes = 20, o.format = SPMVX_SELL);
    CONVERT(SPMVX_ERR_LIMIT, "max_bytes is 20", o.max_bytes = 20, o.kernel = "coo-scalar");
    CONVERT(SPMVX_ERR_LIMIT, "max_bytes is 53", o.max_bytes = 3 * 12 + 4 * 4 + 1, o.format = SPMVX_CSR,
            o.ops = SPMVX_OPS_T);
}

static void test_convert_kernels(void **state)
{
    fixture *f = *state;
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.kernel is \"no-such-kernel\"", o.kernel = "no-such-kernel");
    CONVERT(SPMVX_ERR_UNSUPPORTED, "csr-merge-path", o.kernel = "csr-merge");
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.kernel is \"\"", o.kernel = "");
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.kernel is \"sell@none\"", o.kernel = "sell@none");
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.kernel is \"sell@\"", o.kernel = "sell@");
    CONVERT(SPMVX_ERR_ARGUMENT, "options.kernel is \"csr-scalar\"", o.kernel = "csr-scalar",
            o.format = SPMVX_SELL);
    CONVERT(SPMVX_ERR_ARGUMENT, "parameter \"lanes\"; csr-scalar knows: none",
            o.kernel = "csr-scalar:lanes=4");
    CONVERT(SPMVX_ERR_ARGUMENT, "knows: chunk", o.kernel = "csr-merge-path:size=4096");
    CONVERT(SPMVX_ERR_ARGUMENT, "knows: chunk", o.kernel = "csr-merge-path:chunk=4096,size=1");
    CONVERT(SPMVX_ERR_ARGUMENT, "knows: chunk", o.kernel = "csr-merge-path:=4096");
    CONVERT(SPMVX_ERR_ARGUMENT, "\"chunk=1\"; csr-merge-path takes chunk=64 to",
            o.kernel = "csr-merge-path:chunk=1");
    static const char *const bad[] = {
        "chunk",   "chunk=",      "chunk=x",      "chunk=4096x",
        "chunk=0", "chunk=-4096", "chunk=4096.5", "chunk=99999999999999999999"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char kernel[64], text[64];
        snprintf(kernel, sizeof kernel, "csr-merge-path:%s", bad[i]);
        snprintf(text, sizeof text, "\"%s\"", bad[i]);
        CONVERT(SPMVX_ERR_ARGUMENT, text, o.kernel = kernel);
    }
    static char endless[4096];
    memset(endless, 'a', sizeof endless - 1);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.kernel is \"aaaa", o.kernel = endless);
    memcpy(endless, "csr-scalar:", 11);
    CONVERT(SPMVX_ERR_ARGUMENT, "csr-scalar knows: none", o.kernel = endless);
}

static void test_update(void **state)
{
    fixture *f = *state;
    refused(f, SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_update_values(f->ctx, NULL, csr_val));
    refused(f, SPMVX_ERR_UNSUPPORTED, "SPMVX_UPDATABLE", spmvx_matrix_update_values(f->ctx, f->A, csr_val));
    refused(f, SPMVX_ERR_ARGUMENT, "val is NULL", spmvx_matrix_update_values(f->ctx, f->wide, NULL));
    assert_ok(f->ctx, spmvx_matrix_update_values(f->ctx, f->wide, csr_val));
}

/* ---- products with vectors ---- */

static void test_mul(void **state)
{
    fixture *f = *state;
    double room[12];
    for (int i = 0; i < 12; i++) room[i] = 7;
    double *x = room, *y = room + 4;
    const void *crooked = (const char *)x + 4;
    refused(f, SPMVX_ERR_ARGUMENT, "A is NULL", spmvx_mul(f->ctx, SPMVX_N, 1, NULL, x, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "x is NULL", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, NULL, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "x is NULL", spmvx_mul(f->ctx, SPMVX_N, 0, f->A, NULL, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "y is NULL", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x, 0, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "op is 2", spmvx_mul(f->ctx, (spmvx_op)2, 1, f->A, x, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "op is", spmvx_mul(f->ctx, (spmvx_op)-1, 1, f->A, x, 0, y));
    refused(f, SPMVX_ERR_UNSUPPORTED, "SPMVX_OPS_T", spmvx_mul(f->ctx, SPMVX_T, 1, f->A, x, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "x is 0x", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, crooked, 0, y + 2));
    refused(f, SPMVX_ERR_ARGUMENT, "y is 0x",
            spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x + 4, 0, (char *)room + 4));
    refused(f, SPMVX_ERR_ARGUMENT, "x is 0x",
            spmvx_mul(f->ctx, SPMVX_N, 1, f->single, (const char *)x + 2, 0, y));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x, 0, x));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x, 0, x + 3));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x + 2, 0, x));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_mul(f->ctx, SPMVX_T, 1, f->wide, x, 0, x + 2));
    refused(f, SPMVX_ERR_ARGUMENT, "A is NULL", spmvx_mul_prepare(f->ctx, NULL, SPMVX_N, 1));
    refused(f, SPMVX_ERR_ARGUMENT, "op is 9", spmvx_mul_prepare(f->ctx, f->A, (spmvx_op)9, 1));
    refused(f, SPMVX_ERR_UNSUPPORTED, "SPMVX_OPS_T", spmvx_mul_prepare(f->ctx, f->A, SPMVX_T, 1));
    refused(f, SPMVX_ERR_ARGUMENT, "nvec is -1", spmvx_mul_prepare(f->ctx, f->A, SPMVX_N, -1));
    for (int i = 0; i < 12; i++) assert_true(room[i] == 7);
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x, 0, x + 4)); /* side by side is no overlap */
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1, f->A, x + 3, 0, x));
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_T, 1, f->wide, x, 0, x + 3));
    /* aligned for F32 */
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1, f->single, (const char *)x + 4, 0, y));
}

static void test_mul_multi(void **state)
{
    fixture *f = *state;
    double room[20];
    for (int i = 0; i < 20; i++) room[i] = 7;
    double *x = room, *y = room + 10;
    const int64_t huge = INT64_MAX / 16;
    refused(f, SPMVX_ERR_ARGUMENT, "A is NULL", spmvx_mul_multi(f->ctx, SPMVX_N, 1, NULL, 2, x, 4, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "op is 2",
            spmvx_mul_multi(f->ctx, (spmvx_op)2, 1, f->A, 2, x, 4, 0, y, 3));
    refused(f, SPMVX_ERR_UNSUPPORTED, "SPMVX_OPS_T",
            spmvx_mul_multi(f->ctx, SPMVX_T, 1, f->A, 2, x, 4, 0, y, 4));
    refused(f, SPMVX_ERR_ARGUMENT, "nvec is -1",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, -1, x, 4, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "X is NULL",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, NULL, 4, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "Y is NULL",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 4, 0, NULL, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "ldx is 3", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 3, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "ldy is 2", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 4, 0, y, 2));
    refused(f, SPMVX_ERR_ARGUMENT, "ldx is -4", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, -4, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "ldx is 2",
            spmvx_mul_multi(f->ctx, SPMVX_T, 1, f->wide, 2, x, 2, 0, y, 4));
    refused(f, SPMVX_ERR_ARGUMENT, "ldy is 3",
            spmvx_mul_multi(f->ctx, SPMVX_T, 1, f->wide, 2, x, 3, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 5, 0, x + 8, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x + 6, 4, 0, x, 5));
    refused(f, SPMVX_ERR_ARGUMENT, "X is 0x",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, (char *)x + 1, 4, 0, y, 3));
    refused(f, SPMVX_ERR_ARGUMENT, "Y is 0x",
            spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 4, 0, (char *)y + 4, 3));
    refused(f, SPMVX_ERR_RANGE, "ldx", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 1000, x, huge, 0, y, 3));
    refused(f, SPMVX_ERR_RANGE, "ldy", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 3, x, 4, 0, y, huge));
    refused(f, SPMVX_ERR_RANGE, "nvec", spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, INT64_MAX, x, 4, 0, y, 3));
    assert_ok(f->ctx, spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 0, NULL, 4, 0, NULL, 3));
    assert_ok(f->ctx, spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 0, x, 4, 0, y, 3));
    for (int i = 0; i < 20; i++) assert_true(room[i] == 7);
    assert_ok(f->ctx, spmvx_mul_multi(f->ctx, SPMVX_N, 1, f->A, 2, x, 5, 0, x + 9, 3));
}

/* ---- products of sparse matrices, kernels, wisdom ---- */

static void refuse_product(fixture *f, spmvx_status status, const char *text, const spmvx_matrix *A,
                           const spmvx_matrix *B, const spmspm_options *o)
{
    spmvx_matrix *m = NOT_WRITTEN;
    spmspm_plan *plan = NOT_WRITTEN;
    refused(f, status, text, spmspm_mul(f->ctx, A, B, o, &m));
    refused(f, status, text, spmspm_plan_create(f->ctx, A, B, o, &plan));
    if (!o) refused(f, status, text, spmspm_plan_mul(f->ctx, NOT_WRITTEN, A, B, &m));
    if (!o) refused(f, status, text, spmspm_plan_refill(f->ctx, NOT_WRITTEN, A, B, f->wide));
    assert_ptr_equal(m, NOT_WRITTEN);
    assert_ptr_equal(plan, NOT_WRITTEN);
}

static void test_products(void **state)
{
    fixture *f = *state;
    spmvx_matrix *m = NOT_WRITTEN;
    refuse_product(f, SPMVX_ERR_ARGUMENT, "A is NULL", NULL, f->B, NULL);
    refuse_product(f, SPMVX_ERR_ARGUMENT, "B is NULL", f->A, NULL, NULL);
    spmspm_plan *plan = NOT_WRITTEN;
    refused(f, SPMVX_ERR_UNSUPPORTED, "not in this version",
            spmspm_plan_create(f->ctx, f->A, f->B, NULL, &plan));
    refused(f, SPMVX_ERR_UNSUPPORTED, "not in this version",
            spmspm_plan_mul(f->ctx, NOT_WRITTEN, f->A, f->B, &m));
    refused(f, SPMVX_ERR_UNSUPPORTED, "not in this version",
            spmspm_plan_refill(f->ctx, NOT_WRITTEN, f->A, f->B, f->wide));
    assert_ptr_equal(plan, NOT_WRITTEN);
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_mul(f->ctx, f->A, f->B, NULL, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmspm_plan_create(f->ctx, f->A, f->B, NULL, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "plan is NULL", spmspm_plan_mul(f->ctx, NULL, f->A, f->B, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_plan_mul(f->ctx, NOT_WRITTEN, f->A, f->B, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "plan is NULL", spmspm_plan_refill(f->ctx, NULL, f->A, f->B, f->wide));
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_plan_refill(f->ctx, NOT_WRITTEN, f->A, f->B, NULL));
    refused(f, SPMVX_ERR_UNSUPPORTED, "not in this version",
            spmspm_triple(f->ctx, f->B, f->A, f->B, NULL, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "R is NULL", spmspm_triple(f->ctx, NULL, f->A, f->B, NULL, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "A is NULL", spmspm_triple(f->ctx, f->B, NULL, f->B, NULL, &m));
    refused(f, SPMVX_ERR_ARGUMENT, "C is NULL", spmspm_triple(f->ctx, f->B, f->A, f->B, NULL, NULL));
    assert_ptr_equal(m, NOT_WRITTEN);
    spmspm_info info = SPMSPM_INFO_INIT;
    refused_alone(SPMVX_ERR_ARGUMENT, "plan is NULL", spmspm_plan_get_info(NULL, &info));
    refused_alone(SPMVX_ERR_ARGUMENT, "info is NULL", spmspm_plan_get_info(NOT_WRITTEN, NULL));
    refused_alone(SPMVX_ERR_UNSUPPORTED, "not in this version", spmspm_plan_get_info(NOT_WRITTEN, &info));
    assert_null(info.kernel);
}

static void test_triple_names_p(void **state)
{
    fixture *f = *state;
    spmvx_matrix *m = NOT_WRITTEN;
    refused(f, SPMVX_ERR_ARGUMENT, "P is NULL", spmspm_triple(f->ctx, f->B, f->A, NULL, NULL, &m));
    assert_ptr_equal(m, NOT_WRITTEN);
}

static void test_product_options(void **state)
{
    fixture *f = *state;
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.flags = 1;
    refuse_product(f, SPMVX_ERR_ARGUMENT, "options.flags is 0x1", f->A, f->B, &o);
    o = (spmspm_options)SPMSPM_OPTIONS_INIT;
    o.format = (spmvx_format)99;
    refuse_product(f, SPMVX_ERR_ARGUMENT, "options.format is 99", f->A, f->B, &o);
}

static void test_product_shapes(void **state)
{
    fixture *f = *state;
    spmvx_matrix *m = NOT_WRITTEN;
    refuse_product(f, SPMVX_ERR_SHAPE, "4", f->A, f->A, NULL);
    refused(f, SPMVX_ERR_SHAPE, "4", spmspm_triple(f->ctx, f->A, f->A, f->B, NULL, &m));
    refused(f, SPMVX_ERR_SHAPE, "4", spmspm_triple(f->ctx, f->B, f->A, f->A, NULL, &m));
    refuse_product(f, SPMVX_ERR_TYPE, "B", f->B, f->single, NULL);
    assert_ptr_equal(m, NOT_WRITTEN);
}

static void test_kernel_index(void **state)
{
    (void)state;
    spmvx_kernel_info info = SPMVX_KERNEL_INFO_INIT;
    refused_alone(SPMVX_ERR_ARGUMENT, "i is -2", spmvx_kernel_get_info(-2, &info));
    refused_alone(SPMVX_ERR_ARGUMENT, "i is 2147483647", spmvx_kernel_get_info(INT32_MAX, &info));
    refused_alone(SPMVX_ERR_ARGUMENT, "info is NULL", spmvx_kernel_get_info(0, NULL));
    assert_null(info.name);
}

static void test_wisdom(void **state)
{
    fixture *f = *state;
    char buf[8] = "1234567";
    size_t len = sizeof buf;
    assert_fails(SPMVX_ERR_ARGUMENT, "len is NULL", spmvx_wisdom_export(f->ctx, buf, NULL));
    refused(f, SPMVX_ERR_LIMIT, "*len is 8", spmvx_wisdom_export(f->ctx, buf, &len));
    assert_int_equal(len, sizeof buf);
    assert_string_equal(buf, "1234567");
    refused(f, SPMVX_ERR_ARGUMENT, "buf is NULL", spmvx_wisdom_import(f->ctx, NULL, 3));
    refused(f, SPMVX_ERR_FILE, "line 1", spmvx_wisdom_import(f->ctx, "", 0));
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_texts),          TEST(test_destroy_null),
        TEST(test_null_context),   TEST(test_last_error_stays),
        TEST(test_input_structs),  TEST(test_output_structs),
        TEST(test_context_create), TEST(test_context_place),
        TEST(test_context_calls),  TEST(test_buffers),
        TEST(test_create_values),  TEST(test_create_formats),
        TEST(test_create_types),   TEST(test_create_csr),
        TEST(test_create_coo),     TEST(test_create_sell),
        TEST(test_create_accepts), TEST(test_views),
        TEST(test_read),           TEST(test_write),
        TEST(test_convert_values), TEST(test_convert_kernels),
        TEST(test_update),         TEST(test_mul),
        TEST(test_mul_multi),      TEST(test_products),
        TEST(test_triple_names_p), TEST(test_product_options),
        TEST(test_product_shapes), TEST(test_kernel_index),
        TEST(test_wisdom),
    };
    return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
