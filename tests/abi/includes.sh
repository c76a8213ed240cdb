#!/bin/sh
# includes.sh LIB: the #include lines under lib/ point downward only: api > dispatch > format > kernel > core, io > core.
# Then the same on copies with one wrong line each, which must be seen.
set -eu
lib=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Prints the number of lines looked at, then every wrong line. A macro that names what a later #include takes is one too.
check() {
    (cd "$1" && find . -type f \( -name '*.c' -o -name '*.h' \) | LC_ALL=C sort | xargs awk '
        BEGIN {
            may["api"] = "api dispatch format kernel io core"
            may["dispatch"] = "dispatch format kernel core"
            may["format"] = "format kernel core"
            may["kernel"] = "kernel core"
            may["io"] = "io core"
            may["core"] = "core"
        }
        /^[ \t]*#[ \t]*include[ \t]*("|<spmvx\/)/ || /^[ \t]*#[ \t]*define[ \t]+SPX_TEMPLATE[ \t]*"/ {
            header = $0
            sub(/^[^"<]*["<]/, "", header)
            sub(/[">].*/, "", header)
            file = substr(FILENAME, 3)
            split(file, from, "/")
            split(header, to, "/")
            count++
            layers = " " may[from[1]] " "
            if (may[from[1]] != "") layers = layers "spmvx "
            if (!index(header, "/") || index(header, "..") || !index(layers, " " to[1] " "))
                wrong = wrong file " includes " header ": " from[1] " may include" layers "\n"
        }
        END { printf "%d\n%s", count, wrong }')
}

check "$lib" >"$dir/real"
if [ "$(wc -l <"$dir/real")" -gt 1 ] || [ "$(head -n 1 "$dir/real")" = 0 ]; then
    cat "$dir/real"
    exit 1
fi

cp -R "$lib" "$dir/lib"
plant() {
    [ ! -e "$dir/lib/$1" ] || { echo "$1 is there already"; exit 1; }
    mkdir -p "$dir/lib/${1%/*}"
    echo "$2" >"$dir/lib/$1"
    check "$dir/lib" >"$dir/out"
    [ "$(wc -l <"$dir/out")" = 2 ] && grep -F "$1 includes $3:" "$dir/out" >/dev/null || { echo "not seen: $2 in $1"; exit 1; }
    rm "$dir/lib/$1"
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
echo "$(head -n 1 "$dir/real") includes point downward, and planted ones are seen"
