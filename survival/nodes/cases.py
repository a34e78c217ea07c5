"""Which cases make up the proof on real nodes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dev.obtain_torch import interpreter_of

from survival.nodes import courses
from survival.nodes.injuries import INJURIES
from survival.nodes.running import NodesPlan
from tonnage.sandbox.realnode.images import OPEN_MPI

PER_CASE = 3
_APART = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
            "nodeTaintsPolicy": "Honor",
            "labelSelector": {"matchLabels": {"tonnage.dev/run": "survivor"}},
        }
    ]
}  # fmt: skip
"""Ranks that run on one node prove no wiring between two."""
GANG = {"nodes": 2, "cpu": "0.5", "podTemplate": {"spec": _APART}}
TORCH_TARGETS = ("IndexedJob", "JobSet", "TrainJob", "PyTorchJob")
_STEPS_OF = {"supervisor": 250, "eviction": 700}
"""Steps a training makes meanwhile: a kubelet that is told another threshold takes its time."""


def plans(seed: int) -> list[NodesPlan]:
    """Everything, each with a seed of its own: gangs, which leave the nodes alone, then what is done to nodes."""
    chance = random.Random(seed)
    every = [*wiring(), *deaths(chance), late_oom()]
    return [replace(each, seed=chance.randrange(2**32)) for each in every]


def sample(seed: int) -> list[NodesPlan]:
    """One training that is killed once, for every test run."""
    chance = random.Random(seed)
    kind = chance.choice(("pod-rank", "pod-both", "pod-oom", "drain", "preemption"))
    return [death([kind], chance.randrange(2**32))]


def deaths(chance: random.Random) -> Iterator[NodesPlan]:
    """Every injury, shuffled, a few to each training; on spot nodes whatever ends a node is a reclaim."""
    spot = [kind for kind in INJURIES if kind.startswith("spot")]
    for kinds in (spot, [kind for kind in INJURIES if kind not in spot]):
        chance.shuffle(kinds)
        for index in range(0, len(kinds), PER_CASE):
            yield death(kinds[index : index + PER_CASE], 0)


def death(kinds: list[str], seed: int) -> NodesPlan:
    steps = 150 + sum(_STEPS_OF.get(kind, 120) for kind in kinds)
    is_spot = any(kind.startswith("spot") for kind in kinds)
    spec = {"spot": True} if is_spot else {}
    return NodesPlan(name=" + ".join(kinds), seed=seed, kinds=tuple(kinds), steps=steps, spec=spec)


def late_oom() -> NodesPlan:
    return NodesPlan(name="OOM at 90 %", seed=0, steps=200, env={"LEAK_FROM": "180"}, act=courses.own_oom)


def wiring() -> Iterator[NodesPlan]:
    """Gangs of two pods by every target, each of which loses either pod."""
    yield mpi_gang()
    yield tensorflow_gang()
    python = interpreter_of("2.11")
    if python.exists():
        for shard in ("fsdp", "ddp"):
            for target in TORCH_TARGETS:
                yield torch_gang(target, shard, python)


def torch_gang(target: str, shard: str, python: Path) -> NodesPlan:
    """torch over gloo, its packages mounted from this machine."""
    packages = next((python.parent.parent / "lib").glob("python3.*/site-packages"))
    return NodesPlan(
        name=f"torch {shard.upper()} over gloo on {target}", seed=0, script="lines.py", steps=160, world=2,
        python=str(python), act=courses.either_pod, env={"SHARD": shard, "PYTHONPATH": "/torch"},
        reference_env={"MASTER_PORT": "28901"}, is_gang=True,
        spec={
            **GANG, "target": target, "framework": "torch", "memory": "2Gi",
            "volumes": [{"mount": "/torch", "hostPath": str(packages)}], "train": {},
        },
    )  # fmt: skip


def tensorflow_gang() -> NodesPlan:
    """Plain Python over sockets; the ranks know each other from TF_CONFIG alone."""
    return NodesPlan(
        name="ranks by TF_CONFIG on TFJob", seed=0, script="gang.py", steps=200, world=2, act=courses.either_pod,
        reference_env={"MASTER_PORT": "28902"}, is_gang=True,
        spec={**GANG, "target": "TFJob", "framework": "tensorflow"},
    )  # fmt: skip


def mpi_gang() -> NodesPlan:
    """An all-reduce by Open MPI, its ranks started by mpirun from a launcher; each worker is lost, and the launcher."""
    return NodesPlan(
        name="all-reduce by Open MPI on MPIJob", seed=0, script="gang.py", steps=300, world=2, is_gang=True,
        act=courses.any_pod_of_mpi, reference_env={"MASTER_PORT": "28903"},
        spec={**GANG, "target": "MPIJob", "framework": "mpi", "image": OPEN_MPI, "memory": "160Mi"},
    )  # fmt: skip
