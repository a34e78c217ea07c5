"""The answer: how much of each thing a pod needs, part by part, with what changes it."""

from __future__ import annotations

from typing import Literal

import msgspec

Origin = Literal["measured", "computed", "estimated"]
"""Measured on a real process; computed from sizes that are known; or a stated assumption."""
Phase = Literal["load", "steady", "checkpoint"]


class NeedPart(msgspec.Struct, frozen=True):
    """One line of a sum: what, how much, the formula in words, and what changes it."""

    name: str
    amount: int
    formula: str
    origin: Origin
    flag: str = ""
    """The field of a document, or the setting, that makes it smaller."""


class Need(msgspec.Struct, frozen=True):
    """How much of one thing, from its parts and a margin with its reason."""

    amount: int
    parts: tuple[NeedPart, ...]
    margin: int = 0
    margin_reason: str = ""
    phase: Phase | None = None
    """When the most is held, where that differs."""

    @property
    def expected(self) -> int:
        """The sum without the margin."""
        return sum(part.amount for part in self.parts)


class CpuNeed(msgspec.Struct, frozen=True):
    """Cores in thousandths: what to ask for, what to allow, and the parts."""

    request: int
    limit: int
    parts: tuple[NeedPart, ...]


class PodNeeds(msgspec.Struct, frozen=True):
    """Everything beside GPU memory that one pod needs."""

    ram: Need
    phases: tuple[tuple[Phase, tuple[NeedPart, ...]], ...]
    """RAM in every phase; `ram` is the largest."""
    shm: Need
    disk: Need
    cpu: CpuNeed
    warnings: tuple[str, ...] = ()

    def phase(self, name: Phase) -> tuple[NeedPart, ...]:
        return dict(self.phases)[name]
