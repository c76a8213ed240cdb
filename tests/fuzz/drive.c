/* Runs the fuzz harness without a fuzzer: over the files named, or over seeds and mutations of them, the
 * same every time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32.h"
#include "drive.h"
#include "harness.h"
#include "spmvx/spmvx.h"

enum { MUTATIONS = 20000, ROOM = 1 << 16, MOST_SEEDS = 64 };

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

void add_seed(const void *bytes, size_t n)
{
    input *s = malloc(sizeof *s);
    if (!s || seed_count == MOST_SEEDS || n > ROOM) abort();
    s->n = n;
    memcpy(s->bytes, bytes, n);
    seeds[seed_count++] = s;
}

void add_gzip_seed(const char *text)
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

void add_written_seed(const char *ending)
{
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
    snprintf(path, sizeof path, "%s/a%s", folder, ending);
    if (spmvx_matrix_write(ctx, A, path, &o) == SPMVX_OK) add_file_seed(path);
    unlink(path);
    rmdir(folder);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* ---- mutations ---- */

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
    const size_t from = below(other->n + 1), piece = below((size_t)piece_count);
    const uint8_t byte = (uint8_t)below(256), copy[16] = { 0 };
    switch (below(9)) {
    case 0:
        if (left) t->bytes[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        if (left) t->bytes[at] = byte;
        break;
    case 2: replace(t, at, 0, &byte, 1); break;
    case 3: replace(t, at, some, "", 0); break;
    case 4: replace(t, at, below(2) ? some : 0, pieces[piece], strlen(pieces[piece])); break;
    case 5: replace(t, at, below(2) ? left : 0, other->bytes + from, other->n - from); break;
    case 6: t->n = below(4) ? t->n : at; break;
    case 7: replace(t, at, some, copy, below(sizeof copy)); break;
    case 8:
        if (left >= strlen(pieces[piece])) memcpy(t->bytes + at, pieces[piece], strlen(pieces[piece]));
        break;
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
