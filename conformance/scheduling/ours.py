"""Our answer to a question, from the very objects the API server shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from conformance.scheduling.bench import Bench, Verdict
from conformance.scheduling.questions import Object
from tonnage.cluster.objects import (
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    StorageClass,
)
from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.objects.storage import CsiDriver, CsiNode, CsiStorageCapacity
from tonnage.cluster.scheduling import (
    ClusterView,
    Decision,
    Gated,
    Owners,
    Preempts,
    Scheduled,
    Storage,
    Unschedulable,
    schedule,
)

T = TypeVar("T")


def read_view(bench: Bench) -> ClusterView:
    """The cluster as it stands, in our own books."""
    return ClusterView(
        _read(bench.items("nodes"), Node),
        _read(bench.items("pods"), Pod),
        namespaces=_read(bench.items("namespaces"), Namespace),
        budgets=_read(bench.items("budgets"), PodDisruptionBudget),
        storage=Storage.of(
            claims=_read(bench.items("claims"), PersistentVolumeClaim),
            volumes=_read(bench.items("volumes"), PersistentVolume),
            classes=_read(bench.items("classes"), StorageClass),
            csi_nodes=_read(bench.items("csiNodes"), CsiNode),
            csi_drivers=_read(bench.items("csiDrivers"), CsiDriver),
            capacities=_read(bench.items("capacities"), CsiStorageCapacity),
        ),
        owners=Owners(
            services=tuple(_read(bench.items("services"), Loose)),
            replica_sets=tuple(_read(bench.items("replicaSets"), Loose)),
        ),
    )


def answer(stored: Object, view: ClusterView) -> Decision:
    """What our rules say about the pod as the API server stored it."""
    return schedule(msgspec.convert(stored, Pod), view)


def victim_sets(decision: Decision) -> dict[str, set[frozenset[str]]]:
    """Who might newly have to go, by node; pods already leaving are not sent away again."""
    found: dict[str, set[frozenset[str]]] = {}
    if isinstance(decision, Unschedulable) and isinstance(decision.preemption, Preempts):
        for choice in decision.preemption.choices:
            names = frozenset(victim.name for victim in choice.victims if not victim.terminating)
            found.setdefault(choice.node, set()).add(names)
    return found


def agree(decision: Decision, verdict: Verdict) -> bool:
    """Same kind of answer, a node we call feasible, same words, victims among the equally good choices."""
    match decision:
        case Scheduled(feasible=feasible):
            return verdict.node in feasible
        case Gated(_, message):
            return (verdict.reason, verdict.message) == ("SchedulingGated", message)
        case Unschedulable(message=message):
            if (verdict.reason, verdict.message) != ("Unschedulable", message):
                return False
            expected = victim_sets(decision)
            return not expected or verdict.victims in expected.get(verdict.nominated, set())


def shown(decision: Decision) -> Any:
    """Our answer as plain values, for a report."""
    match decision:
        case Scheduled(best, feasible, scores):
            totals = {name: [score.total, dict(score.by_plugin)] for name, score in scores.items()}
            return {"best": sorted(best), "feasible": sorted(feasible), "scores": totals}
        case Gated(gates, message):
            return {"gates": list(gates), "message": message}
        case Unschedulable(message=message):
            victims = {
                node: [sorted(names) for names in sets] for node, sets in victim_sets(decision).items()
            }
            return {"message": message, "victims": victims}


def _read(items: Iterable[Object], kind: type[T]) -> list[T]:
    return [msgspec.convert(item, kind) for item in items]
