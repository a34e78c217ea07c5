"""Objects that no Run can be written for, each with the reason and the way on."""

from __future__ import annotations

from typing import Any

from tonnage.spec.foreign import TRAINING_KINDS
from tonnage.spec.literals.refusals import shown
from tonnage.spec.metadata import API_VERSION
from tonnage.spec.mistakes import Mistake
from tonnage.spec.reading import RawDocument

_WHY = {
    "Deployment": "a Deployment serves for ever; a Run ends",
    "StatefulSet": "a StatefulSet serves for ever; a Run ends",
    "DaemonSet": "a DaemonSet runs on every node for ever; a Run ends",
    "ReplicaSet": "a ReplicaSet serves for ever; a Run ends",
    "CronJob": "a CronJob starts again and again; a Run runs once",
    "RayJob": "a RayJob brings a cluster of its own",
    "RayCluster": "a RayCluster brings a cluster of its own",
    "Workflow": "a Workflow has many steps; a Run is one",
}
_HINTS = {
    "CronJob": "write the Run for spec.jobTemplate, and start it by your own schedule",
    "RayJob": "write a Run with the command that trains, and spec.nodes for the workers",
    "RayCluster": "write a Run with the command that trains, and spec.nodes for the workers",
}
_TEAM_KINDS = ("Namespace", "ResourceQuota", "LimitRange", "PriorityClass", "LocalQueue", "ClusterQueue")


def refusal(raw: RawDocument) -> Mistake:
    """Why no Run is written for this object."""
    value = raw.value if isinstance(raw.value, dict) else {}
    kind = value.get("kind")
    if value.get("apiVersion") == API_VERSION:
        return _refused(
            raw, f"this is a {shown(kind)[1:-1]} document of Tonnage already", "`tonnage check` reads it"
        )
    if not isinstance(kind, str):
        return _refused(raw, _fragment(value), "give the whole manifest, from apiVersion on")
    if kind in _TEAM_KINDS:
        return _refused(
            raw, f"{kind}: {_truth_about(kind, value)}", "`tonnage init --kind team` writes a Team"
        )
    what = _WHY.get(kind, f"a {shown(kind)[1:-1]} is not a training job")
    return _refused(raw, what, _HINTS.get(kind))


def _refused(raw: RawDocument, what: str, hint: str | None) -> Mistake:
    return Mistake(
        code="DOC-070",
        what=what,
        file=raw.file,
        line=raw.line,
        expected=f"{', '.join(TRAINING_KINDS[:-1])} or {TRAINING_KINDS[-1]}",
        hint=hint,
    )


def _fragment(value: dict[str, Any]) -> str:
    resources = value.get("resources")
    if isinstance(resources, dict):
        requests, limits = resources.get("requests"), resources.get("limits")
        gpu = "nvidia.com/gpu"
        if (
            isinstance(requests, dict)
            and gpu in requests
            and not (isinstance(limits, dict) and gpu in limits)
        ):
            return (
                f"a fragment, and Kubernetes refuses it: {gpu} is in requests only, limits must have it too"
            )
        return "resources alone are a fragment of a container, not a manifest"
    return "no kind: this is not a Kubernetes manifest"


def _truth_about(kind: str, value: dict[str, Any]) -> str:
    spec = value.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    if kind == "ResourceQuota":
        return _truth_about_quota(spec)
    if kind == "LimitRange":
        return _truth_about_limits(spec)
    if kind == "PriorityClass" and value.get("preemptionPolicy") == "Never":
        return "preemptionPolicy Never means it preempts nobody, not that nobody preempts it"
    return "it belongs to a team, not to a run"


def _truth_about_quota(spec: dict[str, Any]) -> str:
    hard = spec.get("hard")
    hard = hard if isinstance(hard, dict) else {}
    truths = []
    extended = [name for name in hard if str(name).startswith("limits.") and "/" in str(name)]
    if extended:
        truths.append(f"{extended[0]} is stored and never counted; requests.{extended[0][7:]} is the wall")
    unscoped = {"services", "secrets", "configmaps", "persistentvolumeclaims", "requests.storage"} & set(hard)
    if unscoped and (spec.get("scopeSelector") or spec.get("scopes")):
        truths.append(f"Kubernetes refuses it: {sorted(unscoped)[0]} cannot be counted under a pod scope")
    return "; ".join(truths) or "it belongs to a team, not to a run"


def _truth_about_limits(spec: dict[str, Any]) -> str:
    limits = spec.get("limits")
    for entry in limits if isinstance(limits, list) else []:
        most = entry.get("max") if isinstance(entry, dict) else None
        default = entry.get("default") if isinstance(entry, dict) else None
        for name, count in most.items() if isinstance(most, dict) else ():
            if "/" in str(name) and not (isinstance(default, dict) and name in default):
                return f"max {name} without a default gives {count} to every container that asked for none"
    return "it belongs to a team, not to a run"
