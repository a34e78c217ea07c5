"""GPUs per node: `8`, `8 x h100`, `0.5`, `24GB..80GB`, `2 x 40GB..`, or `{count, type, memory}`.

A memory range asks for any GPU whose memory lies in it. A count below one asks for part of a GPU:
Kubernetes cannot give that on `nvidia.com/gpu`, so it is kept as asked and answered later with a slice or a
shared GPU, not refused here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from tonnage.spec.literals.refusals import LiteralError, shown
from tonnage.spec.literals.sizes import PATTERN as SIZE_PATTERN
from tonnage.spec.literals.sizes import Size

CODE = "DOC-014"
EXPECTED = "GPUs like 8, 8 x h100, 0.5 or 24GB..80GB"
TYPE_PATTERN = r"[a-zA-Z][a-zA-Z0-9]*([-._][a-zA-Z0-9]+)*"
COUNT_PATTERN = r"\d+(\.\d{1,3})?"
MEMORY_PATTERN = rf"({SIZE_PATTERN})(\s?\.\.\s?({SIZE_PATTERN})?)?"
PATTERN = rf"{COUNT_PATTERN}|({COUNT_PATTERN}\s?x\s?)?({TYPE_PATTERN}|{MEMORY_PATTERN})"
MOST = 1024

_COUNT = re.compile(r"\d{1,4}(\.\d{1,3}0*)?", re.ASCII)
_TIMES = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)\s*(?:x|\*|\u00d7)\s*(\S.*)", re.ASCII | re.IGNORECASE)
_TYPE = re.compile(TYPE_PATTERN, re.ASCII)
_COLON = re.compile(r"([a-z][\w.-]*):(\d+)", re.ASCII | re.IGNORECASE)
_REVERSED = re.compile(r"([a-z][\w.-]*)\s*(?:x|\*)\s*(\d+)|(\d+)\s+([a-z][\w.-]*)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Gpus:
    """How many GPUs each node gives, and which will do."""

    milli: int
    """Thousandths of a GPU: 500 is half of one."""
    type: str | None = None
    min_memory: Size | None = None
    max_memory: Size | None = None

    @property
    def count(self) -> int | Decimal:
        whole, rest = divmod(self.milli, 1000)
        return Decimal(self.milli) / 1000 if rest else whole

    @property
    def is_fraction(self) -> bool:
        return self.milli % 1000 != 0

    @classmethod
    def parse(cls, value: object) -> Gpus:
        """Read any of the forms above.

        >>> str(Gpus.parse("8xH100")), str(Gpus.parse(0.5)), str(Gpus.parse({"count": 2, "memory": "40GB.."}))
        ('8 x h100', '0.5', '2 x 40GB..')
        """
        if isinstance(value, dict):
            return _from_parts(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return cls(_milli(value))
        text = value.strip() if isinstance(value, str) else ""
        if _COUNT.fullmatch(text):
            return cls(_milli(text))
        times = _TIMES.fullmatch(text)
        milli = _milli(times[1]) if times else 1000
        kind = times[2].strip() if times else text
        # Every GPU type has a digit in its name; a bare word without one (`auto`, `eight`) is something else.
        if _TYPE.fullmatch(kind) and not _is_size(kind) and (times or re.search(r"\d", kind)):
            return cls(milli, kind.lower())
        memory = _memory(kind)
        if memory is None:
            raise LiteralError(
                CODE, f"{shown(value)} is not a number of GPUs", expected=EXPECTED, hint=_hint(text)
            )
        return cls(milli, None, *memory)

    def __str__(self) -> str:
        kind = self.type if self.type else self.memory_text()
        if self.type and self.min_memory is not None:
            kind = f"{self.type} {self.memory_text()}"  # only for people: the document form is the mapping
        if kind is None:
            return str(self.count)
        return kind if self.milli == 1000 and not self.type else f"{self.count} x {kind}"

    def memory_text(self) -> str | None:
        """`24GB..80GB`, `40GB..`, or nothing."""
        if self.min_memory is None:
            return None
        if self.max_memory is None:
            return f"{self.min_memory}.."
        return (
            str(self.min_memory)
            if self.min_memory == self.max_memory
            else f"{self.min_memory}..{self.max_memory}"
        )

    def as_written(self) -> int | float | str | dict[str, int | float | str]:
        """The form a document carries: a number, a text, or the mapping if type and memory are both given."""
        number = int(self.count) if not self.is_fraction else float(self.count)
        if self.type is not None and self.min_memory is not None:
            return {"count": number, "type": self.type, "memory": self.memory_text() or ""}
        return number if self.type is None and self.min_memory is None else str(self)


def _from_parts(parts: dict[str, object]) -> Gpus:
    unknown = [name for name in parts if name not in ("count", "type", "memory")]
    if unknown:
        raise LiteralError(
            CODE,
            f"{shown(unknown[0])} is not a part of gpus",
            expected="count, type and memory",
            hint=EXPECTED,
        )
    milli = _milli(parts["count"]) if "count" in parts else 1000
    kind, memory = parts.get("type"), (None, None) if "memory" not in parts else _memory(parts["memory"])
    if kind is not None and not (isinstance(kind, str) and _TYPE.fullmatch(kind)):
        raise LiteralError(CODE, f"{shown(kind)} is not a GPU type", expected="a type like h100 or a100-80")
    if memory is None:
        raise LiteralError(
            CODE, f"{shown(parts['memory'])} is not GPU memory", expected="memory like 24GB..80GB"
        )
    return Gpus(milli, kind.lower() if kind else None, *memory)


def _milli(value: object) -> int:
    text = value.strip() if isinstance(value, str) else None
    if isinstance(value, int) and not isinstance(value, bool):
        text = str(value) if 0 <= value < 10_000 else ""
    if isinstance(value, float):
        text = format(value, "f") if abs(value) < 10_000 else ""
    if not text or not _COUNT.fullmatch(text):
        raise LiteralError(CODE, f"{shown(value)} is not a number of GPUs", expected=EXPECTED)
    milli = int(Decimal(text) * 1000)
    if milli > 1000 and milli % 1000:
        raise LiteralError(
            CODE,
            f"{Decimal(text).normalize():f} GPUs: above one, only whole GPUs exist",
            expected="a whole number, or a part of one GPU like 0.5",
            hint=f"try {milli // 1000 + 1}",
        )
    if milli > MOST * 1000:
        raise LiteralError(CODE, f"{text} GPUs in one node", expected=f"at most {MOST} per node; see nodes")
    return milli


def _memory(value: object) -> tuple[Size, Size | None] | None:
    text = value.strip() if isinstance(value, str) else ""
    low, dots, high = text.partition("..")
    try:
        smallest = Size.parse(low.strip())
        largest = Size.parse(high.strip()) if high.strip() else (None if dots else smallest)
    except LiteralError:
        return None
    if largest is not None and largest < smallest:
        raise LiteralError(
            "DOC-020",
            f"{largest} is below {smallest}",
            expected="the smaller first",
            hint=f"try {largest}..{smallest}",
        )
    return smallest, largest


def _is_size(text: str) -> bool:
    return _memory(text) is not None


def _hint(text: str) -> str | None:
    if colon := _COLON.fullmatch(text):
        return f"try {colon[2]} x {colon[1].lower()}"
    if turned := _REVERSED.fullmatch(text):
        count, kind = (turned[2], turned[1]) if turned[1] else (turned[3], turned[4])
        return f"try {count} x {kind.lower()}"
    return None
