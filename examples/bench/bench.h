/* The instrument behind `spmvx bench`: inputs (files and generated matrices), contenders (kernels, AUTO,
 * peers), measuring in rounds, reports. */
#ifndef BENCH_H
#define BENCH_H
#include <stdio.h>

#include "device.h"
#include "generate/generate.h"
#include "peer.h"
#include "series.h"
#include "tool.h"

enum { MOST_CONTENDERS = 256, MOST_PEERS = 64, NAME = 96, NOTE = 256 };

/* What x, y and the matrix find in the caches: what the last multiplication left there; nothing; x and y
 * new each time. GRAPH is WARM on a device, many multiplications in one graph. */
typedef enum state { WARM, COLD, ROTATED, GRAPH, STATES } state;
extern const char *const state_names[STATES];

typedef enum contender_kind { KERNEL, AUTO_MODEL, AUTO_TIMED, PEER } contender_kind;

typedef struct contender {
    contender_kind kind;
    char name[NAME]; /* as asked for: a kernel, "AUTO, by its model", a peer's method */
    char note[NOTE]; /* why there is no result */
    bool ready;      /* set up, and its result was looked at */
    /* no result, and no failure: what does not fit, or is not served */
    bool unsuited;
    spmvx_matrix *A; /* of kernels and AUTO */
    spmvx_matrix_info info;
    const peer_method *method; /* of peers */
    void *handle;
    void *graph;  /* of GRAPH, made when first wanted */
    double setup; /* seconds, the median of so many times: */
    int setups;
    size_t peak, held; /* bytes during set-up, beside what was there; and after it; 0: not known */
    double error;      /* largest error of a row over its |A||x| + |beta||y| */
    int inner;         /* multiplications a sample */
    series time;       /* of a multiplication, in the state measured last */
} contender;

typedef struct settings {
    int threads, rounds, warmup;
    double min_time; /* seconds of a sample */
    double beta;
    size_t max_bytes;            /* that a contender may hold; 0: the library's own limit */
    bool state[STATES], type[2]; /* f64, f32 */
    bool on_device, pool;        /* pool: SPMVX_CONTEXT_POOL */
    uint64_t *flush;             /* a buffer, read to empty the caches and to measure the bandwidth */
    size_t flush_bytes;
    const char *kernels; /* names apart by ';', or NULL: all */
    const char *right;   /* of products: what the matrix is multiplied with; NULL: vectors */
    size_t max_workspace;
} settings;

/* A matrix in CSR: of a file, or generated; on the host, or sent to a device. */
typedef struct input {
    spmvx_arrays csr;      /* once released the sizes alone */
    spmvx_matrix *A;       /* that has them, or borrows; NULL on the host: the next three have them */
    void *ptr, *col, *val; /* malloc'ed, or buffers of the next */
    spmvx_context *there;  /* where they lie, if not on the host */
} input;

/* Lengths of rows; do the columns of each rise strictly, as peers want them? */
typedef struct row_shape {
    int64_t shortest, longest;
    double mean, deviation;
    bool strict;
} row_shape;

/* One matrix of one type, its vectors, and those who multiply it.
 *
 * Memory at its peak. C is CSR's arrays (row pointers of 64 bits from 2^31 entries on), V a vector, R the
 * reference with 24 bytes a row.
 * On the host: 2 C while the library takes its copy of what was generated; then C + 3 V + R and what the
 *   contenders hold, all at the same time.
 * On a device: the host has C + 3 V + R until the CSR has been sent, and then no copy of the matrix: every
 *   contender is made from the device's. What is built by way of the host (SELL) brings a copy of it there
 *   for that long: 3 V + R + C + the format's own bytes. The device has C + 2 V, --flush, and what the
 *   contenders add: kernels of CSR a partition, SELL its arrays, AUTO by timing for a while a vector pair,
 *   the best so far and the next to be timed; cuSPARSE's CSR 2 V each and its buffer.
 * lap3d_700 in f64 (C = 31.5 GB, V = 2.74, R = 8.2): the host 48 GB, then 80 while SELL is built; the device
 * 37 GB, with SELL 67, 101 while AUTO times another, and 22 more for four of cuSPARSE.
 * ROTATED adds 16 V while it is measured, where there is room. */
typedef struct bench {
    const settings *set;
    /* where multiplications run; where the matrix is made and the reference is computed */
    spmvx_context *ctx, *host;
    const char *name;
    spmvx_type type;
    input in;
    /* CSR's arrays, x and y once; row pointers of 32 bits while the entries allow it */
    double csr_bytes;
    row_shape rows;
    void *x, *y, *y0;
    enum { ROTATION = 8 } rotation;
    /* Of multiplications: on a device copies there, else the above; more of them for ROTATED. */
    void *mx, *my, *xs[ROTATION], *ys[ROTATION];
    long double *reference;
    double *weight;
    contender who[MOST_CONTENDERS];
    int count;
    /* of the state measured last */
    state state;
    double *bandwidth, *clock; /* bytes a second read from memory, and MHz of a device, round by round */
    double median_bandwidth;
    int best;           /* the fastest, or -1 */
    bool won;           /* and it alone */
    char refused[NOTE]; /* why nobody was measured in this state; or "" */
    int results;        /* in all states */
} bench;

/* ---- the machine ---- */

/* Bytes of the last cache, as the system tells them, who else may use it; 0 if it does not. */
size_t system_last_cache(void);
/* Bytes that are certainly more than the last cache holds. */
size_t enough_to_flush(void);
/* Do threads wait for time slices? Told by what several take for what one does. */
bool is_busy(double all_s, double one_s);
/* Says so on stderr, with the remedy. */
void warn_if_busy(const settings *);

/* ---- inputs ---- */

typedef struct inputs {
    char **names;
    int count, failed; /* failed: directories and lists that could not be read */
} inputs;

/* Adds a file, every matrix file of a directory, a suite's matrices, or a generated matrix's name. */
void inputs_add(inputs *, const char *what);
void inputs_clear(inputs *);
/* The suites and a directory, as an option's value has them. */
void suite_words(char *out, size_t room);
bool suite_is(const char *what); /* one of them, or a directory */
/* A file, there or not, and no generated matrix's name. */
bool input_is_file(const char *name);
/* The matrix of a file, with the symmetry that it tells, or of a name; NULL after a message. */
spmvx_matrix *input_matrix(spmvx_context *, const char *name, spmvx_type, spmvx_symmetry *);
/* The same as CSR's arrays; false after a message. arrays_only: in->A is not needed. */
bool input_open(spmvx_context *, const char *name, spmvx_type, bool arrays_only, input *in);
/* The same of malloc'ed arrays, which are the input's then. */
bool input_take(spmvx_context *, generated *, spmvx_type, input *);
/* To the device: a matrix that borrows its arrays there, and is trusted, as a solver would have it. The
 * host's arrays go. False when there is no room: the context's last error says so. */
bool input_send(spmvx_context *, input *);
void input_release(input *);
bool send_bytes(spmvx_context *, const void *host, size_t bytes, void **there);
row_shape row_shape_of(const spmvx_arrays *, int threads);

/* ---- contenders ---- */

/* Is there such a kernel, parameters and variant aside? */
bool kernel_is_known(spmvx_operation, const char *name);
/* Loads the modules of a comma-separated list of files and directories; false after a message. */
bool load_peers(const char *paths, bool on_device);
int peer_count(void);
const char *peer_version(int i, const char **library);
void unload_peers(void);
/* Every contender of the settings, set up and checked against the reference. With a reason why the matrix
 * itself is not there, they are only listed, with it. */
void prepare_contenders(bench *, const char *missing);
/* Product i of all peers, or NULL behind the last one. */
const peer_product *peer_product_at(int i);
/* Resident memory of this process now, and at its peak since the last reset; kilobytes. */
size_t resident_now(void), resident_peak(void);
/* False where the system does not offer that. */
bool reset_peak(void);
void drop_contenders(bench *);
/* y = A x + beta y; false, with a note, when it failed: then the contender is out. */
bool multiply(bench *, contender *, const void *x, void *y);
/* So often, with the vectors of the state, and the seconds that it took. */
bool multiply_often(bench *, contender *, int times, double *seconds);

/* ---- measuring ---- */

void make_reference(bench *);
double error_of(const bench *, const void *y);
void measure(bench *, state);
/* Why a contender has no result in the state measured last. */
const char *why_not(const bench *, const contender *);
uint64_t *flush_buffer(size_t bytes);
/* Reads the buffer with all threads, or the device's; bytes a second. */
double read_memory(const settings *);
/* y0, or NaN where nothing is to be read, into the y of multiplications; and that y into b->y. */
bool reset_y(bench *, bool poison);
bool fetch_y(bench *);
double bound_of(const bench *);

/* ---- reports ---- */

enum { RATIOS = 5 };

/* A time over another, over all cases. */
typedef struct tally {
    double sum, least; /* of logarithms; */
    int count;
    char where[2 * NAME]; /* the least */
} tally;

/* How cases of an operation are told; one is a case. */
typedef struct report_of {
    const char *operation, *csv_head;
    void (*text)(const void *one, FILE *), (*markdown)(const void *one, FILE *);
    void (*csv)(const void *one, FILE *); /* a line a contender */
    void (*json)(const void *one, FILE *);
    const char *ratio_names[RATIOS];
    void (*note_ratios)(const void *one, tally *);
} report_of;
extern const report_of report_of_mul, report_of_product;

typedef struct report {
    enum { TEXT_TABLE, MARKDOWN, CSV, JSON } kind;
    const report_of *of;
    FILE *out;
    /* to_file: JSON is closed after every case, so that what is there can be read */
    bool to_file, any;
    long tail;
    tally ratios[RATIOS];
} report;

void report_begin(report *, const spmvx_context *, const settings *);
void report_case(report *, const void *one);
void report_end(report *);

const char *type_text(spmvx_type);
void csv_text(FILE *, const char *);
void json_text(FILE *, const char *);
void json_numbers(FILE *, const double *, int n);
void ratio_note(tally *, const char *where, double over, double under);
#endif
