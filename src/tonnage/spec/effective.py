"""Each effective value of a document with its origin: you said it, or it is Tonnage's default.

`plan --explain` adds what the team, history and Kubernetes say; the origins here are the first two.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from enum import Enum
from typing import Any

import msgspec

from tonnage.spec.checked import Document
from tonnage.spec.mistakes import Path, field_text
from tonnage.spec.parts import Part


class Origin(Enum):
    """Where a value comes from."""

    YOU = "you"
    TONNAGE = "Tonnage"


class Effective(msgspec.Struct, frozen=True):
    """One value that holds, and who decided it."""

    path: Path
    value: Any
    origin: Origin

    @property
    def field(self) -> str:
        return field_text(self.path)

    @property
    def text(self) -> str:
        """The value as people write it; `-` where nothing holds."""
        if self.value is None or self.value in ((), {}):
            return "-"
        if isinstance(self.value, tuple) and all(isinstance(word, str) for word in self.value):
            return shlex.join(self.value)
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


def effective_values(document: Document) -> list[Effective]:
    """Every value that holds for the document, in the order of the reference."""
    return list(_values(document, (), is_said=True))


def _values(part: Part, path: Path, is_said: bool) -> Iterator[Effective]:
    for name, info in type(part).model_fields.items():
        value = getattr(part, name)
        said = is_said and name in part.model_fields_set
        yield from _one((*path, info.alias or name), value, said)


def _one(path: Path, value: Any, said: bool) -> Iterator[Effective]:
    if isinstance(value, Part):
        yield from _values(value, path, said)
    elif isinstance(value, tuple) and value and isinstance(value[0], Part):
        for index, item in enumerate(value):
            yield from _one((*path, index), item, said)
    elif isinstance(value, dict) and value and path[-1] != "podTemplate":
        for key, item in value.items():
            yield from _one((*path, key), item, said)
    else:
        yield Effective(path, value, Origin.YOU if said else Origin.TONNAGE)
