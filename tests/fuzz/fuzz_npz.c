/* Any bytes as a .npz file. The checksums of stored members are made right first: else nearly all that a
 * fuzzer tries would be refused for them, and nothing behind them tried. */
#include <stdlib.h>
#include <string.h>

#include "crc32.h"
#include "harness.h"

static uint32_t get_le(const uint8_t *p, int bytes)
{
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint32_t)p[i] << 8 * i;
    return v;
}

enum { LOCAL = 30, CENTRAL = 46 }; /* bytes of the headers, without names */

/* Of a header in front of a member: flags and method at 6 and 8, checksum at 14, length at 18, of name and
 * extras at 26 and 28. */
static void fix_local(uint8_t *p, size_t left)
{
    const size_t skip = LOCAL + get_le(p + 26, 2) + get_le(p + 28, 2), n = get_le(p + 18, 4);
    if (get_le(p + 8, 2) == 0 && skip <= left && n <= left - skip) put_le(p + 14, crc32_of(p + skip, n), 4);
}

static void fix_checksums(uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i + LOCAL <= n; i++)
        if (!memcmp(bytes + i, "PK\3\4", 4)) fix_local(bytes + i, n - i);
    for (size_t i = 0; i + CENTRAL <= n; i++) {
        const size_t at = get_le(bytes + i + 42, 4);
        if (!memcmp(bytes + i, "PK\1\2", 4) && at + LOCAL <= n) memcpy(bytes + i + 16, bytes + at + 14, 4);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) abort();
    memcpy(bytes, data, size);
    fix_checksums(bytes, size);
    fuzz_read(".npz", bytes, size);
    free(bytes);
    return 0;
}
