/* Names of functions, and the thread-local variables inside of functions, from a module's symbol table. */
#ifndef SIMT_SYMBOLS_H
#define SIMT_SYMBOLS_H
#include <cstddef>
#include <string>
#include <vector>

namespace simt {

struct Local {
    std::string name; /* mangled: _ZZ, the function's name without its _Z, E, its own name */
    std::size_t offset, bytes;
};

/* A program or shared library in memory. */
struct Module {
    std::size_t base = 0; /* what is added to its symbols' values */
    std::size_t tls_number = 0;
    std::vector<Local> locals; /* by offset in the module's thread-local storage */
    /* by value: functions, and the marks beside what `__shared__` declares */
    std::vector<std::pair<std::size_t, std::string>> functions, marks;
};

/* The module that holds the function or mark; read once. */
const Module &module_of(const void *address);
/* The calling thread's copy of its thread-local storage. */
char *tls_of(const Module &);
std::string mangled_name(const void *function);
/* What the names of all variables begin with that stand in the same function as the mark. */
std::string function_of_mark(const Module &, const void *mark);
/* For people. The address where there is no name. */
std::string readable_name(const void *function);

}
#endif
