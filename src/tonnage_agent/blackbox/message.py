"""The termination message: at most 4,096 bytes that Kubernetes itself carries out of a dead pod.

The file is bind-mounted by the kubelet, so it cannot be replaced, only written over. While the command runs it always
has the same length, one page, padded with spaces and written by one call: a SIGKILL finds the old text or the new,
never half of each, and writing over the same page needs no space on a full disk. At the end the padding goes.
"""

from __future__ import annotations

import os

from tonnage_agent.contract import MESSAGE_LIMIT


class TerminationMessage:
    """The file, held open; it never raises, `problem` says why nothing is written."""

    def __init__(self, path: str) -> None:
        self.problem = ""
        self._file: int | None = None
        if not path:
            return
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            self.problem = f"termination message {path}: {error.strerror}"

    def write(self, content: bytes) -> None:
        """Put this in place of what was there."""
        if self._file is None:
            return
        try:
            os.pwrite(self._file, content[:MESSAGE_LIMIT].ljust(MESSAGE_LIMIT), 0)
            self.problem = ""
        except OSError as error:
            self.problem = f"termination message: {error.strerror}"

    def finish(self, content: bytes) -> None:
        """The last words, without padding."""
        self.write(content)
        if self._file is None:
            return
        try:
            if not self.problem:
                os.ftruncate(self._file, min(len(content), MESSAGE_LIMIT))
            os.close(self._file)
        except OSError as error:
            self.problem = f"termination message: {error.strerror}"
        self._file = None
