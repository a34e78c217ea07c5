"""`tonnage ps`, `logs`, `watch`, `stop` and `resume`: come back to a run."""

from __future__ import annotations

import datetime as dt
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tonnage.running.history import RunRecord
    from tonnage.store.store import Store

STOP_SECONDS = 300.0
"""So long after its grace period `stop` still waits for a run's end."""
TELL_SECONDS = 2.0
"""After so long `stop` says what it waits for."""
MOST_LISTED = 200


@click.command()
@click.option("-a", "--all", "everything", is_flag=True, help="Also runs that are over.")
@click.option("--on", metavar="CONTEXT", help="Runs on this cluster, whichever machine started them.")
@click.option("-n", "--namespace", default="", metavar="NS", help="With --on: one namespace only.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def ps(everything: bool, on: str | None, namespace: str, output: str) -> int:
    """List the runs started from this machine, with who keeps them alive."""
    if on is not None:
        from tonnage.cli.runs_cluster import list_runs_on

        return list_runs_on(on, namespace, everything=everything, output=output)
    from tonnage.cli.run_listing import listed
    from tonnage.cli.run_opening import open_store
    from tonnage.cli.run_viewing import look
    from tonnage.reporting.run import line_of

    store = open_store()
    now = dt.datetime.now(dt.UTC)
    found = store.runs(active_only=not everything, limit=MOST_LISTED)
    lines = [line_of(look(store, run.id), now) for run in found]
    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(lines), indent=2))
        return 0
    if not lines:
        click.echo(
            "no run is active" + ("" if everything else "; `tonnage ps --all` shows those that are over")
        )
        return 0
    click.echo("\n".join(listed(lines, numbered=everything)))
    if len(found) == MOST_LISTED:
        click.echo(f"the newest {MOST_LISTED}; `tonnage watch NAME#NUMBER` finds any run")
    return 0


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--attempt", type=click.IntRange(min=1), help="An earlier attempt; the last one by default.")
@click.option("--node", type=click.IntRange(min=0), help="One node's lines only.")
@click.option("--tail", type=click.IntRange(min=1), help="The last lines only.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run is over.")
def logs(run: str, attempt: int | None, node: int | None, tail: int | None, follow: bool) -> int:
    """Print what a run has printed, all nodes or one."""
    from tonnage.cli.run_logs import show_logs
    from tonnage.cli.run_opening import find_run, open_store
    from tonnage.supervising.opening import place_of

    store = open_store()
    record = find_run(store, run)
    place = place_of(record, store.folder)
    return show_logs(store, record.id, place, attempt=attempt, node=node, tail=tail, go_on=follow)


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--once", is_flag=True, help="Show it once and return.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def watch(run: str, once: bool, output: str) -> int:
    """Show a run live: steps, memory, money, what is safe, and what happened."""
    from tonnage.cli.following import follow
    from tonnage.cli.run_opening import find_run, open_store
    from tonnage.cli.run_text import live_lines, moment_lines
    from tonnage.cli.run_viewing import look

    store = open_store()
    record = find_run(store, run)
    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(look(store, record.id)), indent=2))
        return 0
    if once or not record.is_active:
        view = look(store, record.id)
        now = dt.datetime.now(dt.UTC)
        block = live_lines(view, now) if record.is_active else []
        told = [line for moment in view.moments for line in moment_lines(moment)]
        click.echo("\n".join([*told, *block]))
        return 0 if record.is_active or view.state == "finished" else 1
    return follow(store, record)


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--no-wait", is_flag=True, help="Do not wait until it has saved and ended.")
def stop(run: str, no_wait: bool) -> int:
    """End a run; it gets its grace period to save, and can be resumed."""
    from tonnage.cli.run_opening import find_run, open_store

    store = open_store()
    record = find_run(store, run)
    if not record.is_active:
        click.echo(f"{record.name} is over already: {record.state}")
        return 0
    store.set_wish(record.id, "stop")
    with suppress(KeyboardInterrupt):  # the wish is written down: it ends without us
        record = record if no_wait else _await_end(store, record)
    click.echo(f"{record.name}: {record.state if not record.is_active else 'asked to stop'}"
               + (f", {record.why}" if record.why else ""))  # fmt: skip
    return 0


def _await_end(store: Store, record: RunRecord) -> RunRecord:
    """The run once it has ended, or when it has had more than its time; says what it waits for."""
    from tonnage.figures import duration

    grace, asked, is_told = record.launching.grace_seconds, time.monotonic(), False
    while (record := store.run(record.id)).is_active:
        waited = time.monotonic() - asked
        if waited > grace + STOP_SECONDS:
            break
        if waited > TELL_SECONDS and not is_told:
            click.echo(f"{record.name} has up to {duration(grace)} to save and end", err=True)
            is_told = True
        time.sleep(0.2)
    return record


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--on", metavar="CONTEXT", help="A run that another machine started on this cluster.")
@click.option("-n", "--namespace", default="", metavar="NS", help="With --on: its namespace.")
@click.option("--detach", is_flag=True, help="Return at once.")
def resume(run: str, on: str | None, namespace: str, detach: bool) -> int:
    """Go on with a run that was stopped, suspended or failed, from its newest checkpoint.

    Limits (deadline, budget, maxWait, retries, onOOM, onForecast) are read again from its document.
    What it trains is not.
    With --on, also with a run that another machine started and that nobody keeps alive any more.
    """
    from tonnage.cli.following import follow, leave
    from tonnage.cli.run_opening import find_run, open_store
    from tonnage.cli.run_resuming import take_new_limits
    from tonnage.errors import Problem, RefusedError
    from tonnage.supervising.detaching import keep_environment, start_supervisor

    store = open_store()
    if on is not None:
        from tonnage.cli.runs_cluster import take_over

        record = take_over(store, run, on, namespace)
        keep_environment(store.folder, record.id)
        start_supervisor(store, record.id)
    else:
        record = find_run(store, run)
    if record.is_active:
        click.echo(f"{record.name} is running already")
        return 0 if detach else follow(store, record, skip_first=len(store.moments(record.id)))
    if record.state == "finished":
        what = f"{record.name} has finished: there is nothing to resume"
        raise RefusedError(Problem(code="RUN-106", what=what, hint="`tonnage run` begins anew"))
    told = len(store.moments(record.id))
    store.reopen(record.id)
    try:
        take_new_limits(store, record, dt.datetime.now(dt.UTC))
        keep_environment(store.folder, record.id)
        start_supervisor(store, record.id)
    except KeyboardInterrupt:
        return leave(store, record)
    if detach:
        click.echo(f"{record.name} goes on; `tonnage watch {record.name}` shows it")
        return 0
    return follow(store, store.run(record.id), skip_first=told)
