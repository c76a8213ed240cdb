#!/usr/bin/env python3
"""Makes the page of products of sparse matrices, and its picture, from what `spmvx bench --spmspm B --json` wrote.

    python3 docs/make-products.py --title TITLE --about TEXT -o docs/results/NAME.md RESULT.json...

Results of runs with several B are taken together. It needs matplotlib (Debian: python3-matplotlib).
"""
import argparse
import importlib.util
import json
import math
import pathlib

spec = importlib.util.spec_from_file_location("results", pathlib.Path(__file__).with_name("make-results.py"))
results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(results)

L2_BYTES_S = 7.8e12     # what L2 of an H200 serves (docs/performance-notes.md, `spmvx tune`)
PEERS = ("cusparse-alg1", "cusparse-alg2", "cusparse-alg3", "cusparse-reuse")
COLOURS = {"AUTO": "#cf222e", "refill": "#fa8c3c", "cusparse-alg1": "#0969da", "cusparse-reuse": "#54aeff"}


def times(case):
    return {r["name"]: r["time_s"] for r in case["results"] if "time_s" in r}


def spread(case, name):
    r = next((r for r in case["results"] if r["name"] == name and "quartiles_s" in r), None)
    return "" if r is None else " (%.2f-%.2f)" % tuple(1e3 * q for q in r["quartiles_s"])


def is_thin(case):
    return "thin" in case["matrix"]


def bounds(case):
    """Seconds that the bytes of A, B and C take from memory, each once, and those that the products take from L2."""
    value = 8 if case["type"] == "f64" else 4
    c = next(r["nnz"] for r in case["results"] if "nnz" in r)
    entries = case["nnz_a"] + (0 if case["matrix"].endswith("* self") else case["nnz_b"]) + c
    bandwidth = results.median(case["read_bytes_s"])
    return (entries * (4 + value) + 4 * (2 * case["rows"] + case["inner"])) / bandwidth, case["products"] * (4 + value) / L2_BYTES_S


def ratios(cases, over, under):
    """Of the times of two contenders; with the case where it is least."""
    pairs = [(times(c)[over] / times(c)[under], c["matrix"]) for c in cases if over in times(c) and under in times(c)]
    if not pairs:
        return None
    mean = math.exp(sum(math.log(r) for r, _ in pairs) / len(pairs))
    least = min(pairs)
    return mean, least[0], least[1], len(pairs)


def summary(cases):
    for what, some in (("all", cases), ("A·A", [c for c in cases if not is_thin(c)]), ("thin B", [c for c in cases if is_thin(c)])):
        for over, under, text in (("cusparse-alg1", "AUTO", "AUTO against cuSPARSE's ALG1, all phases"), ("AUTO", "refill", "a refill against AUTO"),
                                  ("cusparse-reuse", "refill", "a refill against cuSPARSE's reuse")):
            r = ratios(some, over, under)
            if r:
                yield "- %s, %s: **%.2fx** in the geometric mean of %d, least %.2fx (%s)." % (text, what, r[0], r[3], r[1], r[2])


def table(cases):
    yield "| product | products, M | entries of C, M | bytes take, ms | products take, ms | AUTO (quartiles), ms | plan | refill | ALG1 | ALG2 | ALG3 | reuse | ALG1 / AUTO | reuse / refill |"
    yield "| --- |" + " --: |" * 13
    for c in cases:
        t, (from_memory, from_l2) = times(c), bounds(c)
        nnz = next(r["nnz"] for r in c["results"] if "nnz" in r)
        yield "| %s | %.1f | %.1f | %.2f | %.2f | %.2f%s | %.2f | %.2f | %s | %.2f | %.2f |" % (
            c["matrix"], 1e-6 * c["products"], 1e-6 * nnz, 1e3 * from_memory, 1e3 * from_l2, 1e3 * t["AUTO"], spread(c, "AUTO"), 1e3 * t["plan"],
            1e3 * t["refill"], " | ".join("%.2f" % (1e3 * t[p]) if p in t else "" for p in PEERS), t["cusparse-alg1"] / t["AUTO"],
            t["cusparse-reuse"] / t["refill"])


def draw(cases, path):
    results.settle()
    plt = results.plt
    figure, axes = plt.subplots(figsize=(9, 0.9 + 0.075 * len(cases) * (len(COLOURS) + 1.5)))
    for i, case in enumerate(cases):
        t = times(case)
        for k, name in enumerate(COLOURS):
            if name in t:
                axes.barh(i * (len(COLOURS) + 1.5) + k, 2e-9 * case["products"] / t[name], color=COLOURS[name], height=0.9)
    axes.set_yticks([i * (len(COLOURS) + 1.5) + (len(COLOURS) - 1) / 2 for i in range(len(cases))], [c["matrix"] for c in cases])
    axes.invert_yaxis()
    axes.set_xlabel("GFLOP/s (2 a multiplication); longer is faster")
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.legend([plt.Rectangle((0, 0), 1, 1, color=c) for c in COLOURS.values()],
                ["AUTO, all phases", "refill: values alone", "cuSPARSE ALG1, all phases", "cuSPARSE reuse: values alone"], loc="lower center",
                bbox_to_anchor=(0.4, 1.0), ncols=2)
    results.save(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--title", required=True)
    parser.add_argument("--about", default="", help="how it was measured, a paragraph for the page")
    parser.add_argument("-o", dest="page", required=True, type=pathlib.Path)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    runs = [json.loads(p.read_text()) for p in args.results]
    cases = [c for r in runs for c in r["cases"]]
    picture = args.page.with_name(args.page.stem + "-bars.svg")
    draw(cases, picture)
    lines = ["# " + args.title, "", "<!-- made by docs/make-products.py from %s -->" % ", ".join(p.name for p in args.results), ""]
    lines += [*dict.fromkeys(results.machine(r) for r in runs), ""] + ([args.about, ""] if args.about else []) + list(summary(cases)) + [""]
    lines += list(table(cases)) + ["", "*Bytes take*: A, B and C once at the rate at which memory was read; *products take*: an entry of B for each of them at what L2 serves (7.8 TB/s).", "",
                                   "![GFLOP/s of products](%s)" % picture.name, ""]
    args.page.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
