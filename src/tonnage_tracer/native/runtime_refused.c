/* What the virtual GPU cannot do, refused by name instead of falling through to the real runtime.
 *
 * Capturing a graph would record nothing; memory cannot be shared with a process on a device that does not exist;
 * loaded code would have to be run. torch raises "operation not supported on the virtual GPU" at the caller.
 */
#include "runtime_types.h"

#define REFUSED(name) EXPORT int name(void) { return NOT_SUPPORTED; }

/* CUDA graphs. */
REFUSED(cudaStreamBeginCapture)
REFUSED(cudaStreamBeginCaptureToGraph)
REFUSED(cudaStreamEndCapture)
REFUSED(cudaStreamUpdateCaptureDependencies)
REFUSED(cudaGraphAddEmptyNode)
REFUSED(cudaGraphAddNode)
REFUSED(cudaGraphConditionalHandleCreate)
REFUSED(cudaGraphDebugDotPrint)
REFUSED(cudaGraphDestroy)
REFUSED(cudaGraphExecDestroy)
REFUSED(cudaGraphGetNodes)
REFUSED(cudaGraphInstantiate)
REFUSED(cudaGraphInstantiateWithFlags)
REFUSED(cudaGraphLaunch)
REFUSED(cudaGraphNodeGetDependencies)
REFUSED(cudaGraphNodeGetType)
REFUSED(cudaGraphRetainUserObject)
REFUSED(cudaUserObjectCreate)
REFUSED(cudaUserObjectRelease)
REFUSED(cudaDeviceGetGraphMemAttribute)
REFUSED(cudaDeviceSetGraphMemAttribute)

/* Memory shared between processes, and memory the host may write. */
REFUSED(cudaIpcCloseMemHandle)
REFUSED(cudaIpcGetEventHandle)
REFUSED(cudaIpcGetMemHandle)
REFUSED(cudaIpcOpenEventHandle)
REFUSED(cudaIpcOpenMemHandle)
REFUSED(cudaMallocManaged)

/* Code loaded at run time. */
REFUSED(cudaGetSymbolAddress)
REFUSED(cudaKernelSetAttributeForDevice)
REFUSED(cudaLibraryGetGlobal)
REFUSED(cudaLibraryGetKernel)
REFUSED(cudaLibraryGetKernelCount)
REFUSED(cudaLibraryGetManaged)
REFUSED(cudaLibraryGetUnifiedFunction)
REFUSED(cudaLibraryLoadData)
REFUSED(cudaLibraryLoadFromFile)
REFUSED(cudaLibraryUnload)
