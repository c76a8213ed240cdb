# Installs what building libspmvx takes, as far as it is missing. To be sourced by a POSIX sh script:
#     need_packages [test]      with test: what the test suite takes, too; then all of it is required
# As root it installs Debian packages; else it prints the one line to run. It ends the script with status 1 when
# something required is missing afterwards. When only optional packages are, it names the features that go with
# them and returns; missing_optional then holds their names.

has_header() { printf '#include <%s>\n' "$1" | cc -E - >/dev/null 2>&1; }

# Nothing is built without these.
required_packages() {
    command -v cc >/dev/null 2>&1 || echo gcc libc6-dev
    command -v meson >/dev/null 2>&1 || echo meson
    command -v ninja >/dev/null 2>&1 || echo ninja-build
}

# The library and the tool are built without these, too, but lack something: a package a line, and what it brings.
optional_packages() {
    command -v pkg-config >/dev/null 2>&1 || echo 'pkg-config finding zstd, xz, libzip and Jansson: without it their features are off'
    has_header zlib.h || echo 'zlib1g-dev files compressed by gzip (.gz)'
    has_header zstd.h || echo 'libzstd-dev files compressed by zstd (.zst)'
    has_header lzma.h || echo 'liblzma-dev files compressed by xz (.xz)'
    has_header jansson.h || echo 'libjansson-dev spmvx compare, which reads the results of spmvx bench'
    has_header metis.h || echo 'libmetis-dev packets of the format PKT by METIS'
    has_header zip.h || echo "libzip-dev SciPy's files (.npz)"
}

test_packages() {
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\n' | cc -E - >/dev/null 2>&1 ||
        echo libcmocka-dev
    command -v c++ >/dev/null 2>&1 || echo g++
    command -v cmake >/dev/null 2>&1 || echo cmake
    # C++, which `cc -E` takes for C: only whether it is there.
    printf '#if !__has_include(<boost/context/detail/fcontext.hpp>)\n#error\n#endif\n' | cc -E - >/dev/null 2>&1 || echo libboost-context-dev
    command -v clang-format-14 >/dev/null 2>&1 || command -v clang-format >/dev/null 2>&1 || echo clang-format
    command -v zsh >/dev/null 2>&1 || echo zsh
    command -v nm >/dev/null 2>&1 || echo binutils
    python3 -c 'import scipy.sparse' 2>/dev/null || /usr/bin/python3 -c 'import scipy.sparse' 2>/dev/null || echo python3-scipy
}

# Sets missing_required and missing_optional to what is missing now: names of packages in one line.
find_missing() {
    missing_required=$(required_packages)
    missing_optional=$(optional_packages | cut -d ' ' -f 1)
    if [ "$1" = test ]; then
        missing_required="$missing_required $missing_optional $(test_packages)"
        missing_optional=
    fi
    missing_required=$(echo $missing_required)
    missing_optional=$(echo $missing_optional)
}

apt_install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }

# All that are named; or those that this machine's mirrors have, when that fails.
install_packages() {
    echo "Installing $*"
    apt-get update -qq >/dev/null || echo "apt-get could not update its lists of packages." >&2
    apt_install "$@" && return
    some=
    for package; do
        ! apt-get install -s -qq "$package" >/dev/null 2>&1 || some="$some $package"
    done
    [ -z "$some" ] || [ "$some" = " $*" ] || apt_install $some
}

need_packages() {
    find_missing "${1:-}"
    all=$(echo $missing_required $missing_optional)
    [ -n "$all" ] || return 0
    how="Run this, then try again:"
    if ! command -v apt-get >/dev/null 2>&1; then
        how="Install what Debian has in these packages, then try again:"
        line=$all
    elif [ "$(id -u)" != 0 ]; then
        line="sudo apt-get install -y $all"
    else
        install_packages $all || true
        find_missing "${1:-}"
        how="apt-get could not install them. When it can, try again:"
        line="apt-get install -y $(echo $missing_required $missing_optional)"
    fi
    if [ -n "$missing_required" ]; then
        echo "Some packages are missing: $missing_required" >&2
        printf '%s\n    %s\n' "$how" "$line" >&2
        exit 1
    fi
    [ -n "$missing_optional" ] || return 0
    echo "Going on without some optional packages. What is missing then:" >&2
    optional_packages | while read -r package feature; do echo "    $feature ($package)"; done >&2
    printf '%s\n    %s\n' "$how" "$line" >&2
}
