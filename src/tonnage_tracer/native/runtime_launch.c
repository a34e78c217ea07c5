/* Kernels: registered by the thousand when torch is loaded, launched never. */
#include "runtime_types.h"

#include <string.h>

/* Static initialisers of libtorch_cuda hand over their code here. Taking none of it makes `import torch` lighter. */
static void *the_module;
EXPORT void **__cudaRegisterFatBinary(UNUSED void *code) { return &the_module; }
EXPORT void __cudaRegisterFatBinaryEnd(UNUSED void **module) {}
EXPORT void __cudaUnregisterFatBinary(UNUSED void **module) {}
EXPORT void __cudaRegisterFunction(void) {}
EXPORT void __cudaRegisterVar(void) {}
EXPORT char __cudaInitModule(UNUSED void **module) { return 1; }

/* `kernel<<<...>>>` compiles to "push the configuration; if that succeeds, call the stub". It does not succeed,
 * so the stub, which would build an argument list for a launch, is skipped. */
EXPORT unsigned __cudaPushCallConfiguration(void) { return 1; }
EXPORT int __cudaPopCallConfiguration(void) { return OK; }
EXPORT int __cudaGetKernel(void **kernel, const void *function) { return *kernel = (void *)function, OK; }
EXPORT int __cudaLaunchKernel(void) { return OK; }
EXPORT int cudaLaunchKernel(void) { return OK; }
EXPORT int cudaLaunchKernelExC(void) { return OK; }
EXPORT int cudaLaunchCooperativeKernel(void) { return OK; }

/* Launchers tune their block size by these. */
EXPORT int cudaFuncSetAttribute(void) { return OK; }
EXPORT int cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, UNUSED const void *function)
{
    const struct gpu *gpu = tonnage_gpu();
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = THREADS_PER_BLOCK;
    attributes->numRegs = 32;
    attributes->binaryVersion = attributes->ptxVersion = 10 * gpu->major + gpu->minor;
    attributes->maxDynamicSharedSizeBytes = SHARED_PER_BLOCK_DEFAULT;
    return OK;
}
EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, UNUSED const void *function, int block_size,
                                                         UNUSED size_t shared)
{
    int room = block_size > 0 ? tonnage_gpu()->threads_per_sm / block_size : 0;
    return *blocks = room > 0 ? room : 1, OK;
}
EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int block_size,
                                                                  size_t shared, UNUSED unsigned flags)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared);
}
