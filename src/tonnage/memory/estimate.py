"""What a step needs of one GPU: the answer of `tonnage estimate`, the same for a traced step and for a shape.

Five figures that are often confused are kept apart, all in bytes:

    peak_allocated     most that tensors hold at once
    peak_reserved      most that the caching allocator takes from the device when nothing presses it
    smallest_cap       least it can be given and still train (under pressure it gives cached segments back)
    outside_allocator  CUDA context, libraries, NCCL: on the device, unseen by torch's counters
    expected           smallest_cap + outside_allocator: what the device must hold
    required           expected + guard: the figure to plan with
"""

from __future__ import annotations

from typing import Literal

import msgspec

Mode = Literal["exact", "shape"]


class Interval(msgspec.Struct, frozen=True):
    """A figure with its 80 % interval."""

    p10: float
    p50: float
    p90: float


class Guard(msgspec.Struct, frozen=True):
    """What is added to be safe, and why that much."""

    bytes: int
    reason: str


class Part(msgspec.Struct, frozen=True):
    """One line of the sum at the peak: what, how much, and the formula or origin it comes from."""

    name: str
    bytes: int
    formula: str = ""


class PhasePeak(msgspec.Struct, frozen=True):
    """The most that is held in one phase, and what it consists of."""

    name: str
    peak_allocated: int
    parts: tuple[Part, ...] = ()


class LargeTensor(msgspec.Struct, frozen=True):
    """One of the largest tensors alive at the peak, and who made it."""

    bytes: int
    category: str
    module: str
    operation: str
    shape: tuple[int, ...] = ()
    dtype: str = ""


class PeakPlace(msgspec.Struct, frozen=True):
    """Where in a step the most is held: the phase, and the module and operation at work."""

    phase: str
    module: str = ""
    operation: str = ""


class Sample(msgspec.Struct, frozen=True):
    """What is held at one moment of a step, for drawing it."""

    call: int
    """Index of the call at work (of the trace); -1 between calls."""
    phase: str
    module: str
    reserved: int
    parts: tuple[int, ...]
    """Bytes per category, in the order of `CATEGORIES`."""

    @property
    def allocated(self) -> int:
        return sum(self.parts)


CATEGORIES: tuple[str, ...] = (
    "parameters",
    "buffers",
    "gradients",
    "optimizer",
    "inputs",
    "activations",
    "temporaries",
    "workspaces",
    "other",
)
"""What memory is held for, in the order it is shown: what stays first, what comes and goes last."""


class Estimate(msgspec.Struct, frozen=True):
    """The memory of one step on one GPU, and its time where it is known."""

    mode: Mode
    gpu: str
    peak_allocated: int
    peak_reserved: int
    smallest_cap: int
    outside_allocator: int
    guard: Guard
    parts: tuple[Part, ...]
    phases: tuple[PhasePeak, ...]
    largest: tuple[LargeTensor, ...] = ()
    outside: tuple[Part, ...] = ()
    on_host: tuple[Part, ...] = ()
    """What offloading keeps in host memory instead, by the names it would have among the parts."""
    step_seconds: Interval | None = None
    notes: tuple[str, ...] = ()
    retries: int = 0
    """How often the allocator gives memory back and asks again at the smallest cap: it trains, but slower."""
    peak: PeakPlace | None = None
    samples: tuple[Sample, ...] = ()
    """The last traced step, thinned for drawing; every thinned stretch keeps its highest moment."""
    timeline: tuple[tuple[int, int, int], ...] = ()
    """(event number, allocated, reserved) over the last step, thinned for drawing."""

    @property
    def expected(self) -> int:
        return self.smallest_cap + self.outside_allocator

    @property
    def required(self) -> int:
        return self.expected + self.guard.bytes
