"""A node's price split among the pods on it, so that nothing is lost and nothing is charged twice.

Two ways, both exact to the micro-dollar: the charges and what is left idle always sum to the node's price.

    gpu-dominant   a pod pays for the largest share it takes of anything. One of eight H100s is an eighth of the
                   node, whatever little else it uses: nobody else can have that GPU.
    opencost       every resource has a rate, in OpenCost's default proportions (GPU 0.95, core 0.031611,
                   GiB 0.004237), scaled so that the whole node costs its price. Kept for comparing bills: on a
                   p5.48xlarge it charges only a third of the price to the eight GPUs.

Shares above the whole (bursting beyond requests) are scaled back, so that a crowded node costs its price and
no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import msgspec

Mode = Literal["gpu-dominant", "opencost"]

OPENCOST_RATES = {"gpu": Fraction(950_000), "cpu": Fraction(31_611), "memory": Fraction(4_237)}
"""Micro-dollars per hour for a GPU, a core and a GiB: OpenCost's defaults."""
_UNITS = {"gpu": 1000, "cpu": 1000, "memory": 1024**3}


class Amounts(msgspec.Struct, frozen=True):
    """What a node has or a pod holds: thousandths of GPUs and of cores, bytes of RAM."""

    gpu: int = 0
    cpu: int = 0
    memory: int = 0

    def of(self, name: str) -> int:
        return {"gpu": self.gpu, "cpu": self.cpu, "memory": self.memory}[name]


class Split(msgspec.Struct, frozen=True):
    """Micro-dollars per hour: each pod's charge in the order given, and what nobody uses."""

    charges: tuple[int, ...]
    idle: int

    @property
    def total(self) -> int:
        return sum(self.charges) + self.idle


def split_node(price: int, node: Amounts, pods: Sequence[Amounts], mode: Mode = "gpu-dominant") -> Split:
    """Split a node's price (micro-dollars per hour) among pods; charges and idle sum to the price exactly."""
    share = _dominant if mode == "gpu-dominant" else _by_rates
    shares = [share(pod, node) for pod in pods]
    whole = sum(shares, Fraction(0))
    if whole > 1:
        shares = [part / whole for part in shares]
        whole = Fraction(1)
    idle_exact = price * (1 - whole)
    charges = _rounded([price * part for part in shares] + [idle_exact], price)
    return Split(tuple(charges[:-1]), charges[-1])


def _dominant(pod: Amounts, node: Amounts) -> Fraction:
    parts = [Fraction(pod.of(name), node.of(name)) for name in _UNITS if node.of(name)]
    return max(parts, default=Fraction(0))


def _by_rates(pod: Amounts, node: Amounts) -> Fraction:
    whole = _weight(node)
    return _weight(pod) / whole if whole else Fraction(0)


def _weight(amounts: Amounts) -> Fraction:
    return sum(
        (OPENCOST_RATES[name] * Fraction(amounts.of(name), unit) for name, unit in _UNITS.items()),
        Fraction(0),
    )


def _rounded(exact: list[Fraction], total: int) -> list[int]:
    """Whole amounts with the given sum, each less than one from its exact value (largest remainders first)."""
    floors = [value.numerator // value.denominator for value in exact]
    missing = total - sum(floors)
    order = sorted(range(len(exact)), key=lambda i: (floors[i] - exact[i], i))
    for index in order[:missing]:
        floors[index] += 1
    return floors
