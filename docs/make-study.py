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
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("pages", HERE / "study-pages.py")
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)

COUNTERS = {"gpu__time_duration.sum": "time", "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy",
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "requests", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "sectors",
            "dram__bytes.sum": "bytes"}


def names():
    return sorted(p.stem for p in (HERE / "studies").glob("*.json"))


def study_of(name):
    if name not in names():
        sys.exit(f"no study is called {name}; there are {', '.join(names())}")
    return {"name": name, "sweeps": [], "apart": [], "extra": [], "host": [], "operation": "mul", **json.loads((HERE / "studies" / f"{name}.json").read_text())}


def swept_on(study, name):
    return [k for s in study["sweeps"] if name in [m["name"] if isinstance(m, dict) else m for m in s["matrices"]] for k in s["kernels"].values()]


def given(matrix, folder, spmvx):
    """The file of the collection, where it lies there and can be read; else None, and a word about it."""
    if not folder:
        return None
    files = [p for e in pages.ENDINGS for p in (folder / (matrix["name"] + e), folder / matrix["name"] / (matrix["name"] + e)) if p.is_file()]
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
    for m in pages.matrices_of(study):
        file = None if product else given(m, args.matrices, args.spmvx)
        what = str(file or m["small" if args.small else "make"])
        apart = {a["kernel"]: a["limit"] for a in study["apart"] if a["matrix"] == m["name"]}
        own = study["kernels"] if m in study["matrices"] else []
        kernels, limit = [k["kernel"] for k in own if k["name"] not in apart], m.get("limit", 120)
        way = ["--types", study["types"]] + (["--spmspm", m["small_by" if args.small else "by"]] if product else [])
        as_reported = [*way, "--repeat", "2" if args.small else str(study["rounds"]), "--warmup", str(study["warmup"]), "--min-time", "0", "--flush", "1"]
        as_here = [*way, *(["--repeat", "2", "--min-time", "0", "--flush", "4"] if args.small else ["--repeat", "5"])]
        there, once = ["--place", "cuda"], [*way, "--repeat", "1", "--warmup", "0", "--min-time", "0", "--flush", "1"]
        swept = swept_on(study, m["name"])
        if kernels or swept:
            yield f"{m['name']}: report", limit, [*there, *as_reported, "--kernels", ";".join(dict.fromkeys(kernels + swept)), what], None
        if own:
            yield f"{m['name']}: library", limit, [*there, *as_here, "--kernels", ";".join([*kernels, *study["extra"], "auto"]), what], None
        for k in study["host"] if own else []:
            yield f"{m['name']}: host {k['kernel']}", 60, ["--place", "host", *once, "--kernels", k["kernel"], what], None
        for k in own:
            if k["name"] in apart:
                yield f"{m['name']}: apart {k['kernel']}", apart[k["name"]], [*there, *as_reported, "--kernels", k["kernel"], what], None
            if k.get("function") and m["name"] == pages.counted_on(study) and not args.small:
                yield f"{m['name']}: counters {k['name']}", 60, [*there, *once, "--kernels", k["kernel"], what], k["function"]


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
    beside = ["--peers", str(args.peers)] if args.peers and "cuda" in words else []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "result.json"
        try:
            ran = subprocess.run([args.spmvx, "bench", "--json", "-q", "-o", file, *beside, *words], capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            print(f"{part}: stopped after {limit} s", file=sys.stderr)
            return {"stopped": True, "limit": limit}
        text = file.read_text() if file.is_file() else ""
        if ran.returncode or not text:
            print(f"{part}: exit status {ran.returncode}: {ran.stderr.strip()}", file=sys.stderr)
        said = [line for line in ran.stderr.strip().splitlines() if not line.startswith("usage:")]
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return {"error": said[-1] if said else f"exit status {ran.returncode}"}


def run(study, args):
    """Part by part; what came is kept after each, for one that is interrupted (--resume)."""
    args.out.mkdir(parents=True, exist_ok=True)
    file, data = args.out / f"{study['name']}.json", {"study": study["name"], "small": args.small, "parts": {}}
    if args.resume and file.is_file():
        data = pages.results_of(file) or sys.exit(f"--resume: {file} cannot be read")
        if data["small"] != args.small:
            sys.exit(f"--resume: {file} is of {'small' if data['small'] else 'whole'} matrices")
    before, data["parts"] = data["parts"], {}
    planned = list(plan(study, args))
    for part, _, words, _ in planned:   # what was asked in the same words, and did not fail
        if part in before and before[part].get("words") == words and "error" not in before[part]:
            data["parts"][part] = before[part]
    for part, limit, words, function in planned:
        if part in data["parts"]:
            continue
        start = time.monotonic()
        data["parts"][part] = {**run_part(args, f"{study['name']}, {part}", limit, words, function), "words": words}
        data["parts"][part]["seconds"] = round(time.monotonic() - start, 1)
        whole = file.with_suffix(".tmp")
        whole.write_text(json.dumps(data, separators=(",", ":")) + "\n")
        whole.replace(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--small", action="store_true", help="matrices of some hundred entries")
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
    if args.pages and not args.studies:
        studies = [s for s in studies if (args.out / f"{s['name']}.json").is_file()]
    for study in studies:
        if not args.pages:
            run(study, args)
        pages.page(study, args.out)
    pages.together([study_of(name) for name in names()], args.out)


main()
