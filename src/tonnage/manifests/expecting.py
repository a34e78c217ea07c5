"""What a run would become on a cluster, for whoever plans it: the object, why that one, and what it cannot express."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.cluster.snapshot import NOT_DESCRIBED, Snapshot
from tonnage.errors import RefusedError
from tonnage.manifests.choosing import choose_target
from tonnage.manifests.facts import KINDS, served_by
from tonnage.manifests.lacking import LACKS
from tonnage.planning.answers import Plan


@dataclass(frozen=True, slots=True)
class Expected:
    """A target, or why there is none."""

    kind: str
    """Empty where the run is refused."""
    why: str
    lacks: tuple[str, ...] = ()


def expected_target(plan: Plan, snapshot: Snapshot | None) -> Expected | None:
    """The target of a planned Run; None where nobody knows what is installed, or it is no Run."""
    run = plan.workload.run
    if run is None or snapshot is None:
        return None
    gaps = [snapshot.gap(resource) for resource, _ in KINDS.values()]
    if all(gap is not None and gap.reason == NOT_DESCRIBED for gap in gaps):
        return None
    try:
        choice = choose_target(run, plan.workload.pods, served_by(snapshot))
    except RefusedError as refused:
        return Expected("", refused.problem.what)
    return Expected(choice.target, choice.why, tuple(lack.what for lack in LACKS[choice.target]))
