"""What people see of an estimate: one view for the terminal, for `-o json` and for pictures.

The JSON is a promise: keys keep their names and meanings, everything is in bytes (time in seconds), and new keys may
be added. `docs/estimate.md` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType
from tonnage.memory.estimate import Estimate, LargeTensor, Part, PhasePeak


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether an estimate fits a GPU, and by how much."""

    gpu: str
    usable: int
    required: int
    is_measured: bool
    """Whether what the GPU really offers was measured or reported, not carried over from a relative."""

    @property
    def fits(self) -> bool:
        return self.required <= self.usable

    @property
    def left(self) -> int:
        """Bytes left over; negative where it does not fit."""
        return self.usable - self.required


@dataclass(frozen=True, slots=True)
class EstimateView:
    """An estimate with what was asked about it."""

    subject: str
    """What was estimated: `train.py:build`, `gpt2, 8 x 1024`."""
    estimate: Estimate
    fits: tuple[Fit, ...] = ()
    """One per GPU asked about; empty where none was."""
    knobs: tuple[tuple[str, object], ...] = ()
    fixed: tuple[str, ...] = ()
    why_not_exact: str = ""
    """Why a shape stands in for a step that could not be traced."""

    @property
    def fits_all(self) -> bool:
        return all(fit.fits for fit in self.fits)


def fit_on(estimate: Estimate, gpu: GpuType) -> Fit:
    """The estimate against a GPU of our table."""
    facts = facts_of(gpu)
    return Fit(gpu.name, facts.usable_bytes, estimate.required, facts.origin("usable_bytes") != "estimated")


def as_json(view: EstimateView) -> dict[str, object]:
    """The stable JSON shape."""
    estimate = view.estimate
    seconds = estimate.step_seconds
    place = estimate.peak
    first = view.fits[0] if view.fits else None
    return {
        "mode": estimate.mode,
        "subject": view.subject,
        "gpu": estimate.gpu,
        "peak_allocated": estimate.peak_allocated,
        "peak_reserved": estimate.peak_reserved,
        "smallest_cap": estimate.smallest_cap,
        "outside_allocator": estimate.outside_allocator,
        "expected": estimate.expected,
        "required": estimate.required,
        "guard": {"bytes": estimate.guard.bytes, "reason": estimate.guard.reason},
        "parts": _parts(estimate.parts),
        "phases": [_phase(phase) for phase in estimate.phases],
        "largest": [_tensor(tensor) for tensor in estimate.largest],
        "step_seconds": seconds and {"p10": seconds.p10, "p50": seconds.p50, "p90": seconds.p90},
        "outside": _parts(estimate.outside),
        "retries": estimate.retries,
        "peak": place and {"phase": place.phase, "module": place.module, "operation": place.operation},
        "usable": first and first.usable,
        "fits": first and first.fits,
        "gpus": [
            {"gpu": fit.gpu, "usable": fit.usable, "required": fit.required, "fits": fit.fits}
            for fit in view.fits
        ],
        "knobs": dict(view.knobs),
        "fixed": list(view.fixed),
        "why_not_exact": view.why_not_exact or None,
        "notes": list(estimate.notes),
    }


def shares(parts: Sequence[Part]) -> list[tuple[Part, float]]:
    """Parts, the largest first, with their share of the sum."""
    total = sum(part.bytes for part in parts) or 1
    return [(part, part.bytes / total) for part in sorted(parts, key=lambda part: -part.bytes)]


def short_operation(name: str) -> str:
    """An operation as people call it.

    >>> short_operation("aten._log_softmax_backward_data.default"), short_operation("aten.sum.dim_IntList")
    ('log_softmax_backward_data', 'sum')
    """
    words = name.split(".")
    return (words[1] if len(words) > 1 else name).lstrip("_")


def _parts(parts: Sequence[Part]) -> list[dict[str, object]]:
    return [{"name": part.name, "bytes": part.bytes, "formula": part.formula} for part in parts]


def _phase(phase: PhasePeak) -> dict[str, object]:
    return {"name": phase.name, "peak_allocated": phase.peak_allocated, "parts": _parts(phase.parts)}


def _tensor(tensor: LargeTensor) -> dict[str, object]:
    return {
        "bytes": tensor.bytes,
        "category": tensor.category,
        "module": tensor.module,
        "operation": tensor.operation,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
    }
