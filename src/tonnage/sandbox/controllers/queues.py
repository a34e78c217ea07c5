"""Queues to submit to at once: one per GPU type that the nodes announce, and `cpu` for nodes without GPUs.

A fresh Kueue admits nothing, because it has no queue.
So a sandbox with Kueue gets, for each GPU product on its nodes' labels, a ResourceFlavor, a ClusterQueue that
owns exactly what those nodes can give, and a LocalQueue of the same name in the namespace `default`:
`kueue.x-k8s.io/queue-name: h100` is then all a job must say.
Quotas count allocatable amounts, so that what Kueue admits can also be placed.

Flavors tolerate the usual GPU taint and no other: a taint somebody asked for keeps its meaning.
Beside real nodes, simulated ones have queues of their own (`h100-simulated`): to submit there is to ask for
simulation.
No queue is called `default`, because Kueue would then take in every job of the namespace that names none.

Pure: node manifests in, manifests out. `flavor`, `cluster_queue` and `local_queue` build other set-ups too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tonnage.cluster.gpus import gpu_from_product
from tonnage.cluster.shapes import GPU_TAINT
from tonnage.sandbox.kwok import TAINT
from tonnage.units import ZERO, Quantity, parse_quantity

Manifest = dict[str, Any]

_API = "kueue.x-k8s.io/v1beta2"
_PRODUCT = "nvidia.com/gpu.product"
_ALWAYS_COUNTED = ("cpu", "memory", "ephemeral-storage")
_GPU_TOLERATION = {"key": GPU_TAINT.key, "operator": "Exists", "effect": GPU_TAINT.effect}
_SIMULATION_TOLERATION = {"key": TAINT["key"], "operator": "Exists", "effect": TAINT["effect"]}
_SIMULATED = "-simulated"


def queues_for(nodes: Iterable[Manifest], namespace: str = "default") -> list[Manifest]:
    """ResourceFlavor, ClusterQueue and LocalQueue for each kind of node that is there."""
    made: list[Manifest] = []
    for name, members in _by_flavor(nodes).items():
        made.append(_flavor_of(name, members[0]))
        made.append(cluster_queue(name, {name: _allocatable(members)}))
        made.append(local_queue(name, name, namespace))
    return made


def flavor(
    name: str, node_labels: Mapping[str, str], tolerations: Sequence[Mapping[str, str]] = (_GPU_TOLERATION,)
) -> Manifest:
    """Nodes with these labels; pods admitted to the flavor get these tolerations."""
    spec: Manifest = {}
    if node_labels:
        spec["nodeLabels"] = dict(node_labels)
    if tolerations:
        spec["tolerations"] = [dict(each) for each in tolerations]
    return {"apiVersion": _API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def cluster_queue(
    name: str, quotas: Mapping[str, Mapping[str, str]], cohort: str | None = None, **spec: Any
) -> Manifest:
    """A queue that owns `quotas`: flavor -> resource -> amount; every flavor must name the same resources."""
    resources = list(next(iter(quotas.values())))
    flavors = [
        {
            "name": flavor_name,
            "resources": [{"name": each, "nominalQuota": amounts[each]} for each in resources],
        }
        for flavor_name, amounts in quotas.items()
    ]
    return {
        "apiVersion": _API,
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {
            "namespaceSelector": {},
            "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
            "resourceGroups": [{"coveredResources": resources, "flavors": flavors}],
            **({"cohortName": cohort} if cohort else {}),
            **spec,
        },
    }


def local_queue(name: str, cluster_queue_name: str, namespace: str) -> Manifest:
    """The door to a ClusterQueue in one namespace."""
    return {
        "apiVersion": _API,
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": cluster_queue_name},
    }


def _flavor_of(name: str, member: Manifest) -> Manifest:
    labels: dict[str, str] = {}
    tolerations: list[Mapping[str, str]] = []
    if _gpu_resources(member):
        tolerations.append(_GPU_TOLERATION)
        labels = {key: value for key, value in _labels(member).items() if key == _PRODUCT}
    if name.endswith(_SIMULATED):
        tolerations.append(_SIMULATION_TOLERATION)
        labels["type"] = "kwok"
    return flavor(name, labels, tolerations)


def _by_flavor(nodes: Iterable[Manifest]) -> dict[str, list[Manifest]]:
    groups: dict[str, list[Manifest]] = {}
    for node in nodes:
        groups.setdefault(_flavor_name(node), []).append(node)
    return dict(sorted(groups.items()))


def _flavor_name(node: Manifest) -> str:
    taints = [taint["key"] for taint in node.get("spec", {}).get("taints") or []]
    return _kind_of_node(node) + (_SIMULATED if TAINT["key"] in taints else "")


def _kind_of_node(node: Manifest) -> str:
    product = _labels(node).get(_PRODUCT)
    if not _gpu_resources(node):
        return "cpu"
    if product is None:
        return "gpu"
    known = gpu_from_product(product)
    if known is None:
        return _slug(product)
    # A shared or cut GPU is another thing than a whole one: h100-shared, h100-mig-1g.10gb.
    return _slug(known.name + product[len(known.product) :])


def _labels(node: Manifest) -> Mapping[str, str]:
    labels: Mapping[str, str] = node["metadata"].get("labels") or {}
    return labels


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.-]+", "-", text.lower()).strip("-.") or "gpu"


def _gpu_resources(node: Manifest) -> list[str]:
    offered = node.get("status", {}).get("allocatable", {})
    return sorted(name for name in offered if name.startswith("nvidia.com/"))


def _allocatable(nodes: list[Manifest]) -> dict[str, str]:
    counted = dict.fromkeys([*_ALWAYS_COUNTED, *(name for node in nodes for name in _gpu_resources(node))])
    return {name: str(_total(nodes, name)) for name in counted}


def _total(nodes: list[Manifest], resource: str) -> Quantity:
    offered = (node.get("status", {}).get("allocatable", {}).get(resource, "0") for node in nodes)
    return sum((parse_quantity(amount) for amount in offered), ZERO)
