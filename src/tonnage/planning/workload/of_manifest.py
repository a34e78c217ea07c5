"""Any Kubernetes manifest of a training job as a `Workload`, with what it cannot say listed as unknown.

Taken are Pod, Job, JobSet, TrainJob, PyTorchJob, TFJob and MPIJob, alone, in a List, or many in one file; what
lies beside them (claims, services) is read past. A file with none of them is refused, each object with its
reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from tonnage.planning.workload.decoding import Unreadable, gpus_of, pod_of, trainer_of
from tonnage.planning.workload.kinds import QUEUE_LABEL, RoleShape, Shape, shape_of
from tonnage.planning.workload.launching import processes_per_pod
from tonnage.planning.workload.naming import a
from tonnage.planning.workload.saving import checkpoint_target
from tonnage.planning.workload.spot import spot_use
from tonnage.planning.workload.value import Role, Unknown, Workload
from tonnage.spec.adopting.refusals import refusal
from tonnage.spec.foreign import TRAINING_KINDS
from tonnage.spec.mistakes import Mistake
from tonnage.spec.reading import RawDocument, read

CODE = "DOC-070"
_NO_POD = "no pod can be read"


class Manifests(msgspec.Struct, frozen=True):
    """The training workloads of a file, or the mistakes that say why there are none."""

    workloads: tuple[Workload, ...]
    mistakes: tuple[Mistake, ...]
    passed_over: tuple[str, ...] = ()
    """Other objects of the file, by kind and name."""


def workloads_of(content: bytes | str, file: str) -> Manifests:
    """Every training workload in a file of manifests."""
    reading = read(content, file)
    if reading.mistakes:
        return Manifests((), tuple(reading.mistakes))
    return workloads_among(unpacked(reading.documents))


def workloads_among(documents: Iterable[RawDocument]) -> Manifests:
    """Every training workload among documents that were read already."""
    workloads: list[Workload] = []
    refused: list[Mistake] = []
    passed: list[str] = []
    for raw in documents:
        kind = raw.value.get("kind") if isinstance(raw.value, dict) else None
        if kind not in TRAINING_KINDS:
            refused.append(refusal(raw))
            passed.append(_title(raw.value))
            continue
        found = _workload(raw)
        if isinstance(found, Mistake):
            refused.append(found)
        else:
            workloads.append(found)
    if not workloads:
        return Manifests((), tuple(refused), ())
    unreadable = [mistake for mistake in refused if mistake.what.startswith(_NO_POD)]
    return Manifests(tuple(workloads), tuple(unreadable), tuple(passed))


def _workload(raw: RawDocument) -> Workload | Mistake:
    manifest = raw.value
    shape = shape_of(manifest)
    if shape is None:
        return _mistake(raw, f"{_NO_POD} from the {manifest['kind']}", "a pod template with a container")
    metadata = manifest.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = str(metadata.get("name") or metadata.get("generateName") or manifest["kind"]).rstrip("-").lower()
    namespace = str(metadata.get("namespace") or "default")
    unknown = [Unknown(what, why) for what, why in shape.unknown]
    remarks = list(shape.remarks)
    try:
        roles = [_role(role, shape, name, namespace, unknown, remarks) for role in shape.roles]
    except Unreadable as error:
        return _mistake(
            raw, f"{_NO_POD} from the {manifest['kind']}: {error}", "Kubernetes' own shape of a pod"
        )
    workload = Workload(
        kind=manifest["kind"],
        name=name,
        namespace=namespace,
        roles=tuple(roles),
        deadline_seconds=shape.deadline_seconds,
        retries=shape.retries,
        queue=_queue(metadata, shape),
        team=_label(metadata, "tonnage.dev/team"),
        priority_class=next((role.pod.spec.priority_class_name for role in roles), ""),
        is_suspended=shape.is_suspended,
        framework=shape.framework,
        accepts_losing_work=_annotation(metadata, "tonnage.dev/i-accept-losing-work") == "true",
        remarks=tuple(dict.fromkeys(remarks)),
        file=raw.file,
        line=raw.line,
    )
    return _completed(workload, unknown)


def _completed(workload: Workload, unknown: list[Unknown]) -> Workload:
    """What only the training role can tell, and the list of what nobody can."""
    trainer = workload.trainer
    target = checkpoint_target(trainer.command, dict(trainer.env), trainer.mounts)
    kind = workload.kind
    unknown = [
        *unknown,
        Unknown("model", f"{a(kind)} does not say what it trains; a Run does, under spec.model"),
        Unknown(
            "steps", f"{a(kind)} does not say how many steps it takes; a Run does, under spec.train.steps"
        ),
    ]
    if target is None:
        unknown.append(Unknown("checkpoints", "no flag, variable or volume says where progress is saved"))
    if workload.ranks is None and not any(item.what == "ranks" for item in unknown):
        unknown.append(Unknown("ranks", "how many processes each pod starts is not said"))
    return replace(workload, checkpoints=target, spot=spot_use(trainer.pod), unknown=tuple(unknown))


def _role(
    shape: RoleShape, whole: Shape, name: str, namespace: str, unknown: list[Unknown], remarks: list[str]
) -> Role:
    pod = pod_of(shape.template, f"{name}-{shape.name.lower()}-0", namespace)
    if not pod.spec.containers:
        raise Unreadable(f"{shape.name} has no container")
    gpus, trainer = gpus_of(pod), trainer_of(shape.template, pod)
    pods = sum(role.count for role in whole.roles if role.ranks != 0)
    ranks, evidence = _ranks(shape, trainer.command, trainer.env, gpus.count, pods)
    if ranks is None:
        unknown.append(Unknown("ranks", f"{shape.name}: {evidence}"))
    elif ranks and gpus.kind == "whole" and gpus.count > 1 and ranks not in (1, gpus.count):
        remarks.append(f"{shape.name}: {ranks} processes for {gpus.count} GPUs ({evidence})")
    elif ranks == 1 and gpus.count > 1:
        remarks.append(f"{shape.name}: one process holds {gpus.count} GPUs ({evidence})")
    if gpus.is_fraction:
        remarks.append(f"{gpus.resource}: parts of a device are refused by Kubernetes (must be an integer)")
    return Role(
        name=shape.name,
        count=shape.count,
        pod=pod,
        gpus=gpus,
        ranks_per_pod=ranks,
        command=trainer.command,
        env=tuple(trainer.env.items()),
        mounts=trainer.mounts,
        shm_bytes=trainer.shm_bytes,
        container=trainer.name,
    )


def _ranks(
    shape: RoleShape, command: tuple[str, ...], env: dict[str, str], gpus: int, pods: int
) -> tuple[int | None, str]:
    if shape.ranks == 0:
        return 0, "trains nothing"
    if isinstance(shape.ranks, int):
        return shape.ranks, "the manifest says so"
    if shape.ranks is not None:
        env = {"PET_NPROC_PER_NODE": shape.ranks} | env
    return processes_per_pod(command, env, gpus=gpus, pods=pods)


def _queue(metadata: dict[str, Any], shape: Shape) -> str:
    queue = _label(metadata, QUEUE_LABEL)
    for role in shape.roles:
        inner = role.template.get("metadata")
        queue = queue or (_label(inner, QUEUE_LABEL) if isinstance(inner, dict) else "")
    return queue


def _label(metadata: dict[str, Any], name: str) -> str:
    labels = metadata.get("labels")
    return str(labels.get(name) or "") if isinstance(labels, dict) else ""


def _annotation(metadata: dict[str, Any], name: str) -> str:
    annotations = metadata.get("annotations")
    return str(annotations.get(name) or "") if isinstance(annotations, dict) else ""


def unpacked(documents: Iterable[RawDocument]) -> Iterator[RawDocument]:
    """Documents with Lists taken apart."""
    for raw in documents:
        items = raw.value.get("items") if isinstance(raw.value, dict) else None
        if isinstance(items, list) and str(raw.value.get("kind", "")).endswith("List"):
            for index, item in enumerate(items):
                line, _ = raw.locate(("items", index))
                yield RawDocument(raw.file, item, line)
        else:
            yield raw


def _title(value: Any) -> str:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    kind = value.get("kind", "?") if isinstance(value, dict) else "?"
    return f"{kind} {name}".strip()


def _mistake(raw: RawDocument, what: str, expected: str) -> Mistake:
    return Mistake(code=CODE, what=what, file=raw.file, line=raw.line, expected=expected)
