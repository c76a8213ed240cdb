/* What the model tells of kernels on an H200, beside what one took (docs/performance-notes.md, sections 77
 * to 82): of matrices that stay in L2 or do so in part, of gathers that L1 hits and of others, and from
 * memory. */
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
    int64_t stored;       /* places, in SELL of slices of 32 rows as they come; in CSR entries */
    int64_t sigma, width; /* DIA, ELL: width; PACKED: entries of a piece; TILED: columns of a tile */
    double index_bytes, diagonal_part, shared_part;
} measurement;

static const measurement measurements[] = {
    { "csr-vector", "ecology_700", 7.6, 490000, 490000, 2447200, 5, 4.99429, 0.0754848, 1397.8, 0.162301, 8,
      2447200, 0, 0, 0, 0, 0 },
    { "csr-vector", "mc2box_600", 4.5, 360000, 360000, 1438200, 4, 3.995, 0.0706124, 599.881, 0.0779789, 4,
      1438200, 0, 0, 0, 0, 0 },
    { "csr-vector", "qcd_8", 6.4, 49152, 49152, 1916928, 39, 39, 0, 12027, 0.0541311, 8, 1916928, 0, 0, 0, 0,
      0 },
    { "csr-vector", "delaunay_n18_rand_shuffled", 13.1, 262144, 262144, 1572798, 21, 5.99975, 1.34331, 184317,
      0.996946, 4, 1572798, 0, 0, 0, 0, 0 },
    { "csr-vector", "lap3d_120_rand_shuffled", 96.1, 1728000, 1728000, 12009600, 7, 6.95, 0.221736,
      1.29311e+06, 0.891758, 8, 12009600, 0, 0, 0, 0, 0 },
    { "csr-vector", "lap3d_120_rand_shuffled", 84.6, 1728000, 1728000, 12009600, 7, 6.95, 0.221736,
      1.29311e+06, 0.875808, 4, 12009600, 0, 0, 0, 0, 0 },
    { "csr-vector", "random_50000_50000_5000000", 21.3, 50000, 50000, 5000000, 141, 100, 10.0314, 48999.9,
      0.919646, 4, 5000000, 0, 0, 0, 0, 0 },
    { "csr-vector", "fem3dof_30_rand_shuffled", 43.5, 81000, 81000, 6133248, 81, 75.7191, 11.193, 78794.4,
      0.939888, 4, 6133248, 0, 0, 0, 0, 0 },
    { "csr-vector", "random_1000000_1000000_8000000_rand", 79.5, 1000000, 1000000, 8000000, 25, 8, 2.83241,
      750040, 0.999366, 8, 8000000, 0, 0, 0, 0, 0 },
    { "sell", "lap3d_120_rand_shuffled", 87.6, 1728000, 1728000, 12009600, 7, 6.95, 0.221736, 1.29311e+06,
      0.891758, 8, 12096000, 1, 0, 0, 0, 0 },
    { "sell", "qcd_10_rand_shuffled", 21.5, 120000, 120000, 4680000, 39, 39, 0, 113998, 0.965805, 4, 4680000,
      1, 0, 0, 0, 0 },
    { "sell", "hpcg_48_shuffled", 20.3, 110592, 110592, 2863288, 27, 25.8906, 3.03597, 102255, 0.957241, 8,
      2985984, 1, 0, 0, 0, 0 },
    { "sell", "hpcg_48_shuffled", 16.8, 110592, 110592, 2863288, 27, 25.8906, 3.03597, 102255, 0.939067, 4,
      2985984, 1, 0, 0, 0, 0 },
    { "sell", "fem2dof_50_rand_shuffled", 94.0, 250000, 250000, 12967168, 54, 51.8687, 5.96061, 240317,
      0.977555, 8, 13500864, 1, 0, 0, 0, 0 },
    { "csr-adaptive", "random_50000_50000_5000000", 32.6, 50000, 50000, 5000000, 141, 100, 10.0314, 48999.9,
      0.919646, 4, 5000000, 0, 0, 0, 0, 0 },
    { "csr-adaptive", "sls_500000_100000_8_rand", 18.0, 500000, 100000, 2250000, 8, 4.5, 2.28986, 54374.6,
      0.994455, 4, 2250000, 0, 0, 0, 0, 0 },
    { "csr-merge-path", "random_1000000_1000000_8000000_rand", 68.5, 1000000, 1000000, 8000000, 25, 8,
      2.83241, 750040, 0.999366, 8, 8000000, 0, 0, 0, 0, 0 },
    { "csr-merge-path", "mawi_500000_rand", 10.9, 500000, 500000, 870568, 213994, 1.74114, 302.64, 115867,
      0.668377, 8, 870568, 0, 0, 0, 0, 0 },
    { "csr-merge-path", "sls_like_rand", 53.0, 1748122, 62729, 6992488, 7, 4, 1.9988, 31943.8, 0.992792, 4,
      6992488, 0, 0, 0, 0, 0 },
    { "csr-scalar", "lap3d_120_rand_shuffled", 125.4, 1728000, 1728000, 12009600, 7, 6.95, 0.221736,
      1.29311e+06, 0.891758, 8, 12009600, 0, 0, 0, 0, 0 },
    { "csr-scalar", "delaunay_n20_rand_shuffled", 58.9, 1048576, 1048576, 6291372, 24, 5.99992, 1.33901,
      737810, 0.9989, 4, 6291372, 0, 0, 0, 0, 0 },
    { "packed", "lap3d_60_rand", 5.0, 216000, 216000, 1490400, 7, 6.9, 0.310913, 7080.66, 0.197416, 8,
      1501414, 1, 64, 375479, 1, 0 },
    { "packed", "stencil27_50_rand", 4.9, 125000, 125000, 3241792, 27, 25.9343, 2.9803, 4995.8, 0.0539464, 4,
      3300743, 1, 104, 872574, 0.992343, 0 },
    { "packed", "hpcg_60_rand", 7.2, 216000, 216000, 5639752, 27, 26.11, 2.74139, 7198.55, 0.0537978, 4,
      5727613, 1, 108, 1468740, 0.996685, 0 },
    { "packed", "fem2dof_35_rand", 10.7, 85750, 85750, 4370908, 54, 50.9727, 6.98526, 4899.94, 0.0570482, 8,
      4472108, 1, 204, 2054320, 0, 1 },
    { "packed", "qcd_10_rand", 6.0, 120000, 120000, 4680000, 39, 39, 0, 23628.4, 0.0349242, 4, 4680000, 1,
      156, 1992660, 0, 1 },
    { "packed", "dense_5000_1000_rand", 7.8, 5000, 1000, 5000000, 1000, 1000, 0, 999, 0.0625, 4, 5012096, 1,
      504, 630241, 0, 1 },
    { "packed", "random_300000_300000_3000000_rand", 30.1, 300000, 300000, 3000000, 27, 10, 3.16498, 239995,
      0.996249, 4, 3120000, 0, 64, 11535300, 0, 0 },
    { "packed", "delaunay_n16_rand_shuffled", 6.1, 65536, 65536, 393170, 18, 5.9993, 1.3516, 45966, 0.993259,
      8, 408896, 0, 64, 868904, 0, 0 },
    { "dia", "fem2dof_35_rand", 8.2, 85750, 85750, 4370908, 54, 50.9727, 6.98526, 4899.94, 0.0327574, 4,
      5402250, 0, 63, 0, 0, 0 },
    { "dia", "stencil27_50_rand", 6.2, 125000, 125000, 3241792, 27, 25.9343, 2.9803, 4995.8, 0.0539464, 4,
      3375000, 0, 27, 0, 0, 0 },
    { "dia", "lap3d_100", 9.2, 1000000, 1000000, 6940000, 7, 6.94, 0.242487, 19800.4, 0.104603, 4, 7000000, 0,
      7, 0, 0, 0 },
    { "ell", "fem2dof_35_rand", 9.0, 85750, 85750, 4370908, 54, 50.9727, 6.98526, 4899.94, 0.0327574, 4,
      4630500, 0, 54, 0, 0, 0 },
    { "ell", "lap3d_80_rand_shuffled", 24.3, 512000, 512000, 3545600, 7, 6.925, 0.270416, 382276, 0.872193, 4,
      3584000, 0, 7, 0, 0, 0 },
    { "tiled", "mycielskian14_rand", 11.6, 12287, 12287, 3695512, 6143, 300.766, 406.439, 12279, 0.121045, 4,
      3695512, 0, 12288, 0, 0, 0 },
    { "tiled", "random_1000_1000000_3000000", 19.8, 1000, 1000000, 3000000, 3179, 3000, 55.4333, 999333,
      0.995453, 8, 3000000, 0, 15168, 0, 0, 0 },
    { "tiled", "qcd_10_rand_shuffled", 36.5, 120000, 120000, 4680000, 39, 39, 0, 113998, 0.982707, 8, 4680000,
      0, 15040, 0, 0, 0 },
    { "packed", "lap3d_150_rand", 38.7, 3375000, 3375000, 23490000, 7, 6.96, 0.198662, 44701.8, 0.109909, 4,
      23544330, 1, 64, 5886130, 1, 0 },
    { "packed", "dense_100000_64_rand", 15.1, 100000, 64, 6400000, 64, 64, 0, 63, 0.015625, 8, 6400000, 1,
      256, 837500, 0, 1 },
    { "packed", "lap3d_120_rand_shuffled", 87.5, 1728000, 1728000, 12009600, 7, 6.95, 0.221736, 1.29311e+06,
      0.875808, 4, 12096000, 1, 64, 49600700, 0, 0 },
    { "dia", "fem2dof_35_rand", 11.9, 85750, 85750, 4370908, 54, 50.9727, 6.98526, 4899.94, 0.0570482, 8,
      5402250, 0, 63, 0, 0, 0 },
    { "dia", "lap3d_150_rand", 60.7, 3375000, 3375000, 23490000, 7, 6.96, 0.198662, 44701.8, 0.197507, 8,
      23625000, 0, 7, 0, 0, 0 },
    { "ell", "fem1dof_70_rand", 21.0, 343000, 343000, 8998912, 27, 26.2359, 2.55179, 9799.23, 0.0538484, 4,
      9261000, 0, 27, 0, 0, 0 },
    { "ell", "lap3d_120_rand_shuffled", 86.2, 1728000, 1728000, 12009600, 7, 6.95, 0.221736, 1.29311e+06,
      0.891758, 8, 12096000, 0, 7, 0, 0, 0 },
    { "packed", "dense_4000_rand", 17.7, 4000, 4000, 16000000, 4000, 4000, 0, 3999, 0.125, 4, 16000000, 1,
      504, 2.0119e+06, 0, 1 },
    { "packed", "dense_4000_rand", 31.7, 4000, 4000, 16000000, 4000, 4000, 0, 3999, 0.25, 8, 16000000, 1, 504,
      2.0119e+06, 0, 1 },
    { "packed", "qcd_12_rand", 19.5, 248832, 248832, 9704448, 39, 39, 0, 41052.3, 0.0541311, 8, 9704448, 1,
      156, 4.06012e+06, 0, 1 },
    { "csr-vector", "delaunay_n20_rand", 17.4, 1048576, 1048576, 6291372, 24, 5.99992, 1.33901, 459405,
      0.181523, 4, 6291372, 0, 0, 0, 0, 0 },
    { "csr-merge-path", "mycielskian15_rand", 27.0, 24575, 24575, 11111110, 12287, 452.131, 664.175, 24566.5,
      0.128716, 4, 11111110, 0, 0, 0, 0, 0 },
    { "tiled", "mycielskian15_rand", 38.0, 24575, 24575, 11111110, 12287, 452.131, 664.175, 24566.5, 0.198419,
      8, 11111110, 0, 24576, 0, 0, 0 },
    { "dia", "lap3d_120_rand", 15.7, 1728000, 1728000, 12009600, 7, 6.95, 0.221736, 28559.3, 0.102562, 4,
      12096000, 0, 7, 0, 0, 0 },
    { "csr-vector-split", "delaunay_n20_rand", 17.6, 1048576, 1048576, 6291372, 24, 5.99992, 1.33901, 459405,
      0.181523, 4, 6291372, 0, 0, 0, 0, 0 },
    { "csr-shared-x", "random_30k", 18.2, 30000, 20000, 5970162, 258, 199.005, 14.1338, 19798.8, 0.896652, 8,
      5970162, 0, 0, 0, 0, 0 },
    { "csr-vector-split", "chem_38_rand", 14.5, 54872, 54872, 7202186, 485, 131.254, 182.165, 15873.6,
      0.11245, 4, 7202186, 0, 0, 0, 0, 0 },
    { "csr-vector-split", "chem_28_rand", 6.9, 21952, 21952, 2350840, 485, 107.09, 166.254, 8297.87, 0.16835,
      8, 2350840, 0, 0, 0, 0, 0 },
    { "csr-vector-split", "kron_g18", 60.4, 262144, 262144, 7609594, 25315, 29.0283, 187.949, 154296,
      0.943826, 8, 7609594, 0, 0, 0, 0, 0 },
    { "csr-vector-split", "web_500000_rand", 27.9, 500000, 500000, 3103405, 5509, 6.20681, 62.0904, 111967,
      0.885707, 8, 3103405, 0, 0, 0, 0, 0 },
    { "csr-vector-split", "circuit_2000000", 40.0, 2000000, 2000000, 7481132, 458031, 3.74057, 373.869,
      101137, 0.349437, 8, 7481132, 0, 0, 0, 0, 0 },
    { "csr-adaptive", "chem_38_rand", 25.3, 54872, 54872, 7202186, 485, 131.254, 182.165, 15873.6, 0.175817,
      8, 7202186, 0, 0, 0, 0, 0 },
    { "csr-adaptive", "kron_g17", 29.0, 131072, 131072, 3727568, 15754, 28.4391, 159.807, 78672.1, 0.919449,
      8, 3727568, 0, 0, 0, 0, 0 },
    { "csr-adaptive", "kron_g19_e8_rand", 66.4, 524288, 524288, 7967408, 25248, 15.1966, 121.531, 273688,
      0.97698, 8, 7967408, 0, 0, 0, 0, 0 },
    { "csr-adaptive", "rgg_n19_rand", 35.3, 524288, 524288, 6542880, 31, 12.4796, 3.54408, 2110.55, 0.586852,
      8, 6542880, 0, 0, 0, 0, 0 },
    { "csr-adaptive", "lap3d_120_rand_shuffled", 94.1, 1728000, 1728000, 12009600, 7, 6.95, 0.221736,
      1.29311e+06, 0.891758, 8, 12009600, 0, 0, 0, 0, 0 },
    { "csr-vector", "lap2d_1200_rand", 26.5, 1440000, 1440000, 7195200, 5, 4.99667, 0.0576869, 2397.95,
      0.164839, 8, 7195200, 0, 0, 0, 0, 0 },
    { "dia", "lap3d_90_rand", 6.6, 729000, 729000, 5054400, 7, 6.93333, 0.255314, 16020.3, 0.109972, 4,
      5103000, 0, 7, 0, 0, 0 },
    { "csr-shared-x", "fem3dof_20_rand_shuffled", 8.1, 24000, 24000, 1756008, 81, 73.167, 13.1801, 23323.6,
      0.90915, 8, 1756008, 0, 0, 0, 0, 0 },
    { "tiled", "stencil27_30_rand_shuffled", 7.9, 27000, 27000, 681472, 27, 25.2397, 3.73099, 24911, 0.0, 8,
      681472, 0, 27008, 0, 0, 0 },
    { "tiled", "fem2dof_30_rand_shuffled", 9.0, 54000, 54000, 2725888, 54, 50.4794, 7.46199, 51822.5, 0.0, 4,
      2725888, 0, 54016, 0, 0, 0 },
    { "tiled", "random_28000_28000_4000000_rand", 15.6, 28000, 28000, 4000000, 194, 142.857, 12.0105, 27606.4,
      0.0, 8, 4000000, 0, 28032, 0, 0, 0 },
    { "tiled", "random_500000_10000_4000000_rand", 17.2, 500000, 10000, 4000000, 24, 8, 2.83137, 7506.99, 0.0,
      4, 4000000, 0, 10048, 0, 0, 0 },
    { "tiled", "dense_150000_32_rand", 13.4, 150000, 32, 4800000, 32, 32, 0, 31, 0.0, 8, 4800000, 0, 64, 0, 0,
      0 },
    { "tiled", "random_50000_50000_1000000_rand", 7.6, 50000, 50000, 1000000, 41, 20, 4.49031, 44981, 0.0, 4,
      1000000, 0, 50048, 0, 0, 0 },
    { "tiled", "rgg_n14_rand", 6.2, 16384, 16384, 149032, 28, 9.09619, 3.01838, 305.915, 0.0, 8, 149032, 0,
      16384, 0, 0, 0 },
    { "csr-vector", "delaunay_n20", 15.9, 1048576, 1048576, 6291372, 24, 5.99992, 1.33901, 459122, 0.238334,
      8, 6291372, 0, 0, 0, 0, 0 },
    { "csr-adaptive", "delaunay_n20", 20.4, 1048576, 1048576, 6291372, 24, 5.99992, 1.33901, 459122, 0.238334,
      8, 6291372, 0, 0, 0, 0, 0 },
    { "csr-adaptive", "delaunay_n20", 14.3, 1048576, 1048576, 6291372, 24, 5.99992, 1.33901, 459122, 0.182828,
      4, 6291372, 0, 0, 0, 0, 0 },
};

/* Of the matrices above that have long rows. */
static const struct {
    const char *matrix;
    int64_t long_rows[SPX_LONG_LIMITS];
} with_long_rows[] = {
    { "chem_38_rand", { 54872, 38577, 12279 } },
    { "chem_28_rand", { 21952, 12040, 3820 } },
    { "kron_g18", { 53059, 31244, 16890 } },
    { "web_500000_rand", { 22457, 10488, 4945 } },
    { "circuit_2000000", { 5, 5, 5 } },
    { "kron_g17", { 24214, 19867, 9404 } },
    { "kron_g19_e8_rand", { 57307, 43077, 16753 } },
    { "rgg_n19_rand", { 68509, 0, 0 } },
    { "fem3dof_20_rand_shuffled", { 24000, 23976, 17496 } },
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
        spx_features f = {
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
        const bool one = !strcmp(m->matrix, "delaunay_n20"); /* by kernels that read one value once */
        const spx_look look = {
            .layout = { .slice = 32,
                        .sigma = m->sigma,
                        .piece = m->width,
                        .tile_width = m->width,
                        .values = one ? SPX_VALUES_ONE : 0 },
            .stored = m->stored,
            .width = m->width,
            .index_bytes = m->index_bytes,
            .diagonal_part = m->diagonal_part,
            .shared_part = m->shared_part,
        };
        for (size_t k = 0; k < sizeof with_long_rows / sizeof *with_long_rows; k++)
            if (!strcmp(with_long_rows[k].matrix, m->matrix))
                memcpy(f.long_rows, with_long_rows[k].long_rows, sizeof f.long_rows);
        const double told = 1e-3 * kernel_named(m->kernel)->cost(&f, &look);
        if (!(fabs(told / m->us - 1.0) < far))
            fail_msg("%s on %s (%zu bytes a value): told %.1f us, and %.1f came", m->kernel, m->matrix,
                     m->value_bytes, told, m->us);
    }
}

/* A larger matrix is not told to take less time by more than three hundredths, where it ceases to stay in L2
 * as a whole: rows of one to three entries, whose x and y are large beside it. */
static void test_larger_takes_longer(void **state)
{
    (void)state;
    static const char *const kernels[] = { "csr-vector", "csr-adaptive", "csr-merge-path", "sell" };
    const double l2 = h200.last_cache / 0.7;
    for (int i = 0; i < 24; i++) {
        const char *const name = kernels[i % 4];
        const size_t value = i / 4 % 2 ? 4 : 8;
        const int64_t each = 1 + i / 8, of_row = each * (int64_t)(4 + value) + 4 + 2 * (int64_t)value;
        double before = 0.0;
        for (int percent = 55; percent <= 100; percent++) {
            const int64_t rows = (int64_t)(0.01 * percent * l2) / of_row;
            const spx_features f = { .nrows = rows,
                                     .ncols = rows,
                                     .nnz = each * rows,
                                     .longest = each,
                                     .mean = (double)each,
                                     .sectors_per_entry = 0.25,
                                     .value_bytes = value,
                                     .ptr_bytes = 4,
                                     .nvec = 1,
                                     .machine = &h200 };
            const spx_look look = { .layout = { .slice = 32, .sigma = 1 }, .stored = each * rows };
            const double told = kernel_named(name)->cost(&f, &look);
            if (!(told > 0.97 * before))
                fail_msg("%s, %d entries a row of %zu bytes: told %.2f us at %d%% of L2, %.2f before", name,
                         (int)each, value, 1e-3 * told, percent, 1e-3 * before);
            before = told;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_told),
                                        cmocka_unit_test(test_larger_takes_longer) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
