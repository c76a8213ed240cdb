#!/bin/sh
# spmvx check: every kind of error is planted and must be told with its line: check.sh SPMVX DATA
set -u
spmvx=$1 data=$2
# shellcheck source=expect.sh
. "$(dirname "$0")/expect.sh"
lines() { [ "$(wc -l <"$tmp/out")" -eq "$1" ] || { echo "not $1 lines:"; cat "$tmp/out"; bad=1; }; }
# told STATUS TEXT LINE...: of a file with this text (as printf takes it) exactly these lines are told, behind its name
told() {
    # shellcheck disable=SC2059
    printf "$2" >"$tmp/a.mtx"
    expect "$1" "$spmvx" check "$tmp/a.mtx"
    silent err
    shift 2
    for text in "$@"; do printf '%s:%s\n' "$tmp/a.mtx" "$text"; done >"$tmp/want"
    diff "$tmp/want" "$tmp/out" >"$tmp/diff" || { echo "expected (<) and told (>):"; cat "$tmp/diff"; bad=1; }
}
banner='%%%%MatrixMarket matrix coordinate'
array='%%%%MatrixMarket matrix array'

expect 0 "$spmvx" check --help; has out 'usage: spmvx check'; silent err
expect 2 "$spmvx" check; has err 'no file given'
expect 2 "$spmvx" check --limit x "$tmp/a.mtx"; has err "'x'"

# fine files
told 0 "$banner real general\n%% a comment\n\n2 3 2\n1 1 1.5\n%% another\n  2 3\t-2d-3  \r\n" ' ok, 2 x 3, 2 entries'
told 0 "$banner integer symmetric\n2 2 2\n1 1 +1\n2 1 -2\n" ' ok, 2 x 2, 2 entries'
told 0 "%%%%matrixmarket MATRIX Coordinate DOUBLE Skew-Symmetric\n2 2 1\n2 1 1e5\n" ' ok, 2 x 2, 1 entries'
told 0 "$banner pattern general\n2147483647 1 1\n2147483647 1\n" ' ok, 2147483647 x 1, 1 entries'
told 0 "$banner real general\n0 0 0\n" ' ok, 0 x 0, 0 entries'
told 0 "$array real general\n2 2\n1\n0\n0\n4\n" ' ok, 2 x 2, 4 entries'
told 0 "$array real skew-symmetric\n2 2\n1\n" ' ok, 2 x 2, 1 entries'

# the banner
told 1 '' '1: error: the file is empty' ' 1 error'
told 1 '1 1 1\n1 1 5\n' '1: error: the file does not begin with %%MatrixMarket' ' 1 error'
told 1 '%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5\n' '1: error: the file does not begin with %%MatrixMarket' ' 1 error'
told 1 "%%%%MatrixMarket\n1 1 1\n1 1 5\n" '1: error: the banner lacks the object (matrix)' ' 1 error'
told 1 "$banner real\n1 1 1\n1 1 5\n" '1: error: the banner lacks the symmetry (general, symmetric or skew-symmetric)' ' 1 error'
told 1 "%%%%MatrixMarket vector coordinat reel generic x\n1 1 1\n1 1 5\n" "1: error: after the symmetry comes 'x'" "1: error: the object is 'vector', not 'matrix'" \
    "1: error: the layout is 'coordinat', not 'coordinate' or 'array'" "1: error: the field is 'reel', not real, integer or pattern" \
    "1: error: the symmetry is 'generic', not general, symmetric or skew-symmetric" ' 5 errors'
told 1 "$banner real hermitian\n1 1 1\n1 1 5\n" "1: error: the symmetry is 'hermitian', which is for complex values" ' 1 error'
# a complex file is named as such, and checked as one
complex="1: warning: the field is 'complex', which may be right, and is not read by this library"
told 0 "$banner complex hermitian\n2 2 2\n1 1 5 0\n2 1 -1 2e3\n" "$complex" ' complex, 2 x 2, 2 entries, 1 warning'
told 0 "$array complex hermitian\n2 2\n1 0\n2 3\n4 0\n" "$complex" ' complex, 2 x 2, 3 entries, 1 warning'
told 1 "$banner complex general\n2 2 3\n1 1 5\n2 1 -1 x\n1 2 3 4 5\n" "$complex" '3: error: the imaginary part is missing' \
    "4: error: the value is 'x', not a number" "5: error: after the entry comes '5'" ' 3 errors, 1 warning'
expect 1 "$spmvx" check --strict "$tmp/a.mtx"
told 1 "$banner pattern skew-symmetric\n2 2 1\n2 1\n" '1: error: a pattern cannot be skew-symmetric' ' 1 error'
told 1 "$array pattern general\n1 1\n1\n" '1: error: a pattern cannot be an array' ' 1 error'

# the sizes
told 1 "$banner real general\n" '1: error: the file ends before its sizes' ' 1 error'
told 1 "$banner real general\n2 -1 x 7\n1 1 1\n" "2: error: the number of columns is -1, below 0" "2: error: the number of entries is 'x', not a whole number" \
    "2: error: after the sizes comes '7'" ' 3 errors'
told 1 "$banner real general\n2 2\n1 1 1\n" '2: error: the number of entries is missing' ' 1 error'
told 1 "$array real general\n2\n1\n1\n" '2: error: the number of columns is missing' ' 1 error'
told 1 "$banner real general\n1 2147483648 1\n1 1 1\n" '2: error: 2147483648 columns, above 2147483647' ' 1 error'
told 1 "$banner real symmetric\n1 2 1\n1 1 1\n" '2: error: 1 rows and 2 columns, in a symmetric matrix' ' 1 error'

# the entries; every error of a file is told, not the first alone
told 1 "$banner real general\n2 2 3\n1 1 1\n2 2 2\n" '4: error: the file ends after 2 of the 3 entries announced' ' 1 error'
told 1 "$banner real general\n2 2 1\n1 1 1\n2 2 2\n2 1 2\n" '4: error: more entries than the 1 announced: 3 in all' ' 1 error'
told 1 "$array real general\n2 2\n1\n2\n3\n" '5: error: the file ends after 3 of the 4 entries announced' ' 1 error'
told 1 "$array real general\n1 1\n1 2\n" "3: error: after the value comes '2'" ' 1 error'
told 1 "$banner real general\n2 2 9\n0 1 1\n1 3 1\n-1 99999999999999999999 1\n1.0 y 1\n1\n1 1\n1 2 x\n2 1 1e\n2 2 1 #\n" \
    '3: error: row 0 is not in 1 ... 2; they begin at 1' '4: error: column 3 is not in 1 ... 2' '5: error: row -1 is not in 1 ... 2' \
    '5: error: column 99999999999999999999 is not in 1 ... 2' "6: error: the row is '1.0', not a whole number" "6: error: the column is 'y', not a whole number" \
    '7: error: the column is missing' '8: error: the value is missing' "9: error: the value is 'x', not a number" "10: error: the value is '1e', not a number" \
    "11: error: after the entry comes '#'" ' 11 errors'
told 1 "$banner integer general\n2 2 2\n1 1 1.5\n2 2 nan\n" "3: error: the value is '1.5', not a whole number, in an integer file" \
    "4: error: the value is 'nan', not a whole number, in an integer file" ' 2 errors'
told 1 "$banner pattern general\n2 2 1\n1 1 3\n" "3: error: after the entry comes '3'" ' 1 error'
told 1 "$banner real skew-symmetric\n2 2 1\n2 2 0\n" '3: error: row 2, column 2 is on the diagonal of a skew-symmetric matrix' ' 1 error'
told 1 "$banner real general\n1 1 1\n1 1 \000\n" "3: error: the value is '?', not a number" ' 1 error'

# warnings, which fail with --strict alone
told 0 "$banner real symmetric\n2 2 2\n1 2 1\n2 1 1\n" '3: warning: row 1, column 2 is above the diagonal of a symmetric matrix' \
    '4: warning: row 2, column 1 repeats the entry of line 3' ' ok, 2 x 2, 2 entries, 2 warnings'
expect 1 "$spmvx" check --strict "$tmp/a.mtx"; lines 3
told 0 "$banner real general\n3 3 5\n3 2 1\n1 2 1\n2 1 1\n1 2 4\n1 2 0\n" '6: warning: row 1, column 2 repeats the entry of line 4' \
    '7: warning: row 1, column 2 repeats the entry of line 4' ' ok, 3 x 3, 5 entries, 2 warnings'
told 0 "$banner pattern general\n3 3 3\n1 1\n1 1\n2 2\n" '4: warning: row 1, column 1 repeats the entry of line 3' ' ok, 3 x 3, 3 entries, 1 warning'
told 0 "$banner real general\n3 2 6\n1 1 NaN\n1 2 -inf\n2 1 +Infinity\n2 2 1d999\n3 1 -0.001e-330\n3 2 -0.00e-330\n" '3: warning: the value is NaN' \
    '4: warning: the value is -inf' '5: warning: the value is +Infinity' '6: warning: the value 1d999 is too large, and is read as infinity' \
    '7: warning: the value -0.001e-330 is too small, and is read as 0' ' ok, 3 x 2, 6 entries, 5 warnings'
told 0 "$banner real general\n1 1 1\n1 1 1" '3: warning: no newline ends the last line, which may have been cut' ' ok, 1 x 1, 1 entries, 1 warning'

# repeats are found among those that are kept; sorted entries need not be kept
awk 'BEGIN { print "%%MatrixMarket matrix coordinate pattern general"; print "90 2 91"; for (i = 90; i; i--) print i, 1; print "1 1" }' >"$tmp/falling.mtx"
expect 0 "$spmvx" check "$tmp/falling.mtx"; has out '93: warning: row 1, column 1 repeats the entry of line 92'; hasnot out 'among'
expect 0 "$spmvx" check --remember 91 "$tmp/falling.mtx"; has out '93: warning: row 1'; hasnot out 'among'
expect 0 "$spmvx" check --remember 90 "$tmp/falling.mtx"; hasnot out 'warning'; has out 'falling.mtx: note: repeats were looked for among the first 90 entries alone'
expect 0 "$spmvx" check --remember 0 -q "$tmp/falling.mtx"; lines 1; has out 'among the first 0 entries'
awk 'BEGIN { print "%%MatrixMarket matrix coordinate pattern general"; print "90 2 180"; for (j = 1; j < 3; j++) for (i = 1; i < 91; i++) print i, j }' >"$tmp/rising.mtx"
expect 0 "$spmvx" check --remember 10 "$tmp/rising.mtx"; lines 1; hasnot out 'among'
awk 'BEGIN { print "%%MatrixMarket matrix coordinate pattern symmetric"; print "90 90 180"; for (i = 1; i < 91; i++) { print i, 1; print i, i } }' >"$tmp/symmetric.mtx"
expect 0 "$spmvx" check "$tmp/symmetric.mtx"; lines 2; has out ':4: warning: row 1, column 1 repeats the entry of line 3'

# the limit, of errors and of warnings; several files; --quiet
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print "30 2 60"; for (i = 1; i <= 30; i++) { print i, 1, "nan"; print i, 3, 1 } }' >"$tmp/many.mtx"
expect 1 "$spmvx" check "$tmp/many.mtx"; lines 41; has out 'many.mtx: 30 errors (10 not listed), 30 warnings (10 not listed)'
expect 1 "$spmvx" check --limit 3 "$tmp/many.mtx"; lines 7; has out '30 errors (27 not listed)'
expect 1 "$spmvx" check --limit=0 "$tmp/many.mtx"; lines 61; has out 'many.mtx: 30 errors, 30 warnings$'
expect 1 "$spmvx" check -q "$tmp/many.mtx"; lines 40
expect 0 "$spmvx" check -q "$tmp/rising.mtx"; silent out; silent err
expect 1 "$spmvx" check "$tmp/a.mtx" "$tmp/absent.mtx" "$tmp/many.mtx"; has err 'absent.mtx: .*No such file'; has out 'a.mtx: ok'; has out 'many.mtx: 30'
expect 1 "$spmvx" check "$tmp"; has err 'directory'

# other kinds of files that are read
expect 0 "$spmvx" check "$data/hand5.rua" "$data/path6.psa"; silent err; lines 2; has out 'hand5.rua: ok, 5 x 5, 11 entries'; has out 'path6.psa: ok, 6 x 6, 16 entries'
head -n 5 "$data/hand5.rua" >"$tmp/cut.rua"
expect 1 "$spmvx" check "$tmp/cut.rua"; lines 2; has out 'cut.rua: error: line [0-9]*:'; has out 'cut.rua: 1 error$'
sed 's/^rua/cua/; s/^RUA/CUA/' "$data/hand5.rua" >"$tmp/c.cua"
expect 0 "$spmvx" check "$tmp/c.cua"; lines 2; has out 'c.cua: warning: .*complex'; has out 'not read by this library, 1 warning'; hasnot out error
expect 1 "$spmvx" check --strict "$tmp/c.cua"
echo nonsense >"$tmp/bad.npz"
if "$spmvx" convert "$data/hand5.rua" "$tmp/a.npz" 2>"$tmp/err"; then
    expect 0 "$spmvx" check "$tmp/a.npz"; has out 'a.npz: ok, 5 x 5, 11 entries'
    expect 1 "$spmvx" check "$tmp/bad.npz" "$tmp/a.npz"; has out 'bad.npz: error: '; has out 'a.npz: ok'
fi
expect 1 "$spmvx" check "$tmp/absent.rua" "$tmp/absent.npz"; has err 'absent.rua: .*No such file'; has err 'absent.npz.*No such file\|absent.npz.*without libzip'

# what is no Matrix Market file is told in one line
told 1 'hello\nworld\n1 2 3\n' '1: error: the file does not begin with %%MatrixMarket' ' 1 error'
told 1 "\357\273\277$banner pattern general\n1 1 1\n1 2\n" '1: error: a byte order mark stands before the first character' \
    '3: error: column 2 is not in 1 ... 1' ' 2 errors'
told 1 '\n%%%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n' '1: error: the file does not begin with %%MatrixMarket' ' 1 error'

# a line that is too long, and one that is not: verdicts change where the library's do
for length in 4194303 4194304; do
    { printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1'; head -c $((length - 4)) /dev/zero | tr '\0' ' '; echo 1; } >"$tmp/$length.mtx"
done
expect 0 "$spmvx" check "$tmp/4194303.mtx"; has out ': ok'
expect 0 "$spmvx" convert "$tmp/4194303.mtx" "$tmp/out.mtx"
expect 1 "$spmvx" check "$tmp/4194304.mtx"; has out ':3: error: the line is longer than 4194303 bytes'
expect 1 "$spmvx" convert "$tmp/4194304.mtx" "$tmp/out.mtx"

# compressed: what the library reads, and where it is damaged
if "$spmvx" info "$data/arc130.mtx.gz" >/dev/null 2>&1; then   # built with zlib
    expect 0 "$spmvx" check --strict "$data"/*.mtx.gz; silent err
    set -- "$data"/*.mtx.gz
    lines $#; hasnot out 'warning\|note\|error'; has out '662_bus.mtx.gz: ok, 662 x 662, 1568 entries'
    gzip -c "$tmp/many.mtx" >"$tmp/many.gz"
    expect 1 "$spmvx" check "$tmp/many.gz"; has out 'many.gz:4: error: column 3'; has out '30 errors'
    head -c 60 "$tmp/many.gz" >"$tmp/cut.gz"
    expect 1 "$spmvx" check "$tmp/cut.gz"; has out 'cut.gz:[0-9]*: error: the gzip data is damaged or ends early'
else
    expect 1 "$spmvx" check "$data/arc130.mtx.gz"; has err 'built without zlib'
fi
printf '%%%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n1 1\n' >"$tmp/a.mtx"
for end in xz zst; do
    "$spmvx" convert "$tmp/a.mtx" "$tmp/a.mtx.$end" 2>/dev/null || continue   # a build without it
    expect 0 "$spmvx" check "$tmp/a.mtx.$end"; has out ':4: warning: row 1, column 1 repeats'; has out ': ok, 2 x 2'
    head -c 30 "$tmp/a.mtx.$end" >"$tmp/cut.$end"
    expect 1 "$spmvx" check "$tmp/cut.$end"; has out 'error: the .* data is damaged or ends early'; has out "cut.$end: 1 error"
done
# from a pipe
mkfifo "$tmp/pipe.mtx"
{ printf '%%%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n'; head -c 100000 /dev/zero | tr '\0' '\n'; echo '2 2'; } >"$tmp/pipe.mtx" &
expect 0 "$spmvx" check "$tmp/pipe.mtx"; has out ': ok, 2 x 2, 2 entries'
exit $bad
