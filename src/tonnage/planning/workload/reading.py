"""A file in, workloads out, whichever way the training was written down: Runs, or Kubernetes manifests."""

from __future__ import annotations

from dataclasses import replace

from tonnage.cluster.snapshot import Snapshot, by_name
from tonnage.errors import DocumentError
from tonnage.planning.workload.durability import Durability, durability_of_claim
from tonnage.planning.workload.of_manifest import workloads_of
from tonnage.planning.workload.of_run import workload_of_run
from tonnage.planning.workload.value import Mount, Workload
from tonnage.spec.checking import check_reading
from tonnage.spec.metadata import API_VERSION
from tonnage.spec.mistakes import Mistake
from tonnage.spec.reading import Reading, read
from tonnage.spec.run import Run
from tonnage.spec.team import Team


def workloads_in(content: bytes | str, file: str) -> tuple[Workload, ...]:
    """Every training workload in a file; raise DocumentError with all that is wrong where there is none to plan."""
    reading = read(content, file)
    if reading.mistakes:
        raise DocumentError(*(mistake.as_problem() for mistake in reading.mistakes))
    if not _is_ours(reading):
        found = workloads_of(content, file)
        if found.mistakes:
            raise DocumentError(*(mistake.as_problem() for mistake in found.mistakes))
        return found.workloads
    checked = check_reading(reading, file)
    mistakes = list(checked.mistakes)
    runs = [(item.raw, item.value) for item in checked.documents if isinstance(item.value, Run)]
    if not runs and not mistakes:
        mistakes = [
            Mistake(
                code="DOC-010",
                what="no Run in this file",
                file=file,
                found=", ".join(sorted({value.kind for value in checked.values})) or None,
                expected="a Run, or a Kubernetes manifest of a training job",
            )
        ]
    if mistakes:
        raise DocumentError(*(mistake.as_problem() for mistake in mistakes))
    teams = {value.metadata.name: value for value in checked.values if isinstance(value, Team)}
    return tuple(
        workload_of_run(run, namespace=_namespace(run, teams), file=file, line=raw.line) for raw, run in runs
    )


def with_claims(workload: Workload, snapshot: Snapshot) -> Workload:
    """The workload with what the cluster knows about its claims: local volumes, access modes, missing ones."""
    if snapshot.gap("persistentvolumeclaims") is not None:
        return workload
    claims, volumes = by_name(snapshot.claims), by_name(snapshot.volumes)
    classes = by_name(snapshot.storage_classes)

    def refined(durability: Durability) -> Durability:
        name = durability.place.removeprefix("pvc/").partition("/")[0]
        if not durability.place.startswith("pvc/"):
            return durability
        claim = claims.get((workload.namespace, name))
        volume = volumes.get(("", claim.spec.volume_name)) if claim is not None else None
        storage_class = classes.get(("", claim.spec.storage_class_name or "")) if claim is not None else None
        return durability_of_claim(durability, claim, volume, storage_class, pods=workload.pods)

    def mounted(mount: Mount) -> Mount:
        return replace(mount, durability=refined(mount.durability))

    roles = tuple(replace(role, mounts=tuple(map(mounted, role.mounts))) for role in workload.roles)
    target = workload.checkpoints
    if target is not None:
        target = replace(target, durability=refined(target.durability))
    return replace(workload, roles=roles, checkpoints=target)


def _is_ours(reading: Reading) -> bool:
    """Whether any document is one of ours, or tries to be."""
    versions = [raw.value.get("apiVersion") for raw in reading.documents if isinstance(raw.value, dict)]
    domain = API_VERSION.split("/")[0]
    return any(isinstance(version, str) and version.split("/")[0] == domain for version in versions)


def _namespace(run: Run, teams: dict[str, Team]) -> str | None:
    team = teams.get(run.spec.team or "")
    return team.spec.namespace or team.metadata.name if team is not None else None
