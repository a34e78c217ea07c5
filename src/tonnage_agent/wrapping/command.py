"""Start the command as our child, in a session of its own, and reach it with signals.

Its own session: signals of a terminal reach the agent alone, which forwards them once; and everything the command
starts can be found again. Two kernel settings, where the system allows them: orphans of the command become our
children (so they can be reaped and ended even when the agent is not PID 1), and the command gets SIGTERM when the
agent dies (so a trainer never runs on unwatched).

Signals go to the command alone, not to its whole group: a launcher tells its own ranks, and a loader worker that is
signalled behind its trainer's back spoils the checkpoint being saved. One exception: a shell that has no handler
would die of SIGTERM and leave the trainer untold, so a shell's children get it instead.
"""

from __future__ import annotations

import os
import signal
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from tonnage_agent.wrapping.family import all_processes, catches, descendants

SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"))
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class CannotStartError(Exception):
    """The command could not be started; `code` is what a shell would have ended with."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def start(
    command: Sequence[str], environment: Mapping[str, str], stdout: int, stderr: int
) -> subprocess.Popen[bytes]:
    """Start it; raises CannotStartError. Reaping is the caller's: nobody else may wait for it."""
    prctl = _prctl()
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
    agent = os.getpid()

    def tie() -> None:
        """In the child, before it becomes the command: end when the agent ends."""
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != agent:
                os._exit(128 + signal.SIGTERM)

    try:
        with warnings.catch_warnings():
            # Python warns of forking beside threads: the child only makes two system calls before it is the command.
            warnings.simplefilter("ignore", DeprecationWarning)
            return subprocess.Popen(
                list(command),
                stdout=stdout,
                stderr=stderr,
                env=dict(environment),
                start_new_session=True,
                preexec_fn=tie,  # noqa: PLW1509
            )
    except FileNotFoundError as error:
        raise CannotStartError(_missing(command[0], error), 127) from None
    except PermissionError:
        raise CannotStartError(f"{command[0]}: found, but may not be executed", 126) from None
    except OSError as error:
        raise CannotStartError(f"{command[0]}: cannot be executed: {error.strerror}", 126) from None
    except ValueError as error:
        raise CannotStartError(f"{command[0]!r}: cannot be executed: {error}", 126) from None


def forward(number: int, pid: int) -> list[int]:
    """Send a signal to the command, or to the children of a shell that would not pass it on; who got it."""
    targets = _targets(pid, number)
    for target in targets:
        send(number, target)
    return targets


def send(number: int, pid: int) -> None:
    """Signal a process that may be gone already."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def exit_code(status: int) -> int:
    """A wait status as a shell tells it: 128 and the signal's number for a signal."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _targets(pid: int, number: int) -> list[int]:
    if number not in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        return [pid]
    processes = all_processes()
    main = processes.get(pid)
    if main is None or main.name not in SHELLS or catches(pid, number):
        return [pid]
    children = [p for p in descendants(pid, processes.values()) if p.parent == pid and p.state != "Z"]
    found: list[int] = []
    for child in children:
        found.extend(_targets(child.pid, number))
    return found or [pid]


def _missing(program: str, error: FileNotFoundError) -> str:
    if "/" in program and os.path.exists(program):
        return f"{program}: its interpreter (the #! line, or the ELF loader) was not found"
    where = "" if "/" in program else " on PATH"
    return f"{program}: not found{where}" if error.filename else f"{program}: not found"


def _prctl() -> Callable[[int, int], object] | None:
    """The C library's prctl; None where Python was built without ctypes."""
    try:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        function = library.prctl
    except (ImportError, OSError, AttributeError):
        return None
    return lambda option, value: function(
        ctypes.c_int(option), ctypes.c_ulong(value), *([ctypes.c_ulong(0)] * 3)
    )
