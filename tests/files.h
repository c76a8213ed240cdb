/* Files of tests: a folder for them that goes at the end, text that grows, and what a reading of them
 * gives, takes or says. */
#ifndef FILES_H
#define FILES_H
#include "support.h"

/* ---- the folder, and files in it ---- */

extern char folder[256];
int make_folder(void **state);
int remove_folder(void **state);
int empty_folder(void **state);
/* How many files there are; with remove_them, none is left. */
int count_files(bool remove_them);
/* Valid until the next call. */
const char *path_of(const char *name);
const char *put_file(const char *name, const void *bytes, size_t n);
const char *put_text(const char *name, const char *content);
/* With a 0 behind the n bytes. */
unsigned char *get_file(const char *path, size_t *n);
void check_file(const char *path, const char *expected);

/* Text that grows. */
typedef struct text {
    char *bytes;
    size_t n, room;
} text;

void add(text *, const void *bytes, size_t n);
__attribute__((format(printf, 2, 3))) void addf(text *, const char *format, ...);
void add_fill(text *, char c, size_t n);
/* The text begins anew. */
void add_banner(text *, const char *banner);
void add_le(text *, uint32_t v, int bytes);
/* One gzip member of stored blocks. */
void add_gzip(text *, const char *bytes, size_t n);
uint32_t crc32_of(const void *bytes, size_t n);

/* A matrix of one row, all in column 1, with 1, 2, 0.5 and -3 by turns. */
spmvx_matrix *make_row(spmvx_context *, int64_t nnz);
/* The same in a file; false where this build lacks the compressor that the name asks for. */
bool put_row(const char *name, int32_t level, int64_t nnz);
/* Whether this build reads gzip. */
bool has_gzip(void);

/* ---- what a reading gives ---- */

spmvx_arrays view_of(const spmvx_matrix *);
int64_t row_of(const spmvx_arrays *, int64_t k);
/* The entries in the matrix's order, base 1 as in a file: "CSR 2x2: 1 1 0.5; 2 1 3;". */
void dump(const spmvx_matrix *, char out[1024]);
void check_reads(const char *path, const spmvx_read_options *, const char *expected);
/* The same, with a name for what fails. */
void check_reads_as(const char *what, const char *path, const spmvx_read_options *, const char *expected);
/* Fails with the status and a message that holds the file's name, the line (0: none) and the reason;
 * changes nothing. */
void check_refuses_with(const char *path, const spmvx_read_options *, int32_t threads, spmvx_status, int line,
                        const char *reason);
/* By two threads, with default options. */
void check_refuses(const char *path, spmvx_status, int line, const char *reason);
/* Its progress grows to the file's size, in so many calls at least, and each of them can stop it. */
void check_progress(const char *path, int32_t threads, int least_calls);

/* ---- what memory it takes ---- */

/* Bytes at the peak of a reading, beyond what the context holds. */
spmvx_status read_metered(const char *path, int32_t threads, size_t max_bytes, size_t *peak);
/* The largest block that a reading asks for, be it granted or not. */
size_t largest_request(const char *path, int32_t threads);
/* Whatever the limit is, the peak stays within it; and a few times the peak is enough for a limit. */
void check_bounded(const char *path, int32_t threads);
#endif
