/* The CUDA runtime's answers about devices. */
#include "runtime_types.h"

#include <string.h>

/* torch.cuda.is_available(), device_count(); c10 sizes its per-device tables by it. */
EXPORT int cudaGetDeviceCount(int *count)
{
    *count = tonnage_gpu()->count;
    return *count ? OK : NO_DEVICE;
}

/* Every device guard in torch. */
EXPORT int cudaGetDevice(int *device) { return *device = tonnage_current_device(), OK; }
EXPORT int cudaSetDevice(int device) { return tonnage_choose_device(device); }

/* torch.cuda's lazy initialisation compares the two. */
EXPORT int cudaDriverGetVersion(int *version) { return *version = DRIVER_VERSION, OK; }
EXPORT int cudaRuntimeGetVersion(int *version) { return *version = CUDA_MAJOR == 12 ? 12080 : 13000, OK; }

static void describe(struct cudaDeviceProp *properties, int device)
{
    const struct gpu *gpu = tonnage_gpu();
    memset(properties, 0, sizeof *properties);
    memcpy(properties->name, gpu->name, sizeof properties->name);
    properties->uuid[15] = (unsigned char)(device + 1); /* libraries tell devices apart by it */
    properties->pciBusID = device + 1;
    properties->totalGlobalMem = gpu->memory;
    properties->major = gpu->major;
    properties->minor = gpu->minor;
    properties->multiProcessorCount = gpu->multiprocessors;
    properties->maxThreadsPerMultiProcessor = gpu->threads_per_sm;
    properties->warpSize = WARP;
    properties->maxThreadsPerBlock = THREADS_PER_BLOCK;
    properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = THREADS_PER_BLOCK;
    properties->maxThreadsDim[2] = BLOCK_Z;
    properties->maxGridSize[0] = GRID_X;
    properties->maxGridSize[1] = properties->maxGridSize[2] = GRID_YZ;
    properties->regsPerBlock = properties->regsPerMultiprocessor = REGISTERS;
    properties->sharedMemPerBlock = SHARED_PER_BLOCK_DEFAULT;
    properties->sharedMemPerBlockOptin = gpu->shared_per_block;
    properties->sharedMemPerMultiprocessor = gpu->shared_per_sm;
    properties->reservedSharedMemPerBlock = RESERVED_SHARED_PER_BLOCK;
    properties->l2CacheSize = gpu->l2;
    properties->textureAlignment = 512;
    properties->totalConstMem = 65536;
    properties->concurrentKernels = properties->unifiedAddressing = properties->canMapHostMemory = 1;
    properties->streamPrioritiesSupported = properties->cooperativeLaunch = 1;
    properties->hostRegisterSupported = properties->memoryPoolsSupported = 1;
    properties->clusterLaunch = gpu->major >= 9;
}

/* torch.cuda.get_device_properties(); the attention kernels, autocast, cuDNN and Inductor all decide by it. */
static int get_properties(struct cudaDeviceProp *properties, int device)
{
    if (device < 0 || device >= tonnage_gpu()->count)
        return INVALID_DEVICE;
    describe(properties, device);
    return OK;
}
#if CUDA_MAJOR == 12
/* CUDA 12's headers rename the call; the old name belongs to CUDA 11's shorter struct. */
EXPORT int cudaGetDeviceProperties_v2(struct cudaDeviceProp *p, int device) { return get_properties(p, device); }
#else
EXPORT int cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) { return get_properties(p, device); }
#endif

/* Single facts, where the whole struct would be slow: kernels ask for shared memory and the SM count. */
EXPORT int cudaDeviceGetAttribute(int *value, int attribute, UNUSED int device)
{
    return *value = tonnage_gpu_attribute(attribute), OK;
}

/* Messages and c10's NVML look-ups name the device by its bus address. */
EXPORT int cudaDeviceGetPCIBusId(char *text, int room, int device)
{
    char address[] = "0000:01:00.0";
    address[6] = (char)('1' + device % 9);
    if (room < (int)sizeof address)
        return INVALID_VALUE;
    memcpy(text, address, sizeof address);
    return OK;
}

/* No direct paths between GPUs: copies between devices are not what is traced. */
EXPORT int cudaDeviceCanAccessPeer(int *can, UNUSED int device, UNUSED int peer) { return *can = 0, OK; }
EXPORT int cudaDeviceEnablePeerAccess(UNUSED int peer, UNUSED unsigned flags) { return NOT_SUPPORTED; }

EXPORT int cudaDeviceSynchronize(void) { return OK; }

/* torch checks after every launch; there is never anything to report. */
EXPORT int cudaGetLastError(void) { return OK; }
EXPORT int cudaPeekAtLastError(void) { return OK; }

EXPORT const char *cudaGetErrorString(int error)
{
    switch (error) {
    case OK: return "no error";
    case OUT_OF_MEMORY: return "out of memory";
    case NO_DEVICE: return "no CUDA-capable device is detected";
    case INVALID_DEVICE: return "invalid device ordinal";
    case NOT_SUPPORTED: return "operation not supported on the virtual GPU of a tracing process";
    default: return "error of the virtual GPU";
    }
}
EXPORT const char *cudaGetErrorName(int error)
{
    switch (error) {
    case OK: return "cudaSuccess";
    case OUT_OF_MEMORY: return "cudaErrorMemoryAllocation";
    case NO_DEVICE: return "cudaErrorNoDevice";
    case INVALID_DEVICE: return "cudaErrorInvalidDevice";
    case NOT_SUPPORTED: return "cudaErrorNotSupported";
    default: return "cudaErrorUnknown";
    }
}

/* c10 takes driver functions through these two: virtual memory for expandable segments, the state of contexts. */
EXPORT int cudaGetDriverEntryPointByVersion(const char *name, void **function, UNUSED unsigned version,
                                            UNUSED unsigned long long flags, int *status)
{
    *function = tonnage_driver_entry(name);
    if (status)
        *status = *function ? 0 : 1; /* cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound */
    return OK;
}
EXPORT int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *status)
{
    return cudaGetDriverEntryPointByVersion(name, function, 0, flags, status);
}

EXPORT int cudaProfilerStart(void) { return OK; }
EXPORT int cudaProfilerStop(void) { return OK; }
