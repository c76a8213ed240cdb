#!/bin/sh
# Builds on a machine with an NVIDIA GPU and runs there: every test, the device's among them; every device kernel under
# compute-sanitizer's memcheck, racecheck, initcheck and synccheck; and all of them on large matrices against the reference on the
# host and beside cuSPARSE. Needs nvcc, meson, ninja and a C and C++ compiler. Ends with 'N passed, N failed, N skipped'.
#     sh tests/device.sh [--cmocka DIR] [-o PAGE]
# --cmocka DIR   where cmocka is not installed: DIR/include and DIR/lib with libcmocka.so
# -o PAGE        the summary as Markdown (docs/results/device-tests.md)
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
build=$here/build-device
page= cmocka=
while [ $# -gt 0 ]; do
    case $1 in
    --cmocka) cmocka=$(cd "$2" && pwd) && shift 2 ;;
    -o) page=$2 && shift 2 ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    esac
done
mkdir -p "$build"
if [ -n "$cmocka" ]; then
    printf 'prefix=%s\nName: cmocka\nDescription: unit tests\nVersion: 1.1.5\nLibs: -L${prefix}/lib -lcmocka\nCflags: -I${prefix}/include\n' "$cmocka" >"$build/cmocka.pc"
    PKG_CONFIG_PATH=$build${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
    LD_LIBRARY_PATH=$cmocka/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PKG_CONFIG_PATH LD_LIBRARY_PATH
fi
passed=0 failed=0 skipped=0 lines=
row() { lines="$lines| $1 | $2 |
"; }

echo "== building in $build"
if ! { { [ -f "$build/build.ninja" ] || meson setup "$build" "$here" -Dtests=true -Dcuda=enabled -Dpeers=enabled; } && ninja -C "$build"; } >"$build/build.log" 2>&1; then
    tail -n 40 "$build/build.log"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi

echo "== tests"
# The count behind a label of meson's summary, which leaves some out that are 0.
count() { sed -n "s/^$1: *\([0-9][0-9]*\) *$/\1/p" "$build/tests.log" | tail -n 1 | grep . || echo 0; }
meson test -C "$build" --no-rebuild --no-suite install --no-suite peers --print-errorlogs >"$build/tests.log" 2>&1
grep -E 'FAIL|TIMEOUT|SKIP' "$build/tests.log"
[ "$(count Fail)" = 0 ] || grep -E 'error:|line |expected|wanted|not ' "$build/tests.log" | head -n 40
passed=$(count Ok) failed=$(($(count Fail) + $(count Timeout))) skipped=$(count Skipped)
row "tests" "$passed passed, $failed failed, $skipped skipped"

# start TOOL PROGRAM: a program under a tool of compute-sanitizer, beside others.
start() {
    api= && [ "$1" = memcheck ] && api="--report-api-errors no"   # which the tests provoke
    # shellcheck disable=SC2086
    TEST_PLACE=cuda TEST_DATA=$here/tests/data compute-sanitizer --tool "$1" $api "$build/tests/device/$2" >"$build/$1-$2.log" 2>&1
    echo $? >"$build/$1-$2.status"
}
# ended TOOL PROGRAM: its line of the summary.
ended() {
    log=$build/$1-$2.log
    status=$(cat "$build/$1-$2.status")
    found=$(sed -n 's/^=* *\(ERROR SUMMARY\|RACECHECK SUMMARY\): *//p' "$log" | tail -n 1)
    case "$status $found" in
    "0 0 errors"* | "0 0 hazards"*) passed=$((passed + 1)) ;;
    *) failed=$((failed + 1)) && tail -n 30 "$log" ;;
    esac
    row "$1, $2" "${found:-no summary}"
    echo "$1 $2: ${found:-no summary}"
}
programs="test_walk_device test_device_device test_each_kernel_device test_capture_device test_lengths_device"
echo "== compute-sanitizer"
for tool in memcheck racecheck initcheck synccheck; do
    for program in $programs; do start $tool "$program" & done
done
wait
for tool in memcheck racecheck initcheck synccheck; do
    for program in $programs; do ended $tool "$program"; done
done

echo "== against the host's reference and cuSPARSE"
large='lap3d_128 stencil27_64 fem3dof_30 delaunay_n18 kron_18 circuit_1M random_200k dense_2000 mc2depi_like web_400000'
peer=$build/tests/bench/peers/peer_cusparse.so
[ -f "$peer" ] || peer=
# shellcheck disable=SC2086
if "$build/examples/spmvx" bench $large --place cuda --types f64,f32 --states warm --repeat 5 ${peer:+--peers "$peer"} --csv -o "$build/large.csv"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
fi
# name, matrices, largest error, geometric mean of the best cuSPARSE over it
table=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
    NR > 1 {
        while (match($0, /"[^"]*"/)) {   # names of kernels have commas
            text = substr($0, RSTART + 1, RLENGTH - 2); gsub(/,/, ";", text)
            $0 = substr($0, 1, RSTART - 1) text substr($0, RSTART + RLENGTH)
        }
        where = $column["matrix"] "," $column["type"]; took = $column["time_s"]; kind = $column["kind"]
        if (kind == "peer" && took > 0 && (!(where in peer) || took < peer[where])) peer[where] = took
        if (kind == "kernel" && took > 0) { n++; name[n] = $column["name"]; at[n] = where; time[n] = took; error[n] = $column["error"] } }
    END { for (i = 1; i <= n; i++) { k = name[i]; if (!(k in count)) order[++kinds] = k
            count[k]++; if (error[i] + 0 > worst[k] + 0) worst[k] = error[i]
            if (at[i] in peer) { sum[k] += log(peer[at[i]] / time[i]); both[k]++ } }
        for (i = 1; i <= kinds; i++) { k = order[i]
            printf "| `%s` | %d | %s | %s |\n", k, count[k], worst[k], both[k] ? sprintf("%.2f", exp(sum[k] / both[k])) : "" } }' "$build/large.csv")
printf '%s\n' "$table"

if [ -n "$page" ]; then
    gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
    {
        echo "# The tests on a GPU"
        echo
        echo "<!-- made by tests/device.sh -->"
        echo
        echo "$gpu (driver), $(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/nvcc \1/p'), $(date -u +%Y-%m-%d): **$passed passed, $failed failed, $skipped skipped**."
        echo
        echo "| what | result |"
        echo "| --- | --- |"
        printf '%s' "$lines"
        echo
        echo "Every kernel on ten generated matrices of 5 to 170 MB, f64 and f32 ($large): the largest error of a row over |A||x|, and the time of"
        echo "cuSPARSE's best format and algorithm over the kernel's, geometric mean. Times are docs/results/gpu.md's subject; these are of five rounds."
        echo
        echo "| kernel | cases | largest error | cuSPARSE's best over it |"
        echo "| --- | --: | --: | --: |"
        printf '%s\n' "$table"
    } >"$page"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
