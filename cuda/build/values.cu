/* The distinct values of a matrix on a device: every thread looks its values up in one hash table, and puts
 * what is not there by a compare-and-swap; a matrix that has too many is known by a sample of them. What they
 * are does not depend on the order, and the host sorts and numbers them.
 * Source: Kourtis, Goumas & Koziris, CF 2008 (CSR-VI). */
#include "values.cuh"

#include <cstring>

#include "../ptx.cuh"

namespace {

constexpr unsigned MOST = SPX_VALUES_TABLE;

__device__ void insert(spx_value_hash *h, unsigned long long bits)
{
    if (!bits) {
        if (!spx_load_relaxed(&h->zero)) spx_store_relaxed(&h->zero, 1u);
        return;
    }
    unsigned at = spx_value_slot(bits);
    for (int tried = 0; tried < SPX_VALUE_SLOTS; tried++, at = (at + 1) % SPX_VALUE_SLOTS) {
        unsigned long long there = spx_load_relaxed(&h->key[at]);
        if (!there) {
            there = atomicCAS(&h->key[at], 0ull, bits);
            if (!there) {
                if (atomicAdd(&h->count, 1u) >= MOST) spx_store_relaxed(&h->many, 1u);
                return;
            }
        }
        if (there == bits || spx_load_relaxed(&h->many)) return;
    }
}

/* So many values of all. E is as wide as a value. */
template <class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    collect(int64_t n, int64_t all, const E *val, spx_value_hash *h)
{
    const int most_kind = spx_value_kind_most(sizeof(E));
    for (int64_t i = spx_element(); i < n; i += static_cast<int64_t>(gridDim.x) * SPX_BUILD_THREADS) {
        const bool many = spx_load_relaxed(&h->many);
        const int kind = spx_load_relaxed(&h->kind);
        if (many && kind >= most_kind) return;
        const E bits = val[n == all ? i : i * (all / n) + i * (all % n) / n];
        const int own = spx_value_kind_of(bits, sizeof(E));
        if (own > kind) atomicMax(&h->kind, own);
        if (!many) insert(h, bits);
    }
}

spmvx_status collect_some(const spmvx_context *ctx, const char *what, const spx_sparse *csr, int64_t n,
                          spx_value_hash *h)
{
    if (!n) return SPMVX_OK;
    return spx_by_width(csr->val_type, [&](auto value) {
        using E = decltype(value);
        const int64_t blocks =
            spx_min(spx_ceil_div(n, SPX_BUILD_THREADS), spx_cuda_blocks_held(ctx, SPX_BUILD_THREADS));
        SPX_TRY(spx_cuda_load(ctx, what, collect<E>, 0));
        return spx_cuda_launch(ctx, what, collect<E>, blocks, static_cast<unsigned>(SPX_BUILD_THREADS), 0, n,
                               csr->nnz, spx_slot_of<E>(csr, SPX_VAL), h);
    });
}

/* What a sample tells: its counts. */
struct sampled {
    unsigned count, zero, many;
    int kind;
};

spmvx_status sample(const spmvx_context *ctx, const char *what, const spx_sparse *csr, spx_value_hash *h,
                    sampled *found)
{
    constexpr int64_t SAMPLE = 1 << 14;
    static_assert(offsetof(spx_value_hash, kind) == offsetof(sampled, kind), "the head of the table");
    const int64_t n = spx_min(csr->nnz, SAMPLE);
    SPX_TRY(spx_cuda_clear(ctx, h, sizeof *h, what));
    SPX_TRY(collect_some(ctx, what, csr, n, h));
    return ctx->backend->download(ctx, found, h, sizeof *found);
}

/* Does a value differ from the first? */
template <class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS) find_others(int64_t n, const E *val, int *others)
{
    const int64_t all = static_cast<int64_t>(gridDim.x) * SPX_BUILD_THREADS;
    const E first = val[0];
    bool other = false;
#pragma unroll 8
    for (int64_t i = spx_element(); i < n; i += all) other |= val[i] != first;
    if (other) *others = 1;
}

bool may_be_coded(const spx_sparse *csr, int64_t asked)
{
    return asked != SPX_VALUES_RAW && (csr->val_type == SPMVX_F64 || csr->val_type == SPMVX_F32);
}

/* Puts the numbers beside the keys. */
spmvx_status number(const spmvx_context *ctx, const spx_value_code *code, spx_value_hash *own,
                    spx_value_hash *h)
{
    if (own->zero) own->number_of_zero = static_cast<uint16_t>(spx_value_code_number(code, 0));
    for (int at = 0; at < SPX_VALUE_SLOTS; at++)
        if (own->key[at]) own->number[at] = static_cast<uint16_t>(spx_value_code_number(code, own->key[at]));
    return ctx->backend->upload(ctx, h, own, offsetof(spx_value_hash, key));
}

/* With `own`, for what comes down. */
spmvx_status find(const spmvx_context *ctx, const char *what, const spx_sparse *csr, int64_t asked,
                  spx_value_hash *own, spx_value_code *code, spx_value_hash *h)
{
    spx_value_set *set;
    sampled s;
    SPX_TRY(sample(ctx, what, csr, h, &s));
    const bool hopeless = s.many && s.kind >= spx_value_kind_most(spx_type_bytes(csr->val_type));
    if (!hopeless) SPX_TRY(collect_some(ctx, what, csr, csr->nnz, h));
    SPX_TRY(ctx->backend->download(ctx, own, h, sizeof *own));
    SPX_TRY(spx_alloc(ctx, sizeof *set, "distinct values", &set));
    set->count = 0;
    if (own->zero) set->list[set->count++] = 0;
    for (int at = 0; at < SPX_VALUE_SLOTS && !own->many && set->count <= MOST; at++)
        if (own->key[at]) {
            if (set->count < MOST) set->list[set->count] = own->key[at];
            set->count++;
        }
    if (own->many) set->count = MOST + 1;
    SPX_TRY(spx_value_code_choose(ctx, set, own->kind, csr->val_type, csr->nnz, asked, code));
    return code->set ? number(ctx, code, own, h) : SPMVX_OK;
}

}

spmvx_status spx_cuda_find_values(const spmvx_context *ctx, const char *what, const spx_sparse *csr,
                                  int64_t asked, spx_value_code *code, spx_temporary *numbers)
{
    code->values = SPX_VALUES_RAW;
    code->set = nullptr;
    if (!may_be_coded(csr, asked)) return SPMVX_OK;
    spx_value_hash *own;
    SPX_TRY(numbers->make(ctx, 1, sizeof(spx_value_hash), "distinct values"));
    SPX_TRY(spx_alloc(ctx, sizeof *own, "distinct values", &own));
    const spmvx_status s = find(ctx, what, csr, asked, own, code, numbers->as<spx_value_hash>());
    spx_free(ctx, own);
    return s;
}

spmvx_status spx_cuda_is_one_value(const spmvx_context *ctx, const spx_sparse *csr, bool *one)
{
    static const char what[] = "the look for one value";
    constexpr int EACH = 16; /* values of a thread */
    spx_temporary found;
    int others;
    SPX_TRY(found.make(ctx, 1, sizeof others, what));
    SPX_TRY(spx_cuda_clear(ctx, found.as<int>(), sizeof others, what));
    SPX_TRY(spx_by_width(csr->val_type, [&](auto value) {
        using E = decltype(value);
        SPX_TRY(spx_cuda_load(ctx, what, find_others<E>, 0));
        return spx_cuda_launch(ctx, what, find_others<E>,
                               spx_ceil_div(csr->nnz, static_cast<int64_t>(EACH) * SPX_BUILD_THREADS),
                               static_cast<unsigned>(SPX_BUILD_THREADS), 0, csr->nnz,
                               spx_slot_of<E>(csr, SPX_VAL), found.as<int>());
    }));
    SPX_TRY(ctx->backend->download(ctx, &others, found.as<int>(), sizeof others));
    *one = !others;
    return SPMVX_OK;
}

spmvx_status spx_cuda_put_table(const spmvx_context *ctx, spx_value_code &code, spx_draft &a)
{
    if (!code.set) return SPMVX_OK;
    const int64_t count = spx_max(code.set->count, 1);
    if (!code.set->count) code.set->list[0] = 0;
    SPX_TRY(a.make(ctx, SPX_TABLE, count, spx_type_bytes(a.type()), "distinct values"));
    void *const list = code.set->list;
    if (spx_type_bytes(a.type()) == 4) /* in place: what is written has been read */
        for (int64_t i = 0; i < count; i++) {
            const uint32_t one = static_cast<uint32_t>(code.set->list[i]);
            memcpy(static_cast<char *>(list) + i * 4, &one, 4);
        }
    return ctx->backend->upload(ctx, a->slot[SPX_TABLE]->data, list, a->slot[SPX_TABLE]->bytes);
}

spmvx_status spx_cuda_look_at_values(const spmvx_context *ctx, const spx_sparse *csr, spx_features *f)
{
    const size_t each = spx_type_bytes(csr->val_type);
    spx_temporary table;
    sampled s;
    f->distinct = 0;
    if (!may_be_coded(csr, 0)) {
        f->coded = SPX_VALUES_RAW;
        return SPMVX_OK;
    }
    SPX_TRY(table.make(ctx, 1, sizeof(spx_value_hash), "distinct values"));
    SPX_TRY(sample(ctx, "the look at values", csr, table.as<spx_value_hash>(), &s));
    /* a table that is half full of a sample has more to come */
    const int64_t count = static_cast<int64_t>(s.count) + s.zero;
    const bool more = s.many || count > MOST / 2;
    f->coded = spx_value_code_smallest(csr->nnz, more ? MOST + 1 : count, s.kind, each);
    f->distinct = more ? 0 : count;
    return SPMVX_OK;
}
