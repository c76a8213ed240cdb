/* A matrix ready to multiply: arrays, kernel and partition, once for op N and, when asked for, once for op
 * T. */
#ifndef SPX_MATRIX_H
#define SPX_MATRIX_H
#include "dispatch/registry.h"
#include "format/format.h"

enum { SPX_REASON = 640 };

/* op(A), ready to multiply. */
typedef struct spx_operator {
    spx_sparse A;      /* op(A), where the context computes */
    spx_choice choice; /* kernel NULL: none of this place takes the format; convert */
    spx_partition part;
    spx_choice multi; /* for several columns; kernel NULL: column by column */
    spx_partition multi_part;
    double expected_ns; /* of a multiplication, where a choice was made; else 0 */
    spx_array *map; /* updatable: 1 + input position of every stored value, 0 for padding; NULL: its own */
    spmvx_type map_type;
    spx_array
        *map_ptr; /* where repeats are added up: map[map_ptr[i]] ... belong to stored value i; else NULL */
} spx_operator;

struct spmvx_matrix {
    spx_allocator allocator;
    spmvx_place place;
    int32_t device;
    uint32_t ops;
    bool updatable;
    bool borrowed; /* every value of every operator is the caller's */
    /* Where the order of the first input is still known: position i of the stored values is input i;
     * position i of the values in CSR is input i. */
    bool stored_is_input, csr_is_input;
    spx_operator op[2]; /* by spmvx_op */
    char kernel[SPX_SPEC], reason[SPX_REASON];
};

/* An empty matrix of the context's place; and its end, at any state. */
spmvx_status spx_matrix_new(const spmvx_context *, spmvx_matrix **out);
void spx_matrix_free(spmvx_matrix *);

/* Prepares an operator that has its arrays for a kernel; and for a kernel of several columns. */
spmvx_status spx_operator_prepare(const spmvx_context *, spx_operator *, const spx_choice *);
spmvx_status spx_operator_prepare_multi(const spmvx_context *, spx_operator *, const spx_choice *);
void spx_operator_drop(spx_operator *);
/* Bytes of the matrix that one multiplication reads. */
size_t spx_operator_streamed(const spx_operator *);
size_t spx_operator_bytes(const spx_operator *);
/* Of both operators; arrays that they share are counted once, borrowed ones not. */
size_t spx_matrix_bytes(const spmvx_matrix *);

/* A matrix of arrays in host memory, which are taken over (owned by the result, or dropped on failure) and
 * brought to where the context computes, with the best kernel of their format. private_values: its values
 * are shared with nobody. */
spmvx_status spx_matrix_from_host(spmvx_context *, spx_sparse *, bool private_values, spmvx_matrix **out);
/* The same of arrays where the context computes. `host` has them in host memory, too, or is empty: then
 * they are looked at where they lie, or, where no multiplications are expected, not at all. ahead, or NULL:
 * that look has been queued (the backend's features_ahead()), and is taken or forgotten. All are taken
 * over. */
enum { SPX_EXPECTED_MULS = 1000 }; /* where the caller does not say */
spmvx_status spx_matrix_adopt(spmvx_context *, spx_sparse *arrays, spx_sparse *host, int64_t expected_muls,
                              bool private_values, bool *ahead, spmvx_matrix **out);
/* spmvx_matrix_convert with checked options. */
spmvx_status spx_matrix_convert(spmvx_context *, const spmvx_matrix *, const spmvx_convert_options *,
                                spmvx_matrix **out);

/* Workspace for op and nvec; and the product itself, arguments checked. */
spmvx_status spx_mul_reserve(spmvx_context *, const spmvx_matrix *, spmvx_op, int64_t nvec);
spmvx_status spx_mul_run(spmvx_context *, spmvx_op, double alpha, const spmvx_matrix *, int64_t nvec,
                         const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);
spmvx_status spx_matrix_update(spmvx_context *, spmvx_matrix *, const void *val);
/* Brings copies of the values, which partitions hold, up to date with values that were written. */
spmvx_status spx_matrix_refresh(const spmvx_context *, const spmvx_matrix *);
#endif
