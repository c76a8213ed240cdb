#!/bin/sh
# From a fresh clone to y = A*x: installs what is missing, builds into build/, and runs every kernel of this machine on a
# matrix, yours if you name its file. Without optional packages it goes on, and says which features are missing.
#     sh examples/quickstart.sh [FILE.mtx[.gz|.zst|.xz] | FILE.npz | FILE.rb ...]
set -eu
case "${1:-}" in
-h | --help)
    sed -n '2,4s/^# \{0,1\}//p' "$0"
    exit 0 ;;
esac
here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=packages.sh
. "$here/examples/packages.sh"
need_packages

log=$here/build/quickstart.log
mkdir -p "$here/build"
# Meson looks for libraries again when other ones are missing than last time.
without=$here/build/quickstart.without
set_up() {
    if [ ! -f "$here/build/build.ninja" ]; then meson setup "$here/build" "$here"
    elif [ "$(cat "$without" 2>/dev/null)" != "$missing_optional" ]; then meson setup --reconfigure "$here/build" "$here"
    fi && echo "$missing_optional" >"$without"
}
{ set_up && ninja -C "$here/build"; } >"$log" 2>&1 || {
    cat "$log" >&2
    echo "The build failed; the lines above are from $log." >&2
    exit 1
}

if [ $# = 0 ]; then
    case " $missing_optional " in
    *' zlib1g-dev '*)
        set -- lap3d_32
        echo "A Laplacian on a cube (sh examples/quickstart.sh FILE takes your matrix)." ;;
    *)
        set -- "$here/tests/data/ginkgo_A_ir.mtx.gz"
        echo "A finite-element matrix that ships with the library (sh examples/quickstart.sh FILE takes yours)." ;;
    esac
fi
echo "Time is one multiplication y = A*x, the median of 15 rounds; error is against long double, relative to |A||x|."
echo
spmvx=$here/build/examples/spmvx
"$spmvx" bench --place host "$@"
if "$spmvx" kernels --available | grep -q '^cuda/'; then
    echo
    echo "And on the GPU:"
    "$spmvx" bench --place cuda "$@"
fi
