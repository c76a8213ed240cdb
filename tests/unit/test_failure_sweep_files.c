/* Reading and writing of files of every kind, with each allocation failing in turn. */
#include "failure_sweep.h"

#include <stdio.h>
#include <string.h>

static char plain[300], packed[300], numpy[300];

static spmvx_status read_data(world *w, const sweep *s)
{
    char path[512];
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.val_type = s->flags ? SPMVX_F32 : SPMVX_F64;
    return spmvx_matrix_read(w->ctx, strchr(s->path, '/') ? s->path : test_data(s->path, path), &o, &w->out);
}

/* Whether this build writes files of the path's kind. */
static bool writes(const char *path)
{
    world w;
    world_open(&w);
    const spmvx_status s = spmvx_matrix_write(w.ctx, w.source[CSR], path, NULL);
    world_close(&w);
    remove(path);
    return s == SPMVX_OK;
}

static void test_files(void **state)
{
    const sweep list[] = {
        { .name = "write CSR", .call = write_file, .source = CSR, .path = plain },
        { .name = "write COO", .call = write_file, .source = MIXED, .path = plain },
        { .name = "write SELL", .call = write_file, .source = SELL, .path = plain },
        { .name = "read plain", .call = read_data, .path = plain },
        { .name = "read plain F32", .call = read_data, .path = plain, .flags = 1 },
        { .name = "read Rutherford-Boeing", .call = read_data, .path = "hand5.rua" },
        { .name = "read Rutherford-Boeing, symmetric pattern", .call = read_data, .path = "path6.psa" },
    };
    (void)state;
    RUN(list);
    remove(plain);
}

static void test_compressed_files(void **state)
{
    const sweep list[] = {
        { .name = "write .gz", .call = write_file, .source = CSR, .path = packed },
        { .name = "write SELL .gz", .call = write_file, .source = SELL, .path = packed },
        { .name = "read .gz", .call = read_data, .path = packed },
        { .name = "read general", .call = read_data, .path = "arc130.mtx.gz" },
        { .name = "read symmetric", .call = read_data, .path = "662_bus.mtx.gz" },
        { .name = "read pattern", .call = read_data, .path = "jagmesh7.mtx.gz" },
    };
    (void)state;
    if (!writes(packed)) skip();
    RUN(list);
    remove(packed);
}

static void test_npz_files(void **state)
{
    const sweep list[] = {
        { .name = "write COO .npz", .call = write_file, .source = MIXED, .path = numpy },
        { .name = "read COO .npz", .call = read_data, .path = numpy },
        { .name = "write SELL .npz", .call = write_file, .source = SELL, .path = numpy },
        { .name = "read CSR .npz", .call = read_data, .path = numpy },
        { .name = "read CSR .npz F32", .call = read_data, .path = numpy, .flags = 1 },
    };
    (void)state;
    if (!writes(numpy)) skip();
    RUN(list);
    remove(numpy);
}

static int begin_with_names(void **state)
{
    if (begin(state)) return 1;
    snprintf(plain, sizeof plain, "%s/A.mtx", folder);
    snprintf(packed, sizeof packed, "%s/A.mtx.gz", folder);
    snprintf(numpy, sizeof numpy, "%s/A.npz", folder);
    return 0;
}

static int end_without_them(void **state)
{
    remove(plain);
    remove(packed);
    remove(numpy);
    return end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_compressed_files),
        cmocka_unit_test(test_npz_files),
    };
    return cmocka_run_group_tests_name("failure sweep files", tests, begin_with_names, end_without_them);
}
