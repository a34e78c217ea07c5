"""Amounts in a manifest that Kubernetes could not read, found before anybody computes with them.

People write `100GB` and `16 cores`; the API server refuses such a manifest with a regular expression. It is said here
with the field and what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tonnage.units import try_quantity

_HOLDERS = (
    "requests", "limits", "overhead", "hard", "capacity", "max", "min", "default", "defaultRequest",
)  # fmt: skip
_NEARLY = re.compile(r"\s*([0-9.]+)\s*([kKMGTP]i?)?[bB]?(?:ytes)?\s*")


def wrong_quantity(value: Any, path: str = "") -> str:
    """The first amount that is none, in a sentence; empty where all are good."""
    return next(_wrong(value, path), "")


def _wrong(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            inside = f"{path}.{name}" if path else str(name)
            if name in _HOLDERS and isinstance(part, Mapping):
                yield from (_told(f"{inside}.{key}", one) for key, one in part.items() if _is_wrong(one))
            else:
                yield from _wrong(part, inside)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _wrong(part, f"{path}[{index}]")


def _is_wrong(text: Any) -> bool:
    return not isinstance(text, str) or try_quantity(text) is None


def _told(field: str, text: Any) -> str:
    near = _NEARLY.fullmatch(text) if isinstance(text, str) else None
    instead = f"{near[1]}{near[2] or ''}" if near else ""
    known = f"; write {instead}" if instead and try_quantity(instead) is not None else ""
    return f"{field} is {text!r}, which is no quantity{known}"
