"""What the host needs to ask for an operation: Python, dispatcher and autograd, in seconds per call.

Small models are bound by this. The figures are medians of one machine's processor (`HostPace.of`), fitted to
steps so small that the GPU always waits; another processor is another pace.
"""

from __future__ import annotations

import msgspec

from tonnage.memory.trace import Operation
from tonnage.timing.work import Work, base_name

_FEW_KERNELS = 8.0


class HostPace(msgspec.Struct, frozen=True):
    """Seconds per call by phase and kind of work, and per tensor of a list."""

    by_phase: dict[str, float]
    by_kind: dict[str, float] = msgspec.field(default_factory=dict)
    """What kinds of work cost more than others."""
    casts: dict[str, float] = msgspec.field(default_factory=dict)
    """Casts by phase: autocast and autograd make them without a way through Python."""
    per_list_tensor: float = 0.25e-6
    renaming: float = 1.5e-6
    """An operation that only renames memory, or takes it without touching it."""
    compiled: float = 25e-6
    """A call out of a compiled graph: no dispatcher, no autograd. What compiled steps showed roughly, not fitted."""
    per_kernel: float = 5e-6
    """Each kernel of an operation that launches many; the first few are in the price of the call."""
    waiting: float = 12e-6
    """The way back of a value that the host waits for."""

    def seconds(self, operation: Operation, work: Work, phase: str) -> float:
        """Seconds the host is busy with one call."""
        kind = work.kind
        if kind == "free":
            return self.renaming
        if operation.name.startswith("inductor.") or operation.name.endswith(".out"):
            return self.compiled
        if base_name(operation) == "_to_copy" and phase in self.casts:
            return self.casts[phase]
        spent = self.by_phase.get(phase, self.by_phase["other"]) + self.by_kind.get(kind, 0.0)
        if kind == "lists":
            spent += self.per_list_tensor * len(operation.inputs)
        else:
            spent += self.trailing(work)
        if base_name(operation) == "_local_scalar_dense":
            spent += self.waiting
        return spent

    def trailing(self, work: Work) -> float:
        """Of those seconds, what goes into kernels after the first few."""
        return self.per_kernel * max(0.0, work.kernels - _FEW_KERNELS) if work.kind != "lists" else 0.0
