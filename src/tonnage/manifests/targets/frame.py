"""What every workload object has in common: its name, its labels, and what of the plan goes with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from tonnage.manifests.naming import CODE, DOCUMENT, PLAN, SIZE, document_digest, labels_of
from tonnage.manifests.request import Manifest, RenderRequest

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Framed:
    """A target's answer: its workload, what must exist before it, and what to say."""

    workload: Manifest
    before: tuple[Manifest, ...] = ()
    notes: tuple[str, ...] = field(default=())


def namespace_of(request: RenderRequest) -> str:
    return request.run.metadata.namespace or request.namespace


def workload(
    request: RenderRequest,
    api_version: str,
    kind: str,
    name: str,
    spec: dict[str, Any],
    *,
    queued: bool = True,
) -> Manifest:
    """An object that holds pods; in a queue where the run has one."""
    labels = labels_of(request)
    if request.facts.queue and queued:
        labels[QUEUE_LABEL] = request.facts.queue
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": namespace_of(request),
            "labels": labels,
            "annotations": annotations_of(request),
        },
        "spec": spec,
    }


def annotations_of(request: RenderRequest) -> dict[str, str]:
    """The document's own, and what this attempt was made from: enough to take it up again from the cluster alone."""
    ours = {
        DOCUMENT: document_digest(request.run),
        PLAN: msgspec.json.encode(request.planned).decode(),
        SIZE: json.dumps({name: value for name, value in asdict(request.size).items() if value is not None}),
    }
    if request.code is not None:
        ours[CODE] = request.code.digest
    return {**request.run.metadata.annotations, **ours}


def suspension(request: RenderRequest) -> dict[str, bool]:
    """Kueue starts what waits in its queues; until then nothing must run."""
    return {"suspend": True} if request.facts.queue else {}
