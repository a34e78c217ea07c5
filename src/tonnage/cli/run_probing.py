"""The answer of `tonnage run --probe`: peaks by phase, and what to ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tonnage.figures import about_time
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
    records = place_of(record, store.folder).evidence(attempt.number).records
    view = view_probe(list(records.values()))
    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(view), indent=2))
        return
    click.echo("\n".join(_lines(view)))


def _lines(view: ProbeView) -> list[str]:
    if view.peak is None or view.propose is None:
        return ["  probe     nothing was measured: the command ended before the first sample"]
    lines = [f"  probe     {view.steps or 'no'} steps", "            most RAM held in each phase"]
    lines += [f"              {phase.name:<12}{format_bytes(phase.bytes):>10}" for phase in view.phases]
    lines.append(f"  RAM       memory: {view.propose // 2**20}Mi   request and limit: {view.reason}")
    if view.growth_per_step:
        lines.append(
            f"            it grew by {format_bytes(view.growth_per_step)} per step: if that goes on, no limit is enough"
        )
    if view.gpu_peak:
        of = f" of {format_bytes(view.gpu_total)}" if view.gpu_total else ""
        lines.append(f"  GPU       {format_bytes(view.gpu_peak)}{of}")
    if view.seconds_per_step:
        lines.append(f"  step      {about_time(view.seconds_per_step)}")
    if view.save_seconds is not None and view.checkpoint_bytes is not None:
        size = format_bytes(view.checkpoint_bytes)
        lines.append(f"  save      {about_time(view.save_seconds)} for a checkpoint of {size}")
    return lines
