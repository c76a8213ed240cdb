/* The benchmark's own view of a CUDA device: a stream, time between two of its events, graphs, and a
 * buffer whose reading tells the bandwidth and leaves L2 full of other live data. One device a process.
 * Without CUDA in the build device_open says so and the rest is never called. Functions that answer false
 * have said why on stderr. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

bool device_open(int32_t number, size_t flush_bytes);
void device_close(void);
void *device_stream(void);
size_t device_l2(void);         /* bytes; 0: not known */
void device_forget_error(void); /* that somebody left pending */
double device_read(int passes); /* the buffer, so many times in one launch: bytes a second */
bool device_start(void);
bool device_stop(double *seconds); /* waits, and tells the time since device_start */
bool device_capture(void);         /* what follows on the stream goes into a graph */
bool device_captured(void **graph);
bool device_replay(void *graph);
void device_drop_graph(void *graph); /* NULL is fine */
size_t device_used(void);            /* bytes of the device's memory, of all programs */
double device_clock(void);           /* MHz of the multiprocessors; 0: not known */
/* What launching an empty kernel takes, one after the other on the stream and in a graph, in seconds. */
bool device_launch(double *stream, double *graph);

#ifdef __cplusplus
}
#endif
#endif
