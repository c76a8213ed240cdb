/* Stands in for device.cu where CUDA is not built. */
#include <stdio.h>

#include "device.h"

bool device_open(int32_t number, size_t flush_bytes)
{
    (void)number, (void)flush_bytes;
    fprintf(stderr, "spmvx: this build is without CUDA\n");
    return false;
}

void device_close(void) {}
void *device_stream(void)
{
    return NULL;
}
size_t device_l2(void)
{
    return 0;
}
void device_forget_error(void) {}
double device_read(int passes)
{
    return (void)passes, 0;
}
bool device_start(void)
{
    return false;
}
bool device_stop(double *seconds)
{
    return *seconds = 0, false;
}
bool device_capture(void)
{
    return false;
}
bool device_captured(void **graph)
{
    return *graph = NULL, false;
}
bool device_replay(void *graph)
{
    return (void)graph, false;
}
void device_drop_graph(void *graph)
{
    (void)graph;
}
size_t device_used(void)
{
    return 0;
}
double device_clock(void)
{
    return 0;
}
bool device_launch(double *stream, double *graph)
{
    return *stream = *graph = 0, false;
}
