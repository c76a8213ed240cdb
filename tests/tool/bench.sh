#!/bin/sh
# spmvx bench and spmvx compare, from outside; nothing here depends on how long anything takes: bench.sh SPMVX DATA PEERS BAD-PEERS
set -u
spmvx=$1 peers=$3 bad_peers=$4
# shellcheck source=expect.sh
. "$(dirname "$0")/expect.sh"

for choice in '--types f16,f16' '--states hot,states' '--beta x,beta' '--beta inf,beta' '--min-time -1,min-time' '--repeat 0,repeat' '--flush 0,flush' '--warmup 10001,warmup'; do
    # shellcheck disable=SC2086
    expect 2 "$spmvx" bench ${choice%,*} lap2d_9; has err "${choice##*,}"; silent out
done
expect 2 "$spmvx" bench --json --csv lap2d_9; has err 'exclude'
expect 2 "$spmvx" bench; has err 'no file, name or suite'
expect 2 "$spmvx" bench --suite nope; has err 'nope, and takes quick|host'; silent out
# One sample is no winner's; wisdom that cannot be read is told.
expect 0 env SPMVX_WISDOM=/dev/null/x "$spmvx" bench --place host --flush 4 --repeat 1 --min-time 0 --kernels 'csr-scalar;coo-scalar' lap2d_9
hasnot out '[*][*]'; has err 'SPMVX_WISDOM'

# Every kernel, AUTO both ways, two types, three states: a row each, and none wrong.
expect 0 "$spmvx" bench --place host --flush 4 --repeat 2 --warmup 1 --min-time 0 --types f64,f32 --states warm,cold,rotated --csv lap2d_9; silent err
kernels=$("$spmvx" kernels --available | grep -c '^host/mul/')
lines=$(wc -l <"$tmp/out")
[ "$lines" = $((1 + 6 * (kernels + 2))) ] || { echo "$lines lines of CSV, for $kernels kernels"; cat "$tmp/out"; bad=1; }
columns=$(sed 's/"[^"]*"/text/g' "$tmp/out" | awk -F, '{ print NF }' | sort -u)
[ "$columns" = 24 ] || { echo "lines of $columns columns"; bad=1; }
expect 0 "$spmvx" bench --place host --flush 4 --repeat 2 --min-time 0 --beta 0.5 --kernels 'csr-vector;packed;auto' lap2d_9 random_50_7_100
has out 'lap2d_9: 81 x 81, 369 nonzeros, f64, warm, beta 0.5'; has out 'random_50_7_100: 50 x 7'; has out 'AUTO, by timing took'
has out '^fastest: \|^no winner'; has out 'AUTO by its model against the best CSR kernel'
expect 0 "$spmvx" bench --place host --flush 4 --repeat 1 --min-time 0 --kernels 'csr-vector' --markdown lap2d_9; has out '^### lap2d_9'; has out '^| .*csr-vector'

# What cannot be read or made is told, and the rest goes on.
expect 1 "$spmvx" bench --place host --flush 4 --repeat 1 --min-time 0 --kernels csr-scalar lap2d_9 nonsense "$tmp/none" lap2d_8
has err 'nonsense: no such file, and as a matrix.s name'; has err 'known are lap2d'; has out '^lap2d_9'; has out '^lap2d_8'
expect 2 "$spmvx" bench --place host --flush 4 --repeat 1 --min-time 0 --kernels 'csr-scalar;nonsense' lap2d_9; has err '"nonsense", which is not known'; silent out
mkdir "$tmp/suite" "$tmp/empty"
"$spmvx" generate lap2d_5 -o "$tmp/suite/a.mtx" >/dev/null && "$spmvx" generate lap2d_6 -o "$tmp/suite/b.mtx.gz" >/dev/null
echo nonsense >"$tmp/suite/c.mtx"
expect 1 "$spmvx" bench --place host --flush 4 --repeat 1 --min-time 0 --kernels csr-scalar --suite "$tmp/suite"; has out '^a.mtx: 25 x 25'; has out '^b.mtx.gz: 36 x 36'; has err 'c.mtx'
expect 1 "$spmvx" bench --place host --flush 4 --repeat 1 --suite "$tmp/empty"; has err 'no matrix files'

# '-' is standard output, as of the other commands.
mkdir "$tmp/empty-too"
case $spmvx in /*) tool=$spmvx ;; *) tool=$PWD/$spmvx ;; esac
(cd "$tmp/empty-too" && exec "$tool" bench --place host --flush 4 --repeat 1 --min-time 0 --kernels csr-scalar -o - lap2d_9) >"$tmp/out" 2>"$tmp/err"; has out '^lap2d_9'
[ -z "$(ls "$tmp/empty-too")" ] || { echo "bench -o - made $(ls "$tmp/empty-too")"; bad=1; }

# Wisdom: what tune measures is taken, by bench and info. Not under sanitizers, which make minutes of its seconds.
expect 2 "$spmvx" tune x; has err "'x' given"
if [ -z "${TEST_SANITIZED:-}" ]; then
    expect 0 "$spmvx" tune -o "$tmp/wisdom"; has out 'memory [0-9]'
    # A line for each of the host's kernels, whatever the instruction set.
    for kernel in csr-scalar csr-vector sell packed dia bsr csr5 csr-merge-path; do has wisdom "^kernel $kernel[@ ]"; done
    expect 0 "$spmvx" bench --place host --flush 4 --repeat 1 --min-time 0 --kernels auto --wisdom "$tmp/wisdom" lap2d_9; silent err
    expect 0 "$spmvx" info --wisdom "$tmp/wisdom" "$tmp/suite/a.mtx"; silent err
fi
echo nonsense >"$tmp/nonsense"
expect 1 "$spmvx" bench --wisdom "$tmp/nonsense" lap2d_9; has err 'no wisdom: line 1'
expect 1 "$spmvx" info --wisdom "$tmp/none" "$tmp/suite/a.mtx"; has err 'none'

# What may not hold so much has a row that says so, in every state, and the others are measured; status 1 when nobody is left.
limited='--place host --flush 4 --repeat 2 --min-time 0 --max-bytes 6000'
# shellcheck disable=SC2086
{
    expect 0 "$spmvx" bench $limited --states warm,rotated --kernels 'csr-vector;bsr;tiled:values=raw;auto' lap2d_9; silent err
    has out '^  bsr .*would hold [0-9]* bytes.*max_bytes is 6000'; has out '^..csr-vector.*e-[0-9]*$'; has out '^..AUTO, by timing .*[0-9]'
    [ "$(grep -c '^  tiled:.*would hold' "$tmp/out")" = 2 ] || { echo 'no row of tiled in each state'; cat "$tmp/out"; bad=1; }
    expect 0 "$spmvx" bench $limited --kernels 'csr-vector;bsr' --csv lap2d_9; silent err
    has out '^"lap2d_9",.*,kernel,"bsr","",,.*,"BSR would hold [0-9]* bytes'; has out ',kernel,"csr-vector","csr-vector.*[0-9],$'
    [ "$(sed 's/"[^"]*"/text/g' "$tmp/out" | awk -F, '{ print NF }' | sort -u)" = 24 ] || { echo 'columns of CSV differ'; cat "$tmp/out"; bad=1; }
    expect 0 "$spmvx" bench $limited --kernels 'csr-vector;bsr' --markdown lap2d_9; silent err; has out '^| bsr | BSR would hold'
    expect 0 "$spmvx" bench $limited --kernels 'csr-vector;bsr;auto' --json lap2d_9; silent err
    has out '"name": "bsr", "kind": "kernel", "unsuited": "BSR would hold'; has out '"kind": "auto-model".*"setups": [1-9].*"setup_muls": [0-9]'
    has out '"kind": "auto-timed".*"setups": 1, "setup_muls": [0-9]'
    expect 1 "$spmvx" bench $limited --max-bytes 10 --kernels 'csr-vector;auto' lap2d_9
    has out '^  csr-vector .*max_bytes is 10'; has out '^  AUTO, by its model .*max_bytes is 10'; has err 'lap2d_9: nothing could be measured: .*max_bytes is 10'
    expect 0 "$spmvx" bench $limited --kernels bsr --peers "$peers" --max-bytes 1000 lap2d_9; has out '^  bsr .*would hold'; has out '^..fake-right'; hasnot err 'bsr'
    expect 1 "$spmvx" bench $limited --kernels bsr --peers "$peers" --max-bytes 10 lap2d_9; has out '^  fake-right .*holds [0-9]* bytes; --max-bytes is 10'
}
# Without csr-vector no set-up is told in its multiplications.
expect 0 "$spmvx" bench --place host --flush 4 --repeat 2 --min-time 0 --kernels csr-scalar --json lap2d_9; hasnot out 'setup_muls'; has out '"setups": '

# Peers: right, unsuited, without memory, failing, wrong, not there.
expect 0 "$spmvx" bench --place host --flush 4 --repeat 2 --min-time 0 --types f64,f32 --kernels csr-vector --peers "$peers" lap2d_9
has out 'peer: fake 1.2'; has out 'fake-right'; has out 'fake-unsuited  *this peer serves nobody'; has out 'fake-memory  *this peer finds no memory'
has out 'fake-failing  *this peer fails'; has err 'fake-memory did not run: this peer finds no memory'; has err 'fake-failing did not run: this peer fails'; hasnot err 'fake-unsuited'
expect 0 "$spmvx" bench --place host --flush 4 --repeat 1 --min-time 0 --kernels csr-vector --peers "$peers" --json lap2d_9
has out '"peers": {"fake": "1.2"}'; has out '"name": "fake-unsuited", "kind": "peer", "unsuited": "this peer serves nobody"'; has out '"name": "fake-failing", "kind": "peer", "failed": "this peer fails"'
expect 1 "$spmvx" bench --place host --flush 4 --repeat 1 --min-time 0 --kernels csr-vector --peers "$peers,$bad_peers" lap2d_9
has err 'fake-wrong is wrong'; has err 'fake-failing did not run'; hasnot err 'fake-right'
expect 1 "$spmvx" bench --peers "$tmp/none.so" lap2d_9; has err 'none.so'; silent out
expect 1 "$spmvx" bench --peers "$tmp/empty" lap2d_9; has err 'no peer_\*.so'

# Turns: in every round each contender has one, of two multiplications that bring its data back to the caches and one that counts, on the
# same vectors; in the cold state of the latter alone. Not always the same one begins.
turns() {
    rm -f "$tmp/turns"
    TURNS=$tmp/turns expect 0 "$spmvx" bench --place host --flush 4 --repeat 5 --min-time 0 --states "$1" --kernels csr-vector --peers "$peers" lap2d_400
    uniq -c "$tmp/turns" | sed 1,2d | awk -v each="$2" '
        { if ($1 % each || (NR > 1 && $3 != x)) bad = 1; x = $3; for (i = each; i <= $1; i += each) who[n++] = $2 }
        END { for (i = 0; i < n; i += 2) { if (who[i] == who[i + 1]) bad = 1; begins[who[i]] = 1 }
              exit bad || n != 10 || !begins["fake-right"] || !begins["fake-too"] }' ||
        { echo "turns in state $1:"; uniq -c "$tmp/turns"; bad=1; }
}
turns warm 3; turns cold 1

# Products of sparse matrices: every kernel, AUTO, a plan, peers; each C is looked at.
product='--place host --flush 4 --repeat 2 --warmup 1 --min-time 0'
# shellcheck disable=SC2086
{
    expect 0 "$spmvx" bench $product --spmspm self --types f64,f32 --csv lap2d_9; silent err
    kernels=$("$spmvx" kernels --available | grep -c '^host/spmspm/')
    [ "$(wc -l <"$tmp/out")" = $((1 + 2 * (kernels + 3))) ] || { echo "lines of CSV, for $kernels kernels:"; cat "$tmp/out"; bad=1; }
    [ "$(sed 's/"[^"]*"/text/g' "$tmp/out" | awk -F, '{ print NF }' | sort -u)" = 23 ] || { echo 'columns of CSV differ'; cat "$tmp/out"; bad=1; }
    has out '^"lap2d_9 \* self",81,81,369,369,1709,f32,[0-9]*,refill,'
    for right in transpose thin_81_7_3 thin_81_7_3_50 lap2d_9 "$tmp/suite/a.mtx"; do
        left=lap2d_9
        [ -f "$right" ] && left=$right
        expect 0 "$spmvx" bench $product --spmspm "$right" --kernels 'hash;auto' "$left"
        has out ' \* '; has out '^..AUTO '; has out '^AUTO took '; silent err
    done
    expect 0 "$spmvx" bench $product --spmspm self --kernels auto --markdown lap2d_9; has out '^| refill .*|'
    expect 0 "$spmvx" bench $product --spmspm self --kernels 'dense-window;auto' --max-workspace 100 --peers "$peers" lap2d_9
    has out '^  dense-window .*max_workspace is 100'; has out '^  plan .*max_workspace is 100'; has out '^\(  \|\*\*\)fake-product'
    expect 1 "$spmvx" bench $product --spmspm self --kernels 'hash;auto' --max-bytes 100 lap2d_9; has err 'nothing could be measured: .*max_bytes'
    expect 0 "$spmvx" bench $product --spmspm self --kernels auto --peers "$peers" --types f64,f32 lap2d_9
    has out 'fake-product .*6561'; has out 'fake-product  *this peer has products of f64'; has err 'fake-no-product did not run: this product fails'
    has out "refill against the best peer's"; hasnot out '^\*.*refill'
    expect 1 "$spmvx" bench $product --spmspm self --kernels hash --peers "$bad_peers" lap2d_9; has err 'fake-wrong-product is wrong'; hasnot err 'hash'
    expect 1 "$spmvx" bench $product --spmspm lap2d_8 --kernels hash lap2d_9 lap2d_8; has err 'lap2d_9 has 81 columns and lap2d_8 has 64 rows'; has out '^lap2d_8 '
    expect 2 "$spmvx" bench --spmspm self --kernels csr-vector lap2d_9; has err '"csr-vector"'; silent out
    expect 1 "$spmvx" bench $product --spmspm nonsense lap2d_9; has err 'nonsense: no such file, and as a matrix.s name'
    expect 2 "$spmvx" bench --spmspm self --states cold lap2d_9; has err 'neither --states nor --beta'
    expect 2 "$spmvx" bench --spmspm self --beta 1 lap2d_9; has err 'neither --states nor --beta'
    expect 2 "$spmvx" bench --max-workspace 9 lap2d_9; has err 'goes with --spmspm'
    expect 0 "$spmvx" bench $product --repeat 3 --spmspm self --kernels 'hash;auto' --json -o "$tmp/product.json" lap2d_9 lap2d_8; silent out
}
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["operation"] == "spmspm"; \
assert [c["matrix"] for c in r["cases"]] == ["lap2d_9 * self", "lap2d_8 * self"]; \
assert all(len(c["results"]) == 4 and all(x["nnz"] == 877 for x in c["results"]) for c in r["cases"][:1])' "$tmp/product.json" || { cat "$tmp/product.json"; bad=1; }
fi

# JSON: on stdout as in a file, which stands whole after every matrix; compare reads it.
expect 0 "$spmvx" bench --place host --flush 4 --repeat 3 --min-time 0 --kernels 'csr-vector;auto' --json lap2d_9 lap2d_8; silent err
family=$(sed -n 's/^cpu family[^0-9]*//p' /proc/cpuinfo 2>/dev/null | head -n 1)
[ -z "$family" ] || has out "\"processor\": {\"vendor\": \"[A-Za-z ]*\", \"family\": $family, \"model\": [0-9]*}, \"threads\": [0-9]"
cp "$tmp/out" "$tmp/old.json"
expect 0 "$spmvx" bench --place host --flush 4 --repeat 3 --min-time 0 --kernels 'csr-vector;auto' --json -o "$tmp/new.json" lap2d_9 lap2d_8; silent out
if command -v python3 >/dev/null; then
    for f in old new; do
        python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert [c["matrix"] for c in r["cases"]] == ["lap2d_9", "lap2d_8"]; \
assert all(len(c["results"]) == 3 and len(c["read_bytes_s"]) == 3 for c in r["cases"])' "$tmp/$f.json" || { echo "$f.json is wrong:"; cat "$tmp/$f.json"; bad=1; }
    done
fi
"$spmvx" compare "$tmp/old.json" "$tmp/old.json" >"$tmp/out" 2>"$tmp/err"
if grep -q 'built without' "$tmp/err"; then
    echo 'no Jansson: compare is not tested'
else
    expect 0 "$spmvx" compare --fail "$tmp/old.json" "$tmp/old.json"; has out '^6 compared: 0 slower, 0 faster, 0 gone; times x1.000'
    # Times ten for one result of one matrix.
    awk '!done && /"name": "csr-vector"/ { while (match($0, /e-0[5-9]/)) $0 = substr($0, 1, RSTART - 1) "e-0" substr($0, RSTART + 3, 1) - 1 "X" substr($0, RSTART + 4)
        gsub(/X/, ""); done = 1 } { print }' "$tmp/old.json" >"$tmp/slow.json"
    expect 1 "$spmvx" compare --fail "$tmp/old.json" "$tmp/slow.json"; has out '^slower  *lap2d_9 .*csr-vector'; has out '6 compared: 1 slower'
    expect 0 "$spmvx" compare "$tmp/old.json" "$tmp/slow.json"; has out '^slower'
    expect 0 "$spmvx" compare --fail "$tmp/slow.json" "$tmp/old.json"; has out '^faster  *lap2d_9 .*csr-vector'
    expect 1 "$spmvx" compare "$tmp/old.json" "$tmp/none.json"; has err 'none.json'
    # Results of earlier versions lack fields; what has become too large is gone, for the reason that its row has.
    sed 's/"setups": [0-9]*, //g; s/"setup_muls": [0-9.]*, //g' "$tmp/old.json" >"$tmp/older.json"
    expect 0 "$spmvx" compare --fail "$tmp/older.json" "$tmp/old.json"; has out '^6 compared: 0 slower, 0 faster, 0 gone'
    for limit in 0 6000; do
        # shellcheck disable=SC2086
        expect 0 "$spmvx" bench $limited --max-bytes $limit --kernels 'csr-vector;bsr' --json -o "$tmp/$limit.json" lap2d_9
    done
    expect 0 "$spmvx" compare "$tmp/0.json" "$tmp/6000.json"; has out '^gone  *lap2d_9  *bsr  *was [0-9.]* us: BSR would hold'; has out ' 1 gone'
    echo '{"cases": [' >"$tmp/half.json"
    expect 1 "$spmvx" compare "$tmp/old.json" "$tmp/half.json"; has err 'half.json: line'
    echo '{"a": 1}' >"$tmp/other.json"
    expect 1 "$spmvx" compare "$tmp/other.json" "$tmp/old.json"; has err 'no list of cases'
    expect 0 "$spmvx" compare --fail "$tmp/product.json" "$tmp/product.json"; has out '^8 compared: 0 slower'
    expect 1 "$spmvx" compare "$tmp/product.json" "$tmp/old.json"; has err 'no result in common'
    echo '{"cases": []}' >"$tmp/nothing.json"
    expect 1 "$spmvx" compare "$tmp/old.json" "$tmp/nothing.json"; has err 'no result in common'
fi
expect 2 "$spmvx" compare "$tmp/old.json"; has err 'two wanted'
exit $bad
