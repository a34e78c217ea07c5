"""An estimate as text: the verdict first, the figures that decide, what the peak consists of, and who made it."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.cli.columns import heading, mark, table, width, wrapped
from tonnage.memory.estimate import Estimate, LargeTensor
from tonnage.reporting.estimate import EstimateView, Fit, shares, short_operation
from tonnage.reporting.plot.text import SIGNS, draw_text
from tonnage.reporting.text import one_line
from tonnage.units import format_bytes

LABEL = 12
FEW = 4
BAR = 34


def draw(view: EstimateView, *, show_all: bool = False) -> list[str]:
    """The view as lines."""
    estimate = view.estimate
    lines = [*_verdict(view), ""]
    lines += _gpus(view.fits) if len(view.fits) > 1 else []
    lines += [*_figures(estimate), *_time(estimate), ""]
    lines += _peak(estimate)
    plot = draw_text(estimate, min(width(), 100) - 2, 8)
    lines += ["", *(f"  {line}" for line in plot)] if plot else []
    lines += _largest(estimate.largest, show_all=show_all)
    lines += _remarks(view, show_all=show_all)
    return lines


def _verdict(view: EstimateView) -> list[str]:
    """What, on what, and whether it fits; then how it is known. Two lines where one is too long."""
    estimate = view.estimate
    kind = (
        "exact: your step was traced" if estimate.mode == "exact" else "an estimate: the shape was worked out"
    )
    if not view.fits:
        said = f"{format_bytes(estimate.required)} of GPU memory"
        return [
            f"{heading(view.subject)}   {said}",
            f"  {kind}, as on an {estimate.gpu}; --gpu asks about one",
        ]
    fit = view.fits[0]
    plain = "fits" if fit.fits else "does not fit"
    figures = f"{format_bytes(fit.required)} needed of {format_bytes(fit.usable)} usable"
    word = mark(plain, "good" if fit.fits else "bad")
    if len(f"{view.subject}   {fit.gpu}   {plain}   {figures}") > width():
        return [heading(view.subject), f"  {fit.gpu}   {word}   {figures}", f"  {kind}"]
    return [f"{heading(view.subject)}   {fit.gpu}   {word}   {figures}", f"  {kind}"]


def _gpus(fits: Sequence[Fit]) -> list[str]:
    rows = [("GPU", "needed", "usable", "left over", "")]
    for fit in fits:
        word = "fits" if fit.fits else "does not fit"
        note = "" if fit.is_measured else " (usable estimated)"
        rows.append(
            (
                fit.gpu,
                format_bytes(fit.required),
                format_bytes(fit.usable),
                format_bytes(fit.left),
                word + note,
            )
        )
    return [*table(rows, right=(1, 2, 3)), ""]


def _figures(estimate: Estimate) -> list[str]:
    sure = format_bytes(estimate.guard.bytes)
    often = "once" if estimate.retries == 1 else f"{estimate.retries} times"
    retries = f", giving memory back {often}" if estimate.retries else ""
    rows = [
        ("plan with", estimate.required, f"expected {format_bytes(estimate.expected)} + guard {sure}"),
        ("cap", estimate.smallest_cap, f"the least the allocator trains under{retries}"),
        ("outside it", estimate.outside_allocator, _sum(estimate)),
        ("guard", estimate.guard.bytes, estimate.guard.reason),
        ("allocated", estimate.peak_allocated, "most that tensors hold at once"),
        ("reserved", estimate.peak_reserved, "most the allocator holds when nothing presses it"),
    ]
    lines: list[str] = []
    for name, size, text in rows:
        said = wrapped(text, width() - LABEL - 14)
        lines.append(f"  {name:<{LABEL}}{format_bytes(size):>9}  {said[0]}")
        lines += [" " * (LABEL + 13) + line for line in said[1:]]
    return lines


def _sum(estimate: Estimate) -> str:
    return ", ".join(f"{part.name} {format_bytes(part.bytes)}" for part in estimate.outside)


def _time(estimate: Estimate) -> list[str]:
    seconds = estimate.step_seconds
    if seconds is None:
        return []
    text = f"per step, 80 % sure between {_seconds(seconds.p10)} and {_seconds(seconds.p90)}"
    return [f"  {'time':<{LABEL}}{_seconds(seconds.p50):>9}  {text}"]


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _peak(estimate: Estimate) -> list[str]:
    """Where the peak is, and its parts as bars of the signs the plot uses."""
    place = estimate.peak
    where = ""
    if place is not None:
        where = f"in {place.phase}"
        where += f", {place.module}" if place.module else ""
        where += f" ({short_operation(place.operation)})" if place.operation else ""
    lines = [f"  {heading('at the peak')}  {one_line(where, width() - 16)}".rstrip()]
    for part, share in shares(estimate.parts):
        bar = SIGNS.get(part.name, "█") * max(1, round(share * BAR))
        lines.append(f"    {part.name:<13}{format_bytes(part.bytes):>9}  {share * 100:3.0f} %  {bar}")
        if estimate.mode == "shape" and part.formula:
            # What was worked out shows how; what was traced needs no formula.
            lines += [" " * 17 + line for line in wrapped(f"= {part.formula}", width() - 17, indent="  ")]
    if estimate.phases:
        peaks = "   ".join(f"{phase.name} {format_bytes(phase.peak_allocated)}" for phase in estimate.phases)
        lines += [f"    {line}" for line in wrapped(f"by phase: {peaks}", width() - 4, indent="  ")]
    return lines


def _largest(tensors: Sequence[LargeTensor], *, show_all: bool) -> list[str]:
    if not tensors:
        return []
    shown = tensors if show_all else tensors[:FEW]
    rows = [
        (
            format_bytes(tensor.bytes),
            tensor.category,
            "x".join(map(str, tensor.shape)) or "-",
            tensor.dtype,
            f"{tensor.module} {short_operation(tensor.operation)}".strip(),
        )
        for tensor in shown
    ]
    title = "largest tensors then" if show_all else "largest tensors then (--all: ten)"
    return ["", f"  {heading(title)}", *table(rows, right=(0,), indent=4)]


def _remarks(view: EstimateView, *, show_all: bool) -> list[str]:
    notes = list(view.estimate.notes)
    if view.why_not_exact:
        notes.insert(0, f"the step could not be traced: {view.why_not_exact}")
    if view.fixed:
        notes.append(
            f"build() fixes {', '.join(view.fixed)}; name them as keyword arguments to let them vary"
        )
    if view.estimate.mode == "shape":
        notes.append("--step traces your own code: exact, and it knows which module is to blame")
    few = notes if show_all else notes[:FEW]
    lines = [line for note in few for line in wrapped(f"- {note}", width() - 4, indent="  ")]
    if len(few) < len(notes):
        lines.append(f"{len(notes) - len(few)} more: --all")
    return ["", *(f"  {line}" for line in lines)] if lines else []
