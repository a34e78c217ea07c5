"""Several writers as real processes, advanced one system call at a time in an order that chance decides.

Each child stops before every call that touches a file (the same calls as in `killing`) until it is told to go on, so
a seed is one exact interleaving, and a child can be killed between any two calls.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from killing import CALLS, WATCHED


class Stepped:
    """One child that waits before every call."""

    def __init__(self, work: Callable[[], None]) -> None:
        ready_reader, ready = os.pipe()
        go, go_sender = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(ready_reader)
            os.close(go_sender)
            _stepping(work, ready, go)
        os.close(ready)
        os.close(go)
        self._ready, self._go = ready_reader, go_sender
        self.is_alive = bool(os.read(self._ready, 1))

    def advance(self) -> None:
        """Let it make one call, and come to the next."""
        os.write(self._go, b".")
        self.is_alive = bool(os.read(self._ready, 1))

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.is_alive = False

    def end(self) -> int:
        """Exit status, once it is over."""
        os.close(self._go)
        os.close(self._ready)
        return os.waitpid(self.pid, 0)[1]


def interleave(works: Sequence[Callable[[], None]], chance: random.Random, kills: float = 0.0) -> list[int]:
    """Run all to their end, or to their death, which comes with this probability before a call."""
    children = [Stepped(work) for work in works]
    while alive := [child for child in children if child.is_alive]:
        child = chance.choice(alive)
        for _ in range(chance.randrange(1, 12)):  # runs of calls: both fine and coarse interleavings
            if chance.random() < kills:
                child.kill()
            if not child.is_alive:
                break
            child.advance()
    return [child.end() for child in children]


def _stepping(work: Callable[[], None], ready: int, go: int) -> None:
    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event != "c_call" or getattr(argument, "__name__", "") not in CALLS:
            return
        if any(part in frame.f_code.co_filename for part in WATCHED):
            os.write(ready, b".")
            if not os.read(go, 1):
                os._exit(0)

    code = 1
    try:
        sys.setprofile(profile)
        work()
        sys.setprofile(None)
        code = 0
    finally:
        sys.setprofile(None)
        os._exit(code)
