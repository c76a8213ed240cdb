/* PETSc by MPI ranks, as many as threads are asked for: mpiexec starts petsc_worker.c (at WORKER), which
 * multiplies on order in shared memory (petsc_shared.h); x and y are there (peer.h, vectors).
 *
 * What is timed: the ranks meet at a barrier, then each takes the time of its products back to back; a run
 * took from the first rank's begin to the last rank's end. Waking the ranks by semaphores and telling the
 * caller are outside of it; the exchange of x between ranks, which is part of MatMult, is inside. Ranks
 * are not bound to cores, as the threads of the other peers are not. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <petscversion.h>

#include "petsc_shared.h"
#include "util.h"

extern char **environ;

typedef struct matrix {
    petsc_shared *shared;
    size_t size;
    pid_t mpiexec; /* 0: not running */
} matrix;

/* ---- the segment ---- */

static int64_t reserve(int64_t *size, int64_t bytes)
{
    const int64_t at = *size;
    *size = (at + bytes + 63) / 64 * 64;
    return at;
}

/* Lays out the segment in *s, the arrays' places and the size. */
static void lay_out(petsc_shared *s, const peer_matrix *A)
{
    *s = (petsc_shared){
        .caller = getpid(), .ranks = A->threads, .nrows = A->nrows, .ncols = A->ncols, .nnz = A->nnz
    };
    reserve(&s->size, (int64_t)sizeof *s);
    s->ptr_at = reserve(&s->size, (A->nrows + 1) * 4);
    s->col_at = reserve(&s->size, A->nnz * 4);
    s->val_at = reserve(&s->size, A->nnz * 8);
    s->x_at = reserve(&s->size, A->ncols * 8);
    s->y_at = reserve(&s->size, A->nrows * 8);
}

static petsc_shared *map_new(const char *name, const petsc_shared *head)
{
    const int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0) return NULL;
    petsc_shared *s = MAP_FAILED;
    /* a full /dev/shm shows here, not as SIGBUS */
    const int failed = posix_fallocate(file, 0, head->size);
    if (!failed) s = mmap(NULL, (size_t)head->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (s == MAP_FAILED) {
        shm_unlink(name);
        if (failed) errno = failed;
        return NULL;
    }
    *s = *head;
    sem_init(&s->done, 1, 0);
    for (int r = 0; r < s->ranks; r++) sem_init(&s->go[r], 1, 0);
    return s;
}

/* Row pointers are of 32 bits. */
static petsc_shared *segment_new(const char *name, const peer_matrix *A)
{
    petsc_shared *head = malloc(sizeof *head), *s = NULL;
    if (!head) return NULL;
    lay_out(head, A);
    s = map_new(name, head);
    free(head);
    if (!s) return NULL;
    memcpy(petsc_shared_at(s, s->ptr_at), A->ptr, (size_t)(A->nrows + 1) * 4);
    if (A->nnz) memcpy(petsc_shared_at(s, s->col_at), A->col, (size_t)A->nnz * 4);
    if (A->nnz) memcpy(petsc_shared_at(s, s->val_at), A->val, (size_t)A->nnz * 8);
    return s;
}

/* ---- the ranks ---- */

/* The environment without what an MPI in this process left there, which would make mpiexec take itself for
 * a rank; with OpenMPI's permission to be root and to have more ranks than cores. NULL when memory is out. */
static char **worker_environment(void)
{
    static char more[][48] = { "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                               "OMPI_MCA_rmaps_base_oversubscribe=1",
                               "OMPI_MCA_hwloc_base_binding_policy=none" };
    static const char *const out[] = { "OMPI_", "PMIX_", "PMI_" };
    const size_t most = sizeof more / sizeof *more;
    size_t count = 0, n = 0;
    while (environ[count]) count++;
    char **list = malloc((count + most + 1) * sizeof *list);
    if (!list) return NULL;
    for (size_t i = 0; i < count; i++) {
        bool keep = true;
        for (size_t k = 0; k < sizeof out / sizeof *out; k++)
            keep = keep && strncmp(environ[i], out[k], strlen(out[k])) != 0;
        if (keep) list[n++] = environ[i];
    }
    for (size_t i = 0; i < most; i++) list[n++] = more[i];
    list[n] = NULL;
    return list;
}

static int spawn(matrix *h, const char *name, peer_error *e)
{
    char ranks[16], mpiexec[] = "mpiexec", dash_n[] = "-n", worker[] = WORKER, segment[64];
    snprintf(ranks, sizeof ranks, "%d", h->shared->ranks);
    snprintf(segment, sizeof segment, "%s", name);
    char *argv[] = { mpiexec, dash_n, ranks, worker, segment, NULL };
    posix_spawn_file_actions_t actions;
    char **environment = worker_environment();
    if (!environment) return peer_fail(e, PEER_FAILED, "out of memory");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1); /* stdout may be the caller's results */
    const int failed = posix_spawnp(&h->mpiexec, mpiexec, &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    if (!failed) return PEER_OK;
    h->mpiexec = 0;
    return peer_fail(e, PEER_UNSUPPORTED, "mpiexec: %s", strerror(failed));
}

/* Sleeps until the ranks are through, or have ended. */
static int wait_done(matrix *h, peer_error *e)
{
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        if (sem_timedwait(&h->shared->done, &until) == 0) return PEER_OK;
        int status;
        if (errno == EINTR || waitpid(h->mpiexec, &status, WNOHANG) == 0) continue;
        h->mpiexec = 0;
        return peer_fail(e, PEER_FAILED, "the ranks ended: %s",
                         *h->shared->error ? h->shared->error : "mpiexec gave up");
    }
}

static void give_order(matrix *h, order o)
{
    h->shared->order = o;
    for (int r = 0; r < h->shared->ranks; r++) sem_post(&h->shared->go[r]);
}

static void close_matrix(void *handle)
{
    matrix *h = handle;
    if (h->mpiexec) {
        give_order(h, LEAVE);
        waitpid(h->mpiexec, NULL, 0);
    }
    munmap(h->shared, h->size);
    free(h);
}

/* ---- the peer ---- */

static int open_narrow(const peer_matrix *A, void **handle, peer_error *e)
{
    static int serial;
    char name[64];
    if (A->val_bits != 64)
        return peer_fail(e, PEER_UNSUPPORTED, "val_bits is %d, and PETSc has 64", A->val_bits);
    if (A->threads > MOST_RANKS)
        return peer_fail(e, PEER_UNSUPPORTED, "threads is %d, over %d ranks", A->threads, MOST_RANKS);
    matrix *h = calloc(1, sizeof *h);
    if (!h) return peer_fail(e, PEER_FAILED, "out of memory");
    snprintf(name, sizeof name, "/spmvx-peer-%ld-%d", (long)getpid(), serial++);
    h->shared = segment_new(name, A);
    if (!h->shared) {
        free(h);
        return peer_fail(e, PEER_FAILED, "shared memory %s: %s", name, strerror(errno));
    }
    h->size = (size_t)h->shared->size;
    int result = spawn(h, name, e);
    if (!result) result = wait_done(h, e);
    shm_unlink(name); /* all have it open: it goes with the last of them */
    if (!result) {
        *handle = h;
        return PEER_OK;
    }
    close_matrix(h);
    return result;
}

static int open_matrix(const peer_method *method, const peer_matrix *A, void **handle, peer_error *e)
{
    (void)method;
    peer_matrix m;
    int32_t *own;
    int result = peer_narrow(A, &m, &own, e);
    if (!result) result = open_narrow(&m, handle, e);
    free(own);
    return result;
}

static int multiply(void *handle, int64_t times, double alpha, const void *x, double beta, void *y,
                    double *seconds, peer_error *e)
{
    matrix *h = handle;
    petsc_shared *s = h->shared;
    if (!h->mpiexec) return peer_fail(e, PEER_FAILED, "the ranks ended before");
    if (x) memcpy(petsc_shared_at(s, s->x_at), x, (size_t)s->ncols * 8);
    if (y && beta != 0) memcpy(petsc_shared_at(s, s->y_at), y, (size_t)s->nrows * 8);
    s->times = times;
    s->alpha = alpha;
    s->beta = beta;
    give_order(h, MULTIPLY);
    const int result = wait_done(h, e);
    if (result) return result;
    if (y) memcpy(y, petsc_shared_at(s, s->y_at), (size_t)s->nrows * 8);
    double begin = s->begin[0], end = s->end[0];
    for (int r = 1; r < s->ranks; r++) {
        begin = s->begin[r] < begin ? s->begin[r] : begin;
        end = s->end[r] > end ? s->end[r] : end;
    }
    *seconds = end - begin;
    return PEER_OK;
}

/* The threads of other peers' turns spin for some milliseconds before they sleep, on the ranks' cores: not
 * in their time. */
static int run(void *handle, int64_t times, double alpha, const void *x, double beta, void *y,
               double *seconds, peer_error *e)
{
    const struct timespec pause = { .tv_nsec = 20000000 };
    nanosleep(&pause, NULL);
    return multiply(handle, times, alpha, x, beta, y, seconds, e);
}

static int mul(void *handle, double alpha, const void *x, double beta, void *y, peer_error *e)
{
    double seconds;
    return multiply(handle, 1, alpha, x, beta, y, &seconds, e);
}

static int vectors(void *handle, void **x, void **y, peer_error *e)
{
    (void)e;
    petsc_shared *s = ((matrix *)handle)->shared;
    *x = petsc_shared_at(s, s->x_at);
    *y = petsc_shared_at(s, s->y_at);
    return PEER_OK;
}

static size_t bytes(void *handle)
{
    return (size_t)((matrix *)handle)->shared->matrix_bytes;
}

static int start(peer_error *e)
{
    return access(WORKER, X_OK) == 0 ? PEER_OK
                                     : peer_fail(e, PEER_UNSUPPORTED, "%s: %s", WORKER, strerror(errno));
}

static const peer_method methods[] = {
    { .name = "petsc-mpi",
      .summary = "MatMult of MPIAIJ, a rank for each thread, in other processes",
      .open = open_matrix,
      .mul = mul,
      .vectors = vectors,
      .run = run,
      .bytes = bytes,
      .close = close_matrix },
};
static const peer_library library = {
    .interface_version = PEER_INTERFACE,
    .name = "PETSc",
    .version = PEER_TEXT(PETSC_VERSION_MAJOR) "." PEER_TEXT(PETSC_VERSION_MINOR) "." PEER_TEXT(
        PETSC_VERSION_SUBMINOR),
    .count = 1,
    .methods = methods,
    .start = start,
};

const peer_library *spmvx_peer(void)
{
    return &library;
}
