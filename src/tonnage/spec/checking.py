"""Check documents: every mistake of every document at once, and the documents that are good.

Reading finds what is wrong with the file, the models find what is wrong with single values, the rules find
what contradicts itself. The rules run also when values are wrong: those values are taken out first, so that
one typo does not hide a contradiction elsewhere.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from tonnage.spec.checked import Checked, Document, Found
from tonnage.spec.cluster import Cluster
from tonnage.spec.foreign import not_ours
from tonnage.spec.literals.refusals import shown
from tonnage.spec.metadata import API_VERSION
from tonnage.spec.mistakes import Mistake, Path
from tonnage.spec.parts import Part
from tonnage.spec.reading import RawDocument, Reading, read
from tonnage.spec.rules import remarks_on
from tonnage.spec.run import Run
from tonnage.spec.team import Team
from tonnage.spec.translating import Translator

KINDS: dict[str, type[Run] | type[Team] | type[Cluster]] = {"Run": Run, "Team": Team, "Cluster": Cluster}


def check(content: bytes | str, file: str) -> Checked:
    """Check every document of a file."""
    return check_reading(read(content, file), file)


def check_reading(reading: Reading, file: str) -> Checked:
    """Check every document of a file that was read already."""
    documents: list[Found] = []
    noted = list(reading.mistakes)
    twice = {mistake.path for mistake in reading.mistakes if mistake.code == "DOC-005"}
    for raw in reading.documents:
        value, found = _check_one(raw)
        documents.append(Found(raw, None if twice else value))
        noted.extend(found)
    noted.extend(_same_names(documents))
    noted.sort(key=lambda mistake: (mistake.line or 0, mistake.column or 0))
    return Checked(
        file,
        documents,
        [mistake for mistake in noted if not mistake.is_remark],
        [mistake for mistake in noted if mistake.is_remark],
    )


def _check_one(raw: RawDocument) -> tuple[Document | None, list[Mistake]]:
    if not isinstance(raw.value, dict):
        return None, [_not_a_document(raw)]
    kind = raw.value.get("kind")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    foreign = not_ours(raw, list(KINDS))
    if model is None or foreign is not None:
        return None, [foreign] if foreign is not None else []
    content = copy.deepcopy(raw.value)
    mistakes = list(_take_out_nulls(raw, content))
    value, errors = _validated(model, content)
    translator = Translator(model, raw)
    mistakes.extend(translator.mistake(error) for error in errors)
    usable = value
    if value is None:
        content, usable = _without_errors(model, content, errors)
    if usable is not None:
        wrong = [*(mistake.path for mistake in mistakes), *(_path_of(error) for error in errors)]
        mistakes.extend(remarks_on(usable, raw, lambda path: _original(path, content), wrong))
    is_good = value is not None and all(mistake.is_remark for mistake in mistakes)
    return (value if is_good else None), mistakes


def _validated(model: type[Part], content: Any) -> tuple[Any, list[Any]]:
    try:
        return model.model_validate(content), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


class _Kept(list[Any]):
    """What is left of a list, and where each item stood before."""

    stood: list[int]


def _without_errors(model: type[Part], content: Any, errors: list[Any]) -> tuple[Any, Any]:
    """The document without its wrong values, and what it then means (None where that is nothing)."""
    for _ in range(3):
        wrong = {_wrong_place(content, error) for error in errors}
        content = _without(content, wrong, ())
        if not isinstance(content.get("metadata"), dict) or "name" not in content["metadata"]:
            content["metadata"] = {"name": "unnamed"}
        value, errors = _validated(model, content)
        if value is not None:
            return content, value
    return content, None


def _wrong_place(content: Any, error: Any) -> Path:
    """What to take out for an error: the wrong value, or the part that lacks something."""
    path = _path_of(error)
    if error["type"] == "missing":
        path = path[:-1]
    holder = content
    for length, step in enumerate(path):
        inside = isinstance(holder, dict) and step in holder
        inside = inside or (isinstance(holder, list) and isinstance(step, int) and step < len(holder))
        if not inside:
            return path[:length]  # the path runs on inside a short form: the bare value itself is wrong
        holder = holder[step]
    return path


def _path_of(error: Any) -> Path:
    return tuple(step for step in error["loc"] if step != "[key]")


def _without(content: Any, wrong: set[Path], path: Path) -> Any:
    if isinstance(content, dict):
        return {
            name: _without(value, wrong, (*path, name))
            for name, value in content.items()
            if (*path, name) not in wrong
        }
    if isinstance(content, list):
        kept = [index for index in range(len(content)) if (*path, index) not in wrong]
        left = _Kept(_without(content[index], wrong, (*path, index)) for index in kept)
        left.stood = [_stood(content, index) for index in kept]
        return left
    return content


def _stood(content: list[Any], index: int) -> int:
    return content.stood[index] if isinstance(content, _Kept) and index < len(content) else index


def _original(path: Path, content: Any) -> Path:
    """A path in what is left of a document as a path in the file."""
    steps: list[str | int] = []
    for step in path:
        if isinstance(content, list) and isinstance(step, int) and step < len(content):
            steps.append(_stood(content, step))
            content = content[step]
        else:
            steps.append(step)
            content = content.get(step) if isinstance(content, dict) else None
    return tuple(steps)


def _take_out_nulls(raw: RawDocument, content: Any, path: Path = ()) -> Iterator[Mistake]:
    """Fields that were begun and not filled in; a patch may say null, since there it means "remove"."""
    if path == ("spec", "podTemplate"):
        return
    if isinstance(content, dict):
        for name in [name for name, value in content.items() if value is None]:
            del content[name]
            yield _nothing_there(raw, (*path, name))
    for step, value in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(value, dict | list):
            yield from _take_out_nulls(raw, value, (*path, step))


def _nothing_there(raw: RawDocument, path: Path) -> Mistake:
    line, column = raw.locate(path)
    return Mistake(
        code="DOC-007",
        what="has no value",
        path=path,
        file=raw.file,
        line=line,
        column=column,
        hint="give it a value, or remove the line",
    )


def _not_a_document(raw: RawDocument) -> Mistake:
    return Mistake(
        code="DOC-007",
        what=f"{shown(raw.value)} where a document belongs",
        file=raw.file,
        line=raw.line,
        expected=f"a mapping that starts with apiVersion: {API_VERSION}",
        hint="`tonnage init` writes a starter to fill in",
    )


def _same_names(documents: list[Found]) -> Iterator[Mistake]:
    seen: dict[tuple[Any, Any, Any], int] = {}
    for found in documents:
        value = found.value
        if value is None:
            continue
        key = (value.kind, value.metadata.namespace, value.metadata.name)
        path: Path = ("metadata", "name")
        line, column = found.raw.locate(path)
        if key in seen:
            yield Mistake(
                code="DOC-030",
                what=f"a second {value.kind} called {value.metadata.name}",
                path=path,
                file=found.raw.file,
                line=line,
                column=column,
                found=f"line {seen[key]} and line {line}",
                expected="different names",
            )
        seen.setdefault(key, line)
