/* What the fuzz targets share. */
#ifndef HARNESS_H
#define HARNESS_H
#include <stddef.h>
#include <stdint.h>

/* The bytes as a file whose name ends so (the same in every call). Ends the process where something does
 * not hold. */
void fuzz_read(const char *ending, const uint8_t *data, size_t size);
/* What a fuzzer calls, and the driver: each target defines it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif
