"""Does it fit: GPU memory, the changes that would make it, the rest of the pod, and the GPUs it strands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tonnage.figures import about_dollars
from tonnage.planning.answers import Change, NeedPart, Waiting
from tonnage.reporting.plan.figures import GIB, bare_gib, cores, gib, large, percent
from tonnage.reporting.plan.row import LABELS, MOODS, Row
from tonnage.reporting.plan.views import GpuMemoryView, NeedView, PlanView, SharesView, TimeView
from tonnage.units import format_bytes

ONE_LINE = 64
"""What stands beside a label in eighty columns."""
_PART_NAMES = {"parameter": "weights", "parameters": "weights"}


def memory_rows(view: PlanView) -> Iterator[Row]:
    memory = view.gpu_memory
    if memory.required is None:
        if view.run.gpus:
            can = "; a Run can (tonnage init --from)" if memory.note.endswith("what it trains") else ""
            yield Row("GPU memory", (f"not known: {memory.note}{can}",), "unknown", "quiet")
        return
    usable = " per GPU"
    if memory.usable is not None:
        is_small = memory.required < GIB <= memory.usable  # then each figure needs its own unit
        usable = f" of {gib(memory.usable) if is_small else bare_gib(memory.usable)} usable per GPU"
    lines = [f"{gib(memory.required)} needed{usable}"]
    if parts := _memory_parts(memory):
        lines.append(parts)
    lines.append(_how(memory))
    if memory.own:
        used = ", ".join(f"{name} {value}" for name, value in memory.own.items())
        lines.append(f"build() itself uses {used}: the document does not say")
    yield Row("GPU memory", tuple(lines), memory.state, MOODS[memory.state])


def change_rows(view: PlanView) -> Iterator[Row]:
    label = "Also needed" if view.verdict.reasons else "Smallest fix"
    for change in view.verdict.changes:
        yield Row(label, (_change(change),))
        label = "and"
        same = [other for other in view.options if other.answers == change.answers]
        for other in same[:1]:
            yield Row("    or", (_change(other),))


def need_row(need: NeedView, time: TimeView) -> Row:
    show = cores if need.name == "cpu" else large
    amount = need.granted if need.needed is None else need.needed
    text = show(amount) if amount is not None else "not known"
    if need.needed is None and need.name != "shm":
        text += " asked for"
    elif need.asked is not None and need.needed is not None and need.asked != need.needed:
        text += f" needed, {show(need.asked)} asked for"
    if need.there is not None and need.name != "shm":
        text += f" of {show(need.there)} per node"
        if need.share is not None:
            text += f" ({percent(need.share)}{_beside(need)})"
    lines = [text]
    if need.text:
        joined = f"{text}: {need.text}"
        lines = [joined] if len(joined) <= 58 else [text, need.text]
    if need.name == "cpu":
        lines += [_throttled(wait) for wait in time.waits if wait.cause == "cpu"]
    return Row(LABELS[need.name], tuple(lines), need.state, MOODS[need.state])


def sum_rows(view: PlanView) -> Iterator[Row]:
    """Every need part by part: the amount, the field or variable that changes it, and the formula."""
    if view.gpu_memory.parts:
        yield Row("GPU memory", tuple(_part_lines(view.gpu_memory.parts, format_bytes)))
    for need in view.needs:
        if need.parts:
            show = cores if need.name == "cpu" else format_bytes
            yield Row(LABELS[need.name], tuple(_part_lines(need.parts, show)))


def _part_lines(parts: Sequence[NeedPart], show: Callable[[float], str]) -> Iterator[str]:
    for part in parts:
        yield f"{part.name} {show(part.amount)}" + (f"   {part.flag}" if part.flag else "")
        if part.formula:
            yield f"= {part.formula}"


def share_rows(shares: SharesView | None) -> Iterator[Row]:
    if shares is None or not shares.stranded:
        return
    name = LABELS.get(shares.scarcest, shares.scarcest)
    price = f", {about_dollars(shares.stranded_per_hour)} per hour" if shares.stranded_per_hour else ""
    text = (
        f"{shares.stranded} GPU{'' if shares.stranded == 1 else 's'}{price}: it takes "
        f"{percent(shares.shares[shares.scarcest])} of the {name} with {percent(shares.gpus)} of the GPUs"
    )
    yield Row("Strands", (text,), "warning", "warning")


def _memory_parts(memory: GpuMemoryView) -> str:
    """The largest parts, as many as one line holds: in GiB without saying so, where all of it is in GiB."""
    text = ""
    for part in sorted(memory.parts, key=lambda part: -part.amount):
        is_bare = (memory.required or 0) >= GIB and part.amount >= GIB / 20
        size = bare_gib(part.amount) if is_bare else gib(part.amount)
        more = f"{_PART_NAMES.get(part.name, part.name)} {size}"
        if not part.amount or len(text) + len(more) + 2 > ONE_LINE:
            break
        text = f"{text}  {more}" if text else more
    return text


def _how(memory: GpuMemoryView) -> str:
    assert memory.required is not None
    assert memory.expected is not None
    guard = (memory.required / memory.expected - 1) if memory.expected else 0.0
    if memory.mode == "exact":
        return f"exact: your step was traced; the device must hold {gib(memory.expected)}, +{guard * 100:.1f} % guard"
    return f"estimated from the shape: {gib(memory.expected)} expected, +{guard * 100:.0f} % guard"


def _change(change: Change) -> str:
    return f"{change.what} -> {change.effect}" if change.effect else change.what


def _throttled(wait: Waiting) -> str:
    """What too few cores cost."""
    most = "up to " if wait.is_bound else ""
    price = f", {about_dollars(wait.per_hour)} per hour" if wait.per_hour is not None else ""
    return (
        f"the GPUs wait {most}{percent(wait.idle_share)} of the time for cores{price}; {wait.remedy} ends it"
    )


def _beside(need: NeedView) -> str:
    """The share of GPUs beside the share of this: always for RAM, else where it is less."""
    if need.gpu_share is None or need.share is None:
        return ""
    is_telling = need.name == "memory" or need.share > need.gpu_share
    return f", GPU share {percent(need.gpu_share)}" if is_telling else ""
