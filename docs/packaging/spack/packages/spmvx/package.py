# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.meson import MesonPackage

from spack.package import *


class Spmvx(MesonPackage, CudaPackage):
    """Sparse matrix times vector and sparse matrix products on CPUs and
    NVIDIA GPUs, with reproducible results and a stable C interface."""

    homepage = "https://github.com/libspmvx/libspmvx"
    git = "https://github.com/libspmvx/libspmvx.git"

    license("Apache-2.0")

    version("main", branch="main")

    variant("openmp", default=True, description="Use several threads of the host")
    variant("tool", default=True, description="Build the command-line tool spmvx")
    variant("zlib", default=True, description="Read and write .gz")
    variant("zstd", default=True, description="Read and write .zst")
    variant("lzma", default=True, description="Read and write .xz")
    variant("npz", default=True, description="Read and write SciPy's .npz")
    variant("metis", default=False, description="Packets of the format PKT by METIS")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("meson@1.0.1:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zlib-api", when="+zlib")
    depends_on("zstd@1.4:", when="+zstd")
    depends_on("xz", when="+lzma")
    depends_on("libzip@1.7:", when="+npz")
    depends_on("metis@5.1:", when="+metis")
    depends_on("jansson", when="+tool")
    depends_on("cuda@13:", when="+cuda")

    def feature(self, option, variant):
        state = "enabled" if self.spec.satisfies(f"+{variant}") else "disabled"
        return f"-D{option}={state}"

    def meson_args(self):
        args = [self.feature(name, name) for name in ("openmp", "zlib", "zstd", "lzma", "npz", "metis")]
        args.append(self.feature("cuda", "cuda"))
        args.append(self.feature("json", "tool"))
        args.append("-Dtool=" + ("true" if self.spec.satisfies("+tool") else "false"))
        archs = self.spec.variants["cuda_arch"].value if self.spec.satisfies("+cuda") else ()
        archs = [arch for arch in archs if arch != "none"]
        if archs:
            args.append("-Dgpu_archs=" + ",".join(f"sm_{arch}" for arch in archs))
        return args
