/* What every public function does with its arguments before anything else. */
#ifndef SPX_ARGS_H
#define SPX_ARGS_H
#include "core/error.h"

/* Copies the caller's struct over *dst, which holds the defaults: its size is at least `least` (version
 * 0.1's), and what it has beyond `known` is zero. NULL leaves the defaults. `name` is the argument's. */
spmvx_status spx_take_struct(const spmvx_context *, const char *name, const void *src, size_t least,
                             size_t known, void *dst);
/* Writes the first min(size, known) bytes, but for the size field. */
spmvx_status spx_give_struct(const spmvx_context *, const char *name, void *dst, size_t least, size_t known,
                             const void *src);

#define SPX_TAKE(ctx, name, src, dst) spx_take_struct(ctx, name, src, sizeof *(dst), sizeof *(dst), dst)
/* Of a struct that has grown since version 0.1: `grown` is the first field that 0.1 did not have. */
#define SPX_TAKE_GROWN(ctx, name, src, dst, type, grown) \
    spx_take_struct(ctx, name, src, offsetof(type, grown), sizeof *(dst), dst)
#define SPX_GIVE(ctx, name, dst, src) spx_give_struct(ctx, name, dst, sizeof *(src), sizeof *(src), src)
#define SPX_GIVE_GROWN(ctx, name, dst, src, type, grown) \
    spx_give_struct(ctx, name, dst, offsetof(type, grown), sizeof *(src), src)

spmvx_status spx_check_flags(const spmvx_context *, const char *name, uint32_t flags, uint32_t known);
/* value in low ... high */
spmvx_status spx_check_range(const spmvx_context *, const char *name, int64_t value, int64_t low,
                             int64_t high);

spmvx_status spx_check_value_type(const spmvx_context *, const char *name, spmvx_type);
spmvx_status spx_check_index_type(const spmvx_context *, const char *name, spmvx_type);
/* The context and the matrix are there. */
spmvx_status spx_check_source(const spmvx_context *, const char *name, const spmvx_matrix *);
/* And the matrix is where the context computes. */
spmvx_status spx_check_matrix(const spmvx_context *, const char *name, const spmvx_matrix *);
#endif
