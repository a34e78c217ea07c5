"""`tonnage run`: plan it, ask, start it, keep it alive, and show it.

The run belongs to a supervisor, a process of its own: the terminal only looks at it. Ctrl-C leaves it running.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tonnage.cli.run_planning import Planned
    from tonnage.running.history import RunRecord
    from tonnage.store.store import Store


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--on", metavar="CONTEXT", help="Run on this cluster; without it, on this machine.")
@click.option("--context", metavar="NAME", help="A kubeconfig context, as in kubectl.")
@click.option("-n", "--namespace", default="", metavar="NS", help="Namespace, where RUN does not name one.")
@click.option("-y", "--yes", is_flag=True, help="Start without asking, for scripts.")
@click.option("--probe", type=click.IntRange(min=1), metavar="STEPS", help="Run so many steps and one checkpoint, then say what it needs.")  # fmt: skip  # noqa: E501
@click.option("--no-preflight", is_flag=True, help="On a cluster: do not check image, code, secrets and folders first.")  # fmt: skip  # noqa: E501
@click.option("--dry-run", is_flag=True, help="Show what would be done; nothing is started.")
@click.option("--detach", is_flag=True, help="Start it and return.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text",
    help="yaml: with --dry-run, exactly what would be applied.",
)  # fmt: skip
def run(  # noqa: PLR0913, PLR0917 - one parameter for each option
    run: str,
    on: str | None,
    context: str | None,
    namespace: str,
    yes: bool,
    probe: int | None,
    no_preflight: bool,
    dry_run: bool,
    detach: bool,
    output: str,
) -> int:
    """Run a training, and keep it alive until it is finished.

    On this machine by default: real processes under a memory limit. It is planned first; what cannot fit, or would
    lose work, is refused before it starts. If it dies, the cause decides what happens next: more memory after an
    OOM, a smaller step after a GPU OOM, the same again after a preemption, nothing after an error in the code; always
    from the newest checkpoint that is whole.

    \b
        tonnage run run.yaml              on this machine
        tonnage run run.yaml --on prod    on a cluster
        tonnage run run.yaml --probe 50   fifty steps, then the memory to ask for
    """
    from tonnage.cli.run_opening import open_store
    from tonnage.cli.run_planning import plan_run, refuse_what_cannot_run
    from tonnage.running.history import HERE

    if output == "yaml" and not dry_run:
        raise click.UsageError("-o yaml goes with --dry-run")
    planned = plan_run(run, on=on or context, namespace=namespace, probe=probe)
    if dry_run:
        from tonnage.cli.run_dry import show_dry_run

        return show_dry_run(planned, output)
    refuse_what_cannot_run(planned)
    store = open_store()
    store.refuse_taken(planned.run.metadata.name, planned.on or HERE)
    if output == "text":
        click.echo("\n".join([*planned.lines(), *planned.advice()]))
    if not _agreed(planned, yes):
        click.echo("  nothing was started", err=True)
        return 1
    if not planned.is_here:
        from tonnage.cli.run_cluster import bring_code, check_before

        planned = bring_code(planned)
        planned = planned if no_preflight else check_before(planned)
    try:
        return _start(planned, store, detach=detach, output=output)
    except KeyboardInterrupt:
        made = store.find(planned.run.metadata.name)
        if made is None or not made.is_active or made.place != (planned.on or HERE):
            raise  # it was not written down yet: there is nothing to leave
        from tonnage.cli.following import leave

        return leave(store, made)


def _agreed(planned: Planned, yes: bool) -> bool:
    """Ask, where there is somebody to ask; on this machine nothing is bought, so no answer is no obstacle."""
    if yes:
        return True
    if sys.stdin.isatty():
        return click.confirm("  start?", default=True, err=True)
    if planned.is_here:
        return True
    from tonnage.errors import Problem, UsageError

    what = "there is nobody to ask whether to start"
    raise UsageError(Problem(code="RUN-102", what=what, hint="add --yes to start without asking"))


def _start(planned: Planned, store: Store, *, detach: bool, output: str) -> int:
    from tonnage.cli.following import follow
    from tonnage.cli.run_starting import start

    record = start(planned, store)
    if detach:
        _say_started(store, record, output)
        return 0
    code = follow(
        store,
        record,
        output="quiet" if planned.probe and output == "json" else output,
        skip_first=len(planned.told),
    )
    if planned.probe:
        from tonnage.cli.run_probing import show_probe

        show_probe(store, record, output)
    return code


def _say_started(store: Store, record: RunRecord, output: str) -> None:
    if output == "json":
        import msgspec

        from tonnage.cli.run_viewing import look

        click.echo(msgspec.json.format(msgspec.json.encode(look(store, record.id)), indent=2))
        return
    click.echo(f"  started; `tonnage watch {record.name}` shows it")
