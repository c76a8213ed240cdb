#!/bin/sh
# Installs the library and uses it as a stranger does who knows pkg-config: are the files there, and no others, do the examples build
# and run against them, and does the tool find the library wherever the tree lies?
. "$(dirname "$0")/common.sh"
need meson pkg-config "${CC%% *}" readelf
install_library

PKG_CONFIG_PATH=$(dirname "$pc"):${PKG_CONFIG_PATH:-}
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir spmvx)
includedir=$(pkg-config --variable=includedir spmvx)
version=$(pkg-config --modversion spmvx)
major=${version%%.*}

doc=${DATADIR:-$prefix/share}/doc/spmvx

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
    (cd "$source" && find LICENSE README.md NEWS.md CONTRIBUTING.md docs examples/*.c examples/*.h examples/*.cu examples/*.f90 tests/simt/README.md tests/bench/peer.h ! -type d) |
        grep -v '^docs/make-\(patterns\|products\|results\|speed\|study\)\.py$\|^docs/study-pages\.py$\|^docs/studies[./]' | sed "s|^|$doc/|"
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

# What the installed pages link to is installed; a target with neither a dot nor a slash is code in a text.
grep -o '](\([^)#:]*[./][^)#:]*\)[)#]' -r "$dest$doc" --include='*.md' | sed 's/](//; s/[)#]$//' | while IFS=: read -r page target; do
    [ -e "$(dirname "$page")/$target" ] || echo "$page: $target is not there"
done >missing
[ ! -s missing ] || { cat missing; fail "the installed pages have links to what is not installed"; }

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

bindir=${BINDIR:-$prefix/bin}
unset LD_LIBRARY_PATH
if [ -e "$dest$bindir/spmvx" ] && [ "$prefix" != /usr ]; then
    "$dest$bindir/spmvx" kernels >/dev/null || fail "the installed spmvx exits $?"
    mv "$dest" "$tmp/moved"
    "$tmp/moved$bindir/spmvx" kernels >/dev/null || fail "the installed spmvx exits $? where it was moved to"
    mv "$tmp/moved" "$dest"
fi

# An empty /usr/local: with that of this machine out of sight, in a namespace of its own.
if [ "$prefix" != /usr/local ]; then echo "not tried in /usr/local: the prefix is $prefix" && exit 0; fi
cat >inside.sh <<'END'
set -eu
mount --bind "$dest/usr/local" /usr/local
PATH=/usr/bin:/bin:/usr/sbin:/sbin
command -v cc pkg-config >/dev/null || { echo "not tried in /usr/local: cc and pkg-config are there"; exit 0; }
[ ! -e "$bindir/spmvx" ] || "$bindir/spmvx" kernels >/dev/null
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
echo "$line"
eval "$line"
./a.out "$source/tests/data/662_bus.mtx.gz"
# Without the run path, after ldconfig.
line=${line%-Wl,-rpath*}
rm a.out
eval "$line"
if ldconfig -p | grep -q "$libdir/libspmvx\.so"; then echo "the loader knows $libdir already" >&2 && exit 1; fi
{ echo "$libdir"; echo "include /etc/ld.so.conf"; } >ld.so.conf
ldconfig -X -i -f "$PWD/ld.so.conf" -C "$PWD/ld.so.cache"
mount --bind ld.so.cache /etc/ld.so.cache
./a.out "$source/tests/data/662_bus.mtx.gz"
END
cp "$source/examples/mul.c" mine.c
line=$(readme_line)
pc=${pc#"$dest"}
export dest bindir pc line source libdir
if [ "$(id -u)" = 0 ]; then own='unshare -m'; else own='unshare -rm'; fi
if $own true 2>/dev/null && $own mount --bind "$tmp" /usr/local 2>/dev/null; then
    $own sh inside.sh || fail "in an empty /usr/local"
else
    echo "not tried in /usr/local: no mount namespace is to be had"
fi
