#!/bin/sh
# Installs what the tests need, builds with warnings as errors, runs tests, and ends with the line
# 'N passed, N failed, N skipped'.
#     sh tests/run.sh          one build, with a GPU's kernels on the GPU that is there, if nvcc is, else on the emulator; all but the suite
#                              'long': a quarter of an hour on two cores
#     sh tests/run.sh --all    what CI runs, and what has to pass before anything lands: CUDA compiled where nvcc is, every test as
#                              it is, and again under AddressSanitizer and UBSan, those on the emulator under these alone (they take
#                              most of the time): three quarters of an hour
set -u
case $#:${1:-} in
0:) all= ;;
1:--all) all=yes ;;
*)
    echo "usage: sh tests/run.sh [--all]" >&2
    exit 2
    ;;
esac
here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=../examples/packages.sh
. "$here/examples/packages.sh"
need_packages test

passed=0 failed=0 skipped=0

# The count behind a label in meson's summary.
count() { sed -n "s/^$1: *\([0-9][0-9]*\) *$/\1/p" "$2" | tail -n 1; }

# run NAME SUITES MESON-OPTIONS...: one build and its tests; SUITES are options of meson test
run() {
    dir=$here/build-$1
    log=$dir/tests.log
    name=$1
    suites=$2
    shift 2
    mkdir -p "$dir"
    echo "== $name: building in $dir"
    if ! { { [ -f "$dir/build.ninja" ] || meson setup "$dir" "$here" -Dtests=true -Dwerror=true "$@"; } && ninja -C "$dir"; } >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "== $name: the build failed"
        failed=$((failed + 1))
        return
    fi
    # shellcheck disable=SC2086
    meson test -C "$dir" --no-rebuild --print-errorlogs -t 4 $suites >"$log" 2>&1
    cat "$log"
    ok=$(count Ok "$log") bad=$(count Fail "$log") late=$(count Timeout "$log") odd=$(count 'Unexpected Pass' "$log") skip=$(count Skipped "$log")
    if [ -z "$ok" ]; then
        echo "== $name: the tests did not run to their end"
        failed=$((failed + 1))
        return
    fi
    passed=$((passed + ok))
    failed=$((failed + bad + late + odd))
    skipped=$((skipped + skip))
}

if [ -z "$all" ]; then
    if [ -e /dev/nvidiactl ] && { command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; }; then
        run quick-cuda '--no-suite long' -Dsimt=disabled
    else
        run quick '--no-suite long' -Dcuda=disabled
    fi
else
    run test '' -Dsimt=disabled
    # A leak fails a test too, by LeakSanitizer. Built so that compiling takes half as long; AddressSanitizer sees what the check of
    # objects' sizes would.
    ASAN_OPTIONS=${ASAN_OPTIONS:-abort_on_error=0:detect_stack_use_after_return=1} \
        UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1} \
        run sanitize '' -Doptimization=1 -Ddebug=true '-Dc_args=-g1 -fno-sanitize=object-size' '-Dcpp_args=-g1 -fno-sanitize=object-size' -Db_sanitize=address,undefined -Db_lundef=false
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
