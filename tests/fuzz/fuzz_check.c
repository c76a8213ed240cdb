/* Any bytes as a Matrix Market file, to `spmvx check` and to the library: both must refuse it, or both
 * take it; but for what the library does not read, and check may find right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_file.h"
#include "tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "fuzz_check.c: %s: %s\n", what, why);
    abort();
}

static int check(char *path)
{
    static char name[] = "check", all[] = "--limit=0";
    char *argv[] = { name, all, path, NULL };
    const int status = command_check.run(3, argv);
    if (status != EXIT_SUCCESS && status != EXIT_FAILURE) give_up("an exit status that check has not", path);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool redirected; /* what check tells is not for the log */
    if (!redirected && !freopen("/dev/null", "w", stdout)) give_up("/dev/null", "cannot be opened");
    redirected = true;
    char path[300];
    snprintf(path, sizeof path, "%s", as_file(".mtx", data, size));
    spmvx_context *ctx = NULL;
    spmvx_matrix *A = NULL;
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.max_bytes = 8u << 20;
    if (spmvx_context_create(NULL, &ctx) != SPMVX_OK) give_up("context", spmvx_last_error(NULL));
    const spmvx_status s = spmvx_matrix_read(ctx, path, &o, &A);
    if (s != SPMVX_ERR_LIMIT && s != SPMVX_ERR_MEMORY) {
        const int status = check(path);
        if (s != SPMVX_OK && s != SPMVX_ERR_UNSUPPORTED && status == EXIT_SUCCESS)
            give_up("the library refuses what check takes", spmvx_last_error(ctx));
        if (s == SPMVX_OK && status == EXIT_FAILURE) give_up("check refuses what the library takes", path);
    }
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    return 0;
}
