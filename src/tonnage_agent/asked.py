"""What whoever keeps the run alive asks of a running agent: a checkpoint, or another memory limit to watch.

Two ways lead here: a file beside the run on the same machine (TONNAGE_ASKED), and `POST /save` on the agent's port
from elsewhere. A wish for a checkpoint is passed on to the script, and not more often than a tenth of the time would
go into saving: the port is open to whoever reaches it, and a training must not be saved to a standstill.
"""

from __future__ import annotations

import json
import os

SAVE_SECONDS, SAVE_SHARE = 30.0, 10.0
"""Between two checkpoints that are asked for: at least this, and this many times what a save takes."""


class Asked:
    """The newest wishes; it never raises, a file that cannot be read asks nothing."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._saves_in_file = self._saves_by_port = self._saves_done = 0
        self._not_before = 0.0
        self.memory_limit: int | None = None
        """Bytes; None where nobody has asked for another one."""

    def ask_save(self) -> None:
        """From the port's thread."""
        self._saves_by_port += 1

    def look(self) -> None:
        """Read the file again if it was replaced."""
        if not self._path:
            return
        try:
            stat = os.stat(self._path)
            seen = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if seen == self._seen:
                return
            with open(self._path, encoding="utf-8") as file:
                values = json.load(file)
        except (OSError, ValueError):
            return
        self._seen = seen
        saves, limit = (
            values.get(name) if isinstance(values, dict) else None for name in ("save", "memoryLimit")
        )
        self._saves_in_file = saves if isinstance(saves, int) else self._saves_in_file
        self.memory_limit = limit if isinstance(limit, int) and limit > 0 else self.memory_limit

    def save_is_due(self, now: float, save_seconds: float | None) -> bool:
        """Whether to pass on a wish for a checkpoint now; one that comes too soon waits, several become one."""
        wished = self._saves_in_file + self._saves_by_port
        if wished <= self._saves_done or now < self._not_before:
            return False
        self._saves_done = wished
        self._not_before = now + max(SAVE_SECONDS, SAVE_SHARE * (save_seconds or 0.0))
        return True
