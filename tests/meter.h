/* An allocator that counts bytes and refuses what a test wants refused; and a log to look into. */
#ifndef METER_H
#define METER_H
#include "support.h"

typedef struct meter {
    _Atomic size_t live, peak, largest; /* bytes now, at most, and of the largest request */
    _Atomic long blocks;                /* live ones */
    _Atomic long requests;
    long fail_at, fail_from; /* this request fails, from 1; this one and all that follow; 0: none */
    size_t fail_above;       /* larger requests fail; 0: none */
    size_t limit;            /* what would bring `live` above it fails; 0: none */
    char log[4096];          /* the messages, a line each; the first that fit */
} meter;

/* A host context over the meter, which hears all messages, too. */
spmvx_context *meter_context(meter *, int32_t threads);
/* Lets all pass, forgets the log, and begins `peak` at what is live. */
void meter_reset(meter *);
#endif
