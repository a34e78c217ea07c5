"""The answer of `tonnage run --probe`: peaks by phase, and what to ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tonnage.figures import about_time
from tonnage.memory.series import Point
from tonnage.reporting.run.probing import ProbeView, view_probe
from tonnage.units import format_bytes

if TYPE_CHECKING:
    from tonnage.running.history import RunRecord
    from tonnage.store.store import Store


def show_probe(store: Store, record: RunRecord, output: str) -> None:
    """Print what the last attempt of a probe taught."""
    from tonnage.supervising.opening import place_of

    attempt = store.run(record.id).current
    if attempt is None:
        return
    place = place_of(record, store.folder)
    records = place.evidence(attempt.number).records
    series: dict[int, list[Point]] = {}
    for node, sample in place.samples(attempt.number, {}):
        series.setdefault(node, []).append(Point(sample.when, sample.needed_bytes))
    view = view_probe(list(records.values()), series)
    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(view), indent=2))
        return
    click.echo("\n".join(probe_lines(view)))


def probe_lines(view: ProbeView) -> list[str]:
    """What was measured, then what to ask for."""
    if view.peak is None or view.propose is None:
        return [_line("probe", "nothing was measured: the command ended before the first sample")]
    lines = [_line("probe", text) for text in _made(view)]
    width = max(len(phase.name) for phase in view.phases)
    held = [f"{phase.name:<{width}}  {format_bytes(phase.bytes):>9}" for phase in view.phases]
    lines += [
        _line("RAM", f"{held[0]}   the most held in each phase"),
        *(_line("", text) for text in held[1:]),
    ]
    if view.growth_per_step:
        lines.append(
            _line("", f"it grew by {format_bytes(view.growth_per_step)} per step{_until_when(view)}")
        )
    if view.gpu_peak:
        of = f" of {format_bytes(view.gpu_total)}" if view.gpu_total else ""
        lines.append(_line("GPU", f"{format_bytes(view.gpu_peak)}{of}"))
    lines.append(_line("ask for", f"memory: {view.propose // 2**20}Mi   request and limit: {view.reason}"))
    return lines


def _made(view: ProbeView) -> list[str]:
    """Steps and the save, each with its time."""
    pace = f" of {about_time(view.seconds_per_step)}" if view.seconds_per_step else ""
    made = [f"{view.steps:,} steps{pace}" if view.steps else "no steps were told"]
    if view.save_seconds is not None and view.checkpoint_bytes is not None:
        made.append(
            f"a checkpoint of {format_bytes(view.checkpoint_bytes)}, saved in {about_time(view.save_seconds)}"
        )
    else:
        made.append("no checkpoint was told")
    return [", ".join(made)] if len(", ".join(made)) <= 66 else made


def _until_when(view: ProbeView) -> str:
    if view.at_the_end is None or view.total is None:
        return ": if that goes on, no limit is enough"
    return f": {format_bytes(view.at_the_end)} after all {view.total:,}, if that goes on"


def _line(label: str, text: str) -> str:
    return f"  {label:<10}{text}"
