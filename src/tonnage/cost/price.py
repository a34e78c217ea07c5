"""A price by the hour, in whole micro-dollars, with who says so and since when.

Money is never a float here: a price is read exactly, multiplied and divided as integers, and what does not
divide evenly is rounded in a direction that is named. A price that moves (spot, a range somebody wrote) keeps
both ends, and both travel to the end of every sum.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

import msgspec
from msgspec.structs import replace

from tonnage.figures import MICRO, dollars

Per = Literal["node", "gpu"]

_HOURS = {"hour": 1, "day": 24, "week": 168, "month": 730}
_NUMBER = r"(\d[\d,]*(?:\.\d{1,6})?)"
_SHAPE = re.compile(
    rf"\$\s?{_NUMBER}(?:\s?\.\.\s?\$?\s?{_NUMBER})?(?:\s?/\s?(hour|day|week|month))?", re.ASCII
)


class Price(msgspec.Struct, frozen=True, kw_only=True):
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
    among: tuple[Price, ...] = ()
    """The prices it ranges over, where several people say one: each with its own origin and date."""

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
        return replace(
            self,
            low=self.low * count // of,
            high=-(-self.high * count // of),
            among=tuple(one.times(count, of) for one in self.among),
        )

    def spanning(self, other: Price) -> Price:
        """The range over both; what one origin says on one day stays one price, others are kept apart.

        >>> cheap, dear = Price(low=2, high=3, origin="a"), Price(low=5, high=5, origin="b")
        >>> [(one.origin, one.low, one.high) for one in cheap.spanning(dear).spanning(cheap).each()]
        [('a', 2, 3), ('b', 5, 5)]
        """
        said: dict[str, Price] = {}
        for one in (*self.each(), *other.each()):
            known = said.get(one.origin_text())
            said[one.origin_text()] = one if known is None else _wider(known, one)
        every = sorted(said.values(), key=lambda one: (one.low, one.high, one.origin))
        whole = _wider(self, other)
        return replace(whole, among=tuple(every) if len(every) > 1 else ())

    def each(self) -> tuple[Price, ...]:
        """One price for each origin, the lowest first."""
        return self.among or (self,)

    def for_hours(self, hours: float) -> tuple[int, int]:
        """Micro-dollars for so many hours, from low to high."""
        return round(self.low * hours), round(self.high * hours)

    def origin_text(self) -> str:
        """Who says so, since when, and what to mind, in one line."""
        dated = f"{self.origin}, {self.as_of.isoformat()}" if self.as_of else self.origin
        return f"{dated} ({self.note})" if self.note else dated

    def origins_text(self) -> str:
        """The same of every origin it ranges over."""
        return "; ".join(one.origin_text() for one in self.each())

    def __str__(self) -> str:
        upper = f"..{dollars(self.high)[1:]}" if dollars(self.high) != dollars(self.low) else ""
        return f"{dollars(self.low)}{upper}/h"


def spanned(prices: Iterable[Price]) -> Price | None:
    """The range over all of them; None where there are none."""
    whole: Price | None = None
    for one in prices:
        whole = one if whole is None else whole.spanning(one)
    return whole


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


def _wider(one: Price, other: Price) -> Price:
    """From the lower to the higher of both, with the cheaper one's words."""
    cheaper = one if (one.low, one.high) <= (other.low, other.high) else other
    return replace(cheaper, low=min(one.low, other.low), high=max(one.high, other.high))


def micro_dollars(text: str) -> int:
    """A decimal of dollars, thousands set off or not, as whole micro-dollars."""
    return int(Decimal(text.replace(",", "")) * MICRO)
