#!/bin/sh
# spmvx convert: endings, standard output, symmetry, and what is found before any work: convert.sh SPMVX DATA
set -u
spmvx=$1 data=$2
# shellcheck source=expect.sh
. "$(dirname "$0")/expect.sh"
# same TEXT FILE: the file's lines are those of the text, as printf takes it
same() {
    # shellcheck disable=SC2059
    printf "$1" | cmp -s - "$tmp/$2" || { echo "$2 is not as expected:"; cat "$tmp/$2"; bad=1; }
}
# lacks COMMAND...: this build lacks a library that the command asks for
lacks() { ! "$@" >"$tmp/out" 2>"$tmp/err" && grep -q 'without' "$tmp/err"; }
head='%%%%MatrixMarket matrix coordinate real'
symmetric="$head symmetric\n3 3 3\n1 1 2\n2 1 -0.5\n3 3 4\n"
expanded="$head general\n3 3 4\n1 1 2\n1 2 -0.5\n2 1 -0.5\n3 3 4\n"
skew="$head skew-symmetric\n2 2 1\n2 1 7\n"
# shellcheck disable=SC2059
{
    printf "$symmetric" >"$tmp/s.mtx"
    printf "$expanded" >"$tmp/g.mtx"
    printf "$skew" >"$tmp/k.mtx"
}

# An ending that no writer knows is refused, with those that one knows, before the matrix is read: it is not even there.
for name in a.bz2 a.csv a.MAT a.mtx.bz2 a.csv.gz a.txt a.v2; do
    for command in 'convert absent.mtx' 'generate lap2d_3 -o' 'spmspm absent.mtx absent.mtx -o'; do
        # shellcheck disable=SC2086
        expect 2 "$spmvx" $command "$tmp/$name"
        has err "$name: no writer knows the ending .*\.mtx \.mtx\.gz \.mtx\.zst \.mtx\.xz \.npz"
        [ ! -e "$tmp/$name" ] || { echo "$name was written"; bad=1; }
    done
done
# Those that one knows, in letters of either case; and no ending.
for end in .mtx .MTX .gz .MTX.GZ .mtx.Gz .XZ .mtx.ZST .Npz ''; do
    lacks "$spmvx" convert "$tmp/s.mtx" "$tmp/known$end" && continue
    expect 0 "$spmvx" convert "$tmp/s.mtx" "$tmp/known$end"; silent out; silent err
    first=$(head -c 2 "$tmp/known$end" | od -An -tx1 | tr -d ' ')
    case $end:$first in .[mM][tT][xX]:2525 | :2525 | *.[gG][zZ]:1f8b | *.XZ:fd37 | *.ZST:28b5 | .Npz:504b) ;; *) echo "known$end begins with $first"; bad=1 ;; esac
    expect 0 "$spmvx" convert --symmetry general "$tmp/known$end" "$tmp/back.mtx"
    same "$expanded" back.mtx
done
# A folder's name has no say.
mkdir "$tmp/a.csv"
expect 0 "$spmvx" convert "$tmp/s.mtx" "$tmp/a.csv/b"
expect 1 "$spmvx" convert "$tmp/absent.mtx" "$tmp/b.rua"; has err 'read and not written'
expect 1 "$spmvx" convert "$tmp/absent.mtx" "$tmp/b.npz.gz"; has err 'b.npz.gz'
expect 2 "$spmvx" convert "$tmp/absent.mtx" "$tmp/b.NPZ.GZ"; has err 'no writer knows the ending .npz'

# Standard output, and nothing but the matrix on it.
expect 0 "$spmvx" convert "$tmp/g.mtx" -; silent err; same "$expanded" out
expect 0 "$spmvx" convert "$tmp/g.mtx" -o -; same "$expanded" out
expect 0 "$spmvx" generate lap2d_2 -o -; has err '4 x 4'; has out '^4 4 12$'; hasnot out nonzeros
expect 0 "$spmvx" generate -q lap2d_2 -o -; silent err
expect 0 "$spmvx" spmspm "$tmp/g.mtx" "$tmp/g.mtx" -o -; has err '3 x 3'; has out '^3 3 5$'; hasnot out nonzeros

# Symmetry: as it came, unless all entries are asked for.
expect 0 "$spmvx" convert "$tmp/s.mtx" -; same "$symmetric" out
expect 0 "$spmvx" convert --symmetry keep "$tmp/k.mtx" -; same "$skew" out
expect 0 "$spmvx" convert --symmetry general "$tmp/s.mtx" -; same "$expanded" out
expect 0 "$spmvx" convert --symmetry=general "$tmp/k.mtx" -; has out '^1 2 -7$'
expect 0 "$spmvx" convert "$data/path6.psa" -; has out 'real symmetric'; has out '^6 6 11$'
expect 2 "$spmvx" convert --symmetry both "$tmp/s.mtx" -; has err "'both', not keep or general"

# What cannot be written is found before the work: the input is not there, and is not what is complained about.
expect 1 "$spmvx" convert "$tmp/absent.mtx" "$tmp/no/such/folder.mtx"; has err 'no/such/folder.mtx: cannot open the folder'; hasnot err absent
expect 1 "$spmvx" convert "$tmp/absent.mtx" "$tmp"; has err 'cannot open: Is a directory'; hasnot err absent
expect 1 "$spmvx" generate nonsense -o "$tmp/no/such/folder.mtx"; has err 'no/such'; hasnot err nonsense
expect 1 "$spmvx" spmspm "$tmp/absent.mtx" "$tmp/absent.mtx" -o "$tmp/no/such/folder.mtx"; has err 'no/such'; hasnot err absent
expect 2 "$spmvx" convert --level 3 "$tmp/absent.mtx" "$tmp/b.mtx"; has err 'level is 3, and .*b.mtx is plain text'
if ! lacks "$spmvx" convert "$tmp/s.mtx" "$tmp/a.gz"; then
    expect 2 "$spmvx" convert --level 12 "$tmp/absent.mtx" "$tmp/b.gz"; has err 'options.level is 12; gzip takes 1 to 9'
fi
if ! lacks "$spmvx" convert "$tmp/s.mtx" "$tmp/a.npz"; then
    expect 2 "$spmvx" convert --level 12 "$tmp/absent.mtx" "$tmp/b.npz"; has err 'npz takes 1 to 9'
    expect 2 "$spmvx" convert --digits 5 "$tmp/absent.mtx" "$tmp/b.npz"; has err 'digits is 5'
fi
# What is there stays as it was.
printf 'before\n' >"$tmp/old.mtx"
expect 1 "$spmvx" convert "$tmp/absent.mtx" "$tmp/old.mtx"; has err 'absent.mtx'; same 'before\n' old.mtx
[ -z "$(find "$tmp" -name '.spmvx-*')" ] || { echo 'a temporary file was left'; bad=1; }

# Rows and columns in another order: of a path with scattered numbers a band, still symmetric; and which row went where.
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '5 5 6' '1 1 9' '4 1 14' '4 3 34' '5 2 25' '5 3 35' '2 2 7' >"$tmp/path.mtx"
expect 0 "$spmvx" convert --reorder rcm --order "$tmp/order.mtx" "$tmp/path.mtx" "$tmp/band.mtx"; silent err
awk 'NR == 1 && !/symmetric/ { exit 1 } NR > 2 && $1 - $2 > 1 { exit 1 }' "$tmp/band.mtx" || { echo 'no band:'; cat "$tmp/band.mtx"; bad=1; }
awk 'FNR == 1 { file++ } FNR <= 2 { next } file == 1 { row[FNR - 2] = $1; next }
    { v = row[$1] > row[$2] ? row[$1] " " row[$2] " " $3 : row[$2] " " row[$1] " " $3; print v }' "$tmp/order.mtx" "$tmp/band.mtx" | sort >"$tmp/back"
sed 1,2d "$tmp/path.mtx" | sort | cmp -s - "$tmp/back" || { echo 'not the same matrix:'; cat "$tmp/back"; bad=1; }
expect 0 "$spmvx" convert --reorder cluster --order "$tmp/order.mtx" "$tmp/k.mtx" -; has out 'skew-symmetric'
expect 0 "$spmvx" generate -q random_3_5_7 -o "$tmp/wide.mtx"
expect 0 "$spmvx" convert --reorder degree --order "$tmp/order.mtx" "$tmp/wide.mtx" -; has out '^3 5 7$'
[ "$(sed -n 2p "$tmp/order.mtx")" = '8 1' ] || { echo 'order.mtx is not 8 numbers:'; cat "$tmp/order.mtx"; bad=1; }
expect 2 "$spmvx" convert --reorder best "$tmp/g.mtx" -; has err 'rcm, degree'
expect 2 "$spmvx" convert --order "$tmp/order.mtx" "$tmp/g.mtx" -; has err '--order is given, and --reorder is not'
for name in - "$tmp/g.mtx" "$tmp/b.mtx"; do
    expect 2 "$spmvx" convert --reorder rcm --order "$name" "$tmp/g.mtx" "$tmp/b.mtx"; has err 'not a file of its own'
done
expect 2 "$spmvx" convert --reorder rcm --order "$tmp/o.mtx.gz" "$tmp/g.mtx" "$tmp/b.mtx"; has err "o.mtx.gz'; an order is a Matrix Market array"
expect 1 "$spmvx" convert --reorder rcm --order "$tmp/none" "$tmp/g.mtx" /dev/full; [ ! -e "$tmp/none" ] || { echo 'an order without a matrix'; bad=1; }
expect 1 "$spmvx" convert --reorder rcm --order "$tmp/no/such" "$tmp/absent.mtx" "$tmp/b.mtx"; has err 'no/such'; hasnot err absent

# spmspm: a C above --max-bytes is refused; what is beside C has a bound of its own.
expect 1 "$spmvx" spmspm --max-bytes 50 "$tmp/g.mtx" "$tmp/g.mtx"; has err 'C would have 5 entries and take 76 bytes; options.max_bytes is 50'; silent out
expect 0 "$spmvx" spmspm --max-bytes 76 "$tmp/g.mtx" "$tmp/g.mtx"; has out '3 x 3, 5 nonzeros'
expect 1 "$spmvx" spmspm --max-workspace 50 --max-bytes 76 "$tmp/g.mtx" "$tmp/g.mtx"; has err 'max_workspace'
awk 'BEGIN { n = 20000; print "%%MatrixMarket matrix coordinate pattern general"; print n, 1, n; for (i = 1; i <= n; i++) print i, 1 }' >"$tmp/column.mtx"
awk 'BEGIN { n = 20000; print "%%MatrixMarket matrix coordinate pattern general"; print 1, n, n; for (i = 1; i <= n; i++) print 1, i }' >"$tmp/row.mtx"
expect 1 "$spmvx" spmspm --max-bytes 1000000 "$tmp/column.mtx" "$tmp/row.mtx"; has err 'C would have 400000000 entries and take 4800080004 bytes'
exit $bad
