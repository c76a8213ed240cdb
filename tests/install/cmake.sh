#!/bin/sh
# Installs the library and uses it from a CMake project by find_package. The installed tree is not where the prefix points
# to, so the package files must find their way from where they lie.
. "$(dirname "$0")/common.sh"
export CMAKE_GENERATOR=Ninja   # make need not be there
need meson cmake "${CC%% *}"
install_library
export CC

cp "$source/examples/mul.c" .
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(consumer C)
find_package(spmvx ${WANTED} REQUIRED)
if(NOT DEFINED spmvx_HAS_CUDA)
  message(FATAL_ERROR "spmvx_HAS_CUDA is not set")
endif()
add_executable(mul mul.c)
target_link_libraries(mul PRIVATE spmvx::spmvx)
END

configure()
{
    cmake -S . -B "$1" -DWANTED="$2" -DCMAKE_PREFIX_PATH="$dest$prefix" >"$1.log" 2>&1
}

configure build 0.1 || { cat build.log; fail "find_package(spmvx 0.1)"; }
grep -q "^spmvx_DIR:PATH=$dest" build/CMakeCache.txt || fail "another spmvx was found"
cmake --build build || fail "mul does not build"
check_mul build/mul

for version in 0.99 1 9; do
    if configure "refused-$version" "$version"; then fail "find_package(spmvx $version) is content"; fi
    grep -q "requested version \"$version\"" "refused-$version.log" ||
        { cat "refused-$version.log"; fail "refused for another reason"; }
done
