/* Fibres on Boost.Context's jumps, told to AddressSanitizer, each on a stack of its own over a page that
 * cannot be touched. */
#include "fibre.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "asan.h"

namespace simt {
namespace {

namespace context = boost::context::detail;

/* Instrumented code takes several times the stack. */
constexpr std::size_t stack_bytes = has_asan ? 144 << 10 : 80 << 10;
/* Stacks begin at so many places, some lines apart: at one, their tops would share few lines of a cache. */
constexpr std::size_t colours = 32, colour_bytes = 512;

/* never destroyed: fibres stay suspended to the end */
std::vector<Fibre *> &idle = *new std::vector<Fibre *>;
std::size_t made;

/* Who is left and who is gone to at the moment; NULL: the scheduler. */
Fibre *left, *gone_to;
context::fcontext_t scheduler;
const void *scheduler_stack;
std::size_t scheduler_bytes;
void *scheduler_fake_stack;

/* In whom it was gone to, with AddressSanitizer's own stack of it. */
void arrive(context::transfer_t from, void *fake_stack)
{
    if (left) {
        left->context = from.fctx;
        finish_switch(fake_stack, nullptr, nullptr);
    } else {
        scheduler = from.fctx;
        finish_switch(fake_stack, &scheduler_stack, &scheduler_bytes);
    }
}

void go(Fibre *from, Fibre *to)
{
    left = from;
    gone_to = to;
    if (to) start_switch(from ? &from->fake_stack : &scheduler_fake_stack, to->stack, to->bytes);
    else start_switch(&from->fake_stack, scheduler_stack, scheduler_bytes);
    const context::transfer_t back = context::jump_fcontext(to ? to->context : scheduler, nullptr);
    arrive(back, from ? from->fake_stack : scheduler_fake_stack);
}

void run(context::transfer_t from)
{
    Fibre &self = *gone_to;
    arrive(from, nullptr);
    for (;;) {
        self.work(self.argument);
        suspend(self);
    }
}

Fibre *make_fibre()
{
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *p = mmap(nullptr, page + stack_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) != 0) {
        perror("simt: no memory for the stack of an emulated thread");
        abort();
    }
    char *stack = static_cast<char *>(p) + page;
    char *const top = stack + stack_bytes - made++ % colours * colour_bytes;
    const context::fcontext_t start = context::make_fcontext(top, static_cast<std::size_t>(top - stack), run);
    return new Fibre{ start, stack, stack_bytes, nullptr, nullptr, nullptr };
}

}

Fibre *take_fibre(void (*work)(void *), void *argument)
{
    Fibre *fibre = nullptr;
    if (idle.empty()) {
        fibre = make_fibre();
    } else {
        fibre = idle.back();
        idle.pop_back();
    }
    fibre->work = work;
    fibre->argument = argument;
    return fibre;
}

void give_fibre(Fibre *fibre)
{
    idle.push_back(fibre);
}

void resume(Fibre &fibre)
{
    go(nullptr, &fibre);
}

void suspend(Fibre &fibre)
{
    go(&fibre, nullptr);
}

void hand_over(Fibre &from, Fibre &to)
{
    go(&from, &to);
}

}
