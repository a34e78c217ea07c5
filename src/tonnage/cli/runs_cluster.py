"""`tonnage ps --on` and `tonnage resume --on`: runs that other machines started on a cluster."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tonnage.kube.running.finding import FoundRun
    from tonnage.running.history import RunRecord
    from tonnage.store.store import Store


def list_runs_on(on: str, namespace: str, *, everything: bool, output: str) -> int:
    """Print the runs of a cluster, with who keeps each alive."""
    from tonnage.cli.columns import table
    from tonnage.kube.running.finding import NOBODY, runs_on
    from tonnage.reporting.text import format_age
    from tonnage.supervising.on_cluster import open_context

    client, _ = open_context(on)
    with client:
        found = [run for run in runs_on(client, namespace) if everything or run.kept.state == "active"]
    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode([_plain(run) for run in found]), indent=2))
        return 0
    if not found:
        click.echo("no run is active there" + ("" if everything else "; --all shows those that are over"))
        return 0
    now = dt.datetime.now(dt.UTC)
    rows = [("run", "namespace", "state", "attempt", "age", "kept alive by")]
    for run in found:
        keeper = run.keeper or (NOBODY if run.kept.state == "active" else "-")
        attempt = str(len(run.kept.attempts))
        rows.append((run.name, run.namespace, run.state, attempt, format_age(now - run.kept.created), keeper))
    click.echo("\n".join(table(rows, right=(3, 4))))
    return 0


def take_over(store: Store, name: str, on: str, namespace: str) -> RunRecord:
    """The run as this machine's own from now on; one this store knows already is found again."""
    from tonnage.supervising.adopting import adopt, find_on
    from tonnage.supervising.on_cluster import open_context

    client, _ = open_context(on)
    with client:
        found = find_on(client, name, namespace)
        for known in store.runs(limit=200):
            if known.launching.lineage == found.kept.launching.lineage:
                return known
        return adopt(store, client, found, on)


def _plain(run: FoundRun) -> dict[str, Any]:
    kept = run.kept
    return {
        "name": run.name,
        "namespace": run.namespace,
        "state": run.state,
        "keptAliveBy": run.keeper,
        "created": kept.created,
        "attempts": list(kept.attempts),
        "why": kept.why,
    }
