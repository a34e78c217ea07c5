"""What the cluster did to the pods, in its own words; and what somebody outside did.

Preemption, drain, taint, shutdown and spot reclaim all say so in a condition, a reason or an event whose text is fixed
in source. A node that is simply gone says nothing: that it is not there any more is the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tonnage.diagnosis.finding import Line
from tonnage.diagnosis.rules import Family, Sign, Tier, rule
from tonnage.diagnosis.statements import View, ended_at

_OURS = {
    "deadline": ("PRE-07", "stopped at its deadline"),
    "budget": ("PRE-07", "stopped at its budget"),
    "hang": ("APP-05", "stopped because it made no steps"),
    "forecast": ("EXT-01", "stopped before it would run out of RAM"),
    "stopped": ("EXT-01", "stopped by its owner"),
    "suspended": ("EXT-01", "suspended"),
}


def signs(view: View) -> Iterable[Sign]:
    """What the supervisor did, nodes that are gone, pods that somebody deleted."""
    yield from _ours(view)
    yield from _gone(view)
    yield from _deleted(view)


def _ours(view: View) -> Iterator[Sign]:
    if reason := view.evidence.stopped_by_us:
        code, text = _OURS.get(reason, ("EXT-01", f"stopped: {reason}"))
        yield Sign(code=code, tier=Tier.OURS, confidence=0.99, lines=(Line("supervisor", text),))


def _gone(view: View) -> Iterator[Sign]:
    evidence = view.evidence
    for pod in evidence.pods:
        if not pod.node or pod.node not in evidence.gone_nodes:
            continue
        is_spot = evidence.node_is_spot.get(pod.node, False)
        said = f"node {pod.node} {'(spot) ' if is_spot else ''}is gone or not ready"
        yield Sign(
            code="PRE-05" if is_spot else "PRE-04",
            tier=Tier.KERNEL,
            confidence=0.85,
            lines=(Line("nodes", said),),
            node=pod.index,
            when=ended_at(pod),
        )


def _deleted(view: View) -> Iterator[Sign]:
    """A pod that vanished while it ran, from a node that is there, and nobody in the cluster says that it was his.

    Not sure at once: conditions come late, and a node takes its time to be called lost.
    """
    for pod in view.evidence.pods:
        is_vanished = pod.is_lost and pod.is_gone and pod.phase not in ("Failed", "Succeeded")
        if is_vanished and pod.node not in view.evidence.gone_nodes:
            line = Line("pods", f"pod {pod.name} was deleted while it ran")
            # As a cause of its own: what a launcher says or dies of when a worker is gone came after that.
            yield Sign(
                code="EXT-01",
                tier=Tier.ROOT,
                confidence=0.75,
                lines=(line,),
                node=pod.index,
                when=pod.gone_at,
            )


_PLANE = Tier.CONTROL_PLANE
FAMILY = Family(
    rules=(
        rule(
            "PRE-06",
            _PLANE,
            0.97,
            r"Preempted to accommodate a workload",
            r"EvictedDueToPreempted",
            r"InClusterQueue",
            r"InCohort(?:Reclamation|FairSharing|ReclaimWhileBorrowing)",
        ),
        rule(
            "PRE-01",
            _PLANE,
            0.97,
            r"PreemptionByScheduler",
            r"preempting to accommodate a higher priority pod",
            r"Preempted by (?:a pod|(?:pod )?\S+) on node",
            r"DUE TO PREEMPTION",
            r"[Jj]ob \S+ (?:was |has been )?(?:preempted|requeued due to preemption)",
        ),
        rule(
            "PRE-02",
            _PLANE,
            0.97,
            r"Preempted in order to admit critical pod",
            r"preempted by Kubelet to accommodate a critical pod",
            r"[Rr]eason:? +Preempting\b",
        ),
        rule(
            "PRE-05",
            _PLANE,
            0.95,
            r"in response to imminent node shutdown",
            r"node is shutting down",
            r"[Rr]eason:? *NodeShutdown",
            r"[Tt]ermination is imminent",
            r"[Ss]pot (?:[Ii]nstance )?(?:[Ii]nterruption|[Tt]ermination|reclaim|preempt|ITN)",
            r"[Ii]nstance will be (?:interrupted|terminated|preempted|reclaimed)",
            r"interruption (?:notice|warning).*[Ss]pot",
            r"SpotInterruption",
            r"PreemptScheduled",
            r"(?:instance|node|VM|machine) (?:was |is being |has been )?preempted",
            r"compute\.instances\.preempted",
            r"RebalanceRecommendation",
            r"instance-action.*terminate",
            r"Received shutdown signal from (?:the )?(?:cloud|platform)",
            r"[Pp]reemptible (?:instance|VM|node).*terminat",
        ),
        rule(
            "PRE-03",
            _PLANE,
            0.95,
            r"EvictionByEvictionAPI",
            r"Eviction API: evicting",
            r"[Dd]raining node",
            r"evicting pod \S+",
            r"ScaleDown.*(?:deleting|evict)",
            r"DisruptionTerminating",
            r"deleting pod for node scale down",
            r"Disrupt(?:ing|ed) [Nn]ode",
            r"Evicted pod: ",
        ),
        rule(
            "PRE-04",
            _PLANE,
            0.93,
            r"DeletionByTaintManager",
            r"TaintManagerEviction",
            r"deleting due to NoExecute taint",
            r"DeletionByPodGC",
            r"PodGC: node no longer exists",
            r"DeletionByDeviceTaintManager",
            r"NodeNotReady",
            r"Node is not ready",
            r"NodeLost",
            r"node\.kubernetes\.io/(?:unreachable|not-ready)\S*:NoExecute",
            r"NodeStatusUnknown",
            r"Kubelet stopped posting",
            r"DUE TO NODE FAILURE",
            r"NODE_FAIL\b",
            r"marked .*unhealthy.*taint",
        ),
        rule(
            "PRE-07",
            _PLANE,
            0.96,
            r"DeadlineExceeded(?!.*(?:StatusCode|rpc|DEADLINE))",
            r"active longer than specified deadline",
            r"active on the node longer than the specified deadline",
            r"DUE TO TIME LIMIT",
            r"exceeded (?:its )?(?:wall ?time|time limit)",
            r"activeDeadlineSeconds",
        ),
        rule(
            "PRE-07",
            Tier.WRAPPER,
            0.8,
            r"BackoffLimitExceeded",
            r"reached the specified backoff limit",
            r"MaxFailedIndexesExceeded",
            r"Job has failed indexes",
            r"FailedIndexes",
            r"PodFailurePolicy",
        ),
        rule(
            "PRB-01",
            _PLANE,
            0.93,
            r"failed (?:liveness|startup) probe",
            r"(?:Liveness|Startup) probe (?:failed|errored)",
        ),
        rule(
            "EXT-01",
            Tier.PROGRAM,
            0.85,
            r"Received (?:1|2) death signal",
            r"got signal: (?:1|2)\b",
            r"SIGHUP",
            r"Hangup",
            r"KeyboardInterrupt",
            r"CANCELLED AT \S+ \*\*\*",
            r"Received SIGINT",
        ),
        rule(
            "EXT-01",
            Tier.EXIT,
            0.5,
            r"Received 15 death signal",
            r"SignalException: Process \d+ got signal: 15",
            r"CANCELLED by \d+",
            is_root=None,
        ),
    ),
    signs=signs,
)
