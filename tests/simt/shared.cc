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
    for (std::size_t i = 0; i < bytes; i += sizeof word)
        std::memcpy(to + i, &word, std::min(bytes - i, sizeof word));
}

StaticShared::StaticShared(const void *kernel)
{
    const Module &m = module_of(kernel);
    char *const tls = m.locals.empty() ? nullptr : tls_of(m);
    for (const Local &local : m.locals) {
        ranges_.push_back({ tls + local.offset, local.bytes });
        bytes_ += local.bytes;
    }
}

void StaticShared::save(char *copy) const
{
    for (const Range &r : ranges_) {
        std::memcpy(copy, r.at, r.bytes);
        copy += r.bytes;
    }
}

void StaticShared::load(const char *copy)
{
    for (const Range &r : ranges_) {
        std::memcpy(r.at, copy, r.bytes);
        copy += r.bytes;
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
