"""Memory over time as a picture: the band between lowest and highest, the limit, and when it is reached.

The same scene the picture of a step is drawn from (`scene`), so that one hand draws PNG and SVG for both.
"""

from __future__ import annotations

from bisect import bisect_left

from tonnage.figures import duration
from tonnage.memory.series.thinning import Stretches, thin
from tonnage.reporting.forecast import ForecastView
from tonnage.reporting.plot.scene import BOTTOM, LEFT, RIGHT, SOFT, Area, Line, Scale, Scene, Text
from tonnage.units import format_bytes

BAND, LIMIT, RANGE = "#0072b2", "#d55e00", "#e69f00"
AHEAD = 0.5
"""Share of what was watched that is shown after it, at most."""


def series_scene(view: ForecastView) -> Scene:
    """Lay the picture out."""
    scale = Scale(max(view.limit, round(view.peak)))
    lines = [
        *scale.grid(),
        Line(LEFT, scale.y(view.limit), RIGHT, scale.y(view.limit), LIMIT, is_dashed=True),
    ]
    texts = [*_title(view), *scale.labels()]
    texts.append(Text(RIGHT + 16, scale.y(view.limit), f"limit {format_bytes(view.limit)}", colour=LIMIT))
    if not view.series or view.series[-1].seconds <= view.series[0].seconds:
        return Scene(tuple(lines), (), (), (), tuple(texts))
    stretches, columns = thin(view.series), RIGHT - LEFT
    until = view.found.limit_in_seconds
    shown = stretches.span + (min(until.p90, AHEAD * stretches.span) if until else 0.0)
    areas = [_band(stretches, scale, columns, shown)]
    if until is not None and until.p10 + stretches.span < shown:
        areas.append(_range(until.p10, until.p90, stretches.span, shown, columns))
        texts.append(Text(RIGHT, BOTTOM - 30, "limit reached, 80 % sure", anchor="end", colour=SOFT))
    texts.append(Text(LEFT, BOTTOM + 30, "0", colour=SOFT))
    texts.append(Text(RIGHT, BOTTOM + 30, duration(shown), anchor="end", colour=SOFT))
    return Scene(tuple(lines), tuple(areas), (), (), tuple(texts))


def _band(stretches: Stretches, scale: Scale, columns: int, shown: float) -> Area:
    """Between the lowest and the highest of each column, at least two pixels high."""
    tops, bottoms, begin = [], [], stretches.times[0]
    last = int(columns * stretches.span / shown)
    for column in range(last):
        first = stretches.at(begin + shown * column / columns)
        end = max(first + 1, bisect_left(stretches.times, begin + shown * (column + 1) / columns))
        first = max(0, first - 1)  # each column begins where the last one ended: one line, not dots
        tops.append(scale.y(max(stretches.highs[first:end])) - 1)
        bottoms.append(scale.y(min(stretches.lows[first:end])) + 1)
    return Area("memory", BAND, tuple(tops), tuple(bottoms))


def _range(p10: float, p90: float, span: float, shown: float, columns: int) -> Area:
    """A strip on the floor under the times at which the limit is reached."""
    first, last = (min(columns, int(columns * (span + seconds) / shown)) for seconds in (p10, p90))
    tops = [float(BOTTOM)] * first + [float(BOTTOM - 14)] * (last - first)
    return Area("limit reached", RANGE, tuple(tops), tuple([float(BOTTOM)] * len(tops)))


def _title(view: ForecastView) -> list[Text]:
    until = view.found.limit_in_seconds
    end = "no end in sight"
    if until is not None:
        end = f"limit in {duration(until.p10)} to {duration(until.p90)}, most likely {duration(until.p50)}"
    return [
        Text(LEFT - 70, 42, f"{view.subject}: {view.found.verdict}", is_title=True),
        Text(LEFT - 70, 80, f"{end}   {view.found.evidence[0]}", colour=SOFT),
    ]
