"""Whether a LimitRange, quota, priority class or claim is one that Kubernetes will store.

What it accepts is wider than what makes sense: a quota may name any key with a `/` in it, and a scope may
list priority classes that do not exist. What it rejects it rejects whole: one key that cannot be scoped
(`services`) sinks a quota of twenty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tonnage.cluster.admission.faults import (
    NOT_POSITIVE,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tonnage.cluster.admission.naming import qualified_name_faults, subdomain_faults
from tonnage.cluster.admission.priority import HIGHEST_USER_PRIORITY, SYSTEM_CLASSES
from tonnage.cluster.admission.resource_names import (
    container_name_faults,
    is_standard_quota_name,
    may_overcommit,
    quota_name_faults,
    resource_name_faults,
)
from tonnage.cluster.admission.validating import meta_faults, quantity_faults
from tonnage.cluster.objects import LimitRange, PersistentVolumeClaim, PriorityClass, ResourceQuota
from tonnage.cluster.objects.policy import LimitRangeItem, QuotaSpec, ScopeRequirement
from tonnage.cluster.resources import amounts
from tonnage.units import Quantity, quantity_of

_PODS_ONLY = frozenset({"pods"})
_COMPUTE = frozenset(
    {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
)
_ALLOWED_UNDER_SCOPE = {
    "Terminating": _COMPUTE,
    "NotTerminating": _COMPUTE,
    "NotBestEffort": _COMPUTE,
    "PriorityClass": _COMPUTE,
    "CrossNamespacePodAffinity": _COMPUTE,
    "BestEffort": _PODS_ONLY,
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_EXISTS_ONLY = {
    "BestEffort",
    "NotBestEffort",
    "Terminating",
    "NotTerminating",
    "CrossNamespacePodAffinity",
}
_CONTRADICTIONS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_LIMIT_TYPES = {"Pod", "Container", "PersistentVolumeClaim"}
_MAX_MILLI_VALUE = (2**63 - 1) // 1000
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


def limit_range_faults(limit_range: LimitRange) -> list[str]:
    """Every mistake in a LimitRange (as defaulted)."""
    errors = list(meta_faults(limit_range.metadata))
    seen: set[str] = set()
    for index, item in enumerate(limit_range.spec.limits):
        path = f"spec.limits[{index}]"
        errors += _type_faults(item.type, f"{path}.type")
        if item.type in seen:
            errors.append(duplicate(f"{path}.type", item.type))
        seen.add(item.type)
        errors += _item_faults(item, path)
    return errors


def quota_faults(quota: ResourceQuota) -> list[str]:
    """Every mistake in a ResourceQuota."""
    errors = list(meta_faults(quota.metadata))
    for name, quantity in amounts(quota.spec.hard).items():
        path = f"spec.hard[{name}]"
        errors += [*quota_name_faults(name, path), *quantity_faults(name, quantity, path)]
    return [*errors, *_scope_list_faults(quota.spec), *_scope_selector_faults(quota.spec)]


def priority_class_faults(priority_class: PriorityClass) -> list[str]:
    """Every mistake in a PriorityClass."""
    errors = list(meta_faults(priority_class.metadata))
    name = priority_class.metadata.name
    if name.startswith("system-"):
        reason = _not_a_system_class(priority_class)
        if reason is not None:
            reserved = "priority class names with 'system-' prefix are reserved for system use only"
            errors.append(forbidden("metadata.name", f"{reserved}. error: {reason}"))
    elif priority_class.value > HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        errors.append(forbidden("value", detail))
    policy = priority_class.preemption_policy
    if policy not in {None, "PreemptLowerPriority", "Never"}:
        errors.append(unsupported("preemptionPolicy", str(policy), ("PreemptLowerPriority", "Never")))
    return errors


def claim_faults(claim: PersistentVolumeClaim) -> list[str]:
    """Every mistake in a persistent volume claim."""
    return [*meta_faults(claim.metadata), *_claim_spec_faults(claim)]


def _type_faults(kind: str, path: str) -> list[str]:
    malformed = [invalid(path, kind, fault) for fault in qualified_name_faults(kind)]
    if not malformed and "/" not in kind and kind not in _LIMIT_TYPES:
        return [invalid(path, kind, "must be a standard limit type or fully qualified")]
    return malformed


def _item_faults(item: LimitRangeItem, path: str) -> Iterator[str]:
    name_faults = container_name_faults if item.type in {"Pod", "Container"} else resource_name_faults
    lists = {"max": item.max, "min": item.min, "maxLimitRequestRatio": item.max_limit_request_ratio}
    if item.type == "Pod":
        for field, given in (("default", item.default), ("defaultRequest", item.default_request)):
            if given:
                yield forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
    else:
        lists |= {"default": item.default, "defaultRequest": item.default_request}
    for field, resource_list in lists.items():
        for name in resource_list:
            yield from name_faults(name, f"{path}.{field}[{name}]")
    if item.type == "PersistentVolumeClaim" and "storage" not in item.min.keys() | item.max.keys():
        detail = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", detail)
    values = {field: amounts(resource_list) for field, resource_list in lists.items()}
    for name in {name: None for resource_list in lists.values() for name in resource_list}:
        yield from _order_faults(name, {field: found.get(name) for field, found in values.items()}, path)


def _order_faults(name: str, given: dict[str, Quantity | None], path: str) -> Iterator[str]:
    """min <= defaultRequest <= default <= max, each pair in its own words."""
    low, high = given["min"], given["max"]
    default, request = given.get("default"), given.get("defaultRequest")
    ratio = given["maxLimitRequestRatio"]
    orders = (
        ("min", low, "min value", low, "max value", high),
        ("defaultRequest", request, "min value", low, "default request value", request),
        ("defaultRequest", request, "default request value", request, "max value", high),
        ("defaultRequest", request, "default request value", request, "default limit value", default),
        ("default", low, "min value", low, "default value", default),
        ("default", high, "default value", default, "max value", high),
    )
    for field, shown, lower_word, lower, upper_word, upper in orders:
        if lower is not None and upper is not None and lower > upper:
            detail = f"{lower_word} {lower} is greater than {upper_word} {upper}"
            yield invalid(f"{path}.{field}[{name}]", str(shown), detail)
    if ratio is not None:
        yield from _ratio_faults(f"{path}.maxLimitRequestRatio[{name}]", ratio, low, high)
    if not may_overcommit(name) and default is not None and request is not None and default != request:
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield invalid(f"{path}.defaultRequest[{name}]", str(request), detail)


def _ratio_faults(path: str, ratio: Quantity, low: Quantity | None, high: Quantity | None) -> Iterator[str]:
    if ratio < quantity_of(1):
        yield invalid(path, str(ratio), f"ratio {ratio} is less than 1")
    if low is None or high is None:
        return
    if all(quantity.value() < _MAX_MILLI_VALUE for quantity in (ratio, low, high)):
        asked, most = ratio.milli() / 1000, _divide(high.milli(), low.milli())
    else:
        asked, most = float(ratio.value()), _divide(high.value(), low.value())
    if asked > most:
        shown = f"{most:f}" if math.isfinite(most) else ("+Inf" if most > 0 else "-Inf")
        yield invalid(path, str(ratio), f"ratio {ratio} is greater than max/min = {shown}")


def _divide(over: int, under: int) -> float:
    """Division as floating-point hardware does it, without raising."""
    if under:
        return float(over) / float(under)
    return math.copysign(math.inf, over) if over else math.nan


def _scope_list_faults(spec: QuotaSpec) -> Iterator[str]:
    shown = list(spec.scopes)
    for scope in spec.scopes:
        if scope not in _ALLOWED_UNDER_SCOPE:
            yield invalid("spec.scopes", shown, "unsupported scope")
        yield from (
            invalid("spec.scopes", shown, "unsupported scope applied to resource")
            for _ in _unscopable(spec, scope)
        )
    yield from _contradictions(spec.scopes, "spec.scopes", shown)


def _scope_selector_faults(spec: QuotaSpec) -> Iterator[str]:
    if spec.scope_selector is None:
        return
    path = "spec.scopeSelector.matchExpressions"
    lines = spec.scope_selector.match_expressions
    shown = {"MatchExpressions": [_as_go(line) for line in lines] or None}
    for line in lines:
        if line.scope_name not in _ALLOWED_UNDER_SCOPE:
            yield invalid(f"{path}.scopeName", line.scope_name, "unsupported scope")
        for _ in _unscopable(spec, line.scope_name):
            yield invalid(path, shown, "unsupported scope applied to resource")
        yield from _operator_faults(line, path)
    yield from _contradictions([line.scope_name for line in lines], path, list(spec.scopes) or None)


def _operator_faults(line: ScopeRequirement, path: str) -> Iterator[str]:
    if line.scope_name in _EXISTS_ONLY and line.operator != "Exists":
        detail = (
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
            "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort "
            "or ResourceQuotaScopeCrossNamespacePodAffinity"
        )
        yield invalid(f"{path}.operator", line.operator, detail)
    if line.operator in {"In", "NotIn"}:
        if not line.values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{path}.values", detail)
    elif line.operator in {"Exists", "DoesNotExist"}:
        if line.values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid(f"{path}.values", list(line.values), detail)
    else:
        yield invalid(f"{path}.operator", line.operator, "not a valid selector operator")


def _unscopable(spec: QuotaSpec, scope: str) -> list[str]:
    """Standard keys that this scope cannot be combined with; names with a `/` escape the check."""
    allowed = _ALLOWED_UNDER_SCOPE.get(scope)
    if allowed is None:
        return []
    return [key for key in spec.hard if is_standard_quota_name(key) and key not in allowed]


def _contradictions(scopes: Iterable[str], path: str, shown: list[str] | None) -> Iterator[str]:
    present = set(scopes)
    for pair in _CONTRADICTIONS:
        if pair <= present:
            yield invalid(path, shown, "conflicting scopes")


def _as_go(line: ScopeRequirement) -> dict[str, object]:
    """The internal form that error texts show."""
    values = list(line.values) or None
    return {"ScopeName": line.scope_name, "Operator": line.operator, "Values": values}


def _not_a_system_class(priority_class: PriorityClass) -> str | None:
    for known in SYSTEM_CLASSES:
        name = known.metadata.name
        if name == priority_class.metadata.name:
            if known.value != priority_class.value:
                return f"value of {name} PriorityClass must be {known.value}"
            if priority_class.global_default:
                return f"globalDefault of {name} PriorityClass must be false"
            return None
    return f"{priority_class.metadata.name} is not a known system priority class"


def _claim_spec_faults(claim: PersistentVolumeClaim) -> Iterator[str]:
    spec = claim.spec
    if not spec.access_modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    for mode in spec.access_modes:
        if mode not in _ACCESS_MODES:
            yield unsupported("spec.accessModes", mode, _ACCESS_MODES)
    known = {mode for mode in spec.access_modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        yield forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")
    storage = amounts(spec.resources.requests).get("storage")
    if storage is None:
        yield required("spec.resources[storage]")
    elif not storage.is_positive():
        yield invalid("spec.resources[storage]", str(storage), NOT_POSITIVE)
    for fault in subdomain_faults(spec.storage_class_name) if spec.storage_class_name else ():
        yield invalid("spec.storageClassName", spec.storage_class_name, fault, plain=True)
    if spec.volume_mode not in {"", "Block", "Filesystem"}:
        yield unsupported("spec.volumeMode", spec.volume_mode, ("Block", "Filesystem"))
