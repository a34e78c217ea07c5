"""Runs that live on a cluster, whoever started them: read off their workloads, with who keeps each alive."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tonnage.errors import ForbiddenError
from tonnage.kube.client import KubeClient
from tonnage.kube.running import reading
from tonnage.kube.running.api import Ref, RunApi
from tonnage.kube.running.leasing import keeper_of
from tonnage.kube.running.looking import Look
from tonnage.kube.running.run_state import RUN_STATE, KeptRun, read_state
from tonnage.kube.running.setting import LINEAGE
from tonnage.manifests.facts import KINDS
from tonnage.manifests.naming import ATTEMPT_LABEL
from tonnage.planning.workload.template import RUN_LABEL

NOBODY = "nobody keeps it alive"


@dataclass(frozen=True, kw_only=True)
class FoundRun:
    """A run as its newest workload tells it."""

    name: str
    namespace: str
    kept: KeptRun
    keeper: str
    """Who keeps it alive; empty where nobody does."""
    workload: Mapping[str, Any]

    @property
    def state(self) -> str:
        """As its supervisor last said; while it is active, as Kubernetes says."""
        if self.kept.state != "active":
            return self.kept.state
        seen = Look(dict(self.workload))
        if seen.is_finished:
            return "ended"
        return "suspended" if seen.is_suspended else "active"


def runs_on(client: KubeClient, namespace: str = "") -> list[FoundRun]:
    """All runs, newest first; in one namespace where all may not be read."""
    api = RunApi(client, namespace)
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for workload in _workloads(api):
        meta = workload["metadata"]
        key = meta.get("namespace", ""), meta["labels"].get(LINEAGE, "")
        if key not in newest or _attempt(workload) > _attempt(newest[key]):
            newest[key] = workload
    found = [run for workload in newest.values() if (run := _found(client, workload)) is not None]
    return sorted(found, key=lambda run: run.kept.created, reverse=True)


def code_of(client: KubeClient, found: FoundRun) -> bytes | None:
    """The code its newest attempt was started with, where a ConfigMap holds it."""
    name = f"{reading.name_of(found.workload)}-code"
    held = RunApi(client, found.namespace).get(Ref("v1", "ConfigMap", name))
    data = (held or {}).get("binaryData") or {}
    return next((base64.b64decode(value) for value in data.values()), None)


def _workloads(api: RunApi) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = list(api.objects("batch/v1", "Job", labels=f"{RUN_LABEL},{LINEAGE}"))
    for kind, (_, version) in KINDS.items():
        try:
            found += api.objects(version, kind, labels=f"{RUN_LABEL},{LINEAGE}")
        except ForbiddenError:
            continue  # Jobs may be read: that is what most runs are
    return [each for each in found if RUN_STATE in (each["metadata"].get("annotations") or {})]


def _found(client: KubeClient, workload: Mapping[str, Any]) -> FoundRun | None:
    meta = workload["metadata"]
    kept = read_state(meta["annotations"][RUN_STATE])
    if kept is None:
        return None
    namespace = str(meta.get("namespace", ""))
    try:
        keeper = keeper_of(RunApi(client, namespace), kept.name, dt.datetime.now(dt.UTC))
    except ForbiddenError:
        keeper = "not known: you may not get leases"
    return FoundRun(name=kept.name, namespace=namespace, kept=kept, keeper=keeper, workload=workload)


def _attempt(workload: Mapping[str, Any]) -> int:
    written = str(workload["metadata"]["labels"].get(ATTEMPT_LABEL, "0"))
    return int(written) if written.isdecimal() else 0
