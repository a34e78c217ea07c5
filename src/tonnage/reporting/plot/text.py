"""Memory over a step in a terminal: a stack of signs, one per category."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.memory.estimate import CATEGORIES, Estimate, Sample
from tonnage.units import format_bytes

SIGNS = {
    "parameters": "█",
    "buffers": "▌",
    "gradients": "▓",
    "optimizer": "▒",
    "inputs": "i",
    "activations": "░",
    "temporaries": "+",
    "workspaces": "w",
    "other": "·",
}
"""Every category has a sign of its own: the picture reads the same without colour."""
MARGIN = 11


def draw_text(estimate: Estimate, width: int = 78, height: int = 10) -> list[str]:
    """Rows from the top down, each with what it stands for, and the phases below; nothing without samples."""
    samples = estimate.samples
    if not samples:
        return []
    columns = _columns(samples, width - MARGIN)
    highest = max(sample.allocated for sample in columns)
    stacks = [_stack(sample, highest, height) for sample in columns]
    rows = []
    for row in range(height, 0, -1):
        label = format_bytes(highest * row // height) if row in (height, height // 2) else ""
        line = "".join(stack[row - 1] if row <= len(stack) else " " for stack in stacks)
        rows.append(f"{label:>{MARGIN - 2}} │{line}".rstrip())
    rows.append(f"{'0':>{MARGIN - 2}} └{'─' * (width - MARGIN)}")
    rows.append(" " * MARGIN + _phases(columns))
    return rows


def _columns(samples: Sequence[Sample], count: int) -> list[Sample]:
    found = []
    for column in range(count):
        start = column * len(samples) // count
        end = max(start + 1, (column + 1) * len(samples) // count)
        found.append(max(samples[start:end], key=lambda sample: sample.allocated))
    return found


def _stack(sample: Sample, highest: int, height: int) -> str:
    """Signs from the bottom up; each layer ends where the sum up to it ends, so rounding never piles up."""
    signs, held = "", 0
    for name, size in zip(CATEGORIES, sample.parts, strict=True):
        held += size
        level = round(held * height / highest)
        signs += SIGNS[name] * (level - len(signs))
    return signs


def _phases(columns: Sequence[Sample]) -> str:
    """The phases' names under where each begins, those that fit."""
    line = ""
    for column, sample in enumerate(columns):
        begins = column == 0 or columns[column - 1].phase != sample.phase
        if begins and len(line) <= column:
            line = line.ljust(column) + sample.phase + " "
    return line[: len(columns)].rstrip()
