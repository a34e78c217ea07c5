"""How long bytes last on this machine: a folder here outlives every attempt, which a pod's own folder would not."""

from __future__ import annotations

from msgspec.structs import replace

from tonnage.planning.workload import DiesWith, Durability, Workload

_FOLDER = "a folder of this machine: attempts come and go, it stays"


def as_on_this_machine(workload: Workload) -> Workload:
    """The workload with its places judged as what they are here."""
    target, run = workload.checkpoints, workload.run
    if target is None or run is None or run.spec.checkpoints is None:
        return workload
    if run.spec.checkpoints.to.scheme not in ("path", "pvc"):
        return workload
    stays = Durability(target.durability.place, DiesWith.NOTHING, _FOLDER)
    return replace(workload, checkpoints=replace(target, durability=stays))
