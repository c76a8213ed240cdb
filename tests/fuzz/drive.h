/* What the driver asks of a target's seeds, and offers them. */
#ifndef DRIVE_H
#define DRIVE_H
#include <stddef.h>

/* Defined with the seeds: adds them all; pieces that mutations put in. */
void make_seeds(void);
extern const char *const pieces[];
extern const int piece_count;

void add_seed(const void *bytes, size_t n);
/* The text as gzip, one stored block, in two members. */
void add_gzip_seed(const char *text);
/* What the library itself writes to a file whose name ends so, where this build has it. */
void add_written_seed(const char *ending);
#endif
