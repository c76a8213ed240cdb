#!/usr/bin/env python3
"""Makes a results page and its pictures from what `spmvx bench --json` wrote.

    python3 docs/make-results.py --title TITLE --about TEXT -o docs/results/NAME.md RESULT.json...
    python3 docs/make-results.py --readme README.md -o docs/results/host.md RESULT.json...
    python3 docs/make-results.py --check --readme README.md -o docs/results/host.md RESULT.json...

The first makes the page, and pictures beside it that are named after it: bars by matrix, performance profile, roofline, time
against size, spread of row lengths, as SVG that follows the reader's preference for light or dark. It needs matplotlib (Debian:
python3-matplotlib). The second writes the figures of the README's first screen. The third changes nothing: its status is 1
unless the page and the README say what the results do.
"""
import argparse
import json
import math
import pathlib
import re
import sys

INK, FAINT = "#1f2328", "#8c959f"     # rewritten for dark readers by STYLE
STYLE = ("<style>@media (prefers-color-scheme: dark) {{ [style*=\"fill: {ink}\"] {{ fill: #e6edf3 !important }} "
         "[style*=\"stroke: {ink}\"] {{ stroke: #e6edf3 !important }} }}</style>").format(ink=INK)
COLOURS = {"AUTO": "#cf222e", "AUTO, by its model": "#fa8c3c", "PACKED": "#8250df", "SELL": "#0969da", "CSR": "#54aeff",
           "MKL": "#1a7f37", "GraphBLAS": "#4ac26b", "Eigen": "#9a6700", "librsb": "#d4a72c", "PETSc": "#bf3989", "SciPy": "#6e7781"}
LIBRARIES = [("mkl", "MKL"), ("graphblas", "GraphBLAS"), ("eigen", "Eigen"), ("librsb", "librsb"), ("petsc", "PETSc"), ("scipy", "SciPy"),
             ("cusparse", "cuSPARSE")]


def settle():
    global matplotlib, plt
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import matplotlib.ticker
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "spmvx", "font.size": 9, "text.color": INK, "axes.labelcolor": INK,
                         "xtick.color": INK, "ytick.color": INK, "axes.edgecolor": INK, "axes.facecolor": "none", "figure.facecolor": "none",
                         "savefig.facecolor": "none", "legend.frameon": False, "axes.spines.top": False, "axes.spines.right": False,
                         "grid.color": FAINT, "grid.alpha": 0.35, "font.family": "sans-serif"})


def save(figure, path):
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    text = path.read_text()
    path.write_text(re.sub(r"(<svg [^>]*>)", lambda m: m.group(1) + STYLE, text, count=1))


def done(case):
    return [r for r in case["results"] if "time_s" in r]


def group(result):
    """What a result belongs to in the pictures; None: to nothing that is drawn."""
    if result["kind"] == "auto-timed":
        return "AUTO"
    if result["kind"] == "auto-model":
        return "AUTO, by its model"
    if result["kind"] == "peer":
        return next((label for start, label in LIBRARIES if result["name"].startswith(start)), result["name"])
    return result["format"] if result["format"] in ("CSR", "SELL", "PACKED") else None


def best_by_group(case):
    best = {}
    for r in done(case):
        g = group(r)
        if g and (g not in best or r["time_s"] < best[g]["time_s"]):
            best[g] = r
    return best


def fastest(case, kinds):
    return min((r for r in done(case) if r["kind"] in kinds), key=lambda r: r["time_s"], default=None)


def name(case):
    return re.sub(r"\.(mtx|rb|npz)(\.gz|\.xz|\.zst)?$", "", case["matrix"])


def colour(g):
    return COLOURS.get(g, FAINT)


def groups_of(cases):
    seen = {g for c in cases for g in best_by_group(c)}
    return [g for g in COLOURS if g in seen] + sorted(g for g in seen if g not in COLOURS)


def draw_bars(cases, path):
    groups = groups_of(cases)
    figure, axes = plt.subplots(figsize=(9, 0.9 + 0.062 * len(cases) * (len(groups) + 2)))
    for i, case in enumerate(cases):
        best = best_by_group(case)
        for k, g in enumerate(groups):
            if g in best:
                axes.barh(i * (len(groups) + 2) + k, best[g]["gflops"], color=colour(g), height=0.9)
    axes.set_yticks([i * (len(groups) + 2) + (len(groups) - 1) / 2 for i in range(len(cases))], [name(c) for c in cases])
    axes.invert_yaxis()
    axes.set_xlabel("GFLOP/s (2 a nonzero); longer is faster")
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.legend([plt.Rectangle((0, 0), 1, 1, color=colour(g)) for g in groups], groups, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=6)
    save(figure, path)


def draw_profile(cases, path):
    figure, axes = plt.subplots(figsize=(7, 4))
    times = [{g: r["time_s"] for g, r in best_by_group(c).items()} for c in cases]
    factors = [1 + 0.01 * i for i in range(301)]
    for g in groups_of(cases):
        ratios = [t[g] / min(t.values()) if g in t else math.inf for t in times]
        axes.plot(factors, [sum(r <= f for r in ratios) / len(cases) for f in factors], color=colour(g), label=g, linewidth=2)
    axes.set_xlabel("time, as a multiple of the fastest")
    axes.set_ylabel("part of the matrices")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(1, 4)
    axes.grid()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, path)


def median(v):
    return sorted(v)[len(v) // 2] if v else math.nan


def log_axes(axes):
    """Both logarithmic, with plain numbers at 1, 2 and 5."""
    for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
        scale("log")
        axis.set_major_locator(matplotlib.ticker.LogLocator(base=10, subs=(1, 2, 5)))
        axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda v, _: "%gM" % (v / 1e6) if v >= 1e6 else "%gk" % (v / 1e3) if v >= 1e4 else "%g" % v))
        axis.set_minor_formatter(matplotlib.ticker.NullFormatter())


def draw_roofline(cases, path):
    figure, axes = plt.subplots(figsize=(7, 4.2))
    bandwidth = median([b for c in cases for b in c["read_bytes_s"]])
    shown, left_out = set(), 0
    points = [(g, r) for case in cases for g, r in best_by_group(case).items() if "own_gbytes" in r and r["own_gbytes"] > 0]
    least = max(r["gflops"] for _, r in points) / 100
    for g, r in points:
        if r["gflops"] < least:
            left_out += 1
        else:
            axes.scatter(r["gflops"] / r["own_gbytes"], r["gflops"], s=22, color=colour(g), label=None if g in shown else g, alpha=0.85, linewidths=0)
            shown.add(g)
    low, high = 0.06, 0.5
    axes.plot([low, high], [low * bandwidth * 1e-9, high * bandwidth * 1e-9], color=INK, linewidth=1.2)
    axes.text(0.02, 0.95, "line: memory reads at %.0f GB/s; above it, matrices come from caches" % (bandwidth * 1e-9), transform=axes.transAxes, fontsize=8)
    if left_out:
        axes.text(0.02, 0.9, "%d below %.2g GFLOP/s are left out" % (left_out, least), transform=axes.transAxes, fontsize=8)
    log_axes(axes)
    axes.set_xlabel("floating-point operations a byte, by what the format streams")
    axes.set_ylabel("GFLOP/s")
    axes.grid(which="both")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, path)


def draw_size(cases, path):
    figure, axes = plt.subplots(figsize=(7, 4))
    for g in [g for g in groups_of(cases) if g in ("AUTO", "CSR", "SELL", "PACKED", "MKL", "Eigen", "GraphBLAS", "cuSPARSE")]:
        points = sorted((c["nnz"], best_by_group(c)[g]["time_s"] * 1e6) for c in cases if g in best_by_group(c))
        axes.plot([p[0] for p in points], [p[1] for p in points], color=colour(g), label=g, marker="o", markersize=4, linewidth=0, alpha=0.85)
    log_axes(axes)
    axes.set_xlabel("nonzeros")
    axes.set_ylabel("time of a multiplication, us")
    axes.grid(which="both")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, path)


def draw_rows(cases, path):
    figure, axes = plt.subplots(figsize=(7, 0.8 + 0.24 * len(cases)))
    for i, case in enumerate(cases):
        r = case["row_lengths"]
        axes.plot([max(r["min"], 0.5), max(r["max"], 0.5)], [i, i], color=FAINT, linewidth=1.5)
        axes.plot([max(r["mean"] - r["deviation"], r["min"], 0.5), min(r["mean"] + r["deviation"], max(r["max"], 0.5))], [i, i], color="#0969da", linewidth=5,
                  solid_capstyle="butt", alpha=0.7)
        axes.plot([max(r["mean"], 0.5)], [i], "o", color="#cf222e", markersize=4)
    axes.set_yticks(range(len(cases)), [name(c) for c in cases])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("entries a row: shortest to longest, mean and standard deviation (empty rows at 0.5)")
    axes.grid(axis="x")
    save(figure, path)


def geometric_mean(v):
    return math.exp(sum(map(math.log, v)) / len(v)) if v else math.nan


def paired(a, b):
    """Median and quartiles of time a over time b, round by round."""
    ratios = sorted(x / y for x, y in zip(a["samples_s"], b["samples_s"]))
    return median(ratios), ratios[len(ratios) // 4], ratios[(3 * len(ratios)) // 4]


def table(cases):
    yield ("| matrix | rows | nonzeros | AUTO by timing | us | by its model | us | best peer | us | AUTO against it | quartiles "
           "| set-up of AUTO by its model, us | in multiplications | by timing, us | in multiplications |")
    yield "| --- | --: | --: | --- | --: | --- | --: | --- | --: | --: | --: | --: | --: | --: | --: |"
    for c in cases:
        timed, model, peer = fastest(c, ["auto-timed"]), fastest(c, ["auto-model"]), fastest(c, ["peer"])
        cells = [name(c), "%d" % c["rows"], "%d" % c["nnz"]]
        for r in (timed, model):
            cells += [r["kernel"], "%.1f" % (r["time_s"] * 1e6)] if r else ["", ""]
        if peer and timed:
            ratio = paired(peer, timed)
            cells += [peer["name"], "%.1f" % (peer["time_s"] * 1e6), "%.2fx" % ratio[0], "%.2f-%.2f" % ratio[1:]]
        else:
            cells += ["", "", "", ""]
        for r in (model, timed):
            cells += set_up(r)
        yield "| " + " | ".join(cells) + " |"


def set_up(result):
    """Microseconds, and multiplications of csr-vector. Results that lack the latter measured something else: empty."""
    if not result or "setup_muls" not in result:
        return ["", ""]
    return ["%.0f" % (result["setup_s"] * 1e6), "%.1f" % result["setup_muls"]]


def set_up_line(cases):
    large = 1e8   # bytes of CSR with x and y
    told = [(fastest(c, ["auto-model"])["setup_muls"], c) for c in cases if "setup_muls" in (fastest(c, ["auto-model"]) or {})]
    if not told:
        return None
    most = max((p for p in told if p[1]["csr_bytes"] >= large), key=lambda p: p[0], default=None)
    return "- Set-up of AUTO by its model, in multiplications of `csr-vector`: %.1f in the median of %d%s." % (
        median([p[0] for p in told]), len(told), ", at most **%.1f** from 100 MB on (%s)" % (most[0], name(most[1])) if most else "")


def summary(cases):
    def line(what, over, under):
        pairs = [(name(c), paired(fastest(c, over[0]) if not over[1] else over[1](c), fastest(c, under))) for c in cases
                 if (fastest(c, over[0]) if not over[1] else over[1](c)) and fastest(c, under)]
        if not pairs:
            return None
        least = min(pairs, key=lambda p: p[1][0])
        return "- %s: **%.2fx** in the geometric mean of %d, least %.2fx (%s, quartiles %.2f to %.2f)." % (
            what, geometric_mean([p[1][0] for p in pairs]), len(pairs), least[1][0], least[0], least[1][1], least[1][2])

    def plain(c):
        return min((r for r in done(c) if r["kind"] == "kernel" and (r["name"].startswith("csr-"))),
                   key=lambda r: r["time_s"], default=None)

    lines = [line("AUTO by timing against the best peer on each matrix", (["peer"], None), ["auto-timed"]),
             line("AUTO by its model against the best peer on each matrix", (["peer"], None), ["auto-model"]),
             line("AUTO by timing against the best CSR kernel", ([], plain), ["auto-timed"]),
             line("AUTO by its model against the best CSR kernel", ([], plain), ["auto-model"]),
             line("AUTO by its model against AUTO by timing", (["auto-timed"], None), ["auto-model"])]
    close = [paired(fastest(c, ["auto-timed"]), fastest(c, ["auto-model"]))[0] >= 1 / 1.1 for c in cases
             if fastest(c, ["auto-timed"]) and fastest(c, ["auto-model"])]
    if close:
        lines.append("- The model's choice is within 10%% of the timed one on %d of %d." % (sum(close), len(close)))
    lines.append(set_up_line(cases))
    return [x for x in lines if x]


def missing(cases):
    """Who did not run, and why: but for peers' block sizes that do not suit a matrix."""
    why = {}
    for c in cases:
        for r in c["results"]:
            reason = r.get("failed") or r.get("unsuited")
            if reason and not (r["kind"] == "peer" and ("in blocks of" in reason or "times the nonzeros" in reason)):
                why.setdefault((name(c), reason), []).append("`%s`" % r["name"])
    if why:
        yield "Not run:"
        yield ""
        for (matrix, reason), names in why.items():
            yield "- %s: %s: %s." % (matrix, ", ".join(names), reason.rstrip("."))
        yield ""


# Cores by the family that a processor names: what vendors call families of names ("AMD EPYC") spans many.
CORES = {("AuthenticAMD", 23): lambda model: "Zen, Zen+ or Zen 2", ("AuthenticAMD", 25): lambda model: "Zen 3" if model < 16 or 32 <= model < 96 else "Zen 4",
         ("AuthenticAMD", 26): lambda model: "Zen 5"}
# Libraries that a reader will look for among the peers of the host.
LOOKED_FOR = ["oneMKL", "AOCL-Sparse"]
BEGIN, END = "<!-- figures: made by docs/make-results.py --readme from %s -->", "<!-- end of the figures -->"


def processor(run):
    """What the results say beside the name: those of 0.1.0 say nothing."""
    p = run.get("processor")
    if not p:
        return ""
    core = CORES.get((p["vendor"], p["family"]))
    return ", %s family %d, model %d%s" % (p["vendor"], p["family"], p["model"], " (%s)" % core(p["model"]) if core else "")


def absent(run):
    return [name for name in LOOKED_FOR if run["place"] == "host" and name not in run["peers"]]


# Multiplications that the project allows for building a format on a device, where CSR with x and y takes more than so many bytes.
BUILD_LIMITS = {"COO": 3, "ELL": 10, "SELL": 10, "HYB": 10, "DIA": 10, "CSR5": 10, "BSR": 20, "TILED": 30}
BUILD_FROM = 50e6


def built(cases):
    """By format, but for CSR: set-up in multiplications of its fastest kernel, and the matrix; the most comes first."""
    out = {}
    for c in cases:
        kernels = [r for r in done(c) if r["kind"] == "kernel" and r["format"] != "CSR"]
        for f in {r["format"] for r in kernels}:
            r = min((r for r in kernels if r["format"] == f), key=lambda r: r["time_s"])
            out.setdefault(f, []).append((r["setup_s"] / r["time_s"], name(c)))
    return {f: sorted(out[f], reverse=True) for f in [f for f in BUILD_LIMITS if f in out] + sorted(out.keys() - BUILD_LIMITS.keys())}


def building(cases):
    """What building each format took, beside its limit; nothing where no matrix is large."""
    large, rows = [c for c in cases if c["csr_bytes"] > BUILD_FROM], []
    for _, label, some in kinds(large):
        for f, told in built(some).items():
            limit, most = BUILD_LIMITS.get(f), told[0]
            above = [p for p in told if limit and p[0] > limit]
            rows.append("| %s | %s | %d | %.1f | %.1f | %s | %s | %s | %s |" % (
                label, f, len(told), told[-1][0], median([p[0] for p in told]), ("**%.1f**" if above else "%.1f") % most[0], most[1],
                limit or "", ", ".join("%s %.1f" % (p[1], p[0]) for p in above)))
    if rows:
        csr = [r["setup_s"] / r["time_s"] for c in large for r in done(c) if r["kind"] == "kernel" and r["format"] == "CSR"]
        yield from ["## Building each format on the device", "",
                    "| type and state | format | matrices | least | median | most | matrix of the most | limit | above the limit |",
                    "| --- | --- | --: | --: | --: | --: | --- | --: | --- |"] + rows + [""]
        yield ("Numbers are set-up over the time of one multiplication by the same kernel: for each matrix, the format's kernel with the least time. "
               "Only matrices whose CSR takes more than %.0f MB, with x and y, are counted. The limits are the project's goals; "
               "a most above its limit is bold.") % (BUILD_FROM * 1e-6)
        if csr:
            yield ""
            yield "Kernels of CSR read the arrays that are there: their set-up took at most %.1f multiplications." % max(csr)
        yield ""


def machine(run):
    """Where a run was made, and beside whom, in sentences."""
    text = "%s%s; %d threads, spmvx %s; %s rounds, contenders in turns. Peers: %s." % (
        run["device"], processor(run) if run["place"] == "host" else "", run["threads"], run["spmvx"], run["rounds"], ", ".join("%s %s" % p for p in run["peers"].items()) or "none")
    return text + "".join(" %s was not among them." % name for name in absent(run))


def kinds(cases):
    """What is told apart on the page: type, state, beta; with the name of its pictures."""
    for kind in sorted({(c["type"], c["state"], c["beta"]) for c in cases}, key=lambda k: (k[0] != "f64", k)):
        yield kind, "%s-%s%s" % (kind[0], kind[1], "" if not kind[2] else "-beta%g" % kind[2]), [
            c for c in cases if (c["type"], c["state"], c["beta"]) == kind]


PICTURES = ((draw_bars, "bars", "GFLOP/s by matrix"), (draw_profile, "profile", "Performance profile"), (draw_roofline, "roofline", "Roofline"),
            (draw_size, "size", "Time against size"))


def body(runs, cases, stem, files):
    """The page but for its title and how it was measured; the latter goes where None stands."""
    bandwidths = [b for c in cases for b in c["read_bytes_s"]]
    yield "<!-- made by docs/make-results.py from %s -->" % ", ".join(files)
    yield ""
    for text in dict.fromkeys(machine(r) for r in runs):
        yield text
        yield ""
    yield "Memory was read at %.0f to %.0f GB/s, logged round by round." % (min(bandwidths) * 1e-9, max(bandwidths) * 1e-9)
    yield ""
    yield None
    for kind, label, some in kinds(cases):
        yield from ["## %s, %s, beta %g" % kind, ""] + summary(some) + [""] + list(table(some)) + [""] + list(missing(some))
        for _, what, text in PICTURES:
            yield from ["![%s, %s](%s-%s-%s.svg)" % (text, label, stem.name, label, what), ""]
    yield from building([c for r in runs if r["place"] == "cuda" for c in r["cases"]])
    yield from ["## The matrices", "", "![Row lengths](%s-rows.svg)" % stem.name, ""]


def draw(cases, stem):
    settle()
    for _, label, some in kinds(cases):
        for picture, what, _ in PICTURES:
            picture(some, stem.with_name("%s-%s-%s.svg" % (stem.name, label, what)))
    draw_rows(list({c["matrix"]: c for c in cases}.values()), stem.with_name(stem.name + "-rows.svg"))


def in_words(names):
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def first_screen(runs, cases, page, files):
    """The figures of the README: of the first kind on the page, the least beside the mean."""
    run = runs[0]
    kind, label, some = next(kinds(cases))
    pairs = {}
    for who in ("auto-timed", "auto-model"):
        pairs[who] = [(paired(fastest(c, ["peer"]), fastest(c, [who]))[0], name(c)) for c in some if fastest(c, ["peer"]) and fastest(c, [who])]
    timed, model = pairs["auto-timed"], pairs["auto-model"]
    least = min(timed)
    p = run.get("processor")
    yield BEGIN % ", ".join(files)
    yield ("On %d matrices, in %s, on %d threads of an %s%s, AUTO by timing was **%.2f times as fast** as the fastest of %s, in the geometric mean. "
           "It was faster on %d of them, and %.2f times as fast on the worst (%s). AUTO by its model alone: %.2f in the mean, %.2f on the worst.%s "
           "[All figures](%s), by `spmvx bench` ([how](docs/benchmarking.md)):") % (
        len(timed), kind[0], run["threads"], run["device"], " (%s family %d)" % (p["vendor"], p["family"]) if p else "",
        geometric_mean([r for r, _ in timed]), in_words(list(run["peers"])), sum(r > 1 for r, _ in timed), least[0], least[1],
        geometric_mean([r for r, _ in model]), min(model)[0], "".join(" %s was not among the libraries." % n for n in absent(run)), page)
    yield ""
    yield "[![On which part of the matrices each library is within a factor of the fastest](%s-%s-profile.svg)](%s)" % (page.with_suffix(""), label, page)
    yield END


def with_figures(text, lines):
    """The README with these lines where the old ones were."""
    before, rest = text.split(BEGIN.split("%s")[0], 1)
    return before + "\n".join(lines) + rest.split(END, 1)[1]


def differences(page, readme, lines, figures):
    """What the page and the README do not say as the results do."""
    said = set(page.read_text().split("\n"))
    yield from ("%s lacks: %s" % (page, line) for line in lines if line and line not in said)
    if readme and with_figures(readme.read_text(), figures) != readme.read_text():
        yield "%s has other figures than: %s" % (readme, " ".join(figures))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--title", help="of the page, which is made when there is one")
    parser.add_argument("--about", default="", help="how it was measured, a paragraph for the page")
    parser.add_argument("--readme", type=pathlib.Path, help="the README to write figures into")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("-o", dest="page", required=True, type=pathlib.Path)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    runs = [json.loads(p.read_text()) for p in args.results]
    cases = [c for r in runs for c in r["cases"]]
    if not cases:
        sys.exit("no cases in " + ", ".join(map(str, args.results)))
    stem, files = args.page.with_suffix(""), [p.name for p in args.results]
    lines = list(body(runs, cases, stem, files))
    figures = list(first_screen(runs, cases, pathlib.PurePath("docs", "results", args.page.name), files)) if args.readme else []
    if args.check:
        sys.exit("\n".join(differences(args.page, args.readme, lines, figures)) or 0)
    if args.title:
        about = [args.about, ""] if args.about else []
        draw(cases, stem)
        args.page.write_text("\n".join(["# " + args.title, ""] + [x for line in lines for x in (about if line is None else [line])]))
    if args.readme:
        args.readme.write_text(with_figures(args.readme.read_text(), figures))


if __name__ == "__main__":
    main()
