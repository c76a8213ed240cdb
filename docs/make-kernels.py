#!/usr/bin/env python3
"""Makes docs/kernels.md, the table of all kernels, from what `spmvx kernels` lists and from measured runs.

    python3 docs/make-kernels.py SPMVX RESULT.json... -o docs/kernels.md
    python3 docs/make-kernels.py --check SPMVX RESULT.json... -o docs/kernels.md

SPMVX is the tool, of a build with CUDA; the results are those of `spmvx bench --json`, and of each there is a picture of every
kernel on every matrix, as SVG in docs/results. It needs matplotlib. The second changes nothing: its status is 1 unless the
page has every kernel that the tool lists, as the tool and the results tell of it.
"""
import argparse
import importlib.util
import json
import math
import pathlib
import re
import subprocess
import sys

spec = importlib.util.spec_from_file_location("results", pathlib.Path(__file__).with_name("make-results.py"))
results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(results)

LINE = re.compile(r"(?P<place>\w+)/(?P<operation>[\w-]+)/(?P<name>\S+) +(?P<format>\S+) +(?P<types>f64 f32|f64|f32) +(?P<state>\S+) +"
                  r"(?P<bits>\S+) +(?P<idea>.*) \[(?P<source>.*)\](?: {(?P<parameters>.*)})?$")
PLACES = {"host": "On the host", "cuda": "On a GPU"}
OPERATIONS = {"mul": "", "mul-multi": ", several columns", "spmspm": ", sparse times sparse"}
INTRO = """# The kernels

Every kernel of the library, as `spmvx kernels` lists them: made by [make-kernels.py](make-kernels.py) from that list and from
measured runs. A name is what `spmvx_convert_options.kernel`, `spmvx bench --kernels` and `SPMVX_DISABLE` take; parameters follow
it (`csr5:sigma=16,flags=u8`), each a number of a range, of the powers of two in it (2, 4 ... 64), or a word. `name@avx2` is a variant for an
instruction set. How formats lie in memory is told in [formats](formats/).

*Same bits*: the same result in every run; kernels with atomic additions have it not, and AUTO takes them only where that is
allowed. *Bytes*: what a matrix takes over what CSR does, the geometric mean of the matrices measured. *Time*: over that of the
fastest kernel for CSR on each matrix, least, mean and most. A dash: not measured, or no matrix was fit.
"""


def listed(spmvx):
    text = subprocess.run([spmvx, "kernels"], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        m = LINE.match(line)
        if not m:
            sys.exit("not understood: " + line)
        yield m.groupdict()


def place_of(run):
    return "cuda" if run["place"] == "cuda" else "host"


def measured(runs, place):
    """By kernel: bytes over CSR's, and times over the fastest of CSR's, in f64."""
    out = {}
    for case in (c for r in runs if place_of(r) == place for c in r["cases"]):
        kernels = [r for r in results.done(case) if r["kind"] == "kernel"]
        csr = [r for r in kernels if r["format"] == "CSR"]
        if case["type"] != "f64" or case["state"] != "warm" or not csr:
            continue
        plain = 12 * case["nnz"] + 4 * (case["rows"] + 1)
        for r in kernels:
            both = out.setdefault(r["name"], ([], []))
            # on a device the CSR that kernels share, and of COO the columns and values, are the source's
            lent = {"CSR": plain, "COO": 12 * case["nnz"]}.get(r["format"], 0) if r["bytes_held"] < plain else 0
            both[0].append((lent + r["bytes_held"]) / plain)
            both[1].append(r["time_s"] / min(k["time_s"] for k in csr))
    return out


def row(kernel, found):
    some = found.get(kernel["name"]) or found.get(kernel["name"] + "@c") if kernel["operation"] == "mul" else None
    numbers = "– | –"
    if some:
        numbers = "%.2f | %.2f, %.2f, %.2f" % (results.geometric_mean(some[0]), min(some[1]), results.geometric_mean(some[1]), max(some[1]))
    return "| `%s` | %s | %s | %s | %s | %s | %s |" % (kernel["name"], kernel["format"], kernel["idea"], kernel["parameters"] or "",
                                                       kernel["source"], "yes" if kernel["bits"] == "same-bits" else "no", numbers)


def body(kernels, runs, page, files):
    yield from INTRO.split("\n")
    for place, title in PLACES.items():
        found = measured(runs, place)
        for operation, what in OPERATIONS.items():
            some = [k for k in kernels if (k["place"], k["operation"]) == (place, operation)]
            if not some:
                continue
            yield "## %s%s" % (title, what)
            yield ""
            if operation == "mul":
                for run, file in zip(runs, files):
                    if place_of(run) == place:
                        yield "Measured on %s, %s threads ([%s](results/%s)), f64." % (run["device"], run["threads"], file, file) \
                            if place == "host" else "Measured on %s ([%s](results/%s)), f64." % (run["device"], file, file)
                yield ""
            yield "| kernel | format | idea | parameters | source | same bits | bytes | time |"
            yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
            yield from (row(k, found) for k in some)
            yield ""
            if operation == "mul" and found:
                yield "![Each kernel on each matrix: its time over that of the fastest](results/kernels-%s.svg)" % place
                yield ""


def draw(runs, place, path):
    """A field a kernel and matrix: how many times as long as the fastest of all it took."""
    results.settle()
    plt, colours = results.plt, results.matplotlib.colors
    cases = [c for r in runs if place_of(r) == place for c in r["cases"] if c["type"] == "f64" and c["state"] == "warm"]
    columns = {}  # by matrix; of what several runs have, the first one's time
    for case in cases:
        times = columns.setdefault(results.name(case), {})
        for r in results.done(case):
            if r["kind"] in ("kernel", "peer"):
                times.setdefault(r["name"], r["time_s"])
    names = dict.fromkeys((r["kind"] == "peer", r["name"]) for c in cases for r in c["results"])
    rows = [n for _, n in sorted(names, key=lambda of: of[0]) if any(n in times for times in columns.values())]
    if not rows:
        return
    over = [[times.get(name, math.nan) / min(times.values()) for times in columns.values()] for name in rows]
    figure, axes = plt.subplots(figsize=(1.6 + 0.42 * len(columns), 0.8 + 0.23 * len(rows)))
    norm = colours.LogNorm(1, 10)
    axes.imshow(over, aspect="auto", cmap="viridis_r", norm=norm)
    for i, line in enumerate(over):
        for j, v in enumerate(line):
            if not math.isnan(v):
                axes.text(j, i, "%.1f" % v if v < 9.95 else "%.0f" % v, ha="center", va="center", fontsize=6,
                          color="#ffffff" if v > 3 else "#000000")
    axes.set_xticks(range(len(columns)), columns, rotation=60, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.set_title("time over that of the fastest", fontsize=9)
    results.save(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("-o", dest="page", required=True, type=pathlib.Path)
    parser.add_argument("spmvx")
    parser.add_argument("results", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    kernels = list(listed(args.spmvx))
    runs = [json.loads(p.read_text()) for p in args.results]
    lines = list(body(kernels, runs, args.page, [p.name for p in args.results]))
    if args.check:
        said = set(args.page.read_text().split("\n"))
        sys.exit("\n".join("%s lacks: %s" % (args.page, line) for line in lines if line and line not in said) or 0)
    args.page.write_text("\n".join(lines).rstrip("\n") + "\n")
    for place in PLACES:
        draw(runs, place, args.page.parent / "results" / ("kernels-%s.svg" % place))


if __name__ == "__main__":
    main()
