"""From a case's plan to its outcome: start, injure, wait, look, clean up."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from survival.case import Outcome
from survival.judging import judge
from survival.machine.bench import Bench, NotSeenError
from survival.machine.disks import small_disk
from survival.machine.injuries import INJURIES
from survival.machine.references import Reference, References

EVERY = 1.0
TROUBLES = ("LEAK", "LEAK_FROM", "ON_FAILURE", "GPU_MOST", "PYTHONPATH")
"""What an undisturbed training is not told."""
FIRST, LAST = 0.05, 2.6
"""Seconds after an attempt's first step between which it is injured: before its first checkpoint as often as after."""
FORGIVING = {
    "unknown": 60, "hostOOM": 30, "gpuOOM": 10, "network": 60, "storage": 30, "backoff": "0.2s..1s",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One case before it is run."""

    name: str
    seed: int
    kinds: Sequence[str] = ()
    """Injuries one after the other, each in a new attempt where the last one killed it."""
    script: str = "spirals.py"
    python: str = "python3"
    steps: int = 260
    pause: float = 0.03
    spec: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    reference_env: Mapping[str, str] = field(default_factory=dict)
    """What the undisturbed run is told instead, where the run itself is told by Tonnage."""
    world: int = 1
    expected: str = "finished"
    small_disk: bool = False
    """Whether its checkpoints go to a disk that can be filled."""
    act: Callable[[Bench, Outcome, random.Random], None] | None = None
    """What is done instead of the injuries, for cases that have a course of their own."""


def run_plan(plan: Plan, references: References, keep: Path | None = None) -> Outcome:
    """Run one case to its end; a failed one leaves its folder under `keep`."""
    began, chance = time.monotonic(), random.Random(plan.seed)
    outcome = Outcome(
        case=plan.name, seed=plan.seed, place="machine", every=EVERY, expected_state=plan.expected
    )
    with case_folder(keep) as (folder, keep_it):
        bench = Bench(folder)
        with ExitStack() as stack:
            if plan.small_disk:
                stack.enter_context(small_disk(folder / "ckpt"))
            _carry_out(plan, bench, outcome, references, chance)
        outcome.seconds = time.monotonic() - began
        keep_it.append(bool(judge(outcome)))
    return outcome


def _carry_out(
    plan: Plan, bench: Bench, outcome: Outcome, references: References, chance: random.Random
) -> None:
    try:
        reference = _reference(plan, references)
        outcome.reference, outcome.reference_weights = reference.losses, reference.weights
        bench.start(_document(bench, plan))
        (plan.act or _injure(plan))(bench, outcome, chance)
        bench.wait_for_end()
        _wait_for_silence(bench)
    except Exception as error:
        outcome.wrong.append(f"{type(error).__name__}: {error}")
    _look(bench, outcome)
    outcome.left += list(bench.left()) if bench.home.exists() else []
    bench.close()


def _injure(plan: Plan) -> Callable[[Bench, Outcome, random.Random], None]:
    def act(bench: Bench, outcome: Outcome, chance: random.Random) -> None:
        attempt = 1
        for kind in plan.kinds:
            if not bench.wait_for_attempt(attempt, steps=1):
                return
            time.sleep(chance.uniform(FIRST, LAST))
            if not bench.record().is_active or bench.agent(attempt) is None:
                return
            try:
                injury = INJURIES[kind](bench, attempt, chance)
            except NotSeenError:
                if not _is_over(bench):
                    raise
                return  # it was faster than we
            outcome.injuries.append(injury)
            attempt += injury.kills_attempt

    return act


def _is_over(bench: Bench, seconds: float = 30.0) -> bool:
    """Whether the run ends by itself: its supervisor takes a moment to see it."""
    give_up = time.monotonic() + seconds
    while bench.record().is_active and time.monotonic() < give_up:
        time.sleep(0.1)
    return not bench.record().is_active


def _document(bench: Bench, plan: Plan) -> Path:
    spec = {
        "command": [plan.python, plan.script],
        "memory": "96Mi",
        "train": {"steps": plan.steps},
        "checkpoints": {"to": "pvc/ckpt", "every": f"{EVERY:g}s"},
        "retries": FORGIVING,
        **plan.spec,
    }
    return bench.write(spec, {"STEPS": str(plan.steps), "PAUSE": str(plan.pause), **plan.env})


def _reference(plan: Plan, references: References) -> Reference:
    if plan.expected != "finished":
        return Reference({}, "")
    env = {name: value for name, value in plan.env.items() if name not in TROUBLES} | dict(plan.reference_env)
    python = plan.python if plan.python != "python3" else ""
    return references.of(plan.script, {**env, "STEPS": str(plan.steps)}, world=plan.world, python=python)


def _wait_for_silence(bench: Bench) -> None:
    """A shim writes the last word, then clears up: that takes a moment."""
    give_up = time.monotonic() + 10
    while list(bench.left()) and time.monotonic() < give_up:
        time.sleep(0.1)


def _look(bench: Bench, outcome: Outcome) -> None:
    """Keep everything that was seen."""
    if not bench.home.exists() or not (runs := bench.store.runs()):
        return
    record = runs[0]
    outcome.state, outcome.why, outcome.attempts = record.state, record.why, record.attempts
    outcome.journal = bench.journal()
    outcome.weights = sha256(bench.weights()).hexdigest()
    boxes = {each.number: bench.black_box(each.number) for each in record.attempts}
    outcome.records = {number: box for number, box in boxes.items() if box is not None}
    outcome.notes += [
        moment.text for moment in bench.store.moments(record.id) if "supervisor failed" in moment.text
    ]
    outcome.wrong += [f"our own bug: {text}" for text in outcome.notes]


@contextmanager
def case_folder(keep: Path | None) -> Iterator[tuple[Path, list[bool]]]:
    """A folder for one case, kept where it failed and somebody wants to look."""
    folder = Path(tempfile.mkdtemp(prefix="survival-"))
    failed: list[bool] = []
    try:
        yield folder, failed
    finally:
        if keep is not None and any(failed):
            shutil.copytree(folder, keep / folder.name, symlinks=True, ignore_dangling_symlinks=True)
        shutil.rmtree(folder, ignore_errors=True)
