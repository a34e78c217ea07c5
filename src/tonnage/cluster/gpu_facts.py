"""What each GPU type can hold and do: the figures memory and time are computed from, each with its origin.

Four origins, because a prediction is worth no more than the figure under it:

    measured     read off such a GPU with this project's own scripts (`accuracy/`)
    reported     what torch printed on such a GPU in public out-of-memory messages or device properties
    data sheet   the vendor's figure (dense, never the one with sparsity; bandwidths as the vendor counts them)
    estimated    carried over from a relative; nobody has seen it

Peak rates are floating-point operations per second with a multiplication and an addition counted as two.
`nvlink` is the sum of both directions per GPU, as on data sheets; `pcie` is one direction. A rate the GPU has
no unit for is absent: `peak("bfloat16")` then falls back to what the arithmetic really runs on.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tonnage.cluster.gpus import GPU_TYPES, GpuType

Origin = Literal["measured", "reported", "data sheet", "estimated"]
Rate = Literal["fp32", "tf32", "bf16", "fp16", "fp8", "int8"]

_MIB = 2**20
_GIB = 2**30
_TERA = 1e12
_GIGA = 1e9


class GpuFacts(msgspec.Struct, frozen=True):
    """The figures of one GPU type; bytes, bytes per second and operations per second."""

    name: str
    usable_bytes: int
    """What torch reports as the device's total: less than `nvidia-smi`, the driver keeps a part."""
    sm_count: int
    shared_memory_per_block: int
    """Most a block may opt into."""
    l2_bytes: int
    bandwidth: float
    """Of device memory."""
    peak_rates: dict[Rate, float]
    nvlink: float
    """Both directions together; 0 where there is none."""
    pcie: float
    """One direction."""
    context_bytes: int
    """On the device once a process has touched it, before any library is loaded."""
    origins: dict[str, Origin] = msgspec.field(default_factory=dict)

    def origin(self, figure: str) -> Origin:
        """Where a figure comes from, by its field's name."""
        return self.origins.get(figure, "data sheet")

    def peak(self, rate: Rate) -> float:
        """Dense operations per second in that arithmetic, or in what stands in for it on this GPU."""
        found = self.peak_rates.get(rate)
        if found is not None:
            return found
        # Without tensor cores for a type, the work runs on the plain fp32 units; 8-bit types run as fp16.
        stand_in: Rate = "fp16" if rate in ("fp8", "int8") and "fp16" in self.peak_rates else "fp32"
        return self.peak_rates[stand_in]

    def supports(self, rate: Rate) -> bool:
        """Whether the GPU has units for that arithmetic."""
        return rate in self.peak_rates


def facts_of(gpu: GpuType) -> GpuFacts:
    """The figures of a GPU type of our table; every type has them."""
    return _FACTS[gpu.name]


def _rates(
    fp32: float, tf32: float | None, half: float, fp8: float | None, int8: float, *, bf16: bool = True
) -> dict[Rate, float]:
    """Peak rates from tera-operations; `half` is fp16, and bf16 too unless the GPU is too old for it."""
    rates: dict[Rate, float] = {"fp32": fp32 * _TERA, "fp16": half * _TERA, "int8": int8 * _TERA}
    if bf16:
        rates["bf16"] = half * _TERA
    if tf32 is not None:
        rates["tf32"] = tf32 * _TERA
    if fp8 is not None:
        rates["fp8"] = fp8 * _TERA
    return rates


def _facts(  # noqa: PLR0913, PLR0917  a row of a table
    name: str,
    usable_gib: float,
    multiprocessors: int,
    shared_kib: float,
    l2_mib: float,
    bandwidth_gb: float,
    rates: dict[Rate, float],
    nvlink_gb: float,
    pcie_gb: float,
    context_mib: int,
    **origins: Origin,
) -> GpuFacts:
    """One row in the units people print; what is not said otherwise is from the data sheet."""
    said: dict[str, Origin] = {"usable_bytes": "reported", "context_bytes": "estimated", **origins}
    return GpuFacts(
        name=name,
        usable_bytes=int(usable_gib * _GIB),
        sm_count=multiprocessors,
        shared_memory_per_block=int(shared_kib * 1024),
        l2_bytes=int(l2_mib * _MIB),
        bandwidth=bandwidth_gb * _GIGA,
        peak_rates=rates,
        nvlink=nvlink_gb * _GIGA,
        pcie=pcie_gb * _GIGA,
        context_bytes=context_mib * _MIB,
        origins=said,
    )


_HOPPER = _rates(66.9, 494.7, 989.4, 1978.9, 1978.9)

# One row per type of `gpus.py`, in its order. Columns: usable GiB, SMs, opt-in shared KiB per block, L2 MiB,
# memory GB/s, rates, NVLink GB/s (both ways), PCIe GB/s (one way), context MiB.
_ROWS: tuple[GpuFacts, ...] = (
    # GB200 reaches its host over NVLink-C2C, not PCIe.
    _facts("gb200", 184.31, 148, 227, 126, 8000, _rates(80, 1250, 2500, 5000, 5000), 1800, 450, 620),
    # B300 gave its int8 units up.
    _facts("b300", 267.69, 148, 227, 126, 8000, _rates(75, 1125, 2250, 4500, 150), 1800, 64, 620),
    _facts("b200", 178.35, 148, 227, 126, 8000, _rates(75, 1125, 2250, 4500, 4500), 1800, 64, 620),
    _facts("rtx-pro-6000", 94.97, 188, 99, 128, 1597, _rates(120, 252, 503.8, 1007.6, 1007.6), 0, 64, 500),
    _facts(
        "h200",
        150_109_880_320 / 2**30,
        132,
        227,
        60,
        4800,
        _HOPPER,
        900,
        64,
        619,
        usable_bytes="measured",
        sm_count="measured",
        l2_bytes="measured",
        context_bytes="measured",
    ),
    _facts("h20", 95.0, 78, 227, 60, 4000, _rates(44, 74, 148, 296, 296), 900, 64, 560),
    _facts(
        "h100-nvl",
        93.09,
        132,
        227,
        60,
        3900,
        _rates(60, 417.5, 835.5, 1670.5, 1670.5),
        600,
        64,
        560,
        l2_bytes="estimated",
    ),
    _facts("h100-pcie", 79.1, 114, 227, 50, 2000, _rates(51, 378, 756, 1513, 1513), 600, 64, 560),
    _facts("h100", 79.1, 132, 227, 50, 3350, _HOPPER, 900, 64, 560),
    _facts("l40s", 44.39, 142, 99, 96, 864, _rates(91.6, 183, 362, 733, 733), 0, 32, 430),
    _facts("l40", 44.39, 142, 99, 96, 864, _rates(90.5, 90.5, 181, 362, 362), 0, 32, 430),
    _facts("l4", 22.03, 58, 99, 48, 300, _rates(30.3, 60, 121, 242.5, 242.5), 0, 32, 400),
    _facts("rtx4090", 23.64, 128, 99, 72, 1008, _rates(82.6, 82.6, 165.2, 330.3, 660.6), 0, 32, 426),
    _facts("a100-80", 79.1, 108, 163, 40, 2039, _rates(19.5, 156, 312, None, 624), 600, 32, 480),
    _facts("a100-40", 39.39, 108, 163, 40, 1555, _rates(19.5, 156, 312, None, 624), 600, 32, 480),
    _facts("a40", 44.35, 84, 99, 6, 696, _rates(37.4, 74.8, 149.7, None, 299.3), 112.5, 32, 400),
    _facts("a30", 23.5, 56, 163, 24, 933, _rates(10.3, 82, 165, None, 330), 200, 32, 430),
    _facts("a10g", 22.06, 80, 99, 6, 600, _rates(31.5, 35, 70, None, 140), 0, 32, 400, sm_count="reported"),
    _facts("a10", 22.03, 72, 99, 6, 600, _rates(31.2, 62.5, 125, None, 250), 0, 32, 400),
    _facts("rtx-a6000", 47.53, 84, 99, 6, 768, _rates(38.7, 77.4, 154.8, None, 309.7), 112.5, 32, 400),
    # GeForce halves the rate of half-precision products that accumulate in fp32, which is what torch asks for.
    _facts("rtx3090", 23.69, 82, 99, 6, 936, _rates(35.6, 35.6, 71, None, 284), 112.5, 32, 400),
    _facts("t4", 14.56, 40, 64, 4, 320, _rates(8.1, None, 65, None, 130, bf16=False), 0, 16, 330),
    _facts("v100-32", 31.74, 80, 96, 6, 900, _rates(15.7, None, 125, None, 62.8, bf16=False), 300, 16, 430),
    _facts("v100", 15.77, 80, 96, 6, 900, _rates(15.7, None, 125, None, 62.8, bf16=False), 300, 16, 430),
    _facts("p100", 15.89, 56, 48, 4, 732, _rates(9.3, None, 18.7, None, 37, bf16=False), 0, 16, 330),
)

_FACTS: dict[str, GpuFacts] = {row.name: row for row in _ROWS}

if missing := {gpu.name for gpu in GPU_TYPES} - set(_FACTS):  # a new type must bring its figures
    raise LookupError(f"gpu_facts.py lacks {', '.join(sorted(missing))}")
