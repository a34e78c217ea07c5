"""Part of a GPU: what a MIG slice or a share costs, and what an idle half costs.

A slice takes compute and memory in different proportions (3g.40gb: three of seven, four of eight); it costs the
larger of the two, because that is what it takes away from everybody else. A share of a time-sliced GPU costs
its part, and isolates nothing: all of its neighbours' memory is one pool.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec.structs import replace

from tonnage.cluster.gpus import GpuType, MigProfile
from tonnage.cost.price import Price

COMPUTE_SLICES = 7


def slice_share(gpu: GpuType, profile: MigProfile) -> Fraction:
    """The part of a GPU that one slice takes away from the others.

    >>> from tonnage.cluster.gpus import find_gpu
    >>> h100 = find_gpu("h100")
    >>> [str(slice_share(h100, h100.mig_profile(name))) for name in ("1g.10gb", "1g.20gb", "3g.40gb", "7g.80gb")]
    ['1/7', '1/4', '1/2', '1']
    """
    compute = max(entry.compute_slices for entry in gpu.mig)
    return max(Fraction(profile.compute_slices, compute), Fraction(profile.memory_slices, gpu.memory_slices))


def slice_price(gpu_price: Price, gpu: GpuType, profile: MigProfile) -> Price:
    """What one slice of a GPU costs by the hour."""
    share = slice_share(gpu, profile)
    return gpu_price.times(share.numerator, of=share.denominator)


def share_price(gpu_price: Price, replicas: int) -> Price:
    """What one of so many shares of a GPU costs by the hour."""
    return gpu_price.times(1, of=max(replicas, 1))


def idle_price(gpu_price: Price, used_milli: int) -> Price:
    """What the unused part of a whole GPU costs by the hour, where only so many thousandths are wanted.

    >>> str(idle_price(Price(low=6_880_000, high=6_880_000, per="gpu"), 500))
    '$3.44/h'
    """
    unused = -used_milli % 1000
    return gpu_price.times(unused, of=1000)


def gpu_price(node_price: Price, gpus: int) -> Price | None:
    """What one GPU of a node costs: a node is paid for whole, and its GPUs are why."""
    if gpus <= 0:
        return None
    return replace(node_price.times(1, of=gpus), per="gpu")
