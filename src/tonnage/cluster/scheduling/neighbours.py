"""InterPodAffinity: pods that seek or avoid each other's company.

Three refusals come from here: the pod's own affinity finds no one, its own anti-affinity finds someone,
or a pod already running wants it kept away. Counts are per value of a node label (zone, rack, host), and
a group whose members seek each other may place its first one anywhere the labels exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from tonnage.cluster.messages.scheduling_reasons import OTHERS_ANTI_AFFINITY, POD_AFFINITY, POD_ANTI_AFFINITY
from tonnage.cluster.scheduling.facts import PodFacts, Term, WeightedTerm
from tonnage.cluster.scheduling.refusing import Refusal
from tonnage.cluster.scheduling.rule import Rule
from tonnage.cluster.scheduling.selecting import Labels
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo

PLUGIN = "InterPodAffinity"
HARD_AFFINITY_WEIGHT = 1
MAX_SCORE = 100
Counts = dict[tuple[str, str], int]
"""How many matches there are at a label key and value."""


class InterPodAffinity(Rule):
    plugin = PLUGIN
    asked: PodFacts
    namespace_labels: Labels
    affinity: tuple[Term, ...]
    anti_affinity: tuple[Term, ...]
    wanted: Counts
    unwanted: Counts
    objecting: Counts
    """Pods already placed whose anti-affinity means the incoming one."""

    def check(self, info: NodeInfo) -> Refusal | None:
        if not self._finds_company(info.labels):
            return Refusal(self.plugin, (POD_AFFINITY,))
        labels = info.labels
        for term in self.anti_affinity:
            key = term.topology_key
            if key in labels and self.unwanted.get((key, labels[key]), 0) > 0:
                return Refusal(self.plugin, (POD_ANTI_AFFINITY,), resolvable=True)
        if self.objecting and any(self.objecting.get(pair, 0) > 0 for pair in labels.items()):
            return Refusal(self.plugin, (OTHERS_ANTI_AFFINITY,), resolvable=True)
        return None

    def pod_changed(self, pod: PodFacts, info: NodeInfo, by: int) -> None:
        labels = info.labels
        for term in pod.anti_affinity:
            if term.matches(self.asked.namespace, self.asked.labels, self.namespace_labels):
                _count(self.objecting, labels, term, by)
        if self.affinity and matches_all(self.affinity, pod):
            for term in self.affinity:
                _count(self.wanted, labels, term, by)
        for term in self.anti_affinity:
            if matches_incoming_term(term, pod):
                _count(self.unwanted, labels, term, by)

    def copy(self) -> InterPodAffinity:
        return replace(
            self, wanted=dict(self.wanted), unwanted=dict(self.unwanted), objecting=dict(self.objecting)
        )

    def _finds_company(self, labels: Labels) -> bool:
        if any(term.topology_key not in labels for term in self.affinity):
            return False
        if all(self.wanted.get((t.topology_key, labels[t.topology_key]), 0) > 0 for t in self.affinity):
            return True
        # The first of a group that seeks itself: nobody matches yet, but the pod itself would.
        return not self.wanted and matches_all(self.affinity, self.asked)


def prepare_neighbours(pod: PodFacts, view: ClusterView) -> Rule | None:
    rule = InterPodAffinity(
        asked=pod,
        namespace_labels=view.namespaces.get(pod.namespace, {}),
        affinity=tuple(with_namespaces(term, view) for term in pod.affinity),
        anti_affinity=tuple(with_namespaces(term, view) for term in pod.anti_affinity),
        wanted={},
        unwanted={},
        objecting={},
    )
    own = bool(pod.affinity or pod.anti_affinity)
    for info in view.nodes.values():
        for other in (info.pods if own else info.sociable).values():
            rule.pod_changed(other, info, +1)
    return rule if own or rule.objecting else None


def with_namespaces(term: Term, view: ClusterView) -> Term:
    """An incoming pod's term with the namespaces its selector means written out."""
    if term.namespace_selector.matches_everything:
        return term
    selected = {name for name, labels in view.namespaces.items() if term.namespace_selector.matches(labels)}
    return replace(term, namespaces=term.namespaces | selected)


def matches_incoming_term(term: Term, pod: PodFacts) -> bool:
    """Whether a placed pod is meant.

    Its namespace's labels are not looked up again, so a namespace selector that also matches no labels at all
    (`DoesNotExist`, `NotIn`) matches every namespace here: so it does in the scheduler.
    """
    return term.matches(pod.namespace, pod.labels, {})


def matches_all(terms: Iterable[Term], pod: PodFacts) -> bool:
    return all(matches_incoming_term(term, pod) for term in terms)


def neighbour_scores(pod: PodFacts, view: ClusterView, feasible: Sequence[NodeInfo]) -> dict[str, int] | None:
    """Each feasible node's score from 0 to 100, or None where nobody prefers or avoids anybody."""
    weights = _weights(pod, view)
    if not weights:
        return None
    raw = {info.name: sum(weights.get(pair, 0) for pair in info.labels.items()) for info in feasible}
    lowest, span = min(raw.values()), max(raw.values()) - min(raw.values())
    return {
        name: int(float(MAX_SCORE) * (float(score - lowest) / float(span))) if span > 0 else 0
        for name, score in raw.items()
    }


def _weights(pod: PodFacts, view: ClusterView) -> Counts:
    """What each label value is worth: the pod's own wishes and those of the pods already there."""
    own_labels = view.namespaces.get(pod.namespace, {})
    likes = [_named(item, view) for item in pod.preferred_affinity]
    dislikes = [_named(item, view) for item in pod.preferred_anti_affinity]
    worth: Counts = {}

    def weigh(term: Term, weight: int, *, means: bool, info: NodeInfo) -> None:
        value = info.labels.get(term.topology_key)
        if means and value is not None:
            pair = (term.topology_key, value)
            worth[pair] = worth.get(pair, 0) + weight

    for info in view.nodes.values():
        for other in (info.pods if likes or dislikes else info.sociable).values():
            for sign, wishes in ((1, likes), (-1, dislikes)):
                for wish in wishes:
                    means = matches_incoming_term(wish.term, other)
                    weigh(wish.term, sign * wish.weight, means=means, info=info)
            if not other.seeks_company:
                continue
            theirs = [
                *((term, HARD_AFFINITY_WEIGHT) for term in other.affinity),
                *((wish.term, wish.weight) for wish in other.preferred_affinity),
                *((wish.term, -wish.weight) for wish in other.preferred_anti_affinity),
            ]
            for term, weight in theirs:
                weigh(term, weight, means=term.matches(pod.namespace, pod.labels, own_labels), info=info)
    return worth


def _named(wish: WeightedTerm, view: ClusterView) -> WeightedTerm:
    return WeightedTerm(with_namespaces(wish.term, view), wish.weight)


def _count(counts: Counts, labels: Labels, term: Term, by: int) -> None:
    value = labels.get(term.topology_key)
    if value is None:
        return
    pair = (term.topology_key, value)
    counts[pair] = counts.get(pair, 0) + by
    if counts[pair] == 0:
        del counts[pair]
