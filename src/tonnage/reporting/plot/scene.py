"""What the picture shows and where: areas, lines and texts in pixels, for whichever hand draws them.

The curve is taken column by column: of all moments that fall into a column the highest is shown, so a peak of one
operation is as visible as a long one. Colours are told apart by people who see few of them, and the list at the
right has the order of the stack, so that colour is never the only sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.memory.estimate import CATEGORIES, Sample
from tonnage.reporting.estimate import EstimateView
from tonnage.units import format_bytes

WIDTH, HEIGHT = 1600, 800
LEFT, RIGHT, TOP, BOTTOM = 110, 1270, 150, 720
GIB = 2**30
MIB = 2**20

COLOURS = {
    "parameters": "#0072b2",
    "buffers": "#56b4e9",
    "gradients": "#009e73",
    "optimizer": "#cc79a7",
    "inputs": "#7f7f7f",
    "activations": "#e69f00",
    "temporaries": "#d55e00",
    "workspaces": "#f0e442",
    "other": "#bdbdbd",
}
INK, SOFT, LINE = "#222222", "#666666", "#dddddd"


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text: where it starts, ends or is centred, and how it is set."""

    x: float
    y: float
    """Of the middle of the line."""
    text: str
    is_title: bool = False
    anchor: str = "start"
    colour: str = INK


@dataclass(frozen=True, slots=True)
class Area:
    """One layer of the stack: its upper and lower edge in every column from `LEFT` on."""

    name: str
    colour: str
    tops: tuple[float, ...]
    bottoms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line, upright or level."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: str = LINE
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything in the picture, in the order it is drawn."""

    lines: tuple[Line, ...]
    areas: tuple[Area, ...]
    curve: tuple[float, ...]
    """What the allocator holds, in every column."""
    boxes: tuple[Box, ...]
    texts: tuple[Text, ...]


def scene_of(view: EstimateView) -> Scene:
    """Lay the picture out; an estimate without samples gives an empty frame that says so."""
    samples = view.estimate.samples
    columns = _columns(samples, RIGHT - LEFT)
    highest = max((max(sample.allocated, sample.reserved) for sample in samples), default=GIB)
    scale = Scale(highest)
    areas = _areas(columns, scale)
    curve = tuple(scale.y(sample.reserved) for sample in columns)
    bands, phase_texts = _phases(columns)
    lines = (*scale.grid(), *bands)
    legend_boxes, legend_texts = _legend(view, [area.name for area in areas])
    texts = (*_title(view), *scale.labels(), *phase_texts, *legend_texts, *_peak(view, columns, scale))
    return Scene(lines, areas, curve, legend_boxes, texts)


class Scale:
    """Bytes to rows, and the ticks beside them."""

    def __init__(self, highest: int) -> None:
        self.unit, self.name = (GIB, "GiB") if highest >= 2 * GIB else (MIB, "MiB")
        self.step = _nice(highest * 1.08 / self.unit / 6)
        count = int(highest * 1.04 / self.unit / self.step) + 1
        self.ticks = [place * self.step for place in range(count + 1)]
        self.top = self.ticks[-1] * self.unit

    def y(self, size: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * size / self.top

    def grid(self) -> list[Line]:
        return [Line(LEFT, self.y(tick * self.unit), RIGHT, self.y(tick * self.unit)) for tick in self.ticks]

    def labels(self) -> list[Text]:
        shown = [
            Text(LEFT - 12, self.y(tick * self.unit), f"{tick:g}", anchor="end", colour=SOFT)
            for tick in self.ticks
        ]
        return [*shown, Text(LEFT - 12, TOP - 34, self.name, anchor="end", colour=SOFT)]


def _nice(rough: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** (len(str(int(rough))) - 1) if rough >= 1 else 0.1
    return next(step * power for step in (1, 2, 5, 10, 20) if step * power >= rough)


def _columns(samples: Sequence[Sample], count: int) -> list[Sample]:
    """One sample per column: the highest of those that fall into it."""
    if not samples:
        return []
    found = []
    for column in range(count):
        start = column * len(samples) // count
        end = max(start + 1, (column + 1) * len(samples) // count)
        found.append(max(samples[start:end], key=lambda sample: sample.allocated))
    return found


def _areas(columns: Sequence[Sample], scale: Scale) -> tuple[Area, ...]:
    """The layers, from the bottom up; a category that is never held has none."""
    below = [0] * len(columns)
    areas = []
    for place, name in enumerate(CATEGORIES):
        sizes = [sample.parts[place] for sample in columns]
        if not any(sizes):
            continue
        above = [low + size for low, size in zip(below, sizes, strict=True)]
        tops, bottoms = (tuple(scale.y(size) for size in edge) for edge in (above, below))
        areas.append(Area(name, COLOURS[name], tops, bottoms))
        below = above
    return tuple(areas)


def _phases(columns: Sequence[Sample]) -> tuple[list[Line], list[Text]]:
    """A mark where a phase begins, and its name above the stretch where it is long enough to carry it."""
    lines, texts, start = [], [], 0
    for column in range(1, len(columns) + 1):
        if column < len(columns) and columns[column].phase == columns[start].phase:
            continue
        if column - start > 60:
            middle = LEFT + (start + column) / 2
            texts.append(Text(middle, TOP - 14, columns[start].phase, anchor="middle", colour=SOFT))
        if column < len(columns) and column - start > 12:
            lines.append(Line(LEFT + column, TOP - 24, LEFT + column, BOTTOM, is_dashed=True))
        start = column
    return lines, texts


def _title(view: EstimateView) -> list[Text]:
    estimate = view.estimate
    verdict = ""
    if view.fits:
        fit = view.fits[0]
        word = "fits" if fit.fits else "does not fit"
        verdict = f": {format_bytes(fit.required)} needed of {format_bytes(fit.usable)}, {word}"
    subtitle = (
        f"peak allocated {format_bytes(estimate.peak_allocated)}   "
        f"smallest cap that trains {format_bytes(estimate.smallest_cap)}   "
        f"outside the allocator {format_bytes(estimate.outside_allocator)}   "
        f"guard {format_bytes(estimate.guard.bytes)}"
    )
    texts = [
        Text(LEFT - 70, 42, f"{view.subject} on {estimate.gpu}{verdict}", is_title=True),
        Text(LEFT - 70, 80, subtitle, colour=SOFT),
        Text(
            (LEFT + RIGHT) / 2,
            BOTTOM + 30,
            "one training step, operation by operation",
            anchor="middle",
            colour=SOFT,
        ),
    ]
    if not estimate.samples:
        nothing = "a shape has no timeline: only a traced step does"
        texts.append(Text((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2, nothing, anchor="middle", colour=SOFT))
    return texts


def _legend(view: EstimateView, names: Sequence[str]) -> tuple[tuple[Box, ...], list[Text]]:
    """Categories in the order of the stack, the top one first, with what they hold at the peak."""
    held = {part.name: part.bytes for part in view.estimate.parts}
    x, y = RIGHT + 34, TOP + 10
    texts = [Text(x, y, "at the peak", colour=SOFT)]
    boxes = []
    for name in reversed(names):
        y += 38
        boxes.append(Box(x, y - 10, 20, 20, COLOURS[name]))
        texts.append(Text(x + 32, y, name))
        texts.append(Text(WIDTH - 40, y, format_bytes(held.get(name, 0)), anchor="end"))
    if names:
        y += 48
        boxes.append(Box(x, y - 1, 20, 3, INK))
        texts.append(Text(x + 32, y, "reserved"))
        texts.append(Text(WIDTH - 40, y, format_bytes(view.estimate.peak_reserved), anchor="end"))
    return tuple(boxes), texts


def _peak(view: EstimateView, columns: Sequence[Sample], scale: Scale) -> list[Text]:
    """Where the peak is, in words."""
    place = view.estimate.peak
    if not columns or place is None:
        return []
    del scale
    where = f"peak in {place.phase}"
    if place.module:
        where += f", {place.module}"
    if place.operation:
        where += f" ({place.operation.removeprefix('aten.').removesuffix('.default')})"
    return [Text(LEFT, BOTTOM + 58, where)]
