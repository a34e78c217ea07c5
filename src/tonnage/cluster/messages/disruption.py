"""Who disrupted a pod, in Kubernetes' own words: the DisruptionTarget condition, and what stands beside it.

A disruption is something done *to* a pod by the cluster: preemption, drain, taint, lost node, node
pressure, shutdown. Running out of its own memory or disk, missing its deadline, being rejected by the
kubelet or deleted by a user is not. Job failure policies can only see the condition, so the difference
decides what is retried for free.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from tonnage.cluster.objects import Pod
from tonnage.cluster.objects.meta import Condition

DISRUPTION_TARGET = "DisruptionTarget"
OVER_BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL_BUDGETS = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)
DEADLINE_REASON = "DeadlineExceeded"
DEADLINE_TEXT = "Pod was active on the node longer than the specified deadline"
KUBELET_PREEMPTION_REASON = "Preempting"
KUBELET_PREEMPTION_TEXT = "Preempted in order to admit critical pod"
TAINT_EVENT_REASON = "TaintManagerEviction"
SHUTDOWN_REASON = "Terminated"
SHUTDOWN_TEXT = "Pod was terminated in response to imminent node shutdown."


class Disruption(StrEnum):
    """Reasons of the DisruptionTarget condition."""

    PREEMPTED_BY_SCHEDULER = "PreemptionByScheduler"
    TAINT = "DeletionByTaintManager"
    EVICTION_API = "EvictionByEvictionAPI"
    NODE_GONE = "DeletionByPodGC"
    KUBELET = "TerminationByKubelet"
    DEVICE_TAINT = "DeletionByDeviceTaintManager"


MESSAGE_OF: Mapping[Disruption, str] = {
    Disruption.PREEMPTED_BY_SCHEDULER: "default-scheduler: preempting to accommodate a higher priority pod",
    Disruption.TAINT: "Taint manager: deleting due to NoExecute taint",
    Disruption.EVICTION_API: "Eviction API: evicting",
    Disruption.NODE_GONE: "PodGC: node no longer exists",
    Disruption.DEVICE_TAINT: "Device Taint manager: deleting due to NoExecute taint",
}
"""The fixed texts; TerminationByKubelet repeats the eviction's own message."""

CRITICAL_POD_TEXT = "Pod was preempted by Kubelet to accommodate a critical pod."

# By uid now, by namespace/name in old clusters, and for some versions between without saying who.
_PREEMPTED_EVENT = re.compile(r"Preempted by (?:a pod|(?:pod )?(?P<by>\S+)) on node (?P<node>\S+)")
_TAINT_EVENT = re.compile(r"(?P<what>Marking for deletion|Cancelling deletion of) Pod (?P<pod>\S+)")
_HEALTHY = re.compile(
    r"The disruption budget (?P<budget>\S+) needs (?P<needs>\d+) healthy pods and has (?P<has>\d+) currently"
)


def disruption_condition(disruption: Disruption, message: str | None = None) -> Condition:
    """The condition this disruption leaves on the pod."""
    text = MESSAGE_OF.get(disruption, "") if message is None else message
    return Condition(type=DISRUPTION_TARGET, status="True", reason=disruption.value, message=text)


def disruption_of(pod: Pod) -> Disruption | None:
    """Who disrupted the pod; None when nobody did, or in words we do not know."""
    for condition in pod.status.conditions:
        if condition.type == DISRUPTION_TARGET and condition.status == "True":
            return Disruption(condition.reason) if condition.reason in set(Disruption) else None
    return None


def format_preempted_event(preemptor_uid: str, node: str) -> str:
    """The victim's `Preempted` event: it names the preemptor by uid, never by name."""
    return f"Preempted by pod {preemptor_uid} on node {node}"


def parse_preempted_event(text: str) -> tuple[str, str] | None:
    """Who preempted (uid, old namespace/name, or empty where the text does not say), and on which node."""
    found = _PREEMPTED_EVENT.fullmatch(text)
    return (found["by"] or "", found["node"]) if found else None


def format_taint_event(pod: str, *, spared: bool = False) -> str:
    """The `TaintManagerEviction` event of a pod (namespace/name); spared when the taint went in time."""
    return f"{'Cancelling deletion of' if spared else 'Marking for deletion'} Pod {pod}"


def parse_taint_event(text: str) -> tuple[str, bool] | None:
    """Which pod (namespace/name), and whether it was spared."""
    found = _TAINT_EVENT.fullmatch(text)
    return (found["pod"], found["what"].startswith("Cancelling")) if found else None


def format_budget_cause(budget: str, needs: int, has: int) -> str:
    """Why a disruption budget refused."""
    return f"The disruption budget {budget} needs {needs} healthy pods and has {has} currently"


def parse_budget_cause(text: str) -> tuple[str, int, int] | None:
    """Budget, healthy pods needed, healthy pods there."""
    found = _HEALTHY.fullmatch(text)
    return (found["budget"], int(found["needs"]), int(found["has"])) if found else None
