"""Which rules and words a run has really touched, read off our answers where the scheduler gave the same."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.cluster.messages import scheduling_reasons as words
from tonnage.cluster.objects import Pod
from tonnage.cluster.scheduling import (
    ClusterView,
    Decision,
    Gated,
    NoCandidate,
    NotEligible,
    Preempts,
    Scheduled,
    Unschedulable,
)
from tonnage.cluster.scheduling.cycle import Cycle, prepare
from tonnage.cluster.scheduling.facts import facts_of
from tonnage.cluster.scheduling.preempting import Choice, badness, victims_on
from tonnage.cluster.scheduling.refusing import Refusal
from tonnage.cluster.scheduling.scoring import PLUGINS
from tonnage.cluster.scheduling.tainting import REPELLING, untolerated_taints

MEASURES = ("fewest broken budgets", "lowest top priority", "lowest sum", "fewest victims", "latest start")
REASONS = (
    words.UNSCHEDULABLE, words.UNTOLERATED_TAINT, words.NODE_AFFINITY, words.PORTS_TAKEN, words.TOO_MANY_PODS,
    "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage",
    "Insufficient nvidia.com/gpu",
    "Insufficient hugepages-2Mi", words.DISK_TAKEN, words.CLAIM_IN_USE, words.TOO_MANY_VOLUMES,
    words.NO_VOLUME_TO_BIND, words.VOLUME_ELSEWHERE, words.NOT_ENOUGH_STORAGE,
    words.VOLUME_GONE, words.VOLUME_ZONE,
    words.SPREAD, words.SPREAD_LABEL_MISSING, words.POD_AFFINITY, words.POD_ANTI_AFFINITY,
    words.OTHERS_ANTI_AFFINITY, words.narrowed_away(("NodeAffinity",)),
)  # fmt: skip
STOPPED = (
    words.AFFINITY_CONFLICT, words.UNBOUND_IMMEDIATE, "claim not found", "claim being deleted", "claim lost",
    "volume not found", "waiting for ephemeral claim",
)  # fmt: skip
PREEMPTION = (
    words.NO_VICTIMS, words.PREEMPTION_NO_HELP, words.NEVER_PREEMPTS, words.VICTIMS_STILL_LEAVING,
    "still refused without victims", "victims chosen", "some pods reprieved",
    "budget broken", "beyond the node",
)  # fmt: skip
UNHEARD = {
    words.OTHER_NODE_NAME: "a pod that names its node is never given to the scheduler",
}
"""Words our rules can say and the scheduler never does: why they are not asked for."""
MUST_COVER = (
    *(f"reason: {reason}" for reason in REASONS),
    *(f"stopped: {text}" for text in STOPPED),
    *(f"preemption: {text}" for text in PREEMPTION),
    # "Fewest victims" never decides alone: the sum of priorities, each lifted by 2^31, has decided before.
    *(f"choice by: {measure}" for measure in MEASURES if measure != "fewest victims"),
    *(f"kept away by {effect} alone" for effect in sorted(REPELLING)),
    "gated",
    "no nodes",
    "promised node taken",
    "rival's promise respected",
)
MUST_COVER_SCORES = (*(f"score: {plugin}" for plugin in PLUGINS), "score: default spread constraints")


def touched(pod: Pod, view: ClusterView, decision: Decision) -> Iterator[str]:
    """The rules this answer rests on."""
    match decision:
        case Gated():
            yield "gated"
        case Scheduled():
            yield "scheduled"
            yield from _scores(decision)
            if pod.status.nominated_node_name in decision.best and len(decision.feasible) == 1:
                yield "promised node taken"
            spread = any("PodTopologySpread" in score.by_plugin for score in decision.scores.values())
            if spread and not pod.spec.topology_spread_constraints:
                yield "score: default spread constraints"
        case Unschedulable(message=words.NO_NODES):
            yield "no nodes"
        case Unschedulable():
            yield from (f"reason: {reason}" for reason in decision.reasons)
            if decision.stopped is not None:
                yield f"stopped: {_kind_of(decision.stopped.message)}"
            yield from _taints(pod, view, decision)
            if any(
                refusal.plugin == "NodeResourcesFit" and not refusal.resolvable
                for refusal in decision.refused.values()
            ):
                yield "preemption: beyond the node"
            yield from _preemption(pod, view, decision)
    if not isinstance(decision, Gated) and _promise_counts(pod, view):
        yield "rival's promise respected"


def _promise_counts(pod: Pod, view: ClusterView) -> bool:
    """Whether a node is refused for the sake of a pod it was promised to, and for nothing else."""
    promised = [view.nodes[name] for name, pods in view.nominated.items() if pods and name in view.nodes]
    cycle = prepare(facts_of(pod), view) if promised else None
    if not isinstance(cycle, Cycle):
        return False
    return any(cycle.check(info) is not None and cycle.check_alone(info) is None for info in promised)


def _taints(pod: Pod, view: ClusterView, decision: Unschedulable) -> Iterator[str]:
    """Effects that no other taint of the node could have stood in for."""
    for name, refusal in decision.refused.items():
        if refusal.plugin == "TaintToleration":
            effects = {taint.effect for taint in untolerated_taints(pod, view.nodes[name].node)}
            if len(effects) == 1:
                yield f"kept away by {effects.pop()} alone"


def _scores(decision: Scheduled) -> Iterator[str]:
    for plugin in PLUGINS:
        given = {score.by_plugin.get(plugin) for score in decision.scores.values()}
        if len(given) > 1:
            yield f"score: {plugin}"


def _kind_of(message: str) -> str:
    for part, kind in (
        ("persistentvolumeclaim", "waiting for ephemeral claim" if message.startswith("waiting") else ""),
        ("is being deleted", "claim being deleted"),
        ("bound to non-existent", "claim lost"),
    ):
        if part in message and kind:
            return kind
    if message.endswith("not found"):
        return "volume not found" if message.startswith("persistentvolume ") else "claim not found"
    return message


def _preemption(pod: Pod, view: ClusterView, decision: Unschedulable) -> Iterator[str]:
    match decision.preemption:
        case NotEligible(reason):
            yield f"preemption: {reason}"
        case NoCandidate(refused):
            for refusal in refused.values():
                known = refusal.reasons == (words.NO_VICTIMS,)
                yield f"preemption: {words.NO_VICTIMS if known else 'still refused without victims'}"
            if len(refused) < len(view.nodes):
                yield f"preemption: {words.PREEMPTION_NO_HELP}"
        case Preempts(choices):
            yield "preemption: victims chosen"
            if any(choice.violations for choice in choices):
                yield "preemption: budget broken"
            yield from _why_chosen(pod, view, decision)


def _why_chosen(pod: Pod, view: ClusterView, decision: Unschedulable) -> Iterator[str]:
    cycle = prepare(facts_of(pod), view)
    assert isinstance(cycle, Cycle)
    candidates: list[Choice] = []
    for node, refusal in decision.refused.items():
        if refusal.resolvable:
            info = view.nodes[node]
            found = victims_on(cycle, info)
            if not isinstance(found, Refusal):
                candidates += found
                lower = sum(other.priority < (pod.spec.priority or 0) for other in info.pods.values())
                if len(found[0].victims) < lower:
                    yield "preemption: some pods reprieved"
    best = min(map(badness, candidates))
    for other in map(badness, candidates):
        for measure, ours, theirs in zip(MEASURES, best, other, strict=True):
            if ours != theirs:
                yield f"choice by: {measure}"
                break
