"""What a run on a cluster needs beside its plan: what its objects are made from, and its code as one archive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tonnage.cli.run_planning import Planned
    from tonnage.kube.running.place import KubePlace
    from tonnage.running.history import Launching
    from tonnage.shipping import Archive


def with_rendering(launching: Launching, planned: Planned) -> Launching:
    """The launching with what objects are made from, as JSON: attempts are made when the plan is long gone."""
    import msgspec

    from tonnage.manifests.facts import facts_of
    from tonnage.manifests.planned import first_size, planned_of

    assert planned.snapshot is not None
    decided = planned_of(planned.plan, planned.snapshot)
    facts = facts_of(planned.snapshot, planned.plan)
    rendering: dict[str, Any] = {
        "planned": msgspec.to_builtins(decided),
        "facts": msgspec.to_builtins(facts),
        "hasPython": planned.has_python,
    }
    return replace(launching, rendering=rendering, first_size=first_size(decided, planned.run))


def pack_code(planned: Planned) -> Archive | None:
    """The working folder as it is now; None where the document ships none."""
    from tonnage.shipping import files_to_ship, pack

    code = planned.run.spec.code
    if code is None:
        return None
    return pack(files_to_ship(planned.folder / code.path, code.ignore))


def place_for(planned: Planned) -> tuple[KubePlace, Launching]:
    """The cluster as a place for a run that is not written down yet: for looking ahead."""
    import datetime as dt
    from pathlib import Path

    from tonnage.kube.running.place import KubePlace
    from tonnage.running.history import RunRecord
    from tonnage.running.launching import launching_of
    from tonnage.supervising.on_cluster import open_context, setting_of

    now = dt.datetime.now(dt.UTC)
    name = planned.run.metadata.name
    launching = launching_of(
        planned.plan,
        planned.run,
        document="",
        file=planned.file,
        folder=str(planned.folder),
        lineage=f"{name}-{now:%Y%m%d-%H%M%S}",
    )
    launching = with_rendering(launching, planned)
    archive = pack_code(planned)
    record = RunRecord(id=0, name=name, place=planned.on or "", created=now, launching=launching)
    client, target = open_context(planned.on or "")
    setting = setting_of(record, planned.run, target, Path("/nonexistent"))
    return KubePlace(client, replace(setting, code=archive.content if archive else None)), launching


def check_before(planned: Planned) -> Planned:
    """Preflight, one line each; raise RefusedError where something is wrong. The run as it is then to be started."""
    from contextlib import closing

    import click

    from tonnage.errors import Problem, RefusedError

    place, _ = place_for(planned)
    with closing(place):
        report = place.preflight()
    for each in report.checks:
        mark = {True: "ok", False: "FAILED", None: "skipped"}[each.ok]
        click.echo(f"  preflight {mark:<8}{each.name}: {each.text}")
    if report.failed:
        hint = "put it right, or start without asking: --no-preflight"
        raise RefusedError(
            *(Problem(code="RUN-122", what=f"{each.name}: {each.text}", where=planned.file, hint=hint)
              for each in report.failed)
        )  # fmt: skip
    return replace(planned, has_python=report.has_python)
