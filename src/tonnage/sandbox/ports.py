"""Free ports for sandboxes that run side by side.

Ports lie below 30000: NodePorts begin there and the kernel hands out ephemeral ports above 32768, so nothing
else should ask for these. A port counts as taken when something listens on it or when another sandbox has it
in its list, whether or not that sandbox listens yet; one lock on the folder of all sandboxes keeps two starts
from choosing the same.
"""

from __future__ import annotations

import errno
import json
import random
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox.locking import locked
from tonnage.sandbox.places import Places

_FIRST, _LAST = 20100, 29900


def reserve(places: Places, names: Iterable[str]) -> dict[str, int]:
    """One port for each name, kept for this sandbox; the same name gives the same port again."""
    with locked(places.root.parent):
        mine = read_ports(places)
        missing = [name for name in names if name not in mine]
        if missing:
            free = _free_ports(places.root.parent)
            mine |= {name: next(free) for name in missing}
            _write(places, mine)
    return {name: mine[name] for name in names}


def read_ports(places: Places) -> dict[str, int]:
    """The ports this sandbox has been given."""
    try:
        found: dict[str, int] = json.loads(places.ports.read_text())
        return found
    except (OSError, ValueError):
        return {}


def _write(places: Places, ports: dict[str, int]) -> None:
    fresh = places.ports.with_suffix(".new")
    fresh.write_text(json.dumps(ports))
    fresh.replace(places.ports)


def _free_ports(sandboxes: Path) -> Iterator[int]:
    taken = {port for root in sandboxes.iterdir() for port in read_ports(Places(root)).values()}
    # Start anywhere: another user's sandboxes have a list of their own, which we cannot see.
    start = random.randrange(_FIRST, _LAST)
    for port in [*range(start, _LAST), *range(_FIRST, start)]:
        if port not in taken and is_free(port):
            yield port
    raise EnvironmentProblem(
        Problem(
            code="BOX-011",
            what="no free port is left for a sandbox",
            expected=f"a free TCP port between {_FIRST} and {_LAST}",
            hint="take down sandboxes that are no longer used: tonnage sandbox down --all",
        )
    )


def is_free(port: int) -> bool:
    """Whether nothing listens on this port of any local address."""
    with _probe() as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError as problem:
            if problem.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
        return True


@contextmanager
def _probe() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Otherwise a port in TIME_WAIT from a client of a past sandbox would look taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield probe
