"""Questions tests ask of a trace."""

from __future__ import annotations

from collections import Counter

from tonnage.memory.trace import Operation, Trace


def operations(trace: Trace, text: str) -> list[Operation]:
    """The distinct operations whose name contains a text."""
    return [operation for operation in trace.operations if text in operation.name]


def calls_of(trace: Trace, text: str, *, phase: str | None = None, mark: str | None = None) -> int:
    """How many calls have a name that contains a text, in a phase, after a mark and before the next."""
    wanted = {number for number, operation in enumerate(trace.operations) if text in operation.name}
    return sum(
        trace.calls[call].operation in wanted
        and (phase is None or trace.phases[trace.calls[call].phase] == phase)
        for call in _calls(trace, mark)
    )


def category_bytes(trace: Trace, *, at_end: bool = False) -> Counter[str]:
    """Bytes by category at the peak of the steps, or at the end of the trace."""
    live: dict[int, int] = {}
    total, best, snapshot, is_stepping = 0, -1, {}, False
    for kind, argument in zip(trace.kinds, trace.arguments, strict=True):
        if kind == "m":
            is_stepping = is_stepping or trace.marks[argument].startswith("step")
        elif kind == "a":
            live[argument] = trace.blocks[argument].size
            total += live[argument]
            if is_stepping and total > best:
                best, snapshot = total, dict(live)
        elif kind == "f":
            total -= live.pop(argument)
    counted: Counter[str] = Counter()
    for block, size in (live if at_end else snapshot).items():
        counted[trace.categories[trace.blocks[block].category]] += size
    return counted


def sizes(trace: Trace, category: str) -> list[int]:
    """Sizes of the blocks of a category, in the order they were made."""
    return [block.size for block in trace.blocks if trace.categories[block.category] == category]


def peak_bytes(trace: Trace, mark: str) -> int:
    """The most bytes live at once between a mark and the next."""
    total = best = 0
    inside = False
    for kind, argument in zip(trace.kinds, trace.arguments, strict=True):
        if kind == "m":
            inside = trace.marks[argument] == mark
            best = max(best, total) if inside else best
        elif kind == "a":
            total += trace.blocks[argument].size
            best = max(best, total) if inside else best
        elif kind == "f":
            total -= trace.blocks[argument].size
    return best


def notes(trace: Trace, code: str) -> list[str]:
    """Texts of the notes of a kind."""
    return [note.text for note in trace.notes if note.code == code]


def _calls(trace: Trace, mark: str | None) -> list[int]:
    found, inside = [], mark is None
    for kind, argument in zip(trace.kinds, trace.arguments, strict=True):
        if kind == "m" and mark is not None:
            inside = trace.marks[argument] == mark
        elif kind == "c" and inside:
            found.append(argument)
    return found
