#!/bin/sh
# includes.sh LIB: the #include lines under lib/ point downward only: api > dispatch > format > kernel > core, io > core.
# Then the same on copies with one wrong line each, which must be seen.
set -eu
lib=$1

# What the files of a layer may include.
allowed() {
    case $1 in
    api) echo "api dispatch format kernel io core spmvx" ;;
    dispatch) echo "dispatch format kernel core spmvx" ;;
    format) echo "format kernel core spmvx" ;;
    kernel) echo "kernel core spmvx" ;;
    io) echo "io core spmvx" ;;
    core) echo "core spmvx" ;;
    *) echo "" ;;
    esac
}

# "FILE HEADER" for every #include "..." and every macro that names what a later #include takes.
includes_of() {
    find "$1" -type f \( -name '*.c' -o -name '*.h' \) | LC_ALL=C sort | while IFS= read -r file; do
        sed -n -e 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' \
               -e 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*<\(spmvx\/[^>]*\)>.*/\1/p' \
               -e 's/^[[:space:]]*#[[:space:]]*define[[:space:]]*SPX_TEMPLATE[[:space:]]*"\([^"]*\)".*/\1/p' "$file" |
            while IFS= read -r header; do echo "${file#"$1"/} $header"; done
    done
}

# Prints every wrong line; nothing when all point downward.
check() {
    includes_of "$1" | while read -r file header; do
        from=${file%%/*} to=${header%%/*} ok=no
        for layer in $(allowed "$from"); do [ "$layer" = "$to" ] && ok=yes; done
        case $header in *..*) ok=no ;; esac
        [ $ok = yes ] || echo "$file includes $header: $from may include $(allowed "$from")"
    done
}

count=$(includes_of "$lib" | wc -l)
[ "$count" -gt 0 ] || { echo "no #include found under $lib"; exit 1; }
wrong=$(check "$lib")
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
plant() {
    rm -rf "$dir/lib"
    cp -R "$lib" "$dir/lib"
    mkdir -p "$dir/lib/${1%/*}"
    echo "$2" >>"$dir/lib/$1"
    case $(check "$dir/lib") in
    "$1 includes $3:"*) ;;
    *) echo "not seen: $2 in $1"; exit 1 ;;
    esac
}
plant core/planted.c '#include "kernel/kernel.h"' kernel/kernel.h
plant core/planted.h '#include "io/io.h"' io/io.h
plant io/planted.c '#include "format/format.h"' format/format.h
plant kernel/planted.c '  #  include "format/format.h"' format/format.h
plant kernel/avx2/planted.h '#include "dispatch/matrix.h"' dispatch/matrix.h
plant kernel/planted.c '#define SPX_TEMPLATE "dispatch/planted.c"' dispatch/planted.c
plant format/planted.c '#include "dispatch/select.h"' dispatch/select.h
plant format/planted.c '#include "io/io.h"' io/io.h
plant dispatch/planted.c '#include "api/args.h"' api/args.h
plant dispatch/planted.c '#include "io/io.h"' io/io.h
plant core/planted.c '#include "../core/error.h"' ../core/error.h
plant core/planted.c '#include "error.h"' error.h
plant elsewhere/planted.c '#include "core/error.h"' core/error.h
echo "$count includes point downward; planted ones are seen"
