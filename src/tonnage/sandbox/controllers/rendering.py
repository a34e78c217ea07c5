"""From a controller's own kustomizations to documents, once per version.

The folders lie beside the binary, copied out of the very module it was built from.
`kubectl kustomize` renders them: the raw files lack selectors and conversion stanzas that kustomizations add.
The result is kept there as JSON: reading eight megabytes of YAML takes seconds, of JSON a moment.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox.controllers.controller import Controller
from tonnage.sandbox.controllers.manifests import Document

Rendered = dict[str, list[Document]]


def read_manifests(row: Controller, binary: Path, kubectl: Path) -> Rendered:
    """Every kustomization of the row, rendered; from the file kept beside the binary where there is one."""
    kept = binary.parent / "manifests.json"
    with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
        documents = msgspec.json.decode(kept.read_bytes(), type=Rendered)
        if set(documents) == set(row.manifests):
            return documents
    rendered = {name: _render(row, binary.parent / name, kubectl) for name in row.manifests}
    with contextlib.suppress(OSError):  # a cache that cannot be written only costs time
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(msgspec.json.encode(rendered))
        fresh.replace(kept)
    return rendered


def _render(row: Controller, folder: Path, kubectl: Path) -> list[Document]:
    if not folder.is_dir():
        raise _cannot_render(row, f"no folder {folder}")
    # In the folder itself: a path that holds "github.com" would be taken for a repository to clone.
    answer = subprocess.run([kubectl, "kustomize", "."], cwd=folder, capture_output=True, check=False)
    if answer.returncode != 0:
        raise _cannot_render(row, answer.stderr.decode(errors="replace").strip())
    return _documents(answer.stdout)


def _documents(text: bytes) -> list[Document]:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [document for document in yaml.load_all(text, Loader=loader) if document]


def _cannot_render(row: Controller, found: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        Problem(
            code="BOX-211",
            what=f"the manifests of {row.title} {row.version} cannot be rendered",
            found=found,
            expected="its kustomizations beside its binary, as they were copied when it was built",
            hint="remove that folder; the next `tonnage sandbox up` builds it again",
        )
    )
