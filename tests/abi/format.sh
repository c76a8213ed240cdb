#!/bin/sh
# format.sh ROOT: every C, C++ and CUDA file has lines of at most 110 columns and the shape of .clang-format, which is asked of
# clang-format 14, since versions differ in details; where it is missing only the columns are counted. Then a planted file of
# each kind must be seen.
set -eu
root=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

sources() { find include lib cuda examples tests -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' -o -name '*.cpp' \); }
long_lines() { xargs awk 'length($0) > 110 { print FILENAME ":" FNR ": " length($0) " columns" }'; }

formatter=
for program in clang-format-14 clang-format; do
    if command -v $program >/dev/null 2>&1 && $program --version | grep -q 'version 14\.'; then
        formatter=$program
        break
    fi
done

cd "$root"
sources >"$dir/sources"
[ "$(wc -l <"$dir/sources")" -gt 100 ]
long_lines <"$dir/sources" >"$dir/wrong"
if [ -n "$formatter" ]; then
    xargs "$formatter" --style=file --dry-run <"$dir/sources" 2>&1 | grep -E 'warning|error' >>"$dir/wrong" || true
fi
if [ -s "$dir/wrong" ]; then
    cat "$dir/wrong"
    exit 1
fi

awk 'BEGIN { printf "int x; /*"; for (i = 0; i < 110; i++) printf "x"; print "*/" }' >"$dir/long.c"
echo "$dir/long.c" | long_lines | grep -q 'long.c:1: 121 columns' || { echo "a long line is not seen"; exit 1; }
if [ -n "$formatter" ]; then
    cp .clang-format "$dir"
    printf 'int f (int a){return a ;}\n' >"$dir/shape.c"
    "$formatter" --style=file --dry-run "$dir/shape.c" 2>&1 | grep -q warning || { echo "a wrong shape is not seen"; exit 1; }
    echo "$(wc -l <"$dir/sources") files have the shape of .clang-format"
else
    echo "clang-format 14 is missing: only the columns of $(wc -l <"$dir/sources") files were counted"
fi
