/* Shared by the tests of what a device builds. */
#ifndef BUILDERS_H
#define BUILDERS_H
#include "device.h"
#include "dispatch/features.h"
#include "dispatch/matrix.h"
#include "dispatch/transfer.h"

/* A CSR of the COO, made by the host; what a device makes of it, in whatever order it is, is the same. */
spx_sparse builders_csr(const spmvx_context *host, const spx_sparse *coo, const spmvx_context *ctx);
/* `rows` rows of 0 to `most` entries. */
triples builders_short_rows(int64_t rows, int most);
/* Three diagonals with a value each. */
triples builders_diagonals(int64_t rows);

/* builders_looks.c: its tests. */
int builders_looks_run(void);
#endif
