"""What a pod asks for, all in: the one sum that scheduling, quotas, admission and eviction share.

A pod is larger than the sum of its containers and smaller than the sum of everything in it. Init containers
run one after the other before the rest, sidecars (init containers with `restartPolicy: Always`) run beside
both, pod-level resources replace the sum for cpu, memory and huge pages, and a runtime's overhead comes on
top.
While an in-place resize is under way the status tells three stories (asked, allocated, in force), and the
largest counts, unless the node has called the resize infeasible: then what was asked does not count at all.

The rules were read in component-helpers `resource/helpers.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tonnage.cluster.objects import Container, Pod
from tonnage.cluster.objects.pod import ContainerStatus, ResourceList
from tonnage.units import Quantity, parse_quantity

Amounts = dict[str, Quantity]
"""Resource name to amount."""

HUGEPAGES = "hugepages-"
# What scores assume of a container that names no request: else empty-handed pods would pile up.
SCORING_DEFAULTS: Mapping[str, Quantity] = {
    "cpu": parse_quantity("100m"),
    "memory": parse_quantity("209715200"),
}


def pod_requests(
    pod: Pod,
    *,
    from_status: bool = True,
    pod_level_from_status: bool = True,
    missing: Mapping[str, Quantity] | None = None,
    overhead: bool = True,
) -> Amounts:
    """The pod's effective requests; `missing` stands in for what a container does not name.

    The scheduler reads the status of bound pods at both levels, quota only that of containers.
    """
    requests = aggregate_container_requests(pod, from_status=from_status, missing=missing)
    if pod_level_requests_set(pod):
        assert pod.spec.resources is not None
        spec = amounts(pod.spec.resources.requests)
        effective = spec
        if from_status and pod_level_from_status and pod.status.resources is not None:
            actuated = amounts(pod.status.resources.requests)
            effective = _largest_in_flight(pod, spec, actuated, amounts(pod.status.allocated_resources))
        for name in spec:
            if is_pod_level_resource(name):
                requests[name] = effective.get(name, Quantity(0))
    if overhead:
        add_to(requests, amounts(pod.spec.overhead))
    return requests


def pod_limits(
    pod: Pod, *, from_status: bool = True, pod_level_from_status: bool = True, overhead: bool = True
) -> Amounts:
    """The pod's effective limits; overhead is added only where a limit stands."""
    limits = aggregate_container_limits(pod, from_status=from_status)
    if pod_level_resources_set(pod):
        assert pod.spec.resources is not None
        spec = amounts(pod.spec.resources.limits)
        effective = spec
        if from_status and pod_level_from_status and pod.status.resources is not None:
            effective = _largest_in_flight(pod, spec, amounts(pod.status.resources.limits))
        for name in spec:
            if is_pod_level_resource(name):
                limits[name] = effective.get(name, Quantity(0))
    if overhead:
        for name, quantity in amounts(pod.spec.overhead).items():
            if name in limits and not limits[name].is_zero():
                limits[name] = limits[name] + quantity
    return limits


def container_requests(container: Container) -> Amounts:
    """What one container requests, as written."""
    return amounts(container.resources.requests)


def container_limits(container: Container) -> Amounts:
    """Where one container is stopped, as written."""
    return amounts(container.resources.limits)


def is_sidecar(container: Container) -> bool:
    """Whether an init container keeps running beside the main ones."""
    return container.restart_policy == "Always"


def all_containers(pod: Pod) -> Iterator[Container]:
    """Main containers, then init containers and sidecars, in the order Kubernetes visits them."""
    yield from pod.spec.containers
    yield from pod.spec.init_containers


def aggregate_container_requests(
    pod: Pod, *, from_status: bool = False, missing: Mapping[str, Quantity] | None = None
) -> Amounts:
    """The sum over containers alone, before pod-level resources and overhead."""
    statuses = _statuses(pod) if from_status else {}
    return _aggregate(
        [_one_request(pod, c, statuses.get(c.name), missing) for c in pod.spec.containers],
        [
            (is_sidecar(c), _one_request(pod, c, statuses.get(c.name) if is_sidecar(c) else None, missing))
            for c in pod.spec.init_containers
        ],
    )


def aggregate_container_limits(pod: Pod, *, from_status: bool = False) -> Amounts:
    """The limits over containers alone, before pod-level resources and overhead."""
    statuses = _statuses(pod) if from_status else {}
    return _aggregate(
        [_one_limit(pod, c, statuses.get(c.name)) for c in pod.spec.containers],
        [
            (is_sidecar(c), _one_limit(pod, c, statuses.get(c.name) if is_sidecar(c) else None))
            for c in pod.spec.init_containers
        ],
    )


def is_pod_level_resource(name: str) -> bool:
    """Whether `spec.resources` may speak about it."""
    return name in {"cpu", "memory"} or name.startswith(HUGEPAGES)


def pod_level_requests_set(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(map(is_pod_level_resource, resources.requests))


def pod_level_limits_set(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(map(is_pod_level_resource, resources.limits))


def pod_level_resources_set(pod: Pod) -> bool:
    return pod_level_requests_set(pod) or pod_level_limits_set(pod)


def amounts(resource_list: ResourceList) -> Amounts:
    """A resource list of texts as quantities."""
    return {name: parse_quantity(text) for name, text in resource_list.items()}


def texts(values: Mapping[str, Quantity]) -> ResourceList:
    """Amounts back as the texts Kubernetes would store."""
    return {name: str(quantity) for name, quantity in values.items()}


def add_to(total: Amounts, more: Mapping[str, Quantity]) -> None:
    """Add each amount to its name's total."""
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def raise_to(total: Amounts, other: Mapping[str, Quantity]) -> None:
    """Lift each name to at least the other amount."""
    for name, quantity in other.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity


def _aggregate(main: list[Amounts], init: list[tuple[bool, Amounts]]) -> Amounts:
    """max(main + sidecars, the hungriest moment of starting up), per resource."""
    total: Amounts = {}
    for wanted in main:
        add_to(total, wanted)
    beside: Amounts = {}
    starting: Amounts = {}
    for sidecar, wanted in init:
        if sidecar:
            add_to(total, wanted)
            add_to(beside, wanted)
            raise_to(starting, beside)
        else:
            moment = dict(wanted)
            add_to(moment, beside)
            raise_to(starting, moment)
    raise_to(total, starting)
    return total


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    both = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return {status.name: status for status in both}


def _one_request(
    pod: Pod, container: Container, status: ContainerStatus | None, missing: Mapping[str, Quantity] | None
) -> Amounts:
    requests = container_requests(container)
    if status is not None and status.resources is not None:
        actuated, allocated = amounts(status.resources.requests), amounts(status.allocated_resources)
        requests = _largest_in_flight(pod, requests, actuated, allocated)
    for name, quantity in (missing or {}).items():
        requests.setdefault(name, quantity)
    return requests


def _one_limit(pod: Pod, container: Container, status: ContainerStatus | None) -> Amounts:
    limits = container_limits(container)
    if status is not None and status.resources is not None:
        return _largest_in_flight(pod, limits, amounts(status.resources.limits))
    return limits


def _largest_in_flight(pod: Pod, spec: Amounts, *reported: Amounts) -> Amounts:
    """The most of what is asked and what the node reports; an infeasible wish does not count."""
    largest: Amounts = {} if _resize_is_infeasible(pod) else dict(spec)
    for other in reported:
        raise_to(largest, other)
    return largest


def _resize_is_infeasible(pod: Pod) -> bool:
    for condition in pod.status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False
