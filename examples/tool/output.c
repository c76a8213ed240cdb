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
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/kind.h"
#include "io/sink.h"
#include "progress.h"

static const char standard_output[] = "/dev/stdout";

/* ---- before the work ---- */

/* In small letters, as the library knows endings. */
static void lower(const char *from, char *to, size_t room)
{
    size_t n = 0;
    for (; from[n] && n + 1 < room; n++)
        to[n] = (char)(from[n] >= 'A' && from[n] <= 'Z' ? from[n] + 'a' - 'A' : from[n]);
    to[n] = 0;
}

/* The ending of a name, that of a compressed file aside; "" for a name that has none. */
static const char *ending_of(char *name)
{
    size_t ending;
    spx_sink_compression(name, &ending);
    name[strlen(name) - ending] = 0;
    const char *dot = *name ? strrchr(name + 1, '.') : NULL;
    return dot ? dot : "";
}

/* A name without an ending is Matrix Market's. What is there and no regular file may have any name. */
static bool ending_known(const char *path, char ending[NAME_MAX + 1])
{
    char name[NAME_MAX + 1];
    struct stat st;
    bool compressed;
    lower(base_name(path), name, sizeof name);
    strcpy(ending, ending_of(name));
    return !*ending || !strcmp(ending, ".mtx") || (!stat(path, &st) && !S_ISREG(st.st_mode)) ||
           spx_kind_of_name(path, &compressed) != SPX_MARKET; /* of which the library knows what it writes */
}

int check_output(const command *c, spmvx_context *ctx, const char **path, spmvx_write_options *options)
{
    char ending[NAME_MAX + 1], name[NAME_MAX + 1];
    size_t length;
    bool compressed;
    if (!strcmp(*path, "-")) *path = standard_output;
    if (!ending_known(*path, ending))
        return usage_error(c,
                           "%s: no writer knows the ending %s; known are " OUTPUT_ENDINGS
                           ", no ending (Matrix Market), and '-' for standard output",
                           *path, ending);
    lower(base_name(*path), name, sizeof name);
    if (spx_kind_of_name(*path, &compressed) == SPX_MARKET)
        options->compression = spx_sink_compression(name, &length);
    if (options->level && spx_kind_of_name(*path, &compressed) == SPX_MARKET && !compressed)
        return usage_error(c, "--level is %d, and %s is plain text", (int)options->level, *path);
    const spmvx_status s = spx_output_check(ctx, *path, options);
    if (s == SPMVX_OK) return -1;
    fail_plainly(ctx);
    return s == SPMVX_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILURE;
}

bool check_writable(spmvx_context *ctx, const char *path)
{
    if (spx_sink_check(ctx, path, SPMVX_UNCOMPRESSED, 0) == SPMVX_OK) return true;
    fail_plainly(ctx);
    return false;
}

bool is_array_name(const char *path)
{
    static const char *const others[] = { ".npz", ".npy", ".gz",  ".zst", ".xz",  ".bz2",  ".rb", ".rua",
                                          ".rsa", ".hb",  ".mat", ".csv", ".tsv", ".json", ".h5" };
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t n = strlen(others[i]);
        if (length > n && !strcasecmp(path + length - n, others[i])) return false;
    }
    return true;
}

bool is_stdout(const char *path)
{
    return path == standard_output;
}

/* ---- writing ---- */

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
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    if (options) o = *options;
    progress bar = progress_begin(path, "M entries");
    o.progress = progress_step;
    o.user = &bar;
    struct sigaction before[SIGNALS], on = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&on.sa_mask);
    snprintf(temporary, sizeof temporary, ".spmvx-%ld-0.tmp", (long)getpid());
    folder = open_folder(path);
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_DFL) sigaction(signals[i], &on, NULL); /* not under nohup */
    }
    const spmvx_status s = spmvx_matrix_write(ctx, m, path, &o);
    progress_end(&bar);
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &before[i], NULL);
    if (folder >= 0) close(folder);
    return s;
}
