/* Checksums and numbers as gzip and ZIP have them. */
#ifndef CRC32_H
#define CRC32_H
#include <stddef.h>
#include <stdint.h>

static inline uint32_t crc32_of(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

static inline size_t put_le(uint8_t *out, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) out[i] = (uint8_t)(v >> 8 * i);
    return (size_t)bytes;
}
#endif
