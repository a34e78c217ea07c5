"""Take things out of a manifest, so that what is left over can be told."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

Kind = TypeVar("Kind")


class Notes(msgspec.Struct):
    """What the reader should know afterwards."""

    lost: list[str] = msgspec.field(default_factory=list)
    """Parts of the manifest that a Run does not carry."""
    truths: list[str] = msgspec.field(default_factory=list)
    """What Kubernetes refuses, or does differently from what the manifest seems to say."""
    hints: list[str] = msgspec.field(default_factory=list)
    """Lines the author may want to add."""


def take(holder: dict[str, Any], name: str, kind: type[Kind]) -> Kind | None:
    """Remove and return a value of this type; leave alone what is not of this type."""
    value = holder.get(name)
    if value is None or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return None
    del holder[name]
    return value


def take_mapping(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """Remove and return a mapping; an empty one where there is none."""
    return take(holder, name, dict) or {}


def take_list(holder: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Remove and return a list of mappings; one with anything else in it stays where it is."""
    value = holder.get(name)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return []
    del holder[name]
    return value


def without_empty(value: Any) -> Any:
    """The same without mappings and lists that hold nothing any more."""
    if isinstance(value, dict):
        kept = {name: without_empty(item) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item not in ({}, [])}
    return value
