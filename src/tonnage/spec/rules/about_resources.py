"""Rules about what a Run asks of nodes: how many, which GPUs, how much memory."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.cluster.gpus import find_gpu, nearest_gpus
from tonnage.spec.literals import Duration, Size
from tonnage.spec.mistakes import Path
from tonnage.spec.rules.remarks import Remark
from tonnage.spec.run import Run


def several_nodes_need_whole_gpus(run: Run) -> Iterator[Remark]:
    """Ranks on several nodes cannot each share a GPU with strangers: all wait for the slowest share."""
    if run.spec.nodes.high > 1 and run.spec.gpus.is_fraction:
        yield Remark(
            code="DOC-035",
            path=("spec", "gpus"),
            what=f"{run.spec.nodes} nodes with {run.spec.gpus.count} GPU each",
            expected="whole GPUs on several nodes, or one node",
            hint="nodes: 1, or gpus: 1",
        )


def at_least_one_node(run: Run) -> Iterator[Remark]:
    """A run of no nodes runs nothing."""
    if run.spec.nodes.low == 0:
        yield Remark(
            code="DOC-021", path=("spec", "nodes"), what=f"{run.spec.nodes} nodes", expected="at least 1 node"
        )


def amounts_are_more_than_nothing(run: Run) -> Iterator[Remark]:
    """No time, or no memory, where the run needs some to live at all."""
    spec = run.spec
    every = spec.checkpoints.every.duration if spec.checkpoints else None
    given: tuple[tuple[Path, object, str], ...] = (
        (("spec", "deadline"), spec.deadline, "the run would be stopped at once"),
        (("spec", "checkpoints", "every"), every, "it would do nothing but save"),
        (("spec", "idle", "after"), spec.idle.after, "it would be idle at once"),
        (("spec", "memory"), spec.memory.limit, "nothing runs without memory"),
    )
    for path, amount, consequence in given:
        if amount in (Duration(0), Size(0)):
            yield Remark(
                code="DOC-021", path=path, what=f"{amount}: {consequence}", expected="more than nothing"
            )


def shm_within_memory(run: Run) -> Iterator[Remark]:
    """/dev/shm is memory: a segment as large as the limit gets the container killed."""
    shm, memory = run.spec.shm.limit, run.spec.memory.limit
    if shm is not None and memory is not None and shm >= memory:
        yield Remark(
            code="DOC-033",
            path=("spec", "shm"),
            what=f"shm {shm} fills the whole memory limit {memory}",
            expected="shm below memory: what is in /dev/shm counts as memory",
            hint=f"raise spec.memory by {shm}, or shm: auto",
        )


def gpu_type_is_known(run: Run) -> Iterator[Remark]:
    """A type outside our table is legal (clusters have their own), but its memory is not known."""
    kind = run.spec.gpus.type
    if kind is not None and find_gpu(kind) is None:
        near = nearest_gpus(kind)
        yield Remark(
            code="DOC-052",
            path=("spec", "gpus"),
            what=f"the GPU type '{kind}' is not in our table: its memory is not known",
            hint=f"did you mean {near[0]}?" if near else None,
            is_mild=True,
        )


def part_of_a_gpu(run: Run) -> Iterator[Remark]:
    """Legal here, though Kubernetes has no such thing: say what will be made of it."""
    if run.spec.gpus.is_fraction and run.spec.nodes.high == 1:
        yield Remark(
            code="DOC-053",
            path=("spec", "gpus"),
            what=f"{run.spec.gpus.count} of a GPU: Kubernetes gives whole ones only",
            hint="a MIG slice or a shared GPU will be looked for; without one, a whole GPU is needed",
            is_mild=True,
        )
