"""Pressure stall information: how long somebody (`some`) or everybody (`full`) waited for a resource.

Lines are `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`. Totals are kept, not averages: a reader can
make any average of two totals, and nothing between two samples is missed. Memory `full` growing is the kernel
reclaiming instead of running us: it often comes before an OOM kill, though a steep ramp dies with hardly any.
"""

from __future__ import annotations

from dataclasses import dataclass

from tonnage_agent.sampling.files import Place, text


@dataclass(frozen=True)
class Pressure:
    """Microseconds since the cgroup was made; None where the kernel does not tell (version 1, PSI off)."""

    waiting_micros: int | None = None
    stalled_micros: int | None = None


def read_pressure(path: Place) -> Pressure:
    """The totals of one pressure file."""
    totals: dict[str, int] = {}
    for line in (text(path) or "").splitlines():
        kind, *fields = line.split()
        for field in fields:
            name, _, value = field.partition("=")
            if name == "total" and value.isdecimal():
                totals[kind] = int(value)
    return Pressure(totals.get("some"), totals.get("full"))
