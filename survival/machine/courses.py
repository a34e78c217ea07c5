"""Cases with a course of their own: what happens is not one kill after another."""

from __future__ import annotations

import random
import time

from survival.case import Injury, Outcome
from survival.machine.bench import Bench, NotSeenError
from survival.machine.disks import fill, free
from survival.machine.injuries import HOST_OOM, OOM, UNKNOWN, newest_whole
from survival.machine.injuries import both as kill_both

GPU_OOM = frozenset(("GPU-01a", "GPU-01c", "GPU-01d", "GPU-01e"))


def disk_full(bench: Bench, outcome: Outcome, chance: random.Random) -> None:
    """The disk fills, saves fail, training goes on; then it is killed, and comes back while the disk is still full."""
    bench.wait("a checkpoint", lambda: len(bench.checkpoints()) >= 1)
    time.sleep(chance.uniform(0.0, 1.0))
    fill(bench.folder / "ckpt")
    kept = newest_whole(bench)
    bench.wait(
        "a save that failed", lambda: _has_said(bench, 1, "No space left") or newest_whole(bench) != kept
    )
    kept = newest_whole(bench)
    before = len(bench.steps_of(1))
    bench.wait("training that goes on", lambda: len(bench.steps_of(1)) > before + 3)
    injury = kill_both(bench, 1, chance)
    outcome.injuries.append(_with(injury, kind="disk-full", resumes_at=frozenset((kept,))))
    bench.wait_for_attempt(2, steps=3)
    free(bench.folder / "ckpt")


def disk_full_fatal(bench: Bench, outcome: Outcome, chance: random.Random) -> None:
    """The disk fills and the script wants to end of that: a storage failure, retried when there is room again."""
    bench.wait("a checkpoint", lambda: len(bench.checkpoints()) >= 1)
    time.sleep(chance.uniform(0.0, 1.0))
    fill(bench.folder / "ckpt")
    bench.wait("the end of attempt 1", lambda: _is_over(bench, 1))
    outcome.injuries.append(
        Injury(
            kind="disk-full-fatal",
            attempt=1,
            when=time.time(),
            codes=frozenset(("STO-02",)),
            causes=frozenset(("storage",)),
            resumes_at=frozenset((newest_whole(bench),)),
        )
    )
    free(bench.folder / "ckpt")


def leaking(bench: Bench, outcome: Outcome, chance: random.Random) -> None:  # noqa: ARG001
    """It leaks from its first step: each death must find it larger, until it ends."""
    bench.wait_for_end()
    _own_deaths(bench, outcome, "leak", OOM, HOST_OOM)
    if not outcome.injuries:
        outcome.wrong.append("the leak killed nobody: the case proves nothing")


def gpu_oom(bench: Bench, outcome: Outcome, chance: random.Random) -> None:  # noqa: ARG001
    """The GPU is too small for the micro-batch: smaller ones with the same global batch are tried."""
    bench.wait_for_end()
    _own_deaths(bench, outcome, "gpu-oom", GPU_OOM, frozenset(("gpu_oom",)))
    if not outcome.injuries:
        outcome.wrong.append("nothing ran out of GPU memory: the case proves nothing")


def wrong_code(bench: Bench, outcome: Outcome, chance: random.Random) -> None:
    """An exception of the program: never tried again."""
    bench.wait_for_attempt(1, steps=chance.randrange(1, 60))
    (bench.trouble / "error").touch()
    bench.wait_for_end()
    _own_deaths(bench, outcome, "wrong-code", frozenset(("APP-01",)), frozenset(("code",)))
    if len(bench.record().attempts) != 1:
        outcome.wrong.append(f"{len(bench.record().attempts)} attempts: an error in the code was retried")


def deadline(bench: Bench, outcome: Outcome, chance: random.Random) -> None:  # noqa: ARG001
    """It may run so long and no longer: told to end, it saves its last step."""
    bench.wait_for_end()
    _own_deaths(bench, outcome, "deadline", frozenset(("PRE-07",)), frozenset(("deadline",)))
    made = [line.step for line in bench.journal() if line.step is not None]
    if not made or newest_whole(bench) != made[-1]:
        outcome.wrong.append(
            f"the last step was {made[-1:]}, the newest checkpoint is of step {newest_whole(bench)}"
        )
    if len(bench.record().attempts) != 1:
        outcome.wrong.append("it was tried again after its deadline")


def stopped_and_resumed(bench: Bench, outcome: Outcome, chance: random.Random) -> None:
    """Its owner stops it and resumes it: nothing is lost."""
    bench.wait_for_attempt(1, steps=chance.randrange(1, 60))
    bench.tonnage("stop", "survivor")
    bench.wait_for_end()
    when, attempt = time.time(), len(bench.record().attempts)
    if bench.record().state != "stopped":
        outcome.wrong.append(f"stopped, it is {bench.record().state}")
    outcome.injuries.append(
        Injury(kind="stopped", attempt=attempt, when=when, causes=frozenset(("stopped",)), has_notice=True)
    )
    shown = bench.tonnage("resume", "survivor", "--detach")
    if shown.returncode != 0:
        raise NotSeenError(f"it was not resumed: {shown.stderr}")


def hopeless(bench: Bench, outcome: Outcome, chance: random.Random) -> None:  # noqa: ARG001
    """It always needs more than there is: given up with the wall's name, not tried for ever."""
    bench.wait_for_end()
    for attempt in bench.record().attempts:
        outcome.injuries.append(
            Injury(
                kind="hopeless",
                attempt=attempt.number,
                when=time.time(),
                codes=OOM | GPU_OOM,
                causes=frozenset(("host_oom", "gpu_oom")),
            )
        )
    why = bench.record().why
    if not any(word in why for word in ("allows", "no smaller", "micro", "GPU memory")):
        outcome.wrong.append(f"the refusal names no wall: {why}")


def gang(bench: Bench, outcome: Outcome, chance: random.Random) -> None:
    """One rank of two is killed, again and again, this one or the other; once both agents too."""
    for attempt in (1, 2, 3):
        if not bench.wait_for_attempt(attempt, steps=2):
            return
        time.sleep(chance.uniform(0.1, 2.5))
        node = chance.randrange(2)
        if not (who := bench.trainers(attempt, node)):
            return
        if attempt == 3 and (agent := bench.agent(attempt, node)) is not None:
            who.append(agent)
        for one in who:
            one.signal(9)  # type: ignore[arg-type]
        outcome.injuries.append(
            Injury(
                kind="gang-rank",
                attempt=attempt,
                when=time.time(),
                codes=bench.killed,
                causes=UNKNOWN,
                note=f"node {node}",
            )
        )


def _own_deaths(
    bench: Bench, outcome: Outcome, kind: str, codes: frozenset[str], causes: frozenset[str]
) -> None:
    """Deaths that the training brought upon itself, from the history."""
    for attempt in bench.record().attempts:
        if attempt.ending is not None and not attempt.ending.is_success:
            when = attempt.ending.when.timestamp()
            outcome.injuries.append(
                Injury(kind=kind, attempt=attempt.number, when=when, codes=codes, causes=causes)
            )


def _with(injury: Injury, *, kind: str, resumes_at: frozenset[int]) -> Injury:
    return Injury(
        kind=kind,
        attempt=injury.attempt,
        when=injury.when,
        codes=injury.codes
        | {"STO-02"},  # its log says that the disk is full, and is believed before the kill
        causes=injury.causes | {"storage"},
        resumes_at=resumes_at,
    )


def _is_over(bench: Bench, attempt: int) -> bool:
    attempts = bench.record().attempts
    return len(attempts) >= attempt and attempts[attempt - 1].ending is not None


def _has_said(bench: Bench, attempt: int, text: str) -> bool:
    log = bench.node_folder(attempt) / "output.log"
    return log.exists() and text in log.read_text(errors="replace")
