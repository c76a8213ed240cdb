/* The ABI of version 0.1 as numbers: sizes, offsets, enum values, flags, types of the functions. A change
 * that breaks this file breaks programs that are built already; it may only grow. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "spmvx/spmvx.h"

#define VALUE(name, value) _Static_assert((name) == (value), #name)

/* ---- enums ---- */

_Static_assert(sizeof(spmvx_status) == 4, "spmvx_status");
VALUE(SPMVX_OK, 0);
VALUE(SPMVX_ERR_ARGUMENT, -1);
VALUE(SPMVX_ERR_MEMORY, -2);
VALUE(SPMVX_ERR_SHAPE, -3);
VALUE(SPMVX_ERR_TYPE, -4);
VALUE(SPMVX_ERR_RANGE, -5);
VALUE(SPMVX_ERR_PLACE, -6);
VALUE(SPMVX_ERR_UNSUPPORTED, -7);
VALUE(SPMVX_ERR_DEVICE, -8);
VALUE(SPMVX_ERR_IO, -9);
VALUE(SPMVX_ERR_FILE, -10);
VALUE(SPMVX_ERR_LIMIT, -11);
VALUE(SPMVX_ERR_PATTERN, -12);
VALUE(SPMVX_ERR_CANCELLED, -13);
VALUE(SPMVX_ERR_INTERNAL, -14);
VALUE(SPMVX_ERR_FORCE32, 2147483647);

_Static_assert(sizeof(spmvx_type) == 4, "spmvx_type");
VALUE(SPMVX_I32, 1);
VALUE(SPMVX_I64, 2);
VALUE(SPMVX_F32, 3);
VALUE(SPMVX_F64, 4);
VALUE(SPMVX_TYPE_FORCE32, 2147483647);

_Static_assert(sizeof(spmvx_format) == 4, "spmvx_format");
VALUE(SPMVX_AUTO, 0);
VALUE(SPMVX_COO, 1);
VALUE(SPMVX_CSR, 2);
VALUE(SPMVX_CSC, 3);
VALUE(SPMVX_ELL, 4);
VALUE(SPMVX_SELL, 5);
VALUE(SPMVX_CSR5, 6);
VALUE(SPMVX_HYB, 7);
VALUE(SPMVX_DIA, 8);
VALUE(SPMVX_BSR, 9);
VALUE(SPMVX_TILED, 10);
VALUE(SPMVX_PACKED, 11);
VALUE(SPMVX_PKT, 12);
VALUE(SPMVX_FORMAT_FORCE32, 2147483647);

_Static_assert(sizeof(spmvx_place) == 4, "spmvx_place");
VALUE(SPMVX_HOST, 0);
VALUE(SPMVX_CUDA, 1);
VALUE(SPMVX_ANY, 2);
VALUE(SPMVX_PLACE_FORCE32, 2147483647);

_Static_assert(sizeof(spmvx_op) == 4, "spmvx_op");
VALUE(SPMVX_N, 0);
VALUE(SPMVX_T, 1);
VALUE(SPMVX_OP_FORCE32, 2147483647);

_Static_assert(sizeof(spmvx_order) == 4, "spmvx_order");
VALUE(SPMVX_ROW_MAJOR, 0);
VALUE(SPMVX_COLUMN_MAJOR, 1);
VALUE(SPMVX_ORDER_FORCE32, 2147483647);

_Static_assert(sizeof(spmvx_symmetry) == 4, "spmvx_symmetry");
VALUE(SPMVX_GENERAL, 0);
VALUE(SPMVX_SYMMETRIC, 1);
VALUE(SPMVX_SKEW_SYMMETRIC, 2);
VALUE(SPMVX_SYMMETRY_FORCE32, 2147483647);

_Static_assert(sizeof(spmvx_compression) == 4, "spmvx_compression");
VALUE(SPMVX_BY_NAME, 0);
VALUE(SPMVX_UNCOMPRESSED, 1);
VALUE(SPMVX_GZIP, 2);
VALUE(SPMVX_ZSTD, 3);
VALUE(SPMVX_XZ, 4);
VALUE(SPMVX_COMPRESSION_FORCE32, 2147483647);

_Static_assert(sizeof(spmvx_reordering) == 4, "spmvx_reordering");
VALUE(SPMVX_RCM, 1);
VALUE(SPMVX_DEGREE, 2);
VALUE(SPMVX_CLUSTER, 3);
VALUE(SPMVX_REORDERING_FORCE32, 2147483647);

_Static_assert(sizeof(spmvx_level) == 4, "spmvx_level");
VALUE(SPMVX_LOG_WARNING, 1);
VALUE(SPMVX_LOG_INFO, 2);
VALUE(SPMVX_LOG_DEBUG, 3);
VALUE(SPMVX_LOG_FORCE32, 2147483647);

_Static_assert(sizeof(spmvx_operation) == 4, "spmvx_operation");
VALUE(SPMVX_MUL, 1);
VALUE(SPMVX_MUL_MULTI, 2);
VALUE(SPMVX_SPMSPM, 3);
VALUE(SPMVX_OPERATION_FORCE32, 2147483647);

/* ---- flags: disjoint over all sets ---- */

VALUE(SPMVX_CONTEXT_CHECK, 0x100u);
VALUE(SPMVX_CONTEXT_POOL, 0x200u);
VALUE(SPMVX_BORROW, 0x1u);
VALUE(SPMVX_TRUST, 0x2u);
VALUE(SPMVX_ALLOW_NONDETERMINISTIC, 0x10u);
VALUE(SPMVX_UPDATABLE, 0x20u);
VALUE(SPMVX_OPS_N, 1u);
VALUE(SPMVX_OPS_T, 2u);
VALUE(SPMVX_IS_BORROWED, 0x1000u);
VALUE(SPMVX_IS_UPDATABLE, 0x2000u);
VALUE(SPMVX_IS_DETERMINISTIC, 0x4000u);
VALUE(SPMVX_KERNEL_DETERMINISTIC, 0x10000u);
VALUE(SPMVX_KERNEL_AVAILABLE, 0x20000u);

/* ---- structs, where pointers, size_t and int64_t have 8 bytes ---- */

#if UINTPTR_MAX == 0xffffffffffffffff && SIZE_MAX == 0xffffffffffffffff

#define AT(field, offset) \
    _Static_assert(offsetof(spmvx_context_options, field) == (offset), "spmvx_context_options." #field)
_Static_assert(sizeof(spmvx_context_options) == 64, "spmvx_context_options");
AT(size, 0);
AT(place, 8);
AT(device, 12);
AT(threads, 16);
AT(flags, 20);
AT(stream, 24);
AT(alloc, 32);
AT(release, 40);
AT(log, 48);
AT(user, 56);
#undef AT

#define AT(field, offset) \
    _Static_assert(offsetof(spmvx_context_info, field) == (offset), "spmvx_context_info." #field)
_Static_assert(sizeof(spmvx_context_info) == 40, "spmvx_context_info");
AT(size, 0);
AT(place, 8);
AT(device, 12);
AT(threads, 16);
AT(flags, 20);
AT(name, 24);
AT(bytes_held, 32);
#undef AT

#define AT(field, offset) _Static_assert(offsetof(spmvx_arrays, field) == (offset), "spmvx_arrays." #field)
_Static_assert(sizeof(spmvx_arrays) == 128, "spmvx_arrays");
AT(size, 0);
AT(format, 8);
AT(ptr_type, 12);
AT(idx_type, 16);
AT(val_type, 20);
AT(place, 24);
AT(device, 28);
AT(block_order, 32);
AT(reserved, 36);
AT(nrows, 40);
AT(ncols, 48);
AT(nnz, 56);
AT(block_rows, 64);
AT(block_cols, 72);
AT(slice, 80);
AT(width, 88);
AT(ptr, 96);
AT(row, 104);
AT(col, 112);
AT(val, 120);
#undef AT

#define AT(field, offset) \
    _Static_assert(offsetof(spmvx_read_options, field) == (offset), "spmvx_read_options." #field)
_Static_assert(sizeof(spmvx_read_options) == 48, "spmvx_read_options");
AT(size, 0);
AT(val_type, 8);
AT(flags, 12);
AT(max_bytes, 16);
AT(progress, 24);
AT(user, 32);
AT(symmetry, 40); /* of 40 bytes in 0.1 */
#undef AT

#define AT(field, offset) \
    _Static_assert(offsetof(spmvx_write_options, field) == (offset), "spmvx_write_options." #field)
_Static_assert(sizeof(spmvx_write_options) == 48, "spmvx_write_options");
AT(size, 0);
AT(digits, 8);
AT(level, 12);
AT(flags, 16);
AT(reserved, 20);
AT(progress, 24); /* of 24 bytes in 0.1 */
AT(user, 32);
AT(symmetry, 40);
AT(compression, 44);
#undef AT

#define AT(field, offset) \
    _Static_assert(offsetof(spmvx_reorder_options, field) == (offset), "spmvx_reorder_options." #field)
_Static_assert(sizeof(spmvx_reorder_options) == 24, "spmvx_reorder_options");
AT(size, 0);
AT(method, 8);
AT(flags, 12);
AT(max_bytes, 16);
#undef AT

#define AT(field, offset) \
    _Static_assert(offsetof(spmvx_convert_options, field) == (offset), "spmvx_convert_options." #field)
_Static_assert(sizeof(spmvx_convert_options) == 88, "spmvx_convert_options");
AT(size, 0);
AT(format, 8);
AT(effort, 12);
AT(kernel, 16);
AT(expected_muls, 24);
AT(nvec, 32);
AT(slice, 40);
AT(sigma, 48);
AT(block_rows, 56);
AT(block_cols, 64);
AT(max_bytes, 72);
AT(ops, 80);
AT(flags, 84);
#undef AT

#define AT(field, offset) \
    _Static_assert(offsetof(spmvx_matrix_info, field) == (offset), "spmvx_matrix_info." #field)
_Static_assert(sizeof(spmvx_matrix_info) == 104, "spmvx_matrix_info");
AT(size, 0);
AT(format, 8);
AT(place, 12);
AT(val_type, 16);
AT(device, 20);
AT(ops, 24);
AT(flags, 28);
AT(nrows, 32);
AT(ncols, 40);
AT(nnz, 48);
AT(stored, 56);
AT(bytes_held, 64);
AT(bytes_streamed, 72);
AT(kernel, 80);
AT(reason, 88);
AT(expected_s, 96);
#undef AT

#define AT(field, offset) \
    _Static_assert(offsetof(spmspm_options, field) == (offset), "spmspm_options." #field)
_Static_assert(sizeof(spmspm_options) == 40, "spmspm_options");
AT(size, 0);
AT(format, 8);
AT(flags, 12);
AT(kernel, 16);
AT(max_workspace, 24);
AT(max_bytes, 32); /* of 32 bytes in 0.1 */
#undef AT

#define AT(field, offset) _Static_assert(offsetof(spmspm_info, field) == (offset), "spmspm_info." #field)
_Static_assert(sizeof(spmspm_info) == 72, "spmspm_info");
AT(size, 0);
AT(nrows, 8);
AT(ncols, 16);
AT(nnz, 24);
AT(products, 32);
AT(workspace, 40);
AT(bytes_held, 48);
AT(kernel, 56);
AT(reason, 64);
#undef AT

#define AT(field, offset) \
    _Static_assert(offsetof(spmvx_kernel_info, field) == (offset), "spmvx_kernel_info." #field)
_Static_assert(sizeof(spmvx_kernel_info) == 64, "spmvx_kernel_info");
AT(size, 0);
AT(operation, 8);
AT(format, 12);
AT(place, 16);
AT(types, 20);
AT(ops, 24);
AT(flags, 28);
AT(name, 32);
AT(summary, 40);
AT(source, 48);
AT(parameters, 56);
#undef AT

#endif

/* ---- functions: declared again, so that another type is an error ---- */

int32_t spmvx_version(void);
const char *spmvx_version_string(void);
const char *spmvx_status_string(spmvx_status);
const char *spmvx_last_error(const spmvx_context *);
spmvx_status spmvx_context_create(const spmvx_context_options *, spmvx_context **out);
spmvx_status spmvx_context_set_stream(spmvx_context *, void *stream);
spmvx_status spmvx_context_synchronize(spmvx_context *);
spmvx_status spmvx_context_get_info(const spmvx_context *, spmvx_context_info *);
spmvx_status spmvx_context_trim(spmvx_context *);
void spmvx_context_destroy(spmvx_context *);
spmvx_status spmvx_buffer_alloc(spmvx_context *, size_t bytes, void **out);
spmvx_status spmvx_buffer_upload(spmvx_context *, void *dst, const void *host_src, size_t bytes);
spmvx_status spmvx_buffer_download(spmvx_context *, void *host_dst, const void *src, size_t bytes);
void spmvx_buffer_free(spmvx_context *, void *);
spmvx_status spmvx_matrix_create(spmvx_context *, const spmvx_arrays *, uint32_t flags, spmvx_matrix **out);
spmvx_status spmvx_matrix_arrays(const spmvx_matrix *, spmvx_arrays *view);
spmvx_status spmvx_matrix_read(spmvx_context *, const char *path, const spmvx_read_options *,
                               spmvx_matrix **out);
spmvx_status spmvx_matrix_write(spmvx_context *, const spmvx_matrix *, const char *path,
                                const spmvx_write_options *);
spmvx_status spmvx_matrix_convert(spmvx_context *, const spmvx_matrix *, const spmvx_convert_options *,
                                  spmvx_matrix **out);
spmvx_status spmvx_matrix_transpose(spmvx_context *, const spmvx_matrix *, spmvx_matrix **out);
spmvx_status spmvx_matrix_reorder(spmvx_context *, const spmvx_matrix *A, const spmvx_reorder_options *,
                                  int32_t *rows, int32_t *cols, spmvx_matrix **out);
spmvx_status spmvx_matrix_update_values(spmvx_context *, spmvx_matrix *, const void *val);
spmvx_status spmvx_matrix_get_info(const spmvx_matrix *, spmvx_matrix_info *);
void spmvx_matrix_destroy(spmvx_matrix *);
spmvx_status spmvx_mul_prepare(spmvx_context *, const spmvx_matrix *A, spmvx_op, int64_t nvec);
spmvx_status spmvx_mul(spmvx_context *, spmvx_op, double alpha, const spmvx_matrix *A, const void *x,
                       double beta, void *y);
spmvx_status spmvx_mul_multi(spmvx_context *, spmvx_op, double alpha, const spmvx_matrix *A, int64_t nvec,
                             const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);
spmvx_status spmspm_mul(spmvx_context *, const spmvx_matrix *A, const spmvx_matrix *B, const spmspm_options *,
                        spmvx_matrix **C);
spmvx_status spmspm_triple(spmvx_context *, const spmvx_matrix *R, const spmvx_matrix *A,
                           const spmvx_matrix *P, const spmspm_options *, spmvx_matrix **C);
spmvx_status spmspm_plan_create(spmvx_context *, const spmvx_matrix *A, const spmvx_matrix *B,
                                const spmspm_options *, spmspm_plan **out);
spmvx_status spmspm_plan_get_info(const spmspm_plan *, spmspm_info *);
spmvx_status spmspm_plan_mul(spmvx_context *, const spmspm_plan *, const spmvx_matrix *A,
                             const spmvx_matrix *B, spmvx_matrix **C);
spmvx_status spmspm_plan_refill(spmvx_context *, const spmspm_plan *, const spmvx_matrix *A,
                                const spmvx_matrix *B, spmvx_matrix *C);
void spmspm_plan_destroy(spmspm_plan *);
int32_t spmvx_kernel_count(void);
spmvx_status spmvx_kernel_get_info(int32_t i, spmvx_kernel_info *);
spmvx_status spmvx_wisdom_export(const spmvx_context *, char *buf, size_t *len);
spmvx_status spmvx_wisdom_import(spmvx_context *, const char *buf, size_t len);

/* ---- what the INIT macros hold ---- */

static const spmvx_context_options context_options = SPMVX_CONTEXT_OPTIONS_INIT;
static const spmvx_context_info context_info = SPMVX_CONTEXT_INFO_INIT;
static const spmvx_arrays arrays = SPMVX_ARRAYS_INIT;
static const spmvx_read_options read_options = SPMVX_READ_OPTIONS_INIT;
static const spmvx_write_options write_options = SPMVX_WRITE_OPTIONS_INIT;
static const spmvx_convert_options convert_options = SPMVX_CONVERT_OPTIONS_INIT;
static const spmvx_reorder_options reorder_options = SPMVX_REORDER_OPTIONS_INIT;
static const spmvx_matrix_info matrix_info = SPMVX_MATRIX_INFO_INIT;
static const spmspm_options product_options = SPMSPM_OPTIONS_INIT;
static const spmspm_info product_info = SPMSPM_INFO_INIT;
static const spmvx_kernel_info kernel_info = SPMVX_KERNEL_INFO_INIT;

/* Beside the size, only these 32-bit fields are not zero. */
typedef struct init {
    const char *name;
    const void *data;
    size_t size;
    struct {
        size_t offset;
        uint32_t value;
    } field[4];
} init;

static const init inits[] = {
    { "SPMVX_CONTEXT_OPTIONS_INIT", &context_options, sizeof context_options, { { 0, 0 } } },
    { "SPMVX_CONTEXT_INFO_INIT", &context_info, sizeof context_info, { { 0, 0 } } },
    { "SPMVX_ARRAYS_INIT",
      &arrays,
      sizeof arrays,
      { { offsetof(spmvx_arrays, format), 2 },
        { offsetof(spmvx_arrays, ptr_type), 1 },
        { offsetof(spmvx_arrays, idx_type), 1 },
        { offsetof(spmvx_arrays, val_type), 4 } } },
    { "SPMVX_READ_OPTIONS_INIT",
      &read_options,
      sizeof read_options,
      { { offsetof(spmvx_read_options, val_type), 4 } } },
    { "SPMVX_WRITE_OPTIONS_INIT", &write_options, sizeof write_options, { { 0, 0 } } },
    { "SPMVX_CONVERT_OPTIONS_INIT", &convert_options, sizeof convert_options, { { 0, 0 } } },
    { "SPMVX_REORDER_OPTIONS_INIT",
      &reorder_options,
      sizeof reorder_options,
      { { offsetof(spmvx_reorder_options, method), 1 } } },
    { "SPMVX_MATRIX_INFO_INIT",
      &matrix_info,
      sizeof matrix_info,
      { { offsetof(spmvx_matrix_info, val_type), 4 } } },
    { "SPMSPM_OPTIONS_INIT", &product_options, sizeof product_options, { { 0, 0 } } },
    { "SPMSPM_INFO_INIT", &product_info, sizeof product_info, { { 0, 0 } } },
    { "SPMVX_KERNEL_INFO_INIT",
      &kernel_info,
      sizeof kernel_info,
      { { offsetof(spmvx_kernel_info, operation), 1 } } },
};

static int differs(const init *i)
{
    unsigned char wanted[256] = { 0 };
    memcpy(wanted, &i->size, sizeof i->size);
    for (size_t k = 0; k < 4; k++)
        if (i->field[k].offset) memcpy(wanted + i->field[k].offset, &i->field[k].value, 4);
    return memcmp(wanted, i->data, i->size) != 0;
}

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++)
        if (differs(&inits[i])) {
            fprintf(stderr, "%s holds something else than in version 0.1\n", inits[i].name);
            failures++;
        }
    return failures != 0;
}
