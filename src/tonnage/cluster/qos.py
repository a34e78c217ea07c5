"""The QoS class of a pod: how readily the kernel kills it, and nothing more.

Only positive cpu and memory count. GPUs, disk and huge pages do not, so a pod that asks for eight GPUs and
no memory is BestEffort and the first to be killed. Sums over containers are compared, init containers and
sidecars included: one sidecar without limits makes the whole pod Burstable. As soon as `spec.resources` is
present, even as `{}`, containers are not looked at: an empty object there turns a well-specified pod into
BestEffort (v1.36).
"""

from __future__ import annotations

from tonnage.cluster.objects import Pod
from tonnage.cluster.objects.pod import ResourceList
from tonnage.cluster.resources import Amounts, add_to, all_containers
from tonnage.units import parse_quantity

GUARANTEED = "Guaranteed"
BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"
_COUNTED = ("cpu", "memory")


def qos_class(pod: Pod) -> str:
    """The class the pod has, or would be given: what its status says wins."""
    return pod.status.qos_class or compute_qos_class(pod)


def compute_qos_class(pod: Pod) -> str:
    """The class that follows from the spec alone."""
    requests, limits, all_limited = _sums(pod)
    if not requests and not limits:
        return BEST_EFFORT
    equal = all(limits.get(name) == quantity for name, quantity in requests.items())
    return GUARANTEED if all_limited and equal and len(requests) == len(limits) else BURSTABLE


def _sums(pod: Pod) -> tuple[Amounts, Amounts, bool]:
    """Counted requests and limits, and whether everyone who must has both limits."""
    resources = pod.spec.resources
    if resources is not None:
        limits = _counted(resources.limits)
        return _counted(resources.requests), limits, not resources.limits or len(limits) == len(_COUNTED)
    requests: Amounts = {}
    limits = {}
    all_limited = True
    for container in all_containers(pod):
        own = _counted(container.resources.limits)
        all_limited = all_limited and len(own) == len(_COUNTED)
        add_to(requests, _counted(container.resources.requests))
        add_to(limits, own)
    return requests, limits, all_limited


def _counted(resource_list: ResourceList) -> Amounts:
    found = {name: parse_quantity(resource_list[name]) for name in _COUNTED if name in resource_list}
    return {name: quantity for name, quantity in found.items() if quantity.is_positive()}
