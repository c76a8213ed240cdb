/* The list of kernels, and wisdom. */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/args.h"
#include "dispatch/wisdom.h"

int32_t spmvx_kernel_count(void)
{
    return spx_kernel_total() + spx_product_kernel_total();
}

/* ---- what may follow a kernel's name ---- */

enum { PARAMETERS = 192 };
static char parameters[SPX_KERNELS][PARAMETERS];

__attribute__((format(printf, 2, 3))) static void append(char *text, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, PARAMETERS - n, format, args);
    va_end(args);
}

static void append_words(char *text, const char *const *words)
{
    for (int w = 0; words[w]; w++) append(text, "%s%s", w ? ", " : "", words[w]);
}

static void describe(const spx_layout_key *layout, const spx_param *params, char *text)
{
    for (const spx_layout_key *l = layout; l && l->key; l++) {
        append(text, "%s%s=", *text ? "; " : "", l->key);
        if (l->words) append_words(text, l->words);
        else if (l->low == l->high) append(text, "%" PRId64, l->low);
        else if (l->step > 1) append(text, "%" PRId64 ", %" PRId64 " ...", l->low, l->low + l->step);
        else append(text, "%" PRId64 " ...", l->low);
        if (!l->words && l->high > l->low && l->high < INT64_MAX) append(text, " %" PRId64, l->high);
    }
    for (const spx_param *p = params; p && p->key; p++) {
        append(text, "%s%s=", *text ? "; " : "", p->key);
        if (p->kind == SPX_WORD) append_words(text, p->words);
        else if (p->kind == SPX_POWER_OF_TWO && 2 * p->low == p->high)
            append(text, "%" PRId64 ", %" PRId64, p->low, p->high);
        else if (p->kind == SPX_POWER_OF_TWO)
            append(text, "%" PRId64 ", %" PRId64 " ... %" PRId64, p->low, 2 * p->low, p->high);
        else append(text, "%" PRId64 " ... %" PRId64, p->low, p->high);
    }
}

static void describe_all(void)
{
    const int32_t by_vectors = spx_kernel_total();
    for (int32_t i = 0; i < by_vectors; i++)
        describe(spx_kernel_layout(spx_kernel_at(i)), spx_kernel_at(i)->params, parameters[i]);
    for (int32_t i = 0; i < spx_product_kernel_total(); i++)
        describe(NULL, spx_product_kernel_at(i)->params, parameters[by_vectors + i]);
}

static const char *parameters_of(int32_t i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, describe_all);
    return parameters[i];
}

static uint32_t availability(bool ruled_in, spmvx_place place)
{
    char why[SPX_MESSAGE / 2];
    const bool answers = ruled_in && (place == SPMVX_HOST || spx_cuda_answers(0, why, sizeof why));
    return answers ? SPMVX_KERNEL_AVAILABLE : 0;
}

static spmvx_kernel_info info_of_kernel(int32_t i)
{
    const spx_kernel *k = spx_kernel_at(i);
    return (spmvx_kernel_info){
        .operation = k->operation,
        .format = k->format,
        .place = k->place,
        .types = k->types,
        .ops = SPMVX_OPS_N | SPMVX_OPS_T,
        .flags = k->flags | availability(spx_kernel_available(k), k->place),
        .name = k->name,
        .summary = k->summary,
        .source = k->source,
        .parameters = parameters_of(i),
    };
}

static spmvx_kernel_info info_of_product_kernel(int32_t i)
{
    const spx_product_kernel *k = spx_product_kernel_at(i);
    return (spmvx_kernel_info){
        .operation = SPMVX_SPMSPM,
        .format = k->format,
        .place = k->place,
        .types = k->types,
        .ops = SPMVX_OPS_N,
        .flags = k->flags | availability(spx_product_kernel_available(k), k->place),
        .name = k->name,
        .summary = k->summary,
        .source = k->source,
        .parameters = parameters_of(spx_kernel_total() + i),
    };
}

spmvx_status spmvx_kernel_get_info(int32_t i, spmvx_kernel_info *info)
{
    const int32_t by_vectors = spx_kernel_total();
    SPX_TRY(spx_check_range(NULL, "i", i, 0, spmvx_kernel_count() - 1));
    const spmvx_kernel_info out = i < by_vectors ? info_of_kernel(i) : info_of_product_kernel(i - by_vectors);
    return SPX_GIVE_GROWN(NULL, "info", info, &out, spmvx_kernel_info, parameters);
}

spmvx_status spmvx_wisdom_export(const spmvx_context *ctx, char *buf, size_t *len)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!len) return spx_fail_null(ctx, "len");
    return spx_wisdom_write(ctx, buf, len);
}

spmvx_status spmvx_wisdom_import(spmvx_context *ctx, const char *buf, size_t len)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!buf) return spx_fail_null(ctx, "buf");
    return spx_wisdom_read(ctx, buf, len);
}
