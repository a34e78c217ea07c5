/* Pretended device memory: address space without RAM behind it.
 *
 * Fake tensors need none of it. What does reach here are the few real tensors that exist outside fake mode
 * (a library's constant made at import, a probe of `torch.zeros(1, device="cuda")`). They get unique addresses of
 * the size they asked for; the pages are only reserved, read as zeros and are counted against the pretended
 * total, so that a process that would not fit is told so as on the real device.
 */
#define _GNU_SOURCE
#include "pretended.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct region {
    char *start;
    size_t size;
    enum memory_kind kind;
    int device;
    int mapped; /* ours to unmap; registered host memory is the caller's */
};

static struct region *regions;
static size_t region_count, region_room;
static size_t used[64]; /* per device */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int remember(void *start, size_t size, enum memory_kind kind, int mapped)
{
    if (region_count == region_room) {
        size_t room = region_room ? 2 * region_room : 256;
        struct region *larger = realloc(regions, room * sizeof *larger);
        if (!larger)
            return OUT_OF_MEMORY;
        regions = larger;
        region_room = room;
    }
    regions[region_count++] = (struct region){start, size, kind, tonnage_current_device(), mapped};
    return OK;
}

static struct region *find(const void *address)
{
    for (size_t i = region_count; i-- > 0;)
        if ((const char *)address >= regions[i].start && (const char *)address < regions[i].start + regions[i].size)
            return &regions[i];
    return NULL;
}

static size_t *use_of(int device)
{
    return &used[(unsigned)device % (sizeof used / sizeof *used)];
}

static int make(void **address, size_t size, enum memory_kind kind)
{
    *address = NULL;
    size = (size + 4095) & ~(size_t)4095;
    if (size == 0)
        return OK;
    int result = OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    if (kind == MEMORY_HOST || size <= tonnage_free_bytes()) {
        void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start != MAP_FAILED) {
            result = remember(start, size, kind, 1);
            if (result == OK) {
                *address = start;
                if (kind == MEMORY_DEVICE)
                    *use_of(tonnage_current_device()) += size;
            } else {
                munmap(start, size);
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int tonnage_device_memory(void **address, size_t size)
{
    return make(address, size, MEMORY_DEVICE);
}

int tonnage_host_memory(void **address, size_t size)
{
    return make(address, size, MEMORY_HOST);
}

int tonnage_release_memory(void *address)
{
    if (!address)
        return OK;
    pthread_mutex_lock(&lock);
    struct region *region = find(address);
    int known = region && region->start == (char *)address;
    if (known) {
        if (region->kind == MEMORY_DEVICE)
            *use_of(region->device) -= region->size;
        if (region->mapped)
            munmap(region->start, region->size);
        *region = regions[--region_count];
    }
    pthread_mutex_unlock(&lock);
    return known ? OK : INVALID_VALUE;
}

void tonnage_note_host_memory(void *address, size_t size)
{
    pthread_mutex_lock(&lock);
    remember(address, size, MEMORY_HOST, 0);
    pthread_mutex_unlock(&lock);
}

void tonnage_forget_host_memory(void *address)
{
    tonnage_release_memory(address);
}

enum memory_kind tonnage_kind_of(const void *address, int *device)
{
    pthread_mutex_lock(&lock);
    struct region *region = find(address);
    enum memory_kind kind = region ? region->kind : MEMORY_UNKNOWN;
    *device = region ? region->device : -1;
    pthread_mutex_unlock(&lock);
    return kind;
}

size_t tonnage_free_bytes(void)
{
    const struct gpu *g = tonnage_gpu();
    size_t taken = g->context + *use_of(tonnage_current_device());
    return taken < g->memory ? g->memory - taken : 0;
}
