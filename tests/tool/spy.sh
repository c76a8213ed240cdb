#!/bin/sh
# spmvx spy: options, the pictures' size and content: spy.sh SPMVX DATA
set -u
spmvx=$1 data=$2
# shellcheck source=expect.sh
. "$(dirname "$0")/expect.sh"
absent() { [ ! -e "$tmp/$1" ] || { echo "$1 was made"; bad=1; }; }
# bytes FILE FROM COUNT: in hexadecimal
bytes() { od -An -v -tx1 -j "$2" -N "$3" "$tmp/$1" | tr -d ' \n'; }
# png FILE WIDTH HEIGHT: signature, dimensions, 4 bits a pixel with a palette, the end
png() {
    want=$(printf '89504e470d0a1a0a0000000d49484452%08x%08x0403000000' "$2" "$3")
    [ "$(bytes "$1" 0 29)" = "$want" ] || { echo "$1 begins $(bytes "$1" 0 29), not $want"; bad=1; }
    size=$(wc -c <"$tmp/$1")
    [ "$(bytes "$1" $((size - 12)) 12)" = 0000000049454e44ae426082 ] || { echo "$1 does not end as a PNG"; bad=1; }
}
# svg FILE: is well formed
svg() {
    if command -v xmllint >/dev/null; then
        xmllint --noout "$tmp/$1" || bad=1
    fi
    has "$1" '^<svg xmlns="http://www.w3.org/2000/svg" '
    [ "$(tail -n 1 "$tmp/$1")" = '</svg>' ] || { echo "$1 has no end"; bad=1; }
    [ "$(grep -c '^<g ' "$tmp/$1")" = "$(grep -c '^</g>' "$tmp/$1")" ] || { echo "$1: <g> without </g>"; bad=1; }
    has "$1" 'prefers-color-scheme:dark'
}

printf '%%%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1\n1 2 2\n2 3 3\n' >"$tmp/a.mtx"
expect 0 "$spmvx" spy --help; has out 'usage: spmvx spy'; silent err
expect 2 "$spmvx" spy; has err '0 files given'
expect 2 "$spmvx" spy "$tmp/a.mtx" "$tmp/a.mtx" -o "$tmp/a.png"; has err '2 files given'
expect 2 "$spmvx" spy "$tmp/a.mtx"; has err '-o names it'
for name in a.jpg a svg .png a.PNG; do
    expect 2 "$spmvx" spy "$tmp/a.mtx" -o "$name"; has err "'$name', not a name that ends in .svg or .png"
done
for size in 0 31 8193; do
    expect 2 "$spmvx" spy "$tmp/a.mtx" -o "$tmp/a.png" --size $size; has err "size is $size"
done
expect 2 "$spmvx" spy "$tmp/a.mtx" -o "$tmp/a.png" --size big; has err "'big'"
expect 1 "$spmvx" spy "$tmp/no.mtx" -o "$tmp/a.png"; has err 'No such file'
absent a.png
expect 1 "$spmvx" spy "$tmp/a.mtx" -o "$tmp/no/such/a.png"; has err 'no/such'; silent out
if [ -e /dev/full ]; then
    ln -s /dev/full "$tmp/full.png"
    expect 1 "$spmvx" spy "$tmp/a.mtx" -o "$tmp/full.png"; has err 'full.png: '
    ln -s /dev/full "$tmp/full.svg"
    expect 1 "$spmvx" spy "$tmp/a.mtx" -o "$tmp/full.svg"; has err 'full.svg: '
fi

# 2 x 3 entries of 31 pixels each within 100
expect 0 "$spmvx" spy "$tmp/a.mtx" --size 100 -o "$tmp/a.png"; has out '99 x 68 pixels; 2 x 3, 3 nonzeros'; silent err
png a.png 99 68
expect 0 "$spmvx" spy -q "$tmp/a.mtx" --size 100 -o "$tmp/a.png"; silent out; silent err
expect 0 "$spmvx" spy "$tmp/a.mtx" --size 100 --output="$tmp/a.svg"; svg a.svg
has a.svg '>2 x 3, 3 nonzeros</text>'; has a.svg 'scale(31 31)'; has a.svg 'd="M0 0h2"'; has a.svg 'd="M2 1h1"'

# every cell of 2 x 2: one entry, three (of four shades), none, five (a repeat)
printf '%%%%MatrixMarket matrix coordinate pattern general\n64 64 9\n1 1\n1 3\n1 4\n2 3\n4 3\n4 3\n3 3\n4 4\n3 4\n' >"$tmp/shades.mtx"
expect 0 "$spmvx" spy "$tmp/shades.mtx" --size 38 -o "$tmp/shades.svg"; svg shades.svg
has out '38 x 38 pixels; 64 x 64, 9 nonzeros; up to 5 nonzeros in a cell of 2 x 2'
[ "$(sed -n '/^<g class="s1">/,/^<.g>/p' "$tmp/shades.svg" | tr -d '\n')" = '<g class="s1"><path d="M0 0h1"/></g>' ] || { echo 'one entry has not the least shade'; bad=1; }
[ "$(sed -n '/^<g class="s9">/,/^<.g>/p' "$tmp/shades.svg" | tr -d '\n')" = '<g class="s9"><path d="M1 0h1"/></g>' ] || { echo 'three entries of five have not shade 9'; bad=1; }
[ "$(sed -n '/^<g class="s12">/,/^<.g>/p' "$tmp/shades.svg" | tr -d '\n')" = '<g class="s12"><path d="M1 1h1"/></g>' ] || { echo 'five entries have not the strongest shade'; bad=1; }

# huge, flat, tall, empty: no memory in proportion to rows
printf '%%%%MatrixMarket matrix coordinate real general\n2147483647 2147483647 3\n1 1 1\n2147483647 2147483647 1\n1 2147483647 1\n' >"$tmp/huge.mtx"
for end in png svg; do
    expect 0 "$spmvx" spy "$tmp/huge.mtx" -o "$tmp/huge.$end"; has out '2147483647 x 2147483647, 3 nonzeros'
done
png huge.png 800 800; svg huge.svg; has huge.svg 'd="M0 0h1M793 0h1"'; has huge.svg 'd="M793 793h1"'
if "$spmvx" info "$data/orani678.mtx.gz" >/dev/null 2>&1; then   # built with zlib
    for end in png svg; do
        expect 0 "$spmvx" spy "$data/orani678.mtx.gz" -o "$tmp/orani.$end"; has out '639 x 639 pixels; 2529 x 2529, 90158 nonzeros'
    done
    png orani.png 639 639; svg orani.svg; has orani.svg 'nonzeros in a cell of 4 x 4</text>'
fi
printf '%%%%MatrixMarket matrix coordinate real general\n2147483647 5 1\n7 1 3\n' >"$tmp/tall.mtx"
expect 0 "$spmvx" spy "$tmp/tall.mtx" -o "$tmp/tall.png"; has out 'not to scale'
png tall.png 101 800
printf '%%%%MatrixMarket matrix coordinate real general\n0 0 0\n' >"$tmp/none.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n0 1000 0\n' >"$tmp/flat.mtx"
for name in none flat; do
    expect 0 "$spmvx" spy "$tmp/$name.mtx" -o "$tmp/$name.svg"; svg $name.svg; hasnot out 'up to'; has $name.svg ', 0 nonzeros'
    expect 0 "$spmvx" spy "$tmp/$name.mtx" -o "$tmp/$name.png"
done
png none.png 800 800

# what PNG holds, by another program
if command -v python3 >/dev/null; then
    python3 - "$tmp/a.png" <<'E' || bad=1
import struct, sys, zlib
b, at, data = open(sys.argv[1], 'rb').read(), 8, b''
while at < len(b):
    n, = struct.unpack('>I', b[at:at + 4])
    body = b[at + 4:at + 8 + n]
    assert struct.unpack('>I', b[at + 8 + n:at + 12 + n])[0] == zlib.crc32(body), 'a checksum is wrong'
    if body[:4] == b'IDAT': data += body[4:]
    at += 12 + n
rows = zlib.decompress(data)
stride = 1 + 50
assert len(rows) == 68 * stride
pixel = lambda x, y: rows[y * stride + 1 + x // 2] >> (0 if x % 2 else 4) & 15
cells = [[pixel(3 + 31 * c + d, 3 + 31 * r + d) for c in range(3)] for r in range(2) for d in (0, 30)]
assert cells == [[12, 12, 0]] * 2 + [[0, 0, 12]] * 2, cells
assert {pixel(x, y) for x in range(99) for y in (0, 67)} == {pixel(x, y) for x in (0, 98) for y in range(68)} == {13}, 'the frame'
E
fi
exit $bad
