/* Fibres: threads of execution that hand over to each other by themselves, on Boost.Context. A fibre runs
 * one piece of work after another and is kept for the next launch. */
#ifndef SIMT_FIBRE_H
#define SIMT_FIBRE_H
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace simt {

struct Fibre {
    boost::context::detail::fcontext_t context;
    char *stack;
    std::size_t bytes;
    void *fake_stack; /* AddressSanitizer's, while the fibre is suspended */
    void (*work)(void *);
    void *argument;
};

/* A fibre that will run work(argument) when it is resumed. The work must not throw. */
Fibre *take_fibre(void (*work)(void *), void *argument);
/* Back into the pool: its work has returned. */
void give_fibre(Fibre *);
/* Probably the next to be resumed: its stack's top comes into the cache meanwhile. */
inline void expect(const Fibre &fibre)
{
    const char *top = static_cast<const char *>(fibre.context);
    for (int line = 0; line < 4; line++) __builtin_prefetch(top + line * 64);
}
/* From the scheduler into the fibre, until a fibre suspends itself or its work returns. */
void resume(Fibre &);
/* From the running fibre back into the scheduler. */
void suspend(Fibre &);
/* From the running fibre into another, which is half the way by the scheduler. */
void hand_over(Fibre &from, Fibre &to);

}
#endif
