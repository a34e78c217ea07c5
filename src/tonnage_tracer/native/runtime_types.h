/* Layouts that torch reads from the CUDA runtime, for the major version named by CUDA_MAJOR (12 or 13).
 *
 * Our own declarations of a public binary interface: only what torch, its libraries or this code touches, with the
 * rest as padding where it lies between. `tests/tracing/test_native.py` compiles every offset against NVIDIA's own
 * headers of both majors, so a slip here fails a test instead of a trace.
 */
#ifndef TONNAGE_RUNTIME_TYPES_H
#define TONNAGE_RUNTIME_TYPES_H

#include "pretended.h"

#if CUDA_MAJOR != 12 && CUDA_MAJOR != 13
#error "compile with -DCUDA_MAJOR=12 or -DCUDA_MAJOR=13"
#endif

typedef void *cudaStream_t;
typedef void *cudaEvent_t;
typedef struct { unsigned x, y, z; } dim3;

/* CUDA 13 dropped the deprecated fields (clock rates, compute mode, ...); everything after them moved. */
struct cudaDeviceProp {
    char name[256];
    unsigned char uuid[16];
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
#if CUDA_MAJOR == 12
    int clockRate;
#endif
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
#if CUDA_MAJOR == 12
    int deviceOverlap;
#endif
    int multiProcessorCount;
#if CUDA_MAJOR == 12
    int kernelExecTimeoutEnabled;
#endif
    int integrated;
    int canMapHostMemory;
#if CUDA_MAJOR == 12
    int computeMode;
    int textures_and_surfaces[40];
#else
    int textures_and_surfaces[39];
#endif
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
#if CUDA_MAJOR == 12
    int memoryClockRate;
#endif
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
#if CUDA_MAJOR == 12
    int singleToDoublePrecisionPerfRatio;
#endif
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
#if CUDA_MAJOR == 12
    int cooperativeMultiDeviceLaunch;
#endif
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseCudaArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int reserved[63];
};

struct cudaFuncAttributes {
    size_t sharedSizeBytes;
    size_t constSizeBytes;
    size_t localSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int ptxVersion;
    int binaryVersion;
    int cacheModeCA;
    int maxDynamicSharedSizeBytes;
    int reserved[23];
};

struct cudaPointerAttributes {
    int type;
    int device;
    void *devicePointer;
    void *hostPointer;
#if CUDA_MAJOR == 13
    long reserved[8];
#endif
};

enum { COPY_HOST_TO_HOST = 0, COPY_HOST_TO_DEVICE = 1, COPY_DEVICE_TO_HOST = 2, COPY_ON_DEVICE = 3, COPY_EITHER = 4 };

#endif
