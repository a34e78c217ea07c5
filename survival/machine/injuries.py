"""What can be done to a training on this machine. Each brings about one death and says what must follow from it."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from survival.case import Injury
from survival.machine.bench import Bench, NotSeenError
from tonnage.local.processes import Identity

OUTSIDE, NOTHING = frozenset(("EXT-01",)), frozenset(("UNKNOWN",))
"""A signal from outside; and that nothing explains it, which is the truth where no count outlived the kill."""
OOM = frozenset(("MEM-01", "MEM-11", "MEM-12"))
UNKNOWN, HOST_OOM = frozenset(("unknown",)), frozenset(("host_oom",))
NOTICE = {"notice-120s": 6.0, "notice-30s": 1.5, "notice-none": 0.0}
"""Seconds between SIGTERM and SIGKILL: what clouds give, a twentieth of it (steps here take hundredths of seconds)."""

Inflict = Callable[[Bench, int, random.Random], Injury]


def rank(bench: Bench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """The training process alone; its agent sees it die."""
    _kill(*bench.trainers(attempt))
    return _killed(bench, "rank", attempt)


def agent(bench: Bench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """The agent alone; the training process loses its parent."""
    _kill(bench.agent(attempt))
    return _killed(bench, "agent", attempt)


def both(bench: Bench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """Agent and training process in the same instant, as a cgroup v2 kill does."""
    _at_once(bench.agent(attempt), *bench.trainers(attempt))
    return _killed(bench, "both", attempt)


def everything(bench: Bench, attempt: int, chance: random.Random) -> Injury:
    """All of it at once, as a reboot does; later somebody lists their runs."""
    _at_once(bench.supervisor(), bench.shim(attempt), bench.agent(attempt), *bench.trainers(attempt))
    injury = _killed(bench, "everything", attempt)
    time.sleep(chance.uniform(0.1, 1.0))
    _take_up(bench)
    return injury


def supervisor(bench: Bench, attempt: int, chance: random.Random) -> Injury:
    """The supervisor alone: the training goes on, and the next command takes it up."""
    keeper = bench.supervisor()
    before = len(bench.steps_of(attempt))
    _kill(keeper)
    injury = Injury(kind="supervisor", attempt=attempt, when=time.time(), kills_attempt=False)
    bench.wait(
        "training that goes on without a supervisor",
        lambda: len(bench.steps_of(attempt)) > before + 2 or bench.agent(attempt) is None,
    )
    time.sleep(chance.uniform(0.0, 0.5))
    _take_up(bench)
    return injury


def shim(bench: Bench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """Who holds the attempt: it goes on, and its end must still be seen."""
    _kill(bench.shim(attempt))
    return Injury(kind="shim", attempt=attempt, when=time.time(), kills_attempt=False)


def shim_and_rank(bench: Bench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """The shim and the training process: no exit code is left, the black box alone tells."""
    _at_once(bench.shim(attempt), *bench.trainers(attempt))
    return _killed(bench, "shim-and-rank", attempt)


def oom(bench: Bench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """A leak that the kernel ends."""
    when = _leak(bench, attempt)
    return Injury(kind="oom", attempt=attempt, when=when, codes=OOM, causes=HOST_OOM)


def oom_both(bench: Bench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """The same with the agent gone in that instant, before it could write a word about it."""
    keeper = bench.agent(attempt)
    if keeper is None:
        raise NotSeenError("no agent")
    keeper.signal(signal.SIGSTOP)
    try:
        when = _leak(bench, attempt)
    finally:
        keeper.signal(signal.SIGKILL)
    return Injury(kind="oom-both", attempt=attempt, when=when, codes=OOM, causes=HOST_OOM)


def notice(kind: str) -> Inflict:
    """SIGTERM, some time, SIGKILL: what a spot reclaim looks like from inside."""

    def inflict(bench: Bench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
        seconds = NOTICE[kind]
        who = [bench.agent(attempt), *bench.trainers(attempt)]
        main = who[0]
        if main is None:
            raise NotSeenError("no agent")
        when = time.time()
        main.signal(signal.SIGTERM)
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up and any(one is not None and one.is_alive for one in who):
            time.sleep(0.02)
        is_saved = not any(one is not None and one.is_alive for one in who)
        _at_once(bench.shim(attempt), *who)
        codes = OUTSIDE if is_saved else bench.killed
        return Injury(
            kind=kind, attempt=attempt, when=when, codes=codes, causes=UNKNOWN, has_notice=seconds > 1
        )

    return inflict


def torn(how: str) -> Inflict:
    """The newest checkpoint is damaged at a random byte, then everything of the attempt is killed."""

    def inflict(bench: Bench, attempt: int, chance: random.Random) -> Injury:
        def whole() -> list[Path]:
            return [path for path in bench.checkpoints() if is_whole(path)]

        bench.wait("two whole checkpoints", lambda: len(whole()) >= 2 or not bench.record().is_active)
        trainers = bench.trainers(attempt)
        who = [bench.agent(attempt), *trainers]
        for one in who:
            if one is not None:
                one.signal(signal.SIGSTOP)  # nothing is saved while we choose what to damage
        if not any(one.is_alive for one in trainers):
            raise NotSeenError("nobody was there to be killed")  # its last checkpoint is whole, and stays so
        try:
            *_, before, newest = [None, None, *whole()]
            if newest is None:
                raise NotSeenError("there was no whole checkpoint to damage")
            note = _damage(newest, how, chance)
            right = {-1 if before is None else _step(before)}
            if how.startswith("manifest"):
                right.add(_step(newest))  # a blank more or less harms nobody
        finally:
            _at_once(*who)
        return Injury(
            kind=f"torn-{how}", attempt=attempt, when=time.time(), codes=bench.killed, causes=UNKNOWN,
            resumes_at=frozenset(right), note=note,
        )  # fmt: skip

    return inflict


INJURIES: dict[str, Inflict] = {
    "rank": rank,
    "agent": agent,
    "both": both,
    "supervisor": supervisor,
    "shim": shim,
    "shim-and-rank": shim_and_rank,
    "everything": everything,
    "oom": oom,
    "oom-both": oom_both,
    **{kind: notice(kind) for kind in NOTICE},
    **{f"torn-{how}": torn(how) for how in ("byte", "short", "manifest", "manifest-short", "missing")},
}


def _killed(bench: Bench, kind: str, attempt: int) -> Injury:
    return Injury(kind=kind, attempt=attempt, when=time.time(), codes=bench.killed, causes=UNKNOWN)


def _kill(*who: Identity | None) -> None:
    if not any(one is not None and one.signal(signal.SIGKILL) for one in who):
        raise NotSeenError("nobody was there to be killed")


def _at_once(*who: Identity | None) -> None:
    """As near to the same instant as signals go: all are stopped by their own first line of the kernel's queue."""
    for one in who:
        if one is not None:
            one.signal(signal.SIGKILL)


def _take_up(bench: Bench) -> None:
    shown = bench.tonnage("ps")
    if "taken up again" not in shown.stderr and bench.record().is_active and bench.supervisor() is None:
        raise NotSeenError(f"nobody took it up: {shown.stdout} {shown.stderr}")


def _leak(bench: Bench, attempt: int) -> float:
    """Let it leak until it is dead; then stop the leak for whoever comes next."""
    switch = bench.trouble / "leak"
    trainers = bench.trainers(attempt) or [
        each for line in bench.steps_of(attempt)[-1:] if (each := Identity.of(line.pid)) is not None
    ]
    switch.touch()
    try:
        bench.wait("an OOM kill", lambda: not any(one.is_alive for one in trainers))
    finally:
        switch.unlink()
    return time.time()


def _damage(checkpoint: Path, how: str, chance: random.Random) -> str:
    """Damage one file at a random byte."""
    manifest = next(path for path in checkpoint.iterdir() if "manifest" in path.name)
    others = sorted(path for path in checkpoint.iterdir() if path != manifest and path.is_file())
    victim = manifest if how.startswith("manifest") else chance.choice(others)
    if how == "missing":
        victim.unlink()
        return f"{checkpoint.name}/{victim.name} removed"
    content = bytearray(victim.read_bytes())
    at = chance.randrange(len(content))
    if how in ("short", "manifest-short"):
        victim.write_bytes(content[:at])
        return f"{checkpoint.name}/{victim.name} cut to {at} of {len(content)} bytes"
    content[at] ^= 1 << chance.randrange(8)
    victim.write_bytes(content)
    return f"{checkpoint.name}/{victim.name}: one bit of byte {at} of {len(content)}"


def newest_whole(bench: Bench) -> int:
    """The step of the newest checkpoint that is whole; -1 where there is none."""
    return max((_step(path) for path in bench.checkpoints() if is_whole(path)), default=-1)


def is_whole(checkpoint: Path) -> bool:
    """Whether every file has the hash its manifest names: judged here anew, not by the keeper."""
    try:
        manifest = next(path for path in checkpoint.iterdir() if "manifest" in path.name)
        values = json.loads(manifest.read_text())
        own = values.pop("sha256")
        if own != sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest():
            return False
        return all(
            sha256((checkpoint / each["path"]).read_bytes()).hexdigest() == each["sha256"]
            for each in values["files"]
        )
    except (OSError, ValueError, KeyError, StopIteration):
        return False


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-").partition(".")[0])
