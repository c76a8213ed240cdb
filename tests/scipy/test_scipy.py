"""The tool against SciPy: .npz files of every kind, Harwell-Boeing files, and products of sparse matrices, by plans and three
factors, too, which PRODUCTS (products.c) makes.

    test_scipy.py SPMVX DATA PRODUCTS

Exit 77, skipped, where SciPy is missing or the tool was built without libzip.
"""
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import scipy.io
    import scipy.sparse as sp
except ImportError as e:
    print("skipped:", e)
    sys.exit(77)

spmvx, data, products = sys.argv[1:4]
rng = np.random.default_rng(7)
bad = 0
warnings.filterwarnings("ignore", category=sp.SparseEfficiencyWarning)


def check(ok, what):
    global bad
    if not ok:
        print("FAILED:", what)
        bad += 1


def run(*args, program=None):
    done = subprocess.run([program or spmvx, *args], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr.strip()


def convert(source, target):
    code, _, err = run("convert", source, target)
    check(code == 0, f"convert {source} {target}: {err}")
    return code == 0


def read_npz(path, name):
    """What the tool makes of a file, by way of a .npz that SciPy reads."""
    if not convert(path, "back.npz"):
        return sp.csr_matrix((0, 0))
    A = sp.load_npz("back.npz")
    check(A.format in ("csr", "coo"), f"{name}: written as {A.format}")
    check(A.dtype == np.float64, f"{name}: written as {A.dtype}")
    return A


def same(A, B):
    """Shape, pattern and bits: entries of a row in order, repeats added up."""
    A, B = sp.csr_matrix(A), sp.csr_matrix(B)
    for M in (A, B):
        M.sum_duplicates()
    return (A.shape == B.shape and np.array_equal(A.indptr, B.indptr) and np.array_equal(A.indices, B.indices)
            and A.data.astype(np.float64).tobytes() == B.data.astype(np.float64).tobytes())


def random(rows, cols, density=0.08, dtype=np.float64):
    nnz = int(rows * cols * density)
    val = rng.integers(-100, 100, nnz) if np.dtype(dtype).kind in "iu" else rng.standard_normal(nnz)
    if np.dtype(dtype).kind == "b":
        val = np.ones(nnz)
    if np.dtype(dtype).kind == "u":
        val = abs(val)
    A = sp.coo_matrix((val, (rng.integers(0, rows, nnz), rng.integers(0, cols, nnz))), shape=(rows, cols))
    if np.dtype(dtype).kind == "b":
        A = A.astype(bool)
    A = sp.csr_matrix(A)
    A.sum_duplicates()
    return A.astype(dtype)


# ---- .npz: read ----

def kinds_of(A):
    yield A
    yield A.tocsc()
    yield A.tocoo()
    yield A.todia()
    yield sp.bsr_matrix(A, blocksize=(1, 1))
    if A.shape[0] % 4 == 0 and A.shape[1] % 6 == 0:
        yield sp.bsr_matrix(A, blocksize=(4, 6))
        yield sp.bsr_matrix(A, blocksize=(2, 3))


def test_kinds():
    for shape in ((60, 60), (40, 90), (96, 12), (1, 200), (200, 1), (3, 3)):
        A = random(*shape)
        for B in kinds_of(A):
            for compressed in (True, False):
                name = f"{B.format} {shape} {B.dtype}"
                sp.save_npz("a.npz", B, compressed=compressed)
                C = read_npz("a.npz", name)
                want = A if B.format == "dia" else B.tocsr()
                check(same(want, C), name)
                if convert("a.npz", "a.mtx"):
                    check(same(want, scipy.io.mmread("a.mtx")), name + " to Matrix Market")


def test_empty():
    for shape in ((5, 7), (1, 1), (0, 0), (0, 4), (4, 0)):
        for kind in ("csr", "csc", "coo"):
            sp.save_npz("a.npz", sp.csr_matrix(shape).asformat(kind))
            C = read_npz("a.npz", f"empty {kind} {shape}")
            check(C.shape == shape and C.nnz == 0, f"empty {kind} {shape}")


def test_types():
    for dtype in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "bool"):
        A = random(30, 20, dtype=dtype)
        for kind in ("csr", "csc", "coo", "dia", "bsr"):
            B = A.asformat(kind)
            sp.save_npz("a.npz", B)
            C = read_npz("a.npz", f"{kind} of {dtype}")
            want = B.tocsr()
            if kind == "dia":
                want.eliminate_zeros()
            check(same(want, C), f"{kind} of {dtype}")
    for dtype in ("c8", "c16"):
        sp.save_npz("a.npz", random(5, 5).astype(dtype))
        code, _, err = run("info", "a.npz")
        check(code == 1 and "complex" in err, f"{dtype}: exit {code}, {err}")


def test_indices():
    A = random(50, 70)
    for index in ("<i4", "<i8", ">i4", ">i8"):
        for value in ("<f8", ">f8", "<f4", ">f4"):
            np.savez("a.npz", indices=A.indices.astype(index), indptr=A.indptr.astype(index), format=np.array("csr"),
                     shape=np.array(A.shape), data=A.data.astype(value))
            C = read_npz("a.npz", f"{index} and {value}")
            check(same(sp.csr_matrix((A.data.astype(value).astype("f8"), A.indices, A.indptr), A.shape), C), f"{index} and {value}")


def test_fortran_order():
    A = sp.bsr_matrix(random(40, 60), blocksize=(4, 5))
    D = random(30, 30).todia()
    np.savez("b.npz", indices=A.indices, indptr=A.indptr, format=np.array("bsr"), shape=np.array(A.shape), data=np.asfortranarray(A.data))
    np.savez("d.npz", offsets=D.offsets, format=np.array("dia"), shape=np.array(D.shape), data=np.asfortranarray(D.data))
    check(same(A.tocsr(), read_npz("b.npz", "bsr in Fortran order")), "bsr in Fortran order")
    check(same(D.tocsr(), read_npz("d.npz", "dia in Fortran order")), "dia in Fortran order")


def test_sparse_arrays():
    if hasattr(sp, "csr_array"):
        sp.save_npz("a.npz", sp.csr_array(random(20, 30)))
        check(same(sp.load_npz("a.npz"), read_npz("a.npz", "csr_array")), "csr_array")


def test_refused():
    A = random(20, 30)
    parts = dict(indices=A.indices, indptr=A.indptr, format=np.array("csr"), shape=np.array(A.shape), data=A.data)
    changes = (("lil", {"format": np.array("lil")}, "'lil'"),
               ("falling indptr", {"indptr": A.indptr[::-1]}, "indptr.npy"),
               ("indices", {"indices": A.indices + 30}, "indices.npy"),
               ("objects", {"data": np.array([None] * A.nnz)}, "data.npy"),
               ("half", {"data": A.data.astype("f2")}, "'<f2'"),
               ("records", {"data": np.zeros(A.nnz, dtype=[("x", "f8")])}, "records"))
    for name, change, word in changes:
        np.savez("bad.npz", **{**parts, **change})
        code, _, err = run("info", "bad.npz")
        check(code == 1 and word in err, f"{name}: exit {code}, {err}")


# ---- .npz: written ----

def test_written():
    for name in sorted(os.listdir(data)):
        if not name.endswith(".mtx.gz"):
            continue
        path = os.path.join(data, name)
        A = sp.csr_matrix(scipy.io.mmread(path))
        check(same(A, read_npz(path, name)), name)
    with open("tall.mtx", "w") as f:
        f.write("%%MatrixMarket matrix coordinate real general\n2000000 5 2\n2000000 1 0.1\n7 5 -3\n")
    A = read_npz("tall.mtx", "tall")
    check(A.format == "coo" and A.shape == (2000000, 5) and A.nnz == 2, "few entries in many rows")


# ---- Harwell-Boeing ----

def test_harwell_boeing():
    if not hasattr(scipy.io, "hb_write"):
        return
    for shape in ((40, 40), (30, 50), (50, 30)):
        A = random(*shape).tocsc()
        A.data *= 10.0 ** rng.integers(-30, 30, A.nnz)
        scipy.io.hb_write("a.rua", A)
        B = scipy.io.hb_read("a.rua")
        check(same(B, read_npz("a.rua", "hb_write")), f"Harwell-Boeing {shape}")


# ---- products ----

def spmspm_kernels():
    code, out, err = run("kernels")
    check(code == 0, err)
    return [line.split()[0].split("/")[2] for line in out.splitlines() if line.startswith("host/spmspm/") and " available" in line]


def pattern_of(*factors):
    """The places of a product where terms meet, and how many do."""
    product = None
    for M in factors:
        M = sp.csr_matrix(M)
        ones = sp.csr_matrix((np.ones(M.nnz), M.indices, M.indptr), M.shape)
        product = ones if product is None else product @ ones
    product.sort_indices()
    return product


def check_file(path, factors, what):
    """Sorted columns, no repeats, every place where terms meet, values within a few roundings of the terms."""
    values, bound = factors[0], abs(factors[0])
    for M in factors[1:]:
        values, bound = values @ M, bound @ abs(M)
    pattern = pattern_of(*factors)
    C = sp.csr_matrix(sp.load_npz(path))
    same_pattern = np.array_equal(C.indptr, pattern.indptr) and np.array_equal(C.indices, pattern.indices)
    check(C.shape == pattern.shape and same_pattern, what + ": the pattern")
    zeros = sp.csr_matrix((np.full(C.nnz, 1e-300), C.indices, C.indptr), C.shape)
    terms = pattern.data.max(initial=1)
    error = abs(sp.csr_matrix(C - values) + zeros).tocsr()
    most = sp.csr_matrix(bound * (4 * terms * np.finfo(float).eps) + zeros * 2)
    check((error > most).nnz == 0, what + ": the values")


def check_product(A, B, kernels, name):
    A, B = sp.csr_matrix(A), sp.csr_matrix(B)
    sp.save_npz("A.npz", A)
    sp.save_npz("B.npz", B)
    for kernel in kernels:
        code, _, err = run("spmspm", "A.npz", "B.npz", "--kernel", kernel, "-o", "C.npz")
        what = f"{name} by {kernel}"
        check(code == 0, f"{what}: {err}")
        if code == 0:
            check_file("C.npz", (A, B), what)
    check_plan(A, B, name)


def with_other_values(A):
    return sp.csr_matrix((rng.standard_normal(A.nnz), A.indices, A.indptr), A.shape)


def check_plan(A, B, name):
    """By a plan, and new values in a C of its."""
    later = with_other_values(A), with_other_values(B)
    for file, M in zip(("A2.npz", "B2.npz"), later):
        sp.save_npz(file, M)
    code, _, err = run("plan", "A.npz", "B.npz", "A2.npz", "B2.npz", "C.npz", "C2.npz", program=products)
    check(code == 0, f"{name} by a plan: {err}")
    if code == 0:
        check_file("C.npz", (A, B), name + " by a plan")
        check_file("C2.npz", later, name + " by a refill")


def check_triple(R, A, P, name):
    factors = [sp.csr_matrix(M) for M in (R, A, P)]
    for file, M in zip(("R.npz", "A.npz", "P.npz"), factors):
        sp.save_npz(file, M)
    code, _, err = run("triple", "R.npz", "A.npz", "P.npz", "C.npz", program=products)
    check(code == 0, f"{name}: {err}")
    if code == 0:
        check_file("C.npz", factors, name)


def test_triples():
    for shape, density in (((30, 40, 50, 20), 0.1), ((5, 300, 300, 5), 0.05), ((300, 20, 20, 300), 0.1), ((1, 60, 60, 1), 0.3)):
        check_triple(*(random(m, n, density) for m, n in zip(shape, shape[1:])), f"R*A*P of {shape}")
    A = sp.csr_matrix(scipy.io.mmread(os.path.join(data, "bcsstk14.mtx.gz")))
    P = sp.csr_matrix((np.ones(A.shape[0]), (np.arange(A.shape[0]), np.arange(A.shape[0]) // 4)))
    check_triple(P.T, A, P, "bcsstk14 by aggregates")
    check_triple(P.T, A, sp.csr_matrix((A.shape[0], 7)), "R*A times nothing")


def test_products():
    kernels = spmspm_kernels()
    check(len(kernels) > 0, "no kernel for sparse products")
    for m, k, n, density in ((30, 40, 50, 0.1), (200, 10, 200, 0.2), (5, 300, 7, 0.1), (1, 50, 1, 0.5), (50, 1, 50, 0.5),
                             (300, 300, 300, 0.01), (40, 40, 40, 0.9)):
        check_product(random(m, k, density), random(k, n, density), kernels, f"{m} x {k} x {n}")
    A = random(40, 30, 0.2)
    check_product(A, sp.csr_matrix((30, 20)), kernels, "times nothing")
    cancel = sp.csr_matrix(np.array([[1.0, 1.0], [2.0, 3.0]]))
    check_product(cancel, sp.csr_matrix(np.array([[1.0, 2.0], [-1.0, 5.0]])), kernels, "cancellation")
    for name in ("662_bus", "arc130", "bcsstk14", "fs_183_6", "jagmesh7", "lhr01"):
        A = sp.csr_matrix(scipy.io.mmread(os.path.join(data, name + ".mtx.gz")))
        check_product(A, A, kernels, name + " squared")
        check_product(A, A.T, kernels, name + " times its transpose")
    A = sp.csr_matrix(scipy.io.mmread(os.path.join(data, "Groebner_id2003_aug.mtx.gz")).astype(float))
    check_product(A, random(A.shape[1], 40, 0.05), kernels, "Groebner times a thin one")
    check_product(random(40, A.shape[0], 0.02), A, kernels, "a flat one times Groebner")


with tempfile.TemporaryDirectory() as folder:
    spmvx, data, products = (os.path.abspath(path) for path in (spmvx, data, products))
    os.chdir(folder)
    sp.save_npz("probe.npz", sp.csr_matrix((1, 1)))
    if "without libzip" in run("info", "probe.npz")[2]:
        print("skipped: the tool was built without libzip")
        sys.exit(77)
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "failed so far" if bad else "passed")
    os.chdir("/")
print("SciPy", scipy.__version__, "-", bad, "failed")
sys.exit(1 if bad else 0)
