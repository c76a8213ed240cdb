#!/bin/sh
# What is built by default, and with each of the options tool, examples and tests. Nothing is compiled.
. "$(dirname "$0")/common.sh"
need meson ninja "${CC%% *}"
export CC

# configure OPTIONS...: a fresh build folder; its programs are listed in the file 'programs'
configure()
{
    rm -rf configured
    meson setup configured "$source" -Dcuda=disabled "$@" >setup.log 2>&1 || return 1
    ninja -C configured -t targets all | sed -n 's/: *[a-z]*_LINKER$//p' | grep -v '\.so' | sort >programs
}

configure || { cat setup.log; fail "meson setup"; }
echo examples/spmvx | diff -u - programs || fail "a default build has other programs than the tool"
[ "$(ninja -C configured -n | tail -n 1 | sed 's/.*\/\([0-9]*\)\].*/\1/')" -lt 200 ] || fail "a default build has 200 steps or more"
configure -Dtool=false || { cat setup.log; fail "meson setup -Dtool=false"; }
[ ! -s programs ] || fail "programs without the tool: $(cat programs)"
configure -Dexamples=true -Dtool=false || { cat setup.log; fail "meson setup -Dexamples=true"; }
grep -q '^examples/example_cg$' programs || fail "-Dexamples=true builds no examples"
if grep -v '^examples/example_' programs; then fail "-Dexamples=true -Dtool=false builds more than the examples"; fi
configure -Dtests=true -Dtool=false || { cat setup.log; fail "meson setup -Dtests=true -Dtool=false"; }
grep -q '^tests/unit/test_create$' programs || fail "-Dtests=true builds no tests"
if grep -q '^examples/spmvx$' programs; then fail "-Dtool=false builds the tool"; fi
if configure -Dpeers=enabled; then fail "peers without tests are accepted"; fi
grep -q 'ERROR.*-Dtests=true' setup.log || { cat setup.log; fail "refused for another reason"; }
