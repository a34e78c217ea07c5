"""Money and what it is per: `$400/week`, `$1,200`, `$3..5/hour`, in whole micro-dollars."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from tonnage.spec.literals.refusals import LiteralError, shown

CODE = "DOC-013"
EXPECTED = "dollars like $1,200, $400/week or $3..5/hour"
PATTERN = r"\$\d[\d,]*(\.\d+)?(\s?\.\.\s?\$?\d[\d,]*(\.\d+)?)?(\s?/\s?(hour|day|week|month|h|hr|d|wk|mo))?"

MICRO = 1_000_000
_PERIODS = {
    "hour": "hour", "h": "hour", "hr": "hour", "day": "day", "d": "day",
    "week": "week", "wk": "week", "w": "week", "month": "month", "mo": "month",
}  # fmt: skip
_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d{1,15})(\.\d{1,6})?"
_SHAPE = re.compile(
    rf"\$\s?{_NUMBER}(?:\s?\.\.\s?\$?\s?{_NUMBER})?(?:\s?/\s?([a-z]+))?", re.ASCII | re.IGNORECASE
)
_BARE = re.compile(rf"(?:usd\s?)?{_NUMBER}\s?(?:usd|dollars?)?(?:\s?/\s?([a-z]+))?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Money:
    """Micro-dollars, from low to high: once (`per` is None) or per hour, day, week or month."""

    low: int
    high: int
    per: str | None = None

    @property
    def is_range(self) -> bool:
        return self.low != self.high

    @classmethod
    def parse(cls, value: object) -> Money:
        """Read an amount of dollars.

        >>> Money.parse("$400/week"), str(Money.parse("$3..5/h")), str(Money.parse("$1200"))
        (Money(low=400000000, high=400000000, per='week'), '$3..5/hour', '$1,200')
        """
        if isinstance(value, int | float) and not isinstance(value, bool):
            hint = f"write ${shown(value)}, or ${shown(value)}/week"
            raise LiteralError(CODE, f"{shown(value)} has no currency", expected=EXPECTED, hint=hint)
        text = value.strip() if isinstance(value, str) else ""
        match = _SHAPE.fullmatch(text)
        if match is None:
            raise LiteralError(
                CODE, f"{shown(value)} is not an amount of money", expected=EXPECTED, hint=_hint(text)
            )
        whole, cents, high_whole, high_cents, period = match.groups()
        low = _micro(whole, cents)
        high = _micro(high_whole, high_cents) if high_whole else low
        if high < low:
            raise LiteralError(
                "DOC-020", f"{shown(value)}: the second amount is below the first", expected=EXPECTED
            )
        return cls(low, high, _period(period, value))

    def __str__(self) -> str:
        upper = f"..{_dollars(self.high)}" if self.is_range else ""
        return f"${_dollars(self.low)}{upper}{'/' + self.per if self.per else ''}"


def _period(word: str | None, value: object) -> str | None:
    if word is None:
        return None
    if word.lower() not in _PERIODS:
        raise LiteralError(
            CODE, f"{shown(value)}: '{word}' is not a period", expected="/hour, /day, /week or /month"
        )
    return _PERIODS[word.lower()]


def _micro(whole: str, cents: str | None) -> int:
    return int(Decimal(whole.replace(",", "") + (cents or "")) * MICRO)


def _dollars(micro: int) -> str:
    whole, rest = divmod(micro, MICRO)
    if not rest:
        return f"{whole:,}"
    cents = f"{rest:06d}".rstrip("0")
    return f"{whole:,}.{cents.ljust(2, '0')}"


def _hint(text: str) -> str | None:
    bare = _BARE.fullmatch(text)
    if bare is not None:
        return f"try ${bare[1]}{bare[2] or ''}{'/' + bare[3] if bare[3] else ''}"
    return "prices are in US dollars" if text[:1] in ("€", "£", "¥") else None
