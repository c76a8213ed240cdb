#!/bin/sh
# Installs the library and uses it as a stranger does who knows pkg-config: are the files there, and no others, and do the
# examples build and run against them?
. "$(dirname "$0")/common.sh"
need meson pkg-config "${CC%% *}" readelf
install_library

PKG_CONFIG_PATH=$(dirname "$pc"):${PKG_CONFIG_PATH:-}
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir spmvx)
includedir=$(pkg-config --variable=includedir spmvx)
version=$(pkg-config --modversion spmvx)
major=${version%%.*}

expected_files()
{
    echo "$includedir/spmvx/spmvx.h"
    echo "$includedir/spmvx/version.h"
    echo "$libdir/pkgconfig/spmvx.pc"
    echo "$prefix/lib/cmake/spmvx/spmvxConfig.cmake"
    echo "$prefix/lib/cmake/spmvx/spmvxConfigVersion.cmake"
    if [ -e "$build/lib/libspmvx.a" ]; then echo "$libdir/libspmvx.a"; fi
    if [ -e "$build/lib/libspmvx.so" ]; then
        echo "$libdir/libspmvx.so"
        echo "$libdir/libspmvx.so.$major"
        echo "$libdir/libspmvx.so.$version"
    fi
    if [ -e "$build/examples/spmvx" ]; then
        echo "${BINDIR:-$prefix/bin}/spmvx"
        echo "${MANDIR:-$prefix/share/man}/man1/spmvx.1"
        echo "${DATADIR:-$prefix/share}/bash-completion/completions/spmvx"
        echo "${DATADIR:-$prefix/share}/zsh/site-functions/_spmvx"
    fi
}

expected_files | sort >expected
(cd "$dest" && find . ! -type d | sed 's/^\.//' | sort) >found
diff -u expected found || fail "installed files differ from those expected"

header_version=$(awk '/^#define SPMVX_VERSION_(MAJOR|MINOR|PATCH) / { v = v s $3; s = "." } END { print v }' \
    "$dest$includedir/spmvx/version.h")
[ "$version" = "$header_version" ] || fail "pkg-config says $version, version.h $header_version"
case $(pkg-config --variable=has_cuda spmvx) in
    0 | 1) ;;
    *) fail "has_cuda is '$(pkg-config --variable=has_cuda spmvx)'" ;;
esac

LD_LIBRARY_PATH=$dest$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
for example in mul cg custom_arrays; do
    # shellcheck disable=SC2046,SC2086  # flags are words
    $CC "$source/examples/$example.c" -o "$example" $(PKG_CONFIG_SYSROOT_DIR=$dest pkg-config --cflags --libs spmvx) -lm ||
        fail "$example does not build"
done
check_mul ./mul
./cg "$source/tests/data/ginkgo_A_ir.mtx.gz" || fail "cg exits $?"
./custom_arrays || fail "custom_arrays exits $?"
if ./mul no-such-file; then fail "mul accepts a file that is not there"; fi

if [ -e "$dest$libdir/libspmvx.so" ]; then
    [ "$(readlink "$dest$libdir/libspmvx.so")" = "libspmvx.so.$major" ] || fail "libspmvx.so leads elsewhere"
    [ "$(readlink "$dest$libdir/libspmvx.so.$major")" = "libspmvx.so.$version" ] || fail "libspmvx.so.$major leads elsewhere"
    readelf -d "$dest$libdir/libspmvx.so" >dynamic
    grep -q "SONAME.*\[libspmvx\.so\.$major\]" dynamic || fail "the soname is not libspmvx.so.$major"
    if grep -E 'R(UN)?PATH' dynamic; then fail "the installed library has a run path"; fi
    readelf -d mul | grep -q "NEEDED.*\[libspmvx\.so\.$major\]" || fail "mul does not ask for libspmvx.so.$major"
fi

tool=$dest${BINDIR:-$prefix/bin}/spmvx
if [ -e "$tool" ]; then
    "$tool" kernels >/dev/null || fail "the installed spmvx exits $?"
fi
