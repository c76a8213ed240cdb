/* The static shared memory of a launch: variables that `__shared__` made thread-local. Only one block's
 * values are in place at a time; the other blocks' are kept in copies. */
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
    /* A block's values of the variables that were used until the copy was made; empty for a fresh block. */
    using Copy = std::vector<char>;
    explicit StaticShared(std::uint32_t salt) : salt_(salt) {}
    /* The block that is in place, in the calling thread, comes to this mark of a declaration. From now on
     * the variables there are exchanged. */
    void use(const void *mark)
    {
        for (const void *m : marks_) {
            if (m == mark) return;
        }
        begin_to_use(mark);
    }
    void save(Copy &) const;
    void load(const Copy &);
    /* Of a block. */
    std::size_t bytes() const
    {
        return of_the_host_.size();
    }
    /* What the variables held before the launch. */
    void load_host()
    {
        load(of_the_host_);
    }

private:
    struct Range {
        char *at;
        std::size_t bytes;
    };
    void begin_to_use(const void *mark);

    const std::uint32_t salt_;
    std::vector<const void *> marks_;
    std::vector<Range> ranges_;
    Copy of_the_host_;
};

/* What the kernel itself declares; not what the functions that it calls declare. */
std::size_t static_shared_of(const void *kernel);

}
#endif
