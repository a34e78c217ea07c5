/* libcuda.so.1: the driver, as far as torch looks at it.
 *
 * Under its real name on purpose. cuBLAS, cuDNN and NCCL each carry a runtime of their own that opens
 * "libcuda.so.1"; once this one is loaded, the loader gives them this one. It has no cuInit and no
 * cuGetProcAddress, so they conclude that there is no driver and stay asleep: no real driver is opened and no real
 * GPU is touched in a tracing process, even on a machine that has some.
 *
 * Torch finds driver functions in two ways: by linking (libcaffe2_nvrtc.so) and by asking the runtime for them
 * by name (c10's DriverAPI, which refuses to work if a single one of its list is missing). Both get these.
 */
#include "pretended.h"

#include <string.h>

/* --- Questions about device and context ------------------------------------------------------------------- */

EXPORT int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, OK; }
EXPORT int cuDeviceGetAttribute(int *value, int attribute, UNUSED int device)
{
    return *value = tonnage_gpu_attribute(attribute), OK;
}

/* The autograd engine asks which devices have a context before it starts a thread for each. Only a
 * device that was chosen has one: a rank of several must not look as if it used its neighbours' GPUs. */
EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = tonnage_has_context(device);
    return OK;
}
static int the_context;
EXPORT int cuDevicePrimaryCtxRetain(void **context, UNUSED int device) { return *context = &the_context, OK; }
EXPORT int cuCtxGetCurrent(void **context) { return *context = &the_context, OK; }
EXPORT int cuCtxSetCurrent(UNUSED void *context) { return OK; }
EXPORT int cuCtxPushCurrent_v2(UNUSED void *context) { return OK; }
EXPORT int cuCtxPopCurrent_v2(void **context) { return *context = &the_context, OK; }
EXPORT int cuCtxGetDevice(int *device) { return *device = tonnage_current_device(), OK; }

EXPORT int cuGetErrorString(int error, const char **text)
{
    *text = error == OUT_OF_MEMORY   ? "out of memory (virtual GPU)"
            : error == NOT_SUPPORTED ? "the virtual GPU of this tracing process cannot do this"
                                     : "error of the virtual GPU";
    return OK;
}
EXPORT int cuGetErrorName(UNUSED int error, const char **text) { return *text = "CUDA_ERROR_VIRTUAL_GPU", OK; }

/* --- Virtual memory management: the allocator's expandable segments ---------------------------------------- */

enum { GRANULARITY = 2 << 20 };

EXPORT int cuMemGetAllocationGranularity(size_t *bytes, UNUSED const void *properties, UNUSED int option)
{
    return *bytes = GRANULARITY, OK;
}
EXPORT int cuMemAddressReserve(void **address, size_t size, UNUSED size_t alignment, UNUSED void *wish,
                               UNUSED unsigned long long flags)
{
    /* A range as large as the device is reserved before anything is put there: it must not count as used. */
    return tonnage_host_memory(address, size);
}
EXPORT int cuMemAddressFree(void *address, UNUSED size_t size) { return tonnage_release_memory(address); }
EXPORT int cuMemCreate(unsigned long long *handle, size_t size, UNUSED const void *properties,
                       UNUSED unsigned long long flags)
{
    return tonnage_device_memory((void **)handle, size);
}
EXPORT int cuMemRelease(unsigned long long handle) { return tonnage_release_memory((void *)handle); }
EXPORT int cuMemMap(UNUSED void *address, UNUSED size_t size, UNUSED size_t offset, UNUSED unsigned long long handle,
                    UNUSED unsigned long long flags)
{
    return OK;
}
EXPORT int cuMemUnmap(UNUSED void *address, UNUSED size_t size) { return OK; }
EXPORT int cuMemSetAccess(UNUSED void *address, UNUSED size_t size, UNUSED const void *access, UNUSED size_t count)
{
    return OK;
}

/* --- Launching: Triton and runtime-compiled kernels. Nothing runs, so nothing is wrong. --------------------- */

EXPORT int cuLaunchKernel(void) { return OK; }
EXPORT int cuLaunchKernelEx(void) { return OK; }
EXPORT int cuLaunchCooperativeKernel(void) { return OK; }
EXPORT int cuFuncSetAttribute(void) { return OK; }
EXPORT int cuFuncSetCacheConfig(void) { return OK; }
EXPORT int cuMemsetD32Async(void) { return OK; }

/* --- Refused: things whose answer would be a lie ----------------------------------------------------------- */

/* Loading code, sharing memory between processes, multicast, green contexts, logs: nobody should depend on
 * them while tracing, and whoever does learns it from the error instead of from a wrong figure. */
#define REFUSED(X)                                                                                                  \
    X(cuModuleLoad) X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction)              \
    X(cuLinkCreate_v2) X(cuLinkAddData_v2) X(cuLinkComplete) X(cuFuncGetAttribute)                                  \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuOccupancyMaxActiveClusters) X(cuTensorMapEncodeTiled)        \
    X(cuPointerGetAttribute)                                                                                        \
    X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle) X(cuMemGetAllocationPropertiesFromHandle)     \
    X(cuMemRetainAllocationHandle) X(cuMemGetAddressRange_v2) X(cuMulticastAddDevice) X(cuMulticastBindMem)         \
    X(cuMulticastCreate) X(cuMulticastUnbind) X(cuStreamWriteValue32_v2) X(cuCtxFromGreenCtx)                       \
    X(cuDevResourceGenerateDesc) X(cuDevSmResourceSplitByCount) X(cuDeviceGetDevResource) X(cuGreenCtxCreate)       \
    X(cuGreenCtxDestroy) X(cuGreenCtxStreamCreate) X(cuLogsRegisterCallback) X(cuLogsUnregisterCallback)

#define DEFINE_REFUSED(name) EXPORT int name(void) { return NOT_SUPPORTED; }
REFUSED(DEFINE_REFUSED)

/* --- By name ------------------------------------------------------------------------------------------------ */

#define ANSWERED(X)                                                                                                 \
    X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxGetState) X(cuDevicePrimaryCtxRetain)                \
    X(cuCtxGetCurrent)                                                                                              \
    X(cuCtxSetCurrent) X(cuCtxPushCurrent_v2) X(cuCtxPopCurrent_v2) X(cuCtxGetDevice) X(cuGetErrorString)           \
    X(cuGetErrorName) X(cuMemGetAllocationGranularity) X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate)    \
    X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) X(cuLaunchKernel) X(cuLaunchKernelEx)               \
    X(cuLaunchCooperativeKernel) X(cuFuncSetAttribute) X(cuFuncSetCacheConfig) X(cuMemsetD32Async)

static const struct {
    const char *name;
    void *function;
} entries[] = {
#define ENTRY(name) {#name, (void *)name},
    ANSWERED(ENTRY) REFUSED(ENTRY)
};

/* "cuMemGetAddressRange" finds "cuMemGetAddressRange_v2": callers name the function, not its revision. */
static int same(const char *asked, const char *ours)
{
    size_t length = strlen(asked);
    return strncmp(asked, ours, length) == 0 && (ours[length] == 0 || strcmp(ours + length, "_v2") == 0);
}

void *tonnage_driver_entry(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (same(name, entries[i].name))
            return entries[i].function;
    return NULL;
}
