/* The version of libspmvx that this header belongs to. The build takes the version and the soname from here.
 * Compare with spmvx_version(), which speaks for the library that was loaded. */
#ifndef SPMVX_VERSION_H
#define SPMVX_VERSION_H

#define SPMVX_VERSION_MAJOR 0
#define SPMVX_VERSION_MINOR 1
#define SPMVX_VERSION_PATCH 0
#define SPMVX_VERSION (SPMVX_VERSION_MAJOR * 1000000 + SPMVX_VERSION_MINOR * 1000 + SPMVX_VERSION_PATCH)

#endif
