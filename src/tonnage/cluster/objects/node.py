"""Nodes: what they have, what they carry, and what keeps pods away."""

from __future__ import annotations

from tonnage.cluster.objects.meta import Condition, Meta, Value
from tonnage.cluster.objects.pod import ResourceList


class Taint(Value):
    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class NodeSpec(Value):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = ""


class NodeImage(Value):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeSystemInfo(Value):
    kubelet_version: str = ""
    container_runtime_version: str = ""
    kernel_version: str = ""
    os_image: str = ""
    architecture: str = ""


class NodeStatus(Value):
    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    images: tuple[NodeImage, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Value):
    metadata: Meta = Meta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
