# bash completion of spmvx(1). Commands and options are those that the tool's own help lists; what is not completed here is a file.

# "-o --output OUT" of each option of a command; letter and value are not always there. A value in small letters is the words that
# it may be: "--place host|cuda|any".
_spmvx_options()
{
    "$1" "$2" --help 2>/dev/null | sed -nE 's/^  (-[a-z]|  )[, ] (--[a-z-]+)( [^ ]+)? .*/\1 \2\3/p'
}

# Names of generated matrices, as far as they have no numbers, and those that stand for others.
_spmvx_names()
{
    "$1" generate --list 2>/dev/null | sed -nE '/ /!s/^([a-z][a-z0-9_]*).*/\1/p; s/^    ([a-z][a-z0-9_]*)  .*/\1/p'
}

_spmvx_kernels()
{
    "$1" kernels --available 2>/dev/null | sed -n "s|^host/$2/\([^ ]*\).*|\1|p"
}

_spmvx()
{
    local tool=$1 cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local fields name value words='' options='' takes=''
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        words="$("$tool" --help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p') help --help --version"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi
    if [[ $cur == = ]]; then                    # --option=
        cur=
    elif [[ $prev == = ]]; then                 # --option=value
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    while read -ra fields; do
        value=
        if [[ ${fields[-1]} != -* ]]; then
            value=${fields[-1]}
            unset 'fields[-1]'
        fi
        for name in "${fields[@]}"; do
            [[ $name == "$prev" ]] && takes=$value
        done
        options+=" ${fields[-1]}"
    done < <(_spmvx_options "$tool" "$command")
    if [[ -z $takes ]]; then
        if [[ $cur == -* ]]; then
            words=$options
        elif [[ $command == generate || $command == bench || $command == info ]]; then
            words=$(_spmvx_names "$tool")
        fi
    else
        case $takes in
        [a-z]*) words=$(tr '|,' '\n\n' <<<"$takes" | grep '^[a-z]') ;;   # what is not among them may be a file
        esac
        case $prev in
        --kernel) words=$(_spmvx_kernels "$tool" "$command") ;;
        --kernels) words=$(_spmvx_kernels "$tool" mul) ;;
        esac
        # a number is no file
        [[ $takes == N ]] && compopt +o default +o bashdefault 2>/dev/null
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -o bashdefault -F _spmvx spmvx
