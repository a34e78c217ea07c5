"""Field errors, worded as the API server words them.

A rejected object lists every mistake as `path: Kind of mistake: value: detail`. People paste these lines
into search engines and chats, so a prediction must use the very same words. Two quotings exist side by side
because Go prints plain strings with `%q` and everything else as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

NEGATIVE = "must be greater than or equal to 0"
NOT_INTEGER = "must be an integer"
NOT_POSITIVE = "must be greater than zero"


def invalid(path: str, value: object, detail: str) -> str:
    """A value that breaks a rule; `value` is shown as JSON."""
    return f"{path}: Invalid value: {as_go_json(value)}: {detail}"


def required(path: str, detail: str = "") -> str:
    """A value that must be there and is not."""
    return f"{path}: Required value: {detail}" if detail else f"{path}: Required value"


def forbidden(path: str, detail: str) -> str:
    """A value that is well formed and not allowed here."""
    return f"{path}: Forbidden: {detail}"


def duplicate(path: str, value: str) -> str:
    """A value that must be unique and is not."""
    return f"{path}: Duplicate value: {as_go_json(value)}"


def unsupported(path: str, value: str, supported: Iterable[str]) -> str:
    """A value outside a closed set."""
    choices = ", ".join(as_go_json(choice) for choice in supported)
    return f"{path}: Unsupported value: {as_go_json(value)}: supported values: {choices}"


def merged(errors: Iterable[str]) -> str:
    """Several errors as Kubernetes joins them: one stays bare, repeated ones are said once."""
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def as_go_json(value: object) -> str:
    """JSON as Go prints it: no blanks, and `<`, `>`, `&` escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
