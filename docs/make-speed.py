#!/usr/bin/env python3
"""Makes the page that says how much faster AUTO is than cuSPARSE, from what `spmvx bench --json` wrote.

    python3 docs/make-speed.py --about TEXT -o docs/results/speed.md random=RESULT.json as-is=RESULT.json

Each file holds a suite with one kind of values, in any types. The means of the kinds and types are never merged. A picture is
made beside the page, an SVG that follows the reader's preference for light or dark. It needs matplotlib (Debian:
python3-matplotlib).
"""
import argparse
import importlib.util
import json
import pathlib

spec = importlib.util.spec_from_file_location("results", pathlib.Path(__file__).with_name("make-results.py"))
results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(results)

DEFAULT = "cusparse-csr-alg1"     # what CSR and its default algorithm, without preprocessing, give


def one(case, kind):
    return next((r for r in case["results"] if r["kind"] == kind and "time_s" in r), None)


def row(case):
    """Of a case: its name, AUTO by timing and by its model, the best peer, and the default; None where one of them is missing."""
    timed, model, peer = one(case, "auto-timed"), one(case, "auto-model"), results.fastest(case, ("peer",))
    default = next((r for r in results.done(case) if r["name"] == DEFAULT), None)
    return (results.name(case).removesuffix(".gz").removesuffix(".mtx"), timed, model, peer, default) if timed and model and peer and default else None


def ratios(rows):
    over = {"best": [p["time_s"] / t["time_s"] for _, t, _, p, _ in rows], "default": [d["time_s"] / t["time_s"] for _, t, _, _, d in rows]}
    over["model"] = [p["time_s"] / m["time_s"] for _, _, m, p, _ in rows]
    near = sum(m["time_s"] <= 1.05 * min(m["time_s"], t["time_s"]) for _, t, m, _, _ in rows)
    return over, near


def table(rows):
    lines = ["| matrix | AUTO by timing | us | by its model | us | best of cuSPARSE | us | AUTO against it | against its CSR |",
             "| --- | --- | --: | --- | --: | --- | --: | --: | --: |"]
    for name, t, m, p, d in sorted(rows, key=lambda r: r[3]["time_s"] / r[1]["time_s"], reverse=True):
        lines.append(f"| {name} | {t['kernel']} | {1e6 * t['time_s']:.1f} | {m['kernel']} | {1e6 * m['time_s']:.1f} | "
                     f"{p['name'].removeprefix('cusparse-')} | {1e6 * p['time_s']:.1f} | {p['time_s'] / t['time_s']:.2f}x | "
                     f"{d['time_s'] / t['time_s']:.2f}x |")
    return lines


def draw(groups, path):
    results.settle()
    plt = results.plt
    height = max(4.6, 0.2 * max(len(rows) for _, rows in groups))
    figure, axes = plt.subplots(1, len(groups), figsize=(2.7 * len(groups), height), sharex=True)
    for (title, rows), a in zip(groups, axes):
        rows = sorted(rows, key=lambda r: r[3]["time_s"] / r[1]["time_s"])
        over = [p["time_s"] / t["time_s"] for _, t, _, p, _ in rows]
        bars = a.barh(range(len(rows)), over, color=results.COLOURS["AUTO"], height=0.6)
        for bar, v in zip(bars, over):
            a.text(v + 0.04, bar.get_y() + bar.get_height() / 2, f"{v:.2f}", va="center", fontsize=7)
        a.set_yticks(range(len(rows)), [r[0].removesuffix("_rand").removesuffix("_like") for r in rows], fontsize=7)
        a.axvline(1, color=results.FAINT, linewidth=0.8)
        a.set_title(title, fontsize=9)
        a.set_xlim(0, 4)
    figure.supxlabel("time of cuSPARSE's best format and algorithm over AUTO's", fontsize=9)
    figure.tight_layout()
    results.save(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--title", default="AUTO beside cuSPARSE on one GPU")
    parser.add_argument("--about", required=True, help="how it was measured, a paragraph for the page")
    parser.add_argument("-o", dest="page", required=True, type=pathlib.Path)
    parser.add_argument("runs", nargs="+", help="KIND=RESULT.json")
    args = parser.parse_args()
    groups, means, sections, words = [], [], [], {"random": "random values", "as-is": "values as they are",
                                           "stream": "in a stream", "graph": "in a graph"}
    for run in args.runs:
        kind, file = run.split("=", 1)
        data = json.loads(pathlib.Path(file).read_text())
        for t in sorted({c["type"] for c in data["cases"]}, reverse=True):
            rows = [r for r in map(row, (c for c in data["cases"] if c["type"] == t)) if r]
            title = f"{words.get(kind, kind)}, {t}"
            over, near = ratios(rows)
            mean = {k: results.geometric_mean(v) for k, v in over.items()}
            means.append(f"| {title} | {len(rows)} | **{mean['best']:.2f}x** | {min(over['best']):.2f}x | {mean['default']:.2f}x | "
                         f"{mean['model']:.2f}x | {near} |")
            groups.append((title, rows))
            sections += ["", f"## {title[0].upper() + title[1:]}", "", *table(rows)]
    picture = args.page.with_suffix(".svg")
    draw(groups, picture)
    files = ", ".join(run.split("=", 1)[1].rsplit("/", 1)[-1] for run in args.runs)
    args.page.write_text("\n".join([
        f"# {args.title}", "", f"<!-- made by docs/make-speed.py from {files} -->", "", args.about, "",
        "| values, type | matrices | AUTO by timing against the best of cuSPARSE's formats | least | against its CSR default | "
        "AUTO by its model against the best | model within 5% of timing |",
        "| --- | --: | --: | --: | --: | --: | --: |", *means, "", f"![AUTO beside cuSPARSE by matrix]({picture.name})", *sections, ""]))


main()
