#!/bin/sh
# Installs the libraries that the peers of the benchmark are made of, by hand, not by the test suite: Debian's packages, and
# oneMKL from its Python package into a folder that Meson finds (docs/peers.md).
#     sh tests/bench/peers/install.sh [MKL-FOLDER]     (default: build-mkl in the repository, which git ignores)
# Some 600 MB of Debian packages and 700 MB of oneMKL. As root it installs the packages; else it prints the line to run.
set -eu
here=$(cd "$(dirname "$0")/../../.." && pwd)
mkl_version=2026.2.0
case ${1:-} in
-*)
    echo "usage: sh tests/bench/peers/install.sh [MKL-FOLDER]" >&2
    exit 2
    ;;
esac
folder=${1:-$here/build-mkl}
packages="g++ libeigen3-dev librsb-dev libgraphblas-dev petsc-dev mpi-default-bin libpython3-dev python3-scipy python3-pip"

if [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
else
    echo "Run this for the Debian packages:" >&2
    echo "    sudo apt-get install -y --no-install-recommends $packages" >&2
fi

if [ -e "$folder/include/mkl_spblas.h" ]; then
    echo "oneMKL is in $folder"
    exit 0
fi
# pip install --target would leave out the libraries, which the package keeps as data outside of Python's folders.
new=$folder.tmp
trap 'rm -rf "$new"' EXIT
rm -rf "$new"
mkdir -p "$new"
python3 -m pip download -q --no-deps -d "$new" "mkl==$mkl_version" "mkl-include==$mkl_version"
for wheel in "$new"/*.whl; do python3 -m zipfile -e "$wheel" "$new/wheels"; done
mkdir -p "$folder"
for data in "$new"/wheels/*.data/data; do cp -R "$data/." "$folder/"; done
[ -e "$folder/include/mkl_spblas.h" ] || {
    echo "oneMKL's package has no include/mkl_spblas.h: it is laid out in another way than that of $mkl_version" >&2
    exit 1
}
echo "oneMKL $mkl_version is in $folder"
