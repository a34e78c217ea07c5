"""From a stream of bytes to the last lines a person would have seen.

A stream may be a gigabyte a second, one endless line, or no text at all; memory and time here stay bounded anyway:

- a line is cut at `LINE_BYTES`, the rest of it is dropped;
- a carriage return starts its line over, as on a terminal: a progress bar is one line, its newest state;
- more than `BYTES_PER_SECOND` for long (`BURST_BYTES` at once) is not read line by line: of what came since only the
  end is kept, for the record.

Every line that is read goes to `on_line` (steps, phases, ranks); the last ones are kept.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable

LINE_BYTES = 2048
KEPT_LINES = 100
BYTES_PER_SECOND = 1 << 17
BURST_BYTES = 1 << 20
_END_BYTES = 1 << 16
_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_BREAKS = re.compile(rb"\r?\n|\r")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


class Lines:
    """The last lines of one stream; used by one thread, its `last` by any."""

    def __init__(self, on_line: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._on_line, self._clock = on_line, clock
        self._kept: deque[tuple[float, str]] = deque(maxlen=KEPT_LINES)
        self._fed_at = clock()
        self._open = b""
        self._after_return = False
        self._unread: bytes | None = None
        self._allowance, self._counted_at = float(BURST_BYTES), clock()

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the stream."""
        self._fed_at = self._clock()
        if not self._may_read(len(chunk)):
            # Too fast to follow: remember the end only, and read it when there is time or somebody asks.
            self._unread = chunk[-_END_BYTES:] if len(chunk) >= _END_BYTES else self._joined(chunk)
            return
        self._catch_up()
        self._read(chunk)

    def last(self) -> list[tuple[float, str]]:
        """The last lines, oldest first, an unfinished one included, with the clock's time of each."""
        kept, unfinished, unread = list(self._kept.copy()), self._open, self._unread
        if unread is not None:
            kept.extend((self._fed_at, _shown(part)) for part in _BREAKS.split(unread)[1:-1] if part)
        elif unfinished:
            del kept[-1 if self._after_return else len(kept) :]
            kept.append((self._fed_at, _shown(unfinished)))
        return kept[-KEPT_LINES:]

    def close(self) -> None:
        """The stream has ended: what is unfinished is a line too."""
        self._catch_up()
        if self._open:
            self._finish(self._open)
            self._open = b""

    def _joined(self, chunk: bytes) -> bytes:
        return ((self._unread or b"") + chunk)[-_END_BYTES:]

    def _may_read(self, size: int) -> bool:
        now = self._fed_at
        self._allowance += (now - self._counted_at) * BYTES_PER_SECOND
        self._allowance, self._counted_at = min(self._allowance, BURST_BYTES), now
        if size > self._allowance:
            return False
        self._allowance -= size
        return True

    def _catch_up(self) -> None:
        unread, self._unread = self._unread, None
        if unread is not None:
            self._open, self._after_return = b"", False
            _, _, whole = unread.partition(b"\n")
            self._read(whole)

    def _read(self, chunk: bytes) -> None:
        text = self._open + chunk
        start = 0
        for found in _BREAKS.finditer(text):
            part, returned = text[start : found.start()], found.group() == b"\r"
            if returned and found.end() == len(text):
                break  # perhaps half of "\r\n": the next bytes tell
            if part or not self._after_return:
                self._finish(part)
            self._after_return = returned
            start = found.end()
        self._open = text[start : start + LINE_BYTES]
        if text.endswith(b"\r") and not self._open.endswith(b"\r"):
            self._open += b"\r"

    def _finish(self, part: bytes) -> None:
        line = _shown(part)
        if self._after_return and self._kept:
            self._kept.pop()
        self._kept.append((self._fed_at, line))
        self._on_line(line)


def _shown(part: bytes) -> str:
    """Text without colours and control characters; bytes that are no text become replacement characters."""
    cut = part[:LINE_BYTES]
    if b"\x1b" in cut:
        cut = _ESCAPES.sub(b"", cut)
    return _UNPRINTABLE.sub("", cut.decode("utf-8", "replace")).rstrip()
