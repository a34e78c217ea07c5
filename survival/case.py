"""What one case is, and what is known of it when it is over.

A case is one training with a list of injuries. Everything that was seen is in its `Outcome`, plain values, so that
judging it is a pure function and a verdict can be looked at again without running anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tonnage.running.attempts import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a training's own journal."""

    attempt: int
    when: float
    pid: int
    step: int | None = None
    """None for the line that says where an attempt began."""
    begin: int | None = None
    loss: str = ""
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Injury:
    """One death that was brought about."""

    kind: str
    """`rank`, `agent`, `supervisor`, `torn-byte`, `drain`, ..."""
    attempt: int
    """The attempt that was running."""
    when: float
    kills_attempt: bool = True
    codes: frozenset[str] = frozenset()
    """Classes that are right for it."""
    causes: frozenset[str] = frozenset()
    resumes_at: frozenset[int] | None = None
    """Steps of the checkpoints that are right to resume from, where the injury itself decided which is the newest
    whole one; -1: none is left. Two where the damage may have been harmless (a blank of the manifest)."""
    has_notice: bool = False
    """It was told beforehand, with time for a save: nothing at all may be lost."""
    note: str = ""


@dataclass(kw_only=True)
class Outcome:
    """One case, over."""

    case: str
    seed: int
    place: str
    every: float
    """Seconds between checkpoints, as the document says."""
    state: str = ""
    """Of the run: finished, failed, ..."""
    why: str = ""
    expected_state: str = "finished"
    attempts: tuple[Attempt, ...] = ()
    injuries: list[Injury] = field(default_factory=list)
    journal: list[Step] = field(default_factory=list)
    reference: Mapping[int, str] = field(default_factory=dict)
    """Losses by step of the undisturbed run."""
    weights: str = ""
    """Hash of the final weights."""
    reference_weights: str = ""
    records: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """The black box of each attempt's first node."""
    left: list[str] = field(default_factory=list)
    """Processes, cgroups and mounts that were still there at the end."""
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    """What the case itself found not to be so; judging adds to it."""
    notes: list[str] = field(default_factory=list)

    @property
    def num_deaths(self) -> int:
        return len(self.injuries)
