"""What the API server writes into an object before anybody looks at it.

Defaulting is the first thing that happens to a manifest, and its order shows: requests are copied from
limits key by key, pod-level requests are summed from the containers, and only then is everything rounded up
to thousandths. It happens on Pods only, never in the template of a Job, so a template that looks short of
requests is not.
"""

from __future__ import annotations

from msgspec.structs import replace

from tonnage.cluster.admission.resource_names import is_hugepages, may_overcommit
from tonnage.cluster.objects import Container, LimitRange, Pod, PriorityClass, ResourceQuota, Resources
from tonnage.cluster.objects.pod import ContainerPort, PodSpec, ResourceList
from tonnage.cluster.objects.policy import LimitRangeItem
from tonnage.cluster.objects.storage import PersistentVolumeClaim
from tonnage.cluster.resources import (
    aggregate_container_limits,
    aggregate_container_requests,
    is_pod_level_resource,
)
from tonnage.units import Quantity, parse_quantity


def default_pod(pod: Pod, *, printed: bool = True) -> Pod:
    """The pod as the API server reads it (SetDefaults_Pod and friends), amounts as it prints them.

    It reads a pod again, and defaults it again, whenever it fetches it: what LimitRanges have put into
    containers thus reaches pod-level requests too, after all checks are over.
    """
    pod = _with_spec(
        pod,
        replace(
            pod.spec,
            containers=tuple(map(_request_what_is_limited, pod.spec.containers)),
            init_containers=tuple(map(_request_what_is_limited, pod.spec.init_containers)),
        ),
    )
    spec = replace(pod.spec, resources=_default_pod_level(pod))
    if spec.host_network:
        spec = replace(
            spec,
            containers=tuple(map(_ports_on_host, spec.containers)),
            init_containers=tuple(map(_ports_on_host, spec.init_containers)),
        )
    grace = spec.termination_grace_period_seconds
    spec = replace(
        spec,
        restart_policy=spec.restart_policy or "Always",
        termination_grace_period_seconds=30 if grace is None else grace,
        scheduler_name=spec.scheduler_name or "default-scheduler",
        containers=tuple(_round_container(c, printed=printed) for c in spec.containers),
        init_containers=tuple(_round_container(c, printed=printed) for c in spec.init_containers),
        resources=None if spec.resources is None else round_resources(spec.resources, printed=printed),
        overhead=round_resource_list(spec.overhead, printed=printed),
    )
    return _with_spec(pod, spec)


def default_limit_range(limit_range: LimitRange, *, printed: bool = True) -> LimitRange:
    """The LimitRange as stored: in a Container item, max becomes default and default becomes defaultRequest.

    So `max: {nvidia.com/gpu: 8}` alone hands eight GPUs to every container that names none.
    """
    items = tuple(_default_item(item, printed=printed) for item in limit_range.spec.limits)
    return replace(limit_range, spec=replace(limit_range.spec, limits=items))


def default_quota(quota: ResourceQuota, *, printed: bool = True) -> ResourceQuota:
    """The quota as stored."""
    hard = round_resource_list(quota.spec.hard, printed=printed)
    return replace(quota, spec=replace(quota.spec, hard=hard))


def default_priority_class(priority_class: PriorityClass) -> PriorityClass:
    """The class as stored."""
    return replace(
        priority_class, preemption_policy=priority_class.preemption_policy or "PreemptLowerPriority"
    )


def default_claim(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    """The claim as stored."""
    spec = claim.spec
    spec = replace(
        spec, resources=round_resources(spec.resources), volume_mode=spec.volume_mode or "Filesystem"
    )
    return replace(claim, spec=spec, status=replace(claim.status, phase=claim.status.phase or "Pending"))


def round_resource_list(resource_list: ResourceList, *, printed: bool = True) -> ResourceList:
    """Every amount no finer than a thousandth.

    Printing may change how Kubernetes holds a huge number (`1000000000000000000` becomes `1E`), and with that
    how it overflows; checks are therefore made on amounts that are rounded and not yet printed.
    """
    return {name: _stored(text, printed=printed) for name, text in resource_list.items()}


def round_resources(resources: Resources, *, printed: bool = True) -> Resources:
    """Both lists, rounded."""
    return Resources(
        requests=round_resource_list(resources.requests, printed=printed),
        limits=round_resource_list(resources.limits, printed=printed),
    )


def _exact_text(quantity: Quantity) -> str:
    """The printed form, unless it would be read back as less: binary literals end at 2^63 - 1, sums not."""
    printed = str(quantity)
    return printed if parse_quantity(printed) == quantity else f"{quantity.nano}n"


def _stored(text: str, *, printed: bool) -> str:
    quantity = parse_quantity(text)
    rounded = quantity.rounded_to_milli()
    return text if rounded == quantity and not printed else str(rounded)


def _with_spec(pod: Pod, spec: PodSpec) -> Pod:
    return replace(pod, spec=spec)


def _request_what_is_limited(container: Container) -> Container:
    resources = container.resources
    return replace(container, resources=replace(resources, requests=resources.limits | resources.requests))


def _default_pod_level(pod: Pod) -> Resources | None:
    resources = pod.spec.resources
    if resources is None:
        return None
    limits = dict(resources.limits)
    if resources.limits or resources.requests:
        for name, quantity in aggregate_container_limits(pod).items():
            if is_hugepages(name) and name not in resources.requests:
                limits.setdefault(name, _exact_text(quantity))
    if not limits:
        return resources
    requests = dict(resources.requests)
    for name, quantity in aggregate_container_requests(pod).items():
        if is_pod_level_resource(name) and may_overcommit(name):
            requests.setdefault(name, _exact_text(quantity))
    for name, text in limits.items():
        if is_pod_level_resource(name):
            requests.setdefault(name, text)
    return Resources(requests=requests, limits=limits)


def _ports_on_host(container: Container) -> Container:
    def on_host(port: ContainerPort) -> ContainerPort:
        return port if port.host_port else replace(port, host_port=port.container_port)

    return replace(container, ports=tuple(map(on_host, container.ports)))


def _round_container(container: Container, *, printed: bool) -> Container:
    return replace(container, resources=round_resources(container.resources, printed=printed))


def _default_item(item: LimitRangeItem, *, printed: bool) -> LimitRangeItem:
    if item.type == "Container":
        default = item.max | item.default
        item = replace(item, default=default, default_request=item.min | default | item.default_request)
    return replace(
        item,
        max=round_resource_list(item.max, printed=printed),
        min=round_resource_list(item.min, printed=printed),
        default=round_resource_list(item.default, printed=printed),
        default_request=round_resource_list(item.default_request, printed=printed),
        max_limit_request_ratio=round_resource_list(item.max_limit_request_ratio, printed=printed),
    )
