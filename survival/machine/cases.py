"""Which cases make up the proof on this machine: special ones, and kills at random moments for the rest."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from dev.obtain_torch import interpreter_of

from survival.machine import courses
from survival.machine.injuries import INJURIES
from survival.machine.running import FORGIVING, Plan

PER_CASE = 4
_STEPS_OF = {"supervisor": 400, "shim": 60, "everything": 90}
"""Steps that a training makes until the next injury: those that do not kill it let it go on meanwhile."""
_LEAK = {"LEAK": str(640 * 1024)}
_TRAIN = {"TONNAGE_MICRO_BATCH": "8", "TONNAGE_ACCUMULATION": "4"}
_SMALL_DISK = {"checkpoints": {"to": "./ckpt", "every": "1s"}}


def plans(deaths: int, seed: int) -> list[Plan]:
    """All cases of a full proof, as many kills at random moments as make up the number of deaths."""
    chance = random.Random(seed)
    special = [replace(each, seed=chance.randrange(2**32)) for each in specials()]
    found = sum(expected_deaths(each) for each in special)
    return [*mixed(max(deaths - found, len(INJURIES)), chance), *special]


def mixed(deaths: int, chance: random.Random) -> Iterator[Plan]:
    """Kills of every kind, shuffled, a few to each training."""
    deck: list[str] = []
    while len(deck) < deaths:
        kinds = list(INJURIES)
        chance.shuffle(kinds)
        deck += kinds
    deck = deck[:deaths]
    for index in range(0, len(deck), PER_CASE):
        yield mixed_plan(deck[index : index + PER_CASE], chance.randrange(2**32))


def more(seed: int) -> Iterator[Plan]:
    """Further trainings without end, for deaths that a training was too short to meet."""
    chance = random.Random(f"{seed} more")
    while True:
        yield from mixed(len(INJURIES), chance)


def mixed_plan(kinds: list[str], seed: int) -> Plan:
    steps = 120 + sum(_STEPS_OF.get(kind, 50) for kind in kinds)
    return Plan(name=" + ".join(kinds), seed=seed, kinds=tuple(kinds), steps=steps)


def specials() -> Iterator[Plan]:
    """Cases with a course of their own."""
    for _ in range(3):
        yield Plan(name="disk full", seed=0, spec=_SMALL_DISK, act=courses.disk_full, small_disk=True)
        yield Plan(
            name="disk full, fatal", seed=0, spec=_SMALL_DISK, act=courses.disk_full_fatal, small_disk=True,
            env={"ON_FAILURE": "raise"},
        )  # fmt: skip
    for _ in range(2):
        yield Plan(name="leaks from the first step", seed=0, steps=220, env=_LEAK, act=courses.leaking)
        yield Plan(
            name="stopped and resumed by its owner", seed=0, steps=160, act=courses.stopped_and_resumed
        )
        yield Plan(name="wrong code", seed=0, expected="failed", act=courses.wrong_code)
    yield Plan(name="OOM at 90 %", seed=0, steps=200, env={"LEAK_FROM": "180"}, act=courses.leaking)
    yield Plan(
        name="deadline", seed=0, steps=2000, expected="failed", spec={"deadline": "20s"}, act=courses.deadline
    )
    yield gpu_plan("GPU OOM until the micro-batch is small enough", most=2, expected="finished")
    yield gpu_plan("GPU OOM at any micro-batch", most=0, expected="failed")
    yield Plan(
        name="needs more RAM than it may have", seed=0, expected="failed", act=courses.hopeless,
        env={"LEAK": str(24 * 2**20)},
        spec={"onOOM": {"host": "raise", "maxMemory": "192Mi"}, "retries": FORGIVING},
    )  # fmt: skip
    for port in (28_800, 28_840):
        yield Plan(
            name="gang of two nodes", seed=0, script="gang.py", steps=240, world=2, act=courses.gang,
            spec={"nodes": 2}, env={"MASTER_PORT": str(port)},
        )  # fmt: skip
    yield from torch_plans()


def torch_plans() -> Iterator[Plan]:
    """The same with torch on CPU, where an environment with it is installed."""
    python = interpreter_of("2.11")
    if not python.exists():
        return
    memory = {"memory": "1500Mi", "train": {}}
    yield Plan(
        name="torch on CPU", seed=0, script="lines.py", python=str(python), steps=220, spec=memory,
        kinds=("both", "torn-byte", "notice-120s"),
    )  # fmt: skip
    yield Plan(
        name="torch DDP over gloo, two nodes", seed=0, script="lines.py", python=str(python), steps=220, world=2,
        spec={**memory, "nodes": 2}, env={"MASTER_PORT": "28880"}, act=courses.gang,
    )  # fmt: skip


def gpu_plan(name: str, *, most: int, expected: str) -> Plan:
    return Plan(
        name=name, seed=0, steps=60, expected=expected, env={"GPU_MOST": str(most)},
        reference_env=_TRAIN,
        act=courses.gpu_oom if most else courses.hopeless,
        spec={
            "memory": "2Gi", "train": {"steps": 60, "microBatch": 8, "accumulation": 4},
            "command": ["python3", "spirals.py", "--micro-batch", "{microBatch}"],
        },
    )  # fmt: skip


def expected_deaths(plan: Plan) -> int:
    """How many deaths a case brings, at least."""
    return len(plan.kinds) or (3 if plan.world > 1 else 1)


def sample(seed: int) -> list[Plan]:
    """A seeded handful for every test run: one case of kills, one special."""
    chance = random.Random(seed)
    kinds = chance.sample([kind for kind in INJURIES if kind != "supervisor"], 2)
    return [
        mixed_plan(["everything", *kinds], chance.randrange(2**32)),
        mixed_plan(["oom-both", "torn-byte"], chance.randrange(2**32)),
    ]
