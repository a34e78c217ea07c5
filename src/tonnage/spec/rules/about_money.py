"""Rules about money, wherever a document speaks of it.

A price may move, so a range of prices is a fact (`$3..5/hour`); a wall must stand somewhere, so a range is
none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tonnage.spec.literals import Money
from tonnage.spec.mistakes import Path
from tonnage.spec.rules.remarks import Remark


def budget_is_a_wall(limit: Money | None, path: Path) -> Iterator[Remark]:
    """A budget is one amount, and one that something can be bought for."""
    if limit is None:
        return
    yield from _is_one_amount(limit, path)
    if not limit.high:
        yield Remark(
            code="DOC-021",
            path=path,
            what=f"a budget of {limit} stops everything at once",
            expected="more than $0, or no budget",
        )


def price_is_a_rate(price: Money | None, path: Path) -> Iterator[Remark]:
    """The most to pay is one amount per time."""
    if price is None:
        return
    yield from _is_one_amount(price, path)
    yield from price_per_time(price, path)


def price_per_time(price: Money, path: Path) -> Iterator[Remark]:
    """Capacity costs something per time, never once."""
    if price.per is None:
        yield Remark(
            code="DOC-013",
            path=path,
            what=f"{price} for how long?",
            expected="a price per time",
            hint=f"try {price}/hour",
        )


def _is_one_amount(limit: Money, path: Path) -> Iterator[Remark]:
    if limit.is_range:
        yield Remark(
            code="DOC-013",
            path=path,
            what=f"{limit} is a range: where is the limit?",
            expected="one amount",
            hint=f"try {replace(limit, low=limit.high)}",
        )
