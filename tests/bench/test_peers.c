/* Peers of the benchmark: every method of the modules named as arguments against a long-double product;
 * what is refused, and how; the number of threads; all modules in one process. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <omp.h>

#include "peer_support.h"

enum { BAD = 200 };

/* ---- y = alpha A x + beta y ---- */

static const double scalars[][2] = { { 1, 0 }, { 1, 1 }, { -0.5, 0 }, { 2.5, -1 }, { 1, 0.25 } };
enum { SCALARS = sizeof scalars / sizeof *scalars };

static void assert_served(int code, const peer_method *m, const char *call, const peer_error *e)
{
    if (code != PEER_OK) fail_msg("%s: %s answers %d, %s", m->name, call, code, e->text);
}

static void check_mul(const peer_library *l, const peer_method *m, void *h, const csr *c)
{
    const size_t each = value_bytes(c->type), x_bytes = (size_t)c->ncols * each,
                 y_bytes = (size_t)c->nrows * each;
    void *x = vector(c->ncols, c->type, 7), *y = vector(c->nrows, c->type, 9),
         *result = vector(c->nrows, c->type, 0);
    void *their_x = place(l, x, x_bytes), *their_y = place(l, result, y_bytes);
    peer_error e = { "" };
    for (int i = 0; i < SCALARS; i++) {
        const double alpha = scalars[i][0], beta = scalars[i][1];
        if (beta != 0) copy_in(l, their_y, y, y_bytes); /* else NaN, or the last result */
        assert_served(m->mul(h, alpha, their_x, beta, their_y, &e), m, "mul", &e);
        copy_out(l, result, their_y, y_bytes);
        check_vector(c, alpha, x, beta, y, result, m->name);
    }
    release(l, their_x);
    release(l, their_y);
    free(x);
    free(y);
    free(result);
}

/* In the peer's own vectors, several times so that they may move. */
static void check_vectors(const peer_method *m, void *h, const csr *c)
{
    if (!m->vectors) return;
    const size_t each = value_bytes(c->type), x_bytes = (size_t)c->ncols * each,
                 y_bytes = (size_t)c->nrows * each;
    void *x = vector(c->ncols, c->type, 17), *y = vector(c->nrows, c->type, 19),
         *nan = vector(c->nrows, c->type, 0);
    void *their_x, *their_y;
    peer_error e = { "" };
    for (int i = 0; i < SCALARS; i++) {
        const double alpha = scalars[i][0], beta = scalars[i][1];
        assert_served(m->vectors(h, &their_x, &their_y, &e), m, "vectors", &e);
        memcpy(their_x, x, x_bytes);
        memcpy(their_y, beta == 0 ? nan : y, y_bytes);
        assert_served(m->mul(h, alpha, NULL, beta, NULL, &e), m, "mul", &e);
        assert_served(m->vectors(h, &their_x, &their_y, &e), m, "vectors", &e);
        check_vector(c, alpha, x, beta, y, their_y, m->name);
    }
    for (int i = 0; i < 3; i++) assert_served(m->mul(h, 1, NULL, 0, NULL, &e), m, "mul", &e);
    assert_served(m->vectors(h, &their_x, &their_y, &e), m, "vectors", &e);
    check_vector(c, 1, x, 0, y, their_y, m->name);
    free(x);
    free(y);
    free(nan);
}

/* y += A x, three times. */
static void check_run(const peer_method *m, void *h, const csr *c)
{
    if (!m->run) return;
    void *x = vector(c->ncols, c->type, 27), *y = vector(c->nrows, c->type, 29),
         *before = vector(c->nrows, c->type, 29);
    double seconds = -1;
    peer_error e = { "" };
    assert_served(m->run(h, 3, 1, x, 1, y, &seconds, &e), m, "run", &e);
    check_vector(c, 3, x, 1, before, y, m->name);
    assert_true(seconds >= 0);
    free(x);
    free(y);
    free(before);
}

/* Refusals that are in order: sizes of 0; f32 where the peer has none; what a device's format cannot hold. */
static bool may_refuse(const peer_library *l, const csr *c, bool has_f32)
{
    return c->nrows == 0 || c->ncols == 0 || (c->type == SPMVX_F32 && !has_f32) || l->on_device;
}

/* Answers whether the method served the matrix. */
static bool check_matrix(const peer_library *l, const peer_method *m, const csr *c, int ptr_bits,
                         bool has_f32)
{
    const peer_matrix A = given(l, c, ptr_bits, 2);
    peer_error e = { "" };
    void *h = NULL;
    const int code = m->open(m, &A, &h, &e);
    if (code == PEER_OK) {
        check_mul(l, m, h, c);
        check_vectors(m, h, c);
        check_run(m, h, c);
        if (m->bytes && c->nnz > 100)
            assert_true(m->bytes(h) == 0 || m->bytes(h) >= (size_t)c->nnz * value_bytes(c->type));
        m->close(h);
    } else if (code != PEER_UNSUPPORTED || !*e.text || !may_refuse(l, c, has_f32)) {
        fail_msg("%s, '%s': open answers %d, %s", m->name, c->name, code, e.text);
    }
    given_drop(l, &A);
    return code == PEER_OK;
}

static void results_of(const peer_library *l, const peer_method *m)
{
    int served = 0;
    for (spmvx_type type = SPMVX_F64; type; type = type == SPMVX_F64 ? SPMVX_F32 : 0) {
        bool served_type = false; /* a peer that served a type once has to serve it always */
        for (int i = 0;; i++) {
            csr c = csr_of_case(i, false, type);
            if (c.nnz < 0) break;
            if (check_matrix(l, m, &c, i % 2 ? 64 : 32, served_type)) served++, served_type = true;
            csr_drop(&c);
        }
    }
    printf("%s: %d matrices served\n", m->name, served);
    assert_true(served > 0);
}

/* How many methods there were. */
static int each_method(void (*f)(const peer_library *, const peer_method *))
{
    int count = 0;
    for (int k = 0; k < module_count; k++)
        for (int i = 0; modules[k].started && i < modules[k].library->count; i++, count++)
            f(modules[k].library, &modules[k].library->methods[i]);
    return count;
}

static void test_results(void **state)
{
    (void)state;
    if (!each_method(results_of)) skip();
}

/* ---- what is refused ---- */

static void assert_refused(const peer_method *m, peer_matrix A, const char *text)
{
    peer_error e = { "" };
    void *h = NULL;
    assert_int_equal(m->open(m, &A, &h, &e), PEER_UNSUPPORTED);
    assert_null(h);
    if (!strstr(e.text, text)) fail_msg("%s says '%s', without '%s'", m->name, e.text, text);
}

static void refusals_of(const peer_library *l, const peer_method *m)
{
    csr c = csr_of_case(15, false, SPMVX_F64);
    const peer_matrix A = given(l, &c, 32, 2);
    peer_matrix bad = A;
    bad.val_bits = 16;
    assert_refused(m, bad, "val_bits is 16");
    bad = A;
    bad.ptr_bits = 8;
    assert_refused(m, bad, "ptr_bits is 8");
    bad = A;
    bad.nrows = 0;
    assert_refused(m, bad, "nrows is 0");
    bad = A;
    bad.ncols = 0;
    assert_refused(m, bad, "ncols is 0");
    bad = A;
    bad.nnz = -3;
    assert_refused(m, bad, "nnz is -3");
    bad = A;
    bad.threads = 0;
    assert_refused(m, bad, "threads is 0");
    given_drop(l, &A);
    csr_drop(&c);
}

static void test_refusals(void **state)
{
    (void)state;
    if (!each_method(refusals_of)) skip();
}

/* ---- threads ---- */

/* Names in a folder of /proc that begin with a digit. */
static int count_tasks(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    for (const struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

/* In a process of its own, where no other method's threads are: how many work on a product, or BAD. OpenMP
 * keeps the threads of the last team. One thread comes first, which leaves none behind: the number is the
 * handle's, not the first one's. */
static int threads_used(const module *m, const peer_method *method, const csr *c, int asked)
{
    const peer_library *l = m->library;
    const int most = omp_get_max_threads(), dynamic = omp_get_dynamic();
    peer_error e = { "" };
    void *h = NULL, *x = vector(c->ncols, c->type, 7), *y = vector(c->nrows, c->type, 9);
    if (l->start && l->start(&e)) return BAD;
    const peer_matrix A = given(l, c, 32, asked);
    const int before = count_tasks();
    peer_matrix one = A;
    one.threads = 1;
    bool fails = method->open(method, &one, &h, &e) || method->mul(h, 1, x, 0, y, &e);
    if (!fails) method->close(h);
    fails = fails || method->open(method, &A, &h, &e) || method->mul(h, 1, x, 0, y, &e);
    if (fails) {
        fprintf(stderr, "%s: %s\n", method->name, e.text);
        return BAD;
    }
    const int used = count_tasks() - before + 1;
    if (omp_get_max_threads() != most || omp_get_dynamic() != dynamic) return BAD + 1;
    method->close(h);
    return used;
}

static void check_threads(const module *m, const peer_method *method, const csr *c, int asked)
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (!child) _exit(threads_used(m, method, c, asked));
    assert_int_equal(waitpid(child, &status, 0), child);
    const int used = WIFEXITED(status) ? WEXITSTATUS(status) : BAD;
    const int expected = method->run ? 1 : method->threads ? method->threads : asked;
    if (used == BAD + 1) fail_msg("%s leaves OpenMP's settings changed", method->name);
    if (used != expected) fail_msg("%s uses %d threads where %d are asked for", method->name, used, asked);
}

/* Large enough for every library to take all the threads that it is given. */
static csr csr_large(void)
{
    enum { ROWS = 20000, EACH = 60 };
    triples t = { .name = "a band", .nrows = ROWS, .ncols = ROWS + EACH, .nnz = ROWS * EACH };
    uint64_t seed = 31;
    t.row = malloc((size_t)t.nnz * sizeof *t.row);
    t.col = malloc((size_t)t.nnz * sizeof *t.col);
    t.val = malloc((size_t)t.nnz * sizeof *t.val);
    assert_true(t.row && t.col && t.val);
    for (int32_t k = 0; k < t.nnz; k++) {
        t.row[k] = k / EACH;
        t.col[k] = k / EACH + k % EACH;
        t.val[k] = case_value(&seed);
    }
    csr c = csr_make(&t, false, SPMVX_F64);
    triples_free(&t);
    return c;
}

/* Before anything starts: a process with OpenMP's threads cannot fork and go on with them. Ranks in other
 * processes (run) are as many as mpiexec was told, which the worker checks itself. */
static void test_threads(void **state)
{
    (void)state;
    csr c = csr_large();
    for (int k = 0; k < module_count; k++)
        for (int i = 0; !modules[k].library->on_device && i < modules[k].library->count; i++)
            for (int asked = 1; asked <= 3; asked++)
                check_threads(&modules[k], &modules[k].library->methods[i], &c, asked);
    csr_drop(&c);
}

/* Two handles with different numbers of threads: both right, or the second refused. */
static void two_numbers_of(const peer_library *l, const peer_method *m)
{
    csr c = csr_of_case(15, false, SPMVX_F64);
    const peer_matrix A = given(l, &c, 32, 2);
    peer_matrix B = A;
    B.threads = 3;
    peer_error e = { "" };
    void *two = NULL, *three = NULL;
    if (m->open(m, &A, &two, &e) == PEER_OK) {
        const int code = m->open(m, &B, &three, &e);
        if (code && (code != PEER_UNSUPPORTED || !strstr(e.text, "threads is 3")))
            fail_msg("%s: open answers %d, %s", m->name, code, e.text);
        check_mul(l, m, two, &c);
        if (!code) check_mul(l, m, three, &c);
        m->close(two);
        if (!code) m->close(three);
    } else if (!l->on_device) fail_msg("%s: %s", m->name, e.text);
    given_drop(l, &A);
    csr_drop(&c);
}

static void test_two_numbers(void **state)
{
    (void)state;
    if (!each_method(two_numbers_of)) skip();
}

/* Ranks are started by mpiexec from PATH. */
static void no_mpiexec_of(const peer_library *l, const peer_method *m)
{
    if (!m->run) return;
    char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
    csr c = csr_of_case(15, false, SPMVX_F64);
    const peer_matrix A = given(l, &c, 32, 2);
    assert_non_null(path);
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    assert_refused(m, A, "mpiexec: ");
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
    given_drop(l, &A);
    csr_drop(&c);
}

static void test_no_mpiexec(void **state)
{
    (void)state;
    if (!each_method(no_mpiexec_of)) skip();
}

/* All methods of all modules at once, in turns, as the benchmark takes them. */
static void test_together(void **state)
{
    (void)state;
    struct {
        const peer_library *l;
        const peer_method *m;
        void *h;
        peer_matrix A;
    } open[BAD];
    int count = 0;
    csr c = csr_of_case(14, false, SPMVX_F64);
    const int most = omp_get_max_threads(), dynamic = omp_get_dynamic();
    peer_error e = { "" };
    for (int k = 0; k < module_count; k++)
        for (int i = 0; modules[k].started && i < modules[k].library->count; i++) {
            const peer_library *l = modules[k].library;
            open[count].l = l;
            open[count].m = &l->methods[i];
            open[count].A = given(l, &c, 32, 2);
            if (l->methods[i].open(&l->methods[i], &open[count].A, &open[count].h, &e) == PEER_OK) count++;
            else given_drop(l, &open[count].A);
        }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < count; i++) check_mul(open[i].l, open[i].m, open[i].h, &c);
    for (int i = 0; i < count; i++) {
        open[i].m->close(open[i].h);
        given_drop(open[i].l, &open[i].A);
    }
    assert_int_equal(omp_get_max_threads(), most);
    assert_int_equal(omp_get_dynamic(), dynamic);
    csr_drop(&c);
    if (!count) skip();
}

int main(int argc, char **argv)
{
    if (!modules_load(argc, argv)) return EXIT_FAILURE;
    const struct CMUnitTest first[] = { cmocka_unit_test(test_threads) };
    const struct CMUnitTest then[] = { cmocka_unit_test(test_results), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_two_numbers), cmocka_unit_test(test_no_mpiexec),
                                       cmocka_unit_test(test_together) };
    const int failed = cmocka_run_group_tests(first, NULL, NULL);
    return failed ? EXIT_FAILURE
                  : modules_verdict(cmocka_run_group_tests(then, modules_start, modules_finish));
}
