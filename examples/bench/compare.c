/* spmvx compare: two JSON results of `spmvx bench`, contender by contender: what got slower or faster beyond
 * the noise. A result says something when it has three samples or more in both runs, its quartiles do not
 * meet, and the change is larger than the distance of the quartiles in either run. On a machine that was
 * busy, which the bandwidth tells at which memory was read between the samples, all samples have to be apart
 * as well, and a change that most results of the matrix share is the machine's: what is left has to be larger
 * than that, and than the spread of the others; what became ten times slower, and takes time slices now, has
 * waited for others. Where AUTO by timing took another kernel, nothing is said.
 * Runs of other minutes may have met another machine: each time can be taken relative to that bandwidth. JSON
 * is parsed by Jansson. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "series.h"
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

static double median_in(const json_t *o, const char *key)
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
    int compared, slower, faster, once;
    int missing, absent; /* gone: with a reason, or not in the new run */
    double sum;
    double threshold;
    bool relative, all, busy;
} counts;

/* ---- was the machine busy? ---- */

enum { MOST_READINGS = 1 << 16 };

typedef struct bandwidth {
    double low, median, high; /* quartiles of all rounds of all cases, bytes a second; 0: not told */
} bandwidth;

static bandwidth bandwidth_of(const json_t *root)
{
    double *v = checked_alloc(MOST_READINGS * sizeof *v);
    int n = 0;
    size_t i, k;
    const json_t *c, *reading;
    json_array_foreach(json_object_get(root, "cases"), i, c)
        json_array_foreach(json_object_get(c, "read_bytes_s"), k,
                           reading) if (json_is_number(reading) && n < MOST_READINGS) v[n++] =
            json_number_value(reading);
    bandwidth b = { 0 };
    sort_doubles(v, n);
    if (n) b = (bandwidth){ quantile(v, n, 0.25), quantile(v, n, 0.5), quantile(v, n, 0.75) };
    free(v);
    return b;
}

/* Where nobody else runs, and the clock stays, quartiles are within some percent of each other. */
static bool is_busy(const json_t *old, const json_t *new, bool relative)
{
    static const double most = 1.25;
    const bandwidth a = bandwidth_of(old), b = bandwidth_of(new);
    const bool apart = a.median > most * b.median || b.median > most * a.median;
    const bool busy = a.high > most * a.low || b.high > most * b.low || (apart && !relative);
    if (busy)
        fprintf(
            stderr,
            "spmvx: compare: memory was read at %.1f to %.1f GB/s in the first run, and at %.1f to %.1f in "
            "the second: the machine was busy, and what changed alike is no finding\n",
            1e-9 * a.low, 1e-9 * a.high, 1e-9 * b.low, 1e-9 * b.high);
    return busy;
}

/* ---- one contender in both runs ---- */

enum { LEAST_SAMPLES = 3 };

typedef struct run_times {
    double median, low, high, least, most; /* seconds; quartiles and all samples */
    int samples;
} run_times;

typedef struct pair {
    const char *name;
    run_times old, new;
    double change;     /* the logarithm of new / old */
    bool other_choice; /* AUTO, by timing, took another kernel, as it may in every run */
} pair;

static run_times times_of(const json_t *r, double scale)
{
    const json_t *list = json_object_get(r, "samples_s");
    run_times t = { scale * number(r, "time_s"),
                    scale * element(r, "quartiles_s", 0),
                    scale * element(r, "quartiles_s", 1),
                    INFINITY,
                    0,
                    (int)json_array_size(list) };
    if (!list) { /* of a version that did not tell them */
        t.samples = t.low < t.high ? LEAST_SAMPLES : 1;
        t.least = t.low;
        t.most = t.high;
        return t;
    }
    for (int i = 0; i < t.samples; i++) {
        const double v = scale * element(r, "samples_s", (size_t)i);
        t.least = fmin(t.least, v);
        t.most = fmax(t.most, v);
    }
    return t;
}

/* What most results of a matrix share, and how far they are from it. */
typedef struct shift {
    double common, spread;
} shift;

static bool is_told(const pair *p)
{
    return !p->other_choice && p->old.samples >= LEAST_SAMPLES && p->new.samples >= LEAST_SAMPLES;
}

static shift shift_of(const pair *p, int count)
{
    enum { LEAST_RESULTS = 3 };
    double *v = checked_alloc((size_t)count * sizeof *v);
    shift s = { 0 };
    int n = 0;
    for (int i = 0; i < count; i++)
        if (is_told(&p[i])) v[n++] = p[i].change;
    if (n >= LEAST_RESULTS) {
        sort_doubles(v, n);
        s.common = quantile(v, n, 0.5);
        for (int i = 0; i < n; i++) v[i] = fabs(v[i] - s.common);
        sort_doubles(v, n);
        s.spread = quantile(v, n, 0.5);
    }
    free(v);
    return s;
}

/* 1: slower, -1: faster, 0: neither beyond the noise. */
static int verdict(const counts *n, const pair *p, const shift *s)
{
    /* beside others a thread may wait a time slice in every sample, whatever it has to do */
    static const double spreads = 3.0, waited = 10.0;
    const double least = log(1 + n->threshold), size = fabs(p->change);
    const run_times *fast = p->change > 0 ? &p->old : &p->new, *slow = p->change > 0 ? &p->new : &p->old;
    if (!is_told(p) || size <= least || fast->high >= slow->low) return 0;
    if (size <= log(fast->high / fast->low) || size <= log(slow->high / slow->low)) return 0;
    if (n->busy) {
        if (slow->median > time_slice && slow->median > waited * fast->median) return 0;
        const double own = p->change - s->common,
                     noise = fmax(least, fmax(fabs(s->common), spreads * s->spread));
        if (fast->most >= slow->least || fabs(own) <= noise || own * p->change < 0) return 0;
    }
    return p->change > 0 ? 1 : -1;
}

/* ---- cases ---- */

static void print_pair(const json_t *c, const pair *p, const char *what)
{
    printf("%-8s %-20s %s %-8s %-30s %10.1f -> %10.1f us  x%.3f\n", what, text(c, "matrix"), text(c, "type"),
           text(c, "state"), p->name, 1e6 * p->old.median, 1e6 * p->new.median, exp(p->change));
}

static void count_pairs(counts *n, const json_t *c, const pair *p, int count)
{
    const shift s = shift_of(p, count);
    for (int i = 0; i < count; i++) {
        const int v = verdict(n, &p[i], &s);
        const bool once = p[i].old.samples < LEAST_SAMPLES || p[i].new.samples < LEAST_SAMPLES;
        n->compared++;
        n->once += once;
        n->slower += v > 0;
        n->faster += v < 0;
        if (!once) n->sum += p[i].change;
        if (v || n->all)
            print_pair(c, &p[i],
                       v > 0               ? "slower"
                       : v < 0             ? "faster"
                       : once              ? "once"
                       : p[i].other_choice ? "other"
                                           : "");
    }
}

/* Time as a part of what reading its bytes would take, when relative. */
static void compare_case(counts *n, const json_t *before, const json_t *c)
{
    const json_t *results = json_object_get(c, "results"), *r;
    const double scale = n->relative ? median_in(c, "read_bytes_s") / median_in(before, "read_bytes_s") : 1.0;
    pair *p = checked_alloc(json_array_size(results) * sizeof *p);
    int count = 0;
    size_t i;
    json_array_foreach(results, i, r)
    {
        const json_t *was = find_result(before, text(r, "name"));
        if (!was) continue;
        pair q = { .name = text(r, "name"), .old = times_of(was, 1.0), .new = times_of(r, scale) };
        q.other_choice =
            !strcmp(text(r, "kind"), "auto-timed") && strcmp(text(was, "kernel"), text(r, "kernel"));
        q.change = log(q.new.median / q.old.median);
        if (isfinite(q.change)) p[count++] = q;
        else if (isfinite(q.old.median)) {
            printf("gone     %-20s %-30s was %.1f us: %s\n", text(c, "matrix"), q.name, 1e6 * q.old.median,
                   *text(r, "failed") ? text(r, "failed") : text(r, "unsuited"));
            n->missing++;
        }
    }
    count_pairs(n, c, p, count);
    free(p);
}

/* What the old run had, and the new one does not name. */
static void count_gone(counts *n, const json_t *before, const json_t *c)
{
    const json_t *r;
    size_t i;
    json_array_foreach(json_object_get(before, "results"), i, r)
    {
        const double median = number(r, "time_s");
        if (!isfinite(median) || (c && find_result(c, text(r, "name")))) continue;
        printf("gone     %-20s %-30s was %.1f us: not in the new run\n", text(before, "matrix"),
               text(r, "name"), 1e6 * median);
        n->absent++;
    }
}

static void compare_cases(counts *n, const json_t *old, const json_t *new)
{
    size_t i;
    const json_t *c;
    json_array_foreach(json_object_get(new, "cases"), i, c)
    {
        const json_t *before = find_case(old, c);
        if (before) compare_case(n, before, c);
    }
    json_array_foreach(json_object_get(old, "cases"), i, c) count_gone(n, c, find_case(new, c));
}

/* Has every case the bandwidth at which memory was read? */
static bool has_bandwidth(const char *path, const json_t *run)
{
    size_t i;
    const json_t *c;
    json_array_foreach(json_object_get(run, "cases"), i, c) if (!isfinite(median_in(c, "read_bytes_s")))
    {
        fprintf(stderr, "spmvx: %s: %s has no read_bytes_s, which --relative needs\n", path,
                text(c, "matrix"));
        return false;
    }
    return true;
}

static int compare(const char *old_path, const char *new_path, counts *n)
{
    json_t *old = load(old_path), *new = old ? load(new_path) : NULL;
    int result = EXIT_FAILURE;
    if (old && new && (!n->relative || (has_bandwidth(old_path, old) && has_bandwidth(new_path, new)))) {
        if (strcmp(text(old, "device"), text(new, "device")) ||
            number(old, "threads") != number(new, "threads"))
            fprintf(stderr, "spmvx: the runs differ in machine or threads: %s, %g; %s, %g\n",
                    text(old, "device"), number(old, "threads"), text(new, "device"), number(new, "threads"));
        n->busy = is_busy(old, new, n->relative);
        compare_cases(n, old, new);
        printf("%d compared: %d slower, %d faster, %d gone", n->compared, n->slower, n->faster,
               n->missing + n->absent);
        if (n->compared > n->once)
            printf("; times x%.3f in the geometric mean", exp(n->sum / (n->compared - n->once)));
        if (n->once) printf("; %d timed once or twice, which are no findings", n->once);
        printf("\n");
        result = EXIT_SUCCESS;
    }
    json_decref(old);
    json_decref(new);
    return result;
}

#else
typedef struct counts {
    int compared, slower, missing, absent;
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
        { "--fail", 0, FLAG, &fail_slower, NULL, "exit status 1 when something got slower, or is gone" },
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
    return result == EXIT_SUCCESS && fail_slower && (n.slower || n.missing || n.absent) ? EXIT_FAILURE
                                                                                        : result;
}

const command command_compare = {
    "compare", "[options] OLD.json NEW.json", "Tell what got slower or faster between two benchmarks",
    "Takes results of 'spmvx bench --json'. Beyond the noise means three samples "
    "or more, quartiles of the two runs that do not\n"
    "meet, and a change larger than the quartiles' distance; where the bandwidth "
    "tells that the machine was busy, also\n"
    "no sample of one run among those of the other, and a change that the other "
    "results of the matrix do not share.\n"
    "Exit status 1 with --fail when something got slower, or is gone.",
    run
};
