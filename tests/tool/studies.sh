#!/bin/sh
# docs/studies.sh in small: every study runs, its kernels have times and errors that are small, and pages and pictures are made.
#     studies.sh SPMVX STUDIES.SH
spmvx=$1 studies=$2
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
for PYTHON in python3 /usr/bin/python3; do "$PYTHON" -c 'import matplotlib' 2>/dev/null && break; PYTHON=; done
[ -n "$PYTHON" ] || { echo "matplotlib is not installed" && exit 77; }
export PYTHON
bad=0
fail() { echo "$1" && bad=1; }
sh "$studies" --small --spmvx "$spmvx" -o "$tmp/out" >"$tmp/log" 2>&1 || { cat "$tmp/log" && exit 1; }
for name in marconi oniarti frogbyte baskaran aub; do
    for file in "$name.json" "$name.md" "$name.svg"; do [ -s "$tmp/out/$file" ] || fail "no $file"; done
done
grep -q 'in the geometric mean of 39 matrices' "$tmp/out/README.md" || { fail "not all matrices are told together" && cat "$tmp/out/README.md"; }
"$PYTHON" - "$tmp/out" <<'EOF' || bad=1
import json, pathlib, sys
bad = 0
for file in pathlib.Path(sys.argv[1]).glob("*.json"):
    timed = 0
    for part, run in json.loads(file.read_text())["parts"].items():
        for r in [r for c in run.get("cases", []) for r in c["results"]]:
            timed += "time_s" in r
            if r.get("error", 0) > 1e-4 or "failed" in r:
                print(file.stem, part, r["name"], r.get("error"), r.get("failed")), (bad := 1)
    if timed < 20:
        print(file.stem, "has", timed, "times"), (bad := 1)
sys.exit(bad)
EOF
# A file of the collection, one that is broken, and others that are not there.
mkdir "$tmp/collection"
printf '%%%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1\n2 2 2.5\n3 1 -1\n' >"$tmp/collection/lp_ganges.mtx"
echo nonsense >"$tmp/collection/random.mtx"
sh "$studies" --small --spmvx "$spmvx" --matrices "$tmp/collection" -o "$tmp/given" oniarti >"$tmp/log" 2>&1 || { cat "$tmp/log" && exit 1; }
grep -q '^| lp_ganges .* 3 | 2 | 3 | the collection.s file |' "$tmp/given/oniarti.md" || { fail "the collection's file is not told" && sed -n '/^## Matrices/,/^## As/p' "$tmp/given/oniarti.md"; }
grep -q '^| random .* a stand-in\|^| random .* the report.s rule' "$tmp/given/oniarti.md" || fail "nothing stands for a broken file"
grep -q 'random.mtx cannot be read, and .* stands for it' "$tmp/log" || { fail "a broken file is not told" && cat "$tmp/log"; }
grep -q 'delaunay_n23: not in ' "$tmp/log" || { fail "a missing file is not told" && cat "$tmp/log"; }
# Goes on where it was interrupted: what is missing, failed or was asked in other words is run, and nothing else.
"$PYTHON" - "$tmp/given/oniarti.json" <<'EOF'
import json, pathlib, sys
file = pathlib.Path(sys.argv[1])
data = json.loads(file.read_text())
parts = data["parts"]
del parts["random: library"]
parts["lp_ganges: report"]["kept"] = True
parts["delaunay_n23: report"]["words"][-1] = "delaunay_n5"
parts["delaunay_n23: library"] = {"error": "no memory", "words": parts["delaunay_n23: library"]["words"]}
file.write_text(json.dumps(data))
EOF
sh "$studies" --small --resume --spmvx "$spmvx" --matrices "$tmp/collection" -o "$tmp/given" oniarti >"$tmp/log" 2>&1 || { cat "$tmp/log" && exit 1; }
"$PYTHON" - "$tmp/given/oniarti.json" <<'EOF' || fail "a run that was interrupted does not go on"
import json, pathlib, sys
parts = json.loads(pathlib.Path(sys.argv[1]).read_text())["parts"]
assert parts["lp_ganges: report"].get("kept"), "a part that was there is run again"
assert parts["random: library"]["cases"], "a part that was missing is not run"
assert parts["delaunay_n23: report"]["words"][-1] == "delaunay_n7", "a part of another matrix is kept"
assert parts["delaunay_n23: library"].get("cases"), "a part that failed is not run again"
EOF
sh "$studies" --resume --spmvx "$spmvx" -o "$tmp/given" oniarti >"$tmp/log" 2>&1 && fail "a small study goes on as a whole one"
cp "$tmp/given/oniarti.json" "$tmp/oniarti.json" && printf '{"parts": {' >"$tmp/given/oniarti.json"
sh "$studies" --small --resume --spmvx "$spmvx" -o "$tmp/given" oniarti >"$tmp/log" 2>&1 && fail "broken results are gone on with"
grep -q 'cannot be read' "$tmp/log" || { fail "broken results are not told" && cat "$tmp/log"; }
sh "$studies" --pages -o "$tmp/given" oniarti >"$tmp/log" 2>&1 && fail "pages are made of broken results"
mv "$tmp/oniarti.json" "$tmp/given/oniarti.json"
# The pages alone, from what is there.
rm "$tmp/given/oniarti.md"
sh "$studies" --pages -o "$tmp/given" oniarti >"$tmp/log" 2>&1 || { fail "no page from results" && cat "$tmp/log"; }
[ -s "$tmp/given/oniarti.md" ] || fail "no page from results"
sh "$studies" --small nosuch >"$tmp/log" 2>&1 && fail "a study that is not there runs"
grep -q 'nosuch.*marconi.*oniarti' "$tmp/log" || { fail "studies are not listed" && cat "$tmp/log"; }
sh "$studies" --matrices "$tmp/none" --spmvx "$spmvx" -o "$tmp/x" aub >"$tmp/log" 2>&1 && fail "a folder that is not there is taken"
exit "$bad"
