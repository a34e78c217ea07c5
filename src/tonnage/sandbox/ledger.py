"""What a sandbox has put into the world, written down before it is made.

`down` must leave nothing behind, also when `up` was killed between two instructions. So each thing outside
the sandbox's own folder (a process, mount, cgroup, network link) is recorded first and made second; undoing
something that was never made is harmless, forgetting something that was made is not. The file only grows, one
JSON object per line, synced to disk; a torn last line belongs to a thing that was not made yet and is
ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One thing: its kind, what identifies it on this machine, and what undoing it may need."""

    kind: str
    id: str
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ledger:
    """The list of one sandbox, kept in its folder."""

    path: Path

    def record(self, kind: str, id: str, **details: str) -> Entry:
        """Write the entry down; only then may the thing be made."""
        entry = json.dumps({"kind": kind, "id": id, **({"details": details} if details else {})})
        # A new line before it too: the last writer may have died in the middle of its own.
        line = f"\n{entry}\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return Entry(kind, id, details)

    def entries(self) -> list[Entry]:
        """Everything recorded, oldest first."""
        return list(self._read())

    def _read(self) -> Iterator[Entry]:
        if not self.path.exists():
            return
        for line in self.path.read_text(errors="replace").splitlines():
            try:
                found = json.loads(line)
                yield Entry(found["kind"], found["id"], found.get("details", {}))
            except (ValueError, KeyError, TypeError):
                continue  # torn by a crash: what it names was not made
