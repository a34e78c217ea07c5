"""ResourceQuota: what an object costs, which quotas it meets, and when one refuses it.

A quota is compared with what the controller wrote into its status, not with its spec: a new quota enforces
nothing until it has been counted. Each quota is first asked whether the object belongs to it (any key it
knows, all scopes), then whether the object says enough (cpu and memory only, and not when pod-level
resources are set), then whether there is room. Keys that nothing ever counts (`limits.nvidia.com/gpu`) are
stored without complaint and never refuse anything; `unenforced_keys` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from tonnage.cluster.admission.quota_scopes import is_in_all_scopes, scopes, takes_claims
from tonnage.cluster.admission.resource_names import REQUESTS, is_extended, is_native
from tonnage.cluster.messages.quota import (
    MustSpecify,
    NegativeUsage,
    QuotaExceeded,
    QuotaRefusal,
    QuotaStatusUnknown,
)
from tonnage.cluster.objects import PersistentVolumeClaim, Pod, ResourceQuota
from tonnage.cluster.resources import (
    HUGEPAGES,
    Amounts,
    add_to,
    all_containers,
    amounts,
    container_limits,
    container_requests,
    pod_level_resources_set,
    pod_limits,
    pod_requests,
)
from tonnage.units import Quantity, quantity_of

_ONE = quantity_of(1)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_POD_KEYS = (
    {"count/pods", "pods"}
    | set(_COMPUTE)
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE}
)
_MUST_BE_SAID = {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_CLAIM_KEYS = ("persistentvolumeclaims", "requests.storage")
_STORAGE_CLASS = ".storageclass.storage.k8s.io/"
_OTHER_COUNTED = {
    "services",
    "services.nodeports",
    "services.loadbalancers",
    "configmaps",
    "resourcequotas",
    "replicationcontrollers",
    "secrets",
}


def check_pod(
    pod: Pod, quotas: Sequence[ResourceQuota], *, now: datetime | None = None
) -> list[QuotaRefusal]:
    """Every refusal the pod could hear: quotas come in no fixed order, and the first to refuse ends it."""
    return _check(
        [quota for quota in quotas if pod_meets(pod, quota)],
        pod_usage(pod, now=now),
        is_pod_key,
        lambda quota: _unsaid(pod, quota),
    )


def check_claim(claim: PersistentVolumeClaim, quotas: Sequence[ResourceQuota]) -> list[QuotaRefusal]:
    """Every refusal the claim could hear."""
    interesting = [
        quota for quota in quotas if any(map(is_claim_key, quota.status.hard)) and takes_claims(quota)
    ]
    return _check(interesting, claim_usage(claim), is_claim_key, lambda _: None)


def check_count(resource: str, quotas: Sequence[ResourceQuota]) -> list[QuotaRefusal]:
    """Every refusal one more object (`jobs.batch`, `configmaps`) could hear; scoped quotas count none."""
    names = {f"count/{resource}", resource} & ({f"count/{resource}"} | _OTHER_COUNTED)
    interesting = [q for q in quotas if names & q.status.hard.keys() and not scopes(q)]
    return _check(interesting, dict.fromkeys(names, _ONE), names.__contains__, lambda _: None)


def pod_usage(pod: Pod, *, now: datetime | None = None) -> Amounts:
    """What the pod is charged: compute only while it lives, `count/pods` while it exists."""
    usage: Amounts = {"count/pods": _ONE}
    if _is_charged(pod, now):
        requests = pod_requests(pod, pod_level_from_status=False)
        add_to(usage, _compute_usage(requests, pod_limits(pod, pod_level_from_status=False)))
    return usage


def claim_usage(claim: PersistentVolumeClaim) -> Amounts:
    """What the claim is charged, in general and to its storage class: the larger of asked and allocated."""
    usage: Amounts = {"persistentvolumeclaims": _ONE, "count/persistentvolumeclaims": _ONE}
    storage = amounts(claim.spec.resources.requests).get("storage")
    if storage is not None:
        allocated = amounts(claim.status.allocated_resources).get("storage")
        usage["requests.storage"] = _whole_bytes(max(storage, allocated or storage))
    if claim.spec.storage_class_name:
        prefix = claim.spec.storage_class_name + _STORAGE_CLASS
        usage |= {prefix + key: usage[key] for key in _CLAIM_KEYS if key in usage}
    return usage


def namespace_usage(
    quota: ResourceQuota,
    pods: Iterable[Pod],
    claims: Iterable[PersistentVolumeClaim] = (),
    *,
    now: datetime | None = None,
) -> Amounts:
    """What the controller would count for this quota: pods and claims in scope, only keys it tracks."""
    used: Amounts = {key: Quantity(0) for key in quota.spec.hard if is_pod_key(key) or is_claim_key(key)}
    for pod in pods:
        if is_in_all_scopes(pod, quota):
            add_to(used, {k: v for k, v in pod_usage(pod, now=now).items() if k in used})
    for claim in claims:
        if takes_claims(quota):
            add_to(used, {k: v for k, v in claim_usage(claim).items() if k in used})
    return used


def pod_meets(pod: Pod, quota: ResourceQuota) -> bool:
    """Whether the quota has anything to say about this pod."""
    return any(map(is_pod_key, quota.status.hard)) and is_in_all_scopes(pod, quota)


def unenforced_keys(quota: ResourceQuota) -> tuple[str, ...]:
    """Keys of the quota that are stored and never counted, so that nothing is ever refused for them."""
    scoped = bool(scopes(quota))
    return tuple(sorted(key for key in quota.spec.hard if not _is_counted(key, scoped=scoped)))


def is_pod_key(key: str) -> bool:
    """Whether pods are counted under this key."""
    if key in _POD_KEYS or key.startswith((HUGEPAGES, REQUESTS + HUGEPAGES)):
        return True
    return key.startswith(REQUESTS) and (not is_native(key) or key.startswith(REQUESTS + _DEVICE_CLASS))


def is_claim_key(key: str) -> bool:
    """Whether persistent volume claims are counted under this key."""
    if key in _CLAIM_KEYS or key == "count/persistentvolumeclaims":
        return True
    return any(key.endswith(_STORAGE_CLASS + name) for name in _CLAIM_KEYS)


def _check(
    interesting: list[ResourceQuota],
    usage: Amounts,
    is_key: Callable[[str], bool],
    unsaid: Callable[[ResourceQuota], MustSpecify | None],
) -> list[QuotaRefusal]:
    early: list[QuotaRefusal] = []
    for quota in interesting:
        keys = [key for key in quota.status.hard if is_key(key)]
        missing = unsaid(quota)
        if missing is not None:
            early.append(missing)
        elif any(key not in quota.status.used for key in keys):
            early.append(QuotaStatusUnknown(quota=quota.metadata.name, resources=tuple(sorted(keys))))
    if early:
        return early
    negative = tuple(sorted(key for key, quantity in usage.items() if quantity < Quantity(0)))
    if negative:
        return [NegativeUsage(resources=negative)]
    refusals = (_exceeded(quota, usage) for quota in interesting)
    return [refusal for refusal in refusals if refusal is not None]


def _exceeded(quota: ResourceQuota, usage: Mapping[str, Quantity]) -> QuotaExceeded | None:
    hard, used = amounts(quota.status.hard), amounts(quota.status.used)
    wanted = {key: quantity for key, quantity in usage.items() if key in hard and not quantity.is_zero()}
    over = sorted(key for key in wanted if used.get(key, Quantity(0)) + wanted[key] > hard[key])
    if not over:
        return None
    return QuotaExceeded(
        quota=quota.metadata.name,
        requested={key: str(wanted[key]) for key in over},
        used={key: str(used[key]) for key in over if key in used},
        limited={key: str(hard[key]) for key in over},
    )


def _unsaid(pod: Pod, quota: ResourceQuota) -> MustSpecify | None:
    """Which cpu and memory values the quota counts and some container leaves out."""
    if pod_level_resources_set(pod):
        return None
    missing: dict[str, set[str]] = {}
    demanded = _MUST_BE_SAID & quota.status.hard.keys()
    for container in all_containers(pod):
        said = _compute_usage(container_requests(container), container_limits(container))
        for key in demanded - said.keys():
            missing.setdefault(key, set()).add(container.name)
    if not missing:
        return None
    by_key = {key: tuple(sorted(names)) for key, names in sorted(missing.items())}
    return MustSpecify(quota=quota.metadata.name, missing=by_key)


def _compute_usage(requests: Amounts, limits: Amounts) -> Amounts:
    usage: Amounts = {"pods": _ONE}
    for name in _COMPUTE:
        if name in requests:
            usage[name] = usage[f"requests.{name}"] = requests[name]
        if name in limits:
            usage[f"limits.{name}"] = limits[name]
    for name, quantity in requests.items():
        if name.startswith(HUGEPAGES):
            usage[name] = usage[REQUESTS + name] = quantity
        elif is_extended(name) or name.startswith(_DEVICE_CLASS):
            usage[REQUESTS + name] = quantity
    return usage


def _whole_bytes(quantity: Quantity) -> Quantity:
    return quantity if quantity.is_whole() else quantity_of(quantity.value(), like=quantity.format)


def _is_charged(pod: Pod, now: datetime | None) -> bool:
    """A pod that has ended costs nothing; one stuck in deletion is forgiven after twice its grace."""
    if pod.status.phase in {"Failed", "Succeeded"}:
        return False
    deleted, grace = pod.metadata.deletion_timestamp, pod.metadata.deletion_grace_period_seconds
    if deleted is None or grace is None or now is None:
        return True
    return now <= datetime.fromisoformat(deleted) + timedelta(seconds=grace)


def _is_counted(key: str, *, scoped: bool) -> bool:
    if is_pod_key(key):
        return True
    if key.endswith(".deviceclass.resource.k8s.io/devices"):
        return not scoped
    if is_claim_key(key):
        return True
    return not scoped and (key in _OTHER_COUNTED or key.startswith("count/"))
