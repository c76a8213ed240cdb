/* Reads the symbol table (.symtab) of the ELF file that a function was loaded from. */
#include "symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

namespace simt {
namespace {

/* cuda_runtime.h's, without the line */
constexpr char mark_name[] = "simt_shared_";

struct Search {
    std::size_t address;
    std::string path;
    std::size_t base, tls_number;
    bool found;
};

int visit(dl_phdr_info *info, std::size_t, void *data)
{
    Search &s = *static_cast<Search *>(data);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &p = info->dlpi_phdr[i];
        if (p.p_type == PT_LOAD && s.address - (info->dlpi_addr + p.p_vaddr) < p.p_memsz) s.found = true;
    }
    if (!s.found) return 0;
    s.path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    s.base = info->dlpi_addr;
    s.tls_number = info->dlpi_tls_modid;
    return 1;
}

/* A file in memory; empty if it cannot be read. */
class File {
public:
    explicit File(const char *path)
    {
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        struct stat s;
        if (file < 0) return;
        if (fstat(file, &s) == 0 && s.st_size > 0) {
            bytes_ = static_cast<std::size_t>(s.st_size);
            at_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
            if (at_ == MAP_FAILED) bytes_ = 0;
        }
        close(file);
    }
    File(const File &) = delete;
    ~File()
    {
        if (bytes_ > 0) munmap(at_, bytes_);
    }
    template <class T> const T *at(std::size_t offset, std::size_t count = 1) const
    {
        const bool inside = offset <= bytes_ && count <= (bytes_ - offset) / sizeof(T);
        return inside ? reinterpret_cast<const T *>(static_cast<const char *>(at_) + offset) : nullptr;
    }

private:
    void *at_ = nullptr;
    std::size_t bytes_ = 0;
};

void read_symbols(const File &file, Module &m)
{
    const ElfW(Ehdr) *head = file.at<ElfW(Ehdr)>(0);
    const ElfW(Shdr) *sections = head ? file.at<ElfW(Shdr)>(head->e_shoff, head->e_shnum) : nullptr;
    for (int i = 0; sections && i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= head->e_shnum) continue;
        const std::size_t count = sections[i].sh_size / sizeof(ElfW(Sym)),
                          names = sections[sections[i].sh_link].sh_offset;
        const ElfW(Sym) *symbols = file.at<ElfW(Sym)>(sections[i].sh_offset, count);
        for (std::size_t k = 0; symbols && k < count; k++) {
            const char *name = file.at<char>(names + symbols[k].st_name);
            const int type = ELF64_ST_TYPE(symbols[k].st_info);
            if (!name || symbols[k].st_shndx == SHN_UNDEF) continue;
            if (type == STT_FUNC) m.functions.emplace_back(symbols[k].st_value, name);
            if (type == STT_OBJECT && std::strstr(name, mark_name))
                m.marks.emplace_back(symbols[k].st_value, name);
            if (type == STT_TLS && std::strncmp(name, "_ZZ", 3) == 0) {
                m.locals.push_back({ name, symbols[k].st_value, symbols[k].st_size });
            }
        }
    }
    std::sort(m.functions.begin(), m.functions.end());
    std::sort(m.marks.begin(), m.marks.end());
    std::sort(m.locals.begin(), m.locals.end(),
              [](const Local &a, const Local &b) { return a.offset < b.offset; });
}

std::string name_at(const Module &m, const std::vector<std::pair<std::size_t, std::string>> &names,
                    const void *address)
{
    const std::size_t value = reinterpret_cast<std::size_t>(address) - m.base;
    const auto found = std::lower_bound(names.begin(), names.end(), std::make_pair(value, std::string()));
    return found != names.end() && found->first == value ? found->second : "";
}

}

const Module &module_of(const void *address)
{
    static auto &modules = *new std::map<std::string, Module>;
    Search s = { reinterpret_cast<std::size_t>(address), "", 0, 0, false };
    dl_iterate_phdr(visit, &s);
    const auto known = modules.find(s.path);
    if (known != modules.end()) return known->second;
    Module &m = modules[s.path];
    m.base = s.base;
    m.tls_number = s.tls_number;
    read_symbols(File(s.path.c_str()), m);
    if (m.functions.empty()) {
        fprintf(stderr, "simt: %s has no symbol table, which the emulator needs to find shared memory\n",
                s.path.c_str());
        abort();
    }
    return m;
}

char *tls_of(const Module &m)
{
    struct Find {
        std::size_t number;
        void *data;
    } find = { m.tls_number, nullptr };
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *data) {
            Find &f = *static_cast<Find *>(data);
            if (info->dlpi_tls_modid != f.number) return 0;
            f.data = info->dlpi_tls_data;
            return 1;
        },
        &find);
    return static_cast<char *>(find.data);
}

std::string mangled_name(const void *function)
{
    const Module &m = module_of(function);
    return name_at(m, m.functions, function);
}

std::string function_of_mark(const Module &m, const void *mark)
{
    const std::string name = name_at(m, m.marks, mark);
    if (name.empty()) {
        fprintf(stderr, "simt: no symbol for a mark of __shared__, which the emulator needs\n");
        abort();
    }
    /* before the length of the mark's own name */
    return name.substr(0, name.find_last_not_of("0123456789", name.rfind(mark_name) - 1) + 1);
}

std::string readable_name(const void *function)
{
    const std::string name = mangled_name(function);
    int status = 0;
    const std::unique_ptr<char, void (*)(void *)> readable(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), free);
    if (readable) return readable.get();
    if (!name.empty()) return name;
    char address[32];
    snprintf(address, sizeof address, "%p", function);
    return address;
}

}
