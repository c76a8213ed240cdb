#!/bin/sh
# The completions of bash and zsh offer every command and every option that the tool's help lists: completion.sh SPMVX
set -u
spmvx=$1
files=$(cd "$(dirname "$0")/../../examples/completion" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
command -v bash >/dev/null || command -v zsh >/dev/null || exit 77

# same WHAT WANT GOT: lists of words
same() { [ "$2" = "$3" ] || { printf '%s:\n  want %s\n  got  %s\n' "$1" "$2" "$3"; bad=1; }; }
commands=$("$spmvx" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | tr '\n' ' ')
# options COMMAND: from its help
options() { "$spmvx" "$1" --help | grep -oE '^  (-.,|   ) --[a-z-]+' | sed 's/.* //' | tr '\n' ' '; }
for command in info mul spmspm convert bench compare generate kernels check spy tune; do
    case " $commands" in *" $command "*) ;; *) echo "the help does not list $command"; bad=1 ;; esac
    case " $(options $command)" in *' --quiet --help ') ;; *) echo "no options of $command: $(options $command)"; bad=1 ;; esac
done

# values COMMAND: "--place=host|cuda|any" of each option whose value is words
values() { "$spmvx" "$1" --help | sed -nE 's/^  (-.,|   ) (--[a-z-]+) ([a-z][^ ]*) .*/\2=\3/p'; }

if command -v bash >/dev/null; then
    cat >"$tmp/complete.bash" <<'BASH'
source "$1" || exit 1
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_spmvx "$1"
printf '%s ' "${COMPREPLY[@]}"
BASH
    # offers WORDS WORD...: what bash offers for the last word
    offers() {
        want=$1
        shift
        same "bash, spmvx $*" "$want" "$(bash "$tmp/complete.bash" "$files/spmvx.bash" "$spmvx" "$@" | sed 's/^ $//')"
    }
    offers "${commands}help --help --version " ''
    for command in $commands; do
        offers "$(options "$command")" "$command" --
    done
    offers 'mul ' m
    offers 'check ' ch
    offers '--transpose --type --threads ' mul --t
    offers 'stencil27_ stochlp_ ' info st
    offers '' spy -o a
    offers '' check --limit ''
    offers 'f64 f32 ' bench --types ''
    offers 'f64 f32 ' bench --types =
    offers 'f32 ' bench --types = f3
    offers 'ones random ' mul -x ''
    offers 'random ' mul --x r
    offers 'csc-scalar ' mul --kernel csc
    offers 'csr-dense-row ' spmspm --kernel csr
    offers 'csc-scalar ' bench --kernels csc
    offers '' kernels --type ''                 # not one of its options
    offers 'warm cold rotated graph ' bench --states ''
    offers 'quick host gpu small ' bench --suite ''
    offers 'host cuda any ' mul --place ''
    offers 'keep general ' convert --symmetry ''
    offers 'stencil27_ stochlp_ ' generate st
    # every word of an option's value, and every family and alias of generated matrices
    for command in $commands; do
        for option in $(values "$command"); do
            offers "$(echo "${option#*=}" | tr '|,' '  ' | sed 's/\.\.\.//; s/[A-Z][A-Z]*//; s/ *$//; s/$/ /')" "$command" "${option%%=*}" ''
        done
    done
    offers "$("$spmvx" generate --list | awk '/^[^ ]*$/ { sub(/[A-Z[].*/, ""); if ($0 != "") print } / that stand for/ { names = 1 } names && /^    / { print $1 }' | tr '\n' ' ')" generate ''
fi

if command -v zsh >/dev/null; then
    cat >"$tmp/complete.zsh" <<'ZSH'
# what _spmvx gives to zsh's own functions, for the words behind the file
_arguments() {
    case $1 in
    -C) [[ $#words -gt 2 ]] && { state=argument; shift words; } || state=command; return 1 ;;
    esac
    print -rl -- "$@"
}
_describe() { print -rl -- $commands; }
file=$1
shift
words=("$@")
source $file
ZSH
    zsh_offers() { zsh -f "$tmp/complete.zsh" "$files/_spmvx" "$spmvx" "$@"; }
    same 'zsh, commands' "$commands" "$(zsh_offers '' | sed 's/:.*//' | tr '\n' ' ')"
    for command in $commands; do
        same "zsh, $command" "$(options "$command")" "$(zsh_offers "$command" -- | sed -n 's/^\((.*)\)\{0,1\}\(--[a-z-]*\)=\{0,1\}\[.*/\2/p' | tr '\n' ' ')"
    done
    zsh_offers mul -- >"$tmp/mul"
    for spec in '--type=[f64 (default) or f32]:value:(f64 f32)' '--place=[.*]:value:(host cuda any)' '(-x --x)-x[.*]:X:_spmvx_x' '(-o --output)--output=[.*]:FILE:_files' \
        '--kernel=[.*]:NAME:_spmvx_kernels .* mul' '--transpose[multiply by the transpose]' '--threads=[.*]:N: ' '*:file:_files'; do
        grep -qxe "$(printf %s "$spec" | sed 's/\[/\\[/g; s/^\*/\\*/')" "$tmp/mul" || { echo "zsh lacks $spec:"; cat "$tmp/mul"; bad=1; }
    done
fi
exit $bad
