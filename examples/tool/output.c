/* Matrix files that the tool writes. Where the file system has files without a name, the library leaves
 * nothing when the process ends. Elsewhere its temporary has a name, which spmvx.h tells: the handler of a
 * signal removes it, and then the signal does what it does by default. */
#include "output.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
enum { SIGNALS = sizeof signals / sizeof *signals };

static int folder; /* of the file */
static char temporary[64];

/* Calls only what POSIX allows in handlers. The signal comes again when this returns, and ends the tool. */
static void on_signal(int number)
{
    unlinkat(folder, temporary, 0);
    raise(number);
}

/* The folder that the file will be in; of a link to a file that is not there yet, the link's. -1 when there
 * is none. */
static int open_folder(const char *path)
{
    char real[PATH_MAX];
    if (!realpath(path, real) && snprintf(real, sizeof real, "%s", path) >= (int)sizeof real) return -1;
    char *slash = strrchr(real, '/');
    if (slash) slash[1] = 0;
    return open(slash ? real : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

spmvx_status write_matrix(spmvx_context *ctx, const spmvx_matrix *m, const char *path,
                          const spmvx_write_options *options)
{
    struct sigaction before[SIGNALS], on = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&on.sa_mask);
    snprintf(temporary, sizeof temporary, ".spmvx-%ld-0.tmp", (long)getpid());
    folder = open_folder(path);
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_DFL) sigaction(signals[i], &on, NULL); /* not under nohup */
    }
    const spmvx_status s = spmvx_matrix_write(ctx, m, path, options);
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &before[i], NULL);
    if (folder >= 0) close(folder);
    return s;
}
