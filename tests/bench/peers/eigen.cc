// Eigen (https://eigen.tuxfamily.org): Map<SparseMatrix, RowMajor> over the caller's arrays,
// y.noalias() = A * x, which Eigen spreads over OpenMP threads from 20,000 nonzeros on; C = A * B, on one
// thread.
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>

#include <Eigen/SparseCore>

#include "util.h"

namespace {

using owned = std::unique_ptr<int32_t, decltype(&std::free)>;

// peer_narrow, with an owner of what it allocates.
int narrow(const peer_matrix *A, peer_matrix *m, owned *own, peer_error *e)
{
    int32_t *ptr;
    const int result = peer_narrow(A, m, &ptr, e);
    own->reset(ptr);
    return result;
}

struct multiplier {
    virtual ~multiplier() = default;
    virtual void mul(double alpha, const void *x, double beta, void *y) const = 0;
    virtual size_t bytes() const = 0;
};

// A view with 32-bit indices; the row pointers may be its own.
template <typename T> class matrix final : public multiplier {
    using sparse = Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t>;
    using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    owned own;
    size_t held;
    int threads;

public:
    const Eigen::Map<const sparse> A;

    matrix(const peer_matrix &m, owned own_ptr)
        : own(std::move(own_ptr)), held(peer_csr_bytes(&m)), threads(m.threads),
          A(m.nrows, m.ncols, m.nnz, static_cast<const int32_t *>(m.ptr), m.col,
            static_cast<const T *>(m.val))
    {}

    void mul(double alpha, const void *x_values, double beta, void *y_values) const override
    {
        const Eigen::Map<const vector> x(static_cast<const T *>(x_values), A.cols());
        Eigen::Map<vector> y(static_cast<T *>(y_values), A.rows());
        Eigen::setNbThreads(threads);   // Eigen's own number: OpenMP's settings stay as they are
        if (alpha == 1 && beta == 0) {
            y.noalias() = A * x;
            return;
        }
        if (beta == 0) y.setZero();
        else if (beta != 1) y *= static_cast<T>(beta);
        y.noalias() += (static_cast<T>(alpha) * A) * x;
    }

    size_t bytes() const override
    {
        return held;
    }
};

// Runs what may throw.
template <typename F> int guarded(peer_error *e, F run)
{
    try {
        run();
        return PEER_OK;
    } catch (const std::exception &x) {
        return peer_fail(e, PEER_FAILED, "Eigen: %s", x.what());
    }
}

int open_matrix(const peer_method *, const peer_matrix *A, void **handle, peer_error *e)
{
    peer_matrix m;
    owned own(nullptr, &std::free);
    const int result = narrow(A, &m, &own, e);
    if (result) return result;
    return guarded(e, [&] {
        multiplier *h;
        if (m.val_bits == 64) h = new matrix<double>(m, std::move(own));
        else h = new matrix<float>(m, std::move(own));
        *handle = h;
    });
}

int mul(void *handle, double alpha, const void *x, double beta, void *y, peer_error *e)
{
    return guarded(e, [&] { static_cast<multiplier *>(handle)->mul(alpha, x, beta, y); });
}

size_t bytes(void *handle)
{
    return static_cast<multiplier *>(handle)->bytes();
}

void close_matrix(void *handle)
{
    delete static_cast<multiplier *>(handle);
}

struct product {
    virtual ~product() = default;
    virtual void mul() = 0;
    virtual void result(peer_matrix *) const = 0;
};

template <typename T> class typed_product final : public product {
    matrix<T> left, right;
    Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t> C;

public:
    typed_product(const peer_matrix &A, owned own_A, const peer_matrix &B, owned own_B)
        : left(A, std::move(own_A)), right(B, std::move(own_B))
    {}

    void mul() override
    {
        C = left.A * right.A;
    }

    void result(peer_matrix *c) const override
    {
        *c = peer_matrix();
        c->nrows = C.rows();
        c->ncols = C.cols();
        c->nnz = C.nonZeros();
        c->ptr = C.outerIndexPtr();
        c->ptr_bits = 32;
        c->col = C.innerIndexPtr();
        c->val = C.valuePtr();
        c->val_bits = 8 * static_cast<int>(sizeof(T));
    }
};

int open_product(const peer_product *, const peer_matrix *A, const peer_matrix *B, void **handle,
                 peer_error *e)
{
    peer_matrix a, b;
    owned own_a(nullptr, &std::free), own_b(nullptr, &std::free);
    int result = narrow(A, &a, &own_a, e);
    if (!result) result = narrow(B, &b, &own_b, e);
    if (result) return result;
    return guarded(e, [&] {
        product *h;
        if (a.val_bits == 64) h = new typed_product<double>(a, std::move(own_a), b, std::move(own_b));
        else h = new typed_product<float>(a, std::move(own_a), b, std::move(own_b));
        *handle = h;
    });
}

int mul_product(void *handle, peer_error *e)
{
    return guarded(e, [&] { static_cast<product *>(handle)->mul(); });
}

int result_of_product(void *handle, peer_matrix *C, peer_error *)
{
    static_cast<product *>(handle)->result(C);
    return PEER_OK;
}

void close_product(void *handle)
{
    delete static_cast<product *>(handle);
}

const peer_method methods[] = {
    { "eigen", "Map<SparseMatrix, RowMajor> * VectorX, OpenMP", 0, nullptr, open_matrix, mul, nullptr,
      nullptr, bytes, close_matrix },
};
const peer_product products[] = {
    { "eigen", "SparseMatrix * SparseMatrix, RowMajor", 1, open_product, mul_product, result_of_product,
      close_product, 0, nullptr },
};
const char version[] =
    PEER_TEXT(EIGEN_WORLD_VERSION) "." PEER_TEXT(EIGEN_MAJOR_VERSION) "." PEER_TEXT(EIGEN_MINOR_VERSION);
const peer_library library = {
    PEER_INTERFACE, "Eigen", version, 0, 1, methods, 1, products, nullptr, nullptr
};

}

const peer_library *spmvx_peer(void)
{
    return &library;
}
