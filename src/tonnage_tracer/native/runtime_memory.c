/* The CUDA runtime's memory: see memory.c for what stands behind it. */
#include "runtime_types.h"

#include <string.h>

/* torch's caching allocator, for the few tensors that are really made. */
EXPORT int cudaMalloc(void **address, size_t size) { return tonnage_device_memory(address, size); }
EXPORT int cudaFree(void *address) { return tonnage_release_memory(address); }

/* The other allocator backend (PYTORCH_ALLOC_CONF=backend:cudaMallocAsync). */
EXPORT int cudaMallocAsync(void **address, size_t size, UNUSED cudaStream_t stream)
{
    return tonnage_device_memory(address, size);
}
EXPORT int cudaFreeAsync(void *address, UNUSED cudaStream_t stream) { return tonnage_release_memory(address); }
static int the_pool;
EXPORT int cudaDeviceGetDefaultMemPool(void **pool, UNUSED int device) { return *pool = &the_pool, OK; }
EXPORT int cudaMemPoolSetAttribute(void) { return OK; }
EXPORT int cudaMemPoolSetAccess(void) { return OK; }
EXPORT int cudaMemPoolTrimTo(void) { return OK; }
EXPORT int cudaMemPoolGetAttribute(UNUSED void *pool, UNUSED int attribute, unsigned long long *value)
{
    return *value = 0, OK;
}

/* torch.cuda.mem_get_info(): some code sizes its batch by it. */
EXPORT int cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *total = tonnage_gpu()->memory;
    *free_bytes = tonnage_free_bytes();
    return OK;
}

/* Pinned memory is host memory: it must be real. */
EXPORT int cudaHostAlloc(void **address, size_t size, UNUSED unsigned flags)
{
    return tonnage_host_memory(address, size);
}
EXPORT int cudaMallocHost(void **address, size_t size) { return tonnage_host_memory(address, size); }
EXPORT int cudaFreeHost(void *address) { return tonnage_release_memory(address); }
EXPORT int cudaHostRegister(void *address, size_t size, UNUSED unsigned flags)
{
    tonnage_note_host_memory(address, size);
    return OK;
}
EXPORT int cudaHostUnregister(void *address)
{
    tonnage_forget_host_memory(address);
    return OK;
}
/* Tensor.is_pinned(), and the device of a foreign pointer. */
EXPORT int cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    memset(attributes, 0, sizeof *attributes);
    attributes->type = (int)tonnage_kind_of(address, &attributes->device);
    if (attributes->type != MEMORY_UNKNOWN)
        attributes->devicePointer = (void *)address;
    if (attributes->type != MEMORY_DEVICE)
        attributes->hostPointer = (void *)address;
    return OK;
}

/* What is on the device reads as zeros; what is sent there is dropped. Between host addresses it is a copy. */
static int copy(void *to, const void *from, size_t size, int kind)
{
    int device;
    int from_device = kind == COPY_DEVICE_TO_HOST || tonnage_kind_of(from, &device) == MEMORY_DEVICE;
    int to_device = kind == COPY_HOST_TO_DEVICE || kind == COPY_ON_DEVICE || tonnage_kind_of(to, &device) == MEMORY_DEVICE;
    if (to_device)
        return OK;
    if (from_device)
        memset(to, 0, size);
    else
        memmove(to, from, size);
    return OK;
}
EXPORT int cudaMemcpy(void *to, const void *from, size_t size, int kind) { return copy(to, from, size, kind); }
EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, UNUSED cudaStream_t stream)
{
    return copy(to, from, size, kind);
}
EXPORT int cudaMemcpy2DAsync(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t width,
                             size_t height, int kind, UNUSED cudaStream_t stream)
{
    for (size_t row = 0; row < height; row++)
        copy(to + row * to_pitch, from + row * from_pitch, width, kind);
    return OK;
}
EXPORT int cudaMemcpyPeerAsync(void) { return OK; }
EXPORT int cudaMemcpyToSymbol(void) { return OK; }
EXPORT int cudaMemset(void) { return OK; }
EXPORT int cudaMemsetAsync(void) { return OK; }
