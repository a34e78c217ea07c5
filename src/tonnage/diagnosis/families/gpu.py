"""GPUs: out of memory (of many kinds), broken, lost, or not fitting their driver.

torch's sentence about an allocation that failed has nearly all it takes to say which kind it was; `cuda_oom` reads it.
Elsewhere the same lack of memory hides behind "not initialized" of cuBLAS or cuDNN; how much was free decides.
"""

from __future__ import annotations

import re

from tonnage.diagnosis.classes import UNKNOWN
from tonnage.diagnosis.families.cuda_oom import kind_of
from tonnage.diagnosis.rules import Family, Reading, Sign, Tier, rule, with_code


def _torch_oom(read: Reading) -> Sign | None:
    code, confidence = kind_of(read.statement, read.view)
    return with_code(read.sign, code, confidence)


_NOT_A_FAILURE = re.compile(
    r"not a failure|quota|Quota|429|device:CPU|allocator (?:mkl)?cpu|larger than max|No space left"
)


def _xla_oom(read: Reading) -> Sign | None:
    """TensorFlow says the same words of attempts it recovers from, of host memory and of cloud quotas."""
    return None if _NOT_A_FAILURE.search(read.statement.text) else read.sign


_FREE = re.compile(
    r"free ?memory:? ?([\d.]+) ?([MG])i?B|([\d.]+) ?([MG])i?B free|with ([\d.]+) ?([MG])i?B memory\)",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"total ?memory:? ?([\d.]+) ?([MG])i?B|([\d.]+) ?([MG])i?B total capac|total capacity of ([\d.]+) ([MG])i?B",
    re.IGNORECASE,
)
_SMI = re.compile(r"(\d+)MiB */ *(\d+)MiB")
_PLENTY = 0.2


def _masked(read: Reading) -> Sign | None:
    """Out of memory unless the text shows that plenty was free: then a mismatch or a bad index is likelier."""
    share = _free_share(read.view.text)
    if share is not None and share > _PLENTY:
        return with_code(read.sign, UNKNOWN, 0.6)
    return read.sign


def _free_share(text: str) -> float | None:
    free, total = _FREE.search(text), _TOTAL.search(text)
    if free and total:
        return _mib(free) / max(_mib(total), 1.0)
    used = _SMI.search(text)
    return 1 - int(used[1]) / max(int(used[2]), 1) if used else None


def _mib(found: re.Match[str]) -> float:
    number, unit = (each for each in found.groups() if each is not None)
    return float(number) * (1024 if unit.upper() == "G" else 1)


_XID = {
    "GPU-04": {13, 31, 32, 68, 69},
    "GPU-06": {48, 63, 64, 92, 94, 95, 140, 171, 172},
    "GPU-07": {61, 62, 74, 79, 109, 119, 120, 136, 137, 143, 154, 155, 158, 167, *range(144, 151)},
}
"""NVIDIA's catalogue by what is to blame; 43 and 45 only follow another one."""


def _xid(read: Reading) -> Sign | None:
    number = int(read.found[1])
    code = next((code for code, numbers in _XID.items() if number in numbers), None)
    return with_code(read.sign, code) if code else None


def _lost_or_mismatched(read: Reading) -> Sign | None:
    """CUDA does not know why it finds no GPU; where NVML does not either, the container has lost it."""
    return with_code(read.sign, "GPU-08", 0.9) if _NVML_LOST.search(read.view.text) else read.sign


_NVML_LOST = re.compile(r"Failed to initialize NVML: Unknown Error|NVMLError_Unknown")


FAMILY = Family(
    rules=(
        # -- hardware, by the driver's log and by the error that carries it
        rule(
            "GPU-07",
            Tier.KERNEL,
            0.95,
            r"NVRM: Xid \([^)]*\): (\d+)",
            weigh=_xid,
        ),
        rule(
            "GPU-07",
            Tier.KERNEL,
            0.85,
            r"\bXid (?:error )?(\d+)\b",
            weigh=_xid,
        ),
        rule(
            "GPU-06",
            Tier.KERNEL,
            0.96,
            r"uncorrectable ECC error",
            r"ECC_UNCORRECTABLE",
            r"ECCUncorrectable",
            r"[Dd]ouble[- ][Bb]it ECC",
            r"[Uu]ncorrectable (?:memory|DRAM|SRAM)",
            r"row remap(?:ping)? (?:failure|pending)",
        ),
        rule(
            "GPU-07",
            Tier.KERNEL,
            0.93,
            r"fallen off the bus",
            r"GPU is lost",
            r"GPU_IS_LOST",
            r"Unable to determine the device handle",
            r"unspecified launch failure",
            r"the launch timed out and was terminated",
            r"CUDA_ERROR_LAUNCH_FAILED",
            r"SXid",
            r"NVLink (?:fatal|error)|uncorrectable NVLink error|NVSwitch (?:fatal|error)",
            r"GPU requires reset",
            r"GSP (?:RPC )?(?:timeout|error)",
            r"Timeout .*waiting for RPC from GSP",
            r"RmInitAdapter failed",
        ),
        rule(
            "GPU-08",
            Tier.ROOT,
            0.93,
            r"Failed to initialize NVML: Unknown Error",
            r"NVMLError_Unknown",
        ),
        # -- the program on the device
        rule(
            "GPU-04",
            Tier.ROOT,
            0.92,
            r"illegal memory access",
            r"device-side assert",
            r"misaligned address",
            r"CUDA error: invalid program counter",
            r"illegal instruction was encountered",
            r"cudaErrorIllegalAddress",
            r"CUDA_ERROR_ILLEGAL_ADDRESS",
            r"cudaErrorAssert",
            r"\.cu:\d+:.*Assertion .* failed",
        ),
        # -- memory
        rule(
            "GPU-01e",
            Tier.ROOT,
            0.92,
            r"CUDA out of memory",
            r"torch(?:\.cuda)?\.OutOfMemoryError",
            r"HIP out of memory",
            r"XPU out of memory",
            r"MPS backend out of memory",
            weigh=_torch_oom,
        ),
        rule(
            "GPU-02",
            Tier.ROOT,
            0.92,
            r"RESOURCE_EXHAUSTED: (?:.*(?:[Oo]ut of memory|allocat|reserve|HBM|memory space)).*",
            r"Resource exhausted: ?.*(?:OOM|allocat|memory)",
            r"ResourceExhausted(?:Error)?: ?.*(?:OOM|allocat|memory)",
            r"OOM when allocating tensor",
            r"Dst tensor is not initialized",
            r"BufferAssignment OOM",
            r"ran out of memory trying to allocate",
            r"Ran out of memory in memory space hbm",
            r"XlaRuntimeError.*[Oo]ut of memory",
            r"ResourceExhaustedError: Graph execution error",
            r"[Ff]ailed to allocate .*RESOURCE_EXHAUSTED",
            r"RESOURCE_EXHAUSTED: (?:Failed to allocate|Error allocating|Attempting to (?:allocate|reserve))",
            weigh=_xla_oom,
        ),
        rule(
            "GPU-03",
            Tier.ROOT,
            0.85,
            r"CUBLAS_STATUS_ALLOC_FAILED",
            r"CUDNN_STATUS_ALLOC_FAILED",
            r"CUDA error: out of memory",
            r"cudaErrorMemoryAllocation",
            r"Cuda failure (?:\d+ )?'?out of memory",
            r"CUDA_ERROR_OUT_OF_MEMORY",
            r"cuda(?:Malloc|runtime).*out of memory",
            r"cuda runtime error \(2\)",
            r"THCudaCheck FAIL.*out of memory",
            r"cupy\.cuda\.memory\.OutOfMemoryError",
            r"rmm::(?:bad_alloc|out_of_memory)|RMM failure.*out_of_memory|std::bad_alloc: out_of_memory: CUDA",
            r"hipErrorOutOfMemory|CUDA error 2: out of memory",
            r"BFCArena::AllocateRawInternal.*Failed to allocate memory",
        ),
        rule(
            "GPU-03",
            Tier.ROOT,
            0.6,
            r"CUBLAS_STATUS_NOT_INITIALIZED",
            r"CUDNN_STATUS_(?:NOT_INITIALIZED|INTERNAL_ERROR)",
            r"CUSOLVER_STATUS_(?:NOT_INITIALIZED|ALLOC_FAILED)",
            r"CUFFT_(?:ALLOC_FAILED|INTERNAL_ERROR)",
            r"[Uu]nable to find a valid cuDNN algorithm",
            r"Failed to get convolution algorithm",
            r"[Cc]ould not create cudnn handle",
            r"failed to create cublas handle",
            r"Blas x?GEMM launch failed",
            weigh=_masked,
        ),
        # -- driver and image
        rule(
            "GPU-09",
            Tier.ROOT,
            0.85,
            r"CUDA unknown error",
            r"No CUDA GPUs are available",
            r"no CUDA-capable device is detected",
            r"CUDA_ERROR_NO_DEVICE",
            weigh=_lost_or_mismatched,
        ),
        rule(
            "GPU-09",
            Tier.ROOT,
            0.92,
            r"driver version is insufficient",
            r"no kernel image is available",
            r"NVIDIA driver on your system is too old",
            r"Driver/library version mismatch",
            r"[Ff]ound no NVIDIA driver",
            r"couldn't communicate with the NVIDIA driver",
            r"Torch not compiled with CUDA enabled",
            r"is not compatible with the current PyTorch installation",
            r"unsupported toolchain",
            r"forward compatibility was attempted",
            r"libcuda\.so\S*: cannot open",
            r"unsatisfied condition: cuda",
            r"could not select device driver",
            r"nvidia-container-cli: (?:initialization|requirement|ldcache|mount) error",
            r"system (?:not yet initialized|has unsupported display driver)",
            r"invalid device function",
            r"invalid value for --gpu-architecture",
            r"cudaErrorInsufficientDriver",
            r"cudaErrorNoKernelImageForDevice",
            r"[Uu]nsupported gpu architecture",
            r"CUDA version .*mismatches the version that was used to compile",
            r"lib(?:cuda|cudart|cudnn|cublas|cusparse|nvrtc|nccl)\S*\.so\S*: cannot open",
            r"only supports (?:Ampere|Hopper|Volta|Turing) GPUs or newer",
            r"on a CUDA device but torch\.cuda\.is_available\(\) is False",
            r"CUDA driver initialization failed",
            r"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
            r"hipErrorNoBinaryForGpu",
        ),
    )
)
