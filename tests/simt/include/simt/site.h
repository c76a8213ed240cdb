/* Where in the source a device function is called, for reports and to tell barriers apart. */
#ifndef SIMT_SITE_H
#define SIMT_SITE_H
namespace simt {

struct Site {
    const char *file;
    int line;
    static constexpr Site here(const char *file = __builtin_FILE(), int line = __builtin_LINE())
    {
        return { file, line };
    }
};

}
#endif
