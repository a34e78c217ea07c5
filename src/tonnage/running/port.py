"""What any place that runs attempts can be asked and told: this machine, a cluster.

`tonnage.local` and `tonnage.kube.running` implement it; one contract suite (tests/contracts) runs against both.
Every call is one short look or one change that may be repeated: a supervisor can die between any two of them, and
the next one takes up where it was. Places never decide.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from tonnage.cluster.port import Target
from tonnage.diagnosis.evidence import Evidence
from tonnage.running.attempts import Size
from tonnage.running.history import RunRecord
from tonnage.running.observing import Bounds, Observation
from tonnage_agent.telemetry import Sample


class RunPlace(Protocol):
    """Where the attempts of one run live."""

    @property
    def target(self) -> Target:
        """What this is, for people."""

    def launch(self, number: int, size: Size, *, resume: bool) -> None:
        """Start an attempt; does nothing where this attempt already exists."""

    def observe(self, number: int) -> Observation:
        """The attempt now. `ended` comes without an ending: `evidence` and diagnosis give it."""

    def evidence(self, number: int) -> Evidence:
        """Everything that says why the attempt ended, gathered once and kept beside the checkpoints."""

    def stop(self, number: int, grace_seconds: float) -> None:
        """Ask it to end and save within its grace period; then end it."""

    def suspend(self, number: int) -> None:
        """End it so that nothing is held and it can be launched again."""

    def save(self, number: int) -> bool:
        """Ask the running ranks for a checkpoint now; False where the wish cannot be brought to them."""

    def resize(self, number: int, memory: int) -> bool:
        """More memory without a restart; False where this place cannot."""

    def bounds(self, size: Size) -> Bounds:
        """How large an attempt may get here."""

    def samples(self, number: int, after: Mapping[int, float]) -> Sequence[tuple[int, Sample]]:
        """What the agents measured, by node, after the given moment (seconds since 1970) of each node."""

    def logs(self, number: int, *, node: int | None = None, tail: int | None = None) -> list[str]:
        """Lines the attempt printed, all pods or one."""

    def clean(self, number: int) -> None:
        """Remove what the attempt left here, evidence excepted."""


@runtime_checkable
class SharedPlace(Protocol):
    """A place that several machines can reach: it knows who keeps a run alive, and what is needed to take over."""

    def hold(self) -> str:
        """Hold the run for this machine; the name of whoever else holds it, empty where we do."""

    def keep(self, record: RunRecord) -> None:
        """Write down where the run stands, for any machine to read."""

    def let_go(self) -> None:
        """The run is over: nobody needs to hold it."""


@runtime_checkable
class HealingPlace(Protocol):
    """A place whose controllers may replace a pod by themselves, faster than anybody looks."""

    def replaced(self, number: int, known: Collection[str]) -> Mapping[str, Evidence]:
        """Evidence of each pod that was lost inside the attempt and replaced, those already known excepted."""


@runtime_checkable
class TailedPlace(Protocol):
    """A place whose logs can be read on from where one stopped."""

    def new_logs(
        self, number: int, seen: Mapping[int, int], *, node: int | None = None, to_the_end: bool = False
    ) -> tuple[list[str], dict[int, int]]:
        """Lines after what was seen (bytes of each node), some at a time, and what has been seen now."""

    def log_ends(self, number: int) -> dict[int, int]:
        """Bytes there are now, by node."""
