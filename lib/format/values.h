/* Which code the values of a matrix get (core/values.h), and the way to it and back. */
#ifndef SPX_VALUES_H
#define SPX_VALUES_H
#include "core/context.h"
#include "core/values.h"

/* Distinct values by their bits: a hash table of places in a list. A list without the table is a set as well,
 * until its values are numbered. */
enum { SPX_VALUE_BITS = 13, SPX_VALUE_SLOTS = 1 << SPX_VALUE_BITS };
typedef struct spx_value_set {
    int64_t count;                  /* SPX_VALUES_TABLE + 1: more than there is room for */
    uint16_t slot[SPX_VALUE_SLOTS]; /* 1 + place; 0: none */
    uint64_t list[SPX_VALUES_TABLE];
} spx_value_set;

/* Where a value is looked for first. Of doubles such as whole numbers only the upper bits differ, so that the
 * product's upper bits have to tell. */
SPX_BOTH static inline uint32_t spx_value_slot(uint64_t bits)
{
    return (uint32_t)(bits * 0x9e3779b97f4a7c15u >> (64 - SPX_VALUE_BITS));
}

typedef struct spx_value_code {
    int64_t values;     /* an spx_values */
    spx_value_set *set; /* ascending by bits; NULL where values are not numbers in a table */
} spx_value_code;

/* The smallest code of the n values, or the one that is asked for; LIMIT where that would lose something.
 * Positions that travel in place of values are left as they are. */
spmvx_status spx_value_code_find(const spmvx_context *, const void *val, spmvx_type, int64_t n, int64_t asked,
                                 spx_value_code *);
/* The same, given the distinct values in any order, which it takes, and the largest spx_value_kind of all. */
spmvx_status spx_value_code_choose(const spmvx_context *, spx_value_set *, int kind, spmvx_type, int64_t n,
                                   int64_t asked, spx_value_code *);
/* The smallest code for n values of `each` bytes, of which so many are distinct. */
int64_t spx_value_code_smallest(int64_t n, int64_t distinct, int kind, size_t each);
/* The kind from which on values of a type have no code without a table. */
SPX_BOTH static inline int spx_value_kind_most(size_t each)
{
    return each == 8 ? SPX_VALUE_DOUBLE : SPX_VALUE_SINGLE;
}
/* The number of one of the values. */
int64_t spx_value_code_number(const spx_value_code *, uint64_t bits);
void spx_value_code_drop(const spmvx_context *, spx_value_code *);
/* Writes values from[0 ... n-1] of val as places to, to + 1, ... of coded; below 0: padding. */
void spx_value_code_put(const spx_value_code *, spmvx_type, void *coded, int64_t to, const void *val,
                        const int64_t *from, int n);
/* TABLE of a matrix with values of this type, where the code has one. */
spmvx_status spx_value_code_table(const spmvx_context *, const spx_value_code *, spmvx_type, spx_array **);
/* Place `at` of a matrix with coded values as value `to` of val. */
void spx_value_code_take(const spx_sparse *, int64_t at, void *val, int64_t to);
/* The smallest code of such values, from a sample of them, and how many are distinct in it (0: more than a
 * table holds). */
spmvx_status spx_value_code_guess(const spmvx_context *, const void *val, spmvx_type, int64_t n,
                                  int64_t *values, int64_t *distinct);
#endif
