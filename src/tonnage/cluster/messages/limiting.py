"""What a LimitRange says when it refuses, read and written.

The texts name the wall and the offender's amount but not the container; several are joined in brackets, in
random order. Older servers ended each with a full stop, which the reader accepts. Note the two blanks before
"No".

    minimum memory usage per Container is 1Gi, but request is 512Mi
    maximum memory usage per Container is 4Gi.  No limit is specified
    memory max limit to request ratio per Container is 2, but provided ratio is 16.000000
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Wall = Literal["minimum", "maximum", "ratio"]
Side = Literal["request", "limit", "ratio"]


class LimitBroken(msgspec.Struct, frozen=True, kw_only=True):
    """One wall of a LimitRange that an object ran into."""

    wall: Wall
    resource: str
    per: str
    """Container, Pod or PersistentVolumeClaim."""
    bound: str
    side: Side
    """Which number broke it: the request, the limit, or the ratio of the two."""
    found: str | None = None
    """The offending number; nothing where it is missing (for a ratio: missing or zero)."""

    def __str__(self) -> str:
        if self.wall == "ratio":
            return (
                f"{self.resource} max limit to request ratio per {self.per} is {self.bound}, {self._ratio()}"
            )
        start = f"{self.wall} {self.resource} usage per {self.per} is {self.bound}"
        if self.found is None:
            return f"{start}.  No {self.side} is specified"
        return f"{start}, but {self.side} is {self.found}"

    def _ratio(self) -> str:
        if self.side == "ratio":
            return f"but provided ratio is {self.found}"
        return f"but no {self.side} is specified or {self.side} is 0"


_USAGE = re.compile(
    r"(?P<wall>minimum|maximum) (?P<resource>\S+) usage per (?P<per>\S+) is (?P<bound>[^,\s]+?)"
    r"(?:, but (?P<side>request|limit) is (?P<found>\S+?)|\.  No (?P<missing>request|limit) is specified)\.?"
)
_RATIO = re.compile(
    r"(?P<resource>\S+) max limit to request ratio per (?P<per>\S+) is (?P<bound>[^,\s]+), but "
    r"(?:provided ratio is (?P<found>\S+?)|no (?P<missing>request|limit) is specified or \w+ is 0)\.?"
)
_START_OF_NEXT = re.compile(r", (?=minimum |maximum |\S+ max limit to request ratio )")


def parse_limits_broken(message: str) -> tuple[LimitBroken, ...]:
    """Every broken wall in a refusal, whatever stands around them; nothing if it speaks of no LimitRange."""
    parts = map(_parse_one, split_refusal(message))
    return tuple(part for part in parts if part is not None)


def split_refusal(message: str) -> list[str]:
    """The single texts of a refusal, without prefix and brackets."""
    body = message.rpartition(" is forbidden: ")[2].strip()
    if body.startswith("[") and body.endswith("]"):
        body = body[1:-1]
    return _START_OF_NEXT.split(body)


def _parse_one(text: str) -> LimitBroken | None:
    usage = _USAGE.fullmatch(text)
    if usage is not None:
        return LimitBroken(
            wall="minimum" if usage["wall"] == "minimum" else "maximum",
            resource=usage["resource"],
            per=usage["per"],
            bound=usage["bound"],
            side="request" if "request" in (usage["side"], usage["missing"]) else "limit",
            found=usage["found"],
        )
    ratio = _RATIO.fullmatch(text)
    if ratio is None:
        return None
    missing: Side = "request" if ratio["missing"] == "request" else "limit"
    return LimitBroken(
        wall="ratio",
        resource=ratio["resource"],
        per=ratio["per"],
        bound=ratio["bound"],
        side="ratio" if ratio["missing"] is None else missing,
        found=ratio["found"],
    )
