"""What would the scheduler do with this pod? One question, one answer, in Kubernetes' own words.

`schedule` runs the whole attempt: gates, filters, scores, and preemption where nothing fits. The answer
says which nodes are equally best, or why none will do with the exact message that the pod's PodScheduled
condition would show, and what preemption would cost. Nothing is changed: apply an answer to the view with
`view.add` if you want to go on from there.

Not modelled (`unmodelled` tells for a pod): dynamic resource claims (`spec.resourceClaims`), scheduler
extenders, profiles other than the default one, and gang scheduling, all of which are off or empty in a
cluster as it comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from tonnage.cluster.messages.scheduling import NO_CLAIMS, STATE_MISSING, FailedScheduling, counted
from tonnage.cluster.messages.scheduling_reasons import GATED, NO_NODES, PREEMPTION_NO_HELP, narrowed_away
from tonnage.cluster.objects import Pod
from tonnage.cluster.scheduling.cycle import Filtered, filter_nodes, prepare
from tonnage.cluster.scheduling.facts import PodFacts, facts_of
from tonnage.cluster.scheduling.preempting import NoCandidate, NotEligible, Preempts, preempt
from tonnage.cluster.scheduling.preempting import Outcome as Preemption
from tonnage.cluster.scheduling.refusing import Refusal, Stopped
from tonnage.cluster.scheduling.scoring import NodeScore, best_of, nodes_to_find, score_nodes
from tonnage.cluster.scheduling.view import ClusterView


class Scheduled(msgspec.Struct, frozen=True):
    """The pod fits; `best` are the nodes it may go to with equal right."""

    best: frozenset[str]
    feasible: tuple[str, ...]
    scores: Mapping[str, NodeScore] = msgspec.field(default_factory=dict)
    """Empty where there was nothing to choose."""
    sampled: bool = False
    """So many nodes fit that the scheduler would score only a part of them."""


class Unschedulable(msgspec.Struct, frozen=True):
    """No node will do. `message` is what the condition says, `preemption` what could be done about it."""

    message: str
    reasons: Mapping[str, int] = msgspec.field(default_factory=dict)
    refused: Mapping[str, Refusal] = msgspec.field(default_factory=dict)
    """By node, for the nodes that were looked at."""
    stopped: Stopped | None = None
    """Set where no node was looked at."""
    preemption: Preemption | None = None


class Gated(msgspec.Struct, frozen=True):
    """The pod is not in the queue: someone holds its gates."""

    gates: tuple[str, ...]
    message: str = GATED


Decision = Scheduled | Unschedulable | Gated


def schedule(pod: Pod | PodFacts, view: ClusterView) -> Decision:
    """What the scheduler would do with the pod now."""
    facts = pod if isinstance(pod, PodFacts) else facts_of(pod)
    gates = facts.pod.spec.scheduling_gates
    if gates:
        return Gated(tuple(gate.name for gate in gates))
    if not view.nodes:
        return Unschedulable(NO_NODES)
    cycle = prepare(facts, view)
    if isinstance(cycle, Stopped):
        text = FailedScheduling(len(view.nodes), stopped=cycle.message, remark=STATE_MISSING)
        return Unschedulable(str(text), stopped=cycle)
    found = filter_nodes(cycle)
    if found.feasible:
        return _choose(facts, view, found)
    preemption = preempt(cycle, found.refused)
    return _refuse(view, found, preemption)


def unmodelled(pod: Pod) -> tuple[str, ...]:
    """What of the pod these rules do not read although its scheduler would: an answer about it is a guess."""
    found = []
    if pod.spec.resource_claims:
        found.append("spec.resourceClaims: which devices are free is not known here")
    if pod.spec.scheduler_name not in {"", "default-scheduler"}:
        found.append(f"spec.schedulerName: {pod.spec.scheduler_name} may follow other rules")
    return tuple(found)


def feasible_nodes(pod: Pod | PodFacts, view: ClusterView) -> tuple[str, ...]:
    """The nodes that would take the pod; cheaper than `schedule`, which also scores or looks for victims."""
    facts = pod if isinstance(pod, PodFacts) else facts_of(pod)
    cycle = prepare(facts, view)
    if isinstance(cycle, Stopped):
        return ()
    return tuple(info.name for info in filter_nodes(cycle).feasible)


def best_nodes(pod: Pod | PodFacts, view: ClusterView) -> frozenset[str]:
    """The nodes the pod may go to with equal right; empty where none will do."""
    decision = schedule(pod, view)
    return decision.best if isinstance(decision, Scheduled) else frozenset()


def _choose(pod: PodFacts, view: ClusterView, found: Filtered) -> Scheduled:
    names = tuple(info.name for info in found.feasible)
    if len(names) == 1:
        return Scheduled(frozenset(names), names)
    scores = score_nodes(pod, view, found.feasible)
    sampled = len(names) > nodes_to_find(len(view.nodes))
    return Scheduled(best_of(scores), names, scores, sampled)


def _refuse(view: ClusterView, found: Filtered, preemption: Preemption) -> Unschedulable:
    reasons: Counter[str] = Counter()
    for refusal in found.refused.values():
        reasons.update(refusal.reasons)
    if found.passed_over:
        reasons[narrowed_away(found.narrowed_by)] += found.passed_over
    text = FailedScheduling(
        nodes=len(view.nodes),
        reasons=counted(reasons),
        remark="" if isinstance(preemption, Preempts) else NO_CLAIMS,
        preemption=_preemption_text(len(view.nodes), preemption),
    )
    return Unschedulable(str(text), dict(reasons), found.refused, preemption=preemption)


def _preemption_text(nodes: int, preemption: Preemption) -> FailedScheduling | str | None:
    match preemption:
        case NotEligible(reason):
            return reason
        case NoCandidate(refused):
            reasons: Counter[str] = Counter()
            for refusal in refused.values():
                reasons.update(refusal.reasons)
            if len(refused) < nodes:
                reasons[PREEMPTION_NO_HELP] += nodes - len(refused)
            return FailedScheduling(nodes, counted(reasons))
    return None
