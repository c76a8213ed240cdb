/* Any bytes as a file. */
#ifndef FUZZ_AS_FILE_H
#define FUZZ_AS_FILE_H
#include <stddef.h>
#include <stdint.h>

/* The path of a file that holds these bytes until the next call; the same every time, as is the end of its
 * name, and removed when the program ends. */
const char *as_file(const char *ending, const uint8_t *data, size_t size);
#endif
