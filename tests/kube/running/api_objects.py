"""Objects as an API server would give them, with only what a test speaks of."""

from __future__ import annotations

from typing import Any

from tonnage.kube.running.looking import OVER, Look

Object = dict[str, Any]
CREATED = "2026-11-15T10:00:00Z"


def a_workload(kind: str = "Job", *, over: str = "", **spec: Any) -> Object:
    annotations = {OVER: over} if over else {}
    return {
        "kind": kind,
        "metadata": {"name": "run-a1", "uid": "w", "creationTimestamp": CREATED, "annotations": annotations},
        "spec": spec,
        "status": {},
    }


def with_condition(thing: Object, type_: str, status: str = "True", **more: Any) -> Object:
    known = thing.get("status", {}).get("conditions", [])
    conditions = [*known, {"type": type_, "status": status, **more}]
    return {**thing, "status": {**thing.get("status", {}), "conditions": conditions}}


def a_pod(
    uid: str = "p", *, index: int = 0, phase: str = "Pending", made: str = CREATED, **state: Any
) -> Object:
    """`state` is that of its only container: running={...}, waiting={...}, terminated={...}."""
    statuses = [{"name": "main", "state": state, "restartCount": 0}] if state else []
    return {
        "metadata": {
            "name": f"run-a1-{uid}",
            "uid": uid,
            "creationTimestamp": made,
            "labels": {"batch.kubernetes.io/job-completion-index": str(index)},
        },
        "spec": {"nodeName": "n1" if state else "", "containers": [{"name": "main"}]},
        "status": {"phase": phase, "containerStatuses": statuses, **({"startTime": made} if state else {})},
    }


def running(uid: str = "p", index: int = 0, made: str = CREATED) -> Object:
    return a_pod(uid, index=index, phase="Running", made=made, running={"startedAt": made})


def failed(uid: str = "p", index: int = 0) -> Object:
    return a_pod(
        uid, index=index, phase="Failed", terminated={"exitCode": 137, "finishedAt": "2026-11-15T10:05:00Z"}
    )


def a_look(*pods: Object, workload: Object | None = None, nodes: int = 1) -> Look:
    return Look(workload or a_workload(), pods, nodes)
