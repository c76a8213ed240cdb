/* A context: where work runs, with its workspace, last error and what it learned. */
#ifndef SPX_CONTEXT_H
#define SPX_CONTEXT_H
#include "core/backend.h"

/* Blocks of the place's memory for multiplications: they grow by adding, never move, and live until the context is
 * trimmed or ends, since a captured graph may hold their addresses. */
typedef struct spx_block {
    struct spx_block *next;
    size_t bytes;
    void *data;
} spx_block;

struct spx_wisdom;   /* dispatch/wisdom.h */

/* What the model of a multiplication's time knows of the machine. Wisdom may replace it: `spmvx tune` measures it. */
typedef struct spx_machine {
    double memory;              /* GB/s that one thread reads from memory */
    double more;                /* what each further thread adds, as a part of that */
    double cache;               /* GB/s that one thread reads from the last cache */
    double near, mid, cached;   /* bytes of the first cache, of the second, of what the last one holds for all threads */
    double compute;             /* time of computing, and of gathers beyond the second cache, against the machine on which the */
    double far;                 /* kernels' rates were measured */
} spx_machine;
extern const spx_machine spx_machine_preset;

struct spmvx_context {
    spx_allocator allocator;
    const spx_backend *backend;
    int32_t device, threads;
    uint32_t flags;
    void (*log)(void *user, spmvx_level, const char *message);
    void *log_user;
    void *backend_state;
    char name[96];
    spx_block *blocks;
    size_t block_bytes;
    struct spx_wisdom *wisdom;
    spx_machine machine;
    bool machine_known;         /* by wisdom */
    char *error;   /* [SPX_MESSAGE], written under const handles, too */
};

spmvx_status spx_context_new(const spmvx_context_options *, spmvx_context **out);
void spx_context_free(spmvx_context *);

/* On a GPU, workspace is zero whenever no multiplication runs: its blocks count themselves there, and a kernel clears what it wrote. */
/* Workspace that is no context's; ends by the backend's release. */
spmvx_status spx_workspace_alone(const spmvx_context *, size_t bytes, void **out);
/* Workspace of at least `bytes`: the first block that is large enough, or a new one. 0 bytes give NULL. */
spmvx_status spx_workspace(spmvx_context *, size_t bytes, void **out);
void spx_workspace_trim(spmvx_context *);

__attribute__((format(printf, 3, 4)))
void spx_log(const spmvx_context *, spmvx_level, const char *format, ...);
#endif
