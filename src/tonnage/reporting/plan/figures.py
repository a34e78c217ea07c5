"""Figures as a plan shows them: times, money, sizes and shares, each with its unit."""

from __future__ import annotations

from tonnage.figures import about_dollars, about_time
from tonnage.memory.estimate import Interval

GIB = 2**30


def time_range(interval: Interval) -> str:
    """`31 h (27-36 h)`: the middle and the 80 % interval, in one unit."""
    low, high = about_time(interval.p10), about_time(interval.p90)
    if low == high == about_time(interval.p50):
        return high
    unit = high.rpartition(" ")[2]
    start = low.removesuffix(f" {unit}") if low.endswith(f" {unit}") else low
    return f"{about_time(interval.p50)} ({start} to {high})"


def dollar_range(interval: Interval) -> str:
    """`$1,900 in all ($1,650 to 2,200)`."""
    low, high = about_dollars(interval.p10), about_dollars(interval.p90)
    if low == high:
        return f"{high} in all"
    return f"{about_dollars(interval.p50)} in all ({low} to {high.removeprefix('$')})"


def money_range(low: int, high: int | None) -> str:
    """`$20 to 48`: an amount by the hour, its two ends where they differ on a screen.

    >>> money_range(48_000_000, None), money_range(2_000_000, 6_000_000)
    ('$48', '$2.00 to 6.00')
    """
    least, most = about_dollars(low), about_dollars(high or low)
    return least if least == most else f"{least} to {most.removeprefix('$')}"


def gib(count: float) -> str:
    """Bytes in GiB with one decimal, in MiB below one.

    >>> gib(44_346_671_104), gib(300 * 2**20)
    ('41.3 GiB', '300 MiB')
    """
    if count < GIB:
        return f"{count / 2**20:,.0f} MiB"
    return f"{bare_gib(count)} GiB"


def bare_gib(count: float) -> str:
    """The same without its unit."""
    return f"{count / GIB:,.1f}"


def large(count: float) -> str:
    """Bytes of RAM or disk: whole GiB, TiB from 10,000 GiB on.

    >>> large(212 * 2**30), large(12 * 2**40), large(300 * 2**20)
    ('212 GiB', '12.0 TiB', '300 MiB')
    """
    if count < GIB:
        return f"{count / 2**20:,.0f} MiB"
    if count < 10 * GIB:
        return f"{count / GIB:,.1f} GiB"
    if count < 10_000 * GIB:
        return f"{count / GIB:,.0f} GiB"
    return f"{count / 2**40:,.1f} TiB"


def cores(milli: float) -> str:
    """Thousandths of a core in cores."""
    amount = milli / 1000
    text = f"{amount:,.0f}" if amount == int(amount) or amount >= 10 else f"{amount:,.1f}"
    return f"{text} core{'' if text == '1' else 's'}"


def percent(part: float) -> str:
    """A part of one, in per cent."""
    return f"{part * 100:.0f} %"


def more_time(slower: float | None) -> str:
    """`, +27 % time`; nothing where it is not known."""
    if slower is None:
        return ""
    rounded = round(slower * 100)
    return ", same time" if rounded == 0 else f", {rounded:+d} % time"
