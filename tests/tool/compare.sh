#!/bin/sh
# spmvx compare on recorded results: three runs each of one binary on a busy machine, with bursts of other work ("bursts"), and with
# less ("choices", where AUTO by timing took other kernels in each run). None of them has a finding; what is planted is found:
# compare.sh SPMVX
set -u
spmvx=$1
runs=$(cd "$(dirname "$0")/compare" && pwd)
# shellcheck source=expect.sh
. "$(dirname "$0")/expect.sh"
"$spmvx" compare "$runs/bursts-1.json" "$runs/bursts-2.json" >"$tmp/out" 2>"$tmp/err"
if grep -q 'built without' "$tmp/err"; then exit 77; fi

for kind in bursts choices; do
    for old in 1 2 3; do
        for new in 1 2 3; do
            for how in --all '--threshold 5'; do
                # shellcheck disable=SC2086
                expect 0 "$spmvx" compare --fail $how "$runs/$kind-$old.json" "$runs/$kind-$new.json"
                has out '^[0-9]* compared: 0 slower, 0 faster, 0 gone'; hasnot out '^slower\|^faster'
            done
        done
    done
done
expect 0 "$spmvx" compare "$runs/bursts-1.json" "$runs/bursts-2.json"; has err 'the machine was busy'; has out '4 timed once or twice, which are no findings'
expect 0 "$spmvx" compare --all "$runs/bursts-1.json" "$runs/bursts-2.json"; has out '^once  *lap2d_300 .*csr-scalar'; has out '^  *lap2d_300 .*csr-merge-path'
expect 0 "$spmvx" compare --all "$runs/choices-2.json" "$runs/choices-3.json"; has out '^other  *lap2d_300 .*AUTO, by timing'

# scaled CASE NAME FACTOR FILE: with all times of one result of a matrix multiplied
scaled() {
    awk -v matrix="$1" -v name="$2" -v factor="$3" 'BEGIN { number = "[0-9]+[.][0-9]+e[-+][0-9]+" }
        /"matrix":/ { here = index($0, "\"" matrix "\"") > 0 }
        /"name":/ { ours = here && index($0, "\"" name "\"") > 0 }
        ours { out = ""; while (match($0, number)) { out = out substr($0, 1, RSTART - 1) sprintf("%.3e", factor * substr($0, RSTART, RLENGTH)); $0 = substr($0, RSTART + RLENGTH) } $0 = out $0 }
        { print }' "$4"
}
# A kernel that got slower is found on the busy machine, too; one that got a little slower on a quiet one.
scaled fem3dof_4 sell 3 "$runs/bursts-2.json" >"$tmp/slow.json"
expect 1 "$spmvx" compare --fail "$runs/bursts-1.json" "$tmp/slow.json"; has out '^slower  *fem3dof_4 .* sell '; has out ': 1 slower, 0 faster'
expect 0 "$spmvx" compare --fail "$tmp/slow.json" "$runs/bursts-1.json"; has out '^faster  *fem3dof_4 .* sell '
# One that waited a time slice in every sample is none there.
scaled fem3dof_4 sell 5000 "$runs/bursts-2.json" >"$tmp/slices.json"
expect 0 "$spmvx" compare --fail "$runs/bursts-1.json" "$tmp/slices.json"; has out ': 0 slower, 0 faster'
# made FACTOR SAMPLES: a result of a quiet machine, of so many samples
made() {
    awk -v factor="$1" -v n="$2" 'BEGIN { printf "{\"device\": \"d\", \"threads\": 2, \"cases\": [{\"matrix\": \"m\", \"type\": \"f64\", \"state\": \"warm\", \"beta\": 0, \"read_bytes_s\": [1e10, 1.01e10, 1.02e10], \"results\": ["
        for (k = 0; k < 3; k++) { f = k == 1 ? factor : 1; t = f * (k + 1) * 1e-5
            q = n > 1 ? .01 : 0; comma = k ? ", " : ""
            printf "%s{\"name\": \"kernel-%d\", \"time_s\": %e, \"quartiles_s\": [%e, %e], \"samples_s\": [", comma, k, t, (1 - q) * t, (1 + q) * t
            for (i = 0; i < n; i++) { comma = i ? ", " : ""; v = n > 1 ? t * (.98 + .04 * i / (n - 1)) : t; printf "%s%e", comma, v }
            printf "]}" }
        print "]}]}" }'
}
made 1 5 >"$tmp/old.json"
for change in 1.12:slower 0.88:faster; do
    made "${change%:*}" 5 >"$tmp/new.json"
    expect 0 "$spmvx" compare "$tmp/old.json" "$tmp/new.json"; silent err; has out "^${change#*:}  *m .*kernel-1"; has out '3 compared: [01] slower, [01] faster'
done
made 1.04 5 >"$tmp/new.json"                    # below the threshold
expect 0 "$spmvx" compare "$tmp/old.json" "$tmp/new.json"; has out ': 0 slower, 0 faster'
# What the new run does not name is gone, and so is a matrix; without a bandwidth nothing is relative.
sed 's/kernel-1/other/' "$tmp/old.json" >"$tmp/new.json"
expect 1 "$spmvx" compare --fail "$tmp/old.json" "$tmp/new.json"; has out '^gone  *m  *kernel-1 .*not in the new run'; has out '2 compared.*1 gone'
sed 's/"matrix": "m"/"matrix": "n"/' "$tmp/old.json" >"$tmp/new.json"
expect 1 "$spmvx" compare "$tmp/old.json" "$tmp/new.json"; has out '0 compared.*3 gone'; has err 'no result in common'
sed 's/read_bytes_s/nothing/' "$tmp/old.json" >"$tmp/new.json"
expect 1 "$spmvx" compare --relative "$tmp/old.json" "$tmp/new.json"; has err 'm has no read_bytes_s'
# Results of a version that told no samples: quartiles apart are a finding, and one time is none.
untold() { sed 's/, "samples_s": \[[^]]*\]//g' "$1"; }
made 1.12 5 >"$tmp/new.json"
untold "$tmp/old.json" >"$tmp/old-untold.json"; untold "$tmp/new.json" >"$tmp/new-untold.json"
expect 1 "$spmvx" compare --fail "$tmp/old-untold.json" "$tmp/new-untold.json"; has out '^slower  *m .*kernel-1'
made 100 1 | sed 's/, "samples_s": \[[^]]*\]//g' >"$tmp/new-untold.json"
expect 0 "$spmvx" compare --fail "$tmp/old-untold.json" "$tmp/new-untold.json"; has out ': 0 slower, 0 faster'
# No time: gone where there was one; new, and no finding, where there was none.
sed 's/"time_s": 2[^,]*,/"time_s": null,/' "$tmp/old.json" >"$tmp/null.json"
expect 1 "$spmvx" compare --fail "$tmp/old.json" "$tmp/null.json"; has out '^gone  *m  *kernel-1 '; has out '^2 compared: 0 slower, 0 faster, 1 gone'
expect 0 "$spmvx" compare --fail "$tmp/null.json" "$tmp/old.json"; has out '^2 compared: 0 slower, 0 faster, 0 gone'
# One sample says nothing, however far it is away; nor do two.
for samples in 1 2; do
    made 100 $samples >"$tmp/new.json"
    expect 0 "$spmvx" compare --fail "$tmp/old.json" "$tmp/new.json"; has out ': 0 slower, 0 faster'
    expect 0 "$spmvx" compare --fail "$tmp/new.json" "$tmp/old.json"; has out ': 0 slower, 0 faster'
done
made 100 1 >"$tmp/new.json"
expect 0 "$spmvx" compare "$tmp/new.json" "$tmp/new.json"; has out '3 timed once or twice, which are no findings'
exit $bad
