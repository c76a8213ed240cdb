/* A bar on stderr while a file is read or written: on a terminal only, not before half a second, ten times a
 * second at most, and gone when the work is done. Wiped with spaces, which every terminal knows. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tool.h"

enum { COLUMNS = 80, MOST_COLUMNS = 200, MOST_NAME = 40, LEAST_BAR = 10, MOST_BAR = 50 };
static const double first_after = 0.5, next_after = 0.1;

progress progress_begin(const char *path, const char *unit)
{
    return (progress){
        .name = base_name(path), .unit = unit, .wanted = !quiet() && isatty(STDERR_FILENO), .begin = now()
    };
}

static int terminal_columns(void)
{
    struct winsize w = { 0 };
    const int n = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : COLUMNS;
    return n < MOST_COLUMNS ? n : MOST_COLUMNS;
}

static bool begins_character(char c)
{
    return (c & 0xc0) != 0x80;
}

/* The last `most` characters of a name (in UTF-8, at most 4 * MOST_NAME bytes), with '?' for control
 * characters. Answers how many they are. */
static int put_name(const char *name, int most, char *out)
{
    const char *end = name + strlen(name), *from = end;
    int n = 0;
    for (const char *p = end; p > name && n < most && end - p < 4 * MOST_NAME; p--)
        if (begins_character(p[-1])) {
            from = p - 1;
            n++;
        }
    for (; *from; from++) *out++ = (unsigned char)*from < 32 || *from == 127 ? '?' : *from;
    *out = 0;
    return n;
}

void progress_line(const char *name, int64_t done, int64_t total, const char *unit, int columns, char *out,
                   size_t room)
{
    char amount[40], bar[MOST_BAR + 1], shown[4 * MOST_NAME + 1];
    const double share = total > 0 && done < total ? (double)done / (double)total : 1.0;
    if (total < 0) snprintf(amount, sizeof amount, "%.1f %s", 1e-6 * (double)done, unit);
    else
        snprintf(amount, sizeof amount, "%3d%% of %.1f %s", (int)(100.0 * share), 1e-6 * (double)total, unit);
    const int left = columns - 1 - (int)strlen(amount) - 1;
    if (left < 1) {
        snprintf(out, room, "%.*s", columns > 1 ? columns - 1 : 0, amount);
        return;
    }
    const int bar_room = left - put_name(name, left < MOST_NAME ? left : MOST_NAME, shown) - 3,
              length = bar_room < MOST_BAR ? bar_room : MOST_BAR;
    if (total < 0 || length < LEAST_BAR) {
        snprintf(out, room, "%s %s", shown, amount);
        return;
    }
    const int full = (int)(share * length);
    memset(bar, '.', (size_t)length);
    memset(bar, '#', (size_t)full);
    snprintf(out, room, "%s [%.*s] %s", shown, length, bar, amount);
}

int32_t progress_step(void *state, int64_t done, int64_t total)
{
    progress *p = state;
    if (!p->wanted) return 0;
    const double t = now();
    if (t - p->begin < first_after || (p->width && t - p->drawn < next_after)) return 0;
    char line[4 * MOST_COLUMNS + 1];
    const int columns = terminal_columns();
    progress_line(p->name, done, total, p->unit, columns, line, sizeof line);
    fprintf(stderr, "\r%s", line);
    fflush(stderr);
    p->drawn = t;
    p->width = columns;
    return 0;
}

void progress_end(progress *p)
{
    if (p->width) fprintf(stderr, "\r%*s\r", p->width - 1, "");
    p->width = 0;
}
