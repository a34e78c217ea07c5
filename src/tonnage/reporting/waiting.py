"""Why pods wait, one line per reason instead of one per pod.

A thousand pods of one sweep wait for the same thing; a list of a thousand lines hides it. Pods are grouped
by what holds them, each group with its count, its oldest pod and an example to look at.
"""

from __future__ import annotations

import datetime as dt

import msgspec

from tonnage.cluster.messages.scheduling import parse_failed_scheduling
from tonnage.cluster.objects.pod import Pod
from tonnage.cluster.snapshot import FINISHED, Snapshot
from tonnage.reporting.text import parse_time

NORMAL_WAITS = ("ContainerCreating", "PodInitializing")


class Waiting(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Pods held by the same thing."""

    reason: str
    pods: int
    example: str
    """namespace/name of the one that has waited longest."""
    oldest_seconds: int


def waiting_pods(snapshot: Snapshot) -> tuple[Waiting, ...]:
    """Groups of pods that do not run though they should, the largest first."""
    groups: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        reason = why_waiting(pod)
        if reason:
            groups.setdefault(reason, []).append(pod)
    found = [_group(reason, pods, snapshot.taken_at) for reason, pods in groups.items()]
    return tuple(sorted(found, key=lambda group: (-group.pods, -group.oldest_seconds, group.example)))


def why_waiting(pod: Pod) -> str:
    """What holds a pod, in one line; empty when nothing does."""
    if pod.status.phase in FINISHED or pod.metadata.deletion_timestamp:
        return ""
    if pod.status.phase in ("Pending", "") and not pod.spec.node_name:
        return _unscheduled(pod)
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for status in statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in (*NORMAL_WAITS, ""):
            return f"{waiting.reason}: {waiting.message}" if waiting.message else waiting.reason
    if pod.status.phase == "Pending":
        return "starting on its node"
    return ""


def _unscheduled(pod: Pod) -> str:
    if pod.spec.scheduling_gates:
        names = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        return "held by Kueue's queue" if names == "kueue.x-k8s.io/admission" else f"held by gate {names}"
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return shorten(condition.message) or condition.reason
    return f"no scheduler has looked at it yet ({pod.spec.scheduler_name or 'default-scheduler'})"


def shorten(message: str) -> str:
    """A scheduler's message without what says nothing: the most common reasons first, preemption left out."""
    parsed = parse_failed_scheduling(message)
    if parsed is None or not (parsed.reasons or parsed.stopped):
        return message
    if parsed.stopped:
        return parsed.stopped
    reasons = sorted(parsed.reasons, key=lambda item: (-item.count, item.reason))
    return f"0/{parsed.nodes} nodes: " + ", ".join(f"{item.count} {_gentle(item.reason)}" for item in reasons)


def _gentle(reason: str) -> str:
    reason = reason.removeprefix("node(s) ")
    return reason[0].lower() + reason[1:] if reason.startswith(("Insufficient", "Too many")) else reason


def _group(reason: str, pods: list[Pod], now: dt.datetime) -> Waiting:
    oldest = min(pods, key=lambda pod: (pod.metadata.creation_timestamp or "9", pod.metadata.name))
    since = parse_time(oldest.metadata.creation_timestamp) or now
    return Waiting(
        reason=reason,
        pods=len(pods),
        example=f"{oldest.metadata.namespace}/{oldest.metadata.name}",
        oldest_seconds=max(0, int((now - since).total_seconds())),
    )
