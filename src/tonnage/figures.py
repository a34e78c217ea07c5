"""Money, time and counts as people read them: one way of writing for every screen, message and report.

Two kinds of figure need two ways. What was counted (a price, money spent, time gone by) keeps its digits. What was
predicted is rounded to what the prediction can bear: `$1,900`, not `$1,904.17`.
"""

from __future__ import annotations

from decimal import Decimal

MICRO = 1_000_000


def dollars(micro: int) -> str:
    """An amount that was counted: cents below a thousand dollars, whole dollars above, more digits when tiny.

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


def about_dollars(micro: float) -> str:
    """An amount that was predicted: cents below ten dollars, whole dollars above, two figures above a thousand.

    >>> about_dollars(4_200_000), about_dollars(61_400_000), about_dollars(1_904_000_000)
    ('$4.20', '$61', '$1,900')
    """
    amount = micro / MICRO
    if 0 < amount < 0.01:
        return f"${amount:.2g}"
    if amount < 10:
        return f"${amount:,.2f}"
    if amount < 1000:
        return f"${amount:,.0f}"
    digits = len(str(int(amount))) - 2
    return f"${round(amount, -digits):,.0f}"


def duration(seconds: float) -> str:
    """A time that went by.

    >>> duration(0.4), duration(96), duration(7_380), duration(200_000)
    ('0.4 s', '96 s', '2 h 3 min', '2 d 7 h')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def about_time(seconds: float) -> str:
    """A time that was predicted, in the one unit people plan in.

    >>> about_time(0.31), about_time(40), about_time(150), about_time(5_760), about_time(112_000)
    ('310 ms', '40 s', '2.5 min', '96 min', '31 h')
    """
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 600:
        return f"{seconds / 60:.2g} min"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 10 * 3600:
        return f"{seconds / 3600:.1f} h"
    if seconds < 10 * 86400:
        return f"{seconds / 3600:,.0f} h"
    return f"{seconds / 86400:,.0f} d"


def plural(count: int, noun: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> plural(1, "node"), plural(1200, "pod"), plural(2, "class", "classes")
    ('1 node', '1,200 pods', '2 classes')
    """
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
