/* Shared by the peers: errors, checks, row pointers of 32 bits. */
#ifndef PEER_UTIL_H
#define PEER_UTIL_H
#include "../peer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A macro's value as text: for version numbers. */
#define PEER_TEXT_OF(x) #x
#define PEER_TEXT(x) PEER_TEXT_OF(x)

/* Writes the sentence and answers the code. */
int peer_fail(peer_error *, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The types that the interface knows, at least one row and one column (most peers take no less), at least
 * one thread. */
int peer_check(const peer_matrix *, peer_error *);

/* The same matrix with row pointers of 32 bits, for libraries with one index type: the caller's array, or
 * a copy, which is *own (free it; else NULL). PEER_UNSUPPORTED where a size is over 2^31 - 1. Checks as
 * peer_check does. */
int peer_narrow(const peer_matrix *, peer_matrix *narrow, int32_t **own, peer_error *);

/* One step of a sequence of a library's calls: nothing after the first that failed. check() is the file's
 * own: it makes a result of what the library answers, and the error, which is `e`. */
#define STEP(result, call)                               \
    do {                                                 \
        if (!(result)) (result) = check(call, #call, e); \
    } while (0)

int64_t peer_ptr(const peer_matrix *, int64_t row);
/* Bytes of the three arrays. */
size_t peer_csr_bytes(const peer_matrix *);

#ifdef __cplusplus
}
#endif
#endif
