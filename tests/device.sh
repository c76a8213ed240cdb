#!/bin/sh
# Builds on a machine with an NVIDIA GPU and runs there: every test, the device's among them; every device kernel under
# compute-sanitizer's memcheck, racecheck, initcheck and synccheck; and all of them on large matrices against the reference on the
# host and beside cuSPARSE. Needs nvcc, meson, ninja and a C and C++ compiler. Ends with 'N passed, N failed, N skipped'.
#     sh tests/device.sh [--cmocka DIR] [--part tests|memcheck|racecheck|initcheck|synccheck|speed] [-o PAGE]
# --cmocka DIR   where cmocka is not installed: DIR/include and DIR/lib with libcmocka.so
# --part PART    this alone, where time is short; the page then has what the other parts found before in the same build
# -o PAGE        the summary as Markdown (docs/results/device-tests.md)
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
build=$here/build-device
page='' cmocka='' table='' check_only='' all='tests memcheck racecheck initcheck synccheck speed' parts=''
while [ $# -gt 0 ]; do
    case $1 in
    --cmocka) cmocka=$(cd "$2" && pwd) && shift 2 ;;
    --part) parts=$2 && shift 2 ;;
    --check) shift && check_only="$*" && break ;;   # one of its own runs
    -o) page=$2 && shift 2 ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    esac
done
mkdir -p "$build"
if [ -n "$cmocka" ]; then
    printf 'prefix=%s\nName: cmocka\nDescription: unit tests\nVersion: 1.1.5\nLibs: -L${prefix}/lib -lcmocka\nCflags: -I${prefix}/include\n' "$cmocka" >"$build/cmocka.pc"
    PKG_CONFIG_PATH=$build${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
    LD_LIBRARY_PATH=$cmocka/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PKG_CONFIG_PATH LD_LIBRARY_PATH
fi
# Of a part: its counts, and its rows of the page's table.
row() { echo "| $1 | $2 |" >>"$build/$part.rows"; }
begin_part() { part=$1 passed=0 failed=0 skipped=0 && : >"$build/$part.rows" && echo "== $part"; }
end_part() { echo "$passed $failed $skipped" >"$build/$part.counts"; }

# check TOOL PROGRAM [KERNEL]: a program under a tool of compute-sanitizer; with fewer numbers, as on the emulator.
check() {
    api='' log=$build/sanitizers/$1-$2${3:+-$3}.log
    [ "$1" = memcheck ] && api="--report-api-errors no"   # which the tests provoke
    few=1
    [ "$1" = racecheck ] && few=2   # which takes four times as long as the others
    # shellcheck disable=SC2086
    TEST_EMULATED=$few TEST_PLACE=cuda TEST_DATA=$here/tests/data compute-sanitizer --tool "$1" $api "$build/tests/device/test_$2_device" ${3:+"$3"} >"$log" 2>&1
    echo "exit status $?" >>"$log"
}
if [ -n "$check_only" ]; then
    # shellcheck disable=SC2086
    check $check_only
    exit
fi

echo "== building in $build"
if ! { { [ -f "$build/build.ninja" ] || meson setup "$build" "$here" -Dtests=true -Dcuda=enabled -Dpeers=enabled; } && ninja -C "$build"; } >"$build/build.log" 2>&1; then
    tail -n 40 "$build/build.log"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi

# The count behind a label of meson's summary, which leaves some out that are 0.
count() { sed -n "s/^$1: *\([0-9][0-9]*\) *$/\1/p" "$build/tests.log" | tail -n 1 | grep . || echo 0; }
run_tests() {
    meson test -C "$build" --no-rebuild --no-suite install --no-suite peers --print-errorlogs >"$build/tests.log" 2>&1
    grep -E 'FAIL|TIMEOUT|SKIP' "$build/tests.log"
    [ "$(count Fail)" = 0 ] || grep -E 'error:|line |expected|wanted|not ' "$build/tests.log" | head -n 40
    passed=$(count Ok) failed=$(($(count Fail) + $(count Timeout))) skipped=$(count Skipped)
    row "tests" "$passed passed, $failed failed, $skipped skipped"
}

# checked TOOL PROGRAM: its line of the summary, over the kernels.
checked() {
    runs=0 found=0
    for log in "$build/sanitizers/$1-$2".log "$build/sanitizers/$1-$2"-*.log; do
        [ -f "$log" ] || continue
        runs=$((runs + 1))
        case $(sed -n 's/^=* *\(ERROR SUMMARY\|RACECHECK SUMMARY\): *//p' "$log" | tail -n 1)$(tail -n 1 "$log") in
        "0 errors"*"exit status 0" | "0 hazards"*"exit status 0") ;;
        *) found=$((found + 1)) && echo "== $log" && tail -n 30 "$log" ;;
        esac
    done
    if [ "$found" = 0 ] && [ "$runs" != 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    row "$1, test_$2" "$runs runs, $found with a finding"
    echo "$1 $2: $runs runs, $found with a finding"
}
# Programs that take each kernel by itself, and those that take all; several at a time, which wait for the device in turns.
sanitize() {
    rm -f "$build/sanitizers/$1"-* && mkdir -p "$build/sanitizers"
    kernels=$("$build/examples/spmvx" kernels --available | sed -n 's|^cuda/mul/\([^ ]*\).*|\1|p')
    {
        for program in device ends capture lengths split shared_x dia products products_by_rows products_by_shapes products_by_terms products_of_long_rows products_small products_thin builders; do echo "$1 $program"; done
        for kernel in $kernels; do printf '%s walk %s\n%s each_kernel %s\n' "$1" "$kernel" "$1" "$kernel"; done
    } | xargs -P "$(nproc)" -L 1 sh "$here/tests/device.sh" --check
    for program in walk each_kernel device ends capture lengths split shared_x dia products products_by_rows products_by_shapes products_by_terms products_of_long_rows products_small products_thin builders; do checked "$1" $program; done
}

large='lap3d_128 stencil27_64 fem3dof_30 delaunay_n18 kron_18 circuit_1M random_200k dense_2000 mc2depi_like web_400000'
# Against the host's reference, and beside cuSPARSE.
run_speed() {
    peer=$build/tests/bench/peers/peer_cusparse.so
    [ -f "$peer" ] || peer=
    # shellcheck disable=SC2086
    if "$build/examples/spmvx" bench $large --place cuda --types f64,f32 --states warm --repeat 5 ${peer:+--peers "$peer"} --csv -o "$build/large.csv"; then
        passed=1
    else
        failed=1
    fi
}

find "$build" -maxdepth 1 -name '*.counts' ! -newer "$build/lib/libspmvx.so" -delete   # of another build
for each in ${parts:-$all}; do
    begin_part "$each"
    case $each in
    tests | speed) "run_$each" ;;
    *) sanitize "$each" ;;
    esac
    end_part
done

# name, matrices, largest error, geometric mean of the best cuSPARSE over it
if [ -f "$build/large.csv" ]; then
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
fi

passed=0 failed=0 skipped=0
for each in $all; do
    [ -f "$build/$each.counts" ] || continue
    read -r p f k <"$build/$each.counts"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + k))
done
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
        for each in $all; do cat "$build/$each.rows"; done
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
