#include "dispatch/contest.h"

#include <math.h>
#include <string.h>

#include "dispatch/tune.h"

/* With a kernel for several columns both ways are timed, and the faster one stays. */
static spmvx_status settle_columns(const spx_conversion *c, spx_operator *op, spx_timing *timing)
{
    if (!op->multi.kernel) return SPMVX_OK;
    spx_operator one = *op;
    one.multi.kernel = NULL;
    const spx_operator *const both[] = { op, &one };
    double ns[2];
    SPX_TRY(spx_operators_time(c->ctx, both, timing, ns));
    if (ns[1] >= ns[0]) return SPMVX_OK;
    spx_partition_drop(&op->multi_part);
    op->multi = (spx_choice){ 0 };
    return SPMVX_OK;
}

bool spx_beats(const spx_standing *y, const spx_standing *x, double least, double last_cache)
{
    static const double level = 0.03, tenth = 0.1, much = 0.5, most = 1.25, more = 1.5;
    const spx_standing *const small = y->bytes < x->bytes ? y : x, *const large = small == y ? x : y;
    const double bytes = (double)large->bytes;
    const bool crowds =
        bytes > much * last_cache && bytes < most * last_cache && bytes > more * (double)small->bytes;
    if (crowds && small->score < (1.0 + tenth) * least) return y == small;
    if (y->score < (1.0 - level) * x->score) return true;
    return y->score < (1.0 + level) * x->score && y->setup_ns < x->setup_ns;
}

static spx_standing standing_of(const spx_candidate *c, const spx_operator *op, int64_t muls)
{
    return (spx_standing){ spx_score(c, muls), c->setup_ns, spx_operator_streamed(op) };
}

/* Refused where several threads take longer than one: by what they take now, or took in the contest. */
static spmvx_status check_quiet(const spx_conversion *c, const spx_operator *op, spx_timing *timing,
                                double took)
{
    spmvx_context *ctx = c->ctx;
    double all, one;
    if (ctx->backend->place != SPMVX_HOST || spx_threads_for(ctx->threads, op->A.nnz + op->A.nrows) == 1)
        return SPMVX_OK;
    SPX_TRY(spx_operator_time_threads(ctx, op, timing, &all, &one));
    if (took > all) all = took;
    if (!spx_is_disturbed(all, one)) return SPMVX_OK;
    spx_log(
        ctx, SPMVX_LOG_WARNING,
        "times tell nothing, and the model chooses: %d threads take %.3g ms where one takes %.3g, so that "
        "other processes seem to run on these processors; fewer threads, SPMVX_CONTEXT_POOL or "
        "OMP_WAIT_POLICY=passive help",
        ctx->threads, 1e-6 * all, 1e-6 * one);
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "the processors are busy with other processes");
}

/* A candidate that was built, and is timed. */
typedef struct entrant {
    spx_operator op;
    spx_contender timed;
} entrant;

typedef struct contest {
    const spx_conversion *c;
    spx_timing *timing;
    spx_candidate *best;
    entrant entrants[2];
    entrant *champion;  /* NULL: none yet */
    double told;        /* its score by the model, */
    double told_mul_ns; /* and what a multiplication takes */
    double until;       /* when all have to be done, as is told, by spx_now() */
    double timing_ns;   /* that the last contender was timed for */
    double least;       /* score of all that were timed */
    int timed;
    bool disturbed, late; /* late: for some there was no time; */
    bool astray;          /* and for others there was none, but that the model knew nothing */
} contest;

static void drop(entrant *e)
{
    spx_contender_drop(&e->timed);
    spx_operator_drop(&e->op);
}

/* Is what was just timed to be taken, not the best so far? On a device nobody shares the cache. */
static bool wins(contest *t, const spx_candidate *measured, const spx_operator *op)
{
    const int64_t muls = t->c->request.expected_muls;
    const bool of_host = t->c->ctx->backend->place == SPMVX_HOST;
    const spx_standing y = standing_of(measured, op, muls);
    t->least = fmin(t->least, y.score);
    if (!t->champion) return true;
    const spx_standing x = standing_of(t->best, &t->champion->op, muls);
    t->least = fmin(t->least, x.score);
    return spx_beats(&y, &x, t->least, of_host ? t->c->ctx->machine.last_cache : 0.0);
}

/* Builds a candidate and lets it stand against the best so far. *took is what a multiplication took. */
static spmvx_status challenge(contest *t, spx_source *source, const spx_candidate *candidate, double *took)
{
    entrant *const champion = t->champion, *const e = &t->entrants[champion == t->entrants];
    spx_candidate measured = *candidate;
    const double begin = spx_now();
    *e = (entrant){ 0 };
    SPX_TRY(spx_build_candidate(t->c, source, candidate, &e->op));
    const double built = spx_now();
    measured.setup_ns = built - begin;
    spx_contender *const both[] = { &e->timed, champion ? &champion->timed : NULL };
    double ns[2];
    spmvx_status s = SPMVX_OK;
    if (!champion) {
        s = check_quiet(t->c, &e->op, t->timing, 0.0);
        t->disturbed = s == SPMVX_ERR_UNSUPPORTED;
    }
    if (s == SPMVX_OK) s = settle_columns(t->c, &e->op, t->timing);
    if (s == SPMVX_OK) s = spx_contender_new(t->c->ctx, &e->op, t->timing, &e->timed);
    if (s == SPMVX_OK) s = spx_contenders_time(champion ? 2 : 1, both, ns);
    t->timing_ns = spx_now() - built;
    if (s == SPMVX_OK) {
        t->timed++;
        *took = measured.mul_ns = ns[0];
        if (champion) t->best->mul_ns = ns[1];
    }
    if (s != SPMVX_OK || !wins(t, &measured, &e->op)) {
        drop(e);
        return s;
    }
    if (champion) drop(champion);
    t->champion = e;
    t->told = spx_score(candidate, t->c->request.expected_muls);
    t->told_mul_ns = candidate->mul_ns;
    *t->best = measured;
    return SPMVX_OK;
}

/* Is it told to be far behind the best, by what that was told to take, and by what it took? On a device what
 * the model tells of large matrices is 0.56 to 1.4 times what comes, and of all alike where a device is
 * another than is believed. */
static bool cannot_win(const contest *t, const spx_candidate *c)
{
    static const double over = 1.6;
    const int64_t muls = t->c->request.expected_muls;
    if (!t->champion || t->c->ctx->backend->place == SPMVX_HOST || t->c->effort > 1) return false;
    const double told = spx_score(c, muls);
    return told > over * t->told && told > over * spx_score(t->best, muls);
}

/* By when a contender of effort 1 on a device has to be done, as is told: a tenth before 100 multiplications
 * by the plainest kernel, as the model tells of them, or before 2 ms where that is more; what it takes longer
 * than is told, and the end, come behind it. */
static double end_of(const spx_conversion *c, const spx_candidate *candidates, int count)
{
    static const double multiplications = 100.0, least = 2e6, part = 0.9;
    if (c->ctx->backend->place == SPMVX_HOST || c->effort > 1) return INFINITY;
    double ns = candidates[0].mul_ns;
    for (int i = count - 1; i >= 0; i--) /* the best of its variants comes first */
        if (!strcmp(candidates[i].choice.kernel->name, "csr-vector")) ns = candidates[i].mul_ns;
    return c->began + part * fmax(least, multiplications * ns);
}

/* Is there no time left to build it, as the model tells of that, and to time it for as long as the one
 * before? What a process has never run takes longer, by its code. */
static bool is_too_late(const contest *t, const spx_candidate *c)
{
    return t->champion && spx_now() + c->setup_ns + t->timing_ns > t->until;
}

/* Where a multiplication by the best so far takes much longer than was told, the model knows nothing of this
 * matrix: there is time yet for what needs no building. */
static bool may_still(const contest *t, const spx_candidate *c)
{
    static const double much = 1.6;
    return c->choice.kernel->format == SPMVX_CSR && t->best->mul_ns > much * t->told_mul_ns;
}

/* Is it worth timing behind the few? A variant of the winner is; one of another kernel that was not far
 * behind, if the model has it near that: which of its variants is the best one is the model's guess. */
static bool may_win(const contest *t, const spx_candidate *few, const double *took, int n,
                    const spx_candidate *other)
{
    static const double not_far = 1.6, near = 1.5;
    if (spx_kernel_same_base(other->choice.kernel, t->champion->op.choice.kernel)) return true;
    for (int i = 0; i < n; i++)
        if (spx_kernel_same_base(other->choice.kernel, few[i].choice.kernel))
            return took[i] > 0 && took[i] < not_far * t->best->mul_ns && other->mul_ns < near * few[i].mul_ns;
    return false;
}

/* The few first, then other variants. */
static spmvx_status run_contest(contest *t, spx_source *source, const spx_candidate *candidates, int few,
                                int count, spx_operator *out)
{
    double took[SPX_CANDIDATES] = { 0 };
    spmvx_status s = SPMVX_OK;
    for (int i = 0; i < count; i++) {
        if (i >= few && (!t->champion || !may_win(t, candidates, took, few, &candidates[i]))) continue;
        if (cannot_win(t, &candidates[i])) continue;
        if (is_too_late(t, &candidates[i])) {
            const bool still = may_still(t, &candidates[i]);
            t->astray = t->astray || still;
            t->late = t->late || !still;
            if (!still) continue;
        }
        s = challenge(t, source, &candidates[i], &took[i]);
        if (s == SPMVX_OK) continue;
        if (!spx_may_go_on(s) || t->disturbed) break;
        spx_log_dropped(t->c, &candidates[i]);
    }
    if (!t->champion) return s;
    if (s == SPMVX_OK || spx_may_go_on(s)) { /* others may have come meanwhile */
        s = check_quiet(t->c, &t->champion->op, t->timing, t->best->mul_ns);
        t->disturbed = s == SPMVX_ERR_UNSUPPORTED;
    }
    if (s == SPMVX_OK) {
        *out = t->champion->op;
        t->champion->op = (spx_operator){ 0 };
    }
    drop(t->champion);
    t->champion = NULL;
    return s;
}

/* ---- which candidates are worth timing ---- */

static void to_front(spx_candidate *c, int *few, int i)
{
    const spx_candidate next = c[i];
    memmove(&c[*few + 1], &c[*few], (size_t)(i - *few) * sizeof *c);
    c[(*few)++] = next;
}

/* Is a variant of the kernel among the few? */
static bool is_among(const spx_candidate *c, int few, const spx_candidate *of)
{
    int k = 0;
    while (k < few && !spx_kernel_same_base(c[k].choice.kernel, of->choice.kernel)) k++;
    return k < few;
}

/* Brings the few that are worth timing to the front, by merit, one variant of each kernel, since what makes
 * the model err is the format more often than the instruction set. Then CSR's kernels, which cost nothing to
 * build: what is taken is not slower than three of them, but by what spx_beats() allows a smaller matrix, and
 * but for those that cannot win and, on a device, those that there is no time for. */
static int few_best(spx_candidate *c, int count)
{
    enum { FEW = 4, OF_CSR = 3 };
    static const double hopeless = 20.0; /* times the best; the model does not err by that much */
    const double most = hopeless * c[0].mul_ns;
    int few = 0, of_csr = 0;
    for (int i = 0; i < count && few < FEW; i++)
        if (c[i].mul_ns <= most && !is_among(c, few, &c[i])) to_front(c, &few, i);
    for (int k = 0; k < few; k++) of_csr += c[k].choice.kernel->format == SPMVX_CSR;
    for (int i = few; i < count && of_csr < OF_CSR; i++) {
        if (c[i].mul_ns > most || c[i].choice.kernel->format != SPMVX_CSR || is_among(c, few, &c[i]))
            continue;
        to_front(c, &few, i);
        of_csr++;
    }
    return few;
}

spmvx_status spx_build_timed(spx_conversion *c, spx_source *source, spx_candidate *candidates, int count,
                             spx_candidate *best, int *timed, spx_operator *out)
{
    spx_timing timing;
    contest t = {
        .c = c, .timing = &timing, .best = best, .until = end_of(c, candidates, count), .least = INFINITY
    };
    SPX_TRY(spx_timing_new(c->ctx, source->ncols, source->nrows, c->request.nvec, source->val_type, &timing));
    spmvx_status s;
    int tried = 0;
    do { /* the next few, while none of those before can be built */
        spx_candidate *next = candidates + tried;
        const int few = c->effort > 1 ? count : few_best(next, count - tried);
        s = run_contest(&t, source, next, few, count - tried, out);
        tried += few;
    } while (spx_may_go_on(s) && !t.disturbed && tried < count);
    spx_timing_drop(&timing);
    *timed = t.timed;
    c->disturbed = t.disturbed;
    c->hurried = t.late && (t.timed < 2 || t.astray);
    return s;
}
