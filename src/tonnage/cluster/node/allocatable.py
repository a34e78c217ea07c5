"""What a node keeps for itself, and what is left for pods.

`allocatable = capacity - kubeReserved - systemReserved - hard eviction threshold`, never below zero, and
then all huge pages once more out of memory. Only `memory.available` and `nodefs.available` are subtracted;
the image file system's threshold is not. The wall the kernel enforces on all pods together (the `kubepods`
cgroup) does *not* subtract the threshold: pods may use a little more than was ever promised, and eviction
acts inside that gap.

Read in the kubelet's `nodestatus/setters.go` (`MachineInfo`) and `cm/node_container_manager_linux.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tonnage.cluster.node.thresholds import Signal, Threshold, hard_settings, parse_thresholds
from tonnage.cluster.objects.pod import ResourceList
from tonnage.cluster.resources import HUGEPAGES, Amounts, add_to, amounts, texts
from tonnage.units import Quantity

_RESERVED_BY: Mapping[Signal, str] = {Signal.MEMORY: "memory", Signal.NODEFS: "ephemeral-storage"}


def node_allocatable(
    capacity: ResourceList,
    *,
    kube_reserved: ResourceList | None = None,
    system_reserved: ResourceList | None = None,
    eviction_hard: Mapping[str, str] | None = None,
    devices: ResourceList | None = None,
) -> ResourceList:
    """The node's `status.allocatable`; `devices` are the healthy ones of each device plugin.

    Without `eviction_hard` the kubelet's defaults are in force; an explicit one stands alone.
    """
    have = amounts(capacity)
    thresholds = parse_thresholds(hard_settings(eviction_hard), enforce_pods=False)
    reserved = reservation(have, amounts(kube_reserved or {}), amounts(system_reserved or {}), thresholds)
    left = {name: _at_least_zero(_less(total, reserved.get(name))) for name, total in have.items()}
    left.update(amounts(devices or {}))
    for name, total in have.items():
        if name.startswith(HUGEPAGES) and "memory" in left:
            left["memory"] = _at_least_zero(left["memory"] - total)
    return texts(left)


def reservation(
    capacity: Amounts, kube_reserved: Amounts, system_reserved: Amounts, thresholds: Iterable[Threshold]
) -> Amounts:
    """What is held back from scheduling, per resource."""
    held: Amounts = {}
    add_to(held, system_reserved)
    add_to(held, kube_reserved)
    for threshold in thresholds:
        name = _RESERVED_BY.get(threshold.signal)
        if name is not None and threshold.is_hard and name in capacity:
            add_to(held, {name: threshold.value.of(capacity[name])})
    return {name: quantity for name, quantity in held.items() if not quantity.is_zero()}


def kubepods_memory_limit(
    capacity: ResourceList,
    kube_reserved: ResourceList | None = None,
    system_reserved: ResourceList | None = None,
) -> int:
    """Bytes at which the kernel stops all pods together: without the eviction threshold."""
    have = amounts(capacity).get("memory", Quantity(0))
    for reserved in (kube_reserved, system_reserved):
        have = have - amounts(reserved or {}).get("memory", Quantity(0))
    return _at_least_zero(have).value()


def pod_capacity(cores: int, *, max_pods: int = 110, pods_per_core: int = 0) -> int:
    """How many pods a node takes at all."""
    return min(cores * pods_per_core, max_pods) if pods_per_core > 0 else max_pods


def _less(total: Quantity, held: Quantity | None) -> Quantity:
    return total if held is None else total - held


def _at_least_zero(quantity: Quantity) -> Quantity:
    return quantity if quantity.nano >= 0 else Quantity(0, quantity.format)
