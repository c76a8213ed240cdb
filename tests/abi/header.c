/* The public header alone, twice, as C11: it needs nothing before it, and its INIT macros compile. */
#include "spmvx/spmvx.h"
#include "spmvx/spmvx.h"

int main(void)
{
    const spmvx_context_options context = SPMVX_CONTEXT_OPTIONS_INIT;
    const spmvx_context_info context_info = SPMVX_CONTEXT_INFO_INIT;
    const spmvx_arrays arrays = SPMVX_ARRAYS_INIT;
    const spmvx_read_options reading = SPMVX_READ_OPTIONS_INIT;
    const spmvx_write_options writing = SPMVX_WRITE_OPTIONS_INIT;
    const spmvx_convert_options conversion = SPMVX_CONVERT_OPTIONS_INIT;
    const spmvx_matrix_info matrix_info = SPMVX_MATRIX_INFO_INIT;
    const spmspm_options product = SPMSPM_OPTIONS_INIT;
    const spmspm_info product_info = SPMSPM_INFO_INIT;
    const spmvx_kernel_info kernel_info = SPMVX_KERNEL_INFO_INIT;
    const size_t sizes = context.size + context_info.size + arrays.size + reading.size + writing.size +
                         conversion.size + matrix_info.size + product.size + product_info.size +
                         kernel_info.size;
    return sizes && spmvx_version() == SPMVX_VERSION ? 0 : 1;
}
