"""Each measurement in a fresh process: the allocator, cuBLAS and cuDNN keep state that would colour the next.

The parent imports torch (and touches no GPU), so that a fork costs milliseconds where a new interpreter would
cost seconds of a lent machine's time.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any


class Child:
    """A forked process that computes one value and sends it back."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.started = time.monotonic()
        self.data = b""
        self.reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.reader)
            _compute(function, arguments, writer)
        os.close(writer)

    def poll(self, seconds: float) -> bool:
        """Read what is there; true once the child is done."""
        ready, _, _ = select.select([self.reader], [], [], seconds)
        if not ready:
            return False
        chunk = os.read(self.reader, 1 << 20)
        self.data += chunk
        return not chunk

    def result(self) -> Any:
        """What it sent, or how it ended."""
        os.close(self.reader)
        _, status = os.waitpid(self.pid, 0)
        return pickle.loads(self.data) if self.data else {"error": f"died with status {status}"}

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def _compute(function: Callable[..., Any], arguments: tuple[Any, ...], writer: int) -> None:
    try:
        value = function(*arguments)
    except BaseException as failure:
        value = {
            "error": f"{type(failure).__name__}: {failure}"[:600],
            "trace": traceback.format_exc()[-900:],
        }
    with os.fdopen(writer, "wb") as stream:
        stream.write(pickle.dumps(value))
    sys.stdout.flush()
    os._exit(0)


def alone(function: Callable[..., Any], *arguments: Any, limit: float = 120) -> Any:
    """The value of the function in a process of its own."""
    child = Child(function, *arguments)
    while not child.poll(1.0):
        if time.monotonic() - child.started > limit:
            child.kill()
            child.result()
            return {"error": f"took longer than {limit:.0f} s"}
    return child.result()
