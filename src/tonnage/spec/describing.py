"""What the models know about themselves: which fields a part has, what each is for, where each leads.

Suggestions, the JSON schema, the reference page and the origin of values all walk the documents by these
functions, so a field added to a model appears in all of them.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic.fields import FieldInfo

from tonnage.spec.mistakes import Path
from tonnage.spec.parts import Part


@cache
def fields_of(part: type[Part]) -> dict[str, FieldInfo]:
    """The fields of a part by the names people write."""
    return {info.alias or name: info for name, info in part.model_fields.items()}


def inner_part(annotation: Any) -> type[Part] | None:
    """The part that a field holds, alone, in a list or by name; None for a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    origin = typing.get_origin(annotation)
    if origin is None or origin is typing.Literal:
        return None
    arguments = typing.get_args(annotation)
    if origin is dict:
        arguments = arguments[1:]
    elif origin is typing.Annotated:
        arguments = arguments[:1]
    inner = (inner_part(argument) for argument in arguments if argument is not Ellipsis)
    return next((part for part in inner if part is not None), None)


def holds(annotation: Any) -> str:
    """Whether a field holds one value, a `list` of them, or a `dict` by name."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType, typing.Annotated):
        kinds = {
            holds(argument)
            for argument in typing.get_args(annotation)[: None if origin is not typing.Annotated else 1]
        }
        return next(iter(kinds - {"one"}), "one")
    return {tuple: "list", dict: "dict"}.get(origin, "one") if origin is not None else "one"


def part_at(root: type[Part], path: Path) -> type[Part] | None:
    """The part whose fields are written at a path, such as `Checkpoints` at `spec.checkpoints`."""
    part: type[Part] | None = root
    skip_name = False
    for step in path:
        if isinstance(step, int):
            continue
        if skip_name:
            skip_name = False
            continue
        info = fields_of(part).get(step) if part is not None else None
        if info is None:
            return None
        part = inner_part(info.annotation)
        skip_name = holds(info.annotation) == "dict"
    return part


def all_fields(root: type[Part]) -> Iterator[tuple[Path, FieldInfo, type[Part]]]:
    """Every field of a document, outermost first, with its path and the part it belongs to."""
    waiting: list[tuple[Path, type[Part]]] = [((), root)]
    while waiting:
        path, part = waiting.pop(0)
        for name, info in fields_of(part).items():
            yield (*path, name), info, part
            inner = inner_part(info.annotation)
            if inner is not None:
                waiting.append(((*path, name), inner))


@cache
def descriptions_of(part: type[Part]) -> dict[str, str]:
    """The sentence under each field of a part, by the name people write."""
    found: dict[str, str] = {}
    for owner in reversed(part.__mro__):
        if isinstance(owner, type) and issubclass(owner, Part) and owner.__module__.startswith("tonnage."):
            found |= _attribute_texts(owner)
    return {info.alias or name: found[name] for name, info in part.model_fields.items() if name in found}


def summary_of(part: type[Part]) -> str:
    """The one sentence about a part."""
    return inspect.cleandoc(part.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def _attribute_texts(owner: type) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    texts: dict[str, str] = {}
    name = None
    for statement in body.body if isinstance(body, ast.ClassDef) else []:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
        elif name and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            texts[name] = inspect.cleandoc(str(statement.value.value)).replace("\n", " ")
            name = None
        else:
            name = None
    return texts
