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

MULTIPLY = ("cuSPARSE", "SciPy", "Eigen", "SuiteSparse:GraphBLAS", "oneMKL")  # of the peers that were there, those that have such products
L2_BYTES_S = 7.8e12     # what L2 of an H200 serves (docs/performance-notes.md, `spmvx tune`)


class Place:
    """Who is on a page: peers in the order of columns, those whose best AUTO is held against, and one whose values alone a refill is."""

    def __init__(self, peers, rivals, rivals_text, apart, drawn):
        self.peers, self.rivals, self.rivals_text, self.apart, self.drawn = peers, rivals, rivals_text, apart, drawn


OURS = {"AUTO": ("#cf222e", "AUTO, all phases"), "refill": ("#fa8c3c", "refill: values alone")}
DEVICE = Place({"cusparse-alg1": "ALG1", "cusparse-alg2": "ALG2", "cusparse-alg3": "ALG3", "cusparse-reuse": "reuse"}, ["cusparse-alg1"], "cuSPARSE's ALG1",
               ("cusparse-reuse", "refill", "a refill against cuSPARSE's reuse"),
               {**OURS, "cusparse-alg1": ("#0969da", "cuSPARSE ALG1, all phases"), "cusparse-reuse": ("#54aeff", "cuSPARSE reuse: values alone")})
HOST = Place({"scipy": "SciPy", "eigen": "Eigen", "graphblas": "GraphBLAS", "mkl": "oneMKL"}, ["scipy", "eigen", "graphblas"],
             "the best of SciPy, Eigen and GraphBLAS", ("mkl", "AUTO", "AUTO against oneMKL, whose columns are in no order"),
             {**OURS, "scipy": ("#8250df", "SciPy"), "eigen": ("#1a7f37", "Eigen"), "graphblas": ("#0969da", "GraphBLAS"), "mkl": ("#54aeff", "oneMKL, columns in no order")})


def times(case):
    return {r["name"]: r["time_s"] for r in case["results"] if "time_s" in r}


def setups(case):
    """What comes before the first values: of a refill its plan, of cuSPARSE's reuse the phases before it."""
    return {r["name"]: r["setup_s"] for r in case["results"] if r.get("setup_s")}


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


def ratios(pairs):
    """The geometric mean, and the least, of pairs of a ratio and a case."""
    pairs = [p for p in pairs if p[0] is not None]
    if not pairs:
        return None
    mean = math.exp(sum(math.log(r) for r, _ in pairs) / len(pairs))
    least = min(pairs)
    return mean, least[0], least[1], len(pairs)


def over(case, names, under, of=times):
    """The least time of some contenders over another's; None where one of both is not there."""
    t = of(case)
    others = [t[n] for n in names if n in t]
    return min(others) / t[under] if others and under in t else None


def summary(cases, place):
    groups = [("", cases)]
    if any(map(is_thin, cases)):
        groups = [(", all", cases), (", A·A", [c for c in cases if not is_thin(c)]), (", thin B", [c for c in cases if is_thin(c)])]
    for what, some in groups:
        for names, under, text, of in ((place.rivals, "AUTO", "AUTO against %s, all phases" % place.rivals_text, times),
                                       (["AUTO"], "refill", "a refill against AUTO", times), ([place.apart[0]], place.apart[1], place.apart[2], times),
                                       ([place.apart[0]] * (place is DEVICE), "refill", "its plan's making against cuSPARSE's set-up of reuse", setups)):
            r = ratios([(over(c, names, under, of), c["matrix"]) for c in some])
            if r:
                yield "- %s%s: **%.2fx** in the geometric mean of %d, least %.2fx (%s)." % (text, what, r[0], r[3], r[1], r[2])


def cell(number, scale=1.0):
    return "" if number is None else "%.2f" % (scale * number)


def table(cases, place):
    on_device = place is DEVICE
    best = place.peers[place.rivals[0]] if len(place.rivals) == 1 else "best of three"
    apart = "%s / %s" % (place.peers[place.apart[0]], place.apart[1])
    heads = ["product", "products, M", "entries of C, M", "bytes take, ms"] + ["products take, ms"] * on_device + ["AUTO (quartiles), ms", "plan", "refill"]
    heads += ["plan made"] * on_device + [*place.peers.values()] + ["reuse set up"] * on_device + [best + " / AUTO", apart]
    yield "| " + " | ".join(heads) + " |"
    yield "| --- |" + " --: |" * (len(heads) - 1)
    for c in cases:
        t, (from_memory, from_l2) = times(c), bounds(c)
        nnz = next(r["nnz"] for r in c["results"] if "nnz" in r)
        cells = [c["matrix"], "%.1f" % (1e-6 * c["products"]), "%.1f" % (1e-6 * nnz), cell(from_memory, 1e3)] + [cell(from_l2, 1e3)] * on_device
        cells += [cell(t["AUTO"], 1e3) + spread(c, "AUTO"), cell(t["plan"], 1e3), cell(t["refill"], 1e3)] + [cell(setups(c).get("refill"), 1e3)] * on_device
        cells += [cell(t.get(p), 1e3) for p in place.peers] + [cell(setups(c).get(place.apart[0]), 1e3)] * on_device
        cells += [cell(over(c, place.rivals, "AUTO")), cell(over(c, [place.apart[0]], place.apart[1]))]
        yield "| " + " | ".join(cells) + " |"


def draw(cases, place, path):
    results.settle()
    plt = results.plt
    colours = place.drawn
    figure, axes = plt.subplots(figsize=(9, 0.9 + 0.075 * len(cases) * (len(colours) + 1.5)))
    for i, case in enumerate(cases):
        t = times(case)
        for k, name in enumerate(colours):
            if name in t:
                axes.barh(i * (len(colours) + 1.5) + k, 2e-9 * case["products"] / t[name], color=colours[name][0], height=0.9)
    axes.set_yticks([i * (len(colours) + 1.5) + (len(colours) - 1) / 2 for i in range(len(cases))], [c["matrix"] for c in cases])
    axes.invert_yaxis()
    axes.set_xlabel("GFLOP/s (2 a multiplication); longer is faster")
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.legend([plt.Rectangle((0, 0), 1, 1, color=c) for c, _ in colours.values()], [text for _, text in colours.values()], loc="lower center",
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
    for run in runs:
        run["peers"] = {name: version for name, version in run["peers"].items() if name in MULTIPLY}
    cases = [c for r in runs for c in r["cases"]]
    picture = args.page.with_name(args.page.stem + "-bars.svg")
    place = DEVICE if runs[0]["place"] == "cuda" else HOST
    draw(cases, place, picture)
    lines = ["# " + args.title, "", "<!-- made by docs/make-products.py from %s -->" % ", ".join(p.name for p in args.results), ""]
    lines += [*dict.fromkeys(results.machine(r) for r in runs), ""] + ([args.about, ""] if args.about else []) + list(summary(cases, place)) + [""]
    said = "*Bytes take*: A, B and C once at the rate at which memory was read"
    said += "; *products take*: an entry of B for each of them at what L2 serves (7.8 TB/s). *Plan made* and *reuse set up*, once: what comes before the first values." if place is DEVICE else "."
    lines += list(table(cases, place)) + ["", said, "", "![GFLOP/s of products](%s)" % picture.name, ""]
    args.page.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
