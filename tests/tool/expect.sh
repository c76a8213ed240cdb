# To be sourced by the tests of the tool: a folder that goes at the end, and what must hold. They end with: exit $bad
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

# expect STATUS COMMAND...: runs it, keeps stdout and stderr, but for the warning that the machine is busy
expect() {
    want=$1
    shift
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    sed -i '/other processes keep the processors busy/d' "$tmp/err"
    [ "$got" = "$want" ] || { echo "exit $got, not $want: $*"; head -n 40 "$tmp/out" "$tmp/err"; bad=1; }
}
# has FILE TEXT: a line of it holds the text
has() { grep -qe "$2" "$tmp/$1" || { echo "no '$2' in $1:"; head -n 40 "$tmp/$1"; bad=1; }; }
hasnot() { ! grep -qe "$2" "$tmp/$1" || { echo "'$2' in $1:"; head -n 40 "$tmp/$1"; bad=1; }; }
silent() { [ ! -s "$tmp/$1" ] || { echo "$1 is not empty:"; head -n 40 "$tmp/$1"; bad=1; }; }
