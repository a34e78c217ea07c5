"""Claims that a run mounts, as far as they can be seen."""

from __future__ import annotations

from tonnage.planning.ground import Ground
from tonnage.planning.pods import claims_of, without_claims
from tonnage.planning.workload import Workload

CLAIMS = "persistentvolumeclaims"


def without_unseen_claims(workload: Workload, ground: Ground | None) -> tuple[Workload, tuple[str, ...]]:
    """The workload without volumes nobody could see; and the claims that are known not to be there."""
    claims = claims_of(workload)
    if ground is None or not ground.sees(CLAIMS):
        return without_claims(workload, claims), ()
    there = {
        claim.metadata.name
        for claim in ground.snapshot.claims
        if claim.metadata.namespace == workload.namespace
    }
    missing = claims - there
    made = (
        frozenset(claim.metadata.name for claim in workload.beside.claims) if workload.beside else frozenset()
    )
    return without_claims(workload, missing), tuple(sorted(missing - made))
