#!/bin/sh
# symbols.sh LIBRARY MAP HEADER: what the library exports, what the linker's script lists and what the header declares are
# the same names, and a comment stands above each declaration.
set -eu
library=$1 map=$2 header=$3
NM=${NM:-nm}
command -v "$NM" >/dev/null 2>&1 || { echo "no nm: skipped"; exit 77; }
case $library in *.a) echo "a static library exports no dynamic symbols: skipped"; exit 77 ;; esac

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Type A is the version node itself.
"$NM" -D --defined-only "$library" | awk 'NF >= 2 && $(NF - 1) != "A" { sub(/@.*/, "", $NF); print $NF }' |
    LC_ALL=C sort -u >"$dir/exported"

# Names between "global:" and "local:".
awk '/global:/ { on = 1; next } /local:|^}/ { on = 0 } on { gsub(/[ \t;]/, ""); if ($0 != "") print }' "$map" |
    LC_ALL=C sort -u >"$dir/mapped"

# A declaration begins in the first column with a type and holds a public name before its first parenthesis. The line above
# it ends a comment.
awk -v undocumented="$dir/undocumented" '
    /^[a-z]/ && !/^typedef/ && /(spmvx|spmspm)_[a-z_0-9]+\(/ {
        name = $0
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        print name
        if (above !~ /\*\/[ \t]*$/ || above ~ /^[a-z]/) print name >undocumented
    }
    { above = $0 }' "$header" | LC_ALL=C sort >"$dir/declared"

status=0
[ -s "$dir/declared" ] || { echo "no declaration found in $header"; status=1; }
if [ -n "$(uniq -d "$dir/declared")" ]; then
    echo "declared twice in $header:"; uniq -d "$dir/declared"; status=1
fi
diff "$dir/mapped" "$dir/exported" >"$dir/out" || { echo "listed in $map (<), exported by $library (>):"; cat "$dir/out"; status=1; }
diff "$dir/mapped" "$dir/declared" >"$dir/out" || { echo "listed in $map (<), declared in $header (>):"; cat "$dir/out"; status=1; }
if [ -s "$dir/undocumented" ]; then
    echo "no comment above these in $header:"; cat "$dir/undocumented"; status=1
fi
[ $status = 0 ] && echo "$(wc -l <"$dir/exported") symbols exported, listed, declared, with a comment each"
exit $status
