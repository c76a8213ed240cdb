/* What the tests of wrong arguments begin with. */
#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>

static const int32_t csr_ptr[] = { 0, 2, 2, 3 }, csr_col[] = { 0, 3, 1 }, coo_row[] = { 2, 0, 1 },
                     coo_col[] = { 3, 0, 2 };
const int64_t csr_ptr64[] = { 0, 2, 2, 3 }, csr_col64[] = { 0, 3, 1 };
const double csr_val[] = { 1, 2, 3 };
static const float csr_val32[] = { 1, 2, 3 };
static const int32_t sell_ptr[] = { 0, 8, 12 }, sell_row[] = { 1, 0, 2, 4, 3 };
const int32_t sell_col[] = { 0, 1, 2, 3, 1, -1, 3, -1, 2, -1, -1, -1 };
static const double sell_val[12] = { 1, 2, 3, 4, 5, 0, 6, 0, 7, 0, 0, 0 };

/* What they have alike. */
#define ALIKE                                                                                          \
    .size = sizeof(spmvx_arrays), .ptr_type = SPMVX_I32, .idx_type = SPMVX_I32, .val_type = SPMVX_F64, \
    .place = SPMVX_HOST, .block_order = SPMVX_ROW_MAJOR, .ncols = 4
const spmvx_arrays csr = { ALIKE,          .format = SPMVX_CSR, .nrows = 3,    .nnz = 3,
                           .ptr = csr_ptr, .col = csr_col,      .val = csr_val };
const spmvx_arrays coo = { ALIKE,          .format = SPMVX_COO, .nrows = 3,    .nnz = 3,
                           .row = coo_row, .col = coo_col,      .val = csr_val };
const spmvx_arrays sell = { ALIKE,           .format = SPMVX_SELL, .nrows = 5,
                            .nnz = 7,        .slice = 4,           .ptr = sell_ptr,
                            .row = sell_row, .col = sell_col,      .val = sell_val };

int setup(void **state)
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

int teardown(void **state)
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

void mark(const spmvx_context *ctx)
{
    assert_int_equal(spmvx_wisdom_export(ctx, NULL, NULL), SPMVX_ERR_ARGUMENT);
    assert_string_equal(spmvx_last_error(NULL), ctx ? "len is NULL" : "context is NULL");
}
