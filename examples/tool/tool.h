/* Shared by the commands of the tool: options, errors, reading, vectors, statistics. */
#ifndef TOOL_H
#define TOOL_H
#include <stdbool.h>
#include <stdint.h>

#include "spmvx/spmvx.h"

enum { EXIT_USAGE = 2, MOST_FILES = 256 };

/* One option of a command; text points to where the value goes (flag: a bool, count: an int64_t, text: a
 * const char *). */
typedef struct option {
    const char *name; /* "--threads" */
    char letter;      /* 'o' for -o, or 0 */
    enum { FLAG, COUNT, TEXT } kind;
    void *out;
    const char *value, *help; /* "N", "threads to use" */
} option;

typedef struct command {
    const char *name, *usage, *summary, *details;
    int (*run)(int argc, char **argv);
} command;

extern const command command_bench, command_check, command_compare, command_convert, command_generate,
    command_info, command_kernels, command_mul, command_spmspm, command_spy, command_tune;

/* Reads argv[1...]; options end with a NULL name, and --help and --quiet need not stand there. Files are
 * what is left. Answers -1 to go on, else an exit status (after --help, or a message on stderr). */
int parse(const command *, const option *, int argc, char **argv, const char *files[MOST_FILES], int *count);
void print_help(const command *, const option *);
int usage_error(const command *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "spmvx: WHAT: the context's last error" on stderr; answers EXIT_FAILURE. */
int fail(const spmvx_context *, const char *what);

/* "spmvx: the context's last error", which names the file. */
int fail_plainly(const spmvx_context *);

/* --quiet was given. */
bool quiet(void);
/* On stdout, unless --quiet was given: what is no result. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

void *checked_alloc(size_t bytes); /* ends the program when memory is out; zeroed */
double now(void);                  /* seconds */
void sort_doubles(double *, int n);
/* Between -1 and 1, the same for the same index everywhere. */
double sample(int64_t i);
double vector_get(const void *, spmvx_type, int64_t i);
void vector_set(void *, spmvx_type, int64_t i, double);
size_t type_bytes(spmvx_type);
/* F32 for "f32", F64 for "f64"; 0 for anything else. */
spmvx_type type_named(const char *);
const char *format_text(spmvx_format);
const char *base_name(const char *path);

/* HOST, CUDA or ANY of "host", "cuda", "any"; false for anything else. */
bool place_named(const char *, spmvx_place *out);

/* A host context; NULL after a message. */
spmvx_context *open_context(int64_t threads);
/* A context of a place by its name, on the device of that number; NULL after a message. */
spmvx_context *open_context_at(const command *, const char *place, int64_t device, int64_t threads);
/* Gives a file's wisdom to the context; NULL: none. False after a message. */
bool import_wisdom(spmvx_context *, const char *path);
/* The matrix of a file, and the symmetry that the file tells, where that is not NULL; NULL after a message.
 * Shows its progress. */
spmvx_matrix *read_matrix(spmvx_context *, const char *path, spmvx_type, spmvx_symmetry *);
/* A view in CSR of any matrix, held by *holder (to be destroyed). */
bool as_csr(spmvx_context *, const spmvx_matrix *, spmvx_matrix **holder, spmvx_arrays *view);
int64_t index_at(const void *, spmvx_type, int64_t i);
#endif
