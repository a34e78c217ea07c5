"""Whom a kubelet spares: static pods, and pods of the priority that only system classes have.

It neither evicts them nor refuses them for want of room or under pressure. A PriorityClass of a user's own
stops at half of that priority, so no value a user may choose protects a pod from its node.

Read in the kubelet's `types/pod_update.go`.
"""

from __future__ import annotations

from tonnage.cluster.admission.priority import SYSTEM_CLASSES
from tonnage.cluster.objects import Pod

CRITICAL_PRIORITY = min(each.value for each in SYSTEM_CLASSES)
NODE_CRITICAL_CLASS = "system-node-critical"
_SOURCE, _MIRROR = "kubernetes.io/config.source", "kubernetes.io/config.mirror"


def is_static(pod: Pod) -> bool:
    """Whether the node runs the pod from its own files rather than from the API."""
    return pod.metadata.annotations.get(_SOURCE, "api") != "api" or _MIRROR in pod.metadata.annotations


def is_critical(pod: Pod) -> bool:
    """Whether the kubelet spares the pod from eviction and admits it under pressure."""
    return is_static(pod) or (pod.spec.priority or 0) >= CRITICAL_PRIORITY


def is_node_critical(pod: Pod) -> bool:
    """Whether the kernel, too, is asked to take the pod last."""
    return is_critical(pod) and pod.spec.priority_class_name == NODE_CRITICAL_CLASS
