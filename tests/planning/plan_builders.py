"""Workloads, nodes and snapshots for planning tests: written as people would say them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tonnage.cluster.objects import (
    LimitRange,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceQuota,
)
from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.shapes import node_from_shape, parse_node_shapes
from tonnage.cluster.snapshot import Gap, Snapshot
from tonnage.cost.price import Price
from tonnage.memory.estimate import Estimate, Guard, Interval, Mode, Part
from tonnage.planning.answers import Plan
from tonnage.planning.estimating import CannotEstimate
from tonnage.planning.solver.setup import Setup
from tonnage.planning.sources import Figure, PodFigures, Sources
from tonnage.planning.workload import (
    CheckpointTarget,
    DiesWith,
    Durability,
    GpuWish,
    Role,
    Workload,
)
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run

GIB = 2**30
GPU = "nvidia.com/gpu"
NOW = dt.datetime(2026, 11, 15, tzinfo=dt.UTC)


def nodes(shapes: str = "8xh100=6", **changes: Any) -> list[Node]:
    """Nodes as the sandbox would make them; prices go on as annotations."""
    made = []
    for shape, count in parse_node_shapes(shapes):
        for index in range(count):
            manifest = node_from_shape(shape, f"{shape.name}-{index}", index)
            manifest["metadata"]["annotations"] = dict(changes.get("annotations", {}))
            manifest["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            made.append(msgspec.convert(manifest, Node))
    return made


def a_snapshot(
    of: Sequence[Node] | str = "8xh100=6",
    *,
    pods: Sequence[Pod] = (),
    gaps: Sequence[str] = (),
    **objects: Any,
) -> Snapshot:
    """A cluster at noon; `gaps` names resources that could not be read."""
    found = nodes(of) if isinstance(of, str) else list(of)
    return Snapshot(
        taken_at=NOW,
        source="a test",
        nodes=tuple(found),
        pods=tuple(pods),
        gaps=tuple(Gap(resource=name, reason="forbidden") for name in gaps),
        **objects,
    )


def a_busy_pod(on: str, gpus: int = 8, *, name: str = "", daemon: bool = False, **requests: str) -> Pod:
    """Somebody else's pod on a node."""
    owner = [{"kind": "DaemonSet", "name": "agent"}] if daemon else []
    asked = {**({GPU: str(gpus)} if gpus else {}), **requests}
    return msgspec.convert(
        {
            "metadata": {
                "name": name or f"busy-{on}",
                "namespace": "other",
                "uid": f"busy-{on}-{name}",
                "ownerReferences": owner,
            },
            "spec": {"nodeName": on, "containers": [{"name": "main", "resources": {"requests": asked}}]},
            "status": {"phase": "Running"},
        },
        Pod,
    )


def a_pod(
    gpus: int = 8,
    *,
    resource: str = GPU,
    memory: str = "",
    cpu: str = "",
    namespace: str = "team",
    **spec: Any,
) -> Pod:
    """A training pod that tolerates GPU taints."""
    asked = {resource: str(gpus)} if gpus else {}
    asked |= ({"memory": memory} if memory else {}) | ({"cpu": cpu} if cpu else {})
    return msgspec.convert(
        {
            "metadata": {"name": "sft", "namespace": namespace},
            "spec": {
                "containers": [
                    {"name": "train", "image": "train:1", "resources": {"requests": asked, "limits": asked}}
                ],
                "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
                **spec,
            },
        },
        Pod,
    )


def a_run(**spec: Any) -> Run:
    """A Run document from plain fields."""
    document = {
        "apiVersion": "tonnage.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": "sft"},
        "spec": spec,
    }
    return load_one(json.dumps(document), "run.json", Run)


def durable(place: str = "pvc/ckpt") -> Durability:
    return Durability(place, DiesWith.NOTHING, "it outlives pods and nodes")


def a_workload(
    *,
    gpus: int | float = 8,
    count: int = 1,
    types: tuple[str, ...] = ("h100",),
    pod: Pod | None = None,
    run: Run | None = None,
    checkpoints: Durability | str | None = "durable",
    **fields: Any,
) -> Workload:
    """A workload of one role."""
    milli = int(gpus * 1000)
    wish = GpuWish(milli, "whole" if milli else "none", GPU if milli else "", types)
    role = Role(
        name="sft",
        count=count,
        pod=pod or a_pod(-(-milli // 1000)),
        gpus=wish,
        ranks_per_pod=wish.count,
        container="train",
    )
    target = durable() if checkpoints == "durable" else checkpoints
    return Workload(
        kind="Run" if run is not None else "Job",
        name="sft",
        namespace="team",
        roles=(role,),
        checkpoints=None if target is None else CheckpointTarget(durability=target),  # type: ignore[arg-type]
        run=run,
        **fields,
    )


def train(**fields: Any) -> Run:
    """A Run with a step that an estimator can be asked about."""
    spec = {"gpus": "8 x h100", "image": "a:1", "command": "python train.py"}
    return a_run(**{**spec, "train": {"microBatch": 4, "sequence": 4096, **fields}})


@dataclass
class AnEstimator:
    """An estimator of a made-up model: states, and activations per sample; one second per sample."""

    states: int = 20
    activations: int = 10
    mode: Mode = "shape"
    knobs: tuple[str, ...] = ("micro_batch", "accumulation", "checkpointing", "sharding", "offload")
    seconds_per_sample: float = 1.0
    asked: int = 0

    def roughly(self, setup: Setup) -> Estimate | None:  # noqa: ARG002
        return None

    def bounds(self, setup: Setup) -> Iterator[int]:  # noqa: ARG002
        return iter(())

    def memory(self, setup: Setup) -> Estimate:
        return self.estimate(setup)

    def seconds(self, setup: Setup) -> Interval | None:
        recipe = setup.recipe
        again = {"none": 1.0, "selective": 1.1, "full": 1.3}[recipe.checkpointing]
        step = self.seconds_per_sample * again * recipe.micro_batch * recipe.accumulation + 0.1
        return Interval(step * 0.9, step, step * 1.1)

    def estimate(self, setup: Setup) -> Estimate:
        self.asked += 1
        recipe = setup.recipe
        if recipe.micro_batch > 1000:
            raise CannotEstimate("no such step")
        kept = {"none": 1.0, "selective": 0.5, "full": 0.25}[recipe.checkpointing]
        shards = recipe.parallel.fsdp
        held = self.states * GIB // shards + int(self.activations * kept * recipe.micro_batch * GIB)
        return Estimate(
            mode=self.mode,
            gpu=setup.devices.gpu,
            peak_allocated=held,
            peak_reserved=held,
            smallest_cap=held,
            outside_allocator=0,
            guard=Guard(0, "none in a test"),
            parts=(Part("parameters", self.states * GIB // shards), Part("activations", held)),
            phases=(),
            step_seconds=self.seconds(setup),
        )


def sources(estimator: AnEstimator | None = None, **figures: int) -> Sources:
    """An estimator, figures of the pod by name, and prices from annotations."""
    found = {name: Figure(amount=amount) for name, amount in figures.items() if name != "checkpoint_bytes"}
    pod = PodFigures(figures=found, checkpoint_bytes=figures.get("checkpoint_bytes"))
    return Sources(
        estimator=estimator, price_of=price_of, figures_of=lambda _workload, _setup, _estimate: pod
    )


def price_of(node: Node) -> Price | None:
    """Dollars per hour from an annotation of the test's own."""
    said = node.metadata.annotations.get("test/price")
    if said is None:
        return None
    return Price(low=int(said) * 1_000_000, high=int(said) * 1_000_000, origin="the test")


def priced(shapes: str, dollars: int) -> list[Node]:
    return nodes(shapes, annotations={"test/price": str(dollars)})


def a_quota(
    hard: dict[str, str], used: dict[str, str] | None = None, namespace: str = "team"
) -> ResourceQuota:
    counted = dict.fromkeys(hard, "0") | (used or {})
    return msgspec.convert(
        {
            "metadata": {"name": "wall", "namespace": namespace},
            "spec": {"hard": hard},
            "status": {"hard": hard, "used": counted},
        },
        ResourceQuota,
    )


def a_limit_range(**item: Any) -> LimitRange:
    return msgspec.convert(
        {
            "metadata": {"name": "range", "namespace": "team"},
            "spec": {"limits": [{"type": "Container", **item}]},
        },
        LimitRange,
    )


def a_claim(name: str = "ckpt", modes: tuple[str, ...] = ("ReadWriteMany",)) -> PersistentVolumeClaim:
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "team",
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {"accessModes": list(modes), "volumeName": f"pv-{name}"},
            "status": {"phase": "Bound"},
        },
        PersistentVolumeClaim,
    )


def a_volume(name: str = "ckpt", **more: Any) -> PersistentVolume:
    """The volume that a claim of this name is bound to."""
    claim = {"kind": "PersistentVolumeClaim", "namespace": "team", "name": name}
    spec = {"claimRef": claim, "accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Ti"}, **more}
    return msgspec.convert(
        {"metadata": {"name": f"pv-{name}"}, "spec": spec, "status": {"phase": "Bound"}}, PersistentVolume
    )


def loose(
    kind: str, name: str, spec: dict[str, Any], status: dict[str, Any] | None = None, namespace: str = ""
) -> Loose:
    return Loose(
        kind=kind,
        metadata=msgspec.convert({"name": name, "namespace": namespace}, type(a_pod().metadata)),
        spec=spec,
        status=status or {},
    )


def changes(plan: Plan) -> list[str]:
    """What the verdict would change."""
    return [change.what for change in plan.verdict.changes]
