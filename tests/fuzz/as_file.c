/* One temporary file, written anew for every input. */
#include "as_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[256];
static FILE *file;

static void remove_file(void)
{
    unlink(path);
}

static void give_up_unless(int ok)
{
    if (ok) return;
    perror(path);
    abort();
}

const char *as_file(const char *ending, const uint8_t *data, size_t size)
{
    if (!file) {
        const char *tmp = getenv("TMPDIR");
        snprintf(path, sizeof path, "%s/spmvx-fuzz-XXXXXX%s", tmp && strlen(tmp) < 200 ? tmp : "/tmp",
                 ending);
        const int fd = mkstemps(path, (int)strlen(ending));
        give_up_unless(fd >= 0);
        file = fdopen(fd, "wb");
        give_up_unless(file && atexit(remove_file) == 0);
    }
    rewind(file);
    give_up_unless(fwrite(data, 1, size, file) == size);
    give_up_unless(fflush(file) == 0 && ftruncate(fileno(file), (off_t)size) == 0);
    return path;
}
