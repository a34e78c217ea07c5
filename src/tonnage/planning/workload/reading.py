"""A file in, workloads out, whichever way the training was written down: Runs, or Kubernetes manifests."""

from __future__ import annotations

from msgspec.structs import replace

from tonnage.cluster.snapshot import Snapshot, by_name
from tonnage.errors import DocumentError
from tonnage.planning.workload.beside import Beside, beside_in
from tonnage.planning.workload.durability import Durability, durability_of_claim
from tonnage.planning.workload.of_manifest import unpacked, workloads_among
from tonnage.planning.workload.of_run import workload_of_run
from tonnage.planning.workload.value import Mount, Workload
from tonnage.spec.checking import check_reading
from tonnage.spec.foreign import TRAINING_KINDS
from tonnage.spec.metadata import API_VERSION
from tonnage.spec.mistakes import Mistake
from tonnage.spec.reading import RawDocument, Reading, read
from tonnage.spec.run import Run
from tonnage.spec.team import Team

NO_DOCUMENT, NOT_TRAINING = "DOC-009", "DOC-070"
KINDS = f"{', '.join(TRAINING_KINDS[:-1])} or {TRAINING_KINDS[-1]}"
PLANNED = "a Run, or a Kubernetes manifest of a training job"


def workloads_in(content: bytes | str, file: str) -> tuple[Workload, ...]:
    """Every training workload in a file; raise DocumentError with all that is wrong where there is none to plan."""
    reading = read(content, file)
    if reading.mistakes:
        raise DocumentError(*(_in_words_of_plan(mistake).as_problem() for mistake in reading.mistakes))
    documents = list(unpacked(reading.documents))
    ours = [raw for raw in documents if _is_ours(raw)]
    rest = [raw for raw in documents if not _is_ours(raw)]
    beside = beside_in(rest)
    found: tuple[Workload, ...] = ()
    mistakes = list(beside.mistakes)
    if not ours or any(_is_training(raw) for raw in rest):
        manifests = workloads_among(rest)
        found = manifests.workloads
        mistakes += manifests.mistakes
    if ours:
        runs, wrong = _runs(ours, file, needs_one=not found)
        found, mistakes = (*runs, *found), [*wrong, *mistakes]
    if mistakes:
        raise DocumentError(*(_in_words_of_plan(mistake).as_problem() for mistake in mistakes))
    return tuple(replace(one, beside=beside if beside else None) for one in found)


def _in_words_of_plan(mistake: Mistake) -> Mistake:
    """What can be planned is a Run or a training manifest, whatever else a file of ours may hold."""
    if mistake.code == NO_DOCUMENT:
        return replace(mistake, expected=PLANNED)
    if mistake.code == NOT_TRAINING and mistake.expected in (None, KINDS):
        return replace(mistake, expected=f"a Run, or a {KINDS}")
    return mistake


def _runs(
    documents: list[RawDocument], file: str, *, needs_one: bool
) -> tuple[tuple[Workload, ...], list[Mistake]]:
    """The Runs among our own documents, and everything wrong with these."""
    checked = check_reading(Reading(documents, []), file)
    mistakes = list(checked.mistakes)
    runs = [(item.raw, item.value) for item in checked.documents if isinstance(item.value, Run)]
    if not runs and not mistakes and needs_one:
        mistakes = [
            Mistake(
                code="DOC-010",
                what="no Run in this file",
                file=file,
                found=", ".join(sorted({value.kind for value in checked.values})) or None,
                expected=PLANNED,
            )
        ]
    teams = {value.metadata.name: value for value in checked.values if isinstance(value, Team)}
    made = tuple(
        workload_of_run(run, namespace=_namespace(run, teams), file=file, line=raw.line) for raw, run in runs
    )
    return made, mistakes


def with_claims(workload: Workload, snapshot: Snapshot | None) -> Workload:
    """The workload with what the cluster and its own file know about its claims: local volumes, access modes."""
    seen = snapshot is not None and snapshot.gap("persistentvolumeclaims") is None
    beside = workload.beside.in_namespace(workload.namespace) if workload.beside is not None else Beside()
    if not seen and not beside.claims:
        return workload
    claims, volumes, classes = (
        by_name(beside.claims),
        by_name(beside.volumes),
        by_name(beside.storage_classes),
    )
    if snapshot is not None:
        claims = {**claims, **by_name(snapshot.claims)}
        volumes = {**volumes, **by_name(snapshot.volumes)}
        classes = {**classes, **by_name(snapshot.storage_classes)}

    def refined(durability: Durability) -> Durability:
        name = durability.place.removeprefix("pvc/").partition("/")[0]
        if not durability.place.startswith("pvc/"):
            return durability
        claim = claims.get((workload.namespace, name))
        if claim is None and not seen:
            return durability
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


def _is_ours(raw: RawDocument) -> bool:
    """Whether a document is one of ours, or tries to be: whoever writes `kind: Run` means ours."""
    if not isinstance(raw.value, dict):
        return False
    version = raw.value.get("apiVersion")
    if raw.value.get("kind") == "Run":
        return True
    return isinstance(version, str) and version.split("/")[0] == API_VERSION.split("/")[0]


def _is_training(raw: RawDocument) -> bool:
    return isinstance(raw.value, dict) and raw.value.get("kind") in TRAINING_KINDS


def _namespace(run: Run, teams: dict[str, Team]) -> str | None:
    team = teams.get(run.spec.team or "")
    return team.spec.namespace or team.metadata.name if team is not None else None
