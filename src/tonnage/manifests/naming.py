"""Names and labels: short enough for every name a controller derives from them, and always the same.

A workload's name becomes part of pod, host and Service names, and each target appends something of its own; what
does not fit in 63 characters is refused by the API server or by a controller's webhook. So the run's name is cut to
the room that is left, and a hash of the whole keeps two long names apart. Service names begin with a letter.
"""

from __future__ import annotations

import hashlib
import json
import re

from tonnage.manifests.request import RenderRequest
from tonnage.planning.workload.template import RUN_LABEL
from tonnage.spec.dumping import as_plain
from tonnage.spec.run import Run

ATTEMPT_LABEL = "tonnage.dev/attempt"
TEAM_LABEL = "tonnage.dev/team"
COST_LABEL = "tonnage.dev/cost-centre"
DOCUMENT = "tonnage.dev/document"
PLAN = "tonnage.dev/plan"
SIZE = "tonnage.dev/size"
CODE = "tonnage.dev/code"
LONGEST = 63
_HASH = 8
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


def attempt_name(run: str, attempt: int, room: int = 0) -> str:
    """The name of one attempt, with `room` characters left for what its controller appends.

    >>> attempt_name("sft", 2), attempt_name("7b", 1), len(attempt_name("x" * 63, 1, room=20))
    ('sft-a2', 'r-7b-a1', 43)
    """
    base = run if run[:1].isalpha() else f"r-{run}"
    suffix = f"-a{attempt}"
    most = LONGEST - room - len(suffix)
    if len(base) > most:
        base = f"{base[: most - _HASH - 1].rstrip('-')}-{digest(run)[:_HASH]}"
    return base + suffix


def digest(text: str | bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def document_digest(run: Run) -> str:
    """What changes when the document does."""
    return digest(json.dumps(as_plain(run), sort_keys=True, separators=(",", ":"), default=str))


def selector_of(request: RenderRequest) -> dict[str, str]:
    """The labels by which the pods of one attempt are found."""
    return {RUN_LABEL: request.run.metadata.name, ATTEMPT_LABEL: str(request.attempt)}


def labels_of(request: RenderRequest) -> dict[str, str]:
    """Labels of every object and pod of an attempt: the team's, the document's, and ours, which always hold."""
    run = request.run
    ours = {
        "app.kubernetes.io/name": run.metadata.name,
        "app.kubernetes.io/component": "training",
        "app.kubernetes.io/managed-by": "tonnage",
        **selector_of(request),
    }
    if run.spec.team:
        ours[TEAM_LABEL] = run.spec.team
    if centre := label_text(request.cost_centre):
        ours[COST_LABEL] = centre
    return {**request.team_labels, **run.spec.labels, **ours}


def label_text(text: str) -> str:
    """Free text as a label value: what a label cannot hold becomes a dash.

    >>> label_text("R&D / Europe")
    'R-D-Europe'
    """
    return _UNFIT.sub("-", text)[:LONGEST].strip("-_.")
