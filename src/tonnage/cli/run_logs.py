"""What a run printed, and what it prints: read on from where one stopped, so that long logs cost no more than short.

Attempts follow each other; the last lines of one are shown before the first of the next.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tonnage.figures import plural

if TYPE_CHECKING:
    from tonnage.running.port import RunPlace, TailedPlace
    from tonnage.store.store import Store

LOOK_SECONDS = 1.0


def show_logs(
    store: Store,
    run_id: int,
    place: RunPlace,
    *,
    attempt: int | None,
    node: int | None,
    tail: int | None,
    go_on: bool,
) -> int:
    """Print them; with `go_on` until the run is over, or the named attempt is."""
    from tonnage.errors import Problem, RefusedError
    from tonnage.running.port import TailedPlace
    from tonnage.supervising.opening import run_of

    record = store.run(run_id)
    number = attempt or (record.current.number if record.current else 0)
    if not number:
        click.echo("it has not started yet", err=True)
        return 0
    if attempt is not None and attempt > len(record.attempts):
        what = f"{record.name} has had {plural(len(record.attempts), 'attempt')}, not {attempt}"
        raise RefusedError(Problem(code="RUN-107", what=what, hint="without --attempt the last one is shown"))
    nodes = run_of(record).spec.nodes.low
    if node is not None and node >= nodes:
        what = f"{record.name} has {'1 node' if nodes == 1 else f'{nodes} nodes'}, counted from 0; there is no {node}"
        raise RefusedError(Problem(code="RUN-108", what=what, hint="without --node all are shown"))
    reader = _Tail(place, node) if isinstance(place, TailedPlace) else _Whole(place, node)
    _print(reader.first(number, tail))
    while go_on:
        record = store.run(run_id)
        current = record.current.number if record.current else number
        is_over = not record.is_active or (attempt is not None and current > number)
        _print(reader.more(number, is_last=is_over or current > number))
        if is_over:
            break
        if current > number:
            number = number + 1
            click.echo(f"--- attempt {number}", err=True)
            _print(reader.first(number, None))
            continue
        time.sleep(LOOK_SECONDS)
    return 0


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(line)


class _Tail:
    """Reads on."""

    def __init__(self, place: RunPlace, node: int | None) -> None:
        from tonnage.running.port import TailedPlace

        assert isinstance(place, TailedPlace)
        self._tailed: TailedPlace = place
        self._place, self._node = place, node
        self._seen: dict[int, int] = {}

    def first(self, number: int, tail: int | None) -> Iterator[str]:
        self._seen = {}
        if tail is None:
            yield from self.more(number, is_last=False)
            return
        self._seen = self._tailed.log_ends(number)
        yield from self._place.logs(number, node=self._node, tail=tail)

    def more(self, number: int, *, is_last: bool) -> Iterator[str]:
        while True:
            lines, seen = self._tailed.new_logs(number, self._seen, node=self._node, to_the_end=is_last)
            is_all = seen == self._seen
            self._seen = seen
            yield from lines
            if is_all:
                return


class _Whole:
    """Asks for everything and shows what is new: for places that cannot be read on."""

    def __init__(self, place: RunPlace, node: int | None) -> None:
        self._place, self._node = place, node
        self._count = 0

    def first(self, number: int, tail: int | None) -> Iterator[str]:
        lines = self._place.logs(number, node=self._node)
        self._count = len(lines)
        yield from lines if tail is None else lines[-tail:]

    def more(self, number: int, *, is_last: bool) -> Iterator[str]:
        del is_last
        lines = self._place.logs(number, node=self._node)
        yield from lines[self._count :]
        self._count = len(lines)
