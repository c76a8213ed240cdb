/* Each allocation of a generator failing in turn: it says so, and nothing leaks. malloc and free are
 * wrapped by the linker. */
#include "support.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

void *__real_malloc(size_t);
void __real_free(void *);
void *__wrap_malloc(size_t);
void __wrap_free(void *);

static _Atomic long calls, live;
static long fail_at;

void *__wrap_malloc(size_t bytes)
{
    if (++calls == fail_at) return NULL;
    live++;
    return __real_malloc(bytes);
}

void __wrap_free(void *p)
{
    if (p) live--;
    __real_free(p);
}

/* One name for each way to build. */
static const char *const names[] = { "lap2d_20",    "kron_g6",          "delaunay_n6",
                                     "rgg_n6",      "random_20_30_100", "rail_20_60_200",
                                     "circuit_200", "web_100",          "mc2depi_10_shuffled" };

static void test_memory(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        bool made = false;
        for (fail_at = 1; !made; fail_at++) {
            generated g;
            char error[256] = "";
            calls = live = 0;
            made = generate(names[n], 1, &g, error, sizeof error);
            assert_int_equal(made, calls < fail_at);
            if (made) {
                assert_int_equal(live, 3);
            } else {
                assert_null(g.ptr);
                assert_int_equal(g.nrows, 0);
                if (!strstr(error, "no memory") || !strstr(error, names[n]))
                    fail_msg("%s: '%s'", names[n], error);
            }
            generated_free(&g);
            assert_int_equal(live, 0);
        }
        assert_true(fail_at > 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_memory) };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
