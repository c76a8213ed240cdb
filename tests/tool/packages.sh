#!/bin/sh
# What examples/packages.sh and examples/quickstart.sh do where packages are missing, on a made-up machine: PATH holds stand-ins
# for the compiler, Meson, Ninja, id and the package manager. packages.sh ROOT
set -u
root=$1
# shellcheck source=expect.sh
. "$(dirname "$0")/expect.sh"

# A machine is a folder: headers/ and bin/ are what is there, mirror what apt-get can install, a package a line.
fake=$tmp/machine
stand_in() { cat >"$fake/tools/$1"; chmod +x "$fake/tools/$1"; }
mkdir -p "$fake/tools"
stand_in cc <<'END'
#!/bin/sh
# Preprocesses "#include <NAME>" lines: fails where headers/NAME is missing.
while read -r word name; do
    name=${name#<}; name=${name%>}
    [ "$word" != '#include' ] || case $name in std*|setjmp.h) ;; *) [ -e "$FAKE/headers/$name" ] || exit 1 ;; esac
done
END
stand_in apt-get <<'END'
#!/bin/sh
echo "$*" >>"$FAKE/apt.log"
[ -s "$FAKE/mirror" ] || { echo 'E: no mirror answers' >&2; exit 100; }
[ "$1" = install ] || exit 0
simulate=
for p; do case $p in
    -s) simulate=yes ;;
    -* | install) ;;
    *) grep -qx "$p" "$FAKE/mirror" || { echo "E: Unable to locate package $p" >&2; exit 100; } ;;
esac; done
[ -z "$simulate" ] || exit 0
for p; do case $p in
    zlib1g-dev) : >"$FAKE/headers/zlib.h" ;;
    libzstd-dev) : >"$FAKE/headers/zstd.h" ;;
    liblzma-dev) : >"$FAKE/headers/lzma.h" ;;
    libjansson-dev) : >"$FAKE/headers/jansson.h" ;;
    libzip-dev) : >"$FAKE/headers/zip.h" ;;
    meson) ln -s "$FAKE/tools/meson" "$FAKE/bin/meson" ;;
esac; done
END
stand_in id <<'END'
#!/bin/sh
cat "$FAKE/user"
END
stand_in meson <<'END'
#!/bin/sh
echo "meson $*" >>"$FAKE/build.log"
[ "$2" = --reconfigure ] || { : >"$2/build.ninja"; mkdir -p "$2/examples"; }
END
stand_in ninja <<'END'
#!/bin/sh
cp "$FAKE/tools/spmvx" "$2/examples/spmvx"
END
stand_in spmvx <<'END'
#!/bin/sh
echo "spmvx $*"
END
stand_in pkg-config <<'END'
#!/bin/sh
END

# machine USER MIRROR-PACKAGES...: everything is there, and Debian's system tools
machine() {
    rm -rf "$fake/bin" "$fake/headers" "$fake/apt.log" "$fake/build.log"
    mkdir "$fake/bin" "$fake/headers"
    echo "$1" >"$fake/user"
    shift
    printf '%s\n' "$@" | sed '/^$/d' >"$fake/mirror"
    for h in zlib zstd lzma jansson zip metis cmocka; do : >"$fake/headers/$h.h"; done
    for t in cc apt-get id meson ninja pkg-config; do ln -s "$fake/tools/$t" "$fake/bin/$t"; done
    for t in sh cat cut dirname mkdir grep sed ln cp; do ln -s "$(command -v $t)" "$fake/bin/$t"; done
}
lacks() { for x; do rm "$fake/headers/$x.h" 2>/dev/null || rm "$fake/bin/$x"; done; }
on_it() { env -i PATH="$fake/bin" FAKE="$fake" "$@"; }
need() { on_it sh -euc '. "$1"; need_packages ${2:-}; echo "without: $missing_optional."' sh "$root/examples/packages.sh" "${1:-}"; }

machine 0
expect 0 need; silent err; [ ! -e "$fake/apt.log" ] || { echo 'apt-get was asked for nothing'; bad=1; }

# No mirror: optional packages do not stop it, and each is named with what goes with it.
machine 0; lacks zstd zip
expect 0 need; has out '^without: libzstd-dev libzip-dev.$'
has err '^    files compressed by zstd (.zst) (libzstd-dev)$'; has err "^    SciPy's files (.npz) (libzip-dev)$"; hasnot err 'gzip'; has err 'apt-get install -y libzstd-dev libzip-dev$'
machine 0; lacks zlib zstd lzma jansson zip metis pkg-config
expect 0 need; [ "$(grep -c '^    .* ([a-z0-9-]*)$' "$tmp/err")" = 7 ] || { echo 'not seven features are named:'; cat "$tmp/err"; bad=1; }
# A required one does.
for required in meson ninja cc; do
    machine 0; lacks $required zstd
    expect 1 need; has err 'packages are missing: .*\(meson\|ninja-build\|gcc libc6-dev\)'; hasnot out 'without'
done
# So does any for the tests.
machine 0; lacks zstd
expect 1 need test; has err 'packages are missing: libzstd-dev'

# A mirror that has all, all but one, or a required one.
machine 0 libzstd-dev libzip-dev; lacks zstd zip
expect 0 need; has out '^without: .$'; silent err
machine 0 libzstd-dev; lacks zstd zip
expect 0 need; has out '^without: libzip-dev.$'; has err '.npz'; hasnot err '.zst)'
machine 0 meson; lacks meson zip
expect 0 need; has out '^without: libzip-dev.$'

# Not root; and where there is no apt-get.
machine 1000 libzstd-dev; lacks zstd
expect 0 need; has err '^    sudo apt-get install -y libzstd-dev$'; has out '^without: libzstd-dev.$'; [ ! -e "$fake/apt.log" ] || { echo 'apt-get ran'; bad=1; }
machine 1000; lacks zstd meson
expect 1 need; has err '^    sudo apt-get install -y meson libzstd-dev$'
machine 0; lacks apt-get zstd
expect 0 need; has err '^    libzstd-dev$'; hasnot err 'apt-get'
machine 0; lacks apt-get meson
expect 1 need; has err 'packages are missing: meson'

# The whole quickstart: it goes on, takes a matrix that it can read, and looks for libraries again once others are missing.
mkdir -p "$tmp/clone/tests/data"
cp -r "$root/examples" "$tmp/clone/examples"
quickstart() { on_it sh "$tmp/clone/examples/quickstart.sh" "$@"; }
machine 0; lacks zstd zlib
expect 0 quickstart; has out '^spmvx bench --place host lap3d_32$'; has err '(.gz) (zlib1g-dev)'; has err '(.zst)'
[ "$(cat "$fake/build.log")" = "meson setup $tmp/clone/build $tmp/clone" ] || { cat "$fake/build.log"; bad=1; }
expect 0 quickstart mine.mtx; has out '^spmvx bench --place host mine.mtx$'
[ "$(wc -l <"$fake/build.log")" = 1 ] || { echo 'set up again for nothing'; bad=1; }
: >"$fake/headers/zlib.h"
expect 0 quickstart; has out 'ginkgo_A_ir.mtx.gz'; hasnot err '(.gz)'; has err '(.zst)'
grep -q -e --reconfigure "$fake/build.log" || { echo 'not set up again'; bad=1; }
lacks meson
expect 1 quickstart; has err 'missing: meson'; hasnot out '^spmvx bench'
exit $bad
