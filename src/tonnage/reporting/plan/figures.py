"""Figures as a plan shows them: times, money, sizes and shares, each with its unit."""

from __future__ import annotations

from tonnage.memory.estimate import Interval
from tonnage.planning.spending import dollars

_GIB = 2**30


def short_time(seconds: float) -> str:
    """A time in the unit people plan in.

    >>> short_time(0.31), short_time(40), short_time(5_760), short_time(112_000), short_time(2_000_000)
    ('310 ms', '40 s', '96 min', '31 h', '23 d')
    """
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 10 * 3600:
        return f"{seconds / 3600:.1f} h"
    if seconds < 10 * 86400:
        return f"{seconds / 3600:,.0f} h"
    return f"{seconds / 86400:,.0f} d"


def time_range(interval: Interval) -> str:
    """`31 h (27-36 h)`: the middle and the 80 % interval, in one unit."""
    low, high = short_time(interval.p10), short_time(interval.p90)
    if low == high == short_time(interval.p50):
        return high
    unit = high.rpartition(" ")[2]
    start = low.removesuffix(f" {unit}") if low.endswith(f" {unit}") else low
    return f"{short_time(interval.p50)} ({start} to {high})"


def dollar_range(interval: Interval) -> str:
    """`$1,900 in all ($1,650 to 2,200)`."""
    low, high = dollars(interval.p10), dollars(interval.p90)
    if low == high:
        return f"{high} in all"
    return f"{dollars(interval.p50)} in all ({low} to {high.removeprefix('$')})"


def gib(count: float) -> str:
    """Bytes in GiB with one decimal, in MiB below one.

    >>> gib(44_346_671_104), gib(300 * 2**20)
    ('41.3 GiB', '300 MiB')
    """
    if count < _GIB:
        return f"{count / 2**20:,.0f} MiB"
    return f"{bare_gib(count)} GiB"


def bare_gib(count: float) -> str:
    """The same without its unit."""
    return f"{count / _GIB:,.1f}"


def large(count: float) -> str:
    """Bytes of RAM or disk: whole GiB, TiB from 10,000 GiB on.

    >>> large(212 * 2**30), large(12 * 2**40), large(300 * 2**20)
    ('212 GiB', '12.0 TiB', '300 MiB')
    """
    if count < _GIB:
        return f"{count / 2**20:,.0f} MiB"
    if count < 10 * _GIB:
        return f"{count / _GIB:,.1f} GiB"
    if count < 10_000 * _GIB:
        return f"{count / _GIB:,.0f} GiB"
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
