"""What the API server would answer to a new object: admitted as this, or refused with these words.

The order decides. A pod is decoded and defaulted, filled in by LimitRanges, given its priority, tolerations
and overhead, and only then validated; LimitRanges and at last quotas look at what is left. A limit injected
early does not set a request, and can make a pod invalid later.

Where several LimitRanges or quotas meet, the API server visits them in no fixed order and stops at the
first that refuses. `possible_answers` lists every answer it may give; `admit` gives the one for the order
they are listed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from tonnage.cluster.admission.defaulting import (
    default_claim,
    default_limit_range,
    default_pod,
    default_priority_class,
    default_quota,
    round_resource_list,
)
from tonnage.cluster.admission.faults import merged
from tonnage.cluster.admission.limiting import claim_limits_broken, fill_defaults, pod_limits_broken
from tonnage.cluster.admission.priority import default_class, find_class, resolve_priority
from tonnage.cluster.admission.quota import check_claim, check_count, check_pod
from tonnage.cluster.admission.validating import pod_faults
from tonnage.cluster.admission.validating_policies import (
    claim_faults,
    limit_range_faults,
    priority_class_faults,
    quota_faults,
)
from tonnage.cluster.objects import (
    LimitRange,
    PersistentVolumeClaim,
    Pod,
    PriorityClass,
    ResourceQuota,
    Resources,
    Toleration,
)
from tonnage.cluster.objects.meta import Meta
from tonnage.cluster.objects.pod import ResourceList
from tonnage.cluster.qos import compute_qos_class
from tonnage.units import QuantityError, parse_quantity

_TOLERATED_SECONDS = 300
_MOST_ORDERS = 4  # more LimitRanges than this in one namespace are taken in the order given


class NamespacePolicies(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that may change or refuse a new object in a namespace."""

    limit_ranges: Sequence[LimitRange] = ()
    quotas: Sequence[ResourceQuota] = ()
    priority_classes: Sequence[PriorityClass] = ()
    runtime_classes: Mapping[str, ResourceList] = msgspec.field(default_factory=dict)
    """Runtime class names and the overhead they add."""


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """The pod as it would be stored."""

    pod: Pod
    qos: str


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """Any other object as it would be stored."""

    object: LimitRange | ResourceQuota | PriorityClass | PersistentVolumeClaim


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """The refusal: the status code, the message, and its single errors as a set (their order is random)."""

    status: int
    message: str
    errors: frozenset[str]


PodAnswer = Admitted | Rejected
ObjectAnswer = Stored | Rejected
_T = TypeVar("_T")


def admit(pod: Pod, policies: NamespacePolicies) -> PodAnswer:
    """What happens to a new pod, LimitRanges and quotas taken in the order given."""
    return possible_answers(pod, policies)[0]


def possible_answers(pod: Pod, policies: NamespacePolicies) -> list[PodAnswer]:
    """Every answer a new pod may get, the one of `admit` first."""
    unreadable = _unreadable(_pod_lists(pod), "Pod", "v1")
    if unreadable:
        return list(unreadable)
    pod = default_pod(pod, printed=False)
    answers = (
        answer for filled in _filled(pod, policies.limit_ranges) for answer in _judge(filled, policies)
    )
    return _distinct(answers)


def admit_claim(claim: PersistentVolumeClaim, policies: NamespacePolicies) -> list[ObjectAnswer]:
    """Every answer a new claim may get."""
    unreadable = _unreadable(_resource_lists(claim.spec.resources), "PersistentVolumeClaim", "v1")
    if unreadable:
        return list(unreadable)
    claim = default_claim(claim)
    faults = claim_faults(claim)
    if faults:
        return [_invalid("PersistentVolumeClaim", claim.metadata, faults)]
    broken = (claim_limits_broken(claim, limit_range) for limit_range in policies.limit_ranges)
    refusals = [_forbidden("persistentvolumeclaims", claim.metadata, map(str, b)) for b in broken if b]
    if not refusals:
        refusals = [
            _forbidden("persistentvolumeclaims", claim.metadata, [str(refusal)])
            for refusal in check_claim(claim, policies.quotas)
        ]
    return _distinct(refusals) or [Stored(object=claim)]


def admit_limit_range(limit_range: LimitRange, policies: NamespacePolicies) -> list[ObjectAnswer]:
    """Every answer a new LimitRange may get."""
    lists = [
        resource_list
        for item in limit_range.spec.limits
        for resource_list in (
            item.max,
            item.min,
            item.default,
            item.default_request,
            item.max_limit_request_ratio,
        )
    ]
    unreadable = _unreadable(lists, "LimitRange", "v1")
    if unreadable:
        return list(unreadable)
    faults = limit_range_faults(default_limit_range(limit_range, printed=False))
    if faults:
        return [_invalid("LimitRange", limit_range.metadata, faults)]
    refusals = _counted_out("limitranges", limit_range.metadata, policies)
    return [*refusals] or [Stored(object=default_limit_range(limit_range))]


def admit_quota(quota: ResourceQuota, policies: NamespacePolicies) -> list[ObjectAnswer]:
    """Every answer a new ResourceQuota may get."""
    unreadable = _unreadable([quota.spec.hard], "ResourceQuota", "v1")
    if unreadable:
        return list(unreadable)
    faults = quota_faults(default_quota(quota, printed=False))
    if faults:
        return [_invalid("ResourceQuota", quota.metadata, faults)]
    refusals = _counted_out("resourcequotas", quota.metadata, policies)
    return [*refusals] or [Stored(object=default_quota(quota))]


def admit_priority_class(
    priority_class: PriorityClass, existing: Sequence[PriorityClass]
) -> list[ObjectAnswer]:
    """The answer a new PriorityClass gets."""
    priority_class = default_priority_class(priority_class)
    faults = priority_class_faults(priority_class)
    if faults:
        return [_invalid("PriorityClass.scheduling.k8s.io", priority_class.metadata, faults)]
    current = default_class(existing)
    if priority_class.global_default and current is not None:
        said = (
            f"PriorityClass {current.metadata.name} is already marked as default. Only one default can exist"
        )
        return [_forbidden("priorityclasses.scheduling.k8s.io", priority_class.metadata, [said])]
    name = priority_class.metadata.name
    if find_class(name, existing) is not None:
        said = f'priorityclasses.scheduling.k8s.io "{name}" already exists'
        return [Rejected(status=409, message=said, errors=frozenset({said}))]
    return [Stored(object=priority_class)]


def _filled(pod: Pod, limit_ranges: Sequence[LimitRange]) -> Iterator[Pod]:
    orders: Iterable[Sequence[LimitRange]] = [limit_ranges]
    if len(limit_ranges) <= _MOST_ORDERS:
        orders = permutations(limit_ranges)
    for order in orders:
        filled = pod
        for limit_range in order:
            filled = fill_defaults(filled, limit_range)
        yield filled


def _judge(pod: Pod, policies: NamespacePolicies) -> Iterator[PodAnswer]:
    """Everything after the LimitRanges' mutation, for one outcome of it."""
    pod = replace(
        pod, spec=replace(pod.spec, service_account_name=pod.spec.service_account_name or "default")
    )
    ranked = resolve_priority(pod, policies.priority_classes)
    if isinstance(ranked, str):
        yield _forbidden("pods", pod.metadata, [ranked])
        return
    prepared = _with_overhead(_tolerate_lost_nodes(ranked), policies.runtime_classes)
    if isinstance(prepared, str):
        yield _forbidden("pods", pod.metadata, [prepared])
        return
    faults = pod_faults(prepared)
    if faults:
        yield _invalid("Pod", pod.metadata, faults)
        return
    qos = compute_qos_class(prepared)
    prepared = replace(prepared, status=replace(prepared.status, phase="Pending", qos_class=qos))
    refusals = list(_late_refusals(prepared, policies))
    yield from refusals
    if not refusals:
        yield Admitted(pod=default_pod(prepared), qos=qos)


def _late_refusals(pod: Pod, policies: NamespacePolicies) -> Iterator[Rejected]:
    """LimitRange walls, overhead out of nowhere, quotas: the first group that refuses is the one heard."""
    broken = [walls for walls in (pod_limits_broken(pod, lr) for lr in policies.limit_ranges) if walls]
    if broken:
        yield from (_forbidden("pods", pod.metadata, map(str, walls)) for walls in broken)
    elif pod.spec.overhead and not policies.runtime_classes.get(pod.spec.runtime_class_name or ""):
        said = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        yield _forbidden("pods", pod.metadata, [said])
    else:
        for refusal in check_pod(pod, policies.quotas):
            yield _forbidden("pods", pod.metadata, [str(refusal)])


def _tolerate_lost_nodes(pod: Pod) -> Pod:
    """Five minutes of patience with a node that is lost, unless the pod says otherwise."""
    tolerations = pod.spec.tolerations
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(t.key in {"", key} and t.effect in {"", "NoExecute"} for t in pod.spec.tolerations):
            patience = Toleration(
                key=key, operator="Exists", effect="NoExecute", toleration_seconds=_TOLERATED_SECONDS
            )
            tolerations = (*tolerations, patience)
    return replace(pod, spec=replace(pod.spec, tolerations=tolerations))


def _with_overhead(pod: Pod, runtime_classes: Mapping[str, ResourceList]) -> Pod | str:
    name = pod.spec.runtime_class_name
    if name is None:
        return pod
    if name not in runtime_classes:
        return f'pod rejected: RuntimeClass "{name}" not found'
    overhead = round_resource_list(runtime_classes[name])
    if not overhead:
        return pod
    own = {key: parse_quantity(text) for key, text in pod.spec.overhead.items()}
    if own and own != {key: parse_quantity(text) for key, text in overhead.items()}:
        return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    return replace(pod, spec=replace(pod.spec, overhead=overhead))


def _pod_lists(pod: Pod) -> Iterator[ResourceList]:
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        yield from _resource_lists(container.resources)
    if pod.spec.resources is not None:
        yield from _resource_lists(pod.spec.resources)
    yield pod.spec.overhead
    for volume in pod.spec.volumes:
        if volume.empty_dir is not None and volume.empty_dir.size_limit is not None:
            yield {"sizeLimit": volume.empty_dir.size_limit}


def _resource_lists(resources: Resources) -> tuple[ResourceList, ResourceList]:
    return resources.limits, resources.requests


def _unreadable(lists: Iterable[ResourceList], kind: str, version: str) -> list[Rejected]:
    """One refusal per way in which quantities are none; the server reports whichever it reads first."""
    reasons: dict[str, None] = {}
    for resource_list in lists:
        for text in resource_list.values():
            try:
                parse_quantity(text)
            except QuantityError as error:
                reasons[str(error)] = None
    said = (f'{kind} in version "{version}" cannot be handled as a {kind}: {reason}' for reason in reasons)
    return [Rejected(status=400, message=message, errors=frozenset({message})) for message in said]


def _invalid(kind: str, meta: Meta, faults: list[str]) -> Rejected:
    message = f'{kind} "{meta.name}" is invalid: {merged(faults)}'
    return Rejected(status=422, message=message, errors=frozenset(faults))


def _forbidden(resource: str, meta: Meta, errors: Iterable[str]) -> Rejected:
    said = list(dict.fromkeys(errors))
    name = meta.name or meta.generate_name or "Unknown"
    message = f'{resource} "{name}" is forbidden: {merged(said)}'
    return Rejected(status=403, message=message, errors=frozenset(said))


def _counted_out(resource: str, meta: Meta, policies: NamespacePolicies) -> list[Rejected]:
    refusals = check_count(resource, policies.quotas)
    return [_forbidden(resource, meta, [str(refusal)]) for refusal in refusals]


def _distinct(answers: Iterable[_T]) -> list[Any]:
    found: list[_T] = []
    for answer in answers:
        if answer not in found:
            found.append(answer)
    return found
