"""The GPU types people ask for: what each is called, how large it is, and how Kubernetes nodes announce it.

A person writes `h100` or `a100-80`; a node says `nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3` and
`nvidia.com/gpu.memory=81559`. This table joins the two, so that a document, a sandbox node and a live node
speak of the same thing. Memory is what `nvidia-smi` reports in MiB (the figure GPU feature discovery
publishes), not the round number of the data sheet. Host figures are the share of a common cloud machine that
comes with one such GPU; they size simulated nodes and decide nothing else.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache

import msgspec


class MigProfile(msgspec.Struct, frozen=True):
    """One way to cut a GPU: `3g.40gb` takes 3 of 7 compute and 4 of 8 memory slices, twice at most."""

    name: str
    compute_slices: int
    memory_slices: int
    most: int


class HostShare(msgspec.Struct, frozen=True):
    """What one GPU of this type usually has beside it: cpu cores, RAM and local disk in GiB."""

    cpu: int
    memory_gib: int
    disk_gib: int


class GpuType(msgspec.Struct, frozen=True):
    """A GPU model as people name it and as nodes announce it."""

    name: str
    product: str
    memory_mib: int
    family: str
    compute: tuple[int, int]
    host: HostShare
    aliases: tuple[str, ...] = ()
    mig: tuple[MigProfile, ...] = ()
    memory_slices: int = 8
    """Into how many parts MIG cuts the memory."""

    def mig_profile(self, name: str) -> MigProfile | None:
        """The profile of that name, if this GPU can be cut so."""
        return next((profile for profile in self.mig if profile.name == name), None)


def _cut(*profiles: tuple[str, int]) -> tuple[MigProfile, ...]:
    """The usual cut: the memory share follows from the compute share, doubled for the second 1g."""
    slices = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}
    made: list[MigProfile] = []
    for name, most in profiles:
        compute = int(name[0])
        memory = 2 if compute == 1 and most == 4 else slices[compute]
        made.append(MigProfile(name, compute, memory, most))
    return tuple(made)


def _seven(*sizes: int) -> tuple[MigProfile, ...]:
    """Profiles of a GPU cut in seven, by the sizes of 1g, double 1g (= 2g), 3g (= 4g) and 7g in GB."""
    small, double, half, whole = sizes
    return _cut(
        (f"1g.{small}gb", 7),
        (f"1g.{double}gb", 4),
        (f"2g.{double}gb", 3),
        (f"3g.{half}gb", 2),
        (f"4g.{half}gb", 1),
        (f"7g.{whole}gb", 1),
    )


_A30 = (MigProfile("1g.6gb", 1, 1, 4), MigProfile("2g.12gb", 2, 2, 2), MigProfile("4g.24gb", 4, 4, 1))
_BIG = HostShare(24, 256, 3576)  # an eighth of 192 cores, 2 TiB and 8 x 3.84 TB
_A100 = HostShare(12, 144, 931)
_MID = HostShare(24, 96, 885)
_OLD = HostShare(12, 61, 223)

# Sorted by age, newest first: the order `tonnage` lists them in.
GPU_TYPES: tuple[GpuType, ...] = (
    GpuType("gb200", "NVIDIA-GB200", 189471, "blackwell", (10, 0), HostShare(36, 240, 3576)),
    GpuType("b300", "NVIDIA-B300-SXM6-AC", 275040, "blackwell", (10, 3), _BIG),
    GpuType(
        "b200", "NVIDIA-B200", 183359, "blackwell", (10, 0), _BIG, ("b200-180",), _seven(23, 45, 90, 180)
    ),
    GpuType(
        "rtx-pro-6000",
        "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
        97887,
        "blackwell",
        (12, 0),
        _MID,
        ("rtxpro6000",),
    ),
    GpuType("h200", "NVIDIA-H200", 143771, "hopper", (9, 0), _BIG, ("h200-141",), _seven(18, 35, 71, 141)),
    GpuType("h20", "NVIDIA-H20", 97871, "hopper", (9, 0), _BIG, ("h20-96",), _seven(12, 24, 48, 96)),
    GpuType(
        "h100-nvl", "NVIDIA-H100-NVL", 95830, "hopper", (9, 0), _BIG, ("h100-94",), _seven(12, 24, 47, 94)
    ),
    GpuType("h100-pcie", "NVIDIA-H100-PCIe", 81559, "hopper", (9, 0), _BIG, (), _seven(10, 20, 40, 80)),
    GpuType(
        "h100",
        "NVIDIA-H100-80GB-HBM3",
        81559,
        "hopper",
        (9, 0),
        _BIG,
        ("h100-80", "h100-sxm", "h100-80gb"),
        _seven(10, 20, 40, 80),
    ),
    GpuType("l40s", "NVIDIA-L40S", 46068, "ada-lovelace", (8, 9), _MID),
    GpuType("l40", "NVIDIA-L40", 46068, "ada-lovelace", (8, 9), _MID),
    GpuType("l4", "NVIDIA-L4", 23034, "ada-lovelace", (8, 9), _MID),
    GpuType("rtx4090", "NVIDIA-GeForce-RTX-4090", 24564, "ada-lovelace", (8, 9), _MID, ("rtx-4090", "4090")),
    GpuType(
        "a100-80",
        "NVIDIA-A100-SXM4-80GB",
        81920,
        "ampere",
        (8, 0),
        _A100,
        ("a100-80gb", "a100-sxm-80"),
        _seven(10, 20, 40, 80),
    ),
    GpuType(
        "a100-40",
        "NVIDIA-A100-SXM4-40GB",
        40960,
        "ampere",
        (8, 0),
        _A100,
        ("a100", "a100-40gb"),
        _seven(5, 10, 20, 40),
    ),
    GpuType("a40", "NVIDIA-A40", 46068, "ampere", (8, 6), _MID),
    GpuType("a30", "NVIDIA-A30", 24576, "ampere", (8, 0), _MID, (), _A30, memory_slices=4),
    GpuType("a10g", "NVIDIA-A10G", 23028, "ampere", (8, 6), _MID),
    GpuType("a10", "NVIDIA-A10", 23028, "ampere", (8, 6), _MID),
    GpuType("rtx-a6000", "NVIDIA-RTX-A6000", 49140, "ampere", (8, 6), _MID, ("a6000",)),
    GpuType("rtx3090", "NVIDIA-GeForce-RTX-3090", 24576, "ampere", (8, 6), _MID, ("rtx-3090", "3090")),
    GpuType("t4", "Tesla-T4", 15360, "turing", (7, 5), HostShare(12, 48, 225)),
    GpuType(
        "v100-32", "Tesla-V100-SXM2-32GB", 32768, "volta", (7, 0), HostShare(12, 96, 223), ("v100-32gb",)
    ),
    GpuType("v100", "Tesla-V100-SXM2-16GB", 16384, "volta", (7, 0), _OLD, ("v100-16", "v100-16gb")),
    GpuType("p100", "Tesla-P100-PCIE-16GB", 16384, "pascal", (6, 0), _OLD, ("p100-16",)),
)


def find_gpu(name: str) -> GpuType | None:
    """The GPU type a person means: by name, alias or product label, in any case.

    >>> find_gpu("H100").memory_mib, find_gpu("Tesla-T4").name
    (81559, 't4')
    """
    return _by_name().get(name.strip().lower().replace("_", "-").replace(" ", "-"))


def gpu_from_product(product: str) -> GpuType | None:
    """The GPU type a node announces, whether whole, shared or cut (`...-SHARED`, `...-MIG-1g.10gb`)."""
    whole = product.partition("-MIG-")[0].removesuffix("-SHARED")
    return _by_name().get(whole.lower())


def nearest_gpus(name: str, *, most: int = 3) -> list[str]:
    """Names that look like this one, for an error that helps."""
    near = get_close_matches(name.lower(), _by_name(), n=8, cutoff=0.5)
    return list(dict.fromkeys(_by_name()[word].name for word in near))[:most]


@lru_cache(maxsize=1)
def _by_name() -> dict[str, GpuType]:
    names: dict[str, GpuType] = {}
    for gpu in GPU_TYPES:
        for word in (gpu.name, gpu.product, *gpu.aliases):
            names[word.lower()] = gpu
    return names
