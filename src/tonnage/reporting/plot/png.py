"""The scene as PNG: a palette of a few dozen colours, columns of pixels, and zlib.

Pixels are kept column by column, one byte each: a layer of the stack is one slice assignment per column, and a row
of the file is every `HEIGHT`-th byte. Edges between a layer and what lies under it are blended in eight steps.
"""

from __future__ import annotations

import struct
import zlib

from tonnage.reporting.plot.font import LEVELS, fonts
from tonnage.reporting.plot.scene import HEIGHT, INK, LEFT, WIDTH, Area, Line, Scene, Text

PAPER = "#ffffff"
BLENDS = 8


def draw_png(scene: Scene) -> bytes:
    """The picture as a file's bytes."""
    canvas = _Canvas()
    for line in scene.lines:
        canvas.line(line)
    for area in scene.areas:
        canvas.area(area)
    canvas.curve(scene.curve)
    for box in scene.boxes:
        canvas.fill(round(box.x), round(box.y), round(box.width), round(box.height), box.colour)
    for text in scene.texts:
        canvas.text(text)
    return canvas.encode()


class _Canvas:
    """Pixels as places in a palette that grows as colours are asked for."""

    def __init__(self) -> None:
        self.palette: dict[str, int] = {PAPER: 0}
        self.pixels = bytearray(WIDTH * HEIGHT)

    def colour(self, name: str, share: float = 1.0, under: str = PAPER) -> int:
        """The palette's place of a colour, laid over another by this share."""
        mixed = name if share >= 1 else _mix(name, under, share)
        return self.palette.setdefault(mixed, len(self.palette))

    def fill(self, x: int, y: int, width: int, height: int, name: str) -> None:
        strip = bytes([self.colour(name)]) * height
        for column in range(x, x + width):
            start = column * HEIGHT + y
            self.pixels[start : start + height] = strip

    def line(self, line: Line) -> None:
        """Level or upright, one pixel wide."""
        place = self.colour(line.colour)
        if line.y1 == line.y2:
            row = round(line.y1)
            start, end = round(line.x1) * HEIGHT + row, round(line.x2) * HEIGHT + row
            self.pixels[start:end:HEIGHT] = bytes([place]) * len(range(start, end, HEIGHT))
            return
        column = round(line.x1) * HEIGHT
        for row in range(round(line.y1), round(line.y2)):
            if not line.is_dashed or row % 11 < 6:
                self.pixels[column + row] = place

    def area(self, area: Area) -> None:
        """One layer, lower edge sharp (the layer below ends there), upper edge blended with the paper."""
        full = self.colour(area.colour)
        blends = [self.colour(area.colour, step / BLENDS) for step in range(BLENDS)]
        for column, (top, bottom) in enumerate(zip(area.tops, area.bottoms, strict=True)):
            first, last = int(top) + 1, int(bottom) + 1
            if bottom - top < 0.05:
                continue
            start = (LEFT + column) * HEIGHT
            self.pixels[start + first : start + last] = bytes([full]) * max(0, last - first)
            self.pixels[start + first - 1] = blends[int((first - top) * BLENDS) % BLENDS]

    def curve(self, edge: tuple[float, ...]) -> None:
        """A line through the columns, two pixels thick, steps drawn upright."""
        place = self.colour(INK)
        before = edge[0] if edge else 0.0
        for column, y in enumerate(edge):
            low, high = sorted((round(before), round(y)))
            start = (LEFT + column) * HEIGHT
            self.pixels[start + low : start + high + 2] = bytes([place]) * (high + 2 - low)
            before = y

    def text(self, text: Text) -> None:
        font = fonts()[1 if text.is_title else 0]
        width = font.width(text.text)
        x = round(text.x - {"start": 0.0, "middle": width / 2, "end": float(width)}[text.anchor])
        y = round(text.y - font.height / 2)
        inks = [self.colour(text.colour, level / LEVELS) for level in range(LEVELS + 1)]
        columns = font.columns(text.text)
        for column in range(min(width, WIDTH - x)):
            start = (x + column) * HEIGHT + y
            for row in range(font.height):
                level = columns[column * font.height + row]
                if level:
                    self.pixels[start + row] = inks[level]

    def encode(self) -> bytes:
        rows = b"".join(b"\0" + self.pixels[row::HEIGHT] for row in range(HEIGHT))
        palette = b"".join(bytes.fromhex(colour[1:]) for colour in self.palette)
        header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)
        chunks = [(b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _mix(over: str, under: str, share: float) -> str:
    """One colour laid over another."""
    pairs = zip(bytes.fromhex(over[1:]), bytes.fromhex(under[1:]), strict=True)
    return "#" + bytes(round(a * share + b * (1 - share)) for a, b in pairs).hex()
