"""Shape mode on the measured set: what a description alone says, beside what was measured.

No torch and no traces are needed, so these figures can be worked out anywhere, and a test does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accuracy.shapes import described
from tonnage.cluster.gpus import find_gpu
from tonnage.memory.estimate import Estimate
from tonnage.memory.ledger import shape_estimate
from tonnage.timing.shape import shape_step_time


@dataclass(frozen=True)
class FromShape:
    """One configuration: what its description says, and what is so."""

    row: dict[str, Any]
    estimate: Estimate
    seconds: float | None
    """Of a step, as predicted."""

    @property
    def error(self) -> float:
        """Of what is expected."""
        return self.estimate.expected / truth(self.row) - 1

    @property
    def margin(self) -> float:
        """Of what is required, above the truth."""
        return self.estimate.required / truth(self.row) - 1

    def line(self) -> str:
        measured = self.row.get("step_seconds")
        pace = self.seconds / measured - 1 if self.seconds and measured else None
        return (
            f"{self.row['name']:37s} shape expected {self.error:+8.3%} required {self.margin:+7.2%}"
            f" time {'     -' if pace is None else f'{pace:+7.1%}'}"
        )


def truth(row: dict[str, Any]) -> int:
    """What the device must hold: the smallest cap that trained, and what lies outside the allocator."""
    return int(row["cap_trained"] + row["outside"])


def from_shapes(rows: list[dict[str, Any]]) -> list[FromShape]:
    """Every configuration that a shape can describe and whose need was measured."""
    return [
        one
        for row in rows
        if "cap_trained" in row and "outside" in row and (one := _from_shape(row)) is not None
    ]


def _from_shape(row: dict[str, Any]) -> FromShape | None:
    pair = described(row["name"])
    if pair is None:
        return None
    gpu = find_gpu("h200")
    assert gpu is not None
    seconds = shape_step_time(*pair, gpu).p50 if "step_seconds" in row else None
    return FromShape(row, shape_estimate(*pair, gpu), seconds)
