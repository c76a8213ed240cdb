/* Any bytes as a Matrix Market file, plain or compressed. */
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_read(".mtx", data, size);
    return 0;
}
