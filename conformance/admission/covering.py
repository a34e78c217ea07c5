"""Which rules and messages a case exercised, read off the question and our answer to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]

POD_ERRORS = {
    "quantity: wrong format": r"quantities must match the regular expression",
    "quantity: wrong suffix": r"unable to parse quantity's suffix",
    "container: unknown resource name": r"must be a standard resource for containers",
    "container: malformed resource name": r"prefix part|name part|valid label key",
    "container: extended resource name": r"doesn't follow extended resource name standard",
    "container: fraction of a device": r"must be an integer",
    "container: negative amount": r"must be greater than or equal to 0$",
    "container: device request without limit": r"Limit must be set for non overcommitable resources",
    "container: device request not its limit": r"must be equal to \S+ limit of",
    "container: request above limit": r"must be less than or equal to \S+ limit of",
    "container: huge pages alone": r"HugePages require cpu or memory",
    "container: huge pages not whole": r"is not positive integer multiple of",
    "pod level: unsupported resource": r'spec.resources\S*: Unsupported value: .*"hugepages-"',
    "pod level: below its containers": r"aggregate container requests of",
    "pod level: huge pages below its containers": r"aggregate container limits of",
    "pod level: container above it": r"must be less than or equal to pod limits of",
    "pod: deadline out of range": r"activeDeadlineSeconds: Invalid value",
    "pod: restart policy": r"spec.restartPolicy: Unsupported value",
    "pod: resize policy": r"resizePolicy",
    "pod: names": r"\.name: (Invalid|Duplicate|Required)",
    "pod: tolerations": r"spec.tolerations",
    "pod: scheduling gates": r"schedulingGates",
    "overhead: without runtime class": r"Pod Overhead set without corresponding RuntimeClass",
    "overhead: not the runtime class's": r"doesn't match RuntimeClass's defined Overhead",
    "runtime class: missing": r"RuntimeClass \S+ not found",
    "priority: no such class": r"no PriorityClass with name",
    "priority: number given": r"the integer value of priority",
    "priority: policy given": r"the string value of PreemptionPolicy",
    "limit range: minimum, request": r"^minimum \S+ usage per (Container|Pod) .*but request is",
    "limit range: minimum, no request": r"^minimum \S+ usage per (Container|Pod) .*No request",
    "limit range: minimum, limit": r"^minimum \S+ usage per Pod .*but limit is",
    "limit range: maximum, request": r"^maximum \S+ usage per Pod .*but request is",
    "limit range: maximum, limit": r"^maximum \S+ usage per (Container|Pod) .*but limit is",
    "limit range: maximum, no limit": r"^maximum \S+ usage per (Container|Pod) .*No limit",
    "limit range: ratio": r"but provided ratio is",
    "limit range: ratio without request": r"but no request is specified or request is 0",
    "limit range: ratio without limit": r"but no limit is specified or limit is 0",
    "limit range: per pod": r"usage per Pod",
    "quota: exceeded": r"^exceeded quota",
    "quota: exceeded by devices": r"^exceeded quota.*requested: [^ ]*requests\.nvidia\.com/gpu",
    "quota: must specify": r"must specify",
    "quota: status unknown": r"status unknown for quota",
}
POD_FACTS = (
    "qos: Guaranteed",
    "qos: Burstable",
    "qos: BestEffort",
    "qos: empty pod-level object",
    "defaulting: request from limit",
    "defaulting: rounded up to a thousandth",
    "pod level: requests from containers",
    "pod level: requests from limits",
    "pod level: huge-page limits from containers",
    "limit range: filled in",
    "limit range: several compete",
    "priority: global default",
    "priority: from class",
    "priority: preempts nobody",
    "overhead: from runtime class",
    "tolerations: added",
    "quota: scope Terminating",
    "quota: scope NotTerminating",
    "quota: scope BestEffort",
    "quota: scope NotBestEffort",
    "quota: scope PriorityClass",
    "quota: scope CrossNamespacePodAffinity",
    "quota: unenforced key",
    "quota: several refuse",
    "order: filled in before it is validated",
    "order: limits of a LimitRange before quotas",
)
LIMIT_RANGE_ERRORS = {
    "limit range: unknown type": r"must be a standard limit type",
    "limit range: duplicate type": r"Duplicate value",
    "limit range: default on Pod": r"may not be specified when `type` is 'Pod'",
    "limit range: claim without storage": r"either minimum or maximum storage value is required",
    "limit range: min above max": r"min value \S+ is greater than max value",
    "limit range: min above default request": r"min value \S+ is greater than default request value",
    "limit range: default request above max": r"default request value \S+ is greater than max value",
    "limit range: default request above default": r"default request value \S+ is greater than default limit",
    "limit range: min above default": r"min value \S+ is greater than default value",
    "limit range: default above max": r"default value \S+ is greater than max value",
    "limit range: ratio below one": r"ratio \S+ is less than 1",
    "limit range: ratio above max/min": r"is greater than max/min",
    "limit range: device defaults differ": r"must equal to defaultRequest value",
    "limit range: resource name": r"must be a standard resource",
    "limit range: counted out": r"exceeded quota.*count/limitranges",
}
QUOTA_ERRORS = {
    "quota: unknown key": r"must be a standard resource (for quota|type)",
    "quota: negative": r"must be greater than or equal to 0$",
    "quota: fraction": r"must be an integer",
    "quota: unsupported scope": r": unsupported scope$",
    "quota: key under wrong scope": r"unsupported scope applied to resource",
    "quota: contradicting scopes": r"conflicting scopes",
    "quota: scope must be Exists": r"must be 'Exists' when scope is any of",
    "quota: scope without values": r"must be at least one value",
    "quota: scope with values": r"must be no value",
    "quota: unknown operator": r"not a valid selector operator",
    "quota: counted out": r"exceeded quota.*resourcequotas",
}
CLASS_ERRORS = {
    "priority class: too high": r"maximum allowed value of a user defined priority",
    "priority class: reserved name": r"reserved for system use only",
    "priority class: second default": r"is already marked as default",
    "priority class: unknown policy": r"preemptionPolicy: Unsupported value",
    "priority class: bad name": r"metadata.name: Invalid value",
}
_ABOVE_LIMIT = (
    r"spec\.(?P<kind>containers|initContainers)\[(?P<index>\d+)\]\.resources\.requests: .*"
    r"must be (equal to|less than or equal to) (?P<name>\S+) limit of"
)
CLAIM_ERRORS = {
    "claim: not positive": r"must be greater than zero",
    "claim: no storage": r"spec.resources\[storage\]: Required",
    "claim: access modes": r"spec.accessModes",
    "claim: limit range maximum": r"^maximum storage usage per PersistentVolumeClaim",
    "claim: limit range minimum": r"^minimum storage usage per PersistentVolumeClaim",
    "claim: quota": r"^exceeded quota.*requests.storage",
    "claim: quota by storage class": r"^exceeded quota.*storageclass.storage.k8s.io",
    "claim: quota by count": r"^exceeded quota.*persistentvolumeclaims",
}


def errors_covered(errors: Iterable[str], table: dict[str, str]) -> Iterator[str]:
    """Names of the messages among these errors."""
    texts = list(errors)
    for name, pattern in table.items():
        if any(re.search(pattern, text) for text in texts):
            yield name


def pod_facts_covered(question: Json, answer: Json, num_limit_ranges: int) -> Iterator[str]:
    """Names of the rules that shaped an admitted pod."""
    asked = question["spec"]
    yield f"qos: {answer['qosClass']}"
    if asked.get("resources") == {}:
        yield "qos: empty pod-level object"
    given = [*asked["containers"], *asked.get("initContainers", [])]
    stored = [*answer["containers"], *answer["initContainers"]]
    for container, after in zip(given, stored, strict=True):
        own = container.get("resources", {})
        if own.get("limits", {}).keys() - own.get("requests", {}).keys():
            yield "defaulting: request from limit"
        texts = [*own.get("limits", {}).values(), *own.get("requests", {}).values()]
        if any(re.search(r"[nu]$|\.\d{4}|e-|\dm?\.\d+m$", text) for text in texts) and after:
            yield "defaulting: rounded up to a thousandth"
    yield from _pod_level_facts(asked, answer)
    if answer["limitRanger"] is not None:
        yield "limit range: filled in"
        if num_limit_ranges > 1:
            yield "limit range: several compete"
    if not asked.get("priorityClassName") and answer["priority"][0]:
        yield "priority: global default"
    elif asked.get("priorityClassName"):
        yield "priority: from class"
    if answer["priority"][2] == "Never":
        yield "priority: preempts nobody"
    if answer["overhead"]:
        yield "overhead: from runtime class"
    if len(answer["tolerations"]) > len(asked.get("tolerations", [])):
        yield "tolerations: added"


def order_covered(question: Json, errors: Iterable[str]) -> Iterator[str]:
    """Names of the rules about who comes first that a refusal shows."""
    for error in errors:
        found = re.match(_ABOVE_LIMIT, error)
        if found is not None:
            container = question["spec"][found["kind"]][int(found["index"])]
            if found["name"] not in container.get("resources", {}).get("limits", {}):
                yield "order: filled in before it is validated"


def _pod_level_facts(asked: Json, answer: Json) -> Iterator[str]:
    own, after = asked.get("resources"), answer["resources"]
    if not own or not after:
        return
    for name, text in after.get("requests", {}).items():
        if name not in own.get("requests", {}):
            from_limits = after.get("limits", {}).get(name) == text
            yield "pod level: requests from limits" if from_limits else "pod level: requests from containers"
    if after.get("limits", {}).keys() - own.get("limits", {}).keys():
        yield "pod level: huge-page limits from containers"
