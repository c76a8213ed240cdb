/* A file that is written whole or not at all. What was written is stored (fsync) before it gets its name, and
 * the folder after that, so that the promise holds over a power failure. A file without a name (O_TMPFILE)
 * goes away with the process that wrote it, whatever ended that; elsewhere the temporary has a short name,
 * whatever the length of the file's. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* O_TMPFILE, O_PATH */
#endif
#include "io/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static spmvx_status fail(const spx_outfile *f, const char *what)
{
    return spx_fail(f->ctx, SPMVX_ERR_IO, "%s: %s: %s", spx_path_tail(f->path), what, strerror(errno));
}

/* ---- where a name leads ---- */

typedef enum place { NAME, OWN_DESCRIPTOR, OTHERS_DESCRIPTOR } place;

/* The folder of a path, and the name in it. */
static const char *split(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t n = (size_t)(name - path);
    if (n) memcpy(folder, path, n);
    else folder[0] = '.';
    folder[n ? n : 1] = 0;
    return name;
}

/* Whether the path is of an open descriptor, as /proc has them (and /dev/fd leads there): a link that does
 * not lead to a name, but to what is open. */
static place place_of(const char *path, int *descriptor)
{
    enum { MOST_DIGITS = 9 };
    char folder[PATH_MAX], real[PATH_MAX];
    long process, thread;
    int end = 0;
    const char *name = split(path, folder);
    const size_t digits = strspn(name, "0123456789");
    if (!digits || name[digits] || digits > MOST_DIGITS) return NAME;
    *descriptor = atoi(name);
    if (!realpath(folder, real)) return NAME;
    sscanf(real, "/proc/%ld/fd%n", &process, &end);
    if (!end) sscanf(real, "/proc/%ld/task/%ld/fd%n", &process, &thread, &end);
    if (!end || real[end]) return NAME;
    return process == (long)getpid() ? OWN_DESCRIPTOR : OTHERS_DESCRIPTOR;
}

/* Replaces the name of a link by what it says. */
static bool step(char path[PATH_MAX], const char *link)
{
    char folder[PATH_MAX] = "";
    if (link[0] != '/' && strchr(path, '/')) split(path, folder);
    const size_t n = strlen(folder), m = strlen(link);
    errno = ENAMETOOLONG;
    if (n + m >= PATH_MAX) return false;
    memcpy(path, folder, n);
    memcpy(path + n, link, m + 1);
    return true;
}

/* Follows links to a descriptor, or to a name that is no link, there or not. False with a reason in errno. */
static bool follow(char path[PATH_MAX], place *kind, int *descriptor)
{
    enum { MOST_LINKS = 40 };
    for (int i = 0; i < MOST_LINKS; i++) {
        char link[PATH_MAX];
        *kind = place_of(path, descriptor);
        if (*kind != NAME) return true;
        const ssize_t n = readlink(path, link, sizeof link - 1);
        if (n < 0) return true;
        link[n] = 0;
        if (!step(path, link)) return false;
    }
    errno = ELOOP;
    return false;
}

/* ---- opening ---- */

static spmvx_status open_in_place(spx_outfile *f, int fd)
{
    f->fd = fd;
    if (fd < 0) return fail(f, "cannot open");
    const off_t at = lseek(fd, 0, SEEK_CUR);
    f->begin = at < 0 ? 0 : at;
    return SPMVX_OK;
}

/* A folder that may be written to and not read can be opened so, too. */
static int open_folder(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
#ifdef O_PATH
    if (fd < 0 && errno == EACCES) return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
#endif
    return fd;
}

/* A file without a name, which spx_outfile_close can give one; -1 where there is none to be had. */
static int open_nameless(const char *folder)
{
#ifdef O_TMPFILE
    const int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    char proc[64];
    snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
    if (fd < 0 || access(proc, F_OK) == 0) return fd;
    close(fd);
#endif
    (void)folder;
    return -1;
}

/* The i-th name that a temporary of this process may have. */
static void name_temporary(spx_outfile *f, int i)
{
    snprintf(f->temporary, sizeof f->temporary, ".spmvx-%ld-%d.tmp", (long)getpid(), i);
}

enum { TRIES = 1000 }; /* of names: other threads may write beside this one */

static spmvx_status open_temporary(spx_outfile *f, const char *folder)
{
    f->folder = open_folder(folder);
    if (f->folder < 0) return fail(f, "cannot open the folder");
    f->fd = open_nameless(folder);
    for (int i = 0; i < TRIES && f->fd < 0; i++) {
        name_temporary(f, i);
        f->fd = openat(f->folder, f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        f->linked = f->fd >= 0;
        if (f->fd < 0 && errno != EEXIST) break;
    }
    return f->fd < 0 ? fail(f, "cannot create") : SPMVX_OK;
}

spmvx_status spx_outfile_open(const spmvx_context *ctx, const char *path, spx_outfile *f)
{
    char target[PATH_MAX], folder[PATH_MAX];
    struct stat st;
    place kind = NAME;
    int descriptor = -1;
    *f = (spx_outfile){ .ctx = ctx, .path = path, .fd = -1, .folder = -1 };
    errno = ENAMETOOLONG;
    if (strlen(path) >= PATH_MAX) return fail(f, "cannot open");
    strcpy(target, path);
    if (!follow(target, &kind, &descriptor)) return fail(f, "cannot open");
    if (kind == OWN_DESCRIPTOR) return open_in_place(f, fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (kind == OTHERS_DESCRIPTOR) return open_in_place(f, open(target, O_WRONLY | O_APPEND | O_CLOEXEC));
    const bool exists = stat(target, &st) == 0;
    if (exists && !S_ISREG(st.st_mode))
        return open_in_place(f, open(target, O_WRONLY | O_NOCTTY | O_CLOEXEC));
    const char *name = split(target, folder);
    if (!exists && (errno != ENOENT || !*name)) return fail(f, "cannot open");
    errno = ENAMETOOLONG;
    if (strlen(name) > NAME_MAX) return fail(f, "cannot open");
    strcpy(f->name, name);
    SPX_TRY(open_temporary(f, folder));
    if (exists && fchmod(f->fd, st.st_mode & 07777)) return fail(f, "cannot set the mode");
    return SPMVX_OK;
}

spmvx_status spx_outfile_check(const spmvx_context *ctx, const char *path)
{
    spx_outfile f = { .ctx = ctx, .path = path };
    struct stat st;
    if (stat(path, &st) || S_ISREG(st.st_mode)) {
        const spmvx_status s = spx_outfile_open(ctx, path, &f);
        spx_outfile_close(&f, false);
        return s;
    }
    if (!S_ISDIR(st.st_mode) && !access(path, W_OK)) return SPMVX_OK;
    if (S_ISDIR(st.st_mode)) errno = EISDIR;
    return fail(&f, "cannot open");
}

/* ---- writing ---- */

spmvx_status spx_outfile_write(const spx_outfile *f, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes) {
        const ssize_t n = write(f->fd, p, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(f, "cannot write");
        p += n;
        bytes -= (size_t)n;
    }
    return SPMVX_OK;
}

spmvx_status spx_outfile_seek(const spx_outfile *f, int64_t to)
{
    const int flags = fcntl(f->fd, F_GETFL);
    errno = ESPIPE;
    if (flags >= 0 && flags & O_APPEND) return fail(f, "cannot go to another place");
    return lseek(f->fd, f->begin + to, SEEK_SET) < 0 ? fail(f, "cannot go to another place") : SPMVX_OK;
}

/* ---- closing ---- */

/* Some files cannot be stored on demand, and a folder that may not be read cannot be. */
static bool store(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == EBADF || errno == ENOTSUP;
}

static bool link_temporary(spx_outfile *f)
{
    char proc[64];
    snprintf(proc, sizeof proc, "/proc/self/fd/%d", f->fd);
    for (int i = 0; i < TRIES && !f->linked; i++) {
        name_temporary(f, i);
        f->linked = linkat(AT_FDCWD, proc, f->folder, f->temporary, AT_SYMLINK_FOLLOW) == 0;
        if (!f->linked && errno != EEXIST) break;
    }
    return f->linked;
}

static spmvx_status publish(spx_outfile *f)
{
    if (!store(f->fd)) return fail(f, "cannot store");
    if (!link_temporary(f)) return fail(f, "cannot create");
    if (renameat(f->folder, f->temporary, f->folder, f->name)) return fail(f, "cannot rename to");
    f->linked = false; /* it is the file now */
    return store(f->folder) ? SPMVX_OK : fail(f, "cannot store the folder");
}

spmvx_status spx_outfile_close(spx_outfile *f, bool keep)
{
    spmvx_status s = SPMVX_OK;
    if (keep && f->folder >= 0) s = publish(f);
    if (f->fd >= 0 && close(f->fd) && keep && s == SPMVX_OK) s = fail(f, "cannot close");
    if (f->linked) unlinkat(f->folder, f->temporary, 0);
    if (f->folder >= 0) close(f->folder);
    f->fd = f->folder = -1;
    f->linked = false;
    return s;
}
