#!/bin/sh
# runs.sh ONE_RUN: separate processes with the same number of threads take the same kernels and get the same bits, at effort 0
# and with the same wisdom, whatever else differs between them: the environment's size, addresses, what fresh memory holds,
# alignment, processors, load. See docs/determinism.md.
set -eu
one_run=$1
dir=$(mktemp -d)
busy=
trap 'if [ -n "$busy" ]; then kill $busy; fi; rm -rf "$dir"' EXIT
unset SPMVX_WISDOM SPMVX_DISABLE
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
large=$(awk 'BEGIN { for (i = 0; i < 60000; i++) printf "x" }')
bad=0

# same FILE WHAT: as the first process of its kind had it
same() {
    cmp -s "$dir/first" "$1" && return
    echo "$2: other kernels or bits:"
    diff "$dir/first" "$1" | head -n 20
    bad=1
}

# several OPTION...: processes with these options, each in other circumstances; as "first" has it
several() {
    env -i OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive ${LD_LIBRARY_PATH:+LD_LIBRARY_PATH="$LD_LIBRARY_PATH"} "$one_run" "$@" >"$dir/now"
    same "$dir/now" "$*, hardly any environment"
    LARGE=$large "$one_run" "$@" >"$dir/now"
    same "$dir/now" "$*, a large environment"
    MALLOC_PERTURB_=165 MALLOC_ARENA_MAX=1 "$one_run" "$@" >"$dir/now"
    same "$dir/now" "$*, fresh memory that is not zero"
    "$one_run" "$@" --shift 1 >"$dir/now"
    same "$dir/now" "$*, arrays one element on"
    OMP_DYNAMIC=true OMP_SCHEDULE=dynamic "$one_run" "$@" --shift 5 >"$dir/now"
    same "$dir/now" "$*, arrays five elements on, a dynamic number of threads"
    if setarch -R true 2>/dev/null; then
        setarch -R "$one_run" "$@" >"$dir/now"
        same "$dir/now" "$*, addresses that are not random"
    fi
    if taskset -c 0 true 2>/dev/null; then
        taskset -c 0 "$one_run" "$@" >"$dir/now"
        same "$dir/now" "$*, two threads on one processor"
    fi
    while :; do :; done &
    busy=$!
    "$one_run" "$@" >"$dir/now"
    kill $busy
    wait $busy 2>/dev/null || true
    busy=
    same "$dir/now" "$*, beside a busy process"
}

# Effort 0.
"$one_run" >"$dir/first"
several --effort 0
kernels=$(sed 's/.* columns: //; s/[, ].*//; s/[@:].*//' "$dir/first" | sort -u | wc -l)
[ "$kernels" -ge 4 ] || { echo "the shapes do not ask for different kernels: $kernels"; bad=1; }
[ "$(wc -l <"$dir/first")" = 72 ] || { echo "$(wc -l <"$dir/first") lines"; bad=1; }

# Wisdom of one process that timed: it has what the others have, and none of these times, not at effort 1 either.
"$one_run" --learn "$dir/wisdom" >"$dir/first" || { # the processors are too busy to time
    [ "$bad" = 0 ] || exit 1
    exit 77
}
several --wisdom "$dir/wisdom"
"$one_run" --wisdom "$dir/wisdom" --effort 1 >"$dir/now"
same "$dir/now" "wisdom at effort 1"

# The hash tells one bit from another: another kernel for everything gives other results.
"$one_run" >"$dir/first"
SPMVX_DISABLE=avx2,avx512,dia,sell,packed,bsr,csr-vector "$one_run" >"$dir/now"
if cmp -s "$dir/first" "$dir/now"; then
    echo "other kernels, and nothing of it is seen"
    bad=1
fi
exit $bad
