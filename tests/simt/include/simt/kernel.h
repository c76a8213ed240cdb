/* What the emulator has to know of a kernel: how to take its arguments from the array of pointers of a
 * launch, and to call it. CUDA's compiler tells its runtime; here every place that has the kernel's type
 * says expose(kernel) first. */
#ifndef SIMT_KERNEL_H
#define SIMT_KERNEL_H
#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace simt {

using Body = std::function<void()>; /* one thread of a launch; empty: its arguments are wrong */
using Bind = Body (*)(const void *function, void **args);

void remember_kernel(const void *function, Bind bind);
/* Is the pointer null, or to memory that the current device can use? A fault if not. */
bool check_argument(std::size_t index, const void *pointer);

struct Any_pointer {
    template <class T> void operator()(const T *) const {}
};
/* Does the struct show its pointers, by each_pointer(f) that calls f with each of them (cuda/view.cuh)? */
template <class T, class = void> constexpr bool shows_pointers = false;
template <class T>
constexpr bool
    shows_pointers<T, std::void_t<decltype(std::declval<const T &>().each_pointer(Any_pointer()))>> = true;

template <class T> bool check_if_pointer(std::size_t index, const T &value)
{
    if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
        return check_argument(index, value);
    } else if constexpr (shows_pointers<T>) {
        bool fine = true;
        value.each_pointer([&](const auto *p) { fine = check_argument(index, p) && fine; });
        return fine;
    } else {
        return (void)index, (void)value, true;
    }
}

template <class... P, std::size_t... I>
Body bind_arguments(void (*kernel)(P...), void **args, std::index_sequence<I...>)
{
    const std::tuple<P...> values(*static_cast<P *>(args[I])...);
    if (!(check_if_pointer(I, std::get<I>(values)) && ...)) return {};
    return [kernel, values] { std::apply(kernel, values); };
}

template <class... P> Body bind(const void *function, void **args)
{
    return bind_arguments(reinterpret_cast<void (*)(P...)>(const_cast<void *>(function)), args,
                          std::index_sequence_for<P...>());
}

template <class... P> const void *expose(void (*kernel)(P...))
{
    const void *function = reinterpret_cast<const void *>(kernel);
    remember_kernel(function, bind<P...>);
    return function;
}

}
#endif
