"""Look at a run until it is over or the reader has seen enough.

On a terminal a block below the lines is drawn again each second; in a pipe or a log a line is added when something
happens, and one now and then to show that it lives.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
import time
from typing import TYPE_CHECKING

import click

from tonnage.cli.columns import width, wrapped
from tonnage.cli.run_text import live_lines, moment_lines, progress_line
from tonnage.cli.run_viewing import Eye
from tonnage.errors import InternalError

if TYPE_CHECKING:
    from tonnage.running.history import RunRecord
    from tonnage.store.store import Store

LOOK_SECONDS = 1.0
REVIVALS = 3
QUIET_SECONDS = 15.0
"""Between two lines of progress where there is no terminal."""


def follow(store: Store, record: RunRecord, *, output: str = "text", skip_first: int = 0) -> int:
    """Show a run until it is over; Ctrl-C leaves it running. Exit code 0 where it finished."""
    if output in ("json", "quiet"):
        try:
            return _wait(store, record, print_it=output == "json")
        except KeyboardInterrupt:
            return leave(store, record)
    block = _Block(sys.stdout.isatty() and os.environ.get("TERM", "") != "dumb")
    eye = Eye(store, record.id)
    seen, said = skip_first, time.monotonic()
    reviving = _Reviving(store, record.id)
    try:
        while True:
            view = eye.look()
            new = [line for moment in view.moments[seen:] for line in moment_lines(moment)]
            seen = len(view.moments)
            now = dt.datetime.now(dt.UTC)
            is_over = view.state in ("finished", "failed", "stopped", "suspended")
            if not block.is_live and not new and time.monotonic() - said > QUIET_SECONDS:
                new = [progress_line(view, now)]
            if new:
                said = time.monotonic()
            block.draw(new, [] if is_over else [*live_lines(view, now), *_leaving(view.name)])
            if is_over:
                return 0 if view.state == "finished" else 1
            if not view.is_supervised and not reviving.again():
                block.draw([_lost(view.name)], [])
                return InternalError.exit_code
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        block.draw([], [])
        return leave(store, record)


def leave(store: Store, record: RunRecord) -> int:
    """Whoever goes leaves the run to its supervisor; one that has none yet gets it."""
    from tonnage.supervising.detaching import is_supervised, start_supervisor

    if store.run(record.id).is_active and not is_supervised(store.folder, record.id):
        start_supervisor(store, record.id)
    click.echo(f"  left running; `tonnage watch {record.name}` comes back to it", err=not sys.stdout.isatty())
    return 0


def _wait(store: Store, record: RunRecord, *, print_it: bool) -> int:
    import msgspec

    eye = Eye(store, record.id)
    while (view := eye.look()).state not in ("finished", "failed", "stopped", "suspended"):
        time.sleep(LOOK_SECONDS)
    if print_it:
        click.echo(msgspec.json.format(msgspec.json.encode(view), indent=2))
    return 0 if view.state == "finished" else 1


def _leaving(name: str) -> list[str]:
    words = f"Ctrl-C leaves it running; come back with `tonnage watch {name}`"
    return [f"  {line}"[: width() - 1] for line in wrapped(words, width() - 4)]


def _lost(name: str) -> str:
    return (
        f"  nobody keeps {name} alive: its supervisor failed {REVIVALS} times; it goes on by itself. "
        f"`tonnage watch {name}` tries again"
    )


class _Reviving:
    """A run whose supervisor was lost gets another one, a few times."""

    def __init__(self, store: Store, run_id: int) -> None:
        self._store, self._run_id = store, run_id
        self._left = REVIVALS

    def again(self) -> bool:
        from tonnage.supervising.detaching import start_supervisor

        self._left -= 1
        if self._left < 0:
            return False
        start_supervisor(self._store, self._run_id)
        return True


class _Block:
    """Lines that are drawn over again at the bottom of a terminal."""

    def __init__(self, is_live: bool) -> None:
        self.is_live = is_live
        self._height = 0

    def draw(self, above: list[str], block: list[str]) -> None:
        """Add lines that stay above, and draw the block anew."""
        if not self.is_live:
            for line in above:
                click.echo(line)
            return
        up = f"\x1b[{self._height}F" if self._height else ""
        click.echo(up + "\x1b[J" + "\n".join([*above, *block]) + ("\n" if above or block else ""), nl=False)
        self._height = len(block)
