"""`python -m tonnage.local.shim FOLDER`: hold one node of an attempt, from its start to the last word about its end.

What containerd's shim is to a container. It stands outside the memory limit and outlives the supervisor; it starts
the command behind the limit, waits for it, and writes how it ended, with what the kernel counted, before anybody
asks. Asked to end (SIGTERM), it passes that on and kills what is left after the grace period. The standard library
only, so that it starts quickly and holds little.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tonnage.local import cgroups
from tonnage.local.layout import NodeFolder
from tonnage.local.processes import Identity, descendants
from tonnage_agent.contract import MEMORY_LIMIT
from tonnage_agent.steady import SteadyClock

POLL_SECONDS = 0.1
NO_CGROUP = "TONNAGE_NO_CGROUP"
"""Set by those who want the limit watched although a cgroup could be made."""
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Held:
    """What is being held, and what has been seen of it."""

    folder: NodeFolder
    process: subprocess.Popen[bytes]
    group: cgroups.MemoryCgroup | None
    limit: int | None
    grace: float
    kill_at: float | None = None
    signals: list[int] = field(default_factory=list)


def main(arguments: list[str]) -> int:
    """Hold what the folder's start.json says; the exit code is ours, not the command's."""
    folder = NodeFolder(Path(arguments[0]))
    wanted = json.loads(folder.start.read_text())
    if not _is_ours(folder):
        return 0
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: asked.append(received))
    _adopt_orphans()
    clock = SteadyClock()
    started = clock.now()
    try:
        held = _start(folder, wanted)
    except OSError as error:
        failed = {"exitCode": 127, "reason": "StartError", "message": str(error)}
        _write(folder.exit, {**failed, "started": started, "finished": clock.now()})
        return 0
    held.signals = asked
    _wait(held)
    _write(folder.exit, {**_ending(held), "started": started, "finished": clock.now()})
    _clear(held)
    return 0


def _is_ours(folder: NodeFolder) -> bool:
    """Whether nobody holds this node, or held it: a start may be asked for twice, and must be made once."""
    claim = os.open(folder.root, os.O_RDONLY | os.O_CLOEXEC)  # open, and so locked, as long as we live
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: who was first is told by the files alone
    return not folder.shim.is_file() and not folder.exit.is_file()


def _start(folder: NodeFolder, wanted: dict[str, Any]) -> Held:
    limit = wanted.get("memory")
    group = cgroups.make(wanted["cgroup"], limit) if limit and NO_CGROUP not in os.environ else None
    # Where no cgroup may be made, the agent watches its own processes instead.
    watched = {MEMORY_LIMIT: str(limit)} if limit and group is None else {}
    gate_read, gate_write = os.pipe()
    try:
        with folder.output.open("ab", buffering=0) as output:
            process = subprocess.Popen(
                # The gate holds the command back until it is behind its limit; a gate that closes unopened (its
                # holder was killed, a disk is full) lets nothing through.
                ["/bin/sh", "-c", 'read -r _ <&"$0" && exec "$@"', str(gate_read), *wanted["argv"]],
                env={**wanted["env"], **watched}, cwd=wanted["cwd"], stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True, pass_fds=[gate_read],
            )  # fmt: skip
        if group is not None:
            group.enter(process.pid)
        who = {"shim": _named(os.getpid()), "main": _named(process.pid)}
        by = "none" if not limit else f"cgroup-v{group.version}" if group else "watched"
        _write(folder.shim, {**who, "by": by, "cgroup": str(group.folder) if group else None})
        os.write(gate_write, b"go\n")
    except BaseException:
        if group is not None:
            group.remove()
        raise
    finally:
        os.close(gate_read)
        os.close(gate_write)
    return Held(folder, process, group, limit, wanted["graceSeconds"])


def _wait(held: Held) -> None:
    while held.process.poll() is None:
        _obey(held)
        _follow_limit(held)
        time.sleep(POLL_SECONDS)


def _obey(held: Held) -> None:
    """Pass on a wish to end, once, and end it when the grace period is over."""
    if held.signals and held.kill_at is None:
        held.kill_at = time.monotonic() + held.grace
        held.process.send_signal(signal.SIGTERM)
    if held.kill_at is not None and time.monotonic() > held.kill_at:
        for pid in _held_pids():
            _kill(pid)


def _follow_limit(held: Held) -> None:
    """Take over a limit that was raised while it runs."""
    try:
        wanted = int(held.folder.limit.read_text())
    except (OSError, ValueError):
        return
    if wanted != held.limit:
        if held.group is not None:  # else the agent watches it, and is asked itself
            held.group.set_limit(wanted)
        held.limit = wanted


def _ending(held: Held) -> dict[str, Any]:
    code = held.process.returncode
    kills = held.group.oom_kills if held.group else None
    signalled = (
        -code if code < 0 else code - 128 if code > 128 and code - 128 in set(signal.Signals) else None
    )
    reason = "OOMKilled" if kills else "Completed" if code == 0 else "Error"
    return {
        "exitCode": 128 - code if code < 0 else code,
        "signal": signalled,
        "reason": reason,
        "oomKills": kills,
        "peak": held.group.peak if held.group else None,
        "limit": held.limit,
        "asked": bool(held.signals),
    }


def _clear(held: Held) -> None:
    """End what the command left behind: an attempt that is over holds nothing."""
    while left := _held_pids():
        for pid in left:
            _kill(pid)
        _reap()
        time.sleep(0.01)
    if held.group is not None:
        held.group.remove()


def _adopt_orphans() -> None:
    """Whatever loses its parent below us becomes our child, so that nothing slips away by a double fork."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _held_pids() -> list[int]:
    return [pid for pid in descendants(os.getpid()) if pid != os.getpid()]


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _named(pid: int) -> dict[str, int]:
    who = Identity.of(pid)
    return {"pid": pid, "started": who.started if who else 0}


def _write(path: Path, values: dict[str, Any]) -> None:
    """Replace the file in one step: a reader sees all of it or the one before."""
    temporary = path.with_suffix(".new")
    with temporary.open("w") as file:
        json.dump(values, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
