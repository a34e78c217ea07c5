"""Nodes: what they have, what they carry, and what keeps pods away."""

from __future__ import annotations

from tonnage.cluster.objects.meta import Condition, Meta, Value
from tonnage.cluster.objects.pod import ResourceList


class Taint(Value, frozen=True):
    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class NodeSpec(Value, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = ""


class NodeImage(Value, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeSystemInfo(Value, frozen=True):
    kubelet_version: str = ""
    container_runtime_version: str = ""
    kernel_version: str = ""
    os_image: str = ""
    architecture: str = ""


class NodeStatus(Value, frozen=True):
    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    images: tuple[NodeImage, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Value, frozen=True):
    metadata: Meta = Meta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
