"""What a conformance suite is: many generated questions, two answers each, and a count of how often they agree.

A suite owns its generator and its way of asking the real component. The runner owns seeds, sizes and the report. A
disagreement is shrunk before it is shown, so that what a reader sees is the smallest question that still divides us
from Kubernetes. Coverage counts how often each rule and message was exercised and agreed on: an agreement on cases that
never touch a rule proves nothing about it, and neither does a disagreement.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A smallest question on which we and the real component differ."""

    question: Any
    ours: Any
    real: Any


@dataclass(kw_only=True)
class Tally:
    """The running count of one suite (or one named part of it)."""

    name: str
    target: float
    """The agreement to reach, as a fraction."""
    cases: int = 0
    agreed: int = 0
    coverage: Counter[str] = field(default_factory=Counter)
    must_cover: tuple[str, ...] = ()
    """Rules and messages that a full run must have exercised."""
    disagreements: list[Disagreement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def agreement(self) -> float:
        return self.agreed / self.cases if self.cases else 0.0

    @property
    def missing(self) -> list[str]:
        return [name for name in self.must_cover if not self.coverage[name]]

    @property
    def passed(self) -> bool:
        return self.cases > 0 and self.agreement >= self.target


class Suite(Protocol):
    """One family of rules, compared with the component that really decides them."""

    name: str
    full_size: int
    """How many cases a full run asks."""

    def run(self, *, seed: int, cases: int) -> list[Tally]: ...
