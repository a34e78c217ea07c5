/* libnvidia-ml.so.1: the management library, as far as torch's allocator looks at it.
 *
 * Under its real name, for the driver's reason: nothing in the process can reach a real GPU through it. Torch opens
 * it for expandable segments (may memory be shared over a fabric? no) and for the text of an out-of-memory error
 * (who else uses the device? nobody).
 */
#include "pretended.h"

enum { NVML_NOT_SUPPORTED = 3 };

static int the_device;

EXPORT int nvmlInit_v2(void) { return OK; }
EXPORT int nvmlShutdown(void) { return OK; }
EXPORT int nvmlDeviceGetCount_v2(unsigned *count) { return *count = (unsigned)tonnage_gpu()->count, OK; }
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(UNUSED const char *bus, void **device)
{
    return *device = &the_device, OK;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses(UNUSED void *device, unsigned *count, UNUSED void *processes)
{
    return *count = 0, OK;
}
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version) { return *version = DRIVER_VERSION, OK; }

/* The caller's struct is zeroed and says so: state 0 is "no fabric". */
EXPORT int nvmlDeviceGetGpuFabricInfoV(UNUSED void *device, UNUSED void *information) { return OK; }

EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(void) { return NVML_NOT_SUPPORTED; }
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void) { return NVML_NOT_SUPPORTED; }
