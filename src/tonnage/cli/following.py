"""Look at a run until it is over or the reader has seen enough.

On a terminal a block below the lines is drawn again each second; in a pipe or a log a line is added when something
happens, and one now and then to show that it lives.
"""

from __future__ import annotations

import datetime as dt
import sys
import time
from typing import TYPE_CHECKING

import click

from tonnage.cli.run_text import live_lines, moment_line, progress_line
from tonnage.cli.run_viewing import look

if TYPE_CHECKING:
    from tonnage.running.history import RunRecord
    from tonnage.store.store import Store

LOOK_SECONDS = 1.0
QUIET_SECONDS = 15.0
"""Between two lines of progress where there is no terminal."""


def follow(store: Store, record: RunRecord, *, output: str = "text", skip_first: int = 0) -> int:
    """Show a run until it is over; Ctrl-C leaves it running. Exit code 0 where it finished."""
    if output == "json":
        return _wait_and_print(store, record)
    block = _Block(sys.stdout.isatty())
    seen, said = skip_first, time.monotonic()
    try:
        while True:
            view = look(store, record.id)
            new = [moment_line(moment) for moment in view.moments[seen:]]
            seen = len(view.moments)
            now = dt.datetime.now(dt.UTC)
            is_over = view.state in ("finished", "failed", "stopped", "suspended")
            if not block.is_live and not new and time.monotonic() - said > QUIET_SECONDS:
                new = [progress_line(view, now)]
            if new:
                said = time.monotonic()
            block.draw(new, [] if is_over else [*live_lines(view, now), _leaving(view.name)])
            if is_over:
                return 0 if view.state == "finished" else 1
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        block.draw([], [])
        click.echo(f"  left running; `tonnage watch {record.name}` comes back to it")
        return 0


def _wait_and_print(store: Store, record: RunRecord) -> int:
    import msgspec

    while (view := look(store, record.id)).state not in ("finished", "failed", "stopped", "suspended"):
        time.sleep(LOOK_SECONDS)
    click.echo(msgspec.json.format(msgspec.json.encode(view), indent=2))
    return 0 if view.state == "finished" else 1


def _leaving(name: str) -> str:
    return f"  Ctrl-C leaves it running; come back with `tonnage watch {name}`"


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
