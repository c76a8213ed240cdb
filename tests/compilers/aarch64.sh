#!/bin/sh
# aarch64.sh SOURCE BUILD: the library, the tool and the examples cross-built for aarch64 with warnings as errors; run, too, where
# qemu-aarch64 is installed.
. "$(dirname "$0")/../install/common.sh"
need meson ninja aarch64-linux-gnu-gcc aarch64-linux-gnu-ar

# Packages of this machine's architecture are not looked at.
cat >aarch64.ini <<END
[binaries]
c = 'aarch64-linux-gnu-gcc'
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
[properties]
pkg_config_libdir = '$tmp/none'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
meson setup build "$source" --cross-file aarch64.ini -Dwerror=true -Dexamples=true >setup.log 2>&1 || { cat setup.log; fail "meson setup"; }
ninja -j1 -k0 -C build >build.log 2>&1 || { grep -E 'error:|FAILED' build.log; fail "the build"; }
for file in lib/libspmvx.so examples/spmvx examples/example_mul; do
    aarch64-linux-gnu-readelf -h build/$file | grep -q 'Machine: *AArch64' || fail "$file is of another architecture"
done

root=$(aarch64-linux-gnu-gcc -print-sysroot)
[ -e "$root/lib/ld-linux-aarch64.so.1" ] || root=/usr/aarch64-linux-gnu
if ! command -v qemu-aarch64 >/dev/null || [ ! -e "$root/lib/ld-linux-aarch64.so.1" ]; then
    echo "built; not run: no qemu-aarch64, or no libraries for it"
    exit 0
fi
gzip -dc "$source/tests/data/662_bus.mtx.gz" >662_bus.mtx
qemu-aarch64 -L "$root" build/examples/example_mul 662_bus.mtx >mul.out || fail "example_mul exits $?"
cat mul.out
grep -q '^sum of y = 1408\.66912' mul.out || fail "a wrong sum"
for kernel in csr-scalar csr-vector csr-merge-path sell packed csr5; do
    qemu-aarch64 -L "$root" build/examples/spmvx mul --kernel $kernel 662_bus.mtx >mul.out || fail "$kernel exits $?"
    grep -q 'sum of y 1408\.66912' mul.out || { cat mul.out; fail "$kernel: a wrong sum"; }
done
