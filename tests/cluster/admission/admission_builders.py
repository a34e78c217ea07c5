"""Objects with sensible defaults, for tests of admission: say only what the test is about."""

from __future__ import annotations

from typing import Any

import msgspec

from tonnage.cluster.admission.admitting import Admitted, NamespacePolicies, PodAnswer, Rejected, admit
from tonnage.cluster.objects import LimitRange, PersistentVolumeClaim, Pod, PriorityClass, ResourceQuota


def a_container(name: str = "c", *, requests: Any = None, limits: Any = None, **more: Any) -> dict[str, Any]:
    """One container as JSON."""
    resources = {
        key: value for key, value in (("requests", requests), ("limits", limits)) if value is not None
    }
    return {"name": name, "image": "local/python", "resources": resources, **more}


def a_pod(*containers: dict[str, Any], status: Any = None, annotations: Any = None, **spec: Any) -> Pod:
    """A pod; spec fields by their JSON names."""
    body = {
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {"containers": list(containers) or [a_container()], **spec},
        "status": status or {},
    }
    return msgspec.convert(body, Pod)


def a_quota(name: str = "q", *, hard: Any, used: Any = None, **spec: Any) -> ResourceQuota:
    """A quota that the controller has counted; nothing in use unless said."""
    counted = dict.fromkeys(hard, "0") if used is None else used
    body = {
        "metadata": {"name": name},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": counted},
    }
    return msgspec.convert(body, ResourceQuota)


def a_limit_range(*items: dict[str, Any], name: str = "lr") -> LimitRange:
    """A LimitRange as written, not yet defaulted."""
    return msgspec.convert({"metadata": {"name": name}, "spec": {"limits": list(items)}}, LimitRange)


def a_class(name: str, value: int, **more: Any) -> PriorityClass:
    """A priority class."""
    return msgspec.convert({"metadata": {"name": name}, "value": value, **more}, PriorityClass)


def a_claim(storage: str | None = "1Gi", **spec: Any) -> PersistentVolumeClaim:
    """A claim for some storage."""
    requests = {} if storage is None else {"storage": storage}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": requests}, **spec}
    return msgspec.convert({"metadata": {"name": "claim"}, "spec": spec}, PersistentVolumeClaim)


def admitted(pod: Pod, **policies: Any) -> Admitted:
    """The pod as stored; fails if it is refused."""
    answer = _answer(pod, policies)
    assert isinstance(answer, Admitted), answer
    return answer


def rejected(pod: Pod, **policies: Any) -> Rejected:
    """The refusal; fails if it is admitted."""
    answer = _answer(pod, policies)
    assert isinstance(answer, Rejected), answer
    return answer


def _answer(pod: Pod, policies: Any) -> PodAnswer:
    return admit(pod, NamespacePolicies(**policies))
