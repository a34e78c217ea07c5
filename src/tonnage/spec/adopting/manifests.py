"""A file with manifests in, Run documents out: which objects are taken, which are refused and why."""

from __future__ import annotations

import copy
import textwrap
from typing import Any

import msgspec
from pydantic import ValidationError

from tonnage.spec.adopting.pods import take_pod
from tonnage.spec.adopting.refusals import refusal
from tonnage.spec.adopting.taking import Notes, take_mapping
from tonnage.spec.adopting.workloads import LAST_APPLIED, workload_of
from tonnage.spec.dumping import as_plain, write_yaml
from tonnage.spec.foreign import TRAINING_KINDS
from tonnage.spec.metadata import API_VERSION
from tonnage.spec.mistakes import Mistake
from tonnage.spec.names import name as legal_name
from tonnage.spec.reading import RawDocument, read
from tonnage.spec.run import Run

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_ACTED_UPON = ("kueue.x-k8s.io/", "jobset.sigs.k8s.io/", "kubeflow.org/", "volcano.sh/", "karpenter.sh/")
_SET_BY_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
_ORDER = (
    "team", "queue", "priority", "labels", "image", "command", "env", "secrets", "serviceAccount",
    "imagePullSecrets", "framework", "target", "nodes", "gpus", "processesPerNode", "cpu", "memory", "shm",
    "disk", "volumes", "retries", "deadline", "keep", "network", "podTemplate",
)  # fmt: skip


class Adopted(msgspec.Struct, frozen=True):
    """The Runs for a file's manifests, as commented YAML; or the mistakes that say why there are none."""

    text: str
    notes: Notes
    mistakes: list[Mistake]


def adopt(content: bytes | str, file: str) -> Adopted:
    """Write the Run for every training manifest in a file."""
    reading = read(content, file)
    notes = Notes()
    if reading.mistakes:
        return Adopted("", notes, reading.mistakes)
    texts: list[str] = []
    refused: list[Mistake] = []
    for raw in reading.documents:
        kind = raw.value.get("kind") if isinstance(raw.value, dict) else None
        if kind not in TRAINING_KINDS:
            refused.append(refusal(raw))
            continue
        text, own = _adopt_one(raw, reading.documents)
        notes.lost += own.lost
        notes.truths += own.truths
        notes.hints += own.hints
        if text is None:
            refused.append(_without_pod(raw))
        else:
            texts.append(text)
    if not texts:
        return Adopted("", notes, refused)
    notes.lost += [f"line {mistake.line}: {mistake.what}" for mistake in refused]
    return Adopted("---\n".join(texts), notes, [])


def _adopt_one(raw: RawDocument, beside: list[RawDocument]) -> tuple[str | None, Notes]:
    notes = Notes()
    manifest = copy.deepcopy(raw.value)
    kind = manifest["kind"]
    metadata = manifest.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    workload = workload_of(manifest, notes)
    if workload is None:
        return None, notes
    spec = take_pod(workload.template, workload.restarts, notes)
    if spec is None:
        return None, notes
    head = _head(metadata, spec, notes)
    run = {**spec, **workload.run}
    if workload.nodes > 1:
        run.setdefault("nodes", workload.nodes)
        _tell_about_claims(run, beside, workload.nodes, notes)
    ordered = {name: run[name] for name in _ORDER if name in run}
    document = {"apiVersion": API_VERSION, "kind": "Run", "metadata": head, "spec": ordered}
    return f"{_comment(kind, raw, notes)}{write_yaml(_friendly(document))}", notes


def _friendly(document: dict[str, Any]) -> dict[str, Any]:
    """The document in the forms we would write ourselves (1d, not 86400s), if it has no mistake."""
    try:
        return as_plain(Run.model_validate(document))
    except ValidationError:
        return document


def _head(metadata: dict[str, Any], spec: dict[str, Any], notes: Notes) -> dict[str, Any]:
    metadata = {name: value for name, value in metadata.items() if name not in _SET_BY_SERVER}
    labels, annotations = take_mapping(metadata, "labels"), take_mapping(metadata, "annotations")
    annotations.pop(LAST_APPLIED, None)
    for holder in (labels, spec.get("labels", {})):
        queue = holder.pop(QUEUE_LABEL, None)
        if isinstance(queue, str):
            spec["queue"] = queue
    for key in [key for key in labels if _is_acted_upon(key)]:
        spec["labels"] = {**spec.get("labels", {}), key: labels.pop(key)}
    notes.lost.extend(
        f"annotation {key}: it stays a note of the document, and no object gets it"
        for key in annotations
        if _is_acted_upon(key)
    )
    if not spec.get("labels", True):
        del spec["labels"]
    given = metadata.pop("name", None) or metadata.pop("generateName", None)
    head: dict[str, Any] = {"name": _name(str(given or "run"), notes)}
    metadata.pop("generateName", None)
    if isinstance(metadata.get("namespace"), str):
        head["namespace"] = metadata.pop("namespace")
    head |= {name: value for name, value in (("labels", labels), ("annotations", annotations)) if value}
    notes.lost.extend(f"metadata.{name}" for name in metadata)
    return head


def _is_acted_upon(key: object) -> bool:
    """Whether a controller reads this label or annotation, so that leaving it behind changes what happens."""
    return any(domain in str(key) for domain in _ACTED_UPON)


def _name(given: str, notes: Notes) -> str:
    try:
        return legal_name(given.rstrip("-"))
    except ValueError as error:
        hint = str(getattr(error, "hint", None) or "try run").removeprefix("try ")
        notes.lost.append(f"the name {given}: pods are called after a run, so it became {hint}")
        return hint


def _tell_about_claims(run: dict[str, Any], beside: list[RawDocument], nodes: int, notes: Notes) -> None:
    """A ReadWriteOnce claim in the same file, mounted by several pods."""
    modes = {}
    for raw in beside:
        if isinstance(raw.value, dict) and raw.value.get("kind") == "PersistentVolumeClaim":
            head, spec = raw.value.get("metadata"), raw.value.get("spec")
            if isinstance(head, dict) and isinstance(spec, dict):
                modes[head.get("name")] = spec.get("accessModes")
    for line in run.get("volumes", []):
        if modes.get(line.get("pvc")) == ["ReadWriteOnce"]:
            notes.truths.append(
                f"pvc {line['pvc']} is ReadWriteOnce and {nodes} pods mount it: it works only while they "
                "share one node; ReadWriteMany, or a bucket, works on several"
            )


def _without_pod(raw: RawDocument) -> Mistake:
    return Mistake(
        code="DOC-070",
        what=f"the {raw.value['kind']} has no pod template with a container",
        file=raw.file,
        line=raw.line,
        expected="spec with containers",
    )


def _comment(kind: str, raw: RawDocument, notes: Notes) -> str:
    lines = [f"From the {kind} in {raw.file}; `tonnage check` finds what to mend."]
    lines += [f"Not carried: {text}" for text in notes.lost]
    lines += [f"To know: {text}" for text in notes.truths]
    lines += [f"You may want: {text}" for text in notes.hints]
    return "".join(f"{part}\n" for line in lines for part in _wrapped(line))


def _wrapped(line: str) -> list[str]:
    text = " ".join(line.split())
    return textwrap.wrap(text, 100, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
