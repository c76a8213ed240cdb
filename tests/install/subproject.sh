#!/bin/sh
# Uses the library as a subproject of a Meson project, shared and static.
. "$(dirname "$0")/common.sh"
need meson "${CC%% *}"
export CC

mkdir subprojects
ln -s "$source" subprojects/spmvx
cp "$source/examples/mul.c" .
cat >meson.build <<'END'
project('consumer', 'c', meson_version: '>=1.0.1')
spmvx = dependency('spmvx', version: '>=0.1', fallback: 'spmvx', default_options: ['tests=false', 'examples=false'])
assert(spmvx.type_name() == 'internal', 'another spmvx was found')
assert(spmvx.get_variable('has_cuda') in ['0', '1'])
executable('mul', 'mul.c', dependencies: spmvx)
END

for kind in shared static; do
    meson setup --force-fallback-for=spmvx -Ddefault_library=$kind $kind >setup.log 2>&1 ||
        { cat setup.log; fail "meson setup, $kind"; }
    meson compile -C $kind >compile.log 2>&1 || { cat compile.log; fail "meson compile, $kind"; }
    check_mul $kind/mul
done
