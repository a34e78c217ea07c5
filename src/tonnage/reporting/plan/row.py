"""One thing said: lines under a label, and how it is meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mood = Literal["good", "warning", "bad", "quiet", ""]
MOODS: dict[str, Mood] = {
    "fits": "good", "set": "good", "tight": "warning", "slow": "warning", "does not fit": "bad", "unknown": "quiet",
}  # fmt: skip
LABELS = {"memory": "RAM", "shm": "/dev/shm", "disk": "Disk", "cpu": "CPU"}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing said: lines under a label, a word at the right, and how it is meant."""

    label: str
    lines: tuple[str, ...]
    state: str = ""
    mood: Mood = ""
