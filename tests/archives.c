/* SciPy's .npz files made by hand. */
#include "archives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- archives by hand ---- */

static void add_header(archive *a, const char *name, const lie *l, uint32_t crc, size_t n, bool central,
                       size_t at)
{
    text *t = central ? &a->directory : &a->bytes;
    const uint64_t size = l->size < 0 ? n : (uint64_t)l->size,
                   compressed = l->compressed < 0 ? n : (uint64_t)l->compressed;
    add(t, central ? "PK\1\2" : "PK\3\4", 4);
    if (central) add_le(t, 45, 2);
    add_le(t, 45, 2);
    add_le(t, l->flags, 2);
    add_le(t, l->method, 2);
    add_le(t, 0x00210000, 4);
    add_le(t, crc ^ l->crc, 4);
    add_le(t, l->zip64 ? UINT32_MAX : (uint32_t)compressed, 4);
    add_le(t, l->zip64 ? UINT32_MAX : (uint32_t)size, 4);
    add_le(t, (uint32_t)strlen(name), 2);
    add_le(t, l->zip64 ? 20 : 0, 2);
    if (central) add_fill(t, 0, 10);
    if (central) add_le(t, (uint32_t)at, 4);
    add(t, name, strlen(name));
    if (!l->zip64) return;
    add_le(t, 1, 2);
    add_le(t, 16, 2);
    add_le(t, (uint32_t)size, 4);
    add_le(t, (uint32_t)(size >> 32), 4);
    add_le(t, (uint32_t)compressed, 4);
    add_le(t, (uint32_t)(compressed >> 32), 4);
}

void add_member(archive *a, const char *name, const text *content, const lie *lies)
{
    const lie truth = { .size = -1, .compressed = -1 },
              *l = lies && (!lies->name || !strcmp(lies->name, name)) ? lies : &truth;
    const uint32_t crc = crc32_of(content->bytes, content->n);
    const size_t at = a->bytes.n;
    add_header(a, name, l, crc, content->n, false, at);
    add(&a->bytes, content->bytes, content->n);
    add_header(a, name, l, crc, content->n, true, at);
    a->count++;
}

void end_archive(archive *a)
{
    const size_t at = a->bytes.n;
    add(&a->bytes, a->directory.bytes, a->directory.n);
    add(&a->bytes, "PK\5\6\0\0\0\0", 8);
    add_le(&a->bytes, (uint32_t)a->count, 2);
    add_le(&a->bytes, (uint32_t)a->count, 2);
    add_le(&a->bytes, (uint32_t)a->directory.n, 4);
    add_le(&a->bytes, (uint32_t)at, 4);
    add_le(&a->bytes, 0, 2);
    free(a->directory.bytes);
}

/* ---- arrays by hand ---- */

static void add_number(text *t, const char *type, const char *word)
{
    const int bytes = atoi(type + 2);
    unsigned char b[16] = { 0 };
    const float single = strtof(word, NULL);
    const double real = strtod(word, NULL);
    const int64_t whole = type[1] == 'u' ? (int64_t)strtoull(word, NULL, 10) : strtoll(word, NULL, 10);
    if (type[1] == 'f' && bytes == 4) memcpy(b, &single, 4);
    else if (type[1] == 'f') memcpy(b, &real, 8);
    else memcpy(b, &whole, 8); /* little endian, as all machines that this runs on */
    for (int i = 0; i < bytes; i++) add(t, &b[*type == '>' ? bytes - 1 - i : i], 1);
}

static void add_letters(text *t, const char *type, const char *word)
{
    const int n = atoi(type + 2), each = type[1] == 'U' ? 4 : 1, length = (int)strlen(word);
    for (int i = 0; i < n; i++) {
        if (*type == '>') add_fill(t, 0, (size_t)(each - 1));
        add(t, i < length ? &word[i] : "", 1);
        if (*type != '>') add_fill(t, 0, (size_t)(each - 1));
    }
}

void add_npy(text *t, const char *dictionary, int version)
{
    add(t, "\x93NUMPY", 6);
    add_le(t, (uint32_t)version, 2);
    add_le(t, (uint32_t)strlen(dictionary) + 1, version == 1 ? 2 : 4);
    addf(t, "%s\n", dictionary);
}

static void add_array(archive *a, char *spec, const lie *lies)
{
    char *rest = NULL, *name = strtok_r(spec, " ", &rest), *type = strtok_r(NULL, " ", &rest),
         *shape = strtok_r(NULL, " ", &rest), *word, dictionary[200];
    const size_t n = strlen(shape);
    const bool columns_first = shape[n - 1] == 'F';
    text t = { 0 };
    if (columns_first) shape[n - 1] = 0;
    snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", type,
             columns_first ? "True" : "False", shape);
    add_npy(&t, dictionary, 1);
    while ((word = strtok_r(NULL, " ", &rest)))
        if (type[1] == 'S' || type[1] == 'U') add_letters(&t, type, word);
        else add_number(&t, type, word);
    add_member(a, name, &t, lies);
    free(t.bytes);
}

/* Whether a spec is of the member that another one is of, or "-name" says. */
static bool same_member(const char *spec, const char *other)
{
    if (*other == '-') other++;
    const size_t n = strcspn(spec, " ");
    return n == strcspn(other, " ") && !strncmp(spec, other, n);
}

const char *put_npz(const char *name, const char *spec, const char *other, const lie *lies)
{
    archive a = { 0 };
    char copy[2000], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", spec);
    bool used = !other || *other == '-';
    for (char *one = strtok_r(copy, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        char each[1000];
        one += strspn(one, " ");
        const bool same = other && same_member(one, other);
        if (same && *other == '-') continue;
        snprintf(each, sizeof each, "%s", same ? other : one);
        used |= same;
        add_array(&a, each, lies);
    }
    if (!used) {
        char each[1000];
        snprintf(each, sizeof each, "%s", other);
        add_array(&a, each, lies);
    }
    end_archive(&a);
    const char *path = put_file(name, a.bytes.bytes, a.bytes.n);
    free(a.bytes.bytes);
    return path;
}

/* ---- whole files ---- */

bool has_npz(void)
{
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    const spmvx_status s = spmvx_matrix_read(ctx, put_npz("probe.npz", CSR, NULL, NULL), NULL, &A);
    if (s == SPMVX_ERR_UNSUPPORTED) assert_non_null(strstr(spmvx_last_error(ctx), "without libzip"));
    else assert_ok(ctx, s);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    return s == SPMVX_OK;
}

const char *put_zeros(const char *name, spmvx_format format, int32_t n)
{
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    const int32_t ptr[] = { 0, n, n };
    int32_t *row = calloc((size_t)n, sizeof *row), *col = calloc((size_t)n, sizeof *col);
    double *val = calloc((size_t)n, sizeof *val);
    assert_true(row && col && val);
    for (int32_t i = 0; i < n; i++) row[i] = i % 2;
    a.format = format;
    a.nrows = 2;
    a.ncols = 1;
    a.nnz = n;
    a.ptr = ptr;
    a.row = row;
    a.col = col;
    a.val = val;
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &A));
    assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of(name), NULL));
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    free(row);
    free(col);
    free(val);
    return path_of(name);
}
