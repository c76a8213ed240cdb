#!/bin/sh
# clang.sh SOURCE BUILD: all but the emulator, the tests among it, built by clang with warnings as errors, and some of the tests run
# with what clang made.
. "$(dirname "$0")/../install/common.sh"
need meson ninja clang

CC=clang meson setup build "$source" -Dwerror=true -Dtests=true -Dcuda=disabled -Dsimt=disabled -Dbuildtype=debug -Ddebug=false >setup.log 2>&1 ||
    { cat setup.log; fail "meson setup"; }
grep '^  *openmp' setup.log
ninja -j1 -k0 -C build >build.log 2>&1 || { grep -E 'error:|FAILED' build.log; fail "the build"; }
set -- 'walk, all kernels' 'walk host/mul/csr-vector' 'walk host/mul/sell' contract symbols mul threads
[ "$(uname -m)" != x86_64 ] || set -- "$@" 'walk host/mul/csr-vector@avx2' 'walk host/mul/sell@avx512'
meson test -C build --no-rebuild --num-processes 1 --print-errorlogs "$@" >test.log 2>&1 || { cat test.log; fail "the tests"; }
grep '^Ok' test.log
