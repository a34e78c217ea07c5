"""LimitRanges: what they write into a pod, and what they refuse.

A LimitRange acts twice. Before validation it fills missing limits and requests of containers, key by key,
and leaves a note in an annotation; it never derives a request from the limit it has just filled in. After
validation it compares containers, the whole pod, or a claim with its walls. The whole pod is summed without
overhead here, and pod-level resources replace the sum for cpu and memory only. Where several LimitRanges
meet, the API server visits them in no fixed order: the first to fill a value wins, and only the first to
refuse is heard.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tonnage.cluster.messages.limiting import LimitBroken, Wall
from tonnage.cluster.objects import Container, LimitRange, PersistentVolumeClaim, Pod, Resources
from tonnage.cluster.objects.pod import ResourceList
from tonnage.cluster.objects.policy import LimitRangeItem
from tonnage.cluster.resources import (
    Amounts,
    aggregate_container_limits,
    aggregate_container_requests,
    all_containers,
    amounts,
)
from tonnage.units import Quantity

ANNOTATION = "kubernetes.io/limit-ranger"
_MAX_MILLI_VALUE = (2**63 - 1) // 1000
_ZERO = Quantity(0)


def fill_defaults(pod: Pod, limit_range: LimitRange) -> Pod:
    """The pod with the LimitRange's defaults filled in, and the annotation that says so."""
    limits, requests = _container_defaults(limit_range)
    notes: list[str] = []
    spec = replace(
        pod.spec,
        containers=tuple(_fill(c, limits, requests, "container", notes) for c in pod.spec.containers),
        init_containers=tuple(
            _fill(c, limits, requests, "init container", notes) for c in pod.spec.init_containers
        ),
    )
    if not notes:
        return pod
    annotations = pod.metadata.annotations | {ANNOTATION: f"LimitRanger plugin set: {'; '.join(notes)}"}
    return replace(pod, spec=spec, metadata=replace(pod.metadata, annotations=annotations))


def pod_limits_broken(pod: Pod, limit_range: LimitRange) -> tuple[LimitBroken, ...]:
    """Every wall of this LimitRange that the pod runs into."""
    return tuple(_pod_walls(pod, limit_range))


def claim_limits_broken(claim: PersistentVolumeClaim, limit_range: LimitRange) -> tuple[LimitBroken, ...]:
    """Every wall of this LimitRange that the claim runs into; only its request is looked at."""
    requests = amounts(claim.spec.resources.requests)
    broken: list[LimitBroken | None] = []
    for item in limit_range.spec.limits:
        if item.type == "PersistentVolumeClaim":
            for name, bound in amounts(item.min).items():
                broken.append(_minimum(item.type, name, bound, requests, {}))
            for name, bound in amounts(item.max).items():
                broken.append(_maximum_request(item.type, name, bound, requests))
    return tuple(wall for wall in broken if wall is not None)


def _container_defaults(limit_range: LimitRange) -> tuple[ResourceList, ResourceList]:
    limits: ResourceList = {}
    requests: ResourceList = {}
    for item in limit_range.spec.limits:
        if item.type == "Container":
            limits |= item.default
            requests |= item.default_request
    return limits, requests


def _fill(
    container: Container, limits: ResourceList, requests: ResourceList, kind: str, notes: list[str]
) -> Container:
    own = container.resources
    for word, filled, given in (("request", requests, own.requests), ("limit", limits, own.limits)):
        missing = sorted(filled.keys() - given.keys())
        if missing:
            notes.append(f"{', '.join(missing)} {word} for {kind} {container.name}")
    return replace(
        container, resources=Resources(requests=requests | own.requests, limits=limits | own.limits)
    )


def _pod_walls(pod: Pod, limit_range: LimitRange) -> Iterator[LimitBroken]:
    for item in limit_range.spec.limits:
        if item.type == "Container":
            for container in all_containers(pod):
                own = container.resources
                yield from _walls(item, amounts(own.requests), amounts(own.limits))
        elif item.type == "Pod":
            yield from _walls(item, *_whole_pod(pod))


def _whole_pod(pod: Pod) -> tuple[Amounts, Amounts]:
    requests, limits = aggregate_container_requests(pod), aggregate_container_limits(pod)
    if pod.spec.resources is not None:
        for total, own in ((requests, pod.spec.resources.requests), (limits, pod.spec.resources.limits)):
            total |= {name: q for name, q in amounts(own).items() if name in {"cpu", "memory"}}
    return requests, limits


def _walls(item: LimitRangeItem, requests: Amounts, limits: Amounts) -> Iterator[LimitBroken]:
    checks = ((item.min, _minimum), (item.max, _maximum), (item.max_limit_request_ratio, _ratio))
    for bounds, check in checks:
        for name, bound in amounts(bounds).items():
            broken = check(item.type, name, bound, requests, limits)
            if broken is not None:
                yield broken


def _minimum(per: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> LimitBroken | None:
    request, limit, least = _comparable(requests.get(name), limits.get(name), bound)
    if name not in requests:
        return _broken("minimum", per, name, bound, None, "request")
    if request < least:
        return _broken("minimum", per, name, bound, requests[name], "request")
    if name in limits and limit < least:
        return _broken("minimum", per, name, bound, limits[name], "limit")
    return None


def _maximum(per: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> LimitBroken | None:
    request, limit, most = _comparable(requests.get(name), limits.get(name), bound)
    if name not in limits:
        return _broken("maximum", per, name, bound, None, "limit")
    if limit > most:
        return _broken("maximum", per, name, bound, limits[name], "limit")
    if name in requests and request > most:
        return _broken("maximum", per, name, bound, requests[name], "request")
    return None


def _maximum_request(per: str, name: str, bound: Quantity, requests: Amounts) -> LimitBroken | None:
    request, _, most = _comparable(requests.get(name), None, bound)
    if name not in requests:
        return _broken("maximum", per, name, bound, None, "request")
    return _broken("maximum", per, name, bound, requests[name], "request") if request > most else None


def _ratio(per: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> LimitBroken | None:
    request, limit, _ = _comparable(requests.get(name), limits.get(name), bound)
    for side, amount in (("request", request), ("limit", limit)):
        if amount == 0:
            return _broken("ratio", per, name, bound, None, side)
    ratio = float(limit) / float(request)
    fine = bound.value() <= _MAX_MILLI_VALUE
    if not (ratio * 1000 > float(bound.milli()) if fine else ratio > float(bound.value())):
        return None
    return LimitBroken(
        wall="ratio", resource=name, per=per, bound=str(bound), side="ratio", found=f"{ratio:f}"
    )


def _comparable(request: Quantity | None, limit: Quantity | None, bound: Quantity) -> tuple[int, int, int]:
    """The three at one precision: thousandths, unless one of them is too large for that."""
    three = (request or _ZERO, limit or _ZERO, bound)
    if all(quantity.value() <= _MAX_MILLI_VALUE for quantity in three):
        return three[0].milli(), three[1].milli(), three[2].milli()
    return three[0].value(), three[1].value(), three[2].value()


def _broken(
    wall: Wall, per: str, name: str, bound: Quantity, found: Quantity | None, side: str
) -> LimitBroken:
    return LimitBroken(
        wall=wall,
        resource=name,
        per=per,
        bound=str(bound),
        side="request" if side == "request" else "limit",
        found=None if found is None else str(found),
    )
