"""The samples file: one JSON line each, newest last, never larger than it may be.

When it has grown to its limit, every second one of the older half is dropped and the file is replaced in one move; so
the end stays dense and the beginning gets thinner, for as long as the run takes. Peaks do not suffer: they are kept
exactly, in the record.
"""

from __future__ import annotations

from tonnage_agent.blackbox.places import Folder, Place

LIMIT_BYTES = 8 << 20


class Samples:
    """Lines that go to one file of a place."""

    def __init__(self, place: Place, name: str, limit: int = LIMIT_BYTES) -> None:
        self._place, self._name, self._limit = place, name, limit

    def append(self, lines: list[str]) -> None:
        """Add lines; raises OSError."""
        size = self._place.append(self._name, "".join(f"{line}\n" for line in lines).encode())
        if size > self._limit and isinstance(self._place, Folder):
            self._place.replace(self._name, thinned(self._place.read(self._name), self._limit), durable=False)


def thinned(content: bytes, limit: int) -> bytes:
    """Without every second line of the older half, again until it is at most half of the limit."""
    lines = [line for line in content.split(b"\n") if line]
    while len(lines) > 2 and sum(map(len, lines)) + len(lines) > limit // 2:
        older = len(lines) // 2
        lines = lines[:older:2] + lines[older:]
        if older < 4:
            lines = lines[-2:]
    return b"".join(line + b"\n" for line in lines)
