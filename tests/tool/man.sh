#!/bin/sh
# The man page tells every command, option, word of an option's value, and family of generated matrices that the parser has, and no
# option beside them: man.sh SPMVX
set -u
spmvx=$1
page=$(cd "$(dirname "$0")/../../examples" && pwd)/spmvx.1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
wrong() { echo "$*"; bad=1; }

# A line that begins with a point is a macro, or lost.
grep -nE '^\.' "$page" | grep -vE '^[0-9]+:\.(TH|SH|SS|TP|PP|IP|BI|BR|RB|B|I|RI|IR|br|nf|fi|RS|RE|EX|EE|\\")( |$)' && wrong 'lines that troff drops'

# The text without its markup, a paragraph a line: what stands between two .TP, .PP or .SH.
sed 's/\\f[RPBI]//g; s/\\-/-/g; s/"//g' "$page" | awk '/^\.(TP|PP|SH|IP)/ { printf "\n"; sub(/^\.(TP|PP|IP.*)/, "") }
    { sub(/^\.(BI|BR|RB|B|I|RI) /, ""); gsub(/ , /, ", "); gsub(/ +/, " "); printf "%s ", $0 } END { print "" }' >"$tmp/page"
commands=$("$spmvx" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || wrong 'no commands'
for command in $commands; do
    grep -q "^ *$command " "$tmp/page" || wrong "the page has no paragraph of $command"
    "$spmvx" "$command" --help | sed -nE 's/^  (-.,|   ) (--[a-z-]+)( [^ ]+)?.*/\2 \3/p' >"$tmp/options"
    while read -r option value; do
        echo "$option" >>"$tmp/known"
        # the paragraph that begins with the option, and tells for which commands it is
        line=$(grep -E "^ *(-[a-z], ?)?(--[a-z-]+, ?)*${option}[ ,]" "$tmp/page")
        [ -n "$line" ] || { wrong "the page has no $option"; continue; }
        case $option in --help | --quiet) continue ;; esac
        echo "$line" | grep -Eq "[( ]${command}[ ,):;]" || wrong "the page does not say that $option is of $command: $line"
        for word in $(echo "$value" | tr '|,' '  '); do
            case $word in [a-z]*) echo "$line" | grep -q "$word" || wrong "the page has no $option $word" ;; esac
        done
    done <"$tmp/options"
done
for option in $(grep -oE '^ *(-[a-z], ?)?(--[a-z-]+, ?)*--[a-z-]+' "$tmp/page" | grep -oE -- '--[a-z-]+'); do
    grep -qx -e "$option" "$tmp/known" || wrong "the page has $option, which no command has"
done
for name in $("$spmvx" generate --list | awk '/^[^ ]+$/ { print } / that stand for/ { names = 1; next } names { print $1 }'); do
    tr -s ' ,.' '\n' <"$tmp/page" | grep -qxF "$name" || wrong "the page has no $name"
done
for suite in $("$spmvx" bench --help | sed -n 's/.*--suite \([^ ]*\) .*/\1/p' | tr '|' ' '); do
    case $suite in [a-z]*) grep -e '--suite' "$tmp/page" | grep -q "$suite" || wrong "the page has no suite $suite" ;; esac
done
exit $bad
