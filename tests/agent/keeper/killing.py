"""A child process that saves checkpoints and is SIGKILLed at the n-th call into the system it makes.

The interpreter's own profiler counts calls of C functions made by the keeper's code: opening, writing, syncing,
renaming, linking, removing. Nothing in the product knows of it.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

WATCHED = ("keeper/", "shutil.py", "pathlib.py", "os.py", "http/client.py")
CALLS = {
    "open",
    "write",
    "fsync",
    "rename",
    "replace",
    "unlink",
    "rmdir",
    "mkdir",
    "link",
    "close",
    "readinto",
    "read",
}
CALLS |= {"scandir", "stat", "lstat", "sendall", "recv_into", "posix_fadvise", "listdir", "flush", "rename"}


def run_killed(work: Callable[[], None], at: int | None) -> int:
    """Fork; in the child do the work and be killed at call number `at`. Returns the number of calls, -1 if killed."""
    reader, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _in_child(work, at, sender)
    os.close(sender)
    with os.fdopen(reader, "rb") as said:
        answer = said.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return -1
    assert os.WEXITSTATUS(status) == 0, answer.decode()
    return int(answer)


def _in_child(work: Callable[[], None], at: int | None, sender: int) -> None:
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        if event != "c_call" or getattr(argument, "__name__", "") not in CALLS:
            return
        if any(part in frame.f_code.co_filename for part in WATCHED):
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

    code = 1
    try:
        random.seed()
        sys.setprofile(profile)
        work()
        sys.setprofile(None)
        os.write(sender, str(count).encode())
        code = 0
    except BaseException as error:
        sys.setprofile(None)
        os.write(sender, repr(error).encode()[:500])
    finally:
        os._exit(code)
