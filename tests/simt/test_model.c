/* What the model tells of kernels on an H200, beside what one took (docs/performance-notes.md, section 77):
 * of matrices that stay in L2, of gathers that L1 hits and of others, and from memory. */
#include <math.h>
#include <string.h>

#include "cases.h"
#include "device.h"
#include "dispatch/registry.h"

static const spx_machine h200 = {
    .memory_rate = 4210.0,
    .cache_rate = 6000.0,
    .first_cache = 200e3,
    .second_cache = 37.7e6,
    .last_cache = 44.0e6,
    .compute_scale = 1.0,
    .far_scale = 1.0,
    .multiprocessors = 132,
    .resident_threads = 1536,
    .clusters = true,
    .launch_ns = 2500.0,
    .gather_first = 220.0,
    .gather_second = 130.0,
    .gather_memory = 35.25,
};

typedef struct measurement {
    const char *kernel, *matrix;
    double us; /* median of some runs */
    int64_t nrows, ncols, nnz, longest;
    double mean, deviation, span, sectors;
    size_t value_bytes;
    int64_t stored; /* places of SELL in slices of 32 rows as they come, else entries */
} measurement;

static const measurement measurements[] = {
    { "csr-vector", "ecology_700", 7.6, 490000, 490000, 2447200, 5, 4.99429, 0.0754848, 1397.8, 0.162301, 8,
      2447200 },
    { "csr-vector", "mc2box_600", 4.5, 360000, 360000, 1438200, 4, 3.995, 0.0706124, 599.881, 0.0779789, 4,
      1438200 },
    { "csr-vector", "qcd_8", 6.4, 49152, 49152, 1916928, 39, 39, 0, 12027, 0.0541311, 8, 1916928 },
    { "csr-vector", "delaunay_n18_rand_shuffled", 13.1, 262144, 262144, 1572798, 21, 5.99975, 1.34331, 184317,
      0.996946, 4, 1572798 },
    { "csr-vector", "lap3d_120_rand_shuffled", 96.1, 1728000, 1728000, 12009600, 7, 6.95, 0.221736,
      1.29311e+06, 0.891758, 8, 12009600 },
    { "csr-vector", "lap3d_120_rand_shuffled", 84.6, 1728000, 1728000, 12009600, 7, 6.95, 0.221736,
      1.29311e+06, 0.875808, 4, 12009600 },
    { "csr-vector", "random_50000_50000_5000000", 21.3, 50000, 50000, 5000000, 141, 100, 10.0314, 48999.9,
      0.919646, 4, 5000000 },
    { "csr-vector", "fem3dof_30_rand_shuffled", 43.5, 81000, 81000, 6133248, 81, 75.7191, 11.193, 78794.4,
      0.939888, 4, 6133248 },
    { "csr-vector", "random_1000000_1000000_8000000_rand", 79.5, 1000000, 1000000, 8000000, 25, 8, 2.83241,
      750040, 0.999366, 8, 8000000 },
    { "sell", "lap3d_120_rand_shuffled", 87.6, 1728000, 1728000, 12009600, 7, 6.95, 0.221736, 1.29311e+06,
      0.891758, 8, 12096000 },
    { "sell", "qcd_10_rand_shuffled", 21.5, 120000, 120000, 4680000, 39, 39, 0, 113998, 0.965805, 4,
      4680000 },
    { "sell", "hpcg_48_shuffled", 20.3, 110592, 110592, 2863288, 27, 25.8906, 3.03597, 102255, 0.957241, 8,
      2985984 },
    { "sell", "hpcg_48_shuffled", 16.8, 110592, 110592, 2863288, 27, 25.8906, 3.03597, 102255, 0.939067, 4,
      2985984 },
    { "sell", "fem2dof_50_rand_shuffled", 94.0, 250000, 250000, 12967168, 54, 51.8687, 5.96061, 240317,
      0.977555, 8, 13500864 },
    { "csr-adaptive", "random_50000_50000_5000000", 32.6, 50000, 50000, 5000000, 141, 100, 10.0314, 48999.9,
      0.919646, 4, 5000000 },
    { "csr-adaptive", "kron_g17_rand", 31.4, 131072, 131072, 3727568, 15754, 28.4391, 159.807, 78672.1,
      0.919449, 8, 3727568 },
    { "csr-adaptive", "sls_500000_100000_8_rand", 18.0, 500000, 100000, 2250000, 8, 4.5, 2.28986, 54374.6,
      0.994455, 4, 2250000 },
    { "csr-merge-path", "random_1000000_1000000_8000000_rand", 68.5, 1000000, 1000000, 8000000, 25, 8,
      2.83241, 750040, 0.999366, 8, 8000000 },
    { "csr-merge-path", "mawi_500000_rand", 11.6, 500000, 500000, 870568, 213994, 1.74114, 302.64, 115867,
      0.668377, 8, 870568 },
    { "csr-merge-path", "sls_like_rand", 53.0, 1748122, 62729, 6992488, 7, 4, 1.9988, 31943.8, 0.992792, 4,
      6992488 },
    { "csr-scalar", "lap3d_120_rand_shuffled", 125.4, 1728000, 1728000, 12009600, 7, 6.95, 0.221736,
      1.29311e+06, 0.891758, 8, 12009600 },
    { "csr-scalar", "delaunay_n20_rand_shuffled", 58.9, 1048576, 1048576, 6291372, 24, 5.99992, 1.33901,
      737810, 0.9989, 4, 6291372 },
};

static const spx_kernel *kernel_named(const char *name)
{
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (k->place == SPMVX_CUDA && k->operation == SPMVX_MUL && !strcmp(k->name, name)) return k;
    }
    fail_msg("no kernel %s", name);
    return NULL;
}

static void test_told(void **state)
{
    (void)state;
    const double far = 0.15;
    for (size_t i = 0; i < sizeof measurements / sizeof *measurements; i++) {
        const measurement *m = &measurements[i];
        const spx_features f = {
            .nrows = m->nrows,
            .ncols = m->ncols,
            .nnz = m->nnz,
            .longest = m->longest,
            .mean = m->mean,
            .deviation = m->deviation,
            .span = m->span,
            .sectors_per_entry = m->sectors,
            .value_bytes = m->value_bytes,
            .ptr_bytes = 4,
            .nvec = 1,
            .machine = &h200,
        };
        spx_look look = { .stored = m->stored };
        look.layout.slice = 32;
        look.layout.sigma = 1;
        const double told = 1e-3 * kernel_named(m->kernel)->cost(&f, &look);
        if (!(fabs(told / m->us - 1.0) < far))
            fail_msg("%s on %s (%zu bytes a value): told %.1f us, and %.1f came", m->kernel, m->matrix,
                     m->value_bytes, told, m->us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_told) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
