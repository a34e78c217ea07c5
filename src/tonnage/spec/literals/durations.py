"""Durations: `20m`, `1h30m`, `2d`, `1.5h`; `auto` where we may choose; `10s..5m` for bounds.

Units go from large to small, each at most once: `w d h m s ms`. A bare number is refused, because half the
world's tools read it as seconds and the other half as minutes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tonnage.spec.literals.refusals import LiteralError, shown

CODE = "DOC-012"
EXPECTED = "like 20m, 1h30m or 2d"
EXPECTED_OR_AUTO = "like 20m, 1h30m or auto"
EXPECTED_RANGE = "like 10s..5m"
PATTERN = r"(\d+(\.\d+)?w)?(\d+(\.\d+)?d)?(\d+(\.\d+)?h)?(\d+(\.\d+)?m)?(\d+(\.\d+)?s)?(\d+ms)?"
OR_AUTO_PATTERN = rf"auto|{PATTERN}"
RANGE_PATTERN = rf"{PATTERN}(\.\.{PATTERN})?"

_UNITS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_SHAPE = re.compile("".join(rf"(?:(\d{{1,12}}(?:\.\d{{1,6}})?){unit})?" for unit in _UNITS), re.ASCII)
_WORDY = re.compile(
    r"(\d+(?:\.\d+)?)\s*(w|d|h|m|s)(?:eeks?|ays?|ours?|rs?|in(?:ute)?s?|ec(?:ond)?s?)?",
    re.ASCII | re.IGNORECASE,
)
_LONGEST = (
    100 * 365 * 86_400_000
)  # a century: longer is a slip, and overflows what Kubernetes counts in seconds


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """An exact number of milliseconds."""

    milliseconds: int

    @property
    def seconds(self) -> float:
        return self.milliseconds / 1000

    @classmethod
    def parse(cls, value: object) -> Duration:
        """Read a duration.

        >>> Duration.parse("1h30m").seconds, str(Duration.parse("90m")), str(Duration.parse("36h"))
        (5400.0, '1h30m', '1d12h')
        """
        return _read(value, EXPECTED)

    def __str__(self) -> str:
        rest, parts = self.milliseconds, []
        for unit, size in _UNITS.items():
            if unit == "w" and rest % size:
                continue  # ten days read better as 10d than as 1w3d
            count, rest = divmod(rest, size)
            if count:
                parts.append(f"{count}{unit}")
        return "".join(parts) or "0s"


@dataclass(frozen=True, slots=True)
class DurationOrAuto:
    """A duration, or `auto`: chosen by Tonnage from what it measures."""

    duration: Duration | None = None

    @property
    def is_auto(self) -> bool:
        return self.duration is None

    @classmethod
    def parse(cls, value: object) -> DurationOrAuto:
        """Read `auto` or a duration."""
        if isinstance(value, str) and value.strip().lower() == "auto":
            return cls()
        return cls(_read(value, EXPECTED_OR_AUTO))

    def __str__(self) -> str:
        return "auto" if self.duration is None else str(self.duration)


@dataclass(frozen=True, slots=True)
class DurationRange:
    """Two bounds of a waiting time."""

    low: Duration
    high: Duration

    @classmethod
    def parse(cls, value: object) -> DurationRange:
        """Read `10s..5m`, or one duration for both bounds."""
        if isinstance(value, str) and ".." in value:
            first, _, second = value.partition("..")
            low, high = _read(first.strip(), EXPECTED_RANGE), _read(second.strip(), EXPECTED_RANGE)
            if high < low:
                raise LiteralError(
                    "DOC-020",
                    f"{high} is below {low}",
                    expected="the shorter first",
                    hint=f"try {high}..{low}",
                )
            return cls(low, high)
        both = _read(value, EXPECTED_RANGE)
        return cls(both, both)

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}..{self.high}"


def _read(value: object, expected: str) -> Duration:
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = shown(value)
        hint = f"write {number}s, {number}m or {number}h" if len(number) < 8 else None
        raise LiteralError(CODE, f"{number} has no unit", expected=expected, hint=hint)
    text = value.strip() if isinstance(value, str) else ""
    match = _SHAPE.fullmatch(text) if text else None
    if match is None:
        raise LiteralError(CODE, f"{shown(value)} is not a duration", expected=expected, hint=_hint(text))
    pairs = zip(match.groups(), _UNITS.values(), strict=True)
    exact = sum((Fraction(number) * size for number, size in pairs if number), Fraction(0))
    if exact > _LONGEST:
        raise LiteralError(CODE, f"{shown(value)} is longer than a century", expected=expected)
    return Duration(-(-exact.numerator // exact.denominator))


def _hint(text: str) -> str | None:
    wordy = _WORDY.fullmatch(text)
    return f"try {wordy[1]}{wordy[2].lower()}" if wordy else None
