/* What the CUDA backend and its kernels share: the context's device state, the current device and its
 * restoration, errors, and the launch of a kernel of a context.
 *
 * Every call of the runtime, but for the first ones of probe(), which has no device yet, is made between the
 * construction and the end of an spx_on_device. It makes the
 * context's device current and puts back the caller's. An error that the caller had pending stays; if he
 * had none, what our own failed calls leave as the runtime's last error is taken away. The runtime keeps
 * one error a thread: where he had one and a call of ours fails as well, ours stands in its place, and the
 * status of our call tells it. */
#ifndef SPX_DEVICE_CUH
#define SPX_DEVICE_CUH
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "launch.cuh"
#include "view.cuh"

extern "C" {
#include "core/context.h"
#include "kernel/kernel.h"
}

struct spx_cuda_memory; /* cuda/memory.cuh */

constexpr size_t SPX_LOADED = 512, SPX_STAGING = 8 << 10;

/* Of a context: its backend_state. */
struct spx_cuda {
    cudaStream_t stream; /* the caller's */
    cudaStream_t own;    /* for what must be complete on return */
    spx_cuda_memory *memory;
    int multiprocessors;
    size_t l2_bytes, shared_bytes, block_bytes; /* shared memory of a multiprocessor; of a block at most */
    void *staging;      /* SPX_STAGING bytes of pinned memory for what comes to the host; or NULL */
    bool staging_taken; /* by a thread, or for a look that is queued */
    cudaEvent_t looked; /* such a look has come to the host */
    /* Kernels whose code is there, for how much shared memory; set and read atomically. */
    uint64_t loaded[SPX_LOADED];
    bool since_90; /* device and code are of compute capability 9.0 or later: early launches, clusters, bulk
                    * copies */
};

inline const spx_cuda *spx_cuda_of(const spmvx_context *ctx)
{
    return static_cast<const spx_cuda *>(ctx->backend_state);
}

/* One within another of the same device only sees to it that no callback of the caller's has made another
 * current, and takes away what failed. */
class spx_on_device {
public:
    explicit spx_on_device(int device) : device_(device), around_(current_)
    {
        if (is_within()) {
            error_ = cudaGetDevice(&before_);
            if (error_ == cudaSuccess && before_ != device) error_ = cudaSetDevice(device);
            return;
        }
        current_ = this;
        pending_ = cudaPeekAtLastError();
        error_ = cudaGetDevice(&before_);
        if (error_ == cudaSuccess && before_ != device) {
            error_ = cudaSetDevice(device);
            moved_ = error_ == cudaSuccess;
        }
    }
    ~spx_on_device()
    {
        if (moved_) cudaSetDevice(before_);
        if ((is_within() ? around_ : this)->pending_ == cudaSuccess) cudaGetLastError();
        current_ = around_;
    }
    spx_on_device(const spx_on_device &) = delete;
    spx_on_device &operator=(const spx_on_device &) = delete;
    cudaError_t error() const
    {
        return error_;
    }

private:
    bool is_within() const
    {
        return around_ && around_->device_ == device_ && around_->error_ == cudaSuccess;
    }

    static inline thread_local const spx_on_device *current_ = nullptr; /* none of which is within another */
    int device_, before_ = 0;
    const spx_on_device *around_;
    cudaError_t pending_ = cudaSuccess, error_ = cudaSuccess;
    bool moved_ = false;
};

/* An spx_on_device whose calls leave stream captures alone, those of other threads, too. In a thread's
 * usual mode a call such as cudaFree or cudaEventSynchronize is refused while certain streams are captured,
 * and ends the capture; in the relaxed mode it is not. */
class spx_beside_captures : public spx_on_device {
public:
    explicit spx_beside_captures(int device) : spx_on_device(device)
    {
        exchanged_ = !relaxed_ && cudaThreadExchangeStreamCaptureMode(&mode_) == cudaSuccess;
        if (exchanged_) relaxed_ = true;
    }
    ~spx_beside_captures()
    {
        if (!exchanged_) return;
        cudaThreadExchangeStreamCaptureMode(&mode_);
        relaxed_ = false;
    }

private:
    static inline thread_local bool relaxed_ = false;
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
    bool exchanged_;
};

/* memory.cu: is the stream captured, or can nobody tell, since another is? */
bool spx_cuda_is_captured(cudaStream_t stream);

/* The status and message of a failed call; `what` says what was being done. */
spmvx_status spx_cuda_fail(const spmvx_context *, cudaError_t, const char *what);

/* ---- launches of a context ---- */

/* Makes a kernel ready (spx_load_code in launch.cuh). prepare() calls it for the instances that run() will
 * launch, so that no multiplication waits for code; and who launches anything else does it before, since
 * loading code is refused while a stream is captured in the usual mode. */
template <class... P>
spmvx_status spx_cuda_load(const spmvx_context *ctx, const char *name, void (*kernel)(P...), size_t shared)
{
    constexpr size_t ALWAYS = 48 << 10; /* what every device has */
    /* All kernels are in one library: below 256 KiB nothing is lost that tells them apart. */
    const uint64_t asked = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(kernel)) << 18 | shared;
    uint64_t *const place =
        const_cast<uint64_t *>(spx_cuda_of(ctx)->loaded) + (asked * 0x9e3779b97f4a7c15u >> 32) % SPX_LOADED;
    const bool kept = shared >> 18 == 0;
    if (kept && __atomic_load_n(place, __ATOMIC_RELAXED) == asked) return SPMVX_OK;
    const spx_beside_captures on_device(ctx->device);
    cudaError_t e = on_device.error();
    size_t all = shared; /* and what the kernel has of its own */
    int most = 0;
    if (e == cudaSuccess && shared > ALWAYS) {
        e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx->device);
        if (e == cudaSuccess) e = spx_add_own_shared(kernel, &all);
        if (e == cudaSuccess && all > static_cast<size_t>(most))
            return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                            "%s takes %zu bytes of shared memory for a block; this device has %d", name, all,
                            most);
    }
    if (e == cudaSuccess) e = spx_load_code(kernel, shared);
    if (kept && e == cudaSuccess) __atomic_store_n(place, asked, __ATOMIC_RELAXED);
    return e == cudaSuccess ? SPMVX_OK : spx_cuda_fail(ctx, e, name);
}

/* A grid has at most so many blocks in its first dimension. */
inline spmvx_status spx_cuda_check_blocks(const spmvx_context *ctx, const char *name, int64_t blocks)
{
    if (blocks >= 1 && blocks <= INT32_MAX) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%s takes %lld blocks; a launch has 1 to %d", name,
                    static_cast<long long>(blocks), INT32_MAX);
}

/* Of a kernel whose name asks for clusters of so many blocks. */
inline spmvx_status spx_cuda_check_cluster(const spmvx_context *ctx, int64_t cluster)
{
    if (cluster <= 1 || spx_cuda_of(ctx)->since_90) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                    "options.kernel has cluster=%lld; this device has no clusters of blocks",
                    static_cast<long long>(cluster));
}

/* Launches a kernel of the context on its stream. Of a kind that the device, or the code that runs on it, has
 * not: early is left out, and clusters are the caller's mistake. */
template <class... P>
spmvx_status spx_cuda_launch_as(spx_launch_kind kind, const spmvx_context *ctx, const char *name,
                                void (*kernel)(P...), int64_t blocks, unsigned threads, size_t shared,
                                typename spx_same<P>::type... args)
{
    const spmvx_status s = spx_cuda_check_blocks(ctx, name, blocks);
    if (s != SPMVX_OK) return s;
    const spx_on_device on_device(ctx->device);
    const cudaLaunchConfig_t config =
        spx_launch_config(static_cast<unsigned>(blocks), threads, shared, spx_cuda_of(ctx)->stream);
    kind.early = kind.early && spx_cuda_of(ctx)->since_90;
    cudaError_t e = on_device.error();
    if (e == cudaSuccess) e = spx_launch_as(kind, config, kernel, args...);
    return e == cudaSuccess ? SPMVX_OK : spx_cuda_fail(ctx, e, name);
}

template <class... P>
spmvx_status spx_cuda_launch(const spmvx_context *ctx, const char *name, void (*kernel)(P...), int64_t blocks,
                             unsigned threads, size_t shared, typename spx_same<P>::type... args)
{
    return spx_cuda_launch_as({}, ctx, name, kernel, blocks, threads, shared, args...);
}

template <class... P>
spmvx_status spx_cuda_launch_early(const spmvx_context *ctx, const char *name, void (*kernel)(P...),
                                   int64_t blocks, unsigned threads, size_t shared,
                                   typename spx_same<P>::type... args)
{
    return spx_cuda_launch_as({ .early = true }, ctx, name, kernel, blocks, threads, shared, args...);
}

/* The least architecture of this build from 9.0 on, as __CUDA_ARCH__ counts. */
constexpr int spx_least_since_90()
{
#ifdef SPX_SIMT
    return 900;
#else
    int least = INT_MAX;
    for (const int arch : { __CUDA_ARCH_LIST__ })
        if (arch >= 900 && arch < least) least = arch;
    return least;
#endif
}

/* Blocks of so many threads that the device holds at a time, where nothing but threads bounds them. */
inline int64_t spx_cuda_blocks_held(const spmvx_context *ctx, int64_t threads)
{
    constexpr int64_t MOST = 2048; /* threads of a multiprocessor */
    return spx_cuda_of(ctx)->multiprocessors * spx_max(MOST / threads, 1);
}

/* Blocks that the device holds at a time, of a kernel whose launch bounds, by its registers, say that a
 * multiprocessor holds so many. Where blocks go on until all is done, more of them would begin when the
 * first ones end. */
inline int64_t spx_cuda_blocks_of(const spmvx_context *ctx, int each)
{
    return static_cast<int64_t>(spx_cuda_of(ctx)->multiprocessors) * each;
}

/* Zeroes so many bytes of the device's memory on the context's stream; `what` as in spx_cuda_fail. */
inline spmvx_status spx_cuda_clear(const spmvx_context *ctx, void *memory, size_t bytes, const char *what)
{
    const spx_on_device on_device(ctx->device);
    cudaError_t e = on_device.error();
    if (e == cudaSuccess) e = cudaMemsetAsync(memory, 0, bytes, spx_cuda_of(ctx)->stream);
    return e == cudaSuccess ? SPMVX_OK : spx_cuda_fail(ctx, e, what);
}

/* y = beta*y, queued before a kernel that adds alpha*A*x to it, piece by piece. beta 0 never reads y. */
inline spmvx_status spx_cuda_scale_y(const spx_mul *m)
{
    return m->ctx->backend->scale(m->ctx, m->A->val_type, m->A->nrows, m->nvec, m->beta, m->y, m->ldy);
}

/* Parts of L2, measured on an H200: up to which all that multiplications touch stays there from one to the
 * next, and comes at its rate; from which on it is better still to have a part of a matrix stay; up to which
 * all had better stay than nothing; and beyond which so little would that plain loads are as good as
 * others. */
constexpr double SPX_L2_SERVES = 0.7, SPX_L2_PARTS = 0.65, SPX_L2_KEEPS = 0.78, SPX_L2_FAR = 4.0;

/* What stays there, in parts of L2, where a multiplication touches so much, and most of the matrix is loaded
 * past it: the less, the more that is. x and y take half as much again (measured). */
constexpr double SPX_L2_OF_VECTORS = 1.5;
constexpr double spx_l2_room(double all)
{
    return 0.22 + 0.24 / all;
}

/* Which part of a matrix stays there beside x and y and a workspace, all given as parts of L2. */
inline double spx_l2_share(double matrix, double vectors, double work)
{
    const double all = matrix + vectors + work;
    if (all < SPX_L2_PARTS || matrix <= 0.0) return 1.0;
    return std::fmin(std::fmax(spx_l2_room(all) - SPX_L2_OF_VECTORS * vectors - work, 0.0) / matrix, 1.0);
}

/* What a multiplication by one column touches, with so many bytes of workspace, against the size of L2. */
inline double spx_cuda_l2_ratio(const spmvx_context *ctx, const spx_sparse *a, size_t work_bytes = 0)
{
    const size_t vectors = static_cast<size_t>(a->nrows + a->ncols) * spx_type_bytes(a->val_type);
    return static_cast<double>(spx_sparse_read_bytes(a) + vectors + work_bytes) /
           static_cast<double>(spx_cuda_of(ctx)->l2_bytes);
}

/* Of SPX_OF_PARTS neighbouring parts of a matrix, how many stay in L2, beside x, y and the workspace. What is
 * loaded past L1, or to leave it first, gives way in L2, too, to whatever else is there: others are loaded in
 * this way (spx_by_part). */
inline unsigned spx_cuda_staying(const spmvx_context *ctx, const spx_sparse *a, size_t work_bytes = 0)
{
    const double l2 = static_cast<double>(spx_cuda_of(ctx)->l2_bytes),
                 matrix = static_cast<double>(spx_sparse_read_bytes(a)) / l2,
                 work = static_cast<double>(work_bytes) / l2;
    return static_cast<unsigned>(
        SPX_OF_PARTS * spx_l2_share(matrix, spx_cuda_l2_ratio(ctx, a, work_bytes) - matrix - work, work));
}

/* Calls f with whether all stays: f(std::bool_constant()). An emulator without caches has one instance. */
template <class F>
spmvx_status spx_by_residence(const spmvx_context *ctx, const spx_sparse *a, F f, size_t work_bytes = 0)
{
#ifdef SPX_SIMT
    (void)ctx, (void)a, (void)work_bytes;
    return f(std::false_type());
#else
    return spx_cuda_staying(ctx, a, work_bytes) == SPX_OF_PARTS ? f(std::true_type()) : f(std::false_type());
#endif
}

/* The backend's buffers and arrays: cuda/array.cu. */
spmvx_status spx_cuda_allocate(const spmvx_context *, size_t bytes, const char *what, void **);
void spx_cuda_release(const spmvx_context *, void *);
spmvx_status spx_cuda_array_new(const spmvx_context *, size_t bytes, const char *what, spx_array **);
/* As the backend's array_new, for what is freed soon. */
spmvx_status spx_cuda_scratch_new(const spmvx_context *, size_t bytes, const char *what, spx_array **);
/* Drops an array that only work on the context's stream uses: its memory is freed behind that, and nobody
 * waits. Nothing where there is none. */
void spx_cuda_drop_behind(const spmvx_context *, spx_array *);

/* The backend's statistics pass: cuda/features.cu. */
spmvx_status spx_cuda_features(const spmvx_context *, const spx_sparse *csr, bool *ahead, spx_features *);
spmvx_status spx_cuda_features_ahead(const spmvx_context *, const spx_sparse *csr, bool *ahead);
void spx_cuda_features_forget(const spmvx_context *, bool *ahead);
/* What a sample of the values tells, and whether all are one: cuda/build/values.cu. */
spmvx_status spx_cuda_look_at_values(const spmvx_context *, const spx_sparse *csr, spx_features *);
spmvx_status spx_cuda_is_one_value(const spmvx_context *, const spx_sparse *csr, bool *one);

/* The backend's work on vectors, and what loads its kernels, so that no multiplication waits for code:
 * cuda/vectors.cu. */
spmvx_status spx_cuda_scale(spmvx_context *, spmvx_type, int64_t n, int64_t nvec, spx_scalar beta, void *y,
                            int64_t ldy);
spmvx_status spx_cuda_gather(spmvx_context *, int64_t n, spmvx_type, void *dst, const void *src,
                             const void *map, size_t map_each, const int64_t *ptr);
cudaError_t spx_cuda_load_vector_kernels();

/* The backend's count of multiplications (cuda/product_look.cu), fingerprints (cuda/fingerprint.cu) and
 * positions (cuda/positions.cu). */
spmvx_status spx_cuda_count_products(const spmvx_context *, const spx_sparse *A, const spx_sparse *B,
                                     int64_t *products);
spmvx_status spx_cuda_fingerprint(const spmvx_context *, spmvx_type, int64_t count, const void *indices,
                                  uint64_t *out);
spmvx_status spx_cuda_count_up(const spmvx_context *, spmvx_type, int64_t n, void *to);
spmvx_status spx_cuda_counts_up(const spmvx_context *, spmvx_type, int64_t n, const void *positions,
                                bool *yes);

/* ---- shared by the kernels' cost(): cuda/cost.cu ---- */

/* What L2 serves where enough is under way, in cache_rates. */
constexpr double SPX_L2_RATE = 1.4;

/* How a kernel gathers x, and streams. */
struct spx_gathering {
    double first = 1.0;    /* L1s that x has: fewer beside shared memory, more where parts of x are in use */
    double shown = 0.1;    /* part of streaming that longer gathering does not hide */
    bool by_parts = false; /* some of which stay in L2 (spx_by_part), and not all or none */
    bool passes = false;   /* nothing of the matrix stays, whatever its size */
};
/* Predicted nanoseconds of a launch that streams so many bytes of the matrix at `efficiency` of the
 * memory's rate and gathers x once an entry, but takes `alone` at least: what the longest row takes those
 * that work on it. */
double spx_cuda_cost(const spx_features *, double bytes, double efficiency, double alone,
                     spx_gathering how = {});
/* The same of a kernel that has enough under way for L2, where all lies there, at `efficiency` of what L2
 * serves, which are streams and sectors of x alike. */
double spx_cuda_cost_in_l2(const spx_features *, double bytes, double efficiency, double alone);
/* The same of TILED in a layout, of which so great a part of the entries is in columns that are held. */
double spx_cuda_tiled_cost(const spx_features *, const spx_layout *, double value_bytes, double hot_share);
/* At most such a part of the entries is in so many rows, which are the longest: by how long the row of an
 * entry is in the mean, and since others that are not empty have an entry each. The less, the more rows are
 * alike, whose windows show what they are. */
double spx_cuda_part_in_long(const spx_features *, int64_t long_rows);
/* So much of a matrix, x and y, against the size of L2, as the machine's last_cache tells it; and would they
 * come at its rate? */
double spx_cuda_of_l2(const spx_features *, double bytes);
bool spx_cuda_served_by_l2(const spx_features *, double bytes);
/* How far a multiplication by so much of a matrix is on the way from memory's times to L2's, which serve at
 * the same time where parts stay in L2 and others are loaded past it: all but the square of what passes
 * (measured). */
double spx_cuda_part_of_l2(const spx_features *, double bytes);
/* A cost between cost(true), where all stays in L2, and cost(false), where nothing does; or one of these two,
 * of a kernel without `parts`. */
template <class F>
double spx_cuda_cost_by_parts(const spx_features *f, double bytes, F cost, bool parts = true)
{
    if (!parts) return cost(spx_cuda_served_by_l2(f, bytes));
    const double part = spx_cuda_part_of_l2(f, bytes);
    return (part > 0 ? part * cost(true) : 0.0) + (part < 1 ? (1.0 - part) * cost(false) : 0.0);
}
/* Threads that the device holds at a time. */
double spx_cuda_resident(const spx_machine *);
#endif
