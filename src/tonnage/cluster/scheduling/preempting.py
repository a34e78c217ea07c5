"""Preemption: who would have to go, and where, for a pod that fits nowhere.

On each node whose refusal pods could lift, all pods of lower priority are taken off in thought. If the
pod then fits, they are put back one by one, the most important first (those whose disruption budget would
be broken before the others), and who cannot be put back is a victim. Among the nodes, the fewest broken
budgets win, then the lowest top priority, the lowest sum of priorities, the fewest victims, and the
latest start; what is still equal is drawn by lot, so the answer is a set. Pods that tie in priority and
start time may be put back in any order; a bounded number of orders is tried.

Budgets are a preference, not a wall: a budget that allows nothing does not save its pods.

Where more than a hundred nodes could be freed, the scheduler starts at a random one and stops when it has
seen enough (`candidates_to_find`), one of them without a broken budget. The choices here are then the best of
*all* nodes, and the real one may be the best of a part of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice, permutations, product

import msgspec

from tonnage.cluster.messages.scheduling_reasons import NEVER_PREEMPTS, NO_VICTIMS, VICTIMS_STILL_LEAVING
from tonnage.cluster.objects import PodDisruptionBudget
from tonnage.cluster.scheduling.cycle import Cycle
from tonnage.cluster.scheduling.facts import PodFacts
from tonnage.cluster.scheduling.refusing import Refusal
from tonnage.cluster.scheduling.selecting import selector_of
from tonnage.cluster.scheduling.view import NodeInfo

PLUGIN = "DefaultPreemption"
TIED_ORDERS = 24
SHARE_OF_CANDIDATES = 10  # percent
FEWEST_CANDIDATES = 100
LIFT = 2**31  # makes every priority positive, so that fewer victims beat more of a negative priority


class Choice(msgspec.Struct, frozen=True):
    """One node and the pods that would be killed there."""

    node: str
    victims: tuple[PodFacts, ...]
    """Most important first."""
    violations: int = 0
    """Victims whose disruption budget does not allow it."""


class NotEligible(msgspec.Struct, frozen=True):
    """The pod may not preempt; the reason is Kubernetes' own."""

    reason: str


class NoCandidate(msgspec.Struct, frozen=True):
    """No node can be freed; why, for those that were tried."""

    refused: dict[str, Refusal]


class Preempts(msgspec.Struct, frozen=True):
    """The choices that are equally good; Kubernetes takes one of them."""

    choices: tuple[Choice, ...]
    sampled: bool = False
    """So many nodes could be freed that the scheduler would compare only a part of them."""


Outcome = NotEligible | NoCandidate | Preempts


def preempt(cycle: Cycle, refused: dict[str, Refusal], *, tied_orders: int = TIED_ORDERS) -> Outcome:
    """What preemption would do for a pod that every node refused."""
    not_eligible = _why_not_eligible(cycle, refused)
    if not_eligible is not None:
        return NotEligible(not_eligible)
    candidates: list[Choice] = []
    still_refused: dict[str, Refusal] = {}
    potential = [name for name, refusal in refused.items() if refusal.resolvable]
    for name in potential:
        found = victims_on(cycle, cycle.view.nodes[name], tied_orders=tied_orders)
        if isinstance(found, Refusal):
            still_refused[name] = found
        else:
            candidates += found
    if not candidates:
        return NoCandidate(still_refused)
    freed = {choice.node for choice in candidates}
    stops_early = len(freed) > candidates_to_find(len(potential))
    return Preempts(_best(candidates), sampled=stops_early and not all(c.violations for c in candidates))


def candidates_to_find(potential: int) -> int:
    """How many nodes that could be freed the scheduler compares, of so many on which it may look for victims."""
    return min(max(potential * SHARE_OF_CANDIDATES // 100, FEWEST_CANDIDATES), potential)


def victims_on(cycle: Cycle, info: NodeInfo, *, tied_orders: int = TIED_ORDERS) -> list[Choice] | Refusal:
    """Who would have to leave this node; several answers where pods tie, a refusal where nothing helps."""
    potential = [pod for pod in info.pods.values() if pod.priority < cycle.asked.priority]
    if not potential:
        return Refusal(PLUGIN, (NO_VICTIMS,))
    emptied, trial = info.copy(), cycle.copy()
    for pod in potential:
        emptied.remove(pod.key)
        trial.pod_changed(pod, emptied, -1)
    refusal = trial.check(emptied)
    if refusal is not None:
        return refusal
    choices: dict[frozenset[str], Choice] = {}
    for order in islice(_orders(potential), tied_orders):
        choice = _reprieve(trial.copy(), emptied.copy(), order)
        choices.setdefault(frozenset(victim.key for victim in choice.victims), choice)
    return list(choices.values())


def more_important(pod: PodFacts) -> tuple[int, float]:
    """Sort key, most important first: higher priority, then the longer running."""
    return -pod.priority, pod.started


def split_by_budget(
    pods: Sequence[PodFacts], budgets: Sequence[PodDisruptionBudget]
) -> tuple[list[PodFacts], list[PodFacts]]:
    """Pods whose budget would be broken by killing them in this order, and the others."""
    left = [budget.status.disruptions_allowed for budget in budgets]
    breaking: list[PodFacts] = []
    harmless: list[PodFacts] = []
    for pod in pods:
        broken = False
        for index, budget in enumerate(budgets):
            if _covers(budget, pod) and pod.name not in budget.status.disrupted_pods:
                left[index] -= 1
                broken = broken or left[index] < 0
        (breaking if broken else harmless).append(pod)
    return breaking, harmless


def _why_not_eligible(cycle: Cycle, refused: dict[str, Refusal]) -> str | None:
    pod = cycle.asked.pod
    if pod.spec.preemption_policy == "Never":
        return NEVER_PREEMPTS
    promised = pod.status.nominated_node_name
    refusal = refused.get(promised) if promised else None
    if refusal is None or not refusal.resolvable:
        return None
    leaving = any(
        other.priority < cycle.asked.priority and _leaves_by_preemption(other)
        for other in cycle.view.nodes[promised].pods.values()
    )
    return VICTIMS_STILL_LEAVING if leaving else None


def _leaves_by_preemption(pod: PodFacts) -> bool:
    if not pod.terminating:
        return False
    for condition in pod.pod.status.conditions:
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False


def _reprieve(trial: Cycle, info: NodeInfo, order: Sequence[PodFacts]) -> Choice:
    """Put pods back as long as the incoming one still fits; the rest are victims."""
    breaking, harmless = split_by_budget(order, trial.view.budgets)
    victims: list[PodFacts] = []
    for pod in (*breaking, *harmless):
        info.add(pod)
        trial.pod_changed(pod, info, +1)
        if trial.check(info) is not None:
            info.remove(pod.key)
            trial.pod_changed(pod, info, -1)
            victims.append(pod)
    protected = {pod.key for pod in breaking}
    return Choice(
        node=info.name,
        victims=tuple(sorted(victims, key=more_important)),
        violations=sum(victim.key in protected for victim in victims),
    )


def _orders(pods: Sequence[PodFacts]) -> Iterator[list[PodFacts]]:
    """Every order of putting back that respects importance; the first one keeps ties as they stand."""
    groups = [list(tied) for _, tied in groupby(sorted(pods, key=more_important), key=more_important)]
    for arranged in product(*(islice(permutations(group), TIED_ORDERS) for group in groups)):
        yield [pod for group in arranged for pod in group]


def _covers(budget: PodDisruptionBudget, pod: PodFacts) -> bool:
    if budget.metadata.namespace != pod.namespace or not pod.labels:
        return False
    selector = selector_of(budget.spec.selector)
    return not selector.matches_everything and selector.matches(pod.labels)


def _best(candidates: list[Choice]) -> tuple[Choice, ...]:
    """The choices that may win: no worse than the worst that every other node could come up with."""
    judged = [(badness(choice), choice) for choice in candidates]
    worst: dict[str, Badness] = {}
    for bad, choice in judged:
        worst[choice.node] = max(worst.get(choice.node, bad), bad)
    hardest_rivals = sorted((bad, node) for node, bad in worst.items())[:2]
    return tuple(
        choice
        for bad, choice in judged
        if all(bad <= rival for rival, node in hardest_rivals if node != choice.node)
    )


Badness = tuple[int, int, int, int, float]


def badness(choice: Choice) -> Badness:
    """What Kubernetes compares, in order; less is better."""
    top = choice.victims[0].priority
    return (
        choice.violations,
        top,
        sum(victim.priority + LIFT for victim in choice.victims),
        len(choice.victims),
        -min(victim.started for victim in choice.victims if victim.priority == top),
    )
