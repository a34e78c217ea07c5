"""Requests and limits of a container as the friendly shares of a Run, with the truth about what they do."""

from __future__ import annotations

from typing import Any

from tonnage.cluster.gpus import gpu_from_product
from tonnage.spec.adopting.taking import Notes, take_mapping
from tonnage.spec.literals.cpus import Cpus
from tonnage.spec.literals.sizes import Size
from tonnage.units import Quantity, try_quantity

GPU = "nvidia.com/gpu"
PRODUCT_LABEL = "nvidia.com/gpu.product"
_FIELDS = {"memory": "memory", "ephemeral-storage": "disk", "cpu": "cpu"}


def take_resources(container: dict[str, Any], pod: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """gpus, cpu, memory and disk of the Run; other resources stay in the container."""
    resources = take_mapping(container, "resources")
    requests, limits = take_mapping(resources, "requests"), take_mapping(resources, "limits")
    run = _gpus(requests, limits, pod, notes)
    for resource, field in _FIELDS.items():
        share = _share(resource, requests, limits, notes)
        if share is not None:
            run[field] = share
    left = {"requests": requests, "limits": limits, **resources}
    left = {name: value for name, value in left.items() if value}
    if left:
        container["resources"] = left
    if "memory" not in run and "cpu" not in run:
        notes.truths.append(
            "no cpu or memory is asked for: the pod is BestEffort and the first to be killed; "
            "memory: auto mends it"
        )
    return run


def _gpus(
    requests: dict[str, Any], limits: dict[str, Any], pod: dict[str, Any], notes: Notes
) -> dict[str, Any]:
    requested, limited = requests.pop(GPU, None), limits.pop(GPU, None)
    given = limited if limited is not None else requested
    if given is None:
        return {}
    amount = try_quantity(str(getattr(given, "text", given)))
    if amount is None or amount.nano <= 0:
        return {}
    if limited is None:
        notes.truths.append(
            f"{GPU} is in requests only: Kubernetes refuses this (Limit must be set for non overcommitable "
            "resources); a Run sets both"
        )
    elif requested is not None and try_quantity(str(requested)) != amount:
        notes.truths.append(f"{GPU}: request {requested} and limit {limited} differ: Kubernetes refuses this")
    count: int | float = amount.value() if amount.is_whole() else amount.nano / 10**9
    if not amount.is_whole():
        notes.truths.append(
            f"{GPU}: {given} is refused by Kubernetes (must be an integer); "
            f"gpus: {count:g} asks Tonnage for a slice or a shared GPU"
        )
    kind = _type_from_selector(pod)
    return {"gpus": f"{count:g} x {kind}" if kind else count}


def _type_from_selector(pod: dict[str, Any]) -> str | None:
    """The GPU type that a selector pins by its product label; the selector is then ours to write."""
    selector = pod.get("nodeSelector")
    product = selector.get(PRODUCT_LABEL) if isinstance(selector, dict) else None
    kind = gpu_from_product(product) if isinstance(product, str) else None
    if kind is None or product != kind.product or not isinstance(selector, dict):
        return None
    del selector[PRODUCT_LABEL]
    return kind.name


def _share(resource: str, requests: dict[str, Any], limits: dict[str, Any], notes: Notes) -> str | int | None:
    low, high = _quantity(requests.get(resource)), _quantity(limits.get(resource))
    if low is None and high is None:
        return None
    if (low is None and resource in requests) or (high is None and resource in limits):
        return None  # not a quantity: it stays where it was, and Kubernetes will say so
    request = low if low is not None else high
    limit = high if high is not None else low
    if request is None or limit is None or request.nano <= 0 or request > limit:
        return None
    if resource != "cpu" and limit.value() < 2**20:
        notes.truths.append(
            f"{resource} {limits.get(resource, requests.get(resource))} is {limit.value()} bytes: "
            "m means thousandths; Mi and Gi are what people mean"
        )
        return None
    requests.pop(resource, None)
    limits.pop(resource, None)
    if high is None:
        notes.truths.append(
            f"{resource} has a request and no limit: a Run sets request = limit; request..limit allows more"
        )
    first, second = _friendly(resource, request), _friendly(resource, limit)
    if resource == "memory" and first != second:
        notes.truths.append(
            f"memory {first}..{second} makes the pod Burstable: above {first} it is evicted first when the "
            "node is short"
        )
    return first if first == second else f"{first}..{second}"


def _quantity(value: Any) -> Quantity | None:
    return None if value is None else try_quantity(str(getattr(value, "text", value)))


def _friendly(resource: str, amount: Quantity) -> str | int:
    if resource == "cpu":
        text = str(Cpus(amount.milli()))
        return int(text) if text.isdigit() else text
    return str(Size(amount.value()))
