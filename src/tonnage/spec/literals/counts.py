"""Whole counts and ranges of them: `2`, `1..4`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tonnage.spec.literals.refusals import LiteralError, shown

CODE = "DOC-015"
EXPECTED = "a count like 2, or a range like 1..4"
PATTERN = r"\d+(\s?\.\.\s?\d+)?"
LARGEST = 1_000_000

_RANGE = re.compile(r"(\d{1,9})\s?\.\.\s?(\d{1,9})", re.ASCII)
_ONE = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class CountRange:
    """From `low` to `high`, both included."""

    low: int
    high: int

    @property
    def is_range(self) -> bool:
        return self.low != self.high

    @classmethod
    def parse(cls, value: object) -> CountRange:
        """Read a count or a range.

        >>> CountRange.parse(2), str(CountRange.parse("1 .. 4"))
        (CountRange(low=2, high=2), '1..4')
        """
        if isinstance(value, int) and not isinstance(value, bool):
            return cls._checked(value, value)
        text = value.strip() if isinstance(value, str) else ""
        if match := _RANGE.fullmatch(text):
            return cls._checked(int(match[1]), int(match[2]))
        if _ONE.fullmatch(text):
            return cls._checked(int(text), int(text))
        raise LiteralError(CODE, f"{shown(value)} is not a count", expected=EXPECTED)

    @classmethod
    def _checked(cls, low: int, high: int) -> CountRange:
        if not 0 <= low <= LARGEST or high > LARGEST:
            raise LiteralError(
                CODE, f"{shown(low)} is not a count", expected=f"{EXPECTED}, up to {LARGEST:,}"
            )
        if high < low:
            raise LiteralError(
                "DOC-020",
                f"the range {low}..{high} is upside down",
                expected=EXPECTED,
                hint=f"try {high}..{low}",
            )
        return cls(low, high)

    def __str__(self) -> str:
        return f"{self.low}..{self.high}" if self.is_range else str(self.low)
