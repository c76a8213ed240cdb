#!/bin/sh
# quotes.sh ROOT PAGE: every block of code of the page (```c, ```fortran) stands, line by line but for indentation, in the file
# that the link before it names, which is built and run by other tests. Then planted pages must be refused.
set -eu
cd "$1"
page=$2

# Blank lines of a block match anything blank; "..." alone on a line leaves out what stands between.
check() {
    awk -v page="$1" '
        function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
        function load(file,   line) {
            n = 0
            while ((getline line <file) > 0) source[++n] = trim(line)
            close(file)
            if (!n) wrong(file " cannot be read")
        }
        function wrong(text) { print page ":" FNR ": " text; bad = 1 }
        # Finds the lines from..to of the block after line `after` of the source; where it ends, or 0.
        function find(from, to, after,   at, k) {
            for (at = after + 1; at + to - from <= n; at++) {
                for (k = from; k <= to && source[at + k - from] == block[k]; k++);
                if (k > to) return at + to - from
            }
            return 0
        }
        function compare(   from, to, at) {
            at = 0
            for (from = 1; from <= lines; from = to + 2) {
                for (to = from; to < lines && block[to + 1] != "..."; to++);
                at = find(from, to, at)
                if (!at) { wrong("this block is not in " file ", from its line \"" block[from] "\""); return }
            }
        }
        /^```/ && inside { inside = 0; if (code) { blocks++; compare() } next }
        /^```/ { inside = 1; lines = 0; code = $0 ~ /^```(c|fortran)$/; if (code && file == "") wrong("no file is named before"); if (code) load(file); next }
        inside { block[++lines] = trim($0); next }
        { while (match($0, /\]\(\.\.\/examples\/[a-z_0-9.]+\)/)) { file = substr($0, RSTART + 5, RLENGTH - 6); $0 = substr($0, RSTART + RLENGTH) } }
        END { if (!blocks) wrong("no block of code"); print blocks + 0 " blocks of code stand in their files"; exit bad }' "$1"
}

check "$page"

planted=$(mktemp)
trap 'rm -f "$planted"' EXIT
refused() { ! check "$planted" >/dev/null || { echo "a page that is wrong is not seen: $1"; exit 1; }; }
printf 'no code\n' >"$planted"; refused 'no code'
printf '[mul](../examples/mul.c):\n```c\nint i;\n```\n' >"$planted"; refused 'other code'
printf '[mul](../examples/none.c):\n```c\nint i;\n```\n' >"$planted"; refused 'no file'
printf '[mul](../examples/mul.c):\n```c\nfree(y);\nfree(x);\n```\n' >"$planted"; refused 'other order'
printf '[mul](../examples/mul.c):\n```c\nfree(x);\nfree(y);\n```\n' >"$planted"; check "$planted" >/dev/null
