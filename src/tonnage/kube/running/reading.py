"""Small questions about API objects held as plain maps: times, conditions, which pod of the gang this is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]
_INDEXES = ("batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index")
_ROLE = "training.kubeflow.org/replica-type"


def moment(text: object) -> dt.datetime | None:
    """A time as Kubernetes writes it.

    >>> moment("2026-11-15T18:40:01Z").isoformat(), moment(None)
    ('2026-11-15T18:40:01+00:00', None)
    """
    if not isinstance(text, str) or not text:
        return None
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return None


def name_of(thing: Object) -> str:
    return str(thing["metadata"].get("name", ""))


def uid_of(thing: Object) -> str:
    return str(thing["metadata"].get("uid", ""))


def created(thing: Object) -> dt.datetime | None:
    return moment(thing["metadata"].get("creationTimestamp"))


def is_going(thing: Object) -> bool:
    """Whether it was asked to go away."""
    return bool(thing["metadata"].get("deletionTimestamp"))


def status(thing: Object) -> Mapping[str, Any]:
    return thing.get("status") or {}


def conditions(thing: Object) -> tuple[Mapping[str, Any], ...]:
    return tuple(status(thing).get("conditions") or ())


def condition(thing: Object, *types: str) -> Mapping[str, Any] | None:
    """The first condition of these types that is True."""
    return next(
        (each for each in conditions(thing) if each.get("type") in types and each.get("status") == "True"),
        None,
    )


def index_of(pod: Object, nodes: int) -> int:
    """Which pod of the gang; a launcher of ranks comes after the last worker."""
    meta = pod["metadata"]
    labels = {**(meta.get("annotations") or {}), **(meta.get("labels") or {})}
    if labels.get(_ROLE) == "launcher":
        return nodes
    return next((int(labels[key]) for key in _INDEXES if str(labels.get(key, "")).isdecimal()), 0)


def main_container(pod: Object) -> str:
    """The container that trains: the one our manifests mark, else the first."""
    named = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container")
    names = [each["name"] for each in pod.get("spec", {}).get("containers", ())]
    return str(named) if named in names else str(names[0] if names else "main")


def container_statuses(pod: Object, *, init: bool = False) -> tuple[Mapping[str, Any], ...]:
    name = "initContainerStatuses" if init else "containerStatuses"
    return tuple(status(pod).get(name) or ())


def main_status(pod: Object) -> Mapping[str, Any]:
    main = main_container(pod)
    return next((each for each in container_statuses(pod) if each.get("name") == main), {})


def started_at(pod: Object) -> dt.datetime | None:
    """When the training container (last) started; None where it never did."""
    state = main_status(pod).get("state") or {}
    for kind in ("running", "terminated"):
        if kind in state:
            return moment((state[kind] or {}).get("startedAt"))
    return None


def has_started(pod: Object) -> bool:
    state = main_status(pod).get("state") or {}
    return "running" in state or "terminated" in state or bool(main_status(pod).get("restartCount"))


def is_running(pod: Object) -> bool:
    return "running" in (main_status(pod).get("state") or {})


def is_over(pod: Object) -> bool:
    return status(pod).get("phase") in ("Succeeded", "Failed")


def newest(pods: Iterable[Object], nodes: int) -> dict[int, Object]:
    """The last made pod of each place in the gang."""
    found: dict[int, Object] = {}
    for pod in sorted(pods, key=lambda each: str(each["metadata"].get("creationTimestamp", ""))):
        found[index_of(pod, nodes)] = pod
    return found
