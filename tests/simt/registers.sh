#!/bin/sh
# registers.sh NVCC ARCH SOURCE NVCC-OPTIONS...: what the compiler reports of each kernel of a CUDA source: registers and barriers
# a thread, static shared memory a block, and bytes of the stack and of registers that did not fit (spills). Fails if a kernel has a
# stack or spills, which cost traffic to memory that no model knows of. First a planted kernel that spills must be seen.
set -eu
nvcc=$1 arch=$2 source=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# compile FILE NVCC-OPTIONS...: the report of ptxas
compile() {
    file=$1
    shift
    "$nvcc" -std=c++20 -O3 -arch="$arch" "$@" -Xptxas -v -cubin "$file" -o "$dir/cubin" 2>&1
}

# The report as a table; its last line counts the kernels and those that spill.
table() {
    awk '
        function number_before(word,    i) {
            for (i = 2; i <= NF; i++) if ($i == word || $i == word ",") return $(i - 1)
            return 0
        }
        # "24 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads"
        /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
        /Compiling entry function/ { split($0, part, "\047"); name = part[2] }
        /Used [0-9]+ registers/ {
            shared = 0
            if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART) + 0
            printf "%9d %8d %7d %6d %7d %7d  %s\n", number_before("registers"), number_before("barriers"), shared, stack, stores, loads, name
            kernels++
            if (stack + stores + loads > 0) spilling++
        }
        END { printf "%d %d\n", kernels, spilling }'
}

readable() { if command -v c++filt >/dev/null 2>&1; then c++filt; else cat; fi; }

# show REPORT: prints the table; true if nothing spills
show() {
    table <"$1" >"$dir/table"
    printf '%9s %8s %7s %6s %7s %7s  %s\n' registers barriers shared stack stores loads kernel
    sed '$d' "$dir/table" | readable | sed 's/(anonymous namespace):://g; s/_GLOBAL__N__[0-9a-f_]*[a-z_]*cu_[0-9a-f]*:://g'
    read -r kernels spilling <<END
$(tail -n 1 "$dir/table")
END
    echo "$kernels kernels, $spilling with a stack or spills"
    [ "$spilling" = 0 ]
}

cat >"$dir/spills.cu" <<'END'
__global__ void __launch_bounds__(1024) spills(const double *x, double *y)
{
    double v[64];
#pragma unroll
    for (int i = 0; i < 64; i++) v[i] = x[threadIdx.x + 1024 * i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 64; i++) y[threadIdx.x + 1024 * i] = v[i] * v[63 - i];
}
END
compile "$dir/spills.cu" >"$dir/report"
if show "$dir/report" >"$dir/planted"; then
    cat "$dir/report" "$dir/planted"
    echo "a kernel that spills is not seen"
    exit 1
fi

if ! compile "$source" "$@" >"$dir/report"; then
    cat "$dir/report"
    exit 1
fi
show "$dir/report"
[ "$kernels" != 0 ] || { echo "no kernel in $source"; exit 1; }
