"""From a case's plan on real nodes to its outcome."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from survival.case import Outcome
from survival.judging import judge
from survival.machine.bench import NotSeenError
from survival.machine.references import Reference, References
from survival.machine.running import TROUBLES, case_folder
from survival.nodes.bench import NodesBench
from survival.nodes.injuries import INJURIES
from tonnage.sandbox.state import Sandbox

EVERY = 1.0
FIRST, LAST = 0.3, 3.0
FORGIVING = {
    "unknown": 30, "hostOOM": 10, "network": 30, "storage": 10, "eviction": 10, "node": 10, "spot": 10,
    "preemption": 10, "backoff": "0.5s..1s",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class NodesPlan:
    """One case before it is run."""

    name: str
    seed: int
    kinds: Sequence[str] = ()
    script: str = "spirals.py"
    steps: int = 260
    pause: float = 0.04
    spec: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    reference_env: Mapping[str, str] = field(default_factory=dict)
    python: str = ""
    """Interpreter of the undisturbed run, where it needs more than the standard library."""
    world: int = 1
    is_gang: bool = False
    """Whether it only loses pods of its own: others may run beside it."""
    expected: str = "finished"
    act: Callable[[NodesBench, Outcome, random.Random], None] | None = None


def run_plan(
    plan: NodesPlan, sandbox: Sandbox, references: References, namespace: str, keep: Path | None = None
) -> Outcome:
    """Run one case to its end, and leave the cluster as it was; a failed one leaves its folder under `keep`."""
    began, chance = time.monotonic(), random.Random(plan.seed)
    outcome = Outcome(
        case=plan.name, seed=plan.seed, place="nodes", every=EVERY, expected_state=plan.expected
    )
    with case_folder(keep) as (folder, keep_it):
        bench = NodesBench(folder, sandbox=sandbox, namespace=namespace)
        bench.is_spot = any(kind.startswith("spot") for kind in plan.kinds)
        try:
            bench.prepare()
            reference = _reference(plan, references)
            outcome.reference, outcome.reference_weights = reference.losses, reference.weights
            bench.start(_document(bench, plan))
            (plan.act or _injure(plan))(bench, outcome, chance)
            bench.put_right()
            bench.wait_for_end()
            bench.settle()
        except Exception as error:
            outcome.wrong.append(f"{type(error).__name__}: {error}")
        finally:
            _look(bench, outcome)
            bench.close()
        keep_it.append(bool(judge(outcome)))
    outcome.seconds = time.monotonic() - began
    return outcome


def _injure(plan: NodesPlan) -> Callable[[NodesBench, Outcome, random.Random], None]:
    def act(bench: NodesBench, outcome: Outcome, chance: random.Random) -> None:
        since = 0.0
        for kind in plan.kinds:
            attempt = bench.wait_for_life(since)
            bench.put_right()
            time.sleep(chance.uniform(FIRST, LAST))
            if attempt is None or not bench.record().is_active or bench.agent(attempt) is None:
                raise NotSeenError(f"it was over before {kind}: too short a training")
            injury = INJURIES[kind](bench, attempt, chance)
            outcome.injuries.append(injury)
            since = injury.when if injury.kills_attempt else since
        bench.wait_for_life(since)

    return act


def _document(bench: NodesBench, plan: NodesPlan) -> Path:
    spec = {
        "command": ["python3", plan.script],
        "memory": "96Mi",
        "train": {"steps": plan.steps},
        "checkpoints": {"to": "pvc/ckpt", "every": f"{EVERY:g}s", "grace": "5s"},
        "retries": FORGIVING,
        **plan.spec,
    }
    return bench.write(spec, {"STEPS": str(plan.steps), "PAUSE": str(plan.pause), **plan.env}, plan.script)


def _reference(plan: NodesPlan, references: References) -> Reference:
    if plan.expected != "finished":
        return Reference({}, "")
    env = {name: value for name, value in plan.env.items() if name not in TROUBLES} | dict(plan.reference_env)
    return references.of(plan.script, {**env, "STEPS": str(plan.steps)}, world=plan.world, python=plan.python)


def _look(bench: NodesBench, outcome: Outcome) -> None:
    if not bench.home.exists() or not (runs := bench.store.runs()):
        return
    record = runs[0]
    outcome.state, outcome.why, outcome.attempts = record.state, record.why, record.attempts
    outcome.journal = bench.journal()
    outcome.weights = sha256(bench.weights()).hexdigest()
    boxes = {each.number: bench.black_box(each.number) for each in record.attempts}
    outcome.records = {number: box for number, box in boxes.items() if box is not None}
    outcome.left += list(bench.left())
    outcome.wrong += [
        f"our own bug: {moment.text}"
        for moment in bench.store.moments(record.id)
        if "supervisor failed" in moment.text
    ]
