/* The table of kernels: one line each. */
#include "dispatch/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/cpu.h"

extern const spx_kernel spx_mul_coo_scalar, spx_mul_csr_scalar, spx_mul_csr_vector, spx_mul_csr_nnz_split, spx_mul_csr_merge_path,
    spx_mul_csc_scalar, spx_mul_ell, spx_mul_sell, spx_mul_hyb, spx_mul_dia, spx_mul_bsr,
    spx_mul_csr5, spx_mul_tiled, spx_mul_packed, spx_spmspm_csr_dense_row, spx_spmspm_coo_hash,
    spx_mul_multi_csr_vector, spx_mul_multi_sell, spx_mul_multi_bsr;
#ifdef SPX_X86
extern const spx_kernel spx_mul_csr_vector_avx2, spx_mul_csr_vector_avx512, spx_mul_dia_avx2, spx_mul_dia_avx512, spx_mul_sell_avx2, spx_mul_sell_avx512,
    spx_mul_packed_avx2, spx_mul_packed_avx512, spx_mul_bsr_avx512;
#endif
#ifdef SPX_CUDA
extern const spx_kernel spx_cuda_mul_csr_vector, spx_cuda_mul_csr_merge_path, spx_cuda_mul_sell, spx_cuda_mul_multi_csr_vector, spx_cuda_mul_multi_sell;
#endif

/* Variants stand below their portable kernel, the usually better one last. */
static const spx_kernel *const kernels[] = {
    &spx_mul_coo_scalar,
    &spx_mul_csr_scalar,
    &spx_mul_csr_vector,
#ifdef SPX_X86
    &spx_mul_csr_vector_avx512,
    &spx_mul_csr_vector_avx2,
#endif
    &spx_mul_csr_nnz_split,
    &spx_mul_csr_merge_path,
    &spx_mul_csc_scalar,
    &spx_mul_ell,
    &spx_mul_sell,
#ifdef SPX_X86
    &spx_mul_sell_avx512,
    &spx_mul_sell_avx2,
#endif
    &spx_mul_hyb,
    &spx_mul_dia,
#ifdef SPX_X86
    &spx_mul_dia_avx2,
    &spx_mul_dia_avx512,
#endif
    &spx_mul_bsr,
#ifdef SPX_X86
    &spx_mul_bsr_avx512,
#endif
    &spx_mul_csr5,
    &spx_mul_tiled,
    &spx_mul_packed,
#ifdef SPX_X86
    &spx_mul_packed_avx512,
    &spx_mul_packed_avx2,
#endif
    &spx_mul_multi_csr_vector,
    &spx_mul_multi_sell,
    &spx_mul_multi_bsr,
    &spx_spmspm_csr_dense_row,
    &spx_spmspm_coo_hash,
#ifdef SPX_CUDA
    &spx_cuda_mul_csr_vector,
    &spx_cuda_mul_csr_merge_path,
    &spx_cuda_mul_sell,
    &spx_cuda_mul_multi_csr_vector,
    &spx_cuda_mul_multi_sell,
#endif
};

static const struct { const char *name; uint32_t bit; } isas[] = { { "avx2", SPX_ISA_AVX2 }, { "avx512", SPX_ISA_AVX512 } };
static const char *const places[] = { "host", "cuda" };

int32_t spx_kernel_total(void)
{
    return (int32_t)(sizeof kernels / sizeof *kernels);
}

const spx_kernel *spx_kernel_at(int32_t i)
{
    return kernels[i];
}

/* The name without its variant: "sell" of "sell@avx2". */
static size_t base_length(const char *name)
{
    return strcspn(name, "@");
}

static bool same_base(const spx_kernel *a, const char *name, size_t length)
{
    return base_length(a->name) == length && !strncmp(a->name, name, length);
}

bool spx_kernel_same_base(const spx_kernel *a, const spx_kernel *b)
{
    return a->place == b->place && a->operation == b->operation && same_base(a, b->name, base_length(b->name));
}

static bool has_variants(const spx_kernel *k)
{
    for (int32_t i = 0; i < spx_kernel_total(); i++)
        if (kernels[i] != k && spx_kernel_same_base(kernels[i], k)) return true;
    return false;
}

static bool masked_by(const spx_kernel *k, const char *word, size_t n)
{
    if (n == strlen(places[k->place]) && !strncmp(word, places[k->place], n) && k->place != SPMVX_HOST) return true;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        if (k->isa & isas[i].bit && n == strlen(isas[i].name) && !strncmp(word, isas[i].name, n)) return true;
    return same_base(k, word, n) || (strlen(k->name) == n && !strncmp(k->name, word, n));
}

bool spx_kernel_available(const spx_kernel *k)
{
    if (k->place == SPMVX_HOST && k->isa & ~spx_cpu_isa()) return false;
    const char *word = getenv("SPMVX_DISABLE");
    for (size_t n; word && *word; word += n + (word[n] == ',')) {
        n = strcspn(word, ",");
        if (n && masked_by(k, word, n)) return false;
    }
    return true;
}

bool spx_kernel_serves(const spmvx_context *ctx, spmvx_format format)
{
    for (int32_t i = 0; i < spx_kernel_total(); i++)
        if (kernels[i]->operation == SPMVX_MUL && kernels[i]->place == ctx->backend->place && kernels[i]->format == format) return true;
    return false;
}

bool spx_slice_serves(const spmvx_context *ctx, int64_t slice)
{
    return ctx->backend->place == SPMVX_HOST || slice % 32 == 0;
}

spx_choice spx_kernel_preset(const spx_kernel *k)
{
    spx_choice c = { .kernel = k };
    for (int i = 0; k->params && k->params[i].key; i++) c.param[i] = k->params[i].preset;
    return c;
}

void spx_kernel_spec(const spx_choice *c, char out[SPX_SPEC])
{
    const spx_kernel *k = c->kernel;
    int n = snprintf(out, SPX_SPEC, "%s%s", k->name, !strchr(k->name, '@') && has_variants(k) ? "@c" : "");
    for (int i = 0; k->params && k->params[i].key; i++)
        n += snprintf(out + n, SPX_SPEC - (size_t)n, "%c%s=%" PRId64, i ? ',' : ':', k->params[i].key, c->param[i]);
}

static spmvx_status parse_params(const spmvx_context *ctx, const char *text, spx_choice *c)
{
    const spx_param *params = c->kernel->params;
    while (*text) {
        const size_t key = strcspn(text, "=,"), whole = strcspn(text, ",");
        int i = 0;
        while (params && params[i].key && (strlen(params[i].key) != key || strncmp(params[i].key, text, key))) i++;
        if (!params || !params[i].key) {
            char known[128] = "none";
            for (int p = 0, n = 0; params && params[p].key; p++) n += snprintf(known + n, sizeof known - (size_t)n, "%s%s", p ? ", " : "", params[p].key);
            return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel has the parameter \"%.*s\"; %s knows: %s", (int)(key > 64 ? 64 : key), text,
                            c->kernel->name, known);
        }
        char *end = NULL;
        errno = 0;
        const long long v = text[key] == '=' ? strtoll(text + key + 1, &end, 10) : 0;
        if (!end || end == text + key + 1 || end != text + whole || errno || v < params[i].low || v > params[i].high)
            return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel has \"%.*s\"; %s takes %s=%" PRId64 " to %" PRId64,
                            (int)(whole > 64 ? 64 : whole), text, c->kernel->name, params[i].key, params[i].low, params[i].high);
        c->param[i] = v;
        text += whole + (text[whole] == ',');
    }
    return SPMVX_OK;
}

spmvx_status spx_kernel_parse(const spmvx_context *ctx, spmvx_operation operation, const char *spec, spx_choice *out)
{
    const size_t name = strcspn(spec, ":"), base = strcspn(spec, "@:");
    const bool portable = name == base + 2 && spec[base + 1] == 'c';
    const spx_kernel *found = NULL, *known = NULL;
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *k = kernels[i];
        if (k->operation != operation || k->place != ctx->backend->place) continue;
        const bool exact = strlen(k->name) == name && !strncmp(k->name, spec, name);
        const bool bare = name == base && same_base(k, spec, base);
        if (!exact && !bare && !(portable && strlen(k->name) == base && !strncmp(k->name, spec, base))) continue;
        known = k;
        if (spx_kernel_available(k)) found = k;   /* of several variants the last one, until the model has looked */
    }
    if (!found) {
        char names[256] = "";
        if (!known)
            for (int32_t i = 0, n = 0; i < spx_kernel_total() && n < (int32_t)sizeof names; i++)
                if (kernels[i]->operation == operation && kernels[i]->place == ctx->backend->place)
                    n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", n ? ", " : "", kernels[i]->name);
        return known ? spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "options.kernel is \"%.64s\", which this machine or SPMVX_DISABLE rules out", spec)
                     : spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "options.kernel is \"%.64s\", which is not known; %s has %s", spec, ctx->backend->name, names);
    }
    *out = spx_kernel_preset(found);
    out->any_variant = name == base;
    return spec[name] ? parse_params(ctx, spec + name + 1, out) : SPMVX_OK;
}
