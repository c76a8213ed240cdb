/* spmvx: the command-line tool of libspmvx. One file a command; this one finds it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static const command *const commands[] = { &command_info,     &command_mul,     &command_spmspm,
                                           &command_convert,  &command_bench,   &command_compare,
                                           &command_generate, &command_kernels, &command_check,
                                           &command_spy,      &command_tune };
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_overview(FILE *out)
{
    fprintf(out, "usage: spmvx COMMAND [options] [files]\n\ncommands:\n");
    for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n'spmvx COMMAND --help' tells more; 'spmvx --version' the version.\n"
                 "Exit status: 0 success, 1 failure, 2 usage. Files are Matrix Market, Rutherford-Boeing "
                 "(.rb .rua ...) or .npz.\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_overview(stdout);
        return EXIT_SUCCESS;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("spmvx %s\n", spmvx_version_string());
        return EXIT_SUCCESS;
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i]->name)) continue;
        const int status = commands[i]->run(argc - 1, argv + 1);
        if (fflush(stdout) || ferror(stdout)) {
            fprintf(stderr, "spmvx: cannot write to stdout: %s\n", strerror(errno));
            return EXIT_FAILURE;
        }
        return status;
    }
    fprintf(stderr, "spmvx: unknown command '%s'\n", argv[1]);
    print_overview(stderr);
    return EXIT_USAGE;
}
