/* Shared by the commands of the tool: options, errors, reading, vectors, statistics. */
#ifndef TOOL_H
#define TOOL_H
#include <stdbool.h>
#include <stdint.h>

#include "spmvx/spmvx.h"

enum { EXIT_USAGE = 2, MOST_FILES = 256 };

/* One option of a command; out points to where the value goes (flag: a bool, count and threads: an int64_t,
 * text: a const char *). A value in small letters is the words that it may be, "host|cuda|any", or a list of
 * which it may be, "f64|f32,..."; one in capitals stands for what the user chooses, also as one of the words:
 * "ones|random|FILE". Help and completions show it, and parse refuses what is none of the words. */
typedef struct option {
    const char *name; /* "--threads" */
    char letter;      /* 'o' for -o, or 0 */
    enum { FLAG, COUNT, THREADS, TEXT } kind;
    void *out;
    const char *value, *help; /* "N", "threads to use" */
} option;

#define VALUE_TYPES "f64|f32"
#define PLACES "host|cuda|any"
#define REORDERINGS "rcm|degree|cluster"

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
/* The words as an option's value has them, in a buffer of so many bytes, with an end such as ",...". */
const char *join_words(const char *const *words, int count, const char *end, char *out, size_t room);
/* The status of a product of a matrix of one place and no entries by the kernel of that name. */
spmvx_status try_kernel(spmvx_context *, spmvx_operation, const char *kernel, spmvx_type);
/* Before any work: -1 when the kernel of that name, which may be NULL, serves; else an exit status after a
 * message. */
int check_kernel(const command *, spmvx_context *, spmvx_operation, const char *kernel, spmvx_type);
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
/* F32 for "f32", else F64. */
spmvx_type type_named(const char *);
const char *format_text(spmvx_format);
const char *base_name(const char *path);

/* Of one of PLACES, and of REORDERINGS. */
spmvx_place place_named(const char *);
spmvx_reordering reordering_named(const char *);

/* Of the library's messages the one that a user cannot see otherwise: his own wisdom is not taken. For the
 * options of a context. */
void tell_of_wisdom(void *user, spmvx_level, const char *message);
/* A host context; NULL after a message. */
spmvx_context *open_context(int64_t threads);
/* A context of a place by its name, on the device of that number; NULL after a message. */
spmvx_context *open_context_at(const char *place, int64_t device, int64_t threads);
/* Gives a file's wisdom to the context; NULL: none. False after a message. */
bool import_wisdom(spmvx_context *, const char *path);
/* The matrix of a file, and the symmetry that the file tells, where that is not NULL; NULL after a message.
 * Shows its progress. */
spmvx_matrix *read_matrix(spmvx_context *, const char *path, spmvx_type, spmvx_symmetry *);
/* A view in CSR of any matrix, held by *holder (to be destroyed). */
bool as_csr(spmvx_context *, const spmvx_matrix *, spmvx_matrix **holder, spmvx_arrays *view);
int64_t index_at(const void *, spmvx_type, int64_t i);
#endif
