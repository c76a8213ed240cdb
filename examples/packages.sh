# Installs what building libspmvx takes, as far as it is missing. To be sourced by a POSIX sh script:
#     need_packages [test]      with test: what the test suite takes, too
# As root it installs Debian packages; else it prints the one line to run and exits 1.

has_header() { printf '#include <%s>\n' "$1" | cc -E - >/dev/null 2>&1; }

missing_packages() {
    command -v cc >/dev/null 2>&1 || echo gcc libc6-dev
    command -v meson >/dev/null 2>&1 || echo meson
    command -v ninja >/dev/null 2>&1 || echo ninja-build
    command -v pkg-config >/dev/null 2>&1 || echo pkg-config
    has_header zlib.h || echo zlib1g-dev
    has_header zstd.h || echo libzstd-dev
    has_header lzma.h || echo liblzma-dev
    has_header jansson.h || echo libjansson-dev
    has_header zip.h || echo libzip-dev
    [ "$1" = test ] || return 0
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\n' | cc -E - >/dev/null 2>&1 ||
        echo libcmocka-dev
    command -v c++ >/dev/null 2>&1 || echo g++
    command -v cmake >/dev/null 2>&1 || echo cmake
    # C++, which `cc -E` takes for C: only whether it is there.
    printf '#if !__has_include(<boost/context/detail/fcontext.hpp>)\n#error\n#endif\n' | cc -E - >/dev/null 2>&1 || echo libboost-context-dev
    command -v clang-format-14 >/dev/null 2>&1 || command -v clang-format >/dev/null 2>&1 || echo clang-format
    command -v nm >/dev/null 2>&1 || echo binutils
    python3 -c 'import scipy.sparse' 2>/dev/null || /usr/bin/python3 -c 'import scipy.sparse' 2>/dev/null || echo python3-scipy
}

need_packages() {
    list=$(missing_packages "${1:-}" | tr '\n' ' ')
    [ -n "$list" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "Some packages are missing. Run this, then try again:" >&2
        echo "    sudo apt-get install -y $list" >&2
        exit 1
    fi
    echo "Installing $list"
    # shellcheck disable=SC2086
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $list; } >/dev/null || {
        echo "apt-get could not install: $list" >&2
        exit 1
    }
}
