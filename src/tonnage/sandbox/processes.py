"""Processes of a sandbox: started so that they outlive the command, found again whatever happened to it.

Each process gets a session of its own, a log file, nothing on its standard input, and three words in its
environment: the sandbox's id, its own name and its tier. Those words are how `down` finds it. A process id
alone can belong to somebody else tomorrow, and a command killed between starting a process and writing its id
down would lose it; the environment is inherited with the process and cannot be lost. Process ids are kept in
the ledger with their start times too, for `status`.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.local import tailing
from tonnage.sandbox.ledger import Ledger
from tonnage.sandbox.state import Sandbox

TIERS = ("controllers", "nodes", "plane", "apiserver", "etcd")
"""In the order they are stopped: a server goes after its clients."""

ID, NAME, TIER = "TONNAGE_SANDBOX_ID", "TONNAGE_SANDBOX_PART", "TONNAGE_SANDBOX_TIER"
_ONCE = 'cd "$1" && shift && exec "$@"'
_AGAIN = 'cd "$1" && shift && while :; do "$@"; echo "ended with $?, starting again in 1 s"; sleep 1; done'
_NEVER_BY_PROXY = ("localhost", "127.0.0.0/8", "10.245.0.0/16", "10.96.0.0/16", ".svc", ".cluster.local")
_GRACE_SECONDS = 3.0
_BURIAL_SECONDS = 3.0
_LOOKED_AT = 200
"""Lines of a log among which the last ones that say something are looked for."""


def start(
    sandbox: Sandbox,
    name: str,
    argv: Sequence[str],
    *,
    tier: str,
    env: Mapping[str, str] | None = None,
    restart: bool = False,
) -> int:
    """Start a part of the sandbox and return its process id; `restart` starts it again when it ends."""
    assert tier in TIERS, tier
    sandbox.ledger.record("process", name, tier=tier)
    marks = {ID: sandbox.id, NAME: name, TIER: tier}
    log = os.open(
        sandbox.places.logs / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
    )
    try:
        pid = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _AGAIN if restart else _ONCE, "sh", str(sandbox.places.root), *argv],
            {**_environment(), **(env or {}), **marks},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
            setsid=True,
            setsigdef=[signal.SIGINT, signal.SIGPIPE, signal.SIGTERM],
        )
    finally:
        os.close(log)
    sandbox.ledger.record("pid", name, pid=str(pid), started=started_at(pid) or "")
    return pid


def _environment() -> dict[str, str]:
    """The user's environment, less what would configure a component behind our back, and no proxy."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("ETCD_", "KWOK_"))}
    away = [word for word in (kept.get("NO_PROXY") or kept.get("no_proxy") or "").split(",") if word]
    direct = ",".join([*away, *_NEVER_BY_PROXY])
    return {**kept, "NO_PROXY": direct, "no_proxy": direct}


def is_alive(sandbox: Sandbox, name: str) -> bool:
    """Whether the part of that name runs."""
    return pid_of(sandbox.ledger, name) is not None


def pid_of(ledger: Ledger, name: str) -> int | None:
    """The living process that was last started under this name."""
    for entry in reversed(ledger.entries()):
        if entry.kind == "pid" and entry.id == name:
            pid = int(entry.details["pid"])
            return pid if started_at(pid) == entry.details["started"] else None
    return None


def wait_until(
    sandbox: Sandbox, name: str, check: Callable[[], bool], *, seconds: float = 60, what: str = "answers"
) -> None:
    """Return when `check` holds; raise with the last log lines if the part died first or took too long."""
    deadline = time.monotonic() + seconds
    pause = 0.03
    while not check():
        if not is_alive(sandbox, name):
            raise _failed(sandbox, name, "BOX-020", f"{name} ended before it was ready")
        if time.monotonic() > deadline:
            raise _failed(
                sandbox, name, "BOX-021", f"{name} was not ready in {seconds:.0f} s (waited until it {what})"
            )
        time.sleep(pause)
        pause = min(pause * 1.3, 0.3)  # asking costs the one that is starting


def stop(sandbox: Sandbox, name: str) -> None:
    """Stop one part of the sandbox."""
    end(pid for pid, marks in _marked(sandbox.id) if marks.get(NAME) == name)


def stop_all(sandbox_id: str) -> None:
    """Stop every process of the sandbox, tier by tier; clients before servers."""
    everyone = find_processes(sandbox_id)
    for tier in TIERS:
        # What the last two tiers hold is thrown away with the sandbox: no need to let them say goodbye.
        polite = tier in ("controllers", "nodes")
        end((pid for pid, marks in _marked(sandbox_id) if marks.get(TIER) == tier), polite=polite)
    end(find_processes(sandbox_id), polite=False)
    _wait_for_burial(everyone)


def find_processes(sandbox_id: str, name: str | None = None) -> list[int]:
    """Every living process that carries this sandbox's id; with a name, those of that part."""
    return [pid for pid, marks in _marked(sandbox_id) if name is None or marks.get(NAME) == name]


def end(pids: Iterable[int], *, polite: bool = True) -> None:
    """End processes and return when they are gone; the polite way first, unless told otherwise."""
    alive = {pid: started_at(pid) for pid in pids}
    if polite:
        _signal(alive, signal.SIGTERM)
        _wait_for_end(alive, _GRACE_SECONDS)
    while alive:
        _signal(alive, signal.SIGKILL)
        _wait_for_end(alive, 1.0)


def started_at(pid: int) -> str | None:
    """When this process started, in clock ticks since boot; nothing if it is gone or waits to be buried."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (OSError, ValueError):
        return None
    # The second field is the program's name in brackets and may hold anything, brackets and blanks included.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else fields[19]


def last_lines(path: Path, count: int = 6) -> list[str]:
    """The end of a log, each line cut to what fits an error message."""
    lines = tailing.last_lines(path, _LOOKED_AT)
    return [_readable(line)[:240] for line in lines if line.strip()][-count:]


def _readable(line: str) -> str:
    """A JSON log line as its message and its error; other lines as they are."""
    try:
        said = json.loads(line)
        return ": ".join(str(said[key]) for key in ("msg", "error", "err") if said.get(key))
    except (ValueError, TypeError, AttributeError):
        return line


def _failed(sandbox: Sandbox, name: str, code: str, what: str) -> EnvironmentProblem:
    lines = last_lines(sandbox.places.logs / f"{name}.log")
    shown = "\n".join(f"      {line}" for line in lines) or "      (nothing)"
    return EnvironmentProblem(Problem(code=code, what=what, hint=f"it said last:\n{shown}"))


def _marked(sandbox_id: str) -> list[tuple[int, dict[str, str]]]:
    """Processes of a sandbox with the words it put into their environment."""
    wanted = f"{ID}={sandbox_id}\0".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError):
            environment = (folder / "environ").read_bytes()
            if wanted in environment and started_at(int(folder.name)):
                found.append((int(folder.name), _words(environment)))
    return found


def _words(environment: bytes) -> dict[str, str]:
    pairs = (word.decode(errors="replace").partition("=") for word in environment.split(b"\0"))
    return {key: value for key, _, value in pairs if key in (ID, NAME, TIER)}


def _signal(alive: Mapping[int, str | None], number: signal.Signals) -> None:
    for pid, started in alive.items():
        # Looked at again just before: the id may have been given to a stranger meanwhile.
        if started is not None and started_at(pid) == started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _wait_for_burial(pids: Iterable[int]) -> None:
    """Wait a little until init has removed the dead from the process table: a reader of `ps` counts them."""
    deadline = time.monotonic() + _BURIAL_SECONDS
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)


def _wait_for_end(alive: dict[int, str | None], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        for pid, started in list(alive.items()):
            with suppress(ChildProcessError, OSError):
                os.waitpid(pid, os.WNOHANG)  # bury it, if it is our own child
            if started is None or started_at(pid) != started:
                del alive[pid]
        if not alive or time.monotonic() > deadline:
            return
        time.sleep(0.02)
