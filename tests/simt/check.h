/* Shared by the tests of the emulator: cmocka in C++, arrays on the device, and a look at how a program
 * dies. */
#ifndef CHECK_H
#define CHECK_H
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <csetjmp>
extern "C" {
#include <cmocka.h>
}

#include "cuda_runtime.h"
#include "simt.h"

#define assert_cuda(call)                                                         \
    do {                                                                          \
        const cudaError_t e_ = (call);                                            \
        if (e_ != cudaSuccess) fail_msg("%s: %s", #call, cudaGetErrorString(e_)); \
    } while (0)
#define assert_error(error, call)                                                           \
    do {                                                                                    \
        const cudaError_t e_ = (call);                                                      \
        if (e_ != (error)) fail_msg("%s: %s, not %s", #call, cudaGetErrorName(e_), #error); \
    } while (0)
/* The last fault's text has all of these words. */
#define assert_fault(...)                                                     \
    do {                                                                      \
        const char *f_ = simt_fault();                                        \
        if (!f_) fail_msg("no fault");                                        \
        for (const char *word_ : { __VA_ARGS__ })                             \
            if (!strstr(f_, word_)) fail_msg("'%s' without '%s'", f_, word_); \
    } while (0)
#define assert_no_fault()              \
    do {                               \
        const char *f_ = simt_fault(); \
        if (f_) fail_msg("%s", f_);    \
    } while (0)

/* An array on the current device. */
template <class T> class Array {
public:
    explicit Array(std::size_t n) : n_(n)
    {
        assert_cuda(cudaMalloc(&data_, n * sizeof(T)));
    }
    explicit Array(const std::vector<T> &v) : Array(v.size())
    {
        assert_cuda(cudaMemcpy(data_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    Array(std::size_t n, T value) : Array(std::vector<T>(n, value)) {}
    Array(const Array &) = delete;
    ~Array()
    {
        cudaFree(data_);
    }
    operator T *() const
    {
        return data_;
    }
    std::vector<T> host() const
    {
        std::vector<T> v(n_);
        assert_cuda(cudaMemcpy(v.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }

private:
    T *data_ = nullptr;
    std::size_t n_;
};

/* Runs it in a child process. Returns what that wrote to stderr; fails if it ended well. */
std::string death_of(void (*program)());
#endif
