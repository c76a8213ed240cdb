/* AddressSanitizer's interface where the build has it, else nothing. Files that are not instrumented
 * themselves are told by SIMT_ASAN. */
#ifndef SIMT_ASAN_H
#define SIMT_ASAN_H
#include <cstddef>

#ifdef __has_feature
#if __has_feature(address_sanitizer) && !defined SIMT_ASAN
#define SIMT_ASAN
#endif
#endif
#if defined __SANITIZE_ADDRESS__ && !defined SIMT_ASAN
#define SIMT_ASAN
#endif

#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {

#ifdef SIMT_ASAN
constexpr bool has_asan = true;
inline void poison(const void *p, std::size_t bytes)
{
    __asan_poison_memory_region(p, bytes);
}
inline void unpoison(const void *p, std::size_t bytes)
{
    __asan_unpoison_memory_region(p, bytes);
}
inline void start_switch(void **fake, const void *stack, std::size_t bytes)
{
    __sanitizer_start_switch_fiber(fake, stack, bytes);
}
inline void finish_switch(void *fake, const void **stack, std::size_t *bytes)
{
    __sanitizer_finish_switch_fiber(fake, stack, bytes);
}
inline void on_death(void (*callback)())
{
    __sanitizer_set_death_callback(callback);
}
#else
constexpr bool has_asan = false;
inline void poison(const void *, std::size_t) {}
inline void unpoison(const void *, std::size_t) {}
inline void start_switch(void **, const void *, std::size_t) {}
inline void finish_switch(void *, const void **, std::size_t *) {}
inline void on_death(void (*)()) {}
#endif

}
#endif
