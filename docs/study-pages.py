"""Pages and pictures of the studies that docs/make-study.py runs: what came, beside what their reports have."""
import importlib.util
import json
import math
import pathlib
import statistics
import sys
import textwrap

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("results", HERE / "make-results.py")
results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(results)

AUTO = {"AUTO": "auto-timed", "AUTO, by its model": "auto-model"}
VENDOR = "the vendor's library"
ENDINGS = (".mtx", ".mtx.gz", ".rb", ".rb.gz")   # of the collection's files


def matrices_of(study):
    """Those of the report, and those that sweeps bring with them."""
    return study["matrices"] + [m for s in study["sweeps"] for m in s["matrices"] if isinstance(m, dict)]


def results_of(file):
    """What a run has written, or None: not there, or broken."""
    try:
        data = json.loads(file.read_text())
        return data if isinstance(data.get("parts"), dict) else None
    except (OSError, ValueError, AttributeError):
        return None


def counted_on(study):
    return study.get("counted", study["matrices"][-1]["name"])


def time_of(result, statistic):
    samples = result.get("samples_s")
    if statistic == "minimum" and samples:
        return min(samples)
    if statistic == "mean" and samples:
        return sum(samples) / len(samples)
    return result["time_s"]


class Outcome:
    """Of a study: its runs, by matrix and kernel."""

    def __init__(self, study, data):
        self.study, self.data, self.parts = study, data, data["parts"]

    def case(self, matrix, part):
        return (self.parts.get(f"{matrix}: {part}", {}).get("cases") or [None])[0]

    def given(self, matrix):
        """The name or the file that was multiplied."""
        return next((r["words"][-1] for p, r in self.parts.items() if p.startswith(f"{matrix}: ")), "")

    def find(self, matrix, kernel, part):
        """The result of a kernel, and why there is none."""
        run = None
        for each in (part, f"apart {kernel}", f"host {kernel}"):
            if f"{matrix}: {each}" not in self.parts:
                continue
            run = self.parts[f"{matrix}: {each}"]
            for r in (self.case(matrix, each) or {}).get("results", []):
                if r["name"] == kernel:
                    return (r, None) if "time_s" in r else (None, r.get("unsuited") or r.get("failed") or "refused")
        return None, "not run" if run is None else f"stopped after {run['limit']} s" if run.get("stopped") else run.get("error", "not run")

    def time(self, matrix, name, part="library"):
        """Seconds of a kernel under its name in the study; None: it has no time."""
        statistic = "median" if part == "library" else self.study["statistic"]
        case = self.case(matrix, part)
        if name in AUTO:
            r = next((r for r in (case or {}).get("results", []) if r["kind"] == AUTO[name] or (name == "AUTO" and r["name"] == "AUTO")), None)
        elif name == "vendor":
            r = next((r for r in (case or {}).get("results", []) if r["name"] == self.study["vendor"]), None)
        elif name in ("report", "slowest"):
            times = [t for k in self.study["kernels"] for t in [self.time(matrix, k["name"], part)] if t]
            return (min if name == "report" else max)(times) if times else None
        else:
            kernel = next((k["kernel"] for k in self.study["kernels"] + self.study["host"] if k["name"] == name), name)
            r, _ = self.find(matrix, kernel, part)
        return time_of(r, statistic) if r and "time_s" in r else None

    def why_not(self, matrix, name, part="library"):
        kernel = next((k["kernel"] for k in self.study["kernels"] + self.study["host"] if k["name"] == name), name)
        return self.find(matrix, kernel, part)[1]

    def taken(self, matrix):
        """What AUTO took."""
        case = self.case(matrix, "library")
        r = next((r for r in (case or {}).get("results", []) if r["kind"] == "auto-timed" or r["name"] == "AUTO"), None)
        return (r or {}).get("kernel", "")


def mean(v):
    return math.exp(sum(map(math.log, v)) / len(v)) if v else None


def us(t):
    return "" if t is None else f"{1e6 * t:.1f}" if t < 1e-3 else f"{1e6 * t:.0f}"


def main_table(o, part):
    study, listed = o.study, [k["name"] for k in o.study["host"] + o.study["kernels"]]
    columns = listed + [VENDOR, "AUTO"] * (part == "library") + [VENDOR] * (part != "library")
    lines = ["| matrix | " + " | ".join(columns) + (" | AUTO takes | AUTO against the best of them |" if part == "library" else " |"),
             "| --- |" + " --: |" * len(columns) + (" --- | --: |" if part == "library" else "")]
    for m in study["matrices"]:
        t = {c: o.time(m["name"], "vendor" if c == VENDOR else c, part) for c in columns}
        best = min((t[k["name"]] for k in study["kernels"] if t[k["name"]]), default=None)
        line = f"| {m['name']} | " + " | ".join(f"**{us(v)}**" if v and v == best else us(v) for v in t.values())
        if part == "library":
            rivals = [v for c, v in t.items() if v and c not in ("AUTO", *(k["name"] for k in study["host"]))]
            line += f" | {o.taken(m['name'])} | " + (f"{min(rivals) / t['AUTO']:.2f}x" if rivals and t["AUTO"] else "")
        lines.append(line + " |")
    refused = [f"- {m['name']}: {k['name']}: {why}" for m in study["matrices"] for k in study["host"] + study["kernels"] for why in [o.why_not(m["name"], k["name"], part)] if why]
    return lines + (["", "Without a time:", "", *refused] if refused else [])


def rates_table(o):
    """By the report's way: GFLOP/s, GB/s and the spread of the samples."""
    listed = {k["name"]: k["kernel"] for k in o.study["kernels"]}
    lines = ["| matrix | " + " | ".join(listed) + " |", "| --- |" + " --: |" * len(listed)]
    for m in o.study["matrices"]:
        found = [o.find(m["name"], k, "report")[0] for k in listed.values()]
        spread = [statistics.pstdev(r["samples_s"]) / statistics.mean(r["samples_s"]) if r and r.get("samples_s") else 0 for r in found]
        rate = lambda x: f"{x:.0f}" if x >= 100 else f"{x:.3g}"
        lines.append(f"| {m['name']} | " + " | ".join(f"{rate(r['gflops'])}, {rate(r.get('own_gbytes', r.get('gbytes', 0)))}, {100 * d:.0f}%" if r else "" for r, d in zip(found, spread)) + " |")
    return ["GFLOP/s, GB/s of " + ("the product's bytes" if o.study["operation"] == "spmspm" else "a kernel's own bytes") + ", and the standard deviation:", "", *lines]


def matrices_table(o):
    lines = ["| matrix | rows | columns | nonzeros | here | rows | columns | nonzeros | |", "| --- | --: | --: | --: | --- | --: | --: | --: | --- |"]
    for m in o.study["matrices"]:
        case = o.case(m["name"], "library") or o.case(m["name"], "report") or {}
        name = o.given(m["name"]) or m["make"]
        if o.study["operation"] == "spmspm":
            case = {**case, "nnz": case.get("nnz_a", ""), "cols": case.get("inner", "")}
        kind = "the report's rule" if m["exact"] and name == m["make"] else "a stand-in"
        if name.endswith(ENDINGS):
            kind, name = "the collection's file", pathlib.Path(name).name
        lines.append(f"| {m['name']} | {m['rows']} | {m['cols']} | {m['nonzeros']} | {name} | {case.get('rows', '')} | {case.get('cols', '')} | {case.get('nnz', '')} | {kind} |")
    return lines


def swept(o, s, matrix):
    """Seconds on a matrix by the value that is swept."""
    found = {v: o.find(matrix, k, "report")[0] for v, k in s["kernels"].items()}
    return {v: time_of(r, o.study["statistic"]) for v, r in found.items() if r}


def sweep_lines(o, s):
    listed = [m["name"] if isinstance(m, dict) else m for m in s["matrices"]]
    lines = [f"**{s['title']}** ({o.study['statistic']} of {o.study['rounds']}, us)", "", f"| {s['parameter']} | " + " | ".join(listed) + " |", "| --- |" + " --: |" * len(listed)]
    t = {(v, m): swept(o, s, m).get(v) for v in s["kernels"] for m in listed}
    for v in s["kernels"]:
        row = []
        for m in listed:
            column = [t[w, m] for w in s["kernels"] if t[w, m]]
            row.append(f"**{us(t[v, m])}**" if t[v, m] and t[v, m] == min(column) else us(t[v, m]))
        lines.append(f"| {v} | " + " | ".join(row) + " |")
    if s.get("density") and any(t.values()):
        best = {m: min((v for v in s["kernels"] if t[v, m]), key=lambda v: t[v, m], default=None) for m in listed}
        lines += ["", "Best: " + ", ".join(f"{v} at {m}" for m, v in best.items() if v) + "."]
    return [*lines, ""]


def speed_up_lines(o):
    """Over the kernel that the report holds the others against."""
    base = o.study.get("baseline")
    if not base:
        return []
    others = [k["name"] for k in o.study["host"] + o.study["kernels"] if k["name"] != base] + ["vendor", "AUTO"]
    lines = [f"Speed-up over {base}, as this library measures:", "", "| matrix | " + " | ".join(VENDOR if n == "vendor" else n for n in others) + " |", "| --- |" + " --: |" * len(others)]
    for m in o.study["matrices"]:
        t = o.time(m["name"], base)
        lines.append(f"| {m['name']} | " + " | ".join(f"{t / v:.2f}" if t and v else "" for v in [o.time(m["name"], n) for n in others]) + " |")
    return [*lines, ""]


def beside(o, r):
    """A figure of the report, and the same here: microseconds, or GFLOP/s."""
    t = o.time(r["matrix"], r["kernel"], "report")
    if r.get("threads"):   # as many as the report says, where that was swept
        base = next(k["kernel"] for k in o.study["kernels"] if k["name"] == r["kernel"]).split(":")[0]
        spec = next(k for s in o.study["sweeps"] for v, k in s["kernels"].items() if v == str(r["threads"]) and k.split(":")[0] == base)
        swept_run = o.find(r["matrix"], spec, "report")[0]
        t = time_of(swept_run, o.study["statistic"]) if swept_run else None
    if o.study.get("unit") == "gflops":
        return r["gflops"], 2e-9 * (o.case(r["matrix"], "report") or {}).get("nnz", 0) / t if t else None
    return r["us"], 1e6 * t if t else None


def reported_lines(o):
    if not o.study["reported"]:
        return ["The report gives its times in figures alone; its claims are below."]
    flops = o.study.get("unit") == "gflops"
    lines = [f"| matrix | kernel | {o.study['hardware']}, {'GFLOP/s' if flops else 'us'} | here | times |", "| --- | --- | --: | --: | --: |"]
    for r in o.study["reported"]:
        there, here = beside(o, r)
        factor = "" if not here else f"{here / there:.1f}" if flops else f"{there / here:.1f}"
        name = VENDOR if r["kernel"] == "vendor" else r["kernel"] + (f", {r['threads']} threads" if r.get("threads") else "")
        lines.append(f"| {r['matrix']} | {name} | {there} | {'' if here is None else f'{here:.1f}'} | {factor} |")
    return lines


def listed_matrices(o, claim):
    return [m["name"] for m in o.study["matrices"]] if claim.get("matrices", "all") == "all" else claim["matrices"]


def ratios(o, faster, than, matrix, part="library"):
    """How much faster than the fastest of the others."""
    own, others = o.time(matrix, faster, part), [t for n in than for t in [o.time(matrix, n, part)] if t]
    return min(others) / own if own and others else None


def bytes_of(o, matrix, name):
    kernel = next((k["kernel"] for k in o.study["kernels"] if k["name"] == name), name)
    r, _ = o.find(matrix, kernel, "library")
    return r["bytes_streamed"] / r["time_s"] / 1e9 if r and r.get("bytes_streamed") else None


def claim_lines(o):
    lines = []
    for c in o.study["claims"]:
        found = {part: {m: v for m in listed_matrices(o, c) for v in [ratios(o, c["faster"], c["than"], m, part)] if v} for part in ("library", "report")}
        known, least = found["library"], c.get("least", 1)
        holds = [m for m, v in known.items() if v >= least]
        otherwise = [m for m, v in found["report"].items() if v >= least]
        verdict = "not run here" if not known else "**holds**" if len(holds) == len(known) else "**does not hold**" if not holds else f"**holds on {len(holds)} of {len(known)}**"
        if len(otherwise) != len(holds):
            verdict += f" ({len(otherwise)} of {len(found['report'])} as the report measures)"
        lines.append(f"- {c['text']}: {verdict}" + (". " + ", ".join(f"{m} {v:.2f}x" for m, v in known.items()) if known else "") + ".")
        if c.get("why") and len(holds) < len(known):
            lines.append(f"  {c['why']}")
        for m in [m for m, v in known.items() if v < least][:3]:
            other = min((n for n in c["than"] if o.time(m, n)), key=lambda n: o.time(m, n))
            a, b = bytes_of(o, m, c["faster"]), bytes_of(o, m, other)
            if a and b:
                lines.append(f"  On {m}, {VENDOR if c['faster'] == 'vendor' else c['faster']} streams {a:.0f} GB/s of its own bytes, {other} {b:.0f}.")
    return lines


def counter_lines(o):
    found = {}
    for part, run in o.parts.items():
        if ": counters " in part and run.get("counters"):
            found[part.split(": counters ")[1]] = run["counters"]
    if not found:
        return ["This machine gave no counters (`ncu`). What a kernel streams of its own bytes, GB/s, is in the JSON beside this page."]
    lines = ["| kernel | us | occupancy, % | requests of loads, M | sectors a request | bytes from memory, MB |", "| --- | --: | --: | --: | --: | --: |"]
    for k, c in found.items():
        lines.append(f"| {k} | {c['time'] / 1e3:.1f} | {c['occupancy']:.0f} | {c['requests'] / 1e6:.2f} | {c['sectors'] / max(c['requests'], 1):.1f} | {c['bytes'] / 1e6:.1f} |")
    return [f"On {counted_on(o.study)}, by `ncu`, of the longest launch alone where a kernel has several:", "", *lines]


def future_lines(o):
    lines = []
    for f in o.study["future"]:
        known = {m["name"]: v for m in o.study["matrices"] for v in [ratios(o, f["faster"], [f["than"]] if isinstance(f["than"], str) else f["than"], m["name"])] if v}
        figure = f" **{mean(list(known.values())):.2f}x** in the geometric mean of {len(known)}, least {min(known.values()):.2f}x ({min(known, key=known.get)})." if known else ""
        against = "the best of the report's" if f["than"] == "report" else ", ".join(f["than"])
        lines += [f"{f['text']}. `{f['faster']}` against {against}:{figure or ' not run here.'}", ""]
    return lines


def draw(o, path):
    study = o.study
    shown = [k["name"] for k in study["kernels"]] + ["vendor", "AUTO"]
    results.settle()
    plt = results.plt
    figure, axes = plt.subplots(figsize=(8, 1.4 + 0.42 * len(study["matrices"])))
    marks = "osD^v<>ph*XP8d"
    for j, name in enumerate(shown):
        points = [(o.time(m["name"], name), y) for y, m in enumerate(reversed(study["matrices"]))]
        points = [(1e6 * t, y) for t, y in points if t]
        colour = results.COLOURS["AUTO"] if name == "AUTO" else results.INK if name == "vendor" else plt.cm.tab20(j / len(shown))
        axes.plot([x for x, _ in points], [y for _, y in points], marks[j % len(marks)], color=colour, markersize=7 if name == "AUTO" else 5,
                  label=VENDOR if name == "vendor" else name, linestyle="none")
    axes.set_yticks(range(len(study["matrices"])), [m["name"] for m in reversed(study["matrices"])])
    axes.set_xscale("log")
    axes.set_xlabel("us a " + ("product" if study["operation"] == "spmspm" else "multiplication"))
    axes.grid(axis="x", which="both")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=8)
    results.save(figure, path)


def draw_sweeps(o, path):
    """Time over the fastest of a sweep's values, by value."""
    sweeps = [(s, {m: t for m in listed for t in [swept(o, s, m)] if t}) for s in o.study["sweeps"] for listed in [[m["name"] if isinstance(m, dict) else m for m in s["matrices"]]]]
    sweeps = [(s, lines) for s, lines in sweeps if lines]
    if not sweeps:
        return False
    results.settle()
    plt, across = results.plt, min(len(sweeps), 3)
    down = math.ceil(len(sweeps) / across)
    figure, axes = plt.subplots(down, across, figsize=(3.3 * across, 2.8 * down), squeeze=False, layout="constrained")
    for each in axes.flat[len(sweeps):]:
        each.set_axis_off()
    for each, (s, lines) in zip(axes.flat, sweeps):
        values = list(s["kernels"])
        for j, (m, t) in enumerate(lines.items()):
            shown = [(values.index(v), x / min(t.values())) for v, x in t.items()]
            each.plot([x for x, _ in shown], [y for _, y in shown], "osD^v<"[j % 6] + "-", color=plt.cm.tab10(j % 10), label=m, markersize=4)
        each.set_xticks(range(len(values)), values, fontsize=7)
        each.set_title("\n".join(textwrap.wrap(s["title"], 38)), fontsize=8)
        each.set_ylim(bottom=0.95)
        each.grid(axis="y")
        each.legend(fontsize=6)
    figure.supylabel("time over the fastest", fontsize=8)
    results.save(figure, path)
    return True


def draw_reported(o, path):
    """The report's figures against those here; what lies on a line through the corner gained alike."""
    rows = [(r["kernel"], there, here) for r in o.study["reported"] for there, here in [beside(o, r)] if here]
    if not rows:
        return False
    results.settle()
    plt = results.plt
    figure, axes = plt.subplots(figsize=(5, 4))
    for j, kernel in enumerate(dict.fromkeys(k for k, _, _ in rows)):
        axes.plot([x for k, x, _ in rows if k == kernel], [y for k, _, y in rows if k == kernel], "osD^v<"[j % 6], markersize=5,
                  color=results.INK if kernel == "vendor" else plt.cm.tab10(j % 10), linestyle="none", label=VENDOR if kernel == "vendor" else kernel)
    unit = "GFLOP/s" if o.study.get("unit") == "gflops" else "us"
    results.log_axes(axes)
    axes.set_xlabel(f"the report, {unit}")
    axes.set_ylabel(f"here, {unit}")
    axes.grid()
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=8)
    results.save(figure, path)
    return True


def page(study, out):
    data = results_of(out / f"{study['name']}.json")
    if not data:
        sys.exit(f"there are no results in {out / study['name']}.json, or they cannot be read")
    o, small = Outcome(study, data), data["small"]
    run = next((r for r in data["parts"].values() if r.get("device")), {})
    peers = ", ".join(f"{n} {v}" for n, v in next((r["peers"] for r in data["parts"].values() if r.get("peers")), {}).items())
    draw(o, out / f"{study['name']}.svg")
    text = [f"# {study['title']}", "", f"<!-- made by docs/studies.sh {study['name']} -->", "", study["question"], "",
            f"{study['source']}; measured there on {study['hardware']}. Here: {run.get('device', 'nothing ran')}" + (f"; {peers}" if peers else "") + f"; {study['types']}"
            + (f"; {sum(r['seconds'] for r in data['parts'].values()):.0f} seconds, generation included" if all("seconds" in r for r in data["parts"].values()) else "")
            + (". **Matrices are small ones: a trial of the scripts, no result**" if small else "") + ".", "", "## Matrices", "", *matrices_table(o), "",
            "## As this library measures", "", f"Medians of 5 rounds in turns, us. Before a sample L2 is filled with other data, and one {'product' if study['operation'] == 'spmspm' else 'multiplication'} runs uncounted; a sample is as many as take 0.2 ms, so that a matrix of less than L2's size comes from there in part. Kernels run with their default parameters but for those that the study names (`spmvx kernels`); below they are swept. What is fastest of the report's kernels is bold.{' What runs on the host ran once.' if study['host'] else ''} {VENDOR[0].upper() + VENDOR[1:]}: {study['vendor']}.", "",
            *main_table(o, "library"), "", f"![by matrix]({study['name']}.svg)", "", "## As the report measures", "",
            f"After a warm-up of {study['warmup']}, {study['rounds']} {'products' if study['operation'] == 'spmspm' else 'multiplications'} one by one, of which the {study['statistic']} counts; us.",
            "", *main_table(o, "report"), "", *rates_table(o), "", *speed_up_lines(o)]
    picture = {kind: [f"![{kind}]({study['name']}-{kind}.svg)", ""] if drawn(o, out / f"{study['name']}-{kind}.svg") else []
               for kind, drawn in (("parameters", draw_sweeps), ("reported", draw_reported))}
    text += ["## Parameters", "", *picture["parameters"], *[line for s in study["sweeps"] for line in sweep_lines(o, s)]]
    text += ["## Beside the report's own figures", "", *picture["reported"], *reported_lines(o), "", "## The report's claims", "", "By the times as this library measures: how many times as fast.", "", *claim_lines(o), "", "## Counters", "", *counter_lines(o), "", "## Its future work", "", *future_lines(o)]
    (out / f"{study['name']}.md").write_text("\n".join(text).rstrip("\n") + "\n")


def together(studies, out):
    """Of all studies: the fastest published kernel by matrix, and AUTO beside it."""
    rows, known = [], {study["name"]: data for study in studies for data in [results_of(out / f"{study['name']}.json")] if data}
    small = all(data["small"] for data in known.values())   # which do not stand beside whole ones
    for study in studies:
        name, data = study["name"], known.get(study["name"])
        if not data or data["small"] != small:
            continue
        o = Outcome(study, data)
        for m in o.study["matrices"]:
            t = {k["name"]: o.time(m["name"], k["name"]) for k in o.study["kernels"]}
            t = {k: v for k, v in t.items() if v}
            own, vendor = o.time(m["name"], "AUTO"), o.time(m["name"], "vendor")
            if t and own:
                best = min(t, key=t.get)
                rows.append((name, m["name"], best, t[best], vendor, own, o.taken(m["name"])))
    lines = ["# The five reports together", "", "<!-- made by docs/studies.sh -->", "",
             "The fastest of a report's kernels (by default parameters, but for those that a study names) on each of its matrices, and AUTO by timing beside it, as this library measures. Pages: "
             + ", ".join(f"[{n}]({n}.md)" for n in [s["name"] for s in studies] if (out / f"{n}.md").is_file()) + ".", ""]
    if rows:
        lines += [f"AUTO against the best published kernel: **{mean([r[3] / r[5] for r in rows]):.2f}x** in the geometric mean of {len(rows)} matrices, least "
                  + "{:.2f}x ({})".format(*min((r[3] / r[5], r[1]) for r in rows)) + ".", "", "![together](together.svg)", "",
                  "| study | matrix | fastest published kernel | us | the vendor's library, us | AUTO takes | us | ahead by |", "| --- | --- | --- | --: | --: | --- | --: | --: |"]
        lines += [f"| {s} | {m} | {k} | {us(t)} | {us(v)} | {taken} | {us(a)} | {t / a:.2f}x |" for s, m, k, t, v, a, taken in rows]
        results.settle()
        plt = results.plt
        kinds = sorted({r[2] for r in rows})
        figure, axes = plt.subplots(figsize=(8, 1 + 0.2 * len(rows)))
        for y, (s, m, k, t, v, a, _) in enumerate(reversed(rows)):
            axes.barh(y, t / a - 1, left=1, color=plt.cm.tab20(kinds.index(k) / max(len(kinds), 1)), height=0.7)
            axes.text(max(t / a, 1) * 1.02, y, k, va="center", fontsize=6)
            if v:
                axes.plot(v / a, y, "|", color=results.INK, markersize=8)
        axes.set_yticks(range(len(rows)), [f"{r[0]}: {r[1]}" for r in reversed(rows)], fontsize=6)
        axes.axvline(1, color=results.COLOURS["AUTO"], linewidth=1)
        axes.set_ylim(-1, len(rows))
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(results.matplotlib.ticker.LogLocator(base=10, subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(results.matplotlib.ticker.FormatStrFormatter("%g"))
        axes.xaxis.set_minor_formatter(results.matplotlib.ticker.NullFormatter())
        axes.set_xlabel("time over AUTO's: the fastest published kernel (bars, by its name) and the vendor's library (strokes)")
        results.save(figure, out / "together.svg")
    (out / "README.md").write_text("\n".join(lines).rstrip("\n") + "\n")
