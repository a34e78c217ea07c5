"""Rules about work that a Run could lose."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.spec.literals import Place
from tonnage.spec.rules.remarks import Remark
from tonnage.spec.run import Run


def deadline_before_checkpoint(run: Run) -> Iterator[Remark]:
    """A run that is stopped before its first checkpoint keeps nothing."""
    checkpoints, deadline = run.spec.checkpoints, run.spec.deadline
    if checkpoints is None or deadline is None or checkpoints.every.duration is None:
        return
    if deadline <= checkpoints.every.duration:
        yield Remark(
            code="DOC-034",
            path=("spec", "deadline"),
            what=f"the run ends after {deadline}, before its first checkpoint at {checkpoints.every}",
            expected="a deadline longer than checkpoints.every",
            hint="raise spec.deadline, or lower spec.checkpoints.every",
        )


def spot_wants_checkpoints(run: Run) -> Iterator[Remark]:
    """Capacity that is taken back takes the work with it."""
    if run.spec.spot.use != "never" and run.spec.checkpoints is None and not run.spec.i_accept_losing_work:
        yield Remark(
            code="DOC-050",
            path=("spec", "spot"),
            what="spot nodes are taken back without checkpoints to resume from",
            hint="add checkpoints: pvc/NAME, or iAcceptLosingWork: true",
            is_mild=True,
            absent=(("spec", "checkpoints"),),
        )


def checkpoints_outlive_the_pod(run: Run) -> Iterator[Remark]:
    """A checkpoint on the pod's own disk dies in the accident it was made for."""
    if run.spec.checkpoints is None or run.spec.i_accept_losing_work:
        return
    place: Place = run.spec.checkpoints.to
    mounted = any(
        place.scheme == "path" and volume.mount != "/" and _is_under(place.path, volume.mount)
        for volume in run.spec.volumes
        if volume.pvc or volume.nfs
    )
    if not place.outlives_pod and not mounted:
        yield Remark(
            code="DOC-054",
            path=("spec", "checkpoints", "to"),
            what=f"checkpoints on {place} die with the pod",
            hint="use pvc/NAME, s3://bucket/prefix or nfs://server/path; fine when it runs on this machine",
            is_mild=True,
        )


def _is_under(path: str, mount: str) -> bool:
    return path == mount or path.startswith(f"{mount}/")
