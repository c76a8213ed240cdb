/* Whose a matrix's arrays are. Either every value of every operator is the caller's, and the matrix
 * follows when he changes them (SPMVX_IS_BORROWED); or it holds none of his arrays, and nothing that he
 * does reaches it. */
#ifndef SPX_OWNERSHIP_H
#define SPX_OWNERSHIP_H
#include "dispatch/matrix.h"

/* Brings a matrix into one of the two states: copies what is borrowed, unless all values are. With
 * private_values its values are to be written: they are copied where they are borrowed or shared with
 * another matrix. */
spmvx_status spx_matrix_settle_ownership(const spmvx_context *, spmvx_matrix *, bool private_values);
#endif
