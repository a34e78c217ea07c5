"""What a caused case is: something really done on a real node, what our rules said would follow, and what
did.

A case predicts first, from the manifest and our rules alone, then causes the thing and reads the cluster.
Both answers are flat maps with the same fields, so a disagreement names the field. Cases that only hold on
cgroup v1 say so, because the node they ran on decides what "PID 1 survives its child" means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.nodes.bench import Bench

Facts = dict[str, Any]


class Phase(IntEnum):
    """When a case may run, so that none disturbs another."""

    TOGETHER = 1
    """Beside all others of this phase."""
    ALONE = 2
    """One after the other on an otherwise empty node: it counts pods, or fills the node."""
    PRESSURE = 3
    """Last, each with kubelet settings of its own."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Two answers to one question."""

    predicted: Facts
    real: Facts

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Fields on which the two differ: name to (predicted, real)."""
        names = [*self.predicted, *(name for name in self.real if name not in self.predicted)]
        return {
            name: (self.predicted.get(name), self.real.get(name))
            for name in names
            if self.predicted.get(name) != self.real.get(name)
        }


@dataclass(frozen=True, kw_only=True)
class Case:
    """One thing to cause."""

    name: str
    covers: tuple[str, ...]
    cause: Callable[[Bench], Outcome]
    phase: Phase = Phase.TOGETHER
    seconds: int = 5
    """About how long it takes: a sample keeps the short ones."""
    only_cgroup_v1: bool = False


@dataclass
class Catalogue:
    """All cases, in the order they are written."""

    cases: list[Case] = field(default_factory=list)

    def caused(
        self,
        name: str,
        *covers: str,
        phase: Phase = Phase.TOGETHER,
        seconds: int = 5,
        only_cgroup_v1: bool = False,
    ) -> Callable[[Callable[[Bench], Outcome]], Callable[[Bench], Outcome]]:
        """Register the function below as a case."""

        def register(cause: Callable[[Bench], Outcome]) -> Callable[[Bench], Outcome]:
            self.cases.append(
                Case(
                    name=name,
                    covers=covers,
                    cause=cause,
                    phase=phase,
                    seconds=seconds,
                    only_cgroup_v1=only_cgroup_v1,
                )
            )
            return cause

        return register


CATALOGUE = Catalogue()
caused = CATALOGUE.caused
