/* Runs the fuzz harness without a fuzzer: over the files named, or over seeds and mutations of them, the same every time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spmvx/spmvx.h"

enum { MUTATIONS = 20000, ROOM = 1 << 16, MOST_SEEDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    size_t n;
    uint8_t bytes[ROOM];
} input;

static input *seeds[MOST_SEEDS];
static int seed_count;

static uint64_t state = 88172645463325252u;

/* From 0 up to below n, n not 0. */
static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 11) % n;
}

/* ---- seeds ---- */

#define BANNER "%%MatrixMarket matrix coordinate "

static const char *const texts[] = {
    "",
    BANNER "real general\n3 3 4\n1 1 1.0\n2 2 -2.5e3\n3 1 .5\n1 3 1e-320\n",
    BANNER "real general\r\n% comment\r\n\r\n2 5 3\r\n1 5 inf\r\n2 1 nan\r\n1 5 -0\r\n",
    BANNER "integer general\n2 2 3\n1 1 +7\n1 1 7\n2 1 -12345678901234567890\n",
    BANNER "pattern symmetric\n4 4 5\n1 1\n2 1\n3 2\n4 4\n4 1\n",
    BANNER "real symmetric\n5 5 6\n1 1 2\n2 2 2\n3 3 2\n2 1 -1\n3 2 -1\n5 1 9\n",
    BANNER "real skew-symmetric\n3 3 2\n2 1 1D2\n3 1 -2d-2\n",
    BANNER "integer skew-symmetric\n2 2 1\n2 1 0\n",
    BANNER "double general\n1 1 1\n1 1 1.7976931348623157e308\n",
    BANNER "real general\n0 0 0\n",
    BANNER "real general\n6000 6000 2\n6000 1 1\n1 6000 2\n",
    BANNER "real general\n2000000000 2000000000 1\n7 8 9\n",
    BANNER "real general\n2147483647 1 1000000000000000\n7 1 9\n",
    BANNER "pattern general\n1 2147483647 3\n1 1\n1 2147483647\n1 5",
    BANNER "complex hermitian\n1 1 1\n1 1 1 0\n",
    "%%MatrixMarket matrix array real general\n2 1\n1\n2\n",
    BANNER "real general\n1 1 2\n1 1 2.2250738585072011360574097967091319759348195463516456480234261097248e-308\n"
    "1 1 0.000000000000000000000000000000001e33\n",
};

static void add_seed(const void *bytes, size_t n)
{
    input *s = malloc(sizeof *s);
    if (!s || seed_count == MOST_SEEDS || n > ROOM) abort();
    s->n = n;
    memcpy(s->bytes, bytes, n);
    seeds[seed_count++] = s;
}

static uint32_t crc32_of(const char *p, size_t n)
{
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= (unsigned char)p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

static size_t put_le(uint8_t *out, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) out[i] = (uint8_t)(v >> 8 * i);
    return (size_t)bytes;
}

/* The text as gzip, one stored block, in two members. */
static void add_gzip_seed(const char *text)
{
    uint8_t out[4096];
    size_t n = 0;
    const size_t half = strlen(text) / 2, parts[2] = { half, strlen(text) - half };
    for (int i = 0; i < 2; text += parts[i++]) {
        memcpy(out + n, "\x1f\x8b\x08\0\0\0\0\0\0\xff\1", 11);
        n += 11;
        n += put_le(out + n, (uint32_t)parts[i], 2);
        n += put_le(out + n, ~(uint32_t)parts[i], 2);
        memcpy(out + n, text, parts[i]);
        n += parts[i];
        n += put_le(out + n, crc32_of(text, parts[i]), 4);
        n += put_le(out + n, (uint32_t)parts[i], 4);
    }
    add_seed(out, n);
}

static void add_file_seed(const char *path)
{
    static uint8_t bytes[ROOM];
    FILE *f = fopen(path, "rb");
    if (!f) return;
    add_seed(bytes, fread(bytes, 1, ROOM, f));
    fclose(f);
}

/* What the library itself writes, compressed by what this build has. */
static void add_written_seeds(void)
{
    static const char *const endings[] = { ".mtx", ".gz", ".zst", ".xz" };
    enum { N = 400 };
    int32_t ptr[N + 1], col[N];
    double val[N];
    for (int i = 0; i <= N; i++) ptr[i] = i;
    for (int i = 0; i < N; i++) {
        col[i] = i * 7 % N;
        val[i] = i / 8.0;
    }
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.nrows = a.ncols = a.nnz = N;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    spmvx_context *ctx = NULL;
    spmvx_matrix *A = NULL;
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    o.level = 1;
    char folder[256], path[300];
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/spmvx-drive-XXXXXX", tmp && strlen(tmp) < 200 ? tmp : "/tmp");
    if (!mkdtemp(folder) || spmvx_context_create(NULL, &ctx) || spmvx_matrix_create(ctx, &a, 0, &A)) abort();
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(path, sizeof path, "%s/a%s", folder, endings[i]);
        if (spmvx_matrix_write(ctx, A, path, &o) != SPMVX_OK) continue;
        add_file_seed(path);
        unlink(path);
    }
    rmdir(folder);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

static void make_seeds(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) add_seed(texts[i], strlen(texts[i]));
    add_gzip_seed(texts[1]);
    add_gzip_seed(texts[5]);
    add_written_seeds();
}

/* ---- mutations ---- */

static const char *const pieces[] = {
    "0", "-1", "1", "2147483647", "2147483648", "4294967297", "9223372036854775807", "9223372036854775808", "1e308", "1e400", "-1e-400",
    "nan", "-inf", "infinity", ".", "e", "e+", "0x1", "%", "\n", "\r\n", "\n\n", " ", "\t", "\v", "1 1 1\n", "1 1\n", "symmetric",
    "skew-symmetric", "pattern", "integer", "complex", "array", "\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd\67zXZ", "100000",
    "99999999999999999999999999999999999999",
};

/* Puts `with` in place of `gone` bytes at `at`. */
static void replace(input *t, size_t at, size_t gone, const void *with, size_t n)
{
    if (t->n - gone + n > ROOM) return;
    memmove(t->bytes + at + n, t->bytes + at + gone, t->n - at - gone);
    memcpy(t->bytes + at, with, n);
    t->n += n - gone;
}

static void mutate(input *t)
{
    const size_t at = below(t->n + 1), left = t->n - at, some = below(left < 16 ? left + 1 : 16);
    const input *other = seeds[below((size_t)seed_count)];
    const size_t from = below(other->n + 1), piece = below(sizeof pieces / sizeof *pieces);
    const uint8_t byte = (uint8_t)below(256), copy[16] = { 0 };
    switch (below(8)) {
    case 0: if (left) t->bytes[at] ^= (uint8_t)(1u << below(8)); break;
    case 1: if (left) t->bytes[at] = byte; break;
    case 2: replace(t, at, 0, &byte, 1); break;
    case 3: replace(t, at, some, "", 0); break;
    case 4: replace(t, at, below(2) ? some : 0, pieces[piece], strlen(pieces[piece])); break;
    case 5: replace(t, at, below(2) ? left : 0, other->bytes + from, other->n - from); break;
    case 6: t->n = below(4) ? t->n : at; break;
    case 7: replace(t, at, some, copy, below(sizeof copy)); break;
    }
}

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    fseek(f, 0, SEEK_END);
    const size_t n = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(n + 1);
    if (!bytes || fread(bytes, 1, n, f) != n) abort();
    fclose(f);
    LLVMFuzzerTestOneInput(bytes, n);
    free(bytes);
    return 0;
}

static int write_seeds(const char *folder)
{
    for (int i = 0; i < seed_count; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/seed-%02d", folder, i);
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(seeds[i]->bytes, 1, seeds[i]->n, f) != seeds[i]->n || fclose(f)) {
            perror(path);
            return 1;
        }
    }
    return 0;
}

static void run_mutations(void)
{
    static input t;
    for (int i = 0; i < seed_count; i++) LLVMFuzzerTestOneInput(seeds[i]->bytes, seeds[i]->n);
    for (int i = 0; i < MUTATIONS; i++) {
        const input *s = seeds[below((size_t)seed_count)];
        t.n = s->n;
        memcpy(t.bytes, s->bytes, s->n);
        for (size_t k = 1 + below(4); k > 0; k--) mutate(&t);
        LLVMFuzzerTestOneInput(t.bytes, t.n);
    }
}

int main(int argc, char **argv)
{
    make_seeds();
    int failed = 0;
    if (argc == 3 && !strcmp(argv[1], "--seeds")) failed = write_seeds(argv[2]);
    else if (argc > 1)
        for (int i = 1; i < argc; i++) failed |= run_file(argv[i]);
    else run_mutations();
    for (int i = 0; i < seed_count; i++) free(seeds[i]);
    return failed;
}
