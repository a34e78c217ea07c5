"""Names of checkpoints, and the order they give: the newer attempt first, within an attempt the later step.

    step-0000000120.attempt-0002            made by attempt 2 after its step 120
    step-0000000120.attempt-0002.again-1    made again: attempt 2 had gone back behind it

An old attempt that should be dead may still be writing (a partitioned node). It can only write names of its own
attempt, which sort behind those of the newer one, so its work never replaces the newer lineage. A name is taken by
exactly one writer: places create names, they never overwrite them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"step-(\d{10,})\.attempt-(\d{4,})(?:\.again-(\d+))?")


@dataclass(frozen=True, order=True)
class Name:
    """One checkpoint's name; sorts by lineage, oldest first."""

    attempt: int
    step: int
    again: int = 0

    def __str__(self) -> str:
        """As it is written.

        >>> str(Name(attempt=2, step=120))
        'step-0000000120.attempt-0002'
        """
        again = f".again-{self.again}" if self.again else ""
        return f"step-{self.step:010d}.attempt-{self.attempt:04d}{again}"


def parse_name(text: str) -> Name | None:
    """A name from how it is written; None for anything else that lies in the same place."""
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    name = Name(attempt=int(found[2]), step=int(found[1]), again=int(found[3] or 0))
    return name if str(name) == text else None


def draft_label(name: Name, token: str) -> str:
    """What a checkpoint is called while it is written: unique to its writer.

    >>> draft_label(Name(attempt=2, step=120), "9f3c")
    'step-0000000120.attempt-0002-9f3c'
    """
    return f"{name}-{token}"


def parse_label(text: str) -> Name | None:
    """The name a draft was meant for; None for anything else."""
    name, dash, token = text.rpartition("-")
    return parse_name(name) if dash and token else None
