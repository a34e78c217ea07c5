/* Streams and events: names without work behind them, always finished. */
#include "runtime_types.h"

#include <stdatomic.h>

static atomic_ulong handles = 1;

/* A handle is a number nobody dereferences. The low byte of a stream's carries its priority, asked for later. */
static void *new_handle(int priority)
{
    return (void *)((atomic_fetch_add(&handles, 1) << 8) | (unsigned char)(-priority));
}

/* torch makes 32 streams per priority on first use of torch.cuda.Stream(). */
EXPORT int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { return *least = 0, *greatest = -5, OK; }
EXPORT int cudaStreamCreateWithPriority(cudaStream_t *stream, UNUSED unsigned flags, int priority)
{
    return *stream = new_handle(priority), OK;
}
EXPORT int cudaStreamCreateWithFlags(cudaStream_t *stream, UNUSED unsigned flags) { return *stream = new_handle(0), OK; }
EXPORT int cudaStreamCreate(cudaStream_t *stream) { return *stream = new_handle(0), OK; }
EXPORT int cudaStreamDestroy(UNUSED cudaStream_t stream) { return OK; }
EXPORT int cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    return *priority = -(int)((unsigned long)stream & 0xff), OK;
}
EXPORT int cudaStreamSynchronize(UNUSED cudaStream_t stream) { return OK; }
EXPORT int cudaStreamQuery(UNUSED cudaStream_t stream) { return OK; }
EXPORT int cudaStreamWaitEvent(void) { return OK; }

/* Callbacks (pinned memory, profilers) run at once: everything before them is done. */
EXPORT int cudaLaunchHostFunc(UNUSED cudaStream_t stream, void (*function)(void *), void *data)
{
    return function(data), OK;
}
EXPORT int cudaStreamAddCallback(cudaStream_t stream, void (*function)(cudaStream_t, int, void *), void *data,
                                 UNUSED unsigned flags)
{
    return function(stream, OK, data), OK;
}

EXPORT int cudaEventCreate(cudaEvent_t *event) { return *event = new_handle(0), OK; }
EXPORT int cudaEventCreateWithFlags(cudaEvent_t *event, UNUSED unsigned flags) { return *event = new_handle(0), OK; }
EXPORT int cudaEventDestroy(UNUSED cudaEvent_t event) { return OK; }
EXPORT int cudaEventRecord(void) { return OK; }
EXPORT int cudaEventRecordWithFlags(void) { return OK; }
EXPORT int cudaEventQuery(UNUSED cudaEvent_t event) { return OK; }
EXPORT int cudaEventSynchronize(UNUSED cudaEvent_t event) { return OK; }
/* Not zero: training loops divide by it. */
EXPORT int cudaEventElapsedTime(float *milliseconds, UNUSED cudaEvent_t from, UNUSED cudaEvent_t to)
{
    return *milliseconds = 1.0F, OK;
}

/* The allocator asks before every allocation whether a graph is being captured: never. */
EXPORT int cudaStreamIsCapturing(UNUSED cudaStream_t stream, int *status) { return *status = 0, OK; }
EXPORT int cudaStreamGetCaptureInfo(UNUSED cudaStream_t stream, int *status, unsigned long long *id)
{
    *status = 0;
    if (id)
        *id = 0;
    return OK; /* The further outputs are defined only while capturing. */
}
EXPORT int cudaStreamGetCaptureInfo_v2(cudaStream_t stream, int *status, unsigned long long *id)
{
    return cudaStreamGetCaptureInfo(stream, status, id);
}
EXPORT int cudaThreadExchangeStreamCaptureMode(UNUSED int *mode) { return OK; }
