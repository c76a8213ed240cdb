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
constexpr std::size_t stack_bytes = has_asan ? 128 << 10 : 64 << 10;

/* never destroyed: fibres stay suspended to the end */
std::vector<Fibre *> &idle = *new std::vector<Fibre *>;
context::fcontext_t scheduler;
const void *scheduler_stack;
std::size_t scheduler_bytes;

void arrive(context::transfer_t from, void *fake_stack)
{
    scheduler = from.fctx;
    finish_switch(fake_stack, &scheduler_stack, &scheduler_bytes);
}

void run(context::transfer_t from)
{
    Fibre &self = *static_cast<Fibre *>(from.data);
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
    const context::fcontext_t start = context::make_fcontext(stack + stack_bytes, stack_bytes, run);
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
    void *fake_stack = nullptr;
    start_switch(&fake_stack, fibre.stack, fibre.bytes);
    fibre.context = context::jump_fcontext(fibre.context, &fibre).fctx;
    finish_switch(fake_stack, nullptr, nullptr);
}

void suspend(Fibre &fibre)
{
    start_switch(&fibre.fake_stack, scheduler_stack, scheduler_bytes);
    const context::transfer_t back = context::jump_fcontext(scheduler, nullptr);
    arrive(back, fibre.fake_stack);
}

}
