"""What is said about an in-place resize: the condition texts, the events, and the refusals' fixed words."""

from __future__ import annotations

import json
import re

import msgspec

from tonnage.cluster.objects import Container, Pod
from tonnage.cluster.objects.pod import Resources

PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
DEFERRED, INFEASIBLE, ERROR = "Deferred", "Infeasible", "Error"
QOS_MAY_NOT_CHANGE = "Pod QOS Class may not change as a result of resizing"
SWAP_UNSUPPORTED = "In-place resize of containers with swap is not supported."

_BELOW = re.compile(
    r'attempting to set (?:pod|container "(?P<container>[^"]+)") memory limit \((?P<limit>\d+)\) '
    r"below current usage \((?P<usage>\d+)\)"
)
_CANNOT_DECREASE = "cannot decrease memory limits: "
_UNREADABLE = re.compile(r'unable to read memory usage for pod "[^_"]+_[^("]+\([^)"]*\)"')


class BelowUsage(msgspec.Struct, frozen=True):
    """A wished limit that is not above what is used now; `container` is None for the pod as a whole."""

    limit_bytes: int
    usage_bytes: int
    container: str | None = None


def format_below_usage(problems: tuple[BelowUsage, ...]) -> str:
    """The condition's text: one problem bare, several in brackets."""
    unique = list(dict.fromkeys(map(_one_below, problems)))
    return _CANNOT_DECREASE + (unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")


def parse_below_usage(text: str) -> tuple[BelowUsage, ...]:
    """Every problem the text names; empty for any other text."""
    if not text.startswith(_CANNOT_DECREASE):
        return ()
    return tuple(
        BelowUsage(int(found["limit"]), int(found["usage"]), found["container"])
        for found in _BELOW.finditer(text)
    )


def format_usage_unreadable(pod: Pod) -> str:
    """The condition's text while the kubelet has no reading of the pod yet; it tries again by itself."""
    meta = pod.metadata
    return f'unable to read memory usage for pod "{meta.name}_{meta.namespace}({meta.uid})"'


def is_usage_unreadable(text: str) -> bool:
    """Whether a resize only waits for the kubelet's next reading."""
    return _UNREADABLE.fullmatch(text) is not None


def format_static_policy(manager: str) -> str:
    """Why a Guaranteed pod cannot be resized beside a static policy; manager is `CPU` or `Memory`."""
    policy = "static" if manager == "CPU" else "Static"
    return f'Resize is infeasible for Guaranteed Pods alongside {manager} Manager policy "{policy}"'


def format_resize_event(what: str, pod: Pod, generation: int, error: str = "") -> str:
    """An event's text; `what` is started, completed, error, Infeasible, or why the node put it off.

    A deferral's condition says Deferred, but its event repeats the kubelet's own reason (`OutOfmemory`).
    """
    summary: dict[str, object] = {}
    if pod.spec.init_containers:
        summary["initContainers"] = [_allocation(c) for c in pod.spec.init_containers]
    if pod.spec.containers:
        summary["containers"] = [_allocation(c) for c in pod.spec.containers]
    summary["generation"] = generation
    if error:
        summary["error"] = error
    text = json.dumps(summary, separators=(",", ":"), ensure_ascii=False)
    for plain, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(plain, escaped)
    return f"Pod resize {what}: {text}"


def parse_resize_event(text: str) -> tuple[str, dict[str, object]] | None:
    """What happened, and the summary it carries."""
    found = re.fullmatch(r"Pod resize (\w+): (\{.*\})", text, re.DOTALL)
    if found is None:
        return None
    try:
        summary = json.loads(found[2])
    except ValueError:
        return None
    return (found[1], summary) if isinstance(summary, dict) else None


def _one_below(problem: BelowUsage) -> str:
    subject = "pod" if problem.container is None else f'container "{problem.container}"'
    return (
        f"attempting to set {subject} memory limit ({problem.limit_bytes}) "
        f"below current usage ({problem.usage_bytes})"
    )


def _allocation(container: Container) -> dict[str, object]:
    return {"name": container.name, "resources": _resources(container.resources)}


def _resources(resources: Resources) -> dict[str, object]:
    written: dict[str, object] = {}
    if resources.limits:
        written["limits"] = dict(sorted(resources.limits.items()))
    if resources.requests:
        written["requests"] = dict(sorted(resources.requests.items()))
    return written
