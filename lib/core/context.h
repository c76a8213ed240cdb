/* A context: where work runs, with its workspace, last error and what it learned. */
#ifndef SPX_CONTEXT_H
#define SPX_CONTEXT_H
#include "core/backend.h"
#include "core/threads.h"

/* Blocks of the place's memory for multiplications: they grow by adding, never move, and live until the
 * context is trimmed or ends, since a captured graph may hold their addresses. */
typedef struct spx_block {
    struct spx_block *next;
    spx_array *memory;
} spx_block;

struct spx_wisdom; /* dispatch/wisdom.h */

/* Kernels of the registry at most; and where a matrix may lie: in the second cache, the last, in memory, or
 * anywhere with columns of a row that reach beyond the second cache. */
enum { SPX_KERNELS = 128, SPX_IN_SECOND = 0, SPX_IN_LAST, SPX_IN_MEMORY, SPX_FAR, SPX_LEVELS };
/* And what its rows are: of 40 entries and more, 12 and more, fewer; or diagonals, for the formats that make
 * something of them. */
enum { SPX_LONG_ROWS, SPX_MIDDLE_ROWS, SPX_SHORT_ROWS, SPX_DIAGONALS, SPX_ROW_KINDS };

/* What the model of a multiplication's time knows of the machine that it runs on, a processor or a device.
 * Wisdom may replace what `spmvx tune` measures, which is the first eight. */
typedef struct spx_machine {
    double memory_rate;  /* bytes a nanosecond that one thread, or the device, reads from memory */
    double extra_thread; /* what each further thread adds, as a part of that */
    double cache_rate;   /* bytes a nanosecond that one thread, or the device, reads from the last cache */
    double first_cache;  /* bytes */
    double second_cache; /* bytes; of a device what L2 keeps of x beside the matrix */
    double last_cache;   /* bytes of a matrix that stays in the last cache, for all threads */
    /* Time of computing, and of gathers beyond the second cache, against the machine on which the kernels'
     * rates were measured. */
    double compute_scale, far_scale;
    /* Of a device alone: */
    int multiprocessors;
    int resident_threads; /* of a multiprocessor */
    bool clusters;        /* blocks see each other's shared memory */
    double launch_ns;     /* of an empty launch */
    double gather_first;  /* sectors a nanosecond that are gathered from L1, */
    double gather_second; /* from L2, */
    double gather_memory; /* and from memory */
    /* Of the host alone: thousandths of measured over predicted time of each kernel, by its place in the
     * registry, by what its rows are and by where the matrix lies; 0: not known. */
    uint16_t kernel_scale[SPX_KERNELS][SPX_ROW_KINDS][SPX_LEVELS];
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
    struct spx_pool *pool; /* core/pool.h; NULL: OpenMP's threads */
    char name[96];
    spx_block *blocks;
    size_t block_bytes;
    struct spx_wisdom *wisdom;
    spx_machine machine;
    bool machine_known; /* by wisdom */
    spx_budget *budget; /* the innermost one that is open; or NULL */
    char *error;        /* [SPX_MESSAGE], written under const handles, too */
};

spmvx_status spx_context_new(const spmvx_context_options *, spmvx_context **out);
void spx_context_free(spmvx_context *);

/* A loop of a multiplication: spx_parallel_by_shares(), or by the context's pool. */
void spx_context_parallel(const spmvx_context *, int threads, int64_t chunks, spx_body *, void *arg);

/* Memory where the context computes, uninitialised. */
spmvx_status spx_array_at_place(const spmvx_context *, size_t bytes, const char *what, spx_array **out);

/* A workspace of at least `bytes`: the first block that is large enough, or a new one. What is in it is
 * undefined when a multiplication begins. 0 bytes give NULL. */
spmvx_status spx_workspace(spmvx_context *, size_t bytes, void **out);
void spx_workspace_trim(spmvx_context *);

__attribute__((format(printf, 3, 4))) void spx_log(const spmvx_context *, spmvx_level, const char *format,
                                                   ...);
#endif
