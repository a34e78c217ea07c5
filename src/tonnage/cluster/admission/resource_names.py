"""What kind of thing a resource name names, and where it may stand.

Kubernetes decides by spelling alone. A name without `/` is its own and must be one it knows; a name with a
foreign domain is an extended resource (`nvidia.com/gpu`): whole numbers only, never overcommitted. Quotas
speak a second language on top (`requests.cpu`, `count/pods`), in which any name with a `/` passes,
meaningful or not.
"""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.cluster.admission.faults import invalid, unsupported
from tonnage.cluster.admission.naming import qualified_name_faults
from tonnage.cluster.resources import HUGEPAGES
from tonnage.units import Quantity, try_quantity

REQUESTS = "requests."

_CONTAINER = {"cpu", "memory", "ephemeral-storage"}
_COUNTED = {
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
}
_QUOTA = (
    _CONTAINER
    | _COUNTED
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _CONTAINER}
    | {"requests.storage"}
)
_STANDARD = _QUOTA | {"storage"}


def is_native(name: str) -> bool:
    """Whether Kubernetes itself owns the name."""
    return "/" not in name or "kubernetes.io/" in name


def is_hugepages(name: str) -> bool:
    return name.startswith(HUGEPAGES)


def is_extended(name: str) -> bool:
    """Whether it is a device or other foreign resource that containers may ask for."""
    if is_native(name) or name.startswith(REQUESTS):
        return False
    return not any(qualified_name_faults(REQUESTS + name))


def may_overcommit(name: str) -> bool:
    """Whether a limit may be above the request."""
    return is_native(name) and not is_hugepages(name)


def is_whole_number(name: str) -> bool:
    """Whether only integers make sense for it."""
    return name in _COUNTED or is_extended(name)


def is_quota_hugepages(name: str) -> bool:
    return name.startswith((HUGEPAGES, REQUESTS + HUGEPAGES))


def is_standard_quota_name(name: str) -> bool:
    """Whether the quota system knows it without a domain."""
    return name in _QUOTA or is_quota_hugepages(name)


def divides_hugepage(name: str, quantity: Quantity) -> bool:
    """Whether the amount is a whole number of pages of the size in the name."""
    page = try_quantity(name.removeprefix(HUGEPAGES))
    if page is None or not page.is_positive() or page.milli() % 1000 != 0:
        return False
    return quantity.value() % page.value() == 0 if page.value() else False


def container_name_faults(name: str, path: str) -> Iterator[str]:
    """Why a container (or a LimitRange on pods and containers) may not name this resource."""
    malformed = list(resource_name_faults(name, path))
    yield from malformed
    if "/" not in name:
        if name not in _CONTAINER and not is_hugepages(name):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def pod_level_name_faults(name: str, path: str) -> Iterator[str]:
    """Why `spec.resources` of a pod may not name this resource."""
    malformed = list(resource_name_faults(name, path))
    yield from malformed
    if not malformed and name not in {"cpu", "memory"} and not is_hugepages(name):
        yield unsupported(path, name, ("cpu", HUGEPAGES, "memory"))


def quota_name_faults(name: str, path: str) -> Iterator[str]:
    """Why a quota may not name this resource."""
    yield from resource_name_faults(name, path)
    if "/" not in name and not is_standard_quota_name(name):
        yield invalid(path, name, "must be a standard resource for quota")


def resource_name_faults(name: str, path: str) -> Iterator[str]:
    """Why it is no resource name at all."""
    malformed = [invalid(path, name, fault) for fault in qualified_name_faults(name)]
    yield from malformed
    if not malformed and "/" not in name and name not in _STANDARD and not is_quota_hugepages(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")
