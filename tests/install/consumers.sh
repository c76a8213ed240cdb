#!/bin/sh
# consumers.sh SOURCE BUILD KIND CUDA: the library of this KIND (shared, static), with CUDA or without it (enabled, disabled), as
# strangers take it: a Meson project that has it as a subproject, which then installs it into a prefix of its own; there it is
# found by the README's line for pkg-config, and by CMake. Each program runs, without LD_LIBRARY_PATH.
. "$(dirname "$0")/common.sh"
kind=$3 cuda=$4
need meson pkg-config "${CC%% *}" readelf
if [ "$cuda" = enabled ] && ! command -v nvcc >/dev/null && [ ! -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
    echo "skipped: no nvcc"
    exit 77
fi
export CC
unset LD_LIBRARY_PATH
prefix=$tmp/prefix

# Whether the program asks the loader for the library, or holds it.
check_kind()
{
    readelf -d "$1" >dynamic
    if grep -q 'NEEDED.*libspmvx' dynamic; then linked=shared; else linked=static; fi
    [ "$linked" = "$kind" ] || fail "$1 is linked to a $linked library"
}

echo "== subproject"
mkdir subprojects
ln -s "$source" subprojects/spmvx
cp "$source/examples/mul.c" .
cat >meson.build <<'END'
project('consumer', 'c', meson_version: '>=1.0.1', default_options: 'buildtype=debug')
spmvx = dependency('spmvx', version: '>=0.1', fallback: 'spmvx')
assert(spmvx.type_name() == 'internal', 'another spmvx was found')
assert(spmvx.get_variable('has_cuda') in ['0', '1'])
executable('mul', 'mul.c', dependencies: spmvx)
END
# Only the linking counts here: device objects that this tree has been built with stand for those that nvcc would make again.
if [ "$cuda" = enabled ] && [ -e "$build/cuda/backend.cu.o" ]; then
    nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
    toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    mkdir -p toolkit/bin
    for entry in "$toolkit"/*; do [ "${entry##*/}" = bin ] || ln -s "$entry" toolkit/; done
    cat >toolkit/bin/nvcc <<END
#!/bin/sh
for output; do :; done # the last argument
case \$output in
*.cu.o) cp "$build/cuda/\${output##*/}" "\$output" && exec touch "\${output%.o}.d" ;;
esac
exec "$nvcc" "\$@"
END
    chmod +x toolkit/bin/nvcc
    PATH=$tmp/toolkit/bin:$PATH
fi
meson setup --force-fallback-for=spmvx --prefix="$prefix" -Ddefault_library="$kind" -Dspmvx:cuda="$cuda" build >setup.log 2>&1 ||
    { cat setup.log; fail "meson setup"; }
meson compile -j 1 -C build >compile.log 2>&1 || { cat compile.log; fail "meson compile"; }
check_kind build/mul
check_mul build/mul

meson install --no-rebuild --quiet -C build || fail "meson install"
rm -rf build subprojects
[ -e "$prefix/share/doc/spmvx/LICENSE" ] || fail "the licence is not installed"

echo "== pkg-config"
cp mul.c mine.c
pc=$(find "$prefix" -name spmvx.pc)
PKG_CONFIG_PATH=$(dirname "$pc")${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
case $cuda$(pkg-config --variable=has_cuda spmvx) in
enabled1 | disabled0) ;;
*) fail "has_cuda is $(pkg-config --variable=has_cuda spmvx)" ;;
esac
flags=$(pkg-config --static --cflags --libs spmvx)
case $flags in *-fopenmp*) fail "pkg-config forces OpenMP on the user: $flags" ;; esac
# Nothing but the library itself is asked for behind a shared one.
[ "$kind" = static ] || PKG_CONFIG_LIBDIR=$(dirname "$pc") PKG_CONFIG_PATH='' pkg-config --cflags --libs spmvx >/dev/null ||
    fail "other packages are needed beside the shared library"
line=$(readme_line)
cc() { command $CC "$@"; }
eval "$line" || fail "the README's line fails: $line"
check_kind a.out
check_mul ./a.out
# Another compiler than the library's: it has another OpenMP, or none.
if command -v clang >/dev/null; then
    cc() { command clang "$@"; }
    eval "$line" || fail "clang cannot link: $line"
    check_mul ./a.out
fi

echo "== CMake"
export CMAKE_GENERATOR=Ninja
need cmake
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(consumer C)
find_package(spmvx 0.1 REQUIRED)
get_target_property(needs spmvx::spmvx INTERFACE_LINK_LIBRARIES)
get_target_property(file spmvx::spmvx IMPORTED_LOCATION)
foreach(need ${file} ${needs})
  if(need AND NOT IS_ABSOLUTE "${need}" AND NOT need MATCHES "^(m|dl|rt|pthread)$")
    message(FATAL_ERROR "${need} is not a full path")
  endif()
endforeach()
foreach(property INTERFACE_COMPILE_OPTIONS INTERFACE_LINK_OPTIONS)
  get_target_property(options spmvx::spmvx ${property})
  if(options)
    message(FATAL_ERROR "${property} is ${options}")
  endif()
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/has_cuda "${spmvx_HAS_CUDA}")
add_executable(mul mul.c)
target_link_libraries(mul PRIVATE spmvx::spmvx)
END
cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 || { cat cmake.log; fail "find_package(spmvx)"; }
grep -q "^spmvx_DIR:PATH=$prefix" build/CMakeCache.txt || fail "another spmvx was found"
case $cuda$(cat build/has_cuda) in
enabledON | disabledOFF) ;;
*) fail "spmvx_HAS_CUDA is $(cat build/has_cuda)" ;;
esac
cmake --build build || fail "mul does not build"
check_kind build/mul
check_mul build/mul

[ "$kind" = static ] || exit 0
# A library that is not where it was: the message names it.
sed 's/(_spmvx_name /&absent-library /' "$prefix/lib/cmake/spmvx/spmvxConfig.cmake" >changed
cp changed "$prefix/lib/cmake/spmvx/spmvxConfig.cmake"
if cmake -S . -B refused -DCMAKE_PREFIX_PATH="$prefix" >refused.log 2>&1; then fail "a need that is missing is not noticed"; fi
tr -s '\n ' ' ' <refused.log | grep -q 'the static library spmvx needs libabsent-library' ||
    { cat refused.log; fail "refused for another reason"; }
