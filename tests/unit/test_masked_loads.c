#define _GNU_SOURCE /* names of registers in ucontext.h */
/* No kernel of the host for an instruction set reads a stream by masked loads, which run at a quarter of the
 * speed on some processors (docs/performance-notes.md, 24) and which compilers make of a plain load and a
 * masked operation, too. A multiplication is executed instruction by instruction (the processor's trap flag)
 * and its masked loads are counted: a larger matrix has no more of them, since they are left to what lies at
 * the ends of arrays. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "cases.h"

/* Under a sanitizer the loops are others. */
#if defined __x86_64__ && defined __linux__ && !defined __SANITIZE_ADDRESS__
#include <signal.h>
#include <ucontext.h>
#include <x86intrin.h>

enum { TRAP = 0x100 };
static volatile long masked, executed;

/* Is the memory of an instruction with AVX-512's prefix found by the stack pointer? What a compiler has put
 * aside there is no stream. */
static bool of_stack(const uint8_t *at)
{
    return (at[5] & 7) == 4 && (at[6] & 7) == 4 && (at[1] & 0x20);
}

/* Does the instruction load from memory under a mask? AVX's and AVX2's loads of that name, and whatever has
 * AVX-512's prefix with a mask and memory in place of its last register, but for gathers, scatters and stores
 * (Intel's manual, volume 2, 2.3 and 2.7). */
static bool loads_masked(const uint8_t *at)
{
    if (at[0] == 0xc4) { /* VEX of three bytes: map 0F38, vmaskmovps, vmaskmovpd, vpmaskmov */
        const uint8_t op = at[3];
        return (at[1] & 0x1f) == 2 && (op == 0x2c || op == 0x2d || op == 0x8c);
    }
    if (at[0] != 0x62 || !(at[3] & 7) || at[5] >> 6 == 3 || of_stack(at))
        return false; /* EVEX, a mask, memory */
    const uint8_t map = at[1] & 7, op = at[4];
    if (map == 1) return op != 0x11 && op != 0x29 && op != 0x7f; /* stores of registers */
    if (map == 3) /* stores of a part of a register, or in half precision */
        return op != 0x19 && op != 0x1b && op != 0x39 && op != 0x3b && op != 0x1d;
    if (map != 2) return true;
    const bool narrowing = (at[2] & 3) == 2 && op >= 0x10 && op <= 0x35; /* vpmov.. to memory */
    return !narrowing && !(op >= 0x90 && op <= 0x93) && !(op >= 0xa0 && op <= 0xa3) && op != 0x8a &&
           op != 0x8b && op != 0x63;
}

static void step(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    const ucontext_t *u = context;
    executed++;
    masked += loads_masked((const uint8_t *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP]);
}

static long masked_of(spmvx_context *ctx, const spmvx_matrix *A, const void *x, void *y)
{
    masked = executed = 0;
    __writeeflags(__readeflags() | TRAP);
    const spmvx_status s = spmvx_mul(ctx, SPMVX_N, 1.0, A, x, 0.0, y);
    __writeeflags(__readeflags() & ~(unsigned long long)TRAP);
    assert_ok(ctx, s);
    assert_true(executed > 1000);
    return masked;
}

/* What the trap counts: one load under a mask of AVX2, none for a plain one. */
__attribute__((target("avx2"))) static void load_both(const int32_t *from, int32_t *to)
{
    const __m256i mask = _mm256_setr_epi32(-1, -1, -1, 0, 0, 0, 0, 0);
    _mm256_storeu_si256((void *)to, _mm256_add_epi32(_mm256_maskload_epi32(from, mask),
                                                     _mm256_loadu_si256((const void *)from)));
}

static int begin(void **state)
{
    (void)state;
    struct sigaction a = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };
    return sigaction(SIGTRAP, &a, NULL);
}

static void test_counting(void **state)
{
    (void)state;
    if (!__builtin_cpu_supports("avx2")) skip();
    int32_t from[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, to[8];
    masked = executed = 0;
    __writeeflags(__readeflags() | TRAP);
    load_both(from, to);
    __writeeflags(__readeflags() & ~(unsigned long long)TRAP);
    assert_int_equal(to[0], 2);
    assert_int_equal(to[3], 4);
    if (!executed) skip(); /* no traps here */
    assert_int_equal(masked, 1);
    static const struct {
        uint8_t code[8];
        bool loads;
    } known[] = {
        { { 0x62, 0xf1, 0xfd, 0xc9, 0x10, 0x07 }, true },        /* vmovupd zmm0{k1}{z}, [rdi] */
        { { 0x62, 0xf1, 0xfd, 0x48, 0x10, 0x07 }, false },       /* vmovupd zmm0, [rdi] */
        { { 0x62, 0xf1, 0xfd, 0x49, 0x11, 0x07 }, false },       /* vmovupd [rdi]{k1}, zmm0 */
        { { 0x62, 0xf2, 0xf5, 0x49, 0xb8, 0x07 }, true },        /* vfmadd231pd zmm0{k1}, zmm1, [rdi] */
        { { 0x62, 0xf2, 0xf5, 0x49, 0xb8, 0xc2 }, false },       /* vfmadd231pd zmm0{k1}, zmm1, zmm2 */
        { { 0x62, 0xf2, 0xfd, 0x49, 0x92, 0x04, 0x0f }, false }, /* vgatherdpd zmm0{k1}, [rdi+ymm1] */
        { { 0x62, 0xf2, 0xfd, 0x49, 0x19, 0x07 }, true },        /* vbroadcastsd zmm0{k1}, [rdi] */
        /* vfmadd231pd zmm3{k6}, zmm0, [rsp+320], and [r12+320] */
        { { 0x62, 0xf2, 0xfd, 0x4e, 0xb8, 0x5c, 0x24, 0x05 }, false },
        { { 0x62, 0xd2, 0xfd, 0x4e, 0xb8, 0x5c, 0x24, 0x05 }, true },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (loads_masked(known[i].code) != known[i].loads) fail_msg("instruction %zu is misread", i);
}

/* Diagonals with gaps, or blocks with holes: what makes kernels mask; or blocks without, whose rows share
 * their columns. */
static triples with_gaps(int64_t n, int64_t block, bool holes)
{
    static const int64_t offset[] = { -33, -3, -1, 0, 1, 2, 3, 40 };
    const int64_t most = n * (block ? block : 8);
    triples t = { .name = block ? "blocks" : "diagonals with gaps", .nrows = n, .ncols = n };
    t.row = test_malloc((size_t)most * sizeof *t.row);
    t.col = test_malloc((size_t)most * sizeof *t.col);
    t.val = test_malloc((size_t)most * sizeof *t.val);
    uint64_t seed = 7;
    for (int64_t r = 0; r < n; r++)
        for (int64_t d = 0; d < (block ? block : 8); d++) {
            const int64_t c = block ? r / block * block + d : r + offset[d];
            if (c < 0 || c >= n || (holes && case_random(&seed) % 8 == 0)) continue;
            t.row[t.nnz] = (int32_t)r;
            t.col[t.nnz] = (int32_t)c;
            t.val[t.nnz++] = case_value(&seed);
        }
    return t;
}

/* Masked loads of one multiplication; -1 where the kernel does not take the matrix. */
static long masked_by(spmvx_context *ctx, const spmvx_kernel_info *info, int64_t n, int64_t block,
                      spmvx_type type)
{
    const bool bsr = info->format == SPMVX_BSR;
    triples t = with_gaps(n, block, bsr || !block);
    csr_arrays csr = case_csr(&t, type);
    spmvx_matrix *lent = NULL, *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &csr.arrays, SPMVX_BORROW, &lent));
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = info->name;
    if (bsr) o.block_rows = o.block_cols = block;
    const spmvx_status s = spmvx_matrix_convert(ctx, lent, &o, &A);
    long count = -1;
    if (s != SPMVX_ERR_UNSUPPORTED) {
        assert_ok(ctx, s);
        void *x = test_calloc((size_t)n, value_bytes(type)), *y = test_calloc((size_t)n, value_bytes(type));
        count = masked_of(ctx, A, x, y);
        test_free(x);
        test_free(y);
    }
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(lent);
    csr_free(&csr);
    test_free(t.row);
    test_free(t.col);
    test_free(t.val);
    return count;
}

static void test_kernels(void **state)
{
    (void)state;
    if (!executed) skip();
    setenv("SPMVX_DISABLE", "cuda", 1);
    spmvx_context *ctx = test_context(NULL, 1);
    enum { N = 768 }; /* 64 rows a step of DIA, blocks of 3, 4 and 8 */
    int walked = 0;
    for (int32_t k = 0; k < spmvx_kernel_count(); k++) {
        spmvx_kernel_info info = SPMVX_KERNEL_INFO_INIT;
        assert_ok(ctx, spmvx_kernel_get_info(k, &info));
        if (info.operation != SPMVX_MUL || info.place != SPMVX_HOST || !strstr(info.name, "@avx") ||
            !(info.flags & SPMVX_KERNEL_AVAILABLE))
            continue;
        static const int64_t blocks[] = { 0, 3, 4, 8 };
        for (int i = 0; i < 8; i++) {
            const int64_t block = blocks[i / 2];
            const spmvx_type type = i % 2 ? SPMVX_F32 : SPMVX_F64;
            if (info.format == SPMVX_PACKED ? block > 3 : !block != (info.format != SPMVX_BSR)) continue;
            const long one = masked_by(ctx, &info, N, block, type),
                       two = masked_by(ctx, &info, 2 * N, block, type);
            if (one < 0) continue;
            walked++;
            /* A stream of half the rows would have hundreds. */
            if (two > one + 16)
                fail_msg("%s, %s, blocks of %lld: %ld masked loads for %d rows, %ld for %d", info.name,
                         i % 2 ? "f32" : "f64", (long long)block, one, N, two, 2 * N);
        }
    }
    spmvx_context_destroy(ctx);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) assert_true(walked >= 8);
    if (!walked) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_counting), cmocka_unit_test(test_kernels) };
    return cmocka_run_group_tests(tests, begin, NULL);
}
#else
int main(void)
{
    return 77; /* another processor, another system, a sanitizer */
}
#endif
