"""When RAM runs out at this pace: for a run that may be given more before it dies (`onForecast: raise`).

Growth counts by the tests that tell a leak from a warm-up (`memory.series`), on memory that cannot be given back, and
only against the size the attempt has now. A raise made ahead is the one a death would have led to
(`remedies.host_oom`), so that both roads end at the same size and at the same walls.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from tonnage.figures import duration
from tonnage.memory.series import Point, growth_of
from tonnage.running.actions import RaiseInPlace
from tonnage.running.attempts import Attempt, Ending
from tonnage.running.observing import Forecast, Situation
from tonnage.running.policies import Policies
from tonnage.running.remedies.host_oom import LEAST_FACTOR, wall_of, wish_for
from tonnage.running.wording import rate
from tonnage.units import format_bytes


def forecast_of(series: Mapping[int, Sequence[Point]], limit: int | None) -> Forecast | None:
    """The node that reaches the limit first; None where nothing grows, or nothing limits."""
    if limit is None:
        return None
    found = []
    for node, points in series.items():
        growth = growth_of(points, limit=limit)
        if growth.is_growing and growth.bytes_per_second > 0:
            held = points[-1].bytes
            left = max(limit - held, 0) / growth.bytes_per_second
            found.append(
                Forecast(node=node, held=int(held), growth_per_second=growth.bytes_per_second, seconds=left)
            )
    return min(found, key=lambda each: each.seconds, default=None)


def raise_ahead(situation: Situation, policies: Policies, now: dt.datetime) -> RaiseInPlace | None:
    """More memory for the running pods, where they would run out of it before their end and the place can give it."""
    attempt, seen, forecast = situation.attempts[-1], situation.observation, situation.forecast
    limit, within = attempt.size.memory, policies.raise_ahead_seconds
    if limit is None or within is None or forecast is None or seen.state != "running":
        return None
    left = _seconds_left(situation)
    is_far = forecast.seconds > within or (left is not None and left < forecast.seconds)
    if is_far or not situation.bounds.can_resize_in_place:
        return None
    wish = wish_for(limit, attempt, _as_if_dead(attempt, forecast, situation, left, now), policies)
    wall, _ = wall_of(situation.bounds, policies)
    memory = wish.bytes if wall is None else min(wish.bytes, wall)
    if memory < limit * LEAST_FACTOR:
        return None  # nothing to be gained; when it dies there, the refusal names the wall
    pace = rate(forecast.growth_per_second, forecast.held)
    why = (
        f"raised in place to {format_bytes(memory)}: RAM grows by {pace}, and would have reached "
        f"{format_bytes(limit)} in {duration(forecast.seconds)}"
    )
    return RaiseInPlace(memory=memory, why=why)


def _as_if_dead(
    attempt: Attempt, forecast: Forecast, situation: Situation, left: float | None, now: dt.datetime
) -> Ending:
    """The ending it would have: its size is then worked out as after a death."""
    progress = situation.observation.progress
    return Ending(
        when=now,
        cause="host_oom",
        step=progress.step if progress else None,
        peak=attempt.size.memory,
        growth_per_second=forecast.growth_per_second,
        seconds_left=left,
    )


def _seconds_left(situation: Situation) -> float | None:
    progress = situation.observation.progress
    if progress is None or progress.total is None or not progress.seconds_per_step:
        return None
    return max(progress.total - progress.step, 0) * progress.seconds_per_step
