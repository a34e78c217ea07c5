"""The way back to the training script: a small file in which the agent asks it to save, or to stop.

Replaced in one move; the SDK looks at it once a step. A script without the SDK never looks, and gets SIGTERM later.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress


class Control:
    """The file and what it asks for; it never raises, an unwritable one asks nothing."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problem = ""
        self._saves, self._stop = 0, ""
        self._write()

    def ask_save(self) -> None:
        """Ask for one checkpoint, now."""
        self._saves += 1
        self._write()

    def ask_stop(self, reason: str) -> None:
        """Ask it to save and end; the first reason stays."""
        self._stop = self._stop or reason
        self._write()

    def close(self) -> None:
        with suppress(OSError):
            os.unlink(self.path)

    def _write(self) -> None:
        if not self.path:
            return
        asked = {"save": self._saves, **({"stop": self._stop} if self._stop else {})}
        try:
            with open(f"{self.path}.part", "w", encoding="ascii") as file:
                json.dump(asked, file)
            os.replace(f"{self.path}.part", self.path)
            self.problem = ""
        except OSError as error:
            self.problem = f"control file {self.path}: {error.strerror}"
