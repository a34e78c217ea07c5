"""Small texts people read everywhere the same: ages, counts, cut lines."""

from __future__ import annotations

import datetime as dt

from tonnage.units import Quantity, format_bytes


def format_age(age: dt.timedelta) -> str:
    """An age in its two largest units.

    >>> format_age(dt.timedelta(hours=2, minutes=14)), format_age(dt.timedelta(seconds=40))
    ('2 h 14 m', '40 s')
    """
    seconds = max(0, int(age.total_seconds()))
    days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
    if days:
        return f"{days} d {hours} h" if hours and days < 10 else f"{days} d"
    if hours:
        return f"{hours} h {minutes} m" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} m {seconds % 60} s" if seconds % 60 and minutes < 10 else f"{minutes} m"
    return f"{seconds} s"


def parse_time(text: str | None) -> dt.datetime | None:
    """A Kubernetes timestamp, or nothing where there is none."""
    if not text:
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def one_line(text: str, width: int) -> str:
    """Text on one line, cut with an ellipsis where it does not fit."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: max(1, width - 1)].rstrip() + "…"


def format_amount(resource: str, amount: Quantity) -> str:
    """An amount of a resource in the unit people think in: cores, GiB, devices."""
    if resource == "cpu" or resource.endswith(".cpu"):
        cores = amount.milli() / 1000
        return f"{cores:,.0f}" if cores == int(cores) or cores >= 100 else f"{cores:,.1f}"
    if any(word in resource for word in ("memory", "storage", "hugepages")):
        return format_bytes(amount.value())
    return f"{amount.value():,}"
