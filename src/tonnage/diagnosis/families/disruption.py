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
    "stopped": ("EXT-01", "stopped by its owner"),
    "suspended": ("EXT-01", "suspended"),
}


def signs(view: View) -> Iterable[Sign]:
    """What the supervisor did, and nodes that are gone."""
    yield from _ours(view)
    yield from _gone(view)


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


_PLANE = Tier.CONTROL_PLANE
FAMILY = Family(rules=(
    rule("PRE-06", r"Preempted to accommodate a workload|EvictedDueToPreempted|"
         r"InClusterQueue|InCohort(?:Reclamation|FairSharing|ReclaimWhileBorrowing)", _PLANE, 0.97),
    rule("PRE-01", r"PreemptionByScheduler|preempting to accommodate a higher priority pod|"
         r"Preempted by (?:a pod|(?:pod )?\S+) on node|DUE TO PREEMPTION|"
         r"[Jj]ob \S+ (?:was |has been )?(?:preempted|requeued due to preemption)", _PLANE, 0.97),
    rule("PRE-02", r"Preempted in order to admit critical pod|preempted by Kubelet to accommodate a critical pod|"
         r"[Rr]eason:? +Preempting\b", _PLANE, 0.97),
    rule("PRE-05", r"in response to imminent node shutdown|node is shutting down|[Rr]eason:? *NodeShutdown|"
         r"[Tt]ermination is imminent|[Ss]pot (?:instance )?(?:interruption|termination|reclaim|preempt)|"
         r"SpotInterruption|PreemptScheduled|(?:instance|node|VM|machine) (?:was |is being |has been )?preempted|"
         r"compute\.instances\.preempted|RebalanceRecommendation|instance-action.*terminate|"
         r"Received shutdown signal from (?:the )?(?:cloud|platform)|[Pp]reemptible (?:instance|VM|node).*terminat",
         _PLANE, 0.95),
    rule("PRE-03", r"EvictionByEvictionAPI|Eviction API: evicting|[Dd]raining node|evicting pod \S+|"
         r"ScaleDown.*(?:deleting|evict)|DisruptionTerminating|deleting pod for node scale down", _PLANE, 0.95),
    rule("PRE-04", r"DeletionByTaintManager|TaintManagerEviction|deleting due to NoExecute taint|DeletionByPodGC|"
         r"PodGC: node no longer exists|DeletionByDeviceTaintManager|NodeNotReady|Node is not ready|NodeLost|"
         r"node\.kubernetes\.io/(?:unreachable|not-ready)\S*:NoExecute|NodeStatusUnknown|Kubelet stopped posting|"
         r"DUE TO NODE FAILURE|NODE_FAIL\b|marked .*unhealthy.*taint", _PLANE, 0.93),
    rule("PRE-07", r"DeadlineExceeded(?!.*(?:StatusCode|rpc|DEADLINE))|active longer than specified deadline|"
         r"active on the node longer than the specified deadline|DUE TO TIME LIMIT|"
         r"exceeded (?:its )?(?:wall ?time|time limit)|activeDeadlineSeconds", _PLANE, 0.96),
    rule("PRE-07", r"BackoffLimitExceeded|reached the specified backoff limit|MaxFailedIndexesExceeded|"
         r"Job has failed indexes|FailedIndexes|PodFailurePolicy", Tier.WRAPPER, 0.8),
    rule("PRB-01", r"failed (?:liveness|startup) probe|(?:Liveness|Startup) probe (?:failed|errored)",
         _PLANE, 0.93),
    rule("EXT-01", r"Received (?:1|2) death signal|got signal: (?:1|2)\b|SIGHUP|Hangup|KeyboardInterrupt|"
         r"CANCELLED AT \S+ \*\*\*|Received SIGINT", Tier.PROGRAM, 0.85),
    rule("EXT-01", r"Received 15 death signal|SignalException: Process \d+ got signal: 15|"
         r"CANCELLED by \d+", Tier.EXIT, 0.5, is_root=None),
), signs=signs)  # fmt: skip
