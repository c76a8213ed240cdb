/* Random numbers as pure functions of a counter: the finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood,
 * Fast splittable pseudorandom number generators, OOPSLA 2014) over a seed and an index. Integers alone
 * decide structure. */
#ifndef GENERATE_HASH_H
#define GENERATE_HASH_H
#include <stdint.h>

static inline uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

static inline uint64_t hash(uint64_t seed, uint64_t i)
{
    return mix(mix(seed * 0x9e3779b97f4a7c15u + 1) + i * 0x9e3779b97f4a7c15u);
}

static inline uint64_t hash2(uint64_t seed, int64_t i, int64_t j)
{
    return hash(seed, (uint64_t)i << 32 | (uint64_t)j);
}

/* Uniform in 0 ... n-1, for n up to 2^32, from the high half. */
static inline int64_t below(uint64_t h, int64_t n)
{
    return (int64_t)((h >> 32) * (uint64_t)n >> 32);
}

/* True for that share of the hashes, in 1/65536, from the low 16 bits. */
static inline bool chance(uint64_t h, uint32_t share)
{
    return (h & 0xffff) < share;
}

/* Uniform in [0, 1). */
static inline double unit(uint64_t h)
{
    return (double)(h >> 11) * 0x1p-53;
}

/* Successes before the first failure, most at the most: k or more with probability (share/65536)^k. */
static inline int level(uint64_t h, uint32_t share, int most)
{
    int k = 0;
    for (uint64_t g = h; k < most && chance(g, share); g = ++k % 4 ? g >> 16 : mix(h + (uint64_t)k)) {}
    return k;
}

static inline int log2_floor(uint64_t n)
{
    return 63 - __builtin_clzll(n | 1);
}

/* One of 0 ... n-1, low ones more often: block k, n/2^(k+1) ... n/2^k - 1, with the probability of level
 * k. Share 32768 is uniform; 65536 times 2^(a-1) gives a density that falls as the a-th power. */
static inline int64_t skewed(uint64_t h, uint32_t share, int64_t n)
{
    const int top = log2_floor((uint64_t)n), k = level(h, share, top);
    const int64_t first = k < top ? n >> (k + 1) : 0, last = n >> k;
    return first + below(mix(h ^ 0x5851f42d4c957f2du), last - first);
}

/* A bijection of 0 ... n-1, n < 2^31: the multiplier is a prime above every n. */
static inline int64_t scatter(int64_t i, int64_t n)
{
    return (int64_t)((uint64_t)i * 2654435761u % (uint64_t)n);
}
#endif
