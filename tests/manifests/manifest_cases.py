"""Runs of every kind on clusters of every kind, planned and rendered: what the golden files are made from.

Nothing is faked between document and objects: each case is a Run document and nodes, planned by `make_plan` as
`tonnage run` would, and rendered. Only what a pod needs is a given figure, where the document leaves it open.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from tonnage.cluster.objects import Node, Pod
from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.objects.policy import Namespace
from tonnage.cluster.shapes import node_from_shape, parse_node_shapes
from tonnage.cluster.snapshot import Snapshot
from tonnage.cost.price import Price
from tonnage.manifests import CodeDelivery, Rendered, RenderRequest, facts_of, planned_of, render
from tonnage.planning.plan import look_at
from tonnage.planning.situation import Situation
from tonnage.planning.sources import Figure, PodFigures, Sources
from tonnage.planning.workload.of_run import workload_of_run
from tonnage.running.attempts import Size
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run

GIB = 2**30
GPU = "nvidia.com/gpu"
NOON = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)
AGENT = b"PK not a real archive, but bytes like any other"
CODE = CodeDelivery(digest="5f" * 32, config_map="sft-code", mount="/workspace")
ALL = {
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "PyTorchJob": "kubeflow.org/v1",
    "TFJob": "kubeflow.org/v1",
    "MPIJob": "kubeflow.org/v1",
}
TORCH = {"image": "registry.example/train:1.4", "command": "torchrun train.py", "framework": "torch"}
FIGURES = {"memory": 180 * GIB, "shm": 12 * GIB, "disk": 60 * GIB, "cpu": 48_000}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A document, a cluster, and what rendering is told beside."""

    name: str
    spec: dict[str, Any]
    nodes: str = "8xh100=4"
    labels: Mapping[str, str] | None = None
    """In place of the nodes' GPU labels."""
    resources: Mapping[str, str] = field(default_factory=dict)
    """Announced by every node beside the usual."""
    namespace: str = "default"
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    served: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, int] = field(default_factory=lambda: FIGURES)
    queues: tuple[str, ...] = ()
    topology: tuple[str, ...] = ()
    """Levels of the topology that the queue's flavor has."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the request."""

    def run(self) -> Run:
        document = {
            "apiVersion": "tonnage.dev/v1alpha1",
            "kind": "Run",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": self.spec,
        }
        return load_one(json.dumps(document), "run.json", Run)

    def snapshot(self) -> Snapshot:
        return a_snapshot(self)

    def situation(self) -> Situation:
        sources = Sources(price_of=_price, figures_of=lambda *_: _figures(self.figures))
        return look_at(workload_of_run(self.run()), sources, snapshot=self.snapshot())

    def request(self) -> RenderRequest:
        plan, snapshot = self.situation().plan, self.snapshot()
        request = RenderRequest(
            run=self.run(),
            planned=planned_of(plan, snapshot),
            facts=facts_of(snapshot, plan, served=self.served),
            agent=AGENT,
        )
        return replace(request, **self.more)

    def rendered(self) -> Rendered:
        return render(self.request())


def a_snapshot(case: Case) -> Snapshot:
    nodes = []
    for shape, count in parse_node_shapes(case.nodes):
        for index in range(count):
            manifest = node_from_shape(shape, f"{shape.name}-{index}", index)
            manifest["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            manifest["status"]["allocatable"] |= case.resources
            if case.labels is not None:
                kept = {
                    k: v for k, v in manifest["metadata"]["labels"].items() if not k.startswith("nvidia.com/")
                }
                manifest["metadata"]["labels"] = kept | dict(case.labels)
            nodes.append(msgspec.convert(manifest, Node))
    meta = {"metadata": {"name": case.namespace, "labels": dict(case.namespace_labels)}}
    return Snapshot(
        taken_at=NOON,
        source="a test",
        nodes=tuple(nodes),
        namespaces=(msgspec.convert(meta, Namespace),),
        **_queues(case),
    )


def _queues(case: Case) -> dict[str, tuple[Loose, ...]]:
    def loose(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> Loose:
        meta = msgspec.convert({"name": name, "namespace": namespace}, type(Pod().metadata))
        return Loose(kind=kind, metadata=meta, spec=spec)

    quota = [
        {"name": name, "nominalQuota": "100000Gi"} for name in ("cpu", "memory", "ephemeral-storage", GPU)
    ]
    found: dict[str, tuple[Loose, ...]] = {
        "local_queues": (),
        "cluster_queues": (),
        "flavors": (),
        "topologies": (),
    }
    for name in case.queues:
        group = {
            "coveredResources": [each["name"] for each in quota],
            "flavors": [{"name": name, "resources": quota}],
        }
        found["local_queues"] += (loose("LocalQueue", name, {"clusterQueue": name}, case.namespace),)
        found["cluster_queues"] += (loose("ClusterQueue", name, {"resourceGroups": [group]}),)
        topology = {"topologyName": "racks"} if case.topology else {}
        found["flavors"] += (loose("ResourceFlavor", name, topology),)
    levels = {"levels": [{"nodeLabel": label} for label in case.topology]}
    found["topologies"] = (loose("Topology", "racks", levels),) if case.topology else ()
    return found


def _figures(amounts: Mapping[str, int]) -> PodFigures:
    return PodFigures(figures={name: Figure(amount=amount) for name, amount in amounts.items()})


def _price(node: Node) -> Price | None:
    return Price(low=98_320_000, high=98_320_000, origin="a test") if GPU in node.status.allocatable else None


CASES = (
    Case(
        name="cpu-only",
        spec={
            "image": "python:3.12-slim",
            "command": "python train.py",
            "priority": "low",
            "volumes": [{"mount": "/scratch", "emptyDir": "20Gi"}],
        },
        nodes="cpu=2",
        figures={},
    ),
    Case(
        name="one-node-high",
        spec={
            **TORCH,
            "gpus": "8 x h100",
            "priority": "high",
            "team": "research",
            "labels": {"project": "llama"},
            "checkpoints": {"to": "pvc/ckpt/llama", "grace": "90s"},
            "output": "s3://models/llama",
            "data": ["s3://corpus/v3"],
            "secrets": {"AWS_ACCESS_KEY_ID": "s3/id", "AWS_SECRET_ACCESS_KEY": "s3/key"},
            "env": {"NCCL_DEBUG": "WARN"},
            "imagePullSecrets": ["registry"],
            "deadline": "12h",
            "budget": "$1,200",
            "train": {"microBatch": 4, "accumulation": 8},
        },
        more={"cost_centre": "R&D / Europe", "spent": 12_000_000},
    ),
    Case(
        name="spot-allowed",
        spec={**TORCH, "gpus": "8 x h100", "spot": True, "checkpoints": "pvc/ckpt"},
        nodes="8xh100=2+spot,8xh100-pcie=1",
    ),
    Case(
        name="spot-only-aws",
        spec={**TORCH, "gpus": 1, "spot": "only", "checkpoints": "s3://ckpt/sft"},
        nodes="8xh100=2",
        labels={"eks.amazonaws.com/capacityType": "SPOT", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
    ),
    Case(
        name="mig-slice",
        spec={**TORCH, "gpus": "0.5 x a100-80", "checkpoints": "pvc/ckpt", "memory": "32Gi", "cpu": 8},
        nodes="a100-80=2+mig=1x3g.40gb/4x1g.10gb,8xh100=1",
    ),
    Case(
        name="mig-single",
        spec={**TORCH, "gpus": "0.125 x a100-80", "checkpoints": "pvc/ckpt", "memory": "16Gi", "cpu": 4},
        nodes="8xa100-80=2+mig=1g.10gb",
    ),
    Case(
        name="shared-gpu",
        spec={"image": "train:1", "command": "python train.py", "gpus": "0.25 x l4", "memory": "8Gi..12Gi", "cpu": 2},
        nodes="4xl4=2+shared=4",
    ),
    Case(
        name="whole-beside-shared",
        spec={**TORCH, "gpus": 2, "checkpoints": "pvc/ckpt", "memory": "64Gi", "cpu": 8},
        nodes="4xl4=2,small=1+gpus=4xl4+shared=4",
    ),
    Case(
        name="label-of-the-cloud",
        spec={**TORCH, "gpus": "8 x h100", "checkpoints": "nfs://filer/ckpt"},
        labels={"cloud.google.com/gke-accelerator": "nvidia-h100-80gb", "cloud.google.com/gke-nodepool": "a3"},
    ),
    Case(
        name="label-of-the-administrator",
        spec={**TORCH, "gpus": "8 x h100", "checkpoints": "pvc/ckpt"},
        labels={"nvidia.com/gpu": "true"},
    ),
    Case(
        name="cheapest-that-fits",
        spec={**TORCH, "gpus": 4, "checkpoints": "pvc/ckpt", "memory": "64Gi", "cpu": 16},
        nodes="8xh100=2,8xa100-80=2",
    ),
    Case(
        name="queue-one-pod",
        spec={**TORCH, "gpus": "4 x h100", "queue": "h100", "checkpoints": "pvc/ckpt", "memory": "90Gi", "cpu": 16},
        queues=("h100",),
        served=ALL,
    ),
    Case(
        name="code-from-config-map",
        spec={**TORCH, "gpus": 1, "priority": "critical", "code": ".", "checkpoints": "pvc/ckpt"},
        more={"code": CODE},
    ),
    Case(
        name="code-from-bucket",
        spec={"image": "train:1", "command": "./train", "code": ".", "memory": "2Gi", "cpu": 1},
        nodes="cpu=1",
        figures={},
        more={"code": CodeDelivery(digest="5f" * 32, claim="code", path="sft.tar.gz"), "has_python": False},
    ),
    Case(
        name="volumes-of-all-kinds",
        spec={
            **TORCH,
            "gpus": 1,
            "data": [{"from": "pvc/corpus/tokens", "mount": "/data"}, {"from": "nfs://filer/more", "mount": "/more"}],
            "volumes": [
                {"mount": "/models", "pvc": "models", "subPath": "base", "readOnly": True},
                {"mount": "/home/shared", "nfs": "filer:/export"},
                {"mount": "/etc/settings", "configMap": "settings"},
                {"mount": "/etc/keys", "secret": "keys"},
                {"mount": "/local", "hostPath": "/mnt/nvme"},
            ],
            "checkpoints": {"to": "nfs://filer/ckpt", "every": "10m", "keep": 2, "verify": False},
            "output": "pvc/results",
        },
    ),
    Case(
        name="restricted-namespace",
        spec={**TORCH, "gpus": 8, "nodes": 2, "checkpoints": "pvc/ckpt"},
        namespace="careful",
        namespace_labels={"pod-security.kubernetes.io/enforce": "restricted"},
        resources={"rdma/hca_shared_devices_a": "63"},
    ),
    Case(
        name="patched-and-critical",
        spec={
            **TORCH,
            "gpus": 8,
            "priority": "critical",
            "checkpoints": "pvc/ckpt",
            "podTemplate": {
                "metadata": {"annotations": {"example.com/owner": "ml"}},
                "spec": {
                    "runtimeClassName": None,
                    "tolerations": [{"key": "dedicated", "operator": "Exists"}, {"key": GPU, "operator": "Exists"}],
                    "containers": [
                        {"name": "main", "env": [{"name": "EXTRA", "value": "1"}]},
                        {"name": "logs", "image": "fluent-bit:3.1"},
                    ],
                },
            },
        },
    ),
    Case(
        name="a-name-as-long-as-kubernetes-allows-any-label-to-be-in-a-spec",
        spec={**TORCH, "gpus": 8, "nodes": 2, "checkpoints": "pvc/ckpt", "target": "JobSet"},
        served=ALL,
        more={"attempt": 12, "size": Size(memory=300 * GIB, shm=24 * GIB, micro_batch=2, accumulation=8)},
    ),
    Case(
        name="gang-without-jobset",
        spec={**TORCH, "gpus": "8 x h100", "nodes": 2, "checkpoints": "pvc/ckpt", "priority": "high"},
        nodes="8xh100=4+zone=eu-1a/eu-1b",
    ),
    Case(
        name="gang-without-retries",
        spec={
            "image": "train:1",
            "command": "python train.py",
            "framework": "torch",
            "nodes": 2,
            "processesPerNode": 2,
            "cpu": 4,
            "memory": "8Gi",
            "target": "IndexedJob",
            "retries": 0,
            "checkpoints": "pvc/ckpt",
            "network": {"isolation": "namespace", "interface": "eth1"},
        },
        nodes="cpu=2",
        figures={},
    ),
    Case(
        name="jax-gang",
        spec={"image": "jax:1", "command": "python train.py", "framework": "jax", "gpus": 8, "nodes": 2,
              "checkpoints": "s3://ckpt/jax"},
    ),
    Case(
        name="tensorflow-without-operator",
        spec={"image": "tf:1", "command": "python train.py", "framework": "tensorflow", "gpus": 8, "nodes": 2,
              "checkpoints": "pvc/ckpt"},
    ),
    Case(
        name="jobset-with-rdma",
        spec={**TORCH, "gpus": "8 x h100", "nodes": 4, "checkpoints": "pvc/ckpt", "network": {"rdma": "required"}},
        resources={"rdma/ib": "8", "vpc.amazonaws.com/efa": "32"},
        served=ALL,
    ),
    Case(
        name="jobset-in-queue",
        spec={**TORCH, "gpus": "8 x h100", "nodes": 2, "queue": "h100", "checkpoints": "pvc/ckpt"},
        queues=("h100",),
        served=ALL,
    ),
    Case(
        name="jobset-by-topology",
        spec={**TORCH, "gpus": "8 x h100", "nodes": 2, "queue": "racks", "checkpoints": "pvc/ckpt"},
        queues=("racks",),
        topology=("topology.kubernetes.io/zone", "kubernetes.io/hostname"),
        served=ALL,
    ),
    Case(
        name="jobset-on-host-network",
        spec={**TORCH, "gpus": "8 x h100", "nodes": 2, "checkpoints": "pvc/ckpt",
              "network": {"hostNetwork": True, "isolation": "none"}},
        served=ALL,
    ),
    Case(
        name="trainjob-torch",
        spec={**TORCH, "gpus": "8 x h100", "nodes": 2, "target": "TrainJob", "priority": "high",
              "checkpoints": "pvc/ckpt", "deadline": "2d", "maxWait": "6h"},
        served=ALL,
    ),
    Case(
        name="trainjob-jax-in-queue",
        spec={"image": "jax:1", "command": "python train.py", "framework": "jax", "gpus": "4 x h100", "nodes": 2,
              "target": "TrainJob", "queue": "h100", "memory": "100Gi", "cpu": 20, "checkpoints": "pvc/ckpt"},
        queues=("h100",),
        served=ALL,
    ),
    Case(
        name="pytorchjob-critical",
        spec={**TORCH, "gpus": "8 x h100", "nodes": 2, "target": "PyTorchJob", "priority": "critical",
              "checkpoints": "pvc/ckpt", "deadline": "1d"},
        served=ALL,
    ),
    Case(
        name="pytorchjob-in-queue",
        spec={**TORCH, "gpus": "4 x h100", "nodes": 2, "target": "PyTorchJob", "queue": "h100", "memory": "100Gi",
              "cpu": 20, "spot": True, "checkpoints": "pvc/ckpt"},
        queues=("h100",),
        served=ALL,
    ),
    Case(
        name="tfjob",
        spec={"image": "tf:1", "command": "python train.py", "framework": "tensorflow", "gpus": "8 x h100",
              "nodes": 2, "checkpoints": "pvc/ckpt", "priority": "high"},
        served=ALL,
    ),
    Case(
        name="mpijob-horovod",
        spec={"image": "horovod:1", "command": "python train.py", "framework": "horovod", "gpus": "8 x h100",
              "nodes": 2, "checkpoints": "pvc/ckpt", "priority": "high"},
        served=ALL,
    ),
    Case(
        name="mpijob-own-mpirun",
        spec={"image": "mpi:1", "command": "mpirun -np 4 ./allreduce", "nodes": 2, "processesPerNode": 2, "cpu": 2,
              "memory": "2Gi", "disk": "2Gi", "iAcceptLosingWork": True},
        nodes="cpu=2",
        figures={},
        served=ALL,
    ),
    Case(
        name="mpijob-by-ssh",
        spec={"image": "horovod:1", "command": "python train.py", "framework": "horovod", "gpus": "8 x h100",
              "nodes": 2, "checkpoints": "pvc/ckpt", "queue": "h100"},
        queues=("h100",),
        served={"MPIJob": "kubeflow.org/v2beta1"},
    ),
    Case(
        name="probe",
        spec={**TORCH, "gpus": 1, "checkpoints": "pvc/ckpt", "train": {"microBatch": 2},
              "deadline": "8h"},
        more={"probe_steps": 50, "ran_seconds": 5_400.0},
    ),
)  # fmt: skip
BY_NAME = {case.name: case for case in CASES}
