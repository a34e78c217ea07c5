"""The Eviction API: what a drain or an autoscaler is answered when it asks for a pod to go.

Evicting asks the pod's disruption budget first. A pod that is pending, finished or already going is not
protected; one that is unready is let go when the budget is otherwise healthy; the rest need a disruption to
be allowed right now. Node pressure, preemption, taints and plain deletes never ask.

Read in `pkg/registry/core/pod/storage/eviction.go`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tonnage.cluster.messages.disruption import OVER_BUDGET, SEVERAL_BUDGETS, format_budget_cause
from tonnage.cluster.objects import Pod, PodDisruptionBudget
from tonnage.cluster.scheduling.selecting import selector_of

MAX_DISRUPTED_PODS = 2000


class EvictionAnswer(msgspec.Struct, frozen=True):
    """The API server's answer: 201 and the pod goes, or why not."""

    code: int
    message: str = ""
    cause: str = ""

    @property
    def evicted(self) -> bool:
        return self.code == 201


GRANTED = EvictionAnswer(201)


def answer_eviction(pod: Pod, budgets: Iterable[PodDisruptionBudget]) -> EvictionAnswer:
    """What asking to evict this pod is answered."""
    if is_unprotected(pod):
        return GRANTED
    matching = [budget for budget in budgets if covers(budget, pod)]
    if len(matching) > 1:
        return EvictionAnswer(500, SEVERAL_BUDGETS)
    if not matching:
        return GRANTED
    budget = matching[0]
    if not _is_ready(pod) and _lets_unready_go(budget):
        return GRANTED
    return _allowance(budget)


def is_unprotected(pod: Pod) -> bool:
    """Whether budgets are not asked at all."""
    return (
        pod.status.phase in {"Succeeded", "Failed", "Pending"} or pod.metadata.deletion_timestamp is not None
    )


def covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether the budget speaks for the pod: same namespace and a selector that matches."""
    if budget.metadata.namespace != pod.metadata.namespace or budget.spec.selector is None:
        return False
    return selector_of(budget.spec.selector).matches(pod.metadata.labels)


def _lets_unready_go(budget: PodDisruptionBudget) -> bool:
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    return budget.status.current_healthy >= budget.status.desired_healthy > 0


def _allowance(budget: PodDisruptionBudget) -> EvictionAnswer:
    name, status = budget.metadata.name, budget.status
    if status.observed_generation < budget.metadata.generation:
        return EvictionAnswer(
            429, OVER_BUDGET, f"The disruption budget {name} is still being processed by the server."
        )
    if status.disruptions_allowed < 0:
        return _forbidden(name, "pdb disruptions allowed is negative")
    if len(status.disrupted_pods) > MAX_DISRUPTED_PODS:
        return _forbidden(
            name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        )
    if status.disruptions_allowed == 0:
        return EvictionAnswer(429, OVER_BUDGET, _exhausted(budget))
    return GRANTED


def _exhausted(budget: PodDisruptionBudget) -> str:
    name, status = budget.metadata.name, budget.status
    refusal = f"The disruption budget {name} does not allow evicting pods currently"
    condition = next(
        (c for c in status.conditions if c.type == "DisruptionAllowed" and c.status == "False" and c.message),
        None,
    )
    if condition is not None and condition.reason == "SyncFailed":
        return f"{refusal} because it failed sync: {condition.message}"
    if status.current_healthy <= status.desired_healthy:
        return format_budget_cause(name, status.desired_healthy, status.current_healthy)
    if condition is not None:
        return f"{refusal} ({condition.reason}): {condition.message}"
    return refusal


def _forbidden(name: str, why: str) -> EvictionAnswer:
    return EvictionAnswer(403, f'poddisruptionbudget.policy "{name}" is forbidden: {why}')


def _is_ready(pod: Pod) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)
