/* Names of matrices: patterns of the families, names that stand for others, endings that change values and
 * order. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"

static const family *const groups[] = { stencil_families, lattice_families,     graph_families,
                                        mesh_families,    rectangular_families, irregular_families };
enum { GROUPS = sizeof groups / sizeof *groups, LONGEST_NAME = 128 };

/* Matrices that measurements name, and originals whose sizes a family reaches. Figures of nonzeros are the
 * measured ones. */
static const struct alias {
    const char *name, *meaning;
} aliases[] = {
    { "air02", "rail_50_6774_61555" },
    { "atmosmodd", "atmosmodd_148_148_58" },
    { "atmosmodd_like", "atmosmodd_108_108_110" },
    { "cant_like", "fem3dof_9_9_257" },
    { "chem_like", "chem_64_59_71" },
    { "circuit_like", "circuit_1500000" },
    { "conf5_like", "qcd_8" },
    { "ecology1", "ecology_1000" },
    { "kron_18", "kron_g18_e8_rand" },
    { "kron_20", "kron_g20_e24_rand" },
    { "mawi_like", "mawi_20000000_rand" },
    { "mc2depi_like", "mc2box_725" },
    { "rail4284", "rail_4284_1092610_11279748" },
    { "rail_like", "random_4284_1092610_11145929" },
    { "rail_small", "random_2000_500000_4987689" },
    { "random_200k", "random_200000_200000_3999782" },
    { "random_30k", "random_30000_20000_5970162" },
    { "road_like", "road_1500" },
    { "sls_like", "sls_1748122_62729_7" },
    { "spal_like", "random_10203_321696_46140513" },
    { "web_like", "web_4000000_rand" },
};
enum { ALIASES = sizeof aliases / sizeof *aliases };

static const family *family_at(int i)
{
    for (int g = 0; g < GROUPS; g++)
        for (const family *f = groups[g]; f->info.pattern; f++)
            if (!i--) return f;
    return NULL;
}

bool generate_family(int i, family_info *out)
{
    const family *f = i < 0 ? NULL : family_at(i);
    if (f) *out = f->info;
    return f;
}

bool generate_alias(int i, const char **name, const char **meaning)
{
    if (i < 0 || i >= ALIASES) return false;
    *name = aliases[i].name;
    *meaning = aliases[i].meaning;
    return true;
}

/* ---- patterns ---- */

/* A whole number, with k or M behind for thousands and millions; too large a one becomes INT64_MAX. */
static const char *read_number(const char *text, int64_t *out)
{
    double v = 0;
    const char *c = text;
    for (; isdigit((unsigned char)*c); c++) v = v * 10 + (*c - '0');
    if (c == text) return NULL;
    if (*c == 'k') v *= 1e3, c++;
    else if (*c == 'M') v *= 1e6, c++;
    *out = v < 9e15 ? (int64_t)v : INT64_MAX;
    return c;
}

/* Whether the whole text follows the pattern; *given counts the numbers read. */
static bool match(const char *pattern, const char *text, int64_t *p, int *given)
{
    *given = 0;
    for (; *pattern; pattern++) {
        if (*pattern == ']') continue;
        if (*pattern == '[') {
            if (!*text) return true;
        } else if (isupper((unsigned char)*pattern)) {
            text = read_number(text, &p[*given]);
            if (!text) return false;
            ++*given;
        } else if (*text++ != *pattern) {
            return false;
        }
    }
    return !*text;
}

/* The letter of parameter k. */
static char letter(const char *pattern, int k)
{
    for (; *pattern; pattern++)
        if (isupper((unsigned char)*pattern) && !k--) return *pattern;
    return '?';
}

static bool in_limits(const char *name, const family *f, const int64_t *p, int count, char *error,
                      size_t error_size)
{
    for (int k = 0; k < count; k++) {
        const int64_t most = f->most[k] ? f->most[k] : INT32_MAX;
        if (p[k] >= f->least[k] && p[k] <= most) continue;
        char value[32] = "too large";
        if (p[k] < INT64_MAX) snprintf(value, sizeof value, "%" PRId64, p[k]);
        snprintf(error, error_size, "%s: %c of %s is %s, not %" PRId64 " to %" PRId64, name,
                 letter(f->info.pattern, k), f->info.pattern, value, f->least[k], most);
        return false;
    }
    return true;
}

/* ---- names ---- */

/* Takes an ending off the text; an earlier, outer ending is stronger. */
static bool take_ending(char *text, const char *ending)
{
    const size_t n = strlen(text), m = strlen(ending);
    if (n <= m || strcmp(text + n - m, ending)) return false;
    text[n - m] = 0;
    return true;
}

static void take_endings(char *text, request *r)
{
    for (;;) {
        if (take_ending(text, "_shuffled")) r->shuffled = true;
        else if (take_ending(text, "_const")) r->values = r->values ? r->values : AS_CONSTANT;
        else if (take_ending(text, "_rand")) r->values = r->values ? r->values : AS_RANDOM;
        else if (take_ending(text, "_whole")) r->values = r->values ? r->values : AS_WHOLE;
        else return;
    }
}

static void tell_known(const char *name, char *error, size_t error_size)
{
    int at = snprintf(error, error_size, "'%s' is not known; known are", name);
    const char *separator = " ";
    for (int i = 0; at >= 0 && (size_t)at < error_size && family_at(i); i++) {
        at += snprintf(error + at, error_size - (size_t)at, "%s%s", separator, family_at(i)->info.pattern);
        separator = ", ";
    }
    for (int i = 0; at >= 0 && (size_t)at < error_size && i < ALIASES; i++)
        at += snprintf(error + at, error_size - (size_t)at, ", %s", aliases[i].name);
}

static void set_defaults(const family *f, int64_t *p, int given)
{
    for (int k = given; k < MOST_PARAMETERS; k++) p[k] = f->defaults[k] == SAME ? p[0] : f->defaults[k];
}

bool parse_name(const char *name, request *r, char *error, size_t error_size)
{
    *r = (request){ 0 };
    char text[LONGEST_NAME];
    if (strlen(name) >= sizeof text) {
        snprintf(error, error_size, "'%.20s...' has %zu letters; names have fewer than %d", name,
                 strlen(name), LONGEST_NAME);
        return false;
    }
    strcpy(text, name);
    take_endings(text, r);
    for (int i = 0; i < ALIASES; i++) {
        if (strcmp(text, aliases[i].name)) continue;
        strcpy(text, aliases[i].meaning);
        take_endings(text, r);
        break;
    }
    int given;
    for (int i = 0; (r->family = family_at(i)); i++) {
        if (!match(r->family->info.pattern, text, r->p, &given)) continue;
        set_defaults(r->family, r->p, given);
        return in_limits(name, r->family, r->p, given, error, error_size);
    }
    tell_known(name, error, error_size);
    return false;
}
