/* Failure: a status with a message in fixed buffers, one in the context and one a thread. Nothing is
 * allocated. */
#ifndef SPX_ERROR_H
#define SPX_ERROR_H
#include "spmvx/spmvx.h"

enum { SPX_MESSAGE = 512 };

/* Records the message in the context (may be NULL) and in this thread, and returns the status. */
__attribute__((format(printf, 3, 4))) spmvx_status spx_fail(const spmvx_context *, spmvx_status,
                                                            const char *format, ...);

spmvx_status spx_fail_null(const spmvx_context *, const char *argument);
/* Memory is out; or a budget (core/budget.h) refused it, which is SPMVX_ERR_LIMIT. `what` says what it was
 * for. */
spmvx_status spx_fail_memory(const spmvx_context *, size_t bytes, const char *what);

const char *spx_thread_error(void);

/* The path, or its last 200 bytes, so that a message has room for the reason. */
const char *spx_path_tail(const char *path);

/* For an attempt that may fail without the call failing: afterwards the messages stand as before. */
typedef struct spx_error_state {
    char context[SPX_MESSAGE], thread[SPX_MESSAGE];
} spx_error_state;
void spx_error_save(const spmvx_context *, spx_error_state *);
void spx_error_restore(const spmvx_context *, const spx_error_state *);

#define SPX_TRY(call)                          \
    do {                                       \
        const spmvx_status spx_s_ = (call);    \
        if (spx_s_ != SPMVX_OK) return spx_s_; \
    } while (0)
#endif
