"""`tonnage snapshot`: a cluster at a glance, or all of it in a file.

The terminal shows the view; `-o json` prints the saved form, whole and without secrets, so that `>
monday.json` makes a file every command accepts with --on. `-o summary` is the view as JSON. `--watch` keeps
the view up to date by following changes instead of asking again.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tonnage.cli.target import Looking, refuse_missing_namespace, target_options

if TYPE_CHECKING:
    from tonnage.cluster.snapshot import Snapshot

REDRAW_SECONDS = 2.0
SPOOLED_BYTES = 64 * 2**20


@click.command()
@target_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "summary"]),
    default="text",
    help="json: the whole snapshot; summary: the view as JSON.",
)
@click.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also save it here."
)
@click.option("-w", "--watch", is_flag=True, help="Stay, and keep the view up to date.")
def snapshot(looking: Looking, output: str, save: Path | None, watch: bool) -> None:
    """Show or save everything a cluster knows at this instant.

    A saved snapshot (`--save monday.json.gz`) holds no environment values and no contents of Secrets or
    ConfigMaps; every command takes it with --on, on any machine.
    """
    if watch:
        _refuse_watching_files(output, save)
        asyncio.run(_watch(looking))
        return
    if output == "json" and save is None:
        print_all(looking)
        return
    if save is not None:
        looking = _save(looking, save)
        click.echo(f"saved {save}", err=True)
        if output == "json":
            click.echo(json.dumps({"saved": str(save)}))
            return
    _show(looking.cluster.observe(looking.namespace), output)


def _show(found: Snapshot, output: str) -> None:
    from tonnage.reporting.snapshot import view_snapshot

    refuse_missing_namespace(found)
    view = view_snapshot(found)
    if output == "summary":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(view), indent=2))
        return
    from tonnage.cli.snapshot_text import draw

    click.echo("\n".join(draw(view)))


def _save(looking: Looking, path: Path) -> Looking:
    """Write the file, then look at the file: what is shown is what was saved."""
    import datetime as dt

    from tonnage.kube.saved import SavedCluster, whole_file

    with whole_file(path) as file:
        looking.cluster.save(file, looking.namespace)
    return Looking(SavedCluster.open(path, now=dt.datetime.now(dt.UTC)), looking.namespace)


def print_all(looking: Looking) -> None:
    """Print it when it is whole: half a snapshot and then an error would be no JSON at all."""
    import shutil
    import tempfile

    with tempfile.SpooledTemporaryFile(max_size=SPOOLED_BYTES) as whole:
        looking.cluster.save(whole, looking.namespace)
        whole.seek(0)
        shutil.copyfileobj(whole, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _refuse_watching_files(output: str, save: Path | None) -> None:
    from tonnage.errors import Problem, UsageError

    if output != "text" or save is not None:
        what = "--watch shows a view; it neither saves nor prints JSON"
        raise UsageError(Problem(code="SNAP-008", what=what, hint="leave out --watch, or -o and --save"))


async def _watch(looking: Looking) -> None:
    """Follow all there is to follow, and redraw when something changed."""
    from tonnage.kube.following import Follower

    follower = Follower(looking.cluster, looking.namespace)
    async for found in follower.snapshots(every=REDRAW_SECONDS):
        if sys.stdout.isatty():
            click.clear()
        _show(found, "text")
