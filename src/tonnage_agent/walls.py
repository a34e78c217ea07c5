"""The run's deadline and budget, kept by the agent itself: it is there even when nobody else is.

Money is price times time since this attempt began, and what earlier attempts spent; so a budget is a moment too, and
the earlier of the two moments counts. Before it come, in order: a warning, a request to save, and SIGTERM early
enough that the whole grace period lies before the wall. Pure: the caller's clock in, what is due out.
"""

from __future__ import annotations

from dataclasses import dataclass

from tonnage_agent import contract

SAVE_LEAD_SECONDS = 60.0
"""How long before SIGTERM a checkpoint is asked for, where no save has been timed; else three times that."""


@dataclass(frozen=True)
class Wall:
    """The moment by which everything must have ended."""

    at: float
    cause: str
    """`deadline` or `budget`."""
    exit_code: int
    begun: float

    @property
    def warns_at(self) -> float:
        """When nine tenths of the time given are used."""
        return self.at - (self.at - self.begun) / 10

    def saves_at(self, grace: float, save_seconds: float | None) -> float:
        """When to ask for a last checkpoint: early enough to save before being told to stop."""
        lead = SAVE_LEAD_SECONDS if save_seconds is None else max(3 * save_seconds, 5.0)
        stops_at = self.stops_at(grace)
        return max(stops_at - lead, self.begun + (stops_at - self.begun) / 2)

    def stops_at(self, grace: float) -> float:
        """When to send SIGTERM; a run shorter than two grace periods gets half of its time to work in."""
        return self.at - min(grace, max(self.at - self.begun, 0.0) / 2)

    def text(self, now: float) -> str:
        left = self.at - now
        return f"{self.cause} in {_span(left)}" if left > 0 else f"{self.cause} reached"


class WallWatch:
    """What was done about a wall so far; each thing is due once, in its order."""

    def __init__(self, wall: Wall, grace: float) -> None:
        self.wall, self._grace = wall, grace
        self._done: set[str] = set()

    def due(self, now: float, save_seconds: float | None) -> str:
        """`warn`, `save` or `stop`; empty where it is not time for anything new."""
        if now >= self.wall.stops_at(self._grace):
            return self._once("stop")
        if now >= self.wall.saves_at(self._grace, save_seconds):
            return self._once("save")
        return self._once("warn") if now >= self.wall.warns_at else ""

    def _once(self, what: str) -> str:
        if what in self._done:
            return ""
        self._done.add(what)
        return what


def nearest_wall(
    begun: float, deadline: float | None, budget: int | None, spent: int, price_per_hour: int
) -> Wall | None:
    """Whichever comes first; None where nothing is walled in."""
    walls = []
    if deadline is not None:
        walls.append(Wall(deadline, "deadline", contract.EXIT_DEADLINE, begun))
    if budget is not None and (price_per_hour or spent >= budget):
        hours = max(budget - spent, 0) / price_per_hour if price_per_hour else 0.0
        walls.append(Wall(begun + hours * 3600, "budget", contract.EXIT_BUDGET, begun))
    return min(walls, key=lambda wall: wall.at, default=None)


def cost_so_far(seconds: float, spent: int, price_per_hour: int) -> int:
    """Micro-dollars, all attempts."""
    return spent + round(price_per_hour * max(seconds, 0.0) / 3600)


def _span(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
