/* The static shared memory of a module's kernels: the variables that `__shared__` made thread-local. Only
 * one block's values are in place at a time; the other blocks' are kept in copies. */
#ifndef SIMT_SHARED_H
#define SIMT_SHARED_H
#include <cstddef>
#include <cstdint>
#include <vector>

namespace simt {

/* Fills memory with what nobody wrote: NaN as float and double, and far out of range as an index. */
void fill_poison(void *, std::size_t bytes, std::uint32_t salt);

class StaticShared {
public:
    /* Of the kernel's module, in the calling thread. */
    explicit StaticShared(const void *kernel);
    std::size_t bytes() const
    {
        return bytes_;
    }
    void save(char *copy) const;
    void load(const char *copy);

private:
    struct Range {
        char *at;
        std::size_t bytes;
    };
    std::vector<Range> ranges_;
    std::size_t bytes_ = 0;
};

/* What the kernel itself declares; not what the functions that it calls declare. */
std::size_t static_shared_of(const void *kernel);

}
#endif
