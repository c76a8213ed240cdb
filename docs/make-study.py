#!/usr/bin/env python3
"""Runs the studies that docs/studies/NAME.json describe, and makes their pages and pictures; docs/studies.sh tells the arguments.

A study names matrices and kernels as its report does, with what stands for each here; sweeps of a kernel's parameters; the report's own
figures; its claims, each as kernels that are said to be faster than others; and its future work, each with what is to be compared. A run
of the tool takes one matrix: once as the report measured, once as this library does. Nothing on a page but these texts is typed.
"""
import argparse
import csv
import importlib.util
import io
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("results", HERE / "make-results.py")
results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(results)

AUTO = {"AUTO": "auto-timed", "AUTO, by its model": "auto-model"}
VENDOR = "the vendor's library"
COUNTERS = {"gpu__time_duration.sum": "time", "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy",
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "requests", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "sectors",
            "dram__bytes.sum": "bytes"}
ENDINGS = (".mtx", ".mtx.gz", ".rb", ".rb.gz")


def names():
    return sorted(p.stem for p in (HERE / "studies").glob("*.json"))


def study_of(name):
    if name not in names():
        sys.exit(f"no study is called {name}; there are {', '.join(names())}")
    return {"name": name, "sweeps": [], "apart": [], "extra": [], "host": [], "operation": "mul", **json.loads((HERE / "studies" / f"{name}.json").read_text())}


def matrices_of(study):
    """Those of the report, and those that sweeps bring with them."""
    return study["matrices"] + [m for s in study["sweeps"] for m in s["matrices"] if isinstance(m, dict)]


def swept_on(study, name):
    return [k for s in study["sweeps"] if name in [m["name"] if isinstance(m, dict) else m for m in s["matrices"]] for k in s["kernels"].values()]


def counted_on(study):
    return study.get("counted", study["matrices"][-1]["name"])


# ---- what is run ----

def given(matrix, folder, spmvx):
    """The file of the collection, where it lies there and can be read; else None, and a word about it."""
    if not folder:
        return None
    files = [p for e in ENDINGS for p in (folder / (matrix["name"] + e), folder / matrix["name"] / (matrix["name"] + e)) if p.is_file()]
    if not files:
        print(f"{matrix['name']}: not in {folder}; {matrix['make']} stands for it", file=sys.stderr)
        return None
    read = subprocess.run([spmvx, "info", "-q", files[0]], capture_output=True, text=True)
    if read.returncode:
        print(f"{matrix['name']}: {files[0]} cannot be read, and {matrix['make']} stands for it: {read.stderr.strip()}", file=sys.stderr)
        return None
    return files[0]


def plan(study, args):
    """The runs: (part, seconds that it may take, arguments of the tool; or the function that counters are asked of)."""
    product = study["operation"] == "spmspm"
    for i, m in enumerate(matrices_of(study)):
        file = None if product else given(m, args.matrices, args.spmvx)
        what = str(file or m["small" if args.small else "make"])
        apart = {a["kernel"]: a["limit"] for a in study["apart"] if a["matrix"] == m["name"]}
        own = study["kernels"] if m in study["matrices"] else []
        kernels, limit = [k["kernel"] for k in own if k["name"] not in apart], m.get("limit", 120)
        way = ["--types", study["types"]] + (["--spmspm", m["small_by" if args.small else "by"]] if product else [])
        as_reported = [*way, "--repeat", "2" if args.small else str(study["rounds"]), "--warmup", str(study["warmup"]), "--min-time", "0", "--flush", "1"]
        as_here = [*way, *(["--repeat", "2", "--min-time", "0", "--flush", "4"] if args.small else ["--repeat", "5"])]
        there = ["--place", args.place, *(["--peers", str(args.peers)] if args.peers else [])]
        swept = swept_on(study, m["name"])
        if kernels or swept:
            yield f"{i}-report", limit, [*there, *as_reported, "--kernels", ";".join(dict.fromkeys(kernels + swept)), what], None
        if own:
            yield f"{i}-library", limit, [*there, *as_here, "--kernels", ";".join([*kernels, *study["extra"], "auto"]), what], None
        for k in study["host"] if own else []:
            once = [*way, "--place", "host", "--repeat", "1", "--warmup", "0", "--min-time", "0", "--flush", "1"]
            yield f"{i}-host-{k['kernel']}", 60, [*once, "--kernels", k["kernel"], what], None
        for k in own:
            base = k["kernel"].split(":")[0]
            if k["name"] in apart:
                yield f"{i}-apart-{base}", apart[k["name"]], ["--place", args.place, *as_reported, "--kernels", k["kernel"], what], None
            if k.get("function") and m["name"] == counted_on(study) and args.place == "cuda" and not args.small:
                once = [*way, "--place", "cuda", "--repeat", "1", "--warmup", "0", "--min-time", "0", "--flush", "1"]
                yield f"{i}-counters-{base}", 60, [*once, "--kernels", k["kernel"], what], k["function"]


def counted(args, words, function, limit):
    """Counters of the longest of the kernel's first launches, since some are of a part of the matrix; or nothing."""
    if not shutil.which("ncu"):
        return {}
    command = ["ncu", "--csv", "--metrics", ",".join(COUNTERS), "-k", f"regex:{function}", "-c", "10", args.spmvx, "bench", "-q", *words]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=limit).stdout
    except subprocess.TimeoutExpired:
        return {}
    rows = csv.DictReader(io.StringIO("".join(line + "\n" for line in text.splitlines() if line.startswith('"'))))
    launches = {}
    for r in rows:
        if r.get("Metric Name") in COUNTERS:
            launches.setdefault(r["ID"], {})[COUNTERS[r["Metric Name"]]] = float(r["Metric Value"].replace(",", ""))
    return max(launches.values(), key=lambda c: c.get("time", 0), default={})


def run_part(args, part, limit, words, function):
    """What the tool wrote; what is stopped, or fails, leaves a record of that."""
    if function:
        return {"counters": counted(args, words, function, limit)}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "result.json"
        try:
            ran = subprocess.run([args.spmvx, "bench", "--json", "-q", "-o", file, *words], capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            print(f"{part}: stopped after {limit} s", file=sys.stderr)
            return {"stopped": True, "limit": limit}
        text = file.read_text() if file.is_file() else ""
        if ran.returncode or not text:
            print(f"{part}: exit status {ran.returncode}: {ran.stderr.strip()}", file=sys.stderr)
        return json.loads(text) if text else {"error": ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else f"exit status {ran.returncode}"}


def run(study, args):
    """Part by part; what came is kept after each, for one that is interrupted (--resume)."""
    args.out.mkdir(parents=True, exist_ok=True)
    file, data = args.out / f"{study['name']}.json", {"study": study["name"], "small": args.small, "parts": {}}
    if args.resume and file.is_file():
        data = json.loads(file.read_text())
        if data["small"] != args.small:
            sys.exit(f"--resume: {file} is of {'small' if data['small'] else 'whole'} matrices")
    for part, limit, words, function in plan(study, args):
        if part in data["parts"]:
            continue
        start = time.monotonic()
        data["parts"][part] = run_part(args, f"{study['name']} {part}", limit, words, function)
        data["parts"][part]["seconds"] = round(time.monotonic() - start, 1)
        file.write_text(json.dumps(data, separators=(",", ":")) + "\n")


# ---- what came ----

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
        i = [m["name"] for m in matrices_of(self.study)].index(matrix)
        run = self.parts.get(f"{i}-{part}") or {}
        return (run.get("cases") or [None])[0]

    def find(self, matrix, kernel, part):
        """The result of a kernel, and why there is none."""
        run, i = None, [m["name"] for m in matrices_of(self.study)].index(matrix)
        for each in (part, *(f"{way}-{kernel.split(':')[0]}" for way in ("apart", "host"))):
            key = f"{i}-{each}"
            if key not in self.parts:
                continue
            run = self.parts[key]
            for r in (self.case(matrix, each) or {}).get("results", []):
                if r["name"] == kernel:
                    return (r, None) if "time_s" in r else (None, r.get("unsuited") or r.get("failed") or "refused")
        return None, "not run" if run is None else f"stopped after {run['limit']} s" if run.get("stopped") else run.get("error", "no result")

    def time(self, matrix, name, part="library"):
        """Seconds of a kernel under its name in the study; None: it has no time."""
        statistic = "median" if part == "library" else self.study["statistic"]
        case = self.case(matrix, part)
        if name in AUTO:
            r = next((r for r in (case or {}).get("results", []) if r["kind"] == AUTO[name] or (name == "AUTO" and r["name"] == "AUTO")), None)
        elif name == "vendor":
            r = next((r for r in (case or {}).get("results", []) if r["name"] == self.study["vendor"]), None)
        elif name == "report":
            best = [t for k in self.study["kernels"] for t in [self.time(matrix, k["name"], part)] if t]
            return min(best) if best else None
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


def matrices_table(o):
    lines = ["| matrix | rows | columns | nonzeros | here | rows | columns | nonzeros | |", "| --- | --: | --: | --: | --- | --: | --: | --: | --- |"]
    for m in o.study["matrices"]:
        case = o.case(m["name"], "library") or o.case(m["name"], "report") or {}
        name = case.get("matrix", "").split(" * ")[0] or m["make"]
        if o.study["operation"] == "spmspm":
            case = {**case, "nnz": case.get("nnz_a", ""), "cols": case.get("inner", "")}
        kind = "the report's rule" if m["exact"] else "a stand-in"
        if name not in (m["make"], m["small"]):
            kind = "the collection's file"
        lines.append(f"| {m['name']} | {m['rows']} | {m['cols']} | {m['nonzeros']} | {name} | {case.get('rows', '')} | {case.get('cols', '')} | {case.get('nnz', '')} | {kind} |")
    return lines


def sweep_lines(o, i, s):
    listed = [m["name"] if isinstance(m, dict) else m for m in s["matrices"]]
    lines = [f"**{s['title']}** ({o.study['statistic']} of {o.study['rounds']}, us)", "", f"| {s['parameter']} | " + " | ".join(listed) + " |", "| --- |" + " --: |" * len(listed)]
    t = {(v, m): (lambda r: time_of(r, o.study["statistic"]) if r else None)(o.find(m, k, "report")[0]) for v, k in s["kernels"].items() for m in listed}
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


def reported_lines(o):
    if not o.study["reported"]:
        return ["The report gives its times in figures alone; its claims are below."]
    flops = o.study.get("unit") == "gflops"
    lines = [f"| matrix | kernel | {o.study['hardware']}, {'GFLOP/s' if flops else 'us'} | here | times |", "| --- | --- | --: | --: | --: |"]
    for r in o.study["reported"]:
        t = o.time(r["matrix"], r["kernel"], "report")
        case = o.case(r["matrix"], "report") or {}
        there = r["gflops"] if flops else r["us"]
        here = 2e-9 * case.get("nnz", 0) / t if flops and t else 1e6 * t if t else None
        factor = "" if not here else f"{here / there:.1f}" if flops else f"{there / here:.1f}"
        name = VENDOR if r["kernel"] == "vendor" else r["kernel"] + (f", {r['threads']} threads" if r.get("threads") else "")
        lines.append(f"| {r['matrix']} | {name} | {there} | {'' if here is None else f'{here:.1f}'} | {factor} |")
    return lines


def listed_matrices(o, claim):
    return [m["name"] for m in o.study["matrices"]] if claim.get("matrices", "all") == "all" else claim["matrices"]


def ratios(o, faster, than, matrix):
    """How much faster than the fastest of the others, by the report's way of measuring and by the library's: the latter counts."""
    own, others = o.time(matrix, faster), [t for n in than for t in [o.time(matrix, n)] if t]
    return min(others) / own if own and others else None


def bytes_of(o, matrix, name):
    kernel = next((k["kernel"] for k in o.study["kernels"] if k["name"] == name), name)
    r, _ = o.find(matrix, kernel, "library")
    return r["bytes_streamed"] / r["time_s"] / 1e9 if r and r.get("bytes_streamed") else None


def claim_lines(o):
    lines = []
    for c in o.study["claims"]:
        found = {m: ratios(o, c["faster"], c["than"], m) for m in listed_matrices(o, c)}
        known = {m: v for m, v in found.items() if v}
        holds = [m for m, v in known.items() if v >= 1]
        verdict = "not run here" if not known else "**holds**" if len(holds) == len(known) else "**does not hold**" if not holds else f"**holds on {len(holds)} of {len(known)}**"
        lines.append(f"- {c['text']}: {verdict}" + (". " + ", ".join(f"{m} {v:.2f}x" for m, v in known.items()) if known else "") + ".")
        for m in [m for m, v in known.items() if v < 1][:3]:
            other = min((n for n in c["than"] if o.time(m, n)), key=lambda n: o.time(m, n))
            a, b = bytes_of(o, m, c["faster"]), bytes_of(o, m, other)
            if a and b:
                lines.append(f"  On {m}, {VENDOR if c['faster'] == 'vendor' else c['faster']} streams {a:.0f} GB/s of its own bytes, {other} {b:.0f}.")
    return lines


def counter_lines(o):
    found = {}
    for part, run in o.parts.items():
        if "-counters-" in part and run.get("counters"):
            found[part.split("-counters-")[1]] = run["counters"]
    if not found:
        return ["This machine gave no counters (`ncu`). What a kernel streams of its own bytes, GB/s, is in the JSON beside this page."]
    lines = ["| kernel | us | occupancy, % | sectors a request of a load | bytes from memory, MB |", "| --- | --: | --: | --: | --: |"]
    for k, c in found.items():
        lines.append(f"| {k} | {c['time'] / 1e3:.1f} | {c['occupancy']:.0f} | {c['sectors'] / max(c['requests'], 1):.1f} | {c['bytes'] / 1e6:.1f} |")
    return [f"On {counted_on(o.study)}, by `ncu`:", "", *lines]


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


def page(study, out):
    data = json.loads((out / f"{study['name']}.json").read_text())
    o, small = Outcome(study, data), data["small"]
    run = next((r for r in data["parts"].values() if r.get("device")), {})
    peers = ", ".join(f"{n} {v}" for n, v in next((r["peers"] for r in data["parts"].values() if r.get("peers")), {}).items())
    draw(o, out / f"{study['name']}.svg")
    text = [f"# {study['title']}", "", f"<!-- made by docs/studies.sh {study['name']} -->", "", study["question"], "",
            f"{study['source']}; measured there on {study['hardware']}. Here: {run.get('device', 'nothing ran')}" + (f"; {peers}" if peers else "") + f"; {study['types']}"
            + f"; {sum(r.get('seconds', 0) for r in data['parts'].values()):.0f} seconds, generation included"
            + (". **Matrices are small ones: a trial of the scripts, no result**" if small else "") + ".", "", "## Matrices", "", *matrices_table(o), "",
            "## As this library measures", "", f"Medians of 5 rounds in turns, us; L2 filled with other data before each sample; what is fastest of the report's kernels is bold.{' What runs on the host ran once.' if study['host'] else ''} {VENDOR[0].upper() + VENDOR[1:]}: {study['vendor']}.", "",
            *main_table(o, "library"), "", f"![by matrix]({study['name']}.svg)", "", "## As the report measures", "",
            f"After a warm-up of {study['warmup']}, {study['rounds']} {'products' if study['operation'] == 'spmspm' else 'multiplications'} one by one, of which the {study['statistic']} counts; us.",
            "", *main_table(o, "report"), "", *speed_up_lines(o)]
    text += ["## Parameters", "", *[line for i, s in enumerate(study["sweeps"]) for line in sweep_lines(o, i, s)]]
    text += ["## Beside the report's own figures", "", *reported_lines(o), "", "## The report's claims", "", *claim_lines(o), "", "## Counters", "", *counter_lines(o), "", "## Its future work", "", *future_lines(o)]
    (out / f"{study['name']}.md").write_text("\n".join(text).rstrip("\n") + "\n")


def together(out):
    """Of all studies: the fastest published kernel by matrix, and AUTO beside it."""
    rows = []
    for name in names():
        file = out / f"{name}.json"
        if not file.is_file():
            continue
        o = Outcome(study_of(name), json.loads(file.read_text()))
        for m in o.study["matrices"]:
            t = {k["name"]: o.time(m["name"], k["name"]) for k in o.study["kernels"]}
            t = {k: v for k, v in t.items() if v}
            own, vendor = o.time(m["name"], "AUTO"), o.time(m["name"], "vendor")
            if t and own:
                best = min(t, key=t.get)
                rows.append((name, m["name"], best, t[best], vendor, own, o.taken(m["name"])))
    lines = ["# The five reports together", "", "<!-- made by docs/studies.sh -->", "",
             "The fastest of a report's kernels on each of its matrices, and AUTO by timing beside it, as this library measures. Pages: "
             + ", ".join(f"[{n}]({n}.md)" for n in names() if (out / f"{n}.md").is_file()) + ".", ""]
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
        axes.set_xscale("log")
        axes.set_xlabel("time over AUTO's: the fastest published kernel (bars, by its name) and the vendor's library (strokes)")
        results.save(figure, out / "together.svg")
    (out / "README.md").write_text("\n".join(lines).rstrip("\n") + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--small", action="store_true", help="matrices of some hundred entries")
    parser.add_argument("--place", choices=["host", "cuda"], default="cuda")
    parser.add_argument("--matrices", type=pathlib.Path, help="a folder of the collection's files")
    parser.add_argument("--spmvx", default="spmvx", help="the tool")
    parser.add_argument("--peers", type=pathlib.Path, help="the vendor's library as a module")
    parser.add_argument("--resume", action="store_true", help="goes on with what is there")
    parser.add_argument("--pages", action="store_true", help="pages and pictures alone")
    parser.add_argument("-o", dest="out", type=pathlib.Path, default=HERE / "results" / "studies")
    args = parser.parse_args()
    studies = [study_of(name) for name in args.studies or names()]
    if args.matrices and not args.matrices.is_dir():
        sys.exit(f"--matrices: {args.matrices} is no folder")
    if not args.pages and not shutil.which(args.spmvx):
        sys.exit(f"--spmvx: {args.spmvx} cannot be run")
    for study in studies:
        if not args.pages:
            run(study, args)
        page(study, args.out)
    together(args.out)


main()
