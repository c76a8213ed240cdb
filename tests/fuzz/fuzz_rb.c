/* Any bytes as a Rutherford-Boeing file, plain or compressed. */
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_read(".rb", data, size);
    return 0;
}
