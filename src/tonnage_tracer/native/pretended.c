/* Facts of the pretended GPU, read once from the environment the parent process prepared. */
#include "pretended.h"

#include <stdlib.h>
#include <string.h>

static struct gpu gpu;
static __thread int current_device;
static volatile char chosen[64];
static volatile char any_chosen;

/* Decimal digits only, by hand: strtoull would tie the library to the newest C library it was built on. */
static size_t number(const char *variable)
{
    const char *text = getenv(variable);
    size_t value = 0;
    for (; text && *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (size_t)(*text - '0');
    return value;
}

static void read_compute(const char *text)
{
    for (; text && *text >= '0' && *text <= '9'; text++)
        gpu.major = gpu.major * 10 + (*text - '0');
    if (text && *text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++)
            gpu.minor = gpu.minor * 10 + (*text - '0');
}

/* Runs when the library is loaded, before anybody can ask. */
__attribute__((constructor)) static void read_environment(void)
{
    const char *name = getenv("TONNAGE_GPU_NAME");
    if (!name)
        return; /* No device rather than a made-up one. */
    strncpy(gpu.name, name, sizeof gpu.name - 1);
    read_compute(getenv("TONNAGE_GPU_COMPUTE"));
    gpu.count = (int)number("TONNAGE_GPU_COUNT");
    gpu.memory = number("TONNAGE_GPU_MEMORY");
    gpu.context = number("TONNAGE_GPU_CONTEXT");
    gpu.multiprocessors = (int)number("TONNAGE_GPU_SMS");
    gpu.threads_per_sm = (int)number("TONNAGE_GPU_THREADS_PER_SM");
    gpu.shared_per_block = number("TONNAGE_GPU_SHARED_PER_BLOCK");
    gpu.shared_per_sm = number("TONNAGE_GPU_SHARED_PER_SM");
    gpu.l2 = (int)number("TONNAGE_GPU_L2");
}

const struct gpu *tonnage_gpu(void)
{
    return &gpu;
}

int tonnage_gpu_attribute(int attribute)
{
    const struct gpu *g = &gpu;
    switch (attribute) {
    case 1: /* maxThreadsPerBlock */
    case 2: /* maxBlockDimX */
    case 3: /* maxBlockDimY */
        return THREADS_PER_BLOCK;
    case 4: /* maxBlockDimZ */
        return BLOCK_Z;
    case 5: /* maxGridDimX */
        return GRID_X;
    case 6: /* maxGridDimY */
    case 7: /* maxGridDimZ */
        return GRID_YZ;
    case 8: /* maxSharedMemoryPerBlock, without opting in */
        return SHARED_PER_BLOCK_DEFAULT;
    case 10: /* warpSize */
        return WARP;
    case 12: /* maxRegistersPerBlock */
    case 82: /* maxRegistersPerMultiprocessor */
        return REGISTERS;
    case 16: /* multiProcessorCount */
        return g->multiprocessors;
    case 38: /* l2CacheSize */
        return g->l2;
    case 39: /* maxThreadsPerMultiProcessor */
        return g->threads_per_sm;
    case 75: /* computeCapabilityMajor */
        return g->major;
    case 76: /* computeCapabilityMinor */
        return g->minor;
    case 81: /* maxSharedMemoryPerMultiprocessor */
        return (int)g->shared_per_sm;
    case 97: /* maxSharedMemoryPerBlockOptin */
        return (int)g->shared_per_block;
    case 31: /* concurrentKernels */
    case 41: /* unifiedAddressing */
    case 78: /* streamPrioritiesSupported */
    case 95: /* cooperativeLaunch */
    case 99: /* hostRegisterSupported */
    case 102: /* virtual memory management: expandable segments */
    case 115: /* memoryPoolsSupported */
        return 1;
    case 120: /* clusterLaunch, since Hopper */
        return g->major >= 9;
    default: /* Clocks, textures, fabric, multicast: unknown or absent, and said so. */
        return 0;
    }
}

int tonnage_current_device(void)
{
    return current_device;
}

int tonnage_choose_device(int device)
{
    if (device < 0 || device >= tonnage_gpu()->count)
        return INVALID_DEVICE;
    current_device = device;
    chosen[(unsigned)device % sizeof chosen] = 1;
    any_chosen = 1;
    return OK;
}

int tonnage_has_context(int device)
{
    return any_chosen ? chosen[(unsigned)device % sizeof chosen] : device == 0;
}
