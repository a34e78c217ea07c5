"""The doctor's report: every check, grouped by area, with the verdict first."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from tonnage.reporting.doctor.check import ASK_LIVE, Check, Facts, State
from tonnage.reporting.doctor.components import check_components
from tonnage.reporting.doctor.machines import check_machines, check_storage
from tonnage.reporting.doctor.permissions import check_permissions

OLDEST = (1, 30)
"""Oldest Kubernetes whose messages and fields our rules know."""
GATES = {
    "InPlacePodVerticalScaling": "memory of a running pod can be raised without a restart",
    "PodLevelResources": "one memory limit for a whole pod",
    "JobManagedBy": "Kueue can place Jobs in other clusters",
    "DynamicResourceAllocation": "GPUs by attributes (DRA)",
    "GangScheduling": "all pods of a run, or none, by the scheduler itself",
    "MemoryQoS": "memory requests are protected (cgroup v2)",
}


class DoctorView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What `tonnage doctor` shows."""

    source: str
    server_version: str
    problems: int
    checks: tuple[Check, ...]


def examine(facts: Facts) -> DoctorView:
    """Look at a cluster from every side."""
    checks = (
        *check_version(facts),
        *check_machines(facts),
        *check_storage(facts),
        *check_components(facts),
        *check_permissions(facts),
    )
    return DoctorView(
        source=facts.snapshot.source,
        server_version=facts.snapshot.server_version,
        problems=sum(check.state is State.PROBLEM for check in checks),
        checks=checks,
    )


def check_version(facts: Facts) -> Iterator[Check]:
    """The server's version and the feature gates that matter to training."""
    version = facts.snapshot.server_version
    number = parse_version(version)
    if number is None:
        text = version or "not told"
        remedy = "`kubectl version` tells it" if version else ASK_LIVE
        yield Check(area="version", subject="Kubernetes", state=State.UNKNOWN, text=text, remedy=remedy)
    elif number < OLDEST:
        yield Check(
            area="version",
            subject="Kubernetes",
            state=State.PROBLEM,
            text=f"{version} is older than {OLDEST[0]}.{OLDEST[1]}, the oldest whose rules Tonnage knows",
            remedy="upgrade the cluster; answers about it may be wrong",
        )
    else:
        yield Check(area="version", subject="Kubernetes", state=State.OK, text=version)
    if facts.gates is None:
        why = facts.gates_missing or "not told"
        remedy = (
            ASK_LIVE if facts.groups is None else "ask whoever runs the API server for its --feature-gates"
        )
        if "may not" in why:
            remedy = "allow `get` on the non-resource URL /metrics to see them"
        yield Check(area="version", subject="feature gates", state=State.UNKNOWN, text=why, remedy=remedy)
        return
    for gate, gives in GATES.items():
        if gate not in facts.gates:
            continue
        on = facts.gates[gate]
        yield Check(
            area="version",
            subject=gate,
            state=State.OK if on else State.ABSENT,
            text=f"on: {gives}" if on else f"off; on, it gives: {gives}",
            remedy="" if on else f"start the API server and kubelets with --feature-gates={gate}=true",
        )


def parse_version(text: str) -> tuple[int, int] | None:
    """Major and minor of a version as servers write it (`v1.36.4`, `v1.29.3-eks-a1b2c3`, `1.30+`)."""
    found = re.match(r"v?(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None
