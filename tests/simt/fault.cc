/* Reports of faults. */
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "asan.h"
#include "machine.h"

namespace simt {

void abandon_launch();

namespace {

bool keep;
std::string &kept = *new std::string;
std::string &given = *new std::string;

/* After AddressSanitizer's own report: which thread it was. */
[[maybe_unused]] const bool asan_says_where = [] {
    on_death([] {
        if (current) fprintf(stderr, "simt: that was%s\n", where(current).c_str());
    });
    return true;
}();

}

void fault(const Thread *t, const std::string &what)
{
    const std::string text = what + where(t);
    if (!keep) {
        fprintf(stderr, "simt: fault: %s\n", text.c_str());
        abort();
    }
    if (kept.empty()) kept = text;
    abandon_launch();
}

std::string to_string(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

std::string to_string(Site s)
{
    return to_string("%s:%d", s.file, s.line);
}
std::string to_string(uint3 v)
{
    return to_string("(%u,%u,%u)", v.x, v.y, v.z);
}

}

extern "C" void simt_keep_faults(int on)
{
    const std::lock_guard<std::recursive_mutex> lock(simt::big_lock());
    simt::keep = on != 0;
}

extern "C" const char *simt_fault(void)
{
    const std::lock_guard<std::recursive_mutex> lock(simt::big_lock());
    simt::mend_devices();
    if (simt::kept.empty()) return nullptr;
    simt::given.swap(simt::kept);
    simt::kept.clear();
    return simt::given.c_str();
}
