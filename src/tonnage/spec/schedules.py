"""When: days of the week and hours of the day, as people write them on a door: `mon-fri`, `07:00..20:00`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tonnage.spec.literals.refusals import LiteralError, shown

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = "mon|tue|wed|thu|fri|sat|sun"
DAYS_PATTERN = rf"({_DAY})(-({_DAY}))?(,\s?({_DAY})(-({_DAY}))?)*|daily|weekdays|weekends"
HOURS_PATTERN = r"([01]\d|2[0-3]):[0-5]\d\s?\.\.\s?(([01]\d|2[0-3]):[0-5]\d|24:00)"

_WORDS = {"daily": range(7), "weekdays": range(5), "weekends": range(5, 7)}
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s?\.\.\s?(?:([01]?\d|2[0-3]):([0-5]\d)|(24):(00))", re.ASCII)


@dataclass(frozen=True, slots=True)
class Days:
    """Days of the week, Monday is 0."""

    days: frozenset[int]

    @classmethod
    def parse(cls, value: Any) -> Days:
        """Read `mon-fri`, `sat,sun`, `daily`, `weekdays`, `weekends`; a list of days will do as well.

        >>> str(Days.parse("mon-wed, fri")), str(Days.parse("daily")), sorted(Days.parse("fri-mon").days)
        ('mon-wed,fri', 'daily', [0, 4, 5, 6])
        """
        words = value if isinstance(value, list) else value.split(",") if isinstance(value, str) else []
        days: set[int] = set()
        for word in words:
            days |= _days(word, value)
        if not days:
            raise _no_days(value)
        return cls(frozenset(days))

    def __str__(self) -> str:
        for word, members in _WORDS.items():
            if self.days == frozenset(members):
                return word
        runs: list[list[int]] = []
        for day in sorted(self.days):
            if runs and runs[-1][-1] == day - 1:
                runs[-1].append(day)
            else:
                runs.append([day])
        return ",".join(DAYS[r[0]] if len(r) == 1 else f"{DAYS[r[0]]}-{DAYS[r[-1]]}" for r in runs)


@dataclass(frozen=True, slots=True)
class Hours:
    """From one minute of the day to another; one that ends before it starts runs over midnight."""

    start: int
    end: int

    @classmethod
    def parse(cls, value: Any) -> Hours:
        """Read `07:00..20:00`.

        >>> str(Hours.parse("7:00..20:00")), Hours.parse("22:00..06:00")
        ('07:00..20:00', Hours(start=1320, end=360))
        """
        match = _HOURS.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise LiteralError(
                "DOC-023", f"{shown(value)} is not a time of day", expected="like 07:00..20:00"
            )
        start = int(match[1]) * 60 + int(match[2])
        end = int(match[3] or match[5]) * 60 + int(match[4] or match[6])
        if start == end:
            raise LiteralError("DOC-023", f"{shown(value)} is no time at all", expected="like 00:00..24:00")
        return cls(start, end)

    def __str__(self) -> str:
        return f"{self.start // 60:02d}:{self.start % 60:02d}..{self.end // 60:02d}:{self.end % 60:02d}"


def _days(word: Any, value: Any) -> set[int]:
    text = word.strip().lower() if isinstance(word, str) else ""
    if text in _WORDS:
        return set(_WORDS[text])
    first, dash, last = text.partition("-")
    numbers = [_day(part) for part in ((first, last) if dash else (first,))]
    if None in numbers:
        raise _no_days(value)
    start, end = numbers[0] or 0, numbers[-1] or 0
    return {(start + step) % 7 for step in range((end - start) % 7 + 1)}


def _day(text: str) -> int | None:
    short = text.strip()[:3]
    return DAYS.index(short) if short in DAYS and text.strip().isalpha() else None


def _no_days(value: Any) -> LiteralError:
    return LiteralError(
        "DOC-023", f"{shown(value)} is not a set of days", expected="like mon-fri, sat,sun or daily"
    )
