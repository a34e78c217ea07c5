"""Whether a pod is a pod at all: resources, names, policies, deadlines.

This is the API server's own validation, cut to the fields our values carry, in its words. It runs on the
pod as defaulted and as filled in by LimitRanges, so a limit that somebody else injected can make a good
manifest invalid. All mistakes are found, not the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tonnage.cluster.admission.faults import (
    NEGATIVE,
    NOT_INTEGER,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tonnage.cluster.admission.naming import (
    label_faults,
    label_value_faults,
    qualified_name_faults,
    subdomain_faults,
)
from tonnage.cluster.admission.resource_names import (
    container_name_faults,
    divides_hugepage,
    is_hugepages,
    is_whole_number,
    may_overcommit,
    pod_level_name_faults,
)
from tonnage.cluster.objects import Container, Meta, Pod, Resources, Toleration
from tonnage.cluster.resources import (
    aggregate_container_limits,
    aggregate_container_requests,
    amounts,
    is_sidecar,
)
from tonnage.units import Quantity

NameFaults = Callable[[str, str], Iterator[str]]
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def pod_faults(pod: Pod) -> list[str]:
    """Every mistake in a pod, in the API server's words."""
    return list(_pod_faults(pod))


def meta_faults(meta: Meta) -> Iterator[str]:
    """Mistakes in an object's name."""
    if not meta.name and not meta.generate_name:
        yield required("metadata.name", "name or generateName is required")
    elif meta.name:
        yield from (
            invalid("metadata.name", meta.name, fault, plain=True) for fault in subdomain_faults(meta.name)
        )


def quantity_faults(name: str, quantity: Quantity, path: str) -> Iterator[str]:
    """Amounts below zero, and fractions of things that come whole."""
    if quantity < Quantity(0):
        yield invalid(path, str(quantity), NEGATIVE)
    if is_whole_number(name) and quantity.milli() % 1000 != 0:
        yield invalid(path, str(quantity), NOT_INTEGER)


def resources_faults(
    resources: Resources, path: str, name_faults: NameFaults = container_name_faults
) -> Iterator[str]:
    """Mistakes in one pair of requests and limits."""
    limits, requests = amounts(resources.limits), amounts(resources.requests)
    for name, quantity in limits.items():
        yield from _amount_faults(name, quantity, f"{path}.limits[{name}]", name_faults)
    for name, quantity in requests.items():
        yield from _amount_faults(name, quantity, f"{path}.requests[{name}]", name_faults)
        yield from _against_limit(name, quantity, limits.get(name), path)
    named = limits.keys() | requests.keys()
    if any(map(is_hugepages, named)) and not named & {"cpu", "memory"}:
        yield forbidden(path, "HugePages require cpu or memory")


def _pod_faults(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    yield from meta_faults(pod.metadata)
    if not spec.containers:
        yield required("spec.containers")
    yield from _containers_faults(pod)
    if spec.resources is not None:
        yield from resources_faults(spec.resources, "spec.resources", pod_level_name_faults)
        yield from _pod_level_faults(pod, spec.resources)
    if spec.restart_policy not in _RESTART_POLICIES:
        yield unsupported("spec.restartPolicy", spec.restart_policy, ("Always", "OnFailure", "Never"))
    yield from _gate_faults(pod)
    deadline = spec.active_deadline_seconds
    if deadline is not None and not 1 <= deadline < 2**31:
        yield invalid("spec.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive")
    for index, toleration in enumerate(spec.tolerations):
        yield from _toleration_faults(toleration, f"spec.tolerations[{index}]")
    for fault in subdomain_faults(spec.priority_class_name) if spec.priority_class_name else ():
        yield invalid("spec.priorityClassName", spec.priority_class_name, fault, plain=True)
    if spec.preemption_policy not in {None, "PreemptLowerPriority", "Never"}:
        yield unsupported(
            "spec.preemptionPolicy", str(spec.preemption_policy), ("PreemptLowerPriority", "Never")
        )
    if spec.overhead:
        yield from resources_faults(Resources(limits=spec.overhead), "spec.overhead")


def _containers_faults(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    seen: set[str] = set()
    for index, container in enumerate(spec.containers):
        path = f"spec.containers[{index}]"
        yield from _container_faults(container, path, spec.restart_policy)
        if container.name in seen:
            yield duplicate(f"{path}.name", container.name, plain=True)
        seen.add(container.name)
    for index, container in enumerate(spec.init_containers):
        path = f"spec.initContainers[{index}]"
        yield from _container_faults(container, path, spec.restart_policy)
        if container.name in seen:
            yield duplicate(f"{path}.name", container.name, plain=True)
        elif container.name:
            seen.add(container.name)
        for place, policy in enumerate(container.resize_policy):
            if policy.restart_policy == "RestartContainer" and not is_sidecar(container):
                detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                yield invalid(f"{path}.resizePolicy[{place}].restartPolicy", policy.restart_policy, detail)


def _container_faults(container: Container, path: str, pod_restart_policy: str) -> Iterator[str]:
    if not container.name:
        yield required(f"{path}.name")
    else:
        yield from (
            invalid(f"{path}.name", container.name, fault, plain=True)
            for fault in label_faults(container.name)
        )
    if not container.image:
        yield required(f"{path}.image")
    yield from resources_faults(container.resources, f"{path}.resources")
    yield from _resize_faults(container, f"{path}.resizePolicy", pod_restart_policy)
    if container.restart_policy is not None and container.restart_policy not in _RESTART_POLICIES:
        yield unsupported(f"{path}.restartPolicy", container.restart_policy, _RESTART_POLICIES)


def _resize_faults(container: Container, path: str, pod_restart_policy: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, policy in enumerate(container.resize_policy):
        if policy.resource_name in seen:
            yield duplicate(f"{path}[{index}]", policy.resource_name)
        seen.add(policy.resource_name)
        if policy.resource_name not in {"cpu", "memory"}:
            yield unsupported(path, policy.resource_name, ("cpu", "memory"))
        if policy.restart_policy not in {"NotRequired", "RestartContainer"}:
            yield unsupported(path, policy.restart_policy, ("NotRequired", "RestartContainer"))
        if pod_restart_policy == "Never" and policy.restart_policy != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield invalid(path, policy.restart_policy, detail)


def _amount_faults(name: str, quantity: Quantity, path: str, name_faults: NameFaults) -> Iterator[str]:
    yield from name_faults(name, path)
    yield from quantity_faults(name, quantity, path)
    if is_hugepages(name) and not divides_hugepage(name, quantity):
        yield invalid(path, str(quantity), f"{quantity} is not positive integer multiple of {name}")


def _against_limit(name: str, request: Quantity, limit: Quantity | None, path: str) -> Iterator[str]:
    if limit is None:
        if not may_overcommit(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif request != limit and not may_overcommit(name):
        yield invalid(f"{path}.requests", str(request), f"must be equal to {name} limit of {limit}")
    elif request > limit:
        detail = f"must be less than or equal to {name} limit of {limit}"
        yield invalid(f"{path}.requests", str(request), detail)


def _pod_level_faults(pod: Pod, resources: Resources) -> Iterator[str]:
    """Containers together must fit the pod's requests, and each alone its limits."""
    requests, limits = amounts(resources.requests), amounts(resources.limits)
    for name, total in aggregate_container_requests(pod).items():
        if name in requests and total > requests[name]:
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            yield invalid(f"spec.resources.requests[{name}]", str(requests[name]), detail)
    for name, total in aggregate_container_limits(pod).items():
        if is_hugepages(name) and name in limits and total > limits[name]:
            detail = f"must be greater than or equal to aggregate container limits of {total}"
            yield invalid(f"spec.resources.limits[{name}]", str(limits[name]), detail)
    for index, container in enumerate(pod.spec.containers):
        for name, limit in amounts(container.resources.limits).items():
            if name in limits and limit > limits[name]:
                path = f"spec.resources.containers[{index}][{name}].limits"
                yield invalid(path, str(limit), f"must be less than or equal to pod limits of {limits[name]}")


def _gate_faults(pod: Pod) -> Iterator[str]:
    seen: set[str] = set()
    for index, gate in enumerate(pod.spec.scheduling_gates):
        path = f"spec.schedulingGates[{index}]"
        yield from (invalid(path, gate.name, fault, plain=True) for fault in qualified_name_faults(gate.name))
        if gate.name in seen:
            yield duplicate(path, gate.name, plain=True)
        seen.add(gate.name)
    if pod.spec.node_name and pod.spec.scheduling_gates:
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def _toleration_faults(toleration: Toleration, path: str) -> Iterator[str]:
    for fault in qualified_name_faults(toleration.key) if toleration.key else ():
        yield invalid(f"{path}.key", toleration.key, fault, plain=True)
    if not toleration.key and toleration.operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", toleration.operator, detail)
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", toleration.effect, detail)
    if toleration.operator in {"Equal", ""}:
        faults = list(label_value_faults(toleration.value))
        if faults:
            yield invalid(f"{path}.operator", toleration.value, ";".join(faults), plain=True)
    elif toleration.operator == "Exists":
        if toleration.value:
            detail = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{path}.operator", toleration.value, detail, plain=True)
    elif toleration.operator in {"Lt", "Gt"}:
        yield unsupported(f"{path}.operator", toleration.operator, ("Equal", "Exists", "Lt", "Gt"))
    else:
        yield unsupported(f"{path}.operator", toleration.operator, ("Equal", "Exists"))
    if toleration.effect and toleration.effect not in _EFFECTS:
        yield unsupported(f"{path}.effect", toleration.effect, _EFFECTS)
