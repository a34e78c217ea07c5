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
    from tonnage.manifests.larger import with_larger
    from tonnage.manifests.planned import first_size, planned_of
    from tonnage.planning.sources import no_price

    assert planned.snapshot is not None
    decided = planned_of(planned.plan, planned.snapshot)
    price_of = planned.situation.sources.price_of if planned.situation is not None else no_price
    facts = facts_of(planned.snapshot, planned.plan, price_of=price_of)
    rendering: dict[str, Any] = {
        "planned": msgspec.to_builtins(decided),
        "facts": msgspec.to_builtins(facts),
        "hasPython": planned.has_python,
    }
    if planned.code:
        rendering["code"] = planned.code
    return replace(
        launching,
        rendering=rendering,
        first_size=first_size(decided, planned.run),
        refits=with_larger(launching.refits, facts.larger),
    )


def pack_code(planned: Planned) -> Archive | None:
    """The working folder as it is now; None where the document ships none."""
    from tonnage.shipping import files_to_ship, pack

    code = planned.run.spec.code
    if code is None:
        return None
    return pack(files_to_ship(planned.folder / code.path, code.ignore))


def bring_code(planned: Planned, *, only_say: bool = False) -> Planned:
    """The run with its code where its pods can get it; `only_say` brings nothing."""
    return replace(planned, code=_deliver(planned, pack_code(planned), only_say=only_say))


def _deliver(planned: Planned, archive: Archive | None, *, only_say: bool) -> dict[str, str]:
    """Bring code that is too large for a ConfigMap to where the run saves; empty where a ConfigMap will do."""
    import os

    from tonnage.manifests.naming import digest
    from tonnage.shipping.delivering import way_for

    code = planned.run.spec.code
    if archive is None or code is None:
        return {}
    way = way_for(planned.run, archive)
    if way.place is None:
        return {}
    hashed = digest(archive.content)
    key = way.key_of(hashed)
    if way.kind == "bucket":
        from tonnage.shipping.bucket import upload

        if not only_say:
            upload(str(way.place), key, archive.content, os.environ)
        return {"digest": hashed, "mount": code.mount, "bucket": str(way.place), "key": key}
    path = f"{way.place.path.strip('/')}/{key}".lstrip("/")
    if not only_say:
        _carry(planned, archive.content, hashed, path, way.place.name)
    return {"digest": hashed, "mount": code.mount, "claim": way.place.name, "path": path}


def _carry(planned: Planned, content: bytes, hashed: str, path: str, claim: str) -> None:
    from tonnage.kube.running.api import RunApi
    from tonnage.kube.running.carrying import carry
    from tonnage.supervising.on_cluster import open_context

    run = planned.run
    client, _ = open_context(planned.on or "")
    with client:
        api = RunApi(client, run.metadata.namespace or planned.plan.workload.namespace)
        labels = {"app.kubernetes.io/managed-by": "tonnage", "app.kubernetes.io/component": "code"}
        carry(api, content, digest=hashed, claim=claim, path=path, image=run.spec.image or "", labels=labels)


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
    archive = None if planned.code else pack_code(planned)
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
