#!/bin/sh
# The tool's commands, options, output and exit statuses: tool.sh SPMVX DATA
set -u
spmvx=$1 data=$2
# shellcheck source=expect.sh
. "$(dirname "$0")/expect.sh"

expect 2 "$spmvx"; has err '^usage'; silent out
expect 0 "$spmvx" --help; has out '^usage'; silent err
expect 0 "$spmvx" --version; has out '^spmvx [0-9]'
expect 2 "$spmvx" frobnicate; has err "unknown command 'frobnicate'"
for command in info mul spmspm convert bench compare generate kernels check spy tune; do
    expect 0 "$spmvx" $command --help; has out "usage: spmvx $command"; has out '-q, --quiet  '; silent err
    expect 2 "$spmvx" $command --nonsense; has err 'unknown option --nonsense'; silent out
done
for command in info mul convert bench generate check spy; do
    expect 2 "$spmvx" $command; has err 'given'
done
expect 2 "$spmvx" bench --repeat; has err 'needs a value'
expect 2 "$spmvx" bench --repeat x "$data/662_bus.mtx.gz"; has err "'x'"
expect 2 "$spmvx" bench --repeat 0 "$data/662_bus.mtx.gz"; has err 'repeat is 0'
expect 2 "$spmvx" bench --types f16 "$data/662_bus.mtx.gz"; has err 'f16'
expect 1 "$spmvx" info "$tmp/absent.mtx"; has err 'absent.mtx'; has err 'No such file'
expect 1 "$spmvx" info "$tmp/absent.mtx" "$data/662_bus.mtx.gz"; has err 'absent.mtx'; has out '662 x 662'   # it goes on

expect 0 "$spmvx" kernels; silent err
has out '^host/mul/sell '; has out '^host/mul/csr-merge-path '; has out '^host/mul/coo-scalar '
[ "$(cut -d' ' -f1 "$tmp/out" | sort | uniq -d)" = "" ] || { echo 'an id comes twice'; bad=1; }

expect 0 "$spmvx" info "$data/orani678.mtx.gz"; has out '2529 x 2529'; has out 'nonzeros  *90158'; has out 'longest\|1110'; has out 'AUTO takes'

# info: no rows and no columns, explicit zeros, the diagonal, the file's own symmetry, a name, one refusal a line
printf '%%%%MatrixMarket matrix coordinate real general\n0 0 0\n' >"$tmp/none.mtx"
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 0\n2 1 0\n3 3 4\n' >"$tmp/zeros.mtx"
expect 0 "$spmvx" info "$tmp/none.mtx"; has out '0 x 0'; has out 'none: there are no nonzeros'; has out 'diagonal  *0 of 0'; hasnot out 'nan\|inf'
expect 0 "$spmvx" info "$tmp/zeros.mtx"; has out 'explicit zeros  *3$'; has out 'diagonal  *2 of 3 places have an entry, 1 of them 0'
has out 'the file holds  *one triangle (symmetric)'; has out 'symmetry  *symmetric'; has out 'predicted times  *are a guess'; has out 'in other orders  *rcm [0-9.]* times as fast, degree [0-9.]* times as fast, cluster [0-9.]* times as fast: none would pay'
expect 0 "$spmvx" info lap2d_9 random_3000_3000_30000; silent err; has out '^lap2d_9$'; has out '81 x 81'; hasnot out 'the file holds'
has out ' DIA  *-- would hold [0-9.]* MB, [0-9.]* times the [0-9.]* bytes of CSR; max_bytes is [0-9]* ([0-9.]* MB)$'; hasnot out 'DIA.*DIA'
has out 'SELL in slices of [0-9]* rows.* would store [0-9.]* places an entry'; hasnot out 'SELL-[0-9]'
# What cannot be written is found before anything is read.
expect 1 "$spmvx" mul "$tmp/none.mtx" -o "$tmp/none/y.mtx"; has err 'none/y.mtx'; hasnot err 'none.mtx'
expect 1 "$spmvx" spy "$tmp/none.mtx" -o "$tmp/none/x.svg"; has err 'none/x.svg'; hasnot err 'none.mtx'
expect 1 "$spmvx" info nonsense lap2d_9; has err "nonsense: no such file, and as a matrix's name"; has out '81 x 81'
printf 'spmvx-wisdom 1\nmachine memory=20000 more=500 cache=40000 near=32000 mid=1000000 cached=24000000 compute=1000 far=1000\n' >"$tmp/wisdom"
expect 0 "$spmvx" info --place host --wisdom "$tmp/wisdom" lap2d_9; has out 'predicted times  *are a guess, mostly within a factor of 1.5'

printf '%%%%MatrixMarket matrix coordinate integer general\n2 3 4\n1 1 1\n1 3 2\n2 2 3\n2 1 -4\n' >"$tmp/a.mtx"
printf '1 10\n100\n' >"$tmp/x.txt"
expect 0 "$spmvx" mul --x "$tmp/x.txt" -o "$tmp/y.mtx" "$tmp/a.mtx"; has out 'sum of y 227'
[ "$(grep -v '^%' "$tmp/y.mtx" | tr '\n' ' ')" = "2 1 201 26 " ] || { echo 'y is wrong:'; cat "$tmp/y.mtx"; bad=1; }
expect 0 "$spmvx" mul --transpose --x="$tmp/y.mtx" -o - "$tmp/a.mtx"   # y as x of the transpose
[ "$(grep -v '^%' "$tmp/out" | tr '\n' ' ')" = "3 1 97 78 402 " ] || { echo 'the transposed product is wrong:'; cat "$tmp/out"; bad=1; }
awk 'BEGIN { for (i = 0; i < 2456; i++) printf "0.333333333333333 "; print "" }' >"$tmp/long.txt"   # one line
expect 0 "$spmvx" mul --x "$tmp/long.txt" "$data/Groebner_id2003_aug.mtx.gz"
printf '%%%%MatrixMarket matrix coordinate real general\n2000000000 5 1\n7 1 3\n' >"$tmp/tall.mtx"
expect 0 "$spmvx" info "$tmp/tall.mtx"; has out '2000000000 x 5'
ln -s a.mtx "$tmp/link.mtx"; chmod 600 "$tmp/a.mtx"
expect 0 "$spmvx" convert "$tmp/a.mtx" "$tmp/link.mtx"
[ -L "$tmp/link.mtx" ] && [ "$(ls -l "$tmp/a.mtx" | cut -c1-10)" = '-rw-------' ] || { echo 'a link or a mode was not kept'; bad=1; }
for kernel in sell csr-scalar coo-scalar csr-merge-path:chunk=64; do
    expect 0 "$spmvx" mul --kernel $kernel --type f32 --threads 2 "$tmp/a.mtx"; has out 'sum of y 2$'
done
# values that no option takes: exit status 2, with what is allowed, before any file is read
expect 2 "$spmvx" mul --kernel sel "$tmp/absent.mtx"; has err 'not known; host has .*sell'; hasnot err absent
expect 2 "$spmvx" mul --kernel sell:lanes=3 "$tmp/absent.mtx"; has err 'lanes.*sell.* knows: slice, sigma'; hasnot err absent
expect 2 "$spmvx" mul --kernel sell:slice=3 "$tmp/absent.mtx"; has err 'takes slice=4 to 65536'
expect 2 "$spmvx" spmspm --kernel sell "$tmp/absent.mtx" "$tmp/absent.mtx"; has err 'not known; host has csr-dense-row, coo-hash, dense-window, .*hash'
expect 0 "$spmvx" mul --kernel sell:slice=32,sigma=4096 "$tmp/a.mtx"; has out 'sum of y 2$'
for command in mul info bench tune; do
    expect 2 "$spmvx" $command --place mars "$tmp/absent.mtx"; has err "place is 'mars', not host, cuda or any"
done
for command in mul info convert spmspm; do
    expect 2 "$spmvx" $command --type f16 "$tmp/absent.mtx" "$tmp/absent.mtx"; has err "type is 'f16', not f64 or f32"
done
for command in mul info convert spmspm bench tune generate spy; do
    expect 2 "$spmvx" $command --threads 4097 "$tmp/absent.mtx"; has err 'threads is 4097, not 0 to 4096'
done
expect 2 "$spmvx" bench --place host --states graph lap2d_4; has err 'graph, which is a device'
expect 2 "$spmvx" bench --states warm,,cold lap2d_4; has err 'not a list of warm, cold, rotated, graph'
printf "1 2\n" >"$tmp/y.txt"; expect 1 "$spmvx" mul --x "$tmp/y.txt" "$tmp/a.mtx"; has err 'needs 3'
expect 1 "$spmvx" mul -o "$tmp/no/such/folder" "$tmp/a.mtx"; has err 'no/such'

printf '%%%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 2\n3 1 -1\n2 2 5\n' >"$tmp/b.mtx"
expect 0 "$spmvx" spmspm "$tmp/a.mtx" "$tmp/b.mtx" -o "$tmp/ab.mtx"; has out '2 x 2, 3 nonzeros'
[ "$(grep -v '^%' "$tmp/ab.mtx" | tr '\n' ';')" = '2 2 3;1 1 0;2 1 -8;2 2 15;' ] || { echo 'the product is wrong:'; cat "$tmp/ab.mtx"; bad=1; }
expect 1 "$spmvx" spmspm "$tmp/a.mtx" "$tmp/a.mtx"; has err '3 columns'
expect 2 "$spmvx" spmspm "$tmp/a.mtx"; has err 'two wanted'
# --quiet: a line that is all there is to tell stays, a note beside a file does not
expect 0 "$spmvx" mul -q "$tmp/a.mtx"; has out 'sum of y'
expect 0 "$spmvx" mul --quiet -o "$tmp/y.mtx" "$tmp/a.mtx"; silent out; silent err
expect 0 "$spmvx" mul --quiet -o - "$tmp/a.mtx"; has out MatrixMarket; silent err
expect 0 "$spmvx" spmspm -q "$tmp/a.mtx" "$tmp/b.mtx"; has out '2 x 2'
expect 0 "$spmvx" spmspm -q "$tmp/a.mtx" "$tmp/b.mtx" -o "$tmp/ab.mtx"; silent out; silent err
# A device's kernels are available where one answers, whatever they compute, or none of them.
(unset SPMVX_DISABLE; exec "$spmvx" kernels --available) >"$tmp/out"
if grep -q '^cuda/mul/' "$tmp/out"; then has out '^cuda/spmspm/'; else hasnot out '^cuda/'; fi
# A vector's file: numbers, or an array of one column; nothing else is taken for one, nor written under another name.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n' >"$tmp/eye.mtx"
printf '%%%%MatrixMarket matrix array real general\n%% of one column\n\n2 1\n3\n4\n' >"$tmp/x.mtx"
expect 0 "$spmvx" mul -q -x "$tmp/x.mtx" -o - "$tmp/eye.mtx"; has out '^3$'; has out '^4$'
for x in 'coordinate real general\n2 1 2\n1 1 3\n2 1 4' 'array real symmetric\n2 2\n1\n2\n3' 'array real general\n1 2\n3\n4' 'array complex general\n2 1\n3 4\n5 6'; do
    printf "%%%%%%%%MatrixMarket matrix $x\n" >"$tmp/y.mtx"
    expect 1 "$spmvx" mul -x "$tmp/y.mtx" "$tmp/eye.mtx"; silent out
done
printf '%%%%MatrixMarket matrix array real general\n5 1\n3\n4\n' >"$tmp/y.mtx"
expect 1 "$spmvx" mul -x "$tmp/y.mtx" "$tmp/eye.mtx"; has err '5 numbers, and the product needs 2'
for end in npz mtx.gz RUA csv; do expect 2 "$spmvx" mul -o "$tmp/y.$end" "$tmp/eye.mtx"; has err "y.$end"; done
expect 1 "$spmvx" info --quiet "$tmp/absent.mtx"; has err 'absent.mtx'
for end in mtx mtx.gz mtx.zst mtx.xz; do
    if ! "$spmvx" convert "$data/lhr01.mtx.gz" "$tmp/b.$end" 2>"$tmp/err" && grep -q 'without' "$tmp/err"; then continue; fi   # a build that lacks it
    expect 0 "$spmvx" convert "$data/lhr01.mtx.gz" "$tmp/b.$end"
    expect 0 "$spmvx" convert -o "$tmp/c.mtx" "$tmp/b.$end"
    cmp -s "$tmp/b.mtx" "$tmp/c.mtx" || { echo "convert to .$end and back differs"; bad=1; }
done
if "$spmvx" convert "$data/lhr01.mtx.gz" "$tmp/b.npz" 2>"$tmp/err"; then
    expect 0 "$spmvx" convert "$tmp/b.npz" "$tmp/c.mtx"
    cmp -s "$tmp/b.mtx" "$tmp/c.mtx" || { echo 'convert to .npz and back differs'; bad=1; }
    expect 2 "$spmvx" convert --digits 5 "$tmp/b.npz" "$tmp/d.npz"; has err 'options.digits is 5'
    expect 1 "$spmvx" convert "$tmp/b.npz" "$tmp/d.npz.gz"; has err 'd.npz.gz'
else
    has err 'without libzip'
fi
expect 0 "$spmvx" info "$data/hand5.rua" "$data/path6.psa"; has out '5 x 5'; has out '6 x 6'; has out 'nonzeros  *16'
expect 0 "$spmvx" mul "$data/hand5.rua"; has out 'sum of y 15000000011\.58233'
expect 1 "$spmvx" convert "$data/hand5.rua" "$tmp/b.rua"; has err 'read and not written'
expect 2 "$spmvx" convert "$tmp/a.mtx"; has err '1 files given'
expect 2 "$spmvx" convert --type f16 "$tmp/a.mtx" "$tmp/c.mtx"; has err "'f16'"
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 0.123456789012\n' >"$tmp/digits.mtx"
# standard output, which others write to, too; and nothing is left of a file whose writing is ended
if [ -e /dev/stdout ]; then
    { echo before; "$spmvx" convert "$tmp/digits.mtx" /dev/stdout; echo after; } >"$tmp/out"
    [ "$(sed -n '1p;$p' "$tmp/out" | tr '\n' ' ')" = 'before after ' ] && has out '^1 1 0.123456789012' ||
        { echo 'others lose what they wrote to standard output:'; cat "$tmp/out"; bad=1; }
fi
mkdir "$tmp/only"
if (ulimit -f 1; exec "$spmvx" generate lap2d_200 -o "$tmp/only/g.mtx") >"$tmp/out" 2>&1; then
    echo 'a file is larger than its limit'; bad=1
fi
[ -z "$(find "$tmp/only" -name '*.mtx')" ] || { echo 'half a file was left'; bad=1; }
for choice in '--type f64,0.123456789012' '--type f32,0.12345679' '--type=f32 --digits 9,0.123456791' '--digits 3,0.123'; do
    # shellcheck disable=SC2086
    expect 0 "$spmvx" convert ${choice%,*} "$tmp/digits.mtx" "$tmp/c.mtx"
    [ "$(tail -n 1 "$tmp/c.mtx")" = "1 1 ${choice#*,}" ] || { echo "convert ${choice%,*} writes:"; cat "$tmp/c.mtx"; bad=1; }
done
expect 2 "$spmvx" convert --digits 18 "$tmp/digits.mtx" "$tmp/c.mtx"; has err 'digits is 18, not 0 to 17'
expect 2 "$spmvx" convert --level 2147483648 "$tmp/digits.mtx" "$tmp/c.mtx"; has err 'level is 2147483648, above'

expect 0 "$spmvx" generate --list; silent err; has out '^lap2d_X'; has out '^ *rail_small  *random_2000_500000_4987689'
expect 0 "$spmvx" generate lap2d_3_2 -o "$tmp/g.mtx"; silent err; has out '6 x 6, 20 nonzeros, rows of 3 to 4, mean 3.33, 0 empty'
[ "$(grep -v '^%' "$tmp/g.mtx" | head -n 4 | tr '\n' ';')" = '6 6 20;1 1 4;1 2 -1;1 4 -1;' ] || { echo 'the matrix is wrong:'; cat "$tmp/g.mtx"; bad=1; }
expect 0 "$spmvx" generate --threads 1 web_5k_rand -o "$tmp/g1.mtx.gz"
expect 0 "$spmvx" generate --threads 3 web_5k_rand -o "$tmp/g3.mtx.gz"
cmp -s "$tmp/g1.mtx.gz" "$tmp/g3.mtx.gz" || { echo 'a generated matrix depends on the threads'; bad=1; }
expect 0 "$spmvx" info "$tmp/g1.mtx.gz"; has out '5000 x 5000'
expect 2 "$spmvx" generate nonsense; has err "'nonsense' is not known; known are lap2d"; silent out
expect 2 "$spmvx" generate lap2d_50k; has err '2500000000 rows'
expect 2 "$spmvx" generate --list lap2d_5; has err 'beside --list'
expect 2 "$spmvx" generate lap2d_5 lap2d_6; has err '2 names given, one wanted'
expect 1 "$spmvx" generate lap2d_5 -o "$tmp/no/such/folder.mtx"; has err 'no/such'
expect 2 "$spmvx" generate lap2d_5 --digits 40 -o "$tmp/g.mtx"; has err 'digits is 40'
expect 0 "$spmvx" generate lap2d_5 --quiet -o "$tmp/g.mtx"; silent out
expect 0 "$spmvx" generate lap2d_5 --quiet; has out '25 x 25'

expect 0 "$spmvx" bench --place host --flush 4 --repeat 3 "$data/arc130.mtx.gz" "$tmp/a.mtx"; silent err
has out '^.. *csr-scalar '; has out '^.. *sell'; has out 'AUTO, by its model took'; has out 'AUTO, by timing took'; has out '^fastest: \|^no winner'
expect 0 "$spmvx" bench --place host --flush 4 --kernels 'sell;csr-merge-path:chunk=128' --repeat 2 "$data/arc130.mtx.gz"; has out 'csr-merge-path:chunk=128'
expect 2 "$spmvx" bench --place host --flush 4 --kernels 'sell;nonsense' --repeat 2 "$data/arc130.mtx.gz"; has err '"nonsense", which is not known'
expect 2 "$spmvx" bench --kernels 'sell:slice=3' "$data/arc130.mtx.gz"; has err 'slice'
expect 2 "$spmvx" bench --kernels 'csr5:sigma=4,sigma=5' --place host "$data/arc130.mtx.gz"; has err 'sigma twice'
expect 2 "$spmvx" bench --kernels '' "$data/arc130.mtx.gz"; has err 'empty'
expect 0 "$spmvx" bench --place host --flush 4 --json --repeat 2 --types f32 "$data/arc130.mtx.gz" "$tmp/a.mtx"; silent err
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert len(d["cases"]) == 2 and len(d["cases"][0]["results"]) > 8' "$tmp/out" || bad=1
fi
if [ -e /dev/full ]; then
    "$spmvx" kernels >/dev/full 2>"$tmp/err" && { echo 'a full stdout is not noticed'; bad=1; }
    has err 'cannot write to stdout'
fi
exit $bad
