"""A price by the hour, in whole micro-dollars, with who says so and since when.

Money is never a float here: a price is read exactly, multiplied and divided as integers, and what does not
divide evenly is rounded in a direction that is named. A price that moves (spot, a range somebody wrote) keeps
both ends, and both travel to the end of every sum.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

MICRO = 1_000_000
Per = Literal["node", "gpu"]

_HOURS = {"hour": 1, "day": 24, "week": 168, "month": 730}
_NUMBER = r"(\d[\d,]*(?:\.\d{1,6})?)"
_SHAPE = re.compile(
    rf"\$\s?{_NUMBER}(?:\s?\.\.\s?\$?\s?{_NUMBER})?(?:\s?/\s?(hour|day|week|month))?", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Micro-dollars per hour, from `low` to `high`."""

    low: int
    high: int
    per: Per = "node"
    origin: str = ""
    """Who says so: `Cluster document`, `AWS list price`."""
    as_of: dt.date | None = None
    """The day it was true, where it comes from a table."""
    note: str = ""
    """What to mind: another region, a spot price, a stale row."""

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise ValueError(f"a price from {self.low} to {self.high} is none")

    @property
    def is_range(self) -> bool:
        return self.low != self.high

    @property
    def middle(self) -> int:
        """Half-way, rounded up: what one figure says where a range has no room."""
        return -(-(self.low + self.high) // 2)

    def times(self, count: int, of: int = 1) -> Price:
        """The price of `count` parts where `of` make the whole: low rounded down, high rounded up.

        >>> str(Price(low=55_040_000, high=55_040_000).times(3, of=8))
        '$20.64/h'
        """
        return replace(self, low=self.low * count // of, high=-(-self.high * count // of))

    def for_hours(self, hours: float) -> tuple[int, int]:
        """Micro-dollars for so many hours, from low to high."""
        return round(self.low * hours), round(self.high * hours)

    def origin_text(self) -> str:
        """Who says so, since when, and what to mind, in one line."""
        dated = f"{self.origin}, {self.as_of.isoformat()}" if self.as_of else self.origin
        return f"{dated} ({self.note})" if self.note else dated

    def __str__(self) -> str:
        upper = f"..{dollars(self.high)[1:]}" if dollars(self.high) != dollars(self.low) else ""
        return f"{dollars(self.low)}{upper}/h"


def parse_price(text: str, *, origin: str, per: Per = "node") -> Price | None:
    """A price as documents write it (`$98/hour`, `$3..5/day`); None where it is not one.

    A price without a period is by the hour; a month has 730 of them.

    >>> str(parse_price("$98.50/hour", origin="you")), str(parse_price("$2,400/day", origin="you"))
    ('$98.50/h', '$100.00/h')
    """
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        return None
    low, high, period = match.groups()
    hours = _HOURS[period or "hour"]
    lowest, highest = micro_dollars(low), micro_dollars(high or low)
    if highest < lowest:
        return None
    return Price(low=lowest // hours, high=-(-highest // hours), per=per, origin=origin)


def dollars(micro: int) -> str:
    """An amount as people write it: cents below a thousand dollars, whole dollars above, more digits when tiny.

    >>> dollars(61_200_000), dollars(1_900_000_000), dollars(2_100), dollars(0)
    ('$61.20', '$1,900', '$0.0021', '$0.00')
    """
    sign, size = ("-", -micro) if micro < 0 else ("", micro)
    if 0 < size < MICRO // 100:
        return f"{sign}${Decimal(size) / MICRO:f}".rstrip("0")
    if size >= 1000 * MICRO - MICRO // 2:
        return f"{sign}${round(Decimal(size) / MICRO):,}"
    cents = (size * 100 + MICRO // 2) // MICRO
    return f"{sign}${cents // 100:,}.{cents % 100:02d}"


def micro_dollars(text: str) -> int:
    """A decimal of dollars, thousands set off or not, as whole micro-dollars."""
    return int(Decimal(text.replace(",", "")) * MICRO)
