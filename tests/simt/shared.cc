/* Static shared memory, exchanged when the scheduler goes from one block to another. */
#include "shared.h"

#include <algorithm>
#include <cstring>

#include "symbols.h"

namespace simt {

void fill_poison(void *p, std::size_t bytes, std::uint32_t salt)
{
    const std::uint32_t word = 0x7ff40000u | (salt & 0xffffu);
    char *to = static_cast<char *>(p);
    std::size_t filled = std::min(bytes, sizeof word);
    std::memcpy(to, &word, filled);
    for (; filled < bytes; filled += std::min(filled, bytes - filled))
        std::memcpy(to + filled, to, std::min(filled, bytes - filled));
}

void StaticShared::begin_to_use(const void *mark)
{
    marks_.push_back(mark);
    const Module &m = module_of(mark);
    char *const tls = m.locals.empty() ? nullptr : tls_of(m);
    const std::string function = function_of_mark(m, mark);
    for (const Local &local : m.locals) {
        const auto known = [&](const Range &r) { return r.at == tls + local.offset; };
        if (local.name.compare(0, function.size(), function) != 0) continue;
        if (std::any_of(ranges_.begin(), ranges_.end(), known)) continue;
        const Range &r = ranges_.emplace_back(Range{ tls + local.offset, local.bytes });
        of_the_host_.insert(of_the_host_.end(), r.at, r.at + r.bytes);
        fill_poison(r.at, r.bytes, salt_);
    }
}

void StaticShared::save(Copy &copy) const
{
    copy.resize(of_the_host_.size());
    char *to = copy.data();
    for (const Range &r : ranges_) {
        std::memcpy(to, r.at, r.bytes);
        to += r.bytes;
    }
}

void StaticShared::load(const Copy &copy)
{
    std::size_t from = 0;
    for (const Range &r : ranges_) {
        if (from < copy.size()) std::memcpy(r.at, copy.data() + from, r.bytes);
        else fill_poison(r.at, r.bytes, salt_);
        from += r.bytes;
    }
}

std::size_t static_shared_of(const void *kernel)
{
    const std::string own = mangled_name(kernel);
    if (own.compare(0, 2, "_Z") != 0) return 0;
    const std::string prefix = "_ZZ" + own.substr(2) + "E";
    std::size_t bytes = 0;
    for (const Local &local : module_of(kernel).locals) {
        if (local.name.compare(0, prefix.size(), prefix) == 0) bytes += local.bytes;
    }
    return bytes;
}

}
