#!/bin/sh
# Installs what the tests need, builds with warnings as errors, runs every test as it is and again under AddressSanitizer and
# UBSan, those on the emulator of GPUs under the sanitizers alone (they take most of the time), and ends with the line
# 'N passed, N failed, N skipped'.
#     sh tests/run.sh
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=../examples/packages.sh
. "$here/examples/packages.sh"
need_packages test

passed=0 failed=0 skipped=0

# The count behind a label in meson's summary.
count() { sed -n "s/^$1: *\([0-9][0-9]*\) *$/\1/p" "$2" | tail -n 1; }

# run NAME MESON-OPTIONS...: one build and its tests
run() {
    dir=$here/build-$1
    log=$dir/tests.log
    name=$1
    shift
    mkdir -p "$dir"
    echo "== $name: building in $dir"
    if ! { { [ -f "$dir/build.ninja" ] || meson setup "$dir" "$here" -Dtests=true -Dwerror=true "$@"; } && ninja -C "$dir"; } >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "== $name: the build failed"
        failed=$((failed + 1))
        return
    fi
    meson test -C "$dir" --no-rebuild --print-errorlogs -t 4 >"$log" 2>&1
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

run test -Dsimt=disabled
# A leak fails a test too, by LeakSanitizer. Built so that compiling takes half as long; AddressSanitizer sees what the check of
# objects' sizes would.
ASAN_OPTIONS=${ASAN_OPTIONS:-abort_on_error=0:detect_stack_use_after_return=1} \
    UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1} \
    run sanitize -Doptimization=1 -Ddebug=true '-Dc_args=-g1 -fno-sanitize=object-size' '-Dcpp_args=-g1 -fno-sanitize=object-size' -Db_sanitize=address,undefined -Db_lundef=false

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
