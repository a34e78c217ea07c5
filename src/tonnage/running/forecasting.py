"""When RAM runs out at this pace, and what is done about it before it does (`onForecast`).

Growth counts by the tests that tell a leak from a warm-up (`memory.series`), on memory that cannot be given back, and
only against the size the attempt has now. What counts as near is the early end of the range: a warning that comes
after the death is none.

    warn         its owner is told, once
    checkpoint   told, and a checkpoint is asked for: at once, and again whenever more work is unsaved than time is
                 left, so that what a death costs gets smaller as it comes nearer
    raise        the same, and more memory without a restart where the place can; the size is the one a death would
                 have led to (`remedies.host_oom`), so that both roads end at the same size and at the same walls
    stop         told, and ended with its grace period to save; it is not retried
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence

from tonnage.figures import about_time, duration
from tonnage.memory.series import Point, reach_of
from tonnage.running.actions import Action, RaiseInPlace, Save, Stop, Tell
from tonnage.running.attempts import Attempt, Ending
from tonnage.running.observing import Forecast, Situation
from tonnage.running.policies import Policies
from tonnage.running.remedies.host_oom import LEAST_FACTOR, wall_of, wish_for
from tonnage.running.wording import rate
from tonnage.units import format_bytes

SAVE_SECONDS, SAVE_SHARE = 30.0, 10.0
"""Between two checkpoints that are asked for: at least this, and this many times what a save takes."""


def forecast_of(
    series: Mapping[int, Sequence[Point]], limit: int | None, *, confidence: float = 0.9
) -> Forecast | None:
    """The node that reaches the limit first; None where nothing grows, or nothing limits."""
    if limit is None:
        return None
    found = []
    for node, points in series.items():
        if (reach := reach_of(points, limit, confidence=confidence)) is not None:
            found.append(
                Forecast(
                    node=node,
                    held=int(reach.held),
                    growth_per_second=reach.bytes_per_second,
                    soonest=reach.soonest,
                    seconds=reach.likely,
                    latest=reach.latest,
                )
            )
    return min(found, key=lambda each: each.soonest, default=None)


def answer(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    """What its owner wants done about RAM that runs out; nothing where that is far, or after its end."""
    if not is_near(situation, policies):
        return ()
    match policies.on_forecast:
        case "warn":
            return (Tell(text=seen_coming(situation), key=_key(situation)),)
        case "stop":
            text = f"{seen_coming(situation)}: it is saved and stopped (onForecast)"
            return (Stop(why=text, cause="forecast"),)
        case "raise" if (action := raise_ahead(situation, policies, now)) is not None:
            return (*_save(situation, now), action)
        case _:
            return _save(situation, now)


def is_near(situation: Situation, policies: Policies) -> bool:
    """Whether RAM may run out within the time that its owner wants to look ahead, and before the last step."""
    attempt, forecast = situation.attempts[-1], situation.forecast
    within = policies.look_ahead_seconds
    if attempt.size.memory is None or within is None or forecast is None:
        return False
    left = _seconds_left(situation)
    ends_first = left is not None and left < forecast.soonest
    return situation.observation.state == "running" and forecast.soonest <= within and not ends_first


def seen_coming(situation: Situation) -> str:
    """How fast it grows, and when it reaches its limit."""
    forecast, limit = situation.forecast, situation.attempts[-1].size.memory
    assert forecast is not None
    assert limit is not None
    pace = rate(forecast.growth_per_second, forecast.held)
    node = f" of node {forecast.node}" if (situation.observation.pods or 1) > 1 else ""
    return f"RAM{node} grows by {pace} and reaches its limit of {format_bytes(limit)} {_when(forecast)}"


def _when(forecast: Forecast) -> str:
    if forecast.latest < 1:
        return "now"
    soonest = about_time(forecast.soonest) if forecast.soonest >= 1 else "no time"
    if forecast.latest == math.inf:
        return f"in {soonest} at the earliest"
    latest = about_time(forecast.latest)
    return f"in {latest}" if latest == soonest else f"in {soonest} to {latest}"


def raise_ahead(situation: Situation, policies: Policies, now: dt.datetime) -> RaiseInPlace | None:
    """More memory for the running pods, where the place can give it."""
    attempt, forecast = situation.attempts[-1], situation.forecast
    limit = attempt.size.memory
    if limit is None or forecast is None or not situation.bounds.can_resize_in_place:
        return None
    wish = wish_for(limit, attempt, _as_if_dead(attempt, forecast, situation, now), policies)
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


def _save(situation: Situation, now: dt.datetime) -> tuple[Action, ...]:
    """A checkpoint, the first time it is seen coming and whenever more is unsaved than there is time left."""
    forecast, saved, asked = situation.forecast, situation.observation.saved, situation.save_asked
    assert forecast is not None
    if asked is not None:
        pause = max(SAVE_SECONDS, SAVE_SHARE * ((saved.seconds if saved else None) or 0.0), forecast.soonest)
        newest = max(asked, saved.when) if saved is not None else asked
        if (now - newest).total_seconds() < pause:
            return ()
    return (Save(why=seen_coming(situation), key=_key(situation)),)


def _key(situation: Situation) -> str:
    """One forecast of one attempt at one size."""
    attempt = situation.attempts[-1]
    return f"forecast-{attempt.number}-{attempt.size.memory}"


def _as_if_dead(attempt: Attempt, forecast: Forecast, situation: Situation, now: dt.datetime) -> Ending:
    """The ending it would have: its size is then worked out as after a death."""
    progress = situation.observation.progress
    return Ending(
        when=now,
        cause="host_oom",
        step=progress.step if progress else None,
        peak=attempt.size.memory,
        growth_per_second=forecast.growth_per_second,
        seconds_left=_seconds_left(situation),
    )


def _seconds_left(situation: Situation) -> float | None:
    progress = situation.observation.progress
    if progress is None or progress.total is None or not progress.seconds_per_step:
        return None
    return max(progress.total - progress.step, 0) * progress.seconds_per_step
