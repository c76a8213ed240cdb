/* spmvx compare: two JSON results of `spmvx bench`, contender by contender: what got slower or faster
 * beyond the noise, that is where the quartiles of the two runs do not meet. Runs of other minutes may
 * have met another machine: each time can be taken relative to the bandwidth at which its run read memory.
 * JSON is parsed by Jansson. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#ifdef SPMVX_TOOL_JSON
#include <jansson.h>

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static double element(const json_t *o, const char *key, size_t i)
{
    const json_t *v = json_array_get(json_object_get(o, key), i);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static double median_of(const json_t *o, const char *key)
{
    const json_t *list = json_object_get(o, key);
    const size_t n = json_array_size(list);
    if (!n) return NAN;
    double *v = checked_alloc(n * sizeof *v);
    for (size_t i = 0; i < n; i++) v[i] = element(o, key, i);
    sort_doubles(v, (int)n);
    const double m = v[n / 2];
    free(v);
    return m;
}

static json_t *load(const char *path)
{
    json_error_t e;
    json_t *root = json_load_file(path, 0, &e);
    if (!root) fprintf(stderr, "spmvx: %s: line %d: %s\n", path, e.line, e.text);
    else if (!json_is_array(json_object_get(root, "cases"))) {
        fprintf(stderr, "spmvx: %s: no result of 'spmvx bench --json': it has no list of cases\n", path);
        json_decref(root);
        root = NULL;
    }
    return root;
}

static bool same(const json_t *a, const json_t *b)
{
    return !strcmp(text(a, "matrix"), text(b, "matrix")) && !strcmp(text(a, "type"), text(b, "type")) &&
           !strcmp(text(a, "state"), text(b, "state")) && number(a, "beta") == number(b, "beta");
}

static const json_t *find_case(const json_t *root, const json_t *wanted)
{
    size_t i;
    const json_t *c;
    json_array_foreach(json_object_get(root, "cases"), i, c) if (same(c, wanted)) return c;
    return NULL;
}

static const json_t *find_result(const json_t *c, const char *name)
{
    size_t i;
    const json_t *r;
    json_array_foreach(json_object_get(c, "results"), i, r) if (!strcmp(text(r, "name"), name)) return r;
    return NULL;
}

typedef struct counts {
    int compared, slower, faster, missing;
    double sum;
    double threshold;
    bool relative, all;
} counts;

/* Time as a part of what reading its bytes would take, when relative. */
static void compare_results(counts *n, const json_t *old_case, const json_t *new_case, const json_t *old,
                            const json_t *new)
{
    const double scale =
        n->relative ? median_of(new_case, "read_bytes_s") / median_of(old_case, "read_bytes_s") : 1.0;
    const double a = number(old, "time_s"), b = number(new, "time_s") * scale, ratio = b / a;
    if (!isfinite(ratio) || ratio <= 0) {
        if (isfinite(a)) {
            printf("gone     %-20s %-30s was %.1f us: %s\n", text(new_case, "matrix"), text(new, "name"),
                   1e6 * a, *text(new, "failed") ? text(new, "failed") : text(new, "unsuited"));
            n->missing++;
        }
        return;
    }
    const bool slower =
        element(new, "quartiles_s", 0) * scale > element(old, "quartiles_s", 1) && ratio > 1 + n->threshold;
    const bool faster = element(new, "quartiles_s", 1) * scale < element(old, "quartiles_s", 0) &&
                        ratio < 1 / (1 + n->threshold);
    n->compared++;
    n->slower += slower;
    n->faster += faster;
    n->sum += log(ratio);
    if (slower || faster || n->all)
        printf("%-8s %-20s %s %-8s %-30s %10.1f -> %10.1f us  x%.3f\n",
               slower   ? "slower"
               : faster ? "faster"
                        : "",
               text(new_case, "matrix"), text(new_case, "type"), text(new_case, "state"), text(new, "name"),
               1e6 * a, 1e6 * b, ratio);
}

static void compare_cases(counts *n, const json_t *old, const json_t *new)
{
    size_t i, k;
    const json_t *c, *r;
    json_array_foreach(json_object_get(new, "cases"), i, c)
    {
        const json_t *before = find_case(old, c);
        if (!before) continue;
        json_array_foreach(json_object_get(c, "results"), k, r)
        {
            const json_t *was = find_result(before, text(r, "name"));
            if (was) compare_results(n, before, c, was, r);
        }
    }
}

static int compare(const char *old_path, const char *new_path, counts *n)
{
    json_t *old = load(old_path), *new = old ? load(new_path) : NULL;
    int result = EXIT_FAILURE;
    if (old && new) {
        if (strcmp(text(old, "device"), text(new, "device")) ||
            number(old, "threads") != number(new, "threads"))
            fprintf(stderr, "spmvx: the runs differ in machine or threads: %s, %g; %s, %g\n",
                    text(old, "device"), number(old, "threads"), text(new, "device"), number(new, "threads"));
        compare_cases(n, old, new);
        printf("%d compared: %d slower, %d faster, %d gone", n->compared, n->slower, n->faster, n->missing);
        if (n->compared) printf("; times x%.3f in the geometric mean", exp(n->sum / n->compared));
        printf("\n");
        result = EXIT_SUCCESS;
    }
    json_decref(old);
    json_decref(new);
    return result;
}

#else
typedef struct counts {
    int compared, slower, missing;
    double threshold;
    bool relative, all;
} counts;

static int compare(const char *old_path, const char *new_path, counts *n)
{
    (void)old_path, (void)new_path, (void)n;
    fprintf(stderr, "spmvx: compare: this tool was built without Jansson, which reads JSON\n");
    return EXIT_FAILURE;
}
#endif

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES];
    int count;
    int64_t percent = 5;
    bool fail_slower = false;
    counts n = { 0 };
    const option options[] = {
        { "--threshold", 0, COUNT, &percent, "P", "percent that is no change even beyond noise (default 5)" },
        { "--relative", 0, FLAG, &n.relative, NULL,
          "times relative to the bandwidth at which each run read memory" },
        { "--all", 0, FLAG, &n.all, NULL, "also what did not change" },
        { "--fail", 0, FLAG, &fail_slower, NULL, "exit status 1 when something got slower or is gone" },
        { 0 }
    };
    const int status = parse(&command_compare, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (count != 2) return usage_error(&command_compare, "%d files given, two wanted", count);
    if (percent > 1000)
        return usage_error(&command_compare, "--threshold is %" PRId64 ", above 1000", percent);
    n.threshold = (double)percent / 100.0;
    const int result = compare(files[0], files[1], &n);
    if (result == EXIT_SUCCESS && !n.compared && !n.missing) {
        fprintf(stderr, "spmvx: compare: the two have no result in common\n");
        return EXIT_FAILURE;
    }
    return result == EXIT_SUCCESS && fail_slower && (n.slower || n.missing) ? EXIT_FAILURE : result;
}

const command command_compare = { "compare", "[options] OLD.json NEW.json",
                                  "Tell what got slower or faster between two benchmarks",
                                  "Takes results of 'spmvx bench --json'. Beyond the noise means that the "
                                  "quartiles of the two runs do not meet.\n"
                                  "Exit status 1 with --fail when something got slower.",
                                  run };
