"""What the command prints, passed on unchanged and at once, and listened to on the way.

One thread per stream reads what is there and writes it on before anything else happens to it. Where standard output
and standard error are the same file, one pipe serves both, so their order stays exactly as printed.

A reader that has gone away or a full disk must not end a training: what can no longer be passed on is dropped and
counted, and the last lines are still kept for the record.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

from tonnage_agent.wrapping.lines import Lines

_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031  # fcntl names it since Python 3.10


class Pump:
    """One stream of the command, from a pipe to where it was meant to go."""

    def __init__(self, target: int, on_line: Callable[[str], None]) -> None:
        self.lines = Lines(on_line)
        self.dropped_bytes = 0
        self._target = target
        self._source, self.pipe = os.pipe()
        _enlarge(self._source)
        self._thread = threading.Thread(target=self._pass_on, daemon=True)

    def start(self) -> None:
        """Begin passing on; our copy of the command's end is closed, so that its end is the end."""
        os.close(self.pipe)
        self._thread.start()

    def abandon(self) -> None:
        """The command never started."""
        os.close(self.pipe)
        os.close(self._source)

    def join(self, seconds: float) -> bool:
        """Wait until everything printed was passed on; False when somebody still holds the stream."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _pass_on(self) -> None:
        while True:
            try:
                chunk = os.read(self._source, _PIPE_BYTES)
            except InterruptedError:
                continue
            except OSError:
                break
            if not chunk:
                break
            self.dropped_bytes += write_all(self._target, chunk)
            self.lines.feed(chunk)
        self.lines.close()
        os.close(self._source)


def write_all(target: int, chunk: bytes) -> int:
    """Write everything, waiting as long as it takes; the number of bytes nobody will ever take."""
    view = memoryview(chunk)
    while view:
        try:
            view = view[os.write(target, view) :]
        except InterruptedError:
            continue
        except BlockingIOError:
            select.select([], [target], [], 1.0)
        except OSError:  # no reader, no space: the training goes on
            return len(view)
    return 0


def same_file(one: int, other: int) -> bool:
    """Whether two descriptors lead to the same file, terminal or pipe."""
    try:
        first, second = os.fstat(one), os.fstat(other)
    except OSError:
        return False
    return (first.st_dev, first.st_ino, first.st_rdev) == (second.st_dev, second.st_ino, second.st_rdev)


def _enlarge(pipe: int) -> None:
    """A larger pipe, so that a fast writer seldom waits for us; as it is where the system says no."""
    try:
        import fcntl

        fcntl.fcntl(pipe, _F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, OSError):
        pass
