/* The GPU that is pretended, and the memory it pretends to have. Lives in libcuda.so.1, used by the runtimes.
 *
 * Nothing here computes. Torch asks a CUDA runtime hundreds of questions before and while it trains: how many
 * devices, which compute capability, how much memory, is this stream busy. With answers as of the GPU that is
 * asked for, torch takes the decisions it would take there (attention kernel, autocast, foreach) while fake
 * tensors stand in for the data and no kernel ever runs.
 */
#ifndef TONNAGE_PRETENDED_H
#define TONNAGE_PRETENDED_H

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))

/* Results shared by runtime (cudaError_t) and driver (CUresult): the numbers are the same in both. */
enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    NOT_SUPPORTED = 801,
};

/* Facts of one GPU, from TONNAGE_GPU_* in the environment. All devices of a process are alike. */
struct gpu {
    char name[256];
    int count;                 /* TONNAGE_GPU_COUNT: devices on the node; 0 when nothing is pretended */
    int major, minor;          /* TONNAGE_GPU_COMPUTE, "9.0" */
    size_t memory;             /* TONNAGE_GPU_MEMORY: bytes torch may use */
    size_t context;            /* TONNAGE_GPU_CONTEXT: bytes a process has lost before its first tensor */
    int multiprocessors;       /* TONNAGE_GPU_SMS */
    int threads_per_sm;        /* TONNAGE_GPU_THREADS_PER_SM */
    size_t shared_per_block;   /* TONNAGE_GPU_SHARED_PER_BLOCK: the most a block may opt into */
    size_t shared_per_sm;      /* TONNAGE_GPU_SHARED_PER_SM */
    int l2;                    /* TONNAGE_GPU_L2: bytes */
};

/* The same on every NVIDIA GPU since 2016. */
enum {
    WARP = 32,
    THREADS_PER_BLOCK = 1024,
    REGISTERS = 65536,
    SHARED_PER_BLOCK_DEFAULT = 49152,
    RESERVED_SHARED_PER_BLOCK = 1024,
    GRID_X = 2147483647,
    GRID_YZ = 65535,
    BLOCK_Z = 64,
};

/* Newer than any runtime that asks, so that no runtime finds it too old. */
enum { DRIVER_VERSION = 13020 };

EXPORT const struct gpu *tonnage_gpu(void);

/* An integer attribute by its number in cudaDeviceAttr, which CUdevice_attribute shares. Unknown ones are 0. */
EXPORT int tonnage_gpu_attribute(int attribute);

/* The device this thread has chosen: CUDA keeps it per thread. */
EXPORT int tonnage_current_device(void);
EXPORT int tonnage_choose_device(int device);

/* Whether any thread has chosen the device; the first one counts as chosen until another is. */
EXPORT int tonnage_has_context(int device);

enum memory_kind { MEMORY_UNKNOWN = 0, MEMORY_HOST = 1, MEMORY_DEVICE = 2 }; /* as cudaMemoryType counts */

/* Addresses of device memory are real, unique and empty: reading gives zeros, and only writing costs RAM. */
EXPORT int tonnage_device_memory(void **address, size_t size);
EXPORT int tonnage_host_memory(void **address, size_t size);
EXPORT int tonnage_release_memory(void *address);
EXPORT void tonnage_note_host_memory(void *address, size_t size);
EXPORT void tonnage_forget_host_memory(void *address);
EXPORT enum memory_kind tonnage_kind_of(const void *address, int *device);
EXPORT size_t tonnage_free_bytes(void);

/* A driver function by name, or NULL: the runtime hands these out on request. */
EXPORT void *tonnage_driver_entry(const char *name);

#endif
