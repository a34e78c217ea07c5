"""A finding: one class of failure with its confidence and the lines it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Retry = Literal["same", "elsewhere", "after-fix", "never"]


@dataclass(frozen=True, slots=True)
class Line:
    """One piece of evidence: what it says and where it stood."""

    source: str
    """`pod status`, `agent record`, `event`, `log of node 3, line 812`."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What happened to one attempt."""

    code: str
    """Class id, such as `MEM-01`, `GPU-01e`, `PRE-01`, `APP-01`; `UNKNOWN` where nothing carries a cause."""
    title: str
    """`container memory limit`."""
    confidence: float
    retry: Retry
    evidence: tuple[Line, ...] = ()
    node: int | None = None
    """Index of the pod that failed first."""
    is_root: bool | None = None
    """False where what was seen is a victim's; None where it cannot be told."""
    victims: tuple[int, ...] = ()
    """Pods that ended because the first one did."""
    contributing: tuple[Finding, ...] = ()
    """What else was seen, most telling first; none of them has contributions of its own."""
