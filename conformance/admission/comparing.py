"""Two answers in one form, so that they can be compared: what was stored, or which errors were named.

Errors are compared as sets because the API server walks maps in random order. Where LimitRanges or quotas
compete it picks one at random, so its answer agrees when it is among those we call possible.
"""

from __future__ import annotations

from typing import Any

import msgspec

from conformance.apiserver import Answer
from tonnage.cluster.admission.admitting import Admitted, Rejected, Stored
from tonnage.cluster.admission.limiting import ANNOTATION
from tonnage.cluster.messages.limiting import parse_limits_broken, split_refusal
from tonnage.cluster.objects import LimitRange, PersistentVolumeClaim, Pod, PriorityClass, ResourceQuota

Form = dict[str, Any]
PolicyObject = LimitRange | ResourceQuota | PriorityClass | PersistentVolumeClaim


def ours(answer: Admitted | Stored | Rejected) -> Form:
    """Our answer."""
    if isinstance(answer, Rejected):
        return _refusal(answer.status, answer.errors, answer.message)
    return pod_form(answer.pod) if isinstance(answer, Admitted) else object_form(answer.object)


def real(answer: Answer, kind: type[Pod] | type[PolicyObject]) -> Form:
    """The server's answer."""
    if answer.ok:
        value = msgspec.convert(answer.body, kind)
        return pod_form(value) if isinstance(value, Pod) else object_form(value)
    return _refusal(answer.status, frozenset(_errors(answer)), answer.message)


def pod_form(pod: Pod) -> Form:
    """What of an admitted pod the rules decide."""
    spec = pod.spec
    return {
        "containers": [msgspec.to_builtins(c.resources) for c in spec.containers],
        "initContainers": [msgspec.to_builtins(c.resources) for c in spec.init_containers],
        "resources": None if spec.resources is None else msgspec.to_builtins(spec.resources),
        "overhead": spec.overhead,
        "priority": [spec.priority_class_name, spec.priority, spec.preemption_policy],
        "tolerations": msgspec.to_builtins(spec.tolerations),
        "policies": [spec.restart_policy, spec.termination_grace_period_seconds, spec.scheduler_name],
        "limitRanger": pod.metadata.annotations.get(ANNOTATION),
        "serviceAccount": spec.service_account_name,
        "qosClass": pod.status.qos_class,
    }


def object_form(value: PolicyObject) -> Form:
    """What of a stored policy object or claim the rules decide."""
    if isinstance(value, PriorityClass):
        return {"value": value.value, "default": value.global_default, "policy": value.preemption_policy}
    form: Form = msgspec.to_builtins(value.spec)
    return form


def apart(possible: list[Form], theirs: Form) -> tuple[Any, Any]:
    """Ours and theirs, for showing: where both stored the object or both refused it, only what differs."""
    if len(possible) != 1 or ("errors" in possible[0]) != ("errors" in theirs):
        return possible, theirs
    (mine,) = possible
    differing = [name for name in mine | theirs if mine.get(name) != theirs.get(name)]
    return {name: mine.get(name) for name in differing}, {name: theirs.get(name) for name in differing}


def _refusal(status: int, errors: frozenset[str], message: str) -> Form:
    form: Form = {"status": status, "errors": sorted(errors)}
    if len(errors) == 1:
        form["message"] = message
    return form


def _errors(answer: Answer) -> list[str]:
    if answer.status == 422:
        causes = answer.body["details"].get("causes", [])
        return [f"{cause['field']}: {cause['message']}" for cause in causes]
    if answer.status == 403:
        if parse_limits_broken(answer.message):
            return split_refusal(answer.message)
        return [answer.message.partition(" is forbidden: ")[2]]
    return [answer.message]
