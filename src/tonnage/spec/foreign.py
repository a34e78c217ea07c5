"""Documents that are not ours: no kind, a kind misspelled, or a Kubernetes manifest given by mistake."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from tonnage.spec.literals.refusals import shown
from tonnage.spec.metadata import API_VERSION
from tonnage.spec.mistakes import Mistake
from tonnage.spec.reading import RawDocument

TRAINING_KINDS = ("Pod", "Job", "JobSet", "TrainJob", "PyTorchJob", "TFJob", "MPIJob")
"""Manifests that `tonnage init --from` writes a Run for."""

LATER_KINDS = ("Pipeline",)


def not_ours(raw: RawDocument, kinds: list[str]) -> Mistake | None:
    """What is wrong with apiVersion and kind; None where both are ours."""
    kind, version = raw.value.get("kind"), raw.value.get("apiVersion")
    if kind in kinds and version == API_VERSION:
        return None
    if kind is None or version is None:
        return _missing(raw, kinds)
    is_ours = isinstance(version, str) and version.split("/")[0] == "tonnage.dev"
    if not isinstance(kind, str) or not isinstance(version, str):
        return _at(
            raw, "kind" if not isinstance(kind, str) else "apiVersion", "is not text", expected=_list(kinds)
        )
    if is_ours and version != API_VERSION:
        return _at(raw, "apiVersion", f"{shown(version)} is not known", expected=API_VERSION)
    if is_ours:
        hint = "pipelines are not supported yet" if kind in LATER_KINDS else _near(kind, kinds)
        return _at(raw, "kind", f"{shown(kind)} is not known", expected=_list(kinds), hint=hint)
    if kind in kinds:
        return _at(raw, "apiVersion", f"{shown(version)} is not known", expected=API_VERSION)
    if kind in TRAINING_KINDS:
        return _at(
            raw,
            "kind",
            f"a Kubernetes {kind}, not a Tonnage document",
            expected=_list(kinds),
            hint=f"`tonnage init --from {raw.file}` writes the Run for it",
        )
    return _at(
        raw,
        "kind",
        f"{shown(kind)} of {shown(version)} is not a Tonnage document",
        expected=f"{_list(kinds)} of {API_VERSION}",
        hint=_near(kind, kinds),
    )


def _missing(raw: RawDocument, kinds: list[str]) -> Mistake:
    names = [name for name in ("apiVersion", "kind") if raw.value.get(name) is None]
    looks_like = _guess(raw.value)
    return Mistake(
        code="DOC-006",
        what=f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} missing",
        file=raw.file,
        line=raw.line,
        expected=f"apiVersion: {API_VERSION} and kind: {_list(kinds)}",
        hint=f"this looks like a {looks_like}: add kind: {looks_like}" if looks_like else None,
    )


def _guess(value: dict[str, Any]) -> str | None:
    spec = value.get("spec")
    names = set(spec) if isinstance(spec, dict) else set(value)
    if names & {"pools"}:
        return "Cluster"
    if names & {"members", "costCentre", "priorityClasses"}:
        return "Team"
    return "Run" if names & {"command", "image", "gpus", "checkpoints"} else None


def _near(kind: str, kinds: list[str]) -> str | None:
    close = get_close_matches(kind.lower(), [name.lower() for name in kinds], n=1, cutoff=0.6)
    return f"did you mean {close[0].capitalize()}?" if close else None


def _list(kinds: list[str]) -> str:
    return f"{', '.join(kinds[:-1])} or {kinds[-1]}"


def _at(raw: RawDocument, field: str, what: str, *, expected: str, hint: str | None = None) -> Mistake:
    line, column = raw.locate((field,))
    return Mistake(
        code="DOC-010",
        what=what,
        path=(field,),
        file=raw.file,
        line=line,
        column=column,
        expected=expected,
        hint=hint,
    )
