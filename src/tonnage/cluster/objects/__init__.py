"""Kubernetes objects as slim frozen values: the fields our rules, plans and diagnoses read, and no others.

They keep Kubernetes' own shape and spelling (camelCase on the wire), so that `decode` of an API answer, a manifest
and a saved snapshot all give the same value. Quantities stay the strings Kubernetes wrote; `tonnage.units` reads them.
Maps are plain dicts and must not be changed; sequences are tuples.
"""

from tonnage.cluster.objects.meta import Condition, LabelSelector, Meta, OwnerReference, SelectorRequirement
from tonnage.cluster.objects.node import Node, NodeImage, NodeSpec, NodeStatus, NodeSystemInfo, Taint
from tonnage.cluster.objects.pod import (
    Container,
    ContainerState,
    ContainerStatus,
    EmptyDir,
    Pod,
    PodSpec,
    PodStatus,
    Resources,
    Toleration,
    Volume,
)
from tonnage.cluster.objects.policy import (
    LimitRange,
    LimitRangeItem,
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
)
from tonnage.cluster.objects.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from tonnage.cluster.objects.workload import Event, Job

__all__ = [
    "Condition", "Container", "ContainerState", "ContainerStatus", "EmptyDir", "Event", "Job", "LabelSelector",
    "LimitRange", "LimitRangeItem", "Meta", "Namespace", "Node", "NodeImage", "NodeSpec", "NodeStatus",
    "NodeSystemInfo", "OwnerReference", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget",
    "PodSpec", "PodStatus", "PriorityClass", "ResourceQuota", "Resources", "SelectorRequirement", "StorageClass",
    "Taint", "Toleration", "Volume",
]  # fmt: skip
