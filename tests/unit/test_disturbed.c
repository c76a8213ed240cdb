/* When timing tells nothing: several threads that take longer than one, by time slices. */
#include "support.h"

#include "dispatch/tune.h"

static void test_judgement(void **state)
{
    (void)state;
    assert_false(spx_is_disturbed(1.0e6, 1.9e6)); /* two threads on a quiet machine */
    assert_false(spx_is_disturbed(2.0e6, 1.9e6)); /* memory that one thread exhausts */
    assert_false(spx_is_disturbed(4.0e3, 1.0e3)); /* starting threads, on a small matrix */
    assert_true(spx_is_disturbed(8.0e6, 1.9e6));  /* a thread that waits for its time slice */
    assert_true(spx_is_disturbed(16.0e6, 0.2e6));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_judgement) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
