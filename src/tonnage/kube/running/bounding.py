"""How large an attempt may get here: the largest node that would take it, what quotas leave, what limit ranges allow.

Kubernetes' own rules are asked (`tonnage.cluster`): a node counts where the pod would land were it empty, less what
its daemons hold. Only the few largest nodes are looked into, and answers hold for a while: a supervisor asks at every
look, and a large cluster should not notice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from tonnage.cluster.admission.quota import pod_meets
from tonnage.cluster.objects.node import Node
from tonnage.cluster.objects.pod import Container, Pod
from tonnage.cluster.objects.policy import LimitRange, ResourceQuota
from tonnage.cluster.objects.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from tonnage.cluster.resources import pod_requests
from tonnage.cluster.scheduling import Stopped
from tonnage.cluster.scheduling.cycle import filter_nodes, prepare
from tonnage.cluster.scheduling.facts import facts_of
from tonnage.cluster.scheduling.view import ClusterView, Storage
from tonnage.errors import TonnageError
from tonnage.kube.decoding import decode_object
from tonnage.kube.running.api import Ref, RunApi
from tonnage.kube.running.setting import KubeSetting
from tonnage.manifests import Rendered
from tonnage.planning.workload.decoding import pod_of
from tonnage.running.attempts import Size
from tonnage.running.observing import Bounds
from tonnage.units import try_quantity

STORAGE = "storage.k8s.io/v1"
HOLDS_SECONDS = 60.0
LOOK_INTO = 3
"""So many of the largest nodes are asked for their daemons."""
_STAYING = ("DaemonSet", "Node")
Wall = tuple[int, str]


class Bounder:
    """Asks, and remembers for a minute."""

    def __init__(self, api: RunApi, setting: KubeSetting) -> None:
        self._api, self._setting = api, setting
        self._answer: tuple[float, Bounds] | None = None

    def bounds(self, size: Size) -> Bounds:
        if self._answer is None or time.monotonic() - self._answer[0] > HOLDS_SECONDS:
            self._answer = (time.monotonic(), self._ask(size))
        return self._answer[1]

    def _ask(self, size: Size) -> Bounds:
        pod = self._pod(size)
        walls = [*self._nodes(pod), *self._quotas(pod), *self._limit_ranges()]
        if not walls:
            return Bounds(can_resize_in_place=True)
        memory, wall = min(walls, key=lambda each: each[0])
        return Bounds(memory=memory, memory_wall=wall, can_resize_in_place=True)

    def _pod(self, size: Size) -> Pod:
        """The pod an attempt would have, asking for next to no memory: what it may have is the question."""
        template = pod_template_of(self._setting.rendered(1, size))
        pod = pod_of(template, "bounds", self._setting.namespace)
        small = tuple(_small(each) for each in pod.spec.containers)
        init = tuple(_small(each) for each in pod.spec.init_containers)
        return replace(pod, spec=replace(pod.spec, containers=small, init_containers=init))

    def _nodes(self, pod: Pod) -> list[Wall]:
        try:
            nodes = [decode_object(each, Node) for each in self._api.objects("v1", "Node")]
            view = ClusterView(nodes, storage=self._storage(pod))
        except TonnageError:
            return []  # not for us to see: quota and limit range still hold
        cycle = prepare(facts_of(pod), view)
        if isinstance(cycle, Stopped):  # a claim that cannot be judged: any node might hold its volume
            cycle = prepare(facts_of(replace(pod, spec=replace(pod.spec, volumes=()))), view)
        if isinstance(cycle, Stopped):
            return []
        names = {info.name for info in filter_nodes(cycle).feasible}
        usable = sorted((n for n in nodes if n.metadata.name in names), key=lambda n: -_memory(n))
        walls = [(_memory(node) - self._daemons(node), f"largest node {node.metadata.name}")
                 for node in usable[:LOOK_INTO]]  # fmt: skip
        return [max(walls)] if walls else []

    def _daemons(self, node: Node) -> int:
        """What daemons and static pods hold there: no node is ever without them."""
        try:
            everywhere = RunApi(self._api.client, "")
            found = everywhere.objects("v1", "Pod", fields=f"spec.nodeName={node.metadata.name}")
        except TonnageError:
            return 0
        pods = [decode_object(each, Pod) for each in found]
        staying = [
            pod
            for pod in pods
            if any(owner.kind in _STAYING for owner in pod.metadata.owner_references)
            and pod.status.phase not in ("Succeeded", "Failed")
        ]
        return sum(_amount(pod_requests(pod)) for pod in staying)

    def _storage(self, pod: Pod) -> Storage:
        """Claims the pod mounts and their volumes: a local disk ties it to one node."""
        names = [v.persistent_volume_claim.claim_name for v in pod.spec.volumes if v.persistent_volume_claim]
        claims: dict[tuple[str, str], PersistentVolumeClaim] = {}
        volumes: dict[str, PersistentVolume] = {}
        for name in names:
            found = self._api.get(Ref("v1", "PersistentVolumeClaim", name))
            if found is None:
                continue
            claim = decode_object(found, PersistentVolumeClaim)
            claims[self._setting.namespace, name] = claim
            bound = (
                self._api.get(Ref("v1", "PersistentVolume", claim.spec.volume_name))
                if claim.spec.volume_name
                else None
            )
            if bound is not None:
                volumes[claim.spec.volume_name] = decode_object(bound, PersistentVolume)
        try:
            classes = [
                decode_object(each, StorageClass) for each in self._api.objects(STORAGE, "StorageClass")
            ]
        except TonnageError:
            classes = []
        return Storage(claims=claims, volumes=volumes, classes={each.metadata.name: each for each in classes})

    def _quotas(self, pod: Pod) -> list[Wall]:
        """What a quota leaves for each pod, with what the run's own pods hold now counted as free."""
        try:
            quotas = [decode_object(each, ResourceQuota) for each in self._api.objects("v1", "ResourceQuota")]
        except TonnageError:
            return []
        walls = []
        for quota in quotas:
            if not pod_meets(pod, quota):
                continue
            for key in ("limits.memory", "requests.memory", "memory"):
                if key in quota.status.hard:
                    left = _bytes(quota.status.hard[key]) - _bytes(quota.status.used.get(key, "0"))
                    each = max(0, left + self._held_now(key)) // max(self._setting.nodes, 1)
                    walls.append((each, f"quota {quota.metadata.name}"))
        return walls

    def _held_now(self, key: str) -> int:
        from tonnage.kube.running.setting import LINEAGE

        side = "limits" if key.startswith("limits") else "requests"
        total = 0
        for found in self._api.pods({LINEAGE: self._setting.launching.lineage}):
            if found.get("status", {}).get("phase") in ("Succeeded", "Failed"):
                continue
            for container in found.get("spec", {}).get("containers", ()):
                total += _bytes(((container.get("resources") or {}).get(side) or {}).get("memory", "0"))
        return total

    def _limit_ranges(self) -> list[Wall]:
        try:
            found = [decode_object(each, LimitRange) for each in self._api.objects("v1", "LimitRange")]
        except TonnageError:
            return []
        return [
            (_bytes(item.max["memory"]), f"limit range {each.metadata.name}")
            for each in found
            for item in each.spec.limits
            if item.type in ("Container", "Pod") and "memory" in item.max
        ]


def pod_template_of(rendered: Rendered) -> dict[str, Any]:
    """The template of the pods that train, wherever its kind keeps it."""
    for manifest in reversed(rendered.objects):
        spec = manifest.get("spec") or {}
        if manifest["kind"] == "TrainingRuntime":
            spec = spec["template"]["spec"]
        if "replicatedJobs" in spec:
            return dict(spec["replicatedJobs"][0]["template"]["spec"]["template"])
        if "template" in spec:
            return dict(spec["template"])
        for name in ("pytorchReplicaSpecs", "tfReplicaSpecs", "mpiReplicaSpecs"):
            if name in spec:
                return dict(spec[name]["Worker"]["template"])
    raise ValueError(f"no pod template in {[each['kind'] for each in rendered.objects]}")


def _small(container: Container) -> Container:
    resources = container.resources
    requests = {name: value for name, value in resources.requests.items() if name != "memory"}
    limits = {name: value for name, value in resources.limits.items() if name != "memory"}
    one = {"memory": "1Mi"}
    return replace(
        container, resources=replace(resources, requests={**requests, **one}, limits={**limits, **one})
    )


def _memory(node: Node) -> int:
    return _bytes(node.status.allocatable.get("memory", "0"))


def _amount(amounts: Mapping[str, Any]) -> int:
    found = amounts.get("memory")
    return int(found.value()) if found is not None else 0


def _bytes(written: str) -> int:
    amount = try_quantity(str(written))
    return amount.value() if amount is not None else 0
