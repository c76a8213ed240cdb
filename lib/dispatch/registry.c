/* The tables of kernels and formats: one line each. */
#include "dispatch/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/cpu.h"

extern const spx_kernel spx_mul_coo_scalar, spx_mul_csr_scalar, spx_mul_csr_vector, spx_mul_csr_nnz_split,
    spx_mul_csr_merge_path, spx_mul_csc_scalar, spx_mul_ell, spx_mul_sell, spx_mul_hyb, spx_mul_pkt,
    spx_mul_dia, spx_mul_bsr, spx_mul_csr5, spx_mul_tiled, spx_mul_packed, spx_mul_multi_csr_vector,
    spx_mul_multi_sell, spx_mul_multi_bsr;
extern const spx_product_kernel spx_spmspm_csr_dense_row, spx_spmspm_coo_hash, spx_spmspm_dense_window,
    spx_spmspm_hash;
#ifdef SPX_X86
extern const spx_kernel spx_mul_csr_vector_avx2, spx_mul_csr_vector_avx512, spx_mul_dia_avx2,
    spx_mul_dia_avx512, spx_mul_sell_avx2, spx_mul_sell_avx512, spx_mul_packed_avx2, spx_mul_packed_avx512,
    spx_mul_bsr_avx512;
extern const spx_product_kernel spx_spmspm_dense_window_avx2;
#endif
#ifdef SPX_CUDA
extern const spx_product_kernel spx_cuda_spmspm_hash, spx_cuda_spmspm_thin, spx_cuda_spmspm_rows_thread,
    spx_cuda_spmspm_rows_block, spx_cuda_spmspm_rows_block_private, spx_cuda_spmspm_rows_warp,
    spx_cuda_spmspm_rows_multiwarp;
extern const spx_format spx_cuda_format_coo, spx_cuda_format_csr, spx_cuda_format_csc, spx_cuda_format_ell,
    spx_cuda_format_sell, spx_cuda_format_hyb, spx_cuda_format_dia, spx_cuda_format_bsr, spx_cuda_format_csr5,
    spx_cuda_format_tiled, spx_cuda_format_packed, spx_cuda_format_pkt;
extern const spx_kernel spx_cuda_mul_coo_scalar, spx_cuda_mul_coo_warp, spx_cuda_mul_coo_balanced,
    spx_cuda_mul_coo_balanced_atomic, spx_cuda_mul_csc_scalar, spx_cuda_mul_ell, spx_cuda_mul_hyb,
    spx_cuda_mul_dia, spx_cuda_mul_bsr, spx_cuda_mul_csr5, spx_cuda_mul_tiled, spx_cuda_mul_csr_tile128,
    spx_cuda_mul_csr_tiled, spx_cuda_mul_csr_merge_path3, spx_cuda_mul_csr_segscan_tree,
    spx_cuda_mul_csr_segscan_matrix, spx_cuda_mul_csr_rowblock, spx_cuda_mul_packed, spx_cuda_mul_pkt,
    spx_cuda_mul_multi_bsr, spx_cuda_mul_csr_scalar, spx_cuda_mul_csr_warp_buffer, spx_cuda_mul_csr_aligned,
    spx_cuda_mul_csr_warp_loop, spx_cuda_mul_csr_nnz_split, spx_cuda_mul_csr_vector,
    spx_cuda_mul_csr_merge_path, spx_cuda_mul_csr_adaptive, spx_cuda_mul_csr_vector_split,
    spx_cuda_mul_csr_propagation, spx_cuda_mul_csr_shared_x, spx_cuda_mul_sell, spx_cuda_mul_multi_csr_vector,
    spx_cuda_mul_multi_sell;
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
    &spx_mul_pkt,
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
#ifdef SPX_CUDA
    &spx_cuda_mul_csr_vector,
    &spx_cuda_mul_csr_scalar,
    &spx_cuda_mul_csr_warp_buffer,
    &spx_cuda_mul_csr_aligned,
    &spx_cuda_mul_csr_warp_loop,
    &spx_cuda_mul_csr_tiled,
    &spx_cuda_mul_csr_tile128,
    &spx_cuda_mul_csr_nnz_split,
    &spx_cuda_mul_csr_merge_path3,
    &spx_cuda_mul_csr_segscan_tree,
    &spx_cuda_mul_csr_segscan_matrix,
    &spx_cuda_mul_csr_rowblock,
    &spx_cuda_mul_coo_scalar,
    &spx_cuda_mul_coo_warp,
    &spx_cuda_mul_coo_balanced,
    &spx_cuda_mul_coo_balanced_atomic,
    &spx_cuda_mul_csc_scalar,
    &spx_cuda_mul_ell,
    &spx_cuda_mul_hyb,
    &spx_cuda_mul_dia,
    &spx_cuda_mul_bsr,
    &spx_cuda_mul_csr5,
    &spx_cuda_mul_tiled,
    &spx_cuda_mul_packed,
    &spx_cuda_mul_pkt,
    &spx_cuda_mul_csr_merge_path,
    &spx_cuda_mul_csr_adaptive,
    &spx_cuda_mul_csr_vector_split,
    &spx_cuda_mul_csr_propagation,
    &spx_cuda_mul_csr_shared_x,
    &spx_cuda_mul_sell,
    &spx_cuda_mul_multi_csr_vector,
    &spx_cuda_mul_multi_sell,
    &spx_cuda_mul_multi_bsr,
#endif
};

_Static_assert(sizeof kernels / sizeof *kernels <= SPX_CANDIDATES, "SPX_CANDIDATES holds all kernels");

static const spx_product_kernel *const product_kernels[] = {
    &spx_spmspm_csr_dense_row,
    &spx_spmspm_coo_hash,
    &spx_spmspm_dense_window,
#ifdef SPX_X86
    &spx_spmspm_dense_window_avx2,
#endif
    &spx_spmspm_hash,
#ifdef SPX_CUDA
    &spx_cuda_spmspm_rows_thread,
    &spx_cuda_spmspm_rows_block,
    &spx_cuda_spmspm_rows_block_private,
    &spx_cuda_spmspm_rows_warp,
    &spx_cuda_spmspm_rows_multiwarp,
    &spx_cuda_spmspm_hash,
    &spx_cuda_spmspm_thin,
#endif
};

_Static_assert(sizeof kernels / sizeof *kernels + sizeof product_kernels / sizeof *product_kernels <=
                   SPX_KERNELS,
               "SPX_KERNELS holds all kernels");

static const spx_format *const formats[] = {
    &spx_format_coo,       &spx_format_csr,        &spx_format_csc,         &spx_format_ell,
    &spx_format_sell,      &spx_format_hyb,        &spx_format_dia,         &spx_format_bsr,
    &spx_format_csr5,      &spx_format_tiled,      &spx_format_packed,      &spx_format_pkt,
#ifdef SPX_CUDA
    &spx_cuda_format_coo,  &spx_cuda_format_csr,   &spx_cuda_format_csc,    &spx_cuda_format_ell,
    &spx_cuda_format_sell, &spx_cuda_format_hyb,   &spx_cuda_format_dia,    &spx_cuda_format_bsr,
    &spx_cuda_format_csr5, &spx_cuda_format_tiled, &spx_cuda_format_packed, &spx_cuda_format_pkt,
#endif
};

static const struct {
    const char *name;
    uint32_t bit;
} isas[] = { { "avx2", SPX_ISA_AVX2 }, { "avx512", SPX_ISA_AVX512 } };
static const char *const places[] = { "host", "cuda" };

int32_t spx_kernel_total(void)
{
    return (int32_t)(sizeof kernels / sizeof *kernels);
}

const spx_kernel *spx_kernel_at(int32_t i)
{
    return kernels[i];
}

int32_t spx_product_kernel_total(void)
{
    return (int32_t)(sizeof product_kernels / sizeof *product_kernels);
}

const spx_product_kernel *spx_product_kernel_at(int32_t i)
{
    return product_kernels[i];
}

/* ---- formats ---- */

int32_t spx_format_total(void)
{
    return (int32_t)(sizeof formats / sizeof *formats);
}

const spx_format *spx_format_at(int32_t i)
{
    return formats[i];
}

static const spx_format *format_at(spmvx_format f, spmvx_place place)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i]->format == f && formats[i]->place == place) return formats[i];
    return NULL;
}

const spx_format *spx_format_find(spmvx_format f)
{
    return format_at(f, SPMVX_HOST);
}

const spx_format *spx_format_of_place(const spmvx_context *ctx, spmvx_format f)
{
    return format_at(f, ctx->backend->place);
}

const spx_layout_key *spx_kernel_layout(const spx_kernel *k)
{
    if (k->format == SPMVX_CSR && !k->one_value) return NULL; /* values are as they came, to it */
    const spx_format *own = format_at(k->format, k->place);
    return (own ? own : spx_format_find(k->format))->layout;
}

bool spx_kernel_serves(const spmvx_context *ctx, spmvx_format format, bool unasked)
{
    for (int32_t i = 0; i < spx_kernel_total(); i++)
        if (kernels[i]->operation == SPMVX_MUL && kernels[i]->place == ctx->backend->place &&
            kernels[i]->format == format && (!unasked || kernels[i]->flags & SPMVX_KERNEL_DETERMINISTIC))
            return true;
    return false;
}

bool spx_layout_serves(const spmvx_context *ctx, spmvx_format format, const spx_layout *layout, bool unasked)
{
    const spx_format *own = spx_format_of_place(ctx, format);
    if (!spx_kernel_serves(ctx, format, unasked)) return false;
    if (!own) return true;
    spx_error_state before;
    spx_error_save(ctx, &before);
    const bool fits = spx_layout_check(ctx, own, layout, "") == SPMVX_OK;
    spx_error_restore(ctx, &before);
    return fits;
}

/* ---- what this machine can run, and SPMVX_DISABLE leaves ---- */

/* The name without its variant: "sell" of "sell@avx2". */
static size_t base_length(const char *name)
{
    return strcspn(name, "@");
}

static bool same_base(const char *a, const char *b, size_t length)
{
    return base_length(a) == length && !strncmp(a, b, length);
}

bool spx_kernel_same_base(const spx_kernel *a, const spx_kernel *b)
{
    return a->place == b->place && a->operation == b->operation &&
           same_base(a->name, b->name, base_length(b->name));
}

bool spx_kernel_has_variants(const spx_kernel *k)
{
    for (int32_t i = 0; i < spx_kernel_total(); i++)
        if (kernels[i] != k && spx_kernel_same_base(kernels[i], k)) return true;
    return false;
}

static bool is_word(const char *word, size_t n, const char *name)
{
    return strlen(name) == n && !strncmp(word, name, n);
}

static bool masked_by(const char *name, spmvx_place place, uint32_t isa, const char *word, size_t n)
{
    if (place != SPMVX_HOST && is_word(word, n, places[place])) return true;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        if (isa & isas[i].bit && is_word(word, n, isas[i].name)) return true;
    return same_base(name, word, n) || is_word(word, n, name);
}

static bool available(const char *name, spmvx_place place, uint32_t isa)
{
    if (place == SPMVX_HOST && isa & ~spx_cpu_isa()) return false;
    const char *word = getenv("SPMVX_DISABLE");
    for (size_t n; word && *word; word += n + (word[n] == ',')) {
        n = strcspn(word, ",");
        if (n && masked_by(name, place, isa, word, n)) return false;
    }
    return true;
}

bool spx_kernel_available(const spx_kernel *k)
{
    return available(k->name, k->place, k->isa);
}

bool spx_product_kernel_available(const spx_product_kernel *k)
{
    return available(k->name, k->place, k->isa);
}

/* ---- names with parameters ---- */

spx_choice spx_kernel_preset(const spx_kernel *k)
{
    spx_choice c = { .kernel = k };
    for (int i = 0; k->params && k->params[i].key; i++) c.param[i] = k->params[i].preset;
    return c;
}

/* Text that grows within a buffer; what does not fit is cut, and then `n` is the room. */
typedef struct text {
    char *at;
    size_t room, n;
} text;

__attribute__((format(printf, 2, 3))) static void append(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->at + t->n, t->room - t->n, format, args);
    va_end(args);
    t->n = n < 0 || (size_t)n >= t->room - t->n ? t->room - 1 : t->n + (size_t)n;
}

void spx_kernel_spec(const spx_choice *c, char out[SPX_SPEC])
{
    const spx_kernel *k = c->kernel;
    const spx_layout_key *l = spx_kernel_layout(k) ? format_at(k->format, SPMVX_HOST)->layout : NULL;
    text t = { out, SPX_SPEC, 0 };
    char sep = ':';
    append(&t, "%s%s", k->name, !strchr(k->name, '@') && spx_kernel_has_variants(k) ? "@c" : "");
    for (; l && l->key; l++) {
        if (!l->in_name || !spx_layout_value(&c->layout, l)) continue;
        const int64_t v = spx_layout_value(&c->layout, l);
        if (l->words) append(&t, "%c%s=%s", sep, l->key, l->words[v - 1]);
        else append(&t, "%c%s=%" PRId64, sep, l->key, v);
        sep = ',';
    }
    for (int i = 0; k->params && k->params[i].key; i++) {
        const spx_param *p = &k->params[i];
        if (p->kind == SPX_WORD) append(&t, "%c%s=%s", sep, p->key, p->words[c->param[i]]);
        else append(&t, "%c%s=%" PRId64, sep, p->key, c->param[i]);
        sep = ',';
    }
}

/* What a "key=value" behind a kernel's name may name, and where its value goes. */
typedef struct spelling {
    const char *kernel;
    const spx_param *params;      /* NULL: none */
    const spx_layout_key *layout; /* NULL: none */
    int64_t *param;
    spx_layout *field;
} spelling;

static spmvx_status unknown_key(const spmvx_context *ctx, const spelling *to, const char *key, size_t n)
{
    char names[SPX_MESSAGE / 2] = "none";
    text known = { names, sizeof names, 0 };
    for (const spx_param *p = to->params; p && p->key; p++)
        append(&known, "%s%s", known.n ? ", " : "", p->key);
    for (const spx_layout_key *l = to->layout; l && l->key; l++)
        append(&known, "%s%s", known.n ? ", " : "", l->key);
    return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel has the parameter \"%.*s\"; %s knows: %s",
                    (int)(n > 64 ? 64 : n), key, to->kernel, names);
}

/* The whole number that is all of `n` characters; false when it is none. */
static bool whole_number(const char *from, size_t n, int64_t *out)
{
    char *end;
    errno = 0;
    const long long v = n ? strtoll(from, &end, 10) : 0;
    *out = v;
    return n && end == from + n && !errno;
}

/* Which of the words the value is. */
static spmvx_status parse_word(const spmvx_context *ctx, const char *kernel, const char *const *words,
                               const char *word, size_t whole, int64_t *out)
{
    char names[SPX_MESSAGE / 2] = "";
    text known = { names, sizeof names, 0 };
    const char *value = memchr(word, '=', whole);
    const size_t length = value ? whole - (size_t)(++value - word) : 0;
    for (*out = 0; words[*out]; ++*out) {
        if (value && is_word(value, length, words[*out])) return SPMVX_OK;
        append(&known, "%s%s", known.n ? ", " : "", words[*out]);
    }
    return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel has \"%.*s\"; %s takes %.*s of: %s",
                    (int)(whole > 64 ? 64 : whole), word, kernel, (int)strcspn(word, "=,"), word, names);
}

/* One "key=value" of a kernel's name: a parameter of the kernel's, or a field of its format's layout. */
static spmvx_status parse_param(const spmvx_context *ctx, const char *word, size_t whole, const spelling *to)
{
    const size_t key = strcspn(word, "=,"), from = key + (key < whole);
    const int shown = (int)(whole > 64 ? 64 : whole);
    const char *value = word + from;
    const size_t length = whole - from;
    int64_t v = 0;
    const bool number = key < whole && whole_number(value, length, &v);
    for (int i = 0; to->params && to->params[i].key; i++) {
        const spx_param *p = &to->params[i];
        if (!is_word(word, key, p->key)) continue;
        if (p->kind == SPX_WORD) return parse_word(ctx, to->kernel, p->words, word, whole, &to->param[i]);
        if (!number || v < p->low || v > p->high)
            return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                            "options.kernel has \"%.*s\"; %s takes %s=%" PRId64 " to %" PRId64, shown, word,
                            to->kernel, p->key, p->low, p->high);
        if (p->kind == SPX_POWER_OF_TWO && (v & (v - 1)))
            return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel has \"%.*s\"; %s takes powers of two",
                            shown, word, to->kernel);
        to->param[i] = v;
        return SPMVX_OK;
    }
    for (const spx_layout_key *l = to->layout; l && l->key; l++) {
        if (!is_word(word, key, l->key)) continue;
        if (l->words) {
            SPX_TRY(parse_word(ctx, to->kernel, l->words, word, whole, &v));
            *spx_layout_field(to->field, l) = v + 1;
            return SPMVX_OK;
        }
        if (!number || v < l->low || v > l->high)
            return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                            "options.kernel has \"%.*s\"; %s takes %s=%" PRId64 " to %" PRId64, shown, word,
                            to->kernel, l->key, l->low, l->high);
        *spx_layout_field(to->field, l) = v;
        return SPMVX_OK;
    }
    return unknown_key(ctx, to, word, key);
}

/* Does one of the words before `word` have its key? */
static bool comes_twice(const char *list, const char *word)
{
    const size_t key = strcspn(word, "=,");
    for (const char *w = list; w < word; w += strcspn(w, ",") + 1)
        if (strcspn(w, "=,") == key && !strncmp(w, word, key)) return true;
    return false;
}

static spmvx_status parse_params(const spmvx_context *ctx, const char *list, const spelling *to)
{
    for (const char *word = list;; word++) {
        const size_t n = strcspn(word, ",");
        SPX_TRY(parse_param(ctx, word, n, to));
        if (comes_twice(list, word))
            return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel has %.*s twice",
                            (int)spx_min((int64_t)strcspn(word, "=,"), 64), word);
        word += n;
        if (!*word) return SPMVX_OK;
    }
}

static spmvx_status unknown_name(const spmvx_context *ctx, const char *spec, const char *names)
{
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "options.kernel is \"%.64s\", which is not known; %s has %s",
                    spec, ctx->backend->name, names);
}

static spmvx_status ruled_out(const spmvx_context *ctx, const char *spec)
{
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                    "options.kernel is \"%.64s\", which this machine or SPMVX_DISABLE rules out", spec);
}

/* Is the kernel meant by the first `name` characters: all of its name, its base without a variant, or, as the
 * portable one, its name and "@c"? */
static bool is_meant(const char *spec, size_t name, const char *kernel)
{
    const size_t base = strcspn(spec, "@:");
    const bool portable = name == base + 2 && spec[base + 1] == 'c';
    return is_word(spec, name, kernel) || (name == base && same_base(kernel, spec, base)) ||
           (portable && is_word(spec, base, kernel));
}

spmvx_status spx_kernel_parse(const spmvx_context *ctx, spmvx_operation operation, const char *spec,
                              spx_choice *out)
{
    const size_t name = strcspn(spec, ":"), base = strcspn(spec, "@:");
    const spx_kernel *found = NULL, *known = NULL;
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *k = kernels[i];
        if (k->operation != operation || k->place != ctx->backend->place) continue;
        if (!is_meant(spec, name, k->name)) continue;
        known = k;
        if (spx_kernel_available(k))
            found = k; /* of several variants the last one, until the model has looked */
    }
    if (!found && known) return ruled_out(ctx, spec);
    if (!found) {
        char names[SPX_MESSAGE / 2] = "none";
        text list = { names, sizeof names, 0 };
        for (int32_t i = 0; i < spx_kernel_total(); i++)
            if (kernels[i]->operation == operation && kernels[i]->place == ctx->backend->place)
                append(&list, "%s%s", list.n ? ", " : "", kernels[i]->name);
        return unknown_name(ctx, spec, names);
    }
    *out = spx_kernel_preset(found);
    out->any_variant = name == base;
    const spelling to = { found->name, found->params, spx_kernel_layout(found), out->param, &out->layout };
    return spec[name] ? parse_params(ctx, spec + name + 1, &to) : SPMVX_OK;
}

spmvx_status spx_product_kernel_parse(const spmvx_context *ctx, const char *spec,
                                      const spx_product_kernel **out, int64_t param[SPX_PARAMS])
{
    const size_t name = strcspn(spec, ":");
    const spx_product_kernel *found = NULL, *known = NULL;
    char names[SPX_MESSAGE / 2] = "none";
    text list = { names, sizeof names, 0 };
    for (int32_t i = 0; i < spx_product_kernel_total(); i++) {
        const spx_product_kernel *k = product_kernels[i];
        if (k->place != ctx->backend->place) continue;
        append(&list, "%s%s", list.n ? ", " : "", k->name);
        if (!is_meant(spec, name, k->name)) continue;
        known = k;
        if (spx_product_kernel_available(k)) found = k; /* of several variants the last one */
    }
    if (!known) return unknown_name(ctx, spec, names);
    if (!found) return ruled_out(ctx, spec);
    for (int n = 0; found->params && found->params[n].key; n++) param[n] = found->params[n].preset;
    *out = found;
    const spelling to = { found->name, found->params, NULL, param, NULL };
    return spec[name] ? parse_params(ctx, spec + name + 1, &to) : SPMVX_OK;
}
