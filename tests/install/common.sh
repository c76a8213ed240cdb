# shellcheck shell=sh disable=SC2034
# Shared by the scripts of this folder, each called as: SCRIPT SOURCE BUILD
#
# Sets source, build, tmp (a fresh folder that is the current one and goes at the end) and CC. Exit 77 means skipped.
set -eu
source=$(cd "$1" && pwd -P)
build=$(cd "$2" && pwd -P)
: "${CC:=cc}"
unset DESTDIR
tmp=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
cd "$tmp"

fail()
{
    echo "FAILED: $*" >&2
    exit 1
}

need()
{
    for program; do
        command -v "$program" >/dev/null || { echo "skipped: no $program"; exit 77; }
    done
}

# Installs under $dest, so that nothing is written where the prefix points to. pc is the package file, prefix as configured.
install_library()
{
    dest=$tmp/dest
    meson install --no-rebuild --quiet -C "$build" --destdir "$dest" || fail "meson install"
    pc=$(find "$dest" -name spmvx.pc)
    prefix=$(sed -n 's/^prefix=//p' "$pc")
}

# Whether the program $1 multiplies as it should: the rows of 662_bus and the sum of all its entries are known.
check_mul()
{
    "$1" "$source/tests/data/662_bus.mtx.gz" >mul.out || fail "$1 exits $?"
    cat mul.out
    grep -q '^662 x 662, 2474 nonzeros' mul.out || fail "$1: wrong matrix"
    grep -q '^sum of y = 1408\.66912' mul.out || fail "$1: wrong sum"
}

# The line that the README gives for pkg-config.
readme_line()
{
    sed -n 's/^\(cc mine\.c .*\)  *# pkg-config.*/\1/p' "$source/README.md" | grep . || fail "the README has no line for pkg-config"
}
