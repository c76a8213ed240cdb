/* Sorting in place, against qsort. */
#include <stdlib.h>
#include <string.h>

#include "core/sort.h"
#include "support.h"

static uint64_t state_of_numbers = 7;

static uint64_t next(void)
{
    state_of_numbers = state_of_numbers * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state_of_numbers ^ state_of_numbers >> 29;
}

static int by_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_i32(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* What all numbers of a list have in common: a mask of the bits that differ, and the others. */
static const struct {
    uint64_t mask, rest;
} kinds[] = { { UINT64_MAX, 0 },
              { 0, 5 },
              { 1, 0 },
              { UINT64_C(0xff), UINT64_C(1) << 63 },
              { UINT64_C(0x8000000000000000), 3 },
              { UINT64_C(0x8000000080000000), 0 },
              { UINT64_C(0xffff00000000ffff), 0x10000 },
              { UINT64_C(0xfffffff), UINT64_C(0xffffffff00000000) } };

static void in_order(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 0, 1, 2, 3, 23, 24, 25, 26, 100, 4097, 100000 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const size_t n = (size_t)sizes[s];
            uint64_t *wide = malloc(n * sizeof *wide + 1), *want = malloc(n * sizeof *want + 1);
            int32_t *narrow = malloc(n * sizeof *narrow + 1), *least = malloc(n * sizeof *least + 1);
            for (size_t i = 0; i < n; i++) {
                wide[i] = want[i] = (next() & kinds[k].mask) | kinds[k].rest;
                narrow[i] = least[i] = (int32_t)(uint32_t)wide[i];
            }
            qsort(want, n, sizeof *want, by_u64);
            qsort(least, n, sizeof *least, by_i32);
            spx_sort_u64(wide, (int64_t)n);
            spx_sort_i32(narrow, (int64_t)n);
            assert_memory_equal(wide, want, n * sizeof *want);
            assert_memory_equal(narrow, least, n * sizeof *least);
            spx_sort_u64(wide, (int64_t)n); /* once more, in order already */
            assert_memory_equal(wide, want, n * sizeof *want);
            free(wide);
            free(want);
            free(narrow);
            free(least);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_order) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
