/*
 * libspmvx: sparse matrix times vector, and sparse matrix times sparse matrix, on CPUs and NVIDIA GPUs.
 *
 *     spmvx_context *ctx;  spmvx_context_create(NULL, &ctx);
 *     spmvx_matrix *csr;   spmvx_matrix_read(ctx, "A.mtx", NULL, &csr);
 *     spmvx_matrix *A;     spmvx_matrix_convert(ctx, csr, NULL, &A);          // picks format and kernel
 *     spmvx_mul(ctx, SPMVX_N, 1.0, A, x, 0.0, y);                             // y = A*x
 *
 * Three nouns:
 *
 *   context  where work runs: host threads, or one GPU and a stream; with its workspace and its last error.
 *            It serves one thread at a time; any number of contexts may exist. Beside contexts the library
 *            keeps each thread's last error, device memory that a stream capture does not let it free yet,
 *            and whether the process was forked.
 *   matrix   sparse, in one format, in one place, with the kernel that multiplies it. Immutable once built,
 *            value updates aside, and shared freely by contexts of the same place and by threads. Its arrays
 *            are reference-counted: sources, copies, contexts and streams may be destroyed in any order,
 *            also while work is queued. The allocator callbacks of the context that made it must outlive it.
 *   plan     the pattern of C = A*B, to redo the product with new values. Immutable.
 *
 * Conventions that hold for every function:
 *
 *   Status   Functions that can fail return a spmvx_status. A failed call leaves its arguments, its outputs
 *            and every handle as they were, leaks nothing, and leaves a message that names the argument and
 *            its value: spmvx_last_error(). Destroy functions take NULL.
 *   Order    create, convert, transpose, read, spmspm_mul, upload and download are complete when they
 *            return; mul, mul_multi, update_values and refill are queued on the context's stream. On the
 *            host every call is complete when it returns.
 *   Types    Indices are base 0. Row and column counts are below 2^31; the number of entries is not limited
 *            to that. Values, x and y are all of one type, SPMVX_F32 or SPMVX_F64.
 *   Bits     A kernel with the same parameters gives the same bits for the same input on the same machine,
 *            in every run and for any number of threads, unless the caller allowed otherwise by
 *            SPMVX_ALLOW_NONDETERMINISTIC, or asked for a kernel with atomics by name. Which kernel is
 *            taken: a conversion with effort 1 or 2 times, and may take another kernel in the next run,
 *            whose results have other bits. With effort 0 the kernel depends on the machine, the matrix,
 *            the options, and the context's number of threads and wisdom alone. See docs/determinism.md.
 *   Threads  Calls with different contexts may run at the same time, also on the same matrix. Two calls with
 *            the same context may not. A matrix must not be destroyed, nor its values updated, while another
 *            thread uses it. A child of fork() may go on with contexts of the host, on one thread where
 *            this library had run on several in the parent, and with the same bits: OpenMP's threads do not
 *            survive a fork. Where the program had OpenMP loops of its own before, contexts of the child
 *            must have one thread. What lives on a GPU belongs to the parent alone.
 *   Structs  begin with their size, have no hidden padding and grow at their end only; each has a ..._INIT
 *            macro. NULL options, or an INIT unchanged, mean the defaults. A size of 0 or below version
 *            0.1's, a non-zero tail that this library does not know, and an unknown flag are refused
 *            (SPMVX_ERR_ARGUMENT). Of an output struct the first min(size, known) bytes are written; its
 *            size field keeps the caller's value. Flags are disjoint over all sets, so that one in the wrong
 *            place is refused.
 *   Promise  Names, argument and field order, enum values and meanings do not change; see docs/abi.md. */
#ifndef SPMVX_H
#define SPMVX_H
#include <stddef.h>
#include <stdint.h>
#include "version.h"
#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct spmvx_context spmvx_context;
typedef struct spmvx_matrix spmvx_matrix;
typedef struct spmspm_plan spmspm_plan;

#define SPMVX_FORCE32(e) e##_FORCE32 = 0x7fffffff /* enums are 32 bits wide; their values are ABI */

/* What a call answers. SPMVX_OK is 0, every failure is negative. */
typedef enum spmvx_status {
    SPMVX_OK = 0,
    /* NULL, negative, unknown enum value or flag, unknown option tail, overlap */
    SPMVX_ERR_ARGUMENT = -1,
    SPMVX_ERR_MEMORY = -2, /* host or device memory ran out */
    SPMVX_ERR_SHAPE = -3,  /* sizes that do not fit together */
    SPMVX_ERR_TYPE = -4,   /* value or index types that do not fit together */
    /* an index outside the matrix, falling row pointers, a count that overflows */
    SPMVX_ERR_RANGE = -5,
    SPMVX_ERR_PLACE = -6,       /* a matrix or pointer that lives elsewhere than the context computes */
    SPMVX_ERR_UNSUPPORTED = -7, /* valid, and not offered: the message says what is */
    SPMVX_ERR_DEVICE = -8,      /* no device or driver, no code for this GPU, launch or runtime failure */
    SPMVX_ERR_IO = -9,          /* the operating system refused a file */
    SPMVX_ERR_FILE = -10,       /* a file's content is wrong: the message has the line and the reason */
    /* a format, budget or maximum would be exceeded: the message has the numbers */
    SPMVX_ERR_LIMIT = -11,
    SPMVX_ERR_PATTERN = -12,   /* a plan meets a pattern that it was not made from */
    SPMVX_ERR_CANCELLED = -13, /* a progress callback asked to stop */
    SPMVX_ERR_INTERNAL = -14,  /* a defect of this library */
    SPMVX_FORCE32(SPMVX_ERR)
} spmvx_status;

/* Types of indices (I32, I64) and of values (F32, F64). */
typedef enum spmvx_type {
    SPMVX_I32 = 1,
    SPMVX_I64 = 2,
    SPMVX_F32 = 3,
    SPMVX_F64 = 4, /* later F16 BF16 C32 C64 */
    SPMVX_FORCE32(SPMVX_TYPE)
} spmvx_type;
/* Formats. AUTO is a request, made in conversions only. */
typedef enum spmvx_format {
    SPMVX_AUTO = 0,
    SPMVX_COO = 1,
    SPMVX_CSR = 2,
    SPMVX_CSC = 3,
    SPMVX_ELL = 4,
    SPMVX_SELL = 5,
    SPMVX_CSR5 = 6,
    SPMVX_HYB = 7,
    SPMVX_DIA = 8,
    SPMVX_BSR = 9,
    SPMVX_TILED = 10,
    SPMVX_PACKED = 11,
    SPMVX_PKT = 12,
    SPMVX_FORCE32(SPMVX_FORMAT)
} spmvx_format;
/* Where arrays live and work runs. Zero is the host: a program that passes malloc'ed vectors never changes
 * its meaning on a machine with a GPU. SPMVX_ANY asks for CUDA where a device answers and the host
 * elsewhere; take vectors from spmvx_buffer_alloc then. A context's info and a matrix's info show HOST or
 * CUDA, never ANY. */
typedef enum spmvx_place {
    SPMVX_HOST = 0,
    SPMVX_CUDA = 1,
    SPMVX_ANY = 2,
    SPMVX_FORCE32(SPMVX_PLACE)
} spmvx_place;
/* N: A itself. T: its transpose, for matrices converted with SPMVX_OPS_T. */
typedef enum spmvx_op { SPMVX_N = 0, SPMVX_T = 1, SPMVX_FORCE32(SPMVX_OP) } spmvx_op;
/* Order of the values inside a block. */
typedef enum spmvx_order {
    SPMVX_ROW_MAJOR = 0,
    SPMVX_COLUMN_MAJOR = 1,
    SPMVX_FORCE32(SPMVX_ORDER)
} spmvx_order;
/* How a file tells a matrix. */
typedef enum spmvx_symmetry {
    SPMVX_GENERAL = 0,        /* all entries are there */
    SPMVX_SYMMETRIC = 1,      /* of an entry off the diagonal and its equal mirror image, one is */
    SPMVX_SKEW_SYMMETRIC = 2, /* the same, where the mirror image has the opposite value; no diagonal */
    SPMVX_FORCE32(SPMVX_SYMMETRY)
} spmvx_symmetry;
/* How a text that is written is compressed. */
typedef enum spmvx_compression {
    SPMVX_BY_NAME = 0, /* by gzip, zstd or xz where the name ends in .gz .zst or .xz, in small letters */
    SPMVX_UNCOMPRESSED = 1,
    SPMVX_GZIP = 2,
    SPMVX_ZSTD = 3,
    SPMVX_XZ = 4,
    SPMVX_FORCE32(SPMVX_COMPRESSION)
} spmvx_compression;
/* By what rows and columns are ordered. */
typedef enum spmvx_reordering {
    /* reverse Cuthill-McKee: entries near the diagonal; for grids, meshes and roads whose numbers are
     * scattered */
    SPMVX_RCM = 1,
    /* rows, and columns, by falling number of entries: what most rows read of x lies side by side; for power
     * laws */
    SPMVX_DEGREE = 2,
    /* communities side by side, small ones within large ones, whatever the size of a cache; for graphs that
     * have some (Rabbit order) */
    SPMVX_CLUSTER = 3,
    SPMVX_FORCE32(SPMVX_REORDERING)
} spmvx_reordering;
/* Of messages to the log callback. */
typedef enum spmvx_level {
    SPMVX_LOG_WARNING = 1,
    SPMVX_LOG_INFO = 2,
    SPMVX_LOG_DEBUG = 3,
    SPMVX_FORCE32(SPMVX_LOG)
} spmvx_level;
/* What a kernel of the list does. */
typedef enum spmvx_operation {
    SPMVX_MUL = 1,
    SPMVX_MUL_MULTI = 2,
    SPMVX_SPMSPM = 3,
    SPMVX_FORCE32(SPMVX_OPERATION)
} spmvx_operation;

/* ---- version and errors ---- */

/* The version of the loaded library: major * 1000000 + minor * 1000 + patch. Thread-safe. */
int32_t spmvx_version(void);
/* The same as text, "0.1.0". Static storage. Thread-safe. */
const char *spmvx_version_string(void);
/* A short English text for a status, such as "sizes that do not fit together"; never NULL, also for an
 * unknown value. Static storage. Thread-safe. */
const char *spmvx_status_string(spmvx_status);
/* The message of the last failed call of this context, naming argument and value; "" if none failed. With
 * NULL: of this thread's last failed call, which is the one to ask when no context exists or the call took
 * none. Successful calls leave it as it was. Never NULL; valid until the next failing call of the context
 * (or thread), or its end. */
const char *spmvx_last_error(const spmvx_context *);

/* ---- context ---- */

#define SPMVX_CONTEXT_CHECK 0x100u /* verify place and alignment of x and y on every call; for debugging */
/* On the host: the context starts threads of its own, one fewer than it uses, and a multiplication does not
 * wait for one of them that has not begun, since the others do its part. For machines on which other
 * processes run, too. After a multiplication the threads look for work for a while, before they sleep: beside
 * a program's own OpenMP threads, which do the same, that costs time. They come beside OpenMP's, which
 * conversions and readers stay with, and are no more than OpenMP's default; where fewer start, info has their
 * number. No signals but those of faults, and SIGPROF, are delivered to them; they end with the context. They
 * compute with the caller's rounding mode. Results are the same. Ignored for a GPU, and without OpenMP. */
#define SPMVX_CONTEXT_POOL 0x200u

/* What a context is made of. */
typedef struct spmvx_context_options {
    size_t size;
    spmvx_place place; /* HOST, CUDA or ANY */
    int32_t device;    /* the number of the GPU; ignored on the host */
    /* Host threads, at most 4096; 0: OpenMP's default. Above that default no more are taken than can be
     * started when the context is made, with a reserve: info has their number. No kernel's result depends on
     * it; AUTO's choice may. */
    int32_t threads;
    uint32_t flags; /* SPMVX_CONTEXT_... */
    void *stream;   /* cudaStream_t, or NULL; must be NULL on the host */
    /* Host memory: 64-byte aligned, callable from any thread; alloc and release both or none. bytes is a
     * multiple of 64, not 0. NULL: the C library's. They must outlive the context, every matrix made in it,
     * and every matrix that shares arrays with those. alloc answers NULL when memory is out. (libzstd alone,
     * while a .zst file is open, takes memory of its own.) */
    void *(*alloc)(void *user, size_t bytes);
    void (*release)(void *user, void *ptr);
    /* Receives messages from the thread that makes the call; NULL: none. */
    void (*log)(void *user, spmvx_level level, const char *message);
    void *user; /* handed to the three callbacks */
} spmvx_context_options;
#define SPMVX_CONTEXT_OPTIONS_INIT                                                       \
    {                                                                                    \
        sizeof(spmvx_context_options), SPMVX_HOST, 0, 0, 0, NULL, NULL, NULL, NULL, NULL \
    }

/* What a context is. */
typedef struct spmvx_context_info {
    size_t size;
    spmvx_place place; /* HOST or CUDA */
    int32_t device;    /* 0 on the host */
    int32_t threads;   /* of the host */
    uint32_t flags;
    const char *name;  /* of the device or CPU; lives as long as the context */
    size_t bytes_held; /* workspace and wisdom, not the matrices */
} spmvx_context_info;
#define SPMVX_CONTEXT_INFO_INIT                                  \
    {                                                            \
        sizeof(spmvx_context_info), SPMVX_HOST, 0, 0, 0, NULL, 0 \
    }

/* Makes a context; NULL options mean the host with OpenMP's default number of threads. *out is written on
 * success only and ends by spmvx_context_destroy.
 * Errors: ARGUMENT; DEVICE (place CUDA, and no device, driver or code for it: the message says what is
 * missing); MEMORY. */
spmvx_status spmvx_context_create(const spmvx_context_options *, spmvx_context **out);
/* Later calls are queued on this stream (cudaStream_t; NULL: the default one). On the host only NULL is
 * accepted. They use the context's workspace as the earlier ones do: the caller sees to it that these are
 * complete before those begin, by an event or by waiting, or their results may be wrong; for work at the same
 * time take two contexts. Errors: ARGUMENT, DEVICE. */
spmvx_status spmvx_context_set_stream(spmvx_context *, void *stream);
/* Waits for all that was queued; returns at once on the host. Errors: ARGUMENT, DEVICE. */
spmvx_status spmvx_context_synchronize(spmvx_context *);
/* Errors: ARGUMENT. */
spmvx_status spmvx_context_get_info(const spmvx_context *, spmvx_context_info *);
/* Gives all workspace back, and to a GPU the memory that is kept for later calls (bytes_held does not count
 * it); no graph captured before may be replayed. The next multiplication of each shape reserves anew (or call
 * spmvx_mul_prepare). Errors: ARGUMENT. */
spmvx_status spmvx_context_trim(spmvx_context *);
/* Ends a context and its workspace, once the device's work is done. Matrices made in it live on. NULL is
 * fine, as for every destroy. */
void spmvx_context_destroy(spmvx_context *);

/* ---- memory where the context computes ---- */

/* bytes of memory, aligned to at least 64, uninitialised; *out is NULL for 0 bytes. The caller owns it and
 * gives it back by spmvx_buffer_free with a context of the same place and allocator. On a GPU it comes from a
 * pool of the context's: other devices do not reach it (no peer access), and it cannot be shared with another
 * process (no IPC). Errors: ARGUMENT, MEMORY. */
spmvx_status spmvx_buffer_alloc(spmvx_context *, size_t bytes, void **out);
/* Copies from host memory into a buffer (or any memory where the context computes), after the work queued
 * so far; complete on return. dst and src must not overlap. Errors: ARGUMENT, DEVICE. */
spmvx_status spmvx_buffer_upload(spmvx_context *, void *dst, const void *host_src, size_t bytes);
/* Copies into host memory, after the work queued so far; complete on return. Errors: ARGUMENT, DEVICE. */
spmvx_status spmvx_buffer_download(spmvx_context *, void *host_dst, const void *src, size_t bytes);
/* Frees what spmvx_buffer_alloc gave; NULL is fine. */
void spmvx_buffer_free(spmvx_context *, void *);

/* ---- matrix: in and out ----
 * COO   row[nnz] col[nnz] val[nnz], any order
 * CSR   ptr[nrows+1] col[nnz] val[nnz]
 * CSC   ptr[ncols+1] row[nnz] val[nnz]
 * ELL   col[width*nrows] val[width*nrows], entry k of row r at k*nrows + r; col -1 marks padding
 * SELL  ptr[ceil(nrows/slice)+1], entry k of row s*slice+i at ptr[s] + k*slice + i; col -1 marks padding;
 *       row[nrows]: the matrix row that sits at each position, or NULL for none moved
 *       (SELL-C-sigma: C is slice; Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014)
 * DIA   col[width] offsets (column - row), val[width*nrows], diagonal d of row r at d*nrows + r; every slot
 *       inside the matrix is an entry
 * BSR   ptr[ceil(nrows/block_rows)+1] col[blocks] val[blocks*block_rows*block_cols], blocks in block_order;
 *       every slot inside the matrix is an entry
 * Base 0; where refused arrays look like base 1, the message says so. Columns may be unsorted and repeat;
 * repeats stay entries of their own, but for DIA, BSR and sparse products, which add them up in input order.
 * nnz counts entries, padding aside. Row counts and column counts are below 2^31, nnz is not. A NULL array of
 * no elements is fine. CSR5, HYB, TILED, PACKED and PKT are made by conversion only. The library finds out
 * where arrays live; a view says it in place and device. A view of a DIA or BSR with empty slots is
 * UNSUPPORTED. Fields that a format does not use are ignored on input and 0 in a view. reserved must be 0. */
typedef struct spmvx_arrays {
    size_t size;
    spmvx_format format;
    spmvx_type ptr_type;     /* I32 or I64, of formats that have ptr */
    spmvx_type idx_type;     /* of row and col: I32 or I64 */
    spmvx_type val_type;     /* F32 or F64 */
    spmvx_place place;       /* of a view; ignored on input */
    int32_t device;          /* of a view; ignored on input */
    spmvx_order block_order; /* BSR */
    uint32_t reserved;       /* 0 */
    int64_t nrows;           /* below 2^31 */
    int64_t ncols;           /* below 2^31 */
    int64_t nnz;             /* entries, padding aside */
    int64_t block_rows;      /* BSR: of a block */
    int64_t block_cols;      /* BSR: of a block */
    int64_t slice;           /* SELL: rows of a slice */
    int64_t width;           /* ELL: entries of a row with padding; DIA: diagonals */
    /* As the list of formats above has them; NULL where the format has none. */
    const void *ptr;
    const void *row;
    const void *col;
    const void *val;
} spmvx_arrays;
#define SPMVX_ARRAYS_INIT                                                                                    \
    {                                                                                                        \
        sizeof(spmvx_arrays), SPMVX_CSR, SPMVX_I32, SPMVX_I32, SPMVX_F64, SPMVX_HOST, 0, SPMVX_ROW_MAJOR, 0, \
            0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL                                                      \
    }

/* Use the caller's arrays in place; they outlive every matrix that shares them. While info shows
 * SPMVX_IS_BORROWED the caller may change values between calls, never the pattern. */
#define SPMVX_BORROW 0x1u
#define SPMVX_TRUST 0x2u /* skip the O(nnz) validation */

/* Makes a matrix from the caller's arrays, in the format they have, with the best kernel of that format that
 * keeps no lists of the entries beside them. Without SPMVX_BORROW everything is copied (indices to 32 bits,
 * row pointers to 32 bits while nnz < 2^31). Borrowing needs I32 indices (ptr may be I64). *out ends by
 * spmvx_matrix_destroy. Errors: ARGUMENT; SHAPE (nnz against ptr); TYPE; RANGE (an index outside, falling
 * ptr, 2^31 rows or more); UNSUPPORTED (a format that cannot be given, or borrowing of I64 indices); PLACE;
 * MEMORY. */
spmvx_status spmvx_matrix_create(spmvx_context *, const spmvx_arrays *, uint32_t flags, spmvx_matrix **out);
/* A view of the matrix's own arrays, without a copy: they belong to the matrix, live as long as it does,
 * and must not be written. ptr is I64 from 2^31 entries on, or when it was lent so. (The CSR arrays of A
 * are the CSC arrays of its transpose: given back with format CSC they make one without a copy.)
 * Thread-safe. Errors: ARGUMENT; UNSUPPORTED for a format that is not listed above. */
spmvx_status spmvx_matrix_arrays(const spmvx_matrix *, spmvx_arrays *view);

/* How a file is read. */
typedef struct spmvx_read_options {
    size_t size;
    spmvx_type val_type; /* of the matrix: SPMVX_F64 (also 0) or SPMVX_F32 */
    uint32_t flags;      /* 0 */
    /* Bytes of memory that reading may take at its peak, the matrix included; what would exceed it is refused
     * with SPMVX_ERR_LIMIT before it is taken. Counted are all blocks that the context allocates, with 64
     * bytes beside each, and what the decoders hold; libzip's own memory counts as 1 MiB. What reading a file
     * took without a limit is enough as a limit. 0: no limit. */
    size_t max_bytes;
    /* Called now and then from the calling thread, with bytes of the file done and in total (-1: unknown);
     * any answer but 0 stops with SPMVX_ERR_CANCELLED. NULL: none. */
    int32_t (*progress)(void *user, int64_t done, int64_t total);
    void *user; /* handed to progress */
    /* Receives, when the call succeeds, the symmetry that the file's header tells; what is read is expanded
     * in any case. NULL: not wanted. Not in version 0.1.0. */
    spmvx_symmetry *symmetry;
} spmvx_read_options;
#define SPMVX_READ_OPTIONS_INIT                                       \
    {                                                                 \
        sizeof(spmvx_read_options), SPMVX_F64, 0, 0, NULL, NULL, NULL \
    }

/* Reads a matrix file. Its kind is told so:
 *   - SciPy's .npz (scipy.sparse.save_npz), a file that begins as a ZIP archive does, or whose name ends in
 *     .npz: csr, csc, coo, bsr (zeros of a block are entries) or dia (zeros are none); values real, integer
 *     or boolean; stored or deflated members, either byte order. Not from a pipe.
 *   - Matrix Market (https://math.nist.gov/MatrixMarket/formats.html), a text that begins with
 *     %%MatrixMarket: coordinate, or array (whose zeros are no entries); real, integer or pattern (every
 *     value 1); general, symmetric or skew-symmetric.
 *   - Rutherford-Boeing, or Harwell-Boeing: any other text whose name ends in .rb, .hb or a matrix type such
 *     as .rua .rsa .pza, letters of either case, the ending of a compressed file aside. Real, integer or
 *     pattern; unsymmetric, symmetric, skew-symmetric or rectangular; assembled. Right-hand sides are passed
 *     over. (What cannot be read twice, a pipe, is told by its name alone.)
 * Texts may be compressed by gzip, zstd or xz, which is told by content. Symmetric ones are expanded: each
 * entry off the diagonal is followed by its image. The result is CSR, entries of a row in the order of the
 * file; COO where rows far outnumber entries, since memory is bounded by what the file holds and not by what
 * its header claims (but for the window of compressed text, which is as large as that text asks for). Values
 * are rounded to nearest, whatever the caller's floating-point environment is, which stays as it was.
 * Errors: ARGUMENT; IO (the operating system's reason); FILE (line or member, and reason); UNSUPPORTED
 * (complex, Hermitian, elemental, a compression or .npz that this build lacks); RANGE (2^31 rows or more);
 * LIMIT; CANCELLED; MEMORY. */
spmvx_status spmvx_matrix_read(spmvx_context *, const char *path, const spmvx_read_options *,
                               spmvx_matrix **out);

/* How a file is written. */
typedef struct spmvx_write_options {
    size_t size;
    int32_t digits; /* significant decimal digits of values, 1 to 17; 0: enough to round-trip exactly */
    int32_t level;  /* of the compressor; 0: its default */
    uint32_t flags; /* 0 */
    uint32_t reserved;
    /* The fields below are not in version 0.1.0. */

    /* Called now and then from the calling thread, with entries written and in total; any answer but 0 stops
     * with SPMVX_ERR_CANCELLED, and no file appears. NULL: none. */
    int32_t (*progress)(void *user, int64_t done, int64_t total);
    void *user; /* handed to progress */
    /* Of a Matrix Market file: SYMMETRIC and SKEW_SYMMETRIC write the lower triangle alone, of a matrix that
     * is so. Each entry (i, j) has to have its mirror image (j, i), the k-th of several the k-th, with the
     * same bits (SKEW_SYMMETRIC: but for the sign; any NaN for a NaN); else ARGUMENT, and nothing is written.
     * The check takes two copies of the matrix in CSR. */
    spmvx_symmetry symmetry;
    spmvx_compression compression; /* of a Matrix Market file; for .npz BY_NAME */
} spmvx_write_options;
#define SPMVX_WRITE_OPTIONS_INIT                                                          \
    {                                                                                     \
        sizeof(spmvx_write_options), 0, 0, 0, 0, NULL, NULL, SPMVX_GENERAL, SPMVX_BY_NAME \
    }

/* Writes a matrix, as the kind of file that its name says. A name that ends in .npz: SciPy's, csr (COO:
 * coo), values and their type as they are, for which digits must be 0 and symmetry GENERAL; not to a pipe.
 * Any other: Matrix Market, coordinate, real, row by row (COO: in its own order); compressed when the name
 * ends in .gz .zst or .xz, or by options.compression; values that are read back with digits 0 have the same
 * bits, NaN payloads aside. Names of Rutherford-Boeing files are refused. Digits do not depend on the
 * caller's floating-point environment.
 *
 * The file appears whole or not at all, also over a power failure: it is written in the same folder, without
 * a name where the file system offers that (so that nothing is left when the process ends) or as
 * .spmvx-<process>-<number>.tmp, stored, and renamed. Links are followed, also to a file that is not there
 * yet. What is no regular file is written in place; so is a descriptor (/dev/stdout, /dev/fd/3), from where
 * it stands, and what was written through it before stays. Errors: ARGUMENT, IO, UNSUPPORTED, CANCELLED,
 * MEMORY. */
spmvx_status spmvx_matrix_write(spmvx_context *, const spmvx_matrix *, const char *path,
                                const spmvx_write_options *);

/* ---- conversion ---- */

#define SPMVX_ALLOW_NONDETERMINISTIC 0x10u /* AUTO may take a kernel with floating-point atomics */
#define SPMVX_UPDATABLE 0x20u /* keep what spmvx_matrix_update_values needs; the result owns its values */
#define SPMVX_OPS_N 1u        /* bits 1 << spmvx_op */
#define SPMVX_OPS_T 2u

/* What a conversion makes. */
typedef struct spmvx_convert_options {
    size_t size;
    /* AUTO lets the library choose format and kernel; with a kernel forced, AUTO means that kernel's
     * format. */
    spmvx_format format;
    /* 0: by wisdom, else by the model; nothing is timed. 1: by wisdom, else the best few are built and timed.
     * 2: all are built and timed. What is timed may differ from run to run, and with it the results' bits. */
    int32_t effort;
    /* Forces one, with parameters where it has them: "csr-merge-path:chunk=8192"; NULL: chosen. A bare name
     * takes its best variant for this machine, "name@avx2" that variant, "name@c" the portable one. Forced by
     * name, a kernel takes every valid matrix of its types. See spmvx_kernel_get_info and `spmvx kernels`. */
    const char *kernel;
    /* How many multiplications will follow, which bounds what the conversion is worth. 0: 1000. */
    int64_t expected_muls;
    int64_t nvec; /* columns of X it is tuned and reserved for. 0: 1 */
    /* Of SELL: rows of a slice, 4 to 65536. 0: chosen. */
    int64_t slice;
    /* Of SELL, 1 or more: rows are sorted by length within windows of sigma rows (sigma >= nrows: the whole
     * matrix). 0: chosen. */
    int64_t sigma;
    int64_t block_rows; /* of BSR, 1 to 16. 0: chosen */
    int64_t block_cols; /* of BSR, 1 to 16. 0: chosen */
    /* Bytes that the result may hold, arrays that it shares included; a larger one is refused, before it is
     * built where its size is known then. 0: 16 times CSR's bytes + 64 MiB; SIZE_MAX: no limit. */
    size_t max_bytes;
    /* SPMVX_OPS_N | SPMVX_OPS_T; 0: N. T keeps an explicit transpose beside the matrix. N is always there. */
    uint32_t ops;
    uint32_t flags; /* SPMVX_ALLOW_NONDETERMINISTIC | SPMVX_UPDATABLE */
} spmvx_convert_options;
#define SPMVX_CONVERT_OPTIONS_INIT                                                    \
    {                                                                                 \
        sizeof(spmvx_convert_options), SPMVX_AUTO, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/* Makes the same matrix in another format, or with another kernel. A result that shares the caller's arrays
 * shows SPMVX_IS_BORROWED; one that copied any of their values (SPMVX_UPDATABLE, a kept transpose), or knows
 * them to be all the same (a kernel with values=one), has copies of all. The source may live on the host or
 * on any device; the result lives where the context computes. Arrays that stay the same are shared, not
 * copied; borrowing is inherited by what shares them. Every conversion back to CSR is exact: entries of a
 * row keep their order, repeats and explicit zeros stay; but for DIA and BSR, which order a row by column
 * and add repeats up in input order. Workspace for op N and nvec columns is reserved in this context. All
 * that a conversion takes beside its source, the result and candidates that are dropped included and also
 * where it is refused, is at most max_bytes + 8 times the bytes of CSR + the source's + 16 MiB; with effort
 * 1 or 2 also max_bytes once more, X and Y of nvec columns, and one column. NULL options: AUTO. Errors:
 * ARGUMENT (also a kernel parameter that is unknown or out of range: the message lists the known ones);
 * UNSUPPORTED (a format or kernel this version or machine lacks; an update order that is no longer known);
 * LIMIT (max_bytes; a code of values that would lose some); DEVICE; MEMORY. */
spmvx_status spmvx_matrix_convert(spmvx_context *, const spmvx_matrix *, const spmvx_convert_options *,
                                  spmvx_matrix **out);
/* The transpose, as a CSR matrix of its own (ncols x nrows; COO where its rows far outnumber entries);
 * entries of each row stand in the order of A's rows.
 * Errors: ARGUMENT, DEVICE, MEMORY. */
spmvx_status spmvx_matrix_transpose(spmvx_context *, const spmvx_matrix *, spmvx_matrix **out);

/* How a matrix is put in another order. */
typedef struct spmvx_reorder_options {
    size_t size;
    spmvx_reordering method;
    uint32_t flags; /* 0 */
    /* Bytes of host memory that the call may take at its peak, the result included where it lies there. 0: no
     * limit. */
    size_t max_bytes;
} spmvx_reorder_options;
#define SPMVX_REORDER_OPTIONS_INIT                     \
    {                                                  \
        sizeof(spmvx_reorder_options), SPMVX_RCM, 0, 0 \
    }
/* The matrix with its rows and columns in another order: row i and column j of *out are row rows[i] and
 * column cols[j] of A, so that y[rows[i]] of y = A*x is element i of *out times the x' that has x[cols[j]] at
 * j. Of a square matrix rows and cols are the same, and entries on the diagonal stay there. rows (nrows
 * numbers) and cols (ncols) are the caller's, in host memory; of rows, cols and out any but all may be NULL.
 * *out is in CSR, where the context computes, the columns of a row sorted, repeats in their order; it may
 * be converted with SPMVX_UPDATABLE, and takes values in its own order then. The order is found on the host
 * by one thread, from the pattern alone, and is the same every time. Not in version 0.1.0. NULL options: RCM.
 * Sources: Cuthill & McKee 1969; Arai et al. 2016. Errors: ARGUMENT; LIMIT (max_bytes); DEVICE; MEMORY. */
spmvx_status spmvx_matrix_reorder(spmvx_context *, const spmvx_matrix *A, const spmvx_reorder_options *,
                                  int32_t *rows, int32_t *cols, spmvx_matrix **out);

/* Gives new values to a matrix converted with SPMVX_UPDATABLE; the pattern stays. val has the entries,
 * order and type of the arrays that the matrix was first made from (for a file or a transpose: of its
 * spmvx_matrix_arrays): as long as their val was, repeats not added up, for ELL and SELL with the padding.
 * It lives where the context computes. It is read until the work is done; NULL is fine for a matrix of no
 * entries. Not while another thread multiplies with the matrix. Errors: ARGUMENT; UNSUPPORTED (a matrix
 * converted without SPMVX_UPDATABLE); PLACE; DEVICE. */
spmvx_status spmvx_matrix_update_values(spmvx_context *, spmvx_matrix *, const void *val);

/* Every value of the matrix, its kept transpose's too, is read from the caller's arrays. Without it none is,
 * and the caller may free them. */
#define SPMVX_IS_BORROWED 0x1000u
#define SPMVX_IS_UPDATABLE 0x2000u
/* All kernels that it has, for op T and several columns, too, are SPMVX_KERNEL_DETERMINISTIC. */
#define SPMVX_IS_DETERMINISTIC 0x4000u

/* What a matrix is. */
typedef struct spmvx_matrix_info {
    size_t size;
    spmvx_format format;
    spmvx_place place; /* HOST or CUDA */
    spmvx_type val_type;
    int32_t device;
    uint32_t ops;   /* bits SPMVX_OPS_N, SPMVX_OPS_T: which op spmvx_mul takes */
    uint32_t flags; /* SPMVX_IS_... */
    int64_t nrows;
    int64_t ncols;
    int64_t nnz;    /* entries, padding aside */
    int64_t stored; /* entries with padding, of A itself */
    /* All that the matrix keeps in memory beside its handle, as max_bytes counts it: transpose, partition and
     * update maps included; arrays shared with other matrices are counted in each, borrowed ones in none. */
    size_t bytes_held;
    size_t bytes_streamed; /* what one multiplication reads of the matrix: its arrays, not x and y */
    /* with its parameters, as spmvx_convert_options.kernel takes it; lives as long as A */
    const char *kernel;
    const char *reason; /* in words, what decided for format and kernel; lives as long as the matrix */
    /* Seconds of a multiplication by op N and all columns that it was converted for, as the choice took them:
     * timed, or else by the model, which knows machines that were measured. 0 where there was no choice. */
    double expected_s;
} spmvx_matrix_info;
#define SPMVX_MATRIX_INFO_INIT                                                                               \
    {                                                                                                        \
        sizeof(spmvx_matrix_info), SPMVX_AUTO, SPMVX_HOST, SPMVX_F64, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, \
            0.0                                                                                              \
    }
/* Thread-safe. Errors: ARGUMENT. */
spmvx_status spmvx_matrix_get_info(const spmvx_matrix *, spmvx_matrix_info *);
/* Ends a matrix; arrays that others share live on. NULL is fine. */
void spmvx_matrix_destroy(spmvx_matrix *);

/* ---- products with dense vectors ---- y = alpha * op(A) * x + beta * y; x and y in the matrix's value
 * type, aligned to an element, where the context computes (for CUDA: device, managed or pinned memory),
 * not overlapping; NULL where they have no elements. beta == 0 never reads y (NaN in it is overwritten);
 * alpha == 0 reads neither A nor x. A NaN or Inf in x or in A reaches exactly the rows with an entry that
 * meets it; an alpha that is NaN or Inf reaches those with an entry, by some kernels all. For F32 alpha and
 * beta are rounded to float. Neither allocates nor synchronises in a context that has the workspace, so
 * that a CUDA graph may capture it: create and convert reserve it in their context for op N,
 * spmvx_mul_prepare for op T, for more columns and in other contexts; else the first call does. Workspace is
 * the context's: it never moves, and two calls that may run at once need two contexts.
 * Error bound, componentwise: |y' - y| <= 2 gamma_n (|alpha||A||x| + |beta||y|), n the row's terms,
 * beta*y among them. Later,
 * as spmvx_mul_ex: z = alpha*A*x + beta*y, device scalars, row-major X, vectors wider than values,
 * complex. */

/* Reserves in ctx what multiplications of A by op with up to nvec columns need. Errors: ARGUMENT, PLACE,
 * UNSUPPORTED (an op that A was not converted for), MEMORY. */
spmvx_status spmvx_mul_prepare(spmvx_context *, const spmvx_matrix *A, spmvx_op, int64_t nvec);
/* x has ncols elements and y nrows (op T: nrows and ncols).
 * Errors: ARGUMENT (NULL, overlap, misaligned); PLACE; UNSUPPORTED (op); MEMORY (first call in another
 * context). */
spmvx_status spmvx_mul(spmvx_context *, spmvx_op, double alpha, const spmvx_matrix *A, const void *x,
                       double beta, void *y);
/* The same for nvec columns: X and Y are column-major, column j at X + j*ldx and Y + j*ldy; ldx and ldy in
 * elements, at least the length of a column. Each column has the same bits as spmvx_mul with the same
 * kernel would give, unless the matrix was converted for nvec > 1 and has a kernel of its own for it. nvec
 * 0 does nothing. Errors: as spmvx_mul. */
spmvx_status spmvx_mul_multi(spmvx_context *, spmvx_op, double alpha, const spmvx_matrix *A, int64_t nvec,
                             const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);

/* ---- products of sparse matrices: C = A * B, columns sorted, no repeats, structural zeros kept ----
 * On the host terms of an entry are added in the order of A's row, then of B's, for any number of threads,
 * by the kernels "csr-dense-row", "coo-hash", "dense-window" and "hash". On a device there are "hash", which
 * has the same bits, and "thin" for B of at most 1024 columns, whose order of additions the patterns fix.
 * "rows-thread", "rows-block", "rows-block-private", "rows-warp" and "rows-multiwarp" have to be asked for;
 * all but the first add atomically, so that last bits may differ from run to run. */

/* How C = A*B is made. */
typedef struct spmspm_options {
    size_t size;
    spmvx_format format; /* of C: CSR (AUTO means it) or COO */
    uint32_t flags;      /* 0 */
    const char *kernel;  /* force one; NULL: chosen */
    /* Bytes beside C that the product may take, copies of the factors in CSR included; a product that would
     * take more, also run by run of C's rows, is SPMVX_ERR_LIMIT. 0: no limit. */
    size_t max_workspace;
    /* Bytes that C's own arrays may take; a larger C is SPMVX_ERR_LIMIT, once its entries are counted and
     * before it is taken. 0: no limit. Not in version 0.1.0. */
    size_t max_bytes;
} spmspm_options;
#define SPMSPM_OPTIONS_INIT                               \
    {                                                     \
        sizeof(spmspm_options), SPMVX_AUTO, 0, NULL, 0, 0 \
    }
/* What a plan is. */
typedef struct spmspm_info {
    size_t size;
    int64_t nrows;    /* of C */
    int64_t ncols;    /* of C */
    int64_t nnz;      /* entries of C */
    int64_t products; /* multiplications */
    /* bytes beside C that values take, with the threads of the context that made the plan; copies of the
     * factors in CSR, where they are given otherwise, come on top */
    size_t workspace;
    size_t bytes_held;  /* by the plan */
    const char *kernel; /* lives as long as the plan */
    const char *reason; /* in words, what decided for it; lives as long as the plan */
} spmspm_info;
#define SPMSPM_INFO_INIT                                  \
    {                                                     \
        sizeof(spmspm_info), 0, 0, 0, 0, 0, 0, NULL, NULL \
    }
/* C = A*B, with a kernel that needs little preparation: convert it where it will be multiplied often. Errors:
 * ARGUMENT, SHAPE, TYPE, PLACE, LIMIT, MEMORY, UNSUPPORTED. */
spmvx_status spmspm_mul(spmvx_context *, const spmvx_matrix *A, const spmvx_matrix *B, const spmspm_options *,
                        spmvx_matrix **C);
/* C = R*A*P, as (R*A)*P or R*(A*P): in the order that needs fewer multiplications, told by a sample of the
 * patterns alone; on a device by counts and a bound. What is in between is charged to max_workspace; where
 * that does not hold it, rows of C are made in runs, with the same bits. Errors: as spmspm_mul. */
spmvx_status spmspm_triple(spmvx_context *, const spmvx_matrix *R, const spmvx_matrix *A,
                           const spmvx_matrix *P, const spmspm_options *, spmvx_matrix **C);
/* The pattern of A*B, for repeated products with new values; ends by spmspm_plan_destroy. On a device it may
 * hold a list of the multiplications beside the pattern, within max_workspace and of some 48 bytes an entry
 * of C, or 256 MB, at most; it makes the values faster and the plan slower to make. Errors: as spmspm_mul. */
spmvx_status spmspm_plan_create(spmvx_context *, const spmvx_matrix *A, const spmvx_matrix *B,
                                const spmspm_options *, spmspm_plan **out);
/* Thread-safe. Errors: ARGUMENT. */
spmvx_status spmspm_plan_get_info(const spmspm_plan *, spmspm_info *);
/* C = A*B with the plan's pattern. C shares it, owns its values, and is updatable; it may be refilled, and
 * outlive the plan. The plan may be of another context of the same place, and serves any number of threads.
 * Errors: as spmspm_mul; PATTERN. */
spmvx_status spmspm_plan_mul(spmvx_context *, const spmspm_plan *, const spmvx_matrix *A,
                             const spmvx_matrix *B, spmvx_matrix **C);
/* New values into a C that came from this plan and is neither A nor B. Patterns are told by fingerprints,
 * taken when first needed; under graph capture they must be known already. Errors: ARGUMENT, SHAPE, TYPE,
 * PATTERN, PLACE, LIMIT, MEMORY, DEVICE. */
spmvx_status spmspm_plan_refill(spmvx_context *, const spmspm_plan *, const spmvx_matrix *A,
                                const spmvx_matrix *B, spmvx_matrix *C);
/* NULL is fine. */
void spmspm_plan_destroy(spmspm_plan *);

/* ---- every kernel the library holds, so that tests, benchmarks and documents walk all of them ---- */

/* The same bits in every run, for any number of threads; all kernels of the host are. */
#define SPMVX_KERNEL_DETERMINISTIC 0x10000u
#define SPMVX_KERNEL_AVAILABLE 0x20000u /* this machine can run it */

/* A kernel of the list. Its texts are static. A record whose name has variants ("sell", beside
 * "sell@avx512") is the portable one: force it as "sell@c", since the bare name takes the best. */
typedef struct spmvx_kernel_info {
    size_t size;
    spmvx_operation operation;
    spmvx_format format;
    spmvx_place place;
    uint32_t types;      /* bits 1 << spmvx_type */
    uint32_t ops;        /* bits 1 << spmvx_op */
    uint32_t flags;      /* SPMVX_KERNEL_... */
    const char *name;    /* unique per operation and place; "sell@avx512" is a variant of "sell" */
    const char *summary; /* what it does */
    const char *source;  /* the paper or report it is from */
    /* What may follow the name: "lanes=2, 4 ... 64; grid=fixed, proportional" tells that
     * "NAME:lanes=8,grid=fixed" is taken; "" where nothing may. */
    const char *parameters;
} spmvx_kernel_info;
#define SPMVX_KERNEL_INFO_INIT                                                                        \
    {                                                                                                 \
        sizeof(spmvx_kernel_info), SPMVX_MUL, SPMVX_AUTO, SPMVX_HOST, 0, 0, 0, NULL, NULL, NULL, NULL \
    }
/* How many kernels there are, of all places and machines. Thread-safe. */
int32_t spmvx_kernel_count(void);
/* Kernel i of 0 ... count-1. Thread-safe. Errors: ARGUMENT. */
spmvx_status spmvx_kernel_get_info(int32_t i, spmvx_kernel_info *);

/* ---- what tuning learned, as text ---- */

/* What this context learned or was given, as text: lines, of which the first names format and version; then
 * what it was given of the machine, if any; and each other one the place, threads, value type, shape, row
 * lengths, expected_muls and nvec that a choice of a conversion with effort >= 1 is for. *len in: room at
 * buf; out: bytes with the final NUL. buf NULL asks for the length.
 * Errors: ARGUMENT; LIMIT (too little room: the message has the length; nothing is written). */
spmvx_status spmvx_wisdom_export(const spmvx_context *, char *buf, size_t *len);
/* Adds such text to what the context knows; a later conversion with effort 0 or 1 of a matrix with the same
 * features takes the choice without timing, or passes over it where this library or matrix does not allow it
 * (said in the debug log). So processes with the same wisdom, effort 0 and number of threads take the same
 * kernels. All of the text is taken or nothing. len with or without the final NUL. Errors: ARGUMENT; FILE
 * (line and reason); MEMORY. */
spmvx_status spmvx_wisdom_import(spmvx_context *, const char *buf, size_t len);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
