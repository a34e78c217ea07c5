"""The scene as SVG, written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from tonnage.reporting.plot.scene import HEIGHT, INK, LEFT, WIDTH, Area, Scene, Text


def draw_svg(scene: Scene) -> str:
    """The picture as a text that any browser shows."""
    return "\n".join([*_head(), *_body(scene), "</svg>", ""])


def _head() -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    yield ' font-family="Inter, Helvetica, Arial, sans-serif" font-size="19">'
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'


def _body(scene: Scene) -> Iterator[str]:
    for line in scene.lines:
        dashes = ' stroke-dasharray="6 5"' if line.is_dashed else ""
        yield (
            f'<line x1="{line.x1:.1f}" y1="{line.y1:.1f}" x2="{line.x2:.1f}" y2="{line.y2:.1f}" '
            f'stroke="{line.colour}"{dashes}/>'
        )
    for area in scene.areas:
        yield f'<path d="{_outline(area)}" fill="{area.colour}"><title>{area.name}</title></path>'
    if scene.curve:
        points = " ".join(f"{LEFT + column},{y:.1f}" for column, y in _corners(scene.curve))
        yield f'<polyline points="{points}" fill="none" stroke="{INK}" stroke-width="2">'
        yield "<title>reserved</title></polyline>"
    for box in scene.boxes:
        yield f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" fill="{box.colour}"/>'
    yield from map(_text, scene.texts)


def _outline(area: Area) -> str:
    """Along the upper edge, back along the lower one."""
    forth = [f"{LEFT + column},{y:.1f}" for column, y in _corners(area.tops)]
    back = [f"{LEFT + column},{y:.1f}" for column, y in reversed(_corners(area.bottoms))]
    return f"M{' L'.join([*forth, *back])} Z"


def _corners(edge: tuple[float, ...]) -> list[tuple[int, float]]:
    """The points of an edge without those in the middle of a level stretch."""
    last = len(edge) - 1
    return [
        (column, y)
        for column, y in enumerate(edge)
        if column in (0, last) or not y == edge[column - 1] == edge[column + 1]
    ]


def _text(text: Text) -> str:
    size = ' font-size="26" font-weight="600"' if text.is_title else ""
    return (
        f'<text x="{text.x:.1f}" y="{text.y:.1f}" dominant-baseline="central" text-anchor="{text.anchor}" '
        f'fill="{text.colour}"{size}>{escape(text.text)}</text>'
    )
